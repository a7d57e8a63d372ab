//! The station: the tree of components and everything that hangs on it.

use super::alarm::AlarmDb;
use super::audit::AuditLog;
use super::changes::{ChangeLog, Watched};
use super::component::{Component, DynamicContent, Handle, SlotContent, SlotView};
use super::error::ModelError;
use super::facets::Facets;
use super::history::HistoryDb;
use super::kit;
use super::link::Links;
use super::pending::Actions;
use super::permissions::Permissions;
use super::point;
use super::registry::{self, SlotKind, TypeDef};
use super::schedule;
use super::users::{User, Users};
use super::value::Value;
use chrono::{DateTime, FixedOffset, SubsecRound, TimeDelta, Utc};
use chrono_tz::Tz;
use indexmap::IndexMap;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// The handle of the root. Clients must not rely on it.
const FIRST_HANDLE: u32 = 2;

/// A running station.
pub struct Station {
    components: Vec<Option<Component>>,
    root: Handle,
    live: usize,
    pub(super) now: DateTime<Utc>,
    started: DateTime<Utc>,
    zone: Tz,
    pub(super) links: Links,
    /// Linked actions that are being invoked by one another.
    pub(super) trigger_depth: u32,
    pub(super) changes: ChangeLog,
    /// Components whose output depends on time, apart from fed ones.
    pub(super) timed: BTreeSet<Handle>,
    /// End of each running override.
    pub(super) expirations: BTreeMap<(DateTime<Utc>, Handle), ()>,
    pub(super) actions: Actions,
    /// How long asynchronous actions take after their answer, on the station's clock.
    pub async_delay: TimeDelta,
    /// How often the station was saved, and when last.
    pub(super) saves: Saves,
    /// Subscribed components.
    pub(super) watched: HashMap<Handle, Watched>,
    pub users: Users,
    pub histories: HistoryDb,
    pub alarms: AlarmDb,
    pub audit: AuditLog,
    /// Host, product and version as the station tells them to clients.
    pub identity: StationIdentity,
}

/// How often the station was saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Saves {
    pub count: u32,
    pub last: Option<DateTime<Utc>>,
}

/// What the station says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StationIdentity {
    pub host_name: String,
    pub product_name: String,
    pub product_version: String,
    pub vendor_name: String,
    pub vendor_url: String,
    pub product_url: String,
}

impl Default for StationIdentity {
    fn default() -> Self {
        Self {
            host_name: "STANDIN-HOST".to_owned(),
            product_name: "Niagara 4".to_owned(),
            product_version: "4.14.0.162".to_owned(),
            vendor_name: "Stand-in".to_owned(),
            vendor_url: "http://localhost/".to_owned(),
            product_url: "http://localhost/".to_owned(),
        }
    }
}

impl Station {
    /// An empty station: root, `Services`, `Drivers`, and no users.
    pub fn new(name: &str, zone: Tz, now: DateTime<Utc>) -> Self {
        let mut station = Self::bare(name, zone, now);
        station.add_standard_containers();
        station
    }

    fn bare(name: &str, zone: Tz, now: DateTime<Utc>) -> Self {
        let root = Handle(FIRST_HANDLE);
        let now = now.trunc_subsecs(0);
        let mut station = Self {
            components: Vec::new(),
            root,
            live: 0,
            now,
            started: now,
            zone,
            links: Links::default(),
            trigger_depth: 0,
            changes: ChangeLog::default(),
            timed: BTreeSet::new(),
            expirations: BTreeMap::new(),
            actions: Actions::default(),
            async_delay: TimeDelta::zero(),
            saves: Saves::default(),
            watched: HashMap::new(),
            users: Users::default(),
            histories: HistoryDb::default(),
            alarms: AlarmDb::default(),
            audit: AuditLog::default(),
            identity: StationIdentity::default(),
        };
        station
            .components
            .resize_with(FIRST_HANDLE as usize, || None);
        if let Some(ty) = registry::find("baja:Station") {
            let root = station.mount(None, "".into(), ty);
            if let Some(component) = station.component_mut(root) {
                component.store("stationName", Value::from(name));
                component.categories = Some(1);
            }
        }
        station
    }

    /// The station's name.
    pub fn name(&self) -> String {
        self.component(self.root)
            .and_then(|root| root.stored("stationName")?.as_str().map(str::to_owned))
            .unwrap_or_default()
    }

    /// The station's time zone.
    pub fn zone(&self) -> Tz {
        self.zone
    }

    /// The instant of the last tick, cut to seconds.
    pub fn now(&self) -> DateTime<Utc> {
        self.now
    }

    /// When the station started.
    pub fn started(&self) -> DateTime<Utc> {
        self.started
    }

    pub(super) fn mark_started(&mut self) {
        self.started = self.now;
    }

    /// An instant with the offset of the station's zone, as slots hold it.
    pub fn local(&self, time: DateTime<Utc>) -> DateTime<FixedOffset> {
        time.with_timezone(&self.zone).fixed_offset()
    }

    /// How often the station was saved since it was built, and when last.
    pub fn saves(&self) -> Saves {
        self.saves
    }

    /// The root component.
    pub fn root(&self) -> Handle {
        self.root
    }

    /// The number of mounted components.
    pub fn component_count(&self) -> usize {
        self.live
    }

    /// A component by handle.
    pub fn component(&self, handle: Handle) -> Option<&Component> {
        self.components.get(handle.0 as usize)?.as_ref()
    }

    pub(super) fn component_mut(&mut self, handle: Handle) -> Option<&mut Component> {
        self.components.get_mut(handle.0 as usize)?.as_mut()
    }

    pub(super) fn expect(&self, handle: Handle) -> Result<&Component, ModelError> {
        self.component(handle)
            .ok_or(ModelError::UnknownHandle { handle: handle.0 })
    }

    /// Creates a component with its frozen children and gives it a handle; the caller puts it into a slot.
    pub(super) fn mount(
        &mut self,
        parent: Option<Handle>,
        name: Arc<str>,
        ty: &'static TypeDef,
    ) -> Handle {
        let handle = Handle(self.components.len() as u32);
        self.components.push(Some(Component {
            handle,
            parent,
            name,
            ty,
            values: Vec::new(),
            frozen_children: Vec::new(),
            dynamic: IndexMap::new(),
            attributes: HashMap::new(),
            categories: None,
            categories_below: 0,
            feed: None,
            alarm_bits: 0,
            commanded: Default::default(),
            memory: None,
        }));
        self.live += 1;
        for (index, slot) in ty.slots().iter().enumerate() {
            if let SlotKind::Child { default, .. } = &slot.kind {
                let child = self.mount(Some(handle), slot.name.clone(), default);
                if let Some(component) = self.component_mut(handle) {
                    component.frozen_children.push((index as u16, child));
                }
            }
        }
        if kit::depends_on_time(ty) || schedule::is_schedule(ty) {
            self.timed.insert(handle);
        }
        handle
    }

    pub(super) fn unmount(&mut self, handle: Handle) {
        if let Some(place) = self.components.get_mut(handle.0 as usize)
            && place.take().is_some()
        {
            self.live -= 1;
            self.timed.remove(&handle);
            self.watched.remove(&handle);
        }
    }

    /// The parent of a component.
    pub fn parent(&self, handle: Handle) -> Option<Handle> {
        self.component(handle)?.parent
    }

    /// The children of a component in slot order.
    pub fn children(&self, handle: Handle) -> impl Iterator<Item = &Component> + '_ {
        self.component(handle)
            .into_iter()
            .flat_map(Component::children)
            .filter_map(|child| self.component(child))
    }

    /// The component and everything below it, parents before children, in slot order.
    pub fn descendants(&self, handle: Handle) -> Descendants<'_> {
        Descendants {
            station: self,
            pending: vec![handle],
            stop: None,
        }
    }

    /// Like [`Station::descendants`], not going below components for which `stop` holds.
    pub fn descendants_until<'a>(
        &'a self,
        handle: Handle,
        stop: &'a dyn Fn(&Component) -> bool,
    ) -> Descendants<'a> {
        Descendants {
            station: self,
            pending: vec![handle],
            stop: Some(stop),
        }
    }

    /// `slot:/A/B` with escaped names; `slot:/` for the root.
    pub fn slot_path(&self, handle: Handle) -> String {
        let mut names = Vec::new();
        let mut at = self.component(handle);
        while let Some(component) = at {
            let Some(parent) = component.parent else {
                break;
            };
            names.push(&*component.name);
            at = self.component(parent);
        }
        let mut path = String::from("slot:/");
        for (position, name) in names.iter().rev().enumerate() {
            if position > 0 {
                path.push('/');
            }
            path.push_str(name);
        }
        path
    }

    /// `local:|station:|slot:/A/B`.
    pub fn nav_ord(&self, handle: Handle) -> String {
        format!("local:|station:|{}", self.slot_path(handle))
    }

    /// The display name of a component: the given one, else its name unescaped; the root shows the station's name.
    pub fn display_name(&self, handle: Handle) -> String {
        let Some(component) = self.component(handle) else {
            return String::new();
        };
        let Some(parent) = component.parent.and_then(|parent| self.component(parent)) else {
            return self.name();
        };
        if let Some(name) = parent
            .attributes
            .get(&component.name)
            .and_then(|a| a.display_name.clone())
        {
            return name.to_string();
        }
        if parent.is_dynamic(&component.name) {
            super::slot_name::unescape(&component.name)
        } else {
            super::slot_name::friendly(&component.name)
        }
    }

    /// All slots of a component: frozen ones in contract order, then dynamic ones.
    pub fn slots(&self, handle: Handle) -> Vec<SlotView<'_>> {
        let Some(component) = self.component(handle) else {
            return Vec::new();
        };
        let frozen =
            (0..component.ty.slots().len()).filter_map(|index| self.frozen_slot(component, index));
        let dynamic = component
            .dynamic
            .keys()
            .filter_map(|name| self.dynamic_slot(component, name));
        frozen.chain(dynamic).collect()
    }

    /// One slot of a component.
    pub fn slot(&self, handle: Handle, name: &str) -> Option<SlotView<'_>> {
        let component = self.component(handle)?;
        match component.ty.slot_index(name) {
            Some(index) => self.frozen_slot(component, index),
            None => self.dynamic_slot(component, name),
        }
    }

    fn frozen_slot<'a>(&'a self, component: &'a Component, index: usize) -> Option<SlotView<'a>> {
        let definition: &'static super::registry::SlotDef = component.ty.slots().get(index)?;
        let attributes = component.attributes.get(&definition.name);
        let content = match &definition.kind {
            SlotKind::Property { .. } => {
                SlotContent::Property(self.property(component, &definition.name)?)
            }
            SlotKind::Child { .. } => SlotContent::Child(component.child(&definition.name)?),
            SlotKind::Action(action) => SlotContent::Action(action),
            SlotKind::Topic { event } => SlotContent::Topic(*event),
        };
        Some(SlotView {
            name: &definition.name,
            frozen: true,
            flags: component.flags_of(&definition.name, definition.flags),
            facets: attributes
                .and_then(|a| a.facets.as_deref())
                .or(definition.facets.as_deref()),
            content,
            definition: Some(definition),
            own_display_name: attributes.and_then(|a| a.display_name.as_deref()),
        })
    }

    fn dynamic_slot<'a>(&'a self, component: &'a Component, name: &str) -> Option<SlotView<'a>> {
        let (name, slot) = component.dynamic.get_key_value(name)?;
        let content = match &slot.content {
            DynamicContent::Property(_) => SlotContent::Property(self.property(component, name)?),
            DynamicContent::Child(child) => SlotContent::Child(*child),
        };
        let attributes = component.attributes.get(name);
        Some(SlotView {
            name,
            frozen: false,
            flags: component.flags_of(name, slot.flags),
            facets: attributes
                .and_then(|a| a.facets.as_deref())
                .or(slot.facets.as_deref()),
            content,
            definition: None,
            own_display_name: attributes.and_then(|a| a.display_name.as_deref()),
        })
    }

    /// The present value of a property, computed where the station computes it.
    fn property<'a>(&'a self, component: &'a Component, name: &str) -> Option<Cow<'a, Value>> {
        match name {
            "out" if component.feed.is_some() => {
                if let Some(kind) = component
                    .ty
                    .point_kind()
                    .or_else(|| schedule::kind(component.ty))
                {
                    let value = if component.ty.is_writable_point() {
                        Some(point::arbitrate(component, kind, self.now))
                    } else {
                        point::fed_value(component, kind, self.now)
                    };
                    return value.map(Cow::Owned);
                }
            }
            point::FED_INPUT if component.feed.is_some() && component.ty.is_writable_point() => {
                if let Some(kind) = component.ty.point_kind()
                    && let Some(value) = point::fed_input(component, kind, self.now)
                {
                    return Some(Cow::Owned(value));
                }
            }
            "status" | "readValue" | "faultCause" if component.ty.is("driver:ProxyExt") => {
                if let Some(value) = self.proxy_property(component, name) {
                    return Some(Cow::Owned(value));
                }
            }
            _ => {}
        }
        component.stored(name).map(Cow::Borrowed)
    }

    /// The value at a `/`-separated path of slot and struct members, e.g. `out/value`; it may pass through child components.
    pub fn value(&self, handle: Handle, path: &str) -> Option<Value> {
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        match self.slot(handle, first)?.content {
            SlotContent::Property(value) if rest.is_empty() => Some(value.into_owned()),
            SlotContent::Property(value) => value.member(rest).cloned(),
            SlotContent::Child(child) if !rest.is_empty() => self.value(child, rest),
            _ => None,
        }
    }

    /// The value facets of a component: its `facets` property, empty if it has none.
    pub fn facets(&self, handle: Handle) -> Arc<Facets> {
        match self
            .component(handle)
            .and_then(|component| component.stored("facets"))
        {
            Some(Value::Facets(facets)) => facets.clone(),
            _ => Arc::new(Facets::new()),
        }
    }

    /// The category mask of a component, its nearest ancestor's if it has none of its own.
    pub fn categories(&self, handle: Handle) -> u64 {
        let mut at = self.component(handle);
        while let Some(component) = at {
            if let Some(mask) = component.categories {
                return mask;
            }
            at = component.parent.and_then(|parent| self.component(parent));
        }
        1
    }

    /// What `user` may do with a component: the union over its categories; ancestors of readable components can be read.
    pub fn permissions(&self, user: &User, handle: Handle) -> Permissions {
        let Some(component) = self.component(handle) else {
            return Permissions::NONE;
        };
        let granted = self.users.permissions(user, self.categories(handle));
        if granted.can_read() {
            return granted;
        }
        match self
            .users
            .permissions(user, component.categories_below)
            .can_read()
        {
            true => granted | Permissions::OPERATOR_READ,
            false => granted,
        }
    }

    /// Whether `user` may see a component at all.
    pub fn can_read(&self, user: &User, handle: Handle) -> bool {
        self.permissions(user, handle).can_read()
    }

    /// The permission bit that reading, writing or invoking a slot of these flags needs.
    pub fn needed(flags: super::flags::Flags, operation: Operation) -> Permissions {
        let operator = flags.contains(super::flags::Flags::OPERATOR);
        match (operation, operator) {
            (Operation::Read, true) => Permissions::OPERATOR_READ,
            (Operation::Read, false) => Permissions::ADMIN_READ,
            (Operation::Write, true) => Permissions::OPERATOR_WRITE,
            (Operation::Write, false) => Permissions::ADMIN_WRITE,
            (Operation::Invoke, true) => Permissions::OPERATOR_INVOKE,
            (Operation::Invoke, false) => Permissions::ADMIN_INVOKE,
        }
    }

    /// The first service of that type under `Services`.
    pub fn service(&self, spec: &str) -> Option<Handle> {
        let services = self.component(self.root)?.child("Services")?;
        self.descendants(services)
            .find(|component| component.ty.is(spec))
            .map(Component::handle)
    }

    /// Moves the station to `now`: override expiry, time components, fed sources of links, subscriptions.
    pub fn tick(&mut self, now: DateTime<Utc>) {
        let now = now.trunc_subsecs(0);
        if now == self.now {
            return;
        }
        self.now = now;
        self.expire_overrides();
        self.do_due_actions();
        let timed: Vec<Handle> = self.timed.iter().copied().collect();
        for handle in timed {
            self.reevaluate(handle);
        }
        for source in self.links.fed_sources(self) {
            self.propagate_from(source);
        }
        self.report_watched();
    }
}

/// What a user wants to do with a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Read,
    Write,
    Invoke,
}

/// Walk over a subtree, see [`Station::descendants`].
pub struct Descendants<'a> {
    station: &'a Station,
    pending: Vec<Handle>,
    stop: Option<&'a dyn Fn(&Component) -> bool>,
}

impl<'a> Iterator for Descendants<'a> {
    type Item = &'a Component;

    fn next(&mut self) -> Option<&'a Component> {
        loop {
            let Some(component) = self.station.component(self.pending.pop()?) else {
                continue;
            };
            if !self.stop.is_some_and(|stop| stop(component)) {
                let first = self.pending.len();
                self.pending.extend(component.children());
                self.pending[first..].reverse();
            }
            return Some(component);
        }
    }
}
