//! Confirmations: by token, by a person who is asked, and what counts when that took its time.

use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures::FutureExt;
use futures::future::BoxFuture;
use mock_station::model::accounts::ADMIN;
use niagara_bridge::audit::{JOURNAL_NAME, LOG_NAME};
use niagara_bridge::tools::{Asking, CallContext, Client, ClientPort, LogLevel, Question};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::office::{OTHER_POINT, Office, context, failure_of};

#[tokio::test]
async fn a_token_of_the_first_call_confirms_the_second_once() {
    let office = Office::new().await;
    let arguments = json!({"ord": OTHER_POINT, "value": 21, "priority": 8});
    let (code, data) = office.failure(ADMIN, "writePoint", arguments.clone()).await;
    assert_eq!((code, &data["policy"]), (-32010, &json!("confirmation")));
    assert_eq!(data["expiresInSeconds"], 120);
    assert_eq!(office.site.writes(), [], "nothing was sent yet");
    let token = data["confirm"].as_str().expect("a token").to_owned();

    let with_token = |arguments: &Value| {
        let mut arguments = arguments.clone();
        arguments["confirm"] = json!(token);
        arguments
    };
    let other = json!({"ord": OTHER_POINT, "value": 29, "priority": 8});
    let (code, data) = office
        .failure(ADMIN, "writePoint", with_token(&other))
        .await;
    assert_eq!((code, &data["policy"]), (-32010, &json!("confirmation")));
    let answer = office
        .call_as(ADMIN, "writePoint", with_token(&arguments))
        .await;
    assert_eq!(answer["isError"], true, "a token that was tried is used up");

    let answer = office.confirmed(ADMIN, "writePoint", arguments).await;
    assert_eq!(answer["structuredContent"]["winning"], true, "{answer}");
    assert_eq!(office.site.writes().len(), 1);
    let line = office.last_line(1, 5);
    assert_eq!(line["policy"], "confirmed");
    assert_eq!(line["args"].get("confirm"), None);
    for file in [LOG_NAME, JOURNAL_NAME] {
        let text = std::fs::read_to_string(office.file(file)).expect("readable");
        assert!(!text.contains(&token), "{file} keeps no token");
    }
}

/// A client whose person answers so.
struct Person {
    capabilities: Value,
    asking: Asking,
    answer: Value,
    asked: Mutex<Vec<Question>>,
}

impl ClientPort for Person {
    fn log(&self, _: LogLevel, _: Value) {}

    fn capabilities(&self) -> &Value {
        &self.capabilities
    }

    fn asking(&self) -> &Asking {
        &self.asking
    }

    fn ask(&self, question: Question) -> BoxFuture<'_, Result<Value, String>> {
        self.asked.lock().expect("no panic").push(question);
        std::future::ready(Ok(self.answer.clone())).boxed()
    }
}

fn person(asking: Asking, answer: Value) -> Arc<Person> {
    Arc::new(Person {
        capabilities: json!({"elicitation": {}}),
        asking,
        answer,
        asked: Mutex::default(),
    })
}

fn asked_by(person: &Arc<Person>) -> CallContext {
    let mut context = context(Some(ADMIN.user));
    context.client = Client::at(person.clone());
    context
}

#[tokio::test]
async fn a_person_who_can_be_asked_decides() {
    let office = Office::new().await;
    let arguments = json!({"ord": OTHER_POINT, "value": 21, "priority": 1});
    let no = person(Asking::Now, json!({"action": "decline"}));
    let answer = office
        .call(asked_by(&no), "writePoint", arguments.clone())
        .await
        .expect("answered");
    let (code, data) = failure_of(&answer);
    assert_eq!((code, &data["policy"]), (-32010, &json!("confirmation")));
    assert_eq!(data.get("confirm"), None, "a no is a no");
    assert_eq!(office.site.writes(), []);

    let yes = person(
        Asking::Now,
        json!({"action": "accept", "content": {"confirm": true}}),
    );
    let answer = office
        .call(asked_by(&yes), "writePoint", arguments)
        .await
        .expect("answered");
    assert_eq!(answer["isError"], false, "{answer}");
    let question = yes.asked.lock().expect("no panic")[0].clone();
    let message = question.params["message"].as_str().expect("a message");
    for part in [
        "writePoint",
        "'admin'",
        "emergency level",
        OTHER_POINT,
        "21",
    ] {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(office.last_line(1, 2)["policy"], "confirmed");
}

#[tokio::test]
async fn a_client_that_repeats_calls_is_asked_by_the_answer() {
    let office = Office::new().await;
    let arguments = json!({"ord": OTHER_POINT, "value": 21, "priority": 8});
    let call = async |answers: Value, state: Option<&str>| {
        let asking = Asking::NextCall {
            answers: answers.as_object().expect("an object").clone(),
            state: state.map(str::to_owned),
        };
        let context = asked_by(&person(asking, Value::Null));
        office
            .call(context, "writePoint", arguments.clone())
            .await
            .expect("answered")
    };
    let yes = json!({"confirm": {"action": "accept", "content": {"confirm": true}}});
    let made_up = call(yes.clone(), None).await;
    assert_eq!(made_up["isError"], true, "nobody was asked that: {made_up}");
    let asked = call(json!({}), None).await;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    assert_eq!(
        asked["inputRequests"]["confirm"]["method"],
        "elicitation/create"
    );
    assert_eq!(office.site.writes(), []);
    let state = asked["requestState"].as_str().expect("a state");
    let (body, _) = state.split_once('.').expect("a seal");
    let body = URL_SAFE_NO_PAD.decode(body).expect("Base64");
    let body: Value = serde_json::from_slice(&body).expect("JSON");
    let mut by_token = arguments.clone();
    by_token["confirm"] = body["confirm"].clone();
    let by_token = office.call_as(ADMIN, "writePoint", by_token).await;
    assert_eq!(by_token["isError"], true, "nobody was asked: {by_token}");
    assert_eq!(office.site.writes(), []);
    let asked = call(json!({}), None).await;
    let state = asked["requestState"].as_str().expect("a state");
    let answer = call(yes.clone(), Some(state)).await;
    assert_eq!(answer["isError"], false, "{answer}");
    let again = call(yes, Some(state)).await;
    assert_eq!(again["isError"], true, "an answer counts once: {again}");
    assert_eq!(office.site.writes().len(), 1);
    assert_eq!(office.last_line(1, 4)["policy"], "confirmation");
}

#[tokio::test]
async fn rules_that_change_while_a_person_decides_hold_for_the_write() {
    let office = Arc::new(Office::new().await);
    let slow = Arc::new(Slow {
        inner: person(
            Asking::Now,
            json!({"action": "accept", "content": {"confirm": true}}),
        ),
        asked: Notify::new(),
        decided: Notify::new(),
    });
    let mut caller = context(Some(ADMIN.user));
    caller.client = Client::at(slow.clone());
    let arguments = json!({"ord": OTHER_POINT, "value": 21, "priority": 8});
    let call = office.call(caller, "writePoint", arguments);
    let meanwhile = async {
        slow.asked.notified().await;
        office.allow(json!({"enabled": false}));
        slow.decided.notify_one();
    };
    let (answer, ()) = tokio::join!(call, meanwhile);
    let (code, data) = failure_of(&answer.expect("answered"));
    assert_eq!((code, &data["policy"]), (-32010, &json!("read-only")));
    assert_eq!(office.site.writes(), []);
    office.last_line(0, 1);
}

/// A person who decides when the test says so.
struct Slow {
    inner: Arc<Person>,
    asked: Notify,
    decided: Notify,
}

impl ClientPort for Slow {
    fn log(&self, _: LogLevel, _: Value) {}

    fn capabilities(&self) -> &Value {
        self.inner.capabilities()
    }

    fn asking(&self) -> &Asking {
        self.inner.asking()
    }

    fn ask(&self, question: Question) -> BoxFuture<'_, Result<Value, String>> {
        async move {
            self.asked.notify_one();
            self.decided.notified().await;
            self.inner.ask(question).await
        }
        .boxed()
    }
}
