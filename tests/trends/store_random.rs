//! Any samples come back as they went in, and any moment of any sequence of changes survives a kill.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use niagara_bridge::trends::store::{
    EquipmentRows, Observer, Registration, RoleColumn, Selection, TrendStore, wall_clock,
};
use proptest::prelude::*;

use crate::store_support::{id, litter, point, samples, stamp, write};

const STORE: &str = "NIAGARA_BRIDGE_TEST_STORE";
const SEED: &str = "NIAGARA_BRIDGE_TEST_SEED";
const DEATH: &str = "NIAGARA_BRIDGE_TEST_DEATH";

/// Changes of one sequence.
const CHANGES: u64 = 8;

fn sample() -> impl Strategy<Value = (usize, usize, i64, f64)> {
    // A year by quarter hours, so that months change and stamps meet.
    (0..4_usize, 0..3_usize, 0..35_040_i64, -40.0..120.0_f64)
}

fn rows_of(samples: &[(usize, usize, i64, f64)]) -> Vec<EquipmentRows> {
    (0..4)
        .map(|equip| EquipmentRows {
            equip: format!("VAV-{equip}"),
            equip_class: "VAV".to_owned(),
            columns: (0..3)
                .map(|role| {
                    let (stamps, values) = samples
                        .iter()
                        .filter(|sample| (sample.0, sample.1) == (equip, role))
                        .map(|(.., at, value)| {
                            (stamp("2024-01-01") + at * 15 * wall_clock::MINUTE, *value)
                        })
                        .unzip();
                    RoleColumn {
                        role: format!("role_{role}"),
                        stamps,
                        values,
                    }
                })
                .collect(),
        })
        .collect()
}

type Sample = (String, String, i64, u64);

fn stored(store: &TrendStore) -> Vec<Sample> {
    let mut found = Vec::new();
    for equip in (0..4).map(|equip| format!("VAV-{equip}")) {
        let series = store
            .equipment(&id("hq"), &equip, &Selection::default())
            .expect("a series");
        for (role, samples) in &series.roles {
            for (stamp, value) in samples.samples() {
                found.push((equip.clone(), role.clone(), stamp, value.to_bits()));
            }
        }
    }
    found.sort();
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_samples_come_back_after_appends_and_packing(
        calls in prop::collection::vec(prop::collection::vec(sample(), 1..40), 1..4)
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let store = TrendStore::create(folder.path()).expect("a store");
        let mut expected: Vec<Sample> = calls
            .iter()
            .flatten()
            .map(|(equip, role, at, value)| {
                let stamp = stamp("2024-01-01") + at * 15 * wall_clock::MINUTE;
                (format!("VAV-{equip}"), format!("role_{role}"), stamp, value.to_bits())
            })
            .collect();
        expected.sort();
        let mut writer = write(&store);
        for call in &calls {
            writer.append(&id("hq"), &rows_of(call), None).expect("appended");
        }
        prop_assert_eq!(stored(&store), expected.clone());
        writer.compact(&id("hq")).expect("packed");
        prop_assert_eq!(stored(&store), expected);
        prop_assert!(store.verify(None).expect("a verdict").is_clean());
    }
}

/// A small generator, so that a printed seed tells the whole story.
struct Chance(u64);

impl Chance {
    fn next(&mut self, below: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below
    }
}

/// One change, chosen by the seed and its place in the sequence alone.
fn change(store: &TrendStore, seed: u64, place: u64) {
    let mut chance = Chance(seed.wrapping_mul(1_000).wrapping_add(place));
    let hq = id("hq");
    let rows = |chance: &mut Chance| -> Vec<EquipmentRows> {
        (0..=chance.next(2))
            .map(|equip| {
                let month = 1 + chance.next(6);
                let day = 1 + chance.next(27);
                let begin = format!("2024-{month:02}-{day:02}");
                let count = i64::try_from(20 + chance.next(100)).expect("small");
                let name = format!("AHU-{equip}");
                point(
                    &name,
                    "oat",
                    &begin,
                    60,
                    count,
                    f64::from(u32::try_from(place).expect("small")),
                )
            })
            .collect()
    };
    let registration = Registration::active(Some("HQ"), Some("Europe/Berlin"));
    match chance.next(6) {
        0..3 => {
            let rows = rows(&mut chance);
            write(store)
                .append(&hq, &rows, Some(&registration))
                .expect("appended");
        }
        3 => {
            let mut staged = store.stage_facility(&hq).expect("scratch");
            staged.add(&rows(&mut chance)).expect("added");
            staged
                .commit(&mut write(store), Some(&registration))
                .expect("replaced");
        }
        4 if store.has_partition(&hq) => {
            write(store).compact(&hq).expect("packed");
        }
        _ if store.has_partition(&hq) => {
            let before = format!("2024-0{}-15", 1 + chance.next(3));
            write(store).prune(&hq, stamp(&before)).expect("pruned");
        }
        _ => {}
    }
}

fn state(store: &TrendStore) -> Vec<String> {
    if store.has_partition(&id("hq")) {
        samples(store, "hq")
    } else {
        Vec::new()
    }
}

/// Not a test of its own: does the sequence of a seed, tells each change that is done, and dies at one of its steps.
#[test]
#[ignore = "started by the other tests of this file"]
fn a_process_that_dies_somewhere() {
    let number = |name: &str| -> u64 {
        std::env::var(name)
            .ok()
            .and_then(|text| text.parse().ok())
            .expect("started with a number")
    };
    let (seed, death) = (number(SEED), number(DEATH));
    let steps = AtomicUsize::new(0);
    let store = TrendStore::open(std::env::var_os(STORE).expect("started with a store"))
        .expect("a store")
        .with_observer(Observer::new(move |_| {
            if steps.fetch_add(1, Ordering::SeqCst) as u64 == death {
                std::process::abort();
            }
        }));
    for place in 0..CHANGES {
        change(&store, seed, place);
        println!("\ndone {place}");
        std::io::stdout().flush().expect("a listener");
    }
}

/// Runs the sequence in a process that dies; the number of changes that it told.
fn run_and_die(root: &Path, seed: u64, death: u64) -> u64 {
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args([
            "--ignored",
            "--exact",
            "--nocapture",
            "store_random::a_process_that_dies_somewhere",
        ])
        .env(STORE, root)
        .env(SEED, seed.to_string())
        .env(DEATH, death.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the process starts");
    let output = BufReader::new(child.stdout.take().expect("output"));
    let done = output
        .lines()
        .map_while(Result::ok)
        .filter(|line| line.starts_with("done "))
        .count();
    let status = child.wait().expect("an end");
    assert_ne!(status.code(), Some(101), "seed {seed}, death {death}");
    done as u64
}

fn survives(seed: u64) {
    let death = Chance(seed).next(60);
    println!("seed {seed}: dies at step {death}");
    // What every prefix of the sequence leaves.
    let model = tempfile::tempdir().expect("a folder");
    let store = TrendStore::create(model.path()).expect("a store");
    let mut states = vec![state(&store)];
    for place in 0..CHANGES {
        change(&store, seed, place);
        states.push(state(&store));
    }

    let folder = tempfile::tempdir().expect("a folder");
    let done = run_and_die(folder.path(), seed, death);
    let store = TrendStore::open(folder.path()).expect("a store");
    drop(write(&store));
    let found = state(&store);
    let done = usize::try_from(done).expect("few");
    let allowed: Vec<&Vec<String>> = states.iter().skip(done).take(2).collect();
    assert!(
        allowed.contains(&&found),
        "seed {seed}, death {death}: after {done} changes {} samples",
        found.len()
    );
    assert!(litter(folder.path()).is_empty(), "seed {seed}");
    let verdict = store.verify(None).expect("a verdict");
    assert!(
        !verdict.is_damaged() && verdict.leftovers.is_empty(),
        "seed {seed}: {verdict:?}"
    );
}

#[test]
fn a_few_random_kills_lose_and_double_nothing() {
    for seed in 1..=5 {
        survives(seed);
    }
}

#[test]
#[ignore = "takes a while; the few above run always"]
fn fifty_random_kills_lose_and_double_nothing() {
    for seed in 100..150 {
        survives(seed);
    }
}
