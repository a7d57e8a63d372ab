//! `planWrites`: what a list of writes would do, with nothing sent.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::plan_operation::{Checked, Operation, PLANNED_TOOLS};
use super::plan_store::{PLAN_TIME, PlanStore, PlannedOperation, WritePlan};
use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::schema::{self, ObjectSchema, object};
use super::station_access::scope;
use super::write_gate::SharedGate;
use super::{Arguments, CallContext, ToolError};
use crate::station::facade::StationFacade;
use crate::station::ord::Ord;
use crate::station::priority::Priority;

/// Most operations of one plan: applying them has to fit into one call.
pub const MOST_OPERATIONS: usize = 25;

/// `planWrites`.
pub struct PlanWrites {
    pub gate: SharedGate,
    pub plans: Arc<PlanStore>,
}

impl Tool for PlanWrites {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "planWrites",
            Category::Read,
            Annotations::READ,
            "Checks a list of writes (writePoint, overridePoint, releasePoint, setSlot, clearSlot, invokeAction, \
             writeSchedule) without sending anything: each value against type, range and facets, the value now and then, \
             the caller's permissions as the station tells them, the bridge's own rules, and conflicts with links, \
             schedules, higher priorities and between the operations. When all are possible the answer has a 'planId' \
             that counts for ten minutes; applyWrites sends that plan. Example: {\"operations\":[{\"tool\":\"writePoint\",\
             \"arguments\":{\"ord\":\"station:|slot:/Logic/Setpoint\",\"value\":21.5,\"priority\":10}}]}.",
        )
        .input(object().required("operations", operations_schema()))
        .output(
            object()
                .required("ready", schema::boolean("Whether every operation can be sent."))
                .optional("problems", issues("Why the plan as a whole cannot be sent."))
                .optional("planId", schema::string("Id for applyWrites."))
                .optional("digest", schema::string("SHA-256 over the operations and the values that they found."))
                .optional("expiresInSeconds", schema::whole("How long the plan counts."))
                .required("needsConfirmation", schema::boolean("Whether somebody must confirm the plan when it is applied."))
                .required("operations", schema::list("The operations in their order.", planned_schema())),
        )
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let mut operations = operations_of(&self.gate, &arguments)?;
            let station = self.gate.reading_station(context)?;
            let mut seen = Vec::with_capacity(operations.len());
            for operation in &operations {
                let checked = operation.check(context, &station, &scope(context)).await;
                seen.push(Seen::of(self, context, &station, operation, checked).await);
            }
            add_conflicts(&mut seen);
            for (operation, one) in operations.iter_mut().zip(&seen) {
                // Should it be refused later, its record still leaves the value out.
                operation.is_secret = one.checked.as_ref().is_some_and(Checked::is_secret);
            }
            let problems = self.problems(context, operations.len());
            let ready = problems.is_empty() && seen.iter().all(|one| one.problems.is_empty());
            let confirms = seen.iter().any(|one| one.confirmation.is_some());
            let shown = operations.iter().zip(&seen).enumerate();
            let shown: Vec<Value> = shown
                .map(|(index, (operation, one))| one.to_json(index, operation))
                .collect();
            let mut answer = json!({ "ready": ready });
            if !problems.is_empty() {
                answer["problems"] = json!(problems);
            }
            if ready {
                let plan = WritePlan {
                    principal: context.principal.clone(),
                    operations: operations
                        .into_iter()
                        .zip(&seen)
                        .map(|(operation, one)| PlannedOperation {
                            operation,
                            found: one.checked.as_ref().map_or(Value::Null, Checked::found),
                        })
                        .collect(),
                };
                answer["digest"] = json!(plan.digest());
                answer["planId"] = json!(self.plans.keep(plan)?);
                answer["expiresInSeconds"] = json!(PLAN_TIME.as_secs());
            }
            answer["needsConfirmation"] = json!(confirms);
            answer["operations"] = json!(shown);
            Ok(ToolOutput::json(answer))
        })
    }
}

impl PlanWrites {
    /// What stands in the way of applyWrites, whatever the operations are.
    fn problems(&self, context: &CallContext, operations: usize) -> Vec<Value> {
        let mut problems = Vec::new();
        if context.principal.user().is_none() {
            let message = "applyWrites acts as a station user, and a plan counts for who made it; plan with a user's own token, \
                           not with the service token";
            problems.push(issue("identity", message));
        }
        if !context.toolsets.may_change_station() {
            let message = "this connection may not use applyWrites: the rights of its token, or the tool sets that it chose, \
                           leave out the tools that write";
            problems.push(issue("rights", message));
        }
        if let Some(message) = self.gate.too_many(operations) {
            problems.push(issue("rate", message));
        }
        problems
    }
}

fn issues(help: &str) -> Value {
    schema::list(
        help,
        object()
            .required("kind", schema::string("What it is about, in one word."))
            .required("message", schema::string("What it is, and what to do.")),
    )
}

fn operations_schema() -> Value {
    schema::list(
        "Writes in the order in which they shall be sent, at most 25; 'arguments' are those of the tool.",
        object()
            .required(
                "tool",
                schema::one_of("Name of a writing tool.", &PLANNED_TOOLS),
            )
            .required(
                "arguments",
                schema::typed("object", "Arguments of that tool."),
            ),
    )
}

fn planned_schema() -> ObjectSchema {
    object()
        .required("index", schema::whole("Place in the list, from 0."))
        .required("tool", schema::string("The tool."))
        .required("ord", schema::string("The ord as given."))
        .optional(
            "part",
            schema::string("What is written of it: a slot, an action, the schedule."),
        )
        .optional(
            "old",
            schema::anything("What stands there now; for a schedule the parts that differ."),
        )
        .optional(
            "new",
            schema::anything("What will stand there; the argument of an action."),
        )
        .optional(
            "permitted",
            schema::boolean(
                "Whether the caller's permissions allow it, as far as the station told them; absent when the bridge cannot act as the caller.",
            ),
        )
        .optional(
            "takesEffect",
            schema::boolean("Whether the level will command the output."),
        )
        .optional(
            "confirmation",
            schema::string("Why somebody must confirm it."),
        )
        .required("problems", issues("Why it cannot be sent."))
        .required("warnings", issues("What to know before."))
}

fn operations_of(gate: &SharedGate, arguments: &Arguments) -> Result<Vec<Operation>, ToolError> {
    let entries = arguments.get("operations").and_then(Value::as_array);
    let entries = entries.map_or(&[][..], Vec::as_slice);
    if entries.is_empty() || entries.len() > MOST_OPERATIONS {
        return Err(ToolError::invalid_params(format!(
            "A plan has 1 to {MOST_OPERATIONS} operations, and these are {}; make several plans.",
            entries.len()
        ))
        .with("argument", "operations"));
    }
    let entries = entries.iter().enumerate();
    entries
        .map(|(index, entry)| Operation::read(gate, index, entry))
        .collect()
}

/// What was found out about an operation.
struct Seen {
    checked: Option<Checked>,
    /// None where the service account looked instead of the caller.
    permitted: Option<bool>,
    confirmation: Option<&'static str>,
    takes_effect: Option<bool>,
    problems: Vec<Value>,
    warnings: Vec<Value>,
}

fn issue(kind: &str, message: impl Into<String>) -> Value {
    json!({ "kind": kind, "message": message.into() })
}

impl Seen {
    async fn of(
        tool: &PlanWrites,
        context: &CallContext,
        station: &StationFacade,
        operation: &Operation,
        checked: Result<Checked, ToolError>,
    ) -> Self {
        let mut seen = Self {
            checked: None,
            permitted: None,
            confirmation: None,
            takes_effect: None,
            problems: Vec::new(),
            warnings: Vec::new(),
        };
        match checked {
            Ok(checked) => {
                seen.permitted = tool
                    .gate
                    .acts_as_caller(context)
                    .then(|| checked.is_permitted());
                if seen.permitted == Some(false) {
                    let message = format!(
                        "the station does not let '{}' write to {}; its role needs the permission",
                        context.principal,
                        checked.ord()
                    );
                    seen.problems.push(issue("permission", message));
                }
                seen.levels(&checked);
                seen.checked = Some(checked);
            }
            Err(error) => {
                let kind = seen.kind_of(context, station, &error).await;
                seen.problems.push(issue(kind, error.message));
            }
        }
        let request = operation.request(seen.checked.as_ref());
        match tool.gate.rehearse(context, &request).await {
            Ok(rehearsal) => seen.confirmation = rehearsal.needs_confirmation,
            Err(error) => {
                let policy = error.data.get("policy").and_then(Value::as_str);
                let kind = policy.unwrap_or("identity").to_owned();
                seen.problems.push(issue(&kind, error.message));
            }
        }
        seen
    }

    /// A word for why the station would not take it.
    async fn kind_of(
        &self,
        context: &CallContext,
        station: &StationFacade,
        error: &ToolError,
    ) -> &'static str {
        let Some(from) = error.data.get("linkedFrom") else {
            return match error.code {
                super::ErrorCode::PermissionDenied => "permission",
                super::ErrorCode::OrdNotResolvable => "not-found",
                super::ErrorCode::InvalidParams => "invalid",
                super::ErrorCode::ActionNotFound => "not-found",
                _ => "station",
            };
        };
        let source = from.get("ord").and_then(Value::as_str).unwrap_or_default();
        let Ok(ord) = Ord::component(source) else {
            return "link";
        };
        match station.inspect(&scope(context), &ord).await {
            Ok(facts) if facts.type_spec.starts_with("schedule:") => "schedule",
            _ => "link",
        }
    }

    fn levels(&mut self, checked: &Checked) {
        let Some((level, releases, active)) = checked.levels() else {
            return;
        };
        let active: Option<Priority> = active.and_then(|active| active.parse().ok());
        if releases {
            if active != Some(level) {
                let message = format!("priority {level} does not command the output now");
                self.warnings.push(issue("no-effect", message));
            }
            return;
        }
        self.takes_effect = Some(active.is_none_or(|active| level <= active));
        if let Some(active) = active.filter(|active| *active < level) {
            let message = format!(
                "priority {active} commands the point now, so that the value counts only when that is released"
            );
            let kind = match active == Priority::MANUAL || active == Priority::EMERGENCY {
                true => "override",
                false => "priority",
            };
            self.warnings.push(issue(kind, message));
        }
    }

    fn to_json(&self, index: usize, operation: &Operation) -> Value {
        let mut map = Map::new();
        map.insert("index".to_owned(), json!(index));
        map.insert("tool".to_owned(), json!(operation.tool));
        map.insert("ord".to_owned(), json!(operation.ord));
        if let Some(checked) = &self.checked {
            map.insert("part".to_owned(), json!(checked.part()));
            map.insert("old".to_owned(), checked.old());
            map.insert("new".to_owned(), checked.new_value());
            if let Some(permitted) = self.permitted {
                map.insert("permitted".to_owned(), json!(permitted));
            }
        }
        if let Some(takes_effect) = self.takes_effect {
            map.insert("takesEffect".to_owned(), json!(takes_effect));
        }
        if let Some(why) = self.confirmation {
            map.insert("confirmation".to_owned(), json!(why));
        }
        map.insert("problems".to_owned(), json!(self.problems));
        map.insert("warnings".to_owned(), json!(self.warnings));
        Value::Object(map)
    }
}

/// What operations of one plan do to each other: the same thing written twice is a mistake, a point commanded at two
/// levels is told.
fn add_conflicts(seen: &mut [Seen]) {
    let parts: Vec<Option<(String, String)>> = seen
        .iter()
        .map(|one| {
            let checked = one.checked.as_ref()?;
            Some((checked.ord().to_owned(), checked.part()))
        })
        .collect();
    let levels: Vec<Option<(Priority, bool)>> = seen
        .iter()
        .map(|one| {
            let (level, releases, _) = one.checked.as_ref()?.levels()?;
            Some((level, releases))
        })
        .collect();
    for (index, one) in seen.iter_mut().enumerate() {
        let Some(Some((ord, part))) = parts.get(index) else {
            continue;
        };
        for (other, place) in parts.iter().enumerate() {
            let Some((other_ord, other_part)) = place else {
                continue;
            };
            if other == index || other_ord != ord {
                continue;
            }
            if other_part == part && !part.starts_with("action ") {
                let message =
                    format!("operation {other} writes {part} of {ord} as well; keep one of them");
                one.problems.push(issue("conflict", message));
                continue;
            }
            let (own, theirs) = (levels.get(index), levels.get(other));
            if let (Some(Some((own, false))), Some(Some((higher, false)))) = (own, theirs)
                && higher < own
            {
                one.takes_effect = Some(false);
                let message = format!(
                    "operation {other} commands the same point at the higher priority {higher}"
                );
                one.warnings.push(issue("priority", message));
            }
        }
    }
}
