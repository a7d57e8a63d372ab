//! Condenser water that passes its bypass valve when that is commanded shut (Plant rules §2.15).

use serde_json::Value;

use crate::finding::{Judgement, Metrics, Severity, Verdict};
use crate::frame::Frame;
use crate::gates;
use crate::masks;
use crate::numeric::{self, Line};
use crate::parameters::Parameters;
use crate::rules::RuleCode;

/// What is said of the run signal when there is none.
const UNGATED: &str = "ungated — no plant run signal";
/// Ranges from here on tell a share of bypassed water (°F).
const LEAST_RANGE: f64 = 1.0;
/// Ranges have to vary by that much before a leak is told from an offset (°F).
const LEAST_RANGE_SPREAD: f64 = 2.0;
/// A difference that grows by less with the range is not mixed water (°F/°F).
const OFFSET_SLOPE: f64 = 0.05;
/// Share of the difference that is there without any range when it is an offset.
const OFFSET_SHARE: f64 = 0.5;

/// The rule.
pub const RULE: RuleCode = RuleCode::equipment("condenser_bypass_leak", analyse).judged_by(judge);

/// Samples with the valve shut and water flowing.
struct Shut {
    judged: Vec<bool>,
    /// Entering the condenser minus leaving the towers.
    difference: Vec<f64>,
    /// The gate's signal; none without one.
    run_source: Option<&'static str>,
}

fn shut(frame: &Frame<'_>, parameters: &Parameters) -> Option<Shut> {
    let closed = parameters.number("closed_pct");
    let valve = gates::percent(frame.column("cw_bypass_valve")?);
    let difference = masks::paired(
        frame.column("cond_entering_water_temp")?,
        frame.column("cw_supply_temp")?,
        |entering, leaving| entering - leaving,
    );
    let mut judged = masks::where_pair(&valve, &difference, |valve, difference| {
        valve <= closed && !difference.is_nan()
    });
    let gate = gates::chiller_running(frame);
    if let Some(gate) = &gate {
        masks::narrow(&mut judged, &gate.mask);
    }
    Some(Shut {
        judged,
        difference,
        run_source: gate.map(|gate| gate.source),
    })
}

/// How the difference goes with the range of the towers.
#[derive(Default)]
struct Mixing {
    fraction: Option<f64>,
    line: Option<Line>,
}

fn mixing(frame: &Frame<'_>, shut: &Shut, min_samples: usize) -> Mixing {
    let (Some(returned), Some(leaving)) = (
        frame.column("cw_return_temp"),
        frame.column("cw_supply_temp"),
    ) else {
        return Mixing::default();
    };
    let range = masks::paired(returned, leaving, |returned, leaving| returned - leaving);
    let usable = masks::and(
        &shut.judged,
        &masks::where_value(&range, |range| range > LEAST_RANGE),
    );
    let ranges = masks::picked_values(&range, &usable);
    let differences = masks::picked_values(&shut.difference, &usable);
    if ranges.len() < min_samples {
        return Mixing::default();
    }
    let fractions = masks::paired(&differences, &ranges, |difference, range| {
        (difference / range).max(0.0)
    });
    let spread = numeric::quantile(&ranges, 0.95) - numeric::quantile(&ranges, 0.05);
    Mixing {
        fraction: Some(numeric::median(&fractions)),
        line: (spread >= LEAST_RANGE_SPREAD)
            .then(|| numeric::least_squares(&ranges, &differences))
            .flatten(),
    }
}

/// What the difference is put down to.
enum Cause {
    Valve,
    /// It is there without any range.
    ConstantOffset(Line),
    /// Colder than what leaves the towers, which no mixing makes.
    ColdOffset,
}

fn cause(median: f64, warn: f64, line: Option<Line>) -> Cause {
    match line {
        Some(line)
            if median >= warn
                && line.slope < OFFSET_SLOPE
                && line.intercept >= OFFSET_SHARE * median =>
        {
            Cause::ConstantOffset(line)
        }
        _ if median <= -warn => Cause::ColdOffset,
        _ => Cause::Valve,
    }
}

fn analyse(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let shut = shut(frame, parameters)?;
    let (warn, fault) = (parameters.number("warn_f"), parameters.number("fault_f"));
    let min_samples = parameters.count("min_samples");
    let differences = masks::picked_values(&shut.difference, &shut.judged);
    let n = differences.len();
    let equip = frame.equip();
    let mut metrics = Metrics::new();
    metrics
        .count("n_shut", n)
        .set("run_source", shut.run_source.unwrap_or(UNGATED))
        .number("closed_pct", parameters.number("closed_pct"));
    let ungated = shut.run_source.is_none().then(|| {
        "No run signal of the plant is trended: hours with the bypass shut include hours without condenser flow."
            .to_owned()
    });
    if n < min_samples {
        metrics.set("median_diff_f", Value::Null);
        let summary = format!(
            "{equip}: a bypass leak was not judged: {n} running samples have the valve shut, {min_samples} are needed."
        );
        return Some(Verdict::info(metrics, summary).with_caveats(ungated));
    }
    let median = numeric::median(&differences);
    let warm = differences.iter().filter(|value| **value >= warn).count();
    let mixing = mixing(frame, &shut, min_samples);
    let cause = cause(median, warn, mixing.line);
    let share = numeric::share_of(warm) / numeric::share_of(n);
    let rounded = |value: Option<f64>, decimals| value.map(|v| numeric::round(v, decimals));
    metrics
        .rounded("median_diff_f", median, 2)
        .rounded("p90_diff_f", numeric::quantile(&differences, 0.9), 2)
        .rounded("warm_share", share, 4)
        .number_or_null("bypass_fraction_est", rounded(mixing.fraction, 3))
        .number_or_null(
            "diff_per_range_slope",
            rounded(mixing.line.map(|l| l.slope), 3),
        )
        .number_or_null(
            "diff_intercept_f",
            rounded(mixing.line.map(|l| l.intercept), 2),
        )
        .set(
            "attribution",
            match cause {
                Cause::Valve => "valve",
                _ => "sensor_offset",
            },
        );
    let mut caveats: Vec<String> = ungated.into_iter().collect();
    let severity = match &cause {
        Cause::ConstantOffset(line) => {
            caveats.push(format!(
                "The difference does not grow with the range (slope {:.2}) and is there without one ({:+.1} °F): compare \
                 the two sensors before the valve is suspected.",
                line.slope, line.intercept
            ));
            Severity::Info
        }
        Cause::ColdOffset => {
            caveats.push(
                "Water enters the condenser colder than it leaves the towers, which mixing cannot do: compare the two \
                 sensors."
                    .to_owned(),
            );
            Severity::Info
        }
        Cause::Valve => {
            if mixing.line.is_none() && median >= warn {
                caveats.push(
                    "A leak cannot be told from an offset of the sensors: the range does not vary enough, or is not \
                     trended."
                        .to_owned(),
                );
            }
            Severity::at_least(median, warn, fault)
        }
    };
    let mut summary = format!(
        "{equip}: with the bypass shut, water enters the condenser {median:+.1} °F from what leaves the towers (median of \
         {n} samples; {:.0} % at least {warn} °F warmer)",
        100.0 * share
    );
    if let Some(fraction) = mixing.fraction.filter(|fraction| *fraction > 0.0) {
        summary += &format!("; about {:.0} % of the return bypasses", 100.0 * fraction);
    }
    summary += match (&cause, severity) {
        (Cause::Valve, Severity::Ok | Severity::Info) => ".",
        (Cause::Valve, _) => ": the valve leaks.",
        _ => ": an offset of the sensors.",
    };
    Some(Verdict::new(severity, metrics, summary).with_caveats(caveats))
}

fn judge(frame: &Frame<'_>, parameters: &Parameters) -> Option<Judgement> {
    let warn = parameters.number("warn_f");
    let shut = shut(frame, parameters)?;
    let warm = masks::where_value(&shut.difference, |difference| difference >= warn);
    let flagged = masks::and(&shut.judged, &warm);
    Some(Judgement::of(
        "bypass-shut running samples",
        shut.judged,
        flagged,
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{self, Column, hourly};

    /// Ten days: towers at 75 °F, a range of 6 to 11 °F, running from 06:00.
    fn verdict(columns: &[Column<'_>]) -> (Verdict, usize) {
        let mut all: Vec<Column<'_>> = vec![("cw_supply_temp", &|_| 75.0)];
        all.extend(columns);
        let table = hourly(240, &all);
        let judgement = testing::judge(&RULE, &table, json!({})).unwrap();
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        (verdict, masks::count(&judgement.samples.flagged))
    }

    fn range(row: usize) -> f64 {
        6.0 + numeric::share_of(row % 24 % 6)
    }

    fn running(row: usize) -> f64 {
        f64::from(u8::from(row % 24 >= 6))
    }

    #[test]
    fn a_difference_that_grows_with_the_range_is_a_leak() {
        let (verdict, flagged) = verdict(&[
            ("cw_bypass_valve", &|_| 0.0),
            ("cond_entering_water_temp", &|row| 75.0 + 0.4 * range(row)),
            ("cw_return_temp", &|row| 75.0 + range(row)),
            ("compressor_status", &running),
        ]);
        assert_eq!((verdict.severity, flagged), (Severity::Warn, 180));
        assert_eq!(verdict.metrics.as_number("bypass_fraction_est"), Some(0.4));
        assert!(
            verdict.summary.contains("+3.4 °F") && verdict.summary.ends_with("the valve leaks.")
        );
        assert!(verdict.caveats.is_empty());
    }

    #[test]
    fn a_difference_without_range_is_an_offset() {
        let (verdict, flagged) = verdict(&[
            ("cw_bypass_valve", &|_| 0.0),
            ("cond_entering_water_temp", &|_| 78.0),
            ("cw_return_temp", &|row| 75.0 + range(row)),
            ("compressor_status", &running),
        ]);
        assert_eq!((verdict.severity, flagged), (Severity::Info, 180));
        assert_eq!(
            verdict.metrics.get("attribution"),
            Some(&json!("sensor_offset"))
        );
        assert_eq!(verdict.caveats.len(), 1);
    }

    #[test]
    fn nothing_is_told_of_a_valve_that_is_never_shut() {
        let (verdict, flagged) = verdict(&[
            ("cw_bypass_valve", &|_| 60.0),
            ("cond_entering_water_temp", &|_| 90.0),
        ]);
        assert_eq!((verdict.severity, flagged), (Severity::Info, 0));
        assert_eq!(verdict.metrics.get("median_diff_f"), Some(&Value::Null));
    }
}
