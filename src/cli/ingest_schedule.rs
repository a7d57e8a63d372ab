//! Ingest in the background of a bridge that serves.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::assembly::Assembly;
use super::ingest::{ProgressLine, configured_facility, trends_folder};
use super::output;
use crate::config::Config;
use crate::knowledge::{KnowledgeState, KnowledgeStore};
use crate::station::facade::StationFacade;
use crate::station::http::CallScope;
use crate::trends::ingest::{
    IngestError, IngestOptions, IngestPlan, IngestReport, IngestRequest, ingest,
};
use crate::trends::store::{FacilityId, TrendStore};

/// Histories read at a time beside the tools of people: half of what a station is asked at once (design, "Limits").
const PARALLEL: usize = 2;

/// Samples that are stored at a time: few enough that the end of the program waits for them.
const BATCH: usize = 250_000;

/// Time for storing what was read when the program ends; what is not stored by then is read again.
const FAREWELL: Duration = Duration::from_secs(10);

/// A schedule that runs.
pub struct RunningSchedule {
    ended: CancellationToken,
    task: JoinHandle<()>,
}

impl RunningSchedule {
    /// Ends it; what was read is stored first.
    pub async fn end(self) {
        self.ended.cancel();
        if tokio::time::timeout(FAREWELL, self.task).await.is_err() {
            tracing::debug!("an ingest did not end in time; the next one reads the rest again");
        }
    }
}

/// Reads new records of all mapped points again and again.
pub struct IngestSchedule {
    station: Arc<StationFacade>,
    knowledge: Arc<KnowledgeStore>,
    folder: PathBuf,
    facility: Option<FacilityId>,
    every: Duration,
    /// Days to read, the most recent ones first.
    stages: Vec<u32>,
    /// Tells people on standard error instead of the log.
    aloud: bool,
}

impl IngestSchedule {
    /// The schedule that a configuration asks for; none when it asks for none.
    ///
    /// # Errors
    /// The facility cannot be used.
    pub fn of(config: &Config, assembly: &Assembly) -> anyhow::Result<Option<Self>> {
        if config.ingest_every.is_zero() {
            return Ok(None);
        }
        Ok(Some(Self {
            station: assembly.station.service().clone(),
            knowledge: assembly.knowledge.clone(),
            folder: trends_folder(config),
            facility: configured_facility(config)?,
            every: config.ingest_every,
            stages: vec![config.ingest_days],
            aloud: false,
        }))
    }

    /// Reads so many recent days first, and says on standard error how far it is.
    #[must_use]
    pub fn aloud(mut self, recent_days: u32) -> Self {
        self.stages.insert(0, recent_days);
        self.aloud = true;
        self
    }

    /// Runs until `stop` fires.
    pub fn start(self, stop: &CancellationToken) -> RunningSchedule {
        let ended = stop.child_token();
        let stop = ended.clone();
        let task = tokio::spawn(async move {
            let mut rounds = 0_u64;
            loop {
                for days in &self.stages {
                    // Later rounds find the earlier stages read already.
                    let is_last = Some(days) == self.stages.last();
                    if rounds == 0 || is_last {
                        self.round(*days, rounds == 0, &stop).await;
                    }
                    if stop.is_cancelled() {
                        return;
                    }
                }
                rounds += 1;
                if stop
                    .run_until_cancelled(tokio::time::sleep(self.every))
                    .await
                    .is_none()
                {
                    return;
                }
            }
        });
        RunningSchedule { ended, task }
    }

    async fn round(&self, days: u32, is_first: bool, stop: &CancellationToken) {
        match self.ingest(days, is_first, stop).await {
            Ok(None) => tracing::info!("no equipment is mapped yet; there is nothing to ingest"),
            Ok(Some(report)) => self.tell(days, is_first, &report),
            Err(error) if stop.is_cancelled() => tracing::debug!(%error, "the ingest was ended"),
            Err(error) => {
                tracing::warn!(%error, "trends were not ingested; the next round tries again");
            }
        }
    }

    async fn ingest(
        &self,
        days: u32,
        is_first: bool,
        stop: &CancellationToken,
    ) -> Result<Option<IngestReport>, IngestError> {
        let snapshot = self.knowledge.snapshot();
        let unreadable = matches!(snapshot.state, KnowledgeState::Unreadable(_));
        if unreadable || snapshot.model.document().equipment.is_empty() {
            return Ok(None);
        }
        let scope = CallScope::unlimited().with_cancel(stop.clone());
        let store = Arc::new(TrendStore::create(&self.folder)?);
        let request = IngestRequest::last_days(self.facility.clone(), days, self.station.now());
        let plan = Box::pin(IngestPlan::make(
            &self.station,
            &scope,
            &snapshot.model,
            &store,
            &request,
        ))
        .await?;
        let mut options = IngestOptions {
            parallel: PARALLEL,
            batch: BATCH,
            ..IngestOptions::default()
        };
        let line = ProgressLine::new();
        if self.aloud && is_first {
            options.on_progress = line.clone().into_callback();
        }
        let outcome = ingest(&self.station, &scope, &store, plan, &options).await;
        if self.aloud && is_first {
            line.end();
        }
        outcome.map(Some)
    }

    fn tell(&self, days: u32, is_first: bool, report: &IngestReport) {
        if self.aloud && is_first {
            output::say(&format!(
                "Trends of the last {days} days are stored: {} new samples of {} points, {} records left out, {:.0} s.",
                report.counts.kept,
                report.points_with_samples,
                report.counts.dropped_in_all(),
                report.elapsed.as_secs_f64()
            ));
        }
        tracing::info!(
            facility = %report.facility, samples = report.counts.kept, points = report.points_with_samples,
            dropped = report.counts.dropped_in_all(), not_ingested = report.refused.len(),
            seconds = report.elapsed.as_secs_f64(), "trends were ingested"
        );
        if is_first {
            for refusal in &report.refused {
                tracing::info!(equip = %refusal.equip, role = %refusal.role, reason = %refusal.reason, "a point is not ingested");
            }
        }
        for remark in &report.remarks {
            tracing::info!(equip = %remark.equip, role = %remark.role, history = %remark.history, "{}", remark.text);
        }
    }
}
