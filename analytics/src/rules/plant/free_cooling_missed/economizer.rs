//! Whether outdoor air helps a cooling coil as far as it can (Plant rules §1.11).

use crate::frame::Frame;
use crate::gates;
use crate::masks;

/// Damper positions from here on are full outdoor air (%).
pub const MIN_DAMPER_PCT: f64 = 90.0;
/// Shares of outdoor air from here on are full outdoor air (%).
pub const MIN_FRACTION_PCT: f64 = 80.0;
/// Return and outdoor air have to differ by that much before their mixture tells a share (°F).
pub const MIN_DELTA_F: f64 = 5.0;

/// Temperatures that tell the share of outdoor air.
#[derive(Debug, Clone, Copy)]
pub struct Mixing<'a> {
    pub mixed: &'a [f64],
    pub returned: &'a [f64],
    pub outdoor: &'a [f64],
}

impl<'a> Mixing<'a> {
    /// None when mixed or return air is not trended.
    pub fn of(frame: &Frame<'a>, outdoor: &'a [f64]) -> Option<Self> {
        Some(Self {
            mixed: frame.column("mixed_air_temp")?,
            returned: frame.column("return_air_temp")?,
            outdoor,
        })
    }

    /// Where return and outdoor air differ enough.
    pub fn is_telling(&self) -> Vec<bool> {
        masks::where_pair(self.returned, self.outdoor, |returned, outdoor| {
            (returned - outdoor).abs() >= MIN_DELTA_F
        })
    }

    /// Share of outdoor air in percent; of use where it is telling.
    pub fn fraction_pct(&self) -> Vec<f64> {
        self.returned
            .iter()
            .zip(self.mixed)
            .zip(self.outdoor)
            .map(|((returned, mixed), outdoor)| 100.0 * (returned - mixed) / (returned - outdoor))
            .collect()
    }
}

/// Samples with full outdoor air, by temperatures where they tell it and else by the damper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntegratedEconomizer {
    pub mask: Vec<bool>,
    /// `oa_fraction+damper`, `oa_fraction`, `damper`.
    pub basis: &'static str,
}

impl IntegratedEconomizer {
    /// None when neither a damper nor both temperatures are trended.
    pub fn of(frame: &Frame<'_>, outdoor: &[f64]) -> Option<Self> {
        let damper = frame.column("oa_damper").map(gates::percent);
        let mixing = Mixing::of(frame, outdoor);
        let basis = match (&damper, &mixing) {
            (Some(_), Some(_)) => "oa_fraction+damper",
            (None, Some(_)) => "oa_fraction",
            (Some(_), None) => "damper",
            (None, None) => return None,
        };
        let mut mask = match &damper {
            Some(damper) => masks::where_value(damper, |damper| damper >= MIN_DAMPER_PCT),
            None => vec![false; frame.len()],
        };
        if let Some(mixing) = mixing {
            let fractions = mixing.fraction_pct();
            let told = mixing.is_telling().into_iter().zip(fractions);
            for (full, (is_telling, fraction)) in mask.iter_mut().zip(told) {
                if is_telling {
                    *full = fraction >= MIN_FRACTION_PCT;
                }
            }
        }
        Some(Self { mask, basis })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::hourly;

    #[test]
    fn temperatures_overrule_the_damper_where_they_tell_a_share() {
        let outdoor = [45.0, 45.0, 70.0, 45.0];
        let mixed = [46.0, 70.0, 70.0, f64::NAN];
        let table = hourly(
            4,
            &[
                ("oa_damper", &|_| 1.0),
                ("mixed_air_temp", &|row| mixed[row]),
                ("return_air_temp", &|_| 72.0),
            ],
        );
        let found = IntegratedEconomizer::of(&Frame::whole(&table), &outdoor).unwrap();
        assert_eq!(found.mask, [true, false, true, false]);
        assert_eq!(found.basis, "oa_fraction+damper");
        let bare = hourly(4, &[("mixed_air_temp", &|_| 50.0)]);
        assert_eq!(
            IntegratedEconomizer::of(&Frame::whole(&bare), &outdoor),
            None
        );
    }
}
