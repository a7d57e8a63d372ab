//! The bridge over standard input and output: one JSON message per line.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::{RoleServer, serve_directly_with_ct};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Mutex, Notify, mpsc};
use tokio::time::Instant;
use tokio_util::bytes::BytesMut;
use tokio_util::codec::{Decoder, FramedRead, FramedWrite, LinesCodec, LinesCodecError};
use tokio_util::sync::CancellationToken;

use super::bridge::Bridge;
use super::declared::Declared;
use super::message::{self, Incoming, RequestIds};
use super::service::{BridgeService, Caller};
use crate::tools::{ErrorCode, Principal, RpcError, ToolSets};

/// Longest accepted line, as for an HTTP body.
const LINE_LIMIT: usize = 4 * 1024 * 1024;

/// Changes that may wait for a slow reader; a listener that is behind by more misses some.
const LISTEN_QUEUE: usize = 1000;

/// Longest wait for the answers to calls that were read before the input ended: capabilities may take 120 s.
const LAST_ANSWERS: Duration = Duration::from_secs(180);

/// Serves until the input ends or `stop` fires; calls that were read before the input ended are answered first.
///
/// # Errors
/// The session task failed.
pub async fn serve<R, W>(
    bridge: Arc<Bridge>,
    principal: Principal,
    toolsets: ToolSets,
    input: R,
    output: W,
    stop: CancellationToken,
) -> Result<(), tokio::task::JoinError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let caller = Caller {
        principal,
        session_id: String::new(),
        toolsets,
        from_this_machine: true,
        outlet: None,
        declared: None,
    };
    let transport = LineTransport::new(input, output, caller);
    // rmcp cancels the token that it is given when the session ends; the caller's own must not fire then.
    bridge.ends_with(stop.clone());
    let stop = stop.child_token();
    let running = serve_directly_with_ct(BridgeService::new(bridge), transport, None, stop);
    running
        .waiting()
        .await
        .map(|reason| tracing::debug!(?reason, "standard input ended"))
}

/// A line that is no text; the stream goes on behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineFault {
    TooLong,
    NotUtf8,
}

impl LineFault {
    /// What the client is told.
    pub fn to_error(self) -> RpcError {
        match self {
            Self::TooLong => RpcError::new(
                ErrorCode::InvalidRequest,
                format!("A line is longer than {LINE_LIMIT} bytes."),
            ),
            Self::NotUtf8 => RpcError::new(ErrorCode::Parse, "The line is not UTF-8."),
        }
    }
}

/// Lines of text; a bad line is an item, because a decoder that fails ends its stream.
pub struct Lines(LinesCodec);

impl Default for Lines {
    fn default() -> Self {
        Self::up_to(LINE_LIMIT)
    }
}

impl Lines {
    /// Lines of at most so many bytes.
    pub fn up_to(longest: usize) -> Self {
        Self(LinesCodec::new_with_max_length(longest))
    }

    fn sort(
        outcome: Result<Option<String>, LinesCodecError>,
    ) -> Result<Option<Result<String, LineFault>>, LinesCodecError> {
        match outcome {
            Ok(line) => Ok(line.map(Ok)),
            Err(LinesCodecError::MaxLineLengthExceeded) => Ok(Some(Err(LineFault::TooLong))),
            Err(LinesCodecError::Io(error)) if error.kind() == std::io::ErrorKind::InvalidData => {
                Ok(Some(Err(LineFault::NotUtf8)))
            }
            Err(error) => Err(error),
        }
    }
}

impl Decoder for Lines {
    type Item = Result<String, LineFault>;
    type Error = LinesCodecError;

    fn decode(&mut self, bytes: &mut BytesMut) -> Result<Option<Self::Item>, Self::Error> {
        Self::sort(self.0.decode(bytes))
    }

    fn decode_eof(&mut self, bytes: &mut BytesMut) -> Result<Option<Self::Item>, Self::Error> {
        Self::sort(self.0.decode_eof(bytes))
    }
}

type Output<W> = Arc<Mutex<FramedWrite<W, LinesCodec>>>;

struct LineTransport<R, W> {
    input: FramedRead<R, Lines>,
    output: Output<W>,
    ids: Arc<RequestIds>,
    caller: Caller,
    /// Fires when an answer goes out.
    answered: Notify,
    /// When the waiting for answers began: the input has ended.
    ended: Option<Instant>,
    /// Fires when nobody listens any longer.
    unheard: CancellationToken,
}

impl<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> LineTransport<R, W> {
    fn new(input: R, output: W, caller: Caller) -> Self {
        Self {
            input: FramedRead::new(input, Lines::default()),
            output: Arc::new(Mutex::new(FramedWrite::new(output, LinesCodec::new()))),
            ids: Arc::default(),
            caller,
            answered: Notify::new(),
            ended: None,
            unheard: CancellationToken::new(),
        }
    }

    /// The input has ended: calls are still answered, but whoever listened has gone.
    fn end_input(&mut self) {
        self.ended = Some(Instant::now());
        self.unheard.cancel();
    }

    /// Where `subscriptions/listen` tells what changed.
    fn outlet(&self) -> mpsc::Sender<Value> {
        let (sender, mut notes) = mpsc::channel(LISTEN_QUEUE);
        let (output, unheard) = (self.output.clone(), self.unheard.clone());
        tokio::spawn(async move {
            let written = async {
                while let Some(note) = notes.recv().await {
                    if let Err(error) = write(output.clone(), note).await {
                        tracing::error!(%error, "standard output cannot be written");
                        return;
                    }
                }
            };
            unheard.run_until_cancelled(written).await;
        });
        sender
    }

    fn accept(&self, line: &str) -> Result<Option<ClientJsonRpcMessage>, Box<(Value, RpcError)>> {
        let incoming = Incoming::parse(line.as_bytes())
            .map_err(|refusal| Box::new((refusal.id, *refusal.error)))?;
        let stands_alone = Declared::stands_alone(&incoming);
        match incoming {
            Incoming::Request { id, method, params } => {
                let refuse = |error| Box::new((id.clone(), error));
                let mut caller = self.caller.clone();
                if stands_alone {
                    let declared = Declared::read(&id, &params).map_err(refuse)?;
                    declared.require_served().map_err(refuse)?;
                    caller.declared = Some(Arc::new(declared));
                    caller.outlet = (method == "subscriptions/listen").then(|| self.outlet());
                }
                let mut request = message::request(&method, params).map_err(refuse)?;
                request.extensions.insert(caller);
                Ok(Some(message::wrap_request(self.ids.open(id), request)))
            }
            Incoming::Notification { method, params } => {
                Ok(message::notification(&method, params, &self.ids))
            }
            Incoming::Response(members) => Ok(message::response(members)),
        }
    }
}

/// Waits until every call that was read is answered; each ends by its own time limit.
async fn last_answers(ids: &RequestIds, answered: &Notify, since: Instant) {
    let all = async {
        while !ids.awaited().is_empty() {
            answered.notified().await;
        }
    };
    if tokio::time::timeout_at(since + LAST_ANSWERS, all)
        .await
        .is_err()
    {
        tracing::debug!("answers were not waited for any longer");
    }
}

async fn write<W: AsyncWrite + Send + Unpin>(
    output: Output<W>,
    body: impl Display + Send,
) -> Result<(), LinesCodecError> {
    output.lock().await.send(body.to_string()).await
}

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = LinesCodecError;

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let body = message::outgoing(&item, &self.ids);
        if message::is_answer(&item) {
            self.answered.notify_one();
        }
        write(self.output.clone(), body)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            // This future is dropped and made anew whenever an answer goes out.
            if let Some(since) = self.ended {
                last_answers(&self.ids, &self.answered, since).await;
                return None;
            }
            let Some(line) = self.input.next().await else {
                self.end_input();
                continue;
            };
            let (id, error) = match line {
                Ok(Ok(line)) if line.trim().is_empty() => continue,
                Ok(Ok(line)) => match self.accept(&line) {
                    Ok(Some(message)) => return Some(message),
                    Ok(None) => continue,
                    Err(refusal) => *refusal,
                },
                Ok(Err(fault)) => (Value::Null, fault.to_error()),
                Err(error) => {
                    tracing::error!(%error, "standard input cannot be read");
                    self.end_input();
                    continue;
                }
            };
            // Written from a task of its own: this future may be dropped at any await while another one is polled.
            let reply = write(self.output.clone(), message::error_body(id, &error));
            tokio::spawn(async move {
                if let Err(error) = reply.await {
                    tracing::error!(%error, "standard output cannot be written");
                }
            });
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.unheard.cancel();
        let unanswered = self.ids.awaited();
        if !unanswered.is_empty() {
            tracing::warn!(
                calls = unanswered.len(),
                "calls could not be answered before the end"
            );
        }
        for id in unanswered {
            let error = RpcError::new(
                ErrorCode::Internal,
                "The bridge ended before the call was answered.",
            );
            write(self.output.clone(), message::error_body(id, &error)).await?;
        }
        SinkExt::<String>::close(&mut *self.output.lock().await).await
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

    use super::*;
    use crate::prompts::PromptRegistry;
    use crate::resources::ResourceRegistry;
    use crate::tools::{Registry, echo::Echo};

    fn bridge() -> Arc<Bridge> {
        let tools = Registry::builder().tool(Echo).build().expect("registry");
        Arc::new(Bridge::new(
            tools,
            ResourceRegistry::default(),
            PromptRegistry::default(),
        ))
    }

    #[tokio::test]
    async fn a_conversation_line_by_line_survives_bad_lines() {
        let (client, server) = tokio::io::duplex(1 << 16);
        let (input, output) = tokio::io::split(server);
        let bridge = bridge();
        let served = tokio::spawn(serve(
            bridge.clone(),
            Principal::Service,
            ToolSets::all(),
            input,
            output,
            CancellationToken::new(),
        ));
        let (answers, mut requests) = tokio::io::split(client);
        let mut answers = BufReader::new(answers).lines();
        let mut talk = async |line: &[u8]| -> Value {
            requests.write_all(line).await.expect("write");
            requests.write_all(b"\n").await.expect("write");
            let line = answers.next_line().await.expect("read").expect("a line");
            serde_json::from_str(&line).expect("json")
        };
        assert_eq!(talk(b"not json").await["error"]["code"], -32700);
        assert_eq!(talk(b"\xff\xfe").await["error"]["code"], -32700);
        assert_eq!(talk(b"[]").await["error"]["code"], -32600);
        let initialize =
            talk(br#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{}}"#).await;
        assert_eq!(initialize["id"], "i");
        assert_eq!(initialize["result"]["protocolVersion"], "2025-06-18");
        let echo = talk(
            b"\n{\"jsonrpc\":\"2.0\",\"id\":-3,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"msg\":\"hi\"}}}",
        )
        .await;
        assert_eq!(echo["id"], -3);
        assert_eq!(echo["result"]["content"][0]["text"], "hi");
        for (line, id) in [
            (
                &br#"{"jsonrpc":"2.0","id":12345678901234567890123,"method":"ping"}"#[..],
                Value::Null,
            ),
            (
                br#"{"jsonrpc":"1.0","id":"old","method":"ping"}"#,
                json!("old"),
            ),
        ] {
            let refused = talk(line).await;
            assert_eq!(
                (&refused["id"], &refused["error"]["code"]),
                (&id, &json!(-32600))
            );
        }
        let alone = br#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
        let discovered = talk(alone).await;
        assert_eq!(discovered["result"]["supportedVersions"][0], "2026-07-28");
        assert_eq!(
            discovered["result"]["capabilities"]["resources"],
            json!({ "subscribe": true, "listChanged": true })
        );
        let other = String::from_utf8_lossy(alone).replace("2026-07-28", "2031-01-01");
        assert_eq!(talk(other.as_bytes()).await["error"]["code"], -32022);
        let ready = b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}";
        let ping = b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}";
        assert_eq!(talk(&[&ready[..], &ping[..]].join(&b'\n')).await["id"], 2);
        bridge.resources_changed();
        let told = talk(b"").await;
        assert_eq!(told["method"], "notifications/resources/list_changed");
        drop(requests);
        drop(answers);
        served.await.expect("task").expect("session");
    }
}
