//! The bridge before a 20,000-point station, and a server of the MCP library with nothing around it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::serve::ListenerExt;
use chrono::{DateTime, Utc};
use mock_station::model::accounts::BRIDGE;
use mock_station::model::{PointKind, SharedStation};
use mock_station::server::MockStation;
use mock_station::site::{Harborview, SiteOptions};
use niagara_bridge::cli::assembly::assemble;
use niagara_bridge::cli::serve::start_http;
use niagara_bridge::clock::SystemClock;
use niagara_bridge::config::Config;
use niagara_bridge::config::load::Settings;
use niagara_bridge::mcp::http::HttpServer;
use niagara_bridge::station::http::CallScope;
use niagara_bridge::station::obix::ObixPath;
use niagara_bridge::station::web::{Secret, WebOptions, WebRequest, WebSession};
use rmcp::ServerHandler;
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub const TOKEN: &str = "bench-service-token-0123456789abcdef";
/// Both clocks stand still, so that every run asks for the same.
const NOW: &str = "2026-11-02T15:20:00Z";
const POINTS: usize = 20_000;

pub type Call = (&'static str, Value);

/// A bridge in this process, as `serve` assembles it.
pub struct Served {
    pub mock: MockStation,
    session: WebSession,
    http: reqwest::Client,
    server: HttpServer,
    mcp_session: String,
    point: String,
    point_with_history: String,
    _data: tempfile::TempDir,
}

/// Settings of a bridge to a station, without the limits that would hold the measurement back.
pub fn settings(station: &str, listen: &str, data: &std::path::Path) -> Value {
    json!({
        "listen": listen,
        "apiToken": TOKEN,
        "dataDir": data,
        "station": { "url": station, "user": BRIDGE.user, "password": BRIDGE.password },
        "limits": { "requestsPerSecond": 0, "inboundPerPrincipal": 0, "inboundPerAddress": 0 },
    })
}

impl Served {
    pub async fn start() -> Self {
        Self::with(&json!({}), |_| ()).await
    }

    /// With further settings, over a data folder that was prepared.
    pub async fn with(more: &Value, prepare: impl FnOnce(&std::path::Path)) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let now: DateTime<Utc> = NOW.parse().expect("a time");
        let options = SiteOptions {
            points: POINTS,
            ..SiteOptions::for_tests(now)
        };
        let site = Harborview::build(options).expect("a site");
        let (point_with_history, point) = {
            let numeric = site
                .station
                .histories
                .iter()
                .filter(|history| history.kind == PointKind::Numeric);
            let handle = numeric
                .filter_map(|history| history.point)
                .next()
                .expect("a point");
            let ord = format!("station:|{}", site.station.slot_path(handle));
            (ord.clone(), ord)
        };
        let clock = Arc::new(mock_station::clock::TestClock::at(now));
        let mock = MockStation::builder()
            .station(SharedStation::new(site.station, clock))
            .start()
            .await
            .expect("the stand-in station");
        let data = tempfile::tempdir().expect("a folder");
        prepare(data.path());
        let mut document = settings(&mock.url(), "127.0.0.1:0", data.path());
        for (key, value) in more.as_object().into_iter().flatten() {
            document[key] = value.clone();
        }
        let mut settings = Settings::empty("the bench".into());
        settings
            .read_text("the bench", &document.to_string())
            .expect("settings");
        let config = Config::from_settings(&settings).expect("a configuration");
        let assembly = assemble(&config).expect("an assembly");
        let (server, _) = start_http(assembly, &config, CancellationToken::new())
            .await
            .expect("a server");
        let http = reqwest::Client::builder()
            .no_proxy()
            .build()
            .expect("a client");
        let mcp_session = initialize(&http, &server.endpoint()).await;
        let mut options = WebOptions::new(
            mock.url().parse().expect("an address"),
            BRIDGE.user,
            Secret::new(BRIDGE.password),
        );
        options.limits.requests_per_second = 0;
        let session = WebSession::new(options, SystemClock::shared()).expect("a session");
        Self {
            mock,
            session,
            http,
            server,
            mcp_session,
            point,
            point_with_history,
            _data: data,
        }
    }

    pub fn station_url(&self) -> String {
        self.mock.url()
    }

    pub fn point(&self) -> &str {
        &self.point
    }

    pub fn point_with_history(&self) -> &str {
        &self.point_with_history
    }

    pub async fn call(&self, (tool, arguments): &Call) -> Value {
        let request = self
            .http
            .post(self.server.endpoint())
            .bearer_auth(TOKEN)
            .header("Mcp-Session-Id", &self.mcp_session);
        send(request, tool, arguments).await
    }

    /// Requests that the station saw since they were forgotten.
    pub fn requests(&self) -> usize {
        self.mock.requests().len()
    }

    pub fn forget_requests(&self) {
        self.mock.clear_logs();
    }

    /// Where oBIX has the point: reading it is the least that a request to the station can cost.
    pub fn obix_target(&self) -> String {
        let path = self.point.trim_start_matches("station:|");
        let path = ObixPath::of_slot_path(path).expect("a slot path");
        path.request_target()
    }

    pub async fn ask_directly(&self, target: &str) {
        let request = WebRequest::read(&CallScope::unlimited());
        let answer = self.session.get(target, &request).await.expect("an answer");
        assert_eq!(answer.status, 200);
    }
}

async fn initialize(http: &reqwest::Client, endpoint: &str) -> String {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}});
    let answer = http
        .post(endpoint)
        .bearer_auth(TOKEN)
        .header("Content-Type", "application/json")
        .header("Accept", "application/json, text/event-stream")
        .body(body.to_string())
        .send()
        .await
        .expect("an answer");
    let session = answer.headers()["mcp-session-id"].to_str().expect("text");
    session.to_owned()
}

async fn send(request: reqwest::RequestBuilder, tool: &str, arguments: &Value) -> Value {
    // The library's sessions lose requests that share an id.
    static LAST: AtomicU64 = AtomicU64::new(1);
    let id = LAST.fetch_add(1, Ordering::Relaxed);
    let body = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}});
    let answer = request
        .header("Content-Type", "application/json")
        .header("Accept", "application/json, text/event-stream")
        .body(body.to_string())
        .send()
        .await
        .expect("an answer");
    let text = answer.text().await.expect("a body");
    // The last event of a stream is the answer.
    let document = match text.rfind("data: {") {
        Some(at) => text[at + "data: ".len()..]
            .lines()
            .next()
            .unwrap_or_default(),
        None => &text,
    };
    let answer: Value =
        serde_json::from_str(document.trim()).unwrap_or_else(|error| panic!("{error}: {text}"));
    answer["result"].clone()
}

/// A server of the MCP library alone, without rights.
pub struct Bare {
    http: reqwest::Client,
    endpoint: String,
    session: Option<String>,
}

#[derive(Clone)]
struct Echo;

impl ServerHandler for Echo {
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, rmcp::ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let text = arguments
            .get("msg")
            .and_then(Value::as_str)
            .unwrap_or_default();
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

impl Bare {
    /// As the library's own examples mount it: sessions, answers as event streams.
    pub async fn with_sessions() -> Self {
        let mut bare = Self::start(StreamableHttpServerConfig::default()).await;
        let session = initialize(&bare.http, &bare.endpoint).await;
        bare.session = Some(session);
        bare
    }

    /// The least that it can do: no sessions, plain JSON.
    pub async fn without_sessions() -> Self {
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true);
        Self::start(config).await
    }

    async fn start(config: StreamableHttpServerConfig) -> Self {
        let service = StreamableHttpService::new(
            || Ok(Echo),
            Arc::new(LocalSessionManager::default()),
            config,
        );
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        // Otherwise each answer of a stream waits 40 ms for more to send.
        let listener = listener.tap_io(|stream| {
            stream.set_nodelay(true).expect("a socket option");
        });
        let router = axum::Router::new().nest_service("/mcp", service);
        tokio::spawn(async move {
            axum::serve(listener, router).await.expect("a server");
        });
        Self {
            http: reqwest::Client::builder()
                .no_proxy()
                .build()
                .expect("a client"),
            endpoint: format!("http://{address}/mcp"),
            session: None,
        }
    }

    pub async fn call(&self, (tool, arguments): &Call) -> Value {
        let mut request = self.http.post(&self.endpoint);
        if let Some(session) = &self.session {
            request = request.header("Mcp-Session-Id", session);
        }
        send(request, tool, arguments).await
    }
}
