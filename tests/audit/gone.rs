//! Files of the audit that somebody removes, replaces or cuts under a running bridge, and files that are missing later.

use std::fs::OpenOptions;
use std::path::Path;
use std::time::Duration;

use niagara_bridge::audit::{
    AuditError, AuditOptions, JOURNAL_NAME, LOG_NAME, verify, verify_archived,
};

use super::support::{Audit, attempt, begun, done, write};

/// What people and programs such as logrotate do to a file; `kept` is a copy of it.
type Damage = fn(&Path);

fn damages() -> [(&'static str, Damage); 4] {
    let removed: Damage = |path| std::fs::remove_file(path).expect("removed");
    let replaced: Damage = |path| {
        let text = std::fs::read(path).expect("bytes");
        // On the same disk the new file exists before the old one goes, so that it is another one.
        let new = path.with_extension("other");
        std::fs::write(&new, &text[..text.len() / 2]).expect("written");
        std::fs::rename(&new, path).expect("renamed");
    };
    let emptied: Damage = |path| {
        let file = OpenOptions::new().write(true).open(path).expect("opens");
        file.set_len(0).expect("cut");
    };
    let shortened: Damage = |path| {
        let text = std::fs::read_to_string(path).expect("text");
        let last = text.trim_end().rfind('\n').expect("lines") + 1;
        let file = OpenOptions::new().write(true).open(path).expect("opens");
        file.set_len(last as u64).expect("cut");
    };
    [
        ("removed", removed),
        ("replaced", replaced),
        ("emptied", emptied),
        ("shortened", shortened),
    ]
}

#[test]
fn without_its_journal_nothing_is_written_until_it_is_back() {
    for (what, damage) in damages() {
        let audit = Audit::new();
        let trail = audit.process();
        (1..=3).for_each(|number| write(&trail, number));
        let path = audit.file(JOURNAL_NAME);
        let whole = std::fs::read(&path).expect("bytes");
        damage(&path);
        for number in 4..6 {
            let error = trail.begin(attempt(number), "allowed").expect_err(what);
            assert!(
                matches!(
                    error,
                    AuditError::Displaced { .. } | AuditError::Damaged { .. }
                ),
                "{what}: {error}"
            );
        }
        assert!(trail.failure().is_some(), "{what}");
        assert!(verify(audit.folder()).is_err(), "{what}");
        assert_eq!(audit.log().len(), 3, "{what}");
        // Somebody brings the copy back.
        std::fs::write(&path, whole).expect("written");
        write(&trail, 6);
        assert_eq!(trail.failure(), None, "{what}");
        let found = verify(audit.folder()).expect(what);
        assert_eq!((found.outcomes, found.open_intents), (4, 0), "{what}");
    }
}

#[test]
fn who_only_asks_is_told_that_nothing_can_be_recorded_and_when_it_can_again() {
    for name in [JOURNAL_NAME, LOG_NAME] {
        for (what, damage) in damages() {
            let audit = Audit::new();
            let trail = audit.process();
            assert_eq!(trail.check(), Ok(()), "before any write");
            (1..=3).for_each(|number| write(&trail, number));
            assert_eq!(trail.check(), Ok(()), "{what} {name}");
            let path = audit.file(name);
            let whole = std::fs::read(&path).expect("bytes");
            damage(&path);
            let failure = trail.check().expect_err(what);
            let folder = audit.folder().display().to_string();
            assert!(failure.message.contains(&folder), "{failure:?}");
            assert!(
                failure.cause.starts_with(&format!("{name}: ")) && !failure.cause.contains(&folder),
                "{failure:?}"
            );
            std::fs::write(&path, whole).expect("written");
            // The files are not read again for everybody who asks.
            assert!(trail.check().is_err(), "{what} {name}");
            audit.clock.advance(Duration::from_secs(10));
            assert_eq!(trail.check(), Ok(()), "{what} {name}");
            write(&trail, 4);
            assert_eq!(
                verify(audit.folder()).expect(what).outcomes,
                4,
                "{what} {name}"
            );
        }
    }
}

#[test]
fn a_write_that_runs_while_the_journal_goes_gets_its_outcome_when_it_is_back() {
    let audit = Audit::new();
    let trail = audit.process();
    let open = begun(&trail, 1);
    let path = audit.file(JOURNAL_NAME);
    let kept = audit.file("kept");
    std::fs::rename(&path, &kept).expect("moved");
    open.finish(&done());
    assert!(trail.begin(attempt(2), "allowed").is_err());
    assert!(!path.exists(), "no second journal hides the first");
    std::fs::rename(&kept, &path).expect("moved");
    write(&trail, 3);
    let found = verify(audit.folder()).expect("whole");
    assert_eq!((found.outcomes, found.open_intents), (2, 0));
    assert_eq!(audit.log()[0]["requestId"], "r-1");
}

#[test]
fn a_log_that_was_touched_stops_one_write_and_is_made_anew() {
    for (what, damage) in damages() {
        let audit = Audit::new();
        let trail = audit.process();
        (1..=3).for_each(|number| write(&trail, number));
        let path = audit.file(LOG_NAME);
        damage(&path);
        let error = trail.begin(attempt(4), "allowed").expect_err(what);
        assert!(
            matches!(&error, AuditError::Displaced { path: named, .. } if *named == path),
            "{what}: {error}"
        );
        write(&trail, 5);
        if what != "replaced" {
            let found = verify(audit.folder()).expect(what);
            assert_eq!((found.outcomes, found.log_lines), (4, 4), "{what}");
        }
        assert_eq!(
            audit
                .kinds()
                .iter()
                .filter(|kind| *kind == "intent")
                .count(),
            4
        );
    }
}

#[test]
fn a_journal_that_is_missing_after_all_is_noticed() {
    let audit = Audit::new();
    write(&audit.process(), 1);
    std::fs::remove_file(audit.file(JOURNAL_NAME)).expect("removed");
    for error in [
        verify(audit.folder()).expect_err("missing"),
        // A new journal would hide it.
        audit.process().resume().expect_err("refused"),
    ] {
        let text = error.to_string();
        assert!(
            matches!(error, AuditError::Incomplete { .. }) && text.contains("has 1 lines"),
            "{text}"
        );
    }
    std::fs::remove_file(audit.file(LOG_NAME)).expect("removed");
    write(&audit.process(), 2);
    assert_eq!(verify(audit.folder()).expect("a new one").outcomes, 1);
}

#[test]
fn every_missing_file_of_the_journal_is_noticed() {
    let audit = Audit::with(AuditOptions {
        journal_bytes: 2000,
        ..AuditOptions::default()
    });
    let trail = audit.process();
    (1..=12).for_each(|number| write(&trail, number));
    drop(trail);
    let names: Vec<String> = std::fs::read_dir(audit.folder())
        .expect("listed")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("UTF-8")
        })
        .filter(|name| name.starts_with(JOURNAL_NAME))
        .collect();
    assert!(names.len() >= 4, "{names:?}");
    for name in &names {
        let away = audit.file("away");
        std::fs::rename(audit.file(name), &away).expect("moved");
        assert!(verify(audit.folder()).is_err(), "{name}");
        let is_oldest = name.ends_with(".000001");
        assert_eq!(verify_archived(audit.folder()).is_ok(), is_oldest, "{name}");
        std::fs::rename(&away, audit.file(name)).expect("moved");
        verify(audit.folder()).expect("whole");
    }
}
