//! When an air handler brings in outdoor air for cooling rather than for people (Air rules §2.3, ECONMODE).

use crate::frame::Frame;
use crate::gates;
use crate::masks;
use crate::numeric;

/// Least difference of return and outdoor air that tells a share of outdoor air (°F).
const MIN_DELTA: f64 = 5.0;
/// Share of outdoor air, and damper position, that mean full outdoor air (%).
const FULL_SHARE_PCT: f64 = 80.0;
const FULL_DAMPER_PCT: f64 = 90.0;
/// Damper positions below are closed; above the minimum by more than the other is economizing (%).
const CLOSED_PCT: f64 = 0.5;
const ABOVE_MINIMUM_PCT: f64 = 5.0;

/// Economizing samples, and what shows them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EconomizerMode {
    pub mask: Vec<bool>,
    /// `econ_cmd`, `oat_damper`.
    pub basis: &'static str,
}

/// What is known beforehand of an economizer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EconomizerSetting {
    /// Outdoor temperature from which it is locked out (°F).
    pub high_limit_f: f64,
    /// Minimum position of the damper (%); found in the samples when it is not known.
    pub damper_min_pct: Option<f64>,
}

/// Economizing samples of a frame; none when no signal shows them.
pub fn economizer_mode(frame: &Frame<'_>, setting: EconomizerSetting) -> Option<EconomizerMode> {
    if let Some(command) = frame.column("econ_cmd") {
        return Some(EconomizerMode {
            mask: masks::where_value(command, |command| command > 0.0),
            basis: "econ_cmd",
        });
    }
    let oat = frame.column("oat")?;
    let damper = frame.column("oa_damper").map(gates::percent);
    let mixing = frame
        .column("mixed_air_temp")
        .zip(frame.column("return_air_temp"));
    if damper.is_none() && mixing.is_none() {
        return None;
    }
    let minimum = damper
        .as_deref()
        .map(|damper| minimum_position(frame, damper, setting.damper_min_pct));
    let mask = (0..frame.len())
        .map(|row| {
            let at = |values: &[f64]| values.get(row).copied().unwrap_or(f64::NAN);
            let outdoor = at(oat);
            if !(outdoor < setting.high_limit_f) {
                return false;
            }
            let position = damper.as_deref().map_or(f64::NAN, at);
            if position > minimum.unwrap_or(f64::NAN) + ABOVE_MINIMUM_PCT {
                return true;
            }
            match mixing.map(|(mixed, returned)| (at(mixed), at(returned))) {
                Some((mixed, returned)) if (returned - outdoor).abs() >= MIN_DELTA => {
                    100.0 * (returned - mixed) / (returned - outdoor) >= FULL_SHARE_PCT
                }
                _ => position >= FULL_DAMPER_PCT,
            }
        })
        .collect();
    Some(EconomizerMode {
        mask,
        basis: "oat_damper",
    })
}

/// The configured minimum, or the 5th percentile of the positions that are open; missing without any.
fn minimum_position(frame: &Frame<'_>, damper: &[f64], configured: Option<f64>) -> f64 {
    if let Some(configured) = configured {
        return configured;
    }
    let fan = frame.column("supply_fan_status");
    let mut open: Vec<f64> = damper
        .iter()
        .enumerate()
        .filter(|(row, position)| {
            let is_on = fan.is_none_or(|fan| fan.get(*row).is_some_and(|status| *status > 0.5));
            is_on && **position > CLOSED_PCT
        })
        .map(|(_, position)| *position)
        .collect();
    open.sort_unstable_by(f64::total_cmp);
    numeric::quantile_sorted(&open, 0.05)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{Column, hourly};

    const SETTING: EconomizerSetting = EconomizerSetting {
        high_limit_f: 75.0,
        damper_min_pct: None,
    };

    fn mode(columns: &[Column<'_>]) -> Option<(&'static str, Vec<bool>)> {
        let table = hourly(4, columns);
        economizer_mode(&Frame::whole(&table), SETTING).map(|mode| (mode.basis, mode.mask))
    }

    #[test]
    fn a_command_decides_alone() {
        let command = |row: usize| [0.0, 0.2, f64::NAN, 1.0][row];
        assert_eq!(
            mode(&[("econ_cmd", &command), ("oat", &|_| 99.0)]),
            Some(("econ_cmd", vec![false, true, false, true]))
        );
    }

    #[test]
    fn a_damper_above_its_minimum_in_mild_air_economizes() {
        let damper = |row: usize| [20.0, 20.0, 60.0, 60.0][row];
        let oat = |row: usize| [60.0, 60.0, 60.0, 80.0][row];
        assert_eq!(
            mode(&[("oat", &oat), ("oa_damper", &damper)]),
            Some(("oat_damper", vec![false, false, true, false]))
        );
        assert_eq!(mode(&[("oat", &oat)]), None);
        assert_eq!(mode(&[("oat", &oat), ("mixed_air_temp", &|_| 60.0)]), None);
    }

    #[test]
    fn full_outdoor_air_shows_in_the_temperatures() {
        let mixed = |row: usize| [51.0, 70.0, f64::NAN, 51.0][row];
        let found = mode(&[
            ("oat", &|_| 50.0),
            ("mixed_air_temp", &mixed),
            ("return_air_temp", &|_| 72.0),
            // At its minimum all the time; 95 % would be full outdoor air without temperatures.
            ("oa_damper", &|_| 95.0),
        ]);
        assert_eq!(found, Some(("oat_damper", vec![true, false, false, true])));
    }
}
