//! The running station: its listener, the state servlets share, and the records tests read.

mod context;
mod exchange;
mod listener;
mod log;

use std::net::SocketAddr;
use std::sync::Arc;

use thiserror::Error;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::clock::{StationClock, SystemClock};
use crate::model::{ModelError, SharedStation, sample};
use crate::site::{Harborview, SiteOptions};
use crate::switches::{SharedSwitches, Switches};

pub use context::{AuthenticatedUser, ServerContext};
pub use exchange::{PlainRequest, PlainResponse, form_parameter};
pub use log::{Log, LoginEntry, LoginOutcome, LoginWay, RequestEntry};

/// A stand-in station that serves its web tier on a local port until shut down or dropped.
///
/// ```no_run
/// # async fn run() -> Result<(), mock_station::server::StartError> {
/// let station = mock_station::server::MockStation::builder().start().await?;
/// println!("{}", station.url());
/// station.switches().change(|s| s.login.lockout = false);
/// station.shutdown().await;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct MockStation {
    context: ServerContext,
    address: SocketAddr,
    stop: CancellationToken,
    listener: Option<JoinHandle<()>>,
}

/// The station could not be started.
#[derive(Debug, Error)]
pub enum StartError {
    #[error("cannot listen on {address}: {source}; choose another address or port 0")]
    Listen {
        address: SocketAddr,
        source: std::io::Error,
    },
    #[error("the station cannot be built: {0}")]
    Model(#[from] ModelError),
}

impl MockStation {
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Base address without a trailing slash, as `http://127.0.0.1:49152`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The component model behind the servlets.
    pub fn station(&self) -> &SharedStation {
        &self.context.station
    }

    pub fn clock(&self) -> &Arc<dyn StationClock> {
        &self.context.clock
    }

    /// The switches; changes apply to the next request.
    pub fn switches(&self) -> &SharedSwitches {
        &self.context.switches
    }

    /// Every request answered so far, oldest first.
    pub fn requests(&self) -> Vec<RequestEntry> {
        self.context.requests.entries()
    }

    /// Every finished login attempt, oldest first.
    pub fn logins(&self) -> Vec<LoginEntry> {
        self.context.logins.entries()
    }

    /// Forgets the requests and logins recorded so far.
    pub fn clear_logs(&self) {
        self.context.requests.clear();
        self.context.logins.clear();
    }

    /// Number of authenticated web sessions that have not expired.
    pub fn sessions(&self) -> usize {
        self.context
            .sessions
            .authenticated_count(self.context.clock.now(), &self.context.switches.get().login)
    }

    /// Number of BOX server sessions that have neither been deleted nor expired.
    pub fn box_sessions(&self) -> usize {
        crate::boxs::session_count(&self.context)
    }

    /// Ends every web session, as a restart of the station's web service does.
    pub fn end_sessions(&self) {
        self.context.sessions.clear();
    }

    /// Stops listening, closes all connections and waits for the listener to end.
    pub async fn shutdown(mut self) {
        self.stop.cancel();
        if let Some(listener) = self.listener.take()
            && let Err(error) = listener.await
        {
            tracing::warn!(%error, "the station's listener did not end cleanly");
        }
    }
}

impl Drop for MockStation {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Settings of a station to start; everything has a default.
#[derive(Default)]
pub struct Builder {
    station: Option<SharedStation>,
    site: Option<SiteOptions>,
    clock: Option<Arc<dyn StationClock>>,
    switches: Option<Switches>,
    bind: Option<SocketAddr>,
}

impl Builder {
    /// The component model to serve, with its clock; default is the small sample station.
    pub fn station(mut self, station: SharedStation) -> Self {
        self.station = Some(station);
        self
    }

    /// Serves the demo site instead of the sample station; [`Builder::station`] goes before it.
    pub fn site(mut self, options: SiteOptions) -> Self {
        self.site = Some(options);
        self
    }

    /// The clock of the sample station or demo site; default is the system clock. A given station brings its own.
    pub fn clock(mut self, clock: Arc<dyn StationClock>) -> Self {
        self.clock = Some(clock);
        self
    }

    pub fn switches(mut self, switches: Switches) -> Self {
        self.switches = Some(switches);
        self
    }

    /// The address to listen on; default is a free port of 127.0.0.1.
    pub fn bind(mut self, address: SocketAddr) -> Self {
        self.bind = Some(address);
        self
    }

    /// Starts to listen in the caller's tokio runtime.
    ///
    /// # Errors
    /// When the address cannot be bound.
    pub async fn start(self) -> Result<MockStation, StartError> {
        let bind = self.bind.unwrap_or(SocketAddr::from(([127, 0, 0, 1], 0)));
        let failed = |source| StartError::Listen {
            address: bind,
            source,
        };
        let listener = TcpListener::bind(bind).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let station = match self.station {
            Some(station) => station,
            None => {
                let clock = self.clock.unwrap_or_else(|| Arc::new(SystemClock::new()));
                let station = match self.site {
                    Some(options) => Harborview::build(options)?.station,
                    None => sample::station(clock.now())?,
                };
                SharedStation::new(station, clock)
            }
        };
        let context = ServerContext::new(
            station.clock().clone(),
            station,
            SharedSwitches::new(self.switches.unwrap_or_default()),
        );
        let stop = CancellationToken::new();
        let task = tokio::spawn(listener::serve(listener, context.clone(), stop.clone()));
        Ok(MockStation {
            context,
            address,
            stop,
            listener: Some(task),
        })
    }
}
