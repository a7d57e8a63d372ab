//! What equal names were taken for elsewhere: on neighbouring equipment, and in what is mapped already.

use std::collections::HashMap;

use super::grouping::Member;
use super::vocabulary::KnownType;
use super::words::{Piece, pieces};
use crate::knowledge::KnowledgeModel;
use crate::knowledge::mapped::component_of;
use crate::station::ord::Ord;

/// Share of the neighbours that must agree.
const AGREEMENT: f64 = 0.7;

/// Neighbours that are a pattern for a point which says nothing of itself.
const PATTERN: usize = 3;

/// The name of a point as it would stand on any equipment of its kind.
pub(super) fn common_name(parts: &[Piece]) -> String {
    let mut name = String::new();
    for piece in parts {
        if !name.is_empty() {
            name.push(' ');
        }
        name.push_str(if piece.is_number {
            piece.text.trim_start_matches('0')
        } else {
            &piece.text
        });
    }
    name
}

/// Roles that names have in the model, by kind of equipment.
#[derive(Debug, Default)]
pub(super) struct MappedNames(HashMap<(usize, String), HashMap<String, usize>>);

impl MappedNames {
    pub fn of(model: &KnowledgeModel, types: &[KnownType]) -> Self {
        let mut names = Self::default();
        for equipment in &model.document().equipment {
            let family = equipment
                .equipment_type
                .as_deref()
                .and_then(|id| types.iter().find(|known| known.id == id)?.family);
            let Some(family) = family else {
                continue;
            };
            for (role, ord) in &equipment.points {
                let Some(path) = Ord::component(ord)
                    .ok()
                    .and_then(|ord| ord.slot_path().map(component_of))
                else {
                    continue;
                };
                let name = path.rsplit('/').next().unwrap_or_default();
                *names
                    .0
                    .entry((family, common_name(&pieces(name))))
                    .or_default()
                    .entry(role.clone())
                    .or_default() += 1;
            }
        }
        names
    }

    /// The role that most equal names have on equipment of this kind, and how many.
    pub fn role_of(&self, family: usize, member: &Member) -> Option<(&str, usize)> {
        let roles = self.0.get(&(family, common_name(&member.pieces)))?;
        let all: usize = roles.values().sum();
        let (role, count) = roles
            .iter()
            .max_by(|one, two| one.1.cmp(two.1).then_with(|| two.0.cmp(one.0)))?;
        (*count as f64 >= AGREEMENT * all as f64).then_some((role.as_str(), *count))
    }
}

/// Role and confidence that a point got.
type Got = Option<(String, f64)>;

/// What equal names got within one station, by kind of equipment.
#[derive(Debug, Default)]
pub(super) struct Neighbours(HashMap<(usize, String), Vec<Got>>);

/// What the neighbours of a point say.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Consensus {
    pub role: String,
    /// Middle confidence among those that have the role.
    pub confidence: f64,
    /// How many have it.
    pub count: usize,
    /// Enough to give the role to a point that says nothing of itself.
    pub is_pattern: bool,
}

impl Neighbours {
    pub fn add(&mut self, family: usize, member: &Member, role: Option<(&str, f64)>) {
        self.0
            .entry((family, common_name(&member.pieces)))
            .or_default()
            .push(role.map(|(role, confidence)| (role.to_owned(), confidence)));
    }

    /// What the others with this name agree on; the point itself is one of them.
    pub fn consensus(&self, family: usize, member: &Member) -> Option<Consensus> {
        let all = self.0.get(&(family, common_name(&member.pieces)))?;
        let mut by_role: HashMap<&str, Vec<f64>> = HashMap::new();
        for (role, confidence) in all.iter().flatten() {
            by_role.entry(role).or_default().push(*confidence);
        }
        let (role, mut confidences) = by_role
            .into_iter()
            .max_by(|one, two| one.1.len().cmp(&two.1.len()).then_with(|| two.0.cmp(one.0)))?;
        let count = confidences.len();
        if count < 2 || (count as f64) < AGREEMENT * all.len() as f64 {
            return None;
        }
        confidences.sort_by(f64::total_cmp);
        Some(Consensus {
            role: role.to_owned(),
            confidence: confidences.get(count / 2).copied().unwrap_or_default(),
            count,
            is_pattern: count >= PATTERN,
        })
    }
}
