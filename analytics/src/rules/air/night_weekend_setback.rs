//! A unit that runs at night and at weekends as if people were there (Air rules §2.14).

use serde_json::Value;

use crate::finding::{Judgement, Metrics, Severity, Verdict};
use crate::frame::Frame;
use crate::masks;
use crate::numeric;
use crate::occupancy::{self, OccupancyBasis, Schedule};
use crate::parameters::Parameters;
use crate::rules::RuleCode;
use crate::wall_clock::HOUR;

/// The rule.
pub const RULE: RuleCode = RuleCode::equipment("night_weekend_setback", analyse).judged_by(judge);

/// Less than this share of an hour is no run.
const IDLE: f64 = 0.05;

/// When the fan ran, occupied and unoccupied.
struct Running {
    /// Share of each sample in which the fan ran; NaN where that is not known.
    run: Vec<f64>,
    occupied: Vec<bool>,
    unoccupied: Vec<bool>,
    basis: OccupancyBasis,
}

impl Running {
    /// None without a usable fan signal.
    fn of(frame: &Frame<'_>, parameters: &Parameters) -> Option<Self> {
        let run: Vec<f64> = match frame.with_data("supply_fan_status") {
            Some(status) => status
                .iter()
                .map(|value| {
                    if value.is_nan() {
                        *value
                    } else {
                        value.clamp(0.0, 1.0)
                    }
                })
                .collect(),
            None => frame
                .with_data("supply_fan_speed")?
                .iter()
                .map(|value| match value {
                    value if value.is_nan() => f64::NAN,
                    value => f64::from(u8::from(*value > 5.0)),
                })
                .collect(),
        };
        let occupied = occupancy::effective(frame, &Schedule::of(parameters), false);
        let known = masks::present(&run);
        Some(Self {
            unoccupied: masks::and_not(&known, &occupied.mask),
            occupied: masks::and(&known, &occupied.mask),
            basis: occupied.basis,
            run,
        })
    }

    fn percent(&self, rows: &[bool]) -> f64 {
        numeric::round(
            100.0 * numeric::mean(&masks::picked_values(&self.run, rows)),
            2,
        )
    }

    /// Mean share of the unoccupied clock hours in which the fan ran at all, percent; NaN without such an hour.
    fn unoccupied_duty(&self, stamps: &[i64]) -> f64 {
        let mut hours: Vec<(i64, f64, usize)> = Vec::new();
        for ((stamp, run), counts) in stamps.iter().zip(&self.run).zip(&self.unoccupied) {
            if !counts {
                continue;
            }
            let hour = stamp.div_euclid(HOUR);
            match hours.last_mut() {
                Some((last, sum, n)) if *last == hour => {
                    *sum += run;
                    *n += 1;
                }
                _ => hours.push((hour, *run, 1)),
            }
        }
        100.0
            * numeric::mean_of(
                hours
                    .into_iter()
                    .map(|(_, sum, n)| sum / numeric::share_of(n))
                    .filter(|mean| *mean > IDLE),
            )
    }
}

/// One side of the setback: what is kept at night, and what was asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Heating,
    Cooling,
}

impl Side {
    const fn word(self) -> &'static str {
        match self {
            Self::Heating => "heating",
            Self::Cooling => "cooling",
        }
    }

    const fn setpoint(self) -> &'static str {
        match self {
            Self::Heating => "heat_sp",
            Self::Cooling => "cool_sp",
        }
    }

    const fn parameter(self) -> &'static str {
        match self {
            Self::Heating => "unoccupied_heat_sp_f",
            Self::Cooling => "unoccupied_cool_sp_f",
        }
    }

    /// Degrees by which the later value is set back from the earlier.
    fn depth(self, from: f64, to: f64) -> f64 {
        match self {
            Self::Heating => from - to,
            Self::Cooling => to - from,
        }
    }
}

/// What the zone temperature says about hours in which the fan ran unoccupied.
#[derive(Default)]
struct Held {
    source: Option<&'static str>,
    unoccupied: Option<f64>,
    occupied: Option<f64>,
    heat_setpoint: Option<f64>,
    cool_setpoint: Option<f64>,
    side: Option<Side>,
    has_setpoint: bool,
}

fn median_of(values: &[f64], rows: &[bool]) -> Option<f64> {
    let median = numeric::round(numeric::median(&masks::picked_values(values, rows)), 2);
    (!median.is_nan()).then_some(median)
}

/// The zone by day and by night; without a verdict on it when the fan `stops`.
fn held(
    frame: &Frame<'_>,
    parameters: &Parameters,
    running: &Running,
    duty: f64,
    stops: bool,
) -> Held {
    let mut held = Held {
        heat_setpoint: parameters.optional(Side::Heating.parameter()),
        cool_setpoint: parameters.optional(Side::Cooling.parameter()),
        ..Held::default()
    };
    let zone = ["space_temp", "return_air_temp"]
        .into_iter()
        .find_map(|role| Some((role, frame.with_data(role)?)));
    let Some((source, zone)) = zone else {
        return held;
    };
    held.source = Some(source);
    // Return air tells of the zone only while it flows.
    let least = if source == "space_temp" { IDLE } else { 0.5 };
    let flows = masks::where_value(&running.run, |run| run > least);
    held.unoccupied = median_of(zone, &masks::and(&running.unoccupied, &flows));
    held.occupied = median_of(zone, &masks::and(&running.occupied, &flows));
    if stops || !(duty < parameters.number("max_hold_duty_pct")) {
        return held;
    }
    for side in [Side::Heating, Side::Cooling] {
        let setpoint = frame.column(side.setpoint()).unwrap_or_default();
        let asked = median_of(setpoint, &running.occupied);
        let configured = parameters.optional(side.parameter());
        let setback = median_of(setpoint, &running.unoccupied).or(configured);
        match side {
            Side::Heating => held.heat_setpoint = setback,
            Side::Cooling => held.cool_setpoint = setback,
        }
        if held.side.is_none() && is_held(side, &held, parameters, asked, setback) {
            held.side = Some(side);
            held.has_setpoint = setback.is_some();
        }
    }
    held
}

fn is_held(
    side: Side,
    held: &Held,
    parameters: &Parameters,
    asked: Option<f64>,
    setback: Option<f64>,
) -> bool {
    if side == Side::Cooling && setback.is_none() {
        return false;
    }
    let (Some(reference), Some(kept)) = (asked.or(held.occupied), held.unoccupied) else {
        return false;
    };
    let least = parameters.number("min_setback_depth_f");
    let is_deep = side.depth(reference, kept) >= least;
    match setback {
        Some(setback) if side.depth(reference, setback) < least => false,
        Some(setback) => {
            let half = f64::midpoint(reference, setback);
            is_deep || side.depth(half, kept) >= 0.0
        }
        None => is_deep,
    }
}

fn analyse(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let nothing = |why: &str| {
        Some(Verdict::info(
            Metrics::new(),
            format!("The setback was not judged: {why}."),
        ))
    };
    let Some(running) = Running::of(frame, parameters) else {
        return nothing("there is no fan status or speed");
    };
    let n_unoccupied = masks::count(&running.unoccupied);
    if n_unoccupied == 0 {
        return nothing("no sample with a fan reading is unoccupied");
    }
    let n_occupied = masks::count(&running.occupied);
    let unoccupied = running.percent(&running.unoccupied);
    let occupied = if n_occupied == 0 {
        0.0
    } else {
        running.percent(&running.occupied)
    };
    let ratio = (occupied > 0.0).then(|| unoccupied / occupied);
    let least = parameters.number("min_unoccupied_run_pct");
    let stops = unoccupied < least || (occupied > 0.0 && unoccupied < 0.5 * occupied);
    let duty = running.unoccupied_duty(frame.stamps());
    let held = held(frame, parameters, &running, duty, stops);
    let is_effective = stops || held.side.is_some();
    let text = |word: Option<&'static str>| word.map_or(Value::Null, Value::from);
    let mut metrics = Metrics::new();
    metrics
        .number("fan_run_unoccupied_pct", unoccupied)
        .number("fan_run_occupied_pct", occupied)
        .set("setback_effective", is_effective)
        .count("n_unoccupied", n_unoccupied)
        .count("n_occupied", n_occupied)
        .number_or_null(
            "unoccupied_to_occupied_ratio",
            ratio.map(|ratio| numeric::round(ratio, 3)),
        )
        .number("min_unoccupied_run_pct", least)
        .set(
            "setback_basis",
            if held.side.is_some() {
                "held_setback"
            } else {
                "runtime"
            },
        )
        .rounded("unoccupied_duty_when_running_pct", duty, 1)
        .set("zone_temp_source", text(held.source))
        .number_or_null("zone_temp_unoccupied_f", held.unoccupied)
        .number_or_null("zone_temp_occupied_f", held.occupied)
        .number_or_null("unoccupied_heat_sp_f", held.heat_setpoint)
        .number_or_null("unoccupied_cool_sp_f", held.cool_setpoint)
        .set("held_side", text(held.side.map(Side::word)));
    let severity = if is_effective {
        Severity::Ok
    } else if unoccupied >= 50.0 {
        Severity::Fault
    } else {
        Severity::Warn
    };
    let summary = summary(&held, is_effective, unoccupied, occupied, ratio, duty);
    Some(
        Verdict::new(severity, metrics, summary).with_caveats(caveats(
            parameters,
            &running,
            &held,
            is_effective,
        )),
    )
}

fn summary(
    held: &Held,
    is_effective: bool,
    unoccupied: f64,
    occupied: f64,
    ratio: Option<f64>,
    duty: f64,
) -> String {
    let ratio = ratio.map_or_else(String::new, |ratio| format!(" (ratio {ratio:.2})"));
    let runs = format!(
        "The fan runs {unoccupied:.0} % of unoccupied and {occupied:.0} % of occupied time{ratio}"
    );
    match (held.side, held.unoccupied) {
        (Some(side), Some(temperature)) => {
            let air = match held.source {
                Some("return_air_temp") => "return air",
                _ => "the zone",
            };
            format!(
                "{runs}: it holds a {} setback, at {duty:.0} % duty in the hours it runs, with {air} at {temperature:.1} °F.",
                side.word()
            )
        }
        _ if is_effective => format!("{runs}: the setback is effective."),
        _ => format!("{runs}: there is no effective setback."),
    }
}

fn caveats(
    parameters: &Parameters,
    running: &Running,
    held: &Held,
    is_effective: bool,
) -> Vec<String> {
    let mut caveats = Vec::new();
    if running.basis == OccupancyBasis::Assumed {
        caveats.push(format!(
            "Occupancy is not trended: hours {}–{} on weekdays {} (0 is Monday) are assumed to be occupied.",
            parameters.number("start_hour"),
            parameters.number("end_hour"),
            parameters.value("occupied_days"),
        ));
    }
    if held.side.is_some() && held.source == Some("return_air_temp") {
        caveats.push(
            "The held setback is read from return air, which tells of the zones only while the fan runs.".to_owned(),
        );
    }
    if held.side.is_some() && !held.has_setpoint {
        caveats.push(
            "The held setback is read from the temperatures alone: no unoccupied setpoint is trended or configured."
                .to_owned(),
        );
    }
    if !is_effective && held.source.is_none() {
        caveats.push(
            "No zone or return-air temperature is trended: a fan that cycles to hold a setback cannot be told from one \
             that was left on."
                .to_owned(),
        );
    }
    caveats
}

fn judge(frame: &Frame<'_>, parameters: &Parameters) -> Option<Judgement> {
    let running = Running::of(frame, parameters)?;
    let flagged = masks::and(
        &running.unoccupied,
        &masks::where_value(&running.run, |run| run > 0.0),
    );
    Some(Judgement::of(
        "unoccupied samples",
        running.unoccupied,
        flagged,
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{self, is_occupied, week};

    fn when_occupied(row: usize, occupied: f64, otherwise: f64) -> f64 {
        if is_occupied(row) {
            occupied
        } else {
            otherwise
        }
    }

    #[test]
    fn a_fan_that_never_stops_has_no_setback() {
        let table = week(&[("supply_fan_status", &|_| 1.0)]);
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        let metric = |name: &str| verdict.metrics.as_number(name);
        assert_eq!(verdict.severity, Severity::Fault);
        assert_eq!(metric("fan_run_unoccupied_pct"), Some(100.0));
        assert_eq!(metric("unoccupied_to_occupied_ratio"), Some(1.0));
        assert_eq!(metric("n_unoccupied"), Some(113.0));
        assert_eq!(verdict.caveats.len(), 2);
        let judgement = testing::judge(&RULE, &table, json!({})).unwrap();
        assert_eq!(masks::count(&judgement.samples.flagged), 113);
    }

    #[test]
    fn a_fan_that_stops_with_the_people_is_fine() {
        let table = week(&[("supply_fan_status", &|row| when_occupied(row, 1.0, 0.0))]);
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Ok);
        assert_eq!(
            verdict.metrics.as_number("fan_run_unoccupied_pct"),
            Some(0.0)
        );
    }

    #[test]
    fn a_fan_that_cycles_is_excused_by_a_zone_held_at_its_setback() {
        let status = |row| when_occupied(row, 1.0, 0.6);
        let blind = week(&[("supply_fan_status", &status)]);
        let verdict = testing::run(&RULE, &blind, json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Fault);
        assert_eq!(
            verdict
                .metrics
                .as_number("unoccupied_duty_when_running_pct"),
            Some(60.0)
        );
        let table = week(&[
            ("supply_fan_status", &status),
            ("space_temp", &|row| when_occupied(row, 70.0, 62.0)),
            ("heat_sp", &|row| when_occupied(row, 70.0, 60.0)),
        ]);
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Ok);
        assert_eq!(
            (
                verdict.metrics.get("setback_basis"),
                verdict.metrics.get("held_side")
            ),
            (Some(&json!("held_setback")), Some(&json!("heating")))
        );
    }

    #[test]
    fn without_a_fan_signal_nothing_is_judged() {
        let verdict = testing::run(&RULE, &week(&[("space_temp", &|_| 70.0)]), json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Info);
        assert_eq!(verdict.metrics, Metrics::new());
    }
}
