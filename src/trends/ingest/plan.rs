//! What an ingest is going to read.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

use super::IngestError;
use super::covered::{Covered, Millis, Stretch};
use super::mapped_points::{MappedPoint, Refusal, mapped_points};
use super::progress_state::{PointProgress, ProgressFile};
use super::report::refused_text;
use super::sample_rule::SampleRule;
use super::station_histories::{FoundSource, StationHistories};
use crate::knowledge::KnowledgeModel;
use crate::station::facade::StationFacade;
use crate::station::http::CallScope;
use crate::trends::duty::{SiteBins, usual_bins};
use crate::trends::site_time::SiteClock;
use crate::trends::store::facility_id::slug;
use crate::trends::store::lock::wait_from_environment;
use crate::trends::store::{BinWidth, FacilityId, TrendStore};
use crate::visible_text::one_line;

/// Changes of the last moments may still be on their way into the history.
const SETTLING: Millis = 60_000;

/// Clocks further apart are worth a word in the log.
const MOST_APART: TimeDelta = TimeDelta::minutes(2);

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
    /// Replaces it although there is less now.
    pub accept_less: bool,
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
            accept_less: false,
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
    /// Set where changes of a state are recorded, which hold until the next one.
    pub held: Option<HeldRule>,
}

/// How the changes of a state become values: the share of each bin in which it was on (Store §11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldRule {
    pub bins: SiteBins,
    /// Records come from another station by and by: after the newest one nothing is known yet.
    pub imported: bool,
}

impl HeldRule {
    /// The bins that are wanted and not stored yet. The first is the one in which the wanted time begins, and those count
    /// that ended a moment ago: a value that was stored is never corrected.
    fn missing(self, covered: &Covered, wanted: Stretch, present: Millis) -> Vec<Stretch> {
        let end = wanted
            .to
            .saturating_add(1)
            .min(present.saturating_sub(SETTLING));
        let whole = |from, end| {
            let (from, end) = self.bins.whole(from, end)?;
            Stretch::new(from, end - 1)
        };
        let Some(wanted) = whole(self.bins.at(wanted.from).begin, end) else {
            return Vec::new();
        };
        let missing = covered.missing(wanted).into_iter();
        missing
            .filter_map(|stretch| whole(stretch.from, stretch.to.saturating_add(1)))
            .collect()
    }
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
    /// A replacement may hold less than what it replaces.
    pub accept_less: bool,
    /// Width of the bins in which states are stored.
    pub state_bins: BinWidth,
    pub(super) progress: ProgressFile,
}

impl IngestPlan {
    /// Asks station, knowledge model and store what is to be read; takes the lock of the store for a moment and finishes
    /// what a killed writer left.
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
        let store = Progress::InStore(store.clone());
        Self::build(station, scope, model, store, request).await
    }

    /// The same without changing anything on disk; the folder of the store may be missing.
    ///
    /// # Errors
    /// As [`IngestPlan::make`].
    pub async fn preview(
        station: &StationFacade,
        scope: &CallScope,
        model: &KnowledgeModel,
        root: &Path,
        request: &IngestRequest,
    ) -> Result<Self, IngestError> {
        let root = Progress::LookedAt(root.to_owned());
        Self::build(station, scope, model, root, request).await
    }

    async fn build(
        station: &StationFacade,
        scope: &CallScope,
        model: &KnowledgeModel,
        progress: Progress,
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
        let station_name = station.station_name(scope).await?;
        let facility = match &request.facility {
            Some(facility) => facility.clone(),
            None => facility_of(&station_name),
        };
        // Before the station is asked for all that it has.
        progress.check_takes_data(facility.clone()).await?;
        let histories = StationHistories::read(station, scope, station_name).await?;
        let present = present_of(station, scope, now).await;
        let clock = SiteClock::new(histories.zone);
        let mut progress = progress.open(facility.clone(), clock).await?;
        let mapped = mapped_points(model, &request.only);
        if let Some(unknown) = request.only.iter().find(|id| model.equipment(id).is_none()) {
            return Err(IngestError::UnknownEquipment {
                equip: unknown.clone(),
            });
        }
        let kept = progress.state_bins().filter(|_| !request.force);
        let state_bins = kept
            .or_else(|| histories.usual_interval())
            .unwrap_or_else(usual_bins);
        progress.choose_state_bins(state_bins);
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
            accept_less: request.accept_less,
            state_bins,
            progress,
        };
        for point in mapped.points {
            plan.add(point, &histories, present);
        }
        Ok(plan)
    }

    fn add(&mut self, mapped: MappedPoint, histories: &StationHistories, present: Millis) {
        match histories.find(&mapped) {
            Ok(found) => {
                let progress = if self.force {
                    PointProgress::default()
                } else {
                    self.progress.of(&mapped.equip, &mapped.role.role)
                };
                let is_regular = found
                    .source
                    .listed()
                    .is_some_and(|history| history.interval_millis.is_some());
                let held = (mapped.role.status && !is_regular).then(|| HeldRule {
                    bins: SiteBins::new(self.clock, self.state_bins),
                    imported: histories.is_imported(&found.source),
                });
                self.points.push(PlannedPoint {
                    rule: SampleRule::new(mapped.role, found.conversion.clone()),
                    missing: match &held {
                        Some(held) => held.missing(&progress.covered, self.wanted, present),
                        None => progress.covered.missing(self.wanted),
                    },
                    mapped,
                    found,
                    progress,
                    held,
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
            one_line(&self.station_name),
            self.clock.zone(),
            rows.iter().filter(|row| !row.missing.is_empty()).count(),
            self.refused.len()
        );
        let clean = |row: &PlanRow| row.cells().map(|cell| one_line(&cell));
        let cells: Vec<[String; 6]> = rows.iter().map(clean).collect();
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

    /// The same as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "facility": self.facility.as_str(),
            "timeZone": self.clock.zone().name(),
            "histories": self.rows(),
            "notIngested": self.refused,
        })
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
                share_of: point.held.map(|_| self.state_bins.to_string()),
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
    /// Width of the bins, where changes of a state are stored as the share of time in which it was on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share_of: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_records: Option<i64>,
}

impl PlanRow {
    fn cells(&self) -> [String; 6] {
        let unit = match (self.unit.as_str(), self.stored_in.as_str(), &self.share_of) {
            (_, stored, Some(width)) => format!("changes → {stored} per {width}"),
            ("", stored, None) => stored.to_owned(),
            (unit, stored, None) => format!("{unit} → {stored}"),
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

/// The present of the station's histories: a station whose clock is slow has not recorded yet what the bridge takes for
/// past. Where the station does not tell its time, the bridge's clock counts.
async fn present_of(station: &StationFacade, scope: &CallScope, now: DateTime<Utc>) -> Millis {
    let of_station = match station.station_clock(scope).await {
        Ok(time) => time,
        Err(error) => {
            tracing::debug!(%error, "the station does not tell its time; that of the bridge counts");
            None
        }
    };
    let apart = of_station.map_or(TimeDelta::zero(), |time| now - time);
    if apart.abs() > MOST_APART {
        tracing::warn!(
            seconds = apart.num_seconds(),
            "the clock of the station is slower than the bridge's by so much (less than nothing: faster)"
        );
    }
    of_station.unwrap_or(now).min(now).timestamp_millis()
}

/// Where the progress is read from.
enum Progress {
    /// Under the lock of the store, which also finishes what a killed writer left.
    InStore(Arc<TrendStore>),
    /// From a folder that is not to be changed, and need not exist.
    LookedAt(PathBuf),
}

impl Progress {
    async fn check_takes_data(&self, facility: FacilityId) -> Result<(), IngestError> {
        let store = match self {
            Self::InStore(store) => store.clone(),
            Self::LookedAt(root) if root.exists() => Arc::new(TrendStore::open(root)?),
            Self::LookedAt(_) => return Ok(()),
        };
        let check = move || {
            store.check_takes_data(&facility)?;
            store.check_is_no_dataset(&facility)
        };
        tokio::task::spawn_blocking(check)
            .await
            .map_err(|error| IngestError::Ended(error.to_string()))?
            .map_err(IngestError::from)
    }

    async fn open(
        self,
        facility: FacilityId,
        clock: SiteClock,
    ) -> Result<ProgressFile, IngestError> {
        let opened = tokio::task::spawn_blocking(move || match self {
            Self::InStore(store) => {
                let _writer = store.writer(wait_from_environment())?;
                read_progress(&store, facility, clock)
            }
            Self::LookedAt(root) if root.exists() => {
                read_progress(&TrendStore::open(root)?, facility, clock)
            }
            Self::LookedAt(root) => Ok(ProgressFile::of_nothing(&root, &facility)),
        });
        opened
            .await
            .map_err(|error| IngestError::Ended(error.to_string()))?
    }
}

fn read_progress(
    store: &TrendStore,
    facility: FacilityId,
    clock: SiteClock,
) -> Result<ProgressFile, IngestError> {
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
    ProgressFile::open(store, &facility, clock)
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
