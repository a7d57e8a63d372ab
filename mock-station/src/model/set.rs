//! Writing properties: type checks, structs merged member by member, and what follows from a change.

use super::changes::ChangeEvent;
use super::component::{Handle, SlotContent};
use super::enums::DynamicEnum;
use super::error::ModelError;
use super::point;
use super::registry::{self, SlotKind, TypeDef};
use super::station::Station;
use super::value::Value;

impl Station {
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
            true if !frozen
                && current.type_spec() != value.type_spec()
                && !current.type_spec().starts_with("baja:Status") =>
            {
                value.completed()
            }
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
        self.adopt_account(handle);
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
            self.follow_schedule(handle);
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
                    merged.merge(new);
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
            // A converter may be exchanged for any other: the link declares no more.
            (Value::Struct(old), Value::Struct(new))
                if old.ty.is("baja:Converter") && new.ty.is("baja:Converter") =>
            {
                Ok(value.completed())
            }
            (Value::Struct(old), Value::Struct(new)) if new.ty.is_a(old.ty) => {
                Ok(value.completed())
            }
            (Value::Double(_), Value::Integer(_) | Value::Long(_) | Value::Float(_)) => value
                .as_f64()
                .map(Value::Double)
                .ok_or_else(|| mismatch(&value)),
            _ => Err(mismatch(&value)),
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
