//! `niagara-bridge audit` as people run it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use niagara_bridge::audit::{Attempt, AuditTrail, Ending, JOURNAL_NAME, Verdict};
use niagara_bridge::clock::Clock;
use serde_json::{Value, json};
use std::sync::Arc;

use super::support::{Audit, object, write};

fn run(arguments: &[&str], folder: &Path) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_niagara-bridge"))
        .arg("audit")
        .args(arguments)
        .arg("--data-dir")
        .arg(folder)
        .stdin(Stdio::null())
        .output()
        .expect("runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    let code = output.status.code().expect("an exit code");
    (code, text(output.stdout), text(output.stderr))
}

/// Three writes of Maria, and one that the service account was refused an hour later.
fn used() -> Audit {
    let audit = Audit::new();
    let trail = audit.process();
    (1..=3).for_each(|number| write(&trail, number));
    audit.clock.advance(Duration::from_secs(3600));
    refused(&audit, &trail);
    audit
}

fn refused(audit: &Audit, trail: &Arc<AuditTrail>) {
    let arguments = object(json!({ "value": 1 }));
    let now = audit.clock.now();
    let attempt = Attempt::new(
        now,
        "service",
        "writePoint",
        "write",
        "slot:/B",
        &arguments,
        false,
    );
    let refusal = Ending::not_done(Verdict::Refused, Duration::ZERO, -32010, "not allowed");
    trail.refused(&attempt, "read-only", &refusal);
}

#[test]
fn the_last_writes_are_told_in_a_line_each() {
    let audit = used();
    let (code, text, _) = run(&["tail", "-n", "2"], audit.folder());
    assert_eq!(code, 0);
    assert_eq!(
        text,
        "2026-03-08T06:59:00.000Z  maria  setSlot (set)  station:|slot:/Drivers/A  done  20.0 → 21.5\n\
         2026-03-08T07:59:00.000Z  service  writePoint (write)  slot:/B  refused  -32010: not allowed\n"
    );
    let (_, text, _) = run(&["tail", "--user", "service"], audit.folder());
    assert_eq!(text.lines().count(), 1);
    let (_, text, _) = run(
        &["tail", "--ord", "Drivers", "--tool", "setSlot"],
        audit.folder(),
    );
    assert_eq!(text.lines().count(), 3);
    let (_, text, _) = run(&["tail", "--since", "2026-03-08T07:00:00Z"], audit.folder());
    assert_eq!(text.lines().count(), 1);
}

#[test]
fn writes_are_exported_as_json_lines_and_csv() {
    let audit = used();
    let (code, text, _) = run(&["export"], audit.folder());
    assert_eq!(code, 0);
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines, audit.log());
    let file = audit.file("out.csv");
    let (code, text, _) = run(
        &[
            "export",
            "--format",
            "csv",
            "--user",
            "maria",
            "--output",
            file.to_str().expect("a path"),
        ],
        audit.folder(),
    );
    assert_eq!((code, text.as_str()), (0, ""));
    let table = std::fs::read_to_string(file).expect("text");
    assert_eq!(table.lines().count(), 4);
    assert!(table.starts_with("ts,user,sessionId,tool,ord,action,args,resultOk,"));
}

#[test]
fn a_changed_byte_ends_verify_with_1_and_the_record() {
    let audit = used();
    let (code, text, _) = run(&["verify"], audit.folder());
    assert_eq!(code, 0);
    assert!(
        text.starts_with(
            "The audit is whole: 8 records in 1 journal files, 4 outcomes, 4 lines of the log.\n"
        ),
        "{text}"
    );
    let path = audit.file(JOURNAL_NAME);
    let journal = std::fs::read_to_string(&path).expect("text");
    std::fs::write(&path, journal.replacen("r-2", "r-9", 1)).expect("written");
    let (code, text, message) = run(&["verify"], audit.folder());
    assert_eq!((code, text.as_str()), (1, ""));
    assert!(
        message
            .contains("line 4 (record 4, intent of setSlot by maria on station:|slot:/Drivers/A)"),
        "{message}"
    );
}

#[test]
fn a_folder_without_an_audit_is_named() {
    let folder = tempfile::tempdir().expect("folder");
    for command in ["tail", "verify", "export"] {
        let (code, _, message) = run(&[command], folder.path());
        assert_eq!(code, 1);
        assert!(
            message.contains("there is no audit.journal in"),
            "{message}"
        );
    }
}

#[test]
fn a_missing_journal_ends_verify_with_1_unless_old_files_are_archived() {
    let audit = Audit::with(niagara_bridge::audit::AuditOptions {
        journal_bytes: 2000,
        ..niagara_bridge::audit::AuditOptions::default()
    });
    let trail = audit.process();
    (1..=9).for_each(|number| write(&trail, number));
    std::fs::remove_file(audit.file(&format!("{JOURNAL_NAME}.000001"))).expect("removed");
    let (code, _, message) = run(&["verify"], audit.folder());
    assert_eq!(code, 1);
    assert!(message.contains("--archived"), "{message}");
    let (code, text, _) = run(&["verify", "--archived"], audit.folder());
    assert_eq!(code, 0);
    assert!(
        text.contains("are in journal files that are not in this folder"),
        "{text}"
    );
    std::fs::remove_file(audit.file(JOURNAL_NAME)).expect("removed");
    let (code, _, message) = run(&["verify", "--archived"], audit.folder());
    assert_eq!(code, 1, "{message}");
}
