//! Frames over the web session, and the operations that need no server session
//! (Station web specification §4.1–4.3, §4.8).

use futures::{StreamExt, stream};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::sync::Mutex;

use super::frame::{self, FrameError, Refusal, Reply, Request};
use super::node::{Node, NodeError};
use super::session::{LoadPolling, ServerSession};
use super::types::TypeCache;
use crate::station::error::StationError;
use crate::station::http::CallScope;
use crate::station::ord::Ord;
use crate::station::web::{Purpose, WebRequest, WebSession};

/// Requests per frame of a batched resolve (Tool surface §13.5.1, `RS`).
pub(super) const RESOLVES_PER_FRAME: usize = 20;
/// Frames of one batched operation in flight; the web session bounds the identity as a whole.
const FRAMES_IN_FLIGHT: usize = 2;
/// Base ORD that clients send with every resolve.
const BASE: &str = "station:|slot:/";
const ENDPOINT: &str = "/box/";

/// The BOX client of one identity.
#[derive(Debug)]
pub struct BoxClient {
    pub(super) web: WebSession,
    pub(super) types: Arc<TypeCache>,
    pub(super) session: Mutex<ServerSession>,
    pub(super) polling: LoadPolling,
    sequence: AtomicU64,
    one_per_frame: AtomicBool,
}

/// Properties of the logged-in user that decide how display texts look (Station web specification §4.3).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UserProperties {
    pub user_name: Option<String>,
    /// Language code; display texts and number separators follow it.
    pub language: Option<String>,
    /// Pattern of display times.
    pub time_format: Option<String>,
    /// ORD of the user's home page.
    pub user_home: Option<String>,
}

impl BoxClient {
    /// A client over a web session; `types` is shared by all identities of the station.
    pub fn new(web: WebSession, types: Arc<TypeCache>) -> Self {
        Self {
            web,
            types,
            session: Mutex::new(ServerSession::default()),
            polling: LoadPolling::default(),
            sequence: AtomicU64::new(1),
            one_per_frame: AtomicBool::new(false),
        }
    }

    /// The same client with another patience for loads.
    pub fn with_polling(mut self, polling: LoadPolling) -> Self {
        self.polling = polling;
        self
    }

    /// Loads a component, struct or property with its slots: `ord/resolve`.
    ///
    /// # Errors
    /// [`StationError::PermissionDenied`] when the station says so, [`StationError::NotFound`] for every
    /// other refusal (Tool surface §13.5.1), and whatever the web session reports.
    pub async fn resolve(&self, scope: &CallScope, ord: &Ord) -> Result<Node, StationError> {
        let reply = self.call(scope, resolve_request(ord)).await?;
        self.resolved(ord, reply)
    }

    /// Loads many at once, up to 20 per frame; the answers are in the order of the ORDs.
    ///
    /// A station that answers only the first request of a frame is remembered and asked one by one.
    ///
    /// # Errors
    /// Refusals stand in the answers; the call fails only when the station cannot be asked.
    pub async fn resolve_many(
        &self,
        scope: &CallScope,
        ords: &[Ord],
    ) -> Result<Vec<Result<Node, StationError>>, StationError> {
        let size = if self.asks_one_by_one() {
            1
        } else {
            RESOLVES_PER_FRAME
        };
        // Futures made beforehand: a closure inside the stream would not be Send for every lifetime.
        let frames: Vec<_> = ords
            .chunks(size)
            .map(|chunk| self.resolve_frame(scope, chunk))
            .collect();
        let mut frames = stream::iter(frames).buffered(FRAMES_IN_FLIGHT);
        let mut nodes = Vec::with_capacity(ords.len());
        while let Some(answers) = frames.next().await {
            nodes.extend(answers?);
        }
        Ok(nodes)
    }

    async fn resolve_frame(
        &self,
        scope: &CallScope,
        ords: &[Ord],
    ) -> Result<Vec<Result<Node, StationError>>, StationError> {
        let replies = self
            .exchange(scope, &ords.iter().map(resolve_request).collect::<Vec<_>>())
            .await?;
        let mut nodes = Vec::with_capacity(ords.len());
        for (ord, reply) in ords.iter().zip(replies) {
            let reply = match reply {
                Some(reply) => reply,
                None => {
                    self.ask_one_by_one();
                    self.call(scope, resolve_request(ord)).await?
                }
            };
            nodes.push(self.resolved(ord, reply));
        }
        Ok(nodes)
    }

    /// Whether the station answers only the first request of a frame.
    pub(super) fn asks_one_by_one(&self) -> bool {
        self.one_per_frame.load(Ordering::Relaxed)
    }

    pub(super) fn ask_one_by_one(&self) {
        self.one_per_frame.store(true, Ordering::Relaxed);
    }

    fn resolved(&self, ord: &Ord, reply: Reply) -> Result<Node, StationError> {
        let target = ord.absolute();
        let body = reply.map_err(|refusal| self.not_found(&target, refusal))?;
        match body.get("o") {
            Some(node @ Json::Object(_)) => {
                Node::decode(node).map_err(|error| node_error(&target, &error))
            }
            _ => Err(protocol(
                &target,
                "a component in \"o\" of the BOX reply",
                "none",
            )),
        }
    }

    /// The properties of the logged-in user.
    pub async fn user_properties(&self, scope: &CallScope) -> Result<UserProperties, StationError> {
        let request = Request::new("sys", "props", json!({}));
        let body = self
            .call(scope, request)
            .await?
            .map_err(|refusal| self.interface_refused("BOX user properties", refusal))?;
        let text = |key: &str| {
            body.get(key)
                .and_then(Json::as_str)
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
        };
        Ok(UserProperties {
            user_name: text("userName"),
            language: text("lang"),
            time_format: text("timeFormat"),
            user_home: text("userHome"),
        })
    }

    /// Name of the logged-in user.
    pub(super) fn user(&self) -> &str {
        self.web.user()
    }

    /// Sends one request in a frame of its own.
    pub(super) async fn call(
        &self,
        scope: &CallScope,
        request: Request,
    ) -> Result<Reply, StationError> {
        self.call_as(&WebRequest::read(scope), request).await
    }

    /// The same for a request whose answer the station gives once.
    pub(super) async fn call_once(
        &self,
        scope: &CallScope,
        request: Request,
    ) -> Result<Reply, StationError> {
        self.call_as(&WebRequest::read_once(scope), request).await
    }

    pub(super) async fn call_as(
        &self,
        kind: &WebRequest,
        request: Request,
    ) -> Result<Reply, StationError> {
        let what = format!("BOX {}/{}", request.channel, request.key);
        let replies = self
            .exchange_as(kind, std::slice::from_ref(&request))
            .await?;
        let without = "a BOX frame without one";
        replies
            .into_iter()
            .next()
            .flatten()
            .ok_or_else(|| match kind.purpose {
                Purpose::Write => unknown_outcome(without.to_owned()),
                _ => protocol(&what, "an answer to the request", without),
            })
    }

    /// Sends a frame of requests that only read.
    pub(super) async fn exchange(
        &self,
        scope: &CallScope,
        requests: &[Request],
    ) -> Result<Vec<Option<Reply>>, StationError> {
        self.exchange_as(&WebRequest::read(scope), requests).await
    }

    async fn exchange_as(
        &self,
        kind: &WebRequest,
        requests: &[Request],
    ) -> Result<Vec<Option<Reply>>, StationError> {
        let sequence = self.sequence.fetch_add(1, Ordering::Relaxed);
        let body = frame::encode(sequence, requests);
        let request = kind
            .clone()
            .media("application/json", Some("application/json"));
        let answer = self.web.post(ENDPOINT, body, &request).await?;
        match (
            answer.status,
            frame::decode(&answer.body, sequence, requests.len()),
        ) {
            (200, Ok(replies)) => Ok(replies),
            (status, outcome) => {
                let outcome = outcome.err();
                // Nothing of BOX answered, so a read is free to go another way; a write keeps to what it learnt.
                if kind.purpose != Purpose::Write
                    && let Some(missing) = self.not_served(status, outcome.as_ref())
                {
                    return Err(missing);
                }
                let error = self.no_frame(status, &answer.content_type, outcome);
                let may_be_done = !(400..500).contains(&status);
                Err(match error {
                    StationError::Protocol { found: cause, .. }
                    | StationError::Server { detail: cause, .. }
                        if kind.purpose == Purpose::Write && may_be_done =>
                    {
                        unknown_outcome(cause)
                    }
                    error => error,
                })
            }
        }
    }

    /// Answers of what stands in front of BOX. Its own refusals come as frames (Station web specification §4.1, §4.2).
    fn not_served(&self, status: u16, error: Option<&FrameError>) -> Option<StationError> {
        let is_page = matches!(error, Some(FrameError::Html));
        let detail = match status {
            403 => format!(
                "HTTP 403 for {}; a role or a proxy in between keeps {ENDPOINT} back",
                self.web.user()
            ),
            200 if is_page => format!(
                "{ENDPOINT} answered with an HTML page, not a BOX frame; check what answers there instead of the station"
            ),
            500 if is_page => format!(
                "{ENDPOINT} failed with HTTP 500; the station's application director shows the cause"
            ),
            _ => return None,
        };
        Some(StationError::InterfaceMissing {
            station: self.web.station(),
            needs: "BOX",
            detail,
        })
    }

    /// What an answer means that is not a frame with status 200 (Station web specification §4.1).
    fn no_frame(&self, status: u16, content_type: &str, error: Option<FrameError>) -> StationError {
        let station = self.web.station();
        let found = match error {
            Some(error) => format!("HTTP {status} {content_type}: {error}"),
            None => format!("HTTP {status} {content_type}"),
        };
        match status {
            403 => StationError::PermissionDenied {
                user: self.web.user().to_owned(),
                target: "BOX".into(),
                detail: "HTTP 403".into(),
            },
            404 | 405 => StationError::InterfaceMissing {
                station,
                needs: "BOX",
                detail: format!(
                    "HTTP {status}; the box module may be missing or its service disabled"
                ),
            },
            500.. => StationError::Server {
                target: ENDPOINT.into(),
                status,
                detail: found,
            },
            _ => protocol(ENDPOINT, "a BOX frame", &found),
        }
    }

    /// A refusal of something that the caller named: permission, else not found.
    pub(super) fn not_found(&self, target: &str, refusal: Refusal) -> StationError {
        self.refused(target, refusal, |target, detail| StationError::NotFound {
            target,
            detail,
        })
    }

    /// A refusal of a whole interface.
    pub(super) fn interface_refused(&self, needs: &'static str, refusal: Refusal) -> StationError {
        let station = self.web.station();
        self.refused(needs, refusal, |_, detail| StationError::InterfaceMissing {
            station,
            needs,
            detail,
        })
    }

    /// Permission and the station's own trouble are told by the text and type; `other` names the rest.
    pub(super) fn refused(
        &self,
        target: &str,
        refusal: Refusal,
        other: impl FnOnce(String, String) -> StationError,
    ) -> StationError {
        let target = target.to_owned();
        match refusal.class() {
            RefusalClass::PermissionDenied => StationError::PermissionDenied {
                user: self.web.user().to_owned(),
                target,
                detail: refusal.text,
            },
            RefusalClass::SessionLimit => StationError::InterfaceMissing {
                station: self.web.station(),
                needs: "a free BOX server session",
                detail: format!(
                    "{}; close other browser sessions or raise the station's limit",
                    refusal.text
                ),
            },
            RefusalClass::NotOperational => StationError::Server {
                target,
                status: 200,
                detail: refusal.text,
            },
            RefusalClass::Other => other(target, refusal.text),
        }
    }
}

/// What a refusal is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalClass {
    PermissionDenied,
    /// No further server session is free.
    SessionLimit,
    /// The station is starting, or its BOX service is disabled or not licensed.
    NotOperational,
    Other,
}

impl Refusal {
    /// The class of the refusal (Tool surface §13.5.1 "Errors", Station web specification §4.2).
    pub fn class(&self) -> RefusalClass {
        match self.error_type.as_deref() {
            Some("BoxSessionLimitError") => return RefusalClass::SessionLimit,
            Some("BoxFatalFaultError" | "BoxNonOperationalError") => {
                return RefusalClass::NotOperational;
            }
            _ => {}
        }
        let text = self.text.to_lowercase();
        if text.contains("boxsessionlimit") {
            return RefusalClass::SessionLimit;
        }
        // The generic form of stations that hide details tells nothing, whatever words it uses.
        let is_generic = text.contains("administrator");
        if !is_generic
            && ["permission", "denied", "not allowed"]
                .iter()
                .any(|word| text.contains(word))
        {
            RefusalClass::PermissionDenied
        } else {
            RefusalClass::Other
        }
    }
}

fn resolve_request(ord: &Ord) -> Request {
    Request::new("ord", "resolve", json!({"o": ord.absolute(), "bo": BASE}))
}

pub(super) fn resolve_table_request(ord: &str, limit: usize) -> Request {
    Request::new(
        "ord",
        "resolve",
        json!({"o": ord, "bo": BASE, "c": {"of": 0, "lm": limit}}),
    )
}

/// The station had the write, and what it made of it was not to be understood.
fn unknown_outcome(cause: String) -> StationError {
    StationError::OutcomeUnknown {
        target: ENDPOINT.to_owned(),
        cause,
    }
}

pub(super) fn protocol(target: &str, expected: &'static str, found: &str) -> StationError {
    StationError::Protocol {
        target: target.to_owned(),
        expected,
        found: found.to_owned(),
    }
}

pub(super) fn node_error(target: &str, error: &NodeError) -> StationError {
    protocol(target, "a component in BOX form", &error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_classed_by_type_and_words() {
        let class = |text: &str, error_type: Option<&str>| {
            Refusal {
                text: text.into(),
                error_type: error_type.map(str::to_owned),
                connection_lost: false,
            }
            .class()
        };
        assert_eq!(
            class("Missing OPERATOR_READ Permission", None),
            RefusalClass::PermissionDenied
        );
        assert_eq!(class("Access DENIED", None), RefusalClass::PermissionDenied);
        assert_eq!(class("Unresolved: slot:/x", None), RefusalClass::Other);
        assert_eq!(
            class(
                "An error occurred; ask the administrator for permission details",
                None
            ),
            RefusalClass::Other
        );
        assert_eq!(
            class("too many", Some("BoxSessionLimitError")),
            RefusalClass::SessionLimit
        );
        assert_eq!(
            class("starting", Some("BoxNonOperationalError")),
            RefusalClass::NotOperational
        );
    }
}
