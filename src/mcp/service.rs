//! One request in, one result out: the methods of the surface inside rmcp's session loop (Tool surface §2).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rmcp::model::{
    ClientNotification, ClientRequest, CustomResult, ErrorCode as WireCode, ErrorData,
    Implementation, InitializeRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig,
    ServerResult,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, RoleServer, Service};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tracing::Instrument;

use super::bridge::Bridge;
use super::conversation::{Conversation, SessionState};
use super::declared::Declared;
use super::list_changes;
use super::metrics::CallOutcome;
use super::protocol::{complete, discover_result, initialize_result};
use super::subscriptions;
use crate::station::echo::shortened;
use crate::tools::redaction::logged;
use crate::tools::{CallContext, ErrorCode, LogLevel, Principal, RpcError, ToolSets};

/// Who sent a request, put into the message by the front that received it.
#[derive(Debug, Clone)]
pub struct Caller {
    pub principal: Principal,
    pub session_id: String,
    pub toolsets: ToolSets,
    /// The caller runs on the bridge's own machine.
    pub from_this_machine: bool,
    /// Where notifications of this request go; without it they go to the session's only stream.
    pub outlet: Option<mpsc::Sender<Value>>,
    /// The context of a request that stands alone (revision 2026-07-28).
    pub declared: Option<Arc<Declared>>,
}

/// Time that a call gets to end by itself after its session or the bridge has ended; rmcp delivers answers for 2 s.
const LAST_WORDS: Duration = Duration::from_millis(1500);

/// Completions per answer (a limit of the protocol).
const COMPLETION_LIMIT: usize = 100;

/// Methods of sessions that revision 2026-07-28 removed.
const SESSION_METHODS: [&str; 5] = [
    "initialize",
    "ping",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
];
/// Methods that only revision 2026-07-28 has.
const STATELESS_METHODS: [&str; 2] = ["server/discover", "subscriptions/listen"];

/// The bridge as an rmcp service of one session.
#[derive(Clone)]
pub struct BridgeService {
    bridge: Arc<Bridge>,
    state: Arc<SessionState>,
}

impl BridgeService {
    /// Serves what `bridge` holds to one session.
    pub fn new(bridge: Arc<Bridge>) -> Self {
        Self {
            bridge,
            state: Arc::default(),
        }
    }

    /// What this session chose.
    pub fn state(&self) -> &Arc<SessionState> {
        &self.state
    }

    async fn dispatch(
        &self,
        method: &str,
        params: Value,
        caller: Caller,
        context: RequestContext<RoleServer>,
        request_id: &str,
    ) -> Result<Value, RpcError> {
        let bridge = &self.bridge;
        if !bridge.switches.enabled.load(Ordering::Relaxed) {
            return Err(RpcError::new(
                ErrorCode::Internal,
                "The service is disabled: 'enabled' is false in its configuration.",
            ));
        }
        let foreign = match caller.declared {
            Some(_) => SESSION_METHODS.contains(&method),
            None => STATELESS_METHODS.contains(&method),
        };
        if foreign {
            return Err(no_method(method));
        }
        match method {
            "initialize" => {
                remember_client(&context.peer, &params);
                Ok(initialize_result(bridge, &params))
            }
            "server/discover" => Ok(discover_result(bridge)),
            "ping" => Ok(json!({})),
            "logging/setLevel" => {
                let level = text(&params, "level")?;
                let level = LogLevel::from_name(&level).ok_or_else(|| {
                    RpcError::new(
                        ErrorCode::InvalidParams,
                        format!("There is no log level '{level}'."),
                    )
                    .with("argument", "level")
                })?;
                self.state.set_log_level(level);
                Ok(json!({}))
            }
            "tools/list" => Ok(bridge.tools.list(&caller.toolsets)),
            "tools/call" => {
                let name = text(&params, "name")?;
                let arguments = params.get("arguments").cloned().unwrap_or(Value::Null);
                let (call, conversation) = self.converse(caller, &context, request_id);
                let started = Instant::now();
                let schema = bridge
                    .tools
                    .definition(&name)
                    .map(|tool| &*tool.input_schema);
                tracing::debug!(arguments = %logged(schema, &arguments), "a tool is called");
                let answer = conversation
                    .until(bridge.tools.call(&name, arguments, call))
                    .await;
                self.note_call(&name, &answer, started.elapsed());
                answer
            }
            "resources/list" => Ok(bridge.resources.list()),
            "resources/templates/list" => Ok(bridge.resources.list_templates()),
            "resources/read" => {
                let uri = text(&params, "uri")?;
                let (call, conversation) = self.converse(caller, &context, request_id);
                conversation.until(bridge.resources.read(&uri, &call)).await
            }
            "resources/subscribe" => {
                let uri = text(&params, "uri")?;
                let (call, _) = self.converse(caller, &context, request_id);
                let changes = bridge.resources.watch(&uri, &call).await?;
                subscriptions::forward(&self.state, &context.peer, uri, changes)?;
                Ok(json!({}))
            }
            "resources/unsubscribe" => {
                self.state.unsubscribe(&text(&params, "uri")?);
                Ok(json!({}))
            }
            "subscriptions/listen" => {
                let outlet = caller.outlet.clone();
                let id = caller.declared.as_ref().map(|declared| declared.id.clone());
                let (call, _) = self.converse(caller, &context, request_id);
                subscriptions::listen(bridge, &params, &call, outlet, id.unwrap_or_default()).await
            }
            "prompts/list" => Ok(bridge.prompts.list()),
            "prompts/get" => {
                let name = text(&params, "name")?;
                let (call, conversation) = self.converse(caller, &context, request_id);
                let arguments = object(params, "arguments");
                conversation
                    .until(bridge.prompts.get(&name, arguments, &call))
                    .await
            }
            "completion/complete" => {
                let (call, _) = self.converse(caller, &context, request_id);
                self.complete(&params, &call).await
            }
            _ => Err(no_method(method)),
        }
    }

    fn note_call(&self, tool: &str, answer: &Result<Value, RpcError>, took: Duration) {
        let failed = |answer: &Value| answer.get("isError") == Some(&Value::Bool(true));
        let outcome = match answer {
            Ok(answer) if failed(answer) => CallOutcome::Error,
            Ok(_) => CallOutcome::Ok,
            Err(_) => CallOutcome::Refused,
        };
        // A name that callers made up must become neither a label nor a log line.
        let known = self.bridge.tools.definition(tool).is_some();
        let tool = if known { tool } else { "unknown" };
        self.bridge.metrics.call(tool, outcome, took);
        let code = match answer {
            Ok(answer) => answer.get("errorCode").and_then(Value::as_i64),
            Err(error) => Some(i64::from(error.code.code())),
        };
        tracing::info!(
            tool,
            outcome = outcome.name(),
            code,
            ms = took.as_millis() as u64,
            "call"
        );
    }

    fn converse(
        &self,
        caller: Caller,
        context: &RequestContext<RoleServer>,
        request_id: &str,
    ) -> (CallContext, Conversation) {
        let mut call = CallContext::new(caller.principal.clone(), self.bridge.facts());
        call.cancel = context.ct.clone();
        call.session_id = caller.session_id.clone();
        call.request_id = request_id.to_owned();
        call.toolsets = caller.toolsets.clone();
        call.from_this_machine = caller.from_this_machine;
        let conversation = Conversation::open(&mut call, &caller, context, &self.state);
        (call, conversation)
    }

    /// What every log line of a request says of it.
    fn span(
        &self,
        request_id: &str,
        method: &str,
        params: &Value,
        caller: &Caller,
    ) -> tracing::Span {
        // At the highest level, so that a quiet log names the request of its warnings too.
        let span = tracing::error_span!(
            "request",
            id = request_id,
            session = tracing::field::Empty,
            principal = %caller.principal,
            tool = tracing::field::Empty,
        );
        if span.is_disabled() {
            return span;
        }
        if !caller.session_id.is_empty() {
            span.record("session", session_name(&caller.session_id));
        }
        let tool = params.get("name").and_then(Value::as_str);
        if method == "tools/call"
            && let Some(tool) = tool.and_then(|name| self.bridge.tools.definition(name))
        {
            span.record("tool", tool.name.as_str());
        }
        span
    }

    /// Why a call ends without its own answer. A client that cancelled it itself is not told: rmcp drops that answer.
    fn cut_short(&self) -> RpcError {
        if self.bridge.is_stopping() {
            return RpcError::new(
                ErrorCode::Internal,
                "The bridge is stopping; the call was given up. Send it again when the bridge runs again.",
            );
        }
        RpcError::new(
            ErrorCode::SessionNotFound,
            "The session ended while the request ran. Send initialize again.",
        )
    }

    async fn complete(&self, params: &Value, context: &CallContext) -> Result<Value, RpcError> {
        let reference = params.get("ref").unwrap_or(&Value::Null);
        let argument = params.get("argument").unwrap_or(&Value::Null);
        let name = text(argument, "name")?;
        let typed = argument
            .get("value")
            .and_then(Value::as_str)
            .unwrap_or_default();
        // What the person has filled in already (2025-06-18).
        let nothing = Map::new();
        let given = params.pointer("/context/arguments");
        let given = given.and_then(Value::as_object).unwrap_or(&nothing);
        let mut values = match reference.get("type").and_then(Value::as_str) {
            Some("ref/prompt") => {
                self.bridge
                    .prompts
                    .complete(&text(reference, "name")?, &name, typed, given, context)
                    .await?
            }
            Some("ref/resource") => {
                self.bridge
                    .resources
                    .complete(&text(reference, "uri")?, &name, typed, context)
                    .await?
            }
            _ => {
                return Err(RpcError::new(
                    ErrorCode::InvalidParams,
                    "'ref.type' must be ref/prompt or ref/resource.",
                )
                .with("argument", "ref"));
            }
        };
        let total = values.len();
        values.truncate(COMPLETION_LIMIT);
        Ok(
            json!({ "completion": { "values": values, "total": total, "hasMore": total > COMPLETION_LIMIT } }),
        )
    }
}

fn no_method(method: &str) -> RpcError {
    RpcError::new(
        ErrorCode::MethodNotFound,
        format!("There is no method '{}'.", shortened(method)),
    )
    .with("method", method)
}

/// Whether a tool's answer is an error that tells no more than that the call could not go on: all but a write in doubt.
fn is_plain_failure(answer: &Value) -> bool {
    let in_doubt = answer
        .pointer("/errorData/inDoubt")
        .and_then(Value::as_bool);
    answer.get("isError") == Some(&Value::Bool(true)) && in_doubt != Some(true)
}

/// An id that nobody else uses, short enough to be read out: 62 random bits.
fn new_request_id() -> String {
    let (_, low) = uuid::Uuid::new_v4().as_u64_pair();
    format!("{low:016x}")
}

/// Tells sessions apart in log lines without telling their ids, which are as good as keys.
fn session_name(id: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, id.as_bytes());
    let start = digest.as_ref().iter().take(4);
    start.map(|byte| format!("{byte:02x}")).collect()
}

/// Whoever meets a fault can name the request to those who read the log.
fn named(error: RpcError, request_id: &str) -> RpcError {
    if error.code.code() == ErrorCode::Internal.code() {
        return error.with("requestId", request_id);
    }
    error
}

/// The same for a tool's answer: faults, the station's failures, and writes in doubt.
fn name_fault(answer: &mut Value, request_id: &str) {
    if answer.get("isError") != Some(&Value::Bool(true)) {
        return;
    }
    let internal = answer.get("errorCode") == Some(&json!(ErrorCode::Internal.code()));
    if internal || answer.pointer("/errorData/inDoubt") == Some(&Value::Bool(true)) {
        answer["errorData"]["requestId"] = json!(request_id);
    }
}

fn text(params: &Value, name: &str) -> Result<String, RpcError> {
    match params.get(name) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(RpcError::new(
            ErrorCode::InvalidParams,
            format!("'{name}' must be a string."),
        )
        .with("argument", name)),
        None => Err(
            RpcError::new(ErrorCode::InvalidParams, format!("'{name}' is missing."))
                .with("missing", name),
        ),
    }
}

fn object(mut params: Value, name: &str) -> Map<String, Value> {
    match params.get_mut(name).map(Value::take) {
        Some(Value::Object(members)) => members,
        _ => Map::new(),
    }
}

/// Keeps what the client said of itself where rmcp looks for it when the server asks something back.
fn remember_client(peer: &Peer<RoleServer>, params: &Value) {
    let capabilities = params
        .get("capabilities")
        .cloned()
        .and_then(|value| serde_json::from_value(value).ok());
    let client = params
        .get("clientInfo")
        .cloned()
        .and_then(|value| serde_json::from_value(value).ok());
    let mut info = InitializeRequestParams::new(
        capabilities.unwrap_or_default(),
        client.unwrap_or_else(|| Implementation::new("unknown", "")),
    );
    // rmcp's default is its newest revision, in which a server must not ask.
    info.protocol_version = ProtocolVersion::V_2025_11_25;
    peer.set_peer_info(info);
}

impl Service<RoleServer> for BridgeService {
    async fn handle_request(
        &self,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let ClientRequest::CustomRequest(request) = request else {
            return Err(wire_error(RpcError::new(
                ErrorCode::Internal,
                "The request arrived in an unexpected form.",
            )));
        };
        let Some(caller) = context.extensions.get::<Caller>().cloned() else {
            return Err(wire_error(RpcError::new(
                ErrorCode::Internal,
                "The request arrived without a caller.",
            )));
        };
        let params = request.params.unwrap_or_else(|| json!({}));
        if request.method == "initialize" {
            let capabilities = params.get("capabilities").cloned();
            self.state
                .set_capabilities(capabilities.unwrap_or_default());
        }
        let stateless = caller.declared.is_some();
        let ended = context.ct.clone();
        let request_id = new_request_id();
        let span = self.span(&request_id, &request.method, &params, &caller);
        let call = self
            .dispatch(&request.method, params, caller, context, &request_id)
            .instrument(span);
        let outcome = tokio::select! {
            biased;
            outcome = call => outcome,
            () = async { ended.cancelled().await; tokio::time::sleep(LAST_WORDS).await } => Err(self.cut_short()),
        };
        outcome
            .and_then(|answer| {
                if ended.is_cancelled() && is_plain_failure(&answer) {
                    return Err(self.cut_short());
                }
                Ok(answer)
            })
            .map_err(|error| named(error, &request_id))
            .map(|mut result| {
                name_fault(&mut result, &request_id);
                if stateless {
                    complete(&mut result, &request.method, &self.bridge);
                }
                ServerResult::CustomResult(CustomResult::new(result))
            })
            .map_err(wire_error)
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if matches!(notification, ClientNotification::InitializedNotification(_)) {
            let telling = list_changes::tell(&self.bridge, context.peer);
            self.state.follow_lists(telling);
        }
        Ok(())
    }

    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::default())
    }
}

fn wire_error(error: RpcError) -> ErrorData {
    let data = (!error.data.is_empty()).then(|| Value::Object(error.data));
    ErrorData::new(WireCode(error.code.code()), error.message, data)
}
