//! Energy of a day over its mean outdoor temperature, straight or bent at change points (M&V §4.1–4.3).

use super::least_squares::{LeastSquares, dot};
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
/// A later kind must have a criterion lower by this much.
const CLEARLY_LOWER: f64 = 1e-9;

/// Form of a model (M&V §4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ModelKind {
    /// A straight line.
    TwoParameter,
    /// Flat, then rising with warmth.
    ThreeParameterCooling,
    /// Flat, then rising with cold.
    ThreeParameterHeating,
    /// Two lines that meet.
    FourParameter,
    /// A flat stretch between heating and cooling.
    FiveParameter,
}

impl ModelKind {
    /// All kinds in the order in which they are tried.
    pub const ALL: [Self; 5] = [
        Self::TwoParameter,
        Self::ThreeParameterCooling,
        Self::ThreeParameterHeating,
        Self::FourParameter,
        Self::FiveParameter,
    ];

    /// The short name on the wire.
    pub const fn code(self) -> &'static str {
        match self {
            Self::TwoParameter => "2P",
            Self::ThreeParameterCooling => "3PC",
            Self::ThreeParameterHeating => "3PH",
            Self::FourParameter => "4P",
            Self::FiveParameter => "5P",
        }
    }

    /// The name in sentences.
    pub const fn label(self) -> &'static str {
        match self {
            Self::ThreeParameterCooling => "3P cooling",
            Self::ThreeParameterHeating => "3P heating",
            Self::TwoParameter | Self::FourParameter | Self::FiveParameter => self.code(),
        }
    }

    /// Coefficients of the model; change points are not counted.
    pub const fn parameters(self) -> usize {
        match self {
            Self::TwoParameter => 2,
            Self::ThreeParameterCooling | Self::ThreeParameterHeating => 3,
            Self::FourParameter => 4,
            Self::FiveParameter => 5,
        }
    }
}

/// Where a model bends, °F.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Bend {
    /// Nowhere.
    Straight,
    /// Heating ends at the first, cooling begins at the second; equal for models of one change point.
    At(f64, f64),
}

/// A fitted model.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangePointModel {
    kind: ModelKind,
    bend: Bend,
    fit: LeastSquares,
    days: usize,
    /// Linear terms beside the temperature, whose coefficients follow its own.
    drivers: usize,
}

impl ChangePointModel {
    /// The model of a kind that fits best; none below 3 days, or when the figures cannot be fitted.
    ///
    /// Days of which a figure is not finite are left out.
    pub fn of_kind(kind: ModelKind, temperature: &[f64], energy: &[f64]) -> Option<Self> {
        let (temperature, energy) = finite_pairs(temperature, energy);
        Search::new(&temperature, &energy, None, &[])?.best(kind)
    }

    /// The kind with the lowest Bayesian information criterion; none when no kind leaves a degree of freedom (M&V §4.3).
    ///
    /// ```
    /// use niagara_analytics::mv::ChangePointModel;
    /// let temperature = [40.0, 45.0, 50.0, 55.0, 60.0, 70.0, 80.0, 90.0];
    /// let energy = [9.0, 8.0, 7.0, 6.0, 5.0, 3.0, 1.0, -1.0];
    /// let model = ChangePointModel::chosen(&temperature, &energy).unwrap();
    /// assert_eq!(model.kind().code(), "2P");
    /// assert!((model.at(65.0) - 4.0).abs() < 1e-9);
    /// ```
    pub fn chosen(temperature: &[f64], energy: &[f64]) -> Option<Self> {
        let (temperature, energy) = finite_pairs(temperature, energy);
        Self::of_search(&Search::new(&temperature, &energy, None, &[])?)
    }

    /// As [`chosen`](Self::chosen), with a weight for each row, which must all be finite; the mean of the weights is 1.
    pub fn weighted(temperature: &[f64], energy: &[f64], weights: &[f64]) -> Option<Self> {
        if weights.len() != energy.len() || temperature.len() != energy.len() {
            return None;
        }
        Self::of_search(&Search::new(temperature, energy, Some(weights), &[])?)
    }

    /// The model of a kind that fits best together with further columns, whose coefficients follow its own; all figures must
    /// be finite.
    pub fn beside(
        kind: ModelKind,
        temperature: &[f64],
        energy: &[f64],
        weights: Option<&[f64]>,
        columns: &[&[f64]],
    ) -> Option<Self> {
        Search::new(temperature, energy, weights, columns)?.best(kind)
    }

    /// As [`chosen`](Self::chosen), with linear terms beside the temperature; all figures must be finite.
    pub fn with_drivers(temperature: &[f64], energy: &[f64], drivers: &[&[f64]]) -> Option<Self> {
        let is_whole = |column: &&[f64]| column.len() == energy.len();
        if temperature.len() != energy.len() || !drivers.iter().all(is_whole) {
            return None;
        }
        Self::of_search(&Search::new(temperature, energy, None, drivers)?)
    }

    /// A model that was fitted before; none when its change points or coefficients are not those of its kind.
    pub fn known(
        kind: ModelKind,
        change_points: &[f64],
        fit: LeastSquares,
        days: usize,
    ) -> Option<Self> {
        let (bend, coefficients) = match (kind, change_points) {
            (ModelKind::TwoParameter, []) => (Bend::Straight, 2),
            (ModelKind::FiveParameter, [heating, cooling]) => (Bend::At(*heating, *cooling), 3),
            (ModelKind::FourParameter, [point]) => (Bend::At(*point, *point), 3),
            (ModelKind::ThreeParameterCooling | ModelKind::ThreeParameterHeating, [point]) => {
                (Bend::At(*point, *point), 2)
            }
            _ => return None,
        };
        (fit.coefficients.len() == coefficients).then_some(Self {
            kind,
            bend,
            fit,
            days,
            drivers: 0,
        })
    }

    fn of_search(search: &Search<'_>) -> Option<Self> {
        let energy = search.energy;
        let mut chosen: Option<Self> = None;
        for kind in ModelKind::ALL {
            if energy.len() <= kind.parameters() + search.further.len() {
                continue;
            }
            let Some(model) = search.best(kind) else {
                continue;
            };
            if chosen
                .as_ref()
                .is_none_or(|best| model.bic() < best.bic() - CLEARLY_LOWER)
            {
                chosen = Some(model);
            }
        }
        chosen
    }

    /// Form of the model.
    pub fn kind(&self) -> ModelKind {
        self.kind
    }

    /// Days that were fitted.
    pub fn days(&self) -> usize {
        self.days
    }

    /// Parameters, those of the drivers included.
    pub fn parameters(&self) -> usize {
        self.kind.parameters() + self.drivers
    }

    /// Linear terms beside the temperature.
    pub fn drivers(&self) -> usize {
        self.drivers
    }

    /// Days beyond the number of parameters; 0 for a fit of fewer days.
    pub fn degrees_of_freedom(&self) -> usize {
        self.days.saturating_sub(self.parameters())
    }

    /// Base and slopes, in the order of M&V §4.1, then those of the drivers.
    pub fn coefficients(&self) -> &[f64] {
        &self.fit.coefficients
    }

    /// Change points in °F, ascending: none, one or two.
    pub fn change_points(&self) -> Vec<f64> {
        match (self.kind, self.bend) {
            (_, Bend::Straight) => Vec::new(),
            (ModelKind::FiveParameter, Bend::At(heating, cooling)) => vec![heating, cooling],
            (_, Bend::At(point, _)) => vec![point],
        }
    }

    /// Sum of the squared residuals.
    pub fn sse(&self) -> f64 {
        self.fit.sse
    }

    /// Bayesian information criterion.
    pub fn bic(&self) -> f64 {
        let n = share_of(self.days);
        n * (self.fit.sse / n + 1e-12).ln() + share_of(self.parameters()) * n.ln()
    }

    /// Energy of a day of that mean temperature on which all drivers are 0.
    pub fn at(&self, temperature: f64) -> f64 {
        dot(&self.terms(temperature), &self.fit.coefficients)
    }

    /// `gᵀ (XᵀX)⁺ g` for sums of terms.
    pub fn variance_of(&self, sums: &[f64]) -> f64 {
        self.fit.variance_of(sums)
    }

    /// The columns of the design for a day of that mean temperature.
    pub fn terms(&self, temperature: f64) -> Vec<f64> {
        let t = temperature;
        match (self.kind, self.bend) {
            (_, Bend::Straight) => vec![1.0, t],
            (ModelKind::ThreeParameterHeating, Bend::At(point, _)) => vec![1.0, below(t, point)],
            (ModelKind::FourParameter, Bend::At(point, _)) => {
                vec![1.0, (t - point).min(0.0), above(t, point)]
            }
            (ModelKind::FiveParameter, Bend::At(heating, cooling)) => {
                vec![1.0, below(t, heating), above(t, cooling)]
            }
            (_, Bend::At(point, _)) => vec![1.0, above(t, point)],
        }
    }
}

/// Degrees above a change point.
fn above(temperature: f64, point: f64) -> f64 {
    (temperature - point).max(0.0)
}

/// Degrees below a change point.
fn below(temperature: f64, point: f64) -> f64 {
    (point - temperature).max(0.0)
}

fn finite_pairs(temperature: &[f64], energy: &[f64]) -> (Vec<f64>, Vec<f64>) {
    temperature
        .iter()
        .zip(energy)
        .filter(|(t, y)| t.is_finite() && y.is_finite())
        .map(|(t, y)| (*t, *y))
        .unzip()
}

/// One change point that is tried, with the degrees of every day beside it.
struct Candidate {
    point: f64,
    above: Vec<f64>,
    below: Vec<f64>,
    /// Degrees below, counted negative.
    short: Vec<f64>,
}

/// The days of a fit, and the grid over which change points are tried.
struct Search<'a> {
    energy: &'a [f64],
    /// Columns and energies are scaled by the roots of the weights.
    temperature: Vec<f64>,
    scaled: Vec<f64>,
    ones: Vec<f64>,
    further: Vec<Vec<f64>>,
    grid: Vec<Candidate>,
    /// Gain in the sum of squares below which a candidate is no better.
    noise: f64,
}

impl<'a> Search<'a> {
    fn new(
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
        let grid = grid(temperature)?
            .into_iter()
            .map(|point| Candidate {
                point,
                above: column(&|t| above(t, point)),
                below: column(&|t| below(t, point)),
                short: column(&|t| (t - point).min(0.0)),
            })
            .collect();
        Some(Self {
            temperature: column(&|t| t),
            scaled: scaled(energy.to_vec(), weights),
            ones: column(&|_| 1.0),
            further: further
                .iter()
                .map(|column| scaled(column.to_vec(), weights))
                .collect(),
            energy,
            grid,
            noise: NOISE_OF_SQUARES * dot(energy, energy),
        })
    }

    fn best(&self, kind: ModelKind) -> Option<ChangePointModel> {
        let model = |(bend, fit)| ChangePointModel {
            kind,
            bend,
            fit,
            days: self.energy.len(),
            drivers: self.further.len(),
        };
        let straight = || {
            let straight: Vec<&[f64]> = vec![&self.ones, &self.temperature];
            Some((Bend::Straight, self.fitted(straight)?))
        };
        match kind {
            ModelKind::TwoParameter => straight(),
            ModelKind::FiveParameter => self.best_pair().or_else(straight),
            ModelKind::ThreeParameterCooling => self.best_point(|at| vec![&self.ones, &at.above]),
            ModelKind::ThreeParameterHeating => self.best_point(|at| vec![&self.ones, &at.below]),
            ModelKind::FourParameter => {
                self.best_point(|at| vec![&self.ones, &at.short, &at.above])
            }
        }
        .map(model)
    }

    fn best_point<'s>(
        &'s self,
        design: impl Fn(&'s Candidate) -> Vec<&'s [f64]>,
    ) -> Option<(Bend, LeastSquares)> {
        self.first_best(
            self.grid
                .iter()
                .map(|at| (Bend::At(at.point, at.point), design(at))),
        )
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
                .map(move |cooling| {
                    let design: Vec<&[f64]> = vec![&self.ones, &heating.below, &cooling.above];
                    (Bend::At(heating.point, cooling.point), design)
                })
        });
        self.first_best(pairs)
    }

    fn fitted<'s>(&'s self, mut design: Vec<&'s [f64]>) -> Option<LeastSquares> {
        design.extend(self.further.iter().map(Vec::as_slice));
        LeastSquares::fit(&design, &self.scaled)
    }

    fn first_best<'s>(
        &'s self,
        candidates: impl Iterator<Item = (Bend, Vec<&'s [f64]>)>,
    ) -> Option<(Bend, LeastSquares)> {
        let mut best: Option<(Bend, LeastSquares)> = None;
        for (bend, design) in candidates {
            let Some(fit) = self.fitted(design) else {
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
pub(super) fn scaled(mut column: Vec<f64>, weights: Option<&[f64]>) -> Vec<f64> {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::mv::testing::{ENERGY, TEMPERATURE};
    use crate::numeric::round;

    fn rounded(values: &[f64]) -> Vec<f64> {
        values.iter().map(|value| round(*value, 4)).collect()
    }

    #[test]
    fn every_kind_of_the_worked_example() {
        type Fitted<'a> = (&'a str, &'a [f64], &'a [f64], f64, f64);
        let expected: [Fitted<'_>; 5] = [
            ("2P", &[61.2954, 0.9111], &[], 880.7567, 56.5203),
            ("3PC", &[100.4242, 2.2833], &[59.3179], 14.7353, 9.9188),
            ("3PH", &[132.4192, -0.9146], &[77.8], 943.8038, 59.8349),
            (
                "4P",
                &[102.0758, 0.088, 2.3522],
                &[60.4731],
                12.7507,
                10.6678,
            ),
            (
                "5P",
                &[101.9401, -0.0902, 2.3616],
                &[58.1628, 60.4731],
                13.1653,
                13.5367,
            ),
        ];
        for (kind, (code, coefficients, points, sse, bic)) in
            ModelKind::ALL.into_iter().zip(expected)
        {
            let model = ChangePointModel::of_kind(kind, &TEMPERATURE, &ENERGY).unwrap();
            assert_eq!(kind.code(), code);
            assert_eq!(rounded(model.coefficients()), coefficients, "{code}");
            assert_eq!(rounded(&model.change_points()), points, "{code}");
            assert_eq!(rounded(&[model.sse(), model.bic()]), [sse, bic], "{code}");
        }
    }

    #[test]
    fn the_cooling_model_is_chosen_for_the_worked_example() {
        let model = ChangePointModel::chosen(&TEMPERATURE, &ENERGY).unwrap();
        assert_eq!(model.kind(), ModelKind::ThreeParameterCooling);
        assert_eq!((model.days(), model.degrees_of_freedom()), (12, 9));
    }

    #[test]
    fn weather_that_never_varies_has_a_level_and_no_slope() {
        let model = ChangePointModel::chosen(&[60.0; 6], &[4.0, 6.0, 4.0, 6.0, 4.0, 6.0]).unwrap();
        assert_eq!(model.kind(), ModelKind::TwoParameter);
        assert_eq!(round(model.at(60.0), 9), 5.0);
    }

    #[test]
    fn a_dead_band_that_no_grid_can_hold_leaves_the_line() {
        let model =
            ChangePointModel::of_kind(ModelKind::FiveParameter, &[60.0; 6], &ENERGY[..6]).unwrap();
        assert_eq!(model.kind(), ModelKind::FiveParameter);
    }

    #[test]
    fn too_few_days_are_not_fitted() {
        assert_eq!(ChangePointModel::chosen(&[50.0, 60.0], &[1.0, 2.0]), None);
        assert_eq!(
            ChangePointModel::chosen(&[50.0, 60.0, f64::NAN], &[1.0, 2.0, 3.0]),
            None
        );
        let line = ChangePointModel::chosen(&[50.0, 60.0, 70.0], &[1.0, 2.0, 4.0]).unwrap();
        assert_eq!(line.kind(), ModelKind::TwoParameter);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn no_days_make_the_search_panic_and_a_fit_is_finite(
            days in prop::collection::vec(
                (
                    prop::sample::select(vec![f64::NAN, f64::INFINITY, -1e300, -40.0, 0.0, 55.5, 60.0, 1e300]),
                    prop::sample::select(vec![f64::NEG_INFINITY, 1e300, 5e-324, 0.0, 1.0, 40.0, -3.5]),
                ),
                0..20,
            )
        ) {
            let (temperature, energy): (Vec<f64>, Vec<f64>) = days.into_iter().unzip();
            if let Some(model) = ChangePointModel::chosen(&temperature, &energy) {
                prop_assert!(model.sse().is_finite() && model.sse() >= 0.0);
                prop_assert!(model.coefficients().iter().all(|value| value.is_finite()));
            }
        }
    }
}
