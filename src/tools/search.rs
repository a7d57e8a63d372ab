//! Tools that search the knowledge model: findEquipment, findInSpace, findPoints (Tool surface §8.8).

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::schema::{self, ObjectSchema, object};
use super::{Arguments, CallContext, ToolError};
use crate::knowledge::search::{
    EquipmentHit, PointHit, PointQuery, find_equipment, find_in_space, find_points,
};
use crate::knowledge::{Equipment, KnowledgeModel, KnowledgeStore, StandalonePoint};

/// Most similar ids named in an error.
const SUGGESTIONS: usize = 3;

/// Least similarity (0 to 1) of an id that is suggested.
const SUGGESTED_SIMILARITY: f64 = 0.6;

/// `findEquipment`.
pub struct FindEquipment(pub Arc<KnowledgeStore>);

impl Tool for FindEquipment {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "findEquipment",
            Category::Search,
            Annotations::READ,
            "Finds equipment of the knowledge model by id, name and aliases, best hits first; case and accents do not \
             matter. Scores: id 100, name 90 or alias 80 equal; the query as part of the name 50, an alias 40, the id 30; \
             all its words, in any order, 20. Within a score texts that begin with the query come first, then words that do. \
             An empty query lists everything. Example: {\"query\":\"AHU 1\",\"limit\":5}.",
        )
        .input(
            part_arguments(
                object().required("query", schema::string("Text to look for, for example a name as people say it.")),
                50,
            ),
        )
        .output(
            part_schema(
                object()
                    .required("query", schema::string("The query in lower case."))
                    .required("count", schema::whole("Number of hits returned.")),
            )
            .required(
                "hits",
                schema::list(
                    "Equipment, the best first.",
                    equipment_schema()
                        .required("score", schema::whole("100, 90, 80, 50, 40, 30 or 20."))
                        .required(
                            "match",
                            schema::one_of(
                                "How the query lies in the text that matched; orders hits of the same score.",
                                &["exact", "prefix", "word", "substring"],
                            ),
                        ),
                ),
            ),
        )
    }

    fn run<'a>(
        &'a self,
        _context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let query = arguments.string("query")?;
            let snapshot = self.0.readable()?;
            let hits = find_equipment(&snapshot.model, query);
            let part = Part::of(&arguments, 50);
            let mut answer = Map::new();
            answer.insert("query".to_owned(), json!(query.to_lowercase()));
            answer.insert("count".to_owned(), json!(part.count(hits.len())));
            part.describe(hits.len(), &mut answer);
            let hits: Vec<Value> = part.take(hits).map(equipment_hit).collect();
            answer.insert("hits".to_owned(), json!(hits));
            Ok(ToolOutput::json(Value::Object(answer)))
        })
    }
}

fn equipment_hit(hit: EquipmentHit<'_>) -> Value {
    let mut entry = equipment_json(hit.equipment);
    entry["score"] = json!(hit.score);
    entry["match"] = json!(hit.tier.name());
    entry
}

/// `findInSpace`.
pub struct FindInSpace(pub Arc<KnowledgeStore>);

impl Tool for FindInSpace {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "findInSpace",
            Category::Search,
            Annotations::READ,
            "Lists equipment and standalone points of a space of the knowledge model; 'recursive' includes all spaces below \
             it. Equipment comes first, both in file order; 'limit' and 'offset' count both together. \
             Example: {\"spaceId\":\"floor-2\",\"recursive\":true,\"equipmentType\":\"vav\"}.",
        )
        .input(part_arguments(
            object()
                .required("spaceId", schema::string("Id of the space."))
                .optional(
                    "recursive",
                    json!({"type": "boolean", "description": "Whether to include the spaces below it.", "default": false}),
                )
                .optional(
                    "equipmentType",
                    schema::string("Only equipment of exactly this type id; standalone points are not filtered."),
                ),
            MOST_IN_SPACE,
        ))
        .output(
            part_schema(
                object()
                    .required("spaceId", schema::string("The space."))
                    .required("recursive", schema::boolean("Whether spaces below it are included."))
                    .required("spacesIncluded", schema::whole("Number of spaces looked at, itself included.")),
            )
            .required("equipment", schema::list("Equipment in file order.", equipment_schema()))
            .required(
                "standalonePoints",
                schema::list("Points without equipment in file order.", standalone_schema(object())),
            ),
        )
    }

    fn run<'a>(
        &'a self,
        _context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let space_id = arguments.string("spaceId")?;
            let recursive = arguments.boolean("recursive", false);
            let equipment_type = given(&arguments, "equipmentType");
            let snapshot = self.0.readable()?;
            let content = find_in_space(&snapshot.model, space_id, recursive, equipment_type)
                .ok_or_else(|| unknown_space(&snapshot.model, space_id))?;
            let part = Part::of(&arguments, MOST_IN_SPACE);
            let total = content.equipment.len() + content.points.len();
            let mut answer = Map::new();
            answer.insert("spaceId".to_owned(), json!(space_id));
            answer.insert("recursive".to_owned(), json!(recursive));
            answer.insert("spacesIncluded".to_owned(), json!(content.spaces_included));
            part.describe(total, &mut answer);
            let (mut equipment, mut points) = (Vec::new(), Vec::new());
            let entries = content.equipment.into_iter().map(Entry::Equipment);
            for entry in part.take(entries.chain(content.points.into_iter().map(Entry::Point))) {
                match entry {
                    Entry::Equipment(entry) => equipment.push(equipment_json(entry)),
                    Entry::Point(point) => points.push(standalone_json(Map::new(), point)),
                }
            }
            answer.insert("equipment".to_owned(), json!(equipment));
            answer.insert("standalonePoints".to_owned(), json!(points));
            Ok(ToolOutput::json(Value::Object(answer)))
        })
    }
}

/// Entries of a space that are listed without asking for more.
const MOST_IN_SPACE: usize = 10_000;

enum Entry<'m> {
    Equipment(&'m Equipment),
    Point(&'m StandalonePoint),
}

fn unknown_space(model: &KnowledgeModel, space_id: &str) -> ToolError {
    let mut similar: Vec<(f64, &str)> = model
        .document()
        .spaces
        .iter()
        .map(|space| (strsim::jaro_winkler(space_id, &space.id), space.id.as_str()))
        .filter(|(similarity, _)| *similarity >= SUGGESTED_SIMILARITY)
        .collect();
    similar.sort_by(|one, other| other.0.total_cmp(&one.0));
    let similar: Vec<&str> = similar
        .into_iter()
        .take(SUGGESTIONS)
        .map(|(_, id)| id)
        .collect();
    let hint = if similar.is_empty() {
        "createSpace adds one".to_owned()
    } else {
        format!("similar ids: {}", similar.join(", "))
    };
    ToolError::invalid_params(format!("There is no space '{space_id}'; {hint}."))
        .with("id", space_id)
        .with("similar", similar)
}

/// `findPoints`.
pub struct FindPoints(pub Arc<KnowledgeStore>);

impl Tool for FindPoints {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "findPoints",
            Category::Search,
            Annotations::READ,
            "Finds points of the knowledge model by role, kind and text; at least one is needed, all that are given must \
             match. Role and kind must be equal, 'text' is part of an id, name or alias of the equipment or of the \
             standalone point; case and accents do not matter. The kind of an equipment's point is that of its role in the \
             equipment type or a type that it extends. Example: {\"kind\":\"temperature\",\"text\":\"ahu\"}.",
        )
        .input(part_arguments(
            object()
                .optional("role", schema::string("Role in the equipment or in the space, for example supply_air_temp."))
                .optional("kind", schema::string("Kind, for example temperature, boolean, percent."))
                .optional("text", schema::string("Part of an id, name or alias.")),
            100,
        ))
        .output(
            part_schema(object().required("count", schema::whole("Number of hits returned."))).required(
                "hits",
                schema::list("Points of equipment, then standalone points, in file order.", point_schema()),
            ),
        )
    }

    fn run<'a>(
        &'a self,
        _context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let query = PointQuery {
                role: given(&arguments, "role"),
                kind: given(&arguments, "kind"),
                text: given(&arguments, "text"),
            };
            if query == PointQuery::default() {
                return Err(ToolError::invalid_params(
                    "Nothing to look for: give at least one of 'role', 'kind' and 'text'.",
                )
                .with("missing", "role, kind or text"));
            }
            let snapshot = self.0.readable()?;
            let hits = find_points(&snapshot.model, query);
            let part = Part::of(&arguments, 100);
            let mut answer = Map::new();
            answer.insert("count".to_owned(), json!(part.count(hits.len())));
            part.describe(hits.len(), &mut answer);
            let hits: Vec<Value> = part.take(hits).map(point_json).collect();
            answer.insert("hits".to_owned(), json!(hits));
            Ok(ToolOutput::json(Value::Object(answer)))
        })
    }
}

fn point_schema() -> ObjectSchema {
    object()
        .required(
            "source",
            schema::one_of("Where the point belongs.", &["equipment", "standalone"]),
        )
        .optional("equipmentId", schema::string("Id of the equipment."))
        .optional("role", schema::string("Role in the equipment."))
        .optional("id", schema::string("Id of the standalone point."))
        .optional("name", schema::string("Name of the standalone point."))
        .optional("kind", schema::string("Kind; empty when none is known."))
        .required("ord", schema::string("Ord as the model has it."))
        .optional("space", schema::string("Space of the standalone point."))
        .optional("equipmentName", schema::string("Name of the equipment."))
}

fn point_json(hit: PointHit<'_>) -> Value {
    match hit {
        PointHit::Equipment {
            equipment,
            role,
            ord,
            kind,
        } => json!({
            "source": "equipment",
            "equipmentId": equipment.id,
            "role": role,
            "ord": ord,
            "kind": kind.unwrap_or_default(),
            "equipmentName": text(&equipment.name),
        }),
        PointHit::Standalone(point) => {
            let mut entry = Map::new();
            entry.insert("source".to_owned(), json!("standalone"));
            standalone_json(entry, point)
        }
    }
}

fn equipment_schema() -> ObjectSchema {
    object()
        .required("id", schema::string("Id of the equipment."))
        .required("name", schema::string("Name; empty when it has none."))
        .required("type", schema::string("Type id; empty when it has none."))
        .required("space", schema::string("Space id; empty when it has none."))
        .required(
            "ord",
            schema::string("Ord as the model has it; may be empty."),
        )
}

fn equipment_json(equipment: &Equipment) -> Value {
    json!({
        "id": equipment.id,
        "name": text(&equipment.name),
        "type": text(&equipment.equipment_type),
        "space": text(&equipment.space),
        "ord": text(&equipment.ord),
    })
}

fn standalone_schema(schema: ObjectSchema) -> ObjectSchema {
    schema
        .required("id", schema::string("Id of the point."))
        .required("name", schema::string("Name; empty when it has none."))
        .required("kind", schema::string("Kind; empty when it has none."))
        .required("space", schema::string("Space id; empty when it has none."))
        .required(
            "ord",
            schema::string("Ord as the model has it; may be empty."),
        )
}

fn standalone_json(mut entry: Map<String, Value>, point: &StandalonePoint) -> Value {
    entry.insert("id".to_owned(), json!(point.id));
    entry.insert("name".to_owned(), json!(text(&point.name)));
    entry.insert("kind".to_owned(), json!(text(&point.kind)));
    entry.insert("space".to_owned(), json!(text(&point.space)));
    entry.insert("ord".to_owned(), json!(text(&point.ord)));
    Value::Object(entry)
}

fn text(value: &Option<String>) -> &str {
    value.as_deref().unwrap_or_default()
}

/// An argument that is not empty.
fn given<'a>(arguments: &'a Arguments, name: &str) -> Option<&'a str> {
    arguments
        .optional_string(name)
        .filter(|text| !text.is_empty())
}

/// Which part of a list is wanted; the limit has no bounds, and none below 1 gives nothing (Tool surface §8.8).
#[derive(Debug, Clone, Copy)]
struct Part {
    offset: usize,
    limit: usize,
}

impl Part {
    fn of(arguments: &Arguments, default_limit: usize) -> Self {
        Self {
            offset: arguments.count("offset", 0),
            limit: arguments.count("limit", default_limit),
        }
    }

    fn count(self, total: usize) -> usize {
        total.saturating_sub(self.offset).min(self.limit)
    }

    fn take<T>(self, items: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
        items.into_iter().skip(self.offset).take(self.limit)
    }

    /// Adds `total` and, when there is more to ask for, `nextOffset`.
    fn describe(self, total: usize, answer: &mut Map<String, Value>) {
        answer.insert("total".to_owned(), json!(total));
        let next = self.offset.saturating_add(self.count(total));
        if next < total && self.limit > 0 {
            answer.insert("nextOffset".to_owned(), json!(next));
        }
    }
}

fn part_arguments(schema: ObjectSchema, default_limit: usize) -> ObjectSchema {
    schema
        .optional(
            "limit",
            json!({"type": "integer", "description": "Most items to return.", "default": default_limit}),
        )
        .optional(
            "offset",
            json!({
                "type": "integer",
                "description": "Items to skip: continue with nextOffset of the answer before.",
                "minimum": 0,
                "default": 0,
            }),
        )
}

fn part_schema(schema: ObjectSchema) -> ObjectSchema {
    schema
        .required("total", schema::whole("Number of all that match."))
        .optional(
            "nextOffset",
            schema::whole("Where to continue; absent at the end."),
        )
}
