//! A zone that stays cold with its reheat fully open (Air rules §2.18).

use serde_json::Value;

use crate::finding::{Judgement, Metrics, Severity, Verdict};
use crate::frame::Frame;
use crate::masks;
use crate::numeric;
use crate::occupancy::{self, Schedule};
use crate::parameters::Parameters;
use crate::rules::RuleCode;
use crate::wall_clock::HOUR;

/// The rule.
pub const RULE: RuleCode =
    RuleCode::equipment("reheat_capacity_shortfall", analyse).judged_by(judge);

/// The heating setpoint, and whether it is trended.
struct Setpoint {
    values: Vec<f64>,
    source: &'static str,
}

/// The trended setpoint, else one number for all or for this equipment.
fn setpoint(frame: &Frame<'_>, parameters: &Parameters) -> Option<Setpoint> {
    if let Some(values) = frame.with_data("heat_sp") {
        return Some(Setpoint {
            values: values.to_vec(),
            source: "data",
        });
    }
    let configured = match parameters.mapping("heat_sp_f") {
        Some(by_equip) => by_equip.get(frame.equip()).and_then(Value::as_f64),
        None => parameters.optional("heat_sp_f"),
    };
    configured.map(|value| Setpoint {
        values: vec![value; frame.len()],
        source: "config",
    })
}

struct Zone {
    setpoint_source: &'static str,
    deficit: Vec<f64>,
    evaluated: Vec<bool>,
    saturated: Vec<bool>,
    under: Vec<bool>,
    /// Samples with all readings that were left to recover.
    n_recovering: usize,
}

impl Zone {
    /// None without a setpoint.
    fn of(frame: &Frame<'_>, parameters: &Parameters) -> Option<Self> {
        let temperature = frame.column("space_temp")?;
        let valve = frame.column("heat_valve")?;
        let setpoint = setpoint(frame, parameters)?;
        let occupied = occupancy::effective(frame, &Schedule::of(parameters), false).mask;
        let recovering = recovering(frame, parameters, &occupied, &setpoint.values);
        let deficit: Vec<f64> = setpoint
            .values
            .iter()
            .zip(temperature)
            .map(|(setpoint, temperature)| setpoint - temperature)
            .collect();
        let mut have = masks::and(&masks::present(&deficit), &masks::present(valve));
        if let Some(status) = frame.with_data("supply_fan_status") {
            have = masks::and(&have, &masks::where_value(status, |value| value > 0.5));
        } else if let Some(speed) = frame.with_data("supply_fan_speed") {
            have = masks::and(&have, &masks::where_value(speed, |value| value > 5.0));
        }
        let present = masks::and(&occupied, &have);
        let evaluated = masks::and_not(&present, &recovering);
        let tolerance = parameters.number("tol_f");
        let full = parameters.number("reheat_saturated_pct");
        Some(Self {
            setpoint_source: setpoint.source,
            n_recovering: masks::count(&masks::and(&present, &recovering)),
            saturated: masks::where_value(valve, |value| value >= full),
            under: masks::and(
                &evaluated,
                &masks::where_value(&deficit, |value| value > tolerance),
            ),
            deficit,
            evaluated,
        })
    }

    fn short(&self) -> Vec<bool> {
        masks::and(&self.under, &self.saturated)
    }
}

/// Samples soon after people came, or the setpoint rose, or in warm-up.
fn recovering(
    frame: &Frame<'_>,
    parameters: &Parameters,
    occupied: &[bool],
    setpoint: &[f64],
) -> Vec<bool> {
    let limit = parameters.number("recovery_hours");
    let warmup = frame.column("warmup");
    let mut before: Option<(bool, f64)> = None;
    let mut event: Option<i64> = None;
    let mut recovering = Vec::with_capacity(occupied.len());
    for (row, ((stamp, occupied), setpoint)) in frame
        .stamps()
        .iter()
        .zip(occupied)
        .zip(setpoint)
        .enumerate()
    {
        let arrives = *occupied && !before.is_some_and(|(occupied, _)| occupied);
        let rises = before.is_some_and(|(_, earlier)| setpoint - earlier >= 1.0);
        if arrives || rises {
            event = Some(*stamp);
        }
        before = Some((*occupied, *setpoint));
        let is_soon = event.filter(|_| limit > 0.0).is_some_and(|event| {
            numeric::nanos(stamp.saturating_sub(event)) <= limit * numeric::nanos(HOUR)
        });
        let warms = warmup
            .and_then(|warmup| warmup.get(row))
            .is_some_and(|value| *value > 0.0);
        recovering.push(*occupied && (is_soon || warms));
    }
    recovering
}

fn analyse(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let Some(zone) = Zone::of(frame, parameters) else {
        return Some(
            Verdict::info(
                Metrics::new(),
                "Reheat capacity was not judged: the zone has no heating setpoint.",
            )
            .with_caveat(
                "No heating setpoint is trended; the parameter heat_sp_f gives one where it is constant.",
            ),
        );
    };
    let n = masks::count(&zone.evaluated);
    if n == 0 {
        return Some(Verdict::info(
            Metrics::new(),
            "Reheat capacity was not judged: no occupied sample beyond recovery has temperature, valve and setpoint.",
        ));
    }
    let percent = |mask: &[bool]| numeric::round(numeric::percent_of(masks::count(mask), n), 2);
    let short = zone.short();
    let n_short = masks::count(&short);
    let step = Some(frame.step_hours())
        .filter(|step| *step > 0.0)
        .unwrap_or(1.0);
    let hours = numeric::round(numeric::share_of(n_short) * step, 1);
    let shortfall = percent(&short);
    let under = percent(&zone.under);
    let to_spare = percent(&masks::and_not(&zone.under, &zone.saturated));
    let deficit = rounded(
        numeric::median(&masks::picked_values(&zone.deficit, &short)),
        2,
    );
    let ratio = (n_short > 0).then(|| flow_ratio(frame, &short)).flatten();
    let has_flow = frame.has("airflow") && frame.has("airflow_sp");
    // Without a reading in these samples nothing speaks for the airflow; a caveat says so.
    let cause = (n_short > 0 && has_flow).then(|| {
        if ratio.is_some_and(|ratio| ratio < 0.9) {
            "airflow"
        } else {
            "capacity"
        }
    });
    let discharge = frame
        .column("supply_air_temp")
        .and_then(|air| rounded(numeric::median(&masks::picked_values(air, &short)), 1));
    let mut metrics = Metrics::new();
    metrics
        .number("shortfall_pct", shortfall)
        .number("shortfall_hours", hours)
        .number("underheated_pct", under)
        .number("underheated_unsaturated_pct", to_spare)
        .number(
            "valve_saturated_pct",
            percent(&masks::and(&zone.evaluated, &zone.saturated)),
        )
        .number_or_null("median_deficit_f", deficit)
        .count("n_evaluated", n)
        .count("n_recovery_excluded", zone.n_recovering)
        .set("setpoint_source", zone.setpoint_source)
        .number(
            "reheat_saturated_pct",
            parameters.number("reheat_saturated_pct"),
        )
        .number("tol_f", parameters.number("tol_f"))
        .number_or_null("airflow_to_sp_ratio", ratio)
        .number_or_null("discharge_temp_f", discharge)
        .set("likely_cause", cause.map_or(Value::Null, Value::from));
    let severity = if hours >= parameters.number("min_hours") {
        Severity::at_least(
            shortfall,
            parameters.number("warn_pct"),
            parameters.number("fault_pct"),
        )
    } else {
        Severity::Ok
    };
    let deficit = deficit.map_or_else(String::new, |deficit| {
        format!(", by a median {deficit:.1} °F")
    });
    let cause = match (cause, ratio) {
        (Some("airflow"), Some(ratio)) => {
            format!("; likely cause: airflow at {ratio:.2} of its setpoint")
        }
        (Some(_), Some(ratio)) => {
            format!(
                "; likely cause: heating capacity, as the airflow is {ratio:.2} of its setpoint"
            )
        }
        _ => String::new(),
    };
    let summary = format!(
        "The zone stays cold with reheat fully open in {shortfall:.1} % of evaluated occupied samples ({hours:.1} \
         h){deficit}{cause}. It is under-heated in {under:.1} %, of all samples {to_spare:.1} % with reheat to spare."
    );
    Some(
        Verdict::new(severity, metrics, summary).with_caveats(caveats(
            frame,
            &zone,
            n_short,
            ratio.is_some(),
        )),
    )
}

fn rounded(value: f64, decimals: usize) -> Option<f64> {
    (!value.is_nan()).then(|| numeric::round(value, decimals))
}

/// Median airflow over its setpoint in the short samples, where both are trended.
fn flow_ratio(frame: &Frame<'_>, short: &[bool]) -> Option<f64> {
    let airflow = frame.column("airflow")?;
    let setpoint = frame.column("airflow_sp")?;
    let ratios: Vec<f64> = airflow
        .iter()
        .zip(setpoint)
        .map(|(airflow, setpoint)| {
            if *setpoint > 0.0 {
                airflow / setpoint
            } else {
                f64::NAN
            }
        })
        .collect();
    rounded(numeric::median(&masks::picked_values(&ratios, short)), 2)
}

fn caveats(frame: &Frame<'_>, zone: &Zone, n_short: usize, has_flow_reading: bool) -> Vec<String> {
    let mut caveats = Vec::new();
    if zone.setpoint_source == "config" {
        caveats.push(
            "The heating setpoint is a configured constant: night setback and overrides are not seen.".to_owned(),
        );
    }
    if !frame.has("occupancy") {
        caveats.push(
            "Occupancy is not trended: the assumed schedule tells the occupied samples.".to_owned(),
        );
    }
    if n_short > 0 && !has_flow_reading {
        caveats.push(
            "Without airflow and its setpoint in these samples, too little air cannot be told from too little heating \
             capacity."
                .to_owned(),
        );
    }
    caveats
}

fn judge(frame: &Frame<'_>, parameters: &Parameters) -> Option<Judgement> {
    let zone = Zone::of(frame, parameters)?;
    let short = zone.short();
    Some(Judgement::of(
        "evaluated occupied samples",
        zone.evaluated,
        short,
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{self, week};

    #[test]
    fn too_little_air_leaves_a_zone_cold_with_its_valve_open() {
        let table = week(&[
            ("space_temp", &|_| 66.0),
            ("heat_sp", &|_| 70.0),
            ("heat_valve", &|_| 100.0),
            ("airflow", &|_| 300.0),
            ("airflow_sp", &|_| 500.0),
            ("supply_air_temp", &|_| 85.0),
        ]);
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        let metric = |name: &str| verdict.metrics.as_number(name).unwrap();
        assert_eq!(verdict.severity, Severity::Fault);
        assert_eq!(
            (metric("shortfall_pct"), metric("shortfall_hours")),
            (100.0, 40.0)
        );
        assert_eq!(
            (metric("n_evaluated"), metric("n_recovery_excluded")),
            (40.0, 15.0)
        );
        assert_eq!(
            (metric("median_deficit_f"), metric("airflow_to_sp_ratio")),
            (4.0, 0.6)
        );
        assert_eq!(metric("discharge_temp_f"), 85.0);
        assert_eq!(verdict.metrics.get("likely_cause"), Some(&json!("airflow")));
        let judgement = testing::judge(&RULE, &table, json!({})).unwrap();
        assert_eq!(masks::count(&judgement.samples.flagged), 40);
    }

    #[test]
    fn a_configured_setpoint_stands_in_for_one_that_is_not_trended() {
        let table = week(&[("space_temp", &|_| 66.0), ("heat_valve", &|_| 100.0)]);
        let verdict = testing::run(&RULE, &table, json!({"heat_sp_f": 70.0})).unwrap();
        assert_eq!(verdict.severity, Severity::Fault);
        assert_eq!(verdict.metrics.get("likely_cause"), Some(&json!(null)));
        assert_eq!(
            verdict.metrics.get("setpoint_source"),
            Some(&json!("config"))
        );
        for (set, expected) in [
            (json!({}), Severity::Info),
            (json!({"heat_sp_f": {"EQ-1": 70}}), Severity::Fault),
            (json!({"heat_sp_f": {"EQ-2": 70}}), Severity::Info),
        ] {
            let verdict = testing::run(&RULE, &table, set).unwrap();
            assert_eq!(verdict.severity, expected);
            assert!(!verdict.caveats.is_empty());
        }
    }

    #[test]
    fn two_cold_hours_a_day_are_a_quarter_of_what_is_evaluated() {
        let late = |row: usize| [16, 17].contains(&(row % 24));
        let table = week(&[
            ("space_temp", &|row| if late(row) { 67.0 } else { 71.0 }),
            ("heat_sp", &|_| 70.0),
            ("heat_valve", &|row| if late(row) { 90.0 } else { 20.0 }),
            ("airflow", &|_| 500.0),
            ("airflow_sp", &|_| 500.0),
        ]);
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Fault);
        assert_eq!(verdict.metrics.as_number("shortfall_pct"), Some(25.0));
        assert_eq!(verdict.metrics.as_number("shortfall_hours"), Some(10.0));
        assert_eq!(
            verdict.metrics.get("likely_cause"),
            Some(&json!("capacity"))
        );
    }
}
