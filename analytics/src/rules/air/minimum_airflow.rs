//! The minimum airflow of a terminal box (Air rules §1.5).

use crate::frame::Frame;
use crate::masks;
use crate::numeric;

/// A minimum and where it is from.
#[derive(Debug, Clone, PartialEq)]
pub struct MinimumAirflow {
    /// By row, in the unit of the airflow.
    pub values: Vec<f64>,
    pub basis: &'static str,
}

/// What a minimum is called that was read off a setpoint that moves with the load.
pub const INFERRED: &str = "inferred from the active airflow_sp";

/// Samples that tell whether the setpoint moves with the load.
const LEAST_SAMPLES: usize = 24;

/// The minimum of a box: its own point, else its setpoint, or the low end of a setpoint that the airflow follows up and
/// down. `keep` are the samples that are looked at. None without a setpoint.
pub fn minimum_airflow(frame: &Frame<'_>, keep: &[bool]) -> Option<MinimumAirflow> {
    if let Some(minimum) = frame.column("airflow_min_sp") {
        return Some(MinimumAirflow {
            values: minimum.to_vec(),
            basis: "airflow_min_sp",
        });
    }
    let setpoint = frame.column("airflow_sp")?;
    let positive = masks::and(keep, &masks::where_value(setpoint, |value| value > 0.0));
    if looks_active(frame, setpoint, &positive) {
        let minimum = numeric::quantile(&masks::picked_values(setpoint, &positive), 0.05);
        return Some(MinimumAirflow {
            values: vec![minimum; frame.len()],
            basis: INFERRED,
        });
    }
    Some(MinimumAirflow {
        values: setpoint.to_vec(),
        basis: "airflow_sp read as the minimum",
    })
}

/// Whether the setpoint moves by half and the airflow is within a tenth of it.
fn looks_active(frame: &Frame<'_>, setpoint: &[f64], positive: &[bool]) -> bool {
    let Some(airflow) = frame.column("airflow") else {
        return false;
    };
    let rows = masks::and(positive, &masks::present(airflow));
    let mut setpoints = masks::picked_values(setpoint, &rows);
    if setpoints.len() < LEAST_SAMPLES {
        return false;
    }
    let mut off: Vec<f64> = masks::picked_values(airflow, &rows)
        .into_iter()
        .zip(&setpoints)
        .map(|(airflow, setpoint)| (airflow / setpoint - 1.0).abs())
        .filter(|off| !off.is_nan())
        .collect();
    setpoints.sort_unstable_by(f64::total_cmp);
    let low = numeric::quantile_sorted(&setpoints, 0.10);
    let high = numeric::quantile_sorted(&setpoints, 0.90);
    let spread = if low <= 0.0 {
        f64::INFINITY
    } else {
        high / low
    };
    spread >= 1.5 && numeric::median_in_place(&mut off) <= 0.10
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::week;

    fn basis(columns: &[crate::rules::testing::Column<'_>]) -> Option<(&'static str, f64)> {
        let table = week(columns);
        minimum_airflow(&Frame::whole(&table), &vec![true; table.len()])
            .map(|minimum| (minimum.basis, minimum.values[0]))
    }

    #[test]
    fn a_setpoint_that_the_airflow_follows_is_not_the_minimum() {
        let moving = |row: usize| if row.is_multiple_of(4) { 200.0 } else { 500.0 };
        assert_eq!(
            basis(&[("airflow", &moving), ("airflow_sp", &moving)]),
            Some((INFERRED, 200.0))
        );
        assert_eq!(
            basis(&[("airflow", &|_| 900.0), ("airflow_sp", &moving)]),
            Some(("airflow_sp read as the minimum", 200.0))
        );
        assert_eq!(
            basis(&[
                ("airflow", &moving),
                ("airflow_sp", &moving),
                ("airflow_min_sp", &|_| 150.0)
            ]),
            Some(("airflow_min_sp", 150.0))
        );
        assert_eq!(basis(&[("airflow", &moving)]), None);
    }
}
