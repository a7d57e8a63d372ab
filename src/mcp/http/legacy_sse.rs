//! The older transport: one event stream for answers, a second address for messages (Tool surface §1.3).

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Extension, State};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use futures::stream;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::{RoleServer, serve_directly_with_ct};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::checks::{Admitted, json_response, refusal};
use super::connections::read_body;
use super::frames::{self, FrameReceiver, FrameSender, WAITING_BYTES};
use super::reply::stream_headers;
use super::streamable::accepted_without_answer;
use super::{Front, prefix};
use crate::mcp::message::{self, Incoming, Malformed, RequestIds, error_body};
use crate::mcp::service::{BridgeService, Caller};
use crate::tools::{ErrorCode, Principal, RpcError, ToolSets};

/// Messages that may wait for the reader of a stream; one more, or more bytes, and the stream is closed, so that the
/// client notices.
const STREAM_QUEUE: usize = 1000;
/// Messages that may wait for the session.
const INBOX: usize = 64;
/// Streams of all callers, and of one caller, that may be open at once. One more is refused: every stream has its
/// reader, so none can give way.
const STREAM_LIMIT: usize = 1000;
const STREAMS_OF_ONE_CALLER: usize = 500;

struct SseSession {
    principal: Principal,
    /// Named when the stream was opened.
    asked: Option<ToolSets>,
    ids: Arc<RequestIds>,
    inbox: Sender<ClientJsonRpcMessage>,
    stop: CancellationToken,
}

/// All open streams.
pub struct SseTable {
    sessions: Mutex<HashMap<String, Arc<SseSession>>>,
    heartbeat: Duration,
    most: usize,
    most_of_one: usize,
    stop: CancellationToken,
}

impl SseTable {
    /// An empty table; all its streams end when `stop` fires.
    pub fn new(heartbeat: Duration, stop: CancellationToken) -> Self {
        let heartbeat = heartbeat.max(Duration::from_secs(1));
        Self {
            sessions: Mutex::new(HashMap::new()),
            heartbeat,
            most: STREAM_LIMIT,
            most_of_one: STREAMS_OF_ONE_CALLER,
            stop,
        }
    }

    /// Holds at most `most` streams, and `most_of_one` of one caller.
    pub fn bounded(mut self, most: usize, most_of_one: usize) -> Self {
        self.most = most;
        self.most_of_one = most_of_one;
        self
    }

    /// Takes a session in, if there is room for one more of its caller.
    fn insert(&self, id: String, session: SseSession) -> Result<(), &'static str> {
        let mut sessions = self.lock();
        let own = sessions
            .values()
            .filter(|other| other.principal == session.principal)
            .count();
        if own >= self.most_of_one {
            return Err("Too many streams of this caller are open; close one, or try again later.");
        }
        if sessions.len() >= self.most {
            return Err("Too many streams are open; try again later.");
        }
        sessions.insert(id, Arc::new(session));
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<SseSession>>> {
        // Insert and remove leave the map consistent, so a panic elsewhere cannot have broken it.
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of open streams.
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    /// Ends the stream of that id if `principal` opened it.
    pub fn close(&self, id: &str, principal: &Principal) {
        if let Some(session) = self.find(id, principal) {
            session.stop.cancel();
        }
    }

    /// Ends every stream.
    pub fn close_all(&self) {
        self.lock()
            .values()
            .for_each(|session| session.stop.cancel());
    }

    fn find(&self, id: &str, principal: &Principal) -> Option<Arc<SseSession>> {
        self.lock()
            .get(id)
            .filter(|session| session.principal == *principal)
            .cloned()
    }
}

/// The session's side of a stream.
struct StreamTransport {
    inbox: Receiver<ClientJsonRpcMessage>,
    frames: FrameSender,
    ids: Arc<RequestIds>,
    stop: CancellationToken,
}

/// The reader of a stream is too slow or gone.
#[derive(Debug, thiserror::Error)]
#[error("the event stream is closed")]
struct StreamClosed;

impl Transport<RoleServer> for StreamTransport {
    type Error = StreamClosed;

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), StreamClosed>> + Send + 'static {
        let body = message::outgoing(&item, &self.ids);
        let sent = self
            .frames
            .try_send(Bytes::from(format!("event: message\ndata: {body}\n\n")));
        if sent.is_err() {
            self.stop.cancel();
        }
        std::future::ready(sent.map_err(|_| StreamClosed))
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.inbox.recv().await
    }

    async fn close(&mut self) -> Result<(), StreamClosed> {
        self.stop.cancel();
        Ok(())
    }
}

/// Removes a session when its stream ends, however it ends.
struct Removal {
    table: Arc<SseTable>,
    id: String,
    _stop: DropGuard,
}

impl Drop for Removal {
    fn drop(&mut self) {
        self.table.lock().remove(&self.id);
    }
}

/// Opens a stream; its first event names the address for messages.
pub async fn stream(
    State(front): State<Arc<Front>>,
    Extension(admitted): Extension<Admitted>,
) -> Response {
    let table = front.streams.clone();
    let id = uuid::Uuid::new_v4().to_string();
    let (inbox, messages) = mpsc::channel(INBOX);
    let (frames, queue) = frames::queue(STREAM_QUEUE, WAITING_BYTES);
    let stop = table.stop.child_token();
    let ids = Arc::<RequestIds>::default();
    let transport = StreamTransport {
        inbox: messages,
        frames,
        ids: ids.clone(),
        stop: stop.clone(),
    };
    let session = SseSession {
        principal: admitted.principal,
        asked: admitted.asked,
        ids,
        inbox,
        stop: stop.clone(),
    };
    if let Err(text) = table.insert(id.clone(), session) {
        return refusal(StatusCode::SERVICE_UNAVAILABLE, "too-many-streams", text);
    }
    let running = serve_directly_with_ct(
        BridgeService::new(front.bridge.clone()),
        transport,
        None,
        stop.clone(),
    );
    tokio::spawn(async move {
        if let Err(error) = running.waiting().await {
            tracing::error!(%error, "a session failed");
        }
    });
    let endpoint = format!(
        "{}/messages?sessionId={id}",
        prefix(&front.options.base_path)
    );
    let heartbeat = table.heartbeat;
    let removal = Removal {
        table,
        id,
        _stop: stop.clone().drop_guard(),
    };
    let first = Bytes::from(format!("event: endpoint\ndata: {endpoint}\n\n"));
    let frames = stream::unfold(
        (Some(first), queue, stop, removal),
        move |(first, mut queue, stop, removal)| async move {
            let frame = match first {
                Some(first) => first,
                None => next_frame(&mut queue, &stop, heartbeat).await?,
            };
            Some((Ok::<_, Infallible>(frame), (None, queue, stop, removal)))
        },
    );
    (stream_headers(), Body::from_stream(frames)).into_response()
}

async fn next_frame(
    queue: &mut FrameReceiver,
    stop: &CancellationToken,
    heartbeat: Duration,
) -> Option<Bytes> {
    tokio::select! {
        // The session's last answers come before its queue ends.
        () = stop.cancelled() => queue.recv().await,
        frame = tokio::time::timeout(heartbeat, queue.recv()) => match frame {
            Ok(frame) => frame,
            Err(_) => Some(Bytes::from_static(b": ping\n\n")),
        },
    }
}

/// Takes one message; its answer arrives on the stream.
pub async fn messages(
    State(front): State<Arc<Front>>,
    Extension(admitted): Extension<Admitted>,
    uri: Uri,
    body: Body,
) -> Response {
    let pairs = url::form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    let id = pairs
        .into_iter()
        .find(|(name, _)| name == "sessionId")
        .map(|(_, id)| id.into_owned());
    let Some(id) = id.filter(|id| !id.is_empty()) else {
        return (
            StatusCode::BAD_REQUEST,
            "The parameter sessionId is missing.",
        )
            .into_response();
    };
    let Some(session) = front.streams.find(&id, &admitted.principal) else {
        return no_stream(id);
    };
    let options = &front.options;
    let body = match read_body(body, options.body_limit, options.connections.body).await {
        Ok(body) => body,
        Err(refusal) => return *refusal,
    };
    let asked = admitted.asked.or_else(|| session.asked.clone());
    let caller = Caller {
        toolsets: front.toolsets(&admitted.principal, asked),
        principal: admitted.principal,
        session_id: id.clone(),
        from_this_machine: admitted.from_this_machine,
        outlet: None,
        declared: None,
    };
    let message = match Incoming::parse(&body) {
        Ok(incoming) => wrap(incoming, &session, caller),
        Err(refusal) => Err(refusal),
    };
    let message = match message {
        Ok(message) => message,
        Err(refusal) => return json_response(StatusCode::BAD_REQUEST, &refusal.body()),
    };
    if let Some(message) = message
        && session.inbox.send(message).await.is_err()
    {
        return no_stream(id);
    }
    accepted_without_answer()
}

fn no_stream(id: String) -> Response {
    let error = RpcError::new(
        ErrorCode::SessionNotFound,
        "There is no such stream, or it has ended; open it again with GET /sse.",
    )
    .with("sessionId", id);
    json_response(StatusCode::NOT_FOUND, &error_body(Value::Null, &error))
}

fn wrap(
    incoming: Incoming,
    session: &SseSession,
    caller: Caller,
) -> Result<Option<ClientJsonRpcMessage>, Malformed> {
    Ok(match incoming {
        Incoming::Request { id, method, params } => {
            let mut request = match message::request(&method, params) {
                Ok(request) => request,
                Err(error) => {
                    let error = Box::new(error);
                    return Err(Malformed { id, error });
                }
            };
            request.extensions.insert(caller);
            Some(message::wrap_request(session.ids.open(id), request))
        }
        Incoming::Notification { method, params } => {
            message::notification(&method, params, &session.ids)
        }
        Incoming::Response(members) => message::response(members),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(name: &str) -> SseSession {
        SseSession {
            principal: Principal::User { name: name.into() },
            asked: None,
            ids: Arc::default(),
            inbox: mpsc::channel(1).0,
            stop: CancellationToken::new(),
        }
    }

    #[test]
    fn a_caller_with_many_streams_leaves_room_for_others() {
        let table = SseTable::new(Duration::from_secs(25), CancellationToken::new()).bounded(4, 3);
        let open = |id: &str, name: &str| table.insert(id.to_owned(), session(name));
        for id in ["1", "2", "3"] {
            assert_eq!(open(id, "many"), Ok(()));
        }
        let refused = open("4", "many").expect_err("one too many");
        assert!(refused.contains("of this caller"), "{refused}");
        assert_eq!(open("5", "operator"), Ok(()));
        assert!(open("6", "operator").is_err(), "the table is full");
        table.lock().remove("1");
        assert_eq!(open("7", "many"), Ok(()));
        assert_eq!(table.count(), 4);
    }
}
