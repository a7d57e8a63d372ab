//! `store`: upkeep of the trends store: what it holds, whether it is whole, packing, pruning, removing (Store §6, §9).
//!
//! The bridge and CAMBER may run meanwhile: changes wait for the store's lock, and readers are kept out only for the moment
//! of a swap.

mod text;

use std::path::PathBuf;

use anyhow::bail;
use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::json;

use self::text::{list_text, packed_text, pruned_text, verdict_text};
use super::arguments::LogOptions;
use super::serve::{environment, usual_place};
use super::shutdown::Ending;
use super::{logging, output};
use crate::config::load::read;
use crate::config::{Config, LogFormat};
use crate::trends::store::lock::wait_from_environment;
use crate::trends::store::wall_clock::{iso, parse_bound};
use crate::trends::store::{
    CompactReport, FacilityId, FacilityState, PruneReport, Registry, RegistryCondition, StoreError,
    StoreVerdict, StoreWriter, TrendStore,
};

#[derive(Debug, Args)]
pub struct StoreOptions {
    #[command(subcommand)]
    pub command: StoreCommand,
    #[command(flatten)]
    pub place: StorePlace,
    /// Print JSON instead of text.
    #[arg(long, global = true)]
    pub json: bool,
}

/// Where the store is.
#[derive(Debug, Args)]
pub struct StorePlace {
    /// Folder of the store.
    #[arg(long, global = true, value_name = "DIR", conflicts_with = "config")]
    pub store: Option<PathBuf>,
    /// Configuration file whose data folder holds the store; without both the usual places are looked at.
    #[arg(long, global = true)]
    pub config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// Tell which facilities are stored, and how much of each.
    List,
    /// Read every part to its last row; exit code 1 when data cannot be read.
    Verify {
        /// Only this facility.
        #[arg(long)]
        facility: Option<String>,
        /// Fail also on parts that are not in the canonical layout, leftovers and empty facilities.
        #[arg(long)]
        strict: bool,
    },
    /// Pack many small parts into few.
    Compact {
        /// Only this facility.
        #[arg(long)]
        facility: Option<String>,
    },
    /// Take out parts whose last sample is older than a date; without --yes it only tells which.
    Prune {
        /// The first day to keep, such as 2024-01-01, by the wall clock of the site.
        #[arg(long, value_name = "DATE", value_parser = day)]
        before: i64,
        /// Only this facility.
        #[arg(long)]
        facility: Option<String>,
        /// Do it.
        #[arg(long)]
        yes: bool,
    },
    /// Remove a facility for good; its id is never given out again.
    Remove {
        /// The facility.
        facility: String,
        /// Why; kept with the id.
        #[arg(long, value_parser = told)]
        reason: String,
        /// Do it.
        #[arg(long)]
        yes: bool,
    },
    /// Change the state of a facility.
    Facility {
        #[command(subcommand)]
        change: FacilityChange,
    },
}

#[derive(Debug, Subcommand)]
pub enum FacilityChange {
    /// Make it active: analyses take it in.
    Activate {
        /// The facility.
        facility: String,
    },
    /// Suspend it: it still takes data, analyses leave it out.
    Suspend {
        /// The facility.
        facility: String,
    },
}

fn day(text: &str) -> Result<i64, String> {
    parse_bound(text).ok_or_else(|| format!("{text:?} is no date such as 2024-01-01"))
}

fn told(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("write why, for whoever meets the id later".to_owned()),
        told => Ok(told.to_owned()),
    }
}

/// Looks at the store or changes it.
///
/// # Errors
/// There is no store, it cannot be read or changed, or `verify` found damage.
pub fn run(options: &StoreOptions, log: &LogOptions) -> anyhow::Result<Ending> {
    let _level = logging::start(log, LogFormat::Text, "warn");
    let store = TrendStore::open(folder(&options.place)?)?;
    let facility = |id: &Option<String>| id.as_deref().map(FacilityId::parse).transpose();
    let json = options.json;
    match &options.command {
        StoreCommand::List => {
            let listing = list(&store)?;
            show(json, &listing, &list_text(&listing))?;
        }
        StoreCommand::Verify {
            facility: id,
            strict,
        } => {
            let verdict = store.verify(facility(id)?.as_ref())?;
            let checked = Checked {
                ok: !verdict.is_damaged(),
                clean: verdict.is_clean(),
                verdict: &verdict,
            };
            show(json, &checked, &verdict_text(&verdict))?;
            if verdict.is_damaged() {
                bail!("stored data cannot be read; see what is listed above");
            }
            if *strict && !verdict.is_clean() {
                bail!("the store is readable, but not as it should be; see what is listed above");
            }
        }
        StoreCommand::Compact { facility: id } => {
            let packed = compact(&store, facility(id)?)?;
            show(json, &packed, &packed_text(&packed))?;
            check_done(packed.iter().map(|facility| &facility.problem))?;
        }
        StoreCommand::Prune {
            before,
            facility: id,
            yes,
        } => {
            let pruned = prune(&store, facility(id)?, *before, *yes)?;
            show(json, &pruned, &pruned_text(&pruned))?;
            check_done(pruned.iter().map(|facility| &facility.problem))?;
        }
        StoreCommand::Remove {
            facility: id,
            reason,
            yes,
        } => {
            let id = FacilityId::parse(id)?;
            if !yes {
                bail!(
                    "nothing was removed: the samples of facility \"{id}\" cannot be brought back afterwards; add --yes \
                     if that is meant"
                );
            }
            let mut writer = writer(&store)?;
            writer.remove(&id, reason)?;
            writer.offer_catalogue()?;
            let done = json!({"facility_id": id.as_str(), "removed": true});
            show(json, &done, &format!("Removed facility \"{id}\".\n"))?;
        }
        StoreCommand::Facility { change } => {
            let (id, state) = match change {
                FacilityChange::Activate { facility } => (facility, FacilityState::Active),
                FacilityChange::Suspend { facility } => (facility, FacilityState::Suspended),
            };
            let id = FacilityId::parse(id)?;
            let changed = writer(&store)?.set_state(&id, state)?;
            let done = json!({"facility_id": id.as_str(), "state": state, "changed": changed});
            let already = if changed { "is now" } else { "was already" };
            let text = format!("Facility \"{id}\" {already} {}.\n", state.word());
            show(json, &done, &text)?;
        }
    }
    Ok(Ending::Finished)
}

/// The folder of the store.
///
/// # Errors
/// The configuration cannot be used.
pub(super) fn folder(place: &StorePlace) -> anyhow::Result<PathBuf> {
    if let Some(folder) = &place.store {
        return Ok(folder.clone());
    }
    let file = place.config.clone().or_else(usual_place);
    let settings = read(file.as_deref(), environment())?;
    Ok(Config::from_settings(&settings)?.data_dir.join("trends"))
}

fn writer(store: &TrendStore) -> Result<StoreWriter<'_>, StoreError> {
    store.writer(wait_from_environment())
}

/// What `store verify` prints as JSON.
#[derive(Debug, Serialize)]
struct Checked<'a> {
    /// Everything can be read.
    ok: bool,
    /// There is nothing to remark.
    clean: bool,
    #[serde(flatten)]
    verdict: &'a StoreVerdict,
}

/// One facility of `store list`.
#[derive(Debug, Serialize)]
struct Listed {
    facility_id: String,
    name: String,
    state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    timezone: Option<String>,
    start: Option<String>,
    end: Option<String>,
    n_points: usize,
    n_equipment: usize,
    parts: usize,
    rows: u64,
    bytes: u64,
    /// Why the rest is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    unavailable: Option<String>,
}

#[derive(Debug, Serialize)]
struct Listing {
    facilities: Vec<Listed>,
    /// What is wrong with the registry.
    #[serde(skip_serializing_if = "Option::is_none")]
    registry: Option<String>,
}

fn list(store: &TrendStore) -> Result<Listing, StoreError> {
    let registry = store.registry();
    let facilities = store
        .known_facilities()?
        .iter()
        .map(|facility| listed(store, &registry, facility))
        .collect();
    Ok(Listing {
        facilities,
        registry: match registry.condition() {
            RegistryCondition::Damaged(problem) => Some(problem.clone()),
            RegistryCondition::Missing | RegistryCondition::Sound => None,
        },
    })
}

fn listed(store: &TrendStore, registry: &Registry, facility: &FacilityId) -> Listed {
    let entry = registry.entry(facility.as_str());
    let mut listed = Listed {
        facility_id: facility.as_str().to_owned(),
        name: entry
            .and_then(|entry| entry.shown_name())
            .unwrap_or(facility.as_str())
            .to_owned(),
        state: registry.state(facility.as_str()).word().to_owned(),
        timezone: entry.and_then(|entry| entry.time_zone(|_| None)),
        start: None,
        end: None,
        n_points: 0,
        n_equipment: 0,
        parts: 0,
        rows: 0,
        bytes: 0,
        unavailable: None,
    };
    if let Err(error) = measure(store, facility, &mut listed) {
        listed.unavailable = Some(error.to_string());
    }
    listed
}

fn measure(
    store: &TrendStore,
    facility: &FacilityId,
    listed: &mut Listed,
) -> Result<(), StoreError> {
    let view = match store.view(facility) {
        // Registered, but nothing was ingested yet.
        Err(StoreError::NoData(_)) => return Ok(()),
        view => view?,
    };
    listed.parts = view.parts().len();
    listed.bytes = view.parts().iter().map(|part| part.file.size).sum();
    listed.rows = view.rows()?;
    if let Some((first, last)) = view.span()? {
        listed.start = Some(iso(first));
        listed.end = Some(iso(last));
    }
    let points = store.points(facility)?;
    listed.n_points = points.points.len();
    listed.n_equipment = points.classes.len();
    Ok(())
}

#[derive(Debug, Serialize)]
struct Packed {
    facility_id: String,
    #[serde(flatten)]
    report: CompactReport,
    /// Why it was left as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

fn compact(store: &TrendStore, only: Option<FacilityId>) -> Result<Vec<Packed>, StoreError> {
    let facilities = match only {
        Some(facility) => vec![facility],
        None => store.facilities()?,
    };
    let mut writer = writer(store)?;
    let mut packed = Vec::new();
    for facility in facilities {
        let (report, problem) = done_or_told(writer.compact(&facility))?;
        packed.push(Packed {
            report,
            facility_id: facility.as_str().to_owned(),
            problem,
        });
    }
    writer.offer_catalogue()?;
    Ok(packed)
}

/// A facility that is damaged is told, and keeps nobody from the others.
fn done_or_told<T: Default>(
    outcome: Result<T, StoreError>,
) -> Result<(T, Option<String>), StoreError> {
    match outcome {
        Err(error @ StoreError::Damaged { .. }) => Ok((T::default(), Some(error.to_string()))),
        outcome => outcome.map(|report| (report, None)),
    }
}

fn check_done<'a>(problems: impl Iterator<Item = &'a Option<String>>) -> anyhow::Result<()> {
    if problems.flatten().next().is_some() {
        bail!("not all facilities could be worked on; see what is listed above");
    }
    Ok(())
}

#[derive(Debug, Serialize)]
struct Pruned {
    facility_id: String,
    #[serde(flatten)]
    report: PruneReport,
    /// Why it was left as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// False when it was only told.
    removed: bool,
}

fn prune(
    store: &TrendStore,
    only: Option<FacilityId>,
    before: i64,
    really: bool,
) -> Result<Vec<Pruned>, StoreError> {
    let facilities = match only {
        Some(facility) => vec![facility],
        None => store.facilities()?,
    };
    let mut writer = really.then(|| writer(store)).transpose()?;
    let mut pruned = Vec::new();
    for facility in facilities {
        let (report, problem) = done_or_told(match &mut writer {
            Some(writer) => writer.prune(&facility, before),
            None => store.plan_prune(&facility, before),
        })?;
        pruned.push(Pruned {
            facility_id: facility.as_str().to_owned(),
            problem,
            report,
            removed: really && report.parts > 0,
        });
    }
    if let Some(writer) = &mut writer {
        writer.offer_catalogue()?;
    }
    Ok(pruned)
}

fn show(json: bool, value: &impl Serialize, text: &str) -> anyhow::Result<()> {
    match json {
        true => output::print(&(serde_json::to_string_pretty(value)? + "\n")),
        false => output::print(text),
    }
}
