//! Calls of writing tools that end before their tool asks the gate: a caller who cannot act on the station, arguments that
//! are none. They are refusals like any other, and recorded so (Tool surface §4.1).

use serde_json::{Map, Value};

use super::WriteGate;
use super::judgement::Stop;
use super::request::WriteRequest;
use crate::tools::{CallContext, ToolDefinition, ToolError};

/// Name of the operation that a tool records, and the arguments that name its ord (Tool surface §4.1).
fn recorded_as(tool: &str) -> (&'static str, &'static [&'static str]) {
    match tool {
        "createComponent" => ("add", &["parentOrd"]),
        "addExtension" => ("addExtension", &["parentOrd"]),
        "setSlot" => ("set", &["ord"]),
        "clearSlot" => ("clear", &["ord"]),
        "invokeAction" => ("invoke", &["ord"]),
        "linkSlots" => ("link", &["sinkOrd"]),
        "unlinkSlots" => ("unlink", &["linkOrd", "sinkOrd"]),
        "removeComponent" => ("remove", &["ord"]),
        "commitStation" => ("save", &[]),
        "overridePoint" => ("override", &["ord"]),
        "releasePoint" => ("release", &["ord"]),
        "ackAlarm" => ("acknowledge", &["uuid", "sourceOrd"]),
        "writeSchedule" => ("schedule", &["ord"]),
        "applyWrites" => ("apply", &["planId"]),
        _ => ("write", &["ord"]),
    }
}

/// Keeps the arguments that a tool declares, and the names of the others.
pub(crate) fn split_undeclared(
    tool: &ToolDefinition,
    arguments: &mut Map<String, Value>,
) -> Vec<String> {
    let declared = tool.input_schema.get("properties");
    let is_declared = |name: &str| declared.is_some_and(|declared| declared.get(name).is_some());
    let mut undeclared = Vec::new();
    arguments.retain(|name, _| {
        let keeps = is_declared(name);
        if !keeps {
            undeclared.push(name.clone());
        }
        keeps
    });
    undeclared
}

impl WriteGate {
    /// Records a call that was refused, unless the gate recorded it or was only asked for a rehearsal.
    pub(crate) async fn record_unasked(
        &self,
        context: &CallContext,
        tool: &ToolDefinition,
        arguments: &Map<String, Value>,
        error: &ToolError,
        policy: &'static str,
    ) {
        let is_dry = arguments.get("dryRun") == Some(&Value::Bool(true));
        if context.audited.is_set() || is_dry || !tool.changes_station() {
            return;
        }
        let mut arguments = arguments.clone();
        let mut context = context.clone();
        let undeclared = split_undeclared(tool, &mut arguments);
        if !undeclared.is_empty() {
            context.undeclared = undeclared.into();
        }
        let (operation, keys) = recorded_as(&tool.name);
        let mut ords = keys.iter().filter_map(|key| arguments.get(*key)?.as_str());
        let ord = ords.next().unwrap_or_default();
        let request = WriteRequest::new(&tool.name, operation, ord, &arguments);
        let stop = Stop {
            error: error.clone(),
            policy,
            path: None,
        };
        self.record_refusal(&context, &request, &stop).await;
    }
}
