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
    let body = writer.component(handle, depth)?;
    Some(json!({"nm": "l", "h": handle.to_string(), "b": body}))
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
        match change {
            ChangeEvent::Set { slot } => self.set(slot),
            ChangeEvent::Added { slot, .. } => self.added(slot),
            ChangeEvent::Removed { slot, .. } => {
                let mut removed = self.head("v");
                removed.insert("n".to_owned(), json!(&**slot));
                Some(Json::Object(removed))
            }
            ChangeEvent::Renamed { old, new } => {
                let slot = self.shown(new)?;
                let mut renamed = self.head("r");
                renamed.insert("o".to_owned(), json!(&**old));
                renamed.insert("n".to_owned(), json!(&**new));
                renamed.insert("dn".to_owned(), json!(slot.display_name()));
                Some(Json::Object(renamed))
            }
            ChangeEvent::Reordered => Some(self.order()),
            ChangeEvent::FlagsChanged { slot } => self.flags(slot),
            ChangeEvent::FacetsChanged { slot } => {
                let shown = self.shown(slot)?;
                let mut facets = self.slot_head("x", &shown);
                let text = shown.facets.map(|facets| facets.encode());
                facets.insert("x".to_owned(), json!(text.unwrap_or_default()));
                Some(Json::Object(facets))
            }
            // The protocol has no operation of its own for a name: one that sets what is there already carries it.
            ChangeEvent::DisplayNameChanged { slot } => match self.shown(slot)?.value() {
                Some(_) => self.set(slot),
                None => self.flags(slot),
            },
            ChangeEvent::TopicFired { slot, event } => {
                let shown = self.shown(slot)?;
                let mut fired = self.slot_head("t", &shown);
                if let Some(event) = event {
                    fired.insert("b".to_owned(), node::bare_value(event));
                }
                Some(Json::Object(fired))
            }
        }
    }

    fn set(&self, name: &str) -> Option<Json> {
        let slot = self.shown(name)?;
        let mut set = self.slot_head("s", &slot);
        let body = self.view.writer.slot(self.handle, name)?;
        set.insert("d".to_owned(), body.get("d").cloned().unwrap_or_default());
        set.insert("b".to_owned(), body);
        Some(Json::Object(set))
    }

    /// A new child comes as a stub: whoever wants its slots loads or subscribes it.
    fn added(&self, name: &str) -> Option<Json> {
        let slot = self.shown(name)?;
        let mut added = self.slot_head("a", &slot);
        let body = self.view.writer.slot(self.handle, name)?;
        added.insert("d".to_owned(), body.get("d").cloned().unwrap_or_default());
        added.insert("b".to_owned(), body);
        node::put_flags(&mut added, slot.flags);
        if let Some(facets) = slot.facets.filter(|facets| !facets.is_empty()) {
            added.insert("facets".to_owned(), json!(facets.encode()));
        }
        Some(Json::Object(added))
    }

    fn flags(&self, name: &str) -> Option<Json> {
        let slot = self.shown(name)?;
        let mut flags = self.slot_head("f", &slot);
        flags.insert("f".to_owned(), json!(slot.flags.encode()));
        Some(Json::Object(flags))
    }

    fn order(&self) -> Json {
        let slots = self.view.station.slots(self.handle);
        let names: Vec<&str> = slots
            .iter()
            .filter(|slot| !slot.frozen && self.view.writer.shows(self.handle, slot))
            .map(|slot| slot.name)
            .collect();
        let mut order = self.head("o");
        order.insert("o".to_owned(), json!(names.join(";")));
        Json::Object(order)
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

    /// The slot as it is now; none if it is gone or kept from the user.
    fn shown(&self, name: &str) -> Option<SlotView<'_>> {
        let slot = self.view.station.slot(self.handle, name)?;
        let shown = self.view.writer.shows(self.handle, &slot);
        shown.then_some(slot)
    }

    fn head(&self, kind: &str) -> Map<String, Json> {
        let mut operation = Map::new();
        operation.insert("nm".to_owned(), json!(kind));
        operation.insert("h".to_owned(), json!(self.handle.to_string()));
        operation
    }

    fn slot_head(&self, kind: &str, slot: &SlotView<'_>) -> Map<String, Json> {
        let mut operation = self.head(kind);
        operation.insert("n".to_owned(), json!(slot.name));
        operation.insert("dn".to_owned(), json!(slot.display_name()));
        operation
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
