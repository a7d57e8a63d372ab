//! Which certificate of a station is trusted.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use ring::digest::{SHA256, digest};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::station::error::StationError;

/// How the station's certificate is checked (Station web specification §1).
///
/// ```
/// use niagara_bridge::station::http::Trust;
/// let pin = "8a:1f:00".repeat(0) + &"ab".repeat(32);
/// assert!(matches!(Trust::pinned(&pin), Ok(Trust::Pinned(_))));
/// assert!(Trust::pinned("abcd").is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Trust {
    /// Certificates that the operating system trusts; the host name must match.
    #[default]
    System,
    /// Certificates signed by a CA of this PEM file; the host name must match.
    CaFile(PathBuf),
    /// The leaf certificate with this SHA-256 fingerprint; the host name does not matter, for factory certificates
    /// never carry it.
    Pinned([u8; 32]),
    /// Any certificate. Everyone on the path can read and change the traffic.
    Insecure,
}

impl Trust {
    /// The pinned fingerprint, in the digits of [`fingerprint_of`].
    pub fn pin(&self) -> Option<String> {
        match self {
            Self::Pinned(pin) => Some(hexadecimal(pin)),
            _ => None,
        }
    }

    /// Reads a fingerprint: 64 hexadecimal digits, colons and blanks allowed.
    pub fn pinned(fingerprint: &str) -> Result<Self, StationError> {
        let malformed = || StationError::Setup {
            detail: format!(
                "{fingerprint:?} is not a SHA-256 fingerprint; write 64 hexadecimal digits"
            ),
        };
        let digits: Vec<u8> = fingerprint
            .bytes()
            .filter(|b| !matches!(b, b':' | b' '))
            .collect();
        let mut pin = [0u8; 32];
        if digits.len() != 64 {
            return Err(malformed());
        }
        for (byte, pair) in pin.iter_mut().zip(digits.chunks_exact(2)) {
            let text = std::str::from_utf8(pair).map_err(|_| malformed())?;
            if !text.bytes().all(|b| b.is_ascii_hexdigit()) {
                return Err(malformed());
            }
            *byte = u8::from_str_radix(text, 16).map_err(|_| malformed())?;
        }
        Ok(Self::Pinned(pin))
    }
}

/// SHA-256 fingerprint of a certificate in the form that settings take.
pub fn fingerprint_of(certificate: &[u8]) -> String {
    hexadecimal(digest(&SHA256, certificate).as_ref())
}

fn hexadecimal(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// TLS 1.2 and 1.3 by rustls with ring, with a check of one's own.
pub(crate) fn config_with(
    verifier: Arc<dyn ServerCertVerifier>,
) -> Result<ClientConfig, StationError> {
    let config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(setup)?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    Ok(config)
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// The check that a trust mode stands for.
pub(crate) fn verifier(trust: &Trust) -> Result<Arc<dyn ServerCertVerifier>, StationError> {
    let provider = provider();
    Ok(match trust {
        Trust::System => match rustls_platform_verifier::Verifier::new(Arc::clone(&provider)) {
            Ok(verifier) => Arc::new(verifier),
            // A machine without a certificate store can still talk plain HTTP or use another trust mode.
            Err(error) => Arc::new(OwnCheck {
                provider: Arc::clone(&provider),
                check: Check::Refuse(format!(
                    "this machine has no usable certificate store ({error})"
                )),
            }),
        },
        Trust::CaFile(path) => ca_verifier(path, &provider)?,
        Trust::Pinned(pin) => Arc::new(OwnCheck {
            provider,
            check: Check::Pin(*pin),
        }),
        Trust::Insecure => Arc::new(OwnCheck {
            provider,
            check: Check::Accept,
        }),
    })
}

fn setup(error: impl fmt::Display) -> StationError {
    StationError::Setup {
        detail: error.to_string(),
    }
}

fn ca_verifier(
    path: &std::path::Path,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, StationError> {
    let unreadable = |cause: String| StationError::Setup {
        detail: format!("the CA file {} cannot be used: {cause}", path.display()),
    };
    let certificates =
        CertificateDer::pem_file_iter(path).map_err(|e| unreadable(e.to_string()))?;
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        let certificate = certificate.map_err(|e| unreadable(e.to_string()))?;
        roots
            .add(certificate)
            .map_err(|e| unreadable(e.to_string()))?;
    }
    if roots.is_empty() {
        return Err(unreadable("it holds no certificate in PEM form".to_owned()));
    }
    let verifier =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
            .build()
            .map_err(setup)?;
    Ok(verifier)
}

#[derive(Debug)]
enum Check {
    Pin([u8; 32]),
    Accept,
    Refuse(String),
}

/// What to tell when the certificate is not the pinned one, by both fingerprints.
pub(crate) fn another_certificate(seen: &str, pinned: &str) -> String {
    format!(
        "its SHA-256 fingerprint is {seen}, but {pinned} is pinned; if the certificate was renewed on purpose, pin the \
         new fingerprint, else somebody may stand between bridge and station"
    )
}

/// Checks that replace the chain of trust. The handshake signature is always verified: without it a pinned
/// certificate could be presented by someone who lacks its key.
#[derive(Debug)]
struct OwnCheck {
    provider: Arc<CryptoProvider>,
    check: Check,
}

impl ServerCertVerifier for OwnCheck {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match &self.check {
            Check::Accept => Ok(ServerCertVerified::assertion()),
            Check::Pin(pin) if digest(&SHA256, end_entity).as_ref() == pin => {
                Ok(ServerCertVerified::assertion())
            }
            Check::Pin(pin) => Err(rustls::Error::General(another_certificate(
                &fingerprint_of(end_entity),
                &hexadecimal(pin),
            ))),
            Check::Refuse(reason) => Err(rustls::Error::General(reason.clone())),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(
            message,
            cert,
            dss,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(
            message,
            cert,
            dss,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
