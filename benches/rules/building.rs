//! A campus that trends: boxes, air handlers and plants with eight points each, every 15 minutes, with the holes that real
//! ones have.

use std::f64::consts::TAU;
use std::time::Duration;

use niagara_bridge::trends::store::writer::Registration;
use niagara_bridge::trends::store::{
    EquipmentRows, FacilityId, RoleColumn, TrendStore, wall_clock,
};

const STEP: i64 = 15 * wall_clock::MINUTE;
const PER_DAY: i64 = wall_clock::DAY / STEP;
/// A Monday.
const FIRST_DAY: &str = "2024-01-01";

/// Equipment per write call: what an ingest holds at a time.
const PER_CALL: usize = 10;

/// Points of each equipment.
pub const POINTS: usize = 8;

struct Kind {
    class: &'static str,
    /// How many of fifty are of this kind.
    share: usize,
    roles: [&'static str; POINTS],
}

/// Every rule finds the inputs that it needs on some of these, but for the rooms that heat pumps share, which only a
/// configuration tells.
const KINDS: [Kind; 11] = [
    Kind {
        class: "VAV",
        share: 20,
        roles: [
            "airflow",
            "airflow_sp",
            "cool_sp",
            "damper",
            "heat_sp",
            "heat_valve",
            "space_temp",
            "supply_air_temp",
        ],
    },
    Kind {
        class: "VAV",
        share: 15,
        roles: [
            "airflow",
            "airflow_min_sp",
            "airflow_sp",
            "co2",
            "cool_sp",
            "damper",
            "heat_valve",
            "space_temp",
        ],
    },
    Kind {
        class: "AHU",
        share: 3,
        roles: [
            "cool_valve",
            "heat_valve",
            "mixed_air_temp",
            "oa_damper",
            "return_air_temp",
            "supply_air_temp",
            "supply_air_temp_sp",
            "supply_fan_status",
        ],
    },
    Kind {
        class: "AHU",
        share: 3,
        roles: [
            "co2",
            "duct_static_sp",
            "filter_diff_press",
            "oa_airflow",
            "sat_reset_requests",
            "static_pressure_requests",
            "supply_air_temp_sp",
            "supply_fan_speed",
        ],
    },
    Kind {
        class: "CHILLER",
        share: 2,
        roles: [
            "chw_flow",
            "chw_pump_speed",
            "chw_return_temp",
            "chw_supply_temp",
            "chw_supply_temp_sp",
            "compressor_status",
            "cond_approach_temp",
            "power",
        ],
    },
    Kind {
        class: "COOLING_TOWER",
        share: 1,
        roles: [
            "cond_entering_water_temp",
            "cw_bypass_valve",
            "cw_return_temp",
            "cw_supply_temp",
            "outdoor_rh",
            "pump_status",
            "tower_fan_speed",
            "wetbulb_temp",
        ],
    },
    Kind {
        class: "BOILER",
        share: 2,
        roles: [
            "boiler_status",
            "gas_input_rate",
            "hw_diff_press_sp",
            "hw_flow",
            "hw_pump_speed",
            "hw_return_temp",
            "hw_supply_temp",
            "pump_status",
        ],
    },
    Kind {
        class: "WSHP",
        share: 1,
        roles: [
            "compressor_status",
            "cool_sp",
            "heat_sp",
            "return_air_temp",
            "reversing_valve_cmd",
            "space_temp",
            "supply_air_temp",
            "supply_fan_status",
        ],
    },
    Kind {
        class: "DX",
        share: 1,
        roles: [
            "compressor_stage",
            "compressor_status",
            "return_air_humidity",
            "return_air_temp",
            "subcooling_temp",
            "superheat_temp",
            "supply_air_temp",
            "supply_fan_status",
        ],
    },
    Kind {
        class: "HPLOOP",
        share: 1,
        roles: [
            "energy_rate",
            "oat",
            "power",
            "pump_status",
            "source_loop_diff_press",
            "source_loop_pump_speed",
            "source_loop_return_temp",
            "source_loop_supply_temp",
        ],
    },
    Kind {
        class: "FCU",
        share: 1,
        roles: [
            "cool_sp",
            "cool_valve",
            "heat_sp",
            "heat_valve",
            "occupancy",
            "space_temp",
            "supply_fan_speed",
            "supply_fan_status",
        ],
    },
];

/// What is trended, and for how long. A weather station comes on top.
#[derive(Debug, Clone, Copy)]
pub struct Campus {
    pub equipment: usize,
    pub days: i64,
}

impl Campus {
    /// Where it is stored.
    pub fn facility(self) -> FacilityId {
        FacilityId::parse(&format!("campus-{}", self.equipment)).expect("an id")
    }

    /// Writes the whole campus, and returns how many samples it has.
    pub fn write(self, store: &TrendStore) -> u64 {
        let facility = self.facility();
        let mut staged = store.stage_facility(&facility).expect("scratch");
        let mut samples = staged.add(&[self.weather()]).expect("written");
        let numbers: Vec<usize> = (0..self.equipment).collect();
        for numbers in numbers.chunks(PER_CALL) {
            let rows: Vec<EquipmentRows> = numbers.iter().map(|number| self.one(*number)).collect();
            samples += staged.add(&rows).expect("written");
        }
        let mut writer = store
            .writer(Duration::from_secs(10))
            .expect("the lock of the store");
        let registration = Registration::active(None, Some("America/Chicago"));
        staged
            .commit(&mut writer, Some(&registration))
            .expect("in place");
        writer.rebuild_catalogue().expect("a catalogue");
        samples
    }

    fn weather(self) -> EquipmentRows {
        let all: Vec<i64> = (0..self.days * PER_DAY).collect();
        EquipmentRows {
            equip: "WX-1".to_owned(),
            equip_class: "WEATHER".to_owned(),
            columns: vec![column("oat", 0, 0, &all)],
        }
    }

    fn one(self, number: usize) -> EquipmentRows {
        let kind = kind(number);
        let recorded: Vec<i64> = (0..self.days * PER_DAY)
            .filter(|at| is_recorded(number, *at))
            .collect();
        let columns = kind.roles.iter().enumerate();
        EquipmentRows {
            equip: format!("{}-{number:04}", kind.class),
            equip_class: kind.class.to_owned(),
            columns: columns
                .map(|(point, role)| column(role, number, point, &recorded))
                .collect(),
        }
    }
}

/// The kinds take turns within each fifty.
fn kind(number: usize) -> &'static Kind {
    let all: usize = KINDS.iter().map(|kind| kind.share).sum();
    let mut place = number % all;
    for kind in &KINDS {
        match place.checked_sub(kind.share) {
            None => return kind,
            Some(left) => place = left,
        }
    }
    &KINDS[0]
}

fn column(role: &str, number: usize, point: usize, recorded: &[i64]) -> RoleColumn {
    let begin = wall_clock::parse_bound(FIRST_DAY).expect("a date");
    let shape = Shape::of(role);
    RoleColumn {
        role: role.to_owned(),
        stamps: recorded.iter().map(|at| begin + at * STEP).collect(),
        values: recorded
            .iter()
            .map(|at| shape.value(number * POINTS + point, number, *at))
            .collect(),
    }
}

/// Every equipment loses a few days of the year.
fn is_recorded(number: usize, at: i64) -> bool {
    let seed = i64::try_from(number).expect("few");
    (at / PER_DAY + seed * 7) % 83 != 0
}

/// How a point moves.
#[derive(Debug, Clone, Copy)]
enum Shape {
    /// With the day and the year.
    Weather { level: f64, year: f64, day: f64 },
    /// Around a level, whether anything runs or not.
    Steady { level: f64, swing: f64 },
    /// Around one level while the plant runs, and drifting around another one otherwise.
    Running { on: f64, swing: f64, off: f64 },
    /// Between nothing and a greatest value with the load, and nothing at night.
    Loaded { most: f64 },
    /// On or off.
    Status,
    /// Whole numbers with the load.
    Counted { most: f64 },
}

impl Shape {
    fn of(role: &str) -> Self {
        match role {
            "oat" => Self::Weather {
                level: 55.0,
                year: 25.0,
                day: 9.0,
            },
            "wetbulb_temp" => Self::Weather {
                level: 48.0,
                year: 20.0,
                day: 5.0,
            },
            "outdoor_rh" => Self::Weather {
                level: 60.0,
                year: -10.0,
                day: -15.0,
            },
            "space_temp" | "return_air_temp" => Self::Steady {
                level: 72.0,
                swing: 2.0,
            },
            "cool_sp" => Self::Running {
                on: 74.0,
                swing: 0.5,
                off: 80.0,
            },
            "heat_sp" => Self::Running {
                on: 70.0,
                swing: 0.5,
                off: 62.0,
            },
            "supply_air_temp" => Self::Running {
                on: 57.0,
                swing: 3.0,
                off: 70.0,
            },
            "supply_air_temp_sp" => Self::Steady {
                level: 57.0,
                swing: 2.0,
            },
            "mixed_air_temp" => Self::Running {
                on: 64.0,
                swing: 5.0,
                off: 70.0,
            },
            "return_air_humidity" => Self::Steady {
                level: 45.0,
                swing: 6.0,
            },
            "co2" => Self::Running {
                on: 700.0,
                swing: 120.0,
                off: 430.0,
            },
            "chw_supply_temp" | "chw_supply_temp_sp" => Self::Running {
                on: 45.0,
                swing: 1.5,
                off: 58.0,
            },
            "chw_return_temp" => Self::Running {
                on: 55.0,
                swing: 2.0,
                off: 60.0,
            },
            "cond_approach_temp" => Self::Running {
                on: 3.0,
                swing: 0.8,
                off: 0.5,
            },
            "cw_supply_temp" | "cond_entering_water_temp" => Self::Running {
                on: 76.0,
                swing: 4.0,
                off: 68.0,
            },
            "cw_return_temp" => Self::Running {
                on: 85.0,
                swing: 5.0,
                off: 68.0,
            },
            "hw_supply_temp" => Self::Running {
                on: 160.0,
                swing: 12.0,
                off: 95.0,
            },
            "hw_return_temp" => Self::Running {
                on: 138.0,
                swing: 10.0,
                off: 94.0,
            },
            "source_loop_supply_temp" => Self::Running {
                on: 70.0,
                swing: 6.0,
                off: 68.0,
            },
            "source_loop_return_temp" => Self::Running {
                on: 76.0,
                swing: 7.0,
                off: 68.0,
            },
            "subcooling_temp" => Self::Running {
                on: 12.0,
                swing: 3.0,
                off: 0.5,
            },
            "superheat_temp" => Self::Running {
                on: 10.0,
                swing: 3.0,
                off: 0.5,
            },
            "duct_static_sp" => Self::Steady {
                level: 1.3,
                swing: 0.3,
            },
            "filter_diff_press" => Self::Loaded { most: 0.8 },
            "hw_diff_press_sp" | "source_loop_diff_press" => Self::Steady {
                level: 12.0,
                swing: 3.0,
            },
            "airflow" | "airflow_sp" | "oa_airflow" => Self::Loaded { most: 1_200.0 },
            "airflow_min_sp" => Self::Steady {
                level: 300.0,
                swing: 20.0,
            },
            "chw_flow" | "hw_flow" => Self::Loaded { most: 800.0 },
            "power" | "energy_rate" | "gas_input_rate" => Self::Loaded { most: 250.0 },
            "sat_reset_requests" | "static_pressure_requests" => Self::Counted { most: 6.0 },
            "compressor_stage" => Self::Counted { most: 2.0 },
            role if role.ends_with("_status") || role == "occupancy" => Self::Status,
            "reversing_valve_cmd" => Self::Status,
            // Positions and speeds, in percent.
            _ => Self::Loaded { most: 100.0 },
        }
    }

    /// As a controller tells it, in steps of a hundredth.
    fn value(self, point: usize, number: usize, at: i64) -> f64 {
        let hour = (at % PER_DAY) as f64 / 4.0;
        let year = -(at as f64 / (365 * PER_DAY) as f64 * TAU).cos();
        let day = ((hour - 9.0 - (point % 5) as f64 * 0.4) * TAU / 24.0).sin();
        let noise = noise(point, at);
        let on = is_on(number, at);
        // Some units are loaded more than others, each a little differently from day to day.
        let load = (0.45 + 0.2 * day + 0.15 * year + 0.1 * (number % 4) as f64 + 0.12 * noise)
            .clamp(0.0, 1.0);
        let value = match self {
            Self::Weather {
                level,
                year: yearly,
                day: daily,
            } => level + yearly * year + daily * day + noise,
            Self::Steady { level, swing } => level + swing * (0.7 * day + 0.4 * noise),
            Self::Running {
                on: level, swing, ..
            } if on => level + swing * (0.6 * (load - 0.5) + 0.5 * noise),
            Self::Running { off, swing, .. } => off + swing * 0.3 * (day + noise),
            Self::Loaded { most } if on => most * load,
            Self::Loaded { .. } => 0.0,
            Self::Status => f64::from(u8::from(on)),
            Self::Counted { most } if on => (most * load).round(),
            Self::Counted { .. } => 0.0,
        };
        (value * 100.0).round() / 100.0
    }
}

/// From six to nineteen o'clock on workdays, a little earlier or later from unit to unit.
fn is_on(number: usize, at: i64) -> bool {
    let (day, quarter) = (at / PER_DAY % 7, at % PER_DAY);
    let early = i64::try_from(number % 4).expect("few");
    day < 5 && (24 - early..76 + early).contains(&quarter)
}

/// From −1 to 1, the same in every run.
fn noise(point: usize, at: i64) -> f64 {
    let mut bits = (point as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ at.cast_unsigned();
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((bits >> 40) as f64 / f64::from(1 << 23)) - 1.0
}
