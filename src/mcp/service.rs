//! One request in, one result out: the methods of the surface inside rmcp's session loop (Tool surface §2).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rmcp::model::{
    ClientNotification, ClientRequest, CustomResult, ErrorCode as WireCode, ErrorData,
    Implementation, InitializeRequestParams, ProgressNotificationParam, ProgressToken,
    ServerCapabilities, ServerConfig, ServerResult,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, RoleServer, Service};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::bridge::Bridge;
use super::protocol::initialize_result;
use crate::tools::context::ProgressSink;
use crate::tools::{CallContext, ErrorCode, Principal, Progress, RpcError, ToolSets};

/// Who sent a request, put into the message by the front that received it.
#[derive(Debug, Clone)]
pub struct Caller {
    pub principal: Principal,
    pub session_id: String,
    pub toolsets: ToolSets,
}

/// Progress reports that wait for the client; further ones are dropped.
const PROGRESS_QUEUE: usize = 32;

/// Completions per answer (a limit of the protocol).
const COMPLETION_LIMIT: usize = 100;

/// The bridge as an rmcp service.
#[derive(Clone)]
pub struct BridgeService {
    bridge: Arc<Bridge>,
}

impl BridgeService {
    /// Serves what `bridge` holds.
    pub fn new(bridge: Arc<Bridge>) -> Self {
        Self { bridge }
    }

    async fn dispatch(
        &self,
        method: &str,
        params: Value,
        caller: Caller,
        context: RequestContext<RoleServer>,
    ) -> Result<Value, RpcError> {
        let bridge = &self.bridge;
        if !bridge.switches.enabled.load(Ordering::Relaxed) {
            return Err(RpcError::new(
                ErrorCode::Internal,
                "The service is disabled: 'enabled' is false in its configuration.",
            ));
        }
        match method {
            "initialize" => {
                remember_client(&context.peer, &params);
                Ok(initialize_result(bridge, &params))
            }
            "ping" => Ok(json!({})),
            "tools/list" => Ok(bridge.tools.list(&caller.toolsets)),
            "tools/call" => self.call_tool(params, caller, context).await,
            "resources/list" => Ok(bridge.resources.list()),
            "resources/templates/list" => Ok(bridge.resources.list_templates()),
            "resources/read" => {
                let uri = text(&params, "uri")?;
                bridge
                    .resources
                    .read(&uri, &self.call_context(caller, &context))
                    .await
            }
            "prompts/list" => Ok(bridge.prompts.list()),
            "prompts/get" => {
                let name = text(&params, "name")?;
                bridge.prompts.get(&name, object(params, "arguments"))
            }
            "completion/complete" => {
                self.complete(&params, &self.call_context(caller, &context))
                    .await
            }
            _ => Err(RpcError::new(
                ErrorCode::MethodNotFound,
                format!("There is no method '{method}'."),
            )
            .with("method", method)),
        }
    }

    fn call_context(&self, caller: Caller, context: &RequestContext<RoleServer>) -> CallContext {
        let mut call = CallContext::new(caller.principal, self.bridge.facts());
        call.cancel = context.ct.clone();
        call.session_id = caller.session_id;
        call.toolsets = caller.toolsets;
        call
    }

    async fn call_tool(
        &self,
        params: Value,
        caller: Caller,
        context: RequestContext<RoleServer>,
    ) -> Result<Value, RpcError> {
        let name = text(&params, "name")?;
        let arguments = params.get("arguments").cloned().unwrap_or(Value::Null);
        let mut call = self.call_context(caller, &context);
        let Some(token) = context.meta.get_progress_token() else {
            return self.bridge.tools.call(&name, arguments, call).await;
        };
        let (sink, reports) = mpsc::channel(PROGRESS_QUEUE);
        call.progress = Progress::to(Arc::new(QueueSink(sink)));
        let forwarder = tokio::spawn(forward_progress(context.peer, token, reports));
        let answer = self.bridge.tools.call(&name, arguments, call).await;
        // The call's context is gone, so the queue ends; progress must not arrive after the answer.
        if let Err(error) = forwarder.await {
            tracing::warn!(%error, "progress of a call could not be forwarded");
        }
        answer
    }

    async fn complete(&self, params: &Value, context: &CallContext) -> Result<Value, RpcError> {
        let reference = params.get("ref").unwrap_or(&Value::Null);
        let argument = params.get("argument").unwrap_or(&Value::Null);
        let name = text(argument, "name")?;
        let typed = argument
            .get("value")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let mut values = match reference.get("type").and_then(Value::as_str) {
            Some("ref/prompt") => {
                self.bridge
                    .prompts
                    .complete(&text(reference, "name")?, &name, typed, context)
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
    peer.set_peer_info(InitializeRequestParams::new(
        capabilities.unwrap_or_default(),
        client.unwrap_or_else(|| Implementation::new("unknown", "")),
    ));
}

struct QueueSink(mpsc::Sender<(f64, Option<f64>, Option<String>)>);

impl ProgressSink for QueueSink {
    fn report(&self, done: f64, total: Option<f64>, message: Option<String>) {
        if self.0.try_send((done, total, message)).is_err() {
            tracing::debug!("a progress report was dropped: the client reads too slowly");
        }
    }
}

async fn forward_progress(
    peer: Peer<RoleServer>,
    token: ProgressToken,
    mut reports: mpsc::Receiver<(f64, Option<f64>, Option<String>)>,
) {
    while let Some((done, total, message)) = reports.recv().await {
        let mut report = ProgressNotificationParam::new(token.clone(), done);
        report.total = total;
        report.message = message;
        if let Err(error) = peer.notify_progress(report).await {
            tracing::debug!(%error, "a progress report did not reach the client");
        }
    }
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
        self.dispatch(&request.method, params, caller, context)
            .await
            .map(|result| ServerResult::CustomResult(CustomResult::new(result)))
            .map_err(wire_error)
    }

    async fn handle_notification(
        &self,
        _notification: ClientNotification,
        _context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
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
