//! The table of sessions: who opened one, when it was last used, and the rmcp session behind it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::serve_directly_with_ct;
use rmcp::transport::WorkerTransport;
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionHandle, SessionConfig, SessionError, create_local_session,
};
use tokio::sync::mpsc::Receiver;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::mcp::conversation::SessionState;
use crate::mcp::message::RequestIds;
use crate::mcp::service::BridgeService;
use crate::tools::{Principal, SessionCounts};

/// More sessions than this are refused; each costs about 60 kB.
const SESSION_LIMIT: usize = 1000;

/// Messages that may wait inside a session.
const CHANNEL_CAPACITY: usize = 64;

/// One open session.
pub struct Session {
    pub id: String,
    pub principal: Principal,
    pub ids: Arc<RequestIds>,
    /// What its client chose.
    pub state: Arc<SessionState>,
    handle: LocalSessionHandle,
    /// Reads what the server says outside requests.
    reader: tokio::sync::Mutex<Option<AbortOnDropHandle<()>>>,
    last_used: Mutex<Instant>,
    busy: AtomicUsize,
    /// Events that its streams have passed on so far.
    pushed: AtomicUsize,
    stop: CancellationToken,
}

/// Keeps a session from being evicted while a request runs.
pub struct Busy(Arc<Session>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.touch();
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Session {
    fn touch(&self) {
        *self
            .last_used
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Marks the session as in use.
    pub fn begin(self: &Arc<Self>) -> Busy {
        self.touch();
        self.busy.fetch_add(1, Ordering::Relaxed);
        Busy(self.clone())
    }

    fn is_idle_longer_than(&self, limit: Duration) -> bool {
        let last_used = *self
            .last_used
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        self.busy.load(Ordering::Relaxed) == 0 && last_used.elapsed() > limit
    }

    /// Sends the first message and waits for its answer.
    ///
    /// # Errors
    /// The session has ended.
    pub async fn initialize(
        &self,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionError> {
        self.handle.initialize(message).await
    }

    /// Sends a request; everything that belongs to it arrives in the returned queue.
    ///
    /// # Errors
    /// The session has ended.
    pub async fn request(
        &self,
        message: ClientJsonRpcMessage,
    ) -> Result<Receiver<ServerSseMessage>, SessionError> {
        let channel = self.handle.establish_request_wise_channel().await?;
        self.handle
            .push_message(message, channel.http_request_id)
            .await?;
        Ok(channel.inner)
    }

    /// Hands everything that the server says outside requests to a task; the newest one has it, an earlier one ends.
    ///
    /// rmcp gives a second queue nothing as long as the first one has a reader, and a reader whose connection broke is
    /// noticed late.
    ///
    /// # Errors
    /// The session has ended.
    pub async fn listen<T>(
        &self,
        read: impl FnOnce(Receiver<ServerSseMessage>) -> T,
    ) -> Result<(), SessionError>
    where
        T: Future<Output = ()> + Send + 'static,
    {
        let mut reader = self.reader.lock().await;
        if let Some(earlier) = reader.take() {
            earlier.abort();
            // Its queue is dropped when it was joined; a cancelled task is no failure.
            drop(earlier.await);
        }
        let messages = self.handle.establish_common_channel().await?.inner;
        *reader = Some(AbortOnDropHandle::new(tokio::spawn(read(messages))));
        Ok(())
    }

    /// Whether no stream has passed on this event yet; from now on one has.
    ///
    /// rmcp gives a new stream the events that it keeps from the beginning, because it does not know what was read.
    pub fn is_new(&self, event: &ServerSseMessage) -> bool {
        let id = event.event_id.as_deref().unwrap_or_default();
        let index = id.split('/').next().and_then(|index| index.parse().ok());
        let Some(index) = index else { return true };
        self.pushed.fetch_max(index + 1, Ordering::Relaxed) <= index
    }

    /// Ends the session and what it had subscribed to.
    pub fn end(&self) {
        self.state.end();
        self.stop.cancel();
    }

    /// Sends a message that has no answer.
    ///
    /// # Errors
    /// The session has ended.
    pub async fn push(&self, message: ClientJsonRpcMessage) -> Result<(), SessionError> {
        self.handle.push_message(message, None).await
    }
}

/// All open sessions.
pub struct SessionTable {
    sessions: Mutex<HashMap<String, Arc<Session>>>,
    idle_limit: Duration,
    stop: CancellationToken,
}

impl SessionTable {
    /// An empty table; all its sessions end when `stop` fires.
    pub fn new(idle_limit: Duration, stop: CancellationToken) -> Self {
        Self {
            sessions: Mutex::new(HashMap::new()),
            idle_limit,
            stop,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        // Insert and remove leave the map consistent, so a panic elsewhere cannot have broken it.
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a session for `principal`; none when there are too many.
    pub fn open(&self, principal: Principal, service: BridgeService) -> Option<Arc<Session>> {
        let mut sessions = self.lock();
        if sessions.len() >= SESSION_LIMIT {
            return None;
        }
        let id = uuid::Uuid::new_v4().to_string();
        let mut config = SessionConfig::default();
        config.channel_capacity = CHANNEL_CAPACITY;
        // rmcp's keep-alive does not know of running calls and would cut them; eviction is ours.
        config.keep_alive = None;
        // No priming events: a stream here is never resumed.
        config.sse_retry = None;
        config.completed_cache_ttl = Duration::ZERO;
        let (handle, worker) = create_local_session(id.as_str(), config);
        let stop = self.stop.child_token();
        // The session closes its transport when it has ended: calls that ran until then still get their answers out.
        let transport = WorkerTransport::spawn_with_ct(worker, CancellationToken::new());
        let state = service.state().clone();
        let running = serve_directly_with_ct(service, transport, None, stop.clone());
        tokio::spawn(async move {
            if let Err(error) = running.waiting().await {
                tracing::error!(%error, "a session failed");
            }
        });
        let session = Arc::new(Session {
            id: id.clone(),
            principal,
            ids: Arc::default(),
            state,
            handle,
            reader: tokio::sync::Mutex::default(),
            last_used: Mutex::new(Instant::now()),
            busy: AtomicUsize::new(0),
            pushed: AtomicUsize::new(0),
            stop,
        });
        sessions.insert(id, session.clone());
        Some(session)
    }

    /// The live session of that id if `principal` opened it; an idle one is evicted instead (Tool surface §1.2).
    pub fn find(&self, id: &str, principal: &Principal) -> Option<Arc<Session>> {
        let session = self.lock().get(id).cloned()?;
        if session.is_idle_longer_than(self.idle_limit) || session.stop.is_cancelled() {
            self.close(id);
            return None;
        }
        (session.principal == *principal).then_some(session)
    }

    /// Ends a session, known or not.
    pub fn close(&self, id: &str) {
        if let Some(session) = self.lock().remove(id) {
            session.end();
        }
    }

    /// Ends every session.
    pub fn close_all(&self) {
        for (_, session) in self.lock().drain() {
            session.end();
        }
    }

    /// Ends all sessions that are idle for too long.
    pub fn evict_idle(&self) {
        self.lock().retain(|_, session| {
            let keep =
                !session.is_idle_longer_than(self.idle_limit) && !session.stop.is_cancelled();
            if !keep {
                session.end();
            }
            keep
        });
    }

    /// Open sessions.
    pub fn counts(&self) -> SessionCounts {
        SessionCounts {
            sse: 0,
            streamable: self.lock().len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::bridge::Bridge;
    use crate::prompts::PromptRegistry;
    use crate::resources::ResourceRegistry;
    use crate::tools::{Registry, echo::Echo};

    fn service() -> BridgeService {
        let tools = Registry::builder().tool(Echo).build().expect("registry");
        BridgeService::new(Arc::new(Bridge::new(
            tools,
            ResourceRegistry::default(),
            PromptRegistry::default(),
        )))
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_session_is_gone_but_a_busy_one_stays() {
        let table = SessionTable::new(Duration::from_secs(10), CancellationToken::new());
        let idle = table.open(Principal::Service, service()).expect("open");
        let working = table.open(Principal::Service, service()).expect("open");
        let busy = working.begin();
        tokio::time::advance(Duration::from_secs(10)).await;
        assert!(
            table.find(&idle.id, &Principal::Service).is_some(),
            "exactly the limit is not longer than the limit"
        );
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(table.find(&idle.id, &Principal::Service).is_none());
        table.evict_idle();
        assert_eq!(table.counts().total(), 1);
        drop(busy);
        tokio::time::advance(Duration::from_secs(11)).await;
        table.evict_idle();
        assert_eq!(table.counts().total(), 0);
    }

    #[tokio::test]
    async fn a_session_belongs_to_who_opened_it() {
        let table = SessionTable::new(Duration::from_secs(10), CancellationToken::new());
        let session = table.open(Principal::Service, service()).expect("open");
        assert!(
            table
                .find(
                    &session.id,
                    &Principal::User {
                        name: "operator".into()
                    }
                )
                .is_none()
        );
        assert!(table.find(&session.id, &Principal::Service).is_some());
        table.close(&session.id);
        table.close(&session.id);
        assert!(table.find(&session.id, &Principal::Service).is_none());
    }

    #[tokio::test]
    async fn the_number_of_sessions_is_bounded() {
        let table = SessionTable::new(Duration::from_secs(10), CancellationToken::new());
        for _ in 0..SESSION_LIMIT {
            assert!(table.open(Principal::Service, service()).is_some());
        }
        assert!(table.open(Principal::Service, service()).is_none());
    }
}
