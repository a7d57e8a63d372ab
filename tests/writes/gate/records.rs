//! What is recorded of writes, on disks that fail and of calls that are torn down, and what is in no record.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mock_station::model::accounts::ADMIN;
use niagara_bridge::audit::{AppendFile, AuditOptions, JOURNAL_NAME, LOG_NAME, on_disk};
use niagara_bridge::tools::ToolError;
use niagara_bridge::tools::write_gate::{Gated, WriteRequest, Written};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use super::write;
use crate::office::{OTHER_POINT, OWN_POINT, Office, context};

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

#[tokio::test]
async fn an_audit_file_that_cannot_be_opened_refuses_writes_until_it_can() {
    for name in [JOURNAL_NAME, LOG_NAME] {
        let office = Office::new().await;
        // A folder in its place stands in the way of every user, the superuser included.
        std::fs::create_dir(office.file(name)).expect("a folder");
        let arguments = write(OTHER_POINT, json!(21));
        let answer = office.call_as(ADMIN, "writePoint", arguments.clone()).await;
        let text = answer["content"][0]["text"].to_string();
        assert_eq!(answer["errorCode"], -32603, "{answer}");
        assert_eq!(answer["errorData"]["kind"], "audit");
        for part in ["was not sent", JOURNAL_NAME, LOG_NAME, "rights"] {
            assert!(text.contains(part), "{name}: {text}");
        }
        assert_eq!(office.site.writes(), [], "{name}");
        std::fs::remove_dir(office.file(name)).expect("removed");
        office.answer(ADMIN, "writePoint", arguments).await;
        assert_eq!(office.site.writes().len(), 1, "{name}");
        let line = office.last_line(1, 2);
        assert_eq!(line["resultOk"], true, "{name}");
    }
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
