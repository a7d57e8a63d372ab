//! Every tool × every account, over HTTP with real tokens: result or code as specified, the station's own audit names
//! the acting user, and the records are whole and tell of one changed byte.

use std::sync::Arc;
use std::time::Duration;

use mock_station::model::accounts::{ADMIN, BRIDGE, OPERATOR, VIEWER};
use niagara_bridge::audit::{AuditError, JOURNAL_NAME, LOG_NAME, verify};
use niagara_bridge::clock::SystemClock;
use niagara_bridge::config::Secret;
use niagara_bridge::identity::Identities;
use niagara_bridge::mcp::auth::Authenticator;
use niagara_bridge::mcp::bridge::Bridge;
use niagara_bridge::mcp::http::HttpServer;
use niagara_bridge::prompts::PromptRegistry;
use niagara_bridge::resources::ResourceRegistry;
use niagara_bridge::tools::{Registry, writing_tools};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::calls::{Call, call, tools};
use crate::office::Office;
use crate::place::{INSIDE, OUTSIDE, Place};
use crate::support::{Client, TOKEN, healthy, request, unhurried};

/// A user with a token whose station password nobody keeps.
const UNBOUND: &str = "clerk";

fn token_of(user: &str) -> String {
    format!("the token of {user} 0123456789abcdef")
}

/// Serves the tools of an office to the holders of tokens.
pub async fn serve(office: &Office) -> HttpServer {
    let identities = Identities::new(office.folder(), SystemClock::shared());
    for user in [ADMIN.user, OPERATOR.user, VIEWER.user, UNBOUND] {
        identities
            .grant(user, &token_of(user), None, None, Duration::ZERO)
            .expect("bound");
    }
    let tools = Registry::builder()
        .acting_by(office.users.clone())
        .recording_by(office.gate.clone())
        .tools(writing_tools(&office.gate, &office.knowledge))
        .build()
        .expect("the registry");
    let resources = ResourceRegistry::default();
    let bridge = Bridge::new(tools, resources, PromptRegistry::default());
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

/// Who calls, and where.
struct Caller {
    /// The name in the bridge's records.
    name: &'static str,
    /// The user on the station.
    station_user: &'static str,
    parent: &'static str,
    client: Client,
}

impl Caller {
    async fn new(
        server: &HttpServer,
        name: &'static str,
        station_user: &'static str,
        parent: &'static str,
        token: &str,
    ) -> Self {
        let mut client = Client::new(server.endpoint(), token);
        client.initialize().await;
        Self {
            name,
            station_user,
            parent,
            client,
        }
    }

    async fn user(server: &HttpServer, name: &'static str, parent: &'static str) -> Self {
        Self::new(server, name, name, parent, &token_of(name)).await
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Expected {
    Done,
    /// −32010 of the station.
    Denied,
    /// −32006: what the station does not show to this user is not there.
    NotSeen,
    /// A plan that is not ready, because the station would not let this user.
    NotPlanned,
    /// −32011 before the tool runs.
    NoUser,
}

/// What the specification says (Tool surface §4, §5.3).
fn expected(caller: &Caller, tool: &str, call: &Call) -> Expected {
    match (caller.name, caller.parent) {
        ("service", _) if tool == "writePoint" => Expected::Done,
        ("service" | UNBOUND, _) => Expected::NoUser,
        ("admin", _) => Expected::Done,
        // The alarm database is the station's, and operators of one category do not see it.
        ("operator", _) if tool == "ackAlarm" => Expected::NotSeen,
        // Links are slots for administrators.
        (_, INSIDE) if tool == "unlinkSlots" => Expected::NotSeen,
        ("operator", INSIDE) if call.operator_may => Expected::Done,
        _ if call.plan.is_some() => Expected::NotPlanned,
        _ => Expected::Denied,
    }
}

/// Calls a tool and takes the second step where one is asked for; all answers.
async fn perform(client: &Client, tool: &str, call: Call) -> Vec<Value> {
    let mut arguments = call.arguments;
    if let Some(operations) = call.plan {
        let params = json!({"name": "planWrites", "arguments": operations});
        let plan = client.ask("tools/call", params).await;
        let facts = plan.pointer("/result/structuredContent");
        match facts.and_then(|facts| facts.get("planId")) {
            Some(id) => arguments["planId"] = id.clone(),
            // Who cannot write at all is told so by applyWrites too.
            None if !plan.to_string().contains("\"identity\"") && facts.is_some() => {
                return vec![plan];
            }
            None => {}
        }
    }
    let mut answers = Vec::new();
    loop {
        let params = json!({"name": tool, "arguments": arguments});
        let answer = client.ask("tools/call", params).await;
        let token = answer.pointer("/result/errorData/confirm").cloned();
        answers.push(answer);
        match token {
            Some(token) if answers.len() == 1 => arguments["confirm"] = token,
            _ => return answers,
        }
    }
}

struct Counts {
    intents: usize,
    outcomes: usize,
    lines: usize,
    audited: Vec<(&'static str, usize)>,
}

fn counts(office: &Office) -> Counts {
    let users = [ADMIN.user, OPERATOR.user, VIEWER.user, BRIDGE.user];
    Counts {
        intents: office.records("intent").len(),
        outcomes: office.records("outcome").len(),
        lines: office.log().len(),
        audited: users
            .into_iter()
            .map(|user| (user, office.audited_by_station(user).len()))
            .collect(),
    }
}

/// One cell of the matrix; what is wrong with it.
async fn cell(office: &Office, caller: &Caller, tool: &str) -> Vec<String> {
    let place = Place::new(&office.site, caller.parent);
    let call = call(tool, &place);
    let expected = expected(caller, tool, &call);
    let before = counts(office);
    office.site.frozen.station.clear_logs();
    let answers = perform(&caller.client, tool, call).await;
    let after = counts(office);
    let answer = answers.last().expect("an answer");
    let mut wrong = Vec::new();
    let mut check = |holds: bool, what: String| {
        if !holds {
            let (name, parent) = (caller.name, caller.parent);
            wrong.push(format!("{tool} by {name} in {parent}: {what}: {answer}"));
        }
    };
    let (error, result) = (&answer["error"], &answer["result"]);
    let data = &result["errorData"];
    let found = match (error["code"].as_i64(), result["errorCode"].as_i64()) {
        (Some(-32011), None) if error["data"]["requiresUserContext"] == json!(true) => {
            Some(Expected::NoUser)
        }
        (None, Some(-32010)) if data["user"] == json!(caller.name) && data["tool"].is_string() => {
            Some(Expected::Denied)
        }
        (None, Some(-32006)) => Some(Expected::NotSeen),
        (None, None) if result["structuredContent"]["ready"] == json!(false) => {
            Some(Expected::NotPlanned)
        }
        (None, None) if result["isError"] == json!(false) => Some(Expected::Done),
        _ => None,
    };
    check(found == Some(expected), format!("{expected:?} expected"));

    // The first step of a confirmed call is refused, and recorded so; a plan that cannot be sent is no call of a writing tool.
    let recorded = match expected {
        Expected::NotPlanned => 0,
        _ => answers.len(),
    };
    check(
        after.lines - before.lines == recorded && after.outcomes - before.outcomes == recorded,
        format!("{recorded} lines expected"),
    );
    let intents = after.intents - before.intents;
    let is_done = expected == Expected::Done;
    check(
        if is_done {
            intents == 1
        } else {
            intents <= usize::from(recorded > 0)
        },
        format!("{intents} intents"),
    );
    check(
        intents == 1 || office.sent() == 0,
        "sent without an intent".to_owned(),
    );
    let log = office.log();
    if let Some(line) = log.last().filter(|_| recorded > 0) {
        let own = line["user"] == json!(caller.name) && line["resultOk"] == json!(is_done);
        check(own, format!("the line {line}"));
    }
    for ((user, before), (_, after)) in before.audited.into_iter().zip(after.audited) {
        let acted = is_done && user == caller.station_user;
        check(
            (after > before) == acted,
            format!("the station's audit of {user} grew by {}", after - before),
        );
    }
    wrong
}

/// Changes one byte of a file at a time; each is found and its record named.
fn every_flip_is_found(office: &Office) {
    let copy = tempfile::tempdir().expect("a folder");
    let names = [JOURNAL_NAME, LOG_NAME];
    for name in names {
        std::fs::copy(office.file(name), copy.path().join(name)).expect("copied");
    }
    verify(copy.path()).expect("sound");
    for name in names {
        let path = copy.path().join(name);
        let whole = std::fs::read(&path).expect("bytes");
        // Spread over the file, at ever other places of its lines.
        for at in (0..whole.len()).step_by(whole.len() / 150 + 1) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            std::fs::write(&path, &bytes).expect("written");
            match verify(copy.path()) {
                Err(AuditError::Damaged { line, record, .. }) => {
                    let own = whole[..at].iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
                    assert_eq!(line, own, "{name} at {at}");
                    assert!(record.contains("record"), "{record}");
                }
                other => panic!("{name} at {at}: {other:?}"),
            }
        }
        std::fs::write(&path, &whole).expect("written");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_account_may_do_what_the_station_lets_it_and_nothing_else() {
    let office = Office::new().await;
    let server = serve(&office).await;
    let service = Caller::new(&server, "service", BRIDGE.user, INSIDE, TOKEN).await;
    let callers = [
        Caller::user(&server, ADMIN.user, OUTSIDE).await,
        Caller::user(&server, OPERATOR.user, INSIDE).await,
        Caller::user(&server, OPERATOR.user, OUTSIDE).await,
        Caller::user(&server, VIEWER.user, INSIDE).await,
        Caller::user(&server, UNBOUND, INSIDE).await,
        service,
    ];
    let mut wrong = Vec::new();
    let mut stranger = callers[0].client.clone();
    stranger.token = token_of("nobody at all");
    for tool in &tools(&office) {
        for caller in &callers {
            wrong.extend(cell(&office, caller, tool).await);
        }
    }
    // Once: who guesses tokens waits longer each time, whatever the tool.
    let lines = office.log().len();
    let params = json!({"name": "setSlot", "arguments": {}});
    let answer = stranger.post(request("tools/call", params)).await;
    assert_eq!(answer.status(), 401);
    assert_eq!(office.log().len(), lines);
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
    let (intents, outcomes) = (office.records("intent"), office.records("outcome"));
    for intent in &intents {
        let own = outcomes
            .iter()
            .filter(|outcome| outcome["intent"] == intent["seq"]);
        assert_eq!(own.count(), 1, "{intent}");
    }
    server.stop().await;
    every_flip_is_found(&office);
    office.users.close().await;
    // The service account's own session outlives those of people.
    let left = office.site.frozen.station.sessions_by_user();
    assert!(left.keys().all(|user| user == BRIDGE.user), "{left:?}");
}
