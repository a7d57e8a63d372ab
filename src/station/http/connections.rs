//! The connections kept open to a station, given up together when they may be dead.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustls::ClientConfig;

use super::CONNECT_TIMEOUT;
use super::certificate_watch::CertificateWatch;
use super::failure::chain;
use super::trust::{Trust, config_with, verifier};
use crate::station::error::StationError;

/// One identity's connections, idle ones included.
#[derive(Debug)]
pub(super) struct Connections {
    /// Kept, for building it reads the certificates of the operating system.
    tls: ClientConfig,
    pool: Mutex<Pool>,
}

#[derive(Debug)]
struct Pool {
    /// Counts pools, so that many requests that break together make room once.
    number: u64,
    client: reqwest::Client,
}

/// The pool that a request was sent through.
#[derive(Debug)]
pub(super) struct PoolInUse {
    connections: Arc<Connections>,
    number: u64,
}

impl Connections {
    /// Connections whose certificates are checked and heard of; none is opened yet.
    ///
    /// # Errors
    /// [`StationError::Setup`] when TLS cannot be set up as the trust mode asks.
    pub(super) fn new(
        trust: &Trust,
        certificates: &CertificateWatch,
    ) -> Result<Self, StationError> {
        let tls = config_with(certificates.around(verifier(trust)?))?;
        let client = client(&tls)?;
        let pool = Mutex::new(Pool { number: 0, client });
        Ok(Self { tls, pool })
    }

    /// The pool for the next request.
    pub(super) fn in_use(self: &Arc<Self>) -> (reqwest::Client, PoolInUse) {
        let pool = self.pool();
        let in_use = PoolInUse {
            connections: Arc::clone(self),
            number: pool.number,
        };
        (pool.client.clone(), in_use)
    }

    /// Closes the idle connections; later requests open new ones.
    pub(super) fn begin_anew(&self) {
        self.replace(&mut self.pool());
    }

    fn replace(&self, pool: &mut Pool) {
        match client(&self.tls) {
            Ok(client) => {
                pool.number = pool.number.wrapping_add(1);
                pool.client = client;
            }
            Err(error) => tracing::warn!(%error, "idle connections to the station are kept"),
        }
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PoolInUse {
    /// A connection of this pool broke: a station that restarts closes them all at once, and each idle one would cost a
    /// request more to find out.
    pub(super) fn broke(&self) {
        let mut pool = self.connections.pool();
        if pool.number == self.number {
            self.connections.replace(&mut pool);
        }
    }
}

/// An empty pool.
fn client(tls: &ClientConfig) -> Result<reqwest::Client, StationError> {
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls.clone())
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT_TIMEOUT)
        .retry(reqwest::retry::never())
        .no_proxy()
        .http1_only()
        .user_agent(concat!("niagara-bridge/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| StationError::Setup {
            detail: chain(&error),
        })
}
