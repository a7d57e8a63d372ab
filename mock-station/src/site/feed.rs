//! Live values and histories of a simulated point: two views of the same function of time.

use super::measure::Reader;
use super::quality::Quality;
use super::sim::calendar::QUARTER_MS;
use super::sim::{Building, Signal};
use crate::model::history::trend_flags;
use crate::model::{FeedSample, HistoryRecord, HistorySource, PointFeed, Value};
use chrono::{DateTime, Utc};
use std::sync::{Arc, Mutex};

/// One point of one building.
#[derive(Debug)]
pub struct SimulatedPoint {
    building: Arc<Building>,
    signal: Signal,
    reader: Reader,
    quality: Quality,
}

impl SimulatedPoint {
    pub fn new(building: Arc<Building>, signal: Signal, reader: Reader, quality: Quality) -> Self {
        Self {
            building,
            signal,
            reader,
            quality,
        }
    }

    fn value(&self, epoch_ms: i64) -> Value {
        self.reader
            .value(self.building.value(self.signal, epoch_ms))
    }
}

impl PointFeed for SimulatedPoint {
    fn sample(&self, now: DateTime<Utc>) -> FeedSample {
        let epoch_ms = now.timestamp_millis();
        FeedSample {
            value: self.value(epoch_ms),
            status: self.quality.status(epoch_ms),
        }
    }
}

fn instant(epoch_ms: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(epoch_ms).unwrap_or(DateTime::UNIX_EPOCH)
}

/// Records every quarter of an hour since `first`, computed when asked for.
#[derive(Debug)]
pub struct IntervalHistory {
    point: Arc<SimulatedPoint>,
    /// Epoch milliseconds, on a quarter.
    first: i64,
}

impl IntervalHistory {
    pub fn new(point: Arc<SimulatedPoint>, first: i64) -> Self {
        Self {
            point,
            first: first - first.rem_euclid(QUARTER_MS),
        }
    }

    fn instants(&self, start: i64, end: i64) -> impl Iterator<Item = i64> + use<> {
        let from = start.max(self.first);
        let from = from + (-from).rem_euclid(QUARTER_MS);
        (0..)
            .map(move |step| from + step * QUARTER_MS)
            .take_while(move |at| *at <= end)
    }
}

impl HistorySource for IntervalHistory {
    fn records(&self, start: DateTime<Utc>, end: DateTime<Utc>) -> Vec<HistoryRecord> {
        let quality = self.point.quality;
        let mut records = Vec::new();
        for at in self.instants(start.timestamp_millis(), end.timestamp_millis()) {
            let timestamp = instant(at);
            if quality.missing(at) || timestamp < start {
                continue;
            }
            let restarted = at == self.first || quality.missing(at - QUARTER_MS);
            let record = HistoryRecord {
                timestamp,
                trend_flags: quality.flags(at) | if restarted { trend_flags::START } else { 0 },
                status: quality.status(at),
                value: self.point.value(at),
            };
            if quality.duplicated(at) {
                records.push(record.clone());
            }
            records.push(record);
        }
        records
    }

    fn bounds(&self, now: DateTime<Utc>) -> Option<(DateTime<Utc>, DateTime<Utc>)> {
        let now = now.timestamp_millis();
        let quality = self.point.quality;
        let first = self
            .instants(self.first, now)
            .find(|at| !quality.missing(*at))?;
        let mut last = now - now.rem_euclid(QUARTER_MS);
        while last > first && quality.missing(last) {
            last -= QUARTER_MS;
        }
        Some((instant(first), instant(last)))
    }

    fn count(&self, now: DateTime<Utc>) -> usize {
        let quality = self.point.quality;
        self.instants(self.first, now.timestamp_millis())
            .filter(|at| !quality.missing(*at))
            .map(|at| 1 + usize::from(quality.duplicated(at)))
            .sum()
    }
}

/// Records on change of value since `first`: changes are looked for between quarters and placed to the second.
///
/// Found changes are kept, because the whole past is needed to count them.
#[derive(Debug)]
pub struct ChangeHistory {
    point: Arc<SimulatedPoint>,
    first: i64,
    found: Mutex<Found>,
}

#[derive(Debug, Default)]
struct Found {
    records: Vec<HistoryRecord>,
    /// All changes up to this instant are in `records`.
    searched_to: i64,
}

impl ChangeHistory {
    pub fn new(point: Arc<SimulatedPoint>, first: i64) -> Self {
        Self {
            point,
            first: first - first.rem_euclid(QUARTER_MS),
            found: Mutex::new(Found::default()),
        }
    }

    fn with_changes<T>(&self, to: i64, read: impl FnOnce(&[HistoryRecord]) -> T) -> T {
        let mut found = self
            .found
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        if found.records.is_empty() && to >= self.first {
            let mut record = HistoryRecord::ok(instant(self.first), self.point.value(self.first));
            record.trend_flags = trend_flags::START;
            found.records.push(record);
            found.searched_to = self.first;
        }
        while found.searched_to + QUARTER_MS <= to {
            let from = found.searched_to;
            self.search(from, from + QUARTER_MS, &mut found.records);
            found.searched_to = from + QUARTER_MS;
        }
        read(&found.records)
    }

    fn search(&self, from: i64, to: i64, records: &mut Vec<HistoryRecord>) {
        let Some(before) = records.last().map(|record| record.value.clone()) else {
            return;
        };
        if self.point.value(to) == before {
            return;
        }
        let (mut unchanged, mut changed) = (from, to);
        while changed - unchanged > 1000 {
            let middle = unchanged + (changed - unchanged) / 2000 * 1000;
            if self.point.value(middle) == before {
                unchanged = middle;
            } else {
                changed = middle;
            }
        }
        records.push(HistoryRecord::ok(
            instant(changed),
            self.point.value(changed),
        ));
        if changed < to {
            self.search(changed, to, records);
        }
    }
}

impl HistorySource for ChangeHistory {
    fn records(&self, start: DateTime<Utc>, end: DateTime<Utc>) -> Vec<HistoryRecord> {
        self.with_changes(end.timestamp_millis(), |records| {
            let first = records.partition_point(|record| record.timestamp < start);
            let last = records.partition_point(|record| record.timestamp <= end);
            records
                .get(first..last)
                .map(<[_]>::to_vec)
                .unwrap_or_default()
        })
    }

    fn bounds(&self, now: DateTime<Utc>) -> Option<(DateTime<Utc>, DateTime<Utc>)> {
        self.with_changes(now.timestamp_millis(), |records| {
            let past = records.get(..records.partition_point(|record| record.timestamp <= now))?;
            Some((past.first()?.timestamp, past.last()?.timestamp))
        })
    }

    fn count(&self, now: DateTime<Utc>) -> usize {
        self.with_changes(now.timestamp_millis(), |records| {
            records.partition_point(|record| record.timestamp <= now)
        })
    }
}
