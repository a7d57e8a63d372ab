//! One changed byte anywhere is found, and the record named; what a crash cut is marked and mended.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use niagara_bridge::audit::{AuditError, AuditOptions, JOURNAL_NAME, LOG_NAME, verify};
use proptest::prelude::*;

use super::support::{Audit, begun, write};

fn append(path: &Path, bytes: &[u8]) {
    let mut file = OpenOptions::new().append(true).open(path).expect("opens");
    file.write_all(bytes).expect("written");
}

fn cut(path: &Path, bytes: u64) {
    let file = OpenOptions::new().write(true).open(path).expect("opens");
    let length = file.metadata().expect("facts").len();
    file.set_len(length - bytes).expect("cut");
}

/// Files after rotations, a torn line, an open write and refusals.
fn eventful() -> Audit {
    let audit = Audit::with(AuditOptions {
        log_bytes: 1500,
        journal_bytes: 6000,
        ..AuditOptions::default()
    });
    let trail = audit.process();
    (1..9).for_each(|number| write(&trail, number));
    std::mem::forget(begun(&trail, 9));
    drop(trail);
    append(&audit.file(JOURNAL_NAME), b"{\"seq\":99,\"kind\":\"int");
    let trail = audit.process();
    (10..14).for_each(|number| write(&trail, number));
    audit
}

struct Whole {
    audit: Audit,
    files: Vec<(PathBuf, Vec<u8>)>,
}

/// Made once: the property only copies it.
static WHOLE: LazyLock<Whole> = LazyLock::new(|| {
    let audit = eventful();
    verify(audit.folder()).expect("whole");
    let entries = std::fs::read_dir(audit.folder()).expect("listed");
    let mut files: Vec<(PathBuf, Vec<u8>)> = entries
        .map(|entry| entry.expect("an entry").path())
        .map(|path| {
            (
                PathBuf::from(path.file_name().expect("a name")),
                std::fs::read(&path).expect("bytes"),
            )
        })
        .collect();
    files.sort();
    Whole { audit, files }
});

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_flipped_byte_anywhere_is_found_and_its_record_named(
        place in any::<prop::sample::Index>(),
        change in 1_u8..,
    ) {
        let whole = &*WHOLE;
        let total: usize = whole.files.iter().map(|(_, bytes)| bytes.len()).sum();
        let mut at = place.index(total);
        let mut flipped = PathBuf::new();
        let mut line = 0;
        let mut note = false;
        let copy = tempfile::tempdir().expect("folder");
        let mut before = 0;
        for (name, bytes) in &whole.files {
            let mut bytes = bytes.clone();
            if (before..before + bytes.len()).contains(&at) {
                let here = at - before;
                line = bytes[..here].iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
                let text = String::from_utf8_lossy(&bytes).into_owned();
                note = text.lines().nth(line as usize - 1).is_some_and(|line| line.contains("\"kind\":\"torn\""));
                bytes[here] ^= change;
                flipped.clone_from(name);
            }
            before += bytes.len();
            std::fs::write(copy.path().join(name), bytes).expect("copied");
        }
        at = before;
        prop_assert_eq!(at, total);
        match verify(copy.path()) {
            Err(AuditError::Damaged { path, line: named, record, .. }) => {
                prop_assert_eq!(path.file_name(), flipped.file_name());
                // The note of a torn line and that line are damaged together.
                prop_assert!(named == line || (note && named + 1 == line), "{} for {}", named, line);
                prop_assert!(record.contains("record"), "{}", record);
            }
            other => prop_assert!(false, "{:?} line {}: {:?}", flipped, line, other),
        }
    }
}

#[test]
fn the_eventful_files_are_whole() {
    let whole = &*WHOLE;
    let found = verify(whole.audit.folder()).expect("whole");
    assert_eq!((found.outcomes, found.open_intents), (13, 0));
    assert!(found.files >= 2 && whole.files.len() >= 5, "{found:?}");
}

#[test]
fn a_torn_last_line_is_kept_and_marked() {
    let audit = Audit::new();
    write(&audit.process(), 1);
    let torn = b"{\"seq\":4,\"kind\":\"intent\",\"ts\":\"2026-";
    append(&audit.file(JOURNAL_NAME), torn);
    let error = verify(audit.folder()).expect_err("cut").to_string();
    assert!(
        error.contains("line 4 (record 4)") && error.contains("no end"),
        "{error}"
    );
    write(&audit.process(), 2);
    verify(audit.folder()).expect("whole again");
    let text = std::fs::read_to_string(audit.file(JOURNAL_NAME)).expect("text");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[3].as_bytes(), torn);
    assert!(
        lines[4].contains("\"kind\":\"torn\"") && lines[4].contains("\"bytes\":36"),
        "{}",
        lines[4]
    );
}

#[test]
fn a_kill_at_any_byte_of_the_journal_is_mended_again_and_again() {
    let audit = Audit::new();
    drop(audit.process().resume());
    let header = std::fs::metadata(audit.file(JOURNAL_NAME))
        .expect("facts")
        .len() as usize;
    let trail = audit.process();
    write(&trail, 1);
    drop(trail);
    append(&audit.file(JOURNAL_NAME), b"{\"seq\":4,\"kind\":\"int");
    write(&audit.process(), 2);
    let whole = std::fs::read(audit.file(JOURNAL_NAME)).expect("bytes");
    let note = whole
        .windows(6)
        .rposition(|part| part == b"\"torn\"")
        .expect("a note");
    // Around the note every byte, elsewhere some.
    let places = (header..whole.len()).filter(|at| at % 41 == 0 || at.abs_diff(note) < 25);
    for at in places {
        let again = Audit::new();
        std::fs::write(again.file(JOURNAL_NAME), &whole[..at]).expect("written");
        write(&again.process(), 3);
        let found = verify(again.folder()).unwrap_or_else(|error| panic!("cut at {at}: {error}"));
        assert_eq!(found.open_intents, 0, "cut at {at}");
        assert_eq!(
            again.log().last().expect("a line")["requestId"],
            "r-3",
            "cut at {at}"
        );
    }
}

#[test]
fn a_record_that_lacks_only_its_line_end_counts() {
    let audit = Audit::new();
    let trail = audit.process();
    write(&trail, 1);
    std::mem::forget(begun(&trail, 2));
    drop(trail);
    cut(&audit.file(JOURNAL_NAME), 1);
    audit.process().resume().expect("opens");
    assert_eq!(
        audit.kinds(),
        ["file", "intent", "outcome", "intent", "outcome"]
    );
    verify(audit.folder()).expect("whole");
}

#[test]
fn what_the_log_lost_is_taken_from_the_journal() {
    let audit = Audit::new();
    let trail = audit.process();
    (1..=4).for_each(|number| write(&trail, number));
    drop(trail);
    let before = std::fs::read(audit.file(LOG_NAME)).expect("bytes");
    for lost in [1, 30, before.len() as u64 - 5, before.len() as u64] {
        cut(&audit.file(LOG_NAME), lost);
        assert!(verify(audit.folder()).is_err(), "{lost} bytes lost");
        audit.process().resume().expect("opens");
        assert_eq!(std::fs::read(audit.file(LOG_NAME)).expect("bytes"), before);
        verify(audit.folder()).expect("whole");
    }
    std::fs::remove_file(audit.file(LOG_NAME)).expect("removed");
    audit.process().resume().expect("opens");
    assert_eq!(std::fs::read(audit.file(LOG_NAME)).expect("bytes"), before);
}

#[test]
fn a_rotation_that_a_kill_interrupted_is_completed() {
    let audit = Audit::with(AuditOptions {
        log_bytes: 900,
        ..AuditOptions::default()
    });
    let trail = audit.process();
    (1..=4).for_each(|number| write(&trail, number));
    drop(trail);
    // Back to the moment after the journal told of the rotation: its outcome and the renaming are missing.
    let journal = std::fs::read_to_string(audit.file(JOURNAL_NAME)).expect("text");
    let told = journal
        .rfind("\"kind\":\"logRotated\"")
        .expect("a rotation");
    let end = told + journal[told..].find('\n').expect("a line end") + 1;
    std::fs::write(audit.file(JOURNAL_NAME), &journal[..end]).expect("written");
    std::fs::rename(audit.file(&format!("{LOG_NAME}.1")), audit.file(LOG_NAME)).expect("renamed");
    let trail = audit.process();
    write(&trail, 5);
    verify(audit.folder()).expect("whole");
    assert_eq!(audit.log().last().expect("a line")["requestId"], "r-5");
}

#[test]
fn lines_that_somebody_added_removed_or_swapped_are_found() {
    let audit = Audit::new();
    let trail = audit.process();
    (1..=3).for_each(|number| write(&trail, number));
    for name in [JOURNAL_NAME, LOG_NAME] {
        let path = audit.file(name);
        let before = std::fs::read_to_string(&path).expect("text");
        let lines: Vec<&str> = before.lines().collect();
        let last = lines.len() - 1;
        let mut swapped = lines.clone();
        swapped.swap(last, last - 1);
        let mut removed = lines.clone();
        removed.remove(1);
        let mut added = lines.clone();
        added.push(lines[last]);
        for changed in [swapped, removed, added] {
            std::fs::write(&path, changed.join("\n") + "\n").expect("written");
            assert!(verify(audit.folder()).is_err(), "{name}");
        }
        std::fs::write(&path, before).expect("written");
        verify(audit.folder()).expect("whole");
    }
}

#[test]
fn a_changed_journal_is_not_written_on() {
    let audit = Audit::new();
    write(&audit.process(), 1);
    let path = audit.file(JOURNAL_NAME);
    let text = std::fs::read_to_string(&path).expect("text");
    std::fs::write(&path, text.replacen("maria", "mario", 1)).expect("written");
    let trail = audit.process();
    let error = trail
        .begin(super::support::attempt(2), "allowed")
        .expect_err("refused");
    assert!(error.to_string().contains("audit verify"), "{error}");
    assert_eq!(trail.failure(), Some(error.to_string()));
}
