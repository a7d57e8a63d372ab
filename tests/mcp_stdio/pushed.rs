//! What the bridge says by itself reaches a client on standard input: changes, lists, questions; also after a cut of
//! the connection and after a restart of the bridge.

use std::net::SocketAddr;
use std::sync::Arc;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use niagara_bridge::config::Secret;
use niagara_bridge::mcp::auth::Authenticator;
use niagara_bridge::mcp::bridge::Bridge;
use niagara_bridge::mcp::http::HttpServer;
use niagara_bridge::prompts::PromptRegistry;
use niagara_bridge::resources::{
    Address, Resource, ResourceDefinition, ResourceError, ResourceRegistry,
};
use niagara_bridge::tools::echo::Echo;
use niagara_bridge::tools::{
    Annotations, Arguments, CallContext, Category, LogLevel, Question, Registry, Reply, Tool,
    ToolDefinition, ToolOutput, ToolResult,
};
use serde_json::{Value, json};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::support::{TOKEN, healthy, request, unhurried};
use super::talk::Talk;

const LEVEL: &str = "niagara://level";
const UPDATED: &str = "notifications/resources/updated";

/// The level of a tank.
struct Level(Arc<watch::Sender<i64>>);

impl Resource for Level {
    fn definition(&self) -> ResourceDefinition {
        ResourceDefinition {
            address: Address::Fixed(LEVEL.into()),
            other_prefixes: Vec::new(),
            name: "level".into(),
            description: "The level of a tank.".into(),
            mime_type: "application/json",
        }
    }

    fn read<'a>(
        &'a self,
        _: &'a CallContext,
        _: &'a str,
    ) -> BoxFuture<'a, Result<String, ResourceError>> {
        Box::pin(async move { Ok(self.0.borrow().to_string()) })
    }

    fn watch(
        &self,
        _: &CallContext,
        _: &str,
    ) -> Option<Result<BoxStream<'static, Value>, ResourceError>> {
        let levels = futures::stream::unfold(self.0.subscribe(), |mut levels| async move {
            levels.changed().await.ok()?;
            let level = *levels.borrow_and_update();
            Some((json!({ "level": level }), levels))
        });
        Some(Ok(levels.boxed()))
    }
}

/// Asks before it acts.
struct Drain;

impl Tool for Drain {
    fn definition(&self) -> ToolDefinition {
        let about = "Drains the tank.";
        ToolDefinition::new("drain", Category::Write, Annotations::MUTATION, about)
    }

    fn run<'a>(&'a self, context: &'a CallContext, _: Arguments) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            context.client.log(LogLevel::Warning, "the tank is full");
            context.progress.report(1.0, Some(2.0), None);
            let schema = json!({ "type": "object", "properties": { "ok": { "type": "boolean" } } });
            let question = Question::form("confirm", "Drain the tank?", schema);
            match context.client.ask(&[question], None).await? {
                Reply::Answers(answers) => {
                    let agreed = answers["confirm"]["content"]["ok"] == true;
                    Ok(ToolOutput::json(json!({ "agreed": agreed })))
                }
                Reply::Later(output) => Ok(output),
            }
        })
    }
}

/// A bridge over one tank.
struct Tank {
    bridge: Arc<Bridge>,
    level: Arc<watch::Sender<i64>>,
}

impl Tank {
    fn new() -> Self {
        let level = Arc::new(watch::Sender::new(0));
        let tools = Registry::builder().tool(Echo).tool(Drain).build();
        let resources = ResourceRegistry::default().with(Level(level.clone()));
        let bridge = Bridge::new(tools.expect("tools"), resources, PromptRegistry::default());
        let bridge = Arc::new(bridge);
        Self { bridge, level }
    }

    async fn serve(&self) -> HttpServer {
        let server = HttpServer::start(
            self.bridge.clone(),
            Authenticator::new(Some(Secret::new(TOKEN)), None),
            healthy(),
            unhurried(),
            TcpListener::bind("127.0.0.1:0").await.expect("a free port"),
            CancellationToken::new(),
        );
        server.await.expect("start")
    }
}

/// The network between relay and bridge, which can be cut, and lead to another bridge.
struct Network {
    address: SocketAddr,
    bridge: watch::Sender<SocketAddr>,
    _task: JoinHandle<()>,
}

impl Network {
    async fn to(server: &HttpServer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let bridge = watch::Sender::new(server.address());
        let way = bridge.clone();
        let task = tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                let mut cut = way.subscribe();
                let target = *cut.borrow_and_update();
                tokio::spawn(async move {
                    let Ok(mut far) = TcpStream::connect(target).await else {
                        return;
                    };
                    tokio::select! {
                        _ = copy_bidirectional(&mut near, &mut far) => {}
                        _ = cut.changed() => {}
                    }
                });
            }
        });
        Self {
            address,
            bridge,
            _task: task,
        }
    }

    /// Cuts all connections; new ones lead to that server.
    fn lead_to(&self, server: &HttpServer) {
        self.bridge.send_replace(server.address());
    }

    fn relay(&self) -> Talk {
        Talk::with(&format!("http://{}/niagaramcp/mcp", self.address), TOKEN)
    }
}

/// A client whose session is ready and subscribed to the level.
async fn subscribed(network: &Network, capabilities: Value) -> Talk {
    let mut talk = network.relay();
    let asked = json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities });
    talk.ask(request("initialize", asked)).await;
    talk.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    let subscribe = request("resources/subscribe", json!({ "uri": LEVEL }));
    assert_eq!(talk.ask(subscribe).await["result"], json!({}));
    talk
}

/// Hears messages until one satisfies the condition.
async fn hear(talk: &mut Talk, wanted: impl Fn(&Value) -> bool) -> Value {
    loop {
        let message = talk.hear().await;
        if wanted(&message) {
            return message;
        }
    }
}

/// Waits until the client knows the level: by a pushed state, or by reading when it is told to look.
async fn hear_level(talk: &mut Talk, level: i64) {
    loop {
        let told = hear(talk, |message| message["method"] == UPDATED).await;
        assert_eq!(told["params"]["uri"], LEVEL);
        let state = told["params"].pointer("/_meta/niagara-bridge~1state");
        let known = match state {
            Some(state) => state["level"].to_string(),
            None => {
                let read = request("resources/read", json!({ "uri": LEVEL }));
                let answer = hear_answer(talk, read).await;
                let text = answer["result"]["contents"][0]["text"].as_str();
                text.expect("text").to_owned()
            }
        };
        if known == level.to_string() {
            return;
        }
    }
}

#[tokio::test]
async fn changes_lists_and_questions_reach_a_client_behind_the_relay() {
    let tank = Tank::new();
    let server = tank.serve().await;
    let network = Network::to(&server).await;
    let mut talk = subscribed(&network, json!({ "elicitation": {} })).await;
    tank.level.send_replace(3);
    hear_level(&mut talk, 3).await;
    tank.bridge.tools_changed();
    hear(&mut talk, |message| {
        message["method"] == "notifications/tools/list_changed"
    })
    .await;

    let call = json!({ "name": "drain", "_meta": { "progressToken": "p" } });
    talk.say(&request("tools/call", call).to_string()).await;
    let mut said = Vec::new();
    let question = loop {
        let message = talk.hear().await;
        if message.get("id").is_some() {
            break message;
        }
        said.push(message["method"].clone());
    };
    said.retain(|method| {
        let name = method.as_str();
        name.is_some_and(|name| !name.ends_with("list_changed"))
    });
    assert_eq!(said, ["notifications/message", "notifications/progress"]);
    assert_eq!(question["method"], "elicitation/create");
    let agreed = json!({ "action": "accept", "content": { "ok": true } });
    let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": agreed });
    talk.say(&answer.to_string()).await;
    let result = hear(&mut talk, |message| message["id"] == 7).await;
    assert_eq!(result["result"]["structuredContent"]["agreed"], true);

    talk.end().await;
    tank.level.closed().await;
    server.stop().await;
}

#[tokio::test]
async fn a_cut_connection_is_opened_again_and_the_client_told_to_look() {
    let tank = Tank::new();
    let server = tank.serve().await;
    let network = Network::to(&server).await;
    let mut talk = subscribed(&network, json!({})).await;
    tank.level.send_replace(3);
    hear_level(&mut talk, 3).await;
    for level in [4, 5] {
        network.lead_to(&server);
        let look = hear(&mut talk, |message| message["method"] == UPDATED).await;
        assert_eq!(look["params"], json!({ "uri": LEVEL }));
        tank.level.send_replace(level);
        hear_level(&mut talk, level).await;
    }
    talk.end().await;
    tank.level.closed().await;
    server.stop().await;
}

#[tokio::test]
async fn a_restarted_bridge_is_told_what_the_client_had_asked_for() {
    let first = Tank::new();
    let server = first.serve().await;
    let network = Network::to(&server).await;
    let mut talk = subscribed(&network, json!({})).await;
    first.level.send_replace(3);
    hear_level(&mut talk, 3).await;

    let second = Tank::new();
    let next = second.serve().await;
    network.lead_to(&next);
    server.stop().await;
    // The client says nothing; the relay opens the session by itself.
    let look = hear(&mut talk, |message| message["method"] == UPDATED).await;
    assert_eq!(look["params"], json!({ "uri": LEVEL }));
    let lists = hear(&mut talk, |message| {
        message["method"] == "notifications/resources/list_changed"
    });
    lists.await;
    second.level.send_replace(8);
    hear_level(&mut talk, 8).await;
    let unsubscribe = request("resources/unsubscribe", json!({ "uri": LEVEL }));
    let answer = hear_answer(&mut talk, unsubscribe).await;
    assert_eq!(answer["result"], json!({}));
    second.level.closed().await;
    talk.end().await;
    next.stop().await;
}

async fn hear_answer(talk: &mut Talk, message: Value) -> Value {
    talk.say(&message.to_string()).await;
    hear(talk, |answer| answer["id"] == message["id"]).await
}

/// A request of revision 2026-07-28 to listen to the level and to the list of tools.
fn listen() -> Value {
    json!({
        "jsonrpc": "2.0", "id": "L", "method": "subscriptions/listen",
        "params": {
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            },
            "notifications": { "resourceSubscriptions": [LEVEL], "toolsListChanged": true },
        },
    })
}

fn cancel(id: &str) -> String {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
        .to_string()
}

#[tokio::test]
async fn a_listener_behind_the_relay_hears_on_after_a_cut_and_leaves_when_it_cancels() {
    let tank = Tank::new();
    let server = tank.serve().await;
    let network = Network::to(&server).await;
    let mut talk = network.relay();
    let told = talk.ask(listen()).await;
    assert_eq!(told["method"], "notifications/subscriptions/acknowledged");
    tank.level.send_replace(3);
    let update = talk.hear().await;
    let meta = &update["params"]["_meta"];
    assert_eq!(meta["niagara-bridge/state"]["level"], 3);
    assert_eq!(meta["io.modelcontextprotocol/subscriptionId"], "L");

    network.lead_to(&server);
    let mut looks = Vec::new();
    while looks.len() < 2 {
        looks.push(talk.hear().await["method"].clone());
    }
    assert_eq!(looks, ["notifications/tools/list_changed", UPDATED]);
    tank.level.send_replace(4);
    let update = talk.hear().await;
    let meta = &update["params"]["_meta"];
    assert_eq!(meta["niagara-bridge/state"]["level"], 4);

    talk.say(&cancel("L")).await;
    tank.level.closed().await;
    let mut again = listen();
    again["params"]["notifications"] = json!("all");
    let refused = talk.ask(again).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    // A listener does not hold up the end.
    talk.ask(listen()).await;
    talk.end().await;
    tank.level.closed().await;
    server.stop().await;
}

#[tokio::test]
async fn a_listener_on_standard_input_hears_changes_until_it_cancels_or_the_input_ends() {
    let tank = Tank::new();
    let mut talk = Talk::directly(tank.bridge.clone(), CancellationToken::new());
    let told = talk.ask(listen()).await;
    assert_eq!(told["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(
        told["params"]["notifications"]["resourceSubscriptions"],
        json!([LEVEL])
    );
    tank.level.send_replace(3);
    let update = talk.hear().await;
    let meta = &update["params"]["_meta"];
    assert_eq!(meta["niagara-bridge/state"]["level"], 3);
    tank.bridge.tools_changed();
    let told = talk.hear().await;
    assert_eq!(told["method"], "notifications/tools/list_changed");
    talk.say(&cancel("L")).await;
    tank.level.closed().await;

    talk.ask(listen()).await;
    let rest = talk.rest().await;
    assert_eq!(rest.len(), 1, "{rest:?}");
    assert_eq!(rest[0]["id"], "L", "whoever listened is told the end");
    tank.level.closed().await;
}
