//! `niagara://standalone-point/{id}`: one point without equipment as the knowledge file has it (Tool surface §10).

use std::sync::Arc;

use super::knowledge_entry::EntryResource;
use super::{Address, ResourceDefinition};
use crate::knowledge::{KnowledgeStore, StandalonePoint, completion};

/// The resource family `niagara://standalone-point/{id}`.
pub fn standalone_point(knowledge: Arc<KnowledgeStore>) -> EntryResource {
    EntryResource {
        knowledge,
        definition: || {
            ResourceDefinition {
            address: Address::Template("niagara://standalone-point/{id}".into()),
            other_prefixes: vec!["niagara://standalone-points/".into()],
            name: "standalone-point".into(),
            description:
                "One point of the knowledge model that belongs to no equipment, such as a room sensor: \
                          name, space, ord, kind and its role in the space."
                    .into(),
            mime_type: "application/json",
        }
        },
        tree: |model, id| model.standalone_point(id).map(StandalonePoint::to_tree),
        ids: completion::standalone_point_ids,
    }
}
