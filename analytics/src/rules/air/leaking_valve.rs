//! A coil valve that passes water when it is shut (Air rules §2.13).

use serde_json::Value;

use crate::finding::{Condition, Flagged, Judgement, Metrics, Severity, Verdict};
use crate::frame::Frame;
use crate::masks;
use crate::numeric;
use crate::occupancy::{self, OccupancyBasis, Occupied, Schedule};
use crate::parameters::Parameters;
use crate::rules::{Inputs, RuleCode};

/// The rule.
pub const RULE: RuleCode = RuleCode::equipment("leaking_valve", analyse)
    .with_inputs(inputs)
    .judged_by(judge);

/// Occupancy is read only when occupied hours alone are judged.
fn inputs(parameters: &Parameters) -> Inputs {
    let mut optional = vec![
        "heat_valve",
        "heat_coil_leaving_temp",
        "cool_coil_leaving_temp",
        "supply_fan_status",
        "supply_fan_speed",
    ];
    if parameters.flag("occupied_only") {
        optional.push("occupancy");
    }
    let owned = |roles: &[&str]| roles.iter().map(|role| (*role).to_owned()).collect();
    Inputs {
        required: owned(&["cool_valve", "mixed_air_temp", "supply_air_temp"]),
        any_of: Vec::new(),
        optional: owned(&optional),
    }
}

/// Fewer samples with both valves shut say nothing.
const LEAST_SAMPLES: usize = 10;

/// The shut samples, and what is read from them.
struct Shut {
    /// Samples with the valves shut, the fan on and both temperatures plausible.
    rows: Vec<bool>,
    is_fan_gated: bool,
    occupied: Option<Occupied>,
    /// Supply minus mixed air, °F.
    rise: Vec<f64>,
    heating: Option<Coil>,
    cooling: Coil,
    /// Fan heat in the cooling line, °F.
    cool_shift: Option<f64>,
}

/// One coil: what is compared with its line.
struct Coil {
    basis: &'static str,
    /// Change across the coil by row, °F.
    change: Vec<f64>,
    leaks: Vec<bool>,
}

impl Coil {
    fn judged(&self, shut: &[bool]) -> Vec<bool> {
        masks::and(shut, &masks::present(&self.change))
    }

    fn share(&self, shut: &[bool]) -> f64 {
        let judged = masks::count(&self.judged(shut));
        if judged == 0 {
            return 0.0;
        }
        let leaking = masks::count(&masks::and(shut, &self.leaks));
        numeric::round(numeric::percent_of(leaking, judged), 1)
    }

    fn median(&self, shut: &[bool]) -> f64 {
        numeric::median(&masks::picked_values(&self.change, shut))
    }
}

fn is_plausible(temperature: f64) -> bool {
    (30.0..=120.0).contains(&temperature)
}

/// The fan status, else its speed; none without either.
fn fan(frame: &Frame<'_>) -> Option<Vec<bool>> {
    match frame.with_data("supply_fan_status") {
        Some(status) => Some(masks::where_value(status, |value| value > 0.5)),
        None => frame
            .with_data("supply_fan_speed")
            .map(|speed| masks::where_value(speed, |value| value > 5.0)),
    }
}

/// What the air gains over a coil by its own sensor, when enough shut samples have it.
fn own_sensor(frame: &Frame<'_>, role: &str, mixed: &[f64], shut: &[bool]) -> Option<Vec<f64>> {
    let leaving = frame.column(role)?;
    let rise: Vec<f64> = leaving
        .iter()
        .zip(mixed)
        .map(|(leaving, mixed)| {
            if (30.0..=140.0).contains(leaving) {
                leaving - mixed
            } else {
                f64::NAN
            }
        })
        .collect();
    (masks::picked_values(&rise, shut).len() >= LEAST_SAMPLES).then_some(rise)
}

fn shut(frame: &Frame<'_>, parameters: &Parameters) -> Option<Shut> {
    let mixed = frame.column("mixed_air_temp")?;
    let supply = frame.column("supply_air_temp")?;
    let closed = parameters.number("valve_closed_thr");
    let mut rows = masks::where_value(frame.column("cool_valve")?, |value| value <= closed);
    let heat_valve = frame.column("heat_valve");
    if let Some(valve) = heat_valve {
        rows = masks::and(&rows, &masks::where_value(valve, |value| value <= closed));
    }
    for temperature in [mixed, supply] {
        rows = masks::and(&rows, &masks::where_value(temperature, is_plausible));
    }
    let fan = fan(frame);
    if let Some(fan) = &fan {
        rows = masks::and(&rows, fan);
    }
    let occupied = parameters
        .flag("occupied_only")
        .then(|| occupancy::effective(frame, &Schedule::default(), false));
    if let Some(occupied) = &occupied {
        rows = masks::and(&rows, &occupied.mask);
    }
    let rise: Vec<f64> = supply.iter().zip(mixed).map(|(s, m)| s - m).collect();
    let heating = heat_valve
        .is_some()
        .then(|| heating(frame, parameters, mixed, &rise, &rows))
        .flatten();
    let (cooling, cool_shift) = cooling(frame, parameters, mixed, &rise, &rows);
    Some(Shut {
        rows,
        is_fan_gated: fan.is_some(),
        occupied,
        rise,
        heating,
        cooling,
        cool_shift,
    })
}

fn heating(
    frame: &Frame<'_>,
    parameters: &Parameters,
    mixed: &[f64],
    rise: &[f64],
    rows: &[bool],
) -> Option<Coil> {
    let fan_heat = parameters.number("fan_heat_f");
    let margin = parameters.number("delta_thr_f");
    let (basis, source, credited) = match own_sensor(frame, "heat_coil_leaving_temp", mixed, rows) {
        Some(own) if parameters.flag("coil_sensor_fan_heat") => {
            ("heat_coil_leaving_temp", own, fan_heat)
        }
        Some(own) => ("heat_coil_leaving_temp", own, 0.0),
        None if parameters.flag("judge_heating_on_supply_air") => {
            ("supply_air_temp", rise.to_vec(), fan_heat)
        }
        None => return None,
    };
    let change: Vec<f64> = source.iter().map(|value| value - credited).collect();
    let leaks = masks::where_value(&change, |value| value > margin);
    Some(Coil {
        basis,
        change,
        leaks,
    })
}

fn cooling(
    frame: &Frame<'_>,
    parameters: &Parameters,
    mixed: &[f64],
    rise: &[f64],
    rows: &[bool],
) -> (Coil, Option<f64>) {
    let own = own_sensor(frame, "cool_coil_leaving_temp", mixed, rows);
    let holds_fan_heat = own.is_none() || parameters.flag("coil_sensor_fan_heat");
    let shift = parameters
        .optional("measured_fan_heat_f")
        .map(|heat| if holds_fan_heat { heat } else { 0.0 });
    let margin = parameters
        .optional("cool_delta_thr_f")
        .unwrap_or_else(|| parameters.number("delta_thr_f"));
    let line = shift.unwrap_or(0.0) - margin;
    let (basis, change) = match own {
        Some(own) => ("cool_coil_leaving_temp", own),
        None => ("supply_air_temp", rise.to_vec()),
    };
    let leaks = masks::where_value(&change, |value| value < line);
    let coil = Coil {
        basis,
        change,
        leaks,
    };
    (coil, shift)
}

fn analyse(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let shut = shut(frame, parameters)?;
    let n = masks::count(&shut.rows);
    if n < LEAST_SAMPLES {
        return Some(Verdict::info(
            Metrics::new(),
            format!(
                "No coil was judged: only {n} samples have the valves shut and both air temperatures; {LEAST_SAMPLES} are needed."
            ),
        ));
    }
    let fan_heat = parameters.number("fan_heat_f");
    let heating = shut.heating.as_ref();
    let heating_share = heating.map_or(0.0, |coil| coil.share(&shut.rows));
    let cooling_share = shut.cooling.share(&shut.rows);
    let beyond: Vec<f64> = masks::picked_values(&shut.rise, &shut.rows)
        .into_iter()
        .map(|rise| rise - fan_heat)
        .collect();
    let median = numeric::round(numeric::median(&beyond), 1);
    let mut metrics = Metrics::new();
    metrics
        .number("hw_leak_pct", heating_share)
        .number("chw_leak_pct", cooling_share)
        .number("median_delta_f", median)
        .count("n_both_closed", n)
        .number("fan_heat_f", fan_heat)
        .set("fan_gated", shut.is_fan_gated)
        .set(
            "hw_basis",
            heating.map_or(Value::Null, |coil| coil.basis.into()),
        )
        .set("chw_basis", shut.cooling.basis)
        .number_or_null(
            "hw_median_delta_f",
            heating.map(|coil| numeric::round(coil.median(&shut.rows), 1)),
        )
        .rounded("chw_median_delta_f", shut.cooling.median(&shut.rows), 1);
    if let Some(shift) = shut.cool_shift {
        metrics.number("cool_shift_f", shift);
    }
    if let Some(occupied) = &shut.occupied {
        metrics.set(
            "occupancy_gate",
            match occupied.basis {
                OccupancyBasis::Trended => "trended occupancy",
                OccupancyBasis::Assumed => "assumed schedule (weekdays 07-18)",
            },
        );
    }
    let severity = Severity::at_least(heating_share.max(cooling_share), 10.0, 30.0);
    let summary = summary(
        &shut,
        severity,
        median,
        fan_heat,
        heating_share,
        cooling_share,
    );
    Some(Verdict::new(severity, metrics, summary).with_caveats(caveats(frame, &shut)))
}

fn summary(
    shut: &Shut,
    severity: Severity,
    median: f64,
    fan_heat: f64,
    heating_share: f64,
    cooling_share: f64,
) -> String {
    let shares = match shut.heating {
        Some(_) => format!(
            "heating leak in {heating_share:.1} %, cooling leak in {cooling_share:.1} % of samples with both valves shut"
        ),
        None => format!("cooling leak in {cooling_share:.1} % of samples with the valves shut"),
    };
    let verdict = match severity {
        Severity::Ok => "no leak",
        _ if heating_share > cooling_share => "the heating coil is the worse",
        _ if shut.heating.is_some() => "the cooling coil is the worse",
        _ => "the cooling coil leaks",
    };
    let own: Vec<&str> = [
        shut.heating
            .as_ref()
            .filter(|coil| coil.basis != "supply_air_temp")
            .map(|_| "heating"),
        (shut.cooling.basis != "supply_air_temp").then_some("cooling"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let sensors = match own.is_empty() {
        true => String::new(),
        false => format!(
            " Judged by its own leaving-air sensor: {} coil.",
            own.join(" and ")
        ),
    };
    format!(
        "Supply air shifts by a median {median:+.1} °F beyond {fan_heat:.1} °F fan heat with the valves shut; {shares}; \
         {verdict}.{sensors}"
    )
}

fn caveats(frame: &Frame<'_>, shut: &Shut) -> Vec<String> {
    let mut caveats = Vec::new();
    if !shut.is_fan_gated {
        caveats.push(
            "No fan status or speed is trended: samples with the fan off are judged too."
                .to_owned(),
        );
    }
    let on_supply_air = |coil: &Coil| coil.basis == "supply_air_temp";
    if on_supply_air(&shut.cooling) || shut.heating.as_ref().is_some_and(on_supply_air) {
        caveats.push(
            "A coil without its own leaving-air sensor is judged on supply air, which tells the net change of both coils \
             and the fan."
                .to_owned(),
        );
    }
    if shut.heating.is_none() {
        let why = match frame.has("heat_valve") {
            true => "it has no leaving-air sensor of its own, and supply air was not to stand in",
            false => "no heating valve is trended",
        };
        caveats.push(format!("The heating coil was not judged: {why}."));
    }
    if let Some(shift) = shut.cool_shift.filter(|shift| *shift != 0.0) {
        caveats.push(format!(
            "The cooling line contains {shift} °F of measured fan heat; a wrong measurement shifts the share."
        ));
    }
    caveats
}

fn judge(frame: &Frame<'_>, parameters: &Parameters) -> Option<Judgement> {
    let shut = shut(frame, parameters)?;
    if masks::count(&shut.rows) < LEAST_SAMPLES {
        return None;
    }
    let basis = match frame.has("heat_valve") {
        true => "both-valves-shut samples",
        false => "valve-shut samples",
    };
    let condition = |name: &str, coil: &Coil| Condition {
        name: name.to_owned(),
        judged_basis: basis.to_owned(),
        samples: Flagged {
            judged: coil.judged(&shut.rows),
            flagged: masks::and(&shut.rows, &coil.leaks),
        },
    };
    let mut conditions = vec![condition("cooling leak", &shut.cooling)];
    conditions.extend(
        shut.heating
            .as_ref()
            .map(|coil| condition("heating leak", coil)),
    );
    let flagged = conditions
        .iter()
        .fold(vec![false; frame.len()], |all, condition| {
            masks::or(&all, &condition.samples.flagged)
        });
    Some(Judgement {
        conditions,
        ..Judgement::of(basis, shut.rows.clone(), flagged)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::frame::RoleFrame;
    use crate::rules::testing::{self, Column, hourly};

    fn shut_unit(supply: &dyn Fn(usize) -> f64, more: &[Column<'_>]) -> RoleFrame {
        let mut columns: Vec<Column<'_>> = vec![
            ("cool_valve", &|_| 0.0),
            ("mixed_air_temp", &|_| 70.0),
            ("supply_air_temp", supply),
        ];
        columns.extend_from_slice(more);
        hourly(72, &columns)
    }

    const FAN: Column<'static> = ("supply_fan_status", &|_| 1.0);
    const HEATING: Column<'static> = ("heat_valve", &|_| 0.0);

    #[test]
    fn air_that_cools_with_the_valves_shut_is_a_leak_of_the_cooling_coil() {
        let table = shut_unit(&|_| 62.0, &[FAN, HEATING]);
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        let metric = |name: &str| verdict.metrics.as_number(name).unwrap();
        assert_eq!(verdict.severity, Severity::Fault);
        assert_eq!(
            (metric("chw_leak_pct"), metric("hw_leak_pct")),
            (100.0, 0.0)
        );
        assert_eq!(
            (metric("median_delta_f"), metric("chw_median_delta_f")),
            (-10.0, -8.0)
        );
        let judgement = testing::judge(&RULE, &table, json!({})).unwrap();
        let names: Vec<&str> = judgement
            .conditions
            .iter()
            .map(|condition| condition.name.as_str())
            .collect();
        assert_eq!(names, ["cooling leak", "heating leak"]);
        assert_eq!(masks::count(&judgement.samples.flagged), 72);
    }

    #[test]
    fn air_that_warms_beyond_fan_heat_is_a_leak_of_the_heating_coil() {
        let verdict =
            testing::run(&RULE, &shut_unit(&|_| 78.0, &[FAN, HEATING]), json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Fault);
        assert_eq!(verdict.metrics.as_number("hw_leak_pct"), Some(100.0));
        assert_eq!(verdict.metrics.as_number("median_delta_f"), Some(6.0));
    }

    #[test]
    fn fan_heat_alone_is_no_leak() {
        let verdict = testing::run(&RULE, &shut_unit(&|_| 72.0, &[HEATING]), json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Ok);
        assert!(verdict.summary.contains("no leak"));
        assert_eq!(verdict.metrics.get("fan_gated"), Some(&json!(false)));
        assert_eq!(verdict.metrics.as_number("median_delta_f"), Some(0.0));
    }

    #[test]
    fn without_a_heating_valve_only_the_cooling_coil_is_judged() {
        let supply = |row: usize| if row.is_multiple_of(8) { 62.0 } else { 71.0 };
        let verdict = testing::run(&RULE, &shut_unit(&supply, &[FAN]), json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Warn);
        assert_eq!(verdict.metrics.as_number("chw_leak_pct"), Some(12.5));
        assert_eq!(verdict.metrics.as_number("hw_leak_pct"), Some(0.0));
        assert_eq!(verdict.metrics.get("hw_basis"), Some(&json!(null)));
    }

    #[test]
    fn own_sensors_are_believed_over_supply_air() {
        let table = shut_unit(
            &|_| 78.0,
            &[
                FAN,
                HEATING,
                ("heat_coil_leaving_temp", &|_| 70.5),
                ("cool_coil_leaving_temp", &|_| 66.0),
            ],
        );
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Fault);
        assert_eq!(verdict.metrics.as_number("hw_leak_pct"), Some(0.0));
        assert_eq!(verdict.metrics.as_number("chw_leak_pct"), Some(100.0));
    }

    #[test]
    fn nine_shut_samples_are_too_few() {
        let table = shut_unit(
            &|_| 62.0,
            &[FAN, ("heat_valve", &|row| if row < 9 { 0.0 } else { 50.0 })],
        );
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Info);
        assert!(testing::judge(&RULE, &table, json!({})).is_none());
    }
}
