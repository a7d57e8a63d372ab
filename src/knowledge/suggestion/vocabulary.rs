//! The types of the model, or the standard types for an empty one, and what roles are called on each.

use std::sync::LazyLock;

use super::clues::Clue;
use super::evidence::{Surroundings, fits, quantity_concepts};
use super::lexicon::Lexicon;
use super::quantity::Quantity;
use super::words::pieces;
use crate::knowledge::camber_roles::{camber_role, is_listed, lineage};
use crate::knowledge::{KnowledgeModel, STANDARD_TYPES, TypicalPoint, decode, format};

/// How sure the words of a role's name must be to take it for a known role.
const SAME_ROLE: f64 = 0.8;

/// The types to propose for a model without any.
static STANDARD: LazyLock<KnowledgeModel> = LazyLock::new(|| {
    let decoded = format::parse("standard types", STANDARD_TYPES)
        .and_then(|(_, tree)| decode::decode("standard types", tree));
    match decoded {
        Ok(decoded) => KnowledgeModel::new(decoded.document),
        Err(error) => {
            tracing::error!(%error, "the standard types of this build are damaged; install the bridge again");
            KnowledgeModel::default()
        }
    }
});

/// One type of the vocabulary.
#[derive(Debug)]
pub(super) struct KnownType {
    pub id: String,
    pub family: Option<usize>,
    /// What roles that have a clue are called on this type: place of the clue, name, whether required.
    pub named: Vec<NamedRole>,
    /// Clues of its other roles.
    pub own: Vec<Clue>,
    /// Slot patterns by role.
    pub patterns: Vec<(String, Vec<String>)>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct NamedRole {
    pub clue: usize,
    pub role: String,
    pub is_required: bool,
}

impl KnownType {
    /// What the type calls the role of a clue.
    pub fn name_of(&self, clue: usize) -> Option<&NamedRole> {
        self.named.iter().find(|named| named.clue == clue)
    }
}

/// The types to choose from.
pub(super) fn vocabulary(
    lexicon: &Lexicon,
    clues: &[Clue],
    model: &KnowledgeModel,
) -> Vec<KnownType> {
    let source = if model.document().equipment_types.is_empty() {
        &*STANDARD
    } else {
        model
    };
    source
        .document()
        .equipment_types
        .iter()
        .map(|entry| {
            let family = family_of(lexicon, source, &entry.id);
            let line = lineage(source, &entry.id);
            let mut known = KnownType {
                id: entry.id.clone(),
                family,
                named: Vec::new(),
                own: Vec::new(),
                patterns: Vec::new(),
            };
            for point in source.typical_points(&entry.id) {
                if !point.slot_patterns.is_empty() {
                    known
                        .patterns
                        .push((point.role.clone(), point.slot_patterns.clone()));
                }
                add_role(lexicon, clues, &line, family, point, &mut known);
            }
            known
        })
        .collect()
}

fn add_role(
    lexicon: &Lexicon,
    clues: &[Clue],
    line: &[&str],
    family: Option<usize>,
    point: &TypicalPoint,
    known: &mut KnownType,
) {
    let meant = camber_role(line, &point.role);
    let clue = match meant {
        Some(role) => clues.iter().position(|clue| clue.role == role),
        None if is_listed(line, &point.role) => None,
        None => same_role(lexicon, clues, family, point),
    };
    match clue {
        Some(clue) => {
            let is_itself = clues.get(clue).is_some_and(|clue| clue.role == point.role);
            let named = NamedRole {
                clue,
                role: point.role.clone(),
                is_required: point.required,
            };
            // Of several names for one role the role's own name goes first.
            match known.named.iter_mut().find(|named| named.clue == clue) {
                Some(first) if is_itself => *first = named,
                Some(_) => {}
                None => known.named.push(named),
            }
        }
        None => known
            .own
            .extend(Clue::of_typical_point(lexicon, point, family)),
    }
}

/// The known role that the words of a role's name say, for names that no table lists.
fn same_role(
    lexicon: &Lexicon,
    clues: &[Clue],
    family: Option<usize>,
    point: &TypicalPoint,
) -> Option<usize> {
    let words = lexicon.words(&pieces(&point.role));
    let given = family
        .and_then(|family| lexicon.families().get(family))
        .map(|family| family.gives)
        .unwrap_or_default();
    let quantities = Quantity::of_kind(point.kind.as_deref().unwrap_or_default());
    quantities
        .into_iter()
        .flat_map(|quantity| {
            let place = Surroundings {
                quantity: quantity_concepts(lexicon, quantity),
                family,
                given,
                languages: &[],
            };
            fits(lexicon, clues, &words, quantity, place)
        })
        .filter(|fit| fit.confidence >= SAME_ROLE)
        .max_by(|one, two| one.confidence.total_cmp(&two.confidence))
        .map(|fit| fit.clue)
}

/// The kind of equipment that the id, name or aliases of a type say, else that of the type it extends.
fn family_of(lexicon: &Lexicon, source: &KnowledgeModel, type_id: &str) -> Option<usize> {
    lineage(source, type_id).into_iter().find_map(|id| {
        let entry = source.equipment_type(id)?;
        std::iter::once(entry.id.as_str())
            .chain(entry.name.as_deref())
            .chain(entry.aliases.iter().map(String::as_str))
            .find_map(|name| {
                // The last word of a name is its head: a water heater is a heater.
                lexicon
                    .families_in(&pieces(name))
                    .pop()
                    .and_then(|mention| mention.families.first().copied())
            })
    })
}

/// The best type for a kind of equipment with these roles, by confidence.
pub(super) fn type_for<'t>(
    lexicon: &Lexicon,
    types: &'t [KnownType],
    family: usize,
    roles: &[(usize, f64)],
) -> Option<&'t KnownType> {
    let mut wanted = Some(family);
    let mut steps = 0;
    while let Some(family) = wanted {
        let fitting = types
            .iter()
            .filter(|known| known.family == Some(family))
            .map(|known| (worth(known, roles), known));
        let best = fitting.fold(None::<(f64, &KnownType)>, |best, next| match best {
            Some(best) if best.0 >= next.0 => Some(best),
            _ => Some(next),
        });
        if let Some((_, known)) = best {
            return Some(known);
        }
        steps += 1;
        wanted = lexicon
            .families()
            .get(family)
            .and_then(|family| family.like.as_deref())
            .and_then(|like| lexicon.family(like))
            .filter(|_| steps < lexicon.families().len());
    }
    None
}

fn worth(known: &KnownType, roles: &[(usize, f64)]) -> f64 {
    let covered: f64 = roles
        .iter()
        .filter(|(clue, _)| known.name_of(*clue).is_some())
        .map(|(_, confidence)| confidence)
        .sum();
    let missing = known
        .named
        .iter()
        .filter(|named| named.is_required && !roles.iter().any(|(clue, _)| *clue == named.clue))
        .count();
    covered - 0.6 * missing as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::suggestion::shipped;

    fn types(text: Option<&str>) -> Vec<KnownType> {
        let data = shipped();
        let model = match text {
            Some(text) => {
                let (_, tree) = format::parse("test", text).unwrap();
                KnowledgeModel::new(decode::decode("test", tree).unwrap().document)
            }
            None => KnowledgeModel::default(),
        };
        vocabulary(&data.lexicon, &data.clues, &model)
    }

    fn called(types: &[KnownType], type_id: &str, role: &str) -> Option<String> {
        let clue = shipped().clues.iter().position(|clue| clue.role == role)?;
        let known = types.iter().find(|known| known.id == type_id)?;
        known.name_of(clue).map(|named| named.role.clone())
    }

    #[test]
    fn an_empty_model_takes_the_standard_types_and_every_one_has_a_kind() {
        let types = types(None);
        for known in &types {
            assert!(known.family.is_some(), "{} is of no known kind", known.id);
        }
        assert_eq!(
            called(&types, "vav", "space_temp").as_deref(),
            Some("space_temp")
        );
    }

    #[test]
    fn a_models_own_types_keep_their_names_for_roles() {
        let types = types(Some(
            "equipment_types:\n- {id: fan-coil, typical_points: [{role: room_temp, kind: temperature}, \
             {role: Ventilstellung Kühlung, kind: percent}, {role: window_contact, kind: boolean}]}\n",
        ));
        assert_eq!(
            called(&types, "fan-coil", "space_temp").as_deref(),
            Some("room_temp")
        );
        assert_eq!(
            called(&types, "fan-coil", "cool_valve").as_deref(),
            Some("Ventilstellung Kühlung")
        );
    }
}
