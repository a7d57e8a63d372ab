//! The running station: its listener, the state servlets share, and the records tests read.

mod context;
mod exchange;
mod lifecycle;
pub(crate) mod listener;
mod log;
mod operate;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use thiserror::Error;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::clock::{StationClock, SystemClock};
use crate::control;
use crate::fox::{FoxService, FoxSettings};
use crate::model::{ModelError, SharedStation, sample};
use crate::site::{Site, SiteOptions};
use crate::switches::{SharedSwitches, Switches};
use crate::tls::{CertificateProfile, Certificates, TlsError};

pub use context::{AuthenticatedUser, ServerContext};
pub use exchange::{PlainRequest, PlainResponse, form_parameter};
pub use lifecycle::Lifecycle;
pub use log::{Log, LoginEntry, LoginOutcome, LoginWay, RequestEntry, WriteEntry, WriteOutcome};

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
    https: Option<SocketAddr>,
    control: Option<SocketAddr>,
    fox: Option<FoxService>,
    certificates: Arc<Certificates>,
    stop: CancellationToken,
    listeners: Vec<JoinHandle<()>>,
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
    #[error("the station's TLS cannot be set up: {0}")]
    Tls(#[from] TlsError),
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

    /// Every BOX message that asked for a change so far, oldest first, also those that a fault kept from the servlet.
    pub fn box_writes(&self) -> Vec<WriteEntry> {
        self.context.writes.entries()
    }

    /// The BOX messages of one user that asked for a change.
    pub fn box_writes_of(&self, user: &str) -> Vec<WriteEntry> {
        let mut writes = self.box_writes();
        writes.retain(|write| write.user.as_deref() == Some(user));
        writes
    }

    /// Forgets the requests, logins and writes recorded so far; the station's audit trail stays.
    pub fn clear_logs(&self) {
        self.context.requests.clear();
        self.context.logins.clear();
        self.context.writes.clear();
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

    /// Number of living BOX server sessions of each user that has one.
    pub fn box_sessions_by_user(&self) -> BTreeMap<String, usize> {
        crate::boxs::sessions_by_user(&self.context)
    }

    /// Number of authenticated web sessions of each user that has one.
    pub fn sessions_by_user(&self) -> BTreeMap<String, usize> {
        let now = self.context.clock.now();
        let switches = self.context.switches.get();
        self.context.sessions.by_user(now, &switches.login)
    }

    /// Number of oBIX watches that have neither been deleted nor run out of lease.
    pub fn obix_watches(&self) -> usize {
        crate::obix::watch_count(&self.context)
    }

    /// Ends every web session, as a restart of the station's web service does.
    pub fn end_sessions(&self) {
        self.context.sessions.clear();
    }

    /// Stops listening, closes all connections and waits for the listener to end.
    pub async fn shutdown(mut self) {
        self.stop.cancel();
        for listener in std::mem::take(&mut self.listeners) {
            if let Err(error) = listener.await {
                tracing::warn!(%error, "a listener of the station did not end cleanly");
            }
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
    https: Option<SocketAddr>,
    control: Option<SocketAddr>,
    fox: Option<SocketAddr>,
    foxs: Option<SocketAddr>,
    fox_settings: FoxSettings,
    certificate: CertificateProfile,
}

/// A free port of this machine, reachable only from it.
const ANY_LOCAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

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

    /// Also serves the web tier over TLS, on a free port of 127.0.0.1.
    pub fn https(self) -> Self {
        self.bind_https(ANY_LOCAL)
    }

    /// Also serves the web tier over TLS, at this address.
    pub fn bind_https(mut self, address: SocketAddr) -> Self {
        self.https = Some(address);
        self
    }

    /// The first certificate of all TLS ports; default is [`CertificateProfile::Station`].
    pub fn certificate(mut self, profile: CertificateProfile) -> Self {
        self.certificate = profile;
        self
    }

    /// Also answers Fox hellos, plain and over TLS, on free ports of 127.0.0.1.
    pub fn fox(self, settings: FoxSettings) -> Self {
        self.bind_fox(ANY_LOCAL)
            .bind_foxs(ANY_LOCAL)
            .fox_settings(settings)
    }

    /// Also answers Fox hellos at this address.
    pub fn bind_fox(mut self, address: SocketAddr) -> Self {
        self.fox = Some(address);
        self
    }

    /// Also answers Fox hellos over TLS at this address.
    pub fn bind_foxs(mut self, address: SocketAddr) -> Self {
        self.foxs = Some(address);
        self
    }

    /// What the Fox ports answer.
    pub fn fox_settings(mut self, settings: FoxSettings) -> Self {
        self.fox_settings = settings;
        self
    }

    /// Also opens the control port, on a free port of 127.0.0.1.
    pub fn control(self) -> Self {
        self.bind_control(ANY_LOCAL)
    }

    /// Also opens the control port at this address. Whoever reaches it commands the station.
    pub fn bind_control(mut self, address: SocketAddr) -> Self {
        self.control = Some(address);
        self
    }

    /// Starts to listen in the caller's tokio runtime.
    ///
    /// # Errors
    /// When an address cannot be bound, or the model or certificate cannot be made.
    pub async fn start(self) -> Result<MockStation, StartError> {
        let (web, address) = bind(self.bind.unwrap_or(ANY_LOCAL)).await?;
        let secure = bind_optional(self.https).await?;
        let control = bind_optional(self.control).await?;
        let fox = bind_optional(self.fox).await?;
        let foxs = bind_optional(self.foxs).await?;
        let station = match self.station {
            Some(station) => station,
            None => {
                let clock = self.clock.unwrap_or_else(|| Arc::new(SystemClock::new()));
                let station = match self.site {
                    Some(options) => Site::build(options)?.station,
                    None => sample::station(clock.now())?,
                };
                SharedStation::new(station, clock)
            }
        };
        let station_name = station.read().name();
        let certificates = Arc::new(Certificates::generate(&station_name, &self.certificate)?);
        let context = ServerContext::new(
            station.clock().clone(),
            station,
            SharedSwitches::new(self.switches.unwrap_or_default()),
        );
        let mut mock = MockStation {
            fox: FoxService::listening_at(
                fox.as_ref().map(|(_, address)| *address),
                foxs.as_ref().map(|(_, address)| *address),
                self.fox_settings,
                &certificates,
            ),
            context,
            address,
            https: secure.as_ref().map(|(_, address)| *address),
            control: control.as_ref().map(|(_, address)| *address),
            certificates,
            stop: CancellationToken::new(),
            listeners: Vec::new(),
        };
        mock.serve_web(web, secure.map(|(listener, _)| listener))?;
        mock.serve_fox(fox.map(|(listener, _)| listener), false);
        mock.serve_fox(foxs.map(|(listener, _)| listener), true);
        if let Some((listener, _)) = control {
            let desk = control::Desk::of(&mock);
            let task = control::serve(listener, desk, mock.stop.clone());
            mock.listeners.push(tokio::spawn(task));
        }
        Ok(mock)
    }
}

impl MockStation {
    fn serve_web(
        &mut self,
        plain: TcpListener,
        secure: Option<TcpListener>,
    ) -> Result<(), StartError> {
        let serve = |listener, tls| {
            let (context, stop) = (self.context.clone(), self.stop.clone());
            tokio::spawn(listener::serve(listener, tls, context, stop))
        };
        let mut tasks = vec![serve(plain, None)];
        if let Some(secure) = secure {
            tasks.push(serve(secure, Some(self.certificates.server_config()?)));
        }
        self.listeners.extend(tasks);
        Ok(())
    }

    fn serve_fox(&mut self, listener: Option<TcpListener>, secure: bool) {
        if let (Some(listener), Some(service)) = (listener, &self.fox) {
            let (context, stop) = (self.context.clone(), self.stop.clone());
            let task = service.clone().serve(listener, secure, context, stop);
            self.listeners.push(tokio::spawn(task));
        }
    }
}

async fn bind(address: SocketAddr) -> Result<(TcpListener, SocketAddr), StartError> {
    let failed = |source| StartError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}

async fn bind_optional(
    address: Option<SocketAddr>,
) -> Result<Option<(TcpListener, SocketAddr)>, StartError> {
    match address {
        Some(address) => Ok(Some(bind(address).await?)),
        None => Ok(None),
    }
}
