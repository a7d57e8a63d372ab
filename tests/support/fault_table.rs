//! Planted faults against what rules said of a site, stretch by stretch.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::fmt::Write as _;

use mock_station::site::truth::{TrueFault, Truth};

use crate::judged_site::{Judgement, Stretch};

/// What was said of each stretch.
pub type Judged = Vec<(Stretch, Vec<Judgement>)>;

const WORST_FIRST: [&str; 4] = ["fault", "warn", "info", "ok"];

/// Whether a fault is present through the whole stretch. Dates of the site's wall clock compare as text.
fn is_present(fault: &TrueFault, stretch: Stretch) -> bool {
    let starts = &fault.start[..10] <= stretch.first;
    starts
        && fault
            .end
            .as_deref()
            .is_none_or(|end| stretch.last < &end[..10])
}

fn is_absent(fault: &TrueFault, stretch: Stretch) -> bool {
    let starts_later = stretch.last < &fault.start[..10];
    starts_later
        || fault
            .end
            .as_deref()
            .is_some_and(|end| &end[..10] <= stretch.first)
}

fn worst<'a>(judgements: &'a [Judgement], rule: &str, equipment: &[String]) -> Option<&'a str> {
    let rank = |severity: &str| WORST_FIRST.iter().position(|known| *known == severity);
    judgements
        .iter()
        .filter(|one| one.rule == rule && equipment.contains(&one.equip))
        .map(|one| one.severity.as_str())
        .min_by_key(|severity| rank(severity))
}

/// A line for each fault and rule that should see it: the severity of each stretch, in brackets where the fault is absent.
pub fn table(truth: &Truth, judged: &Judged) -> String {
    let mut text = format!("{:40} {:26} {:9}", "fault", "rule", "equipment");
    for (stretch, _) in judged {
        let _ = write!(text, " {:>9}", stretch.name);
    }
    text.push('\n');
    for fault in &truth.faults {
        for rule in &fault.rules {
            let _ = write!(
                text,
                "{:40} {rule:26} {:9}",
                fault.name,
                fault.equipment.join(",")
            );
            for (stretch, judgements) in judged {
                let severity = worst(judgements, rule, &fault.equipment).unwrap_or("-");
                let shown = match is_absent(fault, *stretch) {
                    true => format!("({severity})"),
                    false => severity.to_owned(),
                };
                let _ = write!(text, " {shown:>9}");
            }
            text.push('\n');
        }
    }
    text
}

/// Faults that a rule should have raised in some stretch in which they are present and did not.
pub fn unseen(truth: &Truth, judged: &Judged) -> Vec<String> {
    let mut unseen = Vec::new();
    for fault in &truth.faults {
        for rule in &fault.rules {
            let is_seen = judged
                .iter()
                .filter(|(stretch, _)| is_present(fault, *stretch))
                .filter_map(|(_, judgements)| worst(judgements, rule, &fault.equipment))
                .any(|severity| ["fault", "warn"].contains(&severity));
            if !is_seen {
                unseen.push(format!(
                    "{} on {}: {rule}",
                    fault.name,
                    fault.equipment.join(", ")
                ));
            }
        }
    }
    unseen
}

/// What a fault does elsewhere, or under another rule than the expected ones, badly enough for a fault-level finding.
pub struct Consequence {
    pub rule: &'static str,
    pub equip: &'static str,
    pub fault: &'static str,
}

pub const fn of(fault: &'static str, equip: &'static str, rule: &'static str) -> Consequence {
    Consequence { rule, equip, fault }
}

/// A damper that stands at 64 % leaves cold air outside that would cool for nothing. A valve in hand cools in such weather too,
/// and keeps both chillers at a few per cent of their load. The pump of a low temperature difference stands at 100 %.
pub const HARBORVIEW_CONSEQUENCES: [Consequence; 5] = [
    of("economizer stuck", "AHU-1", "free_cooling_missed"),
    of(
        "simultaneous heating and cooling",
        "AHU-3",
        "free_cooling_missed",
    ),
    of(
        "simultaneous heating and cooling",
        "CH-1",
        "chiller_staging",
    ),
    of(
        "simultaneous heating and cooling",
        "CH-2",
        "chiller_staging",
    ),
    of(
        "low hot-water temperature difference",
        "HW",
        "hw_pump_dp_reset",
    ),
];

const LOW_DELTA_T: &str = "low chilled-water temperature difference";

/// Both machines see the flow and the difference of their plant, and its pump stands at 100 %.
pub const LAKESIDE_CONSEQUENCES: [Consequence; 3] = [
    of(LOW_DELTA_T, "KM-1", "chw_plant_reset"),
    of(LOW_DELTA_T, "KM-2", "chw_plant_reset"),
    of(LOW_DELTA_T, "KW", "chw_pump_dp_reset"),
];

/// Fault-level findings that neither a planted fault nor a consequence of one explains. The truth has to name the equipment
/// as faulty or affected.
pub fn wrongly_blamed(truth: &Truth, judged: &Judged, consequences: &[Consequence]) -> Vec<String> {
    let mut blamed = Vec::new();
    for (stretch, judgements) in judged {
        let present: Vec<&TrueFault> = truth
            .faults
            .iter()
            .filter(|fault| !is_absent(fault, *stretch))
            .collect();
        let is_explained = |one: &Judgement| {
            present.iter().any(|fault| {
                fault.equipment.contains(&one.equip) && fault.rules.contains(&one.rule)
            }) || consequences.iter().any(|known| {
                (known.rule, known.equip) == (&*one.rule, &*one.equip)
                    && present.iter().any(|fault| {
                        let mut named = fault.equipment.iter().chain(&fault.neighbours);
                        fault.name == known.fault && named.any(|equip| *equip == one.equip)
                    })
            })
        };
        for one in judgements.iter().filter(|one| one.is_fault()) {
            if !is_explained(one) {
                let Judgement {
                    rule,
                    equip,
                    metrics,
                    ..
                } = one;
                blamed.push(format!("{}: {rule} at {equip} {metrics}", stretch.name));
            }
        }
    }
    blamed
}

/// Classes of what heats and cools water or refrigerant.
const PLANT: [&str; 8] = [
    "Boiler",
    "Chiller",
    "ChilledWaterPlant",
    "CoolingTower",
    "HeatPump",
    "HotWaterPlant",
    "HWPump",
    "WaterHeater",
];

fn class_of<'t>(truth: &'t Truth, equip: &str) -> &'t str {
    truth.equipment(equip).map_or("", |found| &found.class)
}

/// The planted faults of plants and of units with a compressor of their own.
pub fn plant_faults(truth: &Truth) -> Vec<&TrueFault> {
    let is_plant = |equip: &String| PLANT.contains(&class_of(truth, equip));
    let faults = truth.faults.iter();
    faults
        .filter(|fault| fault.equipment.iter().any(is_plant))
        .collect()
}

/// A plant fault, and every stretch in which its rule must raise it.
pub type Seen = (&'static str, &'static [&'static str]);

/// What stands in the way of "each plant fault is found in its season, on its equipment, and on no sound one of the class".
pub fn plant_mistakes(truth: &Truth, judged: &Judged, expected: &[Seen]) -> Vec<String> {
    let mut mistakes = Vec::new();
    let planted = plant_faults(truth);
    let names: Vec<&str> = planted.iter().map(|fault| &*fault.name).collect();
    let told: Vec<&str> = expected.iter().map(|(name, _)| *name).collect();
    if names != told {
        mistakes.push(format!("plant faults are {names:?}, expected {told:?}"));
    }
    for (fault, (_, seasons)) in planted.iter().zip(expected) {
        println!(
            "plant fault: {} on {}, seen by {} in {}",
            fault.name,
            fault.equipment.join(", "),
            fault.rules.join(", "),
            seasons.join(", ")
        );
        for (stretch, judgements) in judged {
            let raised = |equip: &String| {
                let equip = std::slice::from_ref(equip);
                let mut rules = fault.rules.iter();
                rules.any(|rule| {
                    worst(judgements, rule, equip)
                        .is_some_and(|one| ["fault", "warn"].contains(&one))
                })
            };
            let is_seen = fault.equipment.iter().all(raised);
            if is_seen != seasons.contains(&stretch.name) {
                let seen = if is_seen { "seen" } else { "not seen" };
                mistakes.push(format!("{} {seen} in {}", fault.name, stretch.name));
            }
            let sound = truth.equipment.iter().filter(|other| {
                !fault.equipment.contains(&other.id)
                    && other.class == class_of(truth, &fault.equipment[0])
            });
            for other in sound.filter(|other| raised(&other.id)) {
                mistakes.push(format!(
                    "{} is told of {} in {}",
                    fault.name, other.id, stretch.name
                ));
            }
        }
    }
    mistakes
}

/// Everything that was raised, and what else is said of the planted faults.
pub fn raised(truth: &Truth, judged: &Judged) -> String {
    let mut text = String::new();
    let planted = |one: &&Judgement| {
        let mut faults = truth.faults.iter();
        faults.any(|fault| fault.rules.contains(&one.rule) && fault.equipment.contains(&one.equip))
    };
    for (stretch, judgements) in judged {
        for one in judgements
            .iter()
            .filter(|one| one.is_raised() || planted(one))
        {
            let _ = writeln!(
                text,
                "{:7} {:5} {:28} {:9} {}",
                stretch.name, one.severity, one.rule, one.equip, one.metrics
            );
        }
    }
    text
}
