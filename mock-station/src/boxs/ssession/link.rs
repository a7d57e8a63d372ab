//! Handler keys that test and make links (Station web specification §4.5, §4.8).

use std::sync::Arc;

use serde_json::{Value, json};

use super::space::HandlerCall;
use crate::boxs::call::Argument;
use crate::boxs::error::BoxError;
use crate::boxs::{node, target};
use crate::model::link::LinkEnds;
use crate::model::link_check::LinkKind;
use crate::model::{ModelError, Station};
use crate::switches::LinkConversion;

/// Whether two slots may be linked and, with `c`, their link. Nested twice, as the station answers; a refusal of the
/// pair is no error.
pub fn check_links(handler: &HandlerCall<'_>) -> Result<Value, BoxError> {
    let argument = Argument::read(handler.key, handler.argument)?;
    let create = argument.get("c").and_then(Value::as_bool).unwrap_or(false);
    let mut station = handler.call.context.station.write();
    let ends = ends(handler, &station, argument)?;
    let checked = check(handler, &station, &ends);
    let (valid, reason, slot) = match checked {
        Ok(()) if create => (true, None, Some(make(handler, &mut station, &ends)?)),
        Ok(()) => (true, None, None),
        Err(error) => (false, Some(error.to_string()), None),
    };
    Ok(json!([[{"v": valid, "r": reason, "s": slot.as_deref().unwrap_or("Link")}]]))
}

/// The link between two slots as a node, not yet added.
pub fn make_link(handler: &HandlerCall<'_>) -> Result<Value, BoxError> {
    let argument = Argument::read(handler.key, handler.argument)?;
    let station = handler.call.context.station.read();
    let ends = ends(handler, &station, argument)?;
    let link = station.make_link(
        ends.source,
        &ends.source_slot,
        ends.target,
        &ends.target_slot,
    )?;
    Ok(node::bare_value(&link))
}

fn ends(
    handler: &HandlerCall<'_>,
    station: &Station,
    argument: Argument<'_>,
) -> Result<LinkEnds, BoxError> {
    let user = handler.call.account(station)?;
    Ok(LinkEnds {
        source: target::by_handle(station, user, argument.text("s")?)?,
        source_slot: argument.text("ss")?.into(),
        target: target::by_handle(station, user, argument.text("t")?)?,
        target_slot: argument.text("ts")?.into(),
    })
}

fn check(handler: &HandlerCall<'_>, station: &Station, ends: &LinkEnds) -> Result<(), ModelError> {
    match station.check_link(ends)? {
        LinkKind::Converted(converter)
            if handler.call.switches.boxs.link_conversion == LinkConversion::Refused =>
        {
            Err(ModelError::IllegalLink {
                reason: format!("type mismatch: only {} fits", converter.spec()),
            })
        }
        LinkKind::Direct | LinkKind::Converted(_) => Ok(()),
    }
}

fn make(
    handler: &HandlerCall<'_>,
    station: &mut Station,
    ends: &LinkEnds,
) -> Result<Arc<str>, BoxError> {
    let user = &handler.call.user.name;
    let (source_slot, target_slot) = (&ends.source_slot, &ends.target_slot);
    let link = station.make_link(ends.source, source_slot, ends.target, target_slot)?;
    let flags = crate::model::Flags::NONE;
    Ok(station.add_value_as(user, ends.target, Some("Link"), link, flags, None)?)
}
