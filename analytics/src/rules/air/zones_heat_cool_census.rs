//! Some zones heat while others cool (Air rules §2.30).

use std::cmp::Ordering;

use serde_json::{Value, json};

use super::minimum_airflow::{INFERRED, minimum_airflow};
use crate::finding::{Metrics, Severity, Verdict, number};
use crate::frame::Frame;
use crate::masks;
use crate::numeric::{mean_of, percent_of, round, share_of};
use crate::occupancy::{self, Schedule};
use crate::parameters::Parameters;
use crate::rules::joined_stamps::{places, union};
use crate::rules::{FleetFrames, RuleCode};

/// The rule.
pub const RULE: RuleCode = RuleCode::fleet("zones_heat_cool_census", analyse);

/// A heating valve beyond this heats, percent.
const HEATING: f64 = 5.0;
/// Airflow beyond its minimum by this factor cools.
const COOLING: f64 = 1.1;
const FAULT_PCT: f64 = 75.0;
const WARN_PCT: f64 = 25.0;
/// How many zones that heat most of the time the summary names.
const TOLD_ZONES: usize = 5;
const COLUMNS: [&str; 9] = [
    "heat_valve",
    "airflow",
    "airflow_sp",
    "airflow_min_sp",
    "space_temp",
    "cool_sp",
    "warmup",
    "cooldown",
    "occupancy",
];

/// One zone; masks by row of its frame.
struct Zone<'a> {
    frame: Frame<'a>,
    /// Places of the rows among those of the fleet.
    rows: Vec<usize>,
    heating: Vec<bool>,
    /// None when nothing tells whether the zone cools.
    cooling: Option<Vec<bool>>,
    has_inferred_minimum: bool,
}

impl<'a> Zone<'a> {
    fn of(frame: &Frame<'a>, stamps: &[i64]) -> Option<Self> {
        let heating = masks::where_value(frame.column("heat_valve")?, |valve| valve > HEATING);
        let minimum = frame
            .column("airflow")
            .and_then(|airflow| Some((airflow, minimum_airflow(frame, &vec![true; frame.len()])?)));
        let has_inferred_minimum = minimum
            .as_ref()
            .is_some_and(|(_, minimum)| minimum.basis == INFERRED);
        let cooling = match minimum {
            Some((airflow, minimum)) => Some(masks::where_pair(
                airflow,
                &minimum.values,
                |airflow, minimum| airflow > COOLING * minimum,
            )),
            None => frame.column("space_temp").zip(frame.column("cool_sp")).map(
                |(temperature, setpoint)| {
                    masks::where_pair(temperature, setpoint, |temperature, setpoint| {
                        temperature >= setpoint
                    })
                },
            ),
        };
        Some(Self {
            frame: *frame,
            rows: places(frame.stamps(), stamps),
            heating,
            cooling,
            has_inferred_minimum,
        })
    }

    /// Row of the fleet, whether the zone heats and whether it cools.
    fn states(&self) -> impl Iterator<Item = (usize, bool, bool)> + '_ {
        self.rows
            .iter()
            .zip(&self.heating)
            .enumerate()
            .map(|(place, (row, heating))| {
                let cooling = self
                    .cooling
                    .as_ref()
                    .and_then(|cooling| cooling.get(place))
                    .is_some_and(|cooling| *cooling);
                (*row, *heating, cooling)
            })
    }

    /// Whether the zone has any sample, by row of its frame.
    fn has_data(&self) -> Vec<bool> {
        COLUMNS
            .iter()
            .filter_map(|role| self.frame.column(role))
            .fold(vec![false; self.frame.len()], |any, column| {
                masks::or(&any, &masks::present(column))
            })
    }
}

/// Zones by state, at one row of the fleet.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    zones: u32,
    heating: u32,
    cooling: u32,
    both: u32,
    /// Heating, of the zones that are not among the drivers.
    heating_without_drivers: u32,
}

impl Counts {
    fn cooling_only(self) -> u32 {
        self.cooling - self.both
    }

    fn is_mixed(self) -> bool {
        self.heating > 0 && self.cooling_only() > 0
    }
}

/// The fleet on common rows.
struct Census<'a> {
    stamps: Vec<i64>,
    zones: Vec<Zone<'a>>,
    counts: Vec<Counts>,
    occupied: Vec<bool>,
}

impl<'a> Census<'a> {
    fn of(fleet: &FleetFrames<'a>, parameters: &Parameters) -> Self {
        let stamps = union(fleet.frames.iter().map(Frame::stamps));
        let zones: Vec<Zone<'a>> = fleet
            .frames
            .iter()
            .filter_map(|frame| Zone::of(frame, &stamps))
            .collect();
        let mut counts = vec![Counts::default(); stamps.len()];
        for zone in &zones {
            for ((row, heating, cooling), has_data) in zone.states().zip(zone.has_data()) {
                if let Some(counts) = counts.get_mut(row) {
                    counts.zones += u32::from(has_data);
                    counts.heating += u32::from(heating);
                    counts.cooling += u32::from(cooling);
                    counts.both += u32::from(heating && cooling);
                }
            }
        }
        let occupied = occupied(&zones, &stamps, parameters);
        Self {
            stamps,
            zones,
            counts,
            occupied,
        }
    }

    /// Counts of the occupied rows.
    fn judged(&self) -> impl Iterator<Item = Counts> + Clone + '_ {
        self.counts
            .iter()
            .zip(&self.occupied)
            .filter(|(_, occupied)| **occupied)
            .map(|(counts, _)| *counts)
    }

    fn mixed(&self) -> impl Iterator<Item = Counts> + Clone + '_ {
        self.judged().filter(|counts| counts.is_mixed())
    }

    /// By zone: the share of the mixed rows in which it heats.
    fn heating_shares(&self) -> Vec<f64> {
        let mixed = self.mixed().count();
        let is_mixed: Vec<bool> = self
            .counts
            .iter()
            .zip(&self.occupied)
            .map(|(counts, occupied)| *occupied && counts.is_mixed())
            .collect();
        self.zones
            .iter()
            .map(|zone| {
                let heating = zone
                    .states()
                    .filter(|(row, heating, _)| {
                        *heating && is_mixed.get(*row).is_some_and(|mixed| *mixed)
                    })
                    .count();
                share_of(heating) / share_of(mixed.max(1))
            })
            .collect()
    }

    /// Counts the heating zones once more, without these.
    fn leave_out(&mut self, drivers: &[usize]) {
        for counts in &mut self.counts {
            counts.heating_without_drivers = counts.heating;
        }
        for zone in drivers.iter().filter_map(|place| self.zones.get(*place)) {
            for (row, heating, _) in zone.states() {
                if let Some(counts) = self.counts.get_mut(row) {
                    counts.heating_without_drivers -= u32::from(heating);
                }
            }
        }
    }

    /// Means by hour of the week, Monday 00:00 first, as columns.
    fn week_profile(&self) -> Value {
        let mut hours: Vec<(u32, [f64; 4])> = vec![(0, [0.0; 4]); 168];
        let rows = self.stamps.iter().zip(&self.counts).zip(&self.occupied);
        for ((stamp, counts), _) in rows.filter(|(_, occupied)| **occupied) {
            let Some((rows, sums)) = hours.get_mut(hour_of_week(*stamp)) else {
                continue;
            };
            *rows += 1;
            let values = [counts.zones, counts.heating, counts.cooling, counts.both];
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum += f64::from(value);
            }
        }
        let there: Vec<(usize, [f64; 4])> = hours
            .into_iter()
            .enumerate()
            .filter(|(_, (rows, _))| *rows > 0)
            .map(|(hour, (rows, sums))| (hour, sums.map(|sum| sum / f64::from(rows))))
            .collect();
        let column = |place: usize| -> Vec<Value> {
            there
                .iter()
                .filter_map(|(_, means)| means.get(place))
                .map(|mean| number(round(*mean, 2)))
                .collect()
        };
        json!({
            "hour": there.iter().map(|(hour, _)| *hour).collect::<Vec<_>>(),
            "n_zones": column(0),
            "n_heating": column(1),
            "n_cooling": column(2),
            "n_both": column(3),
        })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an hour of the day is 0 to 24"
)]
fn hour_of_week(stamp: i64) -> usize {
    occupancy::weekday(stamp) as usize * 24 + occupancy::hour(stamp) as usize
}

/// Where any zone trends its occupancy, the greatest of all zones; else the schedule.
fn occupied(zones: &[Zone<'_>], stamps: &[i64], parameters: &Parameters) -> Vec<bool> {
    let mut is_trended = false;
    let mut occupied = vec![false; stamps.len()];
    for zone in zones {
        let Some(occupancy) = zone.frame.with_data("occupancy") else {
            continue;
        };
        is_trended = true;
        for (row, value) in zone.rows.iter().zip(occupancy) {
            if let Some(occupied) = occupied.get_mut(*row) {
                *occupied |= *value > 0.5;
            }
        }
    }
    if is_trended {
        return occupied;
    }
    let schedule = Schedule::of(parameters);
    stamps
        .iter()
        .map(|stamp| schedule.contains(*stamp))
        .collect()
}

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
