//! Supply air colder or warmer than the outdoor reset line (Air rules §2.28).

use super::trim_respond::OutdoorReset;
use crate::finding::{Judgement, Metrics, Severity, Verdict};
use crate::frame::Frame;
use crate::gates::{self, FanGate};
use crate::masks;
use crate::numeric::{self, percent_of, round};
use crate::occupancy::{self, OccupancyBasis, Schedule};
use crate::parameters::Parameters;
use crate::rules::RuleCode;

/// The rule.
pub const RULE: RuleCode =
    RuleCode::equipment("supply_air_reset_compliance", analyse).judged_by(judge);

const MIN_SAMPLES: usize = 10;
/// The label of a map that is the building's own written sequence.
const SITE_SEQUENCE: &str = "site sequence";
/// The label of the map of Guideline 36.
const G36_DEFAULT: &str = "g36_default";

/// Which rows count.
struct Gate {
    mask: Vec<bool>,
    fan: &'static str,
    occupancy: &'static str,
    is_gated: bool,
}

impl Gate {
    fn of(frame: &Frame<'_>, parameters: &Parameters) -> Self {
        let fan = FanGate::of(frame, parameters.flag("fan_gate"));
        let mut mask = fan.rows(frame.len());
        let mut is_gated = fan.mask.is_some();
        let mut occupancy_gate = "off";
        if parameters.flag("occupied_only") {
            let occupied = occupancy::effective(frame, &Schedule::default(), false);
            mask = masks::and(&mask, &occupied.mask);
            occupancy_gate = match occupied.basis {
                OccupancyBasis::Trended => "trended occupancy",
                OccupancyBasis::Assumed => "assumed schedule (weekdays 07-18)",
            };
            is_gated = true;
        }
        Self {
            mask,
            fan: fan.source,
            occupancy: occupancy_gate,
            is_gated,
        }
    }

    fn tell(&self, metrics: &mut Metrics) {
        metrics
            .set("fan_gate", self.fan)
            .set("occupancy_gate", self.occupancy)
            .set("n_gated", self.is_gated.then(|| masks::count(&self.mask)));
    }
}

fn map(parameters: &Parameters) -> OutdoorReset {
    OutdoorReset {
        min_supply: parameters.number("min_clg_sat"),
        max_supply: parameters.number("t_max"),
        oat_min: parameters.number("oat_min"),
        oat_max: parameters.number("oat_max"),
    }
}

/// How the line is named in `target_source` and `reset_source`.
fn sources<'p>(parameters: &'p Parameters, map: &OutdoorReset) -> (&'static str, &'p str) {
    let own = if *map == OutdoorReset::default() {
        G36_DEFAULT
    } else {
        "configured"
    };
    match parameters.word("reset_source").unwrap_or(own) {
        SITE_SEQUENCE => ("site_sequence", SITE_SEQUENCE),
        G36_DEFAULT => ("g36", G36_DEFAULT),
        label => ("configured", label),
    }
}

fn named(target_source: &str) -> &'static str {
    match target_source {
        "g36" => "Guideline 36",
        "site_sequence" => "site-sequence",
        _ => "configured",
    }
}

/// A judged sample.
#[derive(Clone, Copy)]
struct Sample {
    supply: f64,
    target: f64,
    /// Whether outdoor air is warm enough for the line to ask for cooling.
    is_warm: bool,
}

impl Sample {
    fn gap(&self) -> f64 {
        self.target - self.supply
    }
}

/// The samples by row of the frame; none where nothing is judged.
fn samples(frame: &Frame<'_>, gate: &Gate, map: &OutdoorReset) -> Option<Vec<Option<Sample>>> {
    let supply = frame.column("supply_air_temp")?;
    let oat = frame.column("oat")?;
    let rows = supply.iter().zip(oat).zip(&gate.mask);
    Some(
        rows.map(|((supply, oat), gated)| {
            let is_judged = *gated && *supply > 40.0 && *supply < 90.0 && !oat.is_nan();
            is_judged.then(|| Sample {
                supply: *supply,
                target: map.target(*oat),
                is_warm: *oat >= map.oat_min,
            })
        })
        .collect(),
    )
}

/// The figures that decide, rounded as they are told.
struct Figures {
    below: f64,
    mean_gap: f64,
    /// Of warm samples, like `above_gap`: NaN without any.
    above: f64,
    above_gap: f64,
}

impl Figures {
    fn of(samples: &[Sample], tolerance: f64) -> Self {
        let n = samples.len();
        let share = |counts: &dyn Fn(&Sample) -> bool, of: usize| {
            round(
                percent_of(samples.iter().filter(|sample| counts(sample)).count(), of),
                1,
            )
        };
        let warm = samples.iter().filter(|sample| sample.is_warm).count();
        Self {
            below: share(&|sample| sample.gap() > tolerance, n),
            mean_gap: round(numeric::mean_of(samples.iter().map(Sample::gap)), 2),
            above: share(&|sample| sample.is_warm && -sample.gap() > tolerance, warm),
            above_gap: round(
                numeric::mean_of(
                    samples
                        .iter()
                        .filter(|sample| sample.is_warm)
                        .map(|sample| -sample.gap()),
                ),
                2,
            ),
        }
    }

    fn is_opportunity(&self, parameters: &Parameters) -> bool {
        self.below >= parameters.number("warn_pct")
            && self.mean_gap >= parameters.number("warn_gap_f")
    }

    fn is_too_warm(&self, parameters: &Parameters) -> bool {
        self.above >= parameters.number("warn_pct")
            && self.above_gap >= parameters.number("track_gap_f")
    }
}

fn analyse(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    if !frame.has("supply_air_temp") {
        return None;
    }
    let mut metrics = Metrics::new();
    let gate = Gate::of(frame, parameters);
    let map = map(parameters);
    let Some(samples) = samples(frame, &gate, &map) else {
        metrics
            .set("declined", true)
            .set("reason", "no outdoor temperature");
        return Some(
            Verdict::info(
                metrics,
                "Supply air was not compared with its reset line: there is no outdoor temperature.",
            )
            .with_caveat("The reset line is a function of outdoor temperature; map an oat point or share the building's."),
        );
    };
    let samples: Vec<Sample> = samples.into_iter().flatten().collect();
    let n = samples.len();
    if n < MIN_SAMPLES {
        metrics
            .set("declined", true)
            .set(
                "reason",
                format!("only {n} of the {MIN_SAMPLES} samples needed pass the gates"),
            )
            .set("reset_source", sources(parameters, &map).1);
        gate.tell(&mut metrics);
        tell_missing(frame, &gate, &mut metrics);
        return Some(
            Verdict::info(
                metrics,
                format!("Supply air was not compared with its reset line: only {n} samples count."),
            )
            .with_caveat("Samples count with the fan on, occupied, with supply air between 40 and 90 °F and an outdoor temperature."),
        );
    }
    let figures = Figures::of(&samples, parameters.number("tol_f"));
    let (target_source, reset_source) = sources(parameters, &map);
    let median =
        |of: fn(&Sample) -> f64| numeric::median(&samples.iter().map(of).collect::<Vec<_>>());
    let (target_median, supply_median) = (
        median(|sample| sample.target),
        median(|sample| sample.supply),
    );
    let error = numeric::mean_of(samples.iter().map(|sample| sample.gap().abs()));
    let track_gap = parameters.number("track_gap_f");
    let tracks = round(error, 2) < track_gap;
    metrics
        .set("target_source", target_source)
        .number("pct_below_target", figures.below)
        .rounded("target_median", target_median, 1)
        .number("pct_above_target", figures.above)
        .number("mean_gap_f", figures.mean_gap)
        .rounded("actual_sat_median", supply_median, 1)
        .count("n", n)
        .number("warn_pct_threshold", parameters.number("warn_pct"))
        .number("warn_gap_floor_f", parameters.number("warn_gap_f"))
        .rounded("mean_abs_error_f", error, 2)
        .number("mean_above_gap_f", figures.above_gap)
        .count(
            "n_warm",
            samples.iter().filter(|sample| sample.is_warm).count(),
        )
        .number("track_gap_f", track_gap)
        .set("tracks_target", tracks)
        .set("reset_source", reset_source);
    gate.tell(&mut metrics);
    tell_missing(frame, &gate, &mut metrics);
    let (severity, told) = if figures.is_opportunity(parameters) {
        (Severity::Warn, "it could be warmer".to_owned())
    } else if figures.is_too_warm(parameters) {
        let told = format!(
            "it does not get there: in warm weather it is above the target in {:.0} % of samples, by {:.1} °F on average",
            figures.above, figures.above_gap
        );
        (Severity::Warn, told)
    } else if tracks {
        (Severity::Ok, "it follows the target".to_owned())
    } else {
        (Severity::Ok, format!("it is {error:.1} °F off on average"))
    };
    let summary = format!(
        "Supply air at {supply_median:.1} °F against a {} target of {target_median:.1} °F (medians); below it in {:.0} % \
         of samples, mean gap {:.1} °F: {told}.",
        named(target_source),
        figures.below,
        figures.mean_gap,
    );
    Some(Verdict::new(severity, metrics, summary))
}

fn tell_missing(frame: &Frame<'_>, gate: &Gate, metrics: &mut Metrics) {
    let mut missing: Vec<&str> = ["oat", "occupancy"]
        .into_iter()
        .filter(|role| !frame.has(role))
        .collect();
    if gate.fan == gates::UNGATED {
        missing.push("supply_fan_status");
    }
    if !missing.is_empty() {
        metrics.set("_missing_optional", missing);
    }
}

fn judge(frame: &Frame<'_>, parameters: &Parameters) -> Option<Judgement> {
    let gate = Gate::of(frame, parameters);
    let by_row = samples(frame, &gate, &map(parameters))?;
    let tolerance = parameters.number("tol_f");
    let samples: Vec<Sample> = by_row.iter().copied().flatten().collect();
    if samples.len() < MIN_SAMPLES {
        return None;
    }
    let figures = Figures::of(&samples, tolerance);
    let is_opportunity = figures.is_opportunity(parameters);
    let is_too_warm = !is_opportunity && figures.is_too_warm(parameters);
    let is_flagged = |sample: Sample| {
        (is_opportunity && sample.gap() > tolerance)
            || (is_too_warm && sample.is_warm && -sample.gap() > tolerance)
    };
    let judged = by_row
        .iter()
        .map(|sample| sample.is_some_and(|sample| !is_too_warm || sample.is_warm))
        .collect();
    let flagged = by_row
        .iter()
        .map(|sample| sample.is_some_and(is_flagged))
        .collect();
    let basis = if is_too_warm {
        "gated samples in warm weather"
    } else {
        "gated samples"
    };
    Some(Judgement::of(basis, judged, flagged))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::rules::testing::{self, hourly, week};

    fn told(supply: f64, oat: f64, set: Value) -> (Verdict, Judgement) {
        let table = week(&[
            ("supply_air_temp", &|_| supply),
            ("oat", &|_| oat),
            ("supply_fan_status", &|_| 1.0),
        ]);
        (
            testing::run(&RULE, &table, set.clone()).unwrap(),
            testing::judge(&RULE, &table, set).unwrap(),
        )
    }

    #[test]
    fn cold_air_in_mild_weather_is_an_opportunity() {
        let (verdict, judgement) = told(55.0, 60.0, json!({}));
        assert_eq!(verdict.severity, Severity::Warn);
        let metric = |name| verdict.metrics.as_number(name);
        assert_eq!(
            (metric("target_median"), metric("n")),
            (Some(65.0), Some(55.0))
        );
        assert_eq!(
            (metric("pct_below_target"), metric("mean_gap_f")),
            (Some(100.0), Some(10.0))
        );
        assert_eq!(masks::count(&judgement.samples.flagged), 55);
        assert!(verdict.summary.contains("Guideline 36"));
    }

    #[test]
    fn warm_air_in_hot_weather_does_not_reach_the_line() {
        let (verdict, judgement) = told(70.0, 80.0, json!({}));
        assert_eq!(verdict.severity, Severity::Warn);
        assert_eq!(verdict.metrics.as_number("pct_above_target"), Some(100.0));
        assert_eq!(verdict.metrics.as_number("mean_above_gap_f"), Some(15.0));
        assert_eq!(masks::count(&judgement.samples.flagged), 55);
        let (verdict, judgement) = told(56.0, 75.0, json!({}));
        assert_eq!(verdict.severity, Severity::Ok);
        assert_eq!(verdict.metrics.get("tracks_target"), Some(&json!(true)));
        assert_eq!(masks::count(&judgement.samples.flagged), 0);
    }

    #[test]
    fn without_a_fan_only_the_schedule_gates() {
        let table = hourly(72, &[("supply_air_temp", &|_| 55.0), ("oat", &|_| 60.0)]);
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(
            (verdict.severity, verdict.metrics.as_number("n")),
            (Severity::Warn, Some(33.0))
        );
        assert_eq!(
            verdict.metrics.get("fan_gate"),
            Some(&json!(gates::UNGATED))
        );
        let open = json!({"fan_gate": false, "occupied_only": false});
        let verdict = testing::run(&RULE, &table, open).unwrap();
        assert_eq!(verdict.metrics.get("n_gated"), Some(&json!(null)));
        assert_eq!(verdict.metrics.as_number("n"), Some(72.0));
    }

    #[test]
    fn a_configured_line_is_named_so() {
        let (verdict, _) = told(55.0, 60.0, json!({"t_max": 60}));
        assert_eq!(
            verdict.metrics.get("target_source"),
            Some(&json!("configured"))
        );
        let site = json!({"reset_source": SITE_SEQUENCE});
        let (verdict, _) = told(55.0, 60.0, site);
        assert!(verdict.summary.contains("site-sequence"));
    }

    #[test]
    fn no_outdoor_temperature_is_a_decline() {
        let table = week(&[("supply_air_temp", &|_| 55.0)]);
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(
            (verdict.severity, verdict.caveats.len()),
            (Severity::Info, 1)
        );
        assert_eq!(verdict.metrics.get("declined"), Some(&json!(true)));
        assert!(testing::judge(&RULE, &table, json!({})).is_none());
    }
}
