//! Refrigerant charge of a direct-expansion unit, by its subcooling (Drift §5.7).

use serde_json::Value;

use super::{
    BASELINE_ROWS, Normaliser, SCORED_ROWS, cooling, fit_with, has_run_gate, judge, lacks_weather,
    signal, with_current_covariate,
};
use crate::drift::book::KeptBaseline;
use crate::drift::detector::{Case, Detector, Inputs, Judged, Trace, note_confidence};
use crate::drift::measure::{told_sigmas, told_size};
use crate::drift::shift::{Floors, Shift};
use crate::drift::windows::Side;
use crate::finding::{Metrics, Severity};

/// Under which the baseline of subcooling is kept.
pub(super) const SUBCOOLING: &str = "dx_subcooling";
const SUPERHEAT: &str = "dx_superheat";
const SUBCOOLING_RANGE: (f64, f64) = (-20.0, 80.0);
const SUPERHEAT_RANGE: (f64, f64) = (-20.0, 150.0);
const FLOORS: Floors = Floors::of((3.0, 5.0), (1.5, 3.0));
/// A superheat that rose by so much speaks for a low charge too (°F).
const CORROBORATING: f64 = 2.0;
const SUBJECT: &str = "the refrigerant charge";

/// The detector.
pub struct RefrigerantCharge;

/// A temperature of the circuit against its baseline, on rows that the caller chose.
pub(super) fn scored(
    case: &Case<'_>,
    (kind, role, range): (&str, &str, (f64, f64)),
    rows: impl Fn(&Side<'_>) -> Vec<bool>,
) -> Result<(KeptBaseline, Shift), Missing> {
    let of = |side: &Side<'_>| signal(side, side.column(role)?, Normaliser::Outdoor, &rows(side));
    let current = of(&case.current).ok_or(Missing::Normaliser)?;
    let known_good = of(&case.baseline);
    let rule = Normaliser::Outdoor.rule(&current, range);
    let fit = || {
        let returned = case.baseline.column("return_air_temp");
        let covariate = returned.map(|values| ("return_air_temp", values));
        fit_with(known_good.as_ref()?, &rule, covariate)
    };
    let kept = case
        .baselines
        .get_or_fit(kind, fit)
        .ok_or(Missing::Baseline)?;
    let current = with_current_covariate(case, &kept.baseline, &current, |side, name| {
        side.column(name).map(<[f64]>::to_vec)
    })
    .ok_or(Missing::Rows)?;
    let shift =
        Shift::of(&kept.baseline, &current, &rule.scope, SCORED_ROWS).ok_or(Missing::Rows)?;
    Ok((kept, shift))
}

/// Why a temperature was not scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Normaliser,
    Baseline,
    Rows,
}

impl Detector for RefrigerantCharge {
    fn rule(&self) -> &'static str {
        "dx_refrigerant_charge"
    }

    fn inputs(&self) -> Inputs {
        Inputs::of(
            &["subcooling_temp"],
            &[
                "superheat_temp",
                "compressor_status",
                "reversing_valve_cmd",
                "return_air_temp",
                "supply_air_temp",
                "oat",
            ],
        )
    }

    fn equip_families(&self) -> &'static [&'static str] {
        &["heat_pump", "dx", "air_handler"]
    }

    fn judge(&self, case: &Case<'_>) -> Judged {
        if !has_run_gate(&case.current) || !has_run_gate(&case.baseline) {
            return case.decline(
                Some("no_run_gate"),
                SUBJECT,
                "Nothing tells when the unit cools: map the compressor's status, or return and supply air.",
            );
        }
        let rows = |side: &Side<'_>| cooling(side, false);
        if lacks_weather(case) {
            return case.decline(
                Some("no_normalizer"),
                SUBJECT,
                "No outdoor temperature is there while the unit cools, and subcooling follows the weather.",
            );
        }
        let metric = (SUBCOOLING, "subcooling_temp", SUBCOOLING_RANGE);
        let (kept, shift) = match scored(case, metric, rows) {
            Ok(scored) => scored,
            Err(Missing::Baseline | Missing::Normaliser) => {
                return case.no_baseline(Some("no_baseline"), SUBJECT);
            }
            Err(Missing::Rows) => return case.nothing_scoreable(Some("empty"), SUBJECT),
        };
        debug_assert!(kept.baseline.n >= BASELINE_ROWS || !case.baselines.may_fit());
        let severity = judge(shift.drift, kept.baseline.sigma, &FLOORS);
        let verdict = match severity {
            Severity::Fault | Severity::Warn if shift.drift < 0.0 => "undercharge",
            Severity::Fault | Severity::Warn => "overcharge",
            _ => "charge_ok",
        };
        let superheat = case
            .has("superheat_temp")
            .then(|| scored(case, (SUPERHEAT, "superheat_temp", SUPERHEAT_RANGE), rows).ok())
            .flatten()
            .map(|(_, shift)| shift.drift);
        let mut metrics = Metrics::new();
        metrics
            .set("mode", "baseline")
            .set("metric", "subcooling")
            .number("subcooling_drift_f", shift.drift)
            .number("subcooling_drift_sigma", shift.drift_sigma)
            .number("subcooling_baseline_sigma_f", kept.baseline.sigma)
            .count("subcooling_n_current", shift.n_current)
            .set("charge_verdict", verdict)
            .number_or_null("superheat_drift_f", superheat)
            .set("normalized_on", Normaliser::Outdoor.word())
            .set(
                "covariate",
                kept.baseline
                    .covariate
                    .as_ref()
                    .map_or(Value::Null, |one| one.name.as_str().into()),
            )
            .set("attribution", "refrigerant_circuit");
        let mut caveats = Vec::new();
        match superheat {
            Some(rise) if verdict == "undercharge" => {
                metrics.set("superheat_corroborates", rise >= CORROBORATING);
            }
            Some(_) => {}
            None => {
                if verdict == "undercharge" && case.has("superheat_temp") {
                    metrics.set("superheat_corroborates", Value::Null);
                }
                caveats.push(
                    "Superheat could not be compared: a low charge was not cross-checked with it."
                        .to_owned(),
                );
            }
        }
        note_confidence(&mut metrics, true, false);
        let size = told_size(shift.drift, "°F");
        let sigmas = told_sigmas(shift.drift_sigma);
        let basis = case.basis.words();
        let summary = match verdict {
            "charge_ok" => format!(
                "{}: subcooling holds near {basis} at the same weather ({size}, {sigmas})",
                case.equip
            ),
            verdict => format!(
                "{}: subcooling has moved by {size} ({sigmas}) against {basis} at the same weather: an {verdict} is suspected",
                case.equip
            ),
        };
        Judged::with(severity, metrics, summary, caveats).traced(Trace {
            name: "subcooling".to_owned(),
            unit: "f".to_owned(),
            sigma: kept.baseline.sigma,
            drift: shift.drift,
            stamps: shift.rows.stamps,
            residuals: shift.residuals,
            alarm_at: None,
        })
    }
}

/// Subcooling on the rows of another detector, by the baseline that the charge has laid down, else by one of these rows: the
/// charge itself may have declined.
pub(super) fn subcooling_drift(
    case: &Case<'_>,
    rows: impl Fn(&Side<'_>) -> Vec<bool>,
) -> Option<f64> {
    let metric = (SUBCOOLING, "subcooling_temp", SUBCOOLING_RANGE);
    scored(case, metric, rows)
        .ok()
        .map(|(_, shift)| shift.drift)
}
