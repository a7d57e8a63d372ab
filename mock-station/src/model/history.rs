//! Histories: configurations and record sources (Station web specification §3.5, oBIX specification §10).

use super::component::Handle;
use super::error::ModelError;
use super::facets::Facets;
use super::registry;
use super::station::Station;
use super::value::{PointKind, Value};
use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use indexmap::IndexMap;
use std::sync::Arc;

/// Trend flag bits of a record.
pub mod trend_flags {
    pub const START: u8 = 0x1;
    pub const OUT_OF_ORDER: u8 = 0x2;
    pub const HIDDEN: u8 = 0x4;
    pub const MODIFIED: u8 = 0x8;
    pub const INTERPOLATED: u8 = 0x10;

    const NAMES: [(u8, &str); 5] = [
        (START, "start"),
        (OUT_OF_ORDER, "outOfOrder"),
        (HIDDEN, "hidden"),
        (MODIFIED, "modified"),
        (INTERPOLATED, "interpolated"),
    ];

    /// `{ }`, `{start}`, `{start,hidden}`.
    pub fn display(flags: u8) -> String {
        let names: Vec<&str> = NAMES
            .iter()
            .filter(|(bit, _)| flags & bit != 0)
            .map(|(_, name)| *name)
            .collect();
        if names.is_empty() {
            "{ }".to_owned()
        } else {
            format!("{{{}}}", names.join(","))
        }
    }
}

/// One record of a trend.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryRecord {
    pub timestamp: DateTime<Utc>,
    pub trend_flags: u8,
    /// Status bits of [`Status`](super::status::Status).
    pub status: u32,
    /// A simple of the history's kind.
    pub value: Value,
}

impl HistoryRecord {
    /// A record without flags and with good status.
    pub fn ok(timestamp: DateTime<Utc>, value: impl Into<Value>) -> Self {
        Self {
            timestamp,
            trend_flags: 0,
            status: 0,
            value: value.into(),
        }
    }
}

/// Where the records of a history come from; computed or stored.
pub trait HistorySource: Send + Sync {
    /// Records with `start <= timestamp <= end` in ascending order (records of equal timestamp in stored order).
    fn records(&self, start: DateTime<Utc>, end: DateTime<Utc>) -> Vec<HistoryRecord>;

    /// Timestamps of the first and last record up to `now`; `None` for an empty history.
    fn bounds(&self, now: DateTime<Utc>) -> Option<(DateTime<Utc>, DateTime<Utc>)>;

    /// The number of records up to `now`.
    fn count(&self, now: DateTime<Utc>) -> usize;
}

/// Records kept in memory.
#[derive(Clone, Debug, Default)]
pub struct StoredHistory {
    records: Vec<HistoryRecord>,
}

impl StoredHistory {
    /// Records in any order; they are sorted by timestamp, equal timestamps keep their order.
    pub fn new(mut records: Vec<HistoryRecord>) -> Self {
        records.sort_by_key(|record| record.timestamp);
        Self { records }
    }
}

impl HistorySource for StoredHistory {
    fn records(&self, start: DateTime<Utc>, end: DateTime<Utc>) -> Vec<HistoryRecord> {
        let first = self
            .records
            .partition_point(|record| record.timestamp < start);
        let last = self
            .records
            .partition_point(|record| record.timestamp <= end);
        self.records
            .get(first..last)
            .map(<[_]>::to_vec)
            .unwrap_or_default()
    }

    fn bounds(&self, now: DateTime<Utc>) -> Option<(DateTime<Utc>, DateTime<Utc>)> {
        let past = self.records.get(..self.count(now))?;
        Some((past.first()?.timestamp, past.last()?.timestamp))
    }

    fn count(&self, now: DateTime<Utc>) -> usize {
        self.records
            .partition_point(|record| record.timestamp <= now)
    }
}

/// What a full history does with a new record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FullPolicy {
    Roll,
    Stop,
}

impl FullPolicy {
    /// `roll` or `stop`.
    pub fn tag(self) -> &'static str {
        match self {
            FullPolicy::Roll => "roll",
            FullPolicy::Stop => "stop",
        }
    }
}

/// When a history records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectionInterval {
    /// Every so many milliseconds.
    Every(i64),
    /// On change of value.
    Irregular,
}

impl CollectionInterval {
    /// `regular:900000` or `irregular`.
    pub fn encode(self) -> String {
        match self {
            CollectionInterval::Every(millis) => format!("regular:{millis}"),
            CollectionInterval::Irregular => "irregular".to_owned(),
        }
    }
}

/// One history with its configuration.
#[derive(Clone)]
pub struct History {
    /// `/Station/Name`, both escaped.
    pub id: String,
    pub kind: PointKind,
    pub value_facets: Facets,
    pub time_zone: Tz,
    pub interval: CollectionInterval,
    /// Largest number of records; `None` is unlimited.
    pub capacity: Option<usize>,
    pub full_policy: FullPolicy,
    /// Ord of the extension that collects it; `None` for imported histories.
    pub source_ord: Option<String>,
    /// The point it belongs to, for permissions; `None` for imported histories.
    pub point: Option<Handle>,
    pub records: Arc<dyn HistorySource>,
}

impl History {
    /// A 15-minute history of unlimited capacity in `time_zone`.
    pub fn new(id: &str, kind: PointKind, time_zone: Tz, records: Arc<dyn HistorySource>) -> Self {
        Self {
            id: id.to_owned(),
            kind,
            value_facets: Facets::new(),
            time_zone,
            interval: CollectionInterval::Every(900_000),
            capacity: None,
            full_policy: FullPolicy::Roll,
            source_ord: None,
            point: None,
            records,
        }
    }

    /// The name of the device (station) part of the id.
    pub fn device(&self) -> &str {
        self.id
            .trim_start_matches('/')
            .split('/')
            .next()
            .unwrap_or_default()
    }

    /// The history's own name, escaped.
    pub fn name(&self) -> &str {
        self.id.rsplit('/').next().unwrap_or_default()
    }

    /// `history:NumericTrendRecord` and the like.
    pub fn record_type(&self) -> &'static str {
        match self.kind {
            PointKind::Numeric => "history:NumericTrendRecord",
            PointKind::Boolean => "history:BooleanTrendRecord",
            PointKind::Enum => "history:EnumTrendRecord",
            PointKind::String => "history:StringTrendRecord",
        }
    }

    /// The encoded capacity: `unlimited` or the number of records.
    pub fn capacity_text(&self) -> String {
        self.capacity
            .map_or_else(|| "unlimited".to_owned(), |records| records.to_string())
    }

    /// Records of `[start, end]` that exist at `now` and are still within capacity.
    pub fn records(
        &self,
        start: DateTime<Utc>,
        end: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Vec<HistoryRecord> {
        let end = end.min(now);
        if start > end {
            return Vec::new();
        }
        let records = self.records.records(start, end);
        let Some(capacity) = self.capacity else {
            return records;
        };
        let total = self.records.count(now);
        let dropped = match self.full_policy {
            FullPolicy::Roll => total.saturating_sub(capacity),
            FullPolicy::Stop => 0,
        };
        let before_range = start
            .checked_sub_signed(chrono::TimeDelta::milliseconds(1))
            .map_or(0, |instant| self.records.count(instant));
        let records = records
            .into_iter()
            .enumerate()
            .map(|(index, record)| (before_range + index, record));
        let last = dropped.saturating_add(capacity);
        records
            .filter(|(index, _)| *index >= dropped && *index < last)
            .map(|(_, record)| record)
            .collect()
    }

    /// The number of records kept at `now`.
    pub fn count(&self, now: DateTime<Utc>) -> usize {
        let total = self.records.count(now);
        self.capacity.map_or(total, |capacity| total.min(capacity))
    }

    /// Timestamps of the first and last record kept at `now`.
    pub fn bounds(&self, now: DateTime<Utc>) -> Option<(DateTime<Utc>, DateTime<Utc>)> {
        let (first, last) = self.records.bounds(now)?;
        // Counting visits every record since the first, so it is done only where it decides something.
        if self
            .capacity
            .is_none_or(|capacity| self.records.count(now) <= capacity)
        {
            return Some((first, last));
        }
        let kept = self.records(first, last, now);
        Some((kept.first()?.timestamp, kept.last()?.timestamp))
    }
}

/// All histories by id, in order of creation.
#[derive(Default, Clone)]
pub struct HistoryDb {
    histories: IndexMap<String, History>,
}

impl HistoryDb {
    /// Adds or replaces a history.
    pub fn insert(&mut self, history: History) {
        self.histories.insert(history.id.clone(), history);
    }

    /// A history by its full id `/Station/Name`.
    pub fn get(&self, id: &str) -> Option<&History> {
        self.histories.get(id)
    }

    /// All histories.
    pub fn iter(&self) -> impl Iterator<Item = &History> {
        self.histories.values()
    }

    /// The device names, in order of first appearance.
    pub fn devices(&self) -> Vec<&str> {
        let mut devices: Vec<&str> = Vec::new();
        for history in self.iter() {
            if !devices.contains(&history.device()) {
                devices.push(history.device());
            }
        }
        devices
    }

    /// The histories of one device.
    pub fn of_device<'a>(&'a self, device: &'a str) -> impl Iterator<Item = &'a History> {
        self.iter()
            .filter(move |history| history.device() == device)
    }

    pub fn len(&self) -> usize {
        self.histories.len()
    }

    pub fn is_empty(&self) -> bool {
        self.histories.is_empty()
    }
}

impl Station {
    /// Puts a history extension of type `extension` (e.g. `history:NumericIntervalHistoryExt`) under the point, with a
    /// `historyConfig` that describes `history`, and files the history. Returns the extension.
    pub fn add_history(
        &mut self,
        point: Handle,
        extension: &str,
        mut history: History,
    ) -> Result<Handle, ModelError> {
        let name = extension
            .split(':')
            .nth(1)
            .map(|name| name.trim_end_matches("HistoryExt"));
        let extension = self.add(point, name, extension)?;
        history.point = Some(point);
        history.source_ord = Some(format!("station:|{}", self.slot_path(extension)));
        self.set(
            extension,
            "historyName",
            Value::Format(history.name().into()),
        )?;
        if let (CollectionInterval::Every(millis), Some(_)) =
            (history.interval, self.slot(extension, "interval"))
        {
            self.set(extension, "interval", Value::RelTime(millis))?;
        }
        let config = format!("{}/historyConfig", self.slot_path(extension));
        let config = self.resolve_component(&config)?;
        for (slot, spec, text) in history.config_slots() {
            let ty = registry::find(spec).ok_or_else(|| ModelError::UnknownType {
                spec: spec.to_owned(),
            })?;
            let value = Value::decode(ty, &text).ok_or(ModelError::Undecodable {
                spec: spec.to_owned(),
                text,
            })?;
            self.set(config, slot, value)?;
        }
        self.histories.insert(history);
        Ok(extension)
    }
}

impl History {
    /// The slots of `history:HistoryConfig` with type and encoding, in contract order.
    pub fn config_slots(&self) -> [(&'static str, &'static str, String); 8] {
        [
            ("id", "history:HistoryId", self.id.clone()),
            (
                "source",
                "baja:OrdList",
                self.source_ord.clone().unwrap_or_default(),
            ),
            (
                "timeZone",
                "baja:TimeZone",
                self.time_zone.name().to_owned(),
            ),
            ("recordType", "baja:TypeSpec", self.record_type().to_owned()),
            ("capacity", "history:Capacity", self.capacity_text()),
            (
                "fullPolicy",
                "history:FullPolicy",
                self.full_policy.tag().to_owned(),
            ),
            (
                "interval",
                "history:CollectionInterval",
                self.interval.encode(),
            ),
            ("valueFacets", "baja:Facets", self.value_facets.encode()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::{TimeDelta, TimeZone};
    use proptest::prelude::*;

    fn start() -> DateTime<Utc> {
        Utc.with_ymd_and_hms(2026, 1, 1, 0, 0, 0).unwrap()
    }

    fn minutes(n: i64) -> DateTime<Utc> {
        start() + TimeDelta::minutes(n)
    }

    fn history(count: i64, capacity: Option<usize>, full_policy: FullPolicy) -> History {
        let records = (0..count)
            .map(|n| HistoryRecord::ok(minutes(n), n as f64))
            .collect();
        let stored = Arc::new(StoredHistory::new(records));
        History {
            capacity,
            full_policy,
            ..History::new("/T/H", PointKind::Numeric, Tz::UTC, stored)
        }
    }

    fn numbers(records: &[HistoryRecord]) -> Vec<f64> {
        records
            .iter()
            .filter_map(|record| record.value.as_f64())
            .collect()
    }

    #[test]
    fn both_ends_of_a_range_are_included() {
        let history = history(10, None, FullPolicy::Roll);
        assert_eq!(
            numbers(&history.records(minutes(3), minutes(5), minutes(99))),
            [3.0, 4.0, 5.0]
        );
        assert_eq!(
            numbers(&history.records(minutes(5), minutes(3), minutes(99))),
            [] as [f64; 0]
        );
    }

    #[test]
    fn the_future_is_not_recorded_yet() {
        let history = history(10, None, FullPolicy::Roll);
        assert_eq!(history.count(minutes(4)), 5);
        assert_eq!(history.bounds(minutes(4)), Some((minutes(0), minutes(4))));
        assert_eq!(history.records(minutes(0), minutes(9), minutes(4)).len(), 5);
        assert_eq!(history.bounds(minutes(-1)), None);
    }

    #[test]
    fn a_full_history_rolls_or_stops() {
        let rolling = history(10, Some(3), FullPolicy::Roll);
        assert_eq!(
            numbers(&rolling.records(minutes(0), minutes(9), minutes(9))),
            [7.0, 8.0, 9.0]
        );
        assert_eq!(rolling.bounds(minutes(9)), Some((minutes(7), minutes(9))));
        let stopped = history(10, Some(3), FullPolicy::Stop);
        assert_eq!(
            numbers(&stopped.records(minutes(0), minutes(9), minutes(9))),
            [0.0, 1.0, 2.0]
        );
        assert_eq!(stopped.bounds(minutes(9)), Some((minutes(0), minutes(2))));
        assert_eq!(stopped.count(minutes(9)), 3);
    }

    #[test]
    fn doubled_timestamps_keep_their_order() {
        let records = [(1, 1.0), (0, 0.0), (1, 2.0), (1, 3.0)]
            .map(|(n, number)| HistoryRecord::ok(minutes(n), number))
            .to_vec();
        let stored = StoredHistory::new(records);
        assert_eq!(
            numbers(&stored.records(minutes(1), minutes(1))),
            [1.0, 2.0, 3.0]
        );
    }

    #[test]
    fn trend_flags_read_as_words() {
        assert_eq!(trend_flags::display(0), "{ }");
        assert_eq!(
            trend_flags::display(trend_flags::START | trend_flags::HIDDEN),
            "{start,hidden}"
        );
    }

    proptest! {
        #[test]
        fn ranges_cut_anywhere_join_to_the_whole(cut in 0_i64..200, capacity in proptest::option::of(1_usize..150)) {
            let history = history(120, capacity, FullPolicy::Roll);
            let whole = history.records(minutes(0), minutes(200), minutes(200));
            let mut parts = history.records(minutes(0), minutes(cut), minutes(200));
            parts.extend(history.records(minutes(cut) + TimeDelta::milliseconds(1), minutes(200), minutes(200)));
            prop_assert_eq!(whole.len(), history.count(minutes(200)));
            prop_assert_eq!(whole, parts);
        }
    }
}
