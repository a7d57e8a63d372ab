//! `report`: the ranked issues of a facility as one HTML file for people.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::arguments::LogOptions;
use super::camber::open_store;
use super::shutdown::{self, Ending};
use super::{logging, output};
use crate::camber::run_config::RunConfigs;
use crate::camber::{CallerPolicy, Capability, CapabilityRegistry, CapabilityService, Workspace};
use crate::config::LogFormat;
use crate::durable_file::Staged;
use crate::knowledge::KnowledgeStore;
use crate::mcp::station_points::StationPoints;
use crate::report::issue_charts::IssueCharts;
use crate::report::{Collected, StationLinks};
use crate::trends::store::{FacilityId, TrendStore};

/// A report of a large building takes its time, and no client waits for it.
const LONGEST: Duration = Duration::from_secs(1800);
/// Pictures of many issues are large.
const LARGEST: usize = 200_000_000;

#[derive(Debug, Args)]
pub struct ReportOptions {
    /// Facility in the trend store.
    #[arg(long, value_name = "ID")]
    pub facility: String,
    /// Folder for the file, which is called <facility>-report.html; it is made when it is missing.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Folder of the trend store, or of a portfolio workspace.
    #[arg(long, value_name = "DIR")]
    pub store: PathBuf,
    /// Run configuration of the facility.
    #[arg(long, value_name = "FILE")]
    pub run_config: Vec<PathBuf>,
    /// Knowledge file of the site, which tells the station's points behind the trends.
    #[arg(long, value_name = "FILE")]
    pub knowledge: Option<PathBuf>,
    /// Address of the station, for links to its points.
    #[arg(long, value_name = "URL", requires = "knowledge")]
    pub station: Option<Url>,
    /// Lowest trust score of a sensor that an analysis may rest on, 0 to 1.
    #[arg(long, value_name = "X", default_value_t = 0.5, value_parser = super::arguments::share)]
    pub min_trust: f64,
}

/// Writes the report and tells where it is.
///
/// # Errors
/// The store, the run configuration or the knowledge file cannot be used, the facility is refused, or the file cannot be
/// written.
pub async fn run(options: ReportOptions, log: &LogOptions) -> anyhow::Result<Ending> {
    logging::start(log, LogFormat::Text, "warn");
    let facility = FacilityId::parse(&options.facility)?;
    let store = Arc::new(open_store(&options.store)?);
    let workspace = || workspace(&options, store.clone());
    let service = CapabilityService::start(workspace()?)?;
    let charts: Box<dyn Capability> = Box::new(IssueCharts);
    let pictures = CapabilityService::with(CapabilityRegistry::of([charts])?, workspace()?)?;
    let mut caller = CallerPolicy::of([facility.as_str()]);
    caller.min_trust = options.min_trust;
    caller.caps.max_bytes = LARGEST;
    caller.caps.max_time = LONGEST;

    let (stop, watcher) = shutdown::watch();
    let collected = collect(&service, &pictures, &caller, &facility, &stop).await;
    if stop.is_cancelled() {
        return Ok(watcher.await.unwrap_or(Ending::Finished));
    }
    watcher.abort();
    let mut collected = collected?;
    collected.links = options.station.clone().map(StationLinks::new);
    collected.made_at = chrono::Local::now().format("%Y-%m-%d %H:%M").to_string();
    let path = options.out.join(format!("{facility}-report.html"));
    write(&path, &collected.to_html())?;
    output::print(&format!("{}\n", path.display()))?;
    Ok(Ending::Finished)
}

async fn collect(
    service: &CapabilityService,
    pictures: &CapabilityService,
    caller: &CallerPolicy,
    facility: &FacilityId,
    stop: &CancellationToken,
) -> anyhow::Result<Collected> {
    Collected::of(service, pictures, caller, facility.as_str(), stop)
        .await
        .with_context(|| format!("the report of {facility} cannot be made"))
}

fn workspace(options: &ReportOptions, store: Arc<TrendStore>) -> anyhow::Result<Workspace> {
    let run_configs = RunConfigs::read(&options.run_config)?;
    run_configs.warn(&store, |facility| facility == options.facility);
    let workspace = Workspace::new(store.clone())
        .on_all_cores()
        .with_run_configs(run_configs);
    let Some(knowledge) = &options.knowledge else {
        return Ok(workspace);
    };
    anyhow::ensure!(
        knowledge.exists(),
        "there is no knowledge file {}; name it with --knowledge",
        knowledge.display()
    );
    let knowledge = Arc::new(KnowledgeStore::open(knowledge));
    let points = StationPoints::new(knowledge, store, Some(options.facility.clone()));
    Ok(workspace.with_points(Arc::new(points)))
}

/// An earlier report is replaced at once, never half.
fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("the folder {} cannot be made", folder.display()))?;
    }
    let mut staged = Staged::create(path.with_extension("html.new"), path.to_owned())?;
    staged.fill(text.as_bytes())?;
    staged.sync()?;
    staged.commit()?;
    Ok(())
}
