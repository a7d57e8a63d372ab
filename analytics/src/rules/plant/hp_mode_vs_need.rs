//! A heat pump that cools a cold zone, or heats a warm one (Plant rules §2.21).

use super::heat_pump::{self, Mode, ModeSource, Unit};
use crate::finding::{Judgement, Metrics, Severity, Verdict};
use crate::frame::Frame;
use crate::masks;
use crate::numeric;
use crate::parameters::Parameters;
use crate::rules::RuleCode;

/// The rule.
pub const RULE: RuleCode = RuleCode::equipment("hp_mode_vs_need", analyse).judged_by(judge);

/// Samples in the wrong mode among those in which the unit works.
struct WrongMode {
    working: Vec<bool>,
    cooling_while_cold: Vec<bool>,
    heating_while_warm: Vec<bool>,
}

fn wrong_mode(unit: &Unit) -> WrongMode {
    let cooling = masks::and(&unit.valid, &unit.modes.are(Mode::Cooling));
    let heating = masks::and(&unit.valid, &unit.modes.are(Mode::Heating));
    WrongMode {
        working: masks::or(&cooling, &heating),
        cooling_while_cold: masks::and(&cooling, &unit.cold),
        heating_while_warm: masks::and(&heating, &unit.hot),
    }
}

fn analyse(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    if let Some(decline) = heat_pump::coil_decline(frame) {
        return Some(decline);
    }
    let unit = Unit::of(frame, parameters)?;
    if masks::count(&unit.valid) == 0 {
        return Some(heat_pump::empty_decline(frame));
    }
    let wrong = wrong_mode(&unit);
    let cold = masks::count(&wrong.cooling_while_cold);
    let warm = masks::count(&wrong.heating_while_warm);
    let working = masks::count(&wrong.working);
    let hours = |count: usize| numeric::share_of(count) * unit.step_hours;
    let share = match working {
        0 => 0.0,
        working => numeric::percent_of(cold + warm, working),
    };
    let mut metrics = Metrics::new();
    metrics
        .rounded("cooling_while_cold_hours", hours(cold), 2)
        .rounded("heating_while_warm_hours", hours(warm), 2)
        .rounded("wrong_mode_pct_of_running", share, 2)
        .rounded("occupied_running_hours", hours(working), 2)
        .set("mode_source", unit.modes.source.word());
    if unit.modes.source == ModeSource::Status {
        let defrost = masks::count(&masks::and(&unit.valid, &unit.modes.defrost));
        metrics.rounded("defrost_hours", hours(defrost), 2);
    }
    let wrong_hours = hours(cold + warm);
    let exceeds = |limit_hours: &str, limit_share: &str| {
        wrong_hours >= parameters.number(limit_hours) && share >= parameters.number(limit_share)
    };
    let severity = if exceeds("fault_hours", "fault_pct") {
        Severity::Fault
    } else if exceeds("warn_hours", "warn_pct") {
        Severity::Warn
    } else {
        Severity::Ok
    };
    let equip = frame.equip();
    let summary = match severity {
        Severity::Ok => {
            format!(
                "{equip}: the unit worked against its zone for {wrong_hours:.1} occupied hours."
            )
        }
        _ => {
            let side = if cold >= warm {
                "mostly cooling a cold zone"
            } else {
                "mostly heating a warm zone"
            };
            format!(
                "{equip}: the unit worked against its zone for {wrong_hours:.1} occupied hours, {share:.1} % of its running \
                 time, {side}: check the reversing valve, the sensor of the zone and the changeover of its controller."
            )
        }
    };
    Some(Verdict::new(severity, metrics, summary).with_caveats(unit.caveats))
}

fn judge(frame: &Frame<'_>, parameters: &Parameters) -> Option<Judgement> {
    heat_pump::judge_whole_period(
        frame,
        parameters,
        "the rule judges the hours against the zone among all occupied running samples of the window and flags no single ones",
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{self, hourly};

    #[test]
    fn cooling_a_cold_zone_is_found_in_its_hours() {
        let table = hourly(
            240,
            &[
                ("supply_air_temp", &|row| match row % 24 {
                    0..10 => 55.0,
                    10..12 => 90.0,
                    _ => 68.0,
                }),
                ("space_temp", &|_| 68.0),
                ("heat_sp", &|_| 70.0),
                ("cool_sp", &|_| 74.0),
                ("occupancy", &|_| 1.0),
            ],
        );
        let set = json!({"band_tol_f": 1.0});
        let verdict = testing::run(&RULE, &table, set.clone()).unwrap();
        assert_eq!(verdict.severity, Severity::Fault);
        assert_eq!(
            verdict.metrics.as_number("cooling_while_cold_hours"),
            Some(24.0)
        );
        assert_eq!(
            verdict.metrics.as_number("wrong_mode_pct_of_running"),
            Some(60.0)
        );
        assert!(verdict.summary.contains("24.0 occupied hours, 60.0 %"));
        let judgement = testing::judge(&RULE, &table, set).unwrap();
        assert!(judgement.note.unwrap().contains("occupied running samples"));
    }

    #[test]
    fn a_unit_with_water_valves_is_declined() {
        let table = hourly(
            48,
            &[
                ("supply_air_temp", &|_| 55.0),
                ("space_temp", &|_| 72.0),
                ("heat_valve", &|_| 10.0),
            ],
        );
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Info);
        assert!(verdict.summary.contains("heat_valve"));
        assert!(testing::judge(&RULE, &table, json!({})).is_none());
    }
}
