//! One run of the measurement and verification of a facility (M&V §2, §3).

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::TimeDelta;
use niagara_analytics::BinWidth;
use niagara_analytics::mv::{MvFinding, SiteDays, project};
use niagara_analytics::run_config::{MvEntry, MvMeter};
use serde_json::{Map, Value};

use super::{RunGround, frames, refused};
use crate::camber::call::Call;
use crate::camber::dataset_catalogue::DatasetCatalogue;
use crate::camber::error::CapabilityError;
use crate::camber::workspace::PointOrds;
use crate::trends::site_time::SiteClock;
use crate::trends::store::wall_clock::DAY;

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
        let findings = project::findings(&entries, &frames, site)
            .map_err(|error| CapabilityError::invalid(error.to_string()))?;
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
            .flat_map(|entry| match &entry.meter {
                MvMeter::Trended(meter) => {
                    let drivers = meter.drivers.iter().flat_map(|drivers| drivers.roles());
                    [meter.role.as_str(), "oat"].into_iter().chain(drivers)
                }
            })
            .filter_map(|role| Some((role, self.ords.ord(equip, role)?.to_owned())))
            .collect()
    }
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
