//! `niagara://equipment/{id}`: one piece of equipment as the knowledge file has it (Tool surface §10).

use std::sync::Arc;

use futures::future::BoxFuture;

use super::knowledge_entry::readable;
use super::{Address, Resource, ResourceDefinition, ResourceError};
use crate::knowledge::{KnowledgeStore, completion};
use crate::tools::CallContext;

/// The resource family `niagara://equipment/{id}`.
pub struct EquipmentResource(pub Arc<KnowledgeStore>);

impl Resource for EquipmentResource {
    fn definition(&self) -> ResourceDefinition {
        ResourceDefinition {
            address: Address::Template("niagara://equipment/{id}".into()),
            other_prefixes: Vec::new(),
            name: "equipment".into(),
            description: "One piece of equipment of the knowledge model: name, type, space, ord, and the ords of its \
                          points by role."
                .into(),
            mime_type: "application/json",
        }
    }

    fn read<'a>(
        &'a self,
        _context: &'a CallContext,
        id: &'a str,
    ) -> BoxFuture<'a, Result<String, ResourceError>> {
        Box::pin(async move {
            let snapshot = readable(&self.0)?;
            let entry = snapshot.model.equipment(id);
            let entry = entry.ok_or(ResourceError::NotFound)?;
            Ok(entry.to_tree().to_string())
        })
    }

    fn complete<'a>(
        &'a self,
        _context: &'a CallContext,
        typed: &'a str,
    ) -> BoxFuture<'a, Vec<String>> {
        let snapshot = self.0.snapshot();
        let found = completion::equipment_ids(snapshot.model.document(), typed);
        Box::pin(std::future::ready(found))
    }
}
