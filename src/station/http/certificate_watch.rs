//! Hears of the certificate check of each new connection, so that a certificate which changes while older connections
//! still serve is told at that moment (Station web specification §1).

use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, SignatureScheme};

/// What the checks of one identity's connections found lately.
#[derive(Debug, Clone, Default)]
pub(super) struct CertificateWatch {
    problem: Arc<Mutex<Option<String>>>,
}

impl CertificateWatch {
    /// The same check, heard.
    pub(super) fn around(&self, check: Arc<dyn ServerCertVerifier>) -> Arc<dyn ServerCertVerifier> {
        Arc::new(Heard {
            check,
            watch: self.clone(),
        })
    }

    /// Why the newest connection was not trusted; none when it was.
    pub(super) fn problem(&self) -> Option<String> {
        self.lock().clone()
    }

    fn note(&self, outcome: &Result<ServerCertVerified, Error>, server: &ServerName<'_>) {
        let server = server.to_str();
        let found = match outcome {
            Ok(_) => None,
            // Our own checks speak through this variant.
            Err(Error::General(reason)) => Some(reason.clone()),
            Err(error) => Some(error.to_string()),
        };
        let mut problem = self.lock();
        match (&*problem, &found) {
            (Some(_), None) => {
                tracing::info!(%server, "the certificate of the station is trusted again");
            }
            (known, Some(cause)) if known.as_ref() != Some(cause) => tracing::warn!(
                %server,
                %cause,
                "the certificate of the station is not trusted; connections of before serve until they end, new ones are refused"
            ),
            _ => {}
        }
        *problem = found;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
struct Heard {
    check: Arc<dyn ServerCertVerifier>,
    watch: CertificateWatch,
}

impl ServerCertVerifier for Heard {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let outcome = self.check.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        self.watch.note(&outcome, server_name);
        outcome
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.check.supported_verify_schemes()
    }

    fn requires_raw_public_keys(&self) -> bool {
        self.check.requires_raw_public_keys()
    }

    fn root_hint_subjects(&self) -> Option<&[rustls::DistinguishedName]> {
        self.check.root_hint_subjects()
    }
}
