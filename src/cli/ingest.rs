//! `ingest`: the histories of mapped points, read into the trends store.

use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use chrono_tz::Tz;
use clap::Args;

use super::arguments::LogOptions;
use super::assembly::{TRENDS_FOLDER, service_facade};
use super::serve::{environment, usual_place};
use super::shutdown::{self, Ending};
use super::{logging, output};
use crate::config::Config;
use crate::config::load::{Settings, read};
use crate::knowledge::{KnowledgeState, KnowledgeStore};
use crate::station::facade::StationFacade;
use crate::station::http::CallScope;
use crate::station::time::{end_of_day, parse_client_time};
use crate::trends::ingest::{IngestOptions, IngestPlan, IngestProgress, IngestRequest, ingest};
use crate::trends::store::{FacilityId, TrendStore};
use crate::visible_text::one_line;

/// Pause between two lines about the progress, where they cannot overwrite each other.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// The same on a terminal, where one line is overwritten.
const BAR_EVERY: Duration = Duration::from_millis(200);
/// Width of the bar in characters.
const BAR: usize = 30;

/// What can be typed behind `ingest`.
#[derive(Debug, Args)]
pub struct IngestArguments {
    /// Configuration file; without it the usual places are looked at, then the environment alone.
    #[arg(long)]
    pub config: Option<PathBuf>,
    /// How many days back to read; without --days and --from as many as trends.ingestDays says.
    #[arg(long, conflicts_with = "from")]
    pub days: Option<u32>,
    /// First time to read, such as 2026-03-08 or 2026-03-08T07:00:00; without an offset it is station time.
    #[arg(long)]
    pub from: Option<String>,
    /// Last time to read, a date to its end; without it up to now.
    #[arg(long)]
    pub to: Option<String>,
    /// Only this equipment, by its id in the knowledge file; may be given several times.
    #[arg(long = "equipment", value_name = "ID")]
    pub equipment: Vec<String>,
    /// Read everything in the range again and put it in the place of all that is stored of the facility.
    #[arg(long)]
    pub force: bool,
    /// With --force: do so although fewer samples can be read than are stored.
    #[arg(long, requires = "force")]
    pub yes: bool,
    /// Only show what would be read; nothing on disk changes.
    #[arg(long)]
    pub dry_run: bool,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
    /// Folder of the store; without it trends in the data folder.
    #[arg(long)]
    pub store: Option<PathBuf>,
}

/// Ingests once.
///
/// # Errors
/// The configuration, the knowledge file, the station or the store cannot be used.
pub async fn run(arguments: IngestArguments, log: &LogOptions) -> anyhow::Result<Ending> {
    let file = arguments.config.clone().or_else(usual_place);
    let settings: Settings = read(file.as_deref(), environment())?;
    let config = Config::from_settings(&settings)?;
    let _level = logging::start(log, config.log_format, "warn");
    let station = service_facade(&config)?;
    let (stop, watcher) = shutdown::watch();
    let scope = CallScope::unlimited().with_cancel(stop.clone());
    let outcome = ingest_once(&arguments, &config, &station, &scope).await;
    station.close().await;
    if stop.is_cancelled() {
        if let Err(error) = outcome {
            output::say(&one_line(&format!("niagara-bridge: {error}")));
        }
        return Ok(watcher.await.unwrap_or(Ending::Interrupted));
    }
    watcher.abort();
    outcome.map(|()| Ending::Finished)
}

async fn ingest_once(
    arguments: &IngestArguments,
    config: &Config,
    station: &StationFacade,
    scope: &CallScope,
) -> anyhow::Result<()> {
    let snapshot = KnowledgeStore::open(&config.knowledge_file).snapshot();
    if let KnowledgeState::Unreadable(error) = &snapshot.state {
        bail!("{error}");
    }
    if snapshot.model.document().equipment.is_empty() {
        bail!(
            "no equipment is mapped in {}; map some first, for example with suggestMapping",
            config.knowledge_file.display()
        );
    }
    let root = match &arguments.store {
        Some(folder) => folder.clone(),
        None => trends_folder(config),
    };
    let zone = station.zone(scope).await?;
    let request = request(arguments, config, zone, station.now())?;
    if arguments.dry_run {
        let plan = IngestPlan::preview(station, scope, &snapshot.model, &root, &request).await?;
        if arguments.json {
            output::print(&format!(
                "{:#}
",
                plan.to_json()
            ))?;
        } else {
            output::print(&plan.table())?;
            if let Some(stored) = stored(&root, &plan).filter(|_| arguments.force) {
                output::print(&format!(
                    "\nAll of this would take the place of the {stored} samples that are stored.\n"
                ))?;
            }
        }
        return Ok(());
    }
    let store = Arc::new(TrendStore::create(root)?);
    let plan = IngestPlan::make(station, scope, &snapshot.model, &store, &request).await?;
    let line = ProgressLine::new();
    let options = IngestOptions {
        on_progress: line.clone().into_callback(),
        ..IngestOptions::default()
    };
    let outcome = ingest(station, scope, &store, plan, &options).await;
    line.end();
    let report = outcome?;
    if arguments.json {
        output::print(&format!("{:#}\n", report.to_json()))?;
    } else {
        output::print(&report.to_text())?;
    }
    Ok(())
}

/// Samples of the facility that are stored now; none when there is nothing that could be replaced.
fn stored(root: &Path, plan: &IngestPlan) -> Option<u64> {
    let store = TrendStore::open(root.to_owned()).ok()?;
    let view = store.view(&plan.facility).ok()?;
    Some(view.readable_rows())
}

/// Where the bridge keeps its trends.
pub(super) fn trends_folder(config: &Config) -> PathBuf {
    config.data_dir.join(TRENDS_FOLDER)
}

/// The facility that the configuration names.
///
/// # Errors
/// It is no facility id.
pub(super) fn configured_facility(config: &Config) -> anyhow::Result<Option<FacilityId>> {
    let id = config.facility_id.as_deref().map(FacilityId::parse);
    id.transpose().context("trends.facilityId cannot be used")
}

fn request(
    arguments: &IngestArguments,
    config: &Config,
    zone: Tz,
    now: DateTime<Utc>,
) -> anyhow::Result<IngestRequest> {
    let facility = configured_facility(config)?;
    let days = arguments.days.unwrap_or(config.ingest_days);
    let mut request = IngestRequest::last_days(facility, days, now);
    if let Some(from) = &arguments.from {
        request.from = parse_client_time(from, zone).context("--from")?;
    }
    if let Some(to) = &arguments.to {
        let day = to.trim().parse::<NaiveDate>().ok();
        request.to = Some(match day.and_then(|day| end_of_day(day, zone)) {
            Some(next_day) => next_day - TimeDelta::milliseconds(1),
            None => parse_client_time(to, zone).context("--to")?,
        });
    }
    request.only = arguments.equipment.iter().cloned().collect::<BTreeSet<_>>();
    request.force = arguments.force;
    request.accept_less = arguments.yes;
    Ok(request)
}

/// Tells on standard error how far an ingest is: a bar on a terminal, a line now and then elsewhere.
#[derive(Clone)]
pub(super) struct ProgressLine(Arc<Mutex<Shown>>);

struct Shown {
    on_terminal: bool,
    last: Option<Instant>,
}

impl ProgressLine {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(Shown {
            on_terminal: std::io::stderr().is_terminal(),
            last: None,
        })))
    }

    pub(super) fn into_callback(self) -> Arc<dyn Fn(IngestProgress) + Send + Sync> {
        Arc::new(move |progress| self.show(progress))
    }

    fn show(&self, progress: IngestProgress) {
        let mut shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let pause = if shown.on_terminal {
            BAR_EVERY
        } else {
            LINE_EVERY
        };
        if shown.last.is_some_and(|last| last.elapsed() < pause) {
            return;
        }
        shown.last = Some(Instant::now());
        if shown.on_terminal {
            output::overwrite(&bar(progress));
        } else {
            output::say(&words(progress));
        }
    }

    /// Leaves the line of the bar.
    pub(super) fn end(&self) {
        let shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.on_terminal && shown.last.is_some() {
            output::say("");
        }
    }
}

fn bar(progress: IngestProgress) -> String {
    let filled = (progress.histories * BAR)
        .checked_div(progress.of)
        .unwrap_or(BAR);
    format!(
        "[{}{}] {}  ",
        "#".repeat(filled.min(BAR)),
        ".".repeat(BAR.saturating_sub(filled)),
        words(progress)
    )
}

fn words(progress: IngestProgress) -> String {
    let seconds = progress.elapsed.as_secs_f64();
    let rate = if seconds > 0.0 {
        progress.samples as f64 / seconds
    } else {
        0.0
    };
    format!(
        "{} of {} histories, {} samples, {rate:.0} per second",
        progress.histories, progress.of, progress.samples
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(from: Option<&str>, to: Option<&str>) -> IngestArguments {
        IngestArguments {
            config: None,
            days: None,
            from: from.map(str::to_owned),
            to: to.map(str::to_owned),
            equipment: Vec::new(),
            force: false,
            yes: false,
            dry_run: false,
            json: false,
            store: None,
        }
    }

    fn wanted(arguments: &IngestArguments) -> anyhow::Result<(String, Option<String>)> {
        let config = crate::config::load::load(None, [])?;
        let now = "2026-06-01T00:00:00Z".parse()?;
        let request = request(arguments, &config, chrono_tz::Europe::Berlin, now)?;
        Ok((
            request.from.to_rfc3339(),
            request.to.map(|to| to.to_rfc3339()),
        ))
    }

    #[test]
    fn ranges_are_in_station_time_and_a_last_day_is_read_to_its_end() {
        let (from, to) = wanted(&typed(Some("2026-03-01"), Some("2026-03-02"))).expect("a range");
        assert_eq!(from, "2026-02-28T23:00:00+00:00");
        let to: DateTime<Utc> = to.expect("an end").parse().expect("a time");
        assert!(
            to.to_rfc3339().starts_with("2026-03-02T22:59:59.999"),
            "{to}"
        );
        let (from, to) = wanted(&typed(None, None)).expect("the usual days");
        assert_eq!((from.as_str(), to), ("2025-04-27T00:00:00+00:00", None));
        assert!(wanted(&typed(Some("yesterday"), None)).is_err());
    }

    #[test]
    fn the_bar_is_full_at_the_end() {
        let progress = |histories, of| IngestProgress {
            histories,
            of,
            samples: 100,
            elapsed: Duration::from_secs(2),
        };
        assert!(bar(progress(5, 10)).starts_with(&format!(
            "[{}{}]",
            "#".repeat(15),
            ".".repeat(15)
        )));
        assert!(bar(progress(0, 0)).starts_with(&format!("[{}] 0 of 0", "#".repeat(30))));
        assert_eq!(
            words(progress(5, 10)),
            "5 of 10 histories, 100 samples, 50 per second"
        );
    }
}
