//! `applyWrites`: sends a plan of `planWrites`, each operation through the gate with a record of its own.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::plan_operation::{Checked, Done, Operation};
use super::plan_store::{PLAN_TIME, PlanStore, PlannedOperation, WritePlan};
use super::plan_writes::MOST_OPERATIONS;
use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::schema::{self, ObjectSchema, object};
use super::station_access::scope;
use super::write_gate::{Admission, Pass, SharedGate, WriteRequest, with_confirm};
use super::{Arguments, CallContext, Principal, ToolError};

/// `applyWrites`.
pub struct ApplyWrites {
    pub gate: SharedGate,
    pub plans: Arc<PlanStore>,
}

impl Tool for ApplyWrites {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "applyWrites",
            Category::Write,
            Annotations::DESTRUCTIVE,
            "Sends a plan of planWrites in its order, as the calling station user, and stops at the first operation that \
             fails. Everything is checked again first: when a value changed since the plan, nothing is sent, unless \
             'ignoreChanges' is true. Each operation is recorded by itself; a plan counts once. 'undo' holds a plan that \
             leads back, built from the values that were found. Example: {\"planId\":\"5f2e6d3c0000400080000001\"}.",
        )
        .input(with_confirm(
            object()
                .required("planId", schema::string("Id of a plan, see planWrites."))
                .optional(
                    "ignoreChanges",
                    schema::boolean("Send the plan although values changed since it was made."),
                ),
        ))
        .output(
            object()
                .required("applied", schema::whole("Operations that were sent."))
                .required("operations", schema::list("What became of each.", result_schema()))
                .required("undo", undo_schema()),
        )
        .for_users()
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let id = arguments.string("planId")?.trim();
            let plan = self.plans.look(id, &context.principal);
            let plan = plan.ok_or_else(|| no_plan(id))?;
            let ignore = arguments.boolean("ignoreChanges", false);
            let checked = self.check(context, &plan, ignore).await?;
            let requests: Vec<WriteRequest<'_>> = plan
                .operations
                .iter()
                .zip(&checked)
                .map(|(planned, checked)| planned.operation.request(Some(checked)))
                .collect();
            let admitted = self
                .gate
                .admit(context, "applyWrites", arguments.values(), &requests)
                .await?;
            let passes = match admitted {
                Admission::Granted(passes) => passes,
                Admission::Asked(output) => return Ok(output),
            };
            if !self.plans.take(id) {
                return Err(no_plan(id));
            }
            let mut applied = Applied::default();
            let steps = plan.operations.iter().zip(checked).zip(passes);
            for ((planned, checked), pass) in steps {
                if applied.failure.is_none() {
                    self.send(&planned.operation, checked, pass, &mut applied)
                        .await;
                } else {
                    applied.not_tried(&planned.operation);
                }
            }
            self.answer(&context.principal, applied)
        })
    }
}

impl ApplyWrites {
    /// Checks every operation again before the first is sent.
    async fn check(
        &self,
        context: &CallContext,
        plan: &WritePlan,
        ignore_changes: bool,
    ) -> Result<Vec<Checked>, ToolError> {
        let station = self.gate.reading_station(context)?;
        let mut all = Vec::with_capacity(plan.operations.len().min(MOST_OPERATIONS));
        let mut changed = Vec::new();
        for (index, planned) in plan.operations.iter().enumerate() {
            let checked = planned
                .operation
                .check(context, &station, &scope(context))
                .await;
            let mut checked = checked.map_err(|error| {
                let mut error = error.with("index", index).with("sent", 0);
                error.message = format!("Operation {index}: {} Nothing was sent.", error.message);
                error
            })?;
            self.limit_overrides(&mut checked);
            if checked.found() != planned.found {
                changed.push(json!({
                    "index": index,
                    "ord": planned.operation.ord,
                    "part": checked.part(),
                    "now": checked.old(),
                }));
            }
            all.push(checked);
        }
        if changed.is_empty() || ignore_changes {
            return Ok(all);
        }
        Err(ToolError::invalid_params(format!(
            "{} of {} values changed since the plan was made, so nothing was sent. Plan again, or call with \
             ignoreChanges=true.",
            changed.len(),
            all.len()
        ))
        .with("kind", "plan-outdated")
        .with("changed", json!(changed)))
    }

    /// An override without an end would go past the limit of overrides.
    fn limit_overrides(&self, checked: &mut Checked) {
        if let Checked::Point(plan) = checked {
            plan.order.may_be_endless = self.gate.rules().longest_override().is_none();
        }
    }

    async fn send(
        &self,
        operation: &Operation,
        mut checked: Checked,
        pass: Pass,
        applied: &mut Applied,
    ) {
        // A person may have taken minutes to say yes, and rules change meanwhile.
        self.limit_overrides(&mut checked);
        let settle = self.gate.readback_delay();
        let sent = self
            .gate
            .perform(pass, |write| operation.send(write, checked, settle))
            .await;
        match sent {
            Ok(done) => applied.done(operation, done),
            Err(error) => applied.failed(operation, error),
        }
    }

    fn answer(&self, principal: &Principal, applied: Applied) -> ToolResult {
        let count = applied.count;
        let undo = self.undo(principal, applied.undo, applied.lost)?;
        let results = json!(applied.results);
        match applied.failure {
            None => Ok(ToolOutput::json(json!({
                "applied": count,
                "operations": results,
                "undo": undo,
            }))),
            Some(mut error) => {
                error.message = format!("After {count} operations: {}", error.message);
                Err(error
                    .with("applied", count)
                    .with("operations", results)
                    .with("undo", undo))
            }
        }
    }

    /// Keeps the plan that leads back, the last operation first.
    fn undo(
        &self,
        principal: &Principal,
        mut operations: Vec<PlannedOperation>,
        lost: Vec<Value>,
    ) -> Result<Value, ToolError> {
        operations.reverse();
        let listed: Vec<Value> = operations
            .iter()
            .map(|planned| planned.operation.to_json())
            .collect();
        let mut undo = json!({ "operations": listed, "notUndoable": lost });
        if !operations.is_empty() {
            let plan = WritePlan {
                principal: principal.clone(),
                operations,
            };
            undo["digest"] = json!(plan.digest());
            undo["planId"] = json!(self.plans.keep(plan)?);
            undo["expiresInSeconds"] = json!(PLAN_TIME.as_secs());
        }
        Ok(undo)
    }
}

/// What was done of a plan.
#[derive(Default)]
struct Applied {
    count: usize,
    results: Vec<Value>,
    undo: Vec<PlannedOperation>,
    lost: Vec<Value>,
    failure: Option<ToolError>,
}

impl Applied {
    fn result(&mut self, operation: &Operation, outcome: &str) -> Map<String, Value> {
        let mut map = Map::new();
        map.insert("index".to_owned(), json!(self.results.len()));
        map.insert("tool".to_owned(), json!(operation.tool));
        map.insert("ord".to_owned(), json!(operation.ord));
        map.insert("outcome".to_owned(), json!(outcome));
        map
    }

    fn done(&mut self, operation: &Operation, done: Done) {
        let mut map = self.result(operation, "done");
        map.insert("old".to_owned(), done.old);
        map.insert("new".to_owned(), done.new);
        match done.undo {
            Ok(operation) => self.undo.push(PlannedOperation {
                operation,
                found: done.left,
            }),
            Err(reason) => self
                .lost
                .push(json!({ "index": self.results.len(), "reason": reason })),
        }
        self.results.push(Value::Object(map));
        self.count += 1;
    }

    fn failed(&mut self, operation: &Operation, error: ToolError) {
        let is_in_doubt = error.data.get("inDoubt") == Some(&json!(true));
        let mut map = self.result(operation, if is_in_doubt { "in-doubt" } else { "failed" });
        map.insert("error".to_owned(), json!(error.message));
        self.results.push(Value::Object(map));
        self.failure = Some(error);
    }

    fn not_tried(&mut self, operation: &Operation) {
        let map = self.result(operation, "not-tried");
        self.results.push(Value::Object(map));
    }
}

fn no_plan(id: &str) -> ToolError {
    ToolError::invalid_params(
        "There is no such plan of yours: a plan counts once, for ten minutes, and for who made it. Call planWrites again.",
    )
    .with("planId", id)
}

fn result_schema() -> ObjectSchema {
    object()
        .required("index", schema::whole("Place in the plan, from 0."))
        .required("tool", schema::string("The tool."))
        .required("ord", schema::string("The ord as given."))
        .required(
            "outcome",
            schema::one_of(
                "What became of it.",
                &["done", "failed", "in-doubt", "not-tried"],
            ),
        )
        .optional("old", schema::anything("What stood there before."))
        .optional("new", schema::anything("What was sent or read back."))
        .optional("error", schema::string("Why it failed."))
}

fn undo_schema() -> ObjectSchema {
    object()
        .optional(
            "planId",
            schema::string("Id of the plan that leads back, for applyWrites."),
        )
        .optional("digest", schema::string("SHA-256 over it."))
        .optional("expiresInSeconds", schema::whole("How long it counts."))
        .required(
            "operations",
            schema::list(
                "Operations that lead back, in their order.",
                json!({"type": "object"}),
            ),
        )
        .required(
            "notUndoable",
            schema::list(
                "What does not come back.",
                object()
                    .required("index", schema::whole("Place in the plan."))
                    .required("reason", schema::string("Why.")),
            ),
        )
}
