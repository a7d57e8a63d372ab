//! The answer to a request: one JSON document, or an event stream that ends with it.

use std::any::Any;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::stream;
use rmcp::model::{
    ClientJsonRpcMessage, ErrorCode, ErrorData, JsonRpcMessage, ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use serde_json::Value;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::checks::{json_response, json_text};
use super::frames::{self, FrameReceiver, WAITING_BYTES};
use super::sessions::Session;
use crate::mcp::message::{RequestIds, cancelled_answer, is_answer, outgoing};

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

    /// Whether the client reads event streams at all.
    pub fn reads_streams(self) -> bool {
        self.stream
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

/// Events that may wait for a slow reader; a notification beyond that is dropped, the answer never.
const STREAM_QUEUE: usize = 64;

/// Time that a call gets to answer after the server was stopped.
const LAST_ANSWER: Duration = Duration::from_secs(2);

/// Notifications that belong to one request, on their way to its stream.
pub fn outlet() -> (Sender<Value>, Receiver<Value>) {
    mpsc::channel(STREAM_QUEUE)
}

/// Where the messages of a request come from.
pub enum Answers {
    Session(Receiver<ServerSseMessage>),
    Oneshot(Receiver<ServerJsonRpcMessage>),
    /// Of a call beside the session's loop; its sender is dropped when the client cancels.
    Direct(oneshot::Receiver<ServerJsonRpcMessage>),
}

impl Answers {
    async fn next(&mut self) -> Option<Arc<ServerJsonRpcMessage>> {
        match self {
            Self::Session(messages) => loop {
                if let Some(message) = messages.recv().await?.message {
                    return Some(message);
                }
            },
            Self::Oneshot(messages) => messages.recv().await.map(Arc::new),
            Self::Direct(answer) => answer.await.ok().map(Arc::new),
        }
    }
}

/// A request whose answer is awaited.
pub struct Pending {
    pub ids: Arc<RequestIds>,
    pub inner: i64,
    pub answers: Answers,
    pub notes: Receiver<Value>,
    /// None for a request without a session.
    pub session: Option<Arc<Session>>,
    /// Kept as long as the request runs.
    pub guard: Box<dyn Any + Send + Sync>,
    /// Fires when the server stops.
    pub stop: CancellationToken,
}

enum Event {
    Answer(Arc<ServerJsonRpcMessage>),
    /// Notifications, as JSON text.
    Other(String),
    Question(Arc<ServerJsonRpcMessage>),
}

impl Pending {
    /// Notifications first: what a call said comes before its answer.
    async fn next(&mut self) -> Option<Event> {
        let message = tokio::select! {
            biased;
            Some(note) = self.notes.recv() => return Some(Event::Other(note.to_string())),
            message = self.answers.next() => message?,
        };
        Some(match message.as_ref() {
            message_ref if is_answer(message_ref) => Event::Answer(message),
            JsonRpcMessage::Request(_) => Event::Question(message),
            _ => Event::Other(outgoing(&message, &self.ids)),
        })
    }

    /// A client that reads plain JSON cannot answer a question of the server.
    async fn refuse(&self, question: &ServerJsonRpcMessage) {
        let (Some(session), JsonRpcMessage::Request(request)) = (&self.session, question) else {
            return;
        };
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
}

/// Answers a request. `status` gives the HTTP status of an error that is the whole answer.
///
/// A client that reads streams gets one when it asked for progress, or when the call has something to say before its
/// answer; otherwise the answer is plain JSON. A cancelled request has no answer of its own, but its POST still waits:
/// the client is told that it was cancelled.
pub async fn reply(
    mut pending: Pending,
    accepted: Accepted,
    wants_progress: bool,
    status: fn(ErrorCode) -> StatusCode,
) -> Response {
    if accepted.stream_for(wants_progress) && pending.session.is_some() {
        return stream_reply(pending, None);
    }
    // The client may leave before the answer; then this future is dropped.
    let ids = pending.ids.clone();
    let open = ids.close_on_drop(pending.inner);
    while let Some(event) = pending.next().await {
        match event {
            Event::Answer(message) => {
                let status = match message.as_ref() {
                    JsonRpcMessage::Error(error) => status(error.error.code),
                    _ => StatusCode::OK,
                };
                if status == StatusCode::OK && accepted.stream_for(wants_progress) {
                    let frame = frame(&outgoing(&message, &pending.ids));
                    return (stream_headers(), frame).into_response();
                }
                return json_text(status, outgoing(&message, &pending.ids));
            }
            Event::Question(message) if accepted.stream => {
                let first = outgoing(&message, &pending.ids);
                open.keep();
                return stream_reply(pending, Some(first));
            }
            Event::Other(first) if accepted.stream => {
                open.keep();
                return stream_reply(pending, Some(first));
            }
            Event::Question(message) => pending.refuse(&message).await,
            Event::Other(_) => {}
        }
    }
    let id = pending.ids.close(pending.inner).unwrap_or_default();
    json_response(StatusCode::OK, &cancelled_answer(id))
}

fn frame(message: &str) -> Bytes {
    Bytes::from(format!("event: message\ndata: {message}\n\n"))
}

/// Streams everything that belongs to the request, ending with its answer.
///
/// The session's queue is emptied by a task of its own: a reader that stalls must not hold up its session. A request
/// without a session ends when its reader leaves.
fn stream_reply(mut pending: Pending, first: Option<String>) -> Response {
    let (sender, receiver) = frames::queue(STREAM_QUEUE, WAITING_BYTES);
    tokio::spawn(async move {
        if let Some(first) = first {
            drop(sender.try_send(frame(&first)));
        }
        let leaves_early = pending.session.is_none();
        let stop = pending.stop.clone();
        loop {
            let event = tokio::select! {
                event = pending.next() => event,
                () = sender.closed(), if leaves_early => None,
                () = async { stop.cancelled().await; tokio::time::sleep(LAST_ANSWER).await }, if leaves_early => None,
            };
            let note = match event {
                None => break,
                Some(Event::Answer(message)) => {
                    // The reader may be gone; the call has ended either way.
                    drop(
                        sender
                            .finish(frame(&outgoing(&message, &pending.ids)))
                            .await,
                    );
                    return;
                }
                Some(Event::Question(message)) => outgoing(&message, &pending.ids),
                Some(Event::Other(note)) => note,
            };
            if sender.try_send(frame(&note)).is_err() {
                tracing::debug!("a notification was dropped: the client reads too slowly");
            }
        }
        pending.ids.close(pending.inner);
        drop(pending.guard);
    });
    (stream_headers(), body_of(receiver)).into_response()
}

/// A body of the frames of a queue.
pub fn body_of(receiver: FrameReceiver) -> Body {
    Body::from_stream(stream::unfold(receiver, |mut receiver| async move {
        receiver
            .recv()
            .await
            .map(|frame| (Ok::<_, Infallible>(frame), receiver))
    }))
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
