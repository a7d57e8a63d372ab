//! Which file answers which channel (Station web specification §4.3).

use serde_json::Value as Json;

use super::call::Call;
use super::error::BoxError;
use super::{ord, reg, ssession, sys, time_zone, unit};
use crate::model::{Status, Value};

/// Answers one message.
///
/// # Errors
/// When the station's BOX service does not run, for an unknown channel, and whatever the channel's own operations
/// refuse.
pub fn answer(call: &Call<'_>) -> Result<Json, BoxError> {
    require_service(call)?;
    match call.channel {
        "sys" => sys::answer(call),
        "reg" if call.switches.boxs.registry => reg::answer(call),
        "ord" => ord::answer(call),
        "ssession" => ssession::answer(call),
        "unit" => unit::answer(call),
        "timeZone" => time_zone::answer(call),
        channel => Err(BoxError::UnknownChannel {
            channel: channel.to_owned(),
        }),
    }
}

/// The servlet belongs to the station's BOX service: without it, or with it disabled or in fault (as for want of a
/// licence), no message is answered.
fn require_service(call: &Call<'_>) -> Result<(), BoxError> {
    let station = call.context.station.read();
    let service = station
        .service("box:BoxService")
        .ok_or(BoxError::NonOperational)?;
    let value = |slot: &str| station.value(service, slot);
    if let Some(Value::Status(status)) = value("status")
        && status.has(Status::FAULT)
    {
        let cause = value("faultCause").map(|cause| cause.encode());
        return Err(BoxError::FatalFault {
            cause: cause.unwrap_or_default(),
        });
    }
    match value("enabled").and_then(|enabled| enabled.as_bool()) {
        Some(true) => Ok(()),
        Some(false) | None => Err(BoxError::NonOperational),
    }
}
