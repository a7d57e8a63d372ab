//! The session with the bridge, and all that is needed to have it once more.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::HeaderValue;
use serde_json::{Value, json};
use tokio::sync::{Mutex, watch};

use super::link::{Link, failed};
use super::output::Output;
use crate::mcp::http::checks::SESSION_HEADER;
use crate::mcp::message::Incoming;
use crate::station::http::HttpResponse;
use crate::tools::RpcError;

const INITIALIZED: &str = "notifications/initialized";
pub(super) const UPDATED: &str = "notifications/resources/updated";
/// What may have changed unheard.
pub(super) const LISTS_CHANGED: [&str; 2] = [
    "notifications/tools/list_changed",
    "notifications/resources/list_changed",
];

/// The session of the one client.
pub(super) struct Session {
    /// Held while the session is opened, so that it is opened once.
    told: Mutex<Told>,
    id: watch::Sender<Option<HeaderValue>>,
}

/// What the client told its session; a new one is told the same.
#[derive(Default)]
struct Told {
    initialize: Option<Bytes>,
    initialized: bool,
    log_level: Option<Bytes>,
    /// Subscribed resources, and the requests that did it.
    subscriptions: BTreeMap<String, Bytes>,
}

impl Session {
    pub(super) fn new() -> Self {
        Self {
            told: Mutex::default(),
            id: watch::Sender::new(None),
        }
    }

    /// The id in use.
    pub(super) fn id(&self) -> Option<HeaderValue> {
        self.id.borrow().clone()
    }

    /// Tells when another id is in use.
    pub(super) fn ids(&self) -> watch::Receiver<Option<HeaderValue>> {
        self.id.subscribe()
    }

    /// Opens a session by the client's own `initialize`.
    pub(super) async fn open(&self, link: &Link, body: Bytes) -> Result<HttpResponse, RpcError> {
        let mut told = self.told.lock().await;
        let response = link.post(body.clone(), None).await?;
        *told = Told {
            initialize: Some(body),
            ..Told::default()
        };
        self.id
            .send_replace(response.headers.get(SESSION_HEADER).cloned());
        Ok(response)
    }

    /// Remembers what the client tells its session, as soon as the bridge has taken it.
    pub(super) async fn note(&self, message: &Incoming, body: &Bytes) {
        let mut told = self.told.lock().await;
        match (message, message.method()) {
            (Incoming::Notification { .. }, Some(INITIALIZED)) => told.initialized = true,
            (Incoming::Request { .. }, Some("logging/setLevel")) => {
                told.log_level = Some(body.clone());
            }
            (Incoming::Request { params, .. }, Some("resources/subscribe")) => {
                if let Some(uri) = params.get("uri").and_then(Value::as_str) {
                    told.subscriptions.insert(uri.to_owned(), body.clone());
                }
            }
            (Incoming::Request { params, .. }, Some("resources/unsubscribe")) => {
                if let Some(uri) = params.get("uri").and_then(Value::as_str) {
                    told.subscriptions.remove(uri);
                }
            }
            _ => {}
        }
    }

    /// Opens the lost session again, unless another message has done so already, and tells it what the lost one knew.
    pub(super) async fn reopen(
        &self,
        link: &Link,
        lost: Option<HeaderValue>,
    ) -> Result<Option<HeaderValue>, RpcError> {
        let mut told = self.told.lock().await;
        if self.id() != lost {
            return Ok(self.id());
        }
        let Some(initialize) = told.initialize.clone() else {
            return Err(failed("The session ended; send initialize again."));
        };
        tracing::info!("the bridge has ended the session; it is opened again");
        let response = link.post(initialize, None).await?;
        if response.status != 200 {
            return Err(link.refusal(response).await);
        }
        let id = response.headers.get(SESSION_HEADER).cloned();
        if told.initialized {
            let ready = notification(INITIALIZED, json!({})).to_string();
            link.post(ready.into(), id.clone()).await?;
        }
        if let Some(level) = told.log_level.clone() {
            link.post(level, id.clone()).await?;
        }
        let mut gone = Vec::new();
        for (uri, body) in &told.subscriptions {
            let answer = link.post(body.clone(), id.clone()).await?;
            if !took(answer).await {
                tracing::warn!(%uri, "a subscription could not be made again");
                gone.push(uri.clone());
            }
        }
        gone.iter().for_each(|uri| {
            told.subscriptions.remove(uri);
        });
        self.id.send_replace(id.clone());
        Ok(id)
    }

    /// Tells the client to look again: what the bridge said for a while did not arrive.
    pub(super) async fn tell_gap(&self, output: &Output) {
        let told = self.told.lock().await;
        for uri in told.subscriptions.keys() {
            let note = notification(UPDATED, json!({ "uri": uri }));
            output.write(&note).await;
        }
        if told.initialized {
            for method in LISTS_CHANGED {
                output.write(&notification(method, json!({}))).await;
            }
        }
    }

    /// Ends the session on the bridge.
    pub(super) async fn close(&self, link: &Link) {
        let Some(id) = self.id.send_replace(None) else {
            return;
        };
        if let Err(error) = link.delete(id).await {
            tracing::debug!(error = %error.message, "the session could not be ended");
        }
    }
}

/// A notification of the relay's own.
pub(super) fn notification(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

/// Whether the answer to a request of our own is a result.
async fn took(answer: HttpResponse) -> bool {
    let Ok(body) = answer.into_body().bytes().await else {
        return false;
    };
    let text = String::from_utf8_lossy(&body);
    let text = text.trim_start();
    let json = text
        .lines()
        .find_map(|line| line.strip_prefix("data:"))
        .unwrap_or(text);
    let answer: Option<Value> = serde_json::from_str(json).ok();
    answer.is_some_and(|answer| answer.get("result").is_some())
}
