//! `applyPattern`: one mapped piece of equipment copied to its siblings, beyond the 46 tools.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::knowledge_arguments::{edit, refused, texts_schema};
use super::mapped_paths::with_paths;
use super::pattern_siblings::{Looked, look};
use super::pattern_view::{plan_json, plan_schema};
use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::schema::{self, object};
use super::station_access::{SharedStations, scope, station_error};
use super::{Arguments, CallContext, ToolError};
use crate::knowledge::operations::{
    EntryKind, Holder, OperationError, check_place, create_all_equipment,
};
use crate::knowledge::pattern::{Pattern, PatternError, SiblingPlan, component, with_suffix};
use crate::knowledge::{Equipment, KnowledgeDocument, KnowledgeModel, KnowledgeStore};
use crate::station::ord::{Ord, SlotName, SlotPath};

/// Share of the pattern's points that a component found below `under` must have to count as a sibling.
const LIKE: f64 = 0.5;

/// `applyPattern`.
pub struct ApplyPattern {
    pub stations: SharedStations,
    pub knowledge: Arc<KnowledgeStore>,
}

impl Tool for ApplyPattern {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "applyPattern",
            Category::WalkthroughWrite,
            Annotations::MUTATION,
            "Takes one mapped piece of equipment as the pattern for its siblings: looks on the station for the same points \
             below each sibling and answers a plan: what maps, which points are missing, which differ in type or unit, and \
             which are extra. With dryRun=false the equipment is added to the knowledge, all or none; the station is not \
             changed. Siblings are given as ords, or found among the components below 'under', by default beside the \
             pattern. Ids and names follow the siblings' names. Show the plan to the user before applying it. \
             Example: {\"equipmentId\":\"vav-1-01\",\"nameFilter\":\"VAV*\",\"dryRun\":true}.",
        )
        .input(
            object()
                .required("equipmentId", schema::string("Id of the mapped equipment that is the pattern."))
                .optional("siblings", texts_schema("Ords of the components to map like it; at most 200."))
                .optional(
                    "under",
                    schema::string(
                        "Component whose children are the siblings, when 'siblings' is not given; by default the parent of \
                         the pattern's component.",
                    ),
                )
                .optional(
                    "nameFilter",
                    schema::string("Readable names of siblings found below 'under', with * for anything; case does not matter."),
                )
                .optional(
                    "space",
                    schema::string("Id of the space of the new equipment; by default that of the pattern, empty for none."),
                )
                .optional("onCollision", {
                    let mut words = schema::one_of(
                        "What to do when an id is taken: refuse, or suffix to append a number.",
                        &["refuse", "suffix"],
                    );
                    words["default"] = json!("refuse");
                    words
                })
                .optional(
                    "allowMissing",
                    json!({
                        "type": "boolean",
                        "description": "Whether siblings that lack points of the pattern are mapped with those they have.",
                        "default": false,
                    }),
                )
                .optional(
                    "skipMapped",
                    json!({
                        "type": "boolean",
                        "description": "Whether siblings that the model has already are left out instead of being a problem.",
                        "default": true,
                    }),
                )
                .optional(
                    "dryRun",
                    json!({
                        "type": "boolean",
                        "description": "Whether only the plan is wanted; false applies it.",
                        "default": true,
                    }),
                ),
        )
        .output(plan_schema(
            object()
                .required("equipmentId", schema::string("The pattern."))
                .required("patternPoints", schema::whole("Roles of the pattern."))
                .required("dryRun", schema::boolean("Whether nothing was changed on purpose."))
                .required(
                    "ready",
                    schema::boolean("Whether the plan can be applied: there are siblings, and none has a problem."),
                )
                .required("created", schema::whole("Number of entries added.")),
        ))
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let id = arguments.string("equipmentId")?;
            let model = self.knowledge.readable()?.model;
            let written = model.equipment(id).ok_or_else(|| unknown(id))?;
            let wishes = Wishes::of(&arguments, written);
            wishes.check(model.document(), written).map_err(refused)?;
            let station = self.stations.for_caller(&context.principal)?;
            let scope = scope(context);
            let model = with_paths(&station, &scope, model)
                .await
                .map_err(|error| station_error(error, id))?;
            let equipment = model.equipment(id).ok_or_else(|| unknown(id))?;
            let looked = look(&station, &scope, equipment, &arguments).await?;
            let pattern = Pattern::of(equipment, &looked.points).map_err(pattern_error)?;
            let plan = Plan::of(&pattern, &looked, &model, &wishes);
            let mut answer = plan_json(id, pattern.role_count(), &plan);
            answer["dryRun"] = json!(wishes.dry_run);
            answer["created"] = json!(0);
            if wishes.dry_run {
                return Ok(ToolOutput::json(answer));
            }
            if !plan.is_ready() {
                return Err(not_ready(&plan));
            }
            let items = plan.entries(equipment, &wishes);
            let audit_id = format!("{id}+{}", items.len());
            let created = edit(
                &self.knowledge,
                context,
                "applyPattern",
                audit_id,
                move |document| create_all_equipment(document, items),
            )
            .await?;
            answer["created"] = json!(created);
            Ok(ToolOutput::json(answer))
        })
    }
}

/// What the caller wants done with the plan.
pub(super) struct Wishes {
    space: Option<String>,
    suffixes: bool,
    allows_missing: bool,
    skips_mapped: bool,
    dry_run: bool,
}

impl Wishes {
    /// What the plan needs of the model beside the siblings: a dry run must not promise what cannot be applied.
    fn check(
        &self,
        document: &KnowledgeDocument,
        pattern: &Equipment,
    ) -> Result<(), OperationError> {
        let holder = Holder::new(EntryKind::Equipment, &pattern.id);
        let equipment_type = pattern.equipment_type.as_deref();
        check_place(document, &holder, equipment_type, self.space.as_deref())
    }

    fn of(arguments: &Arguments, pattern: &Equipment) -> Self {
        Self {
            space: match arguments.optional_string("space") {
                Some(space) => Some(space.to_owned()).filter(|space| !space.is_empty()),
                None => pattern.space.clone(),
            },
            suffixes: arguments.optional_string("onCollision") == Some("suffix"),
            allows_missing: arguments.boolean("allowMissing", false),
            skips_mapped: arguments.boolean("skipMapped", true),
            dry_run: arguments.boolean("dryRun", true),
        }
    }
}

/// A sibling with what stands in the way of mapping it.
pub(super) struct PlannedSibling {
    pub plan: SiblingPlan,
    pub problems: Vec<String>,
}

/// What is to be done.
pub(super) struct Plan {
    pub siblings: Vec<PlannedSibling>,
    /// Siblings that the model has already, with their ids.
    pub mapped: Vec<(SlotPath, String)>,
    /// Components that have too little of the pattern, with the number of points found.
    pub unlike: Vec<(SlotPath, usize)>,
}

impl Plan {
    fn of(pattern: &Pattern<'_>, looked: &Looked, model: &KnowledgeModel, wishes: &Wishes) -> Self {
        let document = model.document();
        let known: HashMap<SlotPath, &str> = document
            .equipment
            .iter()
            .filter_map(|entry| Some((component(entry).ok()?, entry.id.as_str())))
            .collect();
        let mut used: HashSet<String> = document
            .equipment
            .iter()
            .map(|entry| entry.id.clone())
            .collect();
        let mut result = Self {
            siblings: Vec::new(),
            mapped: Vec::new(),
            unlike: Vec::new(),
        };
        for path in &looked.siblings {
            let already = known.get(path);
            if let (Some(id), true) = (already, wishes.skips_mapped) {
                result.mapped.push((path.clone(), (*id).to_owned()));
                continue;
            }
            let mut plan = pattern.plan(path, &looked.points);
            if looked.is_search && (plan.own_points() as f64) < LIKE * pattern.own_count() as f64 {
                result.unlike.push((path.clone(), plan.own_points()));
                continue;
            }
            let mut problems = Vec::new();
            if let Some(id) = already {
                problems.push(format!("the component is mapped as '{id}' already"));
            }
            if plan.own_points() == 0 {
                problems.push("it has none of the pattern's points".to_owned());
            } else if !wishes.allows_missing && !plan.missing.is_empty() {
                problems.push(format!(
                    "{} of the pattern's points are missing; allowMissing maps the others",
                    plan.missing.len()
                ));
            }
            let other_kinds = plan.differences.iter().filter(|one| one.is_other_kind);
            if let (count @ 1.., false) = (other_kinds.count(), wishes.allows_missing) {
                problems.push(format!(
                    "{count} points hold other kinds of values; allowMissing leaves them out"
                ));
            }
            if plan.id.is_empty() {
                problems.push(
                    "no id can be made from its name; rename it or map it with createEquipment"
                        .to_owned(),
                );
            } else if used.contains(&plan.id) {
                if wishes.suffixes {
                    plan.id = with_suffix(&plan.id, &used);
                } else {
                    problems.push(format!(
                        "the id '{}' is taken; onCollision=suffix appends a number",
                        plan.id
                    ));
                }
            }
            used.insert(plan.id.clone());
            result.siblings.push(PlannedSibling { plan, problems });
        }
        result
    }

    /// Something is to be done and nothing stands in the way.
    pub fn is_ready(&self) -> bool {
        !self.siblings.is_empty()
            && self
                .siblings
                .iter()
                .all(|sibling| sibling.problems.is_empty())
    }

    fn entries(&self, pattern: &Equipment, wishes: &Wishes) -> Vec<Equipment> {
        self.siblings
            .iter()
            .map(|sibling| Equipment {
                id: sibling.plan.id.clone(),
                name: Some(sibling.plan.name.clone()),
                equipment_type: pattern.equipment_type.clone(),
                space: wishes.space.clone(),
                ord: Some(Ord::slot(sibling.plan.path.clone()).absolute()),
                points: sibling
                    .plan
                    .points
                    .iter()
                    .map(|point| (point.role.clone(), point.ord.clone()))
                    .collect(),
                schedule: pattern.schedule.clone(),
                ..Equipment::default()
            })
            .collect()
    }
}

fn unknown(id: &str) -> ToolError {
    refused(OperationError::UnknownId {
        holder: Holder::new(EntryKind::Equipment, id),
        nearest: None,
    })
}

pub(super) fn pattern_error(error: PatternError) -> ToolError {
    let message = error.to_string();
    match error {
        PatternError::NoOrd { id } => ToolError::invalid_params(message).with("id", id),
        PatternError::Ord { id, ord, .. } | PatternError::NoPoints { id, ord } => {
            ToolError::invalid_params(message)
                .with("id", id)
                .with("ord", ord)
        }
        PatternError::Gone { id, role, ord } => {
            ToolError::ord_not_resolvable(&ord, "the station has no such point")
                .with("id", id)
                .with("role", role)
        }
    }
}

/// Siblings that a refusal names in its text; errorData has them all.
const MOST_NAMED: usize = 5;

fn not_ready(plan: &Plan) -> ToolError {
    let hindered: Vec<&PlannedSibling> = plan
        .siblings
        .iter()
        .filter(|sibling| !sibling.problems.is_empty())
        .collect();
    if hindered.is_empty() {
        return ToolError::invalid_params(nothing_left(plan)).with("siblings", json!([]));
    }
    let named: Vec<String> = hindered
        .iter()
        .map(|sibling| {
            format!(
                "{}: {}",
                sibling_name(&sibling.plan.path),
                sibling.problems.join("; ")
            )
        })
        .collect();
    let message = format!(
        "Nothing was added, because {} of {} siblings cannot be mapped. {}. Solve this, or name only the other siblings in \
         'siblings'.",
        hindered.len(),
        plan.siblings.len(),
        first_of(&named, ". ")
    );
    let problems: Vec<Value> = hindered
        .iter()
        .map(|sibling| {
            json!({
                "ord": Ord::slot(sibling.plan.path.clone()).absolute(),
                "id": sibling.plan.id,
                "problems": sibling.problems,
            })
        })
        .collect();
    ToolError::invalid_params(message).with("siblings", problems)
}

/// Why a plan without siblings has none.
fn nothing_left(plan: &Plan) -> String {
    let mut text = "Nothing was added: there is no sibling left to map.".to_owned();
    let mapped: Vec<String> = plan
        .mapped
        .iter()
        .map(|(path, id)| format!("{} as '{id}'", sibling_name(path)))
        .collect();
    if !mapped.is_empty() {
        text.push_str(&format!(" Mapped already: {}.", first_of(&mapped, ", ")));
    }
    let unlike: Vec<String> = plan
        .unlike
        .iter()
        .map(|(path, found)| format!("{} ({found} points)", sibling_name(path)))
        .collect();
    if !unlike.is_empty() {
        text.push_str(&format!(
            " Too little of the pattern have: {}; name them in 'siblings' to map them all the same.",
            first_of(&unlike, ", ")
        ));
    }
    if mapped.is_empty() && unlike.is_empty() {
        text.push_str(" Give another component as 'under', or a wider 'nameFilter'.");
    }
    text
}

fn sibling_name(path: &SlotPath) -> String {
    path.name().map(SlotName::display).unwrap_or_default()
}

fn first_of(texts: &[String], between: &str) -> String {
    let shown: Vec<&str> = texts.iter().take(MOST_NAMED).map(String::as_str).collect();
    let mut text = shown.join(between);
    if texts.len() > MOST_NAMED {
        text.push_str(&format!("{between}and {} more", texts.len() - MOST_NAMED));
    }
    text
}
