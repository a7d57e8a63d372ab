//! One run of the measurement and verification of a facility (M&V §2, §3).

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::TimeDelta;
use niagara_analytics::mv::questions::{beyond_data, questions, repeated};
use niagara_analytics::mv::{DailyFrame, Frozen, MvFinding, SiteDays, Sources, Weather, project};
use niagara_analytics::run_config::mv_bills::{BillWeather, BilledMeter};
use niagara_analytics::run_config::{MvEntry, MvMeter};
use niagara_analytics::{BinWidth, RunFrame};
use serde_json::{Map, Value};

use super::drift::span;
use super::{RunGround, frames, refused};
use crate::camber::call::Call;
use crate::camber::dataset_catalogue::DatasetCatalogue;
use crate::camber::error::CapabilityError;
use crate::camber::python_text::float;
use crate::camber::token::sha256;
use crate::camber::workspace::PointOrds;
use crate::trends::site_time::SiteClock;
use crate::trends::store::wall_clock::{DAY, HOUR, iso};

/// A run and what it was made of.
pub struct MvRun<'a> {
    pub ground: RunGround<'a>,
    pub entries: Vec<MvEntry>,
    /// Worst first.
    pub findings: Vec<MvFinding>,
    ords: Arc<PointOrds>,
}

impl<'a> MvRun<'a> {
    /// Runs the project of the facility over the equipment that the arguments `facility_id` and `equips` name.
    ///
    /// # Errors
    /// As [`RunGround::of`] and [`frames::load`]; the configuration declares no project, or one that is wrong.
    pub fn of(call: &Call<'a>, arguments: &Map<String, Value>) -> Result<Self, CapabilityError> {
        let mut ground = RunGround::of(call, arguments)?;
        let entries = entries(call, &ground)?;
        ground.equipment.retain(|found| {
            entries.iter().any(|entry| match &entry.meter {
                MvMeter::Trended(meter) => meter.class == found.equip_class,
                MvMeter::Bills(_) => false,
            })
        });
        let frames = frames::load_on(call, &ground, BinWidth::HOUR)?;
        call.watch.check()?;
        let clock = clock(call, &ground);
        let hours_of_day = |midnight| hours_of_day(clock, midnight);
        let shown_twice = |stamp| {
            clock.is_some_and(|clock| clock.first_instant(stamp) != clock.last_instant(stamp))
        };
        let site = SiteDays {
            hours_of_day: &hours_of_day,
            shown_twice: &shown_twice,
        };
        let shared = shared_weather(call, &ground, &entries)?;
        let weather = |meter: &BilledMeter| bill_weather(&ground, meter, shared.as_ref());
        let places = [
            Some(ground.facility.as_str()),
            ground.config.facility_id.as_deref(),
            ground.config.site.as_deref(),
        ];
        let places: Vec<&str> = places.into_iter().flatten().collect();
        let frozen = match ground.config.frozen_baselines() {
            Some(Ok(text)) => Some(Frozen {
                text,
                places: &places,
                digest: &rows_digest,
            }),
            Some(Err(_)) | None => None,
        };
        let sources = Sources {
            site,
            weather: &weather,
            frozen,
        };
        let findings = project::findings(&entries, &frames, sources)
            .map_err(|error| CapabilityError::invalid(error.to_string()))?;
        ground.notices.extend(entries.iter().flat_map(questions));
        ground.notices.extend(repeated(&entries));
        let beyond = entries
            .iter()
            .flat_map(|entry| beyond_data(entry, span_of(entry, &frames)));
        ground.notices.extend(beyond);
        if arguments.get("equips").is_none() {
            let without = without_equipment(call, &entries, &ground);
            ground.notices.extend(without);
        }
        if let Some(Err(problem)) = ground.config.frozen_baselines() {
            ground.notices.push(format!(
                "the store of frozen baselines (mv_store) could not be read ({problem}); baselines are fitted"
            ));
        }
        Ok(Self {
            ords: call.ords(ground.facility.as_str()),
            ground,
            entries,
            findings,
        })
    }

    /// The station's points of a meter that the entries read, by role.
    pub fn ords_of(&self, equip: &str) -> BTreeMap<&str, String> {
        self.entries
            .iter()
            .filter_map(|entry| match &entry.meter {
                MvMeter::Trended(meter) => Some(meter),
                MvMeter::Bills(_) => None,
            })
            .flat_map(|meter| {
                let drivers = meter.drivers.iter().flat_map(|drivers| drivers.roles());
                [meter.role.as_str(), "oat"].into_iter().chain(drivers)
            })
            .filter_map(|role| Some((role, self.ords.ord(equip, role)?.to_owned())))
            .collect()
    }
}

/// First and last stamp of the meters of an entry; none of bills, and without samples.
fn span_of(entry: &MvEntry, frames: &[RunFrame]) -> Option<(i64, i64)> {
    let MvMeter::Trended(meter) = &entry.meter else {
        return None;
    };
    let of_class = frames
        .iter()
        .filter(|frame| frame.equip_class() == meter.class);
    span(of_class)
}

/// Entries of a class that the run has no equipment of.
fn without_equipment(call: &Call<'_>, entries: &[MvEntry], ground: &RunGround<'_>) -> Vec<String> {
    let is_taken = |class: &str| {
        ground
            .equipment
            .iter()
            .any(|found| found.equip_class == class)
    };
    entries
        .iter()
        .filter_map(|entry| match &entry.meter {
            MvMeter::Trended(meter) if !is_taken(&meter.class) => Some(format!(
                "{}.class: the run takes no equipment of the class {}, so that the entry covers no meter",
                entry.place,
                call.quote(&meter.class)
            )),
            _ => None,
        })
        .collect()
}

/// Outdoor temperatures that bills without a file of their own share, with the name of their source.
type SharedWeather = (Weather, String);

/// What `shared_oat` says, on a grid of one hour; read when an entry of bills needs it.
fn shared_weather(
    call: &Call<'_>,
    ground: &RunGround<'_>,
    entries: &[MvEntry],
) -> Result<Option<SharedWeather>, CapabilityError> {
    let is_needed = entries.iter().any(|entry| match &entry.meter {
        MvMeter::Bills(meter) => meter.weather == BillWeather::Shared,
        MvMeter::Trended(_) => false,
    });
    if !is_needed {
        return Ok(None);
    }
    let points = frames::shared_points(call, ground, BinWidth::HOUR)?;
    Ok(points.first().map(|point| {
        let samples = point.stamps.iter().zip(&point.values);
        let samples = samples.map(|(stamp, value)| (*stamp, *value));
        (Weather::of(samples), "shared_oat".to_owned())
    }))
}

fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

fn bill_weather(
    ground: &RunGround<'_>,
    meter: &BilledMeter,
    shared: Option<&SharedWeather>,
) -> Result<SharedWeather, String> {
    let none = || "there is no outdoor temperature: give oat.file, or shared_oat".to_owned();
    match &meter.weather {
        BillWeather::Shared => shared.cloned().ok_or_else(none),
        BillWeather::Fetched => Err(
            "there is no outdoor temperature: no call fetches weather; give oat.file".to_owned(),
        ),
        BillWeather::File(path) => {
            let series = ground
                .file
                .and_then(|file| file.series_of(path))
                .ok_or_else(none)?;
            let hourly = hourly_means(&series.stamps, &series.values);
            Ok((Weather::of(hourly), format!("file {}", file_name(path))))
        }
    }
}

/// Means of the samples of each hour.
fn hourly_means(stamps: &[i64], values: &[f64]) -> Vec<(i64, f64)> {
    let mut hours: BTreeMap<i64, (f64, u32)> = BTreeMap::new();
    for (stamp, value) in stamps.iter().zip(values) {
        let (sum, count) = hours.entry(stamp.div_euclid(HOUR)).or_default();
        *sum += value;
        *count += 1;
    }
    hours
        .into_iter()
        .map(|(hour, (sum, count))| (hour.saturating_mul(HOUR), sum / f64::from(count)))
        .collect()
}

/// Lines of midnight, temperature, energy and further terms, as the writer of frozen baselines takes their SHA-256.
fn rows_digest(rows: &DailyFrame) -> String {
    let mut lines = String::new();
    let days = rows.days.iter().zip(&rows.temperature).zip(&rows.energy);
    for (row, ((day, temperature), energy)) in days.enumerate() {
        let further = rows.drivers.iter().filter_map(|column| column.get(row));
        lines.push_str(&iso(*day));
        for value in [temperature, energy].into_iter().chain(further) {
            lines.push(',');
            lines.push_str(&float(*value));
        }
        lines.push('\n');
    }
    sha256(lines.as_bytes())
}

/// The project that the facility's run configuration declares, not run.
///
/// # Errors
/// As those of [`RunGround::of`]; there is no project, or one that is wrong.
pub fn declared(
    call: &Call<'_>,
    arguments: &Map<String, Value>,
) -> Result<Vec<MvEntry>, CapabilityError> {
    entries(call, &RunGround::of(call, arguments)?)
}

fn entries(call: &Call<'_>, ground: &RunGround<'_>) -> Result<Vec<MvEntry>, CapabilityError> {
    let entries = ground
        .config
        .mv_entries()
        .map_err(|error| refused(&error))?;
    match entries.is_empty() {
        false => Ok(entries),
        true => Err(CapabilityError::invalid(format!(
            "no run configuration declares an M&V project of facility {}; add a section mv to it",
            call.quote(ground.facility.as_str())
        ))),
    }
}

/// The clock of the site; none when nobody knows its zone, and then every day has 24 hours.
fn clock(call: &Call<'_>, ground: &RunGround<'_>) -> Option<SiteClock> {
    let zone = call
        .policy
        .registry()
        .entry(ground.facility.as_str())?
        .time_zone(|dataset| DatasetCatalogue::shipped().zone(dataset))?;
    SiteClock::named(&zone)
}

fn hours_of_day(clock: Option<SiteClock>, midnight: i64) -> f64 {
    const USUAL: f64 = 24.0;
    const MINUTES_OF_HOUR: f64 = 60.0;
    let Some(clock) = clock else {
        return USUAL;
    };
    let next = midnight.saturating_add(DAY);
    let passed: TimeDelta = clock.first_instant(next) - clock.first_instant(midnight);
    i32::try_from(passed.num_minutes())
        .map_or(USUAL, |minutes| f64::from(minutes) / MINUTES_OF_HOUR)
}
