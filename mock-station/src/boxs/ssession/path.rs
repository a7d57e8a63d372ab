//! Handler key `loadSlotPath`: the slots along a path, in the reply itself (Station web specification §4.5).
//!
//! What a real station puts into an item is not established. Here an item repeats the step it answers (`o`, `sn`) and
//! has the parent's handle `h` and the slot's node `b`, a child component as a stub; a step that leads nowhere, or to
//! what the user may not read, has neither, so that there is one item per step in any case.

use serde_json::{Value, json};

use super::space::HandlerCall;
use crate::boxs::call::{Argument, bad_body};
use crate::boxs::error::BoxError;
use crate::boxs::node::NodeWriter;
use crate::boxs::target::{self, Target};
use crate::model::{Station, User};

pub fn load_slot_path(handler: &HandlerCall<'_>) -> Result<Value, BoxError> {
    let argument = Argument::read(handler.key, handler.argument)?;
    let Some(Value::Array(steps)) = argument.get("spi") else {
        return Err(bad_body(
            handler.key,
            "member 'spi' must be an array of steps",
        ));
    };
    let base = argument.optional_text("bo").filter(|base| !base.is_empty());
    let station = handler.call.context.station.read();
    let user = handler.call.account(&station)?;
    if let Some(base) = base {
        target::resolve_component(&station, user, base)?;
    }
    let writer = NodeWriter::new(&station, user, &handler.call.switches.boxs);
    steps
        .iter()
        .map(|step| {
            let step = Argument::read(handler.key, step)?;
            let (parent, slot) = (step.text("o")?, step.text("sn")?);
            let mut item = json!({"o": parent, "sn": slot});
            if let Some((handle, node)) =
                node_of(&station, user, &writer, Step { parent, slot, base })
            {
                item["h"] = json!(handle);
                item["b"] = node;
            }
            Ok(item)
        })
        .collect()
}

struct Step<'a> {
    parent: &'a str,
    slot: &'a str,
    base: Option<&'a str>,
}

fn node_of(
    station: &Station,
    user: &User,
    writer: &NodeWriter<'_>,
    step: Step<'_>,
) -> Option<(String, Value)> {
    match target::resolve(station, user, step.parent, step.base) {
        Ok(Target::Component(parent)) => {
            Some((parent.to_string(), writer.slot(parent, step.slot)?))
        }
        Ok(Target::Property(..) | Target::Table(_)) | Err(_) => None,
    }
}
