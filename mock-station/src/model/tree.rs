//! Changes of the tree: add, remove, rename, reorder, set, flags, facets (Station web specification §4.6 and §8).

use super::changes::ChangeEvent;
use super::component::{
    Component, DynamicContent, DynamicSlot, Handle, SlotAttributes, SlotContent,
};
use super::enums::DynamicEnum;
use super::error::ModelError;
use super::facets::Facets;
use super::flags::Flags;
use super::link::LinkEnds;
use super::point;
use super::registry::{self, SlotKind, TypeDef};
use super::slot_name;
use super::station::Station;
use super::value::Value;
use std::sync::Arc;

impl Station {
    /// Adds a component of type `spec` under `parent`; a taken name gets the first free number from 1 appended, no name means the type's.
    pub fn add(
        &mut self,
        parent: Handle,
        name: Option<&str>,
        spec: &str,
    ) -> Result<Handle, ModelError> {
        let ty = registry::find(spec).ok_or_else(|| ModelError::UnknownType {
            spec: spec.to_owned(),
        })?;
        if ty.is_abstract() || ty.is_interface() || !ty.is_component() {
            return Err(ModelError::NotCreatable {
                spec: spec.to_owned(),
            });
        }
        self.check_child(parent, ty)?;
        let name = self.free_name(parent, name.unwrap_or(ty.type_name()))?;
        let handle = self.mount(Some(parent), name.clone(), ty);
        let slot = DynamicSlot {
            content: DynamicContent::Child(handle),
            flags: Flags::NONE,
            facets: None,
        };
        if let Some(component) = self.component_mut(parent) {
            component.dynamic.insert(name.clone(), slot);
        }
        self.changes.record(
            parent,
            ChangeEvent::Added {
                slot: name,
                child: Some(handle),
            },
        );
        self.reevaluate(handle);
        Ok(handle)
    }

    /// Adds a dynamic property; the name is made free as in [`Station::add`] and returned. A link value starts to propagate.
    pub fn add_value(
        &mut self,
        parent: Handle,
        name: Option<&str>,
        value: Value,
        flags: Flags,
        facets: Option<Facets>,
    ) -> Result<Arc<str>, ModelError> {
        self.expect(parent)?;
        let wanted = name.unwrap_or_else(|| value.type_spec().split(':').nth(1).unwrap_or("slot"));
        let ends = match self.link_ends(parent, &value) {
            Some(ends) => Some(self.check_link_ends(ends?)?),
            None => None,
        };
        let name = self.free_name(parent, wanted)?;
        let slot = DynamicSlot {
            content: DynamicContent::Property(value),
            flags,
            facets: facets.filter(|f| !f.is_empty()).map(Arc::new),
        };
        if let Some(component) = self.component_mut(parent) {
            component.dynamic.insert(name.clone(), slot);
        }
        self.changes.record(
            parent,
            ChangeEvent::Added {
                slot: name.clone(),
                child: None,
            },
        );
        if let Some(ends) = ends {
            self.connect(name.clone(), ends);
        }
        Ok(name)
    }

    /// Removes a dynamic slot; a child component goes with everything below it and all links from and to it.
    pub fn remove(&mut self, parent: Handle, name: &str) -> Result<(), ModelError> {
        let component = self.expect(parent)?;
        if component.ty.slot_index(name).is_some() {
            return Err(self.frozen(parent, name));
        }
        let slot = component
            .dynamic
            .get(name)
            .ok_or_else(|| self.no_slot(parent, name))?
            .clone();
        let child = match &slot.content {
            DynamicContent::Child(child) => Some(*child),
            DynamicContent::Property(_) => None,
        };
        match child {
            Some(child) => {
                let doomed: Vec<Handle> = self.descendants(child).map(Component::handle).collect();
                self.cut_links_of(&doomed);
                for handle in doomed {
                    self.unmount(handle);
                }
            }
            None => self.disconnect(parent, name),
        }
        if let Some(component) = self.component_mut(parent) {
            component.dynamic.shift_remove(name);
            component.attributes.remove(name);
        }
        self.rebuild_category_marks();
        self.changes.record(
            parent,
            ChangeEvent::Removed {
                slot: name.into(),
                child,
            },
        );
        Ok(())
    }

    /// Removes a component from its parent.
    pub fn remove_component(&mut self, handle: Handle) -> Result<(), ModelError> {
        let component = self.expect(handle)?;
        let name = component.name.clone();
        match component.parent {
            Some(parent) => self.remove(parent, &name),
            None => Err(self.frozen(handle, "")),
        }
    }

    /// Renames a dynamic slot; the new name must be free and legal.
    pub fn rename(&mut self, parent: Handle, old: &str, new: &str) -> Result<(), ModelError> {
        let component = self.expect(parent)?;
        if component.ty.slot_index(old).is_some() {
            return Err(self.frozen(parent, old));
        }
        let position = component
            .dynamic
            .get_index_of(old)
            .ok_or_else(|| self.no_slot(parent, old))?;
        if !slot_name::is_legal(new) {
            return Err(ModelError::IllegalName {
                name: new.to_owned(),
            });
        }
        if self.slot(parent, new).is_some() {
            return Err(ModelError::DuplicateName {
                component: self.slot_path(parent),
                slot: new.to_owned(),
            });
        }
        let new_name: Arc<str> = new.into();
        let Some(component) = self.component_mut(parent) else {
            return Ok(());
        };
        let Some((old_name, slot)) = component.dynamic.shift_remove_index(position) else {
            return Ok(());
        };
        let child = match &slot.content {
            DynamicContent::Child(child) => Some(*child),
            DynamicContent::Property(_) => None,
        };
        component
            .dynamic
            .shift_insert(position, new_name.clone(), slot);
        if let Some(attributes) = component.attributes.remove(&old_name) {
            component.attributes.insert(new_name.clone(), attributes);
        }
        if let Some(child) = child.and_then(|child| self.component_mut(child)) {
            child.name = new_name.clone();
        }
        self.links.rename_slot(parent, &old_name, &new_name);
        self.changes.record(
            parent,
            ChangeEvent::Renamed {
                old: old_name,
                new: new_name,
            },
        );
        Ok(())
    }

    /// Puts the dynamic slots into this order; it must name each of them once.
    pub fn reorder(&mut self, parent: Handle, order: &[&str]) -> Result<(), ModelError> {
        let component = self.expect(parent)?;
        let mut named: Vec<&str> = order.to_vec();
        named.sort_unstable();
        named.dedup();
        if let Some(unknown) = order
            .iter()
            .find(|name| !component.dynamic.contains_key(**name))
        {
            return Err(self.no_slot(parent, unknown));
        }
        if let Some(missing) = component
            .dynamic
            .keys()
            .find(|name| named.binary_search(&&***name).is_err())
        {
            return Err(self.no_slot(parent, &format!("{missing} in the new order")));
        }
        if let Some(component) = self.component_mut(parent) {
            component
                .dynamic
                .sort_by_cached_key(|name, _| order.iter().position(|wanted| *wanted == &**name));
        }
        self.changes.record(parent, ChangeEvent::Reordered);
        Ok(())
    }

    /// Sets a property, or a struct member by `a/b` path; the value must have the slot's type. Read-only slots are set too:
    /// who may write what is decided in [`acting`](super::acting).
    pub fn set(&mut self, handle: Handle, path: &str, value: Value) -> Result<(), ModelError> {
        self.expect(handle)?;
        let (name, rest) = path.split_once('/').unwrap_or((path, ""));
        let slot = self
            .slot(handle, name)
            .ok_or_else(|| self.no_slot(handle, name))?;
        let frozen = slot.frozen;
        let current = match slot.content {
            SlotContent::Property(value) => value.into_owned(),
            SlotContent::Child(child) if !rest.is_empty() => return self.set(child, rest, value),
            _ => return Err(self.no_slot(handle, name)),
        };
        let value = match rest.is_empty() {
            // A dynamic slot may change its type, a frozen one may not.
            true if !frozen && !current.type_spec().starts_with("baja:Status") => value,
            true => self.fit(handle, name, &current, value)?,
            false => {
                let mut whole = current.clone();
                let member =
                    member_mut(&mut whole, rest).ok_or_else(|| self.no_slot(handle, path))?;
                let old = member.clone();
                *member = self.fit(handle, path, &old, value)?;
                whole
            }
        };
        self.store_and_react(handle, name, value);
        Ok(())
    }

    pub(super) fn store_and_react(&mut self, handle: Handle, name: &str, value: Value) {
        let was_link = self.links.is_link_slot(handle, name);
        let Some(component) = self.component_mut(handle) else {
            return;
        };
        if let Some(level) = point::input_level(name) {
            component.commanded.set(level, false);
        }
        let same = component
            .stored(name)
            .is_some_and(|old| old.same_as(&value));
        component.store(name, value.clone());
        if !same {
            self.changes
                .record(handle, ChangeEvent::Set { slot: name.into() });
        }
        if was_link {
            self.disconnect(handle, name);
        }
        if let Some(Ok(ends)) = self.link_ends(handle, &value) {
            self.connect(name.into(), ends);
        }
        if !same {
            self.follow_links(handle, name);
            self.reevaluate(handle);
        }
    }

    /// Makes `value` fit the type of `current`, or says why it cannot.
    fn fit(
        &self,
        handle: Handle,
        slot: &str,
        current: &Value,
        value: Value,
    ) -> Result<Value, ModelError> {
        let mismatch = |found: &Value| ModelError::TypeMismatch {
            component: self.slot_path(handle),
            slot: slot.to_owned(),
            expected: current.type_spec().to_owned(),
            found: found.type_spec().to_owned(),
        };
        if current.type_spec() == value.type_spec() {
            return Ok(match (current, value) {
                (Value::Struct(old), Value::Struct(new)) => {
                    // Members the writer left out keep what they held: a value-only write keeps the status.
                    let mut merged = old.clone();
                    for member in new.members {
                        merged.set(&member.name, member.value);
                    }
                    Value::Struct(merged)
                }
                (Value::DynamicEnum(old), Value::DynamicEnum(new)) if new.range.is_empty() => {
                    Value::DynamicEnum(DynamicEnum {
                        ordinal: new.ordinal,
                        range: old.range.clone(),
                    })
                }
                (_, value) => value,
            });
        }
        match (current, &value) {
            (Value::Struct(old), Value::Struct(new)) if new.ty.is_a(old.ty) => Ok(value),
            (Value::Double(_), Value::Integer(_) | Value::Long(_) | Value::Float(_)) => value
                .as_f64()
                .map(Value::Double)
                .ok_or_else(|| mismatch(&value)),
            _ => Err(mismatch(&value)),
        }
    }

    /// Puts a driver's proxy extension into the frozen `proxyExt` slot of a point.
    pub fn set_proxy_ext(&mut self, point: Handle, spec: &str) -> Result<Handle, ModelError> {
        let ty = registry::find(spec).ok_or_else(|| ModelError::UnknownType {
            spec: spec.to_owned(),
        })?;
        if ty.is_abstract() || !ty.is("control:AbstractProxyExt") {
            return Err(ModelError::NotCreatable {
                spec: spec.to_owned(),
            });
        }
        let component = self.expect(point)?;
        let (Some(index), Some(old)) = (
            component.ty.slot_index("proxyExt"),
            component.child("proxyExt"),
        ) else {
            return Err(self.no_slot(point, "proxyExt"));
        };
        self.cut_links_of(&[old]);
        self.unmount(old);
        let proxy = self.mount(Some(point), "proxyExt".into(), ty);
        if let Some(component) = self.component_mut(point) {
            for (place, child) in &mut component.frozen_children {
                if usize::from(*place) == index {
                    *child = proxy;
                }
            }
        }
        self.changes.record(
            point,
            ChangeEvent::Set {
                slot: "proxyExt".into(),
            },
        );
        Ok(proxy)
    }

    /// Replaces the flags of a slot.
    pub fn set_flags(
        &mut self,
        handle: Handle,
        slot: &str,
        flags: Flags,
    ) -> Result<(), ModelError> {
        self.attributes(handle, slot)?.flags = Some(flags);
        self.changes
            .record(handle, ChangeEvent::FlagsChanged { slot: slot.into() });
        Ok(())
    }

    /// Replaces the facets of a slot (not the `facets` property of a point).
    pub fn set_slot_facets(
        &mut self,
        handle: Handle,
        slot: &str,
        facets: Facets,
    ) -> Result<(), ModelError> {
        self.attributes(handle, slot)?.facets = Some(Arc::new(facets));
        self.changes
            .record(handle, ChangeEvent::FacetsChanged { slot: slot.into() });
        Ok(())
    }

    /// Gives a slot a display name; a component is named through its parent's slot.
    pub fn set_slot_display_name(
        &mut self,
        handle: Handle,
        slot: &str,
        text: &str,
    ) -> Result<(), ModelError> {
        self.attributes(handle, slot)?.display_name = Some(text.into());
        self.changes.record(
            handle,
            ChangeEvent::DisplayNameChanged { slot: slot.into() },
        );
        Ok(())
    }

    /// Gives a component a display name.
    pub fn set_display_name(&mut self, handle: Handle, text: &str) -> Result<(), ModelError> {
        let component = self.expect(handle)?;
        let name = component.name.clone();
        match component.parent {
            Some(parent) => self.set_slot_display_name(parent, &name, text),
            None => Err(self.frozen(handle, "")),
        }
    }

    /// Replaces the categories of a component: bit 0 is category 1; `None` inherits the parent's.
    pub fn set_categories(&mut self, handle: Handle, mask: Option<u64>) -> Result<(), ModelError> {
        let before = self.expect(handle)?.categories;
        if let Some(component) = self.component_mut(handle) {
            component.categories = mask;
        }
        match (before, mask) {
            (None, Some(mask)) => self.mark_categories_above(handle, mask),
            _ => self.rebuild_category_marks(),
        }
        Ok(())
    }

    fn attributes(
        &mut self,
        handle: Handle,
        slot: &str,
    ) -> Result<&mut SlotAttributes, ModelError> {
        if self.slot(handle, slot).is_none() {
            self.expect(handle)?;
            return Err(self.no_slot(handle, slot));
        }
        let component = self
            .component_mut(handle)
            .ok_or(ModelError::UnknownHandle { handle: handle.0 })?;
        Ok(component.attributes.entry(slot.into()).or_default())
    }

    /// What may live where: proxy extensions only in their frozen slot, point extensions only in points, devices only in networks.
    fn check_child(&self, parent: Handle, child: &'static TypeDef) -> Result<(), ModelError> {
        let parent_type = self.expect(parent)?.ty;
        let refuse = |reason| {
            Err(ModelError::IllegalChild {
                parent: parent_type.spec().to_owned(),
                child: child.spec().to_owned(),
                reason,
            })
        };
        if child.is("control:AbstractProxyExt") {
            return refuse("a point has its frozen proxyExt");
        }
        if child.is("control:PointExtension") && !parent_type.is("control:ControlPoint") {
            return refuse("point extensions belong into points");
        }
        if child.is("baja:Station") {
            return refuse("a station has one root");
        }
        if child.is("driver:DeviceNetwork")
            && !parent_type.is("driver:DriverContainer")
            && !parent_type.is("baja:Folder")
        {
            return refuse("networks belong into Drivers");
        }
        if child.is("driver:Device")
            && !parent_type.is("driver:DeviceNetwork")
            && !parent_type.is("driver:DeviceFolder")
        {
            return refuse("devices belong into a network");
        }
        if child.is("baja:User") && !parent_type.is("baja:UserService") {
            return refuse("users belong into the UserService");
        }
        Ok(())
    }

    fn free_name(&self, parent: Handle, wanted: &str) -> Result<Arc<str>, ModelError> {
        let wanted = wanted.trim_end_matches('?');
        if !slot_name::is_legal(wanted) {
            return Err(ModelError::IllegalName {
                name: wanted.to_owned(),
            });
        }
        let component = self.expect(parent)?;
        let taken = |name: &str| {
            component.ty.slot_index(name).is_some() || component.dynamic.contains_key(name)
        };
        if !taken(wanted) {
            return Ok(wanted.into());
        }
        let mut number = 1_u32;
        loop {
            let name = format!("{wanted}{number}");
            if !taken(&name) {
                return Ok(name.into());
            }
            number += 1;
        }
    }

    /// Tells every ancestor which categories lie below it. Inheriting components add nothing: their mask is that of the
    /// nearest ancestor with one, which marks its own ancestors.
    fn mark_categories_above(&mut self, handle: Handle, mask: u64) {
        let mut at = self.parent(handle);
        while let Some(component) = at.and_then(|handle| self.component_mut(handle)) {
            if component.categories_below & mask == mask {
                break;
            }
            component.categories_below |= mask;
            at = component.parent;
        }
    }

    fn rebuild_category_marks(&mut self) {
        let all: Vec<Handle> = self
            .descendants(self.root())
            .map(Component::handle)
            .collect();
        for handle in &all {
            if let Some(component) = self.component_mut(*handle) {
                component.categories_below = 0;
            }
        }
        for handle in all {
            if let Some(mask) = self.component(handle).and_then(Component::own_categories) {
                self.mark_categories_above(handle, mask);
            }
        }
    }

    pub(super) fn no_slot(&self, handle: Handle, slot: &str) -> ModelError {
        ModelError::NoSuchSlot {
            component: self.slot_path(handle),
            slot: slot.to_owned(),
        }
    }

    fn frozen(&self, handle: Handle, slot: &str) -> ModelError {
        ModelError::Frozen {
            component: self.slot_path(handle),
            slot: slot.to_owned(),
        }
    }

    /// The type a property slot takes, also when it is unset.
    pub fn property_type(&self, handle: Handle, slot: &str) -> Option<&'static TypeDef> {
        let view = self.slot(handle, slot)?;
        match view.definition.map(|definition| &definition.kind) {
            Some(SlotKind::Property { ty, .. }) => Some(ty),
            Some(_) => None,
            None => view
                .value()
                .and_then(|value| registry::find(value.type_spec())),
        }
    }

    pub(super) fn check_link_ends(&self, ends: LinkEnds) -> Result<LinkEnds, ModelError> {
        let illegal = |reason: String| Err(ModelError::IllegalLink { reason });
        if self.slot(ends.source, &ends.source_slot).is_none() {
            return illegal(format!(
                "source {} has no slot {}",
                self.slot_path(ends.source),
                ends.source_slot
            ));
        }
        if self.slot(ends.target, &ends.target_slot).is_none() {
            return illegal(format!(
                "target {} has no slot {}",
                self.slot_path(ends.target),
                ends.target_slot
            ));
        }
        Ok(ends)
    }
}

fn member_mut<'a>(value: &'a mut Value, path: &str) -> Option<&'a mut Value> {
    path.split('/').try_fold(value, |value, step| match value {
        Value::Struct(body) => body.get_mut(step),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::status::Status;
    use chrono::{TimeZone, Utc};

    fn station() -> (Station, Handle) {
        let now = Utc.with_ymd_and_hms(2026, 3, 10, 10, 0, 0).unwrap();
        let mut station = Station::new("T", chrono_tz::Tz::UTC, now);
        let folder = station
            .add(station.root(), Some("Folder"), "baja:Folder")
            .unwrap();
        (station, folder)
    }

    fn names(station: &Station, handle: Handle) -> Vec<String> {
        station
            .children(handle)
            .map(|child| child.name().to_owned())
            .collect()
    }

    #[test]
    fn a_taken_name_gets_the_next_free_number() {
        let (mut station, folder) = station();
        for _ in 0..3 {
            station.add(folder, Some("Dup"), "baja:Folder").unwrap();
        }
        station.remove(folder, "Dup1").unwrap();
        station.add(folder, Some("Dup"), "baja:Folder").unwrap();
        assert_eq!(names(&station, folder), ["Dup", "Dup2", "Dup1"]);
        let nameless = station.add(folder, None, "control:NumericPoint").unwrap();
        assert_eq!(station.slot_path(nameless), "slot:/Folder/NumericPoint");
    }

    #[test]
    fn illegal_children_types_and_names_are_refused() {
        let (mut station, folder) = station();
        let point = station
            .add(folder, Some("P"), "control:NumericWritable")
            .unwrap();
        for (parent, name, spec, words) in [
            (
                point,
                "x",
                "bacnet:BacnetNumericProxyExt",
                "frozen proxyExt",
            ),
            (
                folder,
                "x",
                "history:NumericCovHistoryExt",
                "belong into points",
            ),
            (folder, "x", "bacnet:BacnetDevice", "belong into a network"),
            (folder, "x", "control:ControlPoint", "abstract"),
            (folder, "x", "baja:Double", "no component"),
            (folder, "x", "no:Such", "unknown type"),
            (folder, "a/b", "baja:Folder", "no legal slot name"),
            (folder, "1st", "baja:Folder", "no legal slot name"),
        ] {
            let error = station
                .add(parent, Some(name), spec)
                .unwrap_err()
                .to_string();
            assert!(error.contains(words), "{spec} {name}: {error}");
        }
        assert!(
            station
                .add(point, Some("x"), "history:NumericCovHistoryExt")
                .is_ok()
        );
    }

    #[test]
    fn frozen_slots_are_neither_renamed_nor_removed() {
        let (mut station, folder) = station();
        let point = station
            .add(folder, Some("P"), "control:NumericWritable")
            .unwrap();
        assert!(matches!(
            station.remove(point, "in10"),
            Err(ModelError::Frozen { .. })
        ));
        assert!(matches!(
            station.rename(point, "proxyExt", "x"),
            Err(ModelError::Frozen { .. })
        ));
        assert!(matches!(
            station.remove(folder, "Nothing"),
            Err(ModelError::NoSuchSlot { .. })
        ));
    }

    #[test]
    fn renaming_keeps_place_handle_and_display_name() {
        let (mut station, folder) = station();
        let a = station.add(folder, Some("A"), "baja:Folder").unwrap();
        station.add(folder, Some("B"), "baja:Folder").unwrap();
        station.set_display_name(a, "Erste").unwrap();
        station.rename(folder, "A", "Z").unwrap();
        assert_eq!(names(&station, folder), ["Z", "B"]);
        assert_eq!(station.resolve_component("slot:/Folder/Z"), Ok(a));
        assert_eq!(station.display_name(a), "Erste");
        assert!(matches!(
            station.rename(folder, "Z", "B"),
            Err(ModelError::DuplicateName { .. })
        ));
        station.reorder(folder, &["B", "Z"]).unwrap();
        assert_eq!(names(&station, folder), ["B", "Z"]);
        assert!(station.reorder(folder, &["B"]).is_err());
        assert!(station.reorder(folder, &["B", "Z", "Q"]).is_err());
    }

    #[test]
    fn removal_takes_the_subtree_and_its_handles() {
        let (mut station, folder) = station();
        let before = station.component_count();
        let a = station.add(folder, Some("A"), "baja:Folder").unwrap();
        let point = station
            .add(a, Some("P"), "control:NumericWritable")
            .unwrap();
        station.remove(folder, "A").unwrap();
        assert_eq!(station.component_count(), before);
        assert!(station.component(point).is_none());
        assert!(matches!(
            station.set(point, "in10/value", Value::Double(1.0)),
            Err(ModelError::UnknownHandle { .. })
        ));
    }

    #[test]
    fn a_value_of_the_wrong_type_is_refused_and_numbers_are_widened() {
        let (mut station, folder) = station();
        let ramp = station.add(folder, Some("R"), "kitControl:Ramp").unwrap();
        station.set(ramp, "amplitude", Value::Integer(3)).unwrap();
        assert_eq!(station.value(ramp, "amplitude"), Some(Value::Double(3.0)));
        let error = station
            .set(ramp, "amplitude", Value::from("3"))
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "slot:/Folder/R/amplitude holds baja:Double, not baja:String"
        );
        assert!(station.set(ramp, "nothing", Value::Boolean(true)).is_err());
        assert!(
            station
                .set(ramp, "out/nothing", Value::Boolean(true))
                .is_err()
        );
    }

    #[test]
    fn only_real_changes_are_logged() {
        let (mut station, folder) = station();
        let point = station
            .add(folder, Some("P"), "control:NumericWritable")
            .unwrap();
        let before = station.changes().revision();
        station
            .set(point, "in16", Value::status_numeric(3.0, Status::ok()))
            .unwrap();
        station
            .set(point, "in16", Value::status_numeric(3.0, Status::ok()))
            .unwrap();
        let slots: Vec<String> = station
            .changes()
            .since(before)
            .unwrap()
            .map(|change| match &change.event {
                ChangeEvent::Set { slot } => format!("{:?}/{slot}", change.handle == point),
                other => format!("{other:?}"),
            })
            .collect();
        assert_eq!(slots, ["true/in16", "true/out"]);
    }

    #[test]
    fn unset_slots_read_their_default() {
        let (mut station, folder) = station();
        let point = station
            .add(folder, Some("P"), "control:NumericWritable")
            .unwrap();
        let slot = |station: &Station, name: &str| station.slot(point, name).unwrap().is_default();
        assert!(slot(&station, "in5") && slot(&station, "facets"));
        station
            .set(point, "in5", Value::status_numeric(0.0, Status::ok()))
            .unwrap();
        assert!(!slot(&station, "in5"));
        station
            .set(point, "in5", Value::status_numeric(0.0, Status::null()))
            .unwrap();
        assert!(slot(&station, "in5"));
        let names: Vec<String> = station
            .slots(point)
            .iter()
            .map(|slot| slot.name.to_owned())
            .collect();
        assert_eq!(names[..4], ["facets", "proxyExt", "out", "in1"]);
        assert_eq!(names.last().map(String::as_str), Some("set"));
    }
}
