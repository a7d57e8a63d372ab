//! Samples picked by a condition: one flag per row of a frame.

use crate::numeric;

/// A mask of the values that satisfy a condition; a comparison with a missing value is false.
///
/// ```
/// use niagara_analytics::masks::where_value;
/// assert_eq!(where_value(&[0.0, f64::NAN, 1.0], |value| value > 0.5), [false, false, true]);
/// ```
pub fn where_value(values: &[f64], condition: impl Fn(f64) -> bool) -> Vec<bool> {
    values.iter().map(|value| condition(*value)).collect()
}

/// A mask of the rows whose two values satisfy a condition.
pub fn where_pair(one: &[f64], other: &[f64], condition: impl Fn(f64, f64) -> bool) -> Vec<bool> {
    one.iter()
        .zip(other)
        .map(|(a, b)| condition(*a, *b))
        .collect()
}

/// A value for each row out of two.
pub fn paired(one: &[f64], other: &[f64], value: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    one.iter().zip(other).map(|(a, b)| value(*a, *b)).collect()
}

/// Where there is a value.
pub fn present(values: &[f64]) -> Vec<bool> {
    where_value(values, |value| !value.is_nan())
}

/// Where both are set.
pub fn and(one: &[bool], other: &[bool]) -> Vec<bool> {
    one.iter().zip(other).map(|(a, b)| *a && *b).collect()
}

/// Where the first is set and the second is not.
pub fn and_not(one: &[bool], other: &[bool]) -> Vec<bool> {
    one.iter().zip(other).map(|(a, b)| *a && !*b).collect()
}

/// Where either is set.
pub fn or(one: &[bool], other: &[bool]) -> Vec<bool> {
    one.iter().zip(other).map(|(a, b)| *a || *b).collect()
}

/// Where it is not set.
pub fn not(mask: &[bool]) -> Vec<bool> {
    mask.iter().map(|set| !set).collect()
}

/// Takes away from a mask what another does not have.
pub fn narrow(mask: &mut [bool], by: &[bool]) {
    for (set, keep) in mask.iter_mut().zip(by) {
        *set &= *keep;
    }
}

/// How many are set.
pub fn count(mask: &[bool]) -> usize {
    mask.iter().filter(|set| **set).count()
}

/// Percentage of a mask that another has too; NaN when the mask is empty.
pub fn percent_within(part: &[bool], whole: &[bool]) -> f64 {
    let both = part.iter().zip(whole).filter(|(a, b)| **a && **b).count();
    numeric::percent_of(both, count(whole))
}

/// The values where a mask is set and there is one.
pub fn picked<'m>(values: &'m [f64], mask: &'m [bool]) -> impl Iterator<Item = f64> + 'm {
    values
        .iter()
        .zip(mask)
        .filter(|(value, keep)| **keep && !value.is_nan())
        .map(|(value, _)| *value)
}

/// [`picked`] as a list, in order.
pub fn picked_values(values: &[f64], mask: &[bool]) -> Vec<f64> {
    picked(values, mask).collect()
}

/// The stamps of the rows that are set, in order.
pub fn picked_stamps(stamps: &[i64], mask: &[bool]) -> Vec<i64> {
    stamps
        .iter()
        .zip(mask)
        .filter(|(_, set)| **set)
        .map(|(stamp, _)| *stamp)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_values_satisfy_nothing_and_are_never_picked() {
        let values = [1.0, f64::NAN, 3.0, 4.0];
        let mask = where_value(&values, |value| value < 3.5);
        assert_eq!(mask, [true, false, true, false]);
        assert_eq!(
            picked(&values, &[true; 4]).collect::<Vec<_>>(),
            [1.0, 3.0, 4.0]
        );
        assert_eq!(
            where_pair(&values, &[0.0, 0.0, 9.0, f64::NAN], |a, b| a > b),
            [true, false, false, false]
        );
        assert_eq!(present(&values), [true, false, true, true]);
    }

    #[test]
    fn masks_combine_row_by_row() {
        let (one, other) = ([true, true, false, false], [true, false, true, false]);
        assert_eq!(and(&one, &other), [true, false, false, false]);
        assert_eq!(and_not(&one, &other), [false, true, false, false]);
        assert_eq!(or(&one, &other), [true, true, true, false]);
        assert_eq!(not(&one), [false, false, true, true]);
        let mut narrowed = one;
        narrow(&mut narrowed, &other);
        assert_eq!(count(&narrowed), 1);
        assert_eq!(percent_within(&one, &other), 50.0);
        assert!(percent_within(&one, &[false; 4]).is_nan());
    }
}
