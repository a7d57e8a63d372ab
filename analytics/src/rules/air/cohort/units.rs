//! One figure per unit, and how far it lies from those of the others (Air rules §2.5; Engine §4.7).

use super::Limits;
use crate::numeric;
use crate::parameters::Parameters;
use crate::rules::FleetFrames;

/// What is taken of each unit's samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Summary {
    Mean,
    Peak,
    LoadFactor,
    Variability,
}

impl Summary {
    pub(super) fn of(parameters: &Parameters) -> Self {
        match parameters.word("summary") {
            Some("peak") => Self::Peak,
            Some("load_factor") => Self::LoadFactor,
            Some("variability") => Self::Variability,
            _ => Self::Mean,
        }
    }

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Peak => "peak",
            Self::LoadFactor => "load_factor",
            Self::Variability => "variability",
        }
    }

    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Peak => "peak",
            Self::LoadFactor => "mean share of the peak of",
            Self::Variability => "variability of",
        }
    }

    fn value(self, samples: &[f64]) -> f64 {
        match self {
            Self::Mean => numeric::mean(samples),
            Self::Peak => numeric::max(samples),
            Self::LoadFactor => match numeric::max(samples) {
                0.0 => f64::NAN,
                peak => numeric::mean(samples) / peak,
            },
            Self::Variability => numeric::std_population(samples),
        }
    }
}

/// A unit with its figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Unit<'a> {
    pub equip: &'a str,
    pub value: f64,
}

/// Figures of the units that have one, in the order of the run.
pub(super) fn values<'a>(fleet: &FleetFrames<'a>, role: &str, summary: Summary) -> Vec<Unit<'a>> {
    fleet
        .frames
        .iter()
        .filter_map(|frame| {
            Some(Unit {
                equip: frame.equip(),
                value: summary.value(frame.column(role)?),
            })
        })
        .filter(|unit| unit.value.is_finite())
        .collect()
}

/// How far each unit of a cohort lies from the middle.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scores {
    pub median: f64,
    pub mad: f64,
    /// Per unit, in robust standard deviations.
    pub z: Vec<f64>,
    deviations: Vec<f64>,
}

/// Factors that turn a median and a mean absolute deviation into a standard deviation of a normal distribution.
const MAD_TO_SIGMA: f64 = 1.4826;
const MEAN_AD_TO_SIGMA: f64 = 1.2533;

impl Scores {
    pub(super) fn of(units: &[Unit<'_>]) -> Self {
        let values: Vec<f64> = units.iter().map(|unit| unit.value).collect();
        let median = numeric::median(&values);
        let mad = numeric::mad(&values);
        let scale = if mad > 0.0 {
            MAD_TO_SIGMA * mad
        } else {
            MEAN_AD_TO_SIGMA * numeric::mean_ad(&values)
        };
        let deviations: Vec<f64> = values.iter().map(|value| value - median).collect();
        let z = deviations
            .iter()
            .map(
                |deviation| {
                    if scale > 0.0 { deviation / scale } else { 0.0 }
                },
            )
            .collect();
        Self {
            median,
            mad,
            z,
            deviations,
        }
    }

    /// Names of the outliers, in the order of the units.
    pub(super) fn outliers(&self, units: &[Unit<'_>], limits: &Limits) -> Vec<String> {
        units
            .iter()
            .zip(&self.z)
            .zip(&self.deviations)
            .filter(|((_, z), deviation)| limits.is_outlier(**z, **deviation))
            .map(|((unit, _), _)| unit.equip.to_owned())
            .collect()
    }

    /// Robust spread as a fraction of the median; none below two units or around 0.
    pub(super) fn spread(&self) -> Option<f64> {
        (self.z.len() >= 2 && self.median != 0.0)
            .then(|| numeric::round(MAD_TO_SIGMA * self.mad / self.median.abs(), 3))
    }
}
