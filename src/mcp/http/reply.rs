//! The answer to a request: one JSON document, or an event stream that ends with it.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::stream;
use rmcp::model::{ClientJsonRpcMessage, ErrorData, JsonRpcMessage};
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use tokio::sync::mpsc::{self, Receiver};

use super::checks::json_response;
use super::sessions::{Busy, Session};
use super::streamable::accepted_without_answer;
use crate::mcp::message::{is_answer, outgoing};

/// What kinds of answer a client accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accepted {
    json: bool,
    stream: bool,
}

impl Accepted {
    /// Reads the `Accept` headers; without one a client gets plain JSON.
    pub fn from(headers: &HeaderMap) -> Self {
        let (mut json, mut stream) = (false, false);
        for value in headers.get_all(header::ACCEPT) {
            for range in value.to_str().unwrap_or_default().split(',') {
                match range
                    .split(';')
                    .next()
                    .unwrap_or_default()
                    .trim()
                    .to_ascii_lowercase()
                    .as_str()
                {
                    "application/json" | "application/*" | "*/*" => json = true,
                    "text/event-stream" | "text/*" => stream = true,
                    _ => {}
                }
            }
        }
        Self {
            json: json || !stream,
            stream,
        }
    }

    /// Whether the answer is a stream: the client reads streams, and either wants progress or reads nothing else.
    pub fn stream_for(self, wants_progress: bool) -> bool {
        self.stream && (wants_progress || !self.json)
    }
}

/// Headers of an event stream (Tool surface §1.2).
pub fn stream_headers() -> [(HeaderName, &'static str); 4] {
    [
        (header::CONTENT_TYPE, "text/event-stream; charset=utf-8"),
        (header::CACHE_CONTROL, "no-cache"),
        (header::CONNECTION, "keep-alive"),
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ]
}

/// Waits for the answer and leaves out what comes before it.
///
/// A client that reads plain JSON cannot answer a question of the server, so questions are refused for it.
/// A cancelled request has no answer; then the reply is 202.
pub async fn plain_reply(
    session: &Session,
    _busy: Busy,
    inner: i64,
    mut answers: Receiver<ServerSseMessage>,
) -> Response {
    // The client may leave before the answer; then this future is dropped.
    let _open = session.ids.close_on_drop(inner);
    while let Some(event) = answers.recv().await {
        let Some(message) = event.message else {
            continue;
        };
        match message.as_ref() {
            JsonRpcMessage::Request(request) => {
                let refusal = ErrorData::invalid_request(
                    "the client reads plain JSON answers and cannot be asked",
                    None,
                );
                let refusal: ClientJsonRpcMessage =
                    JsonRpcMessage::error(refusal, Some(request.id.clone()));
                if let Err(error) = session.push(refusal).await {
                    tracing::debug!(%error, "a question of the server could not be refused");
                }
            }
            message if is_answer(message) => {
                return json_response(StatusCode::OK, &outgoing(message, &session.ids));
            }
            _ => {}
        }
    }
    accepted_without_answer()
}

/// Events that may wait for a slow reader; a notification beyond that is dropped, the answer never.
const STREAM_QUEUE: usize = 64;

/// Streams everything that belongs to the request, ending with its answer.
///
/// The session's queue is emptied by a task of its own: a reader that stalls must not hold up its session.
pub fn stream_reply(
    session: Arc<Session>,
    busy: Busy,
    inner: i64,
    mut answers: Receiver<ServerSseMessage>,
) -> Response {
    let (sender, receiver) = mpsc::channel::<Bytes>(STREAM_QUEUE);
    tokio::spawn(async move {
        let _busy = busy;
        while let Some(event) = answers.recv().await {
            let Some(message) = event.message else {
                continue;
            };
            let frame = Bytes::from(format!(
                "event: message\ndata: {}\n\n",
                outgoing(&message, &session.ids)
            ));
            if is_answer(&message) {
                // The reader may be gone; the call has ended either way.
                drop(sender.send(frame).await);
                return;
            }
            if sender.try_send(frame).is_err() {
                tracing::debug!("a notification was dropped: the client reads too slowly");
            }
        }
        session.ids.close(inner);
    });
    let frames = stream::unfold(receiver, |mut receiver| async move {
        receiver
            .recv()
            .await
            .map(|frame| (Ok::<_, Infallible>(frame), receiver))
    });
    (stream_headers(), Body::from_stream(frames)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn streams(accept: &[&str], wants_progress: bool) -> bool {
        let headers: HeaderMap = accept
            .iter()
            .map(|value| (header::ACCEPT, value.parse().expect("value")))
            .collect();
        Accepted::from(&headers).stream_for(wants_progress)
    }

    #[test]
    fn a_stream_is_sent_only_to_those_who_read_it() {
        assert!(!streams(&[], true));
        assert!(!streams(&["application/json"], true));
        assert!(!streams(&["*/*"], true));
        assert!(!streams(&["application/json, text/event-stream"], false));
        assert!(streams(&["application/json, text/event-stream"], true));
        assert!(streams(
            &["application/json;q=0.9", "text/event-stream"],
            true
        ));
        assert!(streams(&["text/event-stream"], false));
    }
}
