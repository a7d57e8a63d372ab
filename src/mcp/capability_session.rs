//! What the capabilities answer to each message, in both eras of the protocol (CAMBER core §11.3 to §11.6).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::message::{Incoming, error_body};
use crate::camber::{
    CallerPolicy, CapabilityDefinition, CapabilityError, CapabilityResult, CapabilityService,
    FailureCode,
};
use crate::prompts::PromptRegistry;
use crate::prompts::camber::capability_prompts;
use crate::tools::capability::{error_meta, result_meta, texts};
use crate::tools::{CallContext, ErrorCode, RpcError};

const MODERN: &str = "2026-07-28";
const LEGACY: [&str; 2] = ["2025-11-25", "2025-06-18"];
const SUPPORTED: [&str; 3] = [MODERN, "2025-11-25", "2025-06-18"];

const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT_KEY: &str = "io.modelcontextprotocol/clientInfo";
const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// How long lists may be kept: they are frozen at the start.
const LIST_TTL_MS: u64 = 300_000;

/// Longest name of a caller in the log, in characters.
const LONGEST_CALLER: usize = 64;

const INSTRUCTIONS: &str = "Read-only analytics over one local store of building trends. Only the facilities that were \
    listed at the start can be read; research-only data are refused; nothing is ever changed. Quote the fact id, such as \
    [F1@points-1a2b3c], with every number. Always show lines that start with NOTICE to the user.";

/// Which rules a request follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Era {
    /// Every request tells its revision and the client's capabilities.
    Modern,
    /// After `initialize`.
    Legacy,
}

/// A call that was accepted.
pub struct ToolCall {
    pub id: Value,
    pub name: String,
    pub arguments: Value,
    /// Ends the call.
    pub cancel: CancellationToken,
    era: Era,
    unwanted: AtomicBool,
}

impl ToolCall {
    /// The client does not want the answer any longer.
    pub fn cancel_by_client(&self) {
        self.unwanted.store(true, Ordering::Relaxed);
        self.cancel.cancel();
    }

    /// Whether the client took its call back, so that it gets no answer.
    pub fn cancelled_by_client(&self) -> bool {
        self.unwanted.load(Ordering::Relaxed)
    }
}

/// What becomes of a message.
pub enum Handled {
    /// No answer is wanted.
    Nothing,
    Answer(Value),
    /// A call that takes its time.
    Call(ToolCall),
}

/// One client.
pub struct CapabilitySession {
    service: Arc<CapabilityService>,
    policy: CallerPolicy,
    prompts: PromptRegistry,
    /// The revision of `initialize`.
    agreed: Option<&'static str>,
    caller: String,
}

fn invalid(message: impl Into<String>) -> RpcError {
    RpcError::new(ErrorCode::InvalidParams, message)
}

impl CapabilitySession {
    /// A client that has not said anything yet.
    pub fn new(service: Arc<CapabilityService>, policy: CallerPolicy) -> Self {
        let prompts = capability_prompts(|name| service.registry().has(name));
        Self {
            service,
            policy,
            prompts: PromptRegistry::default().with_all(prompts),
            agreed: None,
            caller: "mcp".to_owned(),
        }
    }

    /// The policy of this client's calls.
    pub fn caller(&self) -> CallerPolicy {
        let mut policy = self.policy.clone();
        policy.caller.clone_from(&self.caller);
        policy
    }

    /// Handles one message.
    pub async fn handle(&mut self, message: Incoming) -> Handled {
        let Incoming::Request { id, method, params } = message else {
            return Handled::Nothing;
        };
        let era = match self.era(&method, &params) {
            Ok(Some(era)) => era,
            // A ping needs no era.
            Ok(None) => return Handled::Answer(json!({"jsonrpc": "2.0", "id": id, "result": {}})),
            Err(error) => return Handled::Answer(error_body(id, &error)),
        };
        if method == "tools/call" {
            return match self.accept(id.clone(), &params, era) {
                Ok(call) => Handled::Call(call),
                Err(error) => Handled::Answer(error_body(id, &error)),
            };
        }
        Handled::Answer(match self.result(&method, params, era).await {
            Ok(result) => answer(&id, result, &method, era),
            Err(error) => error_body(id, &error),
        })
    }

    /// The era of a request; none for a ping outside of both.
    fn era(&mut self, method: &str, params: &Value) -> Result<Option<Era>, RpcError> {
        let meta = params.get("_meta").and_then(Value::as_object);
        let Some(version) = meta.and_then(|meta| meta.get(VERSION_KEY)) else {
            return match method {
                "initialize" => Ok(Some(Era::Legacy)),
                _ if self.agreed.is_some() => Ok(Some(Era::Legacy)),
                "ping" => Ok(None),
                _ => Err(invalid(format!(
                    "Send initialize first, or _meta[\"{VERSION_KEY}\"] with every request."
                ))),
            };
        };
        let version = version
            .as_str()
            .ok_or_else(|| invalid("The protocol version in _meta must be a string."))?;
        if LEGACY.contains(&version) {
            return match self.agreed.is_some() || method == "initialize" {
                true => Ok(Some(Era::Legacy)),
                false => Err(invalid(format!(
                    "The revision {version} needs initialize first."
                ))),
            };
        }
        if version != MODERN {
            return Err(RpcError::new(
                ErrorCode::UnsupportedRevision,
                "The protocol revision is not served.",
            )
            .with("supported", json!(SUPPORTED))
            .with("requested", version));
        }
        let declared = meta.and_then(|meta| meta.get(CAPABILITIES_KEY));
        if !declared.is_some_and(Value::is_object) {
            return Err(invalid(format!(
                "_meta[\"{CAPABILITIES_KEY}\"] must be an object."
            )));
        }
        self.note_client(meta.and_then(|meta| meta.get(CLIENT_KEY)));
        Ok(Some(Era::Modern))
    }

    fn note_client(&mut self, info: Option<&Value>) {
        let name = info
            .and_then(|info| info.get("name"))
            .and_then(Value::as_str)
            .unwrap_or_default();
        let name: String = name
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ' '))
            .take(LONGEST_CALLER)
            .collect();
        let name = name.trim();
        self.caller = match name.is_empty() {
            true => "mcp".to_owned(),
            false => format!("mcp:{name}"),
        };
    }

    fn accept(&self, id: Value, params: &Value, era: Era) -> Result<ToolCall, RpcError> {
        let name = params
            .get("name")
            .and_then(Value::as_str)
            .ok_or_else(|| invalid("'name' must be the name of a tool."))?;
        if !self.service.registry().has(name) {
            return Err(
                invalid("There is no such tool; tools/list names those that exist.")
                    .with("name", name),
            );
        }
        let arguments = match params.get("arguments") {
            None | Some(Value::Null) => Value::Null,
            Some(arguments @ Value::Object(_)) => arguments.clone(),
            Some(_) => return Err(invalid("'arguments' must be an object.")),
        };
        Ok(ToolCall {
            id,
            name: name.to_owned(),
            arguments,
            cancel: CancellationToken::new(),
            era,
            unwanted: AtomicBool::new(false),
        })
    }

    async fn result(&mut self, method: &str, params: Value, era: Era) -> Result<Value, RpcError> {
        match (method, era) {
            ("initialize", Era::Legacy) => self.initialize(&params),
            ("ping", Era::Legacy) => Ok(json!({})),
            ("server/discover", Era::Modern) => Ok(json!({
                "supportedVersions": SUPPORTED,
                "capabilities": {"tools": {}, "prompts": {}},
                "instructions": INSTRUCTIONS,
            })),
            ("tools/list", _) => {
                refuse_cursor(&params)?;
                let tools: Vec<Value> = self.service.definitions().map(definition).collect();
                Ok(json!({ "tools": tools }))
            }
            ("prompts/list", _) => {
                refuse_cursor(&params)?;
                Ok(self.prompts.list())
            }
            ("prompts/get", _) => self.prompt(&params).await,
            _ => Err(
                RpcError::new(ErrorCode::MethodNotFound, "There is no such method.")
                    .with("method", method),
            ),
        }
    }

    fn initialize(&mut self, params: &Value) -> Result<Value, RpcError> {
        let requested = match params.get("protocolVersion") {
            None => None,
            Some(Value::String(version)) => Some(version.as_str()),
            Some(_) => return Err(invalid("'protocolVersion' must be a string.")),
        };
        let agreed = LEGACY
            .into_iter()
            .find(|version| Some(*version) == requested)
            .unwrap_or("2025-11-25");
        self.agreed = Some(agreed);
        self.note_client(params.get("clientInfo"));
        Ok(json!({
            "protocolVersion": agreed,
            "capabilities": {"tools": {}, "prompts": {}},
            "serverInfo": server_info(),
            "instructions": INSTRUCTIONS,
        }))
    }

    async fn prompt(&self, params: &Value) -> Result<Value, RpcError> {
        let name = params
            .get("name")
            .and_then(Value::as_str)
            .ok_or_else(|| invalid("'name' must be the name of a prompt."))?;
        let arguments = match params.get("arguments") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(arguments)) => arguments.clone(),
            Some(_) => return Err(invalid("'arguments' must be an object.")),
        };
        let known = self
            .prompts
            .definitions()
            .find(|definition| definition.name == name);
        for (key, value) in &arguments {
            let exists =
                known.is_none_or(|prompt| prompt.arguments.iter().any(|own| own.name == key));
            if !exists {
                return Err(
                    invalid("The prompt has no such argument.").with("argument", key.as_str())
                );
            }
            if !value.is_string() {
                return Err(
                    invalid("Arguments of prompts are strings.").with("argument", key.as_str())
                );
            }
        }
        self.prompts
            .get(name, arguments, &CallContext::service())
            .await
    }
}

fn refuse_cursor(params: &Value) -> Result<(), RpcError> {
    match params.get("cursor") {
        None | Some(Value::Null) => Ok(()),
        Some(_) => {
            Err(invalid("Lists have one page: there is no cursor.").with("argument", "cursor"))
        }
    }
}

fn server_info() -> Value {
    json!({"name": "niagara-bridge-camber", "title": "niagara-bridge capabilities", "version": env!("CARGO_PKG_VERSION")})
}

fn definition(capability: &CapabilityDefinition) -> Value {
    json!({
        "name": capability.name,
        "title": capability.title,
        "description": capability.description,
        "inputSchema": capability.input_schema,
        "outputSchema": capability.output_schema,
        "annotations": {
            "title": capability.title,
            "readOnlyHint": true,
            "destructiveHint": false,
            "idempotentHint": true,
            "openWorldHint": false,
        },
    })
}

/// A result as it goes out: the modern era wants to know more of it.
fn answer(id: &Value, mut result: Value, method: &str, era: Era) -> Value {
    if era == Era::Modern
        && let Value::Object(members) = &mut result
    {
        members.insert("resultType".to_owned(), json!("complete"));
        let meta = members.entry("_meta").or_insert_with(|| json!({}));
        meta[SERVER_KEY] = server_info();
        if matches!(method, "server/discover" | "tools/list" | "prompts/list") {
            members.insert("ttlMs".to_owned(), json!(LIST_TTL_MS));
            members.insert("cacheScope".to_owned(), json!("private"));
        }
    }
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// The answer to a call.
pub fn call_answer(call: &ToolCall, outcome: Result<CapabilityResult, CapabilityError>) -> Value {
    let result = match outcome {
        Ok(result) => {
            let content = texts(&result).map(|text| json!({"type": "text", "text": text}));
            let meta = result_meta(&result);
            json!({"content": content, "structuredContent": result.data, "isError": false, "_meta": meta})
        }
        Err(error)
            if matches!(
                error.code,
                FailureCode::Internal | FailureCode::UnknownCapability
            ) =>
        {
            let error = RpcError::new(ErrorCode::Internal, error.to_string());
            return error_body(call.id.clone(), &error);
        }
        Err(error) => json!({
            "content": [{"type": "text", "text": error.to_string()}],
            "isError": true,
            "_meta": error_meta(&error),
        }),
    };
    answer(&call.id, result, "tools/call", call.era)
}
