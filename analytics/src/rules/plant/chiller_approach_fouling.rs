//! Chillers whose tubes foul, by the approach of refrigerant and water (Plant rules §2.6).

use super::run_gates::{above_peak_share, status_on};
use crate::finding::{Judgement, Metrics, Severity, Verdict};
use crate::frame::Frame;
use crate::masks;
use crate::numeric;
use crate::parameters::Parameters;
use crate::rules::RuleCode;

/// The rule.
pub const RULE: RuleCode =
    RuleCode::equipment("chiller_approach_fouling", analyse).judged_by(judge);

const WARN_RATIO: f64 = 1.5;
const FAULT_RATIO: f64 = 2.0;
/// Share of the 95th percentile of power above which the chiller runs.
const POWER_SHARE: f64 = 0.10;

/// Which samples are judged.
struct Running {
    mask: Vec<bool>,
    source: &'static str,
}

impl Running {
    fn of(frame: &Frame<'_>) -> Self {
        let by_power = || above_peak_share(frame.with_data("power")?, POWER_SHARE);
        if let Some(mask) = status_on(frame, "compressor_status") {
            return Self {
                mask,
                source: "status",
            };
        }
        match by_power() {
            Some(mask) => Self {
                mask,
                source: "power",
            },
            None => Self {
                mask: vec![true; frame.len()],
                source: "none",
            },
        }
    }

    fn caveat(&self) -> Option<String> {
        match self.source {
            "none" => Some(
                "No run signal is mapped: every trended sample was read, those of a standing chiller too. Map the status."
                    .to_owned(),
            ),
            "power" => Some(
                "No run status is mapped: the chiller counts as running above 10 % of the 95th percentile of its power."
                    .to_owned(),
            ),
            _ => None,
        }
    }
}

/// One of the two heat exchangers.
struct Leg {
    name: &'static str,
    /// Unrounded median, °F.
    approach: f64,
    design: f64,
}

impl Leg {
    fn of(frame: &Frame<'_>, running: &Running, name: &'static str, design: f64) -> Option<Self> {
        let values = frame.column(&format!("{name}_approach_temp"))?;
        let approach = numeric::median(&masks::picked_values(values, &running.mask));
        (!approach.is_nan()).then_some(Self {
            name,
            approach,
            design,
        })
    }

    fn ratio(&self) -> f64 {
        numeric::round(self.approach / self.design, 2)
    }

    fn words(&self) -> String {
        let part = match self.name {
            "cond" => "condenser",
            _ => "evaporator",
        };
        format!(
            "{part} {:.1} °F (design {:.0} °F)",
            self.approach, self.design
        )
    }
}

fn analyse(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let equip = frame.equip();
    let running = Running::of(frame);
    let n_judged = masks::count(&running.mask);
    let nothing = |summary: String| {
        let mut metrics = Metrics::new();
        metrics
            .set("run_source", running.source)
            .count("n_judged", n_judged);
        Some(Verdict::info(metrics, summary).with_caveats(running.caveat()))
    };
    if n_judged == 0 && running.source != "none" {
        return nothing(format!("{equip}: not judged, the chiller never ran."));
    }
    let legs: Vec<Leg> = ["cond", "evap"]
        .into_iter()
        .filter_map(|name| {
            let design = parameters.number(&format!("{name}_design_f"));
            Leg::of(frame, &running, name, design)
        })
        .collect();
    if legs.is_empty() {
        return nothing(format!(
            "{equip}: not judged, no running sample has an approach."
        ));
    }
    // The greater one; a design of 0 gives no ratio.
    let worst = legs
        .iter()
        .map(Leg::ratio)
        .filter(|ratio| ratio.is_finite())
        .fold(f64::NAN, f64::max);
    let mut metrics = Metrics::new();
    metrics.number("worst_approach_ratio", worst);
    for leg in &legs {
        metrics
            .rounded(&format!("{}_approach_f", leg.name), leg.approach, 2)
            .number(&format!("{}_design_f", leg.name), leg.design);
    }
    metrics
        .set("run_source", running.source)
        .count("n_judged", n_judged);
    let words: Vec<String> = legs.iter().map(Leg::words).collect();
    let summary = format!("{equip} has a median approach: {}.", words.join(", "));
    let severity = Severity::at_least(worst, WARN_RATIO, FAULT_RATIO);
    Some(Verdict::new(severity, metrics, summary).with_caveats(running.caveat()))
}

fn judge(frame: &Frame<'_>, _: &Parameters) -> Option<Judgement> {
    let samples = match Running::of(frame).source {
        "none" => "trended samples",
        _ => "running samples",
    };
    Some(Judgement::whole_period(format!(
        "the rule judges the median approach of all {samples}, not single hours"
    )))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{self, hourly};

    fn on(row: usize) -> bool {
        (8..20).contains(&(row % 24))
    }

    #[test]
    fn an_approach_of_more_than_half_as_much_again_is_a_warning() {
        let table = hourly(
            240,
            &[
                ("cond_approach_temp", &|row| if on(row) { 8.0 } else { 1.0 }),
                ("evap_approach_temp", &|row| if on(row) { 5.0 } else { 0.5 }),
                ("compressor_status", &|row| f64::from(u8::from(on(row)))),
            ],
        );
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(
            (verdict.severity, verdict.caveats.len()),
            (Severity::Warn, 0)
        );
        assert_eq!(verdict.metrics.as_number("worst_approach_ratio"), Some(1.6));
        assert_eq!(verdict.metrics.as_number("n_judged"), Some(120.0));
        assert!(verdict.summary.contains("evaporator 5.0 °F (design 4 °F)"));
    }

    #[test]
    fn a_standing_chiller_is_left_out_by_its_power_and_never_judged_by_its_status() {
        let by_power = hourly(
            240,
            &[
                ("cond_approach_temp", &|row| {
                    if on(row) { 11.0 } else { 1.0 }
                }),
                ("power", &|row| if on(row) { 100.0 } else { 8.0 }),
            ],
        );
        let verdict = testing::run(&RULE, &by_power, json!({})).unwrap();
        assert_eq!(
            (verdict.severity, verdict.caveats.len()),
            (Severity::Fault, 1)
        );
        let standing = hourly(
            240,
            &[
                ("cond_approach_temp", &|_| 11.0),
                ("compressor_status", &|_| 0.0),
            ],
        );
        let verdict = testing::run(&RULE, &standing, json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Info);
        assert_eq!(verdict.metrics.as_number("n_judged"), Some(0.0));
    }
}
