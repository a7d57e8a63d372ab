//! Operations in the name of a user: permissions first, then the change, then the audit entry.

use super::audit::{AuditEntry, AuditOperation};
use super::component::{Handle, SlotContent};
use super::error::ModelError;
use super::facets::Facets;
use super::flags::Flags;
use super::permissions::Permissions;
use super::station::{Operation, Station};
use super::value::Value;
use std::sync::Arc;

impl Station {
    /// [`Station::set`] as `user`; read-only slots are refused.
    pub fn set_as(
        &mut self,
        user: &str,
        handle: Handle,
        path: &str,
        value: Value,
    ) -> Result<(), ModelError> {
        let name = path.split('/').next().unwrap_or(path);
        let slot = self
            .slot(handle, name)
            .ok_or_else(|| self.no_slot(handle, name))?;
        let flags = slot.flags;
        self.demand(user, handle, Self::needed(flags, Operation::Write))?;
        if flags.contains(Flags::READONLY) {
            return Err(ModelError::ReadOnly {
                component: self.slot_path(handle),
                slot: path.to_owned(),
            });
        }
        let old = self
            .value(handle, path)
            .map(|value| value_text(&value))
            .unwrap_or_default();
        let new = value_text(&value);
        self.set(handle, path, value)?;
        self.note(user, AuditOperation::Changed, handle, path, old, new);
        Ok(())
    }

    /// [`Station::add`] as `user`: needs admin write on the parent.
    pub fn add_as(
        &mut self,
        user: &str,
        parent: Handle,
        name: Option<&str>,
        spec: &str,
    ) -> Result<Handle, ModelError> {
        self.demand(user, parent, Permissions::ADMIN_WRITE)?;
        let handle = self.add(parent, name, spec)?;
        let added = self
            .component(handle)
            .map(|component| component.name().to_owned())
            .unwrap_or_default();
        self.note(
            user,
            AuditOperation::Added,
            parent,
            &added,
            String::new(),
            spec.to_owned(),
        );
        Ok(handle)
    }

    /// [`Station::add_value`] as `user`: needs admin write on the parent.
    pub fn add_value_as(
        &mut self,
        user: &str,
        parent: Handle,
        name: Option<&str>,
        value: Value,
        flags: Flags,
        facets: Option<Facets>,
    ) -> Result<Arc<str>, ModelError> {
        self.demand(user, parent, Permissions::ADMIN_WRITE)?;
        let text = value_text(&value);
        let name = self.add_value(parent, name, value, flags, facets)?;
        self.note(
            user,
            AuditOperation::Added,
            parent,
            &name,
            String::new(),
            text,
        );
        Ok(name)
    }

    /// [`Station::remove`] as `user`: needs admin write on the parent.
    pub fn remove_as(&mut self, user: &str, parent: Handle, name: &str) -> Result<(), ModelError> {
        self.demand(user, parent, Permissions::ADMIN_WRITE)?;
        self.remove(parent, name)?;
        self.note(
            user,
            AuditOperation::Removed,
            parent,
            name,
            String::new(),
            String::new(),
        );
        Ok(())
    }

    /// [`Station::rename`] as `user`: needs admin write on the parent.
    pub fn rename_as(
        &mut self,
        user: &str,
        parent: Handle,
        old: &str,
        new: &str,
    ) -> Result<(), ModelError> {
        self.demand(user, parent, Permissions::ADMIN_WRITE)?;
        self.rename(parent, old, new)?;
        self.note(
            user,
            AuditOperation::Renamed,
            parent,
            old,
            old.to_owned(),
            new.to_owned(),
        );
        Ok(())
    }

    /// [`Station::reorder`] as `user`: needs admin write on the parent.
    pub fn reorder_as(
        &mut self,
        user: &str,
        parent: Handle,
        order: &[&str],
    ) -> Result<(), ModelError> {
        self.demand(user, parent, Permissions::ADMIN_WRITE)?;
        self.reorder(parent, order)?;
        self.note(
            user,
            AuditOperation::Reordered,
            parent,
            "",
            String::new(),
            order.join(";"),
        );
        Ok(())
    }

    /// [`Station::set_flags`] as `user`: needs admin write.
    pub fn set_flags_as(
        &mut self,
        user: &str,
        handle: Handle,
        slot: &str,
        flags: Flags,
    ) -> Result<(), ModelError> {
        self.demand(user, handle, Permissions::ADMIN_WRITE)?;
        let old = self
            .slot(handle, slot)
            .map(|slot| slot.flags.encode())
            .unwrap_or_default();
        self.set_flags(handle, slot, flags)?;
        self.note(
            user,
            AuditOperation::FlagsChanged,
            handle,
            slot,
            old,
            flags.encode(),
        );
        Ok(())
    }

    /// [`Station::set_slot_facets`] as `user`: needs admin write.
    pub fn set_slot_facets_as(
        &mut self,
        user: &str,
        handle: Handle,
        slot: &str,
        facets: Facets,
    ) -> Result<(), ModelError> {
        self.demand(user, handle, Permissions::ADMIN_WRITE)?;
        let old = self
            .slot(handle, slot)
            .and_then(|slot| slot.facets.map(Facets::encode))
            .unwrap_or_default();
        let new = facets.encode();
        self.set_slot_facets(handle, slot, facets)?;
        self.note(user, AuditOperation::FacetsChanged, handle, slot, old, new);
        Ok(())
    }

    /// [`Station::invoke`] as `user`: operator invoke for operator actions, admin invoke for the others.
    pub fn invoke_as(
        &mut self,
        user: &str,
        handle: Handle,
        action: &str,
        argument: Option<Value>,
    ) -> Result<Option<Value>, ModelError> {
        self.expect(handle)?;
        let flags = match self.slot(handle, action) {
            Some(slot) if matches!(slot.content, SlotContent::Action(_)) => slot.flags,
            _ => {
                return Err(ModelError::NoSuchAction {
                    component: self.slot_path(handle),
                    action: action.to_owned(),
                });
            }
        };
        self.demand(user, handle, Self::needed(flags, Operation::Invoke))?;
        let text = argument.as_ref().map(value_text).unwrap_or_default();
        let result = self.invoke(handle, action, argument)?;
        self.note(
            user,
            AuditOperation::Invoked,
            handle,
            action,
            String::new(),
            text,
        );
        Ok(result)
    }

    /// Acknowledges an alarm as `user`: needs operator write on the alarm's class.
    pub fn acknowledge_as(&mut self, user: &str, uuid: &str) -> Result<(), ModelError> {
        let record = self
            .alarms
            .get(uuid)
            .ok_or_else(|| ModelError::UnknownAlarm {
                uuid: uuid.to_owned(),
            })?;
        let class = self.alarm_class(&record.alarm_class);
        let class = class
            .or_else(|| self.service("alarm:AlarmService"))
            .unwrap_or(self.root());
        self.demand(user, class, Permissions::OPERATOR_WRITE)?;
        let now = self.now();
        self.acknowledge_alarm(uuid, user)?;
        self.audit.record(AuditEntry {
            time: now,
            user: user.to_owned(),
            operation: AuditOperation::Acknowledged,
            component: None,
            target: uuid.to_owned(),
            slot: String::new(),
            old_value: String::new(),
            new_value: "acked".to_owned(),
        });
        Ok(())
    }

    /// The component of an alarm class by name.
    pub fn alarm_class(&self, name: &str) -> Option<Handle> {
        self.component(self.service("alarm:AlarmService")?)?
            .child(name)
    }

    /// Refuses unless `user` has all of `needed` on the component.
    pub fn demand(
        &self,
        user: &str,
        handle: Handle,
        needed: Permissions,
    ) -> Result<(), ModelError> {
        self.expect(handle)?;
        if self
            .permissions(self.users.require(user)?, handle)
            .contains(needed)
        {
            return Ok(());
        }
        Err(ModelError::PermissionDenied {
            user: user.to_owned(),
            needed: needed.encode(),
            component: self.slot_path(handle),
        })
    }

    fn note(
        &mut self,
        user: &str,
        operation: AuditOperation,
        handle: Handle,
        slot: &str,
        old: String,
        new: String,
    ) {
        let entry = AuditEntry {
            time: self.now(),
            user: user.to_owned(),
            operation,
            component: Some(handle),
            target: self.slot_path(handle),
            slot: slot.to_owned(),
            old_value: old,
            new_value: new,
        };
        self.audit.record(entry);
    }
}

/// Text of a value for the audit trail; structs list their members.
fn value_text(value: &Value) -> String {
    match value {
        Value::Struct(body) => {
            let members: Vec<String> = body
                .members
                .iter()
                .map(|member| format!("{}={}", member.name, value_text(&member.value)))
                .collect();
            members.join(",")
        }
        simple => simple.encode(),
    }
}
