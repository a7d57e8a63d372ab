//! The samples of a zone that show its ventilation (Air rules §2.3).

use crate::frame::Frame;
use crate::numeric;
use crate::occupancy::{self, OccupancyBasis, Schedule};
use crate::rules::air::economizer_mode::EconomizerMode;

/// Rise above outdoor air that means too little ventilation, and below which there is more than enough (ppm).
pub(super) const HIGH_RISE: f64 = 700.0;
const LOW_RISE: f64 = 150.0;
/// Outdoor CO2 when no plausible sample tells it (ppm).
const ASSUMED_OUTDOOR: f64 = 420.0;

pub(super) fn is_high(rise: f64) -> bool {
    rise > HIGH_RISE
}

pub(super) fn is_near(rise: f64) -> bool {
    rise < LOW_RISE
}

/// What is known of free cooling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Evidence {
    /// It is not to be left out.
    Disabled,
    /// No signal shows it.
    None,
    /// A mask over the rows of the zone, and the air handler whose it is when it is another's.
    Mode {
        mode: EconomizerMode,
        source: Option<String>,
    },
}

/// One occupied sample with a plausible level.
pub(super) struct Sample {
    pub row: usize,
    pub rise: f64,
    pub is_economizing: bool,
}

/// Occupied samples with a plausible level.
pub(super) struct Zone {
    pub rows: Vec<usize>,
    levels: Vec<f64>,
    pub outdoor: f64,
    /// Whether each sample is free cooling; none when that is not known.
    pub economizing: Option<Vec<bool>>,
    pub is_trended: bool,
}

impl Zone {
    pub(super) fn of(frame: &Frame<'_>, evidence: &Evidence) -> Self {
        let occupied = occupancy::effective(frame, &Schedule::default(), false);
        let (rows, levels): (Vec<usize>, Vec<f64>) = frame
            .column("co2")
            .unwrap_or_default()
            .iter()
            .zip(&occupied.mask)
            .enumerate()
            .filter(|(_, (level, occupied))| **occupied && (250.0..=5000.0).contains(*level))
            .map(|(row, (level, _))| (row, *level))
            .unzip();
        let mut outdoor: Vec<f64> = frame
            .column("outdoor_co2")
            .map(|outdoor| {
                rows.iter()
                    .filter_map(|row| outdoor.get(*row).copied())
                    .filter(|level| (300.0..=700.0).contains(level))
                    .collect()
            })
            .unwrap_or_default();
        let outdoor = if outdoor.is_empty() {
            ASSUMED_OUTDOOR
        } else {
            numeric::median_in_place(&mut outdoor)
        };
        let economizing = match evidence {
            Evidence::Mode { mode, .. } => Some(
                rows.iter()
                    .map(|row| mode.mask.get(*row).copied().unwrap_or(false))
                    .collect(),
            ),
            Evidence::None | Evidence::Disabled => None,
        };
        Self {
            rows,
            levels,
            outdoor,
            economizing,
            is_trended: occupied.basis == OccupancyBasis::Trended,
        }
    }

    pub(super) const fn basis(&self) -> &'static str {
        if self.is_trended {
            "trended occupancy"
        } else {
            "assumed schedule (weekdays 07-18)"
        }
    }

    pub(super) fn levels(&self) -> Vec<f64> {
        self.levels.clone()
    }

    pub(super) fn samples(&self) -> impl Iterator<Item = Sample> + '_ {
        self.rows
            .iter()
            .zip(&self.levels)
            .enumerate()
            .map(|(place, (row, level))| Sample {
                row: *row,
                rise: level - self.outdoor,
                is_economizing: self
                    .economizing
                    .as_ref()
                    .and_then(|economizing| economizing.get(place))
                    .copied()
                    .unwrap_or(false),
            })
    }

    fn percent(
        &self,
        counts: impl Fn(&Sample) -> bool,
        speaks: impl Fn(&Sample) -> bool,
    ) -> (f64, usize) {
        let (mut n, mut hits) = (0, 0);
        for sample in self.samples().filter(counts) {
            n += 1;
            hits += usize::from(speaks(&sample));
        }
        (numeric::percent_of(hits, n), n)
    }

    pub(super) fn under_pct(&self) -> f64 {
        self.percent(|_| true, |sample| is_high(sample.rise)).0
    }

    pub(super) fn over_all_pct(&self) -> f64 {
        self.percent(|_| true, |sample| is_near(sample.rise)).0
    }

    /// Share near outdoor air apart from free cooling; none when too few samples are left.
    pub(super) fn over_pct(&self) -> Option<f64> {
        let (share, n) = self.percent(
            |sample| !sample.is_economizing,
            |sample| is_near(sample.rise),
        );
        (n >= super::MIN_SAMPLES).then_some(share)
    }

    pub(super) fn economizing_pct(&self) -> f64 {
        self.percent(|_| true, |sample| sample.is_economizing).0
    }

    /// Share near outdoor air in free cooling; none without any.
    pub(super) fn over_economizing_pct(&self) -> Option<f64> {
        let (share, n) = self.percent(
            |sample| sample.is_economizing,
            |sample| is_near(sample.rise),
        );
        (n > 0).then_some(share)
    }
}
