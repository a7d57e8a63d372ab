//! Which type, role or kind markers mean: the candidate all of whose markers are there and that has most of them.

use std::collections::HashSet;

use crate::knowledge::camber_roles::camber_roles;
use crate::knowledge::export::haystack::tag_table;

/// Markers that people leave out: they follow from the others.
const IMPLIED: [&str; 4] = ["concentration", "magnitude", "phase", "equip"];
/// The best of candidates by their markers.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Best<'c> {
    None,
    One(&'c str),
    /// Equally good, in order of their names.
    Several(Vec<&'c str>),
}

/// The candidate all of whose markers are there and that has most of them.
pub(super) fn best<'c>(
    candidates: impl Iterator<Item = (&'c str, &'c str)>,
    tags: &HashSet<&str>,
) -> Best<'c> {
    let mut most = 0;
    let mut leaders: Vec<&str> = Vec::new();
    for (name, markers) in candidates {
        let words = markers.split_whitespace();
        let asked = words.clone().filter(|word| !IMPLIED.contains(word));
        if !asked.clone().all(|word| tags.contains(word)) || asked.clone().next().is_none() {
            continue;
        }
        let score = words.filter(|word| tags.contains(word)).count();
        if score > most {
            most = score;
            leaders.clear();
        }
        if score == most {
            leaders.push(name);
        }
    }
    leaders.sort_unstable();
    leaders.dedup();
    match leaders.as_slice() {
        [] => Best::None,
        [one] => Best::One(one),
        _ => Best::Several(leaders),
    }
}

/// The best of the usual roles of a type; where none fits, of all roles.
pub(super) fn best_role<'c>(usual: &[&str], tags: &HashSet<&str>) -> Best<'c> {
    match best(
        role_candidates().filter(|(role, _)| usual.contains(role)),
        tags,
    ) {
        Best::None => best(role_candidates(), tags),
        found => found,
    }
}

fn role_candidates() -> impl Iterator<Item = (&'static str, &'static str)> {
    let own = &tag_table().roles;
    let of_camber = camber_roles()
        .iter()
        .filter(|role| !own.contains_key(&role.role));
    own.iter()
        .map(|(role, markers)| (role.as_str(), markers.as_str()))
        .chain(of_camber.map(|role| (role.role.as_str(), role.haystack_tags.as_str())))
}

pub(super) fn type_candidates() -> impl Iterator<Item = (&'static str, &'static str)> {
    let types = tag_table().types.iter();
    types.map(|(id, found)| (id.as_str(), found.tags.as_str()))
}

pub(super) fn kind_candidates() -> impl Iterator<Item = (&'static str, &'static str)> {
    let kinds = tag_table().kinds.iter();
    kinds.map(|(id, markers)| (id.as_str(), markers.as_str()))
}
