//! The capabilities alone over standard input and output: one JSON-RPC message per line, one call at a time
//! (CAMBER core §11.2).

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::codec::{FramedRead, FramedWrite, LinesCodec, LinesCodecError};
use tokio_util::sync::CancellationToken;

use super::capability_session::{CapabilitySession, Handled, ToolCall, call_answer};
use super::message::Incoming;
use super::stdio::{LineFault, Lines};
use crate::camber::{CallerPolicy, CapabilityService};

/// Longest accepted line in bytes.
const LINE_LIMIT: usize = 1_048_576;

/// Serves until the input ends, nobody reads the output, or `stop` fires; calls that were read are answered first.
///
/// # Errors
/// The output cannot be written.
pub async fn serve<R, W>(
    service: Arc<CapabilityService>,
    caller: CallerPolicy,
    input: R,
    output: W,
    stop: CancellationToken,
) -> io::Result<()>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin,
{
    let mut lines = FramedRead::new(input, Lines::up_to(LINE_LIMIT));
    let mut output = FramedWrite::new(output, LinesCodec::new());
    let mut session = CapabilitySession::new(service.clone(), caller);
    let mut waiting: VecDeque<Incoming> = VecDeque::new();
    let mut reading = true;
    loop {
        while let Some(message) = waiting.pop_front() {
            let answer = match session.handle(message).await {
                Handled::Nothing => continue,
                Handled::Answer(answer) => Some(answer),
                Handled::Call(call) => {
                    let running = run(&service, &session, &call);
                    tokio::pin!(running);
                    let cancel = call.cancel.clone();
                    loop {
                        tokio::select! {
                            answer = &mut running => break Some(answer).filter(|_| !call.cancelled_by_client()),
                            line = lines.next(), if reading => match next(line) {
                                Next::End => reading = false,
                                Next::Blank => {}
                                Next::Fault(error) => {
                                    if !put_or_end(&mut output, &error).await? {
                                        call.cancel.cancel();
                                        return Ok(());
                                    }
                                }
                                Next::Message(Incoming::Notification { method, params })
                                    if method == "notifications/cancelled" =>
                                {
                                    let id = params.get("requestId").unwrap_or(&Value::Null);
                                    if *id == call.id {
                                        call.cancel_by_client();
                                    } else {
                                        waiting.retain(|message| !is_request(message, id));
                                    }
                                }
                                Next::Message(message) => waiting.push_back(message),
                            },
                            () = stop.cancelled(), if !cancel.is_cancelled() => cancel.cancel(),
                        }
                    }
                }
            };
            if let Some(answer) = answer
                && !put_or_end(&mut output, &answer).await?
            {
                return Ok(());
            }
        }
        if !reading || stop.is_cancelled() {
            return Ok(());
        }
        tokio::select! {
            line = lines.next() => match next(line) {
                Next::End => reading = false,
                Next::Blank => {}
                Next::Fault(error) => {
                    if !put_or_end(&mut output, &error).await? {
                        return Ok(());
                    }
                }
                Next::Message(message) => waiting.push_back(message),
            },
            () = stop.cancelled() => return Ok(()),
        }
    }
}

async fn run(service: &CapabilityService, session: &CapabilitySession, call: &ToolCall) -> Value {
    let outcome = service
        .call(
            &call.name,
            call.arguments.clone(),
            session.caller(),
            &call.cancel,
        )
        .await;
    call_answer(call, outcome)
}

fn is_request(message: &Incoming, wanted: &Value) -> bool {
    matches!(message, Incoming::Request { id, .. } if id == wanted)
}

enum Next {
    End,
    Blank,
    Fault(Value),
    Message(Incoming),
}

fn next(line: Option<Result<Result<String, LineFault>, LinesCodecError>>) -> Next {
    let line = match line {
        None => return Next::End,
        Some(Err(error)) => {
            tracing::error!(%error, "standard input cannot be read");
            return Next::End;
        }
        Some(Ok(line)) => line,
    };
    match line {
        Ok(line) if line.trim().is_empty() => Next::Blank,
        Ok(line) => match Incoming::parse(line.as_bytes()) {
            Ok(Incoming::Request { id, .. }) if !is_plain_id(&id) => Next::Fault(json!({
                "jsonrpc": "2.0",
                "error": {"code": -32600, "message": "The 'id' of a request must be a string or an integer."},
            })),
            Ok(message) => Next::Message(message),
            Err(malformed) => Next::Fault(without_null_id(malformed.body())),
        },
        Err(LineFault::TooLong) => Next::Fault(json!({
            "jsonrpc": "2.0",
            "error": {"code": -32600, "message": format!("A line is longer than {LINE_LIMIT} bytes.")},
        })),
        Err(LineFault::NotUtf8) => Next::Fault(json!({
            "jsonrpc": "2.0",
            "error": {"code": -32700, "message": "The line is not UTF-8."},
        })),
    }
}

/// Other ids are refused here (CAMBER core §11.3).
fn is_plain_id(id: &Value) -> bool {
    id.is_string() || id.is_i64() || id.is_u64()
}

/// An answer to what had no readable id has none (CAMBER core §11.3).
fn without_null_id(mut body: Value) -> Value {
    if body.get("id") == Some(&Value::Null)
        && let Value::Object(members) = &mut body
    {
        members.shift_remove("id");
    }
    body
}

async fn put<W: AsyncWrite + Unpin>(
    output: &mut FramedWrite<W, LinesCodec>,
    answer: &Value,
) -> io::Result<()> {
    output
        .send(answer.to_string())
        .await
        .map_err(|error| match error {
            LinesCodecError::Io(error) => error,
            other => io::Error::other(other),
        })
}

/// False when nobody reads any longer, which is an end like any other.
async fn put_or_end<W: AsyncWrite + Unpin>(
    output: &mut FramedWrite<W, LinesCodec>,
    answer: &Value,
) -> io::Result<bool> {
    match put(output, answer).await {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(error),
    }
}
