//! Actions: commands of writables, constants, the station (Station web specification §4.8 and §8).

use super::component::{Handle, SlotContent};
use super::enums::DynamicEnum;
use super::error::ModelError;
use super::point::input_name;
use super::station::Station;
use super::status::Status;
use super::value::{PointKind, Value};
use chrono::{DateTime, TimeDelta, Utc};

const EMERGENCY: i32 = 1;
const MANUAL: i32 = 8;

impl Station {
    /// Invokes an action without asking for permissions, and what is linked to it; returns its result, if it has one.
    pub fn invoke(
        &mut self,
        handle: Handle,
        action: &str,
        argument: Option<Value>,
    ) -> Result<Option<Value>, ModelError> {
        let linked = self.links.from(handle).iter();
        let event = linked
            .filter(|link| &*link.ends.source_slot == action)
            .map(|_| argument.clone())
            .next();
        let result = self.perform(handle, action, argument)?;
        if let Some(event) = event {
            self.signal(handle, action, event.as_ref());
        }
        Ok(result)
    }

    fn perform(
        &mut self,
        handle: Handle,
        action: &str,
        argument: Option<Value>,
    ) -> Result<Option<Value>, ModelError> {
        let component = self.expect(handle)?;
        let ty = component.ty();
        let exists = matches!(
            self.slot(handle, action).map(|slot| slot.content),
            Some(SlotContent::Action(_))
        );
        if !exists {
            return Err(ModelError::NoSuchAction {
                component: self.slot_path(handle),
                action: action.to_owned(),
            });
        }
        self.check_failing(handle, action)?;
        if let (true, Some(kind)) = (ty.is_writable_point(), ty.point_kind()) {
            return self.command(handle, kind, action, argument).map(|()| None);
        }
        match (ty.spec(), action) {
            ("kitControl:NumericConst" | "kitControl:BooleanConst", "set") => {
                let kind = ty.point_kind().unwrap_or(PointKind::Numeric);
                let value = self.argument(handle, action, kind, argument)?;
                self.set(
                    handle,
                    "value",
                    Value::status_value(kind, value, Status::ok()),
                )?;
            }
            ("kitControl:LoopPoint", "resetIntegral") => {
                if let Some(component) = self.component_mut(handle) {
                    component.memory = None;
                }
                self.reevaluate(handle);
            }
            ("control:NumericTotalizerExt", "resetTotal") => {
                self.set(handle, "total", Value::Double(0.0))?
            }
            ("control:TimeTrigger", "fireTrigger") => {
                let time = Value::AbsTime(Some(self.local(self.now())));
                self.set(handle, "lastTrigger", time.clone())?;
                self.fire(handle, "trigger", Some(time));
            }
            ("baja:Station", "save") => {
                self.saves.count = self.saves.count.saturating_add(1);
                self.saves.last = Some(self.now());
                self.fire(handle, "stationSaved", None);
            }
            (_, "ping") => self.ping(handle)?,
            // Actions that only start work elsewhere answer without a result.
            _ => {}
        }
        Ok(None)
    }

    fn command(
        &mut self,
        handle: Handle,
        kind: PointKind,
        action: &str,
        argument: Option<Value>,
    ) -> Result<(), ModelError> {
        match action {
            "set" => {
                let value = self.argument(handle, action, kind, argument)?;
                self.set(
                    handle,
                    "fallback",
                    Value::status_value(kind, value, Status::ok()),
                )
            }
            "override" => {
                let duration = duration_of(argument.as_ref());
                let value = argument.and_then(|argument| argument.member("value").cloned());
                let value = self.argument(handle, action, kind, value)?;
                self.command_level(handle, kind, MANUAL, Some(value))?;
                self.start_override(handle, duration)
            }
            "active" | "inactive" => {
                let duration = duration_of(argument.as_ref());
                self.command_level(
                    handle,
                    kind,
                    MANUAL,
                    Some(Value::Boolean(action == "active")),
                )?;
                self.start_override(handle, duration)
            }
            "auto" => {
                self.command_level(handle, kind, MANUAL, None)?;
                self.end_override(handle);
                Ok(())
            }
            "emergencyOverride" => {
                let value = self.argument(handle, action, kind, argument)?;
                self.command_level(handle, kind, EMERGENCY, Some(value))
            }
            "emergencyActive" | "emergencyInactive" => self.command_level(
                handle,
                kind,
                EMERGENCY,
                Some(Value::Boolean(action == "emergencyActive")),
            ),
            "emergencyAuto" => self.command_level(handle, kind, EMERGENCY, None),
            _ => Err(ModelError::NoSuchAction {
                component: self.slot_path(handle),
                action: action.to_owned(),
            }),
        }
    }

    /// Writes level 1 or 8 in a person's name; `None` releases it.
    fn command_level(
        &mut self,
        handle: Handle,
        kind: PointKind,
        level: i32,
        value: Option<Value>,
    ) -> Result<(), ModelError> {
        let Some(slot) = input_name(level) else {
            return Ok(());
        };
        let commanded = value.is_some();
        let value = match value {
            Some(value) => Value::status_value(kind, value, Status::ok()),
            None => {
                let held = self
                    .value(handle, &format!("{slot}/value"))
                    .unwrap_or_else(|| kind.default_value());
                Value::status_value(kind, held, Status::null())
            }
        };
        self.set(handle, slot, value)?;
        if let Some(component) = self.component_mut(handle) {
            component.commanded.set(level, commanded);
        }
        self.reevaluate(handle);
        Ok(())
    }

    fn start_override(&mut self, handle: Handle, duration: TimeDelta) -> Result<(), ModelError> {
        self.end_override(handle);
        if duration <= TimeDelta::zero() {
            return Ok(());
        }
        let Some(end) = self.now().checked_add_signed(duration) else {
            return Ok(());
        };
        self.expirations.insert((end, handle), ());
        let time = Value::AbsTime(Some(self.local(end)));
        self.set(handle, "overrideExpiration", time)
    }

    fn end_override(&mut self, handle: Handle) {
        self.expirations
            .retain(|(_, running), ()| *running != handle);
        if self
            .value(handle, "overrideExpiration")
            .is_some_and(|value| value != Value::AbsTime(None))
        {
            self.store_and_react(handle, "overrideExpiration", Value::AbsTime(None));
        }
    }

    /// Releases every override whose end has come.
    pub(super) fn expire_overrides(&mut self) {
        let now = self.now();
        while let Some((&(end, handle), ())) = self.expirations.first_key_value() {
            if end > now {
                break;
            }
            self.expirations.pop_first();
            let Some(kind) = self
                .component(handle)
                .and_then(|component| component.ty().point_kind())
            else {
                continue;
            };
            // The component exists and has in8, so releasing it cannot fail.
            let _ = self.command_level(handle, kind, MANUAL, None);
            self.end_override(handle);
        }
    }

    /// The end of the running override of a point.
    pub fn override_end(&self, handle: Handle) -> Option<DateTime<Utc>> {
        self.expirations
            .keys()
            .find(|(_, running)| *running == handle)
            .map(|(end, _)| *end)
    }

    /// An argument converted to the point's kind, leniently: numbers, texts and ordinals are taken where they fit.
    fn argument(
        &self,
        handle: Handle,
        action: &str,
        kind: PointKind,
        argument: Option<Value>,
    ) -> Result<Value, ModelError> {
        let bad = || ModelError::BadArgument {
            component: self.slot_path(handle),
            action: action.to_owned(),
            expected: kind.default_value().type_spec().to_owned(),
        };
        let value = argument.ok_or_else(bad)?;
        let value = value
            .as_status_value()
            .map(|(value, _)| value.clone())
            .unwrap_or(value);
        let converted = match kind {
            PointKind::Numeric => match &value {
                Value::String(text) => Value::decode_as("baja:Double", text),
                other => other.as_f64().map(Value::Double),
            },
            PointKind::Boolean => value.as_bool().map(Value::Boolean),
            PointKind::String => Some(match value {
                Value::String(_) => value,
                other => Value::from(other.encode()),
            }),
            PointKind::Enum => self.enum_argument(handle, &value),
        };
        converted.ok_or_else(bad)
    }

    fn enum_argument(&self, handle: Handle, value: &Value) -> Option<Value> {
        let facets = self.facets(handle);
        let range = facets.enum_range().cloned().unwrap_or_default();
        let ordinal = match value {
            Value::DynamicEnum(given) if given.range.is_empty() || range.is_empty() => {
                given.ordinal
            }
            Value::DynamicEnum(given) => range.ordinal(&given.tag()).unwrap_or(given.ordinal),
            Value::FrozenEnum(given) => given.ordinal,
            Value::String(tag) => range.ordinal(tag).or_else(|| tag.trim().parse().ok())?,
            other => other.as_f64().map(|number| number as i32)?,
        };
        let range = match value {
            Value::DynamicEnum(given) if range.is_empty() => given.range.clone(),
            _ => range,
        };
        Some(Value::DynamicEnum(DynamicEnum { ordinal, range }))
    }

    /// Fires a topic: it is seen in the change log.
    pub fn fire(&mut self, handle: Handle, topic: &str, event: Option<Value>) {
        self.changes.record(
            handle,
            super::changes::ChangeEvent::TopicFired {
                slot: topic.into(),
                event: event.clone(),
            },
        );
        self.signal(handle, topic, event.as_ref());
    }

    /// A device that answers: its health notes the time.
    fn ping(&mut self, handle: Handle) -> Result<(), ModelError> {
        if self.slot(handle, "health").is_none() {
            return Ok(());
        }
        let down = self
            .value(handle, "health/down")
            .and_then(|value| value.as_bool())
            .unwrap_or_default();
        let slot = if down {
            "health/lastFailTime"
        } else {
            "health/lastOkTime"
        };
        self.set(handle, slot, Value::AbsTime(Some(self.local(self.now()))))
    }
}

fn duration_of(argument: Option<&Value>) -> TimeDelta {
    let member = |name: &str| match argument.and_then(|argument| argument.member(name)) {
        Some(Value::RelTime(millis)) => *millis,
        _ => 0,
    };
    let longest = member("maxOverrideDuration");
    let wanted = member("duration");
    // A limit also bounds the permanent override.
    let millis = match (wanted, longest) {
        (wanted, longest) if longest > 0 && (wanted <= 0 || wanted > longest) => longest,
        (wanted, _) => wanted,
    };
    TimeDelta::try_milliseconds(millis).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::enums::EnumRange;
    use crate::model::facets::Facets;
    use crate::model::value::StructValue;
    use chrono::TimeZone;
    use std::sync::Arc;

    fn station_with(spec: &str) -> (Station, Handle) {
        let now = Utc.with_ymd_and_hms(2026, 3, 10, 10, 0, 0).unwrap();
        let mut station = Station::new("T", chrono_tz::Tz::America__New_York, now);
        let point = station.add(station.root(), Some("P"), spec).unwrap();
        (station, point)
    }

    fn argument(spec: &str, value: Option<Value>, millis: i64) -> Option<Value> {
        let Some(Value::Struct(body)) = Value::struct_of(spec) else {
            panic!("{spec}")
        };
        let body: StructValue = body.with("duration", Value::RelTime(millis));
        Some(Value::Struct(match value {
            Some(value) => body.with("value", value),
            None => body,
        }))
    }

    fn out(station: &Station, point: Handle) -> (String, String) {
        let (value, status) = station.out(point).unwrap();
        (value.encode(), status.encode())
    }

    #[test]
    fn set_writes_the_fallback_and_loses_against_an_input() {
        let (mut station, point) = station_with("control:NumericWritable");
        station
            .invoke(point, "set", Some(Value::Double(21.5)))
            .unwrap();
        assert_eq!(
            out(&station, point),
            (
                "21.5".into(),
                "0;activeLevel=e:17@control:PriorityLevel".into()
            )
        );
        station
            .set(point, "in3", Value::status_numeric(5.0, Status::ok()))
            .unwrap();
        station
            .invoke(point, "set", Some(Value::Double(30.0)))
            .unwrap();
        assert_eq!(out(&station, point).0, "5.0");
        assert_eq!(
            station.value(point, "fallback/value"),
            Some(Value::Double(30.0))
        );
    }

    #[test]
    fn a_timed_override_ends_by_itself() {
        let (mut station, point) = station_with("control:NumericWritable");
        station
            .invoke(point, "set", Some(Value::Double(1.0)))
            .unwrap();
        let arg = argument(
            "control:NumericOverride",
            Some(Value::Double(55.0)),
            900_000,
        );
        station.invoke(point, "override", arg).unwrap();
        assert_eq!(
            out(&station, point),
            (
                "55.0".into(),
                "20;activeLevel=e:8@control:PriorityLevel".into()
            )
        );
        assert_eq!(
            station.value(point, "overrideExpiration").unwrap().encode(),
            "2026-03-10T06:15:00.000-04:00"
        );
        let end = station.override_end(point).unwrap();
        station.tick(end - TimeDelta::seconds(1));
        assert_eq!(out(&station, point).0, "55.0");
        station.tick(end);
        assert_eq!(
            out(&station, point),
            (
                "1.0".into(),
                "0;activeLevel=e:17@control:PriorityLevel".into()
            )
        );
        assert_eq!(
            station.value(point, "overrideExpiration").unwrap().encode(),
            "null"
        );
        assert_eq!(station.value(point, "in8/status").unwrap().encode(), "40");
    }

    #[test]
    fn a_permanent_override_stays_until_auto_and_a_second_one_replaces_the_first() {
        let (mut station, point) = station_with("control:BooleanWritable");
        station
            .invoke(point, "active", argument("control:Override", None, 60_000))
            .unwrap();
        station
            .invoke(point, "inactive", argument("control:Override", None, 0))
            .unwrap();
        assert_eq!(station.override_end(point), None);
        station.tick(station.now() + TimeDelta::days(30));
        assert_eq!(
            out(&station, point),
            (
                "false".into(),
                "20;activeLevel=e:8@control:PriorityLevel".into()
            )
        );
        station.invoke(point, "auto", None).unwrap();
        assert!(station.out(point).unwrap().1.has(Status::NULL));
    }

    #[test]
    fn emergency_beats_manual_and_auto_does_not_release_it() {
        let (mut station, point) = station_with("control:BooleanWritable");
        station.invoke(point, "active", None).unwrap();
        station.invoke(point, "emergencyInactive", None).unwrap();
        station.invoke(point, "auto", None).unwrap();
        assert_eq!(
            out(&station, point),
            (
                "false".into(),
                "20;activeLevel=e:1@control:PriorityLevel".into()
            )
        );
        station.invoke(point, "emergencyAuto", None).unwrap();
        assert!(station.out(point).unwrap().1.has(Status::NULL));
    }

    #[test]
    fn a_plain_write_at_level_8_is_no_override() {
        let (mut station, point) = station_with("control:NumericWritable");
        station
            .set(point, "in8", Value::status_numeric(4.0, Status::ok()))
            .unwrap();
        assert_eq!(
            out(&station, point).1,
            "0;activeLevel=e:8@control:PriorityLevel"
        );
        station
            .invoke(
                point,
                "override",
                argument("control:NumericOverride", Some(Value::Double(4.0)), 0),
            )
            .unwrap();
        assert_eq!(
            out(&station, point).1,
            "20;activeLevel=e:8@control:PriorityLevel"
        );
    }

    #[test]
    fn enum_commands_take_tags_and_ordinals() {
        let (mut station, point) = station_with("control:EnumWritable");
        let range = EnumRange::of(&[("Off", 0), ("Not occupied", 4)]);
        station
            .set(
                point,
                "facets",
                Value::Facets(Arc::new(Facets::range(range))),
            )
            .unwrap();
        station
            .invoke(point, "set", Some(Value::from("Not occupied")))
            .unwrap();
        assert_eq!(out(&station, point).0, "4@{Off=0,Not$20occupied=4}");
        station
            .invoke(point, "set", Some(Value::Double(0.0)))
            .unwrap();
        assert_eq!(out(&station, point).0, "0@{Off=0,Not$20occupied=4}");
        let error = station
            .invoke(point, "set", Some(Value::from("Sideways")))
            .unwrap_err();
        assert!(error.to_string().contains("baja:DynamicEnum"), "{error}");
    }

    #[test]
    fn texts_are_taken_where_they_fit() {
        let (mut station, point) = station_with("control:BooleanWritable");
        station
            .invoke(point, "set", Some(Value::from("false")))
            .unwrap();
        assert_eq!(out(&station, point).0, "false");
        assert!(
            station
                .invoke(point, "set", Some(Value::from("maybe")))
                .is_err()
        );
        assert!(station.invoke(point, "set", None).is_err());
    }

    #[test]
    fn a_read_only_point_has_no_commands() {
        let (mut station, point) = station_with("control:NumericPoint");
        let error = station
            .invoke(point, "set", Some(Value::Double(1.0)))
            .unwrap_err();
        assert_eq!(error.to_string(), "slot:/P has no action \"set\"");
    }

    #[test]
    fn the_longest_allowed_duration_bounds_an_override() {
        let (mut station, point) = station_with("control:NumericWritable");
        let Some(Value::Struct(body)) = argument(
            "control:NumericOverride",
            Some(Value::Double(1.0)),
            7_200_000,
        ) else {
            panic!("no struct")
        };
        let arg = Value::Struct(body.with("maxOverrideDuration", Value::RelTime(3_600_000)));
        station.invoke(point, "override", Some(arg)).unwrap();
        assert_eq!(
            station.override_end(point),
            Some(station.now() + TimeDelta::hours(1))
        );
    }
}
