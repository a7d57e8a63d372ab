//! A stdio server that passes every message on to a running bridge over Streamable HTTP, both ways.
//!
//! - [`session`]: the bridge's session, opened by the client's own `initialize`. When the bridge has lost it (it was
//!   restarted, or the session was idle for long) it is opened again, told the same, and the message is sent once
//!   more: a bridge that does not know the session has not acted on it.
//! - [`push`]: the stream of what the bridge says by itself, opened again after a cut.
//! - [`listening`]: `subscriptions/listen` of revision 2026-07-28, asked again after a cut.
//! - [`link`], [`events`], [`output`]: requests to the bridge, its event streams, the client's end.

mod events;
mod link;
mod listening;
mod output;
mod push;
mod session;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use http::HeaderValue;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::codec::FramedRead;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use url::Url;

use self::link::{Link, failed};
use self::output::Output;
pub use self::push::Pauses;
use self::session::Session;
use super::declared::Declared;
use super::message::{Incoming, error_body};
use super::stdio::Lines;
use crate::config::Secret;
use crate::station::error::StationError;
use crate::station::http::{HttpResponse, Trust};
use crate::tools::RpcError;

/// Time to tell the bridge that the session ends.
const FAREWELL: Duration = Duration::from_secs(2);

/// An `initialize` waits as long as this for the stream of pushed messages.
const STREAM_PATIENCE: Duration = Duration::from_secs(2);

/// A connection to a bridge.
pub struct Relay {
    link: Link,
    pauses: Pauses,
}

/// What all messages of a running relay share.
struct Shared {
    link: Link,
    session: Session,
    output: Output,
    pauses: Pauses,
    /// The session whose stream was opened, or could not be.
    tried: watch::Sender<Option<HeaderValue>>,
    /// Requests without a session, by their ids: their client cancels them by leaving.
    leavable: Mutex<HashMap<String, Leave>>,
}

struct Leave {
    token: CancellationToken,
    /// Its answer never comes by itself.
    listens: bool,
}

impl Relay {
    /// A relay to the MCP endpoint at `url`.
    ///
    /// # Errors
    /// The certificate settings cannot be used.
    pub fn new(url: Url, token: Secret, trust: &Trust) -> Result<Self, StationError> {
        Ok(Self {
            link: Link::new(url, token, trust)?,
            pauses: Pauses::default(),
        })
    }

    /// Waits as long as this before a broken stream is opened again.
    pub fn with_pauses(mut self, pauses: Pauses) -> Self {
        self.pauses = pauses;
        self
    }

    /// Relays until `input` ends, nobody reads `output`, or `stop` fires; then ends the session.
    ///
    /// # Errors
    /// `input` cannot be read.
    pub async fn run<R, W>(
        self,
        input: R,
        output: W,
        stop: CancellationToken,
    ) -> std::io::Result<()>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let (output, written) = Output::to(output);
        let shared = Arc::new(Shared {
            link: self.link,
            session: Session::new(),
            output,
            pauses: self.pauses,
            tried: watch::Sender::new(None),
            leavable: Mutex::default(),
        });
        let pushed = AbortOnDropHandle::new(tokio::spawn(push::pass_on_pushed(shared.clone())));
        let outcome = read(&shared, input, &stop).await;
        pushed.abort();
        // An aborted task has dropped its part of what is shared only when it was joined.
        drop(pushed.await);
        if tokio::time::timeout(FAREWELL, shared.session.close(&shared.link))
            .await
            .is_err()
        {
            tracing::debug!("the bridge did not answer the end of the session");
        }
        drop(shared);
        if let Err(error) = written.await {
            tracing::error!(%error, "standard output cannot be written");
        }
        outcome
    }
}

/// Passes on every line of `input`; ends when the calls that were read are answered.
async fn read<R: AsyncRead + Send + Unpin + 'static>(
    shared: &Arc<Shared>,
    input: R,
    stop: &CancellationToken,
) -> std::io::Result<()> {
    let mut lines = FramedRead::new(input, Lines::default());
    let mut running = JoinSet::new();
    loop {
        let line = tokio::select! {
            line = lines.next() => line,
            () = stop.cancelled() => break,
            () = shared.output.closed() => {
                running.abort_all();
                break;
            }
        };
        let line = match line {
            None => break,
            Some(Err(error)) => return Err(std::io::Error::other(error)),
            Some(Ok(Err(fault))) => {
                let refusal = error_body(Value::Null, &fault.to_error());
                shared.output.write(&refusal).await;
                continue;
            }
            Some(Ok(Ok(line))) if line.trim().is_empty() => continue,
            Some(Ok(Ok(line))) => line,
        };
        let message = match Incoming::parse(line.as_bytes()) {
            Ok(message) => message,
            Err(refusal) => {
                shared.output.write(&refusal.body()).await;
                continue;
            }
        };
        if shared.leaves(&message) {
            continue;
        }
        if is_call(&message) {
            let (shared, stop) = (shared.clone(), stop.clone());
            let leave = shared.leave_with(&message);
            running.spawn(async move {
                let passed = shared.pass_on_until(&stop, line, &message);
                leave.run_until_cancelled(passed).await;
                shared.ended(&message);
            });
        } else {
            // In order: nothing can be sent before the session is open, and notifications keep their places.
            shared.pass_on_until(stop, line, &message).await;
        }
        while running.try_join_next().is_some() {}
    }
    shared.end_listeners();
    while running.join_next().await.is_some() {}
    Ok(())
}

impl Shared {
    fn leavable(&self) -> MutexGuard<'_, HashMap<String, Leave>> {
        // Insert and remove leave the map consistent, so a panic elsewhere cannot have broken it.
        self.leavable.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fires when the client cancels a request without a session; others are cancelled by their session.
    fn leave_with(&self, message: &Incoming) -> CancellationToken {
        let token = CancellationToken::new();
        if let Incoming::Request { id, .. } = message
            && Declared::stands_alone(message)
        {
            let leave = Leave {
                token: token.clone(),
                listens: listening::is_listen(message),
            };
            self.leavable().insert(id.to_string(), leave);
        }
        token
    }

    fn ended(&self, message: &Incoming) {
        if let Incoming::Request { id, .. } = message {
            self.leavable().remove(&id.to_string());
        }
    }

    /// Whether the message was a cancellation that is dealt with here.
    fn leaves(&self, message: &Incoming) -> bool {
        let Incoming::Notification { method, params } = message else {
            return false;
        };
        if method != "notifications/cancelled" {
            return false;
        }
        let named = params.get("requestId").map(Value::to_string);
        let leave = named.and_then(|id| self.leavable().remove(&id));
        leave.inspect(|leave| leave.token.cancel()).is_some()
    }

    /// Nobody waits for listeners when the input has ended.
    fn end_listeners(&self) {
        let leavable = self.leavable();
        let listeners = leavable.values().filter(|leave| leave.listens);
        listeners.for_each(|leave| leave.token.cancel());
    }

    /// A call whose answer has not come when `stop` fires is answered with an error.
    async fn pass_on_until(&self, stop: &CancellationToken, line: String, message: &Incoming) {
        tokio::select! {
            biased;
            () = self.pass_on(line, message) => {}
            () = stop.cancelled() => if let Incoming::Request { id, .. } = message {
                let error = failed("The relay is stopping; the answer was not waited for.");
                self.output.write(&error_body(id.clone(), &error)).await;
            },
        }
    }

    async fn pass_on(&self, line: String, message: &Incoming) {
        let body = Bytes::from(line);
        let outcome = match message {
            Incoming::Request { method, .. } if method == "initialize" => self.open(body).await,
            Incoming::Request { id, .. } if listening::is_listen(message) => {
                listening::listen(self, body, id).await
            }
            Incoming::Response(_) => self.answer(body).await,
            _ => self.deliver(body, message).await,
        };
        match (outcome, message) {
            (Ok(()), _) => {}
            (Err(error), Incoming::Request { id, .. }) => {
                self.output.write(&error_body(id.clone(), &error)).await;
            }
            (Err(error), _) => {
                tracing::warn!(error = %error.message, "a message did not reach the bridge");
            }
        }
    }

    async fn open(&self, body: Bytes) -> Result<(), RpcError> {
        let response = self.session.open(&self.link, body).await?;
        if let Some(id) = self.session.id() {
            // The stream stands before the client can ask for anything that would be told on it.
            let mut tried = self.tried.subscribe();
            let tried = tried.wait_for(|tried| tried.as_ref() == Some(&id));
            if tokio::time::timeout(STREAM_PATIENCE, tried).await.is_err() {
                tracing::debug!("the stream of pushed messages is not open yet");
            }
        }
        self.link.forward(response, &self.output).await
    }

    /// The client's answer to a question of the bridge; a session that has ended does not wait for it.
    async fn answer(&self, body: Bytes) -> Result<(), RpcError> {
        let response = self.link.post(body, self.session.id()).await?;
        if response.status == 404 {
            return Ok(());
        }
        self.link.forward(response, &self.output).await
    }

    async fn deliver(&self, body: Bytes, message: &Incoming) -> Result<(), RpcError> {
        let alone = Declared::stands_alone(message);
        let id = self.session.id().filter(|_| !alone);
        let response = match self.send(body.clone(), id.clone()).await? {
            Some(response) => response,
            None => {
                let id = self.session.reopen(&self.link, id).await?;
                let again = self.send(body.clone(), id).await?;
                again.ok_or_else(|| {
                    failed("The bridge does not keep its sessions; look into its log.")
                })?
            }
        };
        if matches!(response.status, 200 | 202) {
            self.session.note(message, &body).await;
        }
        self.link.forward(response, &self.output).await
    }

    /// None when the bridge does not know the session.
    async fn send(
        &self,
        body: Bytes,
        session: Option<HeaderValue>,
    ) -> Result<Option<HttpResponse>, RpcError> {
        let had_session = session.is_some();
        let response = self.link.post(body, session).await?;
        Ok((response.status != 404 || !had_session).then_some(response))
    }
}

/// Whether the message may be answered out of order.
fn is_call(message: &Incoming) -> bool {
    matches!(message, Incoming::Request { method, .. } if method != "initialize")
}
