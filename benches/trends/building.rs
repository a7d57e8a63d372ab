//! A building that trends: air terminals with eight points each, every 15 minutes, with the holes that real ones have.

use niagara_bridge::trends::store::{
    EquipmentRows, FacilityId, RoleColumn, TrendStore, wall_clock,
};

const STEP: i64 = 15 * wall_clock::MINUTE;
const PER_DAY: i64 = wall_clock::DAY / STEP;
const ROLES: [&str; 8] = [
    "space_temp",
    "zone_temp_sp",
    "airflow",
    "airflow_sp",
    "damper_cmd",
    "reheat_valve_cmd",
    "supply_air_temp",
    "occupancy",
];

/// Equipment per write call: what an ingest holds at a time.
const PER_CALL: usize = 10;

/// What is trended, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct Building {
    pub equipment: usize,
    pub days: i64,
}

impl Building {
    /// The id of an equipment.
    pub fn name(number: usize) -> String {
        format!("VAV-{number:04}")
    }

    /// Points of all equipment.
    pub fn points(self) -> usize {
        self.equipment * ROLES.len()
    }

    /// Samples of all points.
    pub fn rows(self) -> u64 {
        (0..self.equipment)
            .map(|number| {
                let samples = (0..self.days * PER_DAY).filter(|at| recorded(number, *at));
                samples.count() as u64 * ROLES.len() as u64
            })
            .sum()
    }

    /// Writes the whole building.
    pub fn write(self, store: &TrendStore, facility: &FacilityId) {
        let mut staged = store.stage_facility(facility).expect("scratch");
        let numbers: Vec<usize> = (0..self.equipment).collect();
        for numbers in numbers.chunks(PER_CALL) {
            let rows: Vec<EquipmentRows> = numbers
                .iter()
                .map(|number| self.terminal(*number))
                .collect();
            staged.add(&rows).expect("written");
        }
        let mut writer = store
            .writer(std::time::Duration::from_secs(10))
            .expect("the lock");
        staged.commit(&mut writer, None).expect("in place");
        writer.rebuild_catalogue().expect("a catalogue");
    }

    fn terminal(self, number: usize) -> EquipmentRows {
        let begin = wall_clock::parse_bound("2024-01-01").expect("a date");
        let times: Vec<i64> = (0..self.days * PER_DAY)
            .filter(|at| recorded(number, *at))
            .collect();
        let columns = ROLES
            .iter()
            .enumerate()
            .map(|(role, slug)| RoleColumn {
                role: (*slug).to_owned(),
                stamps: times.iter().map(|at| begin + at * STEP).collect(),
                values: times.iter().map(|at| value(number, role, *at)).collect(),
            })
            .collect();
        EquipmentRows {
            equip: Self::name(number),
            equip_class: "VAV".to_owned(),
            columns,
        }
    }
}

/// Every equipment loses a few days of the year.
fn recorded(number: usize, at: i64) -> bool {
    let seed = i64::try_from(number).expect("few");
    (at / PER_DAY + seed * 7) % 83 != 0
}

/// As a controller tells it: a daily wave in steps of a tenth.
fn value(number: usize, role: usize, at: i64) -> f64 {
    let hour = (at % PER_DAY) as f64 / 4.0;
    let phase = (number * 13 + role * 29) as f64;
    let wave = ((hour + phase) * std::f64::consts::TAU / 24.0).sin();
    ((60.0 + role as f64 * 5.0 + 12.0 * wave + (at % 17) as f64 * 0.1) * 10.0).round() / 10.0
}
