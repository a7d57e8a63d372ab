//! Handler key `getActionParameterDefault` (Station web specification §4.5).

use serde_json::Value;

use super::space::HandlerCall;
use crate::boxs::call::Argument;
use crate::boxs::error::BoxError;
use crate::boxs::node;
use crate::boxs::target;
use crate::model::{ModelError, SlotContent};

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
