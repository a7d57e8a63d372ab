//! A hot-water pump that runs in weather without a need for heat (Plant rules §2.24).

use std::borrow::Cow;

use super::hot_water;
use super::run_gates::{self, Firing};
use crate::finding::{Judgement, Metrics, Severity, Verdict};
use crate::frame::Frame;
use crate::gates;
use crate::masks;
use crate::numeric;
use crate::occupancy::{self, Schedule};
use crate::parameters::Parameters;
use crate::rules::RuleCode;

/// Pump speeds above are a running pump (%).
const RUNNING_SPEED_PCT: f64 = 5.0;
/// Share of the 95th percentile above which hot water flows.
const FLOWING_SHARE: f64 = 0.05;
/// Signals of which one has to place the pump on a hot-water loop.
const HOT_WATER_ROLES: [&str; 6] = [
    "hw_pump_speed",
    "hw_flow",
    "hw_supply_temp",
    "hw_return_temp",
    "boiler_status",
    "gas_input_rate",
];

/// The rule.
pub const RULE: RuleCode = RuleCode::equipment("hw_pump_summer_lockout", analyse).judged_by(judge);

/// How long a pump runs in each sample.
struct Running<'a> {
    /// 0 to 1, NaN where it is not known.
    duty: Cow<'a, [f64]>,
    source: &'static str,
}

const STATUS: &str = "pump status";

impl<'a> Running<'a> {
    /// By the first signal that has any sample.
    fn of(frame: &Frame<'a>) -> Option<Self> {
        if let Some(status) = frame.with_data("pump_status") {
            return Some(Self {
                duty: status.iter().map(|status| status.clamp(0.0, 1.0)).collect(),
                source: STATUS,
            });
        }
        if let Some(speed) = frame.with_data("hw_pump_speed") {
            let speed = gates::percent(speed);
            let on = masks::where_value(&speed, |speed| speed > RUNNING_SPEED_PCT);
            return Some(Self {
                duty: switched(&speed, &on),
                source: "pump speed",
            });
        }
        let flow = frame.with_data("hw_flow")?;
        let on = run_gates::above_peak_share(flow, FLOWING_SHARE)?;
        Some(Self {
            duty: switched(flow, &on),
            source: "hot-water flow",
        })
    }
}

/// 1 or 0, and missing where the reading is.
fn switched<'a>(values: &[f64], on: &[bool]) -> Cow<'a, [f64]> {
    values
        .iter()
        .zip(on)
        .map(|(value, on)| match value.is_nan() {
            true => f64::NAN,
            false => f64::from(u8::from(*on)),
        })
        .collect()
}

/// The pump in occupied samples.
struct Occupied<'a> {
    running: Running<'a>,
    considered: Vec<bool>,
    /// Those with the pump on at any time.
    pumping: Vec<bool>,
}

/// None with why not.
fn occupied<'a>(frame: &Frame<'a>) -> Result<Occupied<'a>, &'static str> {
    if !HOT_WATER_ROLES.iter().any(|role| frame.has(role)) {
        return Err(
            "Nothing places the pump on a hot-water loop: map its water, its boiler, or its speed or flow.",
        );
    }
    let Some(running) = Running::of(frame) else {
        return Err("No signal of the pump has any sample.");
    };
    let schedule = occupancy::scheduled_without_preparation(frame, &Schedule::default());
    let considered = masks::and(&schedule, &masks::present(&running.duty));
    if !considered.contains(&true) {
        return Err("No occupied sample (weekdays 07:00 to 18:00) tells whether the pump ran.");
    }
    let pumping = masks::and(
        &considered,
        &masks::where_value(&running.duty, |duty| duty > 0.0),
    );
    Ok(Occupied {
        running,
        considered,
        pumping,
    })
}

/// Percentage of warm pumping, weighted by duty, in which the boiler is off; none without a boiler or warm samples.
fn boiler_off_pct(frame: &Frame<'_>, pump: &Occupied<'_>, lockout: f64) -> Option<f64> {
    let oat = frame.column("oat")?;
    let boiler = Firing::of(frame)?.duty;
    let mut warm = masks::and(&pump.pumping, &masks::where_value(oat, |oat| oat > lockout));
    masks::narrow(&mut warm, &masks::present(&boiler));
    let total: f64 = masks::picked(&pump.running.duty, &warm).sum();
    let off = masks::paired(&pump.running.duty, &boiler, |pump, boiler| {
        pump * (1.0 - boiler.clamp(0.0, 1.0))
    });
    (total > 0.0)
        .then(|| numeric::round(100.0 * masks::picked(&off, &warm).sum::<f64>() / total, 2))
}

fn analyse(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let equip = frame.equip();
    let pump = match occupied(frame) {
        Ok(pump) => pump,
        Err(why) => {
            let summary = format!("{equip}: the hot-water pump was not judged: insufficient data.");
            return Some(Verdict::info(Metrics::new(), summary).with_caveat(why));
        }
    };
    let lockout = parameters.number("summer_lockout_oat_f");
    let duty = &pump.running.duty;
    let n = masks::count(&pump.considered);
    let total: f64 = masks::picked(duty, &pump.considered).sum();
    let running_pct = numeric::round(100.0 * total / numeric::share_of(n), 2);
    let on = masks::and(
        &pump.considered,
        &masks::where_value(duty, |duty| duty > 0.5),
    );
    let oat = frame.column("oat");
    let warmest = oat
        .map(|oat| masks::picked(oat, &on).fold(f64::NAN, f64::max))
        .filter(|warmest| !warmest.is_nan());
    let summer = oat.and_then(|oat| hot_water::summer_run(oat, duty, &pump.considered, lockout));
    let boiler_off = boiler_off_pct(frame, &pump, lockout);
    let mut metrics = Metrics::new();
    metrics
        .number("pump_running_pct", running_pct)
        .number_or_null("summer_run_pct", summer)
        .number("lockout_oat_f", lockout)
        .number_or_null(
            "max_oat_running_f",
            warmest.map(|warmest| numeric::round(warmest, 1)),
        )
        .number_or_null("boiler_off_pct", boiler_off)
        .count("n_running", masks::count(&on))
        .count("n_considered", n)
        .set("run_source", pump.running.source);
    let mut caveats = Vec::new();
    if pump.running.source != STATUS {
        caveats.push(format!(
            "No pump status is trended: running was read from the {}, which tells on or off for a whole sample.",
            pump.running.source
        ));
    }
    if summer.is_none() {
        caveats.push(
            "The summer lockout was not evaluated: no outdoor temperature while the pump runs."
                .to_owned(),
        );
    }
    if summer.is_some_and(|summer| summer > 0.0) && boiler_off.is_none() {
        caveats.push(
            "Whether the boiler fired meanwhile was not compared: neither its status nor its gas is trended.".to_owned(),
        );
    }
    let severity = summer.map_or(Severity::Info, hot_water::summer_severity);
    let mut summary =
        format!("{equip}: the hot-water pump runs {running_pct:.0} % of occupied time");
    summary += &match summer {
        Some(summer) => format!("; {summer:.0} % of that above {lockout:.0} °F outdoors"),
        None => "; the summer lockout was not evaluated".to_owned(),
    };
    if let Some(off) = boiler_off {
        summary += &format!(", with the boiler off in {off:.0} %");
    }
    summary.push('.');
    Some(Verdict::new(severity, metrics, summary).with_caveats(caveats))
}

fn judge(frame: &Frame<'_>, parameters: &Parameters) -> Option<Judgement> {
    let oat = frame.column("oat")?;
    let pump = occupied(frame).ok()?;
    let lockout = parameters.number("summer_lockout_oat_f");
    let judged = masks::and(&pump.pumping, &masks::present(oat));
    let flagged = masks::and(&judged, &masks::where_value(oat, |oat| oat > lockout));
    Some(Judgement::of(
        "occupied pump-running samples",
        judged,
        flagged,
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::rules::testing::{self, Column, hourly};

    /// Two weeks from a Monday, from 36 °F at midnight to 82 °F at 23:00.
    fn verdict(columns: &[Column<'_>]) -> (Verdict, Option<usize>) {
        let ramp = |row: usize| 36.0 + 2.0 * numeric::share_of(row % 24);
        let mut all: Vec<Column<'_>> = vec![("oat", &ramp)];
        all.extend(columns);
        let table = hourly(336, &all);
        let flagged = testing::judge(&RULE, &table, json!({}))
            .map(|judgement| masks::count(&judgement.samples.flagged));
        (testing::run(&RULE, &table, json!({})).unwrap(), flagged)
    }

    #[test]
    fn a_pump_that_runs_on_behind_its_boiler_is_found() {
        let (found, flagged) = verdict(&[
            ("pump_status", &|_| 1.0),
            ("hw_supply_temp", &|_| 140.0),
            ("boiler_status", &|row| f64::from(u8::from(row % 24 <= 12))),
        ]);
        assert_eq!((found.severity, flagged), (Severity::Fault, Some(30)));
        assert_eq!(found.metrics.as_number("summer_run_pct"), Some(27.27));
        assert_eq!(found.metrics.as_number("boiler_off_pct"), Some(100.0));
        assert!(found.summary.contains("27 % of that above 65 °F") && found.caveats.is_empty());
    }

    #[test]
    fn flow_tells_running_with_a_caveat() {
        let (found, flagged) =
            verdict(&[("hw_flow", &|row| if row % 24 < 16 { 100.0 } else { 1.0 })]);
        assert_eq!((found.severity, flagged), (Severity::Warn, Some(10)));
        assert_eq!(
            found.metrics.get("run_source"),
            Some(&json!("hot-water flow"))
        );
        assert_eq!(found.metrics.get("boiler_off_pct"), Some(&Value::Null));
        assert_eq!(found.caveats.len(), 2);
    }

    #[test]
    fn a_pump_that_may_be_of_any_loop_is_not_judged() {
        let (found, flagged) = verdict(&[("pump_status", &|_| 1.0)]);
        assert_eq!((found.severity, flagged), (Severity::Info, None));
        assert_eq!((found.metrics.as_map().len(), found.caveats.len()), (0, 1));
    }
}
