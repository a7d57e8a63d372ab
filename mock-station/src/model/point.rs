//! Control points: driver feeds and the 16-level priority array (Station web specification §8 "Model rules").

use super::component::{Component, Handle};
use super::enums::{DynamicEnum, EnumRange};
use super::facets::Facets;
use super::station::Station;
use super::status::Status;
use super::value::{PointKind, Value};
use chrono::{DateTime, Utc};
use std::sync::{Arc, LazyLock};

/// What a driver reads from its device for one point.
#[derive(Clone, Debug, PartialEq)]
pub struct FeedSample {
    /// A simple of the point's kind.
    pub value: Value,
    /// Status bits of [`Status`].
    pub status: u32,
}

impl FeedSample {
    /// A good sample.
    pub fn ok(value: impl Into<Value>) -> Self {
        Self {
            value: value.into(),
            status: 0,
        }
    }

    /// A sample with status bits.
    pub fn with_status(value: impl Into<Value>, status: u32) -> Self {
        Self {
            value: value.into(),
            status,
        }
    }
}

/// The device behind a proxied point: a pure function of time.
///
/// It is asked when somebody looks (at most once a second matters: the station's time is cut to seconds), so it must be cheap
/// and give the same answer for the same instant.
pub trait PointFeed: Send + Sync {
    fn sample(&self, now: DateTime<Utc>) -> FeedSample;
}

/// A feed that always reads the same.
#[derive(Clone, Debug)]
pub struct ConstantFeed(pub FeedSample);

impl PointFeed for ConstantFeed {
    fn sample(&self, _now: DateTime<Utc>) -> FeedSample {
        self.0.clone()
    }
}

impl<F> PointFeed for F
where
    F: Fn(DateTime<Utc>) -> FeedSample + Send + Sync,
{
    fn sample(&self, now: DateTime<Utc>) -> FeedSample {
        self(now)
    }
}

/// The level of the fallback slot in `activeLevel`.
pub const FALLBACK_LEVEL: i32 = 17;

/// Names of the input slots, level 1 first.
pub const INPUTS: [&str; 16] = [
    "in1", "in2", "in3", "in4", "in5", "in6", "in7", "in8", "in9", "in10", "in11", "in12", "in13",
    "in14", "in15", "in16",
];

/// The input of a writable where its driver arrives.
pub(super) const FED_INPUT: &str = "in16";

/// The input slot of a priority level 1 to 16.
pub fn input_name(level: i32) -> Option<&'static str> {
    usize::try_from(level)
        .ok()?
        .checked_sub(1)
        .and_then(|index| INPUTS.get(index))
        .copied()
}

/// The priority level of an input slot name.
pub fn input_level(slot: &str) -> Option<i32> {
    INPUTS
        .iter()
        .position(|name| *name == slot)
        .map(|index| index as i32 + 1)
}

static LEVEL_FACETS: LazyLock<Vec<Arc<Facets>>> = LazyLock::new(|| {
    let range = Arc::new(EnumRange::frozen("control:PriorityLevel"));
    (0..=FALLBACK_LEVEL)
        .map(|ordinal| {
            let level = Value::DynamicEnum(DynamicEnum {
                ordinal,
                range: range.clone(),
            });
            Arc::new(Facets::new().with("activeLevel", level))
        })
        .collect()
});

/// Which of the levels 1 and 8 hold a person's command given by an action; a plain slot write there is no override.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Commanded(u8);

impl Commanded {
    fn bit(level: i32) -> u8 {
        match level {
            1 => 1,
            8 => 2,
            _ => 0,
        }
    }

    pub(super) fn contains(self, level: i32) -> bool {
        self.0 & Self::bit(level) != 0
    }

    pub(super) fn set(&mut self, level: i32, commanded: bool) {
        if commanded {
            self.0 |= Self::bit(level);
        } else {
            self.0 &= !Self::bit(level);
        }
    }
}

/// Status bits together with the `activeLevel` facet.
pub fn status_at_level(bits: u32, level: i32) -> Status {
    let facets = usize::try_from(level)
        .ok()
        .and_then(|index| LEVEL_FACETS.get(index))
        .cloned();
    Status { bits, facets }
}

/// `out` of a writable: the lowest valid input, else the fallback, else the last value marked null.
pub(super) fn arbitrate(component: &Component, kind: PointKind, now: DateTime<Utc>) -> Value {
    let fed = fed_input(component, kind, now);
    for (index, name) in INPUTS.iter().enumerate() {
        let level = index as i32 + 1;
        let input = match &fed {
            Some(input) if *name == FED_INPUT => Some(input),
            _ => component.stored(name),
        };
        if let Some((value, status)) = input.and_then(Value::as_status_value)
            && status.is_valid()
        {
            let overridden = if component.commanded.contains(level) {
                Status::OVERRIDDEN
            } else {
                0
            };
            let bits = status.bits | overridden | component.alarm_bits;
            return Value::status_value(kind, value.clone(), status_at_level(bits, level));
        }
    }
    if let Some((value, status)) = component
        .stored("fallback")
        .and_then(Value::as_status_value)
        && status.is_valid()
    {
        let bits = status.bits | component.alarm_bits;
        return Value::status_value(kind, value.clone(), status_at_level(bits, FALLBACK_LEVEL));
    }
    let last = component
        .stored("out")
        .and_then(Value::as_status_value)
        .map(|(value, _)| value.clone());
    let bits = Status::NULL | component.alarm_bits;
    Value::status_value(
        kind,
        last.unwrap_or_else(|| kind.default_value()),
        status_at_level(bits, FALLBACK_LEVEL),
    )
}

/// `in16` of a fed writable: what was written there while it is valid, else what the driver delivers, as over a link;
/// `None` without a driver.
pub(super) fn fed_input(
    component: &Component,
    kind: PointKind,
    now: DateTime<Utc>,
) -> Option<Value> {
    let feed = component.feed.as_ref()?;
    if let Some(written) = component.stored(FED_INPUT)
        && let Some((_, status)) = written.as_status_value()
        && status.is_valid()
    {
        return Some(written.clone());
    }
    let sample = feed.sample(now);
    let status = Status::from_bits(sample.status);
    Some(Value::status_value(kind, sample.value, status))
}

/// `out` of a read-only fed component.
pub(super) fn fed_value(
    component: &Component,
    kind: PointKind,
    now: DateTime<Utc>,
) -> Option<Value> {
    let sample = component.feed.as_ref()?.sample(now);
    Some(Value::status_value(
        kind,
        sample.value,
        Status::from_bits(sample.status | component.alarm_bits),
    ))
}

impl Station {
    /// Connects a component with an `out` slot to its driver; on a writable the feed arrives at level 16, as from a link.
    pub fn attach_feed(&mut self, handle: Handle, feed: Arc<dyn PointFeed>) {
        if let Some(component) = self.component_mut(handle) {
            component.feed = Some(feed);
        }
        self.reevaluate(handle);
        self.propagate_from(handle);
    }

    /// Disconnects a component from its driver.
    pub fn detach_feed(&mut self, handle: Handle) {
        if let Some(component) = self.component_mut(handle) {
            component.feed = None;
        }
        self.reevaluate(handle);
        self.propagate_from(handle);
    }

    /// Marks a point as in alarm (`Status::ALARM`, `Status::UNACKED_ALARM`) on top of what its driver or inputs say.
    pub fn set_alarm_bits(&mut self, handle: Handle, bits: u32) {
        if let Some(component) = self.component_mut(handle) {
            component.alarm_bits = bits & (Status::ALARM | Status::UNACKED_ALARM);
        }
        self.reevaluate(handle);
    }

    /// The present value and status of a point, e.g. of `out`; `None` if the component has no such slot.
    pub fn out(&self, handle: Handle) -> Option<(Value, Status)> {
        let value = self.value(handle, "out")?;
        value
            .as_status_value()
            .map(|(value, status)| (value.clone(), status.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeZone;
    use proptest::prelude::*;

    fn station_with(spec: &str) -> (Station, Handle) {
        let now = Utc.with_ymd_and_hms(2026, 3, 10, 10, 0, 0).unwrap();
        let mut station = Station::new("T", chrono_tz::Tz::UTC, now);
        let point = station.add(station.root(), Some("P"), spec).unwrap();
        (station, point)
    }

    fn level(station: &Station, point: Handle) -> (Option<f64>, String) {
        let (value, status) = station.out(point).unwrap();
        (value.as_f64(), status.encode())
    }

    #[test]
    fn a_new_writable_is_null_and_has_its_frozen_null_proxy() {
        let (station, point) = station_with("control:NumericWritable");
        assert_eq!(
            level(&station, point),
            (
                Some(0.0),
                "40;activeLevel=e:17@control:PriorityLevel".into()
            )
        );
        let proxy = station.component(point).unwrap().child("proxyExt").unwrap();
        assert_eq!(
            station.component(proxy).unwrap().ty().spec(),
            "control:NullProxyExt"
        );
    }

    #[test]
    fn the_lowest_level_wins_and_releasing_it_falls_back_step_by_step() {
        let (mut station, point) = station_with("control:NumericWritable");
        let ok = |number| Value::status_numeric(number, Status::ok());
        station.set(point, "fallback", ok(1.0)).unwrap();
        station.set(point, "in16", ok(2.0)).unwrap();
        station.set(point, "in9", ok(3.0)).unwrap();
        assert_eq!(
            level(&station, point),
            (Some(3.0), "0;activeLevel=e:9@control:PriorityLevel".into())
        );
        station
            .set(point, "in9", Value::status_numeric(3.0, Status::null()))
            .unwrap();
        assert_eq!(level(&station, point).0, Some(2.0));
        station
            .set(
                point,
                "in16/status",
                Value::Status(Status::from_bits(Status::FAULT)),
            )
            .unwrap();
        assert_eq!(
            level(&station, point),
            (Some(1.0), "0;activeLevel=e:17@control:PriorityLevel".into())
        );
        station
            .set(
                point,
                "fallback",
                Value::status_numeric(0.0, Status::null()),
            )
            .unwrap();
        assert_eq!(
            level(&station, point),
            (
                Some(1.0),
                "40;activeLevel=e:17@control:PriorityLevel".into()
            )
        );
    }

    #[test]
    fn setting_only_the_value_of_an_input_leaves_it_inactive() {
        let (mut station, point) = station_with("control:NumericWritable");
        station
            .set(point, "in10/value", Value::Double(55.0))
            .unwrap();
        assert_eq!(
            station.value(point, "in10/value"),
            Some(Value::Double(55.0))
        );
        assert!(station.out(point).unwrap().1.has(Status::NULL));
        let partial = super::super::value::StructValue {
            ty: super::super::registry::find("baja:StatusNumeric").unwrap(),
            members: vec![super::super::value::Member {
                name: "value".into(),
                value: Value::Double(56.0),
            }],
        };
        station.set(point, "in10", Value::Struct(partial)).unwrap();
        assert_eq!(station.value(point, "in10/status").unwrap().encode(), "40");
    }

    #[test]
    fn a_driver_that_feeds_a_writable_arrives_at_level_16() {
        let (mut station, point) = station_with("control:NumericWritable");
        station.attach_feed(point, Arc::new(ConstantFeed(FeedSample::ok(7.0))));
        assert_eq!(
            level(&station, point),
            (Some(7.0), "0;activeLevel=e:16@control:PriorityLevel".into())
        );
        station
            .set(point, "in8", Value::status_numeric(9.0, Status::ok()))
            .unwrap();
        assert_eq!(level(&station, point).0, Some(9.0));
        assert_eq!(
            station.value(point, "in16"),
            Some(Value::status_numeric(7.0, Status::ok())),
            "the driver is still seen at its level below the command"
        );
    }

    #[test]
    fn a_fed_input_shows_the_drivers_status_until_somebody_writes_there() {
        let (mut station, point) = station_with("control:NumericWritable");
        let down = FeedSample::with_status(7.0, Status::DOWN);
        station.attach_feed(point, Arc::new(ConstantFeed(down)));
        let input = |station: &Station| {
            let encode = |path| station.value(point, path).unwrap().encode();
            (encode("in16/value"), encode("in16/status"))
        };
        assert_eq!(input(&station), ("7.0".into(), "4".into()));
        assert_eq!(
            station.out(point).unwrap().1.active_level(),
            Some(FALLBACK_LEVEL)
        );
        assert!(!station.slot(point, "in16").unwrap().is_default());
        station
            .set(point, "in16", Value::status_numeric(3.0, Status::ok()))
            .unwrap();
        assert_eq!(input(&station), ("3.0".into(), "0".into()));
        assert_eq!(level(&station, point).0, Some(3.0));
        station
            .set(point, "in16", Value::status_numeric(3.0, Status::null()))
            .unwrap();
        assert_eq!(
            input(&station),
            ("7.0".into(), "4".into()),
            "a release gives the level back to the driver"
        );
        station.detach_feed(point);
        assert_eq!(input(&station).1, "40");
    }

    #[test]
    fn a_watched_writable_reports_its_fed_input_below_a_command() {
        let (mut station, point) = station_with("control:NumericWritable");
        let start = station.now();
        station.attach_feed(
            point,
            Arc::new(move |now: DateTime<Utc>| FeedSample::ok((now - start).num_minutes() as f64)),
        );
        station
            .set(point, "in8", Value::status_numeric(9.0, Status::ok()))
            .unwrap();
        station.subscribe(point);
        let before = station.changes().revision();
        station.tick(start + chrono::TimeDelta::minutes(3));
        let reported: Vec<_> = station
            .changes()
            .since(before)
            .unwrap()
            .filter(|change| change.handle == point)
            .map(|change| change.event.clone())
            .collect();
        let fed = super::super::changes::ChangeEvent::Set {
            slot: FED_INPUT.into(),
        };
        assert_eq!(reported, [fed]);
        assert_eq!(station.value(point, "in16/value"), Some(Value::Double(3.0)));
    }

    #[test]
    fn a_read_only_point_follows_its_driver_without_a_tick_of_its_own() {
        let (mut station, point) = station_with("control:NumericPoint");
        let start = station.now();
        let feed = move |now: DateTime<Utc>| match (now - start).num_seconds() {
            seconds if seconds < 60 => FeedSample::ok(seconds as f64),
            _ => FeedSample::with_status(0.0, Status::DOWN),
        };
        station.attach_feed(point, Arc::new(feed));
        station.tick(start + chrono::TimeDelta::seconds(42));
        assert_eq!(level(&station, point), (Some(42.0), "0".into()));
        station.tick(start + chrono::TimeDelta::seconds(60));
        assert_eq!(level(&station, point), (Some(0.0), "4".into()));
    }

    proptest! {
        #[test]
        fn out_is_always_the_first_valid_input(
            inputs in proptest::collection::vec(proptest::option::of((-100.0..100.0_f64, 0_u32..0x100)), 16),
            order in Just((0..16_usize).collect::<Vec<_>>()).prop_shuffle(),
        ) {
            let (mut station, point) = station_with("control:NumericWritable");
            station.set(point, "fallback", Value::status_numeric(-1.0, Status::ok())).unwrap();
            for index in order {
                if let Some((number, bits)) = inputs[index] {
                    station.set(point, INPUTS[index], Value::status_numeric(number, Status::from_bits(bits))).unwrap();
                }
            }
            let expected = inputs.iter().enumerate().find_map(|(index, input)| {
                input.filter(|(_, bits)| bits & 0x57 == 0).map(|(number, _)| (number, index as i32 + 1))
            });
            let (value, status) = station.out(point).unwrap();
            let (number, level) = expected.unwrap_or((-1.0, FALLBACK_LEVEL));
            prop_assert_eq!(value.as_f64(), Some(number));
            prop_assert_eq!(status.active_level(), Some(level));
        }
    }
}
