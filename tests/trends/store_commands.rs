//! `niagara-bridge store` as people run it: text, JSON, exit codes.

use std::path::Path;
use std::process::{Command, Stdio};

use niagara_bridge::trends::store::{Registration, TrendStore};
use serde_json::Value;

use crate::store_support::{id, parts, point, samples, write};

/// Exit code, standard output, standard error.
fn store(root: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_niagara-bridge"))
        .arg("store")
        .args(arguments)
        .arg("--store")
        .arg(root)
        .stdin(Stdio::null())
        .output()
        .expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (
        output.status.code().expect("an exit code"),
        text(output.stdout),
        text(output.stderr),
    )
}

fn json(root: &Path, arguments: &[&str]) -> Value {
    let (code, printed, complaint) = store(root, &[arguments, &["--json"]].concat());
    assert_eq!(code, 0, "{complaint}");
    serde_json::from_str(&printed).expect("JSON")
}

fn filled() -> (tempfile::TempDir, TrendStore) {
    let folder = tempfile::tempdir().expect("a folder");
    let trends = TrendStore::create(folder.path()).expect("a store");
    let mut writer = write(&trends);
    let registration = Registration::active(Some("Head office"), Some("America/Chicago"));
    for month in 1..4 {
        for half in ["01", "15"] {
            let begin = format!("2024-0{month}-{half}");
            let rows = point("AHU-1", "oat", &begin, 60, 24, 0.0);
            writer
                .append(&id("hq"), &[rows], Some(&registration))
                .expect("appended");
        }
    }
    drop(writer);
    (folder, trends)
}

#[test]
fn a_store_is_listed_checked_packed_pruned_and_removed() {
    let (folder, trends) = filled();
    let root = folder.path();
    let (code, printed, _) = store(root, &["list"]);
    assert_eq!(code, 0);
    assert!(
        printed.starts_with(
            "hq (Head office), active, America/Chicago\n  2024-01-01T00:00:00 to 2024-03-15T23:00:00: 1 point of 1 \
             equipment, 144 samples in 6 parts, "
        ),
        "{printed}"
    );
    let listed = json(root, &["list"]);
    assert_eq!(listed["facilities"][0]["rows"], 144);
    assert_eq!(listed["facilities"][0]["timezone"], "America/Chicago");

    let (code, printed, _) = store(root, &["verify", "--strict"]);
    assert_eq!(code, 0);
    assert!(printed.ends_with("The store is whole.\n"), "{printed}");

    let checked = json(root, &["verify"]);
    assert_eq!(
        (&checked["ok"], &checked["clean"]),
        (&true.into(), &true.into())
    );
    assert_eq!(checked["facilities"][0]["parts"], 6);

    let packed = json(root, &["compact"]);
    assert_eq!(packed[0]["parts_after"], 3);
    assert_eq!(parts(root).len(), 3);
    assert_eq!(samples(&trends, "hq").len(), 144);

    let (code, printed, _) = store(root, &["prune", "--before", "2024-02-01"]);
    assert_eq!(code, 0);
    assert!(printed.contains("would be removed; add --yes"), "{printed}");
    assert!(
        printed.contains("come back only with `niagara-bridge ingest --force`"),
        "{printed}"
    );
    assert_eq!(samples(&trends, "hq").len(), 144);
    let pruned = json(root, &["prune", "--before", "2024-02-01", "--yes"]);
    assert_eq!(pruned[0]["rows"], 48);
    assert_eq!(samples(&trends, "hq").len(), 96);

    let (_, printed, _) = store(root, &["facility", "suspend", "hq"]);
    assert_eq!(printed, "Facility \"hq\" is now suspended.\n");
    let again = json(root, &["facility", "suspend", "hq"]);
    assert_eq!(again["changed"], false);

    let (code, _, complaint) = store(root, &["remove", "hq", "--reason", " ", "--yes"]);
    assert_eq!(code, 2);
    assert!(complaint.contains("write why"), "{complaint}");
    let (code, _, complaint) = store(root, &["remove", "hq", "--reason", "sold"]);
    assert_eq!(code, 1);
    assert!(complaint.contains("add --yes"), "{complaint}");
    let removed = json(root, &["remove", "hq", "--reason", "sold", "--yes"]);
    assert_eq!(removed["removed"], true);
    let (_, printed, _) = store(root, &["list"]);
    assert_eq!(printed, "The store is empty.\n");
}

#[test]
fn damage_ends_with_code_1_and_wrong_usage_with_2() {
    let (folder, _) = filled();
    let root = folder.path();
    let part = &parts(root)[0];
    std::fs::write(root.join(part), "no Parquet").expect("damaged");
    let (code, printed, complaint) = store(root, &["verify"]);
    assert_eq!(code, 1);
    assert!(
        printed.contains(&format!("cannot be read: {part}: ")),
        "{printed}"
    );
    assert!(complaint.contains("cannot be read"), "{complaint}");
    // The others are listed all the same.
    let (code, printed, _) = store(root, &["list"]);
    assert_eq!(code, 0);
    assert!(printed.contains("is damaged"), "{printed}");

    let (code, _, complaint) = store(root, &["verify", "--facility", "annex"]);
    assert_eq!(code, 1);
    assert!(
        complaint.contains("\"annex\" has no stored data"),
        "{complaint}"
    );
    let (code, _, _) = store(root, &["prune", "--before", "yesterday"]);
    assert_eq!(code, 2);
    let (code, _, complaint) = store(&root.join("missing"), &["list"]);
    assert_eq!(code, 1);
    assert!(complaint.contains("is no trends store"), "{complaint}");
}
