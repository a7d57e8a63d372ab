//! `niagara://equipment/{id}`: one piece of equipment as the knowledge file has it (Tool surface §10).

use std::sync::Arc;

use super::knowledge_entry::EntryResource;
use super::{Address, ResourceDefinition};
use crate::knowledge::{Equipment, KnowledgeStore, completion};

/// The resource family `niagara://equipment/{id}`.
pub fn equipment(knowledge: Arc<KnowledgeStore>) -> EntryResource {
    EntryResource {
        knowledge,
        definition: || {
            ResourceDefinition {
            address: Address::Template("niagara://equipment/{id}".into()),
            other_prefixes: Vec::new(),
            name: "equipment".into(),
            description: "One piece of equipment of the knowledge model: name, type, space, ord, and the ords of its \
                          points by role; with how complete its stored trends are, for those who may see them."
                .into(),
            mime_type: "application/json",
        }
        },
        tree: |model, id| model.equipment(id).map(Equipment::to_tree),
        ids: completion::equipment_ids,
    }
}
