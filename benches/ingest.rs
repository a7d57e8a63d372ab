//! Rate of ingest over loopback, printed as a table: `cargo bench --bench ingest`. README.md beside the benches explains it.
//!
//! `NIAGARA_BRIDGE_BENCH_DAYS=30 cargo bench --bench ingest` reads fewer days.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use futures::StreamExt;
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
use niagara_bridge::station::web::{Secret, WebOptions, WebRequest, WebSession};
use niagara_bridge::trends::ingest::{
    IngestOptions, IngestPlan, IngestReport, IngestRequest, ingest,
};
use niagara_bridge::trends::store::TrendStore;

const NOW: &str = "2026-11-02T15:20:00Z";
const DAYS: u32 = 90;
/// More records than a history of the site has.
const ALL: usize = 10_000_000;
/// Requests at a time, as in the ingest.
const PARALLEL: usize = 4;
/// Of each measure the middle one counts.
const ROUNDS: usize = 3;

/// What an ingest should reach (issue "Trends", acceptance).
const LEAST_RATE: f64 = 300_000.0;
const MOST_RATIO: f64 = 1.5;

struct Yard {
    mock: MockStation,
    station: StationFacade,
    model: KnowledgeModel,
    request: IngestRequest,
    scope: CallScope,
}

#[tokio::main]
async fn main() {
    let yard = Yard::open().await;
    let (store, folder) = empty_store();
    let plan = yard.plan(&store).await;
    let targets = yard.targets(&plan).await;
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        rounds.push(yard.round(&targets).await);
    }
    let first = &rounds[0];
    say("records", first.records as f64, "");
    say("CSV", first.bytes as f64 / 1e6, "MB");
    let download = middle(rounds.iter().map(|round| round.download));
    say(
        "downloading the CSV",
        rate(first.records, download),
        "records/s",
    );
    let reading = middle(rounds.iter().map(|round| round.reading));
    say("reading it", rate(first.records, reading), "records/s");
    let ingest = middle(rounds.iter().map(|round| round.ingest));
    let samples = first.report.counts.kept;
    say("samples", samples as f64, "");
    let reached = rate(samples, ingest);
    say(
        "ingest",
        reached,
        &format!("samples/s (target {LEAST_RATE:.0} or more)"),
    );
    let ratio = ingest.as_secs_f64() / download.as_secs_f64();
    say(
        "ingest to downloading",
        ratio,
        &format!("(target {MOST_RATIO} or less)"),
    );
    let ratio = ingest.as_secs_f64() / reading.as_secs_f64();
    say("ingest to reading", ratio, "");

    yard.ingest(&store, plan).await;
    let again = Instant::now();
    let plan = yard.plan(&store).await;
    let report = yard.ingest(&store, plan).await;
    assert_eq!(report.counts.kept, 0, "nothing is new");
    say("once more, nothing new", again.elapsed().as_secs_f64(), "s");
    drop(folder);
}

/// What one round measured.
struct Round {
    records: u64,
    bytes: u64,
    download: Duration,
    reading: Duration,
    ingest: Duration,
    report: IngestReport,
}

fn empty_store() -> (Arc<TrendStore>, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let store = TrendStore::create(folder.path()).expect("a store");
    (Arc::new(store), folder)
}

impl Yard {
    async fn open() -> Self {
        let days = std::env::var("NIAGARA_BRIDGE_BENCH_DAYS")
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or(DAYS);
        let now: DateTime<Utc> = NOW.parse().expect("a time");
        let site = Harborview::build(SiteOptions::for_tests(now)).expect("the site");
        let clock = Arc::new(StationTime::at(now));
        let mock = MockStation::builder()
            .station(SharedStation::new(site.station, clock))
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
        Self {
            mock,
            station: StationFacade::new(session, TypeCache::new(), None),
            model: KnowledgeModel::new(demo_model::harborview().expect("readable")),
            request: IngestRequest::last_days(None, days, now),
            scope: CallScope::unlimited(),
        }
    }

    async fn plan(&self, store: &Arc<TrendStore>) -> IngestPlan {
        IngestPlan::make(
            &self.station,
            &self.scope,
            &self.model,
            store,
            &self.request,
        )
        .await
        .expect("a plan")
    }

    async fn ingest(&self, store: &Arc<TrendStore>, plan: IngestPlan) -> IngestReport {
        ingest(
            &self.station,
            &self.scope,
            store,
            plan,
            &IngestOptions::default(),
        )
        .await
        .expect("ingested")
    }

    /// The requests that reading the histories of a plan takes, as the station sees them.
    async fn targets(&self, plan: &IngestPlan) -> Vec<String> {
        self.mock.clear_logs();
        self.read(plan).await;
        let requests = self.mock.requests();
        let asked = requests.into_iter().map(|request| request.target);
        asked.filter(|target| target.contains("history")).collect()
    }

    async fn round(&self, targets: &[String]) -> Round {
        let (store, _folder) = empty_store();
        let plan = self.plan(&store).await;
        let begun = Instant::now();
        let bytes = self.download(targets).await;
        let download = begun.elapsed();
        let begun = Instant::now();
        let records = self.read(&plan).await;
        let reading = begun.elapsed();
        let begun = Instant::now();
        let report = self.ingest(&store, plan).await;
        Round {
            records,
            bytes,
            download,
            reading,
            ingest: begun.elapsed(),
            report,
        }
    }

    /// The answers of the station, thrown away as they come; how many bytes they are.
    async fn download(&self, targets: &[String]) -> u64 {
        let request = WebRequest::read(&self.scope);
        let mut answers = futures::stream::iter(targets)
            .map(|target| async {
                let answer = self.station.web().get_stream(target, &request).await;
                let mut body = answer.expect("an answer").body;
                let mut bytes = 0;
                while let Some(piece) = body.chunk().await.expect("a piece") {
                    bytes += piece.len() as u64;
                }
                bytes
            })
            .buffer_unordered(PARALLEL);
        let mut bytes = 0;
        while let Some(count) = answers.next().await {
            bytes += count;
        }
        bytes
    }

    /// The same as records, thrown away as well; how many they are.
    async fn read(&self, plan: &IngestPlan) -> u64 {
        let zone = plan.clock.zone();
        let local = |instant: DateTime<Utc>| instant.with_timezone(&zone).fixed_offset();
        let span = HistorySpan {
            from: local(plan.wanted.begin()),
            to: local(plan.wanted.end()),
            limit: ALL,
        };
        let mut counts = futures::stream::iter(&plan.points)
            .map(|point| async move {
                let history = point.found.source.listed().expect("a listed history");
                let read = self
                    .station
                    .read_listed_history(&self.scope, history, span, &mut |_| {})
                    .await
                    .expect("records");
                read.rows as u64
            })
            .buffer_unordered(PARALLEL);
        let mut records = 0;
        while let Some(count) = counts.next().await {
            records += count;
        }
        records
    }
}

fn middle(times: impl Iterator<Item = Duration>) -> Duration {
    let mut times: Vec<Duration> = times.collect();
    times.sort();
    times[times.len() / 2]
}

fn rate(count: u64, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}

fn say(what: &str, figure: f64, unit: &str) {
    println!("{what:<32} {figure:>16.1} {unit}");
}
