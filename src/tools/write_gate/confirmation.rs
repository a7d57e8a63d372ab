//! The second step of writes that somebody must confirm: a question to the person, or a token that is shown once.
//!
//! A client that can ask its person is asked; one that repeats calls (revision 2026-07-28) gets the question with a
//! sealed state; any other gets a token to repeat the call with. Token and state count for the same principal, tool
//! and arguments, once, for two minutes.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{Context, SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::{Map, Value, json};

use crate::audit::Attempt;
use crate::clock::SharedClock;
use crate::station::echo::shortened;
use crate::tools::{CallContext, ErrorCode, Principal, Question, Reply, ToolError, ToolOutput};

/// Argument that brings the token back.
pub const CONFIRM: &str = "confirm";

/// Time for a person to decide (the token's life as well).
pub const CONFIRMATION_TIME: Duration = Duration::from_secs(120);

/// Arguments that a confirmation does not depend on: itself, and whether the call was a rehearsal.
const NOT_BOUND: [&str; 2] = [CONFIRM, "dryRun"];

/// Open questions of one principal; when there are more, the oldest of them are forgotten and have to be asked again.
const MOST_OPEN: usize = 100;

/// What a question shows of the arguments of one write among several, in characters.
const MOST_SHOWN: usize = 160;

const TOKEN_BYTES: usize = 24;

type Digest = [u8; 32];

struct Open {
    principal: Principal,
    bound_to: Digest,
    /// Reading of the monotonic clock.
    until: Duration,
}

/// What became of a question.
#[derive(Debug)]
pub(super) enum Answer {
    /// Somebody said yes; how long that took.
    Yes,
    /// The reason for people.
    No(&'static str),
    /// Answer the call with this.
    Later(ToolOutput),
    /// The client cannot ask: here is the token.
    Token(String),
}

/// Questions that wait for their answers.
pub(super) struct Confirmations {
    clock: SharedClock,
    open: Mutex<HashMap<Digest, Open>>,
}

/// What a confirmation counts for.
pub(super) fn bound_to(
    principal: &Principal,
    tool: &str,
    arguments: &Map<String, Value>,
) -> Digest {
    let mut context = Context::new(&SHA256);
    let user = principal.user().map_or(Value::Null, Value::from);
    context.update(json!([user, tool]).to_string().as_bytes());
    let bound = arguments
        .iter()
        .filter(|(name, _)| !NOT_BOUND.contains(&name.as_str()));
    let bound: Map<String, Value> = bound
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    context.update(sorted(&Value::Object(bound)).to_string().as_bytes());
    of(context.finish())
}

/// What the answer to a question counts for. Whoever reads the token in the question's state has asked nobody yet, so it
/// is no token for the argument `confirm`.
fn of_question(bound_to: &Digest) -> Digest {
    let mut context = Context::new(&SHA256);
    context.update(b"question");
    context.update(bound_to);
    of(context.finish())
}

/// The same value with the members of all objects in order of their names: clients may reorder them.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            let members = members.into_iter();
            Value::Object(
                members
                    .map(|(name, member)| (name.clone(), sorted(member)))
                    .collect(),
            )
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

fn of(digest: ring::digest::Digest) -> Digest {
    let mut bytes = [0; 32];
    for (to, from) in bytes.iter_mut().zip(digest.as_ref()) {
        *to = *from;
    }
    bytes
}

impl Confirmations {
    pub(super) fn new(clock: SharedClock) -> Self {
        Self {
            clock,
            open: Mutex::default(),
        }
    }

    /// A token for one call.
    ///
    /// # Errors
    /// The machine has no random numbers.
    pub(super) fn issue(
        &self,
        principal: &Principal,
        bound_to: Digest,
    ) -> Result<String, ToolError> {
        let mut bytes = [0; TOKEN_BYTES];
        SystemRandom::new().fill(&mut bytes).map_err(|_| {
            ToolError::internal("The system gives no random numbers, so nothing can be confirmed.")
        })?;
        let token = URL_SAFE_NO_PAD.encode(bytes);
        let now = self.clock.monotonic();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, question| question.until > now);
        let own = open
            .iter()
            .filter(|(_, question)| question.principal == *principal);
        if own.clone().count() >= MOST_OPEN {
            let oldest = own.min_by_key(|(_, question)| question.until);
            if let Some(key) = oldest.map(|(key, _)| *key) {
                open.remove(&key);
            }
        }
        let until = now.saturating_add(CONFIRMATION_TIME);
        open.insert(
            of(digest(&SHA256, token.as_bytes())),
            Open {
                principal: principal.clone(),
                bound_to,
                until,
            },
        );
        Ok(token)
    }

    /// Uses a token up; whether it counts for this call.
    pub(super) fn redeem(&self, token: &str, bound_to: &Digest) -> bool {
        let now = self.clock.monotonic();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let question = open.remove(&of(digest(&SHA256, token.as_bytes())));
        question.is_some_and(|question| question.until > now && question.bound_to == *bound_to)
    }

    /// Asks the person at the client whether `what` shall be done.
    ///
    /// # Errors
    /// The client sent back a state or token that is not ours, not for this call, or too old; or it did not answer.
    pub(super) async fn ask(
        &self,
        context: &CallContext,
        bound_to: Digest,
        token: Option<&str>,
        what: &str,
    ) -> Result<Answer, ToolError> {
        if let Some(token) = token {
            return match self.redeem(token, &bound_to) {
                true => Ok(Answer::Yes),
                false => Err(stale()),
            };
        }
        if !context.client.can("elicitation") {
            let token = self.issue(&context.principal, bound_to);
            return token.map(Answer::Token);
        }
        let questions = [Question::form(CONFIRM, what, form())];
        if context.client.asks_now() {
            let asked = context.client.ask(&questions, None);
            let reply = tokio::time::timeout(CONFIRMATION_TIME, asked).await;
            return match reply {
                Ok(Ok(Reply::Answers(answers))) => Ok(decision(&answers)),
                Ok(Ok(Reply::Later(output))) => Ok(Answer::Later(output)),
                Ok(Err(error)) => Err(error),
                Err(_) => Ok(Answer::No("nobody decided within two minutes")),
            };
        }
        let state = context.client.state()?;
        let returned = state
            .as_ref()
            .and_then(|state| state.get(CONFIRM))
            .and_then(Value::as_str);
        let bound_to = of_question(&bound_to);
        let is_ours = match returned {
            Some(token) if !self.redeem(token, &bound_to) => return Err(stale()),
            returned => returned.is_some(),
        };
        let token = self.issue(&context.principal, bound_to)?;
        let state = json!({ CONFIRM: token });
        match context.client.ask(&questions, Some(&state)).await? {
            Reply::Later(output) => Ok(Answer::Later(output)),
            Reply::Answers(answers) => {
                self.redeem(&token, &bound_to);
                match is_ours {
                    true => Ok(decision(&answers)),
                    false => Err(stale()),
                }
            }
        }
    }
}

/// What the person is asked: every write with its arguments, secrets left out; `places` are the ords that the rules
/// looked at.
pub(super) fn question(tool: &str, writes: &[Attempt], places: &[&str], why: &str) -> String {
    let user = writes.first().map_or("", |write| write.user.as_str());
    let number = match writes.len() {
        1 => String::new(),
        number => format!(" {number} writes"),
    };
    let mut text =
        format!("Shall {tool} send{number} to the station as '{user}'? It is asked because {why}.");
    if let [write] = writes {
        let arguments = json!(write.arguments());
        text += &format!("\n- {} {} {arguments}", write.action, shortened(&write.ord));
        return text;
    }
    // Alarms of one source look alike.
    let mut lines: Vec<(String, usize)> = Vec::new();
    for (write, place) in writes.iter().zip(places) {
        let line = short_line(write, place);
        match lines.iter_mut().find(|(known, _)| *known == line) {
            Some((_, times)) => *times += 1,
            None => lines.push((line, 1)),
        }
    }
    for (line, times) in lines {
        text += &format!("\n- {line}");
        if times > 1 {
            text += &format!(" ({times} times)");
        }
    }
    text
}

/// One write among several: nobody says yes to what the question leaves out.
fn short_line(write: &Attempt, place: &str) -> String {
    let mut arguments = write.arguments().clone();
    arguments.retain(|_, value| value.as_str() != Some(write.ord.as_str()));
    let mut line = format!("{} {}", write.action, shortened(place));
    if arguments.is_empty() {
        return line;
    }
    let text = json!(arguments).to_string();
    let shown: String = text.chars().take(MOST_SHOWN).collect();
    line += &format!(" {shown}");
    if shown.len() < text.len() {
        line.push('…');
    }
    line
}

/// The form that the person fills in.
fn form() -> Value {
    json!({
        "type": "object",
        "properties": { CONFIRM: {
            "type": "boolean", "title": "Write it", "description": "True: send it to the station.", "default": false,
        } },
        "required": [CONFIRM],
    })
}

fn decision(answers: &Map<String, Value>) -> Answer {
    let answer = answers.get(CONFIRM);
    let member = |pointer: &str| answer.and_then(|answer| answer.pointer(pointer));
    match member("/action").and_then(Value::as_str) {
        Some("accept") if member("/content/confirm") == Some(&Value::Bool(true)) => Answer::Yes,
        Some("accept" | "decline") => Answer::No("the person declined"),
        _ => Answer::No("the person did not decide"),
    }
}

fn stale() -> ToolError {
    ToolError::new(
        ErrorCode::PermissionDenied,
        "The confirmation is not valid: it counts once, for two minutes, and for the very arguments that it was given for. \
         Call without 'confirm' to get a new one.",
    )
    .with("policy", "confirmation")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::clock::TestClock;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().expect("an object").clone()
    }

    #[test]
    fn a_token_counts_once_for_two_minutes_and_for_the_same_call_only() {
        let clock = Arc::new(TestClock::at("2026-11-02T10:00:00Z".parse().expect("time")));
        let confirmations = Confirmations::new(clock.clone());
        let olga = Principal::User {
            name: "olga".into(),
        };
        let arguments = map(json!({"ord": "slot:/A", "value": {"b": 1, "a": 2}, "dryRun": true}));
        let bound = bound_to(&olga, "removeComponent", &arguments);
        let issue = || confirmations.issue(&olga, bound).expect("a token");

        let token = issue();
        let reordered = map(
            json!({"value": {"a": 2, "b": 1}, "ord": "slot:/A", "dryRun": false, "confirm": token}),
        );
        assert_eq!(bound_to(&olga, "removeComponent", &reordered), bound);
        assert!(confirmations.redeem(&token, &bound));
        assert!(!confirmations.redeem(&token, &bound), "used up");

        for other in [
            bound_to(&Principal::Service, "removeComponent", &arguments),
            bound_to(&olga, "setSlot", &arguments),
            bound_to(&olga, "removeComponent", &map(json!({"ord": "slot:/B"}))),
        ] {
            assert!(!confirmations.redeem(&issue(), &other));
        }
        let token = issue();
        clock.advance(CONFIRMATION_TIME);
        assert!(!confirmations.redeem(&token, &bound), "too old");
        assert!(!confirmations.redeem("made up", &bound));
    }

    #[test]
    fn many_questions_push_out_the_oldest_of_their_caller_only() {
        let clock = Arc::new(TestClock::at("2026-11-02T10:00:00Z".parse().expect("time")));
        let confirmations = Confirmations::new(clock.clone());
        let olga = Principal::User {
            name: "olga".into(),
        };
        let bound = |caller: &Principal| bound_to(caller, "setSlot", &Map::new());
        let issue = |caller: &Principal| {
            clock.advance(Duration::from_millis(1));
            confirmations.issue(caller, bound(caller)).expect("a token")
        };
        let service = issue(&Principal::Service);
        let (first, second) = (issue(&olga), issue(&olga));
        for _ in 0..MOST_OPEN - 1 {
            issue(&olga);
        }
        assert!(!confirmations.redeem(&first, &bound(&olga)));
        assert!(confirmations.redeem(&second, &bound(&olga)));
        assert!(confirmations.redeem(&service, &bound(&Principal::Service)));
    }

    #[test]
    fn a_question_names_every_write() {
        let attempt = |ord: &str, arguments: Value| {
            let started = "2026-11-02T10:00:00Z".parse().expect("time");
            Attempt::new(
                started,
                "olga",
                "applyWrites",
                "write",
                ord,
                &map(arguments),
                false,
            )
        };
        let ords: Vec<String> = (0..50).map(|number| format!("slot:/P{number}")).collect();
        let writes: Vec<Attempt> = ords
            .iter()
            .enumerate()
            .map(|(number, ord)| attempt(ord, json!({"ord": ord, "value": number})))
            .collect();
        let places: Vec<&str> = ords.iter().map(String::as_str).collect();
        let text = question("applyWrites", &writes, &places, "it is so");
        assert!(
            text.contains("50 writes") && text.contains("'olga'"),
            "{text}"
        );
        for (number, ord) in ords.iter().enumerate() {
            let line = format!("\n- write {ord} {{\"value\":{number}}}");
            assert!(text.contains(&line), "{line} in {text}");
        }
        let long = attempt(
            "slot:/A",
            json!({"ord": "slot:/A", "value": "ü".repeat(200)}),
        );
        let text = question(
            "ackAlarm",
            &[long.clone(), long],
            &["slot:/B", "slot:/B"],
            "x",
        );
        let line = text.lines().last().expect("a line");
        assert!(
            line.starts_with("- write slot:/B {\"value\":\"üü"),
            "{line}"
        );
        assert!(
            line.ends_with("ü… (2 times)") && line.chars().count() < 200,
            "{line}"
        );
    }

    #[test]
    fn only_a_clear_yes_is_a_yes() {
        let decided = |answer: Value| decision(&map(json!({ "confirm": answer })));
        let yes = json!({"action": "accept", "content": {"confirm": true}});
        assert!(matches!(decided(yes), Answer::Yes));
        for no in [
            json!({"action": "accept", "content": {"confirm": false}}),
            json!({"action": "accept"}),
            json!({"action": "decline", "content": {"confirm": true}}),
            json!({"action": "cancel"}),
            json!({}),
        ] {
            assert!(matches!(decided(no), Answer::No(_)));
        }
    }
}
