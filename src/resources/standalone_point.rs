//! `niagara://standalone-point/{id}`: one point without equipment as the knowledge file has it (Tool surface §10).

use std::sync::Arc;

use futures::future::BoxFuture;

use super::knowledge_entry::readable;
use super::{Address, Resource, ResourceDefinition, ResourceError};
use crate::knowledge::{KnowledgeStore, completion};
use crate::tools::CallContext;

/// The resource family `niagara://standalone-point/{id}`.
pub struct StandalonePointResource(pub Arc<KnowledgeStore>);

impl Resource for StandalonePointResource {
    fn definition(&self) -> ResourceDefinition {
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
    }

    fn read<'a>(
        &'a self,
        _context: &'a CallContext,
        id: &'a str,
    ) -> BoxFuture<'a, Result<String, ResourceError>> {
        Box::pin(async move {
            let snapshot = readable(&self.0)?;
            let entry = snapshot.model.standalone_point(id);
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
        let found = completion::standalone_point_ids(snapshot.model.document(), typed);
        Box::pin(std::future::ready(found))
    }
}
