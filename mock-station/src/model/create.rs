//! Components that come with their first properties, as one operation.

use super::audit::AuditOperation;
use super::component::{Handle, SlotContent};
use super::error::ModelError;
use super::facets::Facets;
use super::flags::Flags;
use super::permissions::Permissions;
use super::registry::TypeDef;
use super::station::{Operation, Station};
use super::value::Value;

/// A component that is not mounted yet.
#[derive(Clone, Debug)]
pub struct NewComponent {
    pub ty: &'static TypeDef,
    pub properties: Vec<NewProperty>,
}

/// A property of a new component: one that its type declares, or a dynamic one.
#[derive(Clone, Debug)]
pub struct NewProperty {
    pub name: String,
    /// A struct may leave members out.
    pub value: Value,
    pub flags: Option<Flags>,
    pub facets: Option<Facets>,
}

/// How the slot of an added value or component is marked.
#[derive(Clone, Debug, Default)]
pub struct SlotMarks {
    pub flags: Option<Flags>,
    pub facets: Option<Facets>,
}

impl Station {
    /// Adds a component with its properties as `user`: needs admin write on the parent. A taken name is made free as in
    /// [`Station::add`].
    ///
    /// # Errors
    /// When the user may not, or any part does not fit; then nothing was added.
    pub fn create_as(
        &mut self,
        user: &str,
        parent: Handle,
        name: Option<&str>,
        new: NewComponent,
        marks: SlotMarks,
    ) -> Result<Handle, ModelError> {
        self.demand(user, parent, Permissions::ADMIN_WRITE)?;
        let spec = new.ty.spec();
        let handle = self.add(parent, name, spec)?;
        if let Err(error) = self.furnish(handle, new) {
            self.remove_component(handle)?;
            return Err(error);
        }
        let name = self.mark_slot_of(handle, marks)?;
        self.note(
            user,
            AuditOperation::Added,
            parent,
            &name,
            String::new(),
            spec.to_owned(),
        );
        Ok(handle)
    }

    /// Puts a new component with its properties into a frozen child slot as `user`, who needs write on the slot.
    ///
    /// # Errors
    /// When the user may not, the slot is no frozen child slot or declared for another type, or a property does not fit.
    pub fn replace_as(
        &mut self,
        user: &str,
        parent: Handle,
        slot: &str,
        new: NewComponent,
    ) -> Result<Handle, ModelError> {
        let view = self
            .slot(parent, slot)
            .ok_or_else(|| self.no_slot(parent, slot))?;
        let flags = view.flags;
        let old = match view.content {
            SlotContent::Child(child) => self.component(child).map(|child| child.ty().spec()),
            _ => return Err(self.no_slot(parent, slot)),
        };
        self.demand(user, parent, Self::needed(flags, Operation::Write))?;
        let spec = new.ty.spec();
        let handle = self.replace_frozen_child(parent, slot, spec)?;
        self.furnish(handle, new)?;
        self.note(
            user,
            AuditOperation::Changed,
            parent,
            slot,
            old.unwrap_or_default().to_owned(),
            spec.to_owned(),
        );
        Ok(handle)
    }

    fn furnish(&mut self, handle: Handle, new: NewComponent) -> Result<(), ModelError> {
        for property in new.properties {
            let name = property.name.as_str();
            if self.slot(handle, name).is_some() {
                self.set(handle, name, property.value)?;
                if let Some(flags) = property.flags {
                    self.set_flags(handle, name, flags)?;
                }
                if let Some(facets) = property.facets {
                    self.set_slot_facets(handle, name, facets)?;
                }
            } else {
                let flags = property.flags.unwrap_or(Flags::NONE);
                let value = property.value.completed();
                self.add_value(handle, Some(name), value, flags, property.facets)?;
            }
        }
        Ok(())
    }

    /// Marks the slot that holds a component; gives the slot's name.
    fn mark_slot_of(&mut self, handle: Handle, marks: SlotMarks) -> Result<String, ModelError> {
        let component = self.expect(handle)?;
        let (parent, name) = (component.parent(), component.name().to_owned());
        if let Some(parent) = parent {
            if let Some(flags) = marks.flags {
                self.set_flags(parent, &name, flags)?;
            }
            if let Some(facets) = marks.facets {
                self.set_slot_facets(parent, &name, facets)?;
            }
        }
        Ok(name)
    }
}
