//! One zone drives the reset of its whole air handler (Air rules §2.23).

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::reset_requests::{FleetRequests, GroupCycles, ResetKind, WIDE_OPEN, ZoneCycles, share};
use crate::finding::{Metrics, Severity, Verdict, number};
use crate::frame::Frame;
use crate::numeric::{round, share_of};
use crate::parameters::Parameters;
use crate::rules::{FleetFrames, RuleCode};
use crate::topology::Provenance;

/// The rule for the supply air temperature.
pub const SUPPLY_AIR_RULE: RuleCode =
    RuleCode::fleet("sat_rogue_zone_census", |fleet, parameters| {
        analyse(fleet, parameters, ResetKind::SupplyAir)
    });

/// The rule for the duct static pressure.
pub const DUCT_STATIC_RULE: RuleCode =
    RuleCode::fleet("static_rogue_zone_census", |fleet, parameters| {
        analyse(fleet, parameters, ResetKind::DuctStatic)
    });

/// A zone that is this warm with its damper wide open has more load than its box can carry, °F above its setpoint.
const OVERLOADED: f64 = 3.0;
/// It is so in this share of the time.
const MOSTLY: f64 = 0.5;

/// What one zone does to its group; shares with 3 decimals.
struct Zone<'a> {
    frame: Frame<'a>,
    group: String,
    /// Of the requests of the group.
    request_share: f64,
    /// Of the active cycles: no other zone asks for more.
    binding: f64,
    is_rogue: bool,
    /// Share of the time with the damper wide open in which the zone is warm; of a rogue that is overloaded.
    overloaded: Option<f64>,
}

impl<'a> Zone<'a> {
    fn of(
        zone: &ZoneCycles<'a>,
        group: &str,
        cycles: &GroupCycles<'a>,
        parameters: &Parameters,
    ) -> Self {
        let total = cycles.total();
        let zones = cycles.zones.len();
        let active = cycles.active();
        let binding = zone
            .rows
            .iter()
            .zip(&zone.requests)
            .filter(|(row, requests)| {
                **requests > 0 && cycles.greatest.get(**row) == Some(requests)
            })
            .count();
        let binding = if active == 0 {
            0.0
        } else {
            round(share_of(binding) / share_of(active), 3)
        };
        let request_share = round(share(zone.total, total), 3);
        let is_judged = zones >= parameters.count("min_zones_per_group") && total > 0;
        let even = parameters.number("share_mult") / share_of(zones);
        Self {
            frame: zone.frame,
            group: group.to_owned(),
            request_share,
            binding,
            is_rogue: is_judged
                && binding >= parameters.number("dominance_frac")
                && request_share >= even.max(parameters.number("min_share")),
            overloaded: None,
        }
    }

    fn id(&self) -> &'a str {
        self.frame.equip()
    }
}

/// Share of the time with the damper wide open in which the zone is warm; none without the inputs or in too little time.
fn overload(frame: &Frame<'_>, min_cycles: usize) -> Option<f64> {
    let temperature = frame.column("space_temp")?;
    let setpoint = frame.column("cool_sp")?;
    let damper = frame.column("damper")?;
    let gates: Vec<&[f64]> = ["supply_fan_status", "occupancy"]
        .iter()
        .filter_map(|role| frame.column(role))
        .collect();
    let (mut open, mut warm) = (0_usize, 0_usize);
    let rows = temperature.iter().zip(setpoint).zip(damper).enumerate();
    for (row, ((temperature, setpoint), damper)) in rows {
        let above = temperature - setpoint;
        let is_on = gates
            .iter()
            .all(|gate| gate.get(row).is_some_and(|gate| *gate > 0.5));
        if is_on && *damper > WIDE_OPEN && !above.is_nan() {
            open += 1;
            warm += usize::from(above >= OVERLOADED);
        }
    }
    (open >= min_cycles && open > 0).then(|| round(share_of(warm) / share_of(open), 3))
}

fn map<'z, 'a: 'z>(
    zones: impl Iterator<Item = &'z Zone<'a>>,
    value: impl Fn(&Zone<'a>) -> f64,
) -> Map<String, Value> {
    let mut rows: Vec<(&str, Value)> = zones.map(|zone| (zone.id(), number(value(zone)))).collect();
    rows.sort_by_key(|row| row.0);
    rows.into_iter()
        .map(|(zone, value)| (zone.to_owned(), value))
        .collect()
}

fn analyse(fleet: &FleetFrames<'_>, parameters: &Parameters, kind: ResetKind) -> Option<Verdict> {
    let wish = kind.wish();
    if fleet.frames.is_empty() {
        return Some(Verdict::info(
            Metrics::new(),
            format!("Which zone asks most for {wish} was not judged: no zone has the inputs."),
        ));
    }
    let min_cycles = parameters.count("min_active_cycles");
    let requests = FleetRequests::of(fleet, kind, min_cycles);
    let mut zones: Vec<Zone<'_>> = Vec::new();
    for (group, cycles) in &requests.groups {
        zones.extend(
            cycles
                .zones
                .iter()
                .map(|zone| Zone::of(zone, group, cycles, parameters)),
        );
    }
    if kind == ResetKind::DuctStatic {
        for zone in zones.iter_mut().filter(|zone| zone.is_rogue) {
            zone.overloaded = overload(&zone.frame, min_cycles).filter(|share| *share >= MOSTLY);
            zone.is_rogue = zone.overloaded.is_none();
        }
    }
    zones.sort_by_key(Zone::id);
    let rogues: Vec<&Zone<'_>> = zones.iter().filter(|zone| zone.is_rogue).collect();
    let overloaded: Vec<&Zone<'_>> = zones
        .iter()
        .filter(|zone| zone.overloaded.is_some())
        .collect();
    let worst = worst(&rogues);
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
        .count("n_groups", requests.groups.len())
        .set("total_requests", total)
        .set("rogues", ids(&rogues))
        .set("rogue_by_group", by_group(&rogues))
        .set("worst_zone", worst.map(Zone::id))
        .number_or_null("worst_zone_share", worst.map(|zone| zone.request_share))
        .set(
            "zone_request_share",
            map(zones.iter(), |zone| zone.request_share),
        )
        .set("zone_binding_frac", map(zones.iter(), |zone| zone.binding))
        .set("unevaluable_zones", requests.unevaluable.clone());
    if kind == ResetKind::DuctStatic {
        metrics.set("overloaded_zones", ids(&overloaded)).set(
            "overloaded_share",
            map(overloaded.iter().copied(), |zone| {
                zone.overloaded.unwrap_or(f64::NAN)
            }),
        );
    }
    let severity = if !rogues.is_empty() || !overloaded.is_empty() {
        Severity::Warn
    } else if evaluated == 0 || total == 0 || !requests.unevaluable.is_empty() {
        Severity::Info
    } else {
        Severity::Ok
    };
    let summary = summary(&requests, &rogues, worst, &overloaded);
    let caveats = caveats(&requests, parameters);
    Some(Verdict::new(severity, metrics, summary).with_caveats(caveats))
}

/// The rogue that binds most, then the one that asks most; the first of equals.
fn worst<'z, 'a>(rogues: &[&'z Zone<'a>]) -> Option<&'z Zone<'a>> {
    rogues.iter().copied().reduce(|worst, zone| {
        let is_worse = (zone.binding, zone.request_share) > (worst.binding, worst.request_share);
        if is_worse { zone } else { worst }
    })
}

fn ids(zones: &[&Zone<'_>]) -> Vec<String> {
    zones.iter().map(|zone| zone.id().to_owned()).collect()
}

fn by_group(rogues: &[&Zone<'_>]) -> Map<String, Value> {
    let mut groups: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for zone in rogues {
        groups
            .entry(zone.group.clone())
            .or_default()
            .push(zone.id().into());
    }
    groups
        .into_iter()
        .map(|(group, zones)| (group, Value::Array(zones)))
        .collect()
}

fn summary(
    requests: &FleetRequests<'_>,
    rogues: &[&Zone<'_>],
    worst: Option<&Zone<'_>>,
    overloaded: &[&Zone<'_>],
) -> String {
    let (evaluated, total) = (requests.evaluated(), requests.total());
    let wish = requests.kind.wish();
    let mut told = Vec::new();
    if let Some(worst) = worst {
        told.push(format!(
            "{} asks most for {wish} in {:.0} % of the active cycles and makes {:.0} % of its group's requests; zones \
             that drive the reset: {}",
            worst.id(),
            100.0 * worst.binding,
            100.0 * worst.request_share,
            ids(rogues).join(", ")
        ));
    }
    if !overloaded.is_empty() {
        told.push(format!(
            "zones whose box cannot carry their load: {}",
            ids(overloaded).join(", ")
        ));
    }
    if !told.is_empty() {
        return format!("{}.", told.join("; "));
    }
    if total == 0 {
        format!("{evaluated} zones made no request for {wish}.")
    } else {
        format!(
            "No single zone drives the reset: {evaluated} zones share {total} requests for {wish}."
        )
    }
}

fn caveats(requests: &FleetRequests<'_>, parameters: &Parameters) -> Vec<String> {
    let mut caveats = requests.gate_caveats();
    caveats.extend(requests.loop_caveat());
    caveats.extend(requests.coverage_caveats());
    let least = parameters.count("min_zones_per_group");
    let small = requests
        .groups
        .values()
        .filter(|group| group.zones.len() < least)
        .count();
    if small > 0 {
        caveats.push(format!("{small} groups have too few zones to be judged."));
    }
    caveats.extend(requests.grouping.caveats.iter().cloned());
    caveats
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::frame::RoleFrame;
    use crate::rules::testing::{self, named, week};

    fn warm(temperatures: &[f64]) -> Vec<RoleFrame> {
        temperatures
            .iter()
            .zip(1..)
            .map(|(temperature, zone)| {
                let table = week(&[("space_temp", &|_| *temperature), ("cool_sp", &|_| 74.0)]);
                named(&format!("Z{zone}"), "VAV", table)
            })
            .collect()
    }

    fn boxes(first: &[(&str, f64)]) -> Vec<RoleFrame> {
        [(200.0, 100.0), (500.0, 50.0), (500.0, 60.0)]
            .into_iter()
            .zip(1..)
            .map(|((airflow, damper), zone)| {
                let mut table = week(&[
                    ("airflow", &|_| airflow),
                    ("airflow_sp", &|_| 500.0),
                    ("damper", &|_| damper),
                ]);
                for (role, value) in first.iter().filter(|_| zone == 1) {
                    table.columns.insert((*role).to_owned(), vec![*value; 168]);
                }
                named(&format!("Z{zone}"), "VAV", table)
            })
            .collect()
    }

    #[test]
    fn the_warmest_zone_drives_the_supply_air() {
        let tables = warm(&[80.0, 73.0, 77.5, 73.0]);
        let verdict = testing::run_fleet(&SUPPLY_AIR_RULE, &tables, json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Warn);
        assert_eq!(verdict.metrics.get("rogues"), Some(&json!(["Z1"])));
        assert_eq!(verdict.metrics.as_number("worst_zone_share"), Some(0.6));
        assert_eq!(
            verdict.metrics.get("zone_binding_frac"),
            Some(&json!({"Z1": 1.0, "Z2": 0.0, "Z3": 0.0, "Z4": 0.0}))
        );
        assert!(
            verdict
                .summary
                .starts_with("Z1 asks most for colder air in 100 %")
        );
    }

    #[test]
    fn zones_that_ask_alike_are_no_rogues() {
        let verdict = testing::run_fleet(&SUPPLY_AIR_RULE, &warm(&[77.5; 4]), json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Ok);
        assert_eq!(
            verdict.metrics.get("zone_request_share"),
            Some(&json!({"Z1": 0.25, "Z2": 0.25, "Z3": 0.25, "Z4": 0.25}))
        );
        let none = testing::run_fleet(&SUPPLY_AIR_RULE, &warm(&[73.0; 4]), json!({})).unwrap();
        assert_eq!(none.severity, Severity::Info);
    }

    #[test]
    fn a_starved_box_is_a_rogue_unless_its_zone_is_overloaded() {
        let rogue = testing::run_fleet(&DUCT_STATIC_RULE, &boxes(&[]), json!({})).unwrap();
        assert_eq!(rogue.severity, Severity::Warn);
        assert_eq!(rogue.metrics.as_number("worst_zone_share"), Some(1.0));
        let hot = boxes(&[("space_temp", 80.0), ("cool_sp", 74.0)]);
        let overloaded = testing::run_fleet(&DUCT_STATIC_RULE, &hot, json!({})).unwrap();
        assert_eq!(overloaded.severity, Severity::Warn);
        assert_eq!(overloaded.metrics.get("rogues"), Some(&json!([])));
        assert_eq!(
            overloaded.metrics.get("overloaded_share"),
            Some(&json!({"Z1": 1.0}))
        );
        assert_eq!(overloaded.metrics.get("worst_zone"), Some(&json!(null)));
    }
}
