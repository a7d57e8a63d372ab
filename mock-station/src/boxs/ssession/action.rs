//! Handler keys `invokeAction` and `getActionParameterDefault` (Station web specification §4.5, §4.8).

use serde_json::Value;

use super::space::HandlerCall;
use crate::boxs::call::Argument;
use crate::boxs::decode;
use crate::boxs::error::BoxError;
use crate::boxs::node;
use crate::boxs::target;
use crate::model::registry::{self, ActionDef};
use crate::model::{Handle, ModelError, SlotContent, Station, Value as ModelValue};
use crate::switches::ActionArguments;

/// Invokes an action; its result, or null. An asynchronous action answers null before it is done.
pub fn invoke(handler: &HandlerCall<'_>) -> Result<Value, BoxError> {
    let argument = Argument::read(handler.key, handler.argument)?;
    let (handle, name) = (argument.text("h")?, argument.text("a")?);
    let sent = argument.get("b").filter(|sent| !sent.is_null());
    let mut station = handler.call.context.station.write();
    let user = handler.call.account(&station)?;
    let handle = target::by_handle(&station, user, handle)?;
    let action = declared(&station, handle, name)?;
    let taken = action.parameter.is_some();
    // What an action without parameter is sent is not looked at.
    let value = match sent.filter(|_| taken) {
        Some(sent) => Some(decode::value(name, sent)?.completed()),
        None => None,
    };
    if taken && handler.call.switches.boxs.action_arguments == ActionArguments::AsDeclared {
        check_argument(&station, handle, name, action, value.as_ref())?;
    }
    let delay = handler.call.switches.boxs.async_delay;
    station.async_delay = chrono::TimeDelta::from_std(delay).unwrap_or_default();
    let result = station.invoke_as(&handler.call.user.name, handle, name, value)?;
    Ok(result.map_or(Value::Null, |result| node::bare_value(&result)))
}

/// Handler key `save`: what the action `save` of the root does.
pub fn save(handler: &HandlerCall<'_>) -> Result<Value, BoxError> {
    let mut station = handler.call.context.station.write();
    handler.call.account(&station)?;
    let root = station.root();
    station.invoke_as(&handler.call.user.name, root, "save", None)?;
    Ok(Value::Null)
}

fn declared(station: &Station, handle: Handle, name: &str) -> Result<&'static ActionDef, BoxError> {
    match station.slot(handle, name).map(|slot| slot.content) {
        Some(SlotContent::Action(action)) => Ok(action),
        _ => Err(BoxError::from(ModelError::NoSuchAction {
            component: station.slot_path(handle),
            action: name.to_owned(),
        })),
    }
}

/// The station's program is handed the argument as it is: it must be of the declared type, and be there.
fn check_argument(
    station: &Station,
    handle: Handle,
    name: &str,
    action: &ActionDef,
    value: Option<&ModelValue>,
) -> Result<(), BoxError> {
    let Some(parameter) = action.parameter else {
        return Ok(());
    };
    let sent = value.and_then(|value| registry::find(value.type_spec()));
    if sent.is_some_and(|sent| sent.is_a(parameter)) {
        return Ok(());
    }
    Err(BoxError::from(ModelError::BadArgument {
        component: station.slot_path(handle),
        action: name.to_owned(),
        expected: parameter.spec().to_owned(),
    }))
}

/// The argument an action is offered with: what its declaration says, else the default of the parameter's type; null
/// for an action without parameter.
pub fn parameter_default(handler: &HandlerCall<'_>) -> Result<Value, BoxError> {
    let argument = Argument::read(handler.key, handler.argument)?;
    let (handle, name) = (argument.text("h")?, argument.text("a")?);
    let station = handler.call.context.station.read();
    let user = handler.call.account(&station)?;
    let handle = target::by_handle(&station, user, handle)?;
    let slot = station.slot(handle, name);
    let Some(SlotContent::Action(action)) = slot.map(|slot| slot.content) else {
        return Err(BoxError::from(ModelError::NoSuchSlot {
            component: station.slot_path(handle),
            slot: format!("{name} that is an action"),
        }));
    };
    let default = action
        .parameter_default
        .clone()
        .or_else(|| action.parameter?.default_value());
    Ok(default.map_or(Value::Null, |value| node::bare_value(&value)))
}
