//! Each fault of the stand-in station × each tool: the right answer or a clear error in time, no needless login, and
//! all well again when the fault ends.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::future::join_all;
use mock_station::faults::{Fault, FaultKind, Interface};
use mock_station::model::accounts::BRIDGE;
use mock_station::server::LoginOutcome;
use serde_json::{Value, json};

use crate::agreement::differences;
use crate::examples::{self, Example};
use crate::support::Bench;

/// What a client waits where the station makes it wait.
const PATIENCE: Duration = Duration::from_millis(300);
/// What the station takes then, in milliseconds. A login that has begun is not given up with the call, so that this
/// is also what the next call may have to wait.
const SLOWER: u64 = 400;
/// What a client waits otherwise.
const CALL: Duration = Duration::from_secs(9);
/// Longer than a missing interface, a refused login and an open circuit are remembered.
const LATER: Duration = Duration::from_secs(61);
/// Longest sentence that still reads as one, with an ord and a URL in it.
const LONGEST_MESSAGE: usize = 900;

/// A fault with what a tool may make of it.
struct Trouble {
    kind: FaultKind,
    /// Matching requests it hits per call; none = as long as it is set.
    requests: Option<u32>,
    deadline: Duration,
    /// `errorData.kind` of clear errors.
    kinds: &'static [&'static str],
    /// Whether answers under the fault are those of the healthy station.
    exact: bool,
    /// Whether the station forgets the session, so that each call may cost a login.
    ends_sessions: bool,
}

impl Trouble {
    fn new(kind: FaultKind, kinds: &'static [&'static str]) -> Self {
        Self {
            kind,
            requests: None,
            deadline: CALL,
            kinds,
            exact: true,
            ends_sessions: false,
        }
    }

    fn stalling(mut self) -> Self {
        self.deadline = PATIENCE;
        self.exact = false;
        self
    }

    fn once(mut self) -> Self {
        self.requests = Some(1);
        self
    }

    fn ending_sessions(mut self) -> Self {
        self.ends_sessions = true;
        self
    }

    fn on(&self, interface: Interface) -> Fault {
        let fault = Fault::new(self.kind.clone()).on(interface);
        match self.requests {
            Some(count) => fault.requests(count),
            None => fault,
        }
    }

    fn name(&self) -> String {
        let kind = serde_json::to_value(&self.kind).expect("JSON");
        kind["kind"].as_str().expect("a kind").to_owned()
    }
}

fn troubles() -> Vec<Trouble> {
    let mut restart = Trouble::new(
        FaultKind::Restart { down_millis: 0 },
        &["station-unreachable"],
    )
    .once()
    .ending_sessions();
    // A restart ends overrides that are not saved.
    restart.exact = false;
    let no_form = FaultKind::no_ord_forms();
    let mut moved = Trouble::new(FaultKind::ClockJump { seconds: 7200 }, &["station-auth"])
        .once()
        .ending_sessions();
    moved.exact = false;
    let mut back = Trouble::new(FaultKind::ClockJump { seconds: -7200 }, &["station-auth"])
        .once()
        .ending_sessions();
    back.exact = false;
    vec![
        Trouble::new(FaultKind::Latency { millis: SLOWER }, &["station-timeout"]).stalling(),
        Trouble::new(
            FaultKind::SlowDrip {
                bytes: 256,
                pause_millis: 100,
            },
            &["station-timeout"],
        )
        .stalling(),
        Trouble::new(FaultKind::Cut, &["station-unreachable"]),
        Trouble::new(FaultKind::CutAfter, &["station-unreachable"]),
        Trouble::new(
            FaultKind::HalfBody { bytes: None },
            &["station-unreachable", "station-protocol"],
        ),
        Trouble::new(FaultKind::HtmlPage, &["station-protocol", "station-auth"]),
        Trouble::new(
            FaultKind::WrongContentType {
                media_type: "application/octet-stream".to_owned(),
            },
            &["station-protocol"],
        ),
        Trouble::new(FaultKind::SessionLost, &["station-auth"])
            .once()
            .ending_sessions(),
        // Without end it meets the login page too, which no station answers with 401.
        Trouble::new(
            FaultKind::SessionLost,
            &["station-auth", "station-protocol"],
        )
        .ending_sessions(),
        Trouble::new(
            FaultKind::TooManyRequests {
                retry_after_seconds: Some(1),
            },
            &["station-busy"],
        ),
        Trouble::new(FaultKind::ServerError { status: 500 }, &["station-error"]),
        Trouble::new(FaultKind::ServerError { status: 503 }, &["station-busy"]),
        moved,
        back,
        restart,
        Trouble::new(
            FaultKind::ObixUnlicensed { status: 500 },
            &["station-error", "interface-missing"],
        ),
        Trouble::new(
            FaultKind::ObixUnlicensed { status: 403 },
            &["interface-missing"],
        ),
        Trouble::new(FaultKind::ObixAbsent, &["interface-missing"]),
        Trouble::new(FaultKind::BoxAbsent, &["interface-missing"]),
        Trouble::new(no_form, &["interface-missing"]),
        Trouble::new(FaultKind::BasicOnly, &["station-auth"]),
        Trouble::new(FaultKind::DigestOnly, &["station-auth"]),
    ]
}

/// One fault on one part of the station, over all tools.
struct Run<'a> {
    trouble: &'a Trouble,
    interface: Interface,
    bench: Bench,
    wrong: Vec<String>,
}

impl Run<'_> {
    fn note(&mut self, tool: &str, text: impl std::fmt::Display) {
        let (kind, interface) = (&self.trouble.kind, self.interface);
        self.wrong
            .push(format!("{kind:?} on {interface:?}, {tool}: {text}"));
    }

    async fn prove(mut self) -> Vec<String> {
        for example in examples::without_edits(&self.bench.registry) {
            let healthy = self.healthy(&example).await;
            self.break_and_mend(&example, &healthy).await;
        }
        let bad: Vec<_> = self
            .bench
            .mock
            .logins()
            .into_iter()
            .filter(|login| login.outcome == LoginOutcome::BadProof)
            .collect();
        if !bad.is_empty() {
            self.note("all tools", format!("logins with a wrong proof: {bad:?}"));
        }
        self.leaves_nothing().await;
        self.wrong
    }

    async fn answer(&self, example: &Example) -> Value {
        self.bench.answer(&example.tool, example.arguments()).await
    }

    /// What the tool tells without a fault; of a capability the whole result.
    async fn healthy(&self, example: &Example) -> Value {
        if example.is_capability {
            return self.bench.call(&example.tool, example.arguments()).await;
        }
        self.answer(example).await
    }

    /// Calls a tool under the fault and after it.
    async fn break_and_mend(&mut self, example: &Example, healthy: &Value) {
        let tool = example.tool.as_str();
        if self.interface == Interface::Login {
            self.bench.mock.end_sessions();
        }
        self.bench.mock.clear_logs();
        let fault = self.trouble.on(self.interface);
        self.bench.mock.faults().set(fault).expect("a fault");
        let arguments = example.arguments();
        let deadline = self.trouble.deadline;
        let result = self.bench.call_within(deadline, tool, arguments).await;
        self.judge(example, healthy, &result);
        self.bench.mock.faults().clear_all();
        self.bench.clock.advance(LATER);

        let recovered = self.bench.call(tool, example.arguments()).await;
        if example.is_capability {
            self.judge(example, healthy, &recovered);
        } else if recovered["isError"] == json!(true) {
            self.note(tool, format!("does not recover: {recovered}"));
        } else if example.asks_the_station() && self.trouble.exact {
            let recovered = self.answer(example).await;
            for difference in differences(healthy, &recovered) {
                self.note(tool, format!("differs after the fault: {difference}"));
            }
        }
        let logins = self.bench.mock.logins().len();
        let forgets = self.trouble.ends_sessions || self.interface == Interface::Login;
        // One for the session that was lost, one for the interface that refused it.
        if logins > if forgets { 2 } else { 1 } {
            self.note(tool, format!("{logins} logins"));
        }
    }

    fn judge(&mut self, example: &Example, healthy: &Value, result: &Value) {
        let tool = example.tool.as_str();
        if example.is_capability {
            if result != healthy {
                self.note(tool, format!("answers {result} instead of {healthy}"));
            }
            return;
        }
        if result["isError"] != json!(true) {
            if example.asks_the_station() && self.trouble.exact {
                for difference in differences(healthy, &result["structuredContent"]) {
                    self.note(tool, format!("wrong under the fault: {difference}"));
                }
            }
            return;
        }
        if !example.asks_the_station() {
            self.note(tool, format!("needs no station, but fails: {result}"));
        }
        let kind = result["errorData"]["kind"].as_str().unwrap_or_default();
        let clear = self.trouble.kinds.contains(&kind)
            || (self.trouble.deadline == PATIENCE && kind == "station-timeout");
        if !clear || result["errorCode"] != json!(-32603) {
            self.note(tool, format!("the wrong kind of error: {result}"));
        }
        if result["errorData"]["station"] != json!(self.bench.mock.url()) {
            self.note(tool, format!("the error names no station: {result}"));
        }
        let message = result["content"][0]["text"].as_str().unwrap_or_default();
        for problem in unclear(message, &self.bench.mock.url()) {
            self.note(tool, format!("the error {problem}: {message}"));
        }
    }

    /// The bridge keeps one session, and none after its end.
    async fn leaves_nothing(&mut self) {
        let mock = &self.bench.mock;
        let open = (mock.sessions(), mock.box_sessions(), mock.obix_watches());
        self.bench.facade.close().await;
        let mock = &self.bench.mock;
        let left = (mock.sessions(), mock.box_sessions(), mock.obix_watches());
        if open.0 > 1 || open.1 > 1 || open.2 > 0 {
            self.note(
                "all tools",
                format!("{open:?} web sessions, BOX sessions and watches are open"),
            );
        }
        if left != (0, 0, 0) {
            self.note(
                "all tools",
                format!("{left:?} web sessions, BOX sessions and watches remain"),
            );
        }
    }
}

/// What keeps a message from being a clear sentence.
fn unclear(message: &str, station: &str) -> Vec<&'static str> {
    let lower = message.to_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
    let mut problems = Vec::new();
    if !message.ends_with('.') || message.len() > LONGEST_MESSAGE || message.contains('\n') {
        problems.push("is no sentence");
    }
    if has(&["<html", "<!doctype", "<body", "<script", "panicked"]) {
        problems.push("shows what a page is made of");
    }
    if has(&["jsessionid", "authorization:", "csrf"]) || message.contains(BRIDGE.password) {
        problems.push("shows a secret");
    }
    let places = [
        station,
        "/ord",
        "/box",
        "/obix",
        "slot:",
        "history:",
        "alarm:",
        "the login",
        "the call of",
    ];
    if !has(&places) {
        problems.push("names no place");
    }
    problems
}

async fn prove(kind: &str) {
    let troubles = troubles();
    let interfaces = [
        Interface::All,
        Interface::Ord,
        Interface::Box,
        Interface::Obix,
        Interface::Login,
    ];
    let mut runs = Vec::new();
    for trouble in troubles.iter().filter(|trouble| trouble.name() == kind) {
        for interface in interfaces {
            let bench = Bench::new().await.with_capabilities();
            // A fault of one interface cannot be set on another.
            if bench.mock.faults().set(trouble.on(interface)).is_ok() {
                bench.mock.faults().clear_all();
                examples::map_site(&bench).await;
                runs.push(Run {
                    trouble,
                    interface,
                    bench,
                    wrong: Vec::new(),
                });
            }
        }
    }
    assert!(!runs.is_empty(), "no row for {kind}");
    let wrong: Vec<String> = join_all(runs.into_iter().map(Run::prove))
        .await
        .into_iter()
        .flatten()
        .collect();
    assert!(
        wrong.is_empty(),
        "{} cells:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

macro_rules! faults {
    ($($test:ident: $kind:literal;)+) => {
        $(#[tokio::test]
        async fn $test() {
            prove($kind).await;
        })+

        const PROVEN: &[&str] = &[$($kind),+];
    };
}

faults! {
    a_station_that_answers_late: "latency";
    a_station_that_answers_drop_by_drop: "slow-drip";
    connections_that_close: "cut";
    connections_that_close_after_the_deed: "cut-after";
    answers_that_break_off: "half-body";
    pages_in_place_of_data: "html-page";
    data_under_a_wrong_media_type: "wrong-content-type";
    sessions_that_are_lost: "session-lost";
    a_flood_filter: "too-many-requests";
    errors_of_the_server: "server-error";
    a_clock_that_jumps: "clock-jump";
    a_restart: "restart";
    obix_without_licence: "obix-unlicensed";
    obix_that_vanishes: "obix-absent";
    box_that_vanishes: "box-absent";
    url_forms_that_are_refused: "ord-forms";
    accounts_turned_to_the_basic_scheme: "basic-only";
    accounts_turned_to_the_digest_scheme: "digest-only";
}

#[tokio::test]
async fn edits_of_the_bridge_s_own_files_need_no_station() {
    let bench = Bench::new().await;
    let cut = Fault::new(FaultKind::Cut).on(Interface::All);
    bench.mock.faults().set(cut).expect("a fault");
    examples::map_site(&bench).await;
    for _ in 0..2 {
        for example in examples::of(&bench.registry) {
            if example.edits_own_files {
                bench.answer(&example.tool, example.arguments()).await;
            }
        }
    }
    assert_eq!(bench.mock.logins().len(), 0);
}

#[test]
fn every_kind_of_fault_is_proven() {
    let refused = serde_json::from_value::<FaultKind>(json!({"kind": "?"})).expect_err("no kind");
    let known: BTreeSet<String> = refused
        .to_string()
        .split('`')
        .skip(3)
        .step_by(2)
        .map(str::to_owned)
        .collect();
    assert!(known.len() >= PROVEN.len(), "{refused}");
    for kind in known {
        assert!(
            PROVEN.contains(&kind.as_str()),
            "the fault '{kind}' is not proven: add a row to troubles() and a test in tests/matrix/faults.rs"
        );
    }
}
