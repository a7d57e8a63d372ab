//! Which way a heat pump works, and what its zone needs (Plant rules §1.12).

use crate::finding::{Judgement, Metrics, Verdict};
use crate::frame::Frame;
use crate::masks;
use crate::occupancy::{self, Schedule};
use crate::parameters::Parameters;

/// A run of cooling may be longer than a defrost by that many minutes of rounding.
const ROUNDING_MIN: f64 = 1e-9;

/// What a unit does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Heating,
    Cooling,
    Neither,
}

/// What modes are told from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModeSource {
    /// Compressor and reversing valve.
    Status,
    /// Discharge air against the zone.
    Discharge,
}

impl ModeSource {
    /// The word of metrics.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Discharge => "discharge_vs_zone",
        }
    }
}

/// The modes of a unit, one per row; none where it is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Modes {
    pub modes: Vec<Option<Mode>>,
    /// Rows that look like cooling and are counted as heating: a defrost.
    pub defrost: Vec<bool>,
    pub source: ModeSource,
}

impl Modes {
    /// The modes of a frame; none without supply air or zone.
    pub fn of(frame: &Frame<'_>, parameters: &Parameters) -> Option<Self> {
        let status = frame
            .column("compressor_status")
            .zip(frame.column("reversing_valve_cmd"));
        let (source, mut modes) = match status {
            Some((compressor, valve)) => (ModeSource::Status, by_status(compressor, valve)),
            None => (ModeSource::Discharge, by_discharge(frame, parameters)?),
        };
        if let Some(fan) = frame.column("supply_fan_status") {
            for (mode, fan) in modes.iter_mut().zip(fan) {
                if *fan < 0.5 {
                    *mode = Some(Mode::Neither);
                }
            }
        }
        let defrost = match source {
            ModeSource::Status => defrost(
                &modes,
                step_hours(frame) * 60.0,
                parameters.number("max_defrost_min"),
            ),
            ModeSource::Discharge => vec![false; modes.len()],
        };
        for (mode, defrost) in modes.iter_mut().zip(&defrost) {
            if *defrost {
                *mode = Some(Mode::Heating);
            }
        }
        Some(Self {
            modes,
            defrost,
            source,
        })
    }

    /// Rows of one mode.
    pub fn are(&self, wanted: Mode) -> Vec<bool> {
        self.modes
            .iter()
            .map(|mode| *mode == Some(wanted))
            .collect()
    }

    /// Rows whose mode is known.
    pub fn known(&self) -> Vec<bool> {
        self.modes.iter().map(Option::is_some).collect()
    }
}

fn by_status(compressor: &[f64], valve: &[f64]) -> Vec<Option<Mode>> {
    compressor
        .iter()
        .zip(valve)
        .map(|(compressor, valve)| match (compressor, valve) {
            (compressor, valve) if compressor.is_nan() || valve.is_nan() => None,
            (compressor, _) if *compressor <= 0.5 => Some(Mode::Neither),
            (_, valve) if *valve > 0.5 => Some(Mode::Heating),
            _ => Some(Mode::Cooling),
        })
        .collect()
}

fn by_discharge(frame: &Frame<'_>, parameters: &Parameters) -> Option<Vec<Option<Mode>>> {
    let (rise, drop) = (
        parameters.number("heat_rise_f"),
        parameters.number("cool_drop_f"),
    );
    let air = frame.column("supply_air_temp")?;
    let zone = frame.column("space_temp")?;
    let modes = air.iter().zip(zone).map(|(air, zone)| {
        let warmer = air - zone;
        match warmer {
            _ if warmer.is_nan() => None,
            _ if warmer >= rise => Some(Mode::Heating),
            _ if warmer <= -drop => Some(Mode::Cooling),
            _ => Some(Mode::Neither),
        }
    });
    Some(modes.collect())
}

/// Runs of cooling between heating that are no longer than a defrost.
fn defrost(modes: &[Option<Mode>], step_min: f64, longest_min: f64) -> Vec<bool> {
    let mut found = vec![false; modes.len()];
    if modes.len() < 3 || !(longest_min > 0.0) {
        return found;
    }
    let heats = |row: usize| modes.get(row) == Some(&Some(Mode::Heating));
    let mut first = 0;
    for run in modes.chunk_by(|one, next| one == next) {
        let end = first + run.len();
        let cools = run.first() == Some(&Some(Mode::Cooling));
        let minutes = crate::numeric::share_of(run.len()) * step_min;
        let is_short = minutes <= longest_min + ROUNDING_MIN;
        if cools && is_short && first > 0 && heats(first - 1) && heats(end) {
            for row in found.iter_mut().take(end).skip(first) {
                *row = true;
            }
        }
        first = end;
    }
    found
}

/// Median gap of the rows in hours; one hour for fewer than two.
pub fn step_hours(frame: &Frame<'_>) -> f64 {
    match frame.step_hours() {
        step if step > 0.0 => step,
        _ => 1.0,
    }
}

/// Occupied rows, and what is to be said of them. Trended occupancy narrows the schedule, also when it has no sample.
pub fn occupied(frame: &Frame<'_>) -> (Vec<bool>, Option<String>) {
    let mut mask = occupancy::scheduled_without_preparation(frame, &Schedule::default());
    match frame.column("occupancy") {
        Some(occupancy) => {
            masks::narrow(
                &mut mask,
                &masks::where_value(occupancy, |value| value > 0.5),
            );
            (mask, None)
        }
        None => (
            mask,
            Some(
                "No occupancy is trended: weekdays 07:00 to 18:00 were taken as occupied."
                    .to_owned(),
            ),
        ),
    }
}

/// Everything that the rules of one unit judge.
pub struct Unit {
    pub modes: Modes,
    /// Occupied rows with mode and zone.
    pub valid: Vec<bool>,
    /// The zone is below its heating band, or above its cooling band.
    pub cold: Vec<bool>,
    pub hot: Vec<bool>,
    pub step_hours: f64,
    pub caveats: Vec<String>,
}

impl Unit {
    /// The unit of a frame; none without supply air or zone.
    pub fn of(frame: &Frame<'_>, parameters: &Parameters) -> Option<Self> {
        let zone = frame.column("space_temp")?;
        let modes = Modes::of(frame, parameters)?;
        let (occupied, no_occupancy) = occupied(frame);
        let mut valid = masks::and(&occupied, &modes.known());
        masks::narrow(&mut valid, &masks::present(zone));
        let beyond = parameters.number("band_tol_f");
        let (heating, cooling) = (frame.column("heat_sp"), frame.column("cool_sp"));
        let (assumed_heating, assumed_cooling) = (
            parameters.number("heat_sp_f"),
            parameters.number("cool_sp_f"),
        );
        let cold = match heating {
            Some(setpoint) => masks::where_pair(zone, setpoint, |zone, sp| zone < sp - beyond),
            None => masks::where_value(zone, |zone| zone < assumed_heating - beyond),
        };
        let hot = match cooling {
            Some(setpoint) => masks::where_pair(zone, setpoint, |zone, sp| zone > sp + beyond),
            None => masks::where_value(zone, |zone| zone > assumed_cooling + beyond),
        };
        let assumed: Vec<String> = [
            (heating, "heating", assumed_heating),
            (cooling, "cooling", assumed_cooling),
        ]
        .into_iter()
        .filter(|(column, ..)| column.is_none())
        .map(|(_, side, value)| format!("{side} {value} °F"))
        .collect();
        let assumed = (!assumed.is_empty()).then(|| {
            format!(
                "Zone setpoints are not all trended; taken as {}.",
                assumed.join(", ")
            )
        });
        Some(Self {
            modes,
            valid,
            cold,
            hot,
            step_hours: step_hours(frame),
            caveats: assumed.into_iter().chain(no_occupancy).collect(),
        })
    }
}

/// A unit with water coils is no heat pump: valves for water, and nothing of a compressor.
fn coil_valves(frame: &Frame<'_>) -> Vec<&'static str> {
    if frame.has("compressor_status") || frame.has("reversing_valve_cmd") {
        return Vec::new();
    }
    ["heat_valve", "cool_valve"]
        .into_iter()
        .filter(|role| frame.has(role))
        .collect()
}

/// The decline of a unit with water coils, or none.
pub fn coil_decline(frame: &Frame<'_>) -> Option<Verdict> {
    let valves = coil_valves(frame);
    (!valves.is_empty()).then(|| {
        let reason = format!(
            "it has {} and no compressor or reversing valve: a hydronic coil unit, no heat pump",
            valves.join(" and ")
        );
        decline(
            frame,
            &reason,
            "A unit with water coils is judged by the rules of its coils.",
        )
    })
}

/// The decline of a unit without anything to judge.
pub fn empty_decline(frame: &Frame<'_>) -> Verdict {
    decline(
        frame,
        "no occupied sample has both a mode and a zone temperature",
        "Nothing is known of a unit without occupied samples of mode and zone temperature.",
    )
}

/// The evidence of a rule of one unit that flags no single samples; none for a unit that it declines.
pub fn judge_whole_period(
    frame: &Frame<'_>,
    parameters: &Parameters,
    note: &str,
) -> Option<Judgement> {
    let is_judged =
        coil_valves(frame).is_empty() && Unit::of(frame, parameters)?.valid.contains(&true);
    is_judged.then(|| Judgement::whole_period(note))
}

fn decline(frame: &Frame<'_>, reason: &str, caveat: &str) -> Verdict {
    let mut metrics = Metrics::new();
    metrics.set("declined", true).set("reason", reason);
    Verdict::info(metrics, format!("{}: not judged: {reason}.", frame.equip())).with_caveat(caveat)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::plant::hp_mode_vs_need;
    use crate::rules::testing::{Column, every, parameters};
    use crate::wall_clock::HOUR;

    /// Letters of modes: `h`, `c`, `-` neither, `?` unknown.
    fn modes(columns: &[Column<'_>], rows: usize, set: serde_json::Value) -> String {
        let table = every(HOUR / 12, rows, columns);
        let parameters = parameters(&hp_mode_vs_need::RULE, set);
        let modes = Modes::of(&Frame::whole(&table), &parameters).unwrap();
        modes
            .modes
            .iter()
            .map(|mode| match mode {
                Some(Mode::Heating) => 'h',
                Some(Mode::Cooling) => 'c',
                Some(Mode::Neither) => '-',
                None => '?',
            })
            .collect()
    }

    #[test]
    fn a_short_reversal_between_heating_is_a_defrost() {
        let valve = |row: usize| [1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0][row];
        let columns: &[Column<'_>] = &[
            ("compressor_status", &|_| 1.0),
            ("reversing_valve_cmd", &valve),
        ];
        // Ten minutes are a defrost, twenty are not, and one at the end may be the beginning of cooling.
        assert_eq!(modes(columns, 10, json!({})), "hhhhcccchc");
        assert_eq!(
            modes(columns, 10, json!({"max_defrost_min": 0.0})),
            "hcchcccchc"
        );
    }

    #[test]
    fn discharge_air_tells_the_mode_and_a_stopped_fan_ends_it() {
        let air = |row: usize| [90.0, 55.0, 70.0, f64::NAN, 90.0, f64::NAN][row];
        let fan = |row: usize| [1.0, f64::NAN, 1.0, 1.0, 0.0, 0.0][row];
        let columns: &[Column<'_>] = &[
            ("supply_air_temp", &air),
            ("space_temp", &|_| 70.0),
            ("supply_fan_status", &fan),
        ];
        assert_eq!(modes(columns, 6, json!({})), "hc-?--");
    }
}
