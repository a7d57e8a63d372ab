//! The Fox ports: a hello and a challenge to whoever greets them, never a login (Fox specification §4, §11).
//!
//! - [`FoxScenario`], [`FoxSettings`]: what a station, or something that is none, does with a greeting.
//! - [`FoxConnection`]: what a client sent, for tests that a probe sends its hello and nothing else.
//! - `greeting`: whether a client's octets are a hello; `frame`: writing frames; `script`: what each scenario sends.

mod connection;
mod frame;
mod greeting;
mod identity;
mod record;
mod scenario;
mod script;
mod time_zone;

use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::server::{ServerContext, listener};
use crate::tls::Certificates;
use record::Records;

pub use record::FoxConnection;
pub use scenario::{FoxScenario, FoxSettings};

/// Connections served at a time; a station closes further ones (Fox specification §1).
const CONNECTION_LIMIT: usize = 100;

/// The Fox side of a running station; clones share it.
#[derive(Clone)]
pub struct FoxService {
    shared: Arc<Shared>,
}

struct Shared {
    plain: Option<SocketAddr>,
    secure: Option<SocketAddr>,
    settings: Mutex<FoxSettings>,
    certificates: Arc<Certificates>,
    records: Records,
    /// Where the next hello is cut in the scenario that cuts it everywhere in turn.
    next_cut: AtomicUsize,
    places: Semaphore,
}

impl fmt::Debug for FoxService {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("FoxService")
            .field("plain", &self.shared.plain)
            .field("secure", &self.shared.secure)
            .field("settings", &self.settings())
            .finish_non_exhaustive()
    }
}

impl FoxService {
    /// The service behind these ports; none without a port.
    pub(crate) fn listening_at(
        plain: Option<SocketAddr>,
        secure: Option<SocketAddr>,
        settings: FoxSettings,
        certificates: &Arc<Certificates>,
    ) -> Option<Self> {
        plain.or(secure)?;
        Some(Self {
            shared: Arc::new(Shared {
                plain,
                secure,
                settings: Mutex::new(settings),
                certificates: certificates.clone(),
                records: Records::default(),
                next_cut: AtomicUsize::new(0),
                places: Semaphore::new(CONNECTION_LIMIT),
            }),
        })
    }

    /// The port for plain Fox (1911 on a station), when it is open.
    pub fn address(&self) -> Option<SocketAddr> {
        self.shared.plain
    }

    /// The port for Fox over TLS (4911 on a station), when it is open.
    pub fn secure_address(&self) -> Option<SocketAddr> {
        self.shared.secure
    }

    pub fn settings(&self) -> FoxSettings {
        self.lock_settings().clone()
    }

    /// Changes what the ports do; connections made before go on as they began.
    pub fn change(&self, edit: impl FnOnce(&mut FoxSettings)) {
        edit(&mut self.lock_settings());
    }

    /// Changes the scenario alone.
    pub fn play(&self, scenario: FoxScenario) {
        self.change(|settings| settings.scenario = scenario);
    }

    /// Every connection so far, oldest first, open ones included.
    pub fn connections(&self) -> Vec<FoxConnection> {
        self.shared.records.all()
    }

    /// Forgets the connections recorded so far.
    pub fn clear_connections(&self) {
        self.shared.records.clear();
    }

    /// Waits until no connection is open and at least `count` are recorded, and gives them.
    pub async fn closed_connections(&self, count: usize) -> Vec<FoxConnection> {
        self.shared.records.closed(count).await
    }

    pub(crate) async fn serve(
        self,
        listener: TcpListener,
        secure: bool,
        context: ServerContext,
        stop: CancellationToken,
    ) {
        let connections = TaskTracker::new();
        while let Some(stream) = listener::accept(&listener, &context, &stop).await {
            let process = context.lifecycle.connections();
            let served = connection::serve(self.clone(), stream, secure, context.clone());
            let stop = stop.clone();
            connections.spawn(async move {
                tokio::select! {
                    () = served => {}
                    () = process.cancelled() => {}
                    () = stop.cancelled() => {}
                }
            });
        }
        drop(listener);
        connections.close();
        connections.wait().await;
    }

    fn next_cut(&self) -> usize {
        self.shared.next_cut.fetch_add(1, Ordering::Relaxed)
    }

    fn lock_settings(&self) -> std::sync::MutexGuard<'_, FoxSettings> {
        self.shared
            .settings
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
