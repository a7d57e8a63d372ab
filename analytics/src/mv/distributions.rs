//! Tails of Student's and Fisher's distributions.

/// Terms of the continued fraction, far more than it needs.
const MOST_TERMS: u32 = 300;
/// Where it stops, and what stands for 0 in it.
const PRECISE: f64 = 1e-15;
const TINY: f64 = 1e-300;

/// Probability that |t| is beyond; none when a figure is no number.
///
/// ```
/// use niagara_analytics::mv::distributions::student_beyond;
/// let p = student_beyond(2.228_138_85, 10.0).unwrap();
/// assert!((p - 0.05).abs() < 1e-8);
/// ```
pub fn student_beyond(t: f64, degrees: f64) -> Option<f64> {
    if t.is_nan() || !(degrees > 0.0) {
        return None;
    }
    if t.is_infinite() {
        return Some(0.0);
    }
    incomplete_beta(degrees / 2.0, 0.5, degrees / (degrees + t * t))
}

/// Probability that Fisher's statistic is above; none when a figure is no number.
///
/// ```
/// use niagara_analytics::mv::distributions::fisher_above;
/// let p = fisher_above(4.102_821_0, 2.0, 10.0).unwrap();
/// assert!((p - 0.05).abs() < 1e-7);
/// ```
pub fn fisher_above(f: f64, above: f64, below: f64) -> Option<f64> {
    if f.is_nan() || !(above > 0.0) || !(below > 0.0) {
        return None;
    }
    if f <= 0.0 {
        return Some(1.0);
    }
    if f.is_infinite() {
        return Some(0.0);
    }
    incomplete_beta(below / 2.0, above / 2.0, below / (below + above * f))
}

/// The regularised incomplete beta function, by its continued fraction (Lentz's method).
fn incomplete_beta(a: f64, b: f64, x: f64) -> Option<f64> {
    if !(0.0..=1.0).contains(&x) {
        return None;
    }
    if x == 0.0 || x == 1.0 {
        return Some(x);
    }
    let log_front = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln();
    let value = match x < (a + 1.0) / (a + b + 2.0) {
        true => log_front.exp() * continued_fraction(a, b, x) / a,
        false => 1.0 - log_front.exp() * continued_fraction(b, a, 1.0 - x) / b,
    };
    value.is_finite().then(|| value.clamp(0.0, 1.0))
}

fn continued_fraction(a: f64, b: f64, x: f64) -> f64 {
    let away_from_zero = |value: f64| match value.abs() < TINY {
        true => TINY,
        false => value,
    };
    let mut c = 1.0;
    let mut d = away_from_zero(1.0 - (a + b) * x / (a + 1.0)).recip();
    let mut value = d;
    for term in 1..=MOST_TERMS {
        let m = f64::from(term);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut step = 1.0;
        for numerator in [even, odd] {
            d = away_from_zero(1.0 + numerator * d).recip();
            c = away_from_zero(1.0 + numerator / c);
            step = c * d;
            value *= step;
        }
        if (step - 1.0).abs() < PRECISE {
            break;
        }
    }
    value
}

/// Logarithm of the gamma function for positive numbers (Lanczos, g = 7).
fn ln_gamma(x: f64) -> f64 {
    const COEFFICIENTS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    let x = x - 1.0;
    let mut sum = 0.999_999_999_999_809_9;
    for (place, coefficient) in (1_u32..).zip(COEFFICIENTS) {
        sum += coefficient / (x + f64::from(place));
    }
    let t = x + 7.5;
    0.5 * std::f64::consts::TAU.ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_those_of_the_tables() {
        let near = |value: Option<f64>, table: f64| (value.unwrap() - table).abs() < 2e-5;
        assert!(near(student_beyond(1.812_461, 10.0), 0.10));
        assert!(near(student_beyond(-63.656_741, 1.0), 0.01));
        assert!(near(student_beyond(1.966_5, 363.0), 0.05));
        assert!(near(student_beyond(0.0, 5.0), 1.0));
        assert!(near(fisher_above(3.006_452, 2.0, 12.0), 0.087_415));
        assert!(near(fisher_above(1.0, 1.0, 1.0), 0.5));
        assert!(near(fisher_above(1e9, 2.0, 300.0), 0.0));
        assert_eq!(student_beyond(f64::NAN, 5.0), None);
        assert_eq!(student_beyond(1.0, 0.0), None);
        assert_eq!(fisher_above(f64::INFINITY, 2.0, 5.0), Some(0.0));
    }
}
