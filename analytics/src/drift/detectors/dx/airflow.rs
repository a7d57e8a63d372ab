//! Air over a direct-expansion coil, by what it is cooled (Drift §5.7).

use serde_json::Value;

use super::charge::subcooling_drift;
use super::{Normaliser, SCORED_ROWS, cooling, fit_with, judge, signal, with_current_covariate};
use crate::drift::detector::{Case, Detector, Inputs, Judged, Trace, note_confidence};
use crate::drift::measure::{told_sigmas, told_size};
use crate::drift::shift::{Floors, Shift};
use crate::drift::windows::Side;
use crate::finding::{Metrics, Severity};
use crate::masks;

const KIND: &str = "dx_temp_split";
const RANGE: (f64, f64) = (0.0, 45.0);
const FLOORS: Floors = Floors::of((1.5, 3.0), (2.0, 4.0));
/// A subcooling that fell by so much makes a small split the circuit's (°F).
const LOW_CHARGE: f64 = -3.0;
/// Magnus over water: a ratio, and °C.
const MAGNUS: (f64, f64) = (17.625, 243.04);
const DEW_POINT: &str = "return_air_dewpoint_temp";
const SUBJECT: &str = "the air over the coil";

/// The detector.
pub struct IndoorAirflow;

/// Dew point of the return air: mapped, else from its humidity.
fn dew_point(side: &Side<'_>) -> Option<Vec<f64>> {
    if let Some(mapped) = side.column(DEW_POINT) {
        return Some(mapped.to_vec());
    }
    let (air, humidity) = (
        side.column("return_air_temp")?,
        side.column("return_air_humidity")?,
    );
    let (ratio, offset) = MAGNUS;
    Some(masks::paired(air, humidity, |air, humidity| {
        let celsius = (air - 32.0) / 1.8;
        let gamma = (humidity / 100.0).ln() + ratio * celsius / (offset + celsius);
        let dew = offset * gamma / (ratio - gamma) * 1.8 + 32.0;
        if dew.is_finite() { dew } else { f64::NAN }
    }))
}

/// What stands beside the return air: its moisture, else the weather.
fn covariate(side: &Side<'_>) -> Option<(&'static str, Vec<f64>)> {
    dew_point(side)
        .map(|values| (DEW_POINT, values))
        .or_else(|| Some(("oat", side.column("oat")?.to_vec())))
}

impl Detector for IndoorAirflow {
    fn rule(&self) -> &'static str {
        "dx_indoor_airflow"
    }

    fn inputs(&self) -> Inputs {
        Inputs::of(
            &["return_air_temp", "supply_air_temp"],
            &[
                "compressor_status",
                "reversing_valve_cmd",
                "supply_fan_status",
                DEW_POINT,
                "return_air_humidity",
                "oat",
                "subcooling_temp",
            ],
        )
    }

    fn equip_families(&self) -> &'static [&'static str] {
        &["heat_pump", "dx"]
    }

    fn judge(&self, case: &Case<'_>) -> Judged {
        let rows = |side: &Side<'_>| cooling(side, true);
        let split = |side: &Side<'_>| {
            let (returned, supplied) = side
                .column("return_air_temp")
                .zip(side.column("supply_air_temp"))?;
            let split = masks::paired(returned, supplied, |returned, supplied| returned - supplied);
            signal(side, &split, Normaliser::ReturnAir, &rows(side))
        };
        let (Some(known_good), Some(current)) = (split(&case.baseline), split(&case.current))
        else {
            return case.no_baseline(Some("no_baseline"), SUBJECT);
        };
        let rule = Normaliser::ReturnAir.rule(&known_good, RANGE);
        let fit = || {
            let beside = covariate(&case.baseline);
            let beside = beside
                .as_ref()
                .map(|(name, values)| (*name, values.as_slice()));
            fit_with(&known_good, &rule, beside)
        };
        let Some(kept) = case.baselines.get_or_fit(KIND, fit) else {
            return case.no_baseline(Some("no_baseline"), SUBJECT);
        };
        let with =
            with_current_covariate(case, &kept.baseline, &current, |side, name| match name {
                DEW_POINT => dew_point(side),
                other => side.column(other).map(<[f64]>::to_vec),
            });
        let shift =
            with.and_then(|current| Shift::of(&kept.baseline, &current, &rule.scope, SCORED_ROWS));
        let Some(shift) = shift else {
            return case.nothing_scoreable(Some("empty"), SUBJECT);
        };
        let judged = judge(shift.drift, kept.baseline.sigma, &FLOORS);
        let subcooling = subcooling_drift(case, rows);
        let low_charge = subcooling.is_some_and(|drift| drift <= LOW_CHARGE);
        let (severity, verdict, attribution) = match judged {
            Severity::Fault | Severity::Warn if shift.drift >= 0.0 => {
                (judged, "airflow_low", "indoor_airflow")
            }
            Severity::Fault | Severity::Warn if low_charge => {
                (Severity::Info, "capacity_low", "refrigerant_circuit")
            }
            Severity::Fault | Severity::Warn => (judged, "airflow_high", "indoor_airflow"),
            _ => (judged, "airflow_ok", "indoor_airflow"),
        };
        let mut metrics = Metrics::new();
        metrics
            .set("mode", "baseline")
            .number("temp_split_drift_f", shift.drift)
            .number("temp_split_drift_sigma", shift.drift_sigma)
            .number("temp_split_baseline_sigma_f", kept.baseline.sigma)
            .count("temp_split_n_current", shift.n_current)
            .set("airflow_verdict", verdict)
            .number_or_null("subcooling_drift_f", subcooling)
            .set(
                "covariate",
                kept.baseline
                    .covariate
                    .as_ref()
                    .map_or(Value::Null, |one| one.name.as_str().into()),
            )
            .set("attribution", attribution);
        note_confidence(&mut metrics, true, false);
        let mut caveats = Vec::new();
        if kept
            .baseline
            .covariate
            .as_ref()
            .is_none_or(|one| one.name != DEW_POINT)
        {
            caveats.push(
                "The moisture of the return air is not allowed for: a moist return makes the split smaller.".to_owned(),
            );
        }
        let size = told_size(shift.drift, "°F");
        let sigmas = told_sigmas(shift.drift_sigma);
        let basis = case.basis.words();
        let meaning = match verdict {
            "airflow_low" => "too little air is suspected",
            "airflow_high" => "too much air is suspected",
            "capacity_low" => "the circuit has lost capacity, since subcooling fell too",
            _ => "",
        };
        let summary = match meaning {
            "" => format!(
                "{}: the split of return and supply air holds near {basis} at the same return air ({size}, {sigmas})",
                case.equip
            ),
            meaning => format!(
                "{}: the split of return and supply air has moved by {size} ({sigmas}) against {basis}: {meaning}",
                case.equip
            ),
        };
        Judged::with(severity, metrics, summary, caveats).traced(Trace {
            name: "temp_split".to_owned(),
            unit: "f".to_owned(),
            sigma: kept.baseline.sigma,
            drift: shift.drift,
            stamps: shift.rows.stamps,
            residuals: shift.residuals,
            alarm_at: None,
        })
    }
}
