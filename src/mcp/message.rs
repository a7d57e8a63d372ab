//! JSON text ↔ protocol messages.
//!
//! Every request travels as rmcp's `CustomRequest`: the surface has its own rules for parameters and its own extra
//! result keys, which rmcp's typed requests would refuse or drop. Requests get an id of our own inside, so that
//! clients may use an id that is still in flight; the answer carries the client's id again.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, CustomRequest, CustomResult,
    JsonRpcMessage, NumberOrString, RequestMetaObject, ServerJsonRpcMessage, ServerResult,
};
use serde::Serialize;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::camber::capabilities::check_citations;
use crate::camber::citations::wide_integers;
use crate::station::echo::shortened;
use crate::tools::{ErrorCode, RpcError};

/// What a client sent.
#[derive(Debug, Clone, PartialEq)]
pub enum Incoming {
    /// Wants an answer that carries `id`.
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    /// Wants none.
    Notification { method: String, params: Value },
    /// Answers a request of the server.
    Response(Map<String, Value>),
}

/// Text that is no message, and what its sender is told.
#[derive(Debug, Clone, PartialEq)]
pub struct Malformed {
    /// The id of the request; null where it has none that can be told (JSON-RPC 2.0 §5).
    pub id: Value,
    pub error: Box<RpcError>,
}

impl Malformed {
    fn new(id: Value, code: ErrorCode, text: impl Into<String>) -> Self {
        let error = Box::new(RpcError::new(code, text));
        Self { id, error }
    }

    /// The JSON-RPC message that says so.
    pub fn body(&self) -> Value {
        error_body(self.id.clone(), &self.error)
    }
}

impl Incoming {
    /// Reads one message.
    ///
    /// # Errors
    /// −32700 for text that is no JSON, −32600 for JSON that is no message (Tool surface §1.2, §5.3): an id is a string,
    /// a number or null (§2), and `jsonrpc` is \"2.0\" (Model Context Protocol, base protocol).
    pub fn parse(text: &[u8]) -> Result<Self, Malformed> {
        let invalid = |id: Value, text: String| Malformed::new(id, ErrorCode::InvalidRequest, text);
        let value: Value = serde_json::from_slice(text).map_err(|error| {
            let text = format!("The body is not JSON: {error}.");
            Malformed::new(Value::Null, ErrorCode::Parse, text)
        })?;
        let Value::Object(mut members) = value else {
            let text = "A message is one JSON object; batches are not supported.";
            return Err(invalid(Value::Null, text.to_owned()));
        };
        let answers = members.contains_key("result") || members.contains_key("error");
        let id = match members.get("id") {
            // A request may be called null (Tool surface §2); whoever could not read a message of ours cannot name it
            // (JSON-RPC 2.0 §5).
            Some(Value::Null) if !members.contains_key("result") => Some(Value::Null),
            Some(id) => Some(checked_id(id).map_err(|text| invalid(Value::Null, text))?),
            None => None,
        };
        let echoed = || id.clone().unwrap_or_default();
        match members.get("jsonrpc") {
            Some(Value::String(version)) if version == "2.0" => {}
            Some(other) => {
                let other = other.to_string();
                let text = format!("'jsonrpc' must be \"2.0\", not {}.", shortened(&other));
                return Err(invalid(echoed(), text));
            }
            None => {
                let text = "The message lacks 'jsonrpc': \"2.0\".";
                return Err(invalid(echoed(), text.to_owned()));
            }
        }
        match (members.remove("method"), id) {
            (None, Some(_)) if answers => Ok(Self::Response(members)),
            (Some(_), id) if answers => {
                let text =
                    "A message is a request or an answer; this one has a 'method' and an outcome.";
                Err(invalid(id.unwrap_or_default(), text.to_owned()))
            }
            (Some(Value::String(method)), id) => {
                let mut params = match members.remove("params") {
                    Some(params @ Value::Object(_)) => params,
                    _ => json!({}),
                };
                keep_digits(text, &method, &mut params);
                Ok(match id {
                    Some(id) => Self::Request { id, method, params },
                    None => Self::Notification { method, params },
                })
            }
            (_, id) => {
                let text = "The message has no 'method' text.";
                Err(invalid(id.unwrap_or_default(), text.to_owned()))
            }
        }
    }

    /// The method of a request or notification.
    pub fn method(&self) -> Option<&str> {
        match self {
            Self::Request { method, .. } | Self::Notification { method, .. } => Some(method),
            Self::Response(_) => None,
        }
    }

    /// Whether the client asked for progress of this request.
    pub fn wants_progress(&self) -> bool {
        matches!(self, Self::Request { params, .. } if params.pointer("/_meta/progressToken").is_some())
    }
}

/// The facts that a call of `check_citations` brings are compared digit by digit.
fn keep_digits(text: &[u8], method: &str, params: &mut Value) {
    if method != "tools/call" || params.get("name") != Some(&json!(check_citations::NAME)) {
        return;
    }
    let arguments_of = |mut message: Value| Some(message.pointer_mut("/params/arguments")?.take());
    if let (Ok(text), Some(arguments)) = (std::str::from_utf8(text), params.get_mut("arguments")) {
        wide_integers::restore(text, arguments, arguments_of);
    }
}

/// Up to here a number with a fraction is held without loss of its whole part (IEEE 754 binary64).
const EXACT: f64 = 9_007_199_254_740_992.0;

/// An id that can be given back as it came.
fn checked_id(id: &Value) -> Result<Value, String> {
    let fault = match id {
        Value::String(_) => return Ok(id.clone()),
        Value::Number(number) if number.is_i64() || number.is_u64() => return Ok(id.clone()),
        Value::Number(number) if number.as_f64().is_some_and(|id| id.abs() < EXACT) => {
            return Ok(id.clone());
        }
        Value::Number(_) => "a number of too many digits, which could not be given back exactly",
        Value::Null => "null, which no question of the server has",
        Value::Bool(_) => "a boolean",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    Err(format!(
        "The 'id' of a message is a string or a number; this one is {fault}."
    ))
}

/// A request as rmcp carries it.
///
/// # Errors
/// −32602 when `_meta` is not an object.
pub fn request(method: &str, params: Value) -> Result<CustomRequest, RpcError> {
    let mut params = params;
    let meta = params
        .as_object_mut()
        .and_then(|params| params.remove("_meta"));
    let mut request = CustomRequest::new(method, Some(params));
    if let Some(meta) = meta.filter(|meta| !meta.is_null()) {
        let meta: RequestMetaObject = serde_json::from_value(meta).map_err(|error| {
            RpcError::new(
                ErrorCode::InvalidParams,
                format!("The parameters of '{method}' are malformed: '_meta' is wrong: {error}."),
            )
        })?;
        request.extensions.insert(meta);
    }
    Ok(request)
}

/// Wraps a request with its inner id.
pub fn wrap_request(id: i64, request: CustomRequest) -> ClientJsonRpcMessage {
    JsonRpcMessage::request(
        ClientRequest::CustomRequest(request),
        NumberOrString::Number(id),
    )
}

/// A notification as rmcp carries it; none when its parameters are malformed, which a notification cannot be told.
pub fn notification(
    method: &str,
    mut params: Value,
    ids: &RequestIds,
) -> Option<ClientJsonRpcMessage> {
    if method == "notifications/cancelled" {
        let inner = ids.cancel(params.get("requestId")?)?;
        params["requestId"] = json!(inner);
    }
    let body = json!({ "method": method, "params": params });
    let notification: ClientNotification = serde_json::from_value(body).ok()?;
    Some(JsonRpcMessage::notification(notification))
}

/// A client's answer to a request of the server; none when it is malformed.
pub fn response(members: Map<String, Value>) -> Option<ClientJsonRpcMessage> {
    let mut body = Value::Object(members);
    body["jsonrpc"] = json!("2.0");
    serde_json::from_value(body).ok()
}

/// Requests in flight: inner id ↔ the client's own id.
#[derive(Debug, Default)]
pub struct RequestIds(Mutex<Ids>);

#[derive(Debug, Default)]
struct Ids {
    last: i64,
    open: HashMap<i64, Value>,
    /// Open requests that nobody waits for any longer.
    cancelled: HashSet<i64>,
    /// Ends the calls that run beside the session's own loop.
    running: HashMap<i64, CancellationToken>,
}

impl RequestIds {
    fn lock(&self) -> std::sync::MutexGuard<'_, Ids> {
        // The map is consistent after every statement, so a panic elsewhere cannot have left it half changed.
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Takes a client's id and gives the inner one.
    pub fn open(&self, id: Value) -> i64 {
        let mut ids = self.lock();
        ids.last += 1;
        let inner = ids.last;
        ids.open.insert(inner, id);
        inner
    }

    /// Ends a request and gives the client's id back.
    pub fn close(&self, inner: i64) -> Option<Value> {
        let mut ids = self.lock();
        ids.cancelled.remove(&inner);
        ids.running.remove(&inner);
        ids.open.remove(&inner)
    }

    /// Fires `token` when the client cancels the request.
    pub fn ends_with(&self, inner: i64, token: CancellationToken) {
        let mut ids = self.lock();
        if ids.open.contains_key(&inner) {
            ids.running.insert(inner, token);
        }
    }

    /// Ends a request when the guard is dropped, for callers that may be dropped themselves.
    pub fn close_on_drop(&self, inner: i64) -> OpenRequest<'_> {
        OpenRequest { ids: self, inner }
    }

    /// The number of requests in flight.
    pub fn open_count(&self) -> usize {
        self.lock().open.len()
    }

    /// Notes that the newest open request of that client id is not waited for any longer, and gives its inner id.
    fn cancel(&self, id: &Value) -> Option<i64> {
        let inner = self.inner(id)?;
        let mut ids = self.lock();
        ids.cancelled.insert(inner);
        if let Some(token) = ids.running.remove(&inner) {
            token.cancel();
        }
        Some(inner)
    }

    /// Client ids of the requests that are still waited for.
    pub fn awaited(&self) -> Vec<Value> {
        let ids = self.lock();
        ids.open
            .iter()
            .filter(|(inner, _)| !ids.cancelled.contains(inner))
            .map(|(_, id)| id.clone())
            .collect()
    }

    /// The newest open request of that client id.
    pub fn inner(&self, id: &Value) -> Option<i64> {
        self.lock()
            .open
            .iter()
            .filter(|(_, open)| *open == id)
            .map(|(inner, _)| *inner)
            .max()
    }
}

/// See [`RequestIds::close_on_drop`].
pub struct OpenRequest<'a> {
    ids: &'a RequestIds,
    inner: i64,
}

impl OpenRequest<'_> {
    /// The request is looked after by somebody else from now on.
    pub fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for OpenRequest<'_> {
    fn drop(&mut self) {
        self.ids.close(self.inner);
    }
}

/// A result on its way out, under the client's own id.
#[derive(Serialize)]
struct Answer<'a> {
    jsonrpc: &'static str,
    id: &'a Value,
    result: &'a Value,
}

/// A server message as JSON text; answers get the client's id instead of the inner one.
pub fn outgoing(message: &ServerJsonRpcMessage, ids: &RequestIds) -> String {
    // All results of the surface are of this kind: they are written as they are, however large.
    if let JsonRpcMessage::Response(response) = message
        && let ServerResult::CustomResult(CustomResult(result)) = &response.result
        && let NumberOrString::Number(inner) = &response.id
        && let Some(id) = ids.close(*inner)
    {
        let answer = Answer {
            jsonrpc: "2.0",
            id: &id,
            result,
        };
        match serde_json::to_string(&answer) {
            Ok(text) => return text,
            Err(error) => {
                tracing::error!(%error, "an answer could not be written as JSON");
                return error_body(id, &unwritable()).to_string();
            }
        }
    }
    document(message, ids).to_string()
}

fn unwritable() -> RpcError {
    RpcError::new(
        ErrorCode::Internal,
        "The answer could not be written as JSON.",
    )
}

fn document(message: &ServerJsonRpcMessage, ids: &RequestIds) -> Value {
    let mut body = serde_json::to_value(message).unwrap_or_else(|error| {
        tracing::error!(%error, "an answer could not be written as JSON");
        error_body(Value::Null, &unwritable())
    });
    if is_answer(message)
        && let Some(inner) = body.get("id").and_then(Value::as_i64)
        && let Some(id) = ids.close(inner)
    {
        body["id"] = id;
    }
    body
}

/// Whether the message ends a request.
pub fn is_answer(message: &ServerJsonRpcMessage) -> bool {
    matches!(
        message,
        JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)
    )
}

/// A JSON-RPC error message.
pub fn error_body(id: Value, error: &RpcError) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": error.to_json() })
}

/// The answer to a request whose client has cancelled it, for transports on which every request must be answered.
pub fn cancelled_answer(id: Value) -> Value {
    let error = RpcError::new(
        ErrorCode::Internal,
        "The request was cancelled by its client.",
    );
    error_body(id, &error.with("kind", "cancelled"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn refused(text: &str) -> i32 {
        Incoming::parse(text.as_bytes())
            .expect_err(text)
            .error
            .code
            .code()
    }

    #[test]
    fn bad_json_and_bad_messages_are_told_apart() {
        for text in ["", "{", "\u{feff}{}", "nul"] {
            assert_eq!(refused(text), -32700, "{text}");
        }
        for text in [
            "[]",
            "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]",
            "4",
            "{}",
            "{\"jsonrpc\":\"2.0\",\"method\":4,\"id\":1}",
            "{\"jsonrpc\":\"2.0\",\"id\":1}",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"result\":{}}",
        ] {
            assert_eq!(refused(text), -32600, "{text}");
        }
    }

    #[test]
    fn an_id_comes_back_exactly_or_is_refused() {
        let unasked = br#"{"jsonrpc":"2.0","id":null,"result":{}}"#;
        assert!(
            Incoming::parse(unasked).is_err(),
            "no question is called null"
        );
        for id in [
            "\"a\"",
            "\"\"",
            "0",
            "-7",
            "9223372036854775807",
            "18446744073709551615",
            "1.5",
            "null",
        ] {
            let text = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}");
            match Incoming::parse(text.as_bytes()) {
                Ok(Incoming::Request { id: read, .. }) => assert_eq!(read.to_string(), id),
                other => panic!("{id}: {other:?}"),
            }
        }
        for id in ["1e300", "{}", "[1]", "true", "12345678901234567890123"] {
            for rest in ["\"method\":\"ping\"", "\"result\":{}"] {
                let text = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{rest}}}");
                let refusal = Incoming::parse(text.as_bytes()).expect_err(id);
                assert_eq!(refusal.id, Value::Null);
                assert_eq!(refusal.error.code.code(), -32600, "{text}");
                assert!(
                    refusal.error.message.contains("'id'"),
                    "{}",
                    refusal.error.message
                );
            }
        }
    }

    #[test]
    fn another_version_of_json_rpc_is_refused_under_the_id_of_the_request() {
        for version in [
            "",
            "\"jsonrpc\":\"1.0\",",
            "\"jsonrpc\":2.0,",
            "\"jsonrpc\":null,",
        ] {
            let text = format!("{{{version}\"id\":7,\"method\":\"ping\"}}");
            let refusal = Incoming::parse(text.as_bytes()).expect_err(version);
            assert_eq!(refusal.body()["id"], 7);
            assert_eq!(refusal.body()["error"]["code"], -32600);
            assert!(
                refusal.error.message.contains("'jsonrpc'"),
                "{}",
                refusal.error.message
            );
        }
    }

    #[test]
    fn missing_and_non_object_params_count_as_empty() {
        for text in [
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":[1]}",
        ] {
            let expected = Incoming::Request {
                id: json!(1),
                method: "x".into(),
                params: json!({}),
            };
            assert_eq!(Incoming::parse(text.as_bytes()), Ok(expected));
        }
        let note =
            Incoming::parse(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}")
                .expect("notification");
        assert_eq!(
            note,
            Incoming::Notification {
                method: "notifications/initialized".into(),
                params: json!({})
            }
        );
    }

    #[test]
    fn a_client_may_use_any_id_twice_and_gets_it_back() {
        let ids = RequestIds::default();
        let (first, second) = (ids.open(json!("a")), ids.open(json!("a")));
        assert_ne!(first, second);
        assert_eq!(ids.inner(&json!("a")), Some(second));
        assert_eq!(ids.close(first), Some(json!("a")));
        assert_eq!(ids.close(first), None);
        drop(ids.close_on_drop(second));
        assert_eq!(
            ids.open_count(),
            0,
            "a request of a client that left is not kept"
        );
    }

    #[test]
    fn a_cancellation_names_the_inner_id() {
        let ids = RequestIds::default();
        let inner = ids.open(json!(45));
        let message =
            notification("notifications/cancelled", json!({"requestId": 45}), &ids).expect("known");
        assert_eq!(
            serde_json::to_value(message).expect("json")["params"]["requestId"],
            inner
        );
        assert!(notification("notifications/cancelled", json!({"requestId": 9}), &ids).is_none());
    }

    proptest! {
        #[test]
        fn parsing_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = Incoming::parse(&bytes);
        }
    }
}
