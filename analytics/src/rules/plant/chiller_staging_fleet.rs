//! Chillers of which more run than the load needs (Plant rules §2.9).

use std::collections::BTreeMap;

use super::run_gates::PowerGate;
use crate::families;
use crate::finding::{Metrics, Severity, Verdict};
use crate::frame::Frame;
use crate::masks;
use crate::numeric::{self, nanos, share_of};
use crate::parameters::{ParameterError, Parameters};
use crate::rules::{FleetFrames, RuleCode};
use crate::wall_clock::HOUR;

/// The rule.
pub const RULE: RuleCode = RuleCode::fleet("chiller_staging_fleet", analyse).checked_by(check);

const MIN_SAMPLES: usize = 10;
const WARN_PCT: f64 = 20.0;
const FAULT_PCT: f64 = 50.0;
const NAMED_LOOPS: usize = 5;

fn check(parameters: &Parameters) -> Result<(), ParameterError> {
    let is_positive = |value: &serde_json::Value| {
        value.is_null() || value.as_f64().is_some_and(|capacity| capacity > 0.0)
    };
    let fits = match parameters.mapping("capacity_kw") {
        Some(by_equip) => by_equip.values().all(is_positive),
        None => is_positive(parameters.value("capacity_kw")),
    };
    match fits {
        true => Ok(()),
        false => Err(parameters.refuse("capacity_kw", "a capacity in kW must be above 0")),
    }
}

fn declared_capacity(parameters: &Parameters, equip: &str) -> Option<f64> {
    match parameters.mapping("capacity_kw") {
        Some(by_equip) => by_equip.get(equip)?.as_f64(),
        None => parameters.optional("capacity_kw"),
    }
}

/// One chiller that ran.
struct Chiller {
    /// Stamps of its power samples with the power, none while it stands.
    samples: Vec<(i64, Option<f64>)>,
    source: &'static str,
    capacity_kw: f64,
    is_declared: bool,
}

impl Chiller {
    /// None below ten power samples, or when it never ran.
    fn of(frame: &Frame<'_>, parameters: &Parameters) -> Option<Self> {
        let power = frame.column("power")?;
        if numeric::count(power) < MIN_SAMPLES {
            return None;
        }
        let gate = PowerGate::of(
            power,
            frame.column("compressor_status"),
            parameters.optional("min_power_kw"),
            parameters.number("run_frac"),
        );
        if !gate.mask.contains(&true) {
            return None;
        }
        let declared = declared_capacity(parameters, frame.equip());
        Some(Self {
            samples: frame
                .stamps()
                .iter()
                .zip(power)
                .zip(&gate.mask)
                .filter(|((_, power), _)| !power.is_nan())
                .map(|((stamp, power), on)| (*stamp, on.then_some(*power)))
                .collect(),
            source: gate.source,
            capacity_kw: declared.unwrap_or_else(|| {
                numeric::quantile(&masks::picked_values(power, &gate.mask), 0.95)
            }),
            is_declared: declared.is_some(),
        })
    }
}

/// What runs at one time.
#[derive(Clone, Copy, Default)]
struct Together {
    running: usize,
    power_kw: f64,
}

fn together(chillers: &[Chiller]) -> BTreeMap<i64, Together> {
    let mut times: BTreeMap<i64, Together> = BTreeMap::new();
    for (stamp, power) in chillers.iter().flat_map(|chiller| &chiller.samples) {
        let now = times.entry(*stamp).or_default();
        if let Some(power) = power {
            now.running += 1;
            now.power_kw += power;
        }
    }
    times
}

/// The one word, or "mixed".
fn common<'a>(mut words: impl Iterator<Item = &'a str>) -> &'a str {
    let Some(first) = words.next() else {
        return "mixed";
    };
    match words.all(|word| word == first) {
        true => first,
        false => "mixed",
    }
}

fn loops_caveat(loops: &[&str]) -> Option<String> {
    let named = loops.get(..NAMED_LOOPS).unwrap_or(loops).join(", ");
    let more = match loops.len().saturating_sub(NAMED_LOOPS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!loops.is_empty())
        .then(|| format!("Chilled-water loops are no chillers and were left out: {named}{more}."))
}

fn analyse(fleet: &FleetFrames<'_>, parameters: &Parameters) -> Option<Verdict> {
    let (loops, units): (Vec<&Frame<'_>>, Vec<&Frame<'_>>) = fleet
        .frames
        .iter()
        .partition(|frame| families::is_chilled_water_loop(frame.equip_class()));
    let loops: Vec<&str> = loops.iter().map(|frame| frame.equip()).collect();
    let chillers: Vec<Chiller> = units
        .iter()
        .filter_map(|frame| Chiller::of(frame, parameters))
        .collect();
    if chillers.len() < 2 {
        let summary = match units.is_empty() {
            true => "Chiller fleet: no chillers to judge.".to_owned(),
            false => format!(
                "Chiller fleet: staging needs at least two chillers that ran; there are {}.",
                chillers.len()
            ),
        };
        let mut metrics = Metrics::new();
        metrics.count("n_loops_excluded", loops.len());
        return Some(Verdict::info(metrics, summary).with_caveats(loops_caveat(&loops)));
    }
    Some(judged(&chillers, &loops, parameters))
}

fn judged(chillers: &[Chiller], loops: &[&str], parameters: &Parameters) -> Verdict {
    let capacities: Vec<f64> = chillers.iter().map(|chiller| chiller.capacity_kw).collect();
    let capacity = numeric::median(&capacities);
    let times = together(chillers);
    let stamps: Vec<i64> = times.keys().copied().collect();
    let step_hours = numeric::median_step(&stamps).map_or(0.0, |step| step / nanos(HOUR));
    let running: Vec<Together> = times.into_values().filter(|now| now.running >= 1).collect();
    let multi: Vec<&Together> = running.iter().filter(|now| now.running >= 2).collect();
    let ceiling = parameters.number("redundancy_ceiling");
    let over = multi
        .iter()
        .filter(|now| now.power_kw <= share_of(now.running - 1) * capacity * ceiling)
        .count();
    let overstaged = match multi.len() {
        0 => 0.0,
        all => numeric::round(numeric::percent_by_mean(over, all), 1),
    };
    let mut counts: Vec<f64> = running.iter().map(|now| share_of(now.running)).collect();
    let median_count = numeric::round(numeric::median_in_place(&mut counts), 1);
    let hours = |samples: usize| numeric::round(share_of(samples) * step_hours, 1);
    let capacity_source = common(chillers.iter().map(|chiller| match chiller.is_declared {
        true => "declared",
        false => "observed_p95",
    }));
    let mut metrics = Metrics::new();
    metrics
        .count("n_chillers", chillers.len())
        .count("n_loops_excluded", loops.len())
        .count("n_running_samples", running.len())
        .count("n_multi_samples", multi.len())
        .number("running_hours", hours(running.len()))
        .number("multi_hours", hours(multi.len()))
        .number("pct_overstaged", overstaged)
        .number("median_running_count", median_count)
        .rounded("rep_capacity_kw", capacity, 1)
        .set("capacity_source", capacity_source)
        .set(
            "run_source",
            common(chillers.iter().map(|chiller| chiller.source)),
        );
    let told_source = match capacity_source {
        "declared" => "declared",
        "mixed" => "declared for some, observed for others",
        _ => "observed",
    };
    let summary = format!(
        "Chiller fleet: {} chillers; one fewer would have carried {overstaged:.0} % of the {} samples ({} h) with more than \
         one running; median {median_count:.0} running; capacity {capacity:.0} kW ({told_source}).",
        chillers.len(),
        grouped(share_of(multi.len())),
        grouped(hours(multi.len())),
    );
    let severity = Severity::at_least(overstaged, WARN_PCT, FAULT_PCT);
    let mut caveats = Vec::from_iter(loops_caveat(loops));
    if capacity_source != "declared" {
        caveats.push(format!(
            "The capacity of {capacity:.1} kW is not declared for every chiller but read from its own power: a plant that \
             always runs over-staged shows too low a capacity, and so too few over-staged samples."
        ));
    }
    Verdict::new(severity, metrics, summary).with_caveats(caveats)
}

/// A whole number with its thousands set apart: "12,345".
pub(super) fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::RoleFrame;
    use crate::rules::testing::{self, hourly, named};

    fn chiller(equip: &str, class: &str, morning: f64, afternoon: f64) -> RoleFrame {
        let power = |row: usize| match row % 24 {
            8..14 => morning,
            14..20 => afternoon,
            _ => 0.0,
        };
        named(equip, class, hourly(240, &[("power", &power)]))
    }

    #[test]
    fn two_chillers_at_a_load_that_one_would_carry_are_a_fault() {
        let tables = [
            chiller("CH1", "CHILLER", 60.0, 60.0),
            chiller("CH2", "CHILLER", 60.0, 20.0),
            chiller("LOOP", "CHW_LOOP", 5.0, 5.0),
        ];
        let verdict = testing::run_fleet(&RULE, &tables, json!({"capacity_kw": 150})).unwrap();
        assert_eq!(
            (verdict.severity, verdict.caveats.len()),
            (Severity::Fault, 1)
        );
        let metric = |name: &str| verdict.metrics.get(name).cloned().unwrap();
        assert_eq!(metric("pct_overstaged"), json!(100.0));
        assert_eq!(metric("n_loops_excluded"), json!(1));
        assert_eq!(metric("capacity_source"), json!("declared"));
        let observed = testing::run_fleet(&RULE, &tables, json!({})).unwrap();
        assert_eq!(observed.severity, Severity::Ok);
        assert_eq!(observed.caveats.len(), 2);
    }

    #[test]
    fn one_chiller_is_no_fleet() {
        let tables = [chiller("CH1", "CHILLER", 60.0, 60.0)];
        let verdict = testing::run_fleet(&RULE, &tables, json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Info);
        let none = testing::run_fleet(&RULE, &[], json!({})).unwrap();
        assert!(none.summary.contains("no chillers"));
    }

    #[test]
    fn a_capacity_may_be_given_for_each_chiller_and_must_be_positive() {
        let tables = [
            chiller("CH1", "CHILLER", 60.0, 60.0),
            chiller("CH2", "CHILLER", 60.0, 20.0),
        ];
        let set = json!({"capacity_kw": {"CH1": 150.0}});
        let verdict = testing::run_fleet(&RULE, &tables, set).unwrap();
        assert_eq!(
            verdict.metrics.get("capacity_source"),
            Some(&json!("mixed"))
        );
        assert_eq!(verdict.metrics.as_number("rep_capacity_kw"), Some(105.0));
        let entry = crate::RuleCatalogue::shipped().entry(RULE.id).unwrap();
        let refused = |value: Value| {
            let mut parameters = Parameters::of(entry);
            let set = json!({"capacity_kw": value});
            parameters
                .set(entry, set.as_object().unwrap(), &[])
                .and_then(|()| check(&parameters))
                .unwrap_err()
                .to_string()
        };
        assert!(refused(json!(0)).contains("above 0"));
        assert!(refused(json!({"CH1": -1.0})).contains("above 0"));
        assert!(refused(json!("150")).contains("must be a number"));
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(
            [0.0, 999.0, 1000.0, 1_234_567.4].map(grouped),
            ["0", "999", "1,000", "1,234,567"]
        );
    }
}
