//! The gate of all writes: rules, rate, confirmation, records, and what becomes of calls that do not end well.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use futures::FutureExt;
use futures::future::BoxFuture;
use mock_station::model::accounts::{ADMIN, OPERATOR, VIEWER};
use niagara_bridge::audit::{AppendFile, AuditOptions, JOURNAL_NAME, LOG_NAME, on_disk};
use niagara_bridge::tools::write_gate::{Gated, WriteRequest, Written};
use niagara_bridge::tools::{
    Asking, CallContext, Client, ClientPort, LogLevel, Question, ToolError,
};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use crate::office::{OTHER_POINT, OWN_POINT, Office, context, failure_of};

fn write(ord: &str, value: Value) -> Value {
    json!({"ord": ord, "value": value, "priority": 10})
}

#[tokio::test]
async fn a_read_only_bridge_sends_nothing_names_the_key_and_records_the_refusal() {
    let office = Office::with(json!({"enabled": false}), AuditOptions::default()).await;
    let arguments = write(OTHER_POINT, json!(21));
    let (code, data) = office.failure(ADMIN, "writePoint", arguments.clone()).await;
    assert_eq!((code, &data["policy"]), (-32010, &json!("read-only")));
    assert!(
        data["remedy"].to_string().contains("writes.enabled: true"),
        "{data}"
    );
    assert_eq!(data["operation"], "write");
    assert_eq!(office.site.writes(), []);
    assert_eq!(
        office.site.frozen.station.requests().len(),
        0,
        "the station is not even asked"
    );
    let line = office.last_line(0, 1);
    assert_eq!(line["resultOk"], false);
    assert_eq!(line["errorCode"], "-32010");
    assert_eq!(line["policy"], "read-only");

    office.allow(json!({}));
    office.answer(ADMIN, "writePoint", arguments).await;
    assert_eq!(office.last_line(1, 2)["user"], "admin");
}

#[tokio::test]
async fn rules_hold_for_handles_too_and_change_while_the_bridge_runs() {
    let office = Office::with(
        json!({"deny": ["slot:/Logic/**"], "priorities": ["10"]}),
        AuditOptions::default(),
    )
    .await;
    let handle = format!("h:{}", office.site.handle("slot:/Logic/Setpoint"));
    for ord in [OTHER_POINT, "slot:/Logic/Setpoint/", &handle] {
        let (code, data) = office
            .failure(ADMIN, "writePoint", write(ord, json!(21)))
            .await;
        assert_eq!(
            (code, &data["policy"]),
            (-32010, &json!("ord-denied")),
            "{ord}"
        );
        assert_eq!(data["ord"], ord);
        assert_eq!(office.log().last().expect("a line")["ord"], ord);
    }
    let (_, data) = office
        .failure(
            ADMIN,
            "writePoint",
            json!({"ord": OWN_POINT, "value": 21, "priority": 11}),
        )
        .await;
    assert_eq!(data["policy"], "priority");
    assert_eq!(office.site.writes(), []);
    office.allow(json!({}));
    let arguments = write(&handle, json!(21));
    office.answer(ADMIN, "writePoint", arguments).await;
    assert_eq!(
        office.records("intent")[0]["path"],
        "slot:/Logic/Setpoint",
        "the records name the place"
    );
    let (code, data) = office
        .failure(ADMIN, "writePoint", write("nowhere", json!(21)))
        .await;
    assert_eq!((code, &data["ord"]), (-32006, &json!("nowhere")));
    assert_eq!(office.last_line(1, 6)["policy"], "not-resolved");
}

#[tokio::test]
async fn who_writes_too_often_waits_and_others_go_on() {
    let office = Office::with(json!({"ratePerMinute": 2}), AuditOptions::default()).await;
    for value in [20, 21] {
        let arguments = write(OWN_POINT, json!(value));
        office.answer(OPERATOR, "writePoint", arguments).await;
    }
    let (code, data) = office
        .failure(OPERATOR, "writePoint", write(OWN_POINT, json!(22)))
        .await;
    assert_eq!((code, &data["policy"]), (-32010, &json!("rate")));
    let wait = data["retryAfterSeconds"].as_u64().expect("seconds");
    assert!((1..=30).contains(&wait), "{wait}");
    let arguments = write(OWN_POINT, json!(23));
    office.answer(ADMIN, "writePoint", arguments).await;
    assert_eq!(office.site.writes().len(), 3);
    assert_eq!(office.last_line(3, 4)["user"], "admin");
}

#[tokio::test]
async fn a_question_is_no_write_and_what_never_fits_is_to_be_split() {
    let office = Office::with(json!({"ratePerMinute": 2}), AuditOptions::default()).await;
    let manual = json!({"ord": OTHER_POINT, "value": 21, "priority": 8});
    for _ in 0..5 {
        let (_, data) = office.failure(ADMIN, "writePoint", manual.clone()).await;
        assert_eq!(data["policy"], "confirmation");
    }
    for _ in 0..2 {
        let answer = office.confirmed(ADMIN, "writePoint", manual.clone()).await;
        assert_eq!(answer["isError"], false, "{answer}");
    }
    let answer = office.confirmed(ADMIN, "writePoint", manual).await;
    let (code, data) = failure_of(&answer);
    assert_eq!((code, &data["policy"]), (-32010, &json!("rate")));
    assert!(data["retryAfterSeconds"].is_u64(), "{data}");
    assert_eq!(office.site.writes().len(), 2);

    let caller = context(Some(OPERATOR.user));
    let (call, own) = (Map::new(), Map::new());
    let three = [WriteRequest::new("setSlot", "set", OWN_POINT, &own); 3];
    let refused = office.gate.admit(&caller, "applyWrites", &call, &three);
    let error = refused.await.map(|_| ()).expect_err("too many");
    assert_eq!(error.data["policy"], "rate");
    assert_eq!(error.data.get("retryAfterSeconds"), None, "no wait helps");
    for part in ["3 writes", "split"] {
        assert!(error.message.contains(part), "{}", error.message);
    }
    let two = office
        .gate
        .admit(&caller, "applyWrites", &call, &three[..2]);
    assert!(two.await.is_ok(), "what never fits costs nothing");
}

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
    let answer = call(yes.clone(), Some(state)).await;
    assert_eq!(answer["isError"], false, "{answer}");
    let again = call(yes, Some(state)).await;
    assert_eq!(again["isError"], true, "an answer counts once: {again}");
    assert_eq!(office.site.writes().len(), 1);
    assert_eq!(office.last_line(1, 3)["policy"], "confirmation");
}

/// A disk that is full while the switch is on, and whose next sync fails where it is told so.
struct Disk {
    file: Box<dyn AppendFile>,
    full: Arc<AtomicBool>,
    failing_sync: Arc<AtomicBool>,
}

impl AppendFile for Disk {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.full.load(Ordering::SeqCst) {
            true => Err(io::Error::from(io::ErrorKind::StorageFull)),
            false => self.file.append(bytes),
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        match self.failing_sync.swap(false, Ordering::SeqCst) {
            true => Err(io::Error::other("the disk forgot")),
            false => self.file.sync(),
        }
    }
}

/// The audit on such a disk.
fn on_disk_that_fails(full: &Arc<AtomicBool>, failing_sync: &Arc<AtomicBool>) -> AuditOptions {
    let (full, failing_sync) = (full.clone(), failing_sync.clone());
    let open = on_disk();
    AuditOptions {
        open: Arc::new(move |path: &Path| {
            let (full, failing_sync) = (full.clone(), failing_sync.clone());
            let file = open(path)?;
            Ok(Box::new(Disk {
                file,
                full,
                failing_sync,
            }) as Box<dyn AppendFile>)
        }),
        ..AuditOptions::default()
    }
}

#[tokio::test]
async fn an_intent_that_reached_the_disk_without_proof_gets_one_outcome() {
    let (full, failing_sync) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
    let options = on_disk_that_fails(&full, &failing_sync);
    let office = Office::with(json!({}), options).await;
    let arguments = write(OTHER_POINT, json!(21));
    office.answer(ADMIN, "writePoint", arguments.clone()).await;
    office.site.writes();
    failing_sync.store(true, Ordering::SeqCst);
    let (code, data) = office.failure(ADMIN, "writePoint", arguments.clone()).await;
    assert_eq!((code, &data["kind"]), (-32603, &json!("audit")));
    assert_eq!(office.site.writes(), [], "nothing was sent");
    office.answer(ADMIN, "writePoint", arguments).await;
    office.last_line(3, 3);
    let refused = &office.log()[1];
    assert_eq!(
        (&refused["policy"], &refused["outcome"]),
        (&json!("audit"), &json!("refused"))
    );
}

#[tokio::test]
async fn what_cannot_be_recorded_is_not_sent() {
    let (full, failing_sync) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
    let options = on_disk_that_fails(&full, &failing_sync);
    let office = Office::with(json!({}), options).await;
    let arguments = write(OTHER_POINT, json!(21));
    office.answer(ADMIN, "writePoint", arguments.clone()).await;
    office.site.writes();

    full.store(true, Ordering::SeqCst);
    let (code, data) = office.failure(ADMIN, "writePoint", arguments.clone()).await;
    assert_eq!((code, &data["kind"]), (-32603, &json!("audit")));
    assert_eq!(office.site.writes(), [], "nothing was sent");
    assert!(office.trail.failure().is_some());

    full.store(false, Ordering::SeqCst);
    office.answer(ADMIN, "writePoint", arguments).await;
    assert_eq!(office.site.writes().len(), 1);
    let line = office.last_line(2, 3);
    assert_eq!(line["resultOk"], true);
    let refused = &office.log()[1];
    assert_eq!(
        (&refused["policy"], &refused["outcome"]),
        (&json!("audit"), &json!("refused")),
        "the refusal is recorded when the disk works again"
    );
    assert_eq!(office.trail.failure(), None);
}

fn request<'a>(arguments: &'a Map<String, Value>) -> WriteRequest<'a> {
    WriteRequest::new("setSlot", "set", OTHER_POINT, arguments)
}

#[tokio::test]
async fn a_call_that_is_torn_down_leaves_an_outcome() {
    let office = Arc::new(Office::new().await);
    let begun = Arc::new(Notify::new());
    let task = tokio::spawn({
        let (office, begun) = (office.clone(), begun.clone());
        async move {
            let arguments = Map::new();
            let work = |_| async move {
                begun.notify_one();
                std::future::pending().await
            };
            let caller = context(Some(ADMIN.user));
            office
                .gate
                .run::<(), _, _>(&caller, request(&arguments), work)
                .await
        }
    });
    begun.notified().await;
    assert_eq!(office.records("outcome").len(), 0);
    task.abort();
    assert!(task.await.expect_err("aborted").is_cancelled());
    assert_eq!(office.last_line(1, 1)["outcome"], "inDoubt");

    let task = tokio::spawn({
        let office = office.clone();
        async move {
            let arguments = Map::new();
            let caller = context(Some(ADMIN.user));
            let fault = |_| async { panic!("a fault of a tool") };
            let run = office
                .gate
                .run::<(), _, _>(&caller, request(&arguments), fault);
            run.await
        }
    });
    assert!(task.await.expect_err("a panic").is_panic());
    let line = office.last_line(2, 2);
    assert_eq!(
        (&line["outcome"], &line["resultOk"]),
        (&json!("inDoubt"), &json!(false))
    );
}

#[tokio::test]
async fn several_writes_of_a_call_are_confirmed_together_and_recorded_one_by_one() {
    let office = Office::with(
        json!({"confirm": ["slot:/Ahu1/**"]}),
        AuditOptions::default(),
    )
    .await;
    let caller = context(Some(ADMIN.user));
    let mut call = Map::new();
    call.insert("plan".to_owned(), json!("p-1"));
    let (first, second) = (Map::new(), Map::new());
    let requests = [
        WriteRequest::new("setSlot", "set", OTHER_POINT, &first),
        WriteRequest::new("setSlot", "set", OWN_POINT, &second),
    ];
    let asked = office.gate.admit(&caller, "applyWrites", &call, &requests);
    let error = asked.await.map(|_| ()).expect_err("a question");
    assert_eq!(office.last_line(0, 2)["policy"], "confirmation");
    call.insert("confirm".to_owned(), error.data["confirm"].clone());
    let admitted = office.gate.admit(&caller, "applyWrites", &call, &requests);
    let admitted = admitted.await.expect("admitted");
    let niagara_bridge::tools::write_gate::Admission::Granted(passes) = admitted else {
        panic!("passes");
    };
    for (number, pass) in passes.into_iter().enumerate() {
        let outcome = office
            .gate
            .perform(pass, |write| async move {
                match number {
                    0 => Ok(Written::new(write.path.to_string()).from(1).to(2)),
                    _ => Err(ToolError::invalid_params("no").into()),
                }
            })
            .await;
        assert_eq!(
            outcome.ok(),
            (number == 0).then(|| "slot:/Logic/Setpoint".to_owned())
        );
    }
    let line = office.last_line(2, 4);
    assert_eq!(
        (&line["outcome"], &line["errorCode"]),
        (&json!("failed"), &json!("-32602"))
    );
    assert_eq!(office.log()[2]["newValue"], 2);
    let counts = office.gate.counts().all();
    let counted = |verdict| {
        let found = counts.iter().find(|(_, ending, _)| *ending == verdict);
        found.map_or(0, |(_, _, count)| *count)
    };
    assert_eq!(
        (counted("done"), counted("failed"), counted("refused")),
        (1, 1, 2)
    );
}

#[tokio::test]
async fn secrets_among_the_arguments_are_in_no_record() {
    let office = Office::new().await;
    let arguments = json!({"slotName": "smtpPassword", "value": "Sentinel-pass-1", "note": "password=Sentinel-pass-2"});
    let arguments = arguments.as_object().expect("an object").clone();
    let caller = context(Some(ADMIN.user));
    let done = office
        .gate
        .run(&caller, request(&arguments), |_| async {
            Ok(Written::new(())
                .from("Sentinel-old-1")
                .to("Sentinel-pass-1"))
        })
        .await;
    assert_eq!(done, Ok(Gated::Done(())));
    office.last_line(1, 1);
    for file in [LOG_NAME, JOURNAL_NAME] {
        let text = std::fs::read_to_string(office.file(file)).expect("readable");
        assert!(!text.contains("Sentinel"), "{text}");
    }
}

#[tokio::test]
async fn errors_about_a_secret_do_not_repeat_it_in_the_records() {
    let office = Office::new().await;
    let arguments = json!({"slotName": "pinCredential", "value": "Sentinel-pin-1"});
    let arguments = arguments.as_object().expect("an object").clone();
    let caller = context(Some(ADMIN.user));
    let run = office
        .gate
        .run::<(), _, _>(&caller, request(&arguments), |_| async {
            Err(ToolError::invalid_params("Sentinel-pin-1 is no number").into())
        });
    assert!(run.await.is_err());
    let line = office.last_line(1, 1);
    assert!(!line.to_string().contains("Sentinel"), "{line}");
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

#[tokio::test]
async fn a_viewer_is_refused_by_the_station_and_a_user_without_a_password_by_the_bridge() {
    let office = Office::new().await;
    let (code, data) = office
        .failure(VIEWER, "writePoint", write(OTHER_POINT, json!(21)))
        .await;
    assert_eq!(code, -32010);
    assert_eq!(
        (
            &data["user"],
            &data["tool"],
            &data["operation"],
            &data["ord"]
        ),
        (
            &json!("viewer"),
            &json!("writePoint"),
            &json!("write"),
            &json!(OTHER_POINT)
        )
    );
    assert!(data["detail"].is_string(), "the station's words: {data}");
    assert_eq!(office.last_line(1, 1)["outcome"], "failed");
    let unbound = office.call(
        context(Some("nobody")),
        "writePoint",
        write(OTHER_POINT, json!(21)),
    );
    let error = unbound.await.expect_err("refused");
    assert_eq!(error.code.code(), -32011);
    assert_eq!(error.data["requiresUserContext"], true);
}
