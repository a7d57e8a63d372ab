//! Heat pumps of one room that work against each other or share its load unevenly (Plant rules §2.23).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::heat_pump::{self, Mode, Modes};
use crate::finding::{Metrics, Severity, Verdict, number};
use crate::frame::Frame;
use crate::numeric;
use crate::parameters::{ParameterError, Parameters};
use crate::rules::{FleetFrames, RuleCode};
use crate::topology::{Provenance, Topology};

/// The rule.
pub const RULE: RuleCode = RuleCode::fleet("hp_room_imbalance", analyse).checked_by(check);

/// What the units together are called.
const FLEET: &str = "fleet";

/// Rooms are lists of ids.
fn check(parameters: &Parameters) -> Result<(), ParameterError> {
    let is_list = |units: &Value| {
        units
            .as_array()
            .is_some_and(|units| units.iter().all(Value::is_string))
    };
    match parameters.value("rooms") {
        Value::Null => Ok(()),
        Value::Object(rooms) if rooms.values().all(is_list) => Ok(()),
        _ => Err(parameters.refuse(
            "rooms",
            "it must name for each room a list of equipment ids",
        )),
    }
}

/// The units of each room, by the room's name; rooms of one unit are none.
fn rooms(fleet: &FleetFrames<'_>, parameters: &Parameters) -> BTreeMap<String, Vec<usize>> {
    let declared = parameters
        .mapping("rooms")
        .filter(|rooms| !rooms.is_empty());
    let mut rooms = match declared {
        Some(rooms) => named_rooms(fleet, rooms),
        None => fleet
            .topology
            .filter(|topology| topology.provenance != Provenance::Heuristic)
            .map(|topology| rooms_of(fleet, topology))
            .unwrap_or_default(),
    };
    rooms.retain(|_, units| units.len() > 1);
    rooms
}

fn named_rooms(
    fleet: &FleetFrames<'_>,
    rooms: &Map<String, Value>,
) -> BTreeMap<String, Vec<usize>> {
    let places: BTreeMap<&str, usize> = fleet
        .frames
        .iter()
        .enumerate()
        .map(|(place, frame)| (frame.equip(), place))
        .collect();
    let units = |units: &Value| {
        let mut seen = BTreeSet::new();
        units
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|unit| places.get(unit.as_str()?).copied())
            .filter(|place| seen.insert(*place))
            .collect()
    };
    rooms
        .iter()
        .map(|(room, list)| (room.clone(), units(list)))
        .collect()
}

fn rooms_of(fleet: &FleetFrames<'_>, topology: &Topology) -> BTreeMap<String, Vec<usize>> {
    let mut rooms: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (place, frame) in fleet.frames.iter().enumerate() {
        if let Some(room) = topology.group(frame.equip()) {
            rooms.entry(room.to_owned()).or_default().push(place);
        }
    }
    rooms
}

/// One unit of the fleet.
struct Unit<'a> {
    equip: &'a str,
    stamps: &'a [i64],
    zone: &'a [f64],
    modes: Vec<Option<Mode>>,
    occupied: Vec<bool>,
    caveat: Option<String>,
}

impl<'a> Unit<'a> {
    fn of(frame: &Frame<'a>, parameters: &Parameters) -> Option<Self> {
        let (occupied, caveat) = heat_pump::occupied(frame);
        Some(Self {
            equip: frame.equip(),
            stamps: frame.stamps(),
            zone: frame.column("space_temp")?,
            modes: Modes::of(frame, parameters)?.modes,
            occupied,
            caveat,
        })
    }

    /// Mode and zone at a stamp at which the unit is occupied and its mode known.
    fn at(&self, stamp: i64) -> Option<(Mode, f64)> {
        let row = self.stamps.binary_search(&stamp).ok()?;
        self.occupied.get(row).filter(|occupied| **occupied)?;
        let mode = (*self.modes.get(row)?)?;
        Some((mode, self.zone.get(row).copied().unwrap_or(f64::NAN)))
    }
}

/// What the units of a room do together.
struct Room<'u> {
    name: &'u str,
    units: Vec<&'u str>,
    n_samples: usize,
    fight_pct: f64,
    /// By unit, in their order.
    active_pct: Vec<f64>,
    active_spread_pct: f64,
    zone_spread_f: f64,
    fights: bool,
    severity: Severity,
}

impl<'u> Room<'u> {
    fn of(name: &'u str, units: &[&'u Unit<'_>], parameters: &Parameters) -> Self {
        let mut room = Self {
            name,
            units: units.iter().map(|unit| unit.equip).collect(),
            n_samples: 0,
            fight_pct: f64::NAN,
            active_pct: Vec::new(),
            active_spread_pct: f64::NAN,
            zone_spread_f: f64::NAN,
            fights: false,
            severity: Severity::Ok,
        };
        let mut fights = 0;
        let mut active = vec![0; units.len()];
        let mut spreads = Vec::new();
        let mut together = Vec::with_capacity(units.len());
        // A sample of all units has a row in the first one.
        for stamp in units.first().into_iter().flat_map(|unit| unit.stamps) {
            together.clear();
            together.extend(units.iter().map_while(|unit| unit.at(*stamp)));
            if together.len() < units.len() {
                continue;
            }
            room.n_samples += 1;
            let is = |wanted: Mode| together.iter().any(|(mode, _)| *mode == wanted);
            fights += usize::from(is(Mode::Heating) && is(Mode::Cooling));
            for (count, (mode, _)) in active.iter_mut().zip(&together) {
                *count += usize::from(*mode != Mode::Neither);
            }
            let zones = || {
                together
                    .iter()
                    .map(|(_, zone)| *zone)
                    .filter(|zone| !zone.is_nan())
            };
            // Without any zone the extremes are infinite and their difference is none.
            let spread =
                zones().fold(f64::NEG_INFINITY, f64::max) - zones().fold(f64::INFINITY, f64::min);
            if spread >= 0.0 {
                spreads.push(spread);
            }
        }
        if room.n_samples == 0 {
            return room;
        }
        room.fight_pct = numeric::percent_of(fights, room.n_samples);
        room.active_pct = active
            .iter()
            .map(|count| numeric::percent_of(*count, room.n_samples))
            .collect();
        room.active_spread_pct = numeric::max(&room.active_pct) - numeric::min(&room.active_pct);
        room.zone_spread_f = numeric::median_in_place(&mut spreads);
        room.fights = room.fight_pct >= parameters.number("warn_fight_pct");
        room.severity = if room.fight_pct >= parameters.number("fault_fight_pct") {
            Severity::Fault
        } else if room.fights
            || room.active_spread_pct >= parameters.number("warn_duty_spread_pct")
            || room.zone_spread_f >= parameters.number("warn_sensor_spread_f")
        {
            Severity::Warn
        } else {
            Severity::Ok
        };
        room
    }

    fn to_json(&self) -> Value {
        let mut figures = json!({"units": self.units, "n_samples": self.n_samples});
        if self.n_samples == 0 {
            return figures;
        }
        let rounded = |value: f64, decimals| number(numeric::round(value, decimals));
        let active: Map<String, Value> = self
            .units
            .iter()
            .zip(&self.active_pct)
            .map(|(unit, share)| ((*unit).to_owned(), rounded(*share, 1)))
            .collect();
        figures["fight_pct"] = rounded(self.fight_pct, 2);
        figures["fights"] = json!(self.fights);
        figures["active_pct"] = Value::Object(active);
        figures["active_spread_pct"] = rounded(self.active_spread_pct, 1);
        figures["zone_sensor_spread_f"] = rounded(self.zone_spread_f, 2);
        figures["severity"] = json!(self.severity.word());
        figures
    }
}

fn analyse(fleet: &FleetFrames<'_>, parameters: &Parameters) -> Option<Verdict> {
    let mut verdict = verdict(fleet, parameters);
    verdict.fleet_name = Some(FLEET);
    Some(verdict)
}

fn verdict(fleet: &FleetFrames<'_>, parameters: &Parameters) -> Verdict {
    let units: Vec<Option<Unit<'_>>> = fleet
        .frames
        .iter()
        .map(|frame| Unit::of(frame, parameters))
        .collect();
    let groups = rooms(fleet, parameters);
    let mut metrics = Metrics::new();
    if groups.is_empty() {
        metrics
            .set("declined", true)
            .set("reason", "no_rooms")
            .count("n_rooms", 0);
        return Verdict::info(
            metrics,
            "Rooms were not judged: no room with two heat pumps is known.",
        )
        .with_caveat(
            "List the units of each room as params.rooms of this rule in the run configuration, or declare a topology that puts units under their room.",
        );
    }
    let mut caveats: Vec<String> = Vec::new();
    let judged: Vec<Room<'_>> = groups
        .iter()
        .map(|(name, places)| {
            let members: Vec<&Unit<'_>> = places
                .iter()
                .filter_map(|place| units.get(*place)?.as_ref())
                .collect();
            for caveat in members.iter().filter_map(|unit| unit.caveat.as_ref()) {
                if !caveats.contains(caveat) {
                    caveats.push(caveat.clone());
                }
            }
            Room::of(name, &members, parameters)
        })
        .collect();
    let flagged = judged
        .iter()
        .filter(|room| room.severity < Severity::Info)
        .count();
    let table: Map<String, Value> = judged
        .iter()
        .map(|room| (room.name.to_owned(), room.to_json()))
        .collect();
    metrics
        .count("n_rooms", judged.len())
        .count("n_flagged", flagged)
        .set("rooms", Value::Object(table));
    let worst = judged.iter().min_by_key(|room| room.severity);
    let severity = worst.map_or(Severity::Ok, |room| room.severity);
    let mut summary = format!("{flagged} of {} rooms are flagged", judged.len());
    if let Some(room) = worst.filter(|room| room.n_samples > 0) {
        summary += &format!(
            "; the worst, {}, has its units working against each other in {:.1} % of shared hours, active shares {:.0} points \
             apart and zone temperatures {:.1} °F apart",
            room.name, room.fight_pct, room.active_spread_pct, room.zone_spread_f
        );
    }
    summary += ".";
    Verdict::new(severity, metrics, format!("{FLEET}: {summary}")).with_caveats(caveats)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::RoleFrame;
    use crate::rules::testing::{self, hourly, named};

    fn unit(equip: &str, air: f64, zone: f64) -> RoleFrame {
        let table = hourly(
            240,
            &[
                ("supply_air_temp", &|_| air),
                ("space_temp", &|_| zone),
                ("occupancy", &|_| 1.0),
            ],
        );
        named(equip, "HEAT_PUMP", table)
    }

    #[test]
    fn units_of_a_room_that_heat_and_cool_at_once_fight() {
        let tables = [
            unit("HP1", 90.0, 66.0),
            unit("HP2", 55.0, 78.0),
            unit("HP3", 70.0, 70.0),
        ];
        let rooms = json!({"rooms": {"R1": ["HP1", "HP2", "HP9"], "R2": ["HP3"]}});
        let verdict = testing::run_fleet(&RULE, &tables, rooms).unwrap();
        assert_eq!(
            (verdict.severity, verdict.fleet_name),
            (Severity::Fault, Some("fleet"))
        );
        let rooms = verdict.metrics.get("rooms").unwrap();
        assert_eq!(rooms.as_object().unwrap().len(), 1);
        assert_eq!(rooms["R1"]["fight_pct"], 100.0);
        assert_eq!(rooms["R1"]["fights"], true);
        assert_eq!(rooms["R1"]["zone_sensor_spread_f"], 12.0);
        assert!(verdict.summary.contains("R1") && verdict.summary.contains("100.0 %"));
    }

    #[test]
    fn a_declared_topology_makes_rooms_and_a_guess_from_names_does_not() {
        let tables = [unit("HP1", 90.0, 70.0), unit("HP2", 70.0, 70.0)];
        let edges = || ["HP1", "HP2"].map(|unit| ("Hall".to_owned(), unit.to_owned()));
        let run = |provenance: Option<Provenance>| {
            let topology = provenance.map(|from| Topology::of_edges(from, edges()));
            let fleet = FleetFrames {
                frames: tables.iter().map(Frame::whole).collect(),
                topology: topology.as_ref(),
            };
            analyse(&fleet, &testing::parameters(&RULE, json!({}))).unwrap()
        };
        let declared = run(Some(Provenance::Explicit));
        // One unit works all the time, the other one never.
        assert_eq!(declared.severity, Severity::Warn);
        assert_eq!(
            declared.metrics.get("rooms").unwrap()["Hall"]["active_spread_pct"],
            100.0
        );
        for nothing in [run(None), run(Some(Provenance::Heuristic))] {
            assert_eq!(nothing.metrics.get("reason"), Some(&json!("no_rooms")));
            assert_eq!(nothing.caveats.len(), 1);
        }
    }
}
