//! Opening of a box damper at the same commanded airflow (Drift §5.4).

use crate::drift::baseline::{FitRule, Scope, Signal};
use crate::drift::detector::{Case, Detector, Inputs, Judged};
use crate::drift::measure::{Measure, Measured};
use crate::drift::shift::{Direction, Floors};
use crate::drift::windows::{Side, kept};
use crate::masks;
use crate::numeric;

/// Airflows that a box is told to hold (cfm), and openings (percent).
const COMMAND: std::ops::RangeInclusive<f64> = 50.0..=1e5;
const OPENING: std::ops::RangeInclusive<f64> = 0.0..=100.0;
/// A duct pressure that fell by so much starves the box (inH2O).
const STARVED: f64 = -0.1;
const SUBJECT: &str = "the box damper";

/// The detector.
pub struct BoxDamper;

fn rows(side: &Side<'_>) -> (Signal, f64) {
    let column = |role: &str| side.column(role).unwrap_or_default();
    let (damper, command) = (column("damper"), column("airflow_sp"));
    let mut active = side.running("supply_fan_status");
    masks::narrow(
        &mut active,
        &masks::where_value(command, |value| COMMAND.contains(&value)),
    );
    masks::narrow(
        &mut active,
        &masks::where_value(damper, |value| OPENING.contains(&value)),
    );
    let left_out = side.len() - masks::count(&active);
    (
        Signal::new(side.stamps(), kept(damper, &active), command.to_vec()),
        numeric::percent_of(left_out, side.len()),
    )
}

impl Detector for BoxDamper {
    fn rule(&self) -> &'static str {
        "vav_airflow_drift"
    }

    fn inputs(&self) -> Inputs {
        Inputs::of(
            &["damper", "airflow_sp"],
            &["duct_static", "supply_fan_status", "airflow"],
        )
    }

    fn judge(&self, case: &Case<'_>) -> Judged {
        let scope = Scope {
            min_load: *COMMAND.start(),
            low: *OPENING.start(),
            high: *OPENING.end(),
        };
        let measure = Measure::new(
            "vav_damper",
            ("vav_airflow", "pct"),
            FitRule::over(scope),
            Direction::Up,
            Floors::of((8.0, 15.0), (2.5, 4.0)),
        );
        let ((before, inactive_before), (after, inactive)) =
            (rows(&case.baseline), rows(&case.current));
        let mut measured = match Measured::of(case, &measure, &before, &after) {
            Ok(measured) => measured,
            Err(why) => return why.declined(case, SUBJECT),
        };
        measured.note_no_scatter();
        let mut metrics = measured.metrics();
        metrics
            .set("vav_airflow_which", "damper_authority")
            .set("vav_airflow_load_basis", "airflow_sp")
            .rounded(
                "vav_command_median_cfm",
                numeric::median(&measured.shift.rows.load),
                2,
            )
            .rounded(
                "vav_airflow_inactive_excluded_pct",
                inactive_before.max(inactive),
                2,
            );
        if let Some(shift) = case.whole_shift("duct_static", 4) {
            metrics.number("vav_duct_static_shift_inwc", shift);
            if measured.rises() && shift <= STARVED {
                metrics.set("vav_upstream_starvation_suspected", true);
                measured.caveats.push(format!(
                    "The pressure of the duct fell by {:.2} inH2O: the damper opens further for the same air because of that, \
                     so that the air handler is to be looked at before the box.",
                    -shift
                ));
            }
        }
        let summary = measured.told(case, SUBJECT, "%", "commanded airflow");
        measured.into_judged(metrics, summary)
    }
}
