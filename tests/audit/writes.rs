//! Intent before, outcome after, exactly one of each.

use std::panic::AssertUnwindSafe;

use niagara_bridge::audit::{
    AuditOptions, Ending, JOURNAL_NAME, LOG_NAME, Verdict, verify, verify_archived,
};
use serde_json::json;

use super::support::{Audit, TOOK, attempt, begun, done, write};

#[test]
fn the_intent_is_on_the_disk_before_the_write_and_the_outcome_after_it() {
    let audit = Audit::new();
    let trail = audit.process();
    let open = begun(&trail, 7);
    assert_eq!(audit.kinds(), ["file", "intent"]);
    assert!(audit.log().is_empty());
    open.finish(&done());
    let journal = audit.journal();
    assert_eq!(audit.kinds(), ["file", "intent", "outcome"]);
    assert_eq!(journal[1]["tool"], "setSlot");
    assert_eq!(
        journal[1]["args"],
        json!({ "slotName": "setpoint", "value": 7 })
    );
    assert_eq!(journal[2]["intent"], journal[1]["seq"]);
    let log = audit.log();
    assert_eq!(log.len(), 1);
    assert_eq!(log[0]["user"], "maria");
    assert_eq!(log[0]["resultOk"], true);
    assert_eq!(log[0]["durationMs"], 12);
    assert_eq!(log[0]["requestId"], "r-7");
    assert_eq!(
        (&log[0]["oldValue"], &log[0]["newValue"]),
        (&json!(20.0), &json!(21.5))
    );
    let found = verify(audit.folder()).expect("whole");
    assert_eq!((found.records, found.outcomes, found.log_lines), (3, 1, 1));
    assert_eq!(found.open_intents, 0);
}

#[test]
fn what_the_policy_refuses_is_recorded_without_an_intent() {
    let audit = Audit::new();
    let trail = audit.process();
    let ending = Ending::not_done(Verdict::Refused, TOOK, -32010, "writes.enabled is false");
    trail.refused(&attempt(1), "read-only", &ending);
    assert_eq!(audit.kinds(), ["file", "outcome"]);
    let log = audit.log();
    assert_eq!(log[0]["resultOk"], false);
    assert_eq!(log[0]["errorCode"], "-32010");
    assert_eq!(log[0]["policy"], "read-only");
    verify(audit.folder()).expect("whole");
}

#[test]
fn a_write_that_panics_or_is_given_up_is_in_doubt() {
    let audit = Audit::new();
    let trail = audit.process();
    let open = begun(&trail, 1);
    let outcome = std::panic::catch_unwind(AssertUnwindSafe(move || {
        let _open = open;
        std::panic::resume_unwind(Box::new("the answer was never read"));
    }));
    assert!(outcome.is_err());
    drop(begun(&trail, 2));
    let log = audit.log();
    assert_eq!(log.len(), 2);
    for line in &log {
        assert_eq!(line["outcome"], "inDoubt");
        assert_eq!(line["errorCode"], "-32603");
    }
    assert_eq!(verify(audit.folder()).expect("whole").outcomes, 2);
}

#[test]
fn a_killed_process_leaves_an_intent_that_the_next_one_closes_once() {
    let audit = Audit::new();
    let trail = audit.process();
    write(&trail, 1);
    // A kill runs no destructor.
    std::mem::forget(begun(&trail, 2));
    assert_eq!(verify(audit.folder()).expect("whole").open_intents, 1);
    drop(trail);
    for _ in 0..2 {
        audit.process().resume().expect("opens");
    }
    let log = audit.log();
    assert_eq!(log.len(), 2);
    assert_eq!(log[1]["outcome"], "inDoubt");
    assert_eq!(log[1]["requestId"], "r-2");
    assert_eq!(
        log[1]["args"],
        json!({ "slotName": "setpoint", "value": 2 })
    );
    let found = verify(audit.folder()).expect("whole");
    assert_eq!((found.outcomes, found.open_intents), (2, 0));
}

#[test]
fn a_write_that_runs_across_a_rotation_of_the_journal_is_closed_in_the_next_file() {
    let audit = Audit::with(AuditOptions {
        journal_bytes: 1500,
        ..AuditOptions::default()
    });
    let trail = audit.process();
    let long = begun(&trail, 1);
    (2..12).for_each(|number| write(&trail, number));
    std::mem::forget(begun(&trail, 12));
    long.finish(&done());
    drop(trail);
    audit.process().resume().expect("opens");
    let found = verify(audit.folder()).expect("whole");
    assert!(found.files > 3, "{found:?}");
    assert_eq!((found.outcomes, found.open_intents), (12, 0));
    assert_eq!(audit.log().last().expect("a line")["requestId"], "r-12");
}

#[test]
fn the_log_keeps_five_earlier_files_and_the_journal_everything() {
    let audit = Audit::with(AuditOptions {
        log_bytes: 900,
        journal_bytes: 4000,
        ..AuditOptions::default()
    });
    let trail = audit.process();
    (1..=40).for_each(|number| write(&trail, number));
    let size = |name: &str| std::fs::metadata(audit.file(name)).expect("a file").len();
    for age in 1..=5 {
        assert!(size(&format!("{LOG_NAME}.{age}")) <= 900);
    }
    assert!(!audit.file(&format!("{LOG_NAME}.6")).exists());
    let found = verify(audit.folder()).expect("whole");
    assert_eq!(found.outcomes, 40);
    assert!(found.log_lines < 40 && found.log_lines >= 6, "{found:?}");
    assert_eq!(audit.log().last().expect("a line")["requestId"], "r-40");

    // Earlier files may be archived elsewhere.
    std::fs::remove_file(audit.file(&format!("{JOURNAL_NAME}.000001"))).expect("removed");
    let error = verify(audit.folder()).expect_err("missing").to_string();
    assert!(error.contains("--archived"), "{error}");
    let found = verify_archived(audit.folder()).expect("whole");
    assert!(found.first_record > 1 && found.outcomes < 40, "{found:?}");
}

#[test]
fn many_writers_at_once_leave_one_unbroken_chain() {
    let audit = Audit::with(AuditOptions {
        log_bytes: 20_000,
        journal_bytes: 20_000,
        ..AuditOptions::default()
    });
    let trail = audit.process();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let trail = &trail;
            scope.spawn(move || (0..10).for_each(|number| write(trail, writer * 10 + number)));
        }
    });
    let found = verify(audit.folder()).expect("whole");
    assert_eq!((found.outcomes, found.open_intents), (80, 0));
}

#[test]
fn no_secret_reaches_the_files() {
    let audit = Audit::new();
    let trail = audit.process();
    let arguments = json!({ "slotName": "webPassword", "value": "sentinel-password-1" });
    let mut attempt = niagara_bridge::audit::Attempt::new(
        "2026-03-08T06:59:00Z".parse().expect("time"),
        "maria",
        "setSlot",
        "set",
        "slot:/A",
        arguments.as_object().expect("an object"),
        false,
    );
    attempt.request_id = "r".to_owned();
    let mut ending = Ending::not_done(
        Verdict::Failed,
        TOOK,
        -32603,
        "refused: password=sentinel-password-1 is too short",
    );
    ending.old_value = Some("sentinel-password-0".into());
    trail
        .begin(attempt, "allowed")
        .expect("recorded")
        .finish(&ending);
    for name in [JOURNAL_NAME, LOG_NAME] {
        let text = std::fs::read_to_string(audit.file(name)).expect("text");
        assert!(!text.contains("sentinel"), "{text}");
    }
}
