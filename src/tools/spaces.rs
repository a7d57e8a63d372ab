//! `createSpace`, `updateSpace`: the places of a site (Tool surface §8.6).

use std::sync::Arc;

use serde_json::Map;

use super::knowledge_arguments::{EntryChange, EntryTool, list_schema, texts_schema};
use super::schema::{self, object};
use crate::knowledge::operations::{self, SpaceUpdate};
use crate::knowledge::{KnowledgeStore, Space};

const TYPE: &str = "What it is: building, floor, zone, room, parking, outdoor, mechanical-room or a word of yours.";

/// `createSpace`.
pub fn create_space(knowledge: Arc<KnowledgeStore>) -> EntryTool {
    EntryTool {
        knowledge,
        name: "createSpace",
        description: "Adds a space (building, floor, zone, room) to the knowledge of this site and saves it. The id must be new, \
             kebab-case is usual; a parent must exist. The station is not changed. \
             Example: {\"id\":\"floor-1\",\"name\":\"First floor\",\"type\":\"floor\",\"parent\":\"main-building\"}.",
        input: || {
            object()
                .required("id", schema::string("New id, for example floor-1."))
                .required("name", schema::string("Name people use."))
                .optional("aliases", texts_schema("Other names, in any language."))
                .optional("type", schema::string(TYPE))
                .optional("description", schema::string("Free text."))
                .optional(
                    "parent",
                    schema::string("Id of the space that contains it; empty for none."),
                )
        },
        change: |fields| {
            let space = Space {
                id: fields.required_text("id")?,
                name: Some(fields.required_text("name")?),
                aliases: fields.texts("aliases")?.unwrap_or_default(),
                space_type: fields.text("type")?,
                description: fields.text("description")?,
                parent: fields.text("parent")?,
                bounds: Map::new(),
                extra: Map::new(),
            };
            Ok(EntryChange::new(space.id.clone(), move |document| {
                operations::create_space(document, space)
            }))
        },
    }
}

/// `updateSpace`.
pub fn update_space(knowledge: Arc<KnowledgeStore>) -> EntryTool {
    EntryTool {
        knowledge,
        name: "updateSpace",
        description: "Changes fields of a space in the knowledge and saves it. Only the fields given change; aliases replace the \
             whole list; an empty text clears a field. A parent must exist and must not lie inside the space. \
             renameKnowledge changes the id. Example: {\"id\":\"floor-1\",\"aliases\":[\"1F\",\"Erdgeschoss\"]}.",
        input: || {
            object()
                .required("id", schema::string("Id of the space."))
                .optional("name", schema::string("Name people use."))
                .optional("aliases", list_schema("Other names; replaces the list."))
                .optional("type", schema::string(TYPE))
                .optional("description", schema::string("Free text."))
                .optional(
                    "parent",
                    schema::string("Id of the space that contains it; empty for none."),
                )
        },
        change: |fields| {
            let id = fields.required_text("id")?;
            let update = SpaceUpdate {
                name: fields.text("name")?,
                aliases: fields.texts("aliases")?,
                space_type: fields.text("type")?,
                description: fields.text("description")?,
                parent: fields.text("parent")?,
            };
            Ok(EntryChange::new(id.clone(), move |document| {
                operations::update_space(document, &id, update)
            }))
        },
    }
}
