//! `subscriptions/listen` of revision 2026-07-28: an answer that goes on for as long as the client listens.

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Shared;
use super::events::Events;
use super::push::LASTING;
use super::session::{LISTS_CHANGED, UPDATED, notification};
use crate::mcp::message::Incoming;
use crate::tools::RpcError;

const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

/// Whether the message asks to listen.
pub(super) fn is_listen(message: &Incoming) -> bool {
    matches!(message, Incoming::Request { method, .. } if method == "subscriptions/listen")
}

/// How one stream of a listener ended.
enum End {
    /// It has its answer.
    Answered,
    Cut {
        served: bool,
        error: RpcError,
    },
}

/// Listens until the bridge answers for good; a cut is mended by asking again.
///
/// # Errors
/// The bridge did not take the request in the first place.
pub(super) async fn listen(shared: &Shared, body: Bytes, id: &Value) -> Result<(), RpcError> {
    let mut acknowledged = false;
    let mut pauses = shared.pauses.row();
    loop {
        match one_stream(shared, body.clone(), id, &mut acknowledged).await {
            End::Answered => return Ok(()),
            End::Cut { error, .. } if !acknowledged => return Err(error),
            End::Cut { served, error } => {
                tracing::debug!(error = %error.message, "a listener asks again");
                if served {
                    pauses = shared.pauses.row();
                }
                tokio::time::sleep(pauses.next().unwrap_or_default()).await;
            }
        }
    }
}

async fn one_stream(shared: &Shared, body: Bytes, id: &Value, acknowledged: &mut bool) -> End {
    let cut = |served, error| End::Cut { served, error };
    let response = match shared.link.post_to_listen(body).await {
        Ok(response) => response,
        Err(error) => return cut(false, error),
    };
    if response.content_type() != "text/event-stream" {
        if *acknowledged && response.status >= 429 {
            return cut(false, shared.link.refusal(response).await);
        }
        return match shared.link.forward(response, &shared.output).await {
            Ok(()) => End::Answered,
            Err(error) => cut(false, error),
        };
    }
    let begun = Instant::now();
    let mut events = Events::of(response.into_body());
    let mut heard = false;
    loop {
        let message = match events.next().await {
            Ok(Some(message)) => message,
            Ok(None) => {
                let served = heard || begun.elapsed() >= LASTING;
                return cut(served, super::link::failed("The bridge ended the stream."));
            }
            Err(fault) => {
                let served = heard || begun.elapsed() >= LASTING;
                return cut(served, shared.link.cut(&fault));
            }
        };
        let is_acknowledgement = message
            .get("method")
            .is_some_and(|name| name == ACKNOWLEDGED);
        if is_acknowledgement && std::mem::replace(acknowledged, true) {
            // The client was told once; the second time means that the stream is there again.
            tell_gap(shared, &message).await;
        } else {
            shared.output.write(&message).await;
        }
        heard |= !is_acknowledgement;
        if message.get("method").is_none() && message.get("id") == Some(id) {
            return End::Answered;
        }
    }
}

/// Tells the client to look at all that it listens to: it may have changed while there was no stream.
async fn tell_gap(shared: &Shared, acknowledgement: &Value) {
    let of = |path: &str| acknowledgement.pointer(path).cloned().unwrap_or_default();
    let meta = of("/params/_meta");
    let lists = ["toolsListChanged", "resourcesListChanged"];
    for (key, method) in lists.into_iter().zip(LISTS_CHANGED) {
        if of(&format!("/params/notifications/{key}")) == Value::Bool(true) {
            let note = notification(method, json!({ "_meta": meta }));
            shared.output.write(&note).await;
        }
    }
    let watched = of("/params/notifications/resourceSubscriptions");
    for uri in watched.as_array().into_iter().flatten() {
        let note = notification(UPDATED, json!({ "uri": uri, "_meta": meta }));
        shared.output.write(&note).await;
    }
}
