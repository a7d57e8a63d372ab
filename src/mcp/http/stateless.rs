//! Revision 2026-07-28: every request stands alone and carries its context in `_meta`; no session rules apply.

use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{ErrorCode as WireCode, InitializeRequestParams};
use rmcp::service::serve_directly_with_ct;
use rmcp::transport::OneshotTransport;
use serde_json::Value;

use super::Front;
use super::checks::{Admitted, REVISION_HEADER, json_response};
use super::reply::{Accepted, Answers, Pending, reply};
use super::streamable::accepted_without_answer;
use crate::mcp::declared::Declared;
use crate::mcp::message::{self, Incoming, RequestIds, error_body};
use crate::mcp::protocol::STATELESS;
use crate::mcp::service::{BridgeService, Caller};
use crate::tools::{ErrorCode, RpcError};

/// Sentinel around a header value in Base64 (HTTP header standardisation of revision 2026-07-28).
const BASE64_MARKS: (&str, &str) = ("=?base64?", "?=");

/// Whether a message belongs to this revision: by its header, its `_meta`, or its method.
pub fn applies(headers: &HeaderMap, incoming: &Incoming) -> bool {
    let header = headers.get(REVISION_HEADER).map(|value| value.as_bytes());
    header == Some(STATELESS.as_bytes()) || Declared::stands_alone(incoming)
}

/// Answers one message of this revision.
pub async fn serve(
    front: &Front,
    admitted: Admitted,
    headers: &HeaderMap,
    incoming: Incoming,
) -> Response {
    let declared = match check(headers, &incoming) {
        Ok(declared) => declared,
        Err(error) => {
            let id = match incoming {
                Incoming::Request { id, .. } => id,
                _ => Value::Null,
            };
            return json_response(StatusCode::BAD_REQUEST, &error_body(id, &error));
        }
    };
    let wants_progress = incoming.wants_progress();
    // A client of this revision cancels by leaving, so notifications have nothing to do here.
    let Incoming::Request { id, method, params } = incoming else {
        return accepted_without_answer();
    };
    let mut request = match message::request(&method, params) {
        Ok(request) => request,
        Err(error) => return json_response(StatusCode::BAD_REQUEST, &error_body(id, &error)),
    };
    let accepted = Accepted::from(headers);
    let (outlet, notes) = super::reply::outlet();
    request.extensions.insert(Caller {
        toolsets: front.toolsets(&admitted.principal, admitted.asked),
        principal: admitted.principal,
        session_id: String::new(),
        from_this_machine: admitted.from_this_machine,
        // Without a stream there is no place for notifications.
        outlet: accepted.reads_streams().then_some(outlet),
        declared: Some(Arc::new(declared)),
    });
    let ids = Arc::<RequestIds>::default();
    let inner = ids.open(id);
    let (transport, answers) = OneshotTransport::new(message::wrap_request(inner, request));
    let cancel = front.stop.child_token();
    let running = serve_directly_with_ct(
        BridgeService::new(front.bridge.clone()),
        transport,
        None::<InitializeRequestParams>,
        cancel.clone(),
    );
    tokio::spawn(async move {
        if let Err(error) = running.waiting().await {
            tracing::error!(%error, "a request failed");
        }
    });
    let pending = Pending {
        ids,
        inner,
        answers: Answers::Oneshot(answers),
        notes,
        session: None,
        // Dropped when the client leaves.
        guard: Box::new(cancel.drop_guard()),
        stop: front.stop.clone(),
    };
    reply(pending, accepted, wants_progress, status).await
}

/// The HTTP status of an error of this revision.
fn status(code: WireCode) -> StatusCode {
    match code {
        WireCode::UNSUPPORTED_PROTOCOL_VERSION
        | WireCode::MISSING_REQUIRED_CLIENT_CAPABILITY
        | WireCode::HEADER_MISMATCH => StatusCode::BAD_REQUEST,
        WireCode::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        _ => StatusCode::OK,
    }
}

fn check(headers: &HeaderMap, incoming: &Incoming) -> Result<Declared, RpcError> {
    let Incoming::Request { id, method, params } = incoming else {
        return Ok(Declared::default());
    };
    let declared = Declared::read(id, params)?;
    let revision = declared.revision.as_str();
    match single(headers, REVISION_HEADER)? {
        Some(header) if header == revision => {}
        Some(header) => {
            return Err(mismatch(format!(
                "The header MCP-Protocol-Version says '{header}', '_meta' says '{revision}'."
            )));
        }
        None => {
            return Err(mismatch(
                "The header MCP-Protocol-Version is missing.".to_owned(),
            ));
        }
    }
    declared.require_served()?;
    check_routing(headers, method, params)?;
    Ok(declared)
}

/// Compares the headers that intermediaries route by with the body.
fn check_routing(headers: &HeaderMap, method: &str, params: &Value) -> Result<(), RpcError> {
    match single(headers, "mcp-method")? {
        Some(header) if header == method => {}
        Some(header) => {
            return Err(mismatch(format!(
                "The header Mcp-Method says '{header}', the body says '{method}'."
            )));
        }
        None => return Err(mismatch("The header Mcp-Method is missing.".to_owned())),
    }
    let name = match method {
        "tools/call" | "prompts/get" => params.get("name"),
        "resources/read" => params.get("uri"),
        _ => None,
    };
    let Some(name) = name.and_then(Value::as_str) else {
        return Ok(());
    };
    match single(headers, "mcp-name")?.map(decoded) {
        Some(Some(header)) if header == name => Ok(()),
        Some(_) => Err(mismatch(format!(
            "The header Mcp-Name does not say '{name}' as the body does."
        ))),
        None => Err(mismatch("The header Mcp-Name is missing.".to_owned())),
    }
}

/// The only value of a header; two could be read differently by an intermediary and by us.
fn single<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, RpcError> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(mismatch(format!("The header {name} appears twice.")));
    }
    value
        .to_str()
        .map(Some)
        .map_err(|_| mismatch(format!("The header {name} holds characters beyond ASCII.")))
}

fn decoded(value: &str) -> Option<String> {
    let inner = value
        .strip_prefix(BASE64_MARKS.0)
        .and_then(|rest| rest.strip_suffix(BASE64_MARKS.1));
    match inner {
        Some(inner) => String::from_utf8(STANDARD.decode(inner).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

fn mismatch(text: String) -> RpcError {
    RpcError::new(ErrorCode::HeaderMismatch, text)
}
