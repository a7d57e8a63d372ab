//! Arguments of planned operations: held to the schema of their own tool, as a call of that tool is.

use serde_json::{Map, Value};

use super::invoke_action::InvokeAction;
use super::point_overrides::{OverridePoint, ReleasePoint};
use super::registry::{Tool, ToolDefinition, valid_arguments};
use super::schema::Validator;
use super::slot_writes::{ClearSlot, SetSlot};
use super::write_gate::{CONFIRM, SharedGate};
use super::write_point::WritePoint;
use super::write_schedule::WriteSchedule;
use super::{RpcError, ToolError};

/// Arguments of single calls that mean nothing in a plan, which shows what it would do and is confirmed as a whole.
const NOT_PLANNED: [(&str, &str); 2] = [
    (
        "dryRun",
        "planWrites itself sends nothing, and applyWrites sends every operation of the plan",
    ),
    (
        CONFIRM,
        "one confirmation counts for the whole plan, in the call of applyWrites",
    ),
];

/// The arguments as the tool itself would get them.
///
/// # Errors
/// −32602 for what the tool's own schema refuses, and for what counts in single calls only.
pub fn planned_arguments(
    gate: &SharedGate,
    tool: &str,
    arguments: &Map<String, Value>,
) -> Result<Map<String, Value>, ToolError> {
    for (name, reason) in NOT_PLANNED {
        if arguments.contains_key(name) {
            return Err(ToolError::invalid_params(format!(
                "'{name}' has no place among the arguments of a planned {tool}: {reason}. Leave it out."
            ))
            .with("name", name));
        }
    }
    let definition = definition(gate, tool);
    let validator = Validator::compile(&definition.checked_schema()).map_err(|error| {
        ToolError::internal(format!("The schema of {tool} cannot be used: {error}."))
    })?;
    let valid = valid_arguments(&definition, &validator, arguments.clone());
    // What nobody reads is in no plan either.
    let (valid, _) = valid.map_err(|error| {
        let RpcError {
            code,
            message,
            data,
        } = error;
        ToolError {
            code,
            message,
            data,
        }
    })?;
    Ok(valid.values().clone())
}

fn definition(gate: &SharedGate, tool: &str) -> ToolDefinition {
    let gate = gate.clone();
    match tool {
        "overridePoint" => OverridePoint(gate).definition(),
        "releasePoint" => ReleasePoint(gate).definition(),
        "setSlot" => SetSlot(gate).definition(),
        "clearSlot" => ClearSlot(gate).definition(),
        "invokeAction" => InvokeAction(gate).definition(),
        "writeSchedule" => WriteSchedule(gate).definition(),
        _ => WritePoint(gate).definition(),
    }
}
