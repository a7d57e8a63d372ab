//! `applyWrites`: sends a plan of `planWrites`, each operation through the gate with a record of its own.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::definition::time_for;
use super::plan_operation::{Checked, Done, Operation};
use super::plan_store::{PLAN_TIME, PlanStore, PlannedOperation, WritePlan};
use super::plan_writes::MOST_OPERATIONS;
use super::registry::{
    Annotations, Category, LONG_CALL_LIMIT, Tool, ToolDefinition, ToolOutput, ToolResult,
};
use super::result_value::status_text;
use super::schema::{self, ObjectSchema, object};
use super::station_access::scope;
use super::write_gate::{Admission, Pass, SharedGate, StationWrite, WriteRequest, with_confirm};
use super::{Arguments, CallContext, Principal, ToolError};
use crate::station::facade::{PointPlan, StationFacade};
use crate::station::http::CallScope;

/// Time that one operation takes on a slow controller, with the looks before and after it.
const PER_OPERATION: Duration = Duration::from_secs(4);

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
             leads back, built from the values that were found. Points are read back when all is sent. A long plan takes up \
             to two minutes. Example: {\"planId\":\"5f2e6d3c0000400080000001\"}.",
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
        .within(LONG_CALL_LIMIT)
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
            let context = &context.at_most(time_for(plan.operations.len(), PER_OPERATION));
            let station = self.gate.reading_station(context)?;
            let looking = scope(context);
            let found = self.check(context, &station, &looking, &plan, ignore);
            let checked = match found.await {
                Ok(checked) => checked,
                Err(stopped) => return Err(self.refuse(context, &plan, stopped).await),
            };
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
            let (passes, checked) = self
                .still_possible(context, &plan, ignore, passes, checked)
                .await?;
            if !self.plans.take(id) {
                return Err(no_plan(id));
            }
            let mut applied = Applied::default();
            let steps = plan.operations.iter().zip(checked).zip(passes);
            for ((planned, checked), pass) in steps {
                if applied.failure.is_none() && !pass.write().scope.may_begin_write() {
                    applied.failure = Some(out_of_time());
                }
                if applied.failure.is_none() {
                    self.send(&planned.operation, checked, pass, &mut applied)
                        .await;
                } else {
                    applied.not_tried(&planned.operation);
                }
            }
            applied.read_back(self.gate.readback_delay()).await;
            self.answer(&context.principal, applied)
        })
    }
}

impl ApplyWrites {
    /// Checks every operation again before the first is sent.
    async fn check(
        &self,
        context: &CallContext,
        station: &StationFacade,
        scope: &CallScope,
        plan: &WritePlan,
        ignore_changes: bool,
    ) -> Result<Vec<Checked>, Stopped> {
        let mut all = Vec::with_capacity(plan.operations.len().min(MOST_OPERATIONS));
        let mut changed = Vec::new();
        for (index, planned) in plan.operations.iter().enumerate() {
            let checked = planned.operation.check(context, station, scope).await;
            let mut checked = checked.map_err(|error| stopped_at(index, error))?;
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
        let error = ToolError::invalid_params(format!(
            "{} of {} values changed since the plan was made, so nothing was sent. Plan again, or call with \
             ignoreChanges=true.",
            changed.len(),
            all.len()
        ))
        .with("kind", "plan-outdated")
        .with("changed", json!(changed));
        let at = changed.iter().filter_map(|one| one["index"].as_u64());
        let at = at.filter_map(|index| usize::try_from(index).ok());
        Err(Stopped {
            at: at.collect(),
            error: Box::new(error),
        })
    }

    /// Records that the operations which stand in the way were refused.
    async fn refuse(&self, context: &CallContext, plan: &WritePlan, stopped: Stopped) -> ToolError {
        let Stopped { at, error } = stopped;
        let mut error = *error;
        for planned in at.iter().filter_map(|index| plan.operations.get(*index)) {
            let request = planned.operation.request(None);
            error = self.gate.not_possible(context, &request, error).await;
        }
        error
    }

    /// Somebody was asked, which may have taken minutes: everything is checked once more before the first is sent.
    async fn still_possible(
        &self,
        context: &CallContext,
        plan: &WritePlan,
        ignore_changes: bool,
        passes: Vec<Pass>,
        checked: Vec<Checked>,
    ) -> Result<(Vec<Pass>, Vec<Checked>), ToolError> {
        let confirmed = passes.iter().find(|pass| pass.was_confirmed());
        let Some(StationWrite { station, scope, .. }) = confirmed.map(|pass| pass.write().clone())
        else {
            return Ok((passes, checked));
        };
        let now = async {
            let now = self.check(context, &station, &scope, plan, ignore_changes);
            let now = now.await?;
            for (index, (planned, checked)) in plan.operations.iter().zip(&now).enumerate() {
                let request = planned.operation.request(Some(checked));
                let rehearsed = self.gate.rehearse(context, &request).await;
                rehearsed.map_err(|error| stopped_at(index, error))?;
            }
            Ok::<_, Stopped>(now)
        };
        match now.await {
            Ok(now) => Ok((passes, now)),
            Err(stopped) => {
                self.gate.withdraw(passes, &stopped.error).await;
                Err(*stopped.error)
            }
        }
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
        let write = pass.write().clone();
        let sent = self
            .gate
            .perform(pass, |write| operation.send(write, checked))
            .await;
        match sent {
            Ok(done) => applied.done(operation, done, write),
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
    /// Points that are to be read back, with the place of their operation.
    points: Vec<(usize, PointPlan, StationWrite)>,
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

    fn done(&mut self, operation: &Operation, done: Done, write: StationWrite) {
        let index = self.results.len();
        let mut map = self.result(operation, "done");
        map.insert("old".to_owned(), done.old);
        map.insert("new".to_owned(), done.new);
        if let Some(reason) = done.read_back_failed {
            map.insert("readBackFailed".to_owned(), json!(reason));
        }
        let mut lost = done.lost;
        match done.undo {
            Ok(operation) => self.undo.push(PlannedOperation {
                operation,
                found: done.left,
            }),
            Err(reason) => lost.push(reason),
        }
        let lost = lost.into_iter();
        self.lost
            .extend(lost.map(|reason| json!({ "index": index, "reason": reason })));
        if let Some(sent) = done.point {
            self.points.push((index, sent, write));
        }
        self.results.push(Value::Object(map));
        self.count += 1;
    }

    fn failed(&mut self, operation: &Operation, error: ToolError) {
        let is_in_doubt = error.data.get("inDoubt") == Some(&json!(true));
        let mut map = self.result(operation, if is_in_doubt { "in-doubt" } else { "failed" });
        map.insert("error".to_owned(), json!(error.message));
        for name in ["observed", "undo"] {
            if let Some(value) = error.data.get(name) {
                map.insert(name.to_owned(), value.clone());
            }
        }
        if error.data.contains_key("undo") {
            let reason = "it failed after some of it was done; 'undo' of its result holds the arguments that lead back";
            self.lost
                .push(json!({ "index": self.results.len(), "reason": reason }));
        }
        self.results.push(Value::Object(map));
        self.failure = Some(error);
    }

    /// Reads the commanded points back, when all had time to act.
    async fn read_back(&mut self, settle: Duration) {
        let mut settle = settle;
        for (index, sent, write) in std::mem::take(&mut self.points) {
            let seen = write
                .station
                .read_point_back(&write.scope, &write.ord, &sent, settle)
                .await;
            settle = Duration::ZERO;
            let Some(result) = self.results.get_mut(index) else {
                continue;
            };
            match seen {
                Ok(seen) => {
                    let level = &seen.reading.active_level;
                    let wins = *level == Some(sent.order.priority.to_string());
                    result["observedOut"] = json!(seen.reading.out);
                    result["observedStatus"] = json!(seen.reading.status.map(status_text));
                    result["activeLevel"] = json!(level);
                    result["winning"] = json!(wins);
                }
                Err(reason) => result["readBackFailed"] = json!(reason),
            }
        }
    }

    fn not_tried(&mut self, operation: &Operation) {
        let map = self.result(operation, "not-tried");
        self.results.push(Value::Object(map));
    }
}

/// What stands in the way of a plan, and of which of its operations.
struct Stopped {
    at: Vec<usize>,
    error: Box<ToolError>,
}

fn stopped_at(index: usize, error: ToolError) -> Stopped {
    let mut error = error.with("index", index).with("sent", 0);
    error.message = format!("Operation {index}: {} Nothing was sent.", error.message);
    Stopped {
        at: vec![index],
        error: Box::new(error),
    }
}

fn out_of_time() -> ToolError {
    ToolError::station(
        "station-timeout",
        "The time of the call is over, or it was cancelled, so the next operation was not begun. What is not tried can be \
         planned again.",
    )
}

fn no_plan(id: &str) -> ToolError {
    ToolError::invalid_params(
        "There is no such plan of yours: a plan counts once, for ten minutes, and for who made it. Call planWrites again.",
    )
    .with("planId", id)
}

fn result_schema() -> ObjectSchema {
    let text = |help: &str| schema::any_of_types(help, &["string", "null"]);
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
        .optional(
            "observed",
            schema::anything("What it had changed when it failed."),
        )
        .optional(
            "undo",
            schema::anything("Arguments of its tool that lead back from there."),
        )
        .optional(
            "observedOut",
            schema::string("Display text of a point's output, read back when all was sent."),
        )
        .optional(
            "observedStatus",
            text("Status words in braces, {ok} when none is set."),
        )
        .optional(
            "activeLevel",
            text("What commands the output then: 1 to 16, or def for the fallback."),
        )
        .optional(
            "winning",
            schema::boolean("Whether the level commands the output then."),
        )
        .optional(
            "readBackFailed",
            schema::string("Why it could not be read back."),
        )
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
