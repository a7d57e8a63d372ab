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

use super::checks::{Admitted, json_response};
use super::connections::read_body;
use super::frames::{self, FrameReceiver, FrameSender, WAITING_BYTES};
use super::reply::stream_headers;
use super::streamable::accepted_without_answer;
use super::{Front, prefix};
use crate::mcp::message::{self, Incoming, RequestIds, error_body};
use crate::mcp::service::{BridgeService, Caller};
use crate::tools::{ErrorCode, Principal, RpcError};

/// Messages that may wait for the reader of a stream; one more, or more bytes, and the stream is closed, so that the
/// client notices.
const STREAM_QUEUE: usize = 1000;
/// Messages that may wait for the session.
const INBOX: usize = 64;
/// More streams than this are refused.
const STREAM_LIMIT: usize = 1000;

struct SseSession {
    principal: Principal,
    ids: Arc<RequestIds>,
    inbox: Sender<ClientJsonRpcMessage>,
    stop: CancellationToken,
}

/// All open streams.
pub struct SseTable {
    sessions: Mutex<HashMap<String, Arc<SseSession>>>,
    heartbeat: Duration,
    stop: CancellationToken,
}

impl SseTable {
    /// An empty table; all its streams end when `stop` fires.
    pub fn new(heartbeat: Duration, stop: CancellationToken) -> Self {
        let heartbeat = heartbeat.max(Duration::from_secs(1));
        Self {
            sessions: Mutex::new(HashMap::new()),
            heartbeat,
            stop,
        }
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
    if table.count() >= STREAM_LIMIT {
        return (
            StatusCode::SERVICE_UNAVAILABLE,
            "Too many streams are open; try again later.",
        )
            .into_response();
    }
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
    let session = SseSession {
        principal: admitted.principal,
        ids,
        inbox,
        stop: stop.clone(),
    };
    table.lock().insert(id.clone(), Arc::new(session));
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
        let error = RpcError::new(
            ErrorCode::SessionNotFound,
            "There is no such stream; open it again with GET /sse.",
        )
        .with("sessionId", id);
        return json_response(StatusCode::NOT_FOUND, &error_body(Value::Null, &error));
    };
    let options = &front.options;
    let body = match read_body(body, options.body_limit, options.connections.body).await {
        Ok(body) => body,
        Err(refusal) => return *refusal,
    };
    let caller = Caller {
        principal: admitted.principal,
        session_id: id,
        toolsets: admitted.toolsets,
        from_this_machine: admitted.from_this_machine,
        outlet: None,
        declared: None,
    };
    let message = match Incoming::parse(&body).and_then(|incoming| wrap(incoming, &session, caller))
    {
        Ok(message) => message,
        Err(error) => {
            return json_response(StatusCode::BAD_REQUEST, &error_body(Value::Null, &error));
        }
    };
    if let Some(message) = message
        && session.inbox.send(message).await.is_err()
    {
        return (
            StatusCode::NOT_FOUND,
            "The stream has ended; open it again with GET /sse.",
        )
            .into_response();
    }
    accepted_without_answer()
}

fn wrap(
    incoming: Incoming,
    session: &SseSession,
    caller: Caller,
) -> Result<Option<ClientJsonRpcMessage>, RpcError> {
    Ok(match incoming {
        Incoming::Request { id, method, params } => {
            let mut request = message::request(&method, params)?;
            request.extensions.insert(caller);
            Some(message::wrap_request(session.ids.open(id), request))
        }
        Incoming::Notification { method, params } => {
            message::notification(&method, params, &session.ids)
        }
        Incoming::Response(members) => message::response(members),
    })
}
