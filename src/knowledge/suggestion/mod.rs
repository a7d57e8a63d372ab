//! Proposals for the model from what a station says of its points: equipment, types and roles, each with a confidence.
//!
//! Nothing here asks a station or changes anything. The way of a name: [`words`] takes it apart, [`lexicon`] tells what
//! the words mean, [`evidence`] weighs the meanings against the [`clues`] of every role. Before that, [`grouping`] finds
//! which points belong together and [`family`] what kind of equipment they are; after it, [`facts`] weighs type, status
//! and values, [`assignment`] gives each role to one point, [`siblings`] learns from neighbours and from what is mapped
//! already. [`vocabulary`] knows what roles are called on the model's types. [`engine`] leads [`draft`]s through all of it
//! and hands out each as a [`proposal`].
//!
//! A confidence is an estimate of how often such a proposal is right: of those above 0.9 at least nineteen in twenty are.

mod assignment;
mod clues;
mod concept;
mod draft;
mod engine;
mod evidence;
mod facts;
mod family;
mod grouping;
mod lexicon;
mod proposal;
mod quantity;
mod reading;
mod siblings;
mod slot_pattern;
mod vocabulary;
mod wildcard;
mod words;

use std::sync::LazyLock;

pub use engine::{propose, uncertain};
pub use quantity::{Quantity, ValueKind};
pub use wildcard::matches_pattern;

pub(super) use words::{kebab, name_parts};

use self::clues::Clue;
use self::lexicon::Lexicon;
use crate::station::ord::SlotPath;
use crate::station::units::Unit;

/// A point as the station describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct DescribedPoint {
    pub path: SlotPath,
    pub display_name: String,
    /// `control:NumericWritable` and the like.
    pub type_spec: String,
    pub kind: ValueKind,
    pub unit: Option<Unit>,
    /// The numeric value now, when its status is valid.
    pub value: Option<f64>,
    /// Fault, down, or without any value.
    pub is_bad: bool,
    /// Least and greatest value of the last day, when they were asked for.
    pub recent: Option<(f64, f64)>,
}

/// A role with how sure it is.
#[derive(Debug, Clone, PartialEq)]
pub struct RoleGuess {
    pub role: String,
    /// 0 to 1.
    pub confidence: f64,
}

/// What is proposed for one point.
#[derive(Debug, Clone, PartialEq)]
pub struct PointProposal {
    /// Its place in the list of points.
    pub point: usize,
    /// The proposed role; none when nothing fits well enough.
    pub role: Option<RoleGuess>,
    /// Other roles, the likeliest first.
    pub alternatives: Vec<RoleGuess>,
    pub reasons: Vec<String>,
}

/// A piece of equipment that points belong to.
#[derive(Debug, Clone, PartialEq)]
pub struct EquipmentProposal {
    /// Kebab-case, not yet used in the model, unless `mapped_as` is set.
    pub id: String,
    pub name: String,
    /// The component; shared with other equipment when `is_shared`.
    pub path: SlotPath,
    pub is_shared: bool,
    /// What it is in plain words; none when nothing tells.
    pub kind: Option<String>,
    /// The type of the model, or of the standard types for a model without any.
    pub type_id: Option<String>,
    /// The type that fits but requires the roles in `missing`; then there is no `type_id`.
    pub incomplete_type: Option<String>,
    /// How sure kind and type are.
    pub confidence: f64,
    pub reasons: Vec<String>,
    /// The equipment of the model that has this component already.
    pub mapped_as: Option<String>,
    pub points: Vec<PointProposal>,
    /// Roles that the type requires and no point has.
    pub missing: Vec<String>,
}

/// Dictionary and clues that ship with the bridge.
#[derive(Debug, Default)]
struct ShippedClues {
    lexicon: Lexicon,
    /// Of CAMBER's roles.
    clues: Vec<Clue>,
    /// Of the other roles of the shipped types.
    type_clues: Vec<Clue>,
}

/// A table of this build that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("knowledge/{table}: {detail}")]
struct DataError {
    table: &'static str,
    detail: String,
}

impl DataError {
    fn new(table: &'static str, detail: String) -> Self {
        Self { table, detail }
    }
}

const ABBREVIATIONS: &str = include_str!("../../../knowledge/abbreviations.yaml");
const ROLE_CLUES: &str = include_str!("../../../knowledge/role-clues.yaml");
const TYPE_ROLE_CLUES: &str = include_str!("../../../knowledge/type-role-clues.yaml");

static SHIPPED: LazyLock<ShippedClues> = LazyLock::new(|| {
    read_shipped().unwrap_or_else(|error| {
        tracing::error!(%error, "a table of this build is damaged; no roles can be suggested; install the bridge again");
        ShippedClues::default()
    })
});

fn read_shipped() -> Result<ShippedClues, DataError> {
    let lexicon = Lexicon::parse(ABBREVIATIONS)?;
    let clues = clues::parse("role-clues.yaml", ROLE_CLUES, &lexicon)?;
    let type_clues = clues::parse("type-role-clues.yaml", TYPE_ROLE_CLUES, &lexicon)?;
    Ok(ShippedClues {
        lexicon,
        clues,
        type_clues,
    })
}

fn shipped() -> &'static ShippedClues {
    &SHIPPED
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::knowledge::camber_roles::{camber_role, camber_roles, lineage};
    use crate::knowledge::{
        KnowledgeModel, STANDARD_SAMPLE, STANDARD_TYPES, TypicalPoint, decode, format,
    };

    #[test]
    fn every_role_of_camber_has_a_clue_and_no_other() {
        let shipped = read_shipped().unwrap();
        let mut clued: Vec<&str> = shipped
            .clues
            .iter()
            .map(|clue| clue.role.as_str())
            .collect();
        let mut roles: Vec<&str> = camber_roles()
            .iter()
            .map(|role| role.role.as_str())
            .collect();
        clued.sort_unstable();
        roles.sort_unstable();
        assert_eq!(clued, roles);
    }

    #[test]
    fn every_other_role_of_the_shipped_types_has_a_clue_and_no_other() {
        let mut wanted = BTreeSet::new();
        for text in [STANDARD_TYPES, STANDARD_SAMPLE] {
            let (_, tree) = format::parse("types", text).unwrap();
            let model = KnowledgeModel::new(decode::decode("types", tree).unwrap().document);
            for entry in &model.document().equipment_types {
                let line = lineage(&model, &entry.id);
                let unknown = |point: &&&TypicalPoint| camber_role(&line, &point.role).is_none();
                let points = model.typical_points(&entry.id);
                wanted.extend(
                    points
                        .iter()
                        .filter(unknown)
                        .map(|point| point.role.clone()),
                );
            }
        }
        let shipped = read_shipped().unwrap();
        let clued: BTreeSet<String> = shipped
            .type_clues
            .iter()
            .map(|clue| clue.role.clone())
            .collect();
        assert_eq!(clued, wanted);
        assert_eq!(clued.len(), shipped.type_clues.len(), "one entry a role");
    }
}
