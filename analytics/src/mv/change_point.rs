//! Energy of a day over its mean outdoor temperature, straight or bent at change points (M&V §4.1–4.3).

mod search;

use self::search::Search;
pub(super) use self::search::scaled;
use super::least_squares::{LeastSquares, dot};
use crate::numeric::share_of;

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

    /// A model that was fitted before, with so many terms beside the temperature; none when its change points or coefficients
    /// are not those of its kind.
    pub fn known(
        kind: ModelKind,
        change_points: &[f64],
        drivers: usize,
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
        (fit.coefficients.len() == coefficients + drivers).then_some(Self {
            kind,
            bend,
            fit,
            days,
            drivers,
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

    /// The best of all designs of a kind, each of which is fitted.
    fn of_every_design(kind: ModelKind, temperature: &[f64], energy: &[f64]) -> f64 {
        let search = Search::new(temperature, energy, None, &[]).unwrap();
        let step = search.grid[1].point - search.grid[0].point;
        let pairs = search.grid.iter().enumerate().flat_map(|(place, heating)| {
            let later = search.grid.iter().skip(place);
            later.map(move |cooling| (heating, cooling))
        });
        let fits = pairs.filter_map(|(heating, cooling)| {
            let same = heating.point == cooling.point;
            let columns = match kind {
                ModelKind::ThreeParameterCooling if same => [Some(&cooling.above[..]), None],
                ModelKind::ThreeParameterHeating if same => [Some(&heating.below[..]), None],
                ModelKind::FourParameter if same => {
                    [Some(&heating.short[..]), Some(&cooling.above[..])]
                }
                ModelKind::FiveParameter if cooling.point - heating.point >= step => {
                    [Some(&heating.below[..]), Some(&cooling.above[..])]
                }
                _ => return None,
            };
            Some(search.fitted(columns)?.sse)
        });
        fits.fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn the_best_design_is_found_among_those_that_are_fitted() {
        for seed in 0..40_u32 {
            let days = 12 + 9 * seed as usize;
            let odd = |day: usize, salt: usize| {
                ((day * 7919 + salt * 104_729) % 1_000) as f64 / 500.0 - 1.0
            };
            let temperature: Vec<f64> = (0..days)
                .map(|day| 55.0 + 25.0 * (day as f64 / 58.0).sin() + 6.0 * odd(day, 1))
                .collect();
            let noise = [0.0, 1e-9, 0.1, 3.0, 100.0][seed as usize % 5];
            let energy: Vec<f64> = temperature
                .iter()
                .enumerate()
                .map(|(day, t)| {
                    let heating = below(*t, 48.0) * f64::from(seed % 3);
                    40.0 + heating + 2.0 * above(*t, 63.0) + noise * odd(day, seed as usize)
                })
                .collect();
            for kind in ModelKind::ALL.into_iter().skip(1) {
                let model = ChangePointModel::of_kind(kind, &temperature, &energy).unwrap();
                let least = of_every_design(kind, &temperature, &energy);
                let scale = least.max(1e-12 * dot(&energy, &energy));
                assert!(
                    (model.sse() - least).abs() <= 1e-9 * scale,
                    "{} of seed {seed}: {} {least}",
                    kind.code(),
                    model.sse()
                );
            }
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
