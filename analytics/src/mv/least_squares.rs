//! Linear least squares with the solution of least norm, for designs of a few columns (M&V §4.2, §12).

use crate::numeric::share_of;

/// Sweeps of Jacobi rotations; a handful suffices for the few columns of a design.
const MOST_SWEEPS: usize = 60;

/// Singular values below this share of the greatest leave the inverse of XᵀX (1e-15 on their squares).
const INVERSE_CUTOFF: f64 = 1e-15;

/// A fitted linear model.
#[derive(Debug, Clone, PartialEq)]
pub struct LeastSquares {
    /// One per column of the design; 0 for a column of zeros.
    pub coefficients: Vec<f64>,
    /// Sum of the squared residuals.
    pub sse: f64,
    axes: Vec<Axis>,
}

/// One singular direction of the design.
#[derive(Debug, Clone, PartialEq)]
struct Axis {
    direction: Vec<f64>,
    /// Square of its singular value.
    strength: f64,
}

impl LeastSquares {
    /// Fits `y` on the columns of a design; none without rows or columns, and when a figure is not finite.
    ///
    /// Columns that depend on each other share their effect: among all best solutions the one of least norm is taken.
    ///
    /// ```
    /// use niagara_analytics::mv::LeastSquares;
    /// let fit = LeastSquares::fit(&[&[1.0; 3], &[0.0, 1.0, 2.0], &[0.0; 3]], &[1.0, 3.0, 5.0]).unwrap();
    /// let rounded: Vec<f64> = fit.coefficients.iter().map(|b| (b * 1e9).round() / 1e9).collect();
    /// assert_eq!(rounded, [1.0, 2.0, 0.0]);
    /// ```
    pub fn fit(design: &[&[f64]], y: &[f64]) -> Option<Self> {
        if y.is_empty() || design.is_empty() || design.iter().any(|column| column.len() != y.len())
        {
            return None;
        }
        let (mut triangle, turned) = triangular(design, y);
        let mut directions = identity(design.len());
        orthogonalise(&mut triangle, &mut directions);

        let axes: Vec<Axis> = directions
            .into_iter()
            .zip(&triangle)
            .map(|(direction, column)| Axis {
                direction,
                strength: dot(column, column),
            })
            .collect();
        let strongest = strongest(&axes);
        let cutoff = f64::EPSILON * share_of(y.len().max(design.len()));
        let mut coefficients = vec![0.0; design.len()];
        for (axis, column) in axes.iter().zip(&triangle) {
            if axis.strength > 0.0 && axis.strength.sqrt() > cutoff * strongest.sqrt() {
                let share = dot(column, &turned) / axis.strength;
                for (coefficient, part) in coefficients.iter_mut().zip(&axis.direction) {
                    *coefficient += share * part;
                }
            }
        }
        let sse = sum_of_squared_residuals(design, &coefficients, y);
        (sse.is_finite() && coefficients.iter().all(|value| value.is_finite())).then_some(Self {
            coefficients,
            sse,
            axes,
        })
    }

    /// A model that was fitted before, with its inverse of XᵀX; none when their sizes differ, or a figure is not finite.
    pub fn known(coefficients: Vec<f64>, sse: f64, inverse: &[Vec<f64>]) -> Option<Self> {
        let size = coefficients.len();
        let whole = |row: &Vec<f64>| row.len() == size && row.iter().all(|value| value.is_finite());
        let finite = sse.is_finite() && coefficients.iter().all(|value| value.is_finite());
        if size == 0 || inverse.len() != size || !inverse.iter().all(whole) || !finite {
            return None;
        }
        // Columns of the symmetric inverse, turned upright, are as long as its eigenvalues.
        let mut columns = inverse.to_vec();
        let mut directions = identity(size);
        orthogonalise(&mut columns, &mut directions);
        let lengths: Vec<f64> = columns
            .iter()
            .map(|column| dot(column, column).sqrt())
            .collect();
        let longest = lengths.iter().copied().fold(0.0, f64::max);
        let axes = directions
            .into_iter()
            .zip(lengths)
            .map(|(direction, length)| Axis {
                direction,
                strength: match length > INVERSE_CUTOFF * longest {
                    true => length.recip(),
                    false => 0.0,
                },
            })
            .collect();
        Some(Self {
            coefficients,
            sse,
            axes,
        })
    }

    /// `gᵀ (XᵀX)⁺ g`: the variance of `gᵀ b` in units of the variance of a residual.
    pub fn variance_of(&self, g: &[f64]) -> f64 {
        let strongest = strongest(&self.axes);
        self.axes
            .iter()
            .filter(|axis| axis.strength > INVERSE_CUTOFF * strongest)
            .map(|axis| dot(&axis.direction, g).powi(2) / axis.strength)
            .sum()
    }
}

fn strongest(axes: &[Axis]) -> f64 {
    axes.iter().map(|axis| axis.strength).fold(0.0, f64::max)
}

fn identity(size: usize) -> Vec<Vec<f64>> {
    (0..size)
        .map(|own| {
            (0..size)
                .map(|row| f64::from(u8::from(row == own)))
                .collect()
        })
        .collect()
}

/// Columns of R, and the part of Qᵀy beside them, by Householder reflections.
fn triangular(design: &[&[f64]], y: &[f64]) -> (Vec<Vec<f64>>, Vec<f64>) {
    let width = design.len();
    let mut columns: Vec<Vec<f64>> = design.iter().map(|column| column.to_vec()).collect();
    let mut y = y.to_vec();
    for pivot in 0..width.min(y.len()) {
        let (done, later) = columns.split_at_mut(pivot + 1);
        let Some(tail) = done.last_mut().and_then(|column| column.get_mut(pivot..)) else {
            break;
        };
        let norm = dot(tail, tail).sqrt();
        let Some(head) = tail.first().copied().filter(|_| norm != 0.0) else {
            continue;
        };
        let onto = if head > 0.0 { -norm } else { norm };
        let mut mirror = tail.to_vec();
        if let Some(first) = mirror.first_mut() {
            *first -= onto;
        }
        let length = dot(&mirror, &mirror);
        for column in later.iter_mut().chain([&mut y]) {
            let Some(tail) = column.get_mut(pivot..) else {
                continue;
            };
            let share = 2.0 * dot(&mirror, tail) / length;
            for (value, part) in tail.iter_mut().zip(&mirror) {
                *value -= share * part;
            }
        }
        tail.fill(0.0);
        if let Some(first) = tail.first_mut() {
            *first = onto;
        }
    }
    for column in columns.iter_mut().chain([&mut y]) {
        column.resize(width, 0.0);
    }
    (columns, y)
}

/// Turns pairs of columns until all stand upright on each other, and the directions with them (one-sided Jacobi).
fn orthogonalise(columns: &mut [Vec<f64>], directions: &mut [Vec<f64>]) {
    for _ in 0..MOST_SWEEPS {
        let mut turned = false;
        for first in 0..columns.len() {
            for second in first + 1..columns.len() {
                if let Some((cos, sin)) = rotation(columns, first, second) {
                    turn(columns, first, second, cos, sin);
                    turn(directions, first, second, cos, sin);
                    turned = true;
                }
            }
        }
        if !turned {
            return;
        }
    }
}

/// Cosine and sine that make two columns orthogonal; none when they are.
fn rotation(columns: &[Vec<f64>], first: usize, second: usize) -> Option<(f64, f64)> {
    let (a, b) = (columns.get(first)?, columns.get(second)?);
    let (aa, bb, ab) = (dot(a, a), dot(b, b), dot(a, b));
    // False for NaN as well.
    if !(ab.abs() > f64::EPSILON * aa.sqrt() * bb.sqrt()) {
        return None;
    }
    let zeta = (bb - aa) / (2.0 * ab);
    let tangent = zeta.signum() / (zeta.abs() + zeta.hypot(1.0));
    let cos = tangent.hypot(1.0).recip();
    Some((cos, cos * tangent))
}

fn turn(columns: &mut [Vec<f64>], first: usize, second: usize, cos: f64, sin: f64) {
    let (left, right) = columns.split_at_mut(second);
    let (Some(a), Some(b)) = (left.get_mut(first), right.first_mut()) else {
        return;
    };
    for (a, b) in a.iter_mut().zip(b) {
        (*a, *b) = (cos * *a - sin * *b, sin * *a + cos * *b);
    }
}

fn sum_of_squared_residuals(design: &[&[f64]], coefficients: &[f64], y: &[f64]) -> f64 {
    let mut residuals = y.to_vec();
    for (column, coefficient) in design.iter().zip(coefficients) {
        for (residual, value) in residuals.iter_mut().zip(*column) {
            *residual -= coefficient * value;
        }
    }
    dot(&residuals, &residuals)
}

/// Sum of the products of two columns.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::round;

    const X: [f64; 5] = [1.0, 2.0, 3.0, 4.0, 6.0];
    const Y: [f64; 5] = [2.1, 3.9, 6.2, 7.8, 12.1];

    fn rounded(values: &[f64]) -> Vec<f64> {
        values.iter().map(|value| round(*value, 9)).collect()
    }

    #[test]
    fn a_line_and_the_variance_of_its_value() {
        let fit = LeastSquares::fit(&[&[1.0; 5], &X], &Y).unwrap();
        // Normal equations: n 5, Σx 16, Σx² 66, Σy 32.1, Σxy 132.3; determinant 74.
        assert_eq!(
            rounded(&fit.coefficients),
            rounded(&[
                (66.0 * 32.1 - 16.0 * 132.3) / 74.0,
                (5.0 * 132.3 - 16.0 * 32.1) / 74.0
            ])
        );
        // At x = 2: 1/5 + (2 − 3.2)²/14.8.
        assert_eq!(
            round(fit.variance_of(&[1.0, 2.0]), 9),
            round(0.2 + 1.44 / 14.8, 9)
        );
    }

    #[test]
    fn a_model_that_is_read_has_the_variances_that_it_had() {
        let fit = LeastSquares::fit(&[&[1.0; 5], &X], &Y).unwrap();
        let inverse = [
            vec![66.0 / 74.0, -16.0 / 74.0],
            vec![-16.0 / 74.0, 5.0 / 74.0],
        ];
        let known = LeastSquares::known(fit.coefficients.clone(), fit.sse, &inverse).unwrap();
        for g in [[1.0, 2.0], [5.0, -3.0], [0.0, 1.0]] {
            assert_eq!(
                round(known.variance_of(&g), 9),
                round(fit.variance_of(&g), 9)
            );
        }
        assert_eq!(LeastSquares::known(vec![1.0], 1.0, &inverse), None);
    }

    #[test]
    fn columns_that_say_the_same_share_the_effect() {
        let once = LeastSquares::fit(&[&[1.0; 5], &X], &Y).unwrap();
        let twice = LeastSquares::fit(&[&[1.0; 5], &X, &X], &Y).unwrap();
        let [_, slope] = once.coefficients[..] else {
            panic!("two coefficients");
        };
        assert_eq!(
            rounded(&twice.coefficients[1..]),
            rounded(&[slope / 2.0, slope / 2.0])
        );
        assert_eq!(round(twice.sse, 9), round(once.sse, 9));
        assert_eq!(
            round(twice.variance_of(&[1.0, 1.0, 1.0]), 9),
            round(once.variance_of(&[1.0, 1.0]), 9)
        );
    }

    #[test]
    fn fewer_rows_than_columns_have_the_solution_of_least_norm() {
        let fit = LeastSquares::fit(&[&[1.0], &[1.0]], &[4.0]).unwrap();
        assert_eq!(rounded(&fit.coefficients), [2.0, 2.0]);
    }

    #[test]
    fn what_is_no_number_is_not_fitted() {
        assert_eq!(LeastSquares::fit(&[&[1.0, f64::NAN]], &[1.0, 2.0]), None);
        assert_eq!(
            LeastSquares::fit(&[&[1e300, -1e300]], &[1e300, 1e300]),
            None
        );
        assert_eq!(LeastSquares::fit(&[&[1.0]], &[1.0, 2.0]), None);
        assert_eq!(LeastSquares::fit(&[], &[]), None);
    }
}
