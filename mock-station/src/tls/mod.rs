//! The station's certificate and the TLS it serves web and Fox with (Station web specification §1; Fox specification §1).
//!
//! One certificate serves every TLS port, as on a station. Its key is ECDSA P-256 where a factory certificate has RSA
//! 2048: the cryptography library makes no RSA keys. Clients that check fingerprints, names or dates see no difference.

mod certificate;
mod marking;

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::server::{ClientHello, NoServerSessionStorage, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use thiserror::Error;

pub use certificate::{CertificateProfile, StationCertificate};
pub(crate) use marking::mark_secure;

/// The station's TLS cannot be set up.
#[derive(Debug, Error)]
pub enum TlsError {
    #[error("no certificate can be made for {names:?}: {source}; use DNS names or IP addresses")]
    Certificate {
        names: Vec<String>,
        source: rcgen::Error,
    },
    #[error("the TLS library refuses its settings: {0}")]
    Settings(#[from] rustls::Error),
}

/// The certificate in use, shared by all TLS listeners of a station.
pub struct Certificates {
    station_name: String,
    current: RwLock<Held>,
}

#[derive(Clone)]
struct Held {
    certificate: StationCertificate,
    key: Arc<CertifiedKey>,
}

impl fmt::Debug for Certificates {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Certificates")
            .field("fingerprint", &self.current().fingerprint)
            .finish_non_exhaustive()
    }
}

impl Certificates {
    /// Makes a first certificate of the given profile.
    ///
    /// # Errors
    /// When the profile names something no certificate can carry.
    pub fn generate(station_name: &str, profile: &CertificateProfile) -> Result<Self, TlsError> {
        Ok(Self {
            station_name: station_name.to_owned(),
            current: RwLock::new(hold(station_name, profile)?),
        })
    }

    /// The certificate that new connections get.
    pub fn current(&self) -> StationCertificate {
        self.held().certificate
    }

    /// Replaces certificate and key; connections made before keep theirs.
    ///
    /// # Errors
    /// As [`Certificates::generate`]; the old certificate stays.
    pub fn rotate(&self, profile: &CertificateProfile) -> Result<StationCertificate, TlsError> {
        let held = hold(&self.station_name, profile)?;
        let certificate = held.certificate.clone();
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = held;
        Ok(certificate)
    }

    /// TLS settings that serve the current certificate, whatever it is at the time of a handshake.
    ///
    /// # Errors
    /// When the TLS library has no usable protocol version.
    pub fn server_config(self: &Arc<Self>) -> Result<Arc<ServerConfig>, TlsError> {
        config(self.clone())
    }

    /// TLS settings with a certificate of their own, made for this call.
    ///
    /// # Errors
    /// As [`Certificates::generate`].
    pub fn separate_config(
        &self,
        profile: &CertificateProfile,
    ) -> Result<Arc<ServerConfig>, TlsError> {
        config(Arc::new(Fixed(hold(&self.station_name, profile)?.key)))
    }

    fn held(&self) -> Held {
        self.current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.held().key)
    }
}

struct Fixed(Arc<CertifiedKey>);

impl fmt::Debug for Fixed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Fixed")
    }
}

impl ResolvesServerCert for Fixed {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.clone())
    }
}

fn hold(station_name: &str, profile: &CertificateProfile) -> Result<Held, TlsError> {
    let (certificate, key) = certificate::make(station_name, profile)?;
    let key = CertifiedKey::from_der(
        vec![certificate.der.clone().into()],
        key,
        &ring::default_provider(),
    )?;
    Ok(Held {
        certificate,
        key: Arc::new(key),
    })
}

fn config(resolver: Arc<dyn ResolvesServerCert>) -> Result<Arc<ServerConfig>, TlsError> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(resolver);
    // A resumed session would not show a certificate that was changed in between.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}
