//! Requests to the bridge, and what its answers mean.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use serde_json::Value;
use url::Url;

use super::output::Output;
use crate::config::Secret;
use crate::mcp::declared::Declared;
use crate::mcp::http::checks::SESSION_HEADER;
use crate::mcp::message::Incoming;
use crate::mcp::relay::events::{Events, StreamFault};
use crate::station::error::{CertificateFault, StationError};
use crate::station::http::{
    CallScope, HttpClient, HttpLimits, HttpRequest, HttpResponse, TimeoutClass, Trust,
};
use crate::tools::{ErrorCode, RpcError};

/// Longest wait for an answer: capabilities may take 120 s.
const ANSWER_LIMIT: Duration = Duration::from_secs(180);

/// Streams are opened again after this time.
const STREAM_LIMIT: Duration = Duration::from_secs(24 * 3600);

/// Messages, and streams, that may be under way at the same time.
const IN_FLIGHT: usize = 64;

/// The way to a bridge.
pub(super) struct Link {
    calls: HttpClient,
    streams: HttpClient,
    url: Url,
    token: Secret,
}

impl Link {
    pub(super) fn new(url: Url, token: Secret, trust: &Trust) -> Result<Self, StationError> {
        let calls = HttpLimits {
            in_flight: IN_FLIGHT,
            requests_per_second: 0,
            export_timeout: ANSWER_LIMIT,
            read_retries: 0,
            ..HttpLimits::default()
        };
        let streams = HttpLimits {
            export_timeout: STREAM_LIMIT,
            response_bytes: u64::MAX,
            ..calls.clone()
        };
        Ok(Self {
            calls: HttpClient::new(trust, calls)?,
            streams: HttpClient::new(trust, streams)?,
            url,
            token,
        })
    }

    /// Sends a message.
    pub(super) async fn post(
        &self,
        body: Bytes,
        session: Option<HeaderValue>,
    ) -> Result<HttpResponse, RpcError> {
        let headers = self.message_headers(&body, session)?;
        self.exchange(&self.calls, Method::POST, headers, body)
            .await
    }

    /// Sends a message whose answer is a stream without an end.
    pub(super) async fn post_to_listen(&self, body: Bytes) -> Result<HttpResponse, RpcError> {
        let headers = self.message_headers(&body, None)?;
        let sent = self.exchange(&self.streams, Method::POST, headers, body);
        self.begun(sent).await
    }

    /// Opens the stream of what the bridge says outside its answers.
    pub(super) async fn listen(&self, session: HeaderValue) -> Result<HttpResponse, RpcError> {
        let mut headers = self.headers(Some(session))?;
        let stream = HeaderValue::from_static("text/event-stream");
        headers.insert(header::ACCEPT, stream);
        let sent = self.exchange(&self.streams, Method::GET, headers, Bytes::new());
        self.begun(sent).await
    }

    /// Ends a session.
    pub(super) async fn delete(&self, session: HeaderValue) -> Result<(), RpcError> {
        let headers = self.headers(Some(session))?;
        let sent = self.exchange(&self.calls, Method::DELETE, headers, Bytes::new());
        sent.await.map(drop)
    }

    /// A stream must begin as soon as an answer must come.
    async fn begun(
        &self,
        sent: impl Future<Output = Result<HttpResponse, RpcError>>,
    ) -> Result<HttpResponse, RpcError> {
        match tokio::time::timeout(ANSWER_LIMIT, sent).await {
            Ok(outcome) => outcome,
            Err(_) => Err(failed(self.unreachable(&StationError::Timeout {
                what: "the stream".to_owned(),
                after: ANSWER_LIMIT,
                call: None,
            }))),
        }
    }

    fn message_headers(
        &self,
        body: &[u8],
        session: Option<HeaderValue>,
    ) -> Result<HeaderMap, RpcError> {
        let mut headers = self.headers(session)?;
        describe(body, &mut headers);
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        );
        headers.insert(
            header::ACCEPT,
            HeaderValue::from_static("application/json, text/event-stream"),
        );
        Ok(headers)
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
        client: &HttpClient,
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
        let scope = CallScope::unlimited();
        let outcome = client.send(request, TimeoutClass::Export, &scope, &sent);
        let outcome = outcome.await;
        outcome.map_err(|error| failed(self.unreachable(&error)))
    }

    /// Hands an answer to the client.
    pub(super) async fn forward(
        &self,
        response: HttpResponse,
        output: &Output,
    ) -> Result<(), RpcError> {
        let (status, kind) = (response.status, response.content_type());
        match (status, kind.as_str()) {
            (202 | 204, _) => Ok(()),
            (200, "text/event-stream") => {
                let mut events = Events::of(response.into_body());
                while let Some(message) = events.next().await.map_err(|fault| self.cut(&fault))? {
                    output.write(&message).await;
                }
                Ok(())
            }
            (_, "application/json") => {
                let body = self.whole(response).await?;
                let message: Value = serde_json::from_slice(&body).map_err(|error| {
                    failed(format!(
                        "The bridge sent an answer that is not JSON: {error}."
                    ))
                })?;
                output.write(&message).await;
                Ok(())
            }
            _ => Err(self.refusal(response).await),
        }
    }

    /// What an answer without a message says.
    pub(super) async fn refusal(&self, response: HttpResponse) -> RpcError {
        let status = response.status;
        if status == 401 {
            return failed("The bridge refuses the token; check the token's environment variable.");
        }
        match self.whole(response).await {
            Ok(body) => {
                let text: String = String::from_utf8_lossy(&body).chars().take(300).collect();
                failed(format!(
                    "The bridge at {} answered with HTTP {status}: {text}",
                    self.url
                ))
            }
            Err(error) => error,
        }
    }

    async fn whole(&self, response: HttpResponse) -> Result<Bytes, RpcError> {
        let body = response.into_body().bytes().await;
        body.map_err(|error| failed(self.unreachable(&error)))
    }

    /// Why a stream broke off, in words for the client.
    pub(super) fn cut(&self, fault: &StreamFault) -> RpcError {
        match fault {
            StreamFault::Broken(error) => failed(self.unreachable(error)),
            other => failed(format!(
                "The stream of the bridge at {} broke off: {other}.",
                self.url
            )),
        }
    }

    fn unreachable(&self, error: &StationError) -> String {
        let cause = match error {
            StationError::Certificate { cause, .. } => {
                let remedy = match CertificateFault::of(cause) {
                    CertificateFault::OtherName => {
                        "It was made for another name: use a name that it holds in --url, or give the relay --fingerprint"
                    }
                    CertificateFault::Expired => "Renew it, or give the relay --fingerprint",
                    CertificateFault::Untrusted => "Give the relay --ca-file or --fingerprint",
                };
                return format!(
                    "The certificate of the bridge at {} is not trusted: {cause}. {remedy}.",
                    self.url
                );
            }
            StationError::Unreachable { cause, .. } => cause.clone(),
            StationError::Cut {
                received, cause, ..
            } => {
                return format!(
                    "The bridge at {} broke off its answer after {received} bytes: {cause}. Send the request again.",
                    self.url
                );
            }
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
}

pub(super) fn failed(text: impl Into<String>) -> RpcError {
    RpcError::new(ErrorCode::Internal, text)
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
