//! Opening of a coil's valve at the same temperature difference of the air (Drift §5.1).

use super::Coil;
use crate::drift::baseline::{FitRule, Scope, Signal};
use crate::drift::detector::{Case, Detector, Inputs, Judged};
use crate::drift::measure::{Measure, Measured};
use crate::drift::shift::{Direction, Floors};
use crate::drift::windows::{Side, kept};
use crate::masks;
use crate::numeric;

/// Least difference that is a load (°F), and what is credible.
const LEAST_DIFFERENCE: f64 = 3.0;
pub(in crate::drift::detectors) const CREDIBLE_DIFFERENCE: std::ops::RangeInclusive<f64> =
    0.5..=60.0;
/// A valve open by less is shut (percent).
pub(in crate::drift::detectors) const SHUT: f64 = 5.0;
/// An outdoor-air damper open by more cools with outdoor air (percent).
const ECONOMIZING: f64 = 25.0;
/// Water that moved by so much towards too little effect explains some of the opening (°F).
pub(in crate::drift::detectors) const WATER_CONFOUND: f64 = 2.0;

/// The detector of one coil.
pub struct CoilValve(pub Coil);

struct Rows {
    signal: Signal,
    kept: Vec<bool>,
    /// Percentage of good rows that were left out as economizing.
    economizing: f64,
}

impl CoilValve {
    fn subject(&self) -> &'static str {
        match self.0 {
            Coil::Cooling => "the opening of the cooling valve",
            Coil::Heating => "the opening of the heating valve",
        }
    }

    fn rows(&self, side: &Side<'_>) -> Rows {
        let column = |role: &str| side.column(role).unwrap_or_default();
        let (mixed, supplied) = (column("mixed_air_temp"), column("supply_air_temp"));
        let valve = column(self.0.valve());
        let difference = masks::paired(mixed, supplied, |mixed, supplied| match self.0 {
            Coil::Cooling => mixed - supplied,
            Coil::Heating => supplied - mixed,
        });
        let mut good = side.running("supply_fan_status");
        masks::narrow(&mut good, &masks::where_value(valve, |value| value > SHUT));
        let credible =
            masks::where_value(&difference, |value| CREDIBLE_DIFFERENCE.contains(&value));
        masks::narrow(&mut good, &credible);
        let mut economizing = vec![false; side.len()];
        if self.0 == Coil::Cooling {
            for (role, limit) in [
                ("econ_cmd", (|value| value >= 0.5) as fn(f64) -> bool),
                ("oa_damper", |value| value > ECONOMIZING),
            ] {
                if let Some(values) = side.column(role) {
                    economizing = masks::or(&economizing, &masks::where_value(values, limit));
                }
            }
        }
        let kept_rows = masks::and_not(&good, &economizing);
        let left_out = masks::count(&good) - masks::count(&kept_rows);
        Rows {
            signal: Signal::new(side.stamps(), kept(valve, &kept_rows), difference),
            economizing: numeric::percent_of(left_out, masks::count(&good)),
            kept: kept_rows,
        }
    }
}

impl Detector for CoilValve {
    fn rule(&self) -> &'static str {
        "coil_valve_drift"
    }

    fn inputs(&self) -> Inputs {
        let required = match self.0 {
            Coil::Cooling => ["cool_valve", "mixed_air_temp", "supply_air_temp"],
            Coil::Heating => ["heat_valve", "supply_air_temp", "mixed_air_temp"],
        };
        Inputs::of(
            &required,
            &[self.0.water(), "econ_cmd", "oa_damper", "supply_fan_status"],
        )
    }

    fn judge(&self, case: &Case<'_>) -> Judged {
        let scope = Scope {
            min_load: LEAST_DIFFERENCE,
            low: 0.0,
            high: 100.0,
        };
        let kind = match self.0 {
            Coil::Cooling => "coil_valve_cool",
            Coil::Heating => "coil_valve_heat",
        };
        let measure = Measure::new(
            kind,
            ("coil_valve", "pct"),
            FitRule::over(scope),
            Direction::Up,
            Floors::of((8.0, 15.0), (2.5, 4.0)),
        );
        let (before, after) = (self.rows(&case.baseline), self.rows(&case.current));
        let mut measured = match Measured::of(case, &measure, &before.signal, &after.signal) {
            Ok(measured) => measured,
            Err(why) => return why.declined(case, self.subject()),
        };
        measured.note_no_scatter();
        let mut metrics = measured.metrics();
        let difference = numeric::median(&masks::picked_values(&after.signal.load, &after.kept));
        let economizing = before.economizing.max(after.economizing);
        metrics
            .set("coil_valve_which", self.0.word())
            .rounded("coil_deltat_median_f", difference, 3)
            .rounded("coil_valve_econ_excluded_pct", economizing, 2);
        if self.0 == Coil::Cooling && !case.has("econ_cmd") && !case.has("oa_damper") {
            measured.caveats.push(
                "Nothing tells when outdoor air does part of the cooling: such rows were not left out.".to_owned(),
            );
        }
        if let Some(shift) = case.whole_shift(self.0.water(), 3) {
            metrics.number("water_supply_shift_f", shift);
            let unfavourable = match self.0 {
                Coil::Cooling => shift,
                Coil::Heating => -shift,
            };
            if measured.rises() && unfavourable >= WATER_CONFOUND {
                measured.caveats.push(format!(
                    "The water that feeds the coil moved by {shift:+.1} °F: part of the opening is the water, not the coil."
                ));
            }
        }
        let summary = measured.told(
            case,
            self.subject(),
            "%",
            "temperature difference of the air",
        );
        measured.into_judged(metrics, summary)
    }
}
