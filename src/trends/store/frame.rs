//! One equipment as a table: a row per stamp, a column per role (Store §5 steps 2, 3, 5).

use std::borrow::Cow;

pub use niagara_analytics::frame::{Mean, RoleFrame};

use super::series::{EquipmentSeries, RoleSeries};

pub(super) fn pivot(series: &EquipmentSeries) -> RoleFrame {
    let repeats = |role: &RoleSeries| role.stamps.windows(2).any(|pair| pair[0] == pair[1]);
    let any_repeats = series.roles.values().any(repeats);
    let roles: Vec<(&String, Cow<'_, RoleSeries>)> = series
        .roles
        .iter()
        .map(|(slug, role)| {
            let role = if any_repeats {
                Cow::Owned(merged(role))
            } else {
                Cow::Borrowed(role)
            };
            (slug, role)
        })
        .filter(|(_, role)| !role.is_empty())
        .collect();
    let stamps = union(roles.iter().map(|(_, role)| role.stamps.as_slice()));
    let columns = roles
        .iter()
        .map(|(slug, role)| ((*slug).clone(), spread(role, &stamps)))
        .collect();
    RoleFrame {
        equip: series.equip.clone(),
        equip_class: series.equip_class.clone(),
        stamps,
        columns,
    }
}

/// Equal stamps become one with the mean of their values; where that is NaN nothing is left.
fn merged(role: &RoleSeries) -> RoleSeries {
    let mut merged = RoleSeries::default();
    let mut samples = role.samples().peekable();
    while let Some((stamp, value)) = samples.next() {
        let mut mean = Mean::default();
        mean.add(value);
        while let Some((_, value)) = samples.next_if(|(next, _)| *next == stamp) {
            mean.add(value);
        }
        if !mean.value().is_nan() {
            merged.push(stamp, mean.value());
        }
    }
    merged
}

/// All stamps of sorted and distinct lists. Roles of one equipment mostly share theirs.
fn union<'a>(lists: impl Iterator<Item = &'a [i64]>) -> Vec<i64> {
    let mut all: Vec<i64> = Vec::new();
    let mut grown = false;
    let mut shared = 0;
    for list in lists {
        if all.get(..shared) == Some(list) {
            continue;
        }
        if all.is_empty() {
            all.extend_from_slice(list);
            shared = all.len();
        } else {
            all.extend_from_slice(list);
            grown = true;
        }
    }
    if grown {
        all.sort_unstable();
        all.dedup();
    }
    all
}

fn spread(role: &RoleSeries, stamps: &[i64]) -> Vec<f64> {
    if role.stamps == stamps {
        return role.values.clone();
    }
    let mut samples = role.samples().peekable();
    stamps
        .iter()
        .map(|stamp| {
            samples
                .next_if(|(next, _)| next == stamp)
                .map_or(f64::NAN, |(_, value)| value)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(roles: &[(&str, &[(i64, f64)])]) -> EquipmentSeries {
        EquipmentSeries {
            roles: roles
                .iter()
                .map(|(slug, samples)| {
                    let (stamps, values) = samples.iter().copied().unzip();
                    ((*slug).to_owned(), RoleSeries { stamps, values })
                })
                .collect(),
            ..EquipmentSeries::default()
        }
    }

    fn shown(frame: &RoleFrame) -> String {
        format!("{:?} {:?}", frame.stamps, frame.columns)
    }

    #[test]
    fn columns_are_aligned_on_all_stamps() {
        let frame = series(&[
            ("a", &[(1, 10.0), (3, 30.0)]),
            ("b", &[(1, 1.0), (2, 2.0)]),
            ("c", &[(1, 0.0), (3, 0.5)]),
        ])
        .frame();
        assert_eq!(
            shown(&frame),
            "[1, 2, 3] {\"a\": [10.0, NaN, 30.0], \"b\": [1.0, 2.0, NaN], \"c\": [0.0, NaN, 0.5]}"
        );
    }

    #[test]
    fn equal_stamps_become_their_mean_and_what_has_none_goes() {
        let inf = f64::INFINITY;
        let frame = series(&[
            ("a", &[(1, 60.0), (1, 61.0), (2, inf), (2, 1.0)]),
            ("b", &[(1, f64::NAN), (5, f64::NAN)]),
            ("c", &[(4, inf), (4, -inf)]),
        ])
        .frame();
        assert_eq!(shown(&frame), "[1, 2] {\"a\": [60.5, inf]}");
    }

    #[test]
    fn without_duplicates_nan_keeps_stamp_and_column() {
        let frame = series(&[("a", &[(1, f64::NAN)]), ("b", &[(2, 1.0)])]).frame();
        assert_eq!(
            shown(&frame),
            "[1, 2] {\"a\": [NaN, NaN], \"b\": [NaN, 1.0]}"
        );
    }

    #[test]
    fn no_samples_make_an_empty_frame() {
        assert!(series(&[]).frame().is_empty());
    }
}
