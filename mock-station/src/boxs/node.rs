//! Components and values as nodes of the station's JSON form, which it calls BSON (Station web specification §4.7).

use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use super::contract;
use crate::model::component::Component;
use crate::model::display::{self, DisplayContext};
use crate::model::link::LinkView;
use crate::model::registry::SlotDef;
use crate::model::slot_name;
use crate::model::station::Operation;
use crate::model::{
    Facets, Flags, Handle, Permissions, SlotContent, SlotView, Station, User, Value,
};
use crate::switches::BoxSwitches;

/// Writes nodes as one user sees them: in that user's language and without what that user may not read.
pub struct NodeWriter<'a> {
    station: &'a Station,
    user: &'a User,
    switches: &'a BoxSwitches,
    display: DisplayContext,
    /// For members of structs, whose unit already stands in the text of the whole.
    member_display: DisplayContext,
}

impl<'a> NodeWriter<'a> {
    pub fn new(station: &'a Station, user: &'a User, switches: &'a BoxSwitches) -> Self {
        let display = DisplayContext::of(user, station);
        Self {
            station,
            user,
            switches,
            member_display: display.clone().without_units(),
            display,
        }
    }

    /// A component with its slots, and those of its child components down to `depth` further levels; deeper ones
    /// come as stubs. None if the component is gone.
    pub fn component(&self, handle: Handle, depth: usize) -> Option<Json> {
        let component = self.station.component(handle)?;
        Some(self.loaded(component, None, depth))
    }

    /// A component without its slots. None if it is gone.
    pub fn stub(&self, handle: Handle) -> Option<Json> {
        let component = self.station.component(handle)?;
        Some(self.stub_of(component, None))
    }

    /// One slot, also where a load would leave it out as a default; a child component as a stub. None if there is no
    /// such slot or the user may not read it.
    pub fn slot(&self, owner: Handle, name: &str) -> Option<Json> {
        self.slot_of(owner, &self.station.slot(owner, name)?)
    }

    /// Like [`NodeWriter::slot`], for a slot at hand.
    pub fn slot_of(&self, owner: Handle, slot: &SlotView<'_>) -> Option<Json> {
        if !self.shows(owner, slot) {
            return None;
        }
        Some(match &slot.content {
            SlotContent::Property(value) => self.property_node(owner, slot, value),
            SlotContent::Child(child) => self.stub_of(self.station.component(*child)?, Some(slot)),
            SlotContent::Action(_) | SlotContent::Topic(_) => self.behaviour_node(slot),
        })
    }

    /// Whether the user is shown this slot.
    pub fn shows(&self, owner: Handle, slot: &SlotView<'_>) -> bool {
        match &slot.content {
            SlotContent::Property(_) => may_read(self.granted(owner), slot),
            SlotContent::Child(child) => self.station.can_read(self.user, *child),
            SlotContent::Action(_) | SlotContent::Topic(_) => true,
        }
    }

    /// The display text of a component: the output of a point, else the display name.
    pub fn text(&self, handle: Handle) -> Option<String> {
        let component = self.station.component(handle)?;
        Some(self.component_text(component))
    }

    /// One outgoing link as its source knows it.
    pub fn knob(&self, link: &LinkView) -> Json {
        json!({
            "id": knob_id(link),
            "ss": &*link.ends.source_slot,
            "to": format!("h:{}", link.ends.target),
            "ts": &*link.ends.target_slot,
        })
    }

    /// The value at a `/`-separated path of property slot and struct members. None if there is none or the user
    /// may not read it.
    pub fn property(&self, handle: Handle, path: &str) -> Option<Json> {
        let (first, members) = path.split_once('/').unwrap_or((path, ""));
        let slot = self.station.slot(handle, first)?;
        if members.is_empty() {
            return self.slot_of(handle, &slot);
        }
        let value = slot.value()?.member(members)?;
        if !self.shows(handle, &slot) {
            return None;
        }
        let facets = self.value_facets(handle, &slot, value);
        let name = members.rsplit('/').next().unwrap_or(members);
        let mut node = named("p", Some(name));
        self.put_value(&mut node, value, &facets, &self.member_display);
        Some(Json::Object(node))
    }

    /// A value that stands for itself, such as a table cell.
    pub fn cell(&self, value: &Value, facets: &Facets) -> Json {
        let mut node = named("p", None);
        self.put_value(&mut node, value, facets, &self.display);
        Json::Object(node)
    }

    fn loaded(&self, component: &Component, slot: Option<&SlotView<'_>>, depth: usize) -> Json {
        let mut node = self.head(component, slot);
        let knobs = self.knobs(component.handle());
        if !knobs.is_empty() {
            node.insert("nk".to_owned(), Json::Array(knobs));
        }
        let owner = Owner {
            handle: component.handle(),
            granted: self.granted(component.handle()),
        };
        let slots = self.station.slots(owner.handle);
        let children: Vec<Json> = slots
            .iter()
            .filter_map(|slot| self.slot_node(owner, slot, depth))
            .collect();
        node.insert("s".to_owned(), Json::Array(children));
        Json::Object(node)
    }

    fn stub_of(&self, component: &Component, slot: Option<&SlotView<'_>>) -> Json {
        let mut node = self.head(component, slot);
        node.insert("stub".to_owned(), json!(true));
        Json::Object(node)
    }

    /// What a component node has with and without its slots. `slot` is the parent's slot of a child node.
    fn head(&self, component: &Component, slot: Option<&SlotView<'_>>) -> Map<String, Json> {
        let handle = component.handle();
        let mut node = named("p", slot.map(|_| component.name()));
        node.insert("h".to_owned(), json!(handle.to_string()));
        node.insert("t".to_owned(), json!(component.ty().spec()));
        put_display_name(
            &mut node,
            component.name(),
            self.station.display_name(handle),
        );
        if let Some(slot) = slot {
            put_flags(&mut node, slot.flags);
            put_facets(&mut node, slot.facets);
        }
        node.insert("d".to_owned(), json!(self.component_text(component)));
        node.insert("l".to_owned(), json!({"p": self.granted(handle).encode()}));
        node
    }

    /// A component as text: the output of a point, else the display name.
    fn component_text(&self, component: &Component) -> String {
        let handle = component.handle();
        let is_point = component.ty().is("control:ControlPoint");
        let out = is_point.then(|| self.station.slot(handle, "out")).flatten();
        match out.as_ref().and_then(SlotView::value) {
            Some(out) => display::display(out, &self.station.facets(handle), &self.display),
            None => self.station.display_name(handle),
        }
    }

    /// Outgoing links, as the source component knows them.
    fn knobs(&self, source: Handle) -> Vec<Json> {
        let links = self.station.links().from(source).iter();
        links
            .filter(|link| self.station.can_read(self.user, link.ends.target))
            .map(|link| self.knob(link))
            .collect()
    }

    /// The node of one slot; none for what a load leaves out: defaults, and what the user may not read.
    fn slot_node(&self, owner: Owner, slot: &SlotView<'_>, depth: usize) -> Option<Json> {
        match &slot.content {
            SlotContent::Property(value) => {
                if as_declared(slot) || !may_read(owner.granted, slot) {
                    return None;
                }
                Some(self.property_node(owner.handle, slot, value))
            }
            SlotContent::Child(child) => {
                let component = self.station.component(*child)?;
                if !self.station.can_read(self.user, *child) {
                    return None;
                }
                Some(match depth.checked_sub(1) {
                    Some(below) => self.loaded(component, Some(slot), below),
                    None => self.stub_of(component, Some(slot)),
                })
            }
            SlotContent::Action(_) | SlotContent::Topic(_) => Some(self.behaviour_node(slot)),
        }
    }

    fn property_node(&self, owner: Handle, slot: &SlotView<'_>, value: &Value) -> Json {
        let mut node = named("p", Some(slot.name));
        put_display_name(&mut node, slot.name, slot.display_name());
        let flags = self.station.component(owner).map_or(slot.flags, |owner| {
            contract::shown_flags(owner.ty(), slot.name, slot.flags, self.switches)
        });
        put_flags(&mut node, flags);
        put_facets(&mut node, slot.facets);
        let facets = self.value_facets(owner, slot, value);
        self.put_value(&mut node, value, &facets, &self.display);
        Json::Object(node)
    }

    /// An action or a topic.
    fn behaviour_node(&self, slot: &SlotView<'_>) -> Json {
        let (kind, type_spec) = match slot.content {
            SlotContent::Topic(_) => ("t", "baja:Topic"),
            _ => ("a", "baja:Action"),
        };
        let mut node = named(kind, Some(slot.name));
        node.insert("t".to_owned(), json!(type_spec));
        put_display_name(&mut node, slot.name, slot.display_name());
        put_flags(&mut node, slot.flags);
        put_facets(&mut node, slot.facets);
        match &slot.content {
            SlotContent::Action(action) => contract::put_action(&mut node, action, self.switches),
            SlotContent::Topic(event) => contract::put_topic(&mut node, *event),
            SlotContent::Property(_) | SlotContent::Child(_) => {}
        }
        Json::Object(node)
    }

    fn put_value(
        &self,
        node: &mut Map<String, Json>,
        value: &Value,
        facets: &Facets,
        context: &DisplayContext,
    ) {
        node.insert("t".to_owned(), json!(value.type_spec()));
        node.insert(
            "d".to_owned(),
            json!(display::display(value, facets, context)),
        );
        let Some(body) = value.as_struct() else {
            node.insert("v".to_owned(), json!(value.encode()));
            return;
        };
        let members: Vec<Json> = set_members(body)
            .map(|(name, member)| {
                let mut child = named("p", Some(name));
                self.put_value(&mut child, member, facets, &self.member_display);
                Json::Object(child)
            })
            .collect();
        node.insert("s".to_owned(), Json::Array(members));
    }

    /// The facets a value is shown with: the slot's own, else for status values and numbers of a point the point's.
    fn value_facets(&self, owner: Handle, slot: &SlotView<'_>, value: &Value) -> Arc<Facets> {
        match slot.facets {
            Some(own) if !own.is_empty() => Arc::new(own.clone()),
            _ if value.as_status_value().is_some() => self.station.facets(owner),
            _ => Arc::default(),
        }
    }

    fn granted(&self, handle: Handle) -> Permissions {
        self.station.permissions(self.user, handle)
    }
}

/// The component whose slots are written, with what the user may do with it.
#[derive(Clone, Copy)]
struct Owner {
    handle: Handle,
    granted: Permissions,
}

fn may_read(granted: Permissions, slot: &SlotView<'_>) -> bool {
    granted.contains(Station::needed(slot.flags, Operation::Read))
}

/// A value without display texts, as type contracts hold it.
pub fn bare_value(value: &Value) -> Json {
    bare_node(None, value)
}

fn bare_node(name: Option<&str>, value: &Value) -> Json {
    let mut node = named("p", name);
    node.insert("t".to_owned(), json!(value.type_spec()));
    match value.as_struct() {
        None => node.insert("v".to_owned(), json!(value.encode())),
        Some(body) => {
            let members = set_members(body).map(|(name, member)| bare_node(Some(name), member));
            node.insert("s".to_owned(), members.collect())
        }
    };
    Json::Object(node)
}

/// The members of a struct that differ from the default of its type; the others are left out.
fn set_members(body: &crate::model::StructValue) -> impl Iterator<Item = (&str, &Value)> {
    let ty = body.ty;
    body.members
        .iter()
        .filter(move |member| {
            let default = ty.slot(&member.name).and_then(SlotDef::default_value);
            !default.is_some_and(|default| member.value.same_as(default))
        })
        .map(|member| (&*member.name, &member.value))
}

/// Whether value, flags, facets and display name of a frozen property are as its type declares them.
fn as_declared(slot: &SlotView<'_>) -> bool {
    slot.is_default()
        && slot.own_display_name.is_none()
        && slot.definition.is_some_and(|definition| {
            slot.flags == definition.flags && slot.facets == definition.facets.as_deref()
        })
}

/// A number that names a link among its source's knobs for as long as the link exists.
pub fn knob_id(link: &LinkView) -> u32 {
    // FNV-1a over target and link slot, kept positive in 31 bits.
    let handle = link.ends.target.0.to_be_bytes();
    let hash = handle
        .iter()
        .chain(link.slot.as_bytes())
        .fold(0x811c_9dc5_u32, |hash, byte| {
            (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
        });
    hash & 0x7fff_ffff
}

fn named(kind: &str, name: Option<&str>) -> Map<String, Json> {
    let mut node = Map::new();
    node.insert("nm".to_owned(), json!(kind));
    if let Some(name) = name {
        node.insert("n".to_owned(), json!(name));
    }
    node
}

fn put_display_name(node: &mut Map<String, Json>, name: &str, display_name: String) {
    if display_name != slot_name::unescape(name) {
        node.insert("dn".to_owned(), json!(display_name));
    }
}

/// `f`, absent for no flags.
pub fn put_flags(node: &mut Map<String, Json>, flags: Flags) {
    if flags != Flags::NONE {
        node.insert("f".to_owned(), json!(flags.encode()));
    }
}

/// `x`, absent for no facets.
pub fn put_facets(node: &mut Map<String, Json>, facets: Option<&Facets>) {
    if let Some(facets) = facets.filter(|facets| !facets.is_empty()) {
        node.insert("x".to_owned(), json!(facets.encode()));
    }
}
