//! An ingest is killed at every step: the next one loses nothing and doubles nothing.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mock_station::model::accounts::BRIDGE;
use niagara_bridge::clock::TestClock;
use niagara_bridge::knowledge::{KnowledgeModel, demo_model};
use niagara_bridge::station::boxp::TypeCache;
use niagara_bridge::station::facade::StationFacade;
use niagara_bridge::station::http::HttpLimits;
use niagara_bridge::station::web::{Secret, WebOptions, WebSession};
use niagara_bridge::trends::ingest::{IngestOptions, IngestRequest, IngestStep};
use niagara_bridge::trends::store::{Observer, StoreStep, TrendStore};

use crate::ingest_support::{FACILITY, NOW, Site, last_days, plan, run};
use crate::store_support::{litter, samples};

const STORE: &str = "NIAGARA_BRIDGE_TEST_STORE";
const STATION: &str = "NIAGARA_BRIDGE_TEST_STATION";
const STEP: &str = "NIAGARA_BRIDGE_TEST_STEP";
/// How often the step is passed before the process dies.
const TIMES: &str = "NIAGARA_BRIDGE_TEST_TIMES";
/// Stands for every step.
const ANY: &str = "any";
const FORCE: &str = "NIAGARA_BRIDGE_TEST_FORCE";

fn variable(name: &str) -> String {
    std::env::var(name).expect("started by the other tests of this file")
}

/// Small appends, so that a day makes several of them.
fn options(step: impl Fn(IngestStep) + Send + Sync + 'static) -> IngestOptions {
    IngestOptions {
        batch: 700,
        on_step: Arc::new(step),
        ..IngestOptions::default()
    }
}

fn request(force: bool) -> IngestRequest {
    let now = NOW.parse().expect("a time");
    if force {
        let all = IngestRequest::last_days(None, 1, now);
        IngestRequest { force: true, ..all }
    } else {
        last_days(1, now)
    }
}

/// Not a test of its own: the process that the tests below start and that dies in the middle of an ingest.
#[tokio::test]
#[ignore = "started by the other tests of this file"]
async fn a_process_that_dies_while_it_ingests() {
    let (step, times) = (
        variable(STEP),
        variable(TIMES).parse::<usize>().expect("a number"),
    );
    let passed = Arc::new(AtomicUsize::new(0));
    let die_at = move |reached: String| {
        if (step == ANY || reached == step) && passed.fetch_add(1, Ordering::SeqCst) == times {
            std::process::abort();
        }
    };
    let in_store = die_at.clone();
    let store = TrendStore::create(variable(STORE))
        .expect("a store")
        .with_observer(Observer::new(move |step| in_store(format!("{step:?}"))));
    let url = variable(STATION).parse().expect("an address");
    let mut web = WebOptions::new(url, BRIDGE.user, Secret::new(BRIDGE.password));
    web.limits = HttpLimits {
        requests_per_second: 0,
        ..HttpLimits::default()
    };
    let clock = Arc::new(TestClock::at(NOW.parse().expect("a time")));
    let session = WebSession::new(web, clock).expect("a session");
    let station = StationFacade::new(session, TypeCache::new(), None);
    let knowledge = KnowledgeModel::new(demo_model::harborview().expect("readable"));
    let store = Arc::new(store);
    let request = request(variable(FORCE) == "true");
    let plan = plan(&station, &knowledge, &store, &request)
        .await
        .expect("a plan");
    let options = options(move |step| die_at(format!("{step:?}")));
    run(&station, &store, plan, &options)
        .await
        .expect("ingested");
}

/// Whether the process came to the step and died there.
async fn dies(site: &Site, root: &Path, step: &str, times: usize, force: bool) -> bool {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command
        .args([
            "--ignored",
            "--exact",
            "ingest_kill::a_process_that_dies_while_it_ingests",
        ])
        .env(STORE, root)
        .env(STATION, site.bench.mock.url())
        .env(STEP, step)
        .env(TIMES, times.to_string())
        .env(FORCE, force.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let ended = tokio::task::spawn_blocking(move || command.status()).await;
    let status = ended.expect("a thread").expect("the process starts");
    assert_ne!(status.code(), Some(101), "{step}");
    !status.success()
}

/// Every step of an ingest into the store, or of one that replaces; a new one enters by itself.
fn steps(force: bool) -> Vec<String> {
    let of_ingest = |step: &IngestStep| match step {
        IngestStep::Forgotten | IngestStep::Replaced => force,
        IngestStep::Staged | IngestStep::Noted | IngestStep::Appended | IngestStep::Finished => {
            !force
        }
    };
    let of_store = |step: &StoreStep| match step {
        StoreStep::AppendStaged
        | StoreStep::AppendReady
        | StoreStep::PartMoved
        | StoreStep::AppendDone
        // A facility that is replaced has its entry already.
        | StoreStep::Registered => !force,
        StoreStep::SwapBuilt
        | StoreStep::SwapReady
        | StoreStep::OldMovedAway
        | StoreStep::NewInPlace
        | StoreStep::OldRemoved => force,
        StoreStep::FenceRaised
        | StoreStep::FenceLowered
        | StoreStep::CatalogueInvalid => true,
        StoreStep::Tombstoned | StoreStep::Trashed | StoreStep::EntryDropped => false,
    };
    let ingest = IngestStep::ALL.into_iter().filter(of_ingest);
    let store = StoreStep::ALL.into_iter().filter(of_store);
    ingest
        .map(|step| format!("{step:?}"))
        .chain(store.map(|step| format!("{step:?}")))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ingest_that_was_killed_goes_on_without_loss_and_without_doubles() {
    let site = Site::new().await;
    site.ingest(&request(false)).await;
    let expected = samples(&site.store, FACILITY);
    let mut deaths = 0;
    for step in steps(false) {
        // Appends at their second time too; what the store does in them has tests of its own.
        let is_of_ingest = IngestStep::ALL.iter().any(|own| format!("{own:?}") == step);
        for times in 0..if is_of_ingest { 2 } else { 1 } {
            let folder = tempfile::tempdir().expect("a folder");
            let case = format!("killed at {step}, {times}");
            if !dies(&site, folder.path(), &step, times, false).await {
                break;
            }
            deaths += 1;
            let store = Arc::new(TrendStore::open(folder.path()).expect("a store"));
            let plan = plan(&site.bench.facade, &site.knowledge, &store, &request(false))
                .await
                .expect("a plan");
            run(&site.bench.facade, &store, plan, &IngestOptions::default())
                .await
                .expect("ingested");
            assert_eq!(samples(&store, FACILITY), expected, "{case}");
            assert!(litter(folder.path()).is_empty(), "{case}");
            let verdict = store.verify(None).expect("a verdict");
            assert!(
                !verdict.is_damaged() && verdict.leftovers.is_empty(),
                "{case}: {verdict:?}"
            );
        }
    }
    assert!(deaths >= 12, "{deaths}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forced_ingest_that_was_killed_leaves_the_old_or_the_new_content() {
    let site = Site::new().await;
    let whole = IngestRequest {
        force: false,
        ..request(true)
    };
    site.ingest(&whole).await;
    let expected = samples(&site.store, FACILITY);
    for step in steps(true) {
        assert!(
            dies(&site, site.store.root(), &step, 0, true).await,
            "{step}"
        );
        let store = Arc::new(TrendStore::open(site.store.root()).expect("a store"));
        let plan = plan(&site.bench.facade, &site.knowledge, &store, &whole)
            .await
            .expect("a plan");
        let report = run(&site.bench.facade, &store, plan, &IngestOptions::default())
            .await
            .expect("ingested");
        assert_eq!(
            report.counts.kept,
            0,
            "killed at {step}: {}",
            report.to_text()
        );
        assert_eq!(samples(&store, FACILITY), expected, "killed at {step}");
        assert!(litter(site.store.root()).is_empty(), "killed at {step}");
    }
}

/// The next of a sequence of numbers that depends on its beginning alone.
fn next_random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Kills one ingest again and again after random numbers of steps until it comes through.
async fn survives_random_kills(site: &Site, expected: &[String], seed: u64) {
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let folder = tempfile::tempdir().expect("a folder");
    let mut deaths = 0;
    loop {
        let times = usize::try_from(next_random(&mut random) % 40).expect("small");
        if !dies(site, folder.path(), ANY, times, false).await {
            break;
        }
        deaths += 1;
        assert!(
            deaths < 200,
            "seed {seed}: the ingest does not come forward"
        );
    }
    let store = TrendStore::open(folder.path()).expect("a store");
    assert_eq!(
        samples(&store, FACILITY),
        expected,
        "seed {seed}, {deaths} deaths"
    );
    assert!(litter(folder.path()).is_empty(), "seed {seed}");
    println!("seed {seed}: {deaths} deaths");
}

async fn random_kills(seeds: std::ops::Range<u64>) {
    let site = Site::new().await;
    site.ingest(&request(false)).await;
    let expected = samples(&site.store, FACILITY);
    for seed in seeds {
        survives_random_kills(&site, &expected, seed).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kills_at_random_steps_lose_and_double_nothing() {
    random_kills(1..6).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "minutes of kills"]
async fn many_kills_at_random_steps_lose_and_double_nothing() {
    random_kills(6..56).await;
}
