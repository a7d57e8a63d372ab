//! The fifteen fault conditions: in which states each applies, what it reads, and its equation (Guideline 36 §5.16.14).

use super::unit::{Signals, State, Unit};

/// Errors of the sensors, °F and in. w.c., and the heat of the supply fan, °F.
const ERROR_SUPPLY: f64 = 2.0;
const ERROR_RETURN: f64 = 2.0;
const ERROR_MIXED: f64 = 5.0;
const ERROR_OUTDOOR: f64 = 5.0;
const ERROR_STATIC: f64 = 0.1;
const FAN_HEAT: f64 = 2.0;

/// Root of the squared errors of supply and mixed air; of a coil's entering and leaving air it is the same.
const ERROR_SUPPLY_AND_MIXED: f64 = 5.385_164_807_134_504;

/// Root of the squared errors of mixed and outdoor air.
const ERROR_MIXED_AND_OUTDOOR: f64 = 7.071_067_811_865_475_5;

/// Fan speed that is full, percent: 99 % less 5 %.
const FULL_SPEED: f64 = 99.0 * 0.95;

/// A valve that is fully open, percent.
const FULL_VALVE: f64 = 99.0;

/// More state changes in an hour are unstable control.
const MOST_CHANGES: usize = 7;

/// Outdoor and return air this far apart tell the outdoor-air fraction well, °F.
const LEAST_DIFFERENCE: f64 = 10.0;

/// Points by which the outdoor-air fraction may be off its minimum.
const ERROR_FRACTION: f64 = 30.0;

/// What a condition reads, one per role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Input {
    Supply,
    Mixed,
    Indoor,
    Outdoor,
    DuctStatic,
    DuctStaticSetpoint,
    FanSpeed,
    SupplySetpoint,
    HeatValve,
    CoolValve,
}

impl Input {
    pub(super) const fn role(self) -> &'static str {
        match self {
            Self::Supply => "supply_air_temp",
            Self::Mixed => "mixed_air_temp",
            Self::Indoor => "return_air_temp",
            Self::Outdoor => "oat",
            Self::DuctStatic => "duct_static",
            Self::DuctStaticSetpoint => "duct_static_sp",
            Self::FanSpeed => "supply_fan_speed",
            Self::SupplySetpoint => "supply_air_temp_sp",
            Self::HeatValve => "heat_valve",
            Self::CoolValve => "cool_valve",
        }
    }

    fn column(self, signals: &Signals) -> Option<&[f64]> {
        match self {
            Self::Supply => &signals.supply,
            Self::Mixed => &signals.mixed,
            Self::Indoor => &signals.indoor,
            Self::Outdoor => &signals.outdoor,
            Self::DuctStatic => &signals.duct_static,
            Self::DuctStaticSetpoint => &signals.duct_static_setpoint,
            Self::FanSpeed => &signals.fan_speed,
            Self::SupplySetpoint => &signals.supply_setpoint,
            Self::HeatValve => &signals.heat_valve,
            Self::CoolValve => &signals.cool_valve,
        }
        .as_deref()
    }

    /// Whether the unit trends it.
    pub(super) fn is_trended(self, unit: &Unit) -> bool {
        self.column(&unit.signals).is_some()
    }
}

/// One sample; NaN where a reading is missing, which makes every comparison false.
pub(super) struct Sample {
    supply: f64,
    mixed: f64,
    indoor: f64,
    outdoor: f64,
    duct_static: f64,
    duct_static_setpoint: f64,
    fan_speed: f64,
    supply_setpoint: f64,
    heat_valve: f64,
    cool_valve: f64,
    fraction: f64,
    minimum: f64,
    changes: usize,
}

impl Sample {
    pub(super) fn of(unit: &Unit, row: usize) -> Self {
        let signals = &unit.signals;
        let at = |column: Option<&[f64]>| {
            column
                .and_then(|values| values.get(row))
                .copied()
                .unwrap_or(f64::NAN)
        };
        let read = |input: Input| at(input.column(signals));
        Self {
            supply: read(Input::Supply),
            mixed: read(Input::Mixed),
            indoor: read(Input::Indoor),
            outdoor: read(Input::Outdoor),
            duct_static: read(Input::DuctStatic),
            duct_static_setpoint: read(Input::DuctStaticSetpoint),
            fan_speed: read(Input::FanSpeed),
            supply_setpoint: read(Input::SupplySetpoint),
            heat_valve: read(Input::HeatValve),
            cool_valve: read(Input::CoolValve),
            fraction: at(signals.outdoor_fraction.as_deref()),
            minimum: at(signals.minimum_outdoor.as_deref()),
            changes: unit.changes.get(row).copied().unwrap_or(0),
        }
    }
}

/// The lesser; NaN when either is missing.
fn lesser(one: f64, other: f64) -> f64 {
    if one.is_nan() || other.is_nan() {
        return f64::NAN;
    }
    one.min(other)
}

/// The greater; NaN when either is missing.
fn greater(one: f64, other: f64) -> f64 {
    -lesser(-one, -other)
}

/// One fault condition.
pub(super) struct FaultCondition {
    pub name: &'static str,
    /// Numbers of the operating states in which it applies.
    states: &'static [u8],
    pub inputs: &'static [Input],
    pub description: &'static str,
    pub equation: fn(&Sample) -> bool,
}

impl FaultCondition {
    /// Whether it applies in a state.
    pub(super) fn applies_in(&self, state: State) -> bool {
        self.states.contains(&state.number())
    }
}

use Input::{
    CoolValve, DuctStatic, DuctStaticSetpoint, FanSpeed, HeatValve, Indoor, Mixed, Outdoor, Supply,
    SupplySetpoint,
};

/// FC1 to FC15.
pub(super) static CONDITIONS: [FaultCondition; 15] = [
    FaultCondition {
        name: "FC1",
        states: &[1, 2, 3, 4, 5],
        inputs: &[DuctStatic, DuctStaticSetpoint, FanSpeed],
        description: "duct static pressure too low with the fan at full speed",
        equation: |it| {
            it.duct_static < it.duct_static_setpoint - ERROR_STATIC && it.fan_speed >= FULL_SPEED
        },
    },
    FaultCondition {
        name: "FC2",
        states: &[1, 2, 3, 4, 5],
        inputs: &[Mixed, Indoor, Outdoor],
        description: "mixed air colder than both outdoor and return air",
        equation: |it| {
            it.mixed + ERROR_MIXED < lesser(it.indoor - ERROR_RETURN, it.outdoor - ERROR_OUTDOOR)
        },
    },
    FaultCondition {
        name: "FC3",
        states: &[1, 2, 3, 4, 5],
        inputs: &[Mixed, Indoor, Outdoor],
        description: "mixed air warmer than both outdoor and return air",
        equation: |it| {
            it.mixed - ERROR_MIXED > greater(it.indoor + ERROR_RETURN, it.outdoor + ERROR_OUTDOOR)
        },
    },
    FaultCondition {
        name: "FC4",
        states: &[1, 2, 3, 4, 5],
        inputs: &[],
        description: "unstable control: the operating state changes too often",
        equation: |it| it.changes > MOST_CHANGES,
    },
    FaultCondition {
        name: "FC5",
        states: &[1],
        inputs: &[Supply, Mixed],
        description: "supply air no warmer than mixed air in heating",
        equation: |it| it.supply + ERROR_SUPPLY <= it.mixed - ERROR_MIXED + FAN_HEAT,
    },
    FaultCondition {
        name: "FC6",
        states: &[1, 4],
        inputs: &[Indoor, Outdoor],
        description: "outdoor-air fraction off its minimum",
        equation: |it| {
            (it.indoor - it.outdoor).abs() >= LEAST_DIFFERENCE
                && (it.fraction - it.minimum).abs() > ERROR_FRACTION
        },
    },
    FaultCondition {
        name: "FC7",
        states: &[1],
        inputs: &[Supply, SupplySetpoint, HeatValve],
        description: "supply air below its setpoint with the heating valve fully open",
        equation: |it| it.supply < it.supply_setpoint - ERROR_SUPPLY && it.heat_valve >= FULL_VALVE,
    },
    FaultCondition {
        name: "FC8",
        states: &[2],
        inputs: &[Supply, Mixed],
        description: "supply and mixed air differ in free cooling",
        equation: |it| (it.supply - FAN_HEAT - it.mixed).abs() > ERROR_SUPPLY_AND_MIXED,
    },
    FaultCondition {
        name: "FC9",
        states: &[2],
        inputs: &[Outdoor, SupplySetpoint],
        description: "outdoor air too warm for free cooling alone",
        equation: |it| it.outdoor - ERROR_OUTDOOR > it.supply_setpoint - FAN_HEAT + ERROR_SUPPLY,
    },
    FaultCondition {
        name: "FC10",
        states: &[3],
        inputs: &[Mixed, Outdoor],
        description: "mixed and outdoor air differ with the economizer open",
        equation: |it| (it.mixed - it.outdoor).abs() > ERROR_MIXED_AND_OUTDOOR,
    },
    FaultCondition {
        name: "FC11",
        states: &[3],
        inputs: &[Outdoor, SupplySetpoint],
        description: "outdoor air cold enough to need no mechanical cooling",
        equation: |it| it.outdoor + ERROR_OUTDOOR < it.supply_setpoint - FAN_HEAT - ERROR_SUPPLY,
    },
    FaultCondition {
        name: "FC12",
        states: &[2, 3, 4],
        inputs: &[Supply, Mixed],
        description: "supply air warmer than mixed air in cooling",
        equation: |it| it.supply - ERROR_SUPPLY - FAN_HEAT >= it.mixed + ERROR_MIXED,
    },
    FaultCondition {
        name: "FC13",
        states: &[3, 4],
        inputs: &[Supply, SupplySetpoint, CoolValve],
        description: "supply air above its setpoint with the cooling valve fully open",
        equation: |it| it.supply > it.supply_setpoint + ERROR_SUPPLY && it.cool_valve >= FULL_VALVE,
    },
    FaultCondition {
        name: "FC14",
        states: &[1, 2],
        // Judged only where mixed and supply air stand for the air at the coil, and so with the fan between.
        inputs: &[Mixed, Supply],
        description: "temperature drop across the cooling coil while it is shut",
        equation: |it| it.mixed - it.supply >= ERROR_SUPPLY_AND_MIXED - FAN_HEAT,
    },
    FaultCondition {
        name: "FC15",
        states: &[2, 3, 4],
        // Needs sensors at the heating coil, which no role of an air handler names together with the entering air.
        inputs: &[],
        description: "temperature rise across the heating coil while it is shut",
        equation: |_| false,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_readings_make_no_fault() {
        assert!(lesser(f64::NAN, 1.0).is_nan() && greater(1.0, f64::NAN).is_nan());
        assert_eq!((lesser(1.0, 2.0), greater(1.0, 2.0)), (1.0, 2.0));
        assert_eq!(ERROR_SUPPLY_AND_MIXED, 29.0_f64.sqrt());
        assert_eq!(ERROR_MIXED_AND_OUTDOOR, 50.0_f64.sqrt());
    }

    #[test]
    fn conditions_stand_in_order() {
        for (place, condition) in CONDITIONS.iter().enumerate() {
            assert_eq!(condition.name, format!("FC{}", place + 1));
        }
    }
}
