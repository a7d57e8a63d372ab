//! Latency of a point's reading while analyses of stored trends go on in the same process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use niagara_bridge::cli::assembly::TRENDS_FOLDER;
use niagara_bridge::trends::store::TrendStore;
use serde_json::json;

use crate::building::Campus;
use crate::measure::{Figures, Table, sequential};
use crate::served::Served;

const EQUIPMENT: usize = 150;
const DAYS: i64 = 365;
/// Readings between two looks at the runs.
const READS: usize = 2_000;
/// Runs that end while is read: all that a run does has its turn.
const ENDED: usize = 4;
/// Runs at the same time.
const RUNS: usize = 2;
/// Beside them a reading should take less than this times its idle latency (issue "Analytic engine", acceptance).
const MOST_RATIO: f64 = 2.0;

pub async fn measure(table: &mut Table) {
    let equipment = std::env::var("NIAGARA_BRIDGE_BENCH_EQUIPMENT").ok();
    let equipment = equipment.and_then(|text| text.parse().ok());
    let campus = Campus {
        equipment: equipment.unwrap_or(EQUIPMENT),
        days: DAYS,
    };
    let facility = campus.facility();
    let settings = json!({"camber": {"allow": [facility.as_str()]}});
    let served = Served::with(&settings, |data| {
        let store = TrendStore::create(data.join(TRENDS_FOLDER)).expect("a store");
        campus.write(&store);
    })
    .await;
    let served = Arc::new(served);
    let read = ("readPoint", json!({"ord": served.point()}));
    let run = ("rule_run", json!({"facility_id": facility.as_str()}));
    let _ = sequential(50, || served.call(&read)).await;
    let idle = sequential(READS, || served.call(&read)).await;

    let over = Arc::new(AtomicBool::new(false));
    let ended = Arc::new(AtomicUsize::new(0));
    let runs: Vec<_> = (0..RUNS)
        .map(|_| {
            let (served, run) = (served.clone(), run.clone());
            let (over, ended) = (over.clone(), ended.clone());
            tokio::spawn(async move {
                while !over.load(Ordering::Relaxed) {
                    let answer = served.call(&run).await;
                    assert_eq!(answer["isError"], json!(false), "{answer}");
                    ended.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    // The first of them must be at work.
    let _ = sequential(50, || served.call(&read)).await;
    let mut beside = Vec::new();
    while ended.load(Ordering::Relaxed) < ENDED {
        beside.extend(
            sequential(READS, || served.call(&read))
                .await
                .into_durations(),
        );
    }
    let beside = Figures::of(beside);
    let meanwhile = ended.load(Ordering::Relaxed);
    over.store(true, Ordering::Relaxed);
    for run in runs {
        run.await.expect("a run");
    }

    table.latency("readPoint, idle", &idle);
    let name = format!(
        "readPoint, {RUNS} callers of rule_run over {} equipment",
        campus.equipment
    );
    table.latency(&name, &beside);
    let ratio = beside.median().as_secs_f64() / idle.median().as_secs_f64();
    table.row(
        "readPoint, beside runs to idle",
        format!("{ratio:.2} (target {MOST_RATIO} or less)"),
    );
    table.row(
        "runs ended meanwhile, and in all",
        format!("{meanwhile}, {}", ended.load(Ordering::Relaxed)),
    );
}
