//! CAMBER 0.110 reads what we write and we read what it writes, equal to the last bit of every value.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use niagara_bridge::trends::store::{
    BinWidth, EquipmentRows, FacilityId, Registration, RoleColumn, RoleFrame, Selection,
    StoreError, TrendStore, wall_clock,
};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::programs::{Peers, observe, script};

const WIDTHS: [&str; 4] = ["1h", "45min", "7h", "1D"];

fn id(text: &str) -> FacilityId {
    FacilityId::parse(text).expect("a facility id")
}

fn stamp(text: &str) -> i64 {
    wall_clock::parse_bound(text).expect("a time")
}

/// `count` samples every `minutes` from `begin`.
fn column(
    role: &str,
    begin: &str,
    minutes: i64,
    count: i64,
    value: impl Fn(i64) -> f64,
) -> RoleColumn {
    RoleColumn {
        role: role.to_owned(),
        stamps: (0..count)
            .map(|at| stamp(begin) + at * minutes * wall_clock::MINUTE)
            .collect(),
        values: (0..count).map(value).collect(),
    }
}

fn rows(equip: &str, class: &str, columns: Vec<RoleColumn>) -> EquipmentRows {
    EquipmentRows {
        equip: equip.to_owned(),
        equip_class: class.to_owned(),
        columns,
    }
}

fn wave(seed: f64) -> impl Fn(i64) -> f64 {
    move |at| {
        60.0 + 15.0 * (f64::from(i32::try_from(at).expect("small")) / (7.0 + seed)).sin() + seed
    }
}

/// 1, 5 and 60 minutes; both changes of the clock; duplicates, infinities, empty months; many points in one part.
fn write_ours(path: &Path) -> TrendStore {
    let store = TrendStore::create(path).expect("a store");
    let hq = id("hq");
    let mut writer = store.writer(Duration::ZERO).expect("the lock");
    let registration = Registration::active(Some("Head office"), Some("America/Chicago"));
    writer
        .append(
            &hq,
            &[rows(
                "AHU-1",
                "AHU",
                vec![
                    column("oat", "2024-01-31T20:00", 1, 3_000, wave(1.0)),
                    column("supply_air_temp", "2024-01-31T20:00", 1, 2_900, wave(2.0)),
                ],
            )],
            Some(&registration),
        )
        .expect("1 minute");
    // Spring has no hour from 2:00, autumn has that from 1:00 twice.
    let spring = [
        column("oat", "2024-03-10T00:00", 5, 24, wave(3.0)),
        column("oat", "2024-03-10T03:00", 5, 24, wave(3.5)),
    ];
    let autumn = [
        column("oat", "2024-11-03T00:00", 5, 24, wave(4.0)),
        column("oat", "2024-11-03T01:00", 5, 24, wave(4.5)),
    ];
    for columns in [spring.to_vec(), autumn.to_vec()] {
        writer
            .append(&hq, &[rows("AHU-1", "AHU", columns)], None)
            .expect("5 minutes");
    }
    for begin in ["2024-02-10", "2024-06-10"] {
        let odd = |at: i64| match at {
            3 => f64::INFINITY,
            4 => f64::NEG_INFINITY,
            5..9 => f64::NAN,
            _ => wave(5.0)(at),
        };
        let warm = |at: i64| f64::from(u8::from(at % 7 == 0));
        writer
            .append(
                &hq,
                &[
                    rows(
                        "VAV-1",
                        "VAV",
                        vec![
                            column("space_temp", begin, 60, 48, odd),
                            column("warmup", begin, 60, 48, warm),
                            column("a_role_of_our_own", begin, 60, 10, wave(0.25)),
                        ],
                    ),
                    rows(
                        "VAV-2 Zürich",
                        "",
                        vec![column("space_temp", begin, 60, 48, wave(9.0))],
                    ),
                ],
                None,
            )
            .expect("60 minutes");
    }
    // The same stamps with infinities against infinities.
    let against = |at: i64| {
        if at == 3 {
            f64::NEG_INFINITY
        } else {
            wave(6.0)(at)
        }
    };
    writer
        .append(
            &hq,
            &[rows(
                "VAV-1",
                "VAV",
                vec![column("space_temp", "2024-02-10", 60, 48, against)],
            )],
            None,
        )
        .expect("duplicates");
    writer
        .append(
            &id("annex"),
            &[rows(
                "METER-1",
                "",
                vec![column("power", "2024-02-10T00:07", 15, 30, wave(7.0))],
            )],
            None,
        )
        .expect("an unregistered facility");
    drop(writer);
    store
}

/// Every frame of a store as CAMBER's script prints them.
fn frames(store: &TrendStore) -> BTreeMap<String, RoleFrame> {
    let mut found = BTreeMap::new();
    for facility in store.facilities().expect("facilities") {
        let points = store.points(&facility).expect("points");
        for (equip, class) in &points.classes {
            for width in [""].into_iter().chain(WIDTHS) {
                let bins = BinWidth::parse(width);
                let mut frame = store
                    .role_frame(&facility, equip, &Selection::default(), bins)
                    .expect("a frame");
                frame.equip_class.clone_from(class);
                found.insert(format!("{facility}/{equip}@{width}"), frame);
            }
        }
    }
    found
}

fn assert_equal(ours: &BTreeMap<String, RoleFrame>, theirs: &Value) {
    let theirs = theirs.as_object().expect("frames by name");
    assert_eq!(
        ours.keys().collect::<Vec<_>>(),
        theirs
            .keys()
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect::<Vec<_>>()
    );
    for (name, frame) in ours {
        let other = &theirs[name];
        assert_eq!(other["class"], frame.equip_class.as_str(), "{name}");
        let stamps: Vec<i64> = other["stamps"]
            .as_array()
            .expect("stamps")
            .iter()
            .map(|stamp| stamp.as_i64().expect("nanoseconds"))
            .collect();
        assert_eq!(stamps, frame.stamps, "{name}");
        let columns = other["columns"].as_object().expect("columns");
        assert_eq!(
            columns.keys().collect::<std::collections::BTreeSet<_>>(),
            frame.columns.keys().collect(),
            "{name}"
        );
        for (role, values) in &frame.columns {
            let bits = columns[role].as_array().expect("values");
            assert_eq!(bits.len(), values.len(), "{name} {role}");
            for ((bits, value), stamp) in bits.iter().zip(values).zip(&frame.stamps) {
                let bits = u64::from_str_radix(bits.as_str().expect("bits"), 16).expect("hex");
                let theirs = f64::from_bits(bits);
                assert!(
                    theirs.to_bits() == value.to_bits() || (theirs.is_nan() && value.is_nan()),
                    "{name} {role} {}: CAMBER {theirs:?}, ours {value:?}",
                    wall_clock::iso(*stamp)
                );
            }
        }
    }
}

async fn camber(peers: &Peers, arguments: &[&str]) -> Value {
    let mut python = peers.python("camber");
    python.arg(script("camber_store.py")).args(arguments);
    observe(python).await
}

/// `camber store verify --strict`, which fails on anything that is not canonical or left over.
async fn verified_by_camber(peers: &Peers, store: &Path) -> Value {
    let python = peers.python("camber");
    let command = Path::new(python.as_std().get_program())
        .with_file_name(format!("camber{}", std::env::consts::EXE_SUFFIX));
    let mut camber = Command::new(command);
    camber
        .args(["store", "verify", "--strict", "--json"])
        .arg(store);
    observe(camber).await
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a Unicode path")
}

fn reading(path: &Path) -> Vec<&str> {
    [&["read", text(path)], &WIDTHS[..]].concat()
}

#[tokio::test]
async fn camber_reads_our_stores_and_finds_them_canonical() {
    let Some(peers) = Peers::find("camber_reads_our_stores_and_finds_them_canonical") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let store = write_ours(folder.path());
    let written = frames(&store);
    assert_eq!(written.len(), 20);
    assert_equal(&written, &camber(&peers, &reading(folder.path())).await);

    let verdict = verified_by_camber(&peers, folder.path()).await;
    assert_eq!(verdict["ok"], true, "{verdict}");
    assert_eq!(verdict["counts"]["canonical"], verdict["counts"]["parts"]);
    assert!(store.verify(None).expect("a verdict").is_clean());

    // Packed parts tell the same, in ours and in CAMBER's reading.
    let mut writer = store.writer(Duration::from_secs(5)).expect("the lock");
    let report = writer.compact(&id("hq")).expect("packed");
    assert!(report.parts_after < report.parts_before, "{report:?}");
    assert!(writer.rebuild_catalogue().expect("a catalogue"));
    drop(writer);
    assert_equal(&written, &camber(&peers, &reading(folder.path())).await);
    let verdict = verified_by_camber(&peers, folder.path()).await;
    assert_eq!(verdict["counts"]["canonical"], verdict["counts"]["parts"]);
    // NaN equals nothing, so frames are compared as text.
    assert_eq!(format!("{:?}", frames(&store)), format!("{written:?}"));
}

#[tokio::test]
async fn we_read_the_stores_of_camber() {
    let Some(peers) = Peers::find("we_read_the_stores_of_camber") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let mut arguments = reading(folder.path());
    arguments[0] = "write";
    let theirs = camber(&peers, &arguments).await;
    let store = TrendStore::open(folder.path()).expect("a store");
    assert_equal(&frames(&store), &theirs);
    let registry = store.registry();
    let entry = registry.entry("hq").expect("a registered facility");
    assert_eq!(entry.shown_name(), Some("HQ"));
    assert_eq!(
        entry.time_zone(|_| None).as_deref(),
        Some("America/Chicago")
    );
    let verdict = store.verify(None).expect("a verdict");
    assert!(verdict.is_clean(), "{verdict:?}");

    // We append and pack beside its parts; it goes on reading, and answers from a fresh catalogue.
    let mut writer = store.writer(Duration::from_secs(5)).expect("the lock");
    let more = column("oat", "2024-07-01", 15, 400, wave(8.0));
    let report = writer
        .append(&id("hq"), &[rows("AHU-9", "AHU", vec![more])], None)
        .expect("appended");
    assert_eq!(
        report.parts,
        ["facility_id=hq/year=2024/month=7/part-7-0.parquet"]
    );
    writer.compact(&id("hq")).expect("packed");
    drop(writer);
    let theirs = camber(&peers, &reading(folder.path())).await;
    assert!(theirs.get("hq/AHU-9@").is_some());
    assert_equal(&frames(&store), &theirs);
}

#[tokio::test]
async fn parts_of_other_programs_are_read_in_every_form_that_the_format_allows() {
    let Some(peers) = Peers::find("parts_of_other_programs_are_read") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    camber(&peers, &["foreign", text(folder.path())]).await;
    let store = TrendStore::open(folder.path()).expect("a store");
    let facilities = store.facilities().expect("facilities");
    assert_eq!(facilities.len(), 21);
    let expected: Vec<(i64, f64)> = (0..40)
        .map(|at| {
            let value = 50.0 + f64::from(at) / 4.0;
            (
                stamp("2024-03-01") + i64::from(at) * 15 * wall_clock::MINUTE,
                value,
            )
        })
        .collect();
    let mut unreadable = Vec::new();
    for facility in &facilities {
        let read = store.equipment(facility, "AHU-1", &Selection::default());
        match read {
            Ok(series) => {
                let samples: Vec<(i64, f64)> = series.roles["oat"].samples().collect();
                if facility.as_str() == "integers" {
                    assert_eq!(samples[39].1, 39.0);
                } else {
                    assert_eq!(samples, expected, "{facility}");
                }
                let class = if facility.as_str() == "no-class" {
                    ""
                } else {
                    "AHU"
                };
                assert_eq!(series.equip_class, class, "{facility}");
                let points = store.points(facility).expect("points");
                assert_eq!(points.points.len(), 1, "{facility}");
                let span = store.read(facility, |view| view.span()).expect("a span");
                assert_eq!(span, Some((expected[0].0, expected[39].0)), "{facility}");
            }
            Err(StoreError::Damaged { problem, .. }) => {
                unreadable.push(format!("{facility}: {problem}"));
            }
            Err(other) => panic!("{facility}: {other}"),
        }
    }
    assert_eq!(
        unreadable,
        [
            "no-role: it has no column \"role\"",
            "zoned: its stamps carry a time zone; stamps of a store are the site's wall clock",
            "zstd: it is compressed with ZSTD; Snappy and uncompressed parts are read",
        ]
    );

    // Packing rewrites what it can and leaves the rest.
    let mut writer = store.writer(Duration::from_secs(5)).expect("the lock");
    for name in ["microseconds", "unsorted", "small-groups"] {
        assert_eq!(
            writer.compact(&id(name)).expect("packed").months,
            1,
            "{name}"
        );
        let verdict = store.verify(Some(&id(name))).expect("a verdict");
        assert!(
            verdict.facilities[0].non_canonical.is_empty(),
            "{verdict:?}"
        );
    }
    for name in ["extra-column", "year-only", "no-partition"] {
        assert_eq!(writer.compact(&id(name)).expect("left").months, 0, "{name}");
    }
}

#[tokio::test]
async fn camber_and_we_keep_each_other_out() {
    let Some(peers) = Peers::find("camber_and_we_keep_each_other_out") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let store = write_ours(folder.path());
    let mut python = peers.python("camber");
    let mut holder = python
        .arg(script("camber_store.py"))
        .args(["hold", text(folder.path()), "60"])
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(holder.stdout.take().expect("output")).lines();
    assert_eq!(
        lines.next_line().await.expect("output").as_deref(),
        Some("held")
    );
    let refused = store.writer(Duration::ZERO).expect_err("held by CAMBER");
    let StoreError::Locked { holder: told, .. } = &refused else {
        panic!("{refused}")
    };
    let pid = holder.id().expect("it runs");
    assert!(told.contains(&format!("process {pid} on ")), "{told}");
    // Readers do not mind.
    assert_eq!(frames(&store).len(), 20);
    holder.kill().await.expect("ended");
    let writer = store.writer(Duration::from_secs(5)).expect("free again");

    let mut python = peers.python("camber");
    let output = python
        .arg(script("camber_store.py"))
        .args(["hold", text(folder.path()), "0"])
        .env("CAMBER_LOCK_TIMEOUT", "0")
        .output()
        .await
        .expect("it runs");
    assert!(!output.status.success());
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(
        complaint.contains(&std::process::id().to_string()),
        "{complaint}"
    );
    drop(writer);
}

/// Rows of the two contents of `hq` between which a bridge goes to and fro.
const CONTENTS: [i64; 2] = [200, 1_200];

/// Puts one of the contents in the place of the other.
fn replace(store: &TrendStore, rows_of_it: i64) {
    let mut staged = store.stage_facility(&id("hq")).expect("scratch");
    for month in 1..=rows_of_it / 200 {
        let begin = format!("2024-0{month}-01");
        let oat = column("oat", &begin, 60, 200, wave(1.0));
        let added = staged.add(&[rows("AHU-1", "AHU", vec![oat])]);
        added.expect("added");
    }
    let mut writer = store.writer(Duration::from_secs(60)).expect("the lock");
    staged.commit(&mut writer, None).expect("replaced");
}

/// Rows of `hq` that another bridge reads, or none when it is told to ask again.
async fn read_by_another_bridge(store: &Path) -> Option<i64> {
    let mut bridge = Command::new(env!("CARGO_BIN_EXE_niagara-bridge"));
    bridge.args(["camber", "coverage", r#"{"facility_id": "hq"}"#]);
    bridge.args(["--allow", "hq", "--store", text(store)]);
    let output = bridge.output().await.expect("it runs");
    let answer: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {output:?}"));
    if let Some(error) = answer.get("error") {
        assert_eq!(error["code"], "unavailable", "{answer}");
        assert_eq!(error["data"]["retryable"], true, "{answer}");
        return None;
    }
    answer["data"]["points"][0]["n_samples"].as_i64()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_bridges_and_camber_work_on_one_store() {
    const ROUNDS: usize = 12;
    let Some(peers) = Peers::find("two_bridges_and_camber_work_on_one_store") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_owned();
    let store = TrendStore::create(&path).expect("a store");
    replace(&store, CONTENTS[0]);

    // One bridge replaces as long as CAMBER appends and another bridge reads.
    let done = Arc::new(AtomicBool::new(false));
    let (end, root) = (done.clone(), path.clone());
    let replacing = tokio::task::spawn_blocking(move || {
        let store = TrendStore::open(root).expect("a store");
        let mut swaps = 0;
        while !end.load(Ordering::SeqCst) {
            swaps += 1;
            replace(&store, CONTENTS[swaps % 2]);
        }
        CONTENTS[swaps % 2]
    });
    let mut python = peers.python("camber");
    python
        .arg(script("camber_store.py"))
        .args(["append", text(&path), &ROUNDS.to_string()])
        .env("CAMBER_LOCK_TIMEOUT", "60");
    let appending = tokio::spawn(async move { python.output().await.expect("it runs") });
    let mut seen = Vec::new();
    while !appending.is_finished() || seen.len() < ROUNDS {
        seen.push(read_by_another_bridge(&path).await);
    }
    done.store(true, Ordering::SeqCst);
    let last = replacing.await.expect("the bridge that replaces");
    let appended = appending.await.expect("it ran");
    assert!(appended.status.success(), "{appended:?}");

    let strange: Vec<_> = seen
        .iter()
        .flatten()
        .filter(|rows| !CONTENTS.contains(rows))
        .collect();
    assert!(strange.is_empty(), "half a swap was seen: {strange:?}");
    assert_eq!(read_by_another_bridge(&path).await, Some(last));
    let annex = store
        .equipment(&id("annex"), "METER-2", &Selection::default())
        .expect("a series");
    assert_eq!(annex.roles["power"].len(), 24 * ROUNDS);
    let verdict = verified_by_camber(&peers, &path).await;
    assert_eq!(verdict["ok"], true, "{verdict}");
    assert!(store.verify(None).expect("a verdict").is_clean());
}

/// The commands of a bridge wait for CAMBER's lock as long as both are told to, and name who holds it.
#[tokio::test]
async fn a_command_of_the_bridge_is_kept_out_by_camber() {
    let Some(peers) = Peers::find("a_command_of_the_bridge_is_kept_out_by_camber") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    drop(write_ours(folder.path()));
    let mut python = peers.python("camber");
    let mut holder = python
        .arg(script("camber_store.py"))
        .args(["hold", text(folder.path()), "60"])
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(holder.stdout.take().expect("output")).lines();
    assert_eq!(
        lines.next_line().await.expect("output").as_deref(),
        Some("held")
    );
    let compact = || {
        let mut bridge = Command::new(env!("CARGO_BIN_EXE_niagara-bridge"));
        bridge.args(["store", "compact", "--store", text(folder.path())]);
        bridge.env("CAMBER_LOCK_TIMEOUT", "0");
        bridge
    };
    let refused = compact().output().await.expect("it runs");
    assert_eq!(refused.status.code(), Some(1));
    let complaint = String::from_utf8_lossy(&refused.stderr);
    let pid = holder.id().expect("it runs");
    assert!(
        complaint.contains(&format!("process {pid} on ")),
        "{complaint}"
    );
    holder.kill().await.expect("ended");
    let done = compact().output().await.expect("it runs");
    assert_eq!(done.status.code(), Some(0), "{done:?}");
}
