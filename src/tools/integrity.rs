//! `checkKnowledgeIntegrity`: whether every ord of the knowledge model leads to something (Tool surface §8.11).

use std::sync::Arc;

use futures::future::BoxFuture;
use indexmap::IndexSet;
use serde_json::{Map, Value, json};

use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::schema::{self, ObjectSchema, object};
use super::station_access::{SharedStations, scope, station_error};
use super::{Arguments, CallContext};
use crate::knowledge::KnowledgeStore;
use crate::knowledge::mapped::{OrdReference, Referrer, references};
use crate::station::facade::OrdState;
use crate::station::ord::Ord;

/// Broken references that are listed without asking for more.
const MOST_BROKEN: i64 = 10_000;

/// `checkKnowledgeIntegrity`.
pub struct CheckKnowledgeIntegrity {
    pub stations: SharedStations,
    pub knowledge: Arc<KnowledgeStore>,
}

impl Tool for CheckKnowledgeIntegrity {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "checkKnowledgeIntegrity",
            Category::Diagnostic,
            Annotations::READ,
            "Checks that every ord of the knowledge model leads to a component or property of the station, and lists those \
             that do not, with the reason: unresolvable, denied (the station does not tell this identity) or empty. \
             diffStation tells what became of components that are gone. Example: {} or {\"limit\":100}.",
        )
        .input(
            object()
                .optional(
                    "limit",
                    schema::integer_between("Most broken references to list.", 1, MOST_BROKEN, MOST_BROKEN),
                )
                .optional(
                    "offset",
                    schema::integer_between(
                        "Broken references to skip: continue with nextOffset of the answer before.",
                        0,
                        1_000_000,
                        0,
                    ),
                ),
        )
        .output(
            object()
                .required("totalRefs", schema::whole("References in the model."))
                .required("validRefs", schema::whole("Those that lead to something."))
                .required("brokenCount", schema::whole("Those that do not."))
                .optional("nextOffset", schema::whole("Where to continue."))
                .required("brokenRefs", schema::list("In file order.", broken_schema())),
        )
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let snapshot = self.knowledge.readable()?;
            let references = references(snapshot.model.document());
            let ords: IndexSet<Ord> = references
                .iter()
                .filter_map(|reference| Ord::parse(reference.ord).ok())
                .collect();
            let states = if ords.is_empty() {
                Vec::new()
            } else {
                let ords: Vec<Ord> = ords.iter().cloned().collect();
                let station = self.stations.for_caller(&context.principal)?;
                station
                    .check_ords(&scope(context), &ords)
                    .await
                    .map_err(|error| station_error(error, "station:|slot:/"))?
            };
            let broken: Vec<Broken<'_>> = references
                .iter()
                .filter_map(|reference| {
                    Broken::of(reference, |ord| states.get(ords.get_index_of(ord)?))
                })
                .collect();
            let offset = arguments.count("offset", 0);
            let limit = arguments.count("limit", MOST_BROKEN as usize);
            let listed: Vec<Value> = broken
                .iter()
                .skip(offset)
                .take(limit)
                .map(Broken::json)
                .collect();
            let mut answer = json!({
                "totalRefs": references.len(),
                "validRefs": references.len() - broken.len(),
                "brokenCount": broken.len(),
            });
            if offset + listed.len() < broken.len() {
                answer["nextOffset"] = json!(offset + listed.len());
            }
            answer["brokenRefs"] = json!(listed);
            Ok(ToolOutput::json(answer))
        })
    }
}

fn broken_schema() -> ObjectSchema {
    object()
        .optional("equipment", schema::string("Id of the equipment."))
        .optional(
            "field",
            schema::one_of("Where the equipment has it.", &["ord", "points"]),
        )
        .optional("role", schema::string("Role of the point."))
        .optional(
            "standalonePoint",
            schema::string("Id of the standalone point."),
        )
        .optional("point", schema::string("The same, by its other name."))
        .required("ord", schema::string("The ord as the model has it."))
        .required(
            "reason",
            schema::one_of("Why.", &["unresolvable", "denied", "empty"]),
        )
        .optional(
            "detail",
            schema::string("What the station or the check said."),
        )
}

struct Broken<'m> {
    reference: OrdReference<'m>,
    reason: &'static str,
    detail: Option<String>,
}

impl<'m> Broken<'m> {
    /// None for a reference that leads to something.
    fn of<'s>(
        reference: &OrdReference<'m>,
        state_of: impl FnOnce(&Ord) -> Option<&'s OrdState>,
    ) -> Option<Self> {
        let (reason, detail) = if reference.ord.is_empty() {
            ("empty", None)
        } else {
            match Ord::parse(reference.ord) {
                Err(error) => ("unresolvable", Some(error.to_string())),
                Ok(ord) => match state_of(&ord) {
                    Some(OrdState::Resolves) => return None,
                    Some(OrdState::Unresolvable(detail)) => ("unresolvable", Some(detail.clone())),
                    Some(OrdState::Denied(detail)) => ("denied", Some(detail.clone())),
                    None => ("unresolvable", None),
                },
            }
        };
        Some(Self {
            reference: *reference,
            reason,
            detail,
        })
    }

    fn json(&self) -> Value {
        let mut entry = referrer_json(self.reference.referrer);
        entry.insert("ord".to_owned(), json!(self.reference.ord));
        entry.insert("reason".to_owned(), json!(self.reason));
        if let Some(detail) = &self.detail {
            entry.insert("detail".to_owned(), json!(detail));
        }
        Value::Object(entry)
    }
}

/// The keys that say who refers to an ord (D10: a standalone point by both names).
pub(super) fn referrer_json(referrer: Referrer<'_>) -> Map<String, Value> {
    let entry = match referrer {
        Referrer::Equipment { id } => json!({"equipment": id, "field": "ord"}),
        Referrer::Role { equipment, role } => {
            json!({"equipment": equipment, "field": "points", "role": role})
        }
        Referrer::StandalonePoint { id } => json!({"standalonePoint": id, "point": id}),
    };
    match entry {
        Value::Object(entry) => entry,
        _ => Map::new(),
    }
}
