//! Calls that talk: log messages by level and questions to the person, in sessions and in requests that stand alone.

mod support;

use std::sync::Arc;

use futures::future::BoxFuture;
use niagara_bridge::config::Secret;
use niagara_bridge::mcp::auth::Authenticator;
use niagara_bridge::mcp::bridge::Bridge;
use niagara_bridge::mcp::http::HttpServer;
use niagara_bridge::prompts::PromptRegistry;
use niagara_bridge::resources::ResourceRegistry;
use niagara_bridge::tools::{
    Annotations, Arguments, CallContext, Category, LogLevel, Question, Registry, Reply, Tool,
    ToolDefinition, ToolOutput, ToolResult,
};
use reqwest::StatusCode;
use serde_json::{Value, json};
use support::{Client, TOKEN, events, healthy, json_body, request, unhurried};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Changes something after the person agreed; not a reading tool, so it runs on a task of its own.
struct Confirmed;

impl Tool for Confirmed {
    fn definition(&self) -> ToolDefinition {
        let about = "Asks before it acts.";
        ToolDefinition::new("confirmed", Category::Write, Annotations::MUTATION, about)
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        _arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            context.client.log(LogLevel::Debug, "about to ask");
            context
                .client
                .log(LogLevel::Warning, "this changes the plant");
            let planned = context.client.state()?;
            let schema = json!({ "type": "object", "properties": { "ok": { "type": "boolean" } } });
            let question = Question::form("confirm", "Open the valve?", schema);
            let plan = json!({ "valve": 40 });
            match context.client.ask(&[question], Some(&plan)).await? {
                Reply::Answers(answers) => {
                    let agreed = answers["confirm"]["content"]["ok"] == true;
                    Ok(ToolOutput::json(
                        json!({ "agreed": agreed, "planned": planned }),
                    ))
                }
                Reply::Later(output) => Ok(output),
            }
        })
    }
}

async fn start() -> (HttpServer, Client) {
    let tools = Registry::builder().tool(Confirmed).build().expect("tools");
    let resources = ResourceRegistry::default();
    let bridge = Arc::new(Bridge::new(tools, resources, PromptRegistry::default()));
    let server = HttpServer::start(
        bridge,
        Authenticator::new(Some(Secret::new(TOKEN)), None),
        healthy(),
        unhurried(),
        TcpListener::bind("127.0.0.1:0").await.expect("a free port"),
        CancellationToken::new(),
    )
    .await
    .expect("start");
    let client = Client::new(server.endpoint(), TOKEN);
    (server, client)
}

async fn open(client: &mut Client, capabilities: Value) {
    let asked = json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities });
    let answer = client.post(request("initialize", asked)).await;
    let session = answer.headers()["mcp-session-id"].to_str().expect("text");
    client.session = Some(session.to_owned());
}

/// Reads the stream of a call until a message satisfies a condition.
async fn until(stream: &mut reqwest::Response, done: impl Fn(&Value) -> bool) -> Vec<Value> {
    let mut text = String::new();
    loop {
        let piece = stream
            .chunk()
            .await
            .expect("read")
            .expect("the stream goes on");
        text.push_str(std::str::from_utf8(&piece).expect("UTF-8"));
        let complete = text
            .rsplit_once("\n\n")
            .map_or("", |(complete, _)| complete);
        let messages = events(complete);
        if messages.last().is_some_and(&done) {
            return messages;
        }
    }
}

#[tokio::test]
async fn the_person_is_asked_while_the_call_runs() {
    let (server, mut client) = start().await;
    client.accept = Some("application/json, text/event-stream");
    open(&mut client, json!({ "elicitation": {} })).await;
    let call = request("tools/call", json!({ "name": "confirmed" }));
    let mut stream = client.post(call).await;
    let messages = until(&mut stream, |message| {
        message["method"] == "elicitation/create"
    })
    .await;
    let logged: Vec<&Value> = messages
        .iter()
        .filter(|message| message["method"] == "notifications/message")
        .map(|message| &message["params"])
        .collect();
    assert_eq!(
        logged.len(),
        1,
        "debug messages come only to those who ask for them"
    );
    assert_eq!(logged[0]["level"], "warning");
    assert_eq!(logged[0]["data"], "this changes the plant");
    let question = messages.last().expect("a question");
    assert_eq!(question["params"]["message"], "Open the valve?");

    let answer = json!({
        "jsonrpc": "2.0", "id": question["id"],
        "result": { "action": "accept", "content": { "ok": true } },
    });
    assert_eq!(client.post(answer).await.status(), StatusCode::ACCEPTED);
    let rest = until(&mut stream, |message| message["id"] == 7).await;
    let result = &rest.last().expect("an answer")["result"];
    assert_eq!(
        result["structuredContent"],
        json!({ "agreed": true, "planned": null })
    );
    server.stop().await;
}

#[tokio::test]
async fn the_log_level_is_the_clients_choice() {
    let (server, mut client) = start().await;
    client.accept = Some("application/json, text/event-stream");
    open(&mut client, json!({})).await;
    for (level, expected) in [("debug", 2), ("error", 0)] {
        let set = client
            .ask("logging/setLevel", json!({ "level": level }))
            .await;
        assert_eq!(set["result"], json!({}));
        let call = request("tools/call", json!({ "name": "confirmed" }));
        let text = client.post(call).await.text().await.expect("body");
        assert_eq!(
            text.matches("notifications/message").count(),
            expected,
            "{level}"
        );
        assert!(
            text.contains("-32021"),
            "the client cannot be asked: {text}"
        );
    }
    let refused = client
        .ask("logging/setLevel", json!({ "level": "loud" }))
        .await;
    assert_eq!(refused["error"]["data"]["argument"], "level");
    server.stop().await;
}

#[tokio::test]
async fn without_a_session_the_client_comes_back_with_the_answer() {
    let (server, client) = start().await;
    let send = async |extra: Value| {
        let mut params = json!({
            "name": "confirmed",
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
            },
        });
        for (key, value) in extra.as_object().expect("members") {
            params[key] = value.clone();
        }
        let sent = client
            .headers(client.http.post(&client.endpoint))
            .header("MCP-Protocol-Version", "2026-07-28")
            .header("Mcp-Method", "tools/call")
            .header("Mcp-Name", "confirmed")
            .body(request("tools/call", params).to_string());
        json_body(sent.send().await.expect("answer")).await
    };
    let first = send(json!({})).await;
    let first = &first["result"];
    assert_eq!(first["resultType"], "input_required");
    assert_eq!(
        first["inputRequests"]["confirm"]["params"]["message"],
        "Open the valve?"
    );
    let state = first["requestState"].as_str().expect("a state").to_owned();
    let answers = json!({ "confirm": { "action": "accept", "content": { "ok": true } } });
    let second = send(json!({ "inputResponses": answers, "requestState": state })).await;
    assert_eq!(
        second["result"]["structuredContent"],
        json!({ "agreed": true, "planned": { "valve": 40 } })
    );
    let changed = state.replacen(|sign: char| sign.is_ascii_lowercase(), "X", 1);
    let third = send(json!({ "inputResponses": answers, "requestState": changed })).await;
    assert_eq!(third["error"]["code"], -32602);
    assert_eq!(third["error"]["data"]["argument"], "requestState");
    server.stop().await;
}
