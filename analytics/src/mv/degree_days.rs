//! Bills over degree days whose bases the bills choose themselves (M&V §8).

use super::change_point::scaled;
use super::daily::DailyFrame;
use super::least_squares::{LeastSquares, dot};
use super::screening::{Beside, Screen};
use crate::numeric::share_of;

/// Below this share of the total, a difference in the criterion chooses nothing.
const CLEARLY_LOWER: f64 = 1e-9;

/// Which degree days drive a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DegreeDayKind {
    Heating,
    Cooling,
    Both,
}

impl DegreeDayKind {
    /// All kinds in the order in which they are tried.
    pub const ALL: [Self; 3] = [Self::Heating, Self::Cooling, Self::Both];

    /// The short name on the wire.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Heating => "DD-H",
            Self::Cooling => "DD-C",
            Self::Both => "DD-HC",
        }
    }

    /// The name in sentences.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Heating => "degree-day heating",
            Self::Cooling => "degree-day cooling",
            Self::Both => "degree-day heating and cooling",
        }
    }

    /// Level, slopes and the bases that were searched.
    pub const fn parameters(self) -> usize {
        match self {
            Self::Heating | Self::Cooling => 3,
            Self::Both => 5,
        }
    }
}

/// Bases that are tried, °F.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BaseSearch {
    pub heating: (f64, f64),
    pub cooling: (f64, f64),
    pub step: f64,
}

impl Default for BaseSearch {
    fn default() -> Self {
        Self {
            heating: (40.0, 70.0),
            cooling: (50.0, 80.0),
            step: 1.0,
        }
    }
}

impl BaseSearch {
    /// More bases of one side than any site has degrees.
    pub const MOST_BASES: usize = 400;

    /// How many bases a side has; above `MOST_BASES` the rest is not tried.
    pub fn count(&self, (low, high): (f64, f64)) -> f64 {
        ((high - low + CLEARLY_LOWER) / self.step).floor() + 1.0
    }

    fn bases(&self, (low, high): (f64, f64)) -> Vec<f64> {
        let mut bases = Vec::new();
        let mut base = low;
        while base <= high + CLEARLY_LOWER && bases.len() < Self::MOST_BASES {
            bases.push(base);
            base = low + share_of(bases.len()) * self.step;
        }
        bases
    }
}

/// A model over degree days.
#[derive(Debug, Clone, PartialEq)]
pub struct DegreeDayModel {
    kind: DegreeDayKind,
    heating_base: f64,
    cooling_base: f64,
    fit: LeastSquares,
    rows: usize,
}

impl DegreeDayModel {
    /// A model that is known already.
    pub fn known(
        kind: DegreeDayKind,
        (heating_base, cooling_base): (f64, f64),
        fit: LeastSquares,
        rows: usize,
    ) -> Self {
        Self {
            kind,
            heating_base,
            cooling_base,
            fit,
            rows,
        }
    }

    /// The bases and the kind with the lowest criterion whose slopes are not negative; none when there is none.
    pub fn chosen(
        frame: &DailyFrame,
        weights: Option<&[f64]>,
        search: &BaseSearch,
    ) -> Option<Self> {
        let bills = Bills::new(frame, weights, search);
        let mut chosen: Option<Self> = None;
        for kind in DegreeDayKind::ALL {
            let Some(model) = bills.best(kind) else {
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

    /// Which degree days drive it.
    pub fn kind(&self) -> DegreeDayKind {
        self.kind
    }

    /// Base of the heating degree days in °F.
    pub fn heating_base(&self) -> f64 {
        self.heating_base
    }

    /// Base of the cooling degree days in °F.
    pub fn cooling_base(&self) -> f64 {
        self.cooling_base
    }

    /// Bills that were fitted.
    pub fn rows(&self) -> usize {
        self.rows
    }

    pub(super) fn fit(&self) -> &LeastSquares {
        &self.fit
    }

    /// Bayesian information criterion.
    pub fn bic(&self) -> f64 {
        criterion(self.fit.sse, self.rows, self.kind.parameters())
    }

    /// Degree days a day of a bill.
    pub fn drivers(&self, frame: &DailyFrame, row: usize) -> Vec<f64> {
        let Some(bill) = frame.bills.get(row) else {
            return Vec::new();
        };
        match self.kind {
            DegreeDayKind::Heating => vec![bill.heating_degrees(self.heating_base)],
            DegreeDayKind::Cooling => vec![bill.cooling_degrees(self.cooling_base)],
            DegreeDayKind::Both => vec![
                bill.heating_degrees(self.heating_base),
                bill.cooling_degrees(self.cooling_base),
            ],
        }
    }
}

/// Bayesian information criterion of a fit.
pub(super) fn criterion(sse: f64, rows: usize, parameters: usize) -> f64 {
    let n = share_of(rows);
    n * (sse / n + 1e-12).ln() + share_of(parameters) * n.ln()
}

/// The bills of a fit with their degree days at every base.
struct Bills {
    energy: Vec<f64>,
    ones: Vec<f64>,
    screen: Screen,
    heating: Vec<Base>,
    cooling: Vec<Base>,
}

/// One base that is tried, with the degree days of every bill.
struct Base {
    at: f64,
    degrees: Vec<f64>,
    beside: Beside,
}

impl Bills {
    fn new(frame: &DailyFrame, weights: Option<&[f64]>, search: &BaseSearch) -> Self {
        let energy = scaled(frame.energy.clone(), weights);
        let ones = scaled(vec![1.0; frame.len()], weights);
        let screen = Screen::new(&[&ones], &energy);
        let columns = |bases: Vec<f64>, degrees: &dyn Fn(usize, f64) -> f64| {
            bases
                .into_iter()
                .map(|base| {
                    let column = (0..frame.len()).map(|row| degrees(row, base)).collect();
                    let degrees = scaled(column, weights);
                    Base {
                        at: base,
                        beside: screen.column(&degrees),
                        degrees,
                    }
                })
                .collect()
        };
        let heating = |row: usize, base| {
            let bill = frame.bills.get(row);
            bill.map_or(f64::NAN, |bill| bill.heating_degrees(base))
        };
        let cooling = |row: usize, base| {
            let bill = frame.bills.get(row);
            bill.map_or(f64::NAN, |bill| bill.cooling_degrees(base))
        };
        Self {
            heating: columns(search.bases(search.heating), &heating),
            cooling: columns(search.bases(search.cooling), &cooling),
            energy,
            ones,
            screen,
        }
    }

    /// What a design leaves, nearly.
    fn left(&self, heating: Option<&Base>, cooling: Option<&Base>) -> Option<f64> {
        match (heating, cooling) {
            (Some(heating), Some(cooling)) => self.screen.left_by_both(
                &heating.beside,
                &cooling.beside,
                dot(&heating.degrees, &cooling.degrees),
            ),
            (one, other) => self.screen.left_by(&one.or(other)?.beside),
        }
    }

    fn best(&self, kind: DegreeDayKind) -> Option<DegreeDayModel> {
        let mut best: Option<DegreeDayModel> = None;
        let mut tried = |heating: Option<&Base>, cooling: Option<&Base>| {
            let is_beaten = |best: &DegreeDayModel| {
                let left = self.left(heating, cooling);
                !self.screen.may_be_better(left, best.fit.sse)
            };
            if best.as_ref().is_some_and(is_beaten) {
                return;
            }
            let columns = [heating, cooling].into_iter().flatten();
            let design: Vec<&[f64]> = [&self.ones]
                .into_iter()
                .chain(columns.map(|base| &base.degrees))
                .map(Vec::as_slice)
                .collect();
            let Some(fit) = LeastSquares::fit(&design, &self.energy) else {
                return;
            };
            let rises = fit.coefficients.iter().skip(1).all(|slope| *slope >= 0.0);
            if rises && best.as_ref().is_none_or(|best| fit.sse < best.fit.sse) {
                let base = |base: Option<&Base>| base.map_or(f64::NAN, |base| base.at);
                best = Some(DegreeDayModel::known(
                    kind,
                    (base(heating), base(cooling)),
                    fit,
                    self.energy.len(),
                ));
            }
        };
        if self.energy.len() <= kind.parameters() {
            return None;
        }
        match kind {
            DegreeDayKind::Heating => self.heating.iter().for_each(|at| tried(Some(at), None)),
            DegreeDayKind::Cooling => self.cooling.iter().for_each(|at| tried(None, Some(at))),
            DegreeDayKind::Both => {
                for heating in &self.heating {
                    for cooling in self.cooling.iter().filter(|base| base.at >= heating.at) {
                        tried(Some(heating), Some(cooling));
                    }
                }
            }
        }
        best
    }
}
