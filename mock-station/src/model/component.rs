//! One mounted component and the view of its slots.

use super::facets::Facets;
use super::flags::Flags;
use super::point::PointFeed;
use super::registry::{ActionDef, SlotDef, TypeDef};
use super::value::Value;
use indexmap::IndexMap;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The identity of a mounted component until the station restarts; shown as lower-case hex (Station web specification §0.3).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle(pub u32);

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.0)
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "h:{:x}", self.0)
    }
}

impl FromStr for Handle {
    type Err = std::num::ParseIntError;

    /// Reads bare hex (`2f1`) or the ord form (`h:2f1`).
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        u32::from_str_radix(text.strip_prefix("h:").unwrap_or(text), 16).map(Handle)
    }
}

/// A mounted component. Frozen slots that still have their default are not stored.
pub struct Component {
    pub(super) handle: Handle,
    pub(super) parent: Option<Handle>,
    pub(super) name: Arc<str>,
    pub(super) ty: &'static TypeDef,
    pub(super) values: Vec<(u16, Value)>,
    pub(super) frozen_children: Vec<(u16, Handle)>,
    pub(super) dynamic: IndexMap<Arc<str>, DynamicSlot>,
    pub(super) attributes: HashMap<Arc<str>, SlotAttributes>,
    pub(super) categories: Option<u64>,
    /// Union of the effective categories of everything below, for ancestor permissions.
    pub(super) categories_below: u64,
    pub(super) feed: Option<Arc<dyn PointFeed>>,
    pub(super) alarm_bits: u32,
    pub(super) commanded: super::point::Commanded,
    /// What a component with memory (loops, delays) keeps between ticks.
    pub(super) memory: Option<Box<super::kit::Memory>>,
}

/// A dynamic property or child component.
#[derive(Clone, Debug)]
pub(super) struct DynamicSlot {
    pub content: DynamicContent,
    pub flags: Flags,
    pub facets: Option<Arc<Facets>>,
}

#[derive(Clone, Debug)]
pub(super) enum DynamicContent {
    Property(Value),
    Child(Handle),
}

/// Changes to the attributes of a slot, frozen or dynamic.
#[derive(Clone, Debug, Default)]
pub(super) struct SlotAttributes {
    pub flags: Option<Flags>,
    pub facets: Option<Arc<Facets>>,
    pub display_name: Option<Arc<str>>,
}

impl Component {
    /// The handle.
    pub fn handle(&self) -> Handle {
        self.handle
    }

    /// The parent; `None` for the station's root.
    pub fn parent(&self) -> Option<Handle> {
        self.parent
    }

    /// The escaped slot name in the parent; empty for the root.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The type.
    pub fn ty(&self) -> &'static TypeDef {
        self.ty
    }

    /// Child components, frozen ones first, then in slot order.
    pub fn children(&self) -> impl Iterator<Item = Handle> + '_ {
        let dynamic = self.dynamic.values().filter_map(|slot| match slot.content {
            DynamicContent::Child(handle) => Some(handle),
            DynamicContent::Property(_) => None,
        });
        self.frozen_children
            .iter()
            .map(|(_, handle)| *handle)
            .chain(dynamic)
    }

    /// The child component in a slot.
    pub fn child(&self, name: &str) -> Option<Handle> {
        if let Some(index) = self.ty.slot_index(name) {
            return self
                .frozen_children
                .iter()
                .find(|(i, _)| usize::from(*i) == index)
                .map(|(_, handle)| *handle);
        }
        match self.dynamic.get(name)?.content {
            DynamicContent::Child(handle) => Some(handle),
            DynamicContent::Property(_) => None,
        }
    }

    /// Whether the slot exists and was added to this component rather than declared by its type.
    pub fn is_dynamic(&self, name: &str) -> bool {
        self.dynamic.contains_key(name)
    }

    /// The category mask set on this component itself; `None` when it inherits its parent's.
    pub fn own_categories(&self) -> Option<u64> {
        self.categories
    }

    /// Whether a driver feeds the component.
    pub fn is_fed(&self) -> bool {
        self.feed.is_some()
    }

    /// The stored value of a property (default if never set); computed values (`out` of a fed point) are not seen here.
    pub(super) fn stored(&self, name: &str) -> Option<&Value> {
        match self.ty.slot_index(name) {
            Some(index) => self.stored_at(index),
            None => match &self.dynamic.get(name)?.content {
                DynamicContent::Property(value) => Some(value),
                DynamicContent::Child(_) => None,
            },
        }
    }

    pub(super) fn stored_at(&self, index: usize) -> Option<&Value> {
        match self.values.iter().find(|(i, _)| usize::from(*i) == index) {
            Some((_, value)) => Some(value),
            None => self.ty.slots().get(index)?.default_value(),
        }
    }

    pub(super) fn store(&mut self, name: &str, value: Value) {
        if let Some(index) = self.ty.slot_index(name) {
            let index = index as u16;
            match self.values.iter_mut().find(|(i, _)| *i == index) {
                Some(slot) => slot.1 = value,
                None => self.values.push((index, value)),
            }
        } else if let Some(slot) = self.dynamic.get_mut(name) {
            slot.content = DynamicContent::Property(value);
        }
    }

    pub(super) fn flags_of(&self, name: &str, declared: Flags) -> Flags {
        self.attributes
            .get(name)
            .and_then(|a| a.flags)
            .unwrap_or(declared)
    }
}

impl fmt::Debug for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({:?})", self.ty.spec(), self.name, self.handle)
    }
}

/// One slot as a reader sees it.
#[derive(Clone, Debug)]
pub struct SlotView<'a> {
    pub name: &'a str,
    /// Declared by the type rather than added.
    pub frozen: bool,
    pub flags: Flags,
    /// Facets of the slot itself (a point's value facets are its `facets` property).
    pub facets: Option<&'a Facets>,
    pub content: SlotContent<'a>,
    /// The declaration of a frozen slot.
    pub definition: Option<&'static SlotDef>,
    /// A display name given to this slot; see [`SlotView::display_name`].
    pub own_display_name: Option<&'a str>,
}

/// What a slot holds.
#[derive(Clone, Debug)]
pub enum SlotContent<'a> {
    Property(Cow<'a, Value>),
    Child(Handle),
    Action(&'static ActionDef),
    Topic(Option<&'static TypeDef>),
}

impl SlotView<'_> {
    /// The given display name, else the name made friendly (frozen: words split; dynamic: unescaped).
    pub fn display_name(&self) -> String {
        match self.own_display_name {
            Some(name) => name.to_owned(),
            None if self.frozen => super::slot_name::friendly(self.name),
            None => super::slot_name::unescape(self.name),
        }
    }

    /// The value of a property slot.
    pub fn value(&self) -> Option<&Value> {
        match &self.content {
            SlotContent::Property(value) => Some(value),
            _ => None,
        }
    }

    /// Whether a property still has the default its type declares (loads leave such slots out).
    pub fn is_default(&self) -> bool {
        match (
            self.value(),
            self.definition.and_then(SlotDef::default_value),
        ) {
            (Some(value), Some(default)) => value.same_as(default),
            _ => false,
        }
    }

    /// Whether the slot's links are `baja:Link` values.
    pub fn is_link(&self) -> bool {
        self.value()
            .and_then(Value::as_struct)
            .is_some_and(|body| body.ty.is_link())
    }
}
