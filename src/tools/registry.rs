//! The ordered, filtered list of tools, and how a call runs: rights, conventions, validation, time, result shape.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use futures::FutureExt;
use indexmap::IndexMap;
use serde_json::{Map, Value, json};
use tracing::Instrument;

use super::arguments::{Arguments, apply_conventions};
use super::context::{CallContext, Principal, ToolSets};
pub use super::definition::{
    Annotations, Category, LONG_CALL_LIMIT, STATION_CALL_LIMIT, Tool, ToolDefinition, ToolOutput,
    ToolResult,
};
use super::error::{ErrorCode, RpcError, ToolError};
pub use super::offer::{Offer, UnknownTool};
use super::schema::{CheckedSchema, SchemaError, Validator, Violation};
use super::station_access::{SharedStations, naming_station};
use super::write_gate::{CONFIRMATION_TIME, SharedGate, split_undeclared};
use crate::station::echo::shortened;

/// A tool that respects its deadline still needs a moment to shape a partial answer.
const DEADLINE_GRACE: Duration = Duration::from_millis(500);

/// Order of `tools/list`, of getServerInfo and of the getFeatureDump buckets (Tool surface §8.1).
const ORDER: [&str; 46] = [
    "echo",
    "listChildren",
    "readPoint",
    "writePoint",
    "bqlQuery",
    "getOverview",
    "inspectComponent",
    "findComponentsByType",
    "getSlots",
    "createSpace",
    "updateSpace",
    "createEquipmentType",
    "updateEquipmentType",
    "createEquipment",
    "updateEquipment",
    "bulkCreateEquipment",
    "assignPointToEquipment",
    "createStandalonePoint",
    "validateKnowledge",
    "getKnowledgeSummary",
    "findUnmappedComponents",
    "exportKnowledge",
    "importKnowledge",
    "reloadKnowledge",
    "findEquipment",
    "findInSpace",
    "findPoints",
    "readHistory",
    "getActiveAlarms",
    "getAlarmHistory",
    "getServerInfo",
    "probeOrd",
    "checkKnowledgeIntegrity",
    "getServiceHealth",
    "getDiagnosticDump",
    "getFeatureDump",
    "createComponent",
    "setupTestUser",
    "removeComponent",
    "setSlot",
    "invokeAction",
    "addExtension",
    "linkSlots",
    "unlinkSlots",
    "commitStation",
    "clearSlot",
];

/// A registry that cannot be built; every case is a mistake in this program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    #[error("tool '{0}' is registered twice")]
    Duplicate(String),
    #[error("tool '{tool}' has a broken {which} schema: {source}")]
    Schema {
        tool: String,
        which: &'static str,
        source: SchemaError,
    },
}

struct Entry {
    definition: ToolDefinition,
    arguments: CheckedSchema,
    tool: Arc<dyn Tool>,
}

/// Collects tools and builds a [`Registry`].
#[derive(Default)]
pub struct RegistryBuilder {
    tools: Vec<Arc<dyn Tool>>,
    offer: Offer,
    stations: Option<SharedStations>,
    recorder: Option<SharedGate>,
}

impl RegistryBuilder {
    /// Adds a tool; the order of `tools/list` does not depend on the order of calls for the tools of §8.1.
    pub fn tool(self, tool: impl Tool + 'static) -> Self {
        self.shared(Arc::new(tool))
    }

    /// Adds a tool that is shared already.
    pub fn shared(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds many tools.
    pub fn tools(mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// Leaves out what this offer leaves out.
    pub fn offer(mut self, offer: Offer) -> Self {
        self.offer = offer;
        self
    }

    /// Refuses tools that change the station to callers in whose name these cannot act, and names the station in its errors.
    pub fn acting_by(mut self, stations: SharedStations) -> Self {
        self.stations = Some(stations);
        self
    }

    /// Records the calls of writing tools that are refused before the tool asks this gate.
    pub fn recording_by(mut self, gate: SharedGate) -> Self {
        self.recorder = Some(gate);
        self
    }

    /// Builds the registry.
    ///
    /// # Errors
    /// Two tools of one name, or a schema outside the supported subset.
    pub fn build(self) -> Result<Registry, RegistryError> {
        let mut entries: Vec<Entry> = Vec::with_capacity(self.tools.len());
        for tool in self.tools {
            let definition = tool.definition();
            let name = definition.name.clone();
            if entries.iter().any(|entry| entry.definition.name == name) {
                return Err(RegistryError::Duplicate(name));
            }
            let compile = |schema: &Value, which| {
                CheckedSchema::new(schema).map_err(|source| RegistryError::Schema {
                    tool: name.clone(),
                    which,
                    source,
                })
            };
            let arguments = compile(&definition.checked_schema(), "input")?;
            if let Some(schema) = &definition.output_schema {
                compile(&schema.to_value(), "output")?;
            }
            entries.push(Entry {
                definition,
                arguments,
                tool,
            });
        }
        entries.sort_by_cached_key(|entry| place(&entry.definition));
        let registry = Registry {
            entries: entries
                .into_iter()
                .map(|entry| (entry.definition.name.clone(), entry))
                .collect(),
            offer: RwLock::default(),
            stations: self.stations,
            recorder: self.recorder,
        };
        registry.set_offer(self.offer);
        Ok(registry)
    }
}

/// The 46 by §8.1, then ours in the order they were added (the sort is stable), then capabilities by name.
fn place(definition: &ToolDefinition) -> (usize, String) {
    if definition.category == Category::Camber {
        return (ORDER.len() + 1, definition.name.clone());
    }
    let place = ORDER
        .iter()
        .position(|name| *name == definition.name)
        .unwrap_or(ORDER.len());
    (place, String::new())
}

/// The tools of a running bridge.
pub struct Registry {
    entries: IndexMap<String, Entry>,
    offer: RwLock<Arc<Offer>>,
    stations: Option<SharedStations>,
    recorder: Option<SharedGate>,
}

impl Registry {
    /// Starts an empty registry.
    pub fn builder() -> RegistryBuilder {
        RegistryBuilder::default()
    }

    /// Names that an offer leaves out although no tool has them, each with the most similar name.
    pub fn unknown_in(&self, offer: &Offer) -> Vec<UnknownTool> {
        let likeness = |tool: &str, name: &str| strsim::jaro_winkler(&tool.to_lowercase(), name);
        offer
            .disabled()
            .filter(|name| {
                !self
                    .entries
                    .keys()
                    .any(|tool| tool.eq_ignore_ascii_case(name))
            })
            .map(|name| UnknownTool {
                name: name.to_owned(),
                nearest: self
                    .entries
                    .keys()
                    .max_by(|a, b| likeness(a, name).total_cmp(&likeness(b, name)))
                    .cloned(),
            })
            .collect()
    }

    /// Offers other tools from now on; true when the list of tools changed.
    pub fn set_offer(&self, offer: Offer) -> bool {
        for unknown in self.unknown_in(&offer) {
            tracing::warn!("disabledTools has no effect for one name: {unknown}");
        }
        let before: Vec<String> = self.definitions().map(|tool| tool.name.clone()).collect();
        *self.offer.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(offer);
        !self.definitions().map(|tool| &tool.name).eq(before.iter())
    }

    fn offer(&self) -> Arc<Offer> {
        self.offer
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Definitions of all offered tools in registration order.
    pub fn definitions(&self) -> impl Iterator<Item = &ToolDefinition> {
        let offer = self.offer();
        let entries = self.entries.values().map(|entry| &entry.definition);
        entries.filter(move |definition| offer.contains(definition))
    }

    /// One definition, none when the tool is not offered.
    pub fn definition(&self, name: &str) -> Option<&ToolDefinition> {
        let definition = &self.entries.get(name)?.definition;
        self.offer().contains(definition).then_some(definition)
    }

    /// The result of `tools/list` for these tool sets.
    pub fn list(&self, toolsets: &ToolSets) -> Value {
        let tools: Vec<Value> = self
            .definitions()
            .filter(|definition| toolsets.offers(definition))
            .map(ToolDefinition::to_json)
            .collect();
        json!({ "tools": tools })
    }

    /// Runs `tools/call` and shapes its result (Tool surface §5.1).
    ///
    /// # Errors
    /// The refusals of Tool surface §5.2: unknown tool, missing user identity, invalid arguments. A failure of the
    /// tool itself is not an error here but a result with `isError`.
    pub async fn call(
        &self,
        name: &str,
        arguments: Value,
        mut context: CallContext,
    ) -> Result<Value, RpcError> {
        let entry = self
            .entries
            .get(name)
            .filter(|entry| context.toolsets.offers(&entry.definition))
            .filter(|entry| self.offer().contains(&entry.definition))
            .ok_or_else(|| unknown_tool(name))?;
        let definition = &entry.definition;
        if let Err(error) = self.may_act(definition, &context.principal) {
            self.record(&context, definition, &arguments, &error, "no-credential")
                .await;
            return Err(error);
        }
        let as_given = match definition.changes_station() {
            true => arguments.clone(),
            false => Value::Null,
        };
        let (arguments, undeclared) = match entry.check(arguments) {
            Ok(checked) => checked,
            Err(error) => {
                self.record(&context, definition, &as_given, &error, "not-possible")
                    .await;
                return Err(error);
            }
        };
        context.undeclared = undeclared.into();
        context.deadline = context.deadline.min(Instant::now() + definition.limit);
        let principal = context.principal.clone();
        let outcome = if definition.annotations.read_only {
            run_reading(entry, &context, arguments).await
        } else {
            run_writing(entry, context, arguments, self.recorder.clone()).await
        };
        match outcome {
            Ok(output) => Ok(output.into_json()),
            Err(error) if error.code.is_protocol() => Err(RpcError {
                code: error.code,
                message: error.message,
                data: error.data,
            }),
            Err(error) => Ok(error_answer(match &self.stations {
                Some(stations) => naming_station(error, stations, &principal),
                None => error,
            })),
        }
    }
}

impl Registry {
    /// Whether the tool may run in the caller's name at all.
    fn may_act(&self, definition: &ToolDefinition, principal: &Principal) -> Result<(), RpcError> {
        if definition.requires_user_context && principal.user().is_none() {
            return Err(needs_user(&definition.name));
        }
        match &self.stations {
            Some(stations) if definition.changes_station() => stations
                .may_change_station(principal)
                .map_err(|reason| cannot_act(&definition.name, principal, &reason)),
            _ => Ok(()),
        }
    }

    /// Records a call that was refused before its tool ran.
    async fn record(
        &self,
        context: &CallContext,
        definition: &ToolDefinition,
        arguments: &Value,
        error: &RpcError,
        policy: &'static str,
    ) {
        let Some(recorder) = &self.recorder else {
            return;
        };
        let nothing = Map::new();
        let arguments = arguments.as_object().unwrap_or(&nothing);
        let error = ToolError::new(error.code, error.message.clone());
        recorder
            .record_unasked(context, definition, arguments, &error, policy)
            .await;
    }
}

impl Entry {
    /// The arguments, checked, and the names of those that nobody reads (undeclared ones are ignored, Tool surface §8.1).
    fn check(&self, arguments: Value) -> Result<(Arguments, Vec<String>), RpcError> {
        let values = match arguments {
            Value::Null => Map::new(),
            Value::Object(values) => values,
            _ => {
                return Err(RpcError::new(
                    ErrorCode::InvalidParams,
                    "'arguments' must be an object.",
                )
                .with("tool", self.definition.name.clone())
                .with("argument", "arguments")
                .with("problem", "type")
                .with("expected", "object"));
            }
        };
        let validator = self
            .arguments
            .validator(|| self.definition.checked_schema());
        valid_arguments(&self.definition, validator, values)
    }
}

/// Arguments after the shared conventions, valid by the tool's own schema, and the names of those that nobody reads
/// (undeclared ones are ignored, Tool surface §8.1); `validator` is that of its checked schema.
pub(super) fn valid_arguments(
    definition: &ToolDefinition,
    validator: &Validator,
    mut values: Map<String, Value>,
) -> Result<(Arguments, Vec<String>), RpcError> {
    if !definition.strict_arguments && !definition.judges_arguments {
        apply_conventions(
            &definition.input_schema,
            &mut values,
            &definition.refused_out_of_range,
        );
    }
    let values = Value::Object(values);
    if let Some(violation) = validator.validate(&values).first() {
        return Err(invalid_arguments(&definition.name, violation));
    }
    let mut values = match values {
        Value::Object(values) => values,
        _ => Map::new(),
    };
    let undeclared = match definition.changes_station() {
        true => split_undeclared(definition, &mut values),
        false => Vec::new(),
    };
    Ok((Arguments::new(values), undeclared))
}

/// A reading call is simply dropped when the client cancels or the time is over.
async fn run_reading(entry: &Entry, context: &CallContext, arguments: Arguments) -> ToolResult {
    let call = AssertUnwindSafe(entry.tool.run(context, arguments)).catch_unwind();
    let name = &entry.definition.name;
    tokio::select! {
        outcome = tokio::time::timeout(context.remaining() + DEADLINE_GRACE, call) => match outcome {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(fault(name)),
            Err(_) => Err(overdue(name, entry.definition.limit)),
        },
        () = context.cancel.cancelled() => Err(ToolError::station("cancelled", format!("The call of '{name}' was cancelled."))),
    }
}

/// A writing call runs on its own task: what it began must end and be recorded, whether or not the client still waits.
async fn run_writing(
    entry: &Entry,
    context: CallContext,
    arguments: Arguments,
    recorder: Option<SharedGate>,
) -> ToolResult {
    let tool = entry.tool.clone();
    let name = &entry.definition.name;
    let is_asked = context.client.asks_now() && context.client.can("elicitation");
    let decision = if is_asked {
        CONFIRMATION_TIME
    } else {
        Duration::ZERO
    };
    // Its log lines belong to the request as well.
    let recorder = recorder.filter(|_| entry.definition.changes_station());
    let recorder = recorder.map(|gate| (gate, entry.definition.clone(), arguments.clone()));
    let call = async move {
        let outcome = tool.run(&context, arguments).await;
        if let (Err(error), Some((gate, definition, arguments))) = (&outcome, recorder) {
            let arguments = arguments.values();
            gate.record_unasked(&context, &definition, arguments, error, "not-possible")
                .await;
        }
        outcome
    }
    .in_current_span();
    let task = tokio::spawn(call);
    match tokio::time::timeout(entry.definition.limit + DEADLINE_GRACE + decision, task).await {
        Ok(Ok(result)) => result,
        Ok(Err(_)) => Err(fault(name)),
        Err(_) => Err(overdue(name, entry.definition.limit).with("inDoubt", true)),
    }
}

fn fault(name: &str) -> ToolError {
    tracing::error!(tool = name, "a tool ended with a panic");
    ToolError::internal(format!(
        "The tool '{name}' failed by a fault of the bridge; its log has the details."
    ))
    .with("kind", "fault")
}

fn overdue(name: &str, limit: Duration) -> ToolError {
    ToolError::station(
        "station-timeout",
        format!(
            "The call of '{name}' was not finished within {} seconds. Ask for less or try again later.",
            limit.as_secs()
        ),
    )
}

fn error_answer(error: ToolError) -> Value {
    let error = error.brief();
    let mut answer = json!({
        "content": [{ "type": "text", "text": error.message }],
        "isError": true,
        "errorCode": error.code.code(),
    });
    if !error.data.is_empty() {
        answer["errorData"] = Value::Object(error.data);
    }
    answer
}

fn unknown_tool(name: &str) -> RpcError {
    RpcError::new(
        ErrorCode::ToolNotFound,
        format!(
            "There is no tool '{}'; tools/list names those that exist.",
            shortened(name)
        ),
    )
    .with("toolName", name)
}

fn needs_user(name: &str) -> RpcError {
    RpcError::new(
        ErrorCode::UserNotFound,
        format!("The tool '{name}' acts as a station user; call it with a user's own token, not with the service token."),
    )
    .with("tool", name)
    .with("requiresUserContext", true)
}

/// A known user without a station credential (Tool surface §3).
fn cannot_act(name: &str, principal: &Principal, reason: &str) -> RpcError {
    RpcError::new(
        ErrorCode::UserNotFound,
        format!(
            "The tool '{name}' changes the station, and the bridge cannot do that as '{principal}': {reason}."
        ),
    )
    .with("tool", name)
    .with("requiresUserContext", true)
    .with("reason", reason)
}

fn invalid_arguments(tool: &str, violation: &Violation) -> RpcError {
    let argument = violation.argument().unwrap_or("arguments");
    let error = RpcError::new(
        ErrorCode::InvalidParams,
        format!("Invalid arguments for '{tool}': {violation}."),
    )
    .with("tool", tool)
    .with("argument", argument)
    .with("problem", violation.problem.word())
    .with("expected", violation.problem.expected());
    match violation.problem {
        super::schema::Problem::Missing { .. } => error.with("missing", argument),
        _ => error,
    }
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
