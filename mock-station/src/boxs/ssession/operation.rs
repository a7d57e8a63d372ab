//! News of subscribed components as synchronisation operations (Station web specification §4.6).

use serde_json::{Map, Value as Json, json};

use super::subscriptions::{ComponentNews, News, View};
use crate::boxs::node::{self, NodeWriter};
use crate::model::changes::ChangeEvent;
use crate::model::link::LinkView;
use crate::model::{Handle, SlotView};

/// The operations that tell `component`'s news, with the values of this moment; what the user may not read is left out.
pub fn operations(view: View<'_>, component: &ComponentNews) -> Vec<Json> {
    let teller = Teller {
        view,
        handle: component.handle,
    };
    let told = component.news.iter().filter_map(|news| teller.tell(news));
    let mut operations: Vec<Json> = told.collect();
    teller.sign(&mut operations);
    operations
}

/// The whole state of a component, its children as stubs below `depth` levels. None if it is gone.
pub fn load(writer: &NodeWriter<'_>, handle: Handle, depth: usize) -> Option<Json> {
    let mut operation = json!({"nm": "l", "h": handle.to_string(), "b": null});
    operation["b"] = writer.component(handle, depth)?;
    Some(operation)
}

struct SlotOperation<'a> {
    operation: Map<String, Json>,
    slot: SlotView<'a>,
    node: Json,
}

impl SlotOperation<'_> {
    fn with_node(mut self) -> Map<String, Json> {
        self.operation.insert("b".to_owned(), self.node);
        self.operation
    }
}

struct Teller<'a> {
    view: View<'a>,
    handle: Handle,
}

impl Teller<'_> {
    fn tell(&self, news: &News) -> Option<Json> {
        match news {
            News::Everything => load(self.view.writer, self.handle, 0),
            News::Change(change) => self.change(change),
            News::KnobAdded(link) => Some(self.knob_added(link)),
            News::KnobRemoved(link) => Some(self.knob_removed(link)),
        }
    }

    fn change(&self, change: &ChangeEvent) -> Option<Json> {
        let operation = match change {
            ChangeEvent::Set { slot } => self.set(slot)?,
            ChangeEvent::Added { slot, .. } => self.added(slot)?,
            ChangeEvent::Removed { slot, .. } => self.named("v", slot),
            ChangeEvent::Renamed { old, new } => {
                // The new name may have passed on since: then only the names are told.
                let mut renamed = match self.about("r", new) {
                    Some(told) => told.operation,
                    None => self.named("r", new),
                };
                renamed.insert("o".to_owned(), json!(&**old));
                renamed
            }
            ChangeEvent::Reordered => self.order(),
            ChangeEvent::FlagsChanged { slot } => self.flags(slot)?,
            ChangeEvent::FacetsChanged { slot } => {
                let mut told = self.about("x", slot)?;
                let text = told.slot.facets.map(|facets| facets.encode());
                told.operation
                    .insert("x".to_owned(), json!(text.unwrap_or_default()));
                told.operation
            }
            // The protocol has no operation of its own for a name: one that sets what is there already carries it.
            ChangeEvent::DisplayNameChanged { slot } => {
                let told = self.about("s", slot)?;
                match told.slot.value() {
                    Some(_) => told.with_node(),
                    None => self.flags(slot)?,
                }
            }
            ChangeEvent::TopicFired { slot, event } => {
                let mut fired = self.about("t", slot)?.operation;
                if let Some(event) = event {
                    fired.insert("b".to_owned(), node::bare_value(event));
                }
                fired
            }
        };
        Some(Json::Object(operation))
    }

    fn set(&self, name: &str) -> Option<Map<String, Json>> {
        Some(self.about("s", name)?.with_node())
    }

    /// A new child comes as a stub: whoever wants its slots loads or subscribes it.
    fn added(&self, name: &str) -> Option<Map<String, Json>> {
        let mut told = self.about("a", name)?;
        node::put_flags(&mut told.operation, told.slot.flags);
        if let Some(facets) = told.slot.facets.filter(|facets| !facets.is_empty()) {
            told.operation
                .insert("facets".to_owned(), json!(facets.encode()));
        }
        Some(told.with_node())
    }

    fn flags(&self, name: &str) -> Option<Map<String, Json>> {
        let mut told = self.about("f", name)?;
        let flags = told.slot.flags.encode();
        told.operation.insert("f".to_owned(), json!(flags));
        Some(told.operation)
    }

    fn order(&self) -> Map<String, Json> {
        let slots = self.view.station.slots(self.handle);
        let names: Vec<&str> = slots
            .iter()
            .filter(|slot| !slot.frozen && self.view.writer.shows(self.handle, slot))
            .map(|slot| slot.name)
            .collect();
        let mut order = self.head("o");
        order.insert("o".to_owned(), json!(names.join(";")));
        order
    }

    fn knob_added(&self, link: &LinkView) -> Json {
        let mut added = self.head("k");
        added.insert("nk".to_owned(), self.view.writer.knob(link));
        Json::Object(added)
    }

    fn knob_removed(&self, link: &LinkView) -> Json {
        let mut removed = self.head("j");
        removed.insert("id".to_owned(), json!(node::knob_id(link)));
        removed.insert("ss".to_owned(), json!(&*link.ends.source_slot));
        Json::Object(removed)
    }

    fn head(&self, kind: &str) -> Map<String, Json> {
        let mut operation = Map::new();
        operation.insert("nm".to_owned(), json!(kind));
        operation.insert("h".to_owned(), json!(self.handle.to_string()));
        operation
    }

    fn named(&self, kind: &str, name: &str) -> Map<String, Json> {
        let mut operation = self.head(kind);
        operation.insert("n".to_owned(), json!(name));
        operation
    }

    /// An operation about a slot as it is now, with the slot's display name and text; none if the slot is gone or kept
    /// from the user.
    fn about(&self, kind: &str, name: &str) -> Option<SlotOperation<'_>> {
        let slot = self.view.station.slot(self.handle, name)?;
        let node = self.view.writer.slot_of(self.handle, &slot)?;
        let mut operation = self.named(kind, name);
        operation.insert("dn".to_owned(), json!(slot.display_name()));
        if let Some(text) = node.get("d") {
            operation.insert("d".to_owned(), text.clone());
        }
        Some(SlotOperation {
            operation,
            slot,
            node,
        })
    }

    /// Adds the component's own display name and text to its operations; a load has them in its body.
    fn sign(&self, operations: &mut [Json]) {
        let display_name = json!(self.view.station.display_name(self.handle));
        let text = json!(self.view.writer.text(self.handle));
        let changes = operations.iter_mut().filter_map(Json::as_object_mut);
        for operation in changes.filter(|operation| operation.get("nm") != Some(&json!("l"))) {
            operation.insert("cdn".to_owned(), display_name.clone());
            operation.insert("cd".to_owned(), text.clone());
        }
    }
}
