//! One role for each point and one point for each role of a piece of equipment.

use std::collections::{HashMap, HashSet};

/// A role as a candidate for a point.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    /// Any number that tells roles apart.
    pub role: usize,
    pub confidence: f64,
}

/// What a point got.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Assigned {
    /// Place of the candidate, and the confidence that rivals leave of it.
    pub chosen: Option<(usize, f64)>,
    /// The point that has this point's best role.
    pub taken_by: Option<usize>,
}

/// Below this nothing is proposed.
pub(super) const LEAST_PROPOSED: f64 = 0.3;

/// A second choice must reach this share of the first, else the point had better stay without a role.
const SECOND_CHOICE: f64 = 0.7;

/// Gives each role to the point that fits it best.
///
/// `points[i]` are the candidates of point i. Rivals lower a confidence: another role that fits the point nearly as well,
/// and another point that fits the role nearly as well.
pub(super) fn assign(points: &[Vec<Candidate>]) -> Vec<Assigned> {
    let mut pairs: Vec<(f64, usize, usize)> = points
        .iter()
        .enumerate()
        .flat_map(|(point, candidates)| {
            candidates
                .iter()
                .enumerate()
                .map(move |(at, candidate)| (candidate.confidence, point, at))
        })
        .filter(|(confidence, ..)| *confidence >= LEAST_PROPOSED)
        .collect();
    pairs.sort_by(|one, two| {
        two.0
            .total_cmp(&one.0)
            .then(one.1.cmp(&two.1))
            .then(one.2.cmp(&two.2))
    });
    let mut assigned = vec![Assigned::default(); points.len()];
    let mut holders: HashMap<usize, usize> = HashMap::new();
    let mut settled: HashSet<usize> = HashSet::new();
    for (confidence, point, at) in pairs {
        if settled.contains(&point) {
            continue;
        }
        let Some(candidate) = candidate(points, point, at) else {
            continue;
        };
        if let Some(holder) = holders.get(&candidate.role) {
            if let Some(place) = assigned.get_mut(point) {
                place.taken_by.get_or_insert(*holder);
            }
            continue;
        }
        let best = best_of(points, point, |_| true);
        if confidence < best * SECOND_CHOICE {
            continue;
        }
        settled.insert(point);
        holders.insert(candidate.role, point);
        if let Some(place) = assigned.get_mut(point) {
            place.chosen = Some((at, confidence));
            place.taken_by = None;
        }
    }
    lower_by_rivals(points, &holders, &mut assigned);
    assigned
}

fn lower_by_rivals(
    points: &[Vec<Candidate>],
    holders: &HashMap<usize, usize>,
    assigned: &mut [Assigned],
) {
    let unassigned: Vec<usize> = assigned
        .iter()
        .enumerate()
        .filter(|(_, place)| place.chosen.is_none())
        .map(|(point, _)| point)
        .collect();
    for (point, place) in assigned.iter_mut().enumerate() {
        let Some((at, confidence)) = &mut place.chosen else {
            continue;
        };
        let Some(own) = candidate(points, point, *at) else {
            continue;
        };
        let other_role = best_of(points, point, |candidate| {
            candidate.role != own.role
                && holders
                    .get(&candidate.role)
                    .is_none_or(|holder| *holder == point)
        });
        let other_point = unassigned
            .iter()
            .map(|rival| best_of(points, *rival, |candidate| candidate.role == own.role))
            .fold(0.0, f64::max);
        let share = |rival: f64| (rival / own.confidence).min(1.0);
        *confidence *= 1.0 - 0.5 * share(other_role).powi(4);
        *confidence *= 1.0 - 0.3 * share(other_point).powi(8);
    }
}

fn candidate(points: &[Vec<Candidate>], point: usize, at: usize) -> Option<&Candidate> {
    points.get(point)?.get(at)
}

fn best_of(points: &[Vec<Candidate>], point: usize, counts: impl Fn(&Candidate) -> bool) -> f64 {
    points
        .get(point)
        .into_iter()
        .flatten()
        .filter(|candidate| counts(candidate))
        .map(|candidate| candidate.confidence)
        .fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(pairs: &[(usize, f64)]) -> Vec<Candidate> {
        pairs
            .iter()
            .map(|(role, confidence)| Candidate {
                role: *role,
                confidence: *confidence,
            })
            .collect()
    }

    #[test]
    fn the_better_point_gets_the_role_and_the_other_is_told_so() {
        let points = [candidates(&[(1, 0.7)]), candidates(&[(1, 0.95), (2, 0.3)])];
        let assigned = assign(&points);
        assert_eq!(assigned[0].chosen, None);
        assert_eq!(assigned[0].taken_by, Some(1));
        let (at, confidence) = assigned[1].chosen.unwrap();
        assert_eq!(at, 0);
        assert!((0.85..0.95).contains(&confidence), "{confidence}");
    }

    #[test]
    fn rivals_lower_the_confidence() {
        let alone = assign(&[candidates(&[(1, 0.9)])])[0].chosen.unwrap().1;
        assert_eq!(alone, 0.9);
        let torn = assign(&[candidates(&[(1, 0.9), (2, 0.88)])])[0]
            .chosen
            .unwrap()
            .1;
        assert!(torn < 0.6, "{torn}");
        let twins = assign(&[candidates(&[(1, 0.9)]), candidates(&[(1, 0.9)])]);
        assert!(twins[0].chosen.unwrap().1 < 0.7);
        assert_eq!(twins[1].taken_by, Some(0));
        assert_eq!(assign(&[candidates(&[(1, 0.2)])])[0], Assigned::default());
    }

    #[test]
    fn a_poor_second_choice_is_none() {
        let points = [
            candidates(&[(1, 0.95)]),
            candidates(&[(1, 0.9), (2, 0.5)]),
            candidates(&[(1, 0.9), (3, 0.8)]),
        ];
        let assigned = assign(&points);
        assert_eq!(assigned[1].chosen, None);
        assert_eq!(assigned[2].chosen.unwrap().0, 1);
    }
}
