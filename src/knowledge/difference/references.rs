//! Which references of a model a change of the station touches.

use std::collections::HashSet;

use super::compare::Difference;
use super::parent_of;
use crate::knowledge::document::KnowledgeDocument;
use crate::knowledge::mapped::{OrdReference, references};
use crate::station::ord::Ord;

/// A reference that no longer leads where it led.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AffectedReference<'m> {
    pub reference: OrdReference<'m>,
    /// Path of the gone, renamed or retyped component that it leads to or through, the deepest one.
    pub through: String,
    /// Slot path at which it would lead to the same object; none when that is gone.
    pub path_now: Option<String>,
}

/// The references through what is gone, renamed or of another type, in file order.
pub fn affected_references<'m>(
    document: &'m KnowledgeDocument,
    difference: &Difference,
) -> Vec<AffectedReference<'m>> {
    let gone = difference.gone.iter().map(|subtree| subtree.path.as_str());
    let renamed = difference
        .renamed
        .iter()
        .map(|renamed| renamed.from.as_str());
    let retyped = difference
        .retyped
        .iter()
        .map(|retyped| retyped.path.as_str());
    let changed: HashSet<&str> = gone.chain(renamed).chain(retyped).collect();
    references(document)
        .into_iter()
        .filter_map(|reference| {
            let Ok(Ord::Slot(path)) = Ord::component(reference.ord) else {
                return None;
            };
            let path = path.to_string();
            let mut through = Some(path.as_str());
            while let Some(part) = through.filter(|part| !changed.contains(part)) {
                through = parent_of(part);
            }
            let through = through?.to_owned();
            Some(AffectedReference {
                reference,
                path_now: difference.path_now(&path),
                through,
            })
        })
        .collect()
}
