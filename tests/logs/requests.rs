//! Log lines name the request that they belong to, and faults name it to the client.

use std::sync::Arc;

use futures::future::BoxFuture;
use niagara_bridge::cli::logging;
use niagara_bridge::config::{LogFormat, Secret};
use niagara_bridge::mcp::auth::{Authenticator, UserTokens};
use niagara_bridge::mcp::bridge::Bridge;
use niagara_bridge::mcp::http::HttpServer;
use niagara_bridge::prompts::PromptRegistry;
use niagara_bridge::resources::ResourceRegistry;
use niagara_bridge::tools::schema::{self, object};
use niagara_bridge::tools::{
    Annotations, Arguments, CallContext, Category, Registry, Tool, ToolDefinition, ToolError,
    ToolOutput, ToolResult, echo::Echo,
};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::log::Log;
use super::support::{Client, OTHER_TOKEN, TOKEN, healthy, unhurried};

/// Fails as it is told to.
struct Fragile;

impl Tool for Fragile {
    fn definition(&self) -> ToolDefinition {
        // Not a reading tool, so it runs on a task of its own.
        let about = "Fails as it is told to.";
        ToolDefinition::new("fragile", Category::Write, Annotations::MUTATION, about)
            .input(object().required("how", schema::string("The way to fail.")))
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            tracing::warn!(seen = %context.request_id, "about to fail");
            match arguments.optional_string("how") {
                Some("panic") => panic!("the bearer was {TOKEN}"),
                Some("doubt") => {
                    let error = ToolError::station("station-timeout", "No answer.");
                    Err(error.with("inDoubt", true))
                }
                Some("refusal") => Err(ToolError::invalid_params("Not so.")),
                _ => Ok(ToolOutput::text("")),
            }
        })
    }
}

struct Operator;

impl UserTokens for Operator {
    fn resolve<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move { (token == OTHER_TOKEN).then(|| "operator".to_owned()) })
    }
}

/// The lines with this message, with what they say of their request.
fn lines_with(log: &Log, message: &str) -> Vec<Value> {
    let text = log.text();
    let lines = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a line is JSON"));
    lines
        .filter(|line| {
            let found = line["fields"]["message"].as_str();
            found.is_some_and(|found| found.starts_with(message))
        })
        .collect()
}

async fn serve() -> HttpServer {
    let tools = Registry::builder().tool(Echo).tool(Fragile).build();
    let resources = ResourceRegistry::default();
    let bridge = Bridge::new(tools.expect("tools"), resources, PromptRegistry::default());
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let server = HttpServer::start(
        Arc::new(bridge),
        Authenticator::new(Some(Secret::new(TOKEN)), Some(Arc::new(Operator))),
        healthy(),
        unhurried(),
        listener,
        CancellationToken::new(),
    );
    server.await.expect("start")
}

#[tokio::test]
async fn an_operator_finds_the_log_lines_of_a_failed_call() {
    let log = Log::default();
    let (lines, _) = log.lines(LogFormat::Json, false, "debug");
    let _logging = tracing::dispatcher::set_default(&lines);
    logging::report_panics();

    let server = serve().await;
    let mut client = Client::new(server.endpoint(), OTHER_TOKEN);
    client.initialize().await;
    let broken = client.call("fragile", json!({ "how": "panic" })).await;
    let doubt = client.call("fragile", json!({ "how": "doubt" })).await;
    let refusal = client.call("fragile", json!({ "how": "refusal" })).await;
    let mut other = Client::new(server.endpoint(), TOKEN);
    other.initialize().await;
    other.call("echo", json!({ "msg": "hello" })).await;
    let unknown = other.ask("tools/call", json!({ "name": "made\nup" })).await;
    server.stop().await;

    assert_eq!(broken["errorCode"], -32603, "{broken}");
    let id = broken["errorData"]["requestId"].as_str().expect("an id");
    assert_eq!(id.len(), 16, "{id}");
    let warnings = lines_with(&log, "about to fail");
    assert_eq!(warnings.len(), 3);
    let span = &warnings[0]["span"];
    assert_eq!(span["name"], "request");
    assert_eq!(span["id"], id);
    assert_eq!(warnings[0]["fields"]["seen"], id);
    assert_eq!(span["principal"], "operator");
    assert_eq!(span["tool"], "fragile");
    assert_eq!(warnings[1]["span"]["id"], doubt["errorData"]["requestId"]);
    assert_eq!(
        refusal["errorData"]["requestId"],
        Value::Null,
        "what the client did wrong is not in the log"
    );

    let panics = lines_with(&log, "a fault of the program");
    assert_eq!(panics.len(), 1, "{}", log.text());
    let message = &panics[0]["fields"]["message"];
    assert_eq!(message, "a fault of the program: the bearer was <redacted>");
    assert_eq!(panics[0]["span"]["id"], id);

    let calls = lines_with(&log, "call");
    let of = |line: &Value, key: &str| line["span"][key].as_str().map(str::to_owned);
    let ids: std::collections::BTreeSet<_> = calls.iter().map(|line| of(line, "id")).collect();
    assert_eq!(ids.len(), 5, "every request has an id of its own");
    assert_eq!(of(&calls[0], "session"), of(&calls[1], "session"));
    assert_ne!(of(&calls[0], "session"), of(&calls[3], "session"));
    assert_eq!(calls[3]["span"]["principal"], "service");
    assert_eq!(unknown["error"]["code"], -32002);
    assert_eq!(calls[4]["span"]["tool"], Value::Null);
    assert_eq!(calls[4]["fields"]["tool"], "unknown");

    let text = log.text();
    for secret in [TOKEN, OTHER_TOKEN] {
        assert!(!text.contains(secret), "{text}");
    }
    for session in [client.session, other.session] {
        assert!(!text.contains(&session.expect("a session")), "{text}");
    }
}
