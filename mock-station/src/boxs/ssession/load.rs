//! Loads: asked for by `loadRoot` and `loadSlots`, delivered by `pollchgs` (Station web specification §4.5.1).

use serde_json::{Value, json};

use super::space::HandlerCall;
use super::store::PendingLoad;
use super::with_session;
use crate::boxs::call::{Argument, Call};
use crate::boxs::error::BoxError;
use crate::boxs::node::NodeWriter;
use crate::boxs::target;
use crate::model::{Station, User};

/// The root as a stub.
pub fn load_root(handler: &HandlerCall<'_>) -> Result<Value, BoxError> {
    let station = handler.call.context.station.read();
    let user = handler.call.account(&station)?;
    let root = station.root();
    target::require_read(&station, user, root)?;
    let writer = NodeWriter::new(&station, user, &handler.call.switches.boxs);
    Ok(writer.stub(root).unwrap_or(Value::Null))
}

/// Queues a load of one component; the reply itself is null.
pub fn load_slots(handler: &HandlerCall<'_>) -> Result<Value, BoxError> {
    let argument = Argument::read(handler.key, handler.argument)?;
    let (ord, depth) = (argument.text("o")?, argument.count("d", 0)?);
    let handle = {
        let station = handler.call.context.station.read();
        let user = handler.call.account(&station)?;
        target::resolve_component(&station, user, ord)?
    };
    with_session(handler.call, |session| {
        let latency = handler.call.switches.boxs.load_latency;
        session
            .space(handler.space)?
            .queue_load(handle, depth, latency);
        Ok(Value::Null)
    })
}

/// Everything that is due in the session's spaces, as one list of synchronisation events per space.
pub fn poll(call: &Call<'_>) -> Result<Value, BoxError> {
    let due: Vec<(String, Vec<PendingLoad>)> = with_session(call, |session| {
        Ok(session
            .spaces()
            .map(|(id, space)| (id.to_owned(), space.poll_loads()))
            .collect())
    })?;
    let station = call.context.station.read();
    let user = call.account(&station)?;
    let events = due.into_iter().filter_map(|(space, loads)| {
        let operations: Vec<Value> = loads
            .iter()
            .filter_map(|load| load_operation(&station, user, call, load))
            .collect();
        (!operations.is_empty())
            .then(|| json!({"scid": space, "evs": {"nm": "sync", "ver": "1.0", "ops": operations}}))
    });
    Ok(events.collect())
}

/// The state at the moment of delivery; none if the component went away or became unreadable in between.
fn load_operation(
    station: &Station,
    user: &User,
    call: &Call<'_>,
    load: &PendingLoad,
) -> Option<Value> {
    if !station.can_read(user, load.handle) {
        return None;
    }
    let writer = NodeWriter::new(station, user, &call.switches.boxs);
    let body = writer.component(load.handle, load.depth)?;
    Some(json!({"nm": "l", "h": load.handle.to_string(), "b": body}))
}
