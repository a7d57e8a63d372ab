//! Handler keys that translate between handles, paths and services (Station web specification §4.5).

use serde_json::{Value, json};

use super::space::HandlerCall;
use crate::boxs::error::BoxError;
use crate::boxs::{reg, target};

/// The slot path of a bare handle.
pub fn handle_to_path(handler: &HandlerCall<'_>) -> Result<Value, BoxError> {
    let text = handler.text("the argument must be a bare handle such as \"2f1\"")?;
    let station = handler.call.context.station.read();
    let user = handler.call.account(&station)?;
    let handle = target::by_handle(&station, user, text)?;
    Ok(json!(station.slot_path(handle)))
}

/// The slot path of the first service of a type.
pub fn service_to_path(handler: &HandlerCall<'_>) -> Result<Value, BoxError> {
    let spec = handler.text("the argument must be a type spec such as \"alarm:AlarmService\"")?;
    let ty = reg::find(spec)?;
    let station = handler.call.context.station.read();
    let user = handler.call.account(&station)?;
    let handle = station
        .service(ty.spec())
        .ok_or_else(|| BoxError::NoService {
            spec: spec.to_owned(),
        })?;
    target::require_read(&station, user, handle)?;
    Ok(json!(station.slot_path(handle)))
}

/// The nav ords of the children that the user may see.
pub fn nav_children(handler: &HandlerCall<'_>) -> Result<Value, BoxError> {
    let text = handler.text("the argument must be a bare handle such as \"2f1\"")?;
    let station = handler.call.context.station.read();
    let user = handler.call.account(&station)?;
    let parent = target::by_handle(&station, user, text)?;
    let ords = station
        .children(parent)
        .map(|child| child.handle())
        .filter(|child| station.can_read(user, *child))
        .map(|child| json!(station.nav_ord(child)));
    Ok(ords.collect())
}
