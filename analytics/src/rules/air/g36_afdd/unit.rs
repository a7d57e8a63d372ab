//! An air handler as the fault conditions see it (Air rules §2.12, preparation, mode suspension, operating state).

use super::super::monthly::Monthly;
use crate::frame::Frame;
use crate::gates;
use crate::masks;
use crate::numeric;
use crate::parameters::Parameters;
use crate::wall_clock::{HOUR, MINUTE};

/// Samples of mechanical cooling from which the least damper position is learned.
const LEARNED_FROM: usize = 24;

/// Outdoor and return air closer than this, °F, tell no fraction.
const LEAST_DIFFERENCE: f64 = 1.0;

/// How the unit is run at a sample, by its valves and damper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// A reading is missing: no condition applies.
    Unclassified,
    Heating,
    FreeCooling,
    EconomizerAndMechanicalCooling,
    MechanicalCooling,
    Other,
}

impl State {
    /// Number by Guideline 36; 0 when it is not classified.
    pub(super) const fn number(self) -> u8 {
        match self {
            Self::Unclassified => 0,
            Self::Heating => 1,
            Self::FreeCooling => 2,
            Self::EconomizerAndMechanicalCooling => 3,
            Self::MechanicalCooling => 4,
            Self::Other => 5,
        }
    }
}

/// The heating coil of the unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeatingCoil {
    Present,
    /// Said to have none although a valve is trended.
    Ignored,
    /// Said to have none.
    Absent,
    /// Taken to have none, as no valve is trended.
    Assumed,
}

/// Where the least damper position is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DamperSource {
    NoDamper,
    Caller,
    Learned(usize),
    AssumedShut(usize),
}

/// The signals of the unit; temperatures and static pressure averaged. None: no sample at all.
#[derive(Default)]
pub(super) struct Signals {
    pub supply: Option<Vec<f64>>,
    pub mixed: Option<Vec<f64>>,
    pub indoor: Option<Vec<f64>>,
    pub outdoor: Option<Vec<f64>>,
    pub duct_static: Option<Vec<f64>>,
    pub duct_static_setpoint: Option<Vec<f64>>,
    pub fan_speed: Option<Vec<f64>>,
    pub supply_setpoint: Option<Vec<f64>>,
    pub heat_valve: Option<Vec<f64>>,
    pub cool_valve: Option<Vec<f64>>,
    pub damper: Option<Vec<f64>>,
    /// Percent of outdoor air, from the temperatures as they are.
    pub outdoor_fraction: Option<Vec<f64>>,
    pub minimum_outdoor: Option<Vec<f64>>,
}

/// The unit, sample by sample.
pub(super) struct Unit {
    pub stamps: Vec<i64>,
    /// Median gap of the stamps, nanoseconds.
    pub step: f64,
    pub fan_gate: &'static str,
    pub on: Vec<bool>,
    pub suspended: Vec<bool>,
    /// Fan on, not suspended, and occupied where that is asked for.
    pub evaluable: Vec<bool>,
    pub unoccupied: Vec<bool>,
    pub occupancy_gate: &'static str,
    pub has_mode: bool,
    pub states: Vec<State>,
    /// State changes within the last hour.
    pub changes: Vec<usize>,
    pub signals: Signals,
    pub coil: HeatingCoil,
    pub damper_minimum: f64,
    pub damper_source: DamperSource,
    /// Fan on, neither coil active, the damper no further open than its minimum.
    pub idle_at_minimum: Vec<bool>,
    /// Fan on, heating, the damper open beyond its minimum.
    pub heating_above_minimum: Vec<bool>,
}

impl Unit {
    /// Or why the unit cannot be judged.
    pub(super) fn of(frame: &Frame<'_>, parameters: &Parameters) -> Result<Self, &'static str> {
        let heat_valve = frame.with_data("heat_valve");
        let coil = match (parameters.value("heating_coil").as_bool(), heat_valve) {
            (Some(true), None) => {
                return Err(
                    "the unit is said to have a heating coil, and its valve is not trended, so its operating state is not known",
                );
            }
            (Some(false), Some(_)) => HeatingCoil::Ignored,
            (Some(false), None) => HeatingCoil::Absent,
            (None, None) => HeatingCoil::Assumed,
            (_, Some(_)) => HeatingCoil::Present,
        };
        let fan = gates::fan_on(frame)
            .ok_or("no fan status, speed or airflow tells when the unit runs")?;
        let stamps = frame.stamps();
        let step = numeric::median_step(stamps).unwrap_or_else(|| numeric::nanos(MINUTE));
        let modes = mode_codes(frame);
        let suspended = suspended(stamps, &fan.mask, modes.as_deref(), step, parameters);
        let running = masks::and_not(&fan.mask, &suspended);
        let (occupied, occupancy_gate) = occupancy(frame, parameters);
        let signals = Signals::of(frame, parameters, &fan.mask, coil);
        let damper = LeastDamper::of(&signals, &fan.mask, parameters);
        let limit: Vec<f64> = damper
            .position
            .at(stamps)
            .into_iter()
            .map(|position| position + parameters.number("oa_damper_tol"))
            .collect();
        let readings = Readings::of(&signals, &limit, parameters);
        let states = readings.states();
        let fan_on = |rows: Vec<bool>| masks::and(&fan.mask, &rows);
        Ok(Self {
            stamps: stamps.to_vec(),
            step,
            fan_gate: fan.source,
            evaluable: masks::and(&running, &occupied),
            unoccupied: masks::and_not(&running, &occupied),
            suspended: masks::and(&fan.mask, &suspended),
            occupancy_gate,
            has_mode: modes.is_some(),
            changes: changes_within_an_hour(stamps, &fan.mask, &states),
            idle_at_minimum: fan_on(
                readings.rows(|row| !row.heats() && !row.cools() && row.damper <= row.limit),
            ),
            heating_above_minimum: fan_on(
                readings.rows(|row| row.heats() && !row.cools() && row.damper > row.limit),
            ),
            states,
            on: fan.mask,
            coil,
            damper_minimum: damper.position.all_year,
            damper_source: damper.source,
            signals,
        })
    }

    /// Whether the unit has a heating coil that is judged.
    pub(super) fn has_heating_coil(&self) -> bool {
        self.coil == HeatingCoil::Present
    }

    /// Hours of a number of samples.
    pub(super) fn hours(&self, samples: usize) -> f64 {
        numeric::share_of(samples) * self.step / numeric::nanos(HOUR)
    }
}

impl Signals {
    fn of(frame: &Frame<'_>, parameters: &Parameters, on: &[bool], coil: HeatingCoil) -> Self {
        let window = parameters.number("avg_window_min") * numeric::nanos(MINUTE);
        let averaged = |role: &str| {
            frame
                .with_data(role)
                .map(|values| averaged(frame.stamps(), on, values, window))
        };
        let plain = |role: &str| frame.with_data(role).map(<[f64]>::to_vec);
        let percent = |role: &str| {
            frame
                .with_data(role)
                .map(|values| gates::percent(values).into_owned())
        };
        let minimum = parameters.optional("min_oa_pct").map(|all_year| {
            Monthly::of(all_year, parameters, "min_oa_pct_by_month").at(frame.stamps())
        });
        Self {
            supply: averaged("supply_air_temp"),
            mixed: averaged("mixed_air_temp"),
            indoor: averaged("return_air_temp"),
            outdoor: averaged("oat"),
            duct_static: averaged("duct_static"),
            duct_static_setpoint: plain("duct_static_sp"),
            fan_speed: percent("supply_fan_speed"),
            supply_setpoint: plain("supply_air_temp_sp"),
            heat_valve: percent("heat_valve").filter(|_| coil == HeatingCoil::Present),
            cool_valve: percent("cool_valve"),
            damper: percent("oa_damper"),
            outdoor_fraction: minimum.as_ref().and_then(|_| outdoor_fraction(frame)),
            minimum_outdoor: minimum,
        }
    }
}

/// Mean over the trailing window, of samples with the fan on.
fn averaged(stamps: &[i64], on: &[bool], values: &[f64], window: f64) -> Vec<f64> {
    let mut recent: std::collections::VecDeque<(i64, f64)> = std::collections::VecDeque::new();
    stamps
        .iter()
        .zip(on)
        .zip(values)
        .map(|((stamp, on), value)| {
            if !on {
                return f64::NAN;
            }
            if !value.is_nan() {
                recent.push_back((*stamp, *value));
            }
            while recent
                .front()
                .is_some_and(|(first, _)| numeric::nanos(stamp.saturating_sub(*first)) >= window)
            {
                recent.pop_front();
            }
            numeric::mean_of(recent.iter().map(|(_, value)| *value))
        })
        .collect()
}

/// Percent of outdoor air in the mixed air; NaN where outdoor and return air are alike.
fn outdoor_fraction(frame: &Frame<'_>) -> Option<Vec<f64>> {
    let mixed = frame.with_data("mixed_air_temp")?;
    let indoor = frame.with_data("return_air_temp")?;
    let outdoor = frame.with_data("oat")?;
    Some(
        mixed
            .iter()
            .zip(indoor)
            .zip(outdoor)
            .map(|((mixed, indoor), outdoor)| {
                let difference = outdoor - indoor;
                if difference.abs() >= LEAST_DIFFERENCE {
                    (100.0 * (mixed - indoor) / difference).clamp(-50.0, 150.0)
                } else {
                    f64::NAN
                }
            })
            .collect(),
    )
}

/// Occupancy, warm-up and cool-down as one code by row, none where one is missing; none at all when no point is trended.
fn mode_codes(frame: &Frame<'_>) -> Option<Vec<Option<u8>>> {
    let points: Vec<(&[f64], u8)> = [("occupancy", 1), ("warmup", 2), ("cooldown", 4)]
        .into_iter()
        .filter_map(|(role, weight)| Some((frame.with_data(role)?, weight)))
        .collect();
    if points.is_empty() {
        return None;
    }
    let mut codes = vec![Some(0); frame.len()];
    for (values, weight) in points {
        for (code, value) in codes.iter_mut().zip(values) {
            *code = match *code {
                Some(code) if !value.is_nan() => Some(code + if *value > 0.5 { weight } else { 0 }),
                _ => None,
            };
        }
    }
    Some(codes)
}

/// Samples soon after the fan started, a gap ended or the mode changed, in which nothing is judged.
fn suspended(
    stamps: &[i64],
    on: &[bool],
    modes: Option<&[Option<u8>]>,
    step: f64,
    parameters: &Parameters,
) -> Vec<bool> {
    let delay = parameters.number("mode_delay_min") * numeric::nanos(MINUTE);
    let mut before: Option<(i64, bool)> = None;
    let mut was_gap = false;
    let mut mode_before: Option<u8> = None;
    let mut event: Option<i64> = None;
    stamps
        .iter()
        .zip(on)
        .enumerate()
        .map(|(row, (stamp, on))| {
            let mode = modes.and_then(|modes| modes.get(row).copied().flatten());
            let starts = *on && before.is_some_and(|(_, was_on)| !was_on);
            was_gap |= before
                .is_some_and(|(last, _)| numeric::nanos(stamp.saturating_sub(last)) > 1.5 * step);
            let changes = *on
                && mode
                    .zip(mode_before)
                    .is_some_and(|(mode, before)| mode != before);
            if starts || (*on && was_gap) || changes {
                event = Some(*stamp);
            }
            if *on {
                was_gap = false;
            }
            mode_before = mode;
            before = Some((*stamp, *on));
            event.is_some_and(|event| numeric::nanos(stamp.saturating_sub(event)) < delay)
        })
        .collect()
}

/// The occupied samples, and what tells them.
fn occupancy(frame: &Frame<'_>, parameters: &Parameters) -> (Vec<bool>, &'static str) {
    if parameters.word("occupancy_gate") != Some("trended") {
        return (vec![true; frame.len()], "off");
    }
    match frame.with_data("occupancy") {
        Some(occupancy) => (
            masks::where_value(occupancy, |value| value > 0.5),
            "trended occupancy",
        ),
        None => (vec![true; frame.len()], "none trended (fan-on hours only)"),
    }
}

/// The damper position below which it is shut for this unit.
struct LeastDamper {
    position: Monthly,
    source: DamperSource,
}

impl LeastDamper {
    fn of(signals: &Signals, on: &[bool], parameters: &Parameters) -> Self {
        let constant = |all_year| Monthly {
            all_year,
            by_month: [None; 12],
        };
        let Some(damper) = &signals.damper else {
            return Self {
                position: constant(0.0),
                source: DamperSource::NoDamper,
            };
        };
        if let Some(given) = parameters.optional("oa_damper_min") {
            return Self {
                position: Monthly::of(given, parameters, "oa_damper_min_by_month"),
                source: DamperSource::Caller,
            };
        }
        let threshold = parameters.number("valve_thr");
        let open = parameters.number("econ_damper_open");
        let is_active = |valve: &Option<Vec<f64>>| match valve {
            Some(valve) => masks::where_value(valve, |value| value > threshold),
            None => vec![false; on.len()],
        };
        let mut rows = masks::and(on, &is_active(&signals.cool_valve));
        rows = masks::and_not(&rows, &is_active(&signals.heat_valve));
        rows = masks::and(&rows, &masks::where_value(damper, |value| value < open));
        let positions = masks::picked_values(damper, &rows);
        if positions.len() >= LEARNED_FROM {
            return Self {
                source: DamperSource::Learned(positions.len()),
                position: constant(numeric::median(&positions)),
            };
        }
        Self {
            source: DamperSource::AssumedShut(positions.len()),
            position: constant(0.0),
        }
    }
}

/// Valves and damper of one row; an absent valve is shut.
struct Reading {
    heating: f64,
    cooling: f64,
    damper: f64,
    limit: f64,
    threshold: f64,
}

impl Reading {
    fn heats(&self) -> bool {
        self.heating > self.threshold
    }

    fn cools(&self) -> bool {
        self.cooling > self.threshold
    }
}

struct Readings<'a> {
    signals: &'a Signals,
    limit: &'a [f64],
    threshold: f64,
    open: f64,
}

impl<'a> Readings<'a> {
    fn of(signals: &'a Signals, limit: &'a [f64], parameters: &Parameters) -> Self {
        Self {
            signals,
            limit,
            threshold: parameters.number("valve_thr"),
            open: parameters.number("econ_damper_open"),
        }
    }

    fn rows(&self, holds: impl Fn(&Reading) -> bool) -> Vec<bool> {
        self.readings().map(|reading| holds(&reading)).collect()
    }

    fn readings(&self) -> impl Iterator<Item = Reading> + '_ {
        let at = |column: &Option<Vec<f64>>, row: usize, absent: f64| match column {
            Some(values) => values.get(row).copied().unwrap_or(f64::NAN),
            None => absent,
        };
        self.limit
            .iter()
            .enumerate()
            .map(move |(row, limit)| Reading {
                heating: at(&self.signals.heat_valve, row, 0.0),
                cooling: at(&self.signals.cool_valve, row, 0.0),
                damper: at(&self.signals.damper, row, f64::NAN),
                limit: *limit,
                threshold: self.threshold,
            })
    }

    fn states(&self) -> Vec<State> {
        let has_damper = self.signals.damper.is_some();
        self.readings()
            .map(|reading| self.state(&reading, has_damper))
            .collect()
    }

    fn state(&self, reading: &Reading, has_damper: bool) -> State {
        if reading.heating.is_nan() || reading.cooling.is_nan() {
            return State::Unclassified;
        }
        let is_damper_lost = has_damper && reading.damper.is_nan();
        match (reading.heats(), reading.cools()) {
            (true, true) => State::Other,
            (false, true) if reading.damper >= self.open => State::EconomizerAndMechanicalCooling,
            (false, true) => State::MechanicalCooling,
            _ if is_damper_lost => State::Unclassified,
            (true, false) if !has_damper || reading.damper <= reading.limit => State::Heating,
            (false, false) if !has_damper || reading.damper > reading.limit => State::FreeCooling,
            _ => State::Other,
        }
    }
}

/// How often the state changed between samples with the fan on within the hour before each of them.
fn changes_within_an_hour(stamps: &[i64], on: &[bool], states: &[State]) -> Vec<usize> {
    let mut before: Option<State> = None;
    let mut recent: std::collections::VecDeque<i64> = std::collections::VecDeque::new();
    stamps
        .iter()
        .zip(on)
        .zip(states)
        .map(|((stamp, on), state)| {
            if !on {
                return 0;
            }
            if before.is_some_and(|before| before != *state) {
                recent.push_back(*stamp);
            }
            before = Some(*state);
            while recent
                .front()
                .is_some_and(|first| stamp.saturating_sub(*first) >= HOUR)
            {
                recent.pop_front();
            }
            recent.len()
        })
        .collect()
}
