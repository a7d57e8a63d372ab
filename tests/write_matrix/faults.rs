//! Every tool × every fault of the station, on all requests and on the one that changes something: no hang, a clear
//! error or an honest doubt, never a second message, and all well again when the fault ends.

use std::time::{Duration, Instant};

use futures::future::join_all;
use mock_station::faults::{Fault, FaultKind};
use mock_station::model::accounts::ADMIN;
use mock_station::server::{LoginOutcome, WriteOutcome};
use niagara_bridge::audit::verify;
use serde_json::{Value, json};

use crate::calls::{call, tools};
use crate::office::{Office, context};
use crate::place::{OUTSIDE, Place};

/// What a client waits where the station is slower, and what the station takes then.
const PATIENCE: Duration = Duration::from_millis(300);
const SLOWER: u64 = 400;
/// A call that has not ended by then never will.
const HANG: Duration = Duration::from_secs(30);
/// Longer than a missing interface, a refused login and an open circuit are remembered.
const LATER: Duration = Duration::from_secs(61);
/// Logins of the call under the fault and of the one after it.
const MOST_LOGINS: usize = 3;

struct Run {
    kind: FaultKind,
    writes_only: bool,
    tools: Vec<String>,
    office: Office,
    wrong: Vec<String>,
}

impl Run {
    fn note(&mut self, tool: &str, text: impl std::fmt::Display) {
        let meets = match self.writes_only {
            true => "on the write",
            false => "on everything",
        };
        self.wrong
            .push(format!("{:?} {meets}, {tool}: {text}", self.kind));
    }

    async fn prove(mut self) -> Vec<String> {
        for tool in std::mem::take(&mut self.tools) {
            self.break_and_mend(&tool).await;
        }
        if let Err(error) = verify(self.office.folder()) {
            self.note("all tools", error);
        }
        let (intents, log) = (self.office.records("intent").len(), self.office.log());
        let executed = log
            .iter()
            .filter(|line| line["outcome"] != json!("refused"));
        let executed = executed.count();
        if executed != intents {
            self.note(
                "all tools",
                format!("{intents} intents, {executed} outcomes"),
            );
        }
        self.office.users.close().await;
        let station = &self.office.site.frozen.station;
        // What cut logins and abandoned requests left behind idles out on the station.
        station.jump_clock(chrono::TimeDelta::minutes(20));
        let left = (station.sessions(), station.box_sessions());
        if left != (0, 0) {
            self.note("all tools", format!("{left:?} sessions remain"));
        }
        self.wrong
    }

    async fn break_and_mend(&mut self, tool: &str) {
        let place = Place::new(&self.office.site, OUTSIDE);
        let (arguments, _) = self.office.prepared(ADMIN, tool, call(tool, &place)).await;
        self.office.site.frozen.station.clear_logs();
        let mut fault = Fault::new(self.kind.clone());
        if self.writes_only {
            fault = fault.on_writes();
        }
        if matches!(
            self.kind,
            FaultKind::Restart { .. } | FaultKind::ClockJump { .. }
        ) {
            fault = fault.requests(1);
        }
        let is_set = self.office.site.frozen.station.faults().set(fault).is_ok();
        assert!(is_set, "{:?}", self.kind);
        let mut caller = context(Some(ADMIN.user));
        if is_slow(&self.kind) {
            caller.deadline = Instant::now() + PATIENCE;
        }
        let running = self.office.call(caller, tool, arguments);
        let answer = tokio::time::timeout(HANG, running).await;
        self.office.site.frozen.station.faults().clear_all();
        match answer {
            Ok(Ok(answer)) => self.judge(tool, &answer),
            Ok(Err(error)) => self.note(tool, error),
            Err(_) => self.note(tool, "hangs"),
        }
        self.office.clock.advance(LATER);

        let place = Place::new(&self.office.site, OUTSIDE);
        let (arguments, _) = self.office.prepared(ADMIN, tool, call(tool, &place)).await;
        let recovered = self.office.call_as(ADMIN, tool, arguments).await;
        if recovered["isError"] == json!(true) {
            self.note(tool, format!("does not recover: {recovered}"));
        }
        let logins = self.office.site.frozen.station.logins();
        if logins.len() > MOST_LOGINS {
            self.note(tool, format!("{} logins", logins.len()));
        }
        if logins
            .iter()
            .any(|login| login.outcome == LoginOutcome::BadProof)
        {
            self.note(tool, "a login with a wrong proof");
        }
    }

    fn judge(&mut self, tool: &str, answer: &Value) {
        let writes = self.office.site.frozen.station.box_writes();
        let done = writes
            .iter()
            .filter(|write| write.outcome == WriteOutcome::Done);
        let done = done.count();
        for write in &writes {
            let same = writes.iter().filter(|other| other.target == write.target);
            if same.count() > 1 {
                self.note(tool, format!("{} was sent again", write.target));
            }
        }
        if answer["isError"] == json!(false) {
            return;
        }
        let data = &answer["errorData"];
        let is_in_doubt = data["inDoubt"] == json!(true);
        // Of several messages some may be done; the answer tells of them.
        if done > 0 && !is_in_doubt && tool != "writeSchedule" {
            self.note(
                tool,
                format!("was done, but the answer denies it: {answer}"),
            );
        }
        let message = answer["content"][0]["text"].as_str().unwrap_or_default();
        let lower = message.to_lowercase();
        let told = ["<html", "<!doctype", "panicked", "jsessionid", "csrf"];
        let is_clear = message.ends_with('.')
            && message.len() <= 1200
            && !message.contains(ADMIN.password)
            && !told.iter().any(|part| lower.contains(part));
        // An alarm whose path is gone cannot be told from one that is.
        let is_gone = answer["errorCode"] == json!(-32006) && tool == "ackAlarm";
        if answer["errorCode"] != json!(-32603) && !is_gone || !is_clear {
            self.note(tool, format!("no clear error: {answer}"));
        }
        let has_reason = is_in_doubt || data["kind"].is_string() || data["detail"].is_string();
        if !has_reason && !is_gone {
            self.note(tool, format!("an error without a reason: {answer}"));
        }
    }
}

fn is_slow(kind: &FaultKind) -> bool {
    matches!(kind, FaultKind::Latency { .. } | FaultKind::SlowDrip { .. })
}

async fn prove(kinds: Vec<FaultKind>) {
    let mut runs = Vec::new();
    for kind in kinds {
        let all = tools(&Office::new().await);
        // Slow stations at the same time, so that the waiting is shared.
        let together = if is_slow(&kind) { 2 } else { all.len() };
        for writes_only in [false, true] {
            for tools in all.chunks(together) {
                runs.push(Run {
                    kind: kind.clone(),
                    writes_only,
                    tools: tools.to_vec(),
                    office: Office::by_the_clock().await,
                    wrong: Vec::new(),
                });
            }
        }
    }
    let wrong: Vec<String> = join_all(runs.into_iter().map(Run::prove))
        .await
        .into_iter()
        .flatten()
        .collect();
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

macro_rules! faults {
    ($($test:ident: $kind:expr;)+) => {
        $(#[tokio::test]
        async fn $test() {
            prove($kind).await;
        })+
    };
}

faults! {
    a_station_that_answers_late: vec![
        FaultKind::Latency { millis: SLOWER },
        FaultKind::SlowDrip { bytes: 256, pause_millis: 100 },
    ];
    connections_that_close: vec![FaultKind::Cut, FaultKind::CutAfter];
    answers_that_break_off: vec![FaultKind::HalfBody { bytes: None }];
    pages_in_place_of_data: vec![FaultKind::HtmlPage];
    data_under_a_wrong_media_type: vec![FaultKind::WrongContentType {
        media_type: "application/octet-stream".to_owned(),
    }];
    sessions_that_are_lost: vec![FaultKind::SessionLost];
    a_flood_filter: vec![FaultKind::TooManyRequests { retry_after_seconds: Some(1) }];
    errors_of_the_server: vec![
        FaultKind::ServerError { status: 500 },
        FaultKind::ServerError { status: 503 },
    ];
    a_clock_that_jumps: vec![
        FaultKind::ClockJump { seconds: 7200 },
        FaultKind::ClockJump { seconds: -7200 },
    ];
    a_restart: vec![FaultKind::Restart { down_millis: 0 }];
    interfaces_that_vanish: vec![FaultKind::BoxAbsent, FaultKind::ObixAbsent];
    obix_without_licence: vec![
        FaultKind::ObixUnlicensed { status: 500 },
        FaultKind::ObixUnlicensed { status: 403 },
    ];
}
