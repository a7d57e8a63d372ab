//! The HTTP front: routes, the order of checks, start and orderly end (Tool surface §1).
//!
//! - [`checks`]: who may come in: host, origin, rate, bearer, transport switch, revision.
//! - [`spelling`]: the exact header name of the 401.
//! - [`sessions`]: the table of sessions, bound to their callers, with idle eviction.
//! - [`streamable`]: POST, GET and DELETE of `/mcp`.
//! - [`stateless`]: POST of revision 2026-07-28, which has no sessions.
//! - [`legacy_sse`]: `/sse` and `/messages`.
//! - [`reply`]: plain JSON or an event stream.
//! - [`frames`]: what waits for the reader of a stream, bounded by number and bytes.
//! - [`connections`]: time limits for unfinished requests, and connections by address.
//! - [`tls`]: connections from clients; [`certificate`]: the certificate they are shown.
//! - [`guesses`]: the delay after wrong bearers.
//! - [`health`] answers `/health`.

pub mod certificate;
pub mod checks;
pub mod connections;
pub mod frames;
pub mod guesses;
pub mod health;
pub mod legacy_sse;
pub mod reply;
pub mod sessions;
pub mod spelling;
pub mod stateless;
pub mod streamable;
pub mod tls;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{Method, StatusCode, Uri, header};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use self::certificate::Certificates;
use self::checks::{InboundLimits, Visitors};
use self::connections::{ConnectionLimits, Seats};
use self::health::Health;
use self::legacy_sse::SseTable;
use self::sessions::SessionTable;
use self::spelling::HeaderSpelling;
use self::tls::Entrance;
use super::auth::Authenticator;
use super::bridge::Bridge;
use crate::station::echo::shortened;
use crate::tools::{Principal, SessionCounts, ToolSets};

/// How the front behaves.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// Path in front of `/mcp` and `/health`, without slashes at its ends.
    pub base_path: String,
    /// Host names that requests may carry; empty means: only loopback names on a loopback address, any otherwise.
    pub allowed_hosts: Vec<String>,
    /// Origins beyond the server's own and loopback that browsers may come from.
    pub allowed_origins: Vec<String>,
    /// Largest request body in bytes.
    pub body_limit: usize,
    /// A session unused for longer than this is gone.
    pub session_idle: Duration,
    /// Time between signs of life on a quiet stream of the older transport.
    pub sse_heartbeat: Duration,
    pub limits: InboundLimits,
    pub connections: ConnectionLimits,
    /// The certificate to serve over TLS with; none serves plain HTTP.
    pub tls: Option<Arc<Certificates>>,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            base_path: "niagaramcp".into(),
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            body_limit: 4 * 1024 * 1024,
            session_idle: Duration::from_secs(1800),
            sse_heartbeat: Duration::from_secs(25),
            limits: InboundLimits::default(),
            connections: ConnectionLimits::default(),
            tls: None,
        }
    }
}

/// Everything the handlers share.
pub struct Front {
    pub bridge: Arc<Bridge>,
    pub authenticator: Authenticator,
    pub sessions: Arc<SessionTable>,
    pub streams: Arc<SseTable>,
    pub health: Health,
    pub options: HttpOptions,
    pub visitors: Visitors,
    /// Fires when the server stops.
    pub stop: CancellationToken,
    spelling: HeaderSpelling,
}

impl Front {
    /// What a caller may use of the tool sets that were asked for; all when none were named.
    fn toolsets(&self, principal: &Principal, asked: Option<ToolSets>) -> ToolSets {
        let asked = asked.unwrap_or_else(ToolSets::all);
        self.authenticator.allowed(principal, asked)
    }
}

/// A server that accepts connections.
pub struct HttpServer {
    address: SocketAddr,
    base_path: String,
    scheme: &'static str,
    sessions: Arc<SessionTable>,
    streams: Arc<SseTable>,
    task: tokio::task::JoinHandle<()>,
    stop: CancellationToken,
}

/// All sessions of a server, of both transports.
#[derive(Clone)]
pub struct OpenSessions {
    sessions: Arc<SessionTable>,
    streams: Arc<SseTable>,
}

impl OpenSessions {
    /// Ends all sessions; their clients have to initialize again.
    pub fn end_all(&self) {
        self.sessions.close_all();
        self.streams.close_all();
    }
}

/// Time that open connections get to finish after a stop.
const STOP_GRACE: Duration = Duration::from_secs(3);

/// Dead sessions leave at the latest after this time.
const SWEEP_EVERY: Duration = Duration::from_secs(60);

impl HttpServer {
    /// Starts to serve on `listener` until `stop` fires.
    ///
    /// # Errors
    /// The listener's address cannot be read, or the TLS library refuses its settings.
    pub async fn start(
        bridge: Arc<Bridge>,
        authenticator: Authenticator,
        health: Health,
        options: HttpOptions,
        listener: TcpListener,
        stop: CancellationToken,
    ) -> std::io::Result<Self> {
        let address = listener.local_addr()?;
        let sessions = Arc::new(SessionTable::new(options.session_idle, stop.child_token()));
        let streams = Arc::new(SseTable::new(options.sse_heartbeat, stop.child_token()));
        bridge.ends_with(stop.clone());
        let counted = (sessions.clone(), streams.clone());
        bridge.count_sessions_by(move || SessionCounts {
            sse: counted.1.count(),
            ..counted.0.counts()
        });
        let visitors = Visitors::new(&options, address);
        let limits = options.connections;
        let base_path = options.base_path.clone();
        let tls = match options.tls.clone() {
            Some(certificates) => {
                Some(tls::server_config(certificates).map_err(std::io::Error::other)?)
            }
            None => None,
        };
        let scheme = if tls.is_some() { "https" } else { "http" };
        let held = (sessions.clone(), streams.clone());
        let spelling = HeaderSpelling::of("WWW-Authenticate").await;
        let front = Arc::new(Front {
            bridge,
            authenticator,
            sessions,
            streams,
            health,
            options,
            visitors,
            stop: stop.clone(),
            spelling,
        });
        tokio::spawn(sweep(front.clone(), stop.clone()));
        let router = router(front);
        let entrance = Entrance::new(listener, tls, Seats::new(limits.per_address));
        let stopped = stop.clone();
        let task = tokio::spawn(async move {
            let served = connections::serve(entrance, router, limits, stopped.clone());
            tokio::select! {
                () = served => {}
                () = async { stopped.cancelled().await; tokio::time::sleep(STOP_GRACE).await } => {
                    tracing::warn!("open connections were cut at the end");
                }
            }
        });
        Ok(Self {
            address,
            base_path,
            scheme,
            sessions: held.0,
            streams: held.1,
            task,
            stop,
        })
    }

    /// The address that is listened on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of the MCP endpoint.
    pub fn endpoint(&self) -> String {
        let base = prefix(&self.base_path);
        format!("{}://{}{base}/mcp", self.scheme, self.address)
    }

    /// A handle on the sessions that outlives this value.
    pub fn sessions(&self) -> OpenSessions {
        OpenSessions {
            sessions: self.sessions.clone(),
            streams: self.streams.clone(),
        }
    }

    /// Stops and waits until connections and sessions are closed.
    pub async fn stop(self) {
        self.stop.cancel();
        self.wait().await;
    }

    /// Waits until the server has stopped.
    pub async fn wait(self) {
        if let Err(error) = self.task.await {
            tracing::error!(%error, "the HTTP server failed");
        }
    }
}

fn prefix(base_path: &str) -> String {
    let trimmed = base_path.trim_matches('/');
    if trimmed.is_empty() {
        String::new()
    } else {
        format!("/{trimmed}")
    }
}

fn router(front: Arc<Front>) -> Router {
    let base = prefix(&front.options.base_path);
    let checked = Router::new()
        .route(
            &format!("{base}/mcp"),
            post(streamable::post)
                .get(streamable::get)
                .delete(streamable::delete),
        )
        .route(&format!("{base}/sse"), get(legacy_sse::stream))
        .route(&format!("{base}/messages"), post(legacy_sse::messages))
        .route(&format!("{base}/metrics"), get(metrics))
        .fallback(not_found)
        .method_not_allowed_fallback(not_found)
        .layer(middleware::from_fn_with_state(front.clone(), checks::admit))
        .with_state(front.clone());
    Router::new()
        .route(&format!("{base}/health"), get(health::answer))
        .with_state(front)
        .merge(checked)
}

async fn metrics(State(front): State<Arc<Front>>) -> Response {
    let kind = [(
        header::CONTENT_TYPE,
        "text/plain; version=0.0.4; charset=utf-8",
    )];
    (kind, front.bridge.metrics.text(&front.bridge)).into_response()
}

async fn not_found(method: Method, uri: Uri) -> Response {
    let text = format!(
        "There is nothing for {method} at {}.",
        shortened(uri.path())
    );
    // Plain text, as clients of the in-station module know it (Tool surface §1).
    (StatusCode::NOT_FOUND, text).into_response()
}

async fn sweep(front: Arc<Front>, stop: CancellationToken) {
    let mut ticks = tokio::time::interval(SWEEP_EVERY);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = ticks.tick() => {
                front.sessions.evict_idle();
                front.visitors.forget_idle();
            }
        }
    }
}
