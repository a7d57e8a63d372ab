//! The types of the model, or the standard types for an empty one, and what roles are called on each.

use std::sync::LazyLock;

use super::ShippedClues;
use super::clues::Clue;
use super::concept::ConceptSet;
use super::evidence::{Surroundings, fits, quantity_concepts};
use super::family::given;
use super::lexicon::Lexicon;
use super::quantity::Quantity;
use super::words::pieces;
use crate::knowledge::camber_roles::{camber_role, is_listed, lineage};
use crate::knowledge::{
    EquipmentType, KnowledgeModel, STANDARD_TYPES, TypicalPoint, decode, format,
};

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
    /// What its names say beyond its kind of equipment and beyond the type that it extends ("gas" of a gas meter); nothing
    /// for a type that others extend.
    pub words: ConceptSet,
    /// What roles that have a clue are called on this type: place of the clue and name.
    pub named: Vec<NamedRole>,
    /// Clues of its other roles.
    pub own: Vec<Clue>,
    pub roles: Vec<TypeRole>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct NamedRole {
    pub clue: usize,
    pub role: String,
}

/// A role of a type, whether or not the dictionary knows what it is.
#[derive(Debug)]
pub(super) struct TypeRole {
    pub role: String,
    pub is_required: bool,
    pub patterns: Vec<String>,
    /// Quantities of its points; none when nothing is known.
    pub quantities: Vec<Quantity>,
    pub clue: Option<Clue>,
}

impl KnownType {
    /// What the type calls the role of a clue.
    pub fn name_of(&self, clue: usize) -> Option<&NamedRole> {
        self.named.iter().find(|named| named.clue == clue)
    }

    /// Whether the type has this role.
    pub fn has(&self, role: &str) -> bool {
        self.roles.iter().any(|known| known.role == role)
    }
}

/// The types to choose from.
pub(super) fn vocabulary(data: &ShippedClues, model: &KnowledgeModel) -> Vec<KnownType> {
    let source = if model.document().equipment_types.is_empty() {
        &*STANDARD
    } else {
        model
    };
    let types = source.document().equipment_types.iter();
    types
        .map(|entry| {
            let family = family_of(&data.lexicon, source, &entry.id);
            let line = lineage(source, &entry.id);
            let mut known = KnownType {
                id: entry.id.clone(),
                family,
                words: own_words(&data.lexicon, source, entry, family),
                named: Vec::new(),
                own: Vec::new(),
                roles: Vec::new(),
            };
            for point in source.typical_points(&entry.id) {
                add_role(data, &line, family, point, &mut known);
            }
            known
        })
        .collect()
}

fn own_words(
    lexicon: &Lexicon,
    source: &KnowledgeModel,
    entry: &EquipmentType,
    family: Option<usize>,
) -> ConceptSet {
    let is_general = source
        .document()
        .equipment_types
        .iter()
        .any(|other| other.extends.as_deref() == Some(&entry.id));
    if is_general {
        return ConceptSet::default();
    }
    let extended = entry
        .extends
        .as_deref()
        .and_then(|id| source.equipment_type(id))
        .map(|entry| words_of(lexicon, entry));
    words_of(lexicon, entry)
        .minus(given(lexicon, family))
        .minus(extended.unwrap_or_default())
}

fn words_of(lexicon: &Lexicon, entry: &EquipmentType) -> ConceptSet {
    std::iter::once(entry.id.as_str())
        .chain(entry.name.as_deref())
        .chain(entry.aliases.iter().map(String::as_str))
        .map(|name| lexicon.all_meanings(&pieces(name)))
        .collect()
}

fn add_role(
    data: &ShippedClues,
    line: &[&str],
    family: Option<usize>,
    point: &TypicalPoint,
    known: &mut KnownType,
) {
    let clues = &data.clues;
    let meant = camber_role(line, &point.role);
    let stands_for_itself = data
        .type_clues
        .iter()
        .any(|clue| clue.is_itself && clue.role == point.role);
    let place = match meant {
        _ if stands_for_itself => None,
        Some(role) => clues.iter().position(|clue| clue.role == role),
        None if is_listed(line, &point.role) => None,
        None => same_role(&data.lexicon, clues, family, point),
    };
    let clue = match place {
        Some(place) => {
            let clue = clues.get(place).cloned();
            let is_itself = clue.as_ref().is_some_and(|clue| clue.role == point.role);
            let named = NamedRole {
                clue: place,
                role: point.role.clone(),
            };
            // Of several names for one role the role's own name goes first.
            match known.named.iter_mut().find(|named| named.clue == place) {
                Some(first) if is_itself => *first = named,
                Some(_) => {}
                None => known.named.push(named),
            }
            clue
        }
        None => {
            let clue = own_clue(data, family, point);
            known.own.extend(clue.clone());
            clue
        }
    };
    let mut quantities = Quantity::of_kind(point.kind.as_deref().unwrap_or_default());
    if let Some(clue) = &clue {
        quantities.extend(&clue.quantities);
    }
    known.roles.push(TypeRole {
        role: point.role.clone(),
        is_required: point.required,
        patterns: point.slot_patterns.clone(),
        quantities,
        clue,
    });
}

/// What tells a role that CAMBER does not have: the shipped clue, or the words of its name.
fn own_clue(data: &ShippedClues, family: Option<usize>, point: &TypicalPoint) -> Option<Clue> {
    let shipped = data.type_clues.iter().find(|clue| clue.role == point.role);
    match shipped {
        Some(clue) => Some(Clue {
            on: family.into_iter().collect(),
            ..clue.clone()
        }),
        None => Clue::of_typical_point(&data.lexicon, point, family),
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
    let given = given(lexicon, family);
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

/// The types for a kind of equipment; those of the kind that it is like when there is none.
pub(super) fn types_for<'t>(
    lexicon: &Lexicon,
    types: &'t [KnownType],
    family: usize,
) -> Vec<&'t KnownType> {
    let mut wanted = Some(family);
    let mut steps = 0;
    while let Some(family) = wanted {
        let fitting: Vec<&KnownType> = types
            .iter()
            .filter(|known| known.family == Some(family))
            .collect();
        if !fitting.is_empty() {
            return fitting;
        }
        steps += 1;
        wanted = lexicon
            .families()
            .get(family)
            .and_then(|family| family.like.as_deref())
            .and_then(|like| lexicon.family(like))
            .filter(|_| steps < lexicon.families().len());
    }
    Vec::new()
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
        vocabulary(data, &model)
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
