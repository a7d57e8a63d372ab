//! Heating and cooling coils open together; dehumidification with reheat is set apart (Air rules §2.24).

mod dehumidification;

use self::dehumidification::Classes;
use crate::finding::{Judgement, Metrics, Severity, Verdict};
use crate::frame::Frame;
use crate::masks;
use crate::numeric::{self, percent_of, round};
use crate::occupancy::{self, Schedule};
use crate::parameters::Parameters;
use crate::rules::RuleCode;

/// The rule.
pub const RULE: RuleCode = RuleCode::equipment("simultaneous_heat_cool", analyse).judged_by(judge);

/// A valve beyond this is open, percent.
const OPEN: f64 = 5.0;
/// Below this share of occupied rows with both valves a caveat tells so, percent.
const GOOD_COVERAGE: f64 = 95.0;

/// The valves and the rows on which both count.
struct Valves<'a> {
    heat: &'a [f64],
    cool: &'a [f64],
    /// Rows with both.
    both: Vec<bool>,
    occupied: Vec<bool>,
    considered: Vec<bool>,
    /// Considered rows with both open.
    simultaneous: Vec<bool>,
}

impl<'a> Valves<'a> {
    fn of(frame: &Frame<'a>) -> Option<Self> {
        let heat = frame.column("heat_valve")?;
        let cool = frame.column("cool_valve")?;
        let pairs = || heat.iter().zip(cool);
        let both: Vec<bool> = pairs()
            .map(|(heat, cool)| !heat.is_nan() && !cool.is_nan())
            .collect();
        let occupied = occupancy::strict(frame, &Schedule::default());
        let considered = masks::and(&occupied, &both);
        let open: Vec<bool> = pairs()
            .map(|(heat, cool)| *heat > OPEN && *cool > OPEN)
            .collect();
        Some(Self {
            heat,
            cool,
            both,
            simultaneous: masks::and(&considered, &open),
            considered,
            occupied,
        })
    }

    fn n(&self) -> usize {
        masks::count(&self.considered)
    }

    fn percent(&self, mask: &[bool]) -> f64 {
        percent_of(masks::count(mask), self.n())
    }

    fn percent_open(&self, valve: &[f64]) -> f64 {
        let open = valve
            .iter()
            .zip(&self.considered)
            .filter(|(valve, considered)| **considered && **valve > OPEN);
        percent_of(open.count(), self.n())
    }

    fn coverage(&self) -> f64 {
        let occupied = masks::count(&self.occupied);
        if occupied == 0 {
            100.0
        } else {
            percent_of(
                masks::count(&masks::and(&self.occupied, &self.both)),
                occupied,
            )
        }
    }

    fn mean_overlap(&self) -> f64 {
        let rows = self.heat.iter().zip(self.cool).zip(&self.simultaneous);
        let mean = numeric::mean_of(
            rows.filter(|(_, simultaneous)| **simultaneous)
                .map(|((heat, cool), _)| heat.min(*cool)),
        );
        if mean.is_nan() { 0.0 } else { mean }
    }
}

fn analyse(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let valves = Valves::of(frame)?;
    let mut metrics = Metrics::new();
    if masks::count(&valves.both) == 0 {
        metrics.set("declined", true).set("reason", "no_valve_data");
        return Some(
            Verdict::info(
                metrics,
                "The coils were not judged: no sample has both valves.",
            )
            .with_caveat("Heating and cooling valve are both needed at the same time."),
        );
    }
    let n = valves.n();
    if n == 0 {
        return Some(Verdict::info(
            metrics,
            "The coils were not judged: no occupied sample has both valves.",
        ));
    }
    let both_open = round(valves.percent(&valves.simultaneous), 2);
    let (cooling, heating) = (
        valves.percent_open(valves.cool),
        valves.percent_open(valves.heat),
    );
    let coverage = round(valves.coverage(), 1);
    metrics
        .number("simultaneous_hc_pct", both_open)
        .rounded("chw_open_pct", cooling, 2)
        .rounded("hhw_open_pct", heating, 2)
        .rounded("mean_overlap_when_simul", valves.mean_overlap(), 1)
        .count("n_considered", n)
        .number("valve_coverage_pct", coverage);
    let band = |share: f64| {
        Severity::at_least(
            share,
            parameters.number("warn_pct"),
            parameters.number("fault_pct"),
        )
    };
    let mut caveats = Vec::new();
    if coverage < GOOD_COVERAGE {
        caveats.push(format!(
            "Only {coverage:.0} % of occupied samples have both valves; the others were not judged."
        ));
    }
    let open = format!(
        "Heating and cooling valve are open together in {both_open:.1} % of occupied samples (cooling {cooling:.0} %, \
         heating {heating:.0} %)"
    );
    let Some(classes) = Classes::of(frame, parameters, &valves.simultaneous) else {
        let severity = band(both_open);
        if parameters.value("dehumidification").as_bool() == Some(false) {
            metrics.set("dehumidification", false);
        } else if severity != Severity::Ok {
            caveats.push(
                "Dehumidification with reheat was not ruled out: no coil temperature, dew point or humidity tells of it."
                    .to_owned(),
            );
        }
        return Some(Verdict::new(severity, metrics, format!("{open}.")).with_caveats(caveats));
    };
    let dehumidifying = round(valves.percent(&classes.dehumidifying), 2);
    let possible = round(valves.percent(&classes.possible), 2);
    let unexplained = round((both_open - dehumidifying - possible).max(0.0), 2);
    metrics
        .number("unexplained_hc_pct", unexplained)
        .number("dehum_reheat_pct", dehumidifying)
        .number("dehum_possible_pct", possible)
        .set(
            "dehumidification",
            parameters.value("dehumidification").clone(),
        )
        .set("dehum_evidence", classes.evidence.clone());
    let mut severity = band(unexplained);
    if possible > 0.0 && band(unexplained + possible) < severity {
        severity = severity.worse(Severity::Warn);
    }
    if severity == Severity::Ok
        && dehumidifying > 0.0
        && parameters.value("dehumidification").is_null()
    {
        severity = Severity::Info;
    }
    if possible > 0.0 {
        caveats.push(possible_caveat(&classes.evidence, possible));
    }
    if dehumidifying > 0.0 {
        caveats.push(format!(
            "{dehumidifying:.1} % of occupied samples look like dehumidification with reheat and are counted apart."
        ));
    }
    let summary = format!(
        "{open}: {dehumidifying:.1} % dehumidification with reheat, {possible:.1} % perhaps so, {unexplained:.1} % \
         unexplained."
    );
    Some(Verdict::new(severity, metrics, summary).with_caveats(caveats))
}

fn possible_caveat(evidence: &[&str], possible: f64) -> String {
    let missing: Vec<&str> = [
        (
            "coil_leaving_temp",
            "the temperature behind the cooling coil with the supply air temperature",
        ),
        ("dew_point", "a dew point (temperature and humidity)"),
        ("humidity", "the return air humidity"),
    ]
    .into_iter()
    .filter(|(name, _)| !evidence.contains(name))
    .map(|(_, words)| words)
    .collect();
    let missing = if missing.is_empty() {
        "samples of its evidence are missing".to_owned()
    } else {
        format!("missing: {}", missing.join(", "))
    };
    format!("{possible:.1} % of occupied samples may be dehumidification with reheat; {missing}.")
}

fn judge(frame: &Frame<'_>, parameters: &Parameters) -> Option<Judgement> {
    let valves = Valves::of(frame)?;
    let classes = Classes::of(frame, parameters, &valves.simultaneous);
    let mut flagged = valves.simultaneous;
    if let Some(classes) = classes {
        flagged = masks::and_not(&flagged, &classes.dehumidifying);
        flagged = masks::and_not(&flagged, &classes.possible);
    }
    Some(Judgement::of(
        "occupied samples with both valves trended",
        valves.considered,
        flagged,
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::frame::RoleFrame;
    use crate::rules::testing::{self, week};

    fn unit(more: &[(&str, f64)]) -> RoleFrame {
        let mut table = week(&[("heat_valve", &|_| 30.0), ("cool_valve", &|_| 40.0)]);
        for (role, value) in more {
            table.columns.insert((*role).to_owned(), vec![*value; 168]);
        }
        table
    }

    fn run(more: &[(&str, f64)], set: Value) -> Verdict {
        testing::run(&RULE, &unit(more), set).unwrap()
    }

    fn flagged(table: &RoleFrame) -> (usize, usize) {
        let samples = testing::judge(&RULE, table, json!({})).unwrap().samples;
        (
            masks::count(&samples.flagged),
            masks::count(&samples.judged),
        )
    }

    #[test]
    fn both_valves_open_all_day_is_a_fault() {
        let verdict = run(&[], json!({}));
        assert_eq!(
            (verdict.severity, verdict.caveats.len()),
            (Severity::Fault, 1)
        );
        let metric = |name| verdict.metrics.as_number(name);
        assert_eq!(metric("simultaneous_hc_pct"), Some(100.0));
        assert_eq!(metric("mean_overlap_when_simul"), Some(30.0));
        assert_eq!(metric("n_considered"), Some(55.0));
        assert_eq!(flagged(&unit(&[])), (55, 55));
        let shut = run(&[("heat_valve", 0.0)], json!({}));
        assert_eq!((shut.severity, shut.caveats.len()), (Severity::Ok, 0));
    }

    #[test]
    fn a_cold_coil_with_reheat_behind_it_dehumidifies() {
        let humid = [
            ("cool_coil_leaving_temp", 50.0),
            ("supply_air_temp", 60.0),
            ("return_air_temp", 74.0),
            ("return_air_humidity", 60.0),
        ];
        let verdict = run(&humid, json!({}));
        assert_eq!(verdict.severity, Severity::Info);
        assert_eq!(verdict.metrics.as_number("dehum_reheat_pct"), Some(100.0));
        assert_eq!(flagged(&unit(&humid)), (0, 55));
        let ruled_out = run(&humid, json!({"dehumidification": false}));
        assert_eq!(ruled_out.severity, Severity::Fault);
        let declared = run(&humid, json!({"dehumidification": true}));
        assert_eq!(declared.severity, Severity::Ok);

        let dry = [
            ("cool_coil_leaving_temp", 58.0),
            ("supply_air_temp", 64.0),
            ("return_air_temp", 74.0),
            ("return_air_humidity", 30.0),
        ];
        let verdict = run(&dry, json!({}));
        assert_eq!(verdict.severity, Severity::Fault);
        assert_eq!(verdict.metrics.as_number("unexplained_hc_pct"), Some(100.0));
    }

    #[test]
    fn humid_return_air_alone_makes_it_possible() {
        let verdict = run(&[("return_air_humidity", 60.0)], json!({}));
        assert_eq!(verdict.severity, Severity::Warn);
        assert_eq!(verdict.metrics.as_number("dehum_possible_pct"), Some(100.0));
        assert_eq!(
            verdict.metrics.get("dehum_evidence"),
            Some(&json!(["humidity"]))
        );
        assert!(verdict.caveats[0].contains("cooling coil"));
    }

    #[test]
    fn samples_without_a_valve_are_not_judged() {
        let table = week(&[
            ("heat_valve", &|row| if row < 84 { 30.0 } else { f64::NAN }),
            ("cool_valve", &|_| 40.0),
        ]);
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(verdict.metrics.as_number("n_considered"), Some(38.0));
        assert_eq!(verdict.metrics.as_number("valve_coverage_pct"), Some(69.1));
        assert_eq!(verdict.caveats.len(), 2);
        let none = week(&[("heat_valve", &|_| f64::NAN), ("cool_valve", &|_| 40.0)]);
        let verdict = testing::run(&RULE, &none, json!({})).unwrap();
        assert_eq!(verdict.metrics.get("reason"), Some(&json!("no_valve_data")));
    }
}
