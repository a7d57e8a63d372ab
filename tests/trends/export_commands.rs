//! `niagara-bridge trends export` as people run it: into files, links, pipes and devices.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use niagara_bridge::trends::store::TrendStore;

use crate::store_support::{id, point, write};

fn filled() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("trends");
    let store = TrendStore::create(&root).expect("a store");
    write(&store)
        .append(
            &id("hq"),
            &[point("AHU-1", "oat", "2024-03-01", 60, 72, 0.0)],
            None,
        )
        .expect("appended");
    (folder, root)
}

fn export(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_niagara-bridge"));
    command
        .args(["trends", "export", "hq", "--store"])
        .arg(root)
        .args(arguments)
        .stdin(Stdio::null());
    command
}

fn done(mut command: Command) -> Output {
    let output = command.output().expect("it runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

fn rows(bytes: &[u8]) -> usize {
    let text = std::str::from_utf8(bytes).expect("UTF-8");
    assert!(text.starts_with("equip,ts,oat\n"), "{text}");
    text.lines().count() - 1
}

#[test]
fn a_last_day_is_exported_to_its_end_as_ingest_reads_it() {
    let (_folder, root) = filled();
    for (to, expected) in [("2024-03-02", 24), ("2024-03-02T06:00", 7)] {
        let command = export(&root, &["--from", "2024-03-02", "--to", to]);
        assert_eq!(rows(&done(command).stdout), expected, "{to}");
    }
}

#[test]
fn a_range_that_ends_before_it_begins_is_a_slip() {
    let (_folder, root) = filled();
    let output = export(&root, &["--from", "2024-03-02", "--to", "2024-03-01"])
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(complaint.contains("--to lies before --from"), "{complaint}");
    assert!(output.stdout.is_empty());
}

#[test]
fn a_file_is_replaced_as_a_whole_and_one_that_cannot_be_is_left() {
    let (folder, root) = filled();
    let file = folder.path().join("hq.csv");
    std::fs::write(&file, "old").expect("written");
    let name = file.to_str().expect("UTF-8");
    done(export(&root, &["--output", name]));
    assert_eq!(rows(&std::fs::read(&file).expect("a file")), 72);
    let failed = export(&root, &["--output", name, "--role", "co2"])
        .output()
        .expect("it runs");
    assert!(!failed.status.success());
    assert_eq!(rows(&std::fs::read(&file).expect("a file")), 72);
    let left: Vec<_> = std::fs::read_dir(folder.path())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[cfg(unix)]
#[test]
fn what_is_no_file_stays_what_it_is() {
    use std::os::unix::fs::{FileTypeExt, symlink};
    let (folder, root) = filled();
    let here = folder.path();
    let kind = |name: &str| {
        std::fs::symlink_metadata(here.join(name))
            .expect("there")
            .file_type()
    };
    let into = |name: &str| {
        let path = here.join(name);
        export(&root, &["--output", path.to_str().expect("UTF-8")])
    };

    // A link stays one, whether its file is there yet or not; the file behind it is replaced.
    std::fs::write(here.join("real.csv"), "old").expect("written");
    for (link, leads_to) in [("latest.csv", "real.csv"), ("next.csv", "made.csv")] {
        symlink(leads_to, here.join(link)).expect("a link");
        done(into(link));
        assert!(kind(link).is_symlink(), "{link}");
        let written = std::fs::read(here.join(leads_to)).expect("a file");
        assert_eq!(rows(&written), 72, "{leads_to}");
    }

    // Whoever reads the pipe gets the rows.
    let made = Command::new("mkfifo").arg(here.join("pipe")).status();
    assert!(made.expect("mkfifo runs").success());
    let reader = {
        let pipe = here.join("pipe");
        std::thread::spawn(move || std::fs::read(pipe).expect("the rows"))
    };
    done(into("pipe"));
    assert!(kind("pipe").is_fifo());
    assert_eq!(rows(&reader.join().expect("read")), 72);

    // A device is written to; that it takes nothing is a failure.
    let path = Path::new("/dev/full");
    if std::fs::metadata(path).is_ok_and(|facts| facts.file_type().is_char_device()) {
        symlink(path, here.join("device")).expect("a link");
        let failed = into("device").output().expect("it runs");
        assert!(!failed.status.success());
        assert!(kind("device").is_symlink());
        let facts = std::fs::metadata(path).expect("there");
        assert!(facts.file_type().is_char_device());
    }
}
