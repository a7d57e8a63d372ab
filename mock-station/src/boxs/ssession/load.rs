//! Loads: asked for by `loadRoot` and `loadSlots`; `pollchgs` delivers the latter (Station web specification §4.5.1).

use serde_json::Value;

use super::space::HandlerCall;
use super::with_session;
use crate::boxs::call::Argument;
use crate::boxs::error::BoxError;
use crate::boxs::node::NodeWriter;
use crate::boxs::target;

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
