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
fn one_damaged_facility_keeps_nobody_from_the_others() {
    let (folder, trends) = filled();
    let root = folder.path();
    let mut writer = write(&trends);
    for (facility, month) in [("annex", 1), ("annex", 1), ("zoo", 2), ("zoo", 2)] {
        let rows = point("AHU-1", "oat", &format!("2024-0{month}-01"), 60, 24, 0.0);
        writer
            .append(&id(facility), &[rows], None)
            .expect("appended");
    }
    drop(writer);
    let part = parts(root)
        .into_iter()
        .find(|part| part.starts_with("facility_id=annex"))
        .expect("a part");
    std::fs::write(root.join(&part), "no Parquet").expect("damaged");
    let (code, printed, complaint) = store(root, &["compact"]);
    assert_eq!(code, 1);
    assert!(
        printed.contains("annex: left as it is: ") && printed.contains(&part),
        "{printed}"
    );
    assert!(
        printed.contains("hq: 144 samples of 3 months packed, 6 parts became 3"),
        "{printed}"
    );
    assert!(
        printed.contains("zoo: 48 samples of 1 month packed, 2 parts became 1"),
        "{printed}"
    );
    assert!(complaint.contains("not all facilities"), "{complaint}");
    let (code, printed, _) = store(root, &["prune", "--before", "2024-02-01", "--yes"]);
    assert_eq!(code, 1);
    assert!(printed.contains("annex: left as it is: "), "{printed}");
    assert!(
        printed.contains("hq: 48 samples in 1 part") && printed.contains("removed"),
        "{printed}"
    );
    let (code, printed, _) = store(root, &["compact", "--facility", "zoo"]);
    assert_eq!((code, printed.as_str()), (0, "zoo: nothing to pack\n"));
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_listed_is_a_finding_among_others() {
    let (folder, _) = filled();
    let root = folder.path();
    let annex = root.join("facility_id=annex");
    std::fs::create_dir(&annex).expect("a folder");
    std::os::unix::fs::symlink("/nowhere/at/all", annex.join("year=2024")).expect("a link");
    let (code, printed, _) = store(root, &["verify"]);
    assert_eq!(code, 1);
    assert!(
        printed.contains(
            "cannot be read: facility_id=annex/year=2024: it is a link that leads nowhere"
        ),
        "{printed}"
    );
    assert!(printed.contains("hq: 144 samples in 6 parts"), "{printed}");
    let (code, printed, _) = store(root, &["compact"]);
    assert_eq!(code, 1);
    assert!(
        printed.contains("hq: 144 samples of 3 months packed"),
        "{printed}"
    );
}

#[test]
fn an_empty_store_is_said_to_be_empty() {
    let folder = tempfile::tempdir().expect("a folder");
    TrendStore::create(folder.path()).expect("a store");
    for arguments in [
        &["list"][..],
        &["compact"],
        &["prune", "--before", "2024-01-01"],
    ] {
        let (code, printed, _) = store(folder.path(), arguments);
        assert_eq!(
            (code, printed.as_str()),
            (0, "The store is empty.\n"),
            "{arguments:?}"
        );
    }
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
