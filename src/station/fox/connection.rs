//! Fox over TLS: the certificate is looked at first, and the hello follows only if the trust mode allows it.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::station::error::StationError;
use crate::station::http::{Trust, config_with, verifier};

/// Octets of the other side kept to tell what it speaks.
const KEPT: usize = 8;

/// A handshake that came to its end.
pub(super) struct Secured {
    pub stream: TlsStream<FirstOctets>,
    /// `TLSv1_3` or `TLSv1_2`.
    pub version: String,
    pub certificate: Option<Vec<u8>>,
    /// Why the trust mode does not accept the certificate.
    pub refusal: Option<String>,
}

/// A handshake that failed, with what the other side sent first.
pub(super) struct NotSecured {
    pub cause: String,
    pub first_octets: Vec<u8>,
    pub certificate: Option<Vec<u8>>,
}

/// Speaks TLS with a station.
///
/// # Errors
/// The outer error is one of the settings.
pub(super) async fn secure(
    stream: TcpStream,
    host: &str,
    trust: &Trust,
) -> Result<Result<Secured, NotSecured>, StationError> {
    let name = ServerName::try_from(host.to_owned()).map_err(|_| StationError::InvalidInput {
        what: "the Fox host",
        detail: format!("{host:?} is no host name and no address"),
    })?;
    let check = Arc::new(Observing {
        check: verifier(trust)?,
        seen: Mutex::default(),
    });
    let config = config_with(Arc::clone(&check) as Arc<dyn ServerCertVerifier>)?;
    let first = Arc::new(Mutex::new(Vec::new()));
    let stream = FirstOctets {
        stream,
        first: Arc::clone(&first),
    };
    let outcome = TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await;
    let seen = std::mem::take(&mut *check.seen.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(match outcome {
        Ok(stream) => Ok(Secured {
            version: stream
                .get_ref()
                .1
                .protocol_version()
                .and_then(|version| version.as_str())
                .unwrap_or("TLS")
                .to_owned(),
            stream,
            certificate: seen.certificate,
            refusal: seen.refusal,
        }),
        Err(error) => Err(NotSecured {
            cause: error.to_string(),
            first_octets: first.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            certificate: seen.certificate,
        }),
    })
}

#[derive(Debug, Default)]
struct Seen {
    certificate: Option<Vec<u8>>,
    refusal: Option<String>,
}

/// Keeps the certificate and what the trust mode thinks of it; the caller decides what follows.
#[derive(Debug)]
struct Observing {
    check: Arc<dyn ServerCertVerifier>,
    seen: Mutex<Seen>,
}

impl ServerCertVerifier for Observing {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verdict = self.check.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Seen {
            certificate: Some(end_entity.to_vec()),
            refusal: verdict.err().map(|error| match error {
                rustls::Error::General(reason) => reason,
                other => other.to_string(),
            }),
        };
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.check.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.check.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.check.supported_verify_schemes()
    }
}

/// A connection that remembers what it heard first.
pub(super) struct FirstOctets {
    stream: TcpStream,
    first: Arc<Mutex<Vec<u8>>>,
}

impl AsyncRead for FirstOctets {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let outcome = Pin::new(&mut self.stream).poll_read(context, buffer);
        if let Poll::Ready(Ok(())) = &outcome {
            let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
            let room = KEPT.saturating_sub(first.len());
            let heard = buffer.filled().get(before..).unwrap_or_default();
            first.extend(heard.iter().take(room));
        }
        outcome
    }
}

impl AsyncWrite for FirstOctets {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, octets)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
