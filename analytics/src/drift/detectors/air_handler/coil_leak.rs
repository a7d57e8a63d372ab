//! What a shut coil still does to the air (Drift §5.1).

use super::Coil;
use crate::drift::alarm::AlarmRule;
use crate::drift::baseline::{FitRule, LoadBaseline, LoadModel, Scope, Signal};
use crate::drift::detector::{Case, Detector, Inputs, Judged};
use crate::drift::measure::{Measure, Measured};
use crate::drift::shift::{Direction, Floors};
use crate::drift::windows::{Side, kept};
use crate::masks;
use crate::numeric;
use crate::occupancy::{self, Schedule};
use crate::parameters::Parameters;

/// Name in the catalogue, for its parameters.
pub const RULE: &str = "coil_leak_drift";

const MIXED: std::ops::RangeInclusive<f64> = 30.0..=120.0;
const LEAVING: std::ops::RangeInclusive<f64> = 30.0..=140.0;

/// The detector of one coil.
pub struct CoilLeak {
    pub coil: Coil,
    pub parameters: Parameters,
}

/// The settings that every detector with an alarm has.
pub fn alarm_rule(parameters: &Parameters) -> AlarmRule {
    AlarmRule {
        slack_sigma: parameters.number("slack_sigma"),
        limit_sigma: parameters.number("limit_sigma"),
        clip_sigma: parameters.number("clip_sigma"),
        min_consecutive: parameters.count("min_consecutive").max(1),
    }
}

impl CoilLeak {
    fn subject(&self) -> &'static str {
        match self.coil {
            Coil::Cooling => "the air over the shut cooling coil",
            Coil::Heating => "the air over the shut heating coil",
        }
    }

    fn decline(&self, case: &Case<'_>, reason: Option<&str>, caveat: &str) -> Judged {
        let mut judged = case.decline(reason, self.subject(), caveat);
        judged
            .verdict
            .metrics
            .set("coil_leak_which", self.coil.word());
        judged
    }

    /// The stream that is judged: the coil's own where it is measured, else supply air.
    fn stream(&self, side: &Side<'_>) -> Option<&'static str> {
        if self.parameters.flag("use_coil_leaving") && side.with_data(self.coil.leaving()).is_some()
        {
            return Some(self.coil.leaving());
        }
        let may = self.coil == Coil::Cooling || self.parameters.flag("judge_heating_on_supply_air");
        may.then_some("supply_air_temp")
    }

    /// The rows with both valves shut and the fan on; and what told the latter.
    fn rows(&self, side: &Side<'_>, stream: &str) -> (Signal, Option<&'static str>) {
        let column = |role: &str| side.column(role).unwrap_or_default();
        let (mixed, leaving) = (column("mixed_air_temp"), column(stream));
        let shut = self.parameters.number("valve_closed_thr");
        let mut rows = masks::where_value(column(self.coil.valve()), |value| value <= shut);
        if let Some(other) = side.with_data(self.coil.other_valve()) {
            masks::narrow(&mut rows, &masks::where_value(other, |value| value <= shut));
        }
        masks::narrow(
            &mut rows,
            &masks::where_value(mixed, |value| MIXED.contains(&value)),
        );
        masks::narrow(
            &mut rows,
            &masks::where_value(leaving, |value| LEAVING.contains(&value)),
        );
        let mut gate = None;
        let (on, speed) = (
            self.parameters.number("fan_on_min"),
            self.parameters.number("fan_speed_thr"),
        );
        if let Some(status) = side.with_data("supply_fan_status") {
            gate = Some("status");
            masks::narrow(&mut rows, &masks::where_value(status, |value| value >= on));
        } else if let Some(speeds) = side.with_data("supply_fan_speed") {
            gate = Some("speed");
            masks::narrow(
                &mut rows,
                &masks::where_value(speeds, |value| value > speed),
            );
        }
        if self.parameters.flag("occupied_only") {
            masks::narrow(&mut rows, &occupied(side));
        }
        let rise = masks::paired(leaving, mixed, |leaving, mixed| leaving - mixed);
        (
            Signal::new(side.stamps(), kept(&rise, &rows), mixed.to_vec()),
            gate,
        )
    }
}

/// Occupied rows: as trended, else working hours.
fn occupied(side: &Side<'_>) -> Vec<bool> {
    match side.with_data("occupancy") {
        Some(values) => masks::where_value(values, |value| value > 0.5),
        None => {
            let schedule = Schedule::default();
            side.stamps()
                .iter()
                .map(|stamp| schedule.contains(*stamp))
                .collect()
        }
    }
}

impl Detector for CoilLeak {
    fn rule(&self) -> &'static str {
        RULE
    }

    fn inputs(&self) -> Inputs {
        Inputs::of(
            &[self.coil.valve(), "mixed_air_temp", "supply_air_temp"],
            &[
                self.coil.other_valve(),
                self.coil.leaving(),
                "supply_fan_status",
                "supply_fan_speed",
                "occupancy",
            ],
        )
    }

    fn judge(&self, case: &Case<'_>) -> Judged {
        let parameters = &self.parameters;
        let (Some(before), Some(stream)) =
            (self.stream(&case.baseline), self.stream(&case.current))
        else {
            return self.decline(
                case,
                Some("no_heating_coil_basis"),
                "The heating coil has no sensor of its own, and supply air is not to be taken for it.",
            );
        };
        if before != stream {
            return self.decline(
                case,
                Some("basis_mismatch"),
                "The two windows measure the air at different places.",
            );
        }
        let (direction, kind) = match self.coil {
            Coil::Cooling => (Direction::Down, "coil_leak_cool"),
            Coil::Heating => (Direction::Up, "coil_leak_heat"),
        };
        let scope = Scope {
            min_load: *MIXED.start(),
            low: -60.0,
            high: 60.0,
        };
        let floors = Floors::of(
            (parameters.number("warn_f"), parameters.number("fault_f")),
            (
                parameters.number("warn_sigma"),
                parameters.number("fault_sigma"),
            ),
        );
        let fit = FitRule::over(scope)
            .spanning(parameters.number("min_mat_span_f"))
            .or_level();
        let mut measure = Measure::new(kind, ("coil_leak", "f"), fit, direction, floors);
        measure.alarm = Some((alarm_rule(parameters), direction));
        let (known_good, _) = self.rows(&case.baseline, stream);
        let (current, fan_gate) = self.rows(&case.current, stream);
        let Some(known) = case
            .baselines
            .get_or_fit(kind, || LoadBaseline::fit(&known_good, &fit, None))
        else {
            let mut judged = case.no_baseline(None, self.subject());
            judged
                .verdict
                .metrics
                .set("coil_leak_which", self.coil.word());
            return judged;
        };
        // Neither a line nor a level is carried on beyond the mixed-air temperatures that it was fitted over.
        let shut = current.cleaned(&scope);
        let range = known.baseline.load_min..=known.baseline.load_max;
        let covered = |load: f64| match known.baseline.model {
            LoadModel::Linear => range.contains(&load),
            LoadModel::Level => known.baseline.covers(load),
        };
        let beyond = shut.load.iter().filter(|load| !covered(**load)).count();
        let mut judged = current;
        for (metric, load) in judged.metric.iter_mut().zip(&judged.load) {
            if !covered(*load) {
                *metric = f64::NAN;
            }
        }
        let mut measured = match Measured::of(case, &measure, &known_good, &judged) {
            Ok(measured) => measured,
            Err(_) => {
                let mut declined = self.decline(
                    case,
                    None,
                    "The current window has too few rows with shut valves at mixed-air temperatures of the baseline.",
                );
                declined
                    .verdict
                    .metrics
                    .count("coil_leak_n_valve_shut", shut.len())
                    .count("coil_leak_n_out_of_scope", beyond);
                return declined;
            }
        };
        measured.note_no_scatter();
        measured.note_level();
        let mut metrics = measured.metrics();
        measured.write_model(&mut metrics);
        metrics
            .set("coil_leak_which", self.coil.word())
            .set("coil_leak_basis", stream)
            .count("coil_leak_baseline_n", measured.kept.baseline.n)
            .rounded(
                "coil_leak_rise_median_f",
                numeric::median(&measured.shift.rows.metric),
                3,
            )
            .set("coil_leak_fan_gate", fan_gate)
            .count("coil_leak_n_out_of_scope", beyond);
        if parameters.flag("occupied_only") {
            let gate = match case.current.with_data("occupancy") {
                Some(_) => occupancy::OccupancyBasis::Trended,
                None => occupancy::OccupancyBasis::Assumed,
            };
            metrics.set("coil_leak_occupancy_gate", gate.words());
        }
        if fan_gate.is_none() {
            measured.caveats.push(
                "Nothing tells when the fan runs: air that stands still was not left out."
                    .to_owned(),
            );
        }
        if measured.severity <= crate::finding::Severity::Warn {
            measured.caveats.push(
                "A sensor that drifts looks the same as a coil that leaks: compare the sensors before the valve is opened up."
                    .to_owned(),
            );
        }
        let summary = measured.told(case, self.subject(), "°F", "mixed-air temperature");
        measured.into_judged(metrics, summary)
    }
}
