//! What many designs that share columns leave unexplained, nearly: only those that may be the best are fitted (M&V §4.2, §8).
//!
//! A search fits hundreds of designs that differ in one or two columns. Those are projected beside the shared ones once; a
//! design is then judged by a handful of products. Its figure is off by rounding alone, so that a design which leaves clearly
//! more than another is not the best, and no figure of a model comes from here.

use super::least_squares::dot;

/// Share of the squares that the shared columns leave, and of all squares, within which two designs are not told apart.
const SLACK: f64 = 1e-6;
const SLACK_OF_ALL: f64 = 1e-12;
/// A column, or a pair, that keeps less than this share of itself beside the others is not judged.
const OWN_SHARE: f64 = 1e-4;

/// The columns that all designs share, and what they leave of `y`.
#[derive(Debug)]
pub(super) struct Screen {
    /// Unit columns that stand upright on each other.
    shared: Vec<Vec<f64>>,
    left: Vec<f64>,
    squares_left: f64,
    slack: f64,
}

/// A column beside the shared ones.
#[derive(Debug, Clone)]
pub(super) struct Beside {
    /// Products with the shared columns, and of the rest with itself and with `y`.
    shares: Vec<f64>,
    own: f64,
    with_y: f64,
    is_judged: bool,
}

impl Screen {
    /// Over columns of one length; none of them need be independent.
    pub fn new(shared: &[&[f64]], y: &[f64]) -> Self {
        let mut basis: Vec<Vec<f64>> = Vec::new();
        for column in shared {
            let (mut rest, _) = beside(&basis, column);
            let length = dot(&rest, &rest).sqrt();
            if length > 0.0 {
                rest.iter_mut().for_each(|value| *value /= length);
                basis.push(rest);
            }
        }
        let (left, _) = beside(&basis, y);
        let squares_left = dot(&left, &left);
        Self {
            shared: basis,
            squares_left,
            slack: SLACK * squares_left + SLACK_OF_ALL * dot(y, y),
            left,
        }
    }

    /// A column of some designs.
    pub fn column(&self, column: &[f64]) -> Beside {
        let (rest, shares) = beside(&self.shared, column);
        let own = dot(&rest, &rest);
        Beside {
            shares,
            with_y: dot(&rest, &self.left),
            is_judged: own > OWN_SHARE * dot(column, column),
            own,
        }
    }

    /// What a design of the shared columns and one more leaves; none when that cannot be told this way.
    pub fn left_by(&self, column: &Beside) -> Option<f64> {
        let left = self.squares_left - column.with_y * column.with_y / column.own;
        (column.is_judged && left.is_finite()).then_some(left)
    }

    /// The same of two columns, by their product.
    pub fn left_by_both(&self, one: &Beside, other: &Beside, product: f64) -> Option<f64> {
        let between = product - dot(&one.shares, &other.shares);
        let area = one.own * other.own - between * between;
        let explained = one.with_y * one.with_y * other.own
            - 2.0 * one.with_y * other.with_y * between
            + other.with_y * other.with_y * one.own;
        let left = self.squares_left - explained / area;
        let is_judged = one.is_judged && other.is_judged;
        (is_judged && area > OWN_SHARE * one.own * other.own && left.is_finite()).then_some(left)
    }

    /// Whether a design that leaves so much may leave less than one that leaves `least`.
    pub fn may_be_better(&self, left: Option<f64>, least: f64) -> bool {
        let limit = least + self.slack;
        left.is_none_or(|left| left <= limit || limit.is_nan())
    }
}

/// A column without its parts along unit columns, and these parts. Twice, since the first pass leaves rounding.
fn beside(basis: &[Vec<f64>], column: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let mut rest = column.to_vec();
    let mut shares = vec![0.0; basis.len()];
    for _ in 0..2 {
        for (unit, share) in basis.iter().zip(&mut shares) {
            let part = dot(unit, &rest);
            for (value, unit) in rest.iter_mut().zip(unit) {
                *value -= part * unit;
            }
            *share += part;
        }
    }
    (rest, shares)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mv::LeastSquares;
    use crate::mv::testing::{ENERGY, TEMPERATURE};

    fn column(term: impl Fn(f64) -> f64) -> Vec<f64> {
        TEMPERATURE.iter().map(|t| term(*t)).collect()
    }

    #[test]
    fn what_a_design_leaves_is_what_its_fit_leaves() {
        let ones = column(|_| 1.0);
        let wave = column(|t| (t * 0.7).sin());
        let screen = Screen::new(&[&ones, &wave, &ones], &ENERGY);
        let (below, above) = (
            column(|t| (52.0 - t).max(0.0)),
            column(|t| (t - 61.0).max(0.0)),
        );
        let (cold, warm) = (screen.column(&below), screen.column(&above));
        let one = LeastSquares::fit(&[&ones, &wave, &above], &ENERGY).unwrap();
        let both = LeastSquares::fit(&[&ones, &wave, &below, &above], &ENERGY).unwrap();
        let near = |told: Option<f64>, fit: &LeastSquares| {
            let told = told.unwrap();
            assert!(
                (told - fit.sse).abs() < 1e-9 * fit.sse,
                "{told} {}",
                fit.sse
            );
        };
        near(screen.left_by(&warm), &one);
        near(
            screen.left_by_both(&cold, &warm, dot(&below, &above)),
            &both,
        );
        assert!(screen.may_be_better(screen.left_by(&warm), one.sse));
        assert!(!screen.may_be_better(Some(one.sse * 1.1), one.sse));
    }

    #[test]
    fn columns_that_say_what_others_say_are_left_to_the_fit() {
        let ones = column(|_| 1.0);
        let screen = Screen::new(&[&ones], &ENERGY);
        let line = screen.column(&TEMPERATURE);
        assert_eq!(screen.left_by(&screen.column(&column(|_| 3.0))), None);
        assert_eq!(screen.left_by(&screen.column(&column(|_| 0.0))), None);
        let squares = dot(&TEMPERATURE, &TEMPERATURE);
        assert_eq!(screen.left_by_both(&line, &line, squares), None);
        assert_eq!(screen.left_by(&screen.column(&column(|_| f64::NAN))), None);
        assert!(screen.may_be_better(None, 0.0) && screen.may_be_better(Some(1.0), f64::NAN));
    }
}
