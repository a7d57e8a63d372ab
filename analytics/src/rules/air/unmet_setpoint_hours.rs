//! Occupied hours in which a zone is out of its setpoints (Air rules §2.29).

use serde_json::Value;

use crate::finding::{Judgement, Metrics, Severity, Verdict};
use crate::frame::Frame;
use crate::masks;
use crate::numeric::percent_of;
use crate::occupancy::{self, Schedule};
use crate::parameters::Parameters;
use crate::rules::RuleCode;

/// The rule.
pub const RULE: RuleCode = RuleCode::equipment("unmet_setpoint_hours", analyse).judged_by(judge);

/// Occupied samples with a temperature, and on which the zone is out.
struct Samples {
    judged: Vec<bool>,
    /// None without the setpoint.
    hot: Option<Vec<bool>>,
    cold: Option<Vec<bool>>,
}

impl Samples {
    /// None without any setpoint.
    fn of(frame: &Frame<'_>, parameters: &Parameters) -> Option<Self> {
        let temperature = frame.column("space_temp")?;
        let (cool, heat) = (frame.column("cool_sp"), frame.column("heat_sp"));
        if cool.is_none() && heat.is_none() {
            return None;
        }
        let tolerance = parameters.number("tol_F");
        let judged: Vec<bool> = occupied(frame, parameters)
            .into_iter()
            .zip(temperature)
            .map(|(occupied, temperature)| occupied && !temperature.is_nan())
            .collect();
        let out = |setpoint: &[f64], is_out: fn(f64, f64, f64) -> bool| -> Vec<bool> {
            judged
                .iter()
                .zip(temperature.iter().zip(setpoint))
                .map(|(judged, (temperature, setpoint))| {
                    *judged && is_out(*temperature, *setpoint, tolerance)
                })
                .collect()
        };
        let hot = cool.map(|setpoint| out(setpoint, |temp, sp, tolerance| temp > sp + tolerance));
        let cold = heat.map(|setpoint| out(setpoint, |temp, sp, tolerance| temp < sp - tolerance));
        Some(Self { judged, hot, cold })
    }

    fn unmet(&self) -> Vec<bool> {
        let none = vec![false; self.judged.len()];
        masks::or(
            self.hot.as_ref().unwrap_or(&none),
            self.cold.as_ref().unwrap_or(&none),
        )
    }
}

/// Any part of an hour that is trended as occupied counts, not only its greater part.
fn occupied(frame: &Frame<'_>, parameters: &Parameters) -> Vec<bool> {
    match frame.column("occupancy") {
        Some(occupancy) => occupancy.iter().map(|value| *value > 0.0).collect(),
        None => {
            let schedule = Schedule {
                start_hour: parameters.number("start_hour"),
                end_hour: parameters.number("end_hour"),
                ..Schedule::default()
            };
            occupancy::scheduled(frame, &schedule)
        }
    }
}

fn analyse(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let mut metrics = Metrics::new();
    let Some(samples) = Samples::of(frame, parameters) else {
        return frame.has("space_temp").then(|| {
            Verdict::info(
                metrics,
                "The zone was not compared with its setpoints: it has neither a heating nor a cooling one.",
            )
        });
    };
    let n = masks::count(&samples.judged);
    if n == 0 {
        return Some(Verdict::info(
            metrics,
            "The zone was not compared with its setpoints: no occupied sample has a temperature.",
        ));
    }
    let percent = |mask: &[bool]| percent_of(masks::count(mask), n);
    let unmet = percent(&samples.unmet());
    let hot = samples.hot.as_deref().map(percent);
    let cold = samples.cold.as_deref().map(percent);
    metrics.rounded("unmet_pct", unmet, 2);
    for (name, share) in [("too_hot_pct", hot), ("too_cold_pct", cold)] {
        match share {
            Some(share) => metrics.rounded(name, share, 2),
            None => metrics.set(name, Value::Null),
        };
    }
    metrics
        .count("n_occupied", n)
        .number("tol_F", parameters.number("tol_F"));
    let severity = Severity::at_least(
        unmet,
        parameters.number("warn_pct"),
        parameters.number("fault_pct"),
    );
    let is_one_sided = hot.is_none() || cold.is_none();
    let severity = match severity {
        Severity::Ok if is_one_sided => Severity::Info,
        other => other,
    };
    let side = |share: Option<f64>| {
        share.map_or_else(|| "n/a".to_owned(), |share| format!("{share:.1} %"))
    };
    let summary = format!(
        "The zone is out of its setpoints in {unmet:.1} % of occupied samples (too hot {}, too cold {}).",
        side(hot),
        side(cold)
    );
    let missing = [
        (
            hot,
            "The zone has no cooling setpoint: whether it was too hot was not tested.",
        ),
        (
            cold,
            "The zone has no heating setpoint: whether it was too cold was not tested.",
        ),
    ];
    let caveats = missing
        .into_iter()
        .filter(|(share, _)| share.is_none())
        .map(|(_, caveat)| caveat.to_owned());
    Some(Verdict::new(severity, metrics, summary).with_caveats(caveats))
}

fn judge(frame: &Frame<'_>, parameters: &Parameters) -> Option<Judgement> {
    let samples = Samples::of(frame, parameters)?;
    let unmet = samples.unmet();
    Some(Judgement::of("occupied samples", samples.judged, unmet))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{self, week};

    #[test]
    fn one_hot_hour_a_day_is_nine_percent() {
        let table = week(&[
            ("space_temp", &|row| if row % 24 == 8 { 78.0 } else { 73.0 }),
            ("cool_sp", &|_| 74.0),
            ("heat_sp", &|_| 70.0),
        ]);
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Warn);
        assert_eq!(verdict.metrics.as_number("unmet_pct"), Some(9.09));
        assert_eq!(verdict.metrics.as_number("too_cold_pct"), Some(0.0));
        let samples = testing::judge(&RULE, &table, json!({})).unwrap().samples;
        assert_eq!(
            (
                masks::count(&samples.flagged),
                masks::count(&samples.judged)
            ),
            (5, 55)
        );
    }

    #[test]
    fn one_side_alone_is_no_pass() {
        let table = week(&[("space_temp", &|_| 73.0), ("cool_sp", &|_| 74.0)]);
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(
            (verdict.severity, verdict.caveats.len()),
            (Severity::Info, 1)
        );
        assert_eq!(verdict.metrics.get("too_cold_pct"), Some(&json!(null)));
        assert!(verdict.summary.contains("too cold n/a"));

        let cold = week(&[("space_temp", &|_| 66.0), ("heat_sp", &|_| 70.0)]);
        let verdict = testing::run(&RULE, &cold, json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Fault);
        assert_eq!(verdict.metrics.as_number("too_cold_pct"), Some(100.0));

        let alone = week(&[("space_temp", &|_| 66.0)]);
        let verdict = testing::run(&RULE, &alone, json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Info);
        assert!(testing::judge(&RULE, &alone, json!({})).is_none());
    }

    #[test]
    fn trended_occupancy_counts_from_its_first_minute() {
        let table = week(&[
            ("space_temp", &|_| 80.0),
            ("cool_sp", &|_| 74.0),
            ("occupancy", &|row| if row < 10 { 0.1 } else { 0.0 }),
        ]);
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(verdict.metrics.as_number("n_occupied"), Some(10.0));
    }
}
