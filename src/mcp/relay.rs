//! A stdio server that passes every message on to a running bridge over Streamable HTTP.
//!
//! The bridge's session is opened by the client's own `initialize`. When the bridge has lost the session (it was
//! restarted, or the session was idle for long) it is opened again with the same `initialize`, and the message is
//! sent once more: a bridge that does not know the session has not acted on it.

mod pushes;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures::{SinkExt, StreamExt};
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Mutex, watch};
use tokio::task::JoinSet;
use tokio_util::codec::{FramedRead, FramedWrite, LinesCodec};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use url::Url;

use super::declared::Declared;
use super::http::checks::SESSION_HEADER;
use super::message::{Incoming, error_body};
use super::stdio::Lines;
use crate::config::Secret;
use crate::station::error::StationError;
use crate::station::http::{
    CallScope, HttpBody, HttpClient, HttpLimits, HttpRequest, HttpResponse, TimeoutClass, Trust,
};
use crate::tools::{ErrorCode, RpcError};

/// Longest wait for an answer: capabilities may take 120 s.
const ANSWER_LIMIT: Duration = Duration::from_secs(180);

/// Time to tell the bridge that the session ends.
const FAREWELL: Duration = Duration::from_secs(2);

/// Tells a session that was opened again that its client is ready.
const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// Messages that may be under way at the same time.
const IN_FLIGHT: usize = 64;

type Output<W> = FramedWrite<W, LinesCodec>;

/// A connection to a bridge.
pub struct Relay {
    client: HttpClient,
    url: Url,
    token: Secret,
    session: Mutex<Session>,
    /// The id of the session, for whoever listens to it.
    opened: watch::Sender<Option<HeaderValue>>,
}

#[derive(Default)]
struct Session {
    id: Option<HeaderValue>,
    /// The client's `initialize`, to open a lost session again.
    initialize: Option<Bytes>,
}

impl Relay {
    /// A relay to the MCP endpoint at `url`.
    ///
    /// # Errors
    /// The certificate settings cannot be used.
    pub fn new(url: Url, token: Secret, trust: &Trust) -> Result<Self, StationError> {
        let limits = HttpLimits {
            in_flight: IN_FLIGHT,
            requests_per_second: 0,
            export_timeout: ANSWER_LIMIT,
            read_retries: 0,
            ..HttpLimits::default()
        };
        Ok(Self {
            client: HttpClient::new(trust, limits)?,
            url,
            token,
            session: Mutex::default(),
            opened: watch::Sender::new(None),
        })
    }

    /// Relays until `input` ends or `stop` fires, then ends the session.
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
        let relay = Arc::new(self);
        let output = Arc::new(Mutex::new(FramedWrite::new(output, LinesCodec::new())));
        let mut lines = FramedRead::new(input, Lines::default());
        let mut running = JoinSet::new();
        let (listener, heard) = (relay.clone(), output.clone());
        let listening = AbortOnDropHandle::new(tokio::spawn(async move {
            listener.listen(&heard).await;
        }));
        loop {
            let line = tokio::select! {
                line = lines.next() => line,
                () = stop.cancelled() => break,
            };
            let line = match line {
                None => break,
                Some(Err(error)) => return Err(std::io::Error::other(error)),
                Some(Ok(Err(fault))) => {
                    write(&output, &error_body(Value::Null, &fault.to_error())).await;
                    continue;
                }
                Some(Ok(Ok(line))) if line.trim().is_empty() => continue,
                Some(Ok(Ok(line))) => line,
            };
            match Incoming::parse(line.as_bytes()) {
                Err(error) => write(&output, &error_body(Value::Null, &error)).await,
                // In order: nothing can be sent before the session is open, and notifications keep their places.
                Ok(message) if !is_call(&message) => {
                    relay.pass_on_until(&stop, line, message, &output).await;
                }
                Ok(message) => {
                    let (relay, output, stop) = (relay.clone(), output.clone(), stop.clone());
                    running.spawn(async move {
                        relay.pass_on_until(&stop, line, message, &output).await;
                    });
                }
            }
            while running.try_join_next().is_some() {}
        }
        while running.join_next().await.is_some() {}
        drop(listening);
        if tokio::time::timeout(FAREWELL, relay.close()).await.is_err() {
            tracing::debug!("the bridge did not answer the end of the session");
        }
        Ok(())
    }

    /// A call whose answer has not come when `stop` fires is answered with an error.
    async fn pass_on_until<W: AsyncWrite + Send + Unpin>(
        &self,
        stop: &CancellationToken,
        line: String,
        message: Incoming,
        output: &Mutex<Output<W>>,
    ) {
        let id = match &message {
            Incoming::Request { id, .. } => Some(id.clone()),
            _ => None,
        };
        tokio::select! {
            biased;
            () = self.pass_on(line, message, output) => {}
            () = stop.cancelled() => if let Some(id) = id {
                write(output, &error_body(id, &failed("The relay is stopping; the answer was not waited for."))).await;
            },
        }
    }

    async fn pass_on<W: AsyncWrite + Send + Unpin>(
        &self,
        line: String,
        message: Incoming,
        output: &Mutex<Output<W>>,
    ) {
        let body = Bytes::from(line);
        let id = match &message {
            Incoming::Request { id, .. } => Some(id.clone()),
            _ => None,
        };
        let outcome = match message.method() {
            Some("initialize") => self.open(body, output).await,
            _ => self.deliver(body, output).await,
        };
        match (outcome, id) {
            (Ok(()), _) => {}
            (Err(error), Some(id)) => write(output, &error_body(id, &error)).await,
            (Err(error), None) => {
                tracing::warn!(error = %error.message, "a notification did not reach the bridge")
            }
        }
    }

    async fn open<W: AsyncWrite + Send + Unpin>(
        &self,
        body: Bytes,
        output: &Mutex<Output<W>>,
    ) -> Result<(), RpcError> {
        let mut session = self.session.lock().await;
        let response = self.post(body.clone(), None).await?;
        session.id = response.headers.get(SESSION_HEADER).cloned();
        session.initialize = Some(body);
        self.opened.send_replace(session.id.clone());
        drop(session);
        self.forward(response, output).await
    }

    async fn deliver<W: AsyncWrite + Send + Unpin>(
        &self,
        body: Bytes,
        output: &Mutex<Output<W>>,
    ) -> Result<(), RpcError> {
        let id = self.session.lock().await.id.clone();
        if let Some(response) = self.send(body.clone(), id.clone()).await? {
            return self.forward(response, output).await;
        }
        let id = self.reopen(id).await?;
        match self.send(body, id).await? {
            Some(response) => self.forward(response, output).await,
            None => Err(failed(
                "The bridge does not keep its sessions; look into its log.",
            )),
        }
    }

    /// None when the bridge does not know the session.
    async fn send(
        &self,
        body: Bytes,
        session: Option<HeaderValue>,
    ) -> Result<Option<HttpResponse>, RpcError> {
        let had_session = session.is_some();
        let response = self.post(body, session).await?;
        Ok((response.status != 404 || !had_session).then_some(response))
    }

    /// Opens the lost session again, unless another message has done so already.
    async fn reopen(&self, lost: Option<HeaderValue>) -> Result<Option<HeaderValue>, RpcError> {
        let mut session = self.session.lock().await;
        if session.id != lost {
            return Ok(session.id.clone());
        }
        let Some(initialize) = session.initialize.clone() else {
            return Err(failed("The session ended; send initialize again."));
        };
        tracing::info!("the bridge has ended the session; it is opened again");
        let response = self.post(initialize, None).await?;
        if response.status != 200 {
            return Err(failed(format!(
                "The session could not be opened again (HTTP {}).",
                response.status
            )));
        }
        session.id = response.headers.get(SESSION_HEADER).cloned();
        // The client has said so of the lost session already.
        let ready = Bytes::from_static(READY.as_bytes());
        self.post(ready, session.id.clone()).await?;
        self.opened.send_replace(session.id.clone());
        Ok(session.id.clone())
    }

    async fn post(
        &self,
        body: Bytes,
        session: Option<HeaderValue>,
    ) -> Result<HttpResponse, RpcError> {
        let mut headers = self.headers(session)?;
        describe(&body, &mut headers);
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        );
        headers.insert(
            header::ACCEPT,
            HeaderValue::from_static("application/json, text/event-stream"),
        );
        self.exchange(Method::POST, headers, body).await
    }

    fn headers(&self, session: Option<HeaderValue>) -> Result<HeaderMap, RpcError> {
        let mut bearer = HeaderValue::from_str(&format!("Bearer {}", self.token.expose()))
            .map_err(|_| failed("The token holds characters that cannot stand in a header."))?;
        bearer.set_sensitive(true);
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, bearer);
        if let Some(session) = session {
            headers.insert(SESSION_HEADER, session);
        }
        Ok(headers)
    }

    async fn exchange(
        &self,
        method: Method,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<HttpResponse, RpcError> {
        let request = HttpRequest {
            method,
            url: self.url.clone(),
            headers,
            body,
        };
        let sent = AtomicBool::new(false);
        let outcome = self
            .client
            .send(
                request,
                TimeoutClass::Export,
                &CallScope::unlimited(),
                &sent,
            )
            .await;
        outcome.map_err(|error| failed(self.unreachable(&error)))
    }

    fn unreachable(&self, error: &StationError) -> String {
        let cause = match error {
            StationError::Certificate { cause, .. } => {
                return format!(
                    "The certificate of the bridge at {} is not trusted: {cause}. Give the relay --ca-file or --fingerprint.",
                    self.url
                );
            }
            StationError::Unreachable { cause, .. } => cause.clone(),
            StationError::Timeout { after, .. } => {
                format!("no answer within {} s", after.as_secs())
            }
            other => other.to_string(),
        };
        format!(
            "The bridge at {} cannot be reached: {cause}. Check that it runs and that the address is right.",
            self.url
        )
    }

    async fn forward<W: AsyncWrite + Send + Unpin>(
        &self,
        response: HttpResponse,
        output: &Mutex<Output<W>>,
    ) -> Result<(), RpcError> {
        let (status, kind) = (response.status, response.content_type());
        match (status, kind.as_str()) {
            (202 | 204, _) => Ok(()),
            (200, "text/event-stream") => self.forward_events(response.into_body(), output).await,
            (401, _) => Err(failed(
                "The bridge refuses the token; check the token's environment variable.",
            )),
            (_, "application/json") => {
                let body = self.whole(response).await?;
                let message: Value = serde_json::from_slice(&body).map_err(|error| {
                    failed(format!(
                        "The bridge sent an answer that is not JSON: {error}."
                    ))
                })?;
                write(output, &message).await;
                Ok(())
            }
            _ => {
                let body = self.whole(response).await?;
                let text: String = String::from_utf8_lossy(&body).chars().take(300).collect();
                Err(failed(format!(
                    "The bridge at {} answered with HTTP {status}: {text}",
                    self.url
                )))
            }
        }
    }

    async fn whole(&self, response: HttpResponse) -> Result<Bytes, RpcError> {
        response
            .into_body()
            .bytes()
            .await
            .map_err(|error| failed(self.unreachable(&error)))
    }

    async fn forward_events<W: AsyncWrite + Send + Unpin>(
        &self,
        mut body: HttpBody,
        output: &Mutex<Output<W>>,
    ) -> Result<(), RpcError> {
        let mut waiting: Vec<u8> = Vec::new();
        while let Some(piece) = body
            .chunk()
            .await
            .map_err(|error| failed(self.unreachable(&error)))?
        {
            waiting.extend_from_slice(&piece);
            while let Some(end) = waiting.windows(2).position(|pair| pair == b"\n\n") {
                let rest = waiting.split_off(end + 2);
                let event = std::mem::replace(&mut waiting, rest);
                if let Some(message) = event_message(&event) {
                    write(output, &message).await;
                }
            }
        }
        Ok(())
    }

    async fn close(&self) {
        let Some(id) = self.session.lock().await.id.take() else {
            return;
        };
        let Ok(headers) = self.headers(Some(id)) else {
            return;
        };
        if let Err(error) = self.exchange(Method::DELETE, headers, Bytes::new()).await {
            tracing::debug!(error = %error.message, "the session could not be ended");
        }
    }
}

/// Whether the message may be answered out of order.
fn is_call(message: &Incoming) -> bool {
    matches!(message, Incoming::Request { method, .. } if method != "initialize")
}

fn event_message(event: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(event).ok()?;
    let data: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .map(|data| data.strip_prefix(' ').unwrap_or(data))
        .collect();
    serde_json::from_str(&data.join("\n")).ok()
}

fn failed(text: impl Into<String>) -> RpcError {
    RpcError::new(ErrorCode::Internal, text)
}

async fn write<W: AsyncWrite + Send + Unpin>(output: &Mutex<Output<W>>, message: &Value) {
    if let Err(error) = output.lock().await.send(message.to_string()).await {
        tracing::error!(%error, "standard output cannot be written");
    }
}

/// The headers that a request of revision 2026-07-28 needs over HTTP: its revision, method and name.
fn describe(body: &[u8], headers: &mut HeaderMap) {
    let Ok(incoming) = Incoming::parse(body) else {
        return;
    };
    if !Declared::stands_alone(&incoming) {
        return;
    }
    let Incoming::Request { method, params, .. } = incoming else {
        return;
    };
    let revision = params.pointer("/_meta/io.modelcontextprotocol~1protocolVersion");
    let name = match method.as_str() {
        "tools/call" | "prompts/get" => params.get("name"),
        "resources/read" => params.get("uri"),
        _ => None,
    };
    let described = [
        ("mcp-protocol-version", revision.and_then(Value::as_str)),
        ("mcp-method", Some(method.as_str())),
        ("mcp-name", name.and_then(Value::as_str)),
    ];
    for (header, text) in described {
        let Some(text) = text else { continue };
        let is_plain = text.bytes().all(|byte| (0x21..0x7f).contains(&byte));
        let text = if is_plain && !text.starts_with("=?") {
            text.to_owned()
        } else {
            format!("=?base64?{}?=", STANDARD.encode(text))
        };
        if let Ok(value) = HeaderValue::from_str(&text) {
            headers.insert(HeaderName::from_static(header), value);
        }
    }
}
