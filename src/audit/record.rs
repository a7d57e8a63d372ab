//! What is recorded of a write.

use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Map, Value, json};

use super::redact::{capped, masked_text, redacted_arguments, redacted_text};

/// Undeclared arguments that are named; the rest is counted.
const MOST_UNDECLARED: usize = 5;

/// A write that somebody asked for, as it is recorded: secrets are left out when it is made.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    /// When it was asked for.
    pub started: DateTime<Utc>,
    /// Station user, or `service`.
    pub user: String,
    /// Session of the client, may be empty.
    pub session_id: String,
    /// Names the request in log lines and answers.
    pub request_id: String,
    pub tool: String,
    /// Operation name of Tool surface §4.1, such as `set`.
    pub action: String,
    /// The ord as the caller wrote it.
    pub ord: String,
    /// The slot path that it leads to; empty when it does not lead to one.
    pub path: String,
    arguments: Map<String, Value>,
    secret_value: bool,
}

impl Attempt {
    /// Records who asks for what; the other fields are filled in by assignment.
    ///
    /// `secret_value` says that the value written is a secret, because the slot's type or facets say so; the names
    /// in the arguments and the last name of the ord are looked at in any case.
    pub fn new(
        started: DateTime<Utc>,
        user: impl Into<String>,
        tool: &str,
        action: &str,
        ord: &str,
        arguments: &Map<String, Value>,
        secret_value: bool,
    ) -> Self {
        let secret_value = secret_value || super::redact::names_secret(ord, arguments);
        Self {
            started,
            user: user.into(),
            session_id: String::new(),
            request_id: String::new(),
            tool: tool.to_owned(),
            action: action.to_owned(),
            ord: ord.to_owned(),
            path: String::new(),
            arguments: capped(redacted_arguments(arguments, secret_value)),
            secret_value,
        }
    }

    /// Says which arguments nobody read; their values are not recorded.
    pub fn name_undeclared(&mut self, names: &[String]) {
        if names.is_empty() {
            return;
        }
        let shown = names.iter().take(MOST_UNDECLARED);
        let shown: Vec<String> = shown.map(|name| redacted_text(name)).collect();
        let note = json!({ "count": names.len(), "names": shown });
        self.arguments
            .insert("undeclaredArguments".to_owned(), note);
    }

    /// The arguments as they are recorded, without secrets.
    pub fn arguments(&self) -> &Map<String, Value> {
        &self.arguments
    }

    /// Whether what is written is a secret, so that no text about it may repeat it.
    pub fn has_secret_value(&self) -> bool {
        self.secret_value
    }

    /// The members of the intent record.
    pub(super) fn intent(&self, policy: &str) -> Map<String, Value> {
        members(json!({
            "ts": stamp(self.started),
            "user": self.user,
            "sessionId": self.session_id,
            "requestId": self.request_id,
            "tool": self.tool,
            "ord": masked_text(&self.ord),
            "path": masked_text(&self.path),
            "action": self.action,
            "args": self.arguments,
            "policy": policy,
            "secretValue": self.secret_value,
        }))
    }

    /// The attempt of an intent record that was left without an outcome.
    pub(super) fn of_intent(record: &Map<String, Value>) -> (Self, String) {
        let text = |key: &str| {
            let text = record.get(key).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        let started = DateTime::parse_from_rfc3339(&text("ts"));
        let attempt = Self {
            started: started.map_or(DateTime::UNIX_EPOCH, |stamp| stamp.to_utc()),
            user: text("user"),
            session_id: text("sessionId"),
            request_id: text("requestId"),
            tool: text("tool"),
            action: text("action"),
            ord: text("ord"),
            path: text("path"),
            arguments: match record.get("args") {
                Some(Value::Object(arguments)) => arguments.clone(),
                _ => Map::new(),
            },
            secret_value: record.get("secretValue") == Some(&Value::Bool(true)),
        };
        (attempt, text("policy"))
    }

    /// The line of the outcome log (Tool surface §4.2), with our members behind those of the contract.
    pub(super) fn line(&self, policy: &str, ending: &Ending) -> String {
        let value = |value: &Option<Value>| match value {
            Some(_) if self.secret_value => Value::from(crate::secrecy::REDACTED),
            Some(value) => super::redact::redacted(value),
            None => Value::Null,
        };
        json!({
            "ts": stamp(self.started),
            "user": self.user,
            "sessionId": self.session_id,
            "tool": self.tool,
            "ord": masked_text(&self.ord),
            "action": self.action,
            "args": self.arguments,
            "resultOk": ending.verdict == Verdict::Done,
            "durationMs": u64::try_from(ending.took.as_millis()).unwrap_or(u64::MAX),
            "errorCode": ending.error_code.map(|code| code.to_string()).unwrap_or_default(),
            "errorMessage": masked_text(&ending.error_message),
            "requestId": self.request_id,
            "policy": policy,
            "outcome": ending.verdict.name(),
            "oldValue": value(&ending.old_value),
            "newValue": value(&ending.new_value),
        })
        .to_string()
    }
}

/// What became of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The station did it.
    Done,
    /// The policy of the bridge refused it: nothing was sent.
    Refused,
    /// The station, or the tool, said no.
    Failed,
    /// The answer was lost: the station may have done it.
    InDoubt,
}

impl Verdict {
    /// The word in the records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Refused => "refused",
            Self::Failed => "failed",
            Self::InDoubt => "inDoubt",
        }
    }
}

/// How a write ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ending {
    pub verdict: Verdict,
    /// Time from the start of the call.
    pub took: Duration,
    /// Code of Tool surface §5.3; none when the station did it.
    pub error_code: Option<i32>,
    /// Empty when the station did it.
    pub error_message: String,
    /// What stood there before, where it is known.
    pub old_value: Option<Value>,
    /// What was read back afterwards.
    pub new_value: Option<Value>,
}

impl Ending {
    /// The station did it.
    pub fn done(took: Duration, old_value: Option<Value>, new_value: Option<Value>) -> Self {
        Self {
            verdict: Verdict::Done,
            took,
            error_code: None,
            error_message: String::new(),
            old_value,
            new_value,
        }
    }

    /// It was not done, or nobody knows.
    pub fn not_done(
        verdict: Verdict,
        took: Duration,
        error_code: i32,
        error_message: impl Into<String>,
    ) -> Self {
        Self {
            verdict,
            took,
            error_code: Some(error_code),
            error_message: error_message.into(),
            old_value: None,
            new_value: None,
        }
    }
}

/// Time as the records write it: UTC with milliseconds (Tool surface §4.2).
pub(super) fn stamp(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// The members of an object written with `json!`.
pub(super) fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(arguments: Value) -> Attempt {
        let mut attempt = Attempt::new(
            "2026-03-08T06:59:00.25Z".parse().unwrap(),
            "maria",
            "setSlot",
            "set",
            "station:|slot:/Drivers/A",
            &members(arguments),
            false,
        );
        attempt.session_id = "s-1".into();
        attempt.request_id = "r-9".into();
        attempt
    }

    #[test]
    fn a_log_line_has_the_members_of_the_contract_in_its_order() {
        let attempt = attempt(json!({ "slotName": "setpoint", "value": 21.5 }));
        let done = Ending::done(
            Duration::from_millis(42),
            Some(20.0.into()),
            Some(21.5.into()),
        );
        assert_eq!(
            attempt.line("allowed", &done),
            r#"{"ts":"2026-03-08T06:59:00.250Z","user":"maria","sessionId":"s-1","tool":"setSlot","ord":"station:|slot:/Drivers/A","action":"set","args":{"slotName":"setpoint","value":21.5},"resultOk":true,"durationMs":42,"errorCode":"","errorMessage":"","requestId":"r-9","policy":"allowed","outcome":"done","oldValue":20.0,"newValue":21.5}"#
        );
    }

    #[test]
    fn a_secret_slot_hides_the_value_before_and_after() {
        let attempt = attempt(json!({ "slotName": "smtpPassword", "value": "hunter2-hunter2" }));
        let done = Ending::done(
            Duration::ZERO,
            Some("old-one-77".into()),
            Some("hunter2-hunter2".into()),
        );
        let line = attempt.line("allowed", &done);
        assert!(
            !line.contains("hunter2") && !line.contains("old-one"),
            "{line}"
        );
        assert!(line.contains(r#""oldValue":"<redacted>","newValue":"<redacted>""#));
    }

    #[test]
    fn places_and_reasons_are_kept_at_their_full_length_and_arguments_are_cut() {
        let mut attempt = attempt(json!({ "slotName": "note", "value": "n".repeat(300) }));
        let place = format!("slot:/{}/End", "Folder/".repeat(80).trim_end_matches('/'));
        attempt.ord = format!("station:|{place}");
        attempt.path = place.clone();
        let intent = attempt.intent("allowed");
        assert_eq!(
            (&intent["ord"], &intent["path"]),
            (&json!(attempt.ord), &json!(place))
        );
        let reason = format!("{place} is not there; password=hunter2-77");
        let ending = Ending::not_done(Verdict::Failed, Duration::ZERO, -32006, reason);
        let line: Value = serde_json::from_str(&attempt.line("allowed", &ending)).unwrap();
        assert_eq!(line["ord"], attempt.ord);
        assert_eq!(line["args"]["value"], format!("{}…+44", "n".repeat(256)));
        let told = line["errorMessage"].as_str().unwrap();
        assert!(
            told.starts_with(&place) && !told.contains("hunter2"),
            "{told}"
        );
    }

    #[test]
    fn an_intent_gives_its_attempt_back() {
        let attempt = attempt(json!({ "slotName": "password", "value": "x" }));
        let (again, policy) = Attempt::of_intent(&attempt.intent("allowed"));
        assert_eq!((again, policy.as_str()), (attempt, "allowed"));
    }
}
