//! Fewer samples that draw the same line: first, smallest, largest and last of each pixel column.

/// Keeps of every column of `from..=to` the samples that its part of the line touches at most, in order of time.
pub(super) fn thinned(
    samples: &[(i64, f64)],
    (from, to): (i64, i64),
    columns: u32,
) -> Vec<(i64, f64)> {
    let span = (i128::from(to) - i128::from(from)).max(1);
    let column_of = |time: i64| (i128::from(time) - i128::from(from)) * i128::from(columns) / span;
    let mut kept = Vec::new();
    for column in samples.chunk_by(|(one, _), (next, _)| column_of(*one) == column_of(*next)) {
        let extreme = |larger: bool| {
            column.iter().enumerate().reduce(|best, next| {
                let is_better = match larger {
                    true => next.1.1 > best.1.1,
                    false => next.1.1 < best.1.1,
                };
                if is_better { next } else { best }
            })
        };
        let mut places: Vec<usize> = [extreme(false), extreme(true)]
            .into_iter()
            .flatten()
            .map(|(place, _)| place)
            .chain([0, column.len().saturating_sub(1)])
            .collect();
        places.sort_unstable();
        places.dedup();
        kept.extend(places.into_iter().filter_map(|place| column.get(place)));
    }
    kept
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn few_samples_stay_as_they_are() {
        let samples = [(0, 1.0), (10, 2.0), (20, 1.0)];
        assert_eq!(thinned(&samples, (0, 20), 100), samples);
        assert_eq!(thinned(&[], (0, 20), 100), []);
    }

    #[test]
    fn a_single_spike_among_many_samples_stays() {
        let samples: Vec<(i64, f64)> = (0..100_000)
            .map(|n| (n, if n == 54_321 { 99.0 } else { (n % 7) as f64 }))
            .collect();
        let kept = thinned(&samples, (0, 99_999), 500);
        assert!(kept.len() <= 4 * 501, "{}", kept.len());
        assert!(kept.contains(&(54_321, 99.0)));
        assert_eq!(
            (kept.first(), kept.last()),
            (samples.first(), samples.last())
        );
    }

    proptest! {
        #[test]
        fn each_column_keeps_its_extremes(values in prop::collection::vec(-100.0..100.0_f64, 1..400), columns in 1_u32..40) {
            let samples: Vec<(i64, f64)> = (0_i64..).zip(values).collect();
            let to = samples.len() as i64;
            let kept = thinned(&samples, (0, to), columns);
            prop_assert!(kept.is_sorted_by_key(|(time, _)| *time));
            let column = |time: i64| time * i64::from(columns) / to;
            for wanted in 0..=i64::from(columns) {
                let of = |list: &[(i64, f64)]| {
                    let values: Vec<f64> = list.iter().filter(|(time, _)| column(*time) == wanted).map(|(_, value)| *value).collect();
                    (values.iter().copied().fold(f64::NAN, f64::min), values.iter().copied().fold(f64::NAN, f64::max), values.is_empty())
                };
                prop_assert_eq!(format!("{:?}", of(&kept)), format!("{:?}", of(&samples)));
            }
        }
    }
}
