//! Chillers that start too often or run at low load (Plant rules §2.8).

use super::chilled_water::tons;
use super::run_gates::PowerGate;
use super::trend_interval::interval_minutes;
use crate::finding::{EventCount, Judgement, Metrics, Severity, Verdict};
use crate::frame::Frame;
use crate::masks;
use crate::numeric::{self, nanos, share_of};
use crate::parameters::Parameters;
use crate::rules::RuleCode;
use crate::wall_clock::DAY;

/// The rule.
pub const RULE: RuleCode = RuleCode::equipment("chiller_staging", analyse).judged_by(judge);

const MIN_SAMPLES: usize = 10;
const WARN_LOW_PCT: f64 = 25.0;
const FAULT_LOW_PCT: f64 = 50.0;
/// Percent of the peak within which all runs are at about one output.
const ONE_OUTPUT_SPREAD: f64 = 5.0;

/// How a chiller ran over its power samples.
struct Running {
    gate: PowerGate,
    samples: Vec<i64>,
    starts: Vec<i64>,
    n_running: usize,
}

impl Running {
    /// None below ten power samples.
    fn of(frame: &Frame<'_>, parameters: &Parameters) -> Option<Self> {
        let power = frame.column("power")?;
        let gate = PowerGate::of(
            power,
            frame.column("compressor_status"),
            parameters.optional("min_power_kw"),
            parameters.number("run_frac"),
        );
        let samples = masks::picked_stamps(frame.stamps(), &masks::present(power));
        if samples.len() < MIN_SAMPLES {
            return None;
        }
        let mut was_on = false;
        let mut starts = Vec::new();
        for ((stamp, power), on) in frame.stamps().iter().zip(power).zip(&gate.mask) {
            if power.is_nan() {
                continue;
            }
            if *on && !was_on {
                starts.push(*stamp);
            }
            was_on = *on;
        }
        Some(Self {
            n_running: masks::count(&gate.mask),
            gate,
            samples,
            starts,
        })
    }

    /// From the first to the last power sample, at least one.
    fn days(&self) -> f64 {
        let span = match (self.samples.first(), self.samples.last()) {
            (Some(first), Some(last)) => nanos(last.saturating_sub(*first)),
            _ => 0.0,
        };
        (span / nanos(DAY)).max(1.0)
    }
}

/// Cooling over the running samples, percent of the greatest.
struct Load {
    median_pct: f64,
    low_pct: f64,
    spread_pct: f64,
}

impl Load {
    fn of(frame: &Frame<'_>, running: &[bool], low_limit_pct: f64) -> Option<Self> {
        let supply = frame.column("chw_supply_temp")?;
        let back = frame.column("chw_return_temp")?;
        let flow = frame.column("chw_flow")?;
        let mut loads: Vec<f64> = flow
            .iter()
            .zip(back)
            .zip(supply)
            .zip(running)
            .filter(|(_, on)| **on)
            .map(|(((flow, back), supply), _)| tons(*flow, *back, *supply))
            .filter(|tons| *tons > 0.0)
            .collect();
        if loads.len() < MIN_SAMPLES {
            return None;
        }
        loads.sort_unstable_by(f64::total_cmp);
        let peak = loads.last().copied()?;
        let factors: Vec<f64> = loads.iter().map(|tons| 100.0 * tons / peak).collect();
        let low = factors
            .iter()
            .filter(|factor| **factor < low_limit_pct)
            .count();
        let quantile = |q| numeric::quantile_sorted(&loads, q);
        Some(Self {
            median_pct: numeric::round(numeric::median(&factors), 1),
            low_pct: numeric::round(numeric::percent_by_mean(low, factors.len()), 1),
            spread_pct: numeric::round(100.0 * (quantile(0.90) - quantile(0.10)) / peak, 1),
        })
    }
}

fn analyse(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let equip = frame.equip();
    let Some(running) = Running::of(frame, parameters) else {
        return Some(Verdict::info(
            Metrics::new(),
            format!("{equip}: insufficient data, fewer than 10 power samples."),
        ));
    };
    let low_limit = parameters.number("low_load_pct");
    let load = Load::of(frame, &running.gate.mask, low_limit);
    let limit = parameters.number("max_starts_per_day");
    let per_day = numeric::round(share_of(running.starts.len()) / running.days(), 2);
    let runtime = numeric::percent_by_mean(running.n_running, running.samples.len());
    let mut metrics = Metrics::new();
    metrics
        .number("starts_per_day", per_day)
        .number("max_starts_per_day", limit)
        .rounded("runtime_pct", runtime, 1)
        .number_or_null(
            "load_factor_median_pct",
            load.as_ref().map(|load| load.median_pct),
        )
        .number_or_null("low_load_pct", load.as_ref().map(|load| load.low_pct))
        .number_or_null("load_spread_pct", load.as_ref().map(|load| load.spread_pct))
        .rounded("n_days", running.days(), 1)
        .set("run_source", running.gate.source)
        .number_or_null(
            "run_threshold_kw",
            running.gate.threshold_kw.map(|kw| numeric::round(kw, 2)),
        );
    let mut summary = format!(
        "{equip} starts {per_day:.1} times a day (limit {limit:.0}) and runs {runtime:.0} % of the time"
    );
    let low = load.as_ref().map_or(0.0, |load| load.low_pct);
    if let Some(load) = &load {
        summary.push_str(&format!(
            "; its median load is {:.0} % of the greatest, and {low:.0} % of running hours are below {low_limit:.0} %",
            load.median_pct
        ));
    }
    summary.push('.');
    let severity = Severity::at_least(per_day, limit, 2.0 * limit).worse(Severity::at_least(
        low,
        WARN_LOW_PCT,
        FAULT_LOW_PCT,
    ));
    Some(
        Verdict::new(severity, metrics, summary).with_caveats(caveats(
            &running,
            load.as_ref(),
            parameters.number("max_interval_min"),
        )),
    )
}

fn caveats(running: &Running, load: Option<&Load>, longest_min: f64) -> Vec<String> {
    let mut caveats = Vec::new();
    if let Some(interval) = interval_minutes(&running.samples).filter(|min| *min > longest_min) {
        caveats.push(format!(
            "Samples are {interval} min apart, more than {longest_min} min: the count of chiller starts is the least that \
             they allow."
        ));
    }
    if load.is_some_and(|load| load.spread_pct <= ONE_OUTPUT_SPREAD) {
        caveats.push(
            "Every run is at about one output: the load factor says nothing about part load."
                .to_owned(),
        );
    }
    caveats
}

fn judge(frame: &Frame<'_>, parameters: &Parameters) -> Option<Judgement> {
    let mut judgement = Judgement::whole_period(
        "the rule judges the starts over all power samples and the load over all running ones, not single hours",
    );
    if let Some(running) = Running::of(frame, parameters) {
        judgement.events.push(EventCount {
            name: "chiller starts".to_owned(),
            count: running.starts.len(),
            stamps: running.starts,
        });
    }
    Some(judgement)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{self, every, hourly};
    use crate::wall_clock::MINUTE;

    fn on(row: usize) -> bool {
        (8..20).contains(&(row % 24))
    }

    #[test]
    fn six_starts_a_day_are_a_warning_and_are_counted_as_events() {
        let table = every(
            15 * MINUTE,
            192,
            &[("power", &|row| if row % 16 < 8 { 100.0 } else { 8.0 })],
        );
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(
            (verdict.severity, verdict.caveats.len()),
            (Severity::Warn, 0)
        );
        assert_eq!(verdict.metrics.as_number("starts_per_day"), Some(6.03));
        assert_eq!(verdict.metrics.as_number("run_threshold_kw"), Some(10.0));
        let judgement = testing::judge(&RULE, &table, json!({})).unwrap();
        assert_eq!(judgement.events[0].count, 12);
    }

    #[test]
    fn half_of_the_running_hours_at_a_fifth_of_the_load_are_a_fault() {
        let table = hourly(
            240,
            &[
                ("power", &|row| if on(row) { 100.0 } else { 8.0 }),
                ("chw_supply_temp", &|_| 44.0),
                ("chw_return_temp", &|row| {
                    if row % 24 < 14 { 46.0 } else { 54.0 }
                }),
                ("chw_flow", &|_| 240.0),
            ],
        );
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(
            (verdict.severity, verdict.caveats.len()),
            (Severity::Fault, 1)
        );
        let metric = |name: &str| verdict.metrics.as_number(name).unwrap();
        assert_eq!(
            (
                metric("load_factor_median_pct"),
                metric("low_load_pct"),
                metric("load_spread_pct")
            ),
            (60.0, 50.0, 80.0)
        );
    }

    #[test]
    fn without_flow_the_load_is_not_claimed() {
        let table = hourly(240, &[("power", &|row| if on(row) { 100.0 } else { 8.0 })]);
        let verdict = testing::run(&RULE, &table, json!({"min_power_kw": 2.0})).unwrap();
        assert_eq!(verdict.severity, Severity::Ok);
        assert_eq!(verdict.metrics.get("low_load_pct"), Some(&json!(null)));
        assert_eq!(verdict.metrics.get("run_source"), Some(&json!("power_kw")));
        assert!(!verdict.summary.contains("load"));
    }
}
