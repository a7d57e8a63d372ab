//! Changes of the tree: add, remove, rename, reorder (Station web specification §4.6 and §8).

use super::changes::ChangeEvent;
use super::component::{Component, DynamicContent, DynamicSlot, Handle};
use super::error::ModelError;
use super::facets::Facets;
use super::flags::Flags;
use super::registry;
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
        self.follow_schedule(parent);
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
        self.check_value(parent, &value)?;
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
                if self
                    .component(child)
                    .is_some_and(|child| child.ty.is("baja:User"))
                {
                    self.users.remove_user(&slot_name::unescape(name));
                }
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
        self.follow_schedule(parent);
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

    pub(super) fn no_slot(&self, handle: Handle, slot: &str) -> ModelError {
        ModelError::NoSuchSlot {
            component: self.slot_path(handle),
            slot: slot.to_owned(),
        }
    }

    pub(super) fn frozen(&self, handle: Handle, slot: &str) -> ModelError {
        ModelError::Frozen {
            component: self.slot_path(handle),
            slot: slot.to_owned(),
        }
    }
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
    fn a_status_with_facets_is_not_added() {
        let (mut station, folder) = station();
        let plain = Value::status_numeric(1.0, Status::ok());
        let levelled = Value::status_numeric(1.0, crate::model::point::status_at_level(0, 8));
        assert!(
            station
                .add_value(folder, Some("a"), plain, Flags::NONE, None)
                .is_ok()
        );
        let error = station
            .add_value(folder, Some("b"), levelled, Flags::NONE, None)
            .unwrap_err();
        assert!(
            error.to_string().contains("status carries facets"),
            "{error}"
        );
        assert!(station.slot(folder, "b").is_none());
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
}
