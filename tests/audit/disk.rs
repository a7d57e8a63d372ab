//! A disk that is full, read-only or broken: nothing is sent that was not recorded, nothing recorded is lost.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use niagara_bridge::audit::{
    AppendFile, AuditOptions, Ending, OpenAppend, Verdict, on_disk, verify,
};

use super::support::{Audit, TOOK, attempt, begun, done, write};

/// Free space of a disk, in bytes, and how many of its next syncs fail.
#[derive(Default)]
struct Disk {
    free: AtomicI64,
    failing_syncs: AtomicUsize,
}

impl Disk {
    fn with(free: i64) -> Arc<Self> {
        let disk = Self::default();
        disk.free.store(free, Ordering::SeqCst);
        Arc::new(disk)
    }

    fn set_free(&self, free: i64) {
        self.free.store(free, Ordering::SeqCst);
    }
}

struct FileOnDisk {
    file: Box<dyn AppendFile>,
    disk: Arc<Disk>,
}

impl AppendFile for FileOnDisk {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let free = self
            .disk
            .free
            .fetch_sub(bytes.len() as i64, Ordering::SeqCst);
        let fits = usize::try_from(free).unwrap_or(0).min(bytes.len());
        self.file.append(&bytes[..fits])?;
        if fits < bytes.len() {
            self.disk.set_free(0);
            return Err(ErrorKind::StorageFull.into());
        }
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let failing = &self.disk.failing_syncs;
        let fails = failing.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
            left.checked_sub(1)
        });
        match fails {
            Ok(_) => Err(ErrorKind::Other.into()),
            Err(_) => self.file.sync(),
        }
    }
}

fn files_on(disk: &Arc<Disk>) -> OpenAppend {
    let (disk, open) = (disk.clone(), on_disk());
    Arc::new(move |path: &Path| {
        let file = open(path)?;
        let disk = disk.clone();
        Ok(Box::new(FileOnDisk { file, disk }) as Box<dyn AppendFile>)
    })
}

fn on(disk: &Arc<Disk>) -> Audit {
    Audit::with(AuditOptions {
        open: files_on(disk),
        ..AuditOptions::default()
    })
}

#[test]
fn a_full_disk_refuses_writes_until_it_has_space_again() {
    let disk = Disk::with(i64::MAX);
    let audit = on(&disk);
    let trail = audit.process();
    write(&trail, 1);
    disk.set_free(40);
    for number in 2..4 {
        let error = trail
            .begin(attempt(number), "allowed")
            .expect_err("refused");
        assert!(
            error.to_string().contains("check the free space"),
            "{error}"
        );
    }
    assert!(trail.failure().is_some());
    disk.set_free(i64::MAX);
    write(&trail, 4);
    assert_eq!(trail.failure(), None);
    let found = verify(audit.folder()).expect("whole");
    assert_eq!((found.outcomes, found.open_intents), (2, 0));
    assert_eq!(audit.log().last().expect("a line")["requestId"], "r-4");
}

#[test]
fn a_disk_that_became_read_only_is_told_before_a_write_meets_it() {
    let is_read_only = Arc::new(AtomicBool::new(false));
    let (open, switch) = (on_disk(), is_read_only.clone());
    let audit = Audit::with(AuditOptions {
        open: Arc::new(move |path| match switch.load(Ordering::SeqCst) {
            true => Err(ErrorKind::ReadOnlyFilesystem.into()),
            false => open(path),
        }),
        ..AuditOptions::default()
    });
    let trail = audit.process();
    write(&trail, 1);
    is_read_only.store(true, Ordering::SeqCst);
    let failure = trail.check().expect_err("read-only");
    assert!(failure.cause.starts_with("audit.journal: "), "{failure:?}");
    is_read_only.store(false, Ordering::SeqCst);
    audit.clock.advance(Duration::from_secs(10));
    assert_eq!(trail.check(), Ok(()));
}

#[test]
fn what_waits_for_space_keeps_a_full_disk_known() {
    let disk = Disk::with(i64::MAX);
    let audit = on(&disk);
    let trail = audit.process();
    write(&trail, 1);
    disk.set_free(0);
    let refusal = Ending::not_done(Verdict::Refused, TOOK, -32603, "not recorded");
    trail
        .begin_or_refuse(attempt(2), "allowed", &refusal)
        .expect_err("refused");
    for _ in 0..2 {
        assert!(trail.check().is_err());
        audit.clock.advance(Duration::from_secs(10));
    }
    disk.set_free(i64::MAX);
    assert_eq!(trail.check(), Ok(()));
    assert_eq!(audit.log().len(), 2);
}

#[test]
fn at_every_moment_that_the_disk_fills_each_write_that_ran_gets_one_outcome() {
    for free in (0..3500).step_by(61) {
        let disk = Disk::with(i64::MAX);
        let audit = on(&disk);
        let trail = audit.process();
        trail.resume().expect("opens");
        disk.set_free(free);
        let mut ran = Vec::new();
        for number in 1..=3 {
            if let Ok(open) = trail.begin(attempt(number), "allowed") {
                open.finish(&done());
                ran.push(format!("r-{number}"));
            }
        }
        let refusal = Ending::not_done(Verdict::Refused, TOOK, -32010, "not allowed");
        trail.refused(&attempt(50), "refused", &refusal);
        disk.set_free(i64::MAX);
        write(&trail, 100);
        ran.push("r-100".to_owned());
        let found = verify(audit.folder()).expect("whole");
        assert_eq!(found.open_intents, 0, "{free} bytes free");
        let log = audit.log();
        let told = |verdict: &str| {
            let lines = log.iter().filter(|line| line["outcome"] == verdict);
            let names = lines.map(|line| line["requestId"].as_str().expect("an id").to_owned());
            names.collect::<Vec<_>>()
        };
        assert_eq!(told("done"), ran, "{free} bytes free");
        let refused = told("refused");
        let own = refused.iter().filter(|id| *id == "r-50").count();
        assert_eq!(own, 1, "{free} bytes free: {refused:?}");
        assert_eq!(told("inDoubt"), [""; 0], "{free} bytes free");
    }
}

#[test]
fn an_intent_that_cannot_be_brought_to_the_disk_is_told_as_not_sent() {
    let disk = Disk::with(i64::MAX);
    let audit = on(&disk);
    let trail = audit.process();
    write(&trail, 1);
    disk.failing_syncs.store(1, Ordering::SeqCst);
    assert!(trail.begin(attempt(2), "allowed").is_err());
    write(&trail, 3);
    let log = audit.log();
    assert_eq!(log.len(), 3);
    assert_eq!(
        (&log[1]["requestId"], &log[1]["outcome"]),
        (&"r-2".into(), &"refused".into())
    );
    verify(audit.folder()).expect("whole");
}

#[test]
fn a_write_that_runs_while_the_disk_fails_keeps_its_outcome_for_later() {
    let disk = Disk::with(i64::MAX);
    let audit = on(&disk);
    let trail = audit.process();
    let (one, two) = (begun(&trail, 1), begun(&trail, 2));
    disk.set_free(10);
    one.finish(&done());
    drop(two);
    assert!(audit.log().is_empty());
    disk.set_free(i64::MAX);
    trail.resume().expect("works again");
    let log = audit.log();
    assert_eq!(log.len(), 2);
    assert_eq!(
        (&log[0]["outcome"], &log[1]["outcome"]),
        (&"done".into(), &"inDoubt".into())
    );
    assert_eq!(verify(audit.folder()).expect("whole").open_intents, 0);
}

#[cfg(target_os = "linux")]
#[test]
fn a_device_without_space_is_an_error_that_names_the_file() {
    let open = on_disk();
    let audit = Audit::with(AuditOptions {
        open: Arc::new(move |path| {
            open(path)?;
            open(Path::new("/dev/full"))
        }),
        ..AuditOptions::default()
    });
    let error = audit
        .process()
        .begin(attempt(1), "allowed")
        .expect_err("refused")
        .to_string();
    assert!(
        error.contains("audit.journal") && error.contains("No space"),
        "{error}"
    );
}

#[test]
fn a_folder_that_cannot_be_made_refuses_writes() {
    let audit = Audit::new();
    std::fs::write(audit.file("taken"), "a file").expect("written");
    let trail = niagara_bridge::audit::AuditTrail::new(
        audit.file("taken").join("data"),
        AuditOptions::default(),
        audit.clock.clone(),
    );
    let error = trail
        .begin(attempt(1), "allowed")
        .expect_err("refused")
        .to_string();
    assert!(error.contains("data folder"), "{error}");
}

/// The superuser may write everywhere, so it skips this.
#[cfg(unix)]
#[test]
fn a_read_only_folder_refuses_writes() {
    use std::os::unix::fs::PermissionsExt;
    let audit = Audit::new();
    let rights =
        |mode| std::fs::set_permissions(audit.folder(), std::fs::Permissions::from_mode(mode));
    rights(0o500).expect("set");
    if std::fs::write(audit.file("probe"), "").is_ok() {
        eprintln!("skipped: this user may write into read-only folders");
    } else {
        let error = audit
            .process()
            .begin(attempt(1), "allowed")
            .expect_err("refused");
        assert!(error.to_string().contains("rights"), "{error}");
    }
    rights(0o700).expect("set");
}
