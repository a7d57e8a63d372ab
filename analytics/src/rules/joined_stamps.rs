//! Equipment of a fleet on common stamps.

/// All stamps of these lists, sorted and distinct.
pub fn union<'s>(lists: impl Iterator<Item = &'s [i64]>) -> Vec<i64> {
    let mut stamps: Vec<i64> = Vec::new();
    for list in lists {
        // Equipment of one site mostly shares its stamps.
        if list != stamps.as_slice() {
            stamps.extend_from_slice(list);
            // A stable sort is fast on two runs that are sorted already.
            stamps.sort();
            stamps.dedup();
        }
    }
    stamps
}

/// Where each stamp is in a sorted list that has all of them.
///
/// ```
/// use niagara_analytics::rules::joined_stamps::{places, union};
/// let (one, other) = ([1, 3, 4], [2, 3]);
/// let stamps = union([&one[..], &other[..]].into_iter());
/// assert_eq!((stamps.as_slice(), places(&one, &stamps)), (&[1, 2, 3, 4][..], vec![0, 2, 3]));
/// ```
pub fn places(stamps: &[i64], sorted: &[i64]) -> Vec<usize> {
    let mut next = 0;
    stamps
        .iter()
        .map(|stamp| {
            if sorted.get(next) != Some(stamp) {
                next = sorted.binary_search(stamp).unwrap_or_else(|place| place);
            }
            next += 1;
            next - 1
        })
        .collect()
}
