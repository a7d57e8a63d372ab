//! A password and tokens that show nowhere: not in the log at its most talkative, the records, answers, errors, dumps,
//! or the text of a panic.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use mock_station::faults::{Fault, FaultKind};
use mock_station::model::accounts::{ADMIN, VIEWER};
use niagara_bridge::audit::{JOURNAL_NAME, LOG_NAME};
use niagara_bridge::cli::logging;
use niagara_bridge::clock::SystemClock;
use niagara_bridge::config::{LogFormat, Secret};
use niagara_bridge::identity::Identities;
use niagara_bridge::mcp::auth::Authenticator;
use niagara_bridge::mcp::bridge::Bridge;
use niagara_bridge::mcp::http::HttpServer;
use niagara_bridge::prompts::PromptRegistry;
use niagara_bridge::resources::ResourceRegistry;
use niagara_bridge::tools::{
    Annotations, Arguments, CallContext, Category, Registry, Tool, ToolDefinition, ToolResult,
    reading_tools, writing_tools,
};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::calls::{Call, call, tools};
use crate::office::Office;
use crate::place::{OUTSIDE, Place};
use crate::support::{Client, TOKEN, healthy, request, unhurried};

const PASSWORD: &str = "Sentinel-Password-71";
const USER_TOKEN: &str = "Sentinel-Token-of-the-admin-72";
const VIEWER_TOKEN: &str = "Sentinel-Token-of-the-viewer-73";
const UNKNOWN_TOKEN: &str = "Sentinel-Token-of-nobody-74";
const SLOT_VALUE: &str = "Sentinel-Slot-75";

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, piece: &[u8]) -> std::io::Result<usize> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn text(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).into_owned()
    }
}

/// Panics with what it should keep to itself.
struct Careless;

impl Tool for Careless {
    fn definition(&self) -> ToolDefinition {
        let about = "Panics with secrets.";
        ToolDefinition::new("careless", Category::Write, Annotations::MUTATION, about)
    }

    fn run<'a>(&'a self, _: &'a CallContext, _: Arguments) -> BoxFuture<'a, ToolResult> {
        Box::pin(async { panic!("{PASSWORD} {USER_TOKEN}") })
    }
}

/// Panics go to the log as in the program; those of other tests stay visible.
fn report_panics_too() {
    let visible = std::panic::take_hook();
    logging::report_panics();
    let logged = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        logged(panic);
        let payload = panic.payload();
        let text = payload
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| payload.downcast_ref::<&str>().copied())
            .unwrap_or_default();
        if !text.contains(USER_TOKEN) || text.contains(" tells ") {
            visible(panic);
        }
    }));
}

async fn serve(office: &Office) -> HttpServer {
    let identities = Identities::new(office.folder(), SystemClock::shared());
    for (user, token) in [(ADMIN.user, USER_TOKEN), (VIEWER.user, VIEWER_TOKEN)] {
        identities
            .grant(user, token, None, None, Duration::ZERO)
            .expect("bound");
    }
    let tools = Registry::builder()
        .acting_by(office.users.clone())
        .tools(reading_tools(
            office.users.clone(),
            office.knowledge.clone(),
            1000,
        ))
        .tools(writing_tools(&office.gate, &office.knowledge))
        .tool(Careless)
        .build()
        .expect("the registry");
    let bridge = Bridge::new(
        tools,
        ResourceRegistry::default(),
        PromptRegistry::default(),
    );
    HttpServer::start(
        Arc::new(bridge),
        Authenticator::new(Some(Secret::new(TOKEN)), Some(Arc::new(identities))),
        healthy(),
        unhurried(),
        TcpListener::bind("127.0.0.1:0").await.expect("a free port"),
        CancellationToken::new(),
    )
    .await
    .expect("start")
}

/// Calls a tool with its second step; all that was answered.
async fn use_tool(client: &Client, tool: &str, call: Call) -> String {
    let mut arguments = call.arguments;
    let mut told = String::new();
    if let Some(operations) = call.plan {
        let plan = client.call("planWrites", operations).await;
        arguments["planId"] = plan["structuredContent"]["planId"].clone();
        told += &plan.to_string();
    }
    let answer = client.call(tool, arguments.clone()).await;
    told += &answer.to_string();
    if let Some(token) = answer.pointer("/errorData/confirm") {
        arguments["confirm"] = token.clone();
        told += &client.call(tool, arguments).await.to_string();
    }
    told
}

fn secret_slot(place: &Place, value: Value) -> Call {
    Call {
        arguments: json!({"ord": place.path, "slotName": "smtpPassword", "value": value}),
        plan: None,
        operator_may: true,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_that_is_written_or_answered_tells_a_password_or_a_token() {
    let log = Log::default();
    let writer = log.clone();
    let (lines, _) = logging::lines(move || writer.clone(), false, LogFormat::Text, "trace");
    // Files are written on threads of their own, so the log is that of the whole process.
    tracing::dispatcher::set_global_default(lines).expect("the only log of these tests");
    report_panics_too();

    let office = Office::new().await;
    let station = &office.site.frozen.station;
    station
        .change_password(ADMIN.user, PASSWORD)
        .expect("changed");
    office.keep_password(ADMIN.user, PASSWORD);
    let server = serve(&office).await;
    let mut admin = Client::new(server.endpoint(), USER_TOKEN);
    admin.initialize().await;
    let mut viewer = Client::new(server.endpoint(), VIEWER_TOKEN);
    viewer.initialize().await;

    let mut told = String::new();
    for tool in &tools(&office) {
        let here = || Place::new(&office.site, OUTSIDE);
        let done = use_tool(&admin, tool, call(tool, &here())).await;
        assert!(done.contains("\"isError\":false"), "{tool}: {done}");
        told += &done;
        told += &use_tool(&viewer, tool, call(tool, &here())).await;
        for kind in [FaultKind::Cut, FaultKind::CutAfter, FaultKind::HtmlPage] {
            let fault = Fault::new(kind).on_writes().requests(1);
            station.faults().set(fault).expect("a fault");
            told += &use_tool(&admin, tool, call(tool, &here())).await;
            station.faults().clear_all();
        }
        let nonsense = json!({"ord": USER_TOKEN, "value": PASSWORD, "priority": PASSWORD});
        admin
            .ask("tools/call", json!({"name": tool, "arguments": nonsense}))
            .await;
    }
    let place = Place::new(&office.site, OUTSIDE);
    let kept = use_tool(&admin, "setSlot", secret_slot(&place, json!(SLOT_VALUE))).await;
    assert!(kept.contains("\"isError\":false"), "{kept}");
    assert_eq!(office.site.held(&place.path, "smtpPassword"), SLOT_VALUE);
    told += &kept;
    let fault = Fault::new(FaultKind::CutAfter).on_writes().requests(1);
    station.faults().set(fault).expect("a fault");
    told += &use_tool(&admin, "setSlot", secret_slot(&place, json!(SLOT_VALUE))).await;
    told += &use_tool(&viewer, "setSlot", secret_slot(&place, json!(SLOT_VALUE))).await;
    told += &use_tool(
        &admin,
        "applyWrites",
        Call {
            plan: Some(json!({"operations": [{
                "tool": "setSlot", "arguments": secret_slot(&place, json!(SLOT_VALUE)).arguments,
            }]})),
            arguments: json!({}),
            operator_may: true,
        },
    )
    .await
    .replace(&json!({"value": SLOT_VALUE}).to_string(), "");
    for tool in ["getDiagnosticDump", "getFeatureDump", "getServiceHealth"] {
        told += &admin.call(tool, json!({})).await.to_string();
    }
    told += &admin.call("careless", json!({})).await.to_string();
    let mut stranger = admin.clone();
    stranger.token = UNKNOWN_TOKEN.to_owned();
    let refused = stranger.post(request("ping", json!({}))).await;
    assert_eq!(refused.status(), 401);
    told += &refused.text().await.expect("a text");
    station
        .change_password(ADMIN.user, "Another-Password-1")
        .expect("changed");
    station.end_sessions();
    told += &use_tool(&admin, "setSlot", call("setSlot", &place)).await;
    server.stop().await;
    office.users.close().await;

    let file = |name: &str| std::fs::read_to_string(office.file(name)).expect("readable");
    let log = log.text();
    for part in ["DEBUG", "a tool is called", "a fault of the program"] {
        assert!(log.contains(part), "the log lacks {part}");
    }
    for (what, text) in [
        ("the log", log.as_str()),
        ("an answer", told.as_str()),
        (JOURNAL_NAME, file(JOURNAL_NAME).as_str()),
        (LOG_NAME, file(LOG_NAME).as_str()),
        ("the users", file("users.json").as_str()),
    ] {
        for secret in [
            PASSWORD,
            USER_TOKEN,
            VIEWER_TOKEN,
            UNKNOWN_TOKEN,
            SLOT_VALUE,
            TOKEN,
        ] {
            if let Some(at) = text.find(secret) {
                let from = text[..at]
                    .char_indices()
                    .rev()
                    .nth(300)
                    .map_or(0, |(at, _)| at);
                let end = at + secret.len();
                panic!("{what} tells {secret}: {}", &text[from..end]);
            }
        }
    }
}
