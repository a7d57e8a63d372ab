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

    /// [`Station::invoke`] as `user`: operator invoke for operator actions, admin invoke for the others. Asynchronous actions
    /// answer nothing, whether they succeed or not, and are done [`Station::async_delay`] later.
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
        let result = if flags.contains(Flags::ASYNC) {
            let delay = self.async_delay;
            self.invoke_later(handle, action, argument, delay);
            None
        } else {
            self.invoke(handle, action, argument)?
        };
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

    pub(super) fn note(
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

#[cfg(test)]
mod tests {
    use super::super::accounts::{ADMIN, BRIDGE, OPERATOR, VIEWER};
    use super::super::sample;
    use super::super::status::Status;
    use super::*;
    use chrono::{TimeZone, Utc};

    fn station() -> (Station, Handle) {
        let station =
            sample::station(Utc.with_ymd_and_hms(2026, 3, 10, 10, 7, 30).unwrap()).unwrap();
        let setpoint = station
            .resolve_component("slot:/Drivers/BacnetNetwork/AHU_1/points/SupplyTempSp")
            .unwrap();
        (station, setpoint)
    }

    #[test]
    fn an_operator_commands_its_own_unit_and_the_trail_says_so() {
        let (mut station, setpoint) = station();
        station
            .invoke_as(OPERATOR.user, setpoint, "set", Some(Value::Double(18.0)))
            .unwrap();
        station
            .set_as(
                OPERATOR.user,
                setpoint,
                "in12",
                Value::status_numeric(17.0, Status::ok()),
            )
            .unwrap();
        let trail: Vec<(AuditOperation, &str, &str, &str)> = station
            .audit
            .of_user(OPERATOR.user)
            .map(|entry| {
                (
                    entry.operation,
                    entry.slot.as_str(),
                    entry.old_value.as_str(),
                    entry.new_value.as_str(),
                )
            })
            .collect();
        assert_eq!(
            trail,
            [
                (AuditOperation::Invoked, "set", "", "18.0"),
                (
                    AuditOperation::Changed,
                    "in12",
                    "value=0.0,status=40",
                    "value=17.0,status=0"
                ),
            ]
        );
    }

    #[test]
    fn refused_operations_change_nothing_and_leave_no_trail() {
        let (mut station, setpoint) = station();
        let sum = station.resolve_component("slot:/Logic/Sum").unwrap();
        let refused = [
            station
                .invoke_as(VIEWER.user, setpoint, "set", Some(Value::Double(1.0)))
                .err(),
            station
                .invoke_as(
                    OPERATOR.user,
                    setpoint,
                    "emergencyOverride",
                    Some(Value::Double(1.0)),
                )
                .err(),
            station
                .set_as(
                    OPERATOR.user,
                    sum,
                    "inC",
                    Value::status_numeric(1.0, Status::ok()),
                )
                .err(),
            station.add_as(BRIDGE.user, sum, None, "baja:Folder").err(),
            station
                .set_as(ADMIN.user, setpoint, "out/value", Value::Double(1.0))
                .err(),
            station
                .set_as("nobody", setpoint, "in12/value", Value::Double(1.0))
                .err(),
        ];
        let texts: Vec<String> = refused
            .iter()
            .map(|error| error.as_ref().unwrap().to_string())
            .collect();
        assert!(
            texts[0].contains("permission denied: viewer needs i on slot:/Drivers"),
            "{}",
            texts[0]
        );
        assert!(texts[1].contains("needs I"), "{}", texts[1]);
        assert!(texts[2].contains("needs W"), "{}", texts[2]);
        assert!(texts[3].contains("needs W"), "{}", texts[3]);
        assert!(texts[4].contains("read-only"), "{}", texts[4]);
        assert!(texts[5].contains("no user"), "{}", texts[5]);
        assert!(station.audit.entries().is_empty());
    }

    #[test]
    fn acknowledging_needs_write_on_the_alarm_class() {
        let (mut station, _) = station();
        let uuid = "5f2e6d3c-0000-4000-8000-000000000000";
        assert!(station.acknowledge_as(VIEWER.user, uuid).is_err());
        station.acknowledge_as(BRIDGE.user, uuid).unwrap();
        let record = station.alarms.get(uuid).unwrap();
        assert_eq!(
            (record.ack_state.tag(), record.user.as_str()),
            ("acked", "bridge")
        );
        let supply = station
            .resolve_component("slot:/Drivers/BacnetNetwork/AHU_1/points/SupplyTemp")
            .unwrap();
        assert_eq!(
            station.out(supply).unwrap().1.bits,
            Status::ALARM,
            "still in alarm, no longer unacknowledged"
        );
        let error = station.acknowledge_as(BRIDGE.user, "nope").unwrap_err();
        assert_eq!(error.to_string(), "no alarm \"nope\"");
    }

    #[test]
    fn an_administrator_adds_renames_and_removes() {
        let (mut station, _) = station();
        let logic = station.resolve_component("slot:/Logic").unwrap();
        station
            .add_as(ADMIN.user, logic, Some("New"), "control:NumericWritable")
            .unwrap();
        station
            .rename_as(ADMIN.user, logic, "New", "Newer")
            .unwrap();
        station
            .add_value_as(
                ADMIN.user,
                logic,
                Some("note"),
                Value::from("hi"),
                Flags::NONE,
                None,
            )
            .unwrap();
        station
            .set_flags_as(ADMIN.user, logic, "note", Flags::HIDDEN)
            .unwrap();
        station
            .set_slot_facets_as(ADMIN.user, logic, "note", Facets::boolean("a", "b"))
            .unwrap();
        station.remove_as(ADMIN.user, logic, "Newer").unwrap();
        let operations: Vec<AuditOperation> = station
            .audit
            .entries()
            .iter()
            .map(|entry| entry.operation)
            .collect();
        assert_eq!(
            operations,
            [
                AuditOperation::Added,
                AuditOperation::Renamed,
                AuditOperation::Added,
                AuditOperation::FlagsChanged,
                AuditOperation::FacetsChanged,
                AuditOperation::Removed
            ]
        );
        let note = station.slot(logic, "note").unwrap();
        assert_eq!(
            (note.flags, note.facets.map(Facets::encode)),
            (Flags::HIDDEN, Some("trueText=s:a|falseText=s:b".into()))
        );
    }
}
