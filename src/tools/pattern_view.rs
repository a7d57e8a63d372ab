//! The plan of `applyPattern` as clients see it.

use serde_json::{Value, json};

use super::apply_pattern::{Plan, PlannedSibling};
use super::schema::{self, ObjectSchema, object};
use crate::knowledge::pattern::{Found, StationPoint};
use crate::station::ord::{Ord, SlotName, SlotPath};

/// Extra points named per sibling; their number is told in full.
const MOST_EXTRA: usize = 20;

/// Adds the plan to the schema of an answer.
pub(super) fn plan_schema(schema: ObjectSchema) -> ObjectSchema {
    schema
        .required(
            "siblings",
            schema::list(
                "What the pattern makes of each sibling.",
                sibling_schema(),
            ),
        )
        .required(
            "alreadyMapped",
            schema::list(
                "Siblings left out because the model has them.",
                object()
                    .required("ord", schema::string("Component."))
                    .required("id", schema::string("Id in the model.")),
            ),
        )
        .required(
            "unlike",
            schema::list(
                "Components below 'under' left out because they have less than half of the pattern's points.",
                object()
                    .required("ord", schema::string("Component."))
                    .required("found", schema::whole("Points found of the pattern's own.")),
            ),
        )
}

fn sibling_schema() -> ObjectSchema {
    object()
        .required("ord", schema::string("Its component."))
        .required("id", schema::string("Id of the new entry."))
        .required("name", schema::string("Name of the new entry."))
        .required(
            "problems",
            schema::list("What stands in the way.", schema::string("Problem.")),
        )
        .required(
            "points",
            schema::list(
                "Points that take a role.",
                object()
                    .required("role", schema::string("Role."))
                    .required("ord", schema::string("Absolute ord."))
                    .required(
                        "found",
                        schema::one_of(
                            "same: the same name at the same place; similar: a name that differs in case, separators or \
                             the equipment's number only; shared: a point elsewhere that all have in common.",
                            &["same", "similar", "shared"],
                        ),
                    ),
            ),
        )
        .required(
            "missing",
            schema::list(
                "Roles that no point has.",
                object()
                    .required("role", schema::string("Role."))
                    .required("ord", schema::string("Where the point was expected.")),
            ),
        )
        .required(
            "differences",
            schema::list(
                "Points that are not as in the pattern.",
                object()
                    .required("role", schema::string("Role."))
                    .required("ord", schema::string("Absolute ord."))
                    .required("what", schema::one_of("What differs.", &["type", "unit"]))
                    .required("pattern", schema::string("As in the pattern."))
                    .required("here", schema::string("As on the sibling."))
                    .required(
                        "excluded",
                        schema::boolean("The values are of another kind, so the point does not take the role."),
                    ),
            ),
        )
        .required("extraCount", schema::whole("Points that the pattern's component does not have."))
        .required(
            "extra",
            schema::list(
                "The first 20 of them.",
                object()
                    .required("ord", schema::string("Absolute ord."))
                    .required("name", schema::string("Readable slot name."))
                    .required("type", schema::string("Type as module:Type.")),
            ),
        )
}

/// The plan for a pattern with so many roles.
pub(super) fn plan_json(id: &str, roles: usize, plan: &Plan) -> Value {
    let siblings: Vec<Value> = plan.siblings.iter().map(sibling_json).collect();
    let mapped: Vec<Value> = plan
        .mapped
        .iter()
        .map(|(path, id)| json!({"ord": absolute(path), "id": id}))
        .collect();
    let unlike: Vec<Value> = plan
        .unlike
        .iter()
        .map(|(path, found)| json!({"ord": absolute(path), "found": found}))
        .collect();
    json!({
        "equipmentId": id,
        "patternPoints": roles,
        "ready": plan.is_ready(),
        "siblings": siblings,
        "alreadyMapped": mapped,
        "unlike": unlike,
    })
}

fn sibling_json(sibling: &PlannedSibling) -> Value {
    let plan = &sibling.plan;
    let points: Vec<Value> = plan
        .points
        .iter()
        .map(|point| {
            let found = match point.found {
                Found::Same => "same",
                Found::Similar => "similar",
                Found::Shared => "shared",
            };
            json!({"role": point.role, "ord": point.ord, "found": found})
        })
        .collect();
    let missing: Vec<Value> = plan
        .missing
        .iter()
        .map(|one| json!({"role": one.role, "ord": one.ord}))
        .collect();
    let differences: Vec<Value> = plan
        .differences
        .iter()
        .map(|one| {
            json!({
                "role": one.role,
                "ord": one.ord,
                "what": one.what,
                "pattern": one.pattern,
                "here": one.here,
                "excluded": one.is_other_kind,
            })
        })
        .collect();
    let extra: Vec<Value> = plan.extra.iter().take(MOST_EXTRA).map(extra_json).collect();
    json!({
        "ord": absolute(&plan.path),
        "id": plan.id,
        "name": plan.name,
        "problems": sibling.problems,
        "points": points,
        "missing": missing,
        "differences": differences,
        "extraCount": plan.extra.len(),
        "extra": extra,
    })
}

fn extra_json(point: &StationPoint) -> Value {
    json!({
        "ord": absolute(&point.path),
        "name": point.path.name().map(SlotName::display).unwrap_or_default(),
        "type": point.type_spec,
    })
}

fn absolute(path: &SlotPath) -> String {
    Ord::slot(path.clone()).absolute()
}
