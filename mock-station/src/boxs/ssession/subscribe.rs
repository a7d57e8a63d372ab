//! Handler keys `sub` and `unsub` (Station web specification §4.5).

use indexmap::IndexSet;
use serde_json::{Value, json};

use super::operation;
use super::space::HandlerCall;
use super::subscriptions::View;
use super::with_session;
use crate::boxs::call::bad_body;
use crate::boxs::error::BoxError;
use crate::boxs::node::NodeWriter;
use crate::boxs::target;
use crate::model::{Handle, Station, User};

/// Subscribes components: their handles in request order and a load of each. One ord that cannot be subscribed refuses
/// the whole call.
pub fn subscribe(handler: &HandlerCall<'_>) -> Result<Value, BoxError> {
    let ords = ords(handler)?;
    let station = handler.call.context.station.read();
    let user = handler.call.account(&station)?;
    let handles: Vec<Handle> = ords
        .iter()
        .map(|ord| target::resolve_component(&station, user, ord))
        .collect::<Result<_, _>>()?;
    let distinct: IndexSet<Handle> = handles.iter().copied().collect();
    let writer = NodeWriter::new(&station, user, &handler.call.switches.boxs);
    let view = View {
        station: &station,
        user,
        writer: &writer,
    };
    with_session(handler.call, |session| {
        let subscriptions = &mut session.space(handler.space)?.subscriptions;
        for handle in &distinct {
            subscriptions.add(view, *handle);
        }
        Ok(())
    })?;
    let names: Vec<String> = handles.iter().map(Handle::to_string).collect();
    let operations: Vec<Value> = distinct
        .iter()
        .filter_map(|handle| operation::load(&writer, *handle, 0))
        .collect();
    let mut reply = json!({"h": names, "e": {}});
    reply["e"]["ops"] = Value::Array(operations);
    Ok(reply)
}

/// Ends subscriptions. Components that are gone, no longer readable or were never subscribed change nothing, so that a
/// client can always clean up.
pub fn unsubscribe(handler: &HandlerCall<'_>) -> Result<Value, BoxError> {
    let ords = ords(handler)?;
    let station = handler.call.context.station.read();
    let user = handler.call.account(&station)?;
    let mut handles = Vec::new();
    for ord in ords {
        handles.extend(subscribed(&station, user, ord)?);
    }
    with_session(handler.call, |session| {
        let subscriptions = &mut session.space(handler.space)?.subscriptions;
        for handle in handles {
            subscriptions.remove(handle);
        }
        Ok(Value::Null)
    })
}

/// The component an ord of `unsub` names; a handle also after its component is gone, none for a path that leads nowhere.
fn subscribed(station: &Station, user: &User, ord: &str) -> Result<Option<Handle>, BoxError> {
    let last = ord.rsplit('|').next().unwrap_or(ord).trim();
    if let Some(handle) = last.strip_prefix("h:") {
        return handle
            .parse()
            .map(Some)
            .map_err(|_| BoxError::UnknownHandle {
                handle: handle.to_owned(),
            });
    }
    match target::resolve_component(station, user, ord) {
        Ok(handle) => Ok(Some(handle)),
        Err(BoxError::Unresolved { .. } | BoxError::Permission { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn ords<'a>(handler: &HandlerCall<'a>) -> Result<Vec<&'a str>, BoxError> {
    let wanted = || {
        bad_body(
            handler.key,
            "the argument must be an array of one ord or more",
        )
    };
    let Value::Array(ords) = handler.argument else {
        return Err(wanted());
    };
    if ords.is_empty() {
        return Err(wanted());
    }
    ords.iter()
        .map(|ord| ord.as_str().ok_or_else(wanted))
        .collect()
}
