//! POST, GET and DELETE of `/mcp` (Tool surface §1.2).

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use serde_json::Value;
use tokio::sync::mpsc;

use super::Front;
use super::checks::{Admitted, SESSION_HEADER, check_revision, json_response, json_text};
use super::connections::read_body;
use super::frames::{self, WAITING_BYTES};
use super::reply::{Accepted, Answers, Pending, body_of, outlet, reply, stream_headers};
use super::sessions::Session;
use super::stateless;
use crate::mcp::message::{self, Incoming, error_body};
use crate::mcp::service::{BridgeService, Caller};
use crate::tools::{ErrorCode, RpcError};

/// Pushed messages that may wait for a slow reader; one more, or more bytes, and its stream ends.
const PUSH_QUEUE: usize = 1000;

/// One message from the client.
pub async fn post(
    State(front): State<Arc<Front>>,
    Extension(admitted): Extension<Admitted>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    // The body is read before the session is looked at, so bad JSON wins over a bad session.
    let options = &front.options;
    let body = match read_body(body, options.body_limit, options.connections.body).await {
        Ok(body) => body,
        Err(refusal) => return *refusal,
    };
    let incoming = match Incoming::parse(&body) {
        Ok(incoming) => incoming,
        Err(refusal) => return json_response(StatusCode::BAD_REQUEST, &refusal.body()),
    };
    if stateless::applies(&headers, &incoming) {
        return stateless::serve(&front, admitted, &headers, incoming).await;
    }
    let id = match &incoming {
        Incoming::Request { id, .. } => id.clone(),
        _ => Value::Null,
    };
    if let Err(refusal) = check_revision(&headers, id) {
        return *refusal;
    }
    match session_id(&headers) {
        None => open(&front, admitted, incoming).await,
        Some(id) => match front.sessions.find(id, &admitted.principal) {
            Some(session) => {
                serve(
                    &front,
                    session,
                    admitted,
                    incoming,
                    Accepted::from(&headers),
                )
                .await
            }
            None => unknown_session(id),
        },
    }
}

/// A stream for messages of the server. It stays open for a client that says that it reads event streams, and for a
/// session with subscriptions; else it says that it works and ends, as clients of the in-station module expect.
pub async fn get(
    State(front): State<Arc<Front>>,
    Extension(admitted): Extension<Admitted>,
    headers: HeaderMap,
) -> Response {
    let Some(id) = session_id(&headers) else {
        return initialize_first();
    };
    match front.sessions.find(id, &admitted.principal) {
        Some(session)
            if Accepted::from(&headers).reads_streams() || session.state.has_subscriptions() =>
        {
            push_stream(&front, session).await
        }
        Some(session) => {
            drop(session.begin());
            (stream_headers(), STREAM_OPEN).into_response()
        }
        None => unknown_session(id),
    }
}

const STREAM_OPEN: &str = ": stream-open\n\n";
const PING: &[u8] = b": ping\n\n";

/// `sseHeartbeatSec` counts from one second (Tool surface §6).
const SHORTEST_HEARTBEAT: Duration = Duration::from_secs(1);

/// Everything that a session says outside its requests.
async fn push_stream(front: &Front, session: Arc<Session>) -> Response {
    let busy = session.begin();
    let (sender, frames) = frames::queue(PUSH_QUEUE, WAITING_BYTES);
    drop(sender.try_send(Bytes::from_static(STREAM_OPEN.as_bytes())));
    let heartbeat = front.options.sse_heartbeat.max(SHORTEST_HEARTBEAT);
    let read_in = session.clone();
    let read = |mut messages: mpsc::Receiver<ServerSseMessage>| async move {
        let _busy = busy;
        loop {
            let event = tokio::select! {
                event = messages.recv() => event,
                () = sender.closed() => return,
                // A write is the only way to notice that the client's machine is gone.
                () = tokio::time::sleep(heartbeat) => match sender.try_send(Bytes::from_static(PING)) {
                    Ok(()) => continue,
                    Err(_) => return,
                },
            };
            let Some(event) = event else { return };
            if !read_in.is_new(&event) {
                continue;
            }
            let Some(message) = event.message else {
                continue;
            };
            let body = message::outgoing(&message, &read_in.ids);
            // A reader that stalls must not hold up its session; it notices when the stream ends.
            if sender
                .try_send(Bytes::from(format!("event: message\ndata: {body}\n\n")))
                .is_err()
            {
                tracing::debug!("a stream was closed: its client reads too slowly");
                return;
            }
        }
    };
    if let Err(error) = session.listen(read).await {
        tracing::debug!(%error, "a stream was asked for in a session that has ended");
        return unknown_session(&session.id);
    }
    (stream_headers(), body_of(frames)).into_response()
}

/// Ends a session; an unknown one counts as ended.
pub async fn delete(
    State(front): State<Arc<Front>>,
    Extension(admitted): Extension<Admitted>,
    headers: HeaderMap,
) -> Response {
    let Some(id) = session_id(&headers) else {
        return initialize_first();
    };
    // Somebody else's session stays; the answer does not tell whether it exists.
    if front.sessions.find(id, &admitted.principal).is_some() {
        front.sessions.close(id);
    }
    front.streams.close(id, &admitted.principal);
    StatusCode::NO_CONTENT.into_response()
}

fn session_id(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(SESSION_HEADER)?;
    let id = value.to_str().unwrap_or("?").trim();
    (!id.is_empty()).then_some(id)
}

fn initialize_first() -> Response {
    (
        StatusCode::BAD_REQUEST,
        "There is no session: send initialize without an Mcp-Session-Id header first.",
    )
        .into_response()
}

fn unknown_session(id: &str) -> Response {
    let error = RpcError::new(
        ErrorCode::SessionNotFound,
        "There is no such session; it may have ended. Send initialize again.",
    )
    .with("sessionId", id);
    json_response(StatusCode::NOT_FOUND, &error_body(Value::Null, &error))
}

fn all_at_work(id: Value) -> Response {
    let error = RpcError::new(
        ErrorCode::Internal,
        "Too many sessions are open and all of them are at work. End sessions with DELETE, or try again later.",
    )
    .with("kind", "too-many-sessions");
    json_response(StatusCode::SERVICE_UNAVAILABLE, &error_body(id, &error))
}

fn ended(id: Value) -> Response {
    let error = RpcError::new(
        ErrorCode::SessionNotFound,
        "The session ended while the request ran. Send initialize again.",
    );
    json_response(StatusCode::NOT_FOUND, &error_body(id, &error))
}

async fn open(front: &Front, admitted: Admitted, incoming: Incoming) -> Response {
    let Incoming::Request { id, method, params } = incoming else {
        return initialize_first();
    };
    if method != "initialize" {
        return initialize_first();
    }
    let Some(session) = front.sessions.open(
        admitted.principal.clone(),
        BridgeService::new(front.bridge.clone()),
    ) else {
        return all_at_work(id);
    };
    let _busy = session.begin();
    session.state.set_toolsets(admitted.asked.clone());
    let request = match message::request(&method, params) {
        Ok(mut request) => {
            request
                .extensions
                .insert(caller(front, &session, admitted, None));
            request
        }
        Err(error) => {
            front.sessions.close(&session.id);
            return json_response(StatusCode::OK, &error_body(id, &error));
        }
    };
    let inner = session.ids.open(id.clone());
    match session
        .initialize(message::wrap_request(inner, request))
        .await
    {
        Ok(answer) => {
            let mut response = json_text(StatusCode::OK, message::outgoing(&answer, &session.ids));
            if let Ok(value) = HeaderValue::from_str(&session.id) {
                response.headers_mut().insert(SESSION_HEADER, value);
            }
            response
        }
        Err(error) => {
            tracing::warn!(%error, "a session could not be opened");
            front.sessions.close(&session.id);
            ended(id)
        }
    }
}

fn caller(
    front: &Front,
    session: &Session,
    admitted: Admitted,
    outlet: Option<mpsc::Sender<Value>>,
) -> Caller {
    let asked = admitted.asked.or_else(|| session.state.toolsets());
    Caller {
        toolsets: front.toolsets(&admitted.principal, asked),
        principal: admitted.principal,
        session_id: session.id.clone(),
        from_this_machine: admitted.from_this_machine,
        outlet,
        declared: None,
    }
}

async fn serve(
    front: &Front,
    session: Arc<Session>,
    admitted: Admitted,
    incoming: Incoming,
    accepted: Accepted,
) -> Response {
    let busy = session.begin();
    if incoming.method() == Some("initialize") && admitted.asked.is_some() {
        session.state.set_toolsets(admitted.asked.clone());
    }
    let wants_progress = incoming.wants_progress();
    let message = match incoming {
        Incoming::Request { id, method, params } => {
            let mut request = match message::request(&method, params) {
                Ok(request) => request,
                Err(error) => return json_response(StatusCode::OK, &error_body(id, &error)),
            };
            let (outlet, notes) = outlet();
            request
                .extensions
                .insert(caller(front, &session, admitted, Some(outlet)));
            let inner = session.ids.open(id.clone());
            let answers = if front.bridge.may_ask(&request) {
                match session.request(message::wrap_request(inner, request)).await {
                    Ok(answers) => Answers::Session(answers),
                    Err(_) => return ended(session.ids.close(inner).unwrap_or(id)),
                }
            } else {
                Answers::Direct(session.answer(inner, request))
            };
            let pending = Pending {
                ids: session.ids.clone(),
                inner,
                answers,
                notes,
                session: Some(session),
                guard: Box::new(busy),
                stop: front.stop.clone(),
            };
            // In a session every error travels with status 200.
            return reply(pending, accepted, wants_progress, |_| StatusCode::OK).await;
        }
        Incoming::Notification { method, params } => {
            message::notification(&method, params, &session.ids)
        }
        Incoming::Response(members) => message::response(members),
    };
    if let Some(message) = message
        && let Err(error) = session.push(message).await
    {
        tracing::debug!(%error, "a message came for a session that has ended");
    }
    accepted_without_answer()
}

/// 202 with an empty text body.
pub fn accepted_without_answer() -> Response {
    (
        StatusCode::ACCEPTED,
        [(header::CONTENT_TYPE, "text/plain; charset=utf-8")],
        Body::empty(),
    )
        .into_response()
}
