//! Some zones heat while others cool (Air rules §2.30).

mod census;

use std::cmp::Ordering;

use self::census::{Census, Counts};
use crate::finding::{Metrics, Severity, Verdict};
use crate::numeric::{mean_of, percent_of};
use crate::parameters::Parameters;
use crate::rules::{FleetFrames, RuleCode};

/// The rule.
pub const RULE: RuleCode = RuleCode::fleet("zones_heat_cool_census", analyse);

const FAULT_PCT: f64 = 75.0;
const WARN_PCT: f64 = 25.0;
/// How many zones that heat most of the time the summary names.
const TOLD_ZONES: usize = 5;
/// Places of the zones that heat most of the mixed time, at most so many; the first of equals.
fn drivers(shares: &[f64], most: usize) -> Vec<usize> {
    let mut places: Vec<usize> = (0..shares.len()).collect();
    let share = |place: &usize| shares.get(*place).copied().unwrap_or(0.0);
    places.retain(|place| share(place) > 0.0);
    places.sort_by(|one, other| share(other).total_cmp(&share(one)));
    places.truncate(most);
    places
}

/// Severity, and why it was capped.
fn severity_of(
    mixed: f64,
    heating_share: f64,
    without_drivers: f64,
    zones: u32,
    drivers: usize,
    parameters: &Parameters,
) -> (Severity, Option<&'static str>) {
    let severity = Severity::at_least(mixed, WARN_PCT, FAULT_PCT);
    if severity == Severity::Fault && heating_share < parameters.number("min_heating_frac") {
        return (Severity::Warn, Some("share"));
    }
    let is_large = f64::from(zones) > 3.0 * parameters.number("max_driver_zones");
    if severity.cmp(&Severity::Warn) != Ordering::Greater
        && is_large
        && drivers > 0
        && without_drivers < WARN_PCT
    {
        return (Severity::Warn, Some("drivers"));
    }
    (severity, None)
}

fn analyse(fleet: &FleetFrames<'_>, parameters: &Parameters) -> Option<Verdict> {
    let mut census = Census::of(fleet, parameters);
    let judged = census.judged().count();
    if judged == 0 {
        return Some(Verdict::info(
            Metrics::new(),
            "Heating and cooling zones were not counted: no zone has an occupied sample.",
        ));
    }
    let mean = |of: fn(Counts) -> u32| mean_of(census.judged().map(|counts| f64::from(of(counts))));
    let zones = census
        .judged()
        .map(|counts| counts.zones)
        .max()
        .unwrap_or(0);
    let mixed = percent_of(census.mixed().count(), judged);
    let heating_when_mixed = match mean_of(census.mixed().map(|counts| f64::from(counts.heating))) {
        mean if mean.is_nan() => 0.0,
        mean => mean,
    };
    let heating_share = if zones == 0 {
        0.0
    } else {
        heating_when_mixed / f64::from(zones)
    };
    let (heating, cooling_only) = (mean(|counts| counts.heating), mean(Counts::cooling_only));
    let both = census.judged().filter(|counts| counts.both > 0).count();
    let most_both = census.judged().map(|counts| counts.both).max().unwrap_or(0);
    let shares = census.heating_shares();
    let drivers = drivers(&shares, parameters.count("max_driver_zones"));
    let mut metrics = Metrics::new();
    metrics
        .set("n_zones", zones)
        .rounded("avg_zones_heating", heating, 2)
        .rounded("avg_zones_cooling", mean(|counts| counts.cooling), 2)
        .rounded("avg_zones_cooling_only", cooling_only, 2)
        .rounded("pct_hours_mixed", mixed, 1)
        .rounded("avg_zones_heating_when_mixed", heating_when_mixed, 2)
        .rounded("avg_zones_both", mean(|counts| counts.both), 2)
        .rounded("pct_hours_any_both", percent_of(both, judged), 1)
        .set("max_zones_both", most_both)
        .rounded("heating_frac_when_mixed", heating_share, 3);
    census.leave_out(&drivers);
    let without_drivers = census
        .judged()
        .filter(|counts| counts.heating_without_drivers > 0 && counts.cooling_only() > 0)
        .count();
    let without_drivers = percent_of(without_drivers, judged);
    let (severity, capped) = severity_of(
        mixed,
        heating_share,
        without_drivers,
        zones,
        drivers.len(),
        parameters,
    );
    let ids = |places: &[usize]| -> Vec<&str> {
        places
            .iter()
            .filter_map(|place| Some(census.zones.get(*place)?.frame.equip()))
            .collect()
    };
    let least = parameters.number("persistent_frac");
    let mut persistent: Vec<&str> = census
        .zones
        .iter()
        .zip(&shares)
        .filter(|(_, share)| **share >= least)
        .map(|(zone, _)| zone.frame.equip())
        .collect();
    persistent.sort_unstable();
    let drivers = ids(&drivers);
    metrics
        .set("persistent_heating_zones", persistent.clone())
        .set("driver_zones", drivers.clone())
        .rounded("pct_hours_mixed_without_drivers", without_drivers, 1)
        .set("severity_capped", capped)
        .set("timeofweek_profile", census.week_profile());
    let blind = census
        .zones
        .iter()
        .filter(|zone| zone.cooling.is_none())
        .count();
    let severity = match severity {
        Severity::Ok if blind > 0 => Severity::Info,
        other => other,
    };
    let summary = format!(
        "Zones heat while others cool in {mixed:.0} % of occupied time; on average {heating:.1} heat and \
         {cooling_only:.1} only cool{}.",
        told(&persistent)
    );
    let caveats = caveats(
        &census,
        blind,
        capped,
        heating_share,
        &drivers,
        without_drivers,
    );
    Some(Verdict::new(severity, metrics, summary).with_caveats(caveats))
}

fn told(persistent: &[&str]) -> String {
    if persistent.is_empty() {
        return String::new();
    }
    let names: Vec<&str> = persistent.iter().copied().take(TOLD_ZONES).collect();
    let rest = match persistent.len().saturating_sub(TOLD_ZONES) {
        0 => String::new(),
        rest => format!(" and {rest} more"),
    };
    format!("; most of that time {}{rest} heat", names.join(", "))
}

fn caveats(
    census: &Census<'_>,
    blind: usize,
    capped: Option<&str>,
    heating_share: f64,
    drivers: &[&str],
    without_drivers: f64,
) -> Vec<String> {
    let mut caveats = Vec::new();
    if blind > 0 {
        caveats.push(format!(
            "{blind} zones have neither an airflow with its minimum nor a temperature with its cooling setpoint: whether \
             they cool was not tested, and the census may count too few."
        ));
    }
    match capped {
        Some("share") => caveats.push(format!(
            "Only {:.0} % of the zones heat in the mixed time: rated as a warning, a matter of a few zones.",
            100.0 * heating_share
        )),
        Some(_) => caveats.push(format!(
            "Without {} zones would heat while others cool in {without_drivers:.0} % of occupied time: rated as a warning.",
            drivers.join(", ")
        )),
        None => {}
    }
    let inferred = census
        .zones
        .iter()
        .filter(|zone| zone.has_inferred_minimum)
        .count();
    if inferred > 0 {
        caveats.push(format!(
            "The minimum airflow of {inferred} zones was read off a setpoint that moves with the load; map airflow_min_sp \
             to be sure."
        ));
    }
    caveats
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::frame::RoleFrame;
    use crate::rules::testing::{self, named, week};

    fn fleet(zones: usize, heating: usize) -> Vec<RoleFrame> {
        (0..zones)
            .map(|zone| {
                let heats = zone < heating;
                let table = week(&[
                    ("heat_valve", &|_| if heats { 50.0 } else { 0.0 }),
                    ("airflow", &|_| if heats { 200.0 } else { 600.0 }),
                    ("airflow_min_sp", &|_| 200.0),
                ]);
                named(&format!("Z{zone:02}"), "VAV", table)
            })
            .collect()
    }

    fn run(tables: &[RoleFrame]) -> Verdict {
        testing::run_fleet(&RULE, tables, json!({})).unwrap()
    }

    #[test]
    fn three_of_eight_zones_that_heat_are_a_fault() {
        let verdict = run(&fleet(8, 3));
        assert_eq!(verdict.severity, Severity::Fault);
        let metric = |name| verdict.metrics.as_number(name);
        assert_eq!(metric("heating_frac_when_mixed"), Some(0.375));
        assert_eq!(
            (metric("pct_hours_mixed"), metric("n_zones")),
            (Some(100.0), Some(8.0))
        );
        assert_eq!(metric("avg_zones_cooling_only"), Some(5.0));
        assert!(verdict.summary.contains("Z00, Z01, Z02 heat"));
        let profile = verdict.metrics.get("timeofweek_profile").unwrap();
        assert_eq!(profile["hour"].as_array().unwrap().len(), 55);
        assert_eq!(profile["n_heating"][0], json!(3.0));
    }

    #[test]
    fn a_few_zones_are_a_warning() {
        let one = run(&fleet(20, 1));
        assert_eq!(one.severity, Severity::Warn);
        assert_eq!(one.metrics.get("severity_capped"), Some(&json!("share")));
        assert_eq!(one.metrics.as_number("heating_frac_when_mixed"), Some(0.05));
        let two = run(&fleet(8, 2));
        assert_eq!(two.severity, Severity::Warn);
        assert_eq!(two.metrics.get("severity_capped"), Some(&json!("drivers")));
        assert_eq!(
            two.metrics.as_number("pct_hours_mixed_without_drivers"),
            Some(0.0)
        );
        assert!(two.caveats[0].contains("Z00, Z01"));
    }

    #[test]
    fn zones_of_which_nothing_tells_that_they_cool_are_no_pass() {
        let tables: Vec<RoleFrame> = (0..3)
            .map(|zone| {
                named(
                    &format!("Z{zone}"),
                    "VAV",
                    week(&[("heat_valve", &|_| 50.0)]),
                )
            })
            .collect();
        let verdict = run(&tables);
        assert_eq!(
            (verdict.severity, verdict.caveats.len()),
            (Severity::Info, 1)
        );
        assert_eq!(run(&[]).metrics, Metrics::new());
    }

    #[test]
    fn trended_occupancy_of_any_zone_replaces_the_schedule() {
        let mut tables = fleet(4, 2);
        let occupancy = (0..168)
            .map(|row| if row < 10 { 1.0 } else { 0.0 })
            .collect();
        tables[3].columns.insert("occupancy".to_owned(), occupancy);
        let verdict = run(&tables);
        let profile = verdict.metrics.get("timeofweek_profile").unwrap();
        assert_eq!(profile["hour"].as_array().unwrap().len(), 10);
    }
}
