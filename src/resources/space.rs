//! `niagara://space/{id}`: one space and what lies directly in it (Tool surface §10).

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::knowledge_entry::{readable, summary};
use super::{Address, Resource, ResourceDefinition, ResourceError};
use crate::knowledge::{KnowledgeDocument, KnowledgeStore, Space, completion};
use crate::tools::CallContext;

/// The resource family `niagara://space/{id}`.
pub struct SpaceResource(pub Arc<KnowledgeStore>);

impl Resource for SpaceResource {
    fn definition(&self) -> ResourceDefinition {
        ResourceDefinition {
            address: Address::Template("niagara://space/{id}".into()),
            other_prefixes: vec!["niagara://spaces/".into()],
            name: "space".into(),
            description:
                "One space of the knowledge model with the equipment and the standalone points that lie \
                          directly in it; spaces inside it are not looked into."
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
            let space = snapshot.model.space(id).ok_or(ResourceError::NotFound)?;
            Ok(with_contents(space, snapshot.model.document()).to_string())
        })
    }

    fn complete<'a>(
        &'a self,
        _context: &'a CallContext,
        typed: &'a str,
    ) -> BoxFuture<'a, Vec<String>> {
        let snapshot = self.0.snapshot();
        let found = completion::space_ids(snapshot.model.document(), typed);
        Box::pin(std::future::ready(found))
    }
}

fn with_contents(space: &Space, document: &KnowledgeDocument) -> Value {
    let here = |place: &Option<String>| place.as_deref() == Some(space.id.as_str());
    let equipment = document.equipment.iter().filter(|entry| here(&entry.space));
    let equipment: Vec<Value> = equipment
        .map(|entry| {
            summary([
                ("id", Some(entry.id.as_str())),
                ("name", entry.name.as_deref()),
                ("type", entry.equipment_type.as_deref()),
                ("ord", entry.ord.as_deref()),
            ])
        })
        .collect();
    let points = document.points.iter().filter(|entry| here(&entry.space));
    let points: Vec<Value> = points
        .map(|entry| {
            summary([
                ("id", Some(entry.id.as_str())),
                ("name", entry.name.as_deref()),
                ("kind", entry.kind.as_deref()),
                ("ord", entry.ord.as_deref()),
            ])
        })
        .collect();
    let mut tree = space.to_tree();
    if let Value::Object(members) = &mut tree {
        members.insert("equipment".to_owned(), json!(equipment));
        members.insert("standalonePoints".to_owned(), json!(points));
    }
    tree
}
