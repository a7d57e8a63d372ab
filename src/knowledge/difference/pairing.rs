//! Who is who: components of then paired with components of now.

use std::collections::{BTreeMap, HashMap};

use super::{KnownComponent, child_of, name_of, parent_of};

/// Share of handles, in tenths, that must have been kept for handles to tell who is who.
const KEPT_TENTHS: usize = 9;

/// Least similarity of two names (0 to 1) where several components of a type are missing and new in one folder.
const LEAST_SIMILARITY: f64 = 0.5;

/// Pairs of components, each in at most one.
pub(super) struct Pairing<'c> {
    pub before: &'c [KnownComponent],
    now: &'c [KnownComponent],
    before_by_path: HashMap<&'c str, usize>,
    now_by_path: HashMap<&'c str, usize>,
    now_of: Vec<Option<usize>>,
    before_of: Vec<Option<usize>>,
}

impl<'c> Pairing<'c> {
    pub fn new(before: &'c [KnownComponent], now: &'c [KnownComponent]) -> Self {
        Self {
            before_by_path: by_path_index(before),
            now_by_path: by_path_index(now),
            now_of: vec![None; before.len()],
            before_of: vec![None; now.len()],
            before,
            now,
        }
    }

    /// What a component of then is now.
    pub fn now_of(&self, before: usize) -> Option<&'c KnownComponent> {
        self.now.get(self.paired_now(before)?)
    }

    pub fn unpaired_before(&self) -> Vec<&'c KnownComponent> {
        unpaired(self.before, &self.now_of)
    }

    pub fn unpaired_now(&self) -> Vec<&'c KnownComponent> {
        unpaired(self.now, &self.before_of)
    }

    /// Whether a paired component has another path only because an ancestor has.
    pub fn moved_with_parent(&self, before: usize) -> bool {
        let Some((then, now)) = self.before.get(before).zip(self.now_of(before)) else {
            return false;
        };
        name_of(&then.path) == name_of(&now.path) && !self.has_other_parent(before)
    }

    /// Whether the parent of a paired component is not what its parent of then is now.
    pub fn has_other_parent(&self, before: usize) -> bool {
        let Some((then, now)) = self.before.get(before).zip(self.now_of(before)) else {
            return false;
        };
        let (Some(parent_then), Some(parent_now)) = (parent_of(&then.path), parent_of(&now.path))
        else {
            return false;
        };
        self.translated(parent_then).unwrap_or(parent_then) != parent_now
    }

    /// The path that the component of a path of then has now.
    fn translated(&self, path: &str) -> Option<&'c str> {
        let before = *self.before_by_path.get(path)?;
        Some(&self.now_of(before)?.path)
    }

    fn paired_now(&self, before: usize) -> Option<usize> {
        self.now_of.get(before).copied().flatten()
    }

    fn is_free(&self, before: usize, now: usize) -> bool {
        self.paired_now(before).is_none() && self.before_of.get(now).is_some_and(Option::is_none)
    }

    fn pair(&mut self, before: usize, now: usize) {
        if !self.is_free(before, now) {
            return;
        }
        if let (Some(to), Some(from)) = (self.now_of.get_mut(before), self.before_of.get_mut(now)) {
            (*to, *from) = (Some(now), Some(before));
        }
    }
}

fn by_path_index(components: &[KnownComponent]) -> HashMap<&str, usize> {
    let paths = components.iter().map(|component| component.path.as_str());
    paths.zip(0..).collect()
}

fn unpaired<'c>(
    components: &'c [KnownComponent],
    partners: &[Option<usize>],
) -> Vec<&'c KnownComponent> {
    let lone = components
        .iter()
        .zip(partners)
        .filter(|(_, partner)| partner.is_none());
    lone.map(|(component, _)| component).collect()
}

/// Whether the station still has the handles of then: nearly all components at an unchanged path have theirs, or, where
/// no path is unchanged, nearly all handles of then lead to a component of the same type.
pub(super) fn handles_hold(before: &[KnownComponent], now: &[KnownComponent]) -> bool {
    let by_path: HashMap<&str, &KnownComponent> = now
        .iter()
        .map(|component| (component.path.as_str(), component))
        .collect();
    let (mut at_same_path, mut kept) = (0, 0);
    for component in before {
        if let (Some(handle), Some(now)) = (&component.handle, by_path.get(component.path.as_str()))
        {
            at_same_path += 1;
            kept += usize::from(now.handle.as_ref() == Some(handle));
        }
    }
    if at_same_path > 0 {
        return kept * 10 >= at_same_path * KEPT_TENTHS;
    }
    let by_handle = handle_index(now);
    let with_handle: Vec<_> = before
        .iter()
        .filter(|component| component.handle.is_some())
        .collect();
    let found = with_handle
        .iter()
        .filter(|component| same_by_handle(component, &by_handle, now).is_some())
        .count();
    found > 0 && found * 10 >= with_handle.len() * KEPT_TENTHS
}

fn handle_index(components: &[KnownComponent]) -> HashMap<&str, usize> {
    let handles = components.iter().enumerate();
    handles
        .filter_map(|(index, component)| Some((component.handle.as_deref()?, index)))
        .collect()
}

fn same_by_handle(
    component: &KnownComponent,
    by_handle: &HashMap<&str, usize>,
    now: &[KnownComponent],
) -> Option<usize> {
    let index = *by_handle.get(component.handle.as_deref()?)?;
    let candidate = now.get(index)?;
    (candidate.type_spec == component.type_spec).then_some(index)
}

/// Pairs components of the same handle and type.
pub(super) fn by_handle(pairing: &mut Pairing<'_>) {
    let handles = handle_index(pairing.now);
    let (before, now) = (pairing.before, pairing.now);
    for (index, component) in before.iter().enumerate() {
        if let Some(same) = same_by_handle(component, &handles, now) {
            pairing.pair(index, same);
        }
    }
}

/// Pairs what is left at the same path.
pub(super) fn by_path(pairing: &mut Pairing<'_>) {
    let before = pairing.before;
    for (index, component) in before.iter().enumerate() {
        if let Some(same) = pairing.now_by_path.get(component.path.as_str()).copied() {
            pairing.pair(index, same);
        }
    }
}

/// Pairs what is left by folder, type and what lies below, from the top down.
pub(super) fn by_pattern(pairing: &mut Pairing<'_>) {
    let before = pairing.before;
    let mut levels: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, component) in before.iter().enumerate() {
        let depth = component.path.matches('/').count();
        levels.entry(depth).or_default().push(index);
    }
    let shapes_before = Shapes::of(before);
    let shapes_now = Shapes::of(pairing.now);
    for level in levels.into_values() {
        let mut lone = Vec::new();
        for index in level {
            if pairing.paired_now(index).is_none() && !pair_with_parent(pairing, index) {
                lone.push(index);
            }
        }
        pair_lone(pairing, lone, &shapes_before, &shapes_now);
    }
}

/// Pairs a component that kept its name below a parent with another path.
fn pair_with_parent(pairing: &mut Pairing<'_>, index: usize) -> bool {
    let Some(component) = pairing.before.get(index) else {
        return false;
    };
    let parent = parent_of(&component.path).and_then(|parent| pairing.translated(parent));
    let Some(path) = parent.map(|parent| child_of(parent, name_of(&component.path))) else {
        return false;
    };
    let Some(same) = pairing.now_by_path.get(path.as_str()).copied() else {
        return false;
    };
    pairing.pair(index, same);
    pairing.paired_now(index).is_some()
}

/// What lies below each component: relative paths with their types.
struct Shapes<'c>(HashMap<&'c str, Vec<(&'c str, &'c str)>>);

impl<'c> Shapes<'c> {
    fn of(components: &'c [KnownComponent]) -> Self {
        let mut below: HashMap<&str, Vec<(&str, &str)>> = HashMap::new();
        for component in components {
            if let Some(parent) = parent_of(&component.path) {
                below
                    .entry(parent)
                    .or_default()
                    .push((name_of(&component.path), &component.type_spec));
            }
        }
        for children in below.values_mut() {
            children.sort_unstable();
        }
        Self(below)
    }

    /// Names and types of the direct children.
    fn children(&self, path: &str) -> &[(&'c str, &'c str)] {
        self.0.get(path).map_or(&[], Vec::as_slice)
    }
}

fn pair_lone(
    pairing: &mut Pairing<'_>,
    lone: Vec<usize>,
    shapes_before: &Shapes<'_>,
    shapes_now: &Shapes<'_>,
) {
    let (before, now) = (pairing.before, pairing.now);
    let mut new_ones: HashMap<(&str, &str), Vec<usize>> = HashMap::new();
    for (index, component) in now.iter().enumerate() {
        if pairing.before_of.get(index).is_some_and(Option::is_none)
            && let Some(parent) = parent_of(&component.path)
        {
            new_ones
                .entry((parent, &component.type_spec))
                .or_default()
                .push(index);
        }
    }
    let mut missing: HashMap<(&str, &str), Vec<usize>> = HashMap::new();
    for index in lone {
        let Some(component) = before.get(index) else {
            continue;
        };
        let Some(parent) = parent_of(&component.path) else {
            continue;
        };
        let parent = pairing.translated(parent).unwrap_or(parent);
        missing
            .entry((parent, &component.type_spec))
            .or_default()
            .push(index);
    }
    for (place, missing) in missing {
        let new_ones = new_ones.get(&place).map_or(&[][..], Vec::as_slice);
        let only_ones = missing.len() == 1 && new_ones.len() == 1;
        let mut candidates: Vec<(f64, usize, usize)> = Vec::new();
        for (then, new) in missing
            .iter()
            .flat_map(|then| new_ones.iter().map(move |new| (*then, *new)))
        {
            let (Some(then_component), Some(new_component)) = (before.get(then), now.get(new))
            else {
                continue;
            };
            let similarity = strsim::normalized_levenshtein(
                name_of(&then_component.path),
                name_of(&new_component.path),
            );
            let same_below = shapes_before.children(&then_component.path)
                == shapes_now.children(&new_component.path);
            if same_below && (only_ones || similarity >= LEAST_SIMILARITY) {
                candidates.push((similarity, then, new));
            }
        }
        candidates.sort_by(|one, other| {
            other
                .0
                .total_cmp(&one.0)
                .then(one.1.cmp(&other.1))
                .then(one.2.cmp(&other.2))
        });
        for (_, then, new) in candidates {
            pairing.pair(then, new);
        }
    }
}
