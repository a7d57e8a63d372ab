//! Handler key `syncTo`: what a client changes (Station web specification §4.6).
//!
//! Operations are applied one after the other: those before a failing one stay applied, and the error does not say which
//! one failed.

use serde_json::{Value as Json, json};

use super::space::HandlerCall;
use crate::boxs::call::{Argument, bad_body};
use crate::boxs::contract;
use crate::boxs::decode::{self, Sent};
use crate::boxs::error::BoxError;
use crate::boxs::target;
use crate::model::station::Operation as Access;
use crate::model::{Facets, Handle, ModelError, SlotContent, SlotMarks, Station, Value};
use crate::switches::BoxSwitches;

/// Applies the operations in order; one result item per add.
pub fn sync_to(handler: &HandlerCall<'_>) -> Result<Json, BoxError> {
    let argument = Argument::read(handler.key, handler.argument)?;
    let operations = match (argument.optional_text("nm"), argument.get("ops")) {
        (Some("sync"), Some(Json::Array(operations))) => operations,
        _ => {
            let wanted = "an object with 'nm' \"sync\" and an array 'ops' is wanted";
            return Err(bad_body(handler.key, wanted));
        }
    };
    let mut station = handler.call.context.station.write();
    handler.call.account(&station)?;
    let mut results = Vec::new();
    for operation in operations {
        let mut change = Change {
            station: &mut station,
            user: &handler.call.user.name,
            operation: Argument::read(handler.key, operation)?,
            key: handler.key,
            switches: &handler.call.switches.boxs,
        };
        results.extend(change.apply()?);
    }
    Ok(Json::Array(results))
}

/// One operation on its way into the model.
struct Change<'a> {
    station: &'a mut Station,
    user: &'a str,
    operation: Argument<'a>,
    key: &'a str,
    switches: &'a BoxSwitches,
}

impl Change<'_> {
    fn apply(&mut self) -> Result<Option<Json>, BoxError> {
        let kind = self.operation.text("nm")?;
        let handle = self.component("h")?;
        match kind {
            "a" => return self.add(handle).map(Some),
            "s" => self.set(handle)?,
            "v" => {
                let name = self.operation.text("n")?;
                self.station.remove_as(self.user, handle, name)?;
            }
            "r" => {
                let (old, new) = (self.operation.text("o")?, self.operation.text("n")?);
                self.station.rename_as(self.user, handle, old, new)?;
            }
            "o" => self.reorder(handle)?,
            "f" => {
                let name = self.operation.text("n")?;
                let flags = decode::flags(name, self.operation.get("f"))?
                    .ok_or_else(|| bad_body(self.key, "member 'f' must be flags"))?;
                self.station.set_flags_as(self.user, handle, name, flags)?;
            }
            "x" => {
                let name = self.operation.text("n")?;
                let facets = decode::facets(name, self.operation.get("x"))?;
                let facets = facets.unwrap_or_else(Facets::new);
                self.station
                    .set_slot_facets_as(self.user, handle, name, facets)?;
            }
            "t" => self.fire(handle)?,
            other => {
                let wanted = format!("there is no operation \"{other}\"");
                return Err(bad_body(self.key, &wanted));
            }
        }
        Ok(None)
    }

    fn component(&self, member: &str) -> Result<Handle, BoxError> {
        let user = self.station.users.require(self.user)?;
        target::by_handle(self.station, user, self.operation.text(member)?)
    }

    fn add(&mut self, parent: Handle) -> Result<Json, BoxError> {
        let name = self.operation.optional_text("n");
        let flags = decode::flags("f", self.operation.get("f"))?;
        let facets = decode::facets("facets", self.operation.get("facets"))?;
        let place = name.unwrap_or("b");
        let added = match decode::node(place, self.body()?)? {
            Sent::Value(value) => {
                let value = value.completed();
                self.require_link_source(&value)?;
                let flags = flags.unwrap_or_default();
                let name = self
                    .station
                    .add_value_as(self.user, parent, name, value, flags, facets)?;
                name.to_string()
            }
            Sent::Component(new) => {
                let marks = SlotMarks { flags, facets };
                let child = self
                    .station
                    .create_as(self.user, parent, name, new, marks)?;
                let child = self.station.component(child);
                child.map_or_else(String::new, |child| child.name().to_owned())
            }
        };
        Ok(json!({"id": "a", "nn": added}))
    }

    /// Whoever makes a link must be able to read its source.
    fn require_link_source(&self, value: &Value) -> Result<(), BoxError> {
        let link = value.as_struct().filter(|body| body.ty.is_link());
        let source = link.and_then(|link| link.get("sourceOrd")?.as_str());
        if let Some(source) = source {
            let user = self.station.users.require(self.user)?;
            target::resolve_component(self.station, user, source)?;
        }
        Ok(())
    }

    fn set(&mut self, handle: Handle) -> Result<(), BoxError> {
        let path = self.operation.text("n")?;
        let (name, members) = path.split_once('/').unwrap_or((path, ""));
        let no_slot = || self.no_slot(handle, path);
        let slot = self.station.slot(handle, name).ok_or_else(no_slot)?;
        let is_child = match slot.content {
            SlotContent::Property(_) => false,
            SlotContent::Child(_) if members.is_empty() => true,
            // A path leads into structs only.
            SlotContent::Child(_) | SlotContent::Action(_) | SlotContent::Topic(_) => {
                return Err(no_slot());
            }
        };
        let commanded = self
            .station
            .component(handle)
            .is_some_and(|component| contract::is_command_input(component.ty(), name));
        if self.switches.read_only_commands && commanded {
            return Err(BoxError::from(ModelError::ReadOnly {
                component: self.station.slot_path(handle),
                slot: path.to_owned(),
            }));
        }
        match decode::node(path, self.body()?)? {
            Sent::Value(value) if !is_child => {
                self.require_link_source(&value)?;
                self.station.set_as(self.user, handle, path, value)?;
            }
            Sent::Component(new) if is_child && self.switches.replace_frozen => {
                self.station.replace_as(self.user, handle, path, new)?;
            }
            Sent::Value(_) | Sent::Component(_) => {
                return Err(BoxError::Undecodable {
                    place: path.to_owned(),
                    reason: "a slot keeps its kind, value or component".to_owned(),
                });
            }
        }
        Ok(())
    }

    fn reorder(&mut self, handle: Handle) -> Result<(), BoxError> {
        let order = self.operation.text("o")?;
        let names: Vec<&str> = order.split(';').filter(|name| !name.is_empty()).collect();
        self.station.reorder_as(self.user, handle, &names)?;
        Ok(())
    }

    fn fire(&mut self, handle: Handle) -> Result<(), BoxError> {
        let name = self.operation.text("n")?;
        let slot = self.station.slot(handle, name);
        let Some(flags) = slot
            .filter(|slot| matches!(slot.content, SlotContent::Topic(_)))
            .map(|slot| slot.flags)
        else {
            return Err(self.no_slot(handle, &format!("{name} that is a topic")));
        };
        let event = match self.operation.get("b") {
            None | Some(Json::Null) => None,
            Some(sent) => Some(decode::value(name, sent)?.completed()),
        };
        let needed = Station::needed(flags, Access::Invoke);
        self.station.demand(self.user, handle, needed)?;
        self.station.fire(handle, name, event);
        Ok(())
    }

    fn body(&self) -> Result<&Json, BoxError> {
        self.operation
            .get("b")
            .ok_or_else(|| bad_body(self.key, "member 'b' must be a node"))
    }

    fn no_slot(&self, handle: Handle, slot: &str) -> BoxError {
        BoxError::from(ModelError::NoSuchSlot {
            component: self.station.slot_path(handle),
            slot: slot.to_owned(),
        })
    }
}
