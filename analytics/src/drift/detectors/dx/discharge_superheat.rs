//! Superheat at the discharge of a compressor (Drift §5.7).

use serde_json::Value;

use super::{
    Normaliser, SCORED_ROWS, cooling, fit_with, has_run_gate, judge, lacks_weather, signal,
    with_current_covariate,
};
use crate::drift::alarm::{Alarm, AlarmRule};
use crate::drift::detector::{Case, Detector, Inputs, Judged, Trace, note_confidence};
use crate::drift::detectors::chiller::CHILLED_WATER;
use crate::drift::measure::{told_sigmas, told_size, write_alarm};
use crate::drift::shift::{Direction, Floors, Shift, direction_word};
use crate::drift::windows::Side;
use crate::finding::{Metrics, Severity};

const KIND: &str = "discharge_superheat";
const ROLE: &str = "discharge_superheat_temp";
const RANGE: (f64, f64) = (-20.0, 250.0);
const FLOORS: Floors = Floors::of((5.0, 10.0), (2.0, 4.0));
const SUBJECT: &str = "discharge superheat";

/// The detector.
pub struct DischargeSuperheat;

impl Detector for DischargeSuperheat {
    fn rule(&self) -> &'static str {
        "discharge_superheat_drift"
    }

    fn inputs(&self) -> Inputs {
        let [flow, supply, returned] = CHILLED_WATER;
        Inputs::of(
            &[ROLE],
            &[
                "compressor_status",
                "reversing_valve_cmd",
                "return_air_temp",
                "supply_air_temp",
                "oat",
                flow,
                supply,
                returned,
                "cw_supply_temp",
            ],
        )
    }

    fn judge(&self, case: &Case<'_>) -> Judged {
        if !has_run_gate(&case.current) || !has_run_gate(&case.baseline) {
            return case.decline(
                Some("no_run_gate"),
                SUBJECT,
                "Nothing tells when the unit cools: map the compressor's status, or return and supply air.",
            );
        }
        let is_water_cooled = CHILLED_WATER.iter().all(|role| case.has(role));
        let (normaliser, beside) = match is_water_cooled {
            true => (Normaliser::Tons, "cw_supply_temp"),
            false => (Normaliser::Outdoor, "return_air_temp"),
        };
        let of =
            |side: &Side<'_>| signal(side, side.column(ROLE)?, normaliser, &cooling(side, false));
        let (Some(known_good), Some(current)) = (of(&case.baseline), of(&case.current)) else {
            return case.decline(Some("no_normalizer"), SUBJECT, NO_NORMALISER);
        };
        if !is_water_cooled && lacks_weather(case) {
            return case.decline(Some("no_normalizer"), SUBJECT, NO_NORMALISER);
        }
        let rule = normaliser.rule(&known_good, RANGE);
        let fit = || {
            let beside = case.baseline.column(beside).map(|values| (beside, values));
            fit_with(&known_good, &rule, beside)
        };
        let Some(kept) = case.baselines.get_or_fit(KIND, fit) else {
            return case.no_baseline(Some("no_baseline"), SUBJECT);
        };
        let with = with_current_covariate(case, &kept.baseline, &current, |side, name| {
            side.column(name).map(<[f64]>::to_vec)
        });
        let shift =
            with.and_then(|current| Shift::of(&kept.baseline, &current, &rule.scope, SCORED_ROWS));
        let Some(shift) = shift else {
            return case.nothing_scoreable(Some("empty"), SUBJECT);
        };
        let severity = judge(shift.drift, kept.baseline.sigma, &FLOORS);
        let alarm = Alarm::of(
            &kept.baseline,
            &shift.rows,
            &AlarmRule::default(),
            Direction::Both,
        );
        let mut metrics = Metrics::new();
        metrics
            .number("discharge_superheat_drift_f", shift.drift)
            .number("discharge_superheat_drift_sigma", shift.drift_sigma)
            .set(
                "discharge_superheat_drift_direction",
                direction_word(shift.drift),
            )
            .number("discharge_superheat_baseline_sigma_f", kept.baseline.sigma)
            .count("discharge_superheat_n_current", shift.n_current)
            .set(
                "discharge_superheat_baseline_frozen_at",
                kept.frozen_at.as_str(),
            )
            .set("normalized_on", normaliser.word())
            .set(
                "covariate",
                kept.baseline
                    .covariate
                    .as_ref()
                    .map_or(Value::Null, |one| one.name.as_str().into()),
            )
            .set("attribution", "refrigerant_circuit");
        if let Some(alarm) = &alarm {
            write_alarm(&mut metrics, "discharge_superheat", alarm);
        }
        note_confidence(&mut metrics, true, alarm.is_some());
        let size = told_size(shift.drift, "°F");
        let sigmas = told_sigmas(shift.drift_sigma);
        let basis = case.basis.words();
        let summary = match severity {
            Severity::Ok => format!(
                "{}: discharge superheat holds near {basis} ({size}, {sigmas})",
                case.equip
            ),
            _ => format!(
                "{}: discharge superheat has moved by {size} ({sigmas}) against {basis}",
                case.equip
            ),
        };
        Judged::with(severity, metrics, summary, Vec::new()).traced(Trace {
            name: "discharge_superheat".to_owned(),
            unit: "f".to_owned(),
            sigma: kept.baseline.sigma,
            drift: shift.drift,
            stamps: shift.rows.stamps,
            residuals: shift.residuals,
            alarm_at: alarm
                .and_then(|alarm| alarm.first)
                .map(|(_, stamp, _)| stamp),
        })
    }
}

const NO_NORMALISER: &str = "Neither tons nor an outdoor temperature are there while the unit cools, and the superheat follows \
                             them.";
