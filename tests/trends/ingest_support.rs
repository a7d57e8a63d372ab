//! A site whose histories are ingested, and what should come of it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use mock_station::model::Station;
use mock_station::model::accounts::BRIDGE;
use mock_station::site::{Harborview, SiteOptions};
use niagara_bridge::knowledge::{KnowledgeModel, decode, demo_model, format};
use niagara_bridge::station::facade::StationFacade;
use niagara_bridge::station::http::CallScope;
use niagara_bridge::trends::ingest::{
    IngestError, IngestOptions, IngestPlan, IngestReport, IngestRequest, ingest,
};
use niagara_bridge::trends::store::TrendStore;

use crate::bench::Bench;

/// A day and a half after the clocks of New York went back.
pub const NOW: &str = "2026-11-02T15:20:00Z";

pub const FACILITY: &str = "harborview";

/// Air handler 1 of the demo site over the last days.
pub fn last_days(days: u32, now: DateTime<Utc>) -> IngestRequest {
    IngestRequest {
        only: BTreeSet::from(["ahu-1".to_owned()]),
        ..IngestRequest::last_days(None, days, now)
    }
}

pub struct Site {
    pub bench: Bench,
    pub knowledge: KnowledgeModel,
    pub store: Arc<TrendStore>,
    _folder: tempfile::TempDir,
}

impl Site {
    /// The demo site with its model.
    pub async fn new() -> Self {
        Self::edited(|_| {}, None).await
    }

    /// With other histories, or with another knowledge file.
    pub async fn edited(edit: impl FnOnce(&mut Station), knowledge: Option<&str>) -> Self {
        let now: DateTime<Utc> = NOW.parse().expect("a time");
        let mut site = Harborview::build(SiteOptions {
            days: 30,
            ..SiteOptions::for_tests(now)
        })
        .expect("the site");
        edit(&mut site.station);
        let document = match knowledge {
            None => demo_model::harborview().expect("readable"),
            Some(text) => {
                let (_, tree) = format::parse("test", text).expect("YAML");
                decode::decode("test", tree).expect("a model").document
            }
        };
        let folder = tempfile::tempdir().expect("a folder");
        Self {
            bench: Bench::serving(site.station, now, |_| {}, BRIDGE).await,
            knowledge: KnowledgeModel::new(document),
            store: Arc::new(TrendStore::create(folder.path().join("trends")).expect("a store")),
            _folder: folder,
        }
    }

    pub fn now(&self) -> DateTime<Utc> {
        self.bench.facade.now()
    }

    /// Lets time pass for station and bridge.
    pub fn wait(&self, minutes: i64) {
        self.bench
            .mock
            .station()
            .jump_clock(TimeDelta::minutes(minutes));
        let seconds = u64::try_from(minutes * 60).expect("forward");
        self.bench.clock.advance(Duration::from_secs(seconds));
    }

    pub async fn plan(&self, request: &IngestRequest) -> Result<IngestPlan, IngestError> {
        plan(&self.bench.facade, &self.knowledge, &self.store, request).await
    }

    pub async fn ingest(&self, request: &IngestRequest) -> IngestReport {
        let plan = self.plan(request).await.expect("a plan");
        run(
            &self.bench.facade,
            &self.store,
            plan,
            &IngestOptions::default(),
        )
        .await
        .expect("ingested")
    }
}

pub async fn plan(
    station: &StationFacade,
    knowledge: &KnowledgeModel,
    store: &Arc<TrendStore>,
    request: &IngestRequest,
) -> Result<IngestPlan, IngestError> {
    IngestPlan::make(station, &CallScope::unlimited(), knowledge, store, request).await
}

pub async fn run(
    station: &StationFacade,
    store: &Arc<TrendStore>,
    plan: IngestPlan,
    options: &IngestOptions,
) -> Result<IngestReport, IngestError> {
    ingest(station, &CallScope::unlimited(), store, plan, options).await
}
