//! The table of sessions: who opened one, when it was last used, and the rmcp session behind it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, CustomRequest, JsonRpcMessage, NumberOrString,
    RequestMetaObject, ServerJsonRpcMessage,
};
use rmcp::service::{Peer, RequestContext, RoleServer, Service, serve_directly_with_ct};
use rmcp::transport::WorkerTransport;
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionHandle, SessionConfig, SessionError, create_local_session,
};
use tokio::sync::mpsc::Receiver;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::mcp::conversation::SessionState;
use crate::mcp::message::RequestIds;
use crate::mcp::service::BridgeService;
use crate::tools::{Principal, SessionCounts};

/// Sessions of all callers, and of one caller, that may be open at once; each costs about 60 kB.
const SESSION_LIMIT: usize = 1000;
const SESSIONS_OF_ONE_CALLER: usize = 500;

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
    service: BridgeService,
    peer: Peer<RoleServer>,
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

    /// Time since the last request or stream; none while one is open.
    fn idle(&self) -> Option<Duration> {
        let last_used = *self
            .last_used
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        (self.busy.load(Ordering::Relaxed) == 0).then(|| last_used.elapsed())
    }

    fn is_over(&self, idle_limit: Duration) -> bool {
        self.stop.is_cancelled() || self.idle().is_some_and(|idle| idle > idle_limit)
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

    /// Runs a request beside the session's loop, which asks and tells what has no request of its own: two hops between
    /// tasks instead of six. The answer is dropped when the client cancels; the call itself gets time to end.
    pub fn answer(
        &self,
        inner: i64,
        mut request: CustomRequest,
    ) -> oneshot::Receiver<ServerJsonRpcMessage> {
        let id = NumberOrString::Number(inner);
        let mut context = RequestContext::new(id.clone(), self.peer.clone());
        context.ct = self.stop.child_token();
        if let Some(meta) = request.extensions.remove::<RequestMetaObject>() {
            context.meta = meta;
        }
        context.extensions = std::mem::take(&mut request.extensions);
        let cancelled = CancellationToken::new();
        self.ids.ends_with(inner, cancelled.clone());
        let ends = context.ct.clone();
        let service = self.service.clone();
        let (answer, answered) = oneshot::channel();
        tokio::spawn(async move {
            let request = ClientRequest::CustomRequest(request);
            let mut call = std::pin::pin!(service.handle_request(request, context));
            let result = tokio::select! {
                biased;
                result = &mut call => result,
                () = cancelled.cancelled() => {
                    drop(answer);
                    ends.cancel();
                    drop(call.await);
                    return;
                }
            };
            let message = match result {
                Ok(result) => JsonRpcMessage::response(result, id),
                Err(error) => JsonRpcMessage::error(error, Some(id)),
            };
            if answer.send(message).is_err() {
                tracing::debug!("the client left before its answer");
            }
        });
        answered
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
    most: usize,
    most_of_one: usize,
    stop: CancellationToken,
}

impl SessionTable {
    /// An empty table; all its sessions end when `stop` fires.
    pub fn new(idle_limit: Duration, stop: CancellationToken) -> Self {
        Self {
            sessions: Mutex::new(HashMap::new()),
            idle_limit,
            most: SESSION_LIMIT,
            most_of_one: SESSIONS_OF_ONE_CALLER,
            stop,
        }
    }

    /// Holds at most `most` sessions, and `most_of_one` of one caller.
    pub fn bounded(mut self, most: usize, most_of_one: usize) -> Self {
        self.most = most;
        self.most_of_one = most_of_one;
        self
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        // Insert and remove leave the map consistent, so a panic elsewhere cannot have broken it.
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes room for one more session of `principal`; false when all that could give way are at work.
    ///
    /// A caller at the limit gives up the session it left idle longest. When the table is full, that of the caller
    /// with the most sessions goes, so that nobody pushes others out by opening many.
    fn make_room(
        &self,
        sessions: &mut HashMap<String, Arc<Session>>,
        principal: &Principal,
    ) -> bool {
        let mut held = held_by(sessions, principal);
        if held < self.most_of_one && sessions.len() < self.most {
            return true;
        }
        remove_over(sessions, self.idle_limit);
        held = held_by(sessions, principal);
        let own_only = held >= self.most_of_one;
        if !own_only && sessions.len() < self.most {
            return true;
        }
        let mut counts = HashMap::new();
        for session in sessions.values() {
            *counts.entry(&session.principal).or_insert(0_usize) += 1;
        }
        let longest = sessions
            .values()
            .filter(|session| !own_only || session.principal == *principal)
            .filter_map(|session| {
                let count = counts.get(&session.principal).copied();
                session.idle().map(|idle| ((count, idle), &session.id))
            })
            .max()
            .map(|(_, id)| id.clone());
        let Some(session) = longest.and_then(|id| sessions.remove(&id)) else {
            return false;
        };
        tracing::warn!(principal = ?session.principal, "the longest idle session made room for a new one");
        session.end();
        true
    }

    /// Opens a session for `principal`, in the place of an idle one when there are too many; none when all are at work.
    pub fn open(&self, principal: Principal, service: BridgeService) -> Option<Arc<Session>> {
        let mut sessions = self.lock();
        if !self.make_room(&mut sessions, &principal) {
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
        let running = serve_directly_with_ct(service.clone(), transport, None, stop.clone());
        let peer = running.peer().clone();
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
            service,
            peer,
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
        if session.is_over(self.idle_limit) {
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
        remove_over(&mut self.lock(), self.idle_limit);
    }

    /// Open sessions.
    pub fn counts(&self) -> SessionCounts {
        SessionCounts {
            sse: 0,
            streamable: self.lock().len(),
        }
    }
}

fn held_by(sessions: &HashMap<String, Arc<Session>>, principal: &Principal) -> usize {
    sessions
        .values()
        .filter(|session| session.principal == *principal)
        .count()
}

fn remove_over(sessions: &mut HashMap<String, Arc<Session>>, idle_limit: Duration) {
    sessions.retain(|_, session| {
        let over = session.is_over(idle_limit);
        if over {
            session.end();
        }
        !over
    });
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

    fn user(name: &str) -> Principal {
        Principal::User { name: name.into() }
    }

    fn bounded(most: usize, most_of_one: usize) -> SessionTable {
        SessionTable::new(Duration::from_secs(1800), CancellationToken::new())
            .bounded(most, most_of_one)
    }

    #[tokio::test]
    async fn a_caller_who_never_ends_sessions_locks_nobody_out() {
        let table = SessionTable::new(Duration::from_secs(1800), CancellationToken::new());
        for _ in 0..SESSION_LIMIT + 1 {
            assert!(table.open(Principal::Service, service()).is_some());
        }
        assert_eq!(table.counts().total(), SESSIONS_OF_ONE_CALLER);
        assert!(table.open(user("operator"), service()).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn the_session_that_was_idle_longest_gives_way_and_one_at_work_stays() {
        let table = bounded(10, 3);
        let mut opened = Vec::new();
        for _ in 0..3 {
            opened.push(table.open(Principal::Service, service()).expect("open"));
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        let at_work = opened[0].begin();
        assert!(table.open(Principal::Service, service()).is_some());
        let found = |table: &SessionTable| -> Vec<bool> {
            opened
                .iter()
                .map(|session| table.find(&session.id, &Principal::Service).is_some())
                .collect()
        };
        assert_eq!(found(&table), [true, false, true]);
        assert!(
            opened[1].stop.is_cancelled(),
            "what it subscribed to ends too"
        );
        drop(at_work);
    }

    #[tokio::test(start_paused = true)]
    async fn in_a_full_table_the_caller_with_the_most_sessions_gives_way() {
        let table = bounded(4, 3);
        let quiet = table.open(user("quiet"), service()).expect("open");
        tokio::time::advance(Duration::from_secs(60)).await;
        for _ in 0..3 {
            assert!(table.open(user("many"), service()).is_some());
        }
        assert!(table.open(user("new"), service()).is_some());
        assert_eq!(table.counts().total(), 4);
        assert!(
            table.find(&quiet.id, &user("quiet")).is_some(),
            "although it was idle longest"
        );
    }

    #[tokio::test]
    async fn a_session_is_refused_only_when_all_are_at_work() {
        let table = bounded(2, 2);
        let opened: Vec<_> = (0..2)
            .map(|_| table.open(Principal::Service, service()).expect("open"))
            .collect();
        let mut at_work: Vec<_> = opened.iter().map(Session::begin).collect();
        assert!(table.open(Principal::Service, service()).is_none());
        assert!(table.open(user("operator"), service()).is_none());
        at_work.pop();
        assert!(table.open(user("operator"), service()).is_some());
    }
}
