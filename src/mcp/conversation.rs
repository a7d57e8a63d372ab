//! What passes between a running call and its client: progress, log messages, questions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use rmcp::model::{CustomNotification, CustomRequest, ServerNotification, ServerRequest};
use rmcp::service::{Peer, RequestContext, RoleServer};
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::service::Caller;
use crate::tools::context::ProgressSink;
use crate::tools::{
    Asking, CallContext, Client, ClientPort, LogLevel, Progress, Question, ToolSets,
};

/// Reports and messages that wait for the client; further ones are dropped.
const QUEUE: usize = 64;

/// The name under which log messages are sent.
const LOGGER: &str = "niagara-bridge";

/// What one session chose: its log level and its subscriptions; what its client can do.
pub struct SessionState(Mutex<Chosen>);

struct Chosen {
    log_level: LogLevel,
    capabilities: Value,
    /// Named when the session was opened; none leaves all.
    toolsets: Option<ToolSets>,
    subscriptions: HashMap<String, AbortOnDropHandle<()>>,
    /// Tells the client which lists changed.
    lists: Option<AbortOnDropHandle<()>>,
}

impl Default for SessionState {
    fn default() -> Self {
        Self(Mutex::new(Chosen {
            log_level: LogLevel::Info,
            capabilities: Value::Null,
            toolsets: None,
            subscriptions: HashMap::new(),
            lists: None,
        }))
    }
}

impl SessionState {
    fn lock(&self) -> MutexGuard<'_, Chosen> {
        // Every statement leaves the value consistent, so a panic elsewhere cannot have broken it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends log messages from this level on.
    pub fn set_log_level(&self, level: LogLevel) {
        self.lock().log_level = level;
    }

    /// Remembers what the client declared when it opened the session.
    pub fn set_capabilities(&self, capabilities: Value) {
        self.lock().capabilities = capabilities;
    }

    /// Remembers the tool sets that were named when the session was opened.
    pub fn set_toolsets(&self, toolsets: Option<ToolSets>) {
        self.lock().toolsets = toolsets;
    }

    /// The tool sets of requests that name none.
    pub fn toolsets(&self) -> Option<ToolSets> {
        self.lock().toolsets.clone()
    }

    /// Keeps a subscription; an earlier one of the same URI ends. None when there are too many already.
    pub fn subscribe(
        &self,
        uri: String,
        limit: usize,
        start: impl FnOnce() -> AbortOnDropHandle<()>,
    ) -> Option<()> {
        let mut chosen = self.lock();
        if chosen.subscriptions.len() >= limit && !chosen.subscriptions.contains_key(&uri) {
            return None;
        }
        chosen.subscriptions.insert(uri, start());
        Some(())
    }

    /// Ends a subscription, if there is one.
    pub fn unsubscribe(&self, uri: &str) {
        self.lock().subscriptions.remove(uri);
    }

    /// Keeps what tells the client of changed lists; an earlier one ends.
    pub fn follow_lists(&self, telling: AbortOnDropHandle<()>) {
        self.lock().lists = Some(telling);
    }

    /// Ends all subscriptions.
    pub fn end(&self) {
        let mut chosen = self.lock();
        chosen.subscriptions.clear();
        chosen.lists = None;
    }

    /// Whether the client waits for messages outside its calls.
    pub fn has_subscriptions(&self) -> bool {
        !self.lock().subscriptions.is_empty()
    }
}

enum Said {
    Note(&'static str, Value),
    Question(Question, oneshot::Sender<Result<Value, String>>),
}

/// The transport's end of one call.
pub struct Conversation {
    said: mpsc::Receiver<Said>,
    peer: Peer<RoleServer>,
    outlet: Option<mpsc::Sender<Value>>,
    cancel: CancellationToken,
}

impl Conversation {
    /// Connects a call with its client.
    pub fn open(
        call: &mut CallContext,
        caller: &Caller,
        context: &RequestContext<RoleServer>,
        state: &Arc<SessionState>,
    ) -> Self {
        let (say, said) = mpsc::channel(QUEUE);
        let (capabilities, log_level, asking) = match &caller.declared {
            Some(declared) => (
                declared.capabilities.clone(),
                declared.log_level,
                Asking::NextCall {
                    answers: match &declared.answers {
                        Some(Value::Object(answers)) => answers.clone(),
                        _ => Map::new(),
                    },
                    state: declared.state.clone(),
                },
            ),
            None => {
                let chosen = state.lock();
                (
                    chosen.capabilities.clone(),
                    Some(chosen.log_level),
                    Asking::Now,
                )
            }
        };
        if let Some(token) = context.meta.get_progress_token()
            && let Ok(token) = serde_json::to_value(token)
        {
            call.progress = Progress::to(Arc::new(ProgressPort {
                say: say.clone(),
                token,
            }));
        }
        call.client = Client::at(Arc::new(Port {
            say,
            capabilities,
            log_level,
            asking,
        }));
        Self {
            said,
            peer: context.peer.clone(),
            outlet: caller.outlet.clone(),
            cancel: call.cancel.clone(),
        }
    }

    /// Runs a call and passes on what it says; everything said before its end reaches the client before its answer.
    pub async fn until<T>(mut self, call: impl Future<Output = T>) -> T {
        let mut questions = FuturesUnordered::new();
        let mut call = std::pin::pin!(call);
        let answer = loop {
            tokio::select! {
                biased;
                Some(said) = self.said.recv() => match said {
                    Said::Note(method, params) => self.note(method, params).await,
                    Said::Question(question, answer) => {
                        let asked = ask(self.peer.clone(), question, self.cancel.clone());
                        // The call may not wait for the answer any longer.
                        questions.push(asked.map(|outcome| drop(answer.send(outcome))));
                    }
                },
                Some(()) = questions.next(), if !questions.is_empty() => {}
                answer = &mut call => break answer,
            }
        };
        while let Ok(said) = self.said.try_recv() {
            if let Said::Note(method, params) = said {
                self.note(method, params).await;
            }
        }
        answer
    }

    async fn note(&self, method: &'static str, params: Value) {
        if let Some(outlet) = &self.outlet {
            let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
            if outlet.try_send(message).is_err() {
                tracing::debug!("a notification was dropped: the client reads too slowly");
            }
            return;
        }
        let notification = CustomNotification::new(method, Some(params));
        let notification = ServerNotification::CustomNotification(notification);
        if let Err(error) = self.peer.send_notification(notification).await {
            tracing::debug!(%error, "a notification did not reach the client");
        }
    }
}

async fn ask(
    peer: Peer<RoleServer>,
    question: Question,
    cancel: CancellationToken,
) -> Result<Value, String> {
    let request = CustomRequest::new(question.method, Some(question.params));
    let asked = peer.send_request(ServerRequest::CustomRequest(request));
    let answer = tokio::select! {
        answer = asked => answer.map_err(|error| error.to_string())?,
        () = cancel.cancelled() => return Err("the call was cancelled".to_owned()),
    };
    serde_json::to_value(answer).map_err(|error| error.to_string())
}

struct ProgressPort {
    say: mpsc::Sender<Said>,
    token: Value,
}

impl ProgressSink for ProgressPort {
    fn report(&self, done: f64, total: Option<f64>, message: Option<String>) {
        let mut params = json!({ "progressToken": self.token, "progress": done });
        if let Some(total) = total {
            params["total"] = json!(total);
        }
        if let Some(message) = message {
            params["message"] = json!(message);
        }
        let note = Said::Note("notifications/progress", params);
        if self.say.try_send(note).is_err() {
            tracing::debug!("a progress report was dropped: the client reads too slowly");
        }
    }
}

struct Port {
    say: mpsc::Sender<Said>,
    capabilities: Value,
    log_level: Option<LogLevel>,
    asking: Asking,
}

impl ClientPort for Port {
    fn log(&self, level: LogLevel, data: Value) {
        if self.log_level.is_none_or(|wanted| level < wanted) {
            return;
        }
        let params = json!({ "level": level.name(), "logger": LOGGER, "data": data });
        if self
            .say
            .try_send(Said::Note("notifications/message", params))
            .is_err()
        {
            tracing::debug!("a log message was dropped: the client reads too slowly");
        }
    }

    fn capabilities(&self) -> &Value {
        &self.capabilities
    }

    fn asking(&self) -> &Asking {
        &self.asking
    }

    fn ask(&self, question: Question) -> BoxFuture<'_, Result<Value, String>> {
        Box::pin(async move {
            let gone = || "it is gone".to_owned();
            let (answer, answered) = oneshot::channel();
            self.say
                .send(Said::Question(question, answer))
                .await
                .map_err(|_| gone())?;
            answered.await.map_err(|_| gone())?
        })
    }
}
