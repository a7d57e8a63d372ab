//! `niagara://space/{id}`: one space and what lies directly in it (Tool surface §10).

use std::sync::Arc;

use serde_json::{Value, json};

use super::knowledge_entry::{EntryResource, summary};
use super::{Address, ResourceDefinition};
use crate::knowledge::{KnowledgeDocument, KnowledgeStore, Space, completion};

/// The resource family `niagara://space/{id}`.
pub fn space(knowledge: Arc<KnowledgeStore>) -> EntryResource {
    EntryResource {
        knowledge,
        definition: || {
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
        },
        tree: |model, id| {
            let space = model.space(id)?;
            Some(with_contents(space, model.document()))
        },
        ids: completion::space_ids,
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
