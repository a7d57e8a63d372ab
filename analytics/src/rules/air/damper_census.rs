//! Where the dampers of the boxes sit: whether duct static pressure is too high or too low (Air rules §2.7).

use crate::finding::{Metrics, Severity, Verdict};
use crate::frame::Frame;
use crate::masks;
use crate::numeric;
use crate::occupancy::{self, OccupancyBasis, Schedule};
use crate::parameters::Parameters;
use crate::rules::{FleetFrames, RuleCode};

/// The rule.
pub const RULE: RuleCode = RuleCode::fleet("damper_census", analyse);

/// A box whose median lies below is throttled, one at or above the other is wide open (% open).
const LOW_BAND: f64 = 50.0;
const HIGH_BAND: f64 = 90.0;
/// Shares of boxes from which static pressure is too high or too low.
const LOW_FAULT_PCT: f64 = 60.0;
const HIGH_FAULT_PCT: f64 = 25.0;
/// Share of boxes in the band from which all is well.
const BAND_OK_PCT: f64 = 50.0;

const ASSUMED: &str = "assumed schedule (weekdays 07-18)";

/// Median damper position of one box, missing without a sample, and how its hours were chosen.
fn box_median(frame: &Frame<'_>, gate: &str) -> Option<(f64, &'static str)> {
    let damper = frame.column("damper")?;
    let (mask, basis) = match gate {
        "off" => (vec![true; frame.len()], "off"),
        "schedule" => (
            occupancy::scheduled_without_preparation(frame, &Schedule::default()),
            ASSUMED,
        ),
        _ => {
            let occupied = occupancy::effective(frame, &Schedule::default(), true);
            let basis = match occupied.basis {
                OccupancyBasis::Trended => "trended occupancy",
                OccupancyBasis::Assumed => ASSUMED,
            };
            (occupied.mask, basis)
        }
    };
    let mut positions: Vec<f64> = masks::picked(damper, &mask).collect();
    Some((numeric::median_in_place(&mut positions), basis))
}

fn analyse(fleet: &FleetFrames<'_>, parameters: &Parameters) -> Option<Verdict> {
    let gate = parameters.word("occupancy_gate").unwrap_or("trended");
    let boxes: Vec<(f64, &'static str)> = fleet
        .frames
        .iter()
        .filter_map(|frame| box_median(frame, gate))
        .collect();
    let mut medians: Vec<f64> = boxes
        .iter()
        .map(|(median, _)| *median)
        .filter(|median| !median.is_nan())
        .collect();
    let n = medians.len();
    let mut metrics = Metrics::new();
    let (Some((_, first)), true) = (boxes.first().copied(), n > 0) else {
        return Some(Verdict::info(
            metrics,
            "Dampers were not compared: no box has a damper position in occupied hours.",
        ));
    };
    let basis = if boxes.iter().all(|(_, basis)| *basis == first) {
        first
    } else {
        "mixed"
    };
    let share = |counts: fn(f64) -> bool| {
        let counted = boxes.iter().filter(|(median, _)| counts(*median)).count();
        numeric::round(numeric::percent_of(counted, n), 1)
    };
    let low = share(|median| median < LOW_BAND);
    let high = share(|median| median >= HIGH_BAND);
    let band = numeric::round(100.0 - low - high, 1);
    let median = numeric::median_in_place(&mut medians);
    metrics
        .count("n_boxes", n)
        .rounded("median_damper_pct", median, 1)
        .number("pct_boxes_low", low)
        .number("pct_boxes_high", high)
        .number("pct_boxes_in_band", band)
        .set("occupancy_gate", basis);
    let (severity, reading) = if low >= LOW_FAULT_PCT {
        (Severity::Fault, "duct static pressure is likely too high")
    } else if high >= HIGH_FAULT_PCT {
        (Severity::Fault, "duct static pressure is likely too low")
    } else if band < BAND_OK_PCT {
        (Severity::Warn, "few boxes work in the band of control")
    } else {
        (Severity::Ok, "duct static pressure suits the boxes")
    };
    let summary = format!(
        "The median damper of {n} boxes is {median:.0} % open; {low:.0} % of the boxes are throttled below 50 %, {high:.0} \
         % stand at 90 % or more: {reading}."
    );
    Some(Verdict::new(severity, metrics, summary))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::frame::RoleFrame;
    use crate::rules::testing::{self, named, week};

    fn boxes(positions: &[f64]) -> Vec<RoleFrame> {
        positions
            .iter()
            .enumerate()
            .map(|(number, position)| {
                let position = *position;
                let table = week(&[("damper", &move |_| position)]);
                named(&format!("VAV-{number}"), "VAV", table)
            })
            .collect()
    }

    fn figures(verdict: &Verdict) -> [f64; 4] {
        [
            "median_damper_pct",
            "pct_boxes_low",
            "pct_boxes_high",
            "pct_boxes_in_band",
        ]
        .map(|name| verdict.metrics.as_number(name).unwrap())
    }

    #[test]
    fn throttled_boxes_mean_too_much_pressure() {
        let verdict = testing::run_fleet(&RULE, &boxes(&[20.0, 30.0, 60.0]), json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Fault);
        assert_eq!(figures(&verdict), [30.0, 66.7, 0.0, 33.3]);
        assert!(verdict.summary.contains("too high"));
        assert_eq!(
            verdict.metrics.get("occupancy_gate"),
            Some(&json!("assumed schedule (weekdays 07-18)"))
        );
    }

    #[test]
    fn a_quarter_of_the_boxes_wide_open_means_too_little() {
        let tables = boxes(&[95.0, 60.0, 65.0, 55.0]);
        let verdict = testing::run_fleet(&RULE, &tables, json!({"occupancy_gate": "off"})).unwrap();
        assert_eq!(verdict.severity, Severity::Fault);
        assert_eq!(figures(&verdict), [62.5, 0.0, 25.0, 75.0]);
        assert!(verdict.summary.contains("too low"));
    }

    #[test]
    fn boxes_with_and_without_occupancy_are_told_to_be_mixed() {
        let mut tables = boxes(&[40.0, 60.0, 85.0, 55.0]);
        tables[2]
            .columns
            .insert("occupancy".to_owned(), vec![1.0; 168]);
        let verdict = testing::run_fleet(&RULE, &tables, json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Ok);
        assert_eq!(figures(&verdict)[0], 57.5);
        assert_eq!(verdict.metrics.get("occupancy_gate"), Some(&json!("mixed")));
    }

    #[test]
    fn without_boxes_there_is_nothing_to_compare() {
        let verdict = testing::run_fleet(&RULE, &[], json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Info);
    }
}
