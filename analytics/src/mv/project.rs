//! A whole project: every entry over its meters (M&V §2).

use super::billed::BilledRun;
use super::bills::{BillRows, Weather};
use super::daily::{DailyFrame, DailyRule};
use super::frozen::FrozenRun;
use super::rows::{MvFinding, MvRule, named_and_sorted};
use super::trended::{MvError, TrendedRun};
use super::versioned::{self, FrozenVersion, MeterKey};
use crate::run_config::mv_bills::BilledMeter;
use crate::run_config::mv_units::MeterUnit;
use crate::run_config::{MvEntry, MvMeter, TrendedMeter};
use crate::run_frame::RunFrame;

/// How the days of a site pass.
#[derive(Clone, Copy)]
pub struct SiteDays<'a> {
    /// Hours of the day that begins at a stamp: 24, or 23 and 25 where the site's clocks change.
    pub hours_of_day: &'a dyn Fn(i64) -> f64,
    /// Whether the clock on the wall shows the hour of a stamp twice.
    pub shown_twice: &'a dyn Fn(i64) -> bool,
}

impl SiteDays<'static> {
    /// Of a site whose zone nobody knows.
    pub const WITHOUT_ZONE: Self = Self {
        hours_of_day: &|_| 24.0,
        shown_twice: &|_| false,
    };
}

/// Outdoor temperatures of bills with the name of their source, or why there are none.
pub type BillWeathers<'a> = dyn Fn(&BilledMeter) -> Result<(Weather, String), String> + 'a;

/// Baselines that somebody froze.
#[derive(Clone, Copy)]
pub struct Frozen<'a> {
    /// The store as it is written.
    pub text: &'a str,
    /// The facility's id and the site's name, as far as they are known.
    pub places: &'a [&'a str],
    /// SHA-256 of the rows of a fit as the store's writer takes it.
    pub digest: &'a dyn Fn(&DailyFrame) -> String,
}

/// What a project needs besides frames.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    pub site: SiteDays<'a>,
    pub weather: &'a BillWeathers<'a>,
    pub frozen: Option<Frozen<'a>>,
}

/// The rows of all entries over frames on a grid of one hour, named and sorted.
///
/// An entry of a class applies to each frame of it, in their order; a class without any gives no row.
///
/// # Errors
/// A period has days, but no model can be fitted to them; a record of the frozen baselines cannot be read.
pub fn findings(
    entries: &[MvEntry],
    frames: &[RunFrame],
    sources: Sources<'_>,
) -> Result<Vec<MvFinding>, MvError> {
    let mut found = Vec::new();
    for entry in entries {
        match &entry.meter {
            MvMeter::Trended(meter) => {
                let of_class = frames
                    .iter()
                    .filter(|frame| frame.equip_class() == meter.class);
                for frame in of_class {
                    let rows = trended(entry, meter, frame, sources)?;
                    found.extend(with_units(rows, meter.unit.as_ref()));
                }
            }
            MvMeter::Bills(meter) => {
                let rows = billed(entry, meter, sources)?;
                found.extend(with_units(rows, meter.unit.as_ref()));
            }
        }
    }
    Ok(named_and_sorted(found))
}

/// What is declined names its units like what is told (M&V §6.5).
fn with_units(rows: Vec<MvFinding>, unit: Option<&MeterUnit>) -> Vec<MvFinding> {
    let mut rows = rows;
    let Some((unit, report)) = unit.and_then(|unit| Some((unit, unit.report?))) else {
        return rows;
    };
    for row in &mut rows {
        let is_figure = matches!(row.rule, MvRule::Baseline | MvRule::Savings) && row.is_declined();
        if !is_figure && row.rule != MvRule::MethodProposal {
            continue;
        }
        row.verdict
            .metrics
            .set("unit_system", report.system.word())
            .set("meter_unit", unit.energy);
        // A proposal of no method has no energies.
        if row.rule == MvRule::Savings || !row.is_declined() {
            row.verdict
                .metrics
                .set("energy_unit", report.system.energy());
        }
    }
    rows
}

fn trended(
    entry: &MvEntry,
    meter: &TrendedMeter,
    frame: &RunFrame,
    sources: Sources<'_>,
) -> Result<Vec<MvFinding>, MvError> {
    let run = TrendedRun {
        entry,
        meter,
        frame: frame.whole(),
        rule: DailyRule {
            min_coverage: entry.terms.min_coverage,
            hours_of_day: sources.site.hours_of_day,
            shown_twice: sources.site.shown_twice,
        },
    };
    let equip = run.frame.equip();
    let versions = versions(entry, sources, equip, &format!("mv_{}", meter.role))?;
    let Some(frozen) = sources.frozen.filter(|_| !versions.is_empty()) else {
        return run.findings();
    };
    FrozenRun {
        entry,
        equip,
        unit: meter.unit.as_ref(),
        drivers: meter.drivers.as_ref(),
        versions: &versions,
        rows: &|window| run.days(window),
        of_bills: false,
        digest: Some(frozen.digest),
        saving: &|entry, context, rows| {
            let against = TrendedRun {
                entry,
                meter,
                frame: run.frame,
                rule: run.rule,
            };
            against.saving(context, rows)
        },
    }
    .findings()
}

fn billed(
    entry: &MvEntry,
    meter: &BilledMeter,
    sources: Sources<'_>,
) -> Result<Vec<MvFinding>, MvError> {
    let weather = (sources.weather)(meter);
    let run = BilledRun {
        entry,
        meter,
        weather: match &weather {
            Ok((weather, source)) => Ok((weather, source.as_str())),
            Err(reason) => Err(reason.as_str()),
        },
    };
    let versions = versions(entry, sources, &meter.label, "mv_bills")?;
    let warning = run.scale_warning();
    let is_implausible = warning.is_some() && run.declines_implausible();
    let (Ok((weather, source)), false) = (&weather, versions.is_empty() || is_implausible) else {
        return run.findings();
    };
    let all = BillRows::of(&meter.bills, weather, entry.terms.min_coverage);
    let found = FrozenRun {
        entry,
        equip: &meter.label,
        unit: meter.unit.as_ref(),
        drivers: None,
        versions: &versions,
        rows: &|window| all.within(window).frame,
        of_bills: true,
        digest: None,
        saving: &|entry, context, rows| {
            let against = BilledRun {
                entry,
                meter,
                weather: Ok((weather, source.as_str())),
            };
            let days = &rows.days;
            against.saving(context, &all, &all.kept(|day| days.contains(&day)))
        },
    }
    .findings()?;
    Ok(found
        .into_iter()
        .map(|mut row| {
            if row.rule == MvRule::Baseline {
                let metrics = &mut row.verdict.metrics;
                metrics.set("units", meter.unit_name.clone());
                metrics.set("oat_source", source.clone());
            }
            row
        })
        .chain(warning)
        .collect())
}

fn versions(
    entry: &MvEntry,
    sources: Sources<'_>,
    equip: &str,
    kind: &str,
) -> Result<Vec<FrozenVersion>, MvError> {
    let Some(frozen) = sources.frozen else {
        return Ok(Vec::new());
    };
    let key = MeterKey {
        places: frozen.places,
        equip,
        kind,
    };
    versioned::versions(frozen.text, key, &entry.terms.extrapolation).map_err(|problem| MvError {
        place: "mv_store".to_owned(),
        problem,
    })
}

#[cfg(test)]
mod tests;
