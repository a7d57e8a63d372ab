//! An axis: its ends, and where it has ticks.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

/// Numbers further from zero are no measurements; picture and ticks would be meaningless.
pub(super) const LARGEST: f64 = 1e12;

/// Ticks are computed; more would only be drawn over each other.
const MOST_TICKS: usize = 100;

/// Beyond these a number is written with an exponent.
const LONG_NUMBER: f64 = 1e7;
const SHORT_STEP: f64 = 1e-6;

/// Where an axis has a line and a label.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tick {
    pub at: f64,
    pub label: String,
}

/// An axis from `low` to `high`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scale {
    pub low: f64,
    pub high: f64,
    pub ticks: Vec<Tick>,
}

impl Scale {
    /// Numbers of a quantity, with a margin of a twentieth above and below, and ticks at round numbers.
    pub fn around(low: f64, high: f64, most_ticks: usize) -> Self {
        let (low, high) = if low.is_finite() && high.is_finite() && low <= high {
            (low.clamp(-LARGEST, LARGEST), high.clamp(-LARGEST, LARGEST))
        } else {
            (0.0, 1.0)
        };
        // Equal numbers still get an axis with a middle; differences beyond the digits of a float are no picture.
        let least = (low.abs().max(high.abs()) * 1e-6).max(1e-9);
        let margin = if high - low < least {
            (low.abs() * 0.05).max(1.0)
        } else {
            (high - low) * 0.05
        };
        Self::between(low - margin, high + margin, most_ticks)
    }

    /// States: 0 and 1.
    pub fn states() -> Self {
        let tick = |at: f64, label: &str| Tick {
            at,
            label: label.to_owned(),
        };
        Self {
            low: -0.15,
            high: 1.15,
            ticks: vec![tick(0.0, "0"), tick(1.0, "1")],
        }
    }

    /// Exactly these ends, which differ, and ticks at round numbers.
    pub fn between(low: f64, high: f64, most_ticks: usize) -> Self {
        let step = round_step((high - low) / most_ticks.clamp(1, MOST_TICKS) as f64);
        let decimals = usize::try_from(-(step.log10() + 1e-9).floor() as i64).unwrap_or(0);
        let is_long = low.abs().max(high.abs()) >= LONG_NUMBER || step < SHORT_STEP;
        let first = (low / step).ceil();
        let ticks = (0..MOST_TICKS)
            .map(|number| (first + number as f64) * step)
            .take_while(|at| *at <= high)
            .map(|at| {
                // Zero without a sign, whatever the rounding left of it.
                let at = if at.abs() < step / 2.0 { 0.0 } else { at };
                let label = match is_long {
                    true => format!("{at:.3e}"),
                    false => format!("{at:.decimals$}"),
                };
                Tick { at, label }
            })
            .collect();
        Self { low, high, ticks }
    }
}

/// The smallest of 1, 2, 5 times a power of ten that is not below `least`.
fn round_step(least: f64) -> f64 {
    if !least.is_finite() || least <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0]
        .into_iter()
        .map(|digit| digit * power)
        .find(|step| *step >= least * (1.0 - 1e-9))
        .unwrap_or(10.0 * power)
}

impl Ranged for Scale {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        let share = (value - self.low) / (self.high - self.low);
        // A little beyond both ends is enough to leave the picture; `as` saturates.
        let share = if share.is_nan() {
            0.0
        } else {
            share.clamp(-0.1, 1.1)
        };
        from.saturating_add((f64::from(to.saturating_sub(from)) * share).round() as i32)
    }

    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<f64> {
        self.ticks.iter().map(|tick| tick.at).collect()
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for Scale {
    fn format(value: &f64) -> String {
        value.to_string()
    }

    fn format_ext(&self, value: &f64) -> String {
        let tick = self.ticks.iter().find(|tick| tick.at == *value);
        tick.map_or_else(|| Self::format(value), |tick| tick.label.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: &Scale) -> Vec<&str> {
        scale.ticks.iter().map(|tick| tick.label.as_str()).collect()
    }

    #[test]
    fn ticks_lie_at_round_numbers() {
        assert_eq!(
            labels(&Scale::around(52.0, 75.0, 6)),
            ["55", "60", "65", "70", "75"]
        );
        assert_eq!(
            labels(&Scale::around(0.0, 0.3, 4)),
            ["0.0", "0.1", "0.2", "0.3"]
        );
        assert_eq!(labels(&Scale::around(-10.0, 10.0, 4)), ["-10", "0", "10"]);
        assert_eq!(
            labels(&Scale::around(0.0, 4e7, 4)),
            ["0.000e0", "2.000e7", "4.000e7"]
        );
    }

    #[test]
    fn every_two_numbers_make_an_axis_with_ticks() {
        for (low, high) in [
            (5.0, 5.0),
            (0.0, 0.0),
            (f64::NAN, 1.0),
            (f64::NEG_INFINITY, f64::INFINITY),
            (1e300, 1e301),
            (-1e300, 1e300),
            (1e11, 1e11 + 1e-5),
            (1e-300, 2e-300),
            (3.0, 1.0),
        ] {
            let scale = Scale::around(low, high, 6);
            assert!(scale.high > scale.low, "{low} {high} {scale:?}");
            assert!(
                (1..MOST_TICKS).contains(&scale.ticks.len()),
                "{low} {high} {scale:?}"
            );
        }
    }

    #[test]
    fn values_map_to_pixels_and_never_far_beyond_the_ends() {
        let scale = Scale::between(0.0, 10.0, 5);
        assert_eq!(scale.map(&2.5, (0, 400)), 100);
        assert_eq!(scale.map(&2.5, (400, 0)), 300);
        assert_eq!(scale.map(&f64::INFINITY, (0, 400)), 440);
        assert_eq!(scale.map(&f64::NAN, (0, 400)), 0);
    }
}
