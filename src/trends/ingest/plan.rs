//! What an ingest is going to read.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

use super::IngestError;
use super::covered::{Millis, Stretch};
use super::mapped_points::{MappedPoint, Refusal, mapped_points};
use super::progress_state::{PointProgress, ProgressFile};
use super::report::refused_text;
use super::sample_rule::SampleRule;
use super::station_histories::{FoundSource, StationHistories};
use crate::knowledge::KnowledgeModel;
use crate::station::facade::StationFacade;
use crate::station::http::CallScope;
use crate::trends::site_time::SiteClock;
use crate::trends::store::facility_id::slug;
use crate::trends::store::lock::wait_from_environment;
use crate::trends::store::{FacilityId, TrendStore};

/// What is wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct IngestRequest {
    /// None makes the id from the station's name.
    pub facility: Option<FacilityId>,
    /// First instant.
    pub from: DateTime<Utc>,
    /// Last instant; none reads up to the present.
    pub to: Option<DateTime<Utc>>,
    /// Only these pieces of equipment; empty for all.
    pub only: BTreeSet<String>,
    /// Reads everything again and replaces what is stored.
    pub force: bool,
}

impl IngestRequest {
    /// The last days up to the present.
    pub fn last_days(facility: Option<FacilityId>, days: u32, now: DateTime<Utc>) -> Self {
        Self {
            facility,
            from: now
                .checked_sub_signed(TimeDelta::days(i64::from(days)))
                .unwrap_or(DateTime::UNIX_EPOCH),
            to: None,
            only: BTreeSet::new(),
            force: false,
        }
    }
}

/// A point that is going to be read.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedPoint {
    pub mapped: MappedPoint,
    pub found: FoundSource,
    pub rule: SampleRule,
    pub progress: PointProgress,
    /// In ascending order; empty when everything is stored.
    pub missing: Vec<Stretch>,
}

impl PlannedPoint {
    /// Says so when samples came from another history until now.
    pub(super) fn renamed_remark(&self) -> Option<String> {
        let id = self.found.source.history_id()?;
        let before = self.progress.history.as_str();
        (!before.is_empty() && before != id).then(|| {
            format!("was read from {before} and goes on with {id}; ingest --force reads all of it again if the two differ")
        })
    }

    /// Records to be expected, where the history is recorded at regular times.
    fn expected_records(&self) -> Option<i64> {
        let interval = self.found.source.listed()?.interval_millis?;
        let millis: i64 = self
            .missing
            .iter()
            .map(|stretch| stretch.length().num_milliseconds())
            .sum();
        Some(millis / interval)
    }
}

/// What an ingest is going to do.
#[derive(Debug)]
pub struct IngestPlan {
    pub facility: FacilityId,
    pub station_name: String,
    pub clock: SiteClock,
    pub points: Vec<PlannedPoint>,
    /// Points that are not ingested.
    pub refused: Vec<Refusal>,
    pub without_class: Vec<String>,
    pub without_role: usize,
    pub wanted: Stretch,
    /// The end of `wanted` where that is the present.
    pub now: Option<Millis>,
    pub force: bool,
    pub(super) progress: ProgressFile,
}

impl IngestPlan {
    /// Asks station, knowledge model and store what is to be read.
    ///
    /// # Errors
    /// The station or the store cannot be asked, or the store holds the facility in another time zone.
    pub async fn make(
        station: &StationFacade,
        scope: &CallScope,
        model: &KnowledgeModel,
        store: &Arc<TrendStore>,
        request: &IngestRequest,
    ) -> Result<Self, IngestError> {
        if request.force && !request.only.is_empty() {
            return Err(IngestError::ForcePart);
        }
        let now = station.now();
        let end = request.to.unwrap_or(now).min(now);
        let wanted = Stretch::new(request.from.timestamp_millis(), end.timestamp_millis()).ok_or(
            IngestError::NothingWanted {
                from: request.from,
                to: end,
            },
        )?;
        let histories = StationHistories::read(station, scope).await?;
        let clock = SiteClock::new(histories.zone);
        let facility = match &request.facility {
            Some(facility) => facility.clone(),
            None => facility_of(&histories.station_name),
        };
        let progress = open_progress(store.clone(), facility.clone(), clock).await?;
        let mapped = mapped_points(model, &request.only);
        if let Some(unknown) = request.only.iter().find(|id| model.equipment(id).is_none()) {
            return Err(IngestError::UnknownEquipment {
                equip: unknown.clone(),
            });
        }
        let mut plan = Self {
            facility,
            station_name: histories.station_name.clone(),
            clock,
            points: Vec::new(),
            refused: mapped.refused,
            without_class: mapped.without_class,
            without_role: mapped.without_role,
            wanted,
            now: request.to.is_none_or(|to| to >= now).then_some(wanted.to),
            force: request.force,
            progress,
        };
        for point in mapped.points {
            plan.add(point, &histories);
        }
        Ok(plan)
    }

    fn add(&mut self, mapped: MappedPoint, histories: &StationHistories) {
        match histories.find(&mapped) {
            Ok(found) => {
                let progress = if self.force {
                    PointProgress::default()
                } else {
                    self.progress.of(&mapped.equip, &mapped.role.role)
                };
                self.points.push(PlannedPoint {
                    rule: SampleRule::new(mapped.role, found.conversion.clone()),
                    missing: progress.covered.missing(self.wanted),
                    mapped,
                    found,
                    progress,
                });
            }
            Err(reason) => self.refused.push(refusal(&mapped, reason)),
        }
    }

    /// The table of a dry run.
    pub fn table(&self) -> String {
        let rows = self.rows();
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "Facility {} ({}, {}): {} histories to read, {} points not ingested.\n",
            self.facility,
            self.station_name,
            self.clock.zone(),
            rows.iter().filter(|row| !row.missing.is_empty()).count(),
            self.refused.len()
        );
        let cells: Vec<[String; 6]> = rows.iter().map(PlanRow::cells).collect();
        let heads = [
            "equipment",
            "role",
            "history",
            "unit",
            "to be read",
            "records",
        ]
        .map(str::to_owned);
        let mut widths = [0_usize; 6];
        for row in std::iter::once(&heads).chain(&cells) {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        for row in std::iter::once(&heads).chain(&cells) {
            let line: Vec<String> = row
                .iter()
                .zip(widths)
                .map(|(cell, width)| format!("{cell:width$}"))
                .collect();
            let _ = writeln!(text, "{}", line.join("  ").trim_end());
        }
        if !self.refused.is_empty() {
            let _ = write!(text, "\n{}", refused_text(&self.refused));
        }
        text
    }

    /// The rows of that table.
    pub fn rows(&self) -> Vec<PlanRow> {
        self.points
            .iter()
            .map(|point| PlanRow {
                equip: point.mapped.equip.clone(),
                role: point.mapped.role.role.clone(),
                history: point.found.source.history_id().map(str::to_owned),
                unit: point.found.unit.clone(),
                stored_in: point.mapped.role.unit.clone(),
                missing: point
                    .missing
                    .iter()
                    .map(|stretch| {
                        [
                            local(stretch.begin(), self.clock),
                            local(stretch.end(), self.clock),
                        ]
                    })
                    .collect(),
                expected_records: point.expected_records(),
            })
            .collect()
    }
}

pub(super) fn refusal(mapped: &MappedPoint, reason: String) -> Refusal {
    Refusal {
        equip: mapped.equip.clone(),
        role: mapped.mapped_as.clone(),
        ord: mapped
            .point
            .as_ref()
            .map(crate::station::ord::Ord::absolute),
        reason,
    }
}

/// One history of a dry run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanRow {
    pub equip: String,
    pub role: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<String>,
    /// Unit of the records, empty for bare numbers.
    pub unit: String,
    pub stored_in: String,
    /// First and last instant of each stretch, in the station's zone.
    pub missing: Vec<[String; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_records: Option<i64>,
}

impl PlanRow {
    fn cells(&self) -> [String; 6] {
        let unit = match (self.unit.as_str(), self.stored_in.as_str()) {
            ("", stored) => stored.to_owned(),
            (unit, stored) => format!("{unit} → {stored}"),
        };
        let missing: Vec<String> = self
            .missing
            .iter()
            .map(|[from, to]| format!("{from} … {to}"))
            .collect();
        let records = match (self.missing.is_empty(), self.expected_records) {
            (true, _) => "0".to_owned(),
            (false, Some(records)) => format!("about {records}"),
            (false, None) => "?".to_owned(),
        };
        [
            self.equip.clone(),
            self.role.clone(),
            self.history
                .clone()
                .unwrap_or_else(|| "(asked at the point)".to_owned()),
            unit,
            if missing.is_empty() {
                "nothing".to_owned()
            } else {
                missing.join(", ")
            },
            records,
        ]
    }
}

fn local(instant: DateTime<Utc>, clock: SiteClock) -> String {
    instant
        .with_timezone(&clock.zone())
        .format("%Y-%m-%dT%H:%M:%S%:z")
        .to_string()
}

/// The id that a station's name stands for: its slug, which people can guess, where that is possible.
pub fn facility_of(station_name: &str) -> FacilityId {
    match FacilityId::parse(&slug(station_name)) {
        Ok(id) if !id.is_all_digits() && !id.is_dataset() => id,
        _ => FacilityId::parse(&format!("site-{}", FacilityId::from_name(station_name)))
            .unwrap_or_else(|_| FacilityId::from_name(station_name)),
    }
}

/// Reads the progress under the lock of the store, which also finishes what a killed writer left.
async fn open_progress(
    store: Arc<TrendStore>,
    facility: FacilityId,
    clock: SiteClock,
) -> Result<ProgressFile, IngestError> {
    let opened = tokio::task::spawn_blocking(move || {
        let _writer = store.writer(wait_from_environment())?;
        let registry = store.registry();
        registry.trusted()?;
        let entry = registry.entry(facility.as_str());
        let registered = entry.and_then(|entry| entry.time_zone(|_| None));
        if let Some(registered) = registered
            && !registered.eq_ignore_ascii_case(clock.zone().name())
        {
            return Err(IngestError::Zone {
                facility,
                registered,
                station: clock.zone().name().to_owned(),
            });
        }
        ProgressFile::open(&store, &facility, clock)
    });
    opened
        .await
        .map_err(|error| IngestError::Ended(error.to_string()))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_facility_is_called_as_its_station() {
        for (name, id) in [
            ("Harborview", "harborview"),
            ("Main St. 7", "main-st-7"),
            ("1234", "site-1234-7110ed"),
            ("冷凍機", "site-"),
        ] {
            let found = facility_of(name);
            assert!(found.as_str().starts_with(id), "{name}: {found}");
        }
    }
}
