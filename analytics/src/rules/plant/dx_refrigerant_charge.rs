//! Refrigerant charge of a direct-expansion unit, by subcooling or superheat (Plant rules §2.19).

use std::ops::RangeInclusive;

use serde_json::{Value, json};

use super::dx_cooling::{self, Target};
use crate::catalogue::RuleCatalogue;
use crate::finding::{Judgement, Metrics, Severity, Verdict, number};
use crate::frame::Frame;
use crate::masks;
use crate::numeric;
use crate::parameters::Parameters;
use crate::rules::{Inputs, RuleCode};

const ID: &str = "dx_refrigerant_charge";

/// Superheat that much above its target speaks for a low charge too (°F).
const CORROBORATING_SUPERHEAT: f64 = 2.0;

/// The rule.
pub const RULE: RuleCode = RuleCode::equipment(ID, analyse)
    .checked_by(dx_cooling::check_targets)
    .with_inputs(inputs)
    .judged_by(judge);

/// What the charge is judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Metric {
    Subcooling,
    Superheat,
}

impl Metric {
    fn of(parameters: &Parameters) -> Self {
        match parameters.word("metric") {
            Some("superheat") => Self::Superheat,
            _ => Self::Subcooling,
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Subcooling => "subcooling",
            Self::Superheat => "superheat",
        }
    }

    const fn role(self) -> &'static str {
        match self {
            Self::Subcooling => "subcooling_temp",
            Self::Superheat => "superheat_temp",
        }
    }

    /// What is physical (°F).
    const fn credible(self) -> RangeInclusive<f64> {
        match self {
            Self::Subcooling => -20.0..=80.0,
            Self::Superheat => -20.0..=150.0,
        }
    }

    /// Subcooling falls and superheat rises with a low charge.
    fn verdict(self, deviation: f64) -> &'static str {
        match (self, deviation < 0.0) {
            (Self::Subcooling, true) | (Self::Superheat, false) => "undercharge",
            _ => "overcharge",
        }
    }
}

/// The roles of the catalogue; by superheat, that one in place of subcooling.
fn inputs(parameters: &Parameters) -> Inputs {
    let Some(entry) = RuleCatalogue::shipped().entry(ID) else {
        return Inputs::default();
    };
    let metric = Metric::of(parameters);
    Inputs {
        required: vec![metric.role().to_owned()],
        any_of: entry.any_of.clone(),
        optional: entry
            .optional
            .iter()
            .filter(|role| *role != metric.role())
            .cloned()
            .collect(),
    }
}

/// Cooling samples with a credible value.
fn judged(frame: &Frame<'_>, metric: Metric) -> Option<Vec<bool>> {
    let credible = metric.credible();
    let values = masks::where_value(frame.column(metric.role())?, |value| {
        credible.contains(&value)
    });
    Some(masks::and(&dx_cooling::cooling_rows(frame), &values))
}

fn decline(equip: &str, reason: &str, summary: &str, caveat: String) -> Verdict {
    let mut metrics = Metrics::new();
    metrics.set("declined", true).set("reason", reason);
    Verdict::info(
        metrics,
        format!("{equip}: the charge was not judged: {summary}."),
    )
    .with_caveat(caveat)
}

/// What the sample values and the setting say.
struct Charge {
    severity: Severity,
    verdict: &'static str,
    summary: String,
    caveat: Option<String>,
}

fn by_target(
    metric: Metric,
    median: f64,
    target: f64,
    tolerance: f64,
    metrics: &mut Metrics,
) -> Charge {
    let deviation = median - target;
    let severity = Severity::at_least(deviation.abs(), tolerance, 2.0 * tolerance);
    let word = metric.word();
    metrics
        .set("mode", "target")
        .set("metric", word)
        .rounded(&format!("{word}_median_f"), median, 2)
        .number(&format!("target_{word}_f"), target)
        .number("tolerance_f", tolerance)
        .rounded("deviation_f", deviation, 2);
    Charge {
        severity,
        verdict: match severity {
            Severity::Ok => "charge_ok",
            _ => metric.verdict(deviation),
        },
        summary: format!(
            "{word} while cooling is {median:.1} °F (median), {deviation:+.1} °F from the target of {target} ± {tolerance} °F"
        ),
        caveat: None,
    }
}

fn by_limits(median: f64, parameters: &Parameters, metrics: &mut Metrics) -> Charge {
    let (low, high) = (
        parameters.number("min_subcooling_f"),
        parameters.number("max_subcooling_f"),
    );
    metrics
        .set("mode", "limits")
        .set("metric", Metric::Subcooling.word())
        .rounded("subcooling_median_f", median, 2)
        .set("limits_f", json!([number(low), number(high)]));
    let (severity, verdict) = if median < low {
        (Severity::Warn, "undercharge")
    } else if median > high {
        (Severity::Warn, "overcharge")
    } else {
        (Severity::Ok, "charge_ok")
    };
    Charge {
        severity,
        verdict,
        summary: format!("subcooling while cooling is {median:.1} °F (median), limits {low} to {high} °F"),
        caveat: Some(
            "Only limits that hold for any unit were applied; set targets with the subcooling of its nameplate to judge it \
             closer."
                .to_owned(),
        ),
    }
}

/// What superheat adds to a verdict by subcooling; a caveat when it is not trended.
fn note_superheat(
    frame: &Frame<'_>,
    target: Option<Target<'_>>,
    verdict: &str,
    metrics: &mut Metrics,
) -> Option<String> {
    let superheat = frame.column("superheat_temp").map(|values| {
        let rows = dx_cooling::cooling_rows(frame);
        numeric::median(&masks::picked_values(values, &rows))
    });
    match superheat {
        Some(median) => metrics.rounded("superheat_median_f", median, 2),
        None => metrics.set("superheat_median_f", Value::Null),
    };
    if let Some((median, wanted)) =
        superheat.zip(target.and_then(|target| target.number("superheat_f")))
    {
        let corroborates = (verdict == "undercharge" && !median.is_nan())
            .then_some(median - wanted >= CORROBORATING_SUPERHEAT);
        metrics
            .number("target_superheat_f", wanted)
            .set("superheat_corroborates", json!(corroborates));
    }
    superheat
        .is_none()
        .then(|| "Superheat is not trended: a low charge was not cross-checked with it.".to_owned())
}

fn analyse(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let metric = Metric::of(parameters);
    let equip = frame.equip();
    let values = frame.column(metric.role())?;
    let target = Target::of(parameters, equip)
        .filter(|target| target.number(&format!("{}_f", metric.word())).is_some());
    if metric == Metric::Superheat && target.is_none() {
        return Some(decline(
            equip,
            "no_target",
            "superheat has no limits of its own",
            "Set targets with superheat_f: what superheat is right depends on the unit.".to_owned(),
        ));
    }
    if !dx_cooling::has_run_gate(frame) {
        return Some(decline(
            equip,
            "no_run_gate",
            "nothing tells when the unit cools",
            "Map the compressor's status, or return and supply air: pressures of a standing unit tell nothing.".to_owned(),
        ));
    }
    let judged = judged(frame, metric)?;
    let picked = masks::picked_values(values, &judged);
    let needed = parameters.count("min_samples");
    // Also without any sample, whatever is needed.
    if picked.is_empty() || picked.len() < needed {
        return Some(decline(
            equip,
            "too_few_samples",
            "too few cooling samples",
            format!(
                "{} cooling-mode samples with {} were found, {needed} are needed.",
                picked.len(),
                metric.word()
            ),
        ));
    }
    let median = numeric::median(&picked);
    let mut metrics = Metrics::new();
    let wanted = target.and_then(|target| {
        let value = target.number(&format!("{}_f", metric.word()))?;
        Some((value, target.tolerance(parameters)))
    });
    let charge = match wanted {
        Some((wanted, tolerance)) => by_target(metric, median, wanted, tolerance, &mut metrics),
        None => by_limits(median, parameters, &mut metrics),
    };
    metrics
        .count("n_cooling_rows", picked.len())
        .set("charge_verdict", charge.verdict)
        .set("attribution", "refrigerant_circuit");
    let unchecked = match metric {
        Metric::Subcooling => note_superheat(frame, target, charge.verdict, &mut metrics),
        Metric::Superheat => None,
    };
    let suspected = match charge.verdict {
        "undercharge" => {
            ": too little refrigerant is suspected, check the charge and for leaks, and the condenser coil"
        }
        "overcharge" => {
            ": too much refrigerant is suspected, check the charge, and the condenser coil for dirt"
        }
        _ => "",
    };
    Some(
        Verdict::new(
            charge.severity,
            metrics,
            format!("{equip}: {}{suspected}.", charge.summary),
        )
        .with_caveats(charge.caveat.into_iter().chain(unchecked)),
    )
}

fn judge(frame: &Frame<'_>, parameters: &Parameters) -> Option<Judgement> {
    judged(frame, Metric::of(parameters))?;
    Some(Judgement::whole_period(
        "the rule judges the median of the cooling-mode samples of the window and flags no single ones",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{self, Column, hourly};

    fn on(row: usize) -> bool {
        (8..18).contains(&(row % 24))
    }

    /// Ten days, return 75 °F, cooling from 08:00 to 18:00.
    fn verdict(columns: &[Column<'_>], set: Value) -> Verdict {
        let mut all: Vec<Column<'_>> = vec![
            ("return_air_temp", &|_| 75.0),
            ("supply_air_temp", &|row| if on(row) { 55.0 } else { 75.0 }),
            ("compressor_status", &|row| f64::from(u8::from(on(row)))),
        ];
        all.extend(columns);
        testing::run(&RULE, &hourly(240, &all), set).unwrap()
    }

    fn word<'v>(verdict: &'v Verdict, name: &str) -> &'v str {
        verdict.metrics.get(name).unwrap().as_str().unwrap()
    }

    #[test]
    fn low_subcooling_with_high_superheat_is_a_low_charge() {
        let found = verdict(
            &[("subcooling_temp", &|_| 6.0), ("superheat_temp", &|_| 12.0)],
            json!({"targets": {"subcooling_f": 10, "superheat_f": 8}}),
        );
        assert_eq!(
            (found.severity, word(&found, "charge_verdict")),
            (Severity::Warn, "undercharge")
        );
        assert_eq!(
            found.metrics.get("superheat_corroborates"),
            Some(&json!(true))
        );
        assert!(found.summary.contains("6.0 °F (median), -4.0 °F") && found.caveats.is_empty());
        let limits = verdict(&[("subcooling_temp", &|_| 30.0)], json!({}));
        assert_eq!(
            (limits.severity, word(&limits, "charge_verdict")),
            (Severity::Warn, "overcharge")
        );
        assert_eq!(limits.caveats.len(), 2);
    }

    #[test]
    fn superheat_needs_a_target_and_is_the_required_role() {
        let columns: &[Column<'_>] = &[("superheat_temp", &|_| 20.0)];
        let none = verdict(columns, json!({"metric": "superheat"}));
        assert_eq!(word(&none, "reason"), "no_target");
        let set = json!({"metric": "superheat", "targets": {"superheat_f": 10}});
        let found = verdict(columns, set.clone());
        assert_eq!(
            (found.severity, word(&found, "charge_verdict")),
            (Severity::Fault, "undercharge")
        );
        let inputs = inputs(&testing::parameters(&RULE, set));
        assert_eq!(inputs.required, ["superheat_temp"]);
        assert!(!inputs.optional.contains(&"superheat_temp".to_owned()));
    }

    #[test]
    fn a_standing_unit_tells_nothing() {
        let table = hourly(240, &[("subcooling_temp", &|_| 10.0)]);
        let found = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(word(&found, "reason"), "no_run_gate");
    }
}
