//! A bridge on a local port with a few plain tools, and a script client that speaks bare HTTP.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use niagara_bridge::config::Secret;
use niagara_bridge::knowledge::KnowledgeUnreadable;
use niagara_bridge::mcp::auth::{Authenticator, UserTokens};
use niagara_bridge::mcp::bridge::Bridge;
use niagara_bridge::mcp::http::checks::InboundLimits;
use niagara_bridge::mcp::http::health::{
    Health, KnowledgeHealth, KnowledgeProbe, StationHealth, StationProbe,
};
use niagara_bridge::mcp::http::{HttpOptions, HttpServer};
use niagara_bridge::prompts::{
    Prompt, PromptArgument, PromptArguments, PromptDefinition, PromptRegistry,
};
use niagara_bridge::resources::ResourceRegistry;
use niagara_bridge::resources::overview::{Overview, OverviewResource, OverviewSource};
use niagara_bridge::tools::echo::Echo;
use niagara_bridge::tools::schema::{integer_between, object};
use niagara_bridge::tools::{
    Annotations, Arguments, CallContext, Category, Registry, Tool, ToolDefinition, ToolError,
    ToolOutput, ToolResult,
};
use reqwest::{RequestBuilder, Response, StatusCode};
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

pub const TOKEN: &str = "test-service-token-0123456789abcdef";
pub const OTHER_TOKEN: &str = "the token of an operator";

/// Counts to `steps`, reporting each step.
struct Count;

impl Tool for Count {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "count",
            Category::General,
            Annotations::READ,
            "Counts and reports each step.",
        )
        .input(object().optional("steps", integer_between("How far.", 1, 10, 3)))
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let steps = arguments.integer("steps", 3);
            for step in 1..=steps {
                context.progress.report(
                    step as f64,
                    Some(steps as f64),
                    Some(format!("step {step}")),
                );
            }
            Ok(ToolOutput::json(
                json!({ "steps": steps, "caller": context.principal.to_string() }),
            ))
        })
    }
}

/// Runs until it is cancelled; tells the test when it has begun.
struct Wait(Arc<Notify>);

impl Tool for Wait {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "wait",
            Category::General,
            Annotations::READ,
            "Waits until it is cancelled.",
        )
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        _arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            self.0.notify_one();
            context.cancel.cancelled().await;
            Err(ToolError::internal("cancelled"))
        })
    }
}

/// A tool that acts as a station user.
struct Rename;

impl Tool for Rename {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "setSlot",
            Category::Write,
            Annotations::MUTATION,
            "Acts as a user.",
        )
        .for_users()
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        _arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            Ok(ToolOutput::text(
                context.principal.user().unwrap_or_default(),
            ))
        })
    }
}

struct Greeting;

impl Prompt for Greeting {
    fn definition(&self) -> PromptDefinition {
        PromptDefinition {
            name: "greeting".into(),
            title: None,
            description: "Greets somebody.".into(),
            arguments: vec![PromptArgument {
                name: "name",
                description: "Whom.",
                required: true,
            }],
        }
    }

    fn text(
        &self,
        _context: &CallContext,
        arguments: &PromptArguments,
    ) -> Result<String, ToolError> {
        Ok(format!(
            "Greet {}.",
            arguments.get("name").unwrap_or_default()
        ))
    }

    fn complete<'a>(
        &'a self,
        _: &'a CallContext,
        _: &'a str,
        typed: &'a str,
        _: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Vec<String>> {
        Box::pin(async move {
            (0..250)
                .map(|number| format!("guest-{number}"))
                .filter(|name| name.starts_with(typed))
                .collect()
        })
    }
}

struct Site;

impl OverviewSource for Site {
    fn overview(&self) -> Result<Overview, KnowledgeUnreadable> {
        Ok(Overview {
            schema_version: 1,
            space_count: 2,
            ..Overview::default()
        })
    }
}

struct Up;

impl StationProbe for Up {
    fn check(&self) -> BoxFuture<'_, StationHealth> {
        Box::pin(std::future::ready(StationHealth {
            reachable: true,
            usable: true,
            alarm: true,
            history: true,
        }))
    }
}

impl KnowledgeProbe for Up {
    fn check(&self) -> KnowledgeHealth {
        KnowledgeHealth {
            size: None,
            readable: true,
        }
    }
}

struct Operator;

impl UserTokens for Operator {
    fn resolve<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move { (token == OTHER_TOKEN).then(|| "operator".to_owned()) })
    }
}

/// What is served in these tests.
pub fn bridge() -> (Arc<Bridge>, Arc<Notify>) {
    let waiting = Arc::new(Notify::new());
    let tools = Registry::builder()
        .tool(Echo)
        .tool(Count)
        .tool(Wait(waiting.clone()))
        .tool(Rename)
        .build();
    let resources = ResourceRegistry::default().with(OverviewResource::new(Arc::new(Site)));
    let bridge = Bridge::new(
        tools.expect("registry"),
        resources,
        PromptRegistry::default().with(Greeting),
    );
    (Arc::new(bridge), waiting)
}

/// A station and a knowledge file that are well.
pub fn healthy() -> Health {
    Health::new(Arc::new(Up), Arc::new(Up), [])
}

/// Options without limits of rate: a quick machine answers a test's calls faster than a client's share allows.
pub fn unhurried() -> HttpOptions {
    HttpOptions {
        limits: InboundLimits {
            per_principal: 0,
            per_address: 0,
        },
        ..HttpOptions::default()
    }
}

/// A running bridge.
pub struct Served {
    pub server: HttpServer,
    pub bridge: Arc<Bridge>,
    pub waiting: Arc<Notify>,
}

impl Served {
    pub async fn start() -> Self {
        Self::with(unhurried()).await
    }

    pub async fn with(options: HttpOptions) -> Self {
        let (bridge, waiting) = bridge();
        let authenticator = Authenticator::new(Some(Secret::new(TOKEN)), Some(Arc::new(Operator)));
        let health = healthy();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let stop = CancellationToken::new();
        let server = HttpServer::start(
            bridge.clone(),
            authenticator,
            health,
            options,
            listener,
            stop,
        )
        .await
        .expect("start");
        Self {
            server,
            bridge,
            waiting,
        }
    }

    pub fn client(&self) -> Client {
        Client::new(self.server.endpoint(), TOKEN)
    }
}

/// A client that sends what it is told to.
#[derive(Clone)]
pub struct Client {
    pub http: reqwest::Client,
    pub endpoint: String,
    pub token: String,
    pub session: Option<String>,
    pub accept: Option<&'static str>,
}

impl Client {
    pub fn new(endpoint: String, token: &str) -> Self {
        // A second test in this process finds the provider installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .no_proxy()
            .timeout(Duration::from_secs(20))
            .build()
            .expect("client");
        Self {
            http,
            endpoint,
            token: token.to_owned(),
            session: None,
            accept: None,
        }
    }

    pub fn headers(&self, request: RequestBuilder) -> RequestBuilder {
        let mut request = request.bearer_auth(&self.token);
        if let Some(session) = &self.session {
            request = request.header("Mcp-Session-Id", session);
        }
        if let Some(accept) = self.accept {
            request = request.header("Accept", accept);
        }
        request
    }

    pub async fn post_text(&self, body: impl Into<String>) -> Response {
        self.headers(self.http.post(&self.endpoint))
            .body(body.into())
            .send()
            .await
            .expect("answer")
    }

    pub async fn post(&self, body: Value) -> Response {
        self.post_text(body.to_string()).await
    }

    /// Opens a session and keeps its id.
    pub async fn initialize(&mut self) -> Value {
        let answer = self
            .post(request(
                "initialize",
                json!({"protocolVersion": "2025-06-18"}),
            ))
            .await;
        assert_eq!(answer.status(), StatusCode::OK);
        self.session = Some(
            answer.headers()["mcp-session-id"]
                .to_str()
                .expect("text")
                .to_owned(),
        );
        json_body(answer).await["result"].clone()
    }

    /// Sends a request and returns the whole answer.
    pub async fn ask(&self, method: &str, params: Value) -> Value {
        let answer = self.post(request(method, params)).await;
        assert_eq!(answer.status(), StatusCode::OK);
        json_body(answer).await
    }

    /// Calls a tool and returns its result.
    pub async fn call(&self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments}))
            .await["result"]
            .clone()
    }
}

pub fn request(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
}

pub async fn json_body(answer: Response) -> Value {
    let content_type = answer.headers()["content-type"]
        .to_str()
        .expect("text")
        .to_owned();
    assert_eq!(content_type, "application/json; charset=utf-8");
    let text = answer.text().await.expect("body");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Messages of an event stream.
pub fn events(text: &str) -> Vec<Value> {
    text.split("\n\n")
        .filter_map(|event| event.lines().find_map(|line| line.strip_prefix("data: ")))
        .map(|data| serde_json::from_str(data).expect("an event is JSON"))
        .collect()
}

pub fn members(value: &Value) -> &Map<String, Value> {
    value.as_object().expect("an object")
}
