//! The search for the change points of a model: a grid, screened before anything is fitted (M&V §4.2).

use super::{Bend, ChangePointModel, ModelKind, above, below};
use crate::mv::least_squares::{LeastSquares, dot};
use crate::mv::screening::{Beside, Screen};
use crate::numeric::share_of;

/// Candidates for a change point.
const GRID_POINTS: usize = 40;
/// Share of the temperatures below the first candidate, and above the last.
const GRID_MARGIN: f64 = 0.05;
/// Fewest days of a fit.
const FEWEST_DAYS: usize = 3;
/// A later candidate must be better by this share of the best, or of the sum of squares when that is larger.
const CLEARLY_BETTER: f64 = 1e-10;
const NOISE_OF_SQUARES: f64 = 1e-12;

/// One change point that is tried, with the degrees of every day beside it.
pub(super) struct Candidate {
    pub(super) point: f64,
    pub(super) above: Vec<f64>,
    pub(super) below: Vec<f64>,
    /// Degrees below, counted negative.
    pub(super) short: Vec<f64>,
    /// Degrees above, and below in either sign, beside the columns that all designs share.
    beside_above: Beside,
    beside_below: Beside,
}

/// A design that is tried.
struct Tried<'s> {
    bend: Bend,
    /// Its columns after the first.
    columns: [Option<&'s [f64]>; 2],
    /// What it leaves of the squares, nearly.
    left: Option<f64>,
}

/// The days of a fit, and the grid over which change points are tried.
pub(super) struct Search<'a> {
    pub(super) energy: &'a [f64],
    /// Columns and energies are scaled by the roots of the weights.
    temperature: Vec<f64>,
    scaled: Vec<f64>,
    ones: Vec<f64>,
    pub(super) further: Vec<Vec<f64>>,
    screen: Screen,
    pub(super) grid: Vec<Candidate>,
    /// Gain in the sum of squares below which a candidate is no better.
    noise: f64,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        temperature: &[f64],
        energy: &'a [f64],
        weights: Option<&[f64]>,
        further: &[&[f64]],
    ) -> Option<Self> {
        if energy.len() < FEWEST_DAYS {
            return None;
        }
        let column = |term: &dyn Fn(f64) -> f64| {
            scaled(temperature.iter().map(|t| term(*t)).collect(), weights)
        };
        let (ones, scaled_energy) = (column(&|_| 1.0), scaled(energy.to_vec(), weights));
        let further: Vec<Vec<f64>> = further
            .iter()
            .map(|column| scaled(column.to_vec(), weights))
            .collect();
        let shared: Vec<&[f64]> = [&ones]
            .into_iter()
            .chain(&further)
            .map(Vec::as_slice)
            .collect();
        let screen = Screen::new(&shared, &scaled_energy);
        let grid = grid(temperature)?
            .into_iter()
            .map(|point| {
                let (above, below) = (column(&|t| above(t, point)), column(&|t| below(t, point)));
                Candidate {
                    point,
                    beside_above: screen.column(&above),
                    beside_below: screen.column(&below),
                    above,
                    below,
                    short: column(&|t| (t - point).min(0.0)),
                }
            })
            .collect();
        Some(Self {
            temperature: column(&|t| t),
            scaled: scaled_energy,
            ones,
            further,
            energy,
            screen,
            grid,
            noise: NOISE_OF_SQUARES * dot(energy, energy),
        })
    }

    pub(super) fn best(&self, kind: ModelKind) -> Option<ChangePointModel> {
        let model = |(bend, fit)| ChangePointModel {
            kind,
            bend,
            fit,
            days: self.energy.len(),
            drivers: self.further.len(),
        };
        let straight = || {
            let fit = self.fitted([Some(self.temperature.as_slice()), None])?;
            Some((Bend::Straight, fit))
        };
        match kind {
            ModelKind::TwoParameter => straight(),
            ModelKind::FiveParameter => self.best_pair().or_else(straight),
            ModelKind::ThreeParameterCooling => self.best_point(|at| {
                let left = self.screen.left_by(&at.beside_above);
                ([Some(at.above.as_slice()), None], left)
            }),
            ModelKind::ThreeParameterHeating => self.best_point(|at| {
                let left = self.screen.left_by(&at.beside_below);
                ([Some(at.below.as_slice()), None], left)
            }),
            ModelKind::FourParameter => self.best_point(|at| {
                let left = self.left_by_both(at, at);
                ([Some(at.short.as_slice()), Some(at.above.as_slice())], left)
            }),
        }
        .map(model)
    }

    /// What degrees below the first and above the second, not lower one leave: no day has both.
    fn left_by_both(&self, heating: &Candidate, cooling: &Candidate) -> Option<f64> {
        self.screen
            .left_by_both(&heating.beside_below, &cooling.beside_above, 0.0)
    }

    fn best_point<'s>(
        &'s self,
        design: impl Fn(&'s Candidate) -> ([Option<&'s [f64]>; 2], Option<f64>),
    ) -> Option<(Bend, LeastSquares)> {
        let tried = self.grid.iter().map(|at| {
            let (columns, left) = design(at);
            Tried {
                bend: Bend::At(at.point, at.point),
                columns,
                left,
            }
        });
        self.first_best(tried.collect())
    }

    /// Pairs whose dead band is at least one step of the grid wide.
    fn best_pair(&self) -> Option<(Bend, LeastSquares)> {
        let step = match &self.grid[..] {
            [first, second, ..] => second.point - first.point,
            _ => return None,
        };
        let pairs = self.grid.iter().enumerate().flat_map(|(place, heating)| {
            self.grid
                .iter()
                .skip(place)
                .filter(move |cooling| cooling.point - heating.point >= step)
                .map(move |cooling| Tried {
                    bend: Bend::At(heating.point, cooling.point),
                    columns: [Some(&heating.below), Some(&cooling.above)],
                    left: self.left_by_both(heating, cooling),
                })
        });
        self.first_best(pairs.collect())
    }

    pub(super) fn fitted(&self, columns: [Option<&[f64]>; 2]) -> Option<LeastSquares> {
        let further = self.further.iter().map(Vec::as_slice);
        let design: Vec<&[f64]> = [self.ones.as_slice()]
            .into_iter()
            .chain(columns.into_iter().flatten())
            .chain(further)
            .collect();
        LeastSquares::fit(&design, &self.scaled)
    }

    /// The first of those that no later one clearly beats. Designs that leave more than the best does are not fitted.
    fn first_best(&self, tried: Vec<Tried<'_>>) -> Option<(Bend, LeastSquares)> {
        let least = tried
            .iter()
            .filter_map(|tried| tried.left)
            .fold(f64::INFINITY, f64::min);
        let mut best: Option<(Bend, LeastSquares)> = None;
        for Tried {
            bend,
            columns,
            left,
        } in tried
        {
            if !self.screen.may_be_better(left, least) {
                continue;
            }
            let Some(fit) = self.fitted(columns) else {
                continue;
            };
            if best.as_ref().is_none_or(|(_, best)| {
                fit.sse < best.sse - CLEARLY_BETTER * best.sse.abs().max(self.noise)
            }) {
                best = Some((bend, fit));
            }
        }
        best
    }
}

/// A column times the roots of the weights.
pub(in crate::mv) fn scaled(mut column: Vec<f64>, weights: Option<&[f64]>) -> Vec<f64> {
    for (value, weight) in column.iter_mut().zip(weights.unwrap_or_default()) {
        *value *= weight.sqrt();
    }
    column
}

/// Equally spaced change points; none without temperatures.
fn grid(temperature: &[f64]) -> Option<Vec<f64>> {
    let mut sorted = temperature.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let (mut low, mut high) = (
        percentile(&sorted, GRID_MARGIN)?,
        percentile(&sorted, 1.0 - GRID_MARGIN)?,
    );
    if high <= low {
        (low, high) = (*sorted.first()?, *sorted.last()?);
    }
    let step = (high - low) / share_of(GRID_POINTS - 1);
    let mut points: Vec<f64> = (0..GRID_POINTS)
        .map(|place| share_of(place) * step + low)
        .collect();
    if let Some(last) = points.last_mut() {
        *last = high;
    }
    Some(points)
}

/// A percentile to the last bit as array code interpolates it: from the nearer neighbour. A grid that is off by one bit
/// lets other pairs pass for a whole step apart.
fn percentile(sorted: &[f64], share: f64) -> Option<f64> {
    let position = share * share_of(sorted.len().checked_sub(1)?);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "0 to len − 1"
    )]
    let place = position.floor() as usize;
    let low = *sorted.get(place)?;
    let high = sorted.get(place + 1).copied().unwrap_or(low);
    let weight = position - position.floor();
    Some(if weight < 0.5 {
        low + (high - low) * weight
    } else {
        high - (high - low) * (1.0 - weight)
    })
}
