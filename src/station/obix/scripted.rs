//! An oBIX endpoint whose every answer a test decides.

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;

use super::client::ObixClient;
use crate::clock::SystemClock;
use crate::station::web::{LoginScheme, Secret, WebOptions, WebSession};

/// Stands for a status where no answer ever comes.
pub(super) const NEVER: u16 = 0;

/// Status and body; a body that begins with `<html` is sent as HTML.
pub(super) type Said = (u16, String);

type Script = Box<dyn Fn(&str, &str) -> Said + Send>;

struct Station {
    script: Script,
    heard: Vec<String>,
    held: Arc<Notify>,
}

/// A running scripted station; stops when dropped.
pub(super) struct Scripted {
    pub client: ObixClient,
    station: Arc<Mutex<Station>>,
    held: Arc<Notify>,
    server: tokio::task::JoinHandle<()>,
}

impl Scripted {
    /// The script sees the target with query, and the body of a POST.
    pub async fn start(script: impl Fn(&str, &str) -> Said + Send + 'static) -> Self {
        let held = Arc::<Notify>::default();
        let station = Arc::new(Mutex::new(Station {
            script: Box::new(script),
            heard: Vec::new(),
            held: Arc::clone(&held),
        }));
        let app = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&station));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a free port");
        let address = listener.local_addr().expect("bound");
        let server = tokio::spawn(async move {
            axum::serve(listener, app).await.expect("serving");
        });
        let url = format!("http://{address}").parse().expect("an address");
        let mut options = WebOptions::new(url, "bridge", Secret::new("secret"));
        options.scheme = LoginScheme::Basic;
        options.limits.requests_per_second = 0;
        options.limits.read_retries = 0;
        let web = WebSession::new(options, SystemClock::shared()).expect("a session");
        Self {
            client: ObixClient::new(web),
            station,
            held,
            server,
        }
    }

    /// Returns when a request has come that is [`NEVER`] answered.
    pub async fn holds_a_request(&self) {
        self.held.notified().await;
    }

    /// Targets of the oBIX requests so far.
    pub fn heard(&self) -> Vec<String> {
        self.station
            .lock()
            .expect("no panic in scripts")
            .heard
            .clone()
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn answer(State(station): State<Arc<Mutex<Station>>>, request: Request) -> Response {
    let target = request
        .uri()
        .path_and_query()
        .map(ToString::to_string)
        .unwrap_or_default();
    let body = axum::body::to_bytes(request.into_body(), 1 << 20)
        .await
        .expect("a small body");
    if !target.starts_with("/obix") {
        // The login's own probe.
        return "".into_response();
    }
    let (status, text) = {
        let mut station = station.lock().expect("no panic in scripts");
        let said = (station.script)(&target, &String::from_utf8_lossy(&body));
        station.heard.push(target);
        if said.0 == NEVER {
            station.held.notify_one();
        }
        said
    };
    if status == NEVER {
        std::future::pending::<()>().await;
    }
    let media = if text.starts_with("<html") {
        "text/html"
    } else {
        "text/xml"
    };
    let status = http::StatusCode::from_u16(status).expect("a status");
    (status, [(http::header::CONTENT_TYPE, media)], text).into_response()
}
