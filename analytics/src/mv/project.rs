//! A whole project: every entry over its meters (M&V §2).

use super::daily::DailyRule;
use super::rows::{MvFinding, named_and_sorted};
use super::trended::{MvError, TrendedRun};
use crate::run_config::{MvEntry, MvMeter};
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

/// The rows of all trended entries over frames on a grid of one hour, named and sorted.
///
/// An entry applies to each frame of its class, in their order; a class without any gives no row.
///
/// # Errors
/// A period has days, but no model can be fitted to them.
pub fn findings(
    entries: &[MvEntry],
    frames: &[RunFrame],
    site: SiteDays<'_>,
) -> Result<Vec<MvFinding>, MvError> {
    let mut found = Vec::new();
    for entry in entries {
        match &entry.meter {
            MvMeter::Trended(meter) => {
                let rule = DailyRule {
                    min_coverage: entry.terms.min_coverage,
                    hours_of_day: site.hours_of_day,
                    shown_twice: site.shown_twice,
                };
                let of_class = frames
                    .iter()
                    .filter(|frame| frame.equip_class() == meter.class);
                for frame in of_class {
                    let run = TrendedRun {
                        entry,
                        meter,
                        frame: frame.whole(),
                        rule,
                    };
                    found.extend(run.findings()?);
                }
            }
        }
    }
    Ok(named_and_sorted(found))
}

#[cfg(test)]
mod tests;
