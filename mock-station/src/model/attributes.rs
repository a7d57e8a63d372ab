//! Attributes of slots and components: flags, facets, display names, categories.

use super::changes::ChangeEvent;
use super::component::{Component, Handle, SlotAttributes};
use super::error::ModelError;
use super::facets::Facets;
use super::flags::Flags;
use super::station::Station;
use std::sync::Arc;

impl Station {
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

    /// Tells every ancestor which categories lie below it. Inheriting components add nothing: their mask is that of the
    /// nearest ancestor with one, which marks its own ancestors.
    pub(super) fn mark_categories_above(&mut self, handle: Handle, mask: u64) {
        let mut at = self.parent(handle);
        while let Some(component) = at.and_then(|handle| self.component_mut(handle)) {
            if component.categories_below & mask == mask {
                break;
            }
            component.categories_below |= mask;
            at = component.parent;
        }
    }

    pub(super) fn rebuild_category_marks(&mut self) {
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
}
