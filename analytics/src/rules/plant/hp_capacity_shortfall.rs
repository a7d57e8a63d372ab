//! A heat pump that does not hold its zone, for want of capacity or of control (Plant rules §2.22).

use serde_json::Value;

use super::heat_pump::{self, Mode, Unit};
use crate::finding::{Judgement, Metrics, Severity, Verdict};
use crate::frame::Frame;
use crate::masks;
use crate::numeric;
use crate::parameters::Parameters;
use crate::rules::RuleCode;

/// The rule.
pub const RULE: RuleCode = RuleCode::equipment("hp_capacity_shortfall", analyse).judged_by(judge);

/// Why a side of the band is not held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shortfall {
    /// The unit works, and it is not enough.
    Capacity,
    /// The unit does not work when it should.
    Control,
    Mixed,
}

impl Shortfall {
    const fn word(self) -> &'static str {
        match self {
            Self::Capacity => "capacity",
            Self::Control => "control",
            Self::Mixed => "mixed",
        }
    }
}

/// One side of the band.
struct Side {
    name: &'static str,
    outside_pct: f64,
    outside_hours: f64,
    /// Of the samples outside: none when there are none.
    working_pct: Option<f64>,
    opposite_pct: Option<f64>,
    /// None when the side is held well enough.
    bad: Option<(Severity, Shortfall)>,
}

impl Side {
    fn of(unit: &Unit, heating: bool, parameters: &Parameters) -> Self {
        let (name, beyond, wanted, against) = match heating {
            true => ("heating", &unit.cold, Mode::Heating, Mode::Cooling),
            false => ("cooling", &unit.hot, Mode::Cooling, Mode::Heating),
        };
        let out = masks::and(&unit.valid, beyond);
        let n = masks::count(&out);
        let share = |mode: Mode| {
            let both = masks::count(&masks::and(&out, &unit.modes.are(mode)));
            (n > 0).then(|| numeric::percent_of(both, n))
        };
        let mut side = Self {
            name,
            outside_pct: numeric::percent_of(n, masks::count(&unit.valid)),
            outside_hours: numeric::share_of(n) * unit.step_hours,
            working_pct: share(wanted),
            opposite_pct: share(against),
            bad: None,
        };
        side.bad = side.shortfall(parameters);
        side
    }

    fn shortfall(&self, parameters: &Parameters) -> Option<(Severity, Shortfall)> {
        let working = self.working_pct?;
        let severity = Severity::at_least(
            self.outside_pct,
            parameters.number("warn_outside_pct"),
            parameters.number("fault_outside_pct"),
        );
        let is_bad = self.outside_pct >= parameters.number("warn_outside_pct")
            && self.outside_hours >= parameters.number("min_hours");
        if !is_bad {
            return None;
        }
        Some(if working >= parameters.number("saturated_pct") {
            (severity, Shortfall::Capacity)
        } else if working <= parameters.number("idle_pct") {
            (severity, Shortfall::Control)
        } else {
            (Severity::Warn, Shortfall::Mixed)
        })
    }

    fn write(&self, metrics: &mut Metrics) {
        let name = |figure: &str| format!("{}_{figure}", self.name);
        let rounded = |value: Option<f64>| value.map(|value| numeric::round(value, 2));
        metrics
            .rounded(&name("outside_pct"), self.outside_pct, 2)
            .rounded(&name("outside_hours"), self.outside_hours, 2)
            .number_or_null(&name("working_pct"), rounded(self.working_pct))
            .number_or_null(&name("opposite_pct"), rounded(self.opposite_pct));
    }

    fn meaning(&self, shortfall: Shortfall) -> String {
        let working = self.working_pct.unwrap_or_default();
        let opposite = self.opposite_pct.unwrap_or_default();
        match shortfall {
            Shortfall::Capacity => format!(
                "the unit was {} in {working:.0} % of them: it runs and cannot hold the zone",
                self.name
            ),
            Shortfall::Control if opposite > 0.0 => format!(
                "the unit was {} in {working:.0} %, working the other way in {opposite:.0} % and idle in {:.0} % of them: its \
                 controls, not its size",
                self.name,
                100.0 - working - opposite
            ),
            Shortfall::Control => format!(
                "the unit was {} in only {working:.0} % of them: its controls, not its size",
                self.name
            ),
            Shortfall::Mixed => format!(
                "the unit was {} in {working:.0} % of them: both its controls and its size are in question",
                self.name
            ),
        }
    }
}

/// The side that is reported: the worse one, heating of two equal ones.
fn reported<'s>(heating: &'s Side, cooling: &'s Side) -> Option<(&'s Side, Severity, Shortfall)> {
    let bad = |side: &'s Side| side.bad.map(|(severity, why)| (side, severity, why));
    match (bad(heating), bad(cooling)) {
        (Some(heating), Some(cooling)) if cooling.1 < heating.1 => Some(cooling),
        (Some(heating), _) => Some(heating),
        (None, cooling) => cooling,
    }
}

fn sides(unit: &Unit, parameters: &Parameters) -> (Side, Side) {
    (
        Side::of(unit, true, parameters),
        Side::of(unit, false, parameters),
    )
}

fn analyse(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    if let Some(decline) = heat_pump::coil_decline(frame) {
        return Some(decline);
    }
    let unit = Unit::of(frame, parameters)?;
    if masks::count(&unit.valid) == 0 {
        return Some(heat_pump::empty_decline(frame));
    }
    let (heating, cooling) = sides(&unit, parameters);
    let mut metrics = Metrics::new();
    heating.write(&mut metrics);
    cooling.write(&mut metrics);
    let equip = frame.equip();
    let (severity, summary) = match reported(&heating, &cooling) {
        None => {
            metrics.set("verdict", "ok").set("side", Value::Null);
            let summary = format!(
                "{equip}: the zone is held: below its band in {:.0} % ({:.0} h) and above it in {:.0} % ({:.0} h) of occupied \
                 samples.",
                heating.outside_pct,
                heating.outside_hours,
                cooling.outside_pct,
                cooling.outside_hours
            );
            (Severity::Ok, summary)
        }
        Some((side, severity, why)) => {
            metrics.set("verdict", why.word()).set("side", side.name);
            let summary = format!(
                "{equip}: the zone is outside its band on the {} side in {:.0} % of occupied samples ({:.0} h); {}.",
                side.name,
                side.outside_pct,
                side.outside_hours,
                side.meaning(why)
            );
            (severity, summary)
        }
    };
    Some(Verdict::new(severity, metrics, summary).with_caveats(unit.caveats))
}

fn judge(frame: &Frame<'_>, parameters: &Parameters) -> Option<Judgement> {
    heat_pump::judge_whole_period(
        frame,
        parameters,
        "the rule judges the share of all occupied samples outside the band, side by side, and flags no single ones",
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{self, hourly};

    /// Ten days of an always occupied zone at 66 °F in the first hours of the day, 71 °F after.
    fn verdict(supply: impl Fn(usize) -> f64, cold_until: usize) -> Verdict {
        let table = hourly(
            240,
            &[
                ("supply_air_temp", &|row| supply(row % 24)),
                ("space_temp", &|row| {
                    if row % 24 < cold_until { 66.0 } else { 71.0 }
                }),
                ("heat_sp", &|_| 70.0),
                ("cool_sp", &|_| 74.0),
                ("occupancy", &|_| 1.0),
            ],
        );
        let judgement = testing::judge(&RULE, &table, json!({})).unwrap();
        assert!(judgement.note.unwrap().contains("occupied samples"));
        testing::run(&RULE, &table, json!({})).unwrap()
    }

    fn word(verdict: &Verdict) -> &str {
        verdict.metrics.get("verdict").unwrap().as_str().unwrap()
    }

    #[test]
    fn a_unit_that_works_all_the_time_lacks_capacity() {
        let found = verdict(|hour| if hour < 12 { 90.0 } else { 70.0 }, 11);
        assert_eq!(
            (found.severity, word(&found)),
            (Severity::Fault, "capacity")
        );
        assert_eq!(found.metrics.as_number("heating_outside_pct"), Some(36.36));
        assert!(found.summary.contains("36 % of occupied samples (32 h)"));
    }

    #[test]
    fn a_unit_that_idles_or_cools_lacks_control() {
        let found = verdict(|hour| if hour < 8 { 55.0 } else { 66.0 }, 11);
        assert_eq!((found.severity, word(&found)), (Severity::Fault, "control"));
        assert!(
            found
                .summary
                .contains("in 0 %, working the other way in 25 % and idle in 75 %")
        );
        let mixed = verdict(|hour| if hour < 9 { 90.0 } else { 66.0 }, 11);
        assert_eq!((mixed.severity, word(&mixed)), (Severity::Warn, "mixed"));
    }

    #[test]
    fn a_held_zone_has_no_side() {
        let found = verdict(|_| 90.0, 0);
        assert_eq!((found.severity, word(&found)), (Severity::Ok, "ok"));
        assert_eq!(found.metrics.get("heating_working_pct"), Some(&Value::Null));
    }
}
