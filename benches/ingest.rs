//! Rate of ingest over loopback, printed as a table: `cargo bench --bench ingest`. README.md beside the benches explains it.
//!
//! `NIAGARA_BRIDGE_BENCH_DAYS=30 cargo bench --bench ingest` reads fewer days.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use mock_station::clock::TestClock as StationTime;
use mock_station::model::SharedStation;
use mock_station::model::accounts::BRIDGE;
use mock_station::server::MockStation;
use mock_station::site::{Harborview, SiteOptions};
use niagara_bridge::clock::TestClock;
use niagara_bridge::knowledge::{KnowledgeModel, demo_model};
use niagara_bridge::station::boxp::TypeCache;
use niagara_bridge::station::facade::{HistorySpan, StationFacade};
use niagara_bridge::station::http::{CallScope, HttpLimits};
use niagara_bridge::station::web::{Secret, WebOptions, WebSession};
use niagara_bridge::trends::ingest::{IngestOptions, IngestPlan, IngestRequest, ingest};
use niagara_bridge::trends::store::TrendStore;

const NOW: &str = "2026-11-02T15:20:00Z";
const DAYS: u32 = 90;
/// More records than a history of the site has.
const ALL: usize = 10_000_000;

#[tokio::main]
async fn main() {
    let days = std::env::var("NIAGARA_BRIDGE_BENCH_DAYS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(DAYS);
    let now: DateTime<Utc> = NOW.parse().expect("a time");
    let site = Harborview::build(SiteOptions::for_tests(now)).expect("the site");
    let mock = MockStation::builder()
        .station(SharedStation::new(
            site.station,
            Arc::new(StationTime::at(now)),
        ))
        .start()
        .await
        .expect("the stand-in station");
    let url = mock.url().parse().expect("an address");
    let mut options = WebOptions::new(url, BRIDGE.user, Secret::new(BRIDGE.password));
    options.limits = HttpLimits {
        requests_per_second: 0,
        ..HttpLimits::default()
    };
    let session = WebSession::new(options, Arc::new(TestClock::at(now))).expect("a session");
    let station = StationFacade::new(session, TypeCache::new(), None);
    let model = KnowledgeModel::new(demo_model::harborview().expect("readable"));
    let scope = CallScope::unlimited();
    let folder = tempfile::tempdir().expect("a folder");
    let store = Arc::new(TrendStore::create(folder.path()).expect("a store"));
    let request = IngestRequest::last_days(None, days, now);

    let plan = IngestPlan::make(&station, &scope, &model, &store, &request)
        .await
        .expect("a plan");
    let (records, reading) = read_alone(&station, &scope, &plan).await;
    say("records", records as f64, "");
    say("reading alone", rate(records, reading), "records/s");

    let report = ingest(&station, &scope, &store, plan, &IngestOptions::default())
        .await
        .expect("ingested");
    say("samples", report.counts.kept as f64, "");
    say("ingest", report.samples_per_second(), "samples/s");
    let ratio = report.elapsed.as_secs_f64() / reading.as_secs_f64();
    say("ingest against reading alone", ratio, "times as long");

    let again = Instant::now();
    let plan = IngestPlan::make(&station, &scope, &model, &store, &request)
        .await
        .expect("a plan");
    let report = ingest(&station, &scope, &store, plan, &IngestOptions::default())
        .await
        .expect("ingested");
    assert_eq!(report.counts.kept, 0, "nothing is new");
    say("once more, nothing new", again.elapsed().as_secs_f64(), "s");
}

/// The same records, four histories at a time as in the ingest, thrown away.
async fn read_alone(
    station: &StationFacade,
    scope: &CallScope,
    plan: &IngestPlan,
) -> (u64, Duration) {
    use futures::StreamExt;
    let local = |instant: DateTime<Utc>| instant.with_timezone(&plan.clock.zone()).fixed_offset();
    let span = HistorySpan {
        from: local(plan.wanted.begin()),
        to: local(plan.wanted.end()),
        limit: ALL,
    };
    let begun = Instant::now();
    let mut counts = futures::stream::iter(&plan.points)
        .map(|point| async move {
            let history = point.found.source.listed().expect("a listed history");
            let read = station
                .read_listed_history(scope, history, span, &mut |_| {})
                .await
                .expect("records");
            read.rows as u64
        })
        .buffer_unordered(4);
    let mut records = 0;
    while let Some(count) = counts.next().await {
        records += count;
    }
    (records, begun.elapsed())
}

fn rate(count: u64, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}

fn say(what: &str, figure: f64, unit: &str) {
    println!("{what:<32} {figure:>16.1} {unit}");
}
