//! Two states of the same folders: what is gone, what is new, what has another name or type.

use std::collections::{HashMap, HashSet};

use super::pairing::{Pairing, by_handle, by_path, by_pattern, handles_hold};
use super::{KnownComponent, child_of, name_of, parent_of};

/// How a component was known again under another name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// The station gave it the same handle, and it has the same type.
    Handle,
    /// The station's handles do not tell; in the same folder one component of this type is missing and a new one has the
    /// same components below it.
    Pattern,
}

impl Basis {
    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Handle => "handle",
            Self::Pattern => "pattern",
        }
    }
}

/// A component that is gone or new, with all that went or came with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subtree {
    pub path: String,
    pub type_spec: String,
    /// Components below it, not listed themselves.
    pub descendants: usize,
}

/// A component under another path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renamed {
    pub from: String,
    pub to: String,
    pub type_spec: String,
    pub basis: Basis,
    /// It has another parent, not only another name.
    pub is_moved: bool,
    /// Components below it, which have other paths for this reason alone.
    pub descendants: usize,
}

/// A component of another type at the same path; what lies below it is not compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retyped {
    pub path: String,
    pub before: String,
    pub now: String,
}

/// Everything that changed, each in the station's order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Difference {
    pub gone: Vec<Subtree>,
    pub renamed: Vec<Renamed>,
    pub appeared: Vec<Subtree>,
    pub retyped: Vec<Retyped>,
    /// Where every component of then is now; none for those that are gone.
    paths: HashMap<String, Option<String>>,
}

impl Difference {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.gone.is_empty()
            && self.renamed.is_empty()
            && self.appeared.is_empty()
            && self.retyped.is_empty()
    }

    /// Where something that had this path is now: the way to the deepest component of then that is still there, and the
    /// rest as it was. None when that component is gone or was never known.
    pub fn path_now(&self, path: &str) -> Option<String> {
        let mut rest: Vec<&str> = Vec::new();
        let mut known = path;
        loop {
            if let Some(now) = self.paths.get(known) {
                let names = rest.iter().rev();
                return Some(names.fold(now.clone()?, |path, name| child_of(&path, name)));
            }
            rest.push(name_of(known));
            known = parent_of(known)?;
        }
    }
}

/// Compares the state of then with that of now; both hold the components of the same folders.
///
/// Handles decide who is who as long as the station keeps them: a component with the handle and the type of then is the
/// same one, whatever its path. After nearly all handles changed (a station copied or rebuilt) names and types decide,
/// see [`Basis::Pattern`].
pub fn compare(before: &[KnownComponent], now: &[KnownComponent]) -> Difference {
    let mut pairing = Pairing::new(before, now);
    let basis = if handles_hold(before, now) {
        by_handle(&mut pairing);
        by_path(&mut pairing);
        Basis::Handle
    } else {
        by_path(&mut pairing);
        by_pattern(&mut pairing);
        Basis::Pattern
    };
    report(&pairing, basis)
}

fn report(pairing: &Pairing<'_>, basis: Basis) -> Difference {
    let mut difference = Difference::default();
    let mut renamed_at: HashMap<&str, usize> = HashMap::new();
    for (index, component) in pairing.before.iter().enumerate() {
        let now = pairing.now_of(index);
        let path_now = now.map(|now| now.path.clone());
        difference.paths.insert(component.path.clone(), path_now);
        let Some(now) = now else { continue };
        if component.path == now.path {
            if component.type_spec != now.type_spec {
                difference.retyped.push(Retyped {
                    path: component.path.clone(),
                    before: component.type_spec.clone(),
                    now: now.type_spec.clone(),
                });
            }
            continue;
        }
        if pairing.moved_with_parent(index) {
            continue;
        }
        renamed_at.insert(&component.path, difference.renamed.len());
        difference.renamed.push(Renamed {
            from: component.path.clone(),
            to: now.path.clone(),
            type_spec: now.type_spec.clone(),
            basis,
            is_moved: pairing.has_other_parent(index),
            descendants: 0,
        });
    }
    for (index, component) in pairing.before.iter().enumerate() {
        if pairing
            .now_of(index)
            .is_some_and(|now| now.path != component.path)
            && pairing.moved_with_parent(index)
            && let Some(renamed) = ancestor_in(&renamed_at, &component.path)
                .and_then(|at| difference.renamed.get_mut(at))
        {
            renamed.descendants += 1;
        }
    }
    difference.gone = subtrees(&pairing.unpaired_before());
    difference.appeared = subtrees(&pairing.unpaired_now());
    leave_out_parts_of_retyped(&mut difference);
    difference
}

/// What lies below a component of another type came with that type.
fn leave_out_parts_of_retyped(difference: &mut Difference) {
    let retyped = difference.retyped.iter();
    let retyped: Vec<String> = retyped.map(|one| one.path.clone()).collect();
    let places: HashMap<&str, usize> = retyped.iter().map(String::as_str).zip(0..).collect();
    let is_part = |path: &str| ancestor_in(&places, path).is_some();
    difference.gone.retain(|gone| !is_part(&gone.path));
    difference.appeared.retain(|new| !is_part(&new.path));
    difference.retyped.retain(|one| !is_part(&one.path));
}

/// The topmost of some components, each with the number of those below it.
fn subtrees(components: &[&KnownComponent]) -> Vec<Subtree> {
    let paths: HashSet<&str> = components
        .iter()
        .map(|component| component.path.as_str())
        .collect();
    let mut tops: Vec<Subtree> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for component in components {
        let is_top = parent_of(&component.path).is_none_or(|parent| !paths.contains(parent));
        if is_top {
            places.insert(&component.path, tops.len());
            tops.push(Subtree {
                path: component.path.clone(),
                type_spec: component.type_spec.clone(),
                descendants: 0,
            });
        }
    }
    for component in components {
        if !places.contains_key(component.path.as_str())
            && let Some(top) = ancestor_in(&places, &component.path).and_then(|at| tops.get_mut(at))
        {
            top.descendants += 1;
        }
    }
    tops
}

/// The place of the nearest ancestor that has one.
fn ancestor_in(places: &HashMap<&str, usize>, path: &str) -> Option<usize> {
    let mut parent = parent_of(path);
    while let Some(path) = parent {
        if let Some(place) = places.get(path) {
            return Some(*place);
        }
        parent = parent_of(path);
    }
    None
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
