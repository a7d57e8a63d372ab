//! Most zones of an air handler ask for more at once: the cause is upstream (Air rules §2.21).

use serde_json::{Map, Value, json};

use super::reset_requests::{FleetRequests, GroupCycles, ResetKind};
use crate::finding::{Metrics, Severity, Verdict, number};
use crate::numeric::{round, share_of};
use crate::parameters::Parameters;
use crate::rules::{FleetFrames, RuleCode};
use crate::topology::Provenance;

/// The rule for supply air that is not cold enough.
pub const SUPPLY_AIR_RULE: RuleCode =
    RuleCode::fleet("sat_cohort_starvation", |fleet, parameters| {
        analyse(fleet, parameters, ResetKind::SupplyAir)
    });

/// The rule for duct pressure that is too low.
pub const DUCT_STATIC_RULE: RuleCode =
    RuleCode::fleet("static_cohort_starvation", |fleet, parameters| {
        analyse(fleet, parameters, ResetKind::DuctStatic)
    });

/// How long most of a group asked for more.
struct Group<'n> {
    name: &'n str,
    zones: usize,
    active: usize,
    /// Cycles with a request and too few zones with data.
    skipped: usize,
    /// Share of the active cycles.
    sustained: f64,
    is_judged: bool,
    is_starved: bool,
}

impl<'n> Group<'n> {
    fn of(name: &'n str, cycles: &GroupCycles<'_>, parameters: &Parameters) -> Self {
        let cohort = parameters.number("cohort_frac");
        let least = parameters.optional("min_present_frac").unwrap_or(cohort);
        let zones = cycles.zones.len();
        let (mut active, mut skipped, mut sustained) = (0_usize, 0_usize, 0_usize);
        for ((present, requesting), greatest) in cycles
            .present
            .iter()
            .zip(&cycles.requesting)
            .zip(&cycles.greatest)
        {
            if *greatest == 0 {
                continue;
            }
            if f64::from(*present) < least * share_of(zones) {
                skipped += 1;
                continue;
            }
            active += 1;
            sustained += usize::from(f64::from(*requesting) / f64::from(*present) >= cohort);
        }
        let sustained = if active == 0 {
            0.0
        } else {
            share_of(sustained) / share_of(active)
        };
        let is_judged = zones >= parameters.count("min_zones_per_group");
        Self {
            name,
            zones,
            active,
            skipped,
            sustained,
            is_judged,
            is_starved: is_judged
                && active >= parameters.count("min_active_cycles")
                && sustained >= parameters.number("sustained_frac"),
        }
    }
}

fn map<'g, 'n: 'g>(
    groups: impl Iterator<Item = &'g Group<'n>>,
    value: impl Fn(&Group<'n>) -> Value,
) -> Map<String, Value> {
    groups
        .map(|group| (group.name.to_owned(), value(group)))
        .collect()
}

fn analyse(fleet: &FleetFrames<'_>, parameters: &Parameters, kind: ResetKind) -> Option<Verdict> {
    let wish = kind.wish();
    if fleet.frames.is_empty() {
        return Some(Verdict::info(
            Metrics::new(),
            format!(
                "Whether zones ask for {wish} together was not judged: no zone has the inputs."
            ),
        ));
    }
    let requests = FleetRequests::of(fleet, kind, parameters.count("min_active_cycles"));
    let groups: Vec<Group<'_>> = requests
        .groups
        .iter()
        .map(|(name, cycles)| Group::of(name, cycles, parameters))
        .collect();
    let mut starved: Vec<&Group<'_>> = groups.iter().filter(|group| group.is_starved).collect();
    let names: Vec<&str> = starved.iter().map(|group| group.name).collect();
    let detail = map(starved.iter().copied(), |group| {
        json!({
            "n_zones": group.zones,
            "sustained_frac": number(round(group.sustained, 3)),
            "n_active": group.active,
        })
    });
    // Stable: the first by name of equals stays the worst.
    starved.sort_by(|one, other| other.sustained.total_cmp(&one.sustained));
    let worst = starved.first();
    let (evaluated, total) = (requests.evaluated(), requests.total());
    let mut metrics = Metrics::new();
    metrics
        .set("reset", kind.word())
        .set("grouped", requests.grouping.is_grouped())
        .set(
            "grouping_provenance",
            requests.grouping.provenance.map(Provenance::word),
        )
        .count("n_zones_ungrouped", requests.grouping.ungrouped)
        .count("n_zones_evaluated", evaluated)
        .count("n_groups", groups.len())
        .set("total_requests", total)
        .set("starved_groups", names)
        .set("starved_detail", detail)
        .set("worst_group", worst.map(|group| group.name))
        .number_or_null(
            "worst_group_frac",
            worst.map(|group| round(group.sustained, 3)),
        )
        .set(
            "group_sustained_frac",
            map(groups.iter(), |group| number(round(group.sustained, 3))),
        )
        .set("unevaluable_zones", requests.unevaluable.clone())
        .set(
            "group_skipped_cycles",
            map(groups.iter().filter(|group| group.skipped > 0), |group| {
                json!(group.skipped)
            }),
        );
    let severity = if worst.is_some() {
        Severity::Warn
    } else if evaluated == 0 || total == 0 || !requests.unevaluable.is_empty() {
        Severity::Info
    } else {
        Severity::Ok
    };
    let summary = summary(kind, &starved, groups.len(), evaluated, total);
    let caveats = caveats(&requests, &groups);
    Some(Verdict::new(severity, metrics, summary).with_caveats(caveats))
}

fn summary(
    kind: ResetKind,
    starved: &[&Group<'_>],
    groups: usize,
    evaluated: usize,
    total: u64,
) -> String {
    let wish = kind.wish();
    if starved.is_empty() {
        return if total == 0 {
            format!("{evaluated} zones made no request for {wish}.")
        } else {
            format!(
                "In none of {groups} groups ({evaluated} zones, {total} requests) do most zones keep asking for {wish} at once."
            )
        };
    }
    let told: Vec<String> = starved
        .iter()
        .map(|group| {
            format!(
                "{} ({} zones, {:.0} % of active cycles)",
                group.name,
                group.zones,
                100.0 * group.sustained
            )
        })
        .collect();
    format!(
        "Most zones ask for {wish} at once: {}. The cause is upstream, not in the zones.",
        told.join(", ")
    )
}

fn caveats(requests: &FleetRequests<'_>, groups: &[Group<'_>]) -> Vec<String> {
    let mut caveats = requests.gate_caveats();
    if requests.kind == ResetKind::SupplyAir {
        caveats.push(
            "On a design day all zones may need full cooling with nothing broken: compare with the weather.".to_owned(),
        );
    }
    caveats.extend(requests.coverage_caveats());
    let skipped: usize = groups.iter().map(|group| group.skipped).sum();
    if skipped > 0 {
        caveats.push(format!(
            "{skipped} cycles with a request were left out: too few zones of the group had data."
        ));
    }
    let small = groups.iter().filter(|group| !group.is_judged).count();
    if small > 0 {
        caveats.push(format!("{small} groups have too few zones to be judged."));
    }
    caveats.extend(requests.grouping.caveats.iter().cloned());
    caveats
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Frame, RoleFrame};
    use crate::rules::Analysis;
    use crate::rules::testing::{self, named, week};
    use crate::topology::Topology;

    fn run(rule: &RuleCode, tables: &[RoleFrame]) -> Verdict {
        let topology = Topology {
            provenance: Provenance::Heuristic,
            parents: tables
                .iter()
                .map(|table| (table.equip.clone(), vec!["AHU1".to_owned()]))
                .collect(),
        };
        let fleet = FleetFrames {
            frames: tables.iter().map(Frame::whole).collect(),
            topology: Some(&topology),
        };
        match rule.analysis {
            Analysis::Fleet(analyse) => {
                analyse(&fleet, &testing::parameters(rule, json!({}))).unwrap()
            }
            Analysis::Equipment(_) => panic!("a fleet rule"),
        }
    }

    fn warm(temperatures: &[f64]) -> Vec<RoleFrame> {
        temperatures
            .iter()
            .enumerate()
            .map(|(zone, temperature)| {
                let table = week(&[("space_temp", &|_| *temperature), ("cool_sp", &|_| 74.0)]);
                named(&format!("AHU1_Z{zone}"), "VAV", table)
            })
            .collect()
    }

    #[test]
    fn a_group_that_is_warm_as_a_whole_starves() {
        let verdict = run(&SUPPLY_AIR_RULE, &warm(&[78.0; 4]));
        assert_eq!(verdict.severity, Severity::Warn);
        assert_eq!(verdict.metrics.get("worst_group"), Some(&json!("AHU1")));
        assert_eq!(verdict.metrics.as_number("worst_group_frac"), Some(1.0));
        assert_eq!(verdict.metrics.as_number("total_requests"), Some(1344.0));
        assert!(
            verdict
                .summary
                .contains("AHU1 (4 zones, 100 % of active cycles)")
        );
        assert!(verdict.summary.contains("upstream"));
    }

    #[test]
    fn one_warm_zone_or_a_small_group_does_not() {
        let verdict = run(&SUPPLY_AIR_RULE, &warm(&[80.0, 73.0, 73.0, 73.0]));
        assert_eq!(verdict.severity, Severity::Ok);
        assert_eq!(
            verdict.metrics.get("group_sustained_frac"),
            Some(&json!({"AHU1": 0.0}))
        );
        let small = run(&SUPPLY_AIR_RULE, &warm(&[80.0; 2]));
        assert_eq!(small.severity, Severity::Ok);
        assert!(
            small
                .caveats
                .iter()
                .any(|caveat| caveat.contains("too few zones to be judged"))
        );
    }

    #[test]
    fn boxes_that_starve_together_lack_pressure() {
        let boxes: Vec<RoleFrame> = (0..3)
            .map(|zone| {
                let table = week(&[
                    ("airflow", &|_| 200.0),
                    ("airflow_sp", &|_| 500.0),
                    ("damper", &|_| 100.0),
                    ("supply_fan_status", &|_| 1.0),
                ]);
                named(&format!("AHU1_Z{zone}"), "VAV", table)
            })
            .collect();
        let verdict = run(&DUCT_STATIC_RULE, &boxes);
        assert_eq!(verdict.severity, Severity::Warn);
        assert_eq!(verdict.metrics.as_number("total_requests"), Some(1512.0));
        assert_eq!(
            verdict.metrics.get("starved_detail"),
            Some(&json!({"AHU1": {"n_zones": 3, "sustained_frac": 1.0, "n_active": 168}}))
        );
    }

    #[test]
    fn nothing_to_judge_is_said_so() {
        let none = testing::run_fleet(&SUPPLY_AIR_RULE, &[], json!({})).unwrap();
        assert_eq!(
            (none.severity, none.metrics),
            (Severity::Info, Metrics::new())
        );
        let cold = run(&SUPPLY_AIR_RULE, &warm(&[70.0; 3]));
        assert_eq!(cold.severity, Severity::Info);
    }
}
