//! `createStandalonePoint`: points that belong to no equipment (Tool surface §8.6).

use std::sync::Arc;

use serde_json::Map;

use super::knowledge_arguments::{EntryChange, EntryTool, list_schema};
use super::schema::{self, object};
use crate::knowledge::operations;
use crate::knowledge::{KnowledgeStore, StandalonePoint};

/// `createStandalonePoint`.
pub fn create_standalone_point(knowledge: Arc<KnowledgeStore>) -> EntryTool {
    EntryTool {
        knowledge,
        name: "createStandalonePoint",
        description: "Adds a point that belongs to no equipment, such as a room sensor, to the knowledge and saves it. The id \
             must be new; a space must exist. The station is not changed. \
             Example: {\"id\":\"lobby-co2\",\"name\":\"Lobby CO2\",\"ord\":\"station:|slot:/Drivers/BacnetNetwork/IO/points/LobbyCo2\",\
             \"space\":\"lobby\",\"kind\":\"ppm\",\"role_in_space\":\"co2\"}.",
        input: || {
            object()
                .required("id", schema::string("New id, for example lobby-co2."))
                .required("name", schema::string("Name people use."))
                .required(
                    "ord",
                    schema::string("Ord of the point; only its syntax is checked."),
                )
                .optional("aliases", list_schema("Other names, in any language."))
                .optional(
                    "space",
                    schema::string("Id of the space it is in; empty for none."),
                )
                .optional(
                    "kind",
                    schema::string(
                        "What it measures or does: temperature, humidity, ppm, boolean, …",
                    ),
                )
                .optional(
                    "role_in_space",
                    schema::string("What it is for the space, for example room_temp."),
                )
        },
        change: |fields| {
            let point = StandalonePoint {
                id: fields.required_text("id")?,
                name: Some(fields.required_text("name")?),
                ord: Some(fields.required_text("ord")?),
                aliases: fields.texts("aliases")?.unwrap_or_default(),
                space: fields.text("space")?,
                kind: fields.text("kind")?,
                role_in_space: fields.text("role_in_space")?,
                notes: Vec::new(),
                extra: Map::new(),
            };
            Ok(EntryChange::new(point.id.clone(), move |document| {
                operations::create_standalone_point(document, point)
            }))
        },
    }
}
