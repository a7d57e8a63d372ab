//! Changes of resources and lists, pushed to those who asked: `resources/subscribe` in sessions,
//! `subscriptions/listen` in revision 2026-07-28.

use std::sync::Arc;

use futures::StreamExt;
use futures::stream::{BoxStream, SelectAll};
use rmcp::model::{CustomNotification, ServerNotification};
use rmcp::service::{Peer, RoleServer};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::bridge::Bridge;
use super::conversation::SessionState;
use super::list_changes::{self, List};
use crate::tools::{CallContext, ErrorCode, RpcError};

/// Subscriptions of one session or one listen request.
const SUBSCRIPTION_LIMIT: usize = 500;

const UPDATED: &str = "notifications/resources/updated";
const META_SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
/// Under this key of `_meta` a notification says what the resource is now, so that nobody has to read it again.
const META_STATE: &str = "niagara-bridge/state";

/// What became of a watched resource.
pub type Changes = BoxStream<'static, Value>;

fn too_many() -> RpcError {
    RpcError::new(
        ErrorCode::InvalidParams,
        format!("At most {SUBSCRIPTION_LIMIT} resources can be subscribed to at a time."),
    )
}

/// Pushes the changes of a resource to a session until it unsubscribes or ends.
///
/// # Errors
/// −32602 beyond the limit of subscriptions.
pub fn forward(
    state: &Arc<SessionState>,
    peer: &Peer<RoleServer>,
    uri: String,
    mut changes: Changes,
) -> Result<(), RpcError> {
    let (key, peer) = (uri.clone(), peer.clone());
    let start = move || {
        AbortOnDropHandle::new(tokio::spawn(async move {
            while let Some(change) = changes.next().await {
                let params = json!({ "uri": uri, "_meta": { META_STATE: change } });
                let note = CustomNotification::new(UPDATED, Some(params));
                let note = ServerNotification::CustomNotification(note);
                if let Err(error) = peer.send_notification(note).await {
                    tracing::debug!(%error, "a subscription ends with its session");
                    return;
                }
            }
        }))
    };
    state
        .subscribe(key, SUBSCRIPTION_LIMIT, start)
        .ok_or_else(too_many)
}

enum Note {
    Updated(String, Value),
    Changed(List),
}

/// Streams what a `subscriptions/listen` request asked for, until the client leaves or the server stops.
///
/// # Errors
/// −32602 for a malformed filter, −32600 where the transport has no stream for it.
pub async fn listen(
    bridge: &Arc<Bridge>,
    params: &Value,
    call: &CallContext,
    outlet: Option<mpsc::Sender<Value>>,
    id: Value,
) -> Result<Value, RpcError> {
    let Some(outlet) = outlet else {
        return Err(RpcError::new(
            ErrorCode::InvalidRequest,
            "Subscriptions of this revision need Streamable HTTP.",
        ));
    };
    let Some(Value::Object(wanted)) = params.get("notifications") else {
        return Err(RpcError::new(
            ErrorCode::InvalidParams,
            "'notifications' must be an object that says what to listen to.",
        )
        .with("argument", "notifications"));
    };
    let mut sources: SelectAll<BoxStream<'static, Note>> = SelectAll::new();
    // Keeps the stream open when nothing of what was asked for exists.
    sources.push(futures::stream::pending().boxed());
    let accepted = accept(bridge, wanted, call, &mut sources).await?;
    let meta = json!({ META_SUBSCRIPTION: id });
    let send = |method: &str, mut params: Map<String, Value>, state: Option<Value>| {
        let mut meta = meta.clone();
        if let Some(state) = state {
            meta[META_STATE] = state;
        }
        params.insert("_meta".into(), meta);
        outlet.try_send(json!({ "jsonrpc": "2.0", "method": method, "params": params }))
    };
    let mut acknowledged = Map::new();
    acknowledged.insert("notifications".into(), Value::Object(accepted));
    let mut outcome = send(
        "notifications/subscriptions/acknowledged",
        acknowledged,
        None,
    );
    while !matches!(outcome, Err(mpsc::error::TrySendError::Closed(_))) {
        let note = tokio::select! {
            Some(note) = sources.next() => note,
            () = call.cancel.cancelled() => break,
            () = outlet.closed() => break,
        };
        outcome = match note {
            Note::Updated(uri, state) => {
                let mut params = Map::new();
                params.insert("uri".into(), json!(uri));
                send(UPDATED, params, Some(state))
            }
            Note::Changed(list) => send(list.notification(), Map::new(), None),
        };
    }
    Ok(json!({ "_meta": meta }))
}

/// Opens the sources of what was asked for and can be served; says which those are.
async fn accept(
    bridge: &Arc<Bridge>,
    wanted: &Map<String, Value>,
    call: &CallContext,
    sources: &mut SelectAll<BoxStream<'static, Note>>,
) -> Result<Map<String, Value>, RpcError> {
    let mut accepted = Map::new();
    for (key, list) in [
        ("toolsListChanged", List::Tools),
        ("resourcesListChanged", List::Resources),
    ] {
        if wanted.get(key) == Some(&Value::Bool(true)) {
            accepted.insert(key.into(), json!(true));
            sources.push(
                list_changes::changes(bridge, list)
                    .map(Note::Changed)
                    .boxed(),
            );
        }
    }
    if let Some(Value::Array(uris)) = wanted.get("resourceSubscriptions") {
        if uris.len() > SUBSCRIPTION_LIMIT {
            return Err(too_many());
        }
        let mut watched = Vec::new();
        let uris: Vec<&str> = uris.iter().filter_map(Value::as_str).collect();
        let opened = bridge.resources.watch_all(&uris, call).await;
        for (uri, changes) in uris.into_iter().zip(opened) {
            // What cannot be watched is left out of the acknowledgement; that is how the client learns of it.
            let Ok(changes) = changes else {
                continue;
            };
            let named = uri.to_owned();
            sources.push(
                changes
                    .map(move |state| Note::Updated(named.clone(), state))
                    .boxed(),
            );
            watched.push(uri);
        }
        accepted.insert("resourceSubscriptions".into(), json!(watched));
    }
    Ok(accepted)
}
