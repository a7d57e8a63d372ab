//! `camber`: one capability call, or the capabilities alone over standard input and output (CAMBER core §11).

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::arguments::{CamberCall, CamberCommand, CamberOptions, LogOptions};
use super::shutdown::{self, Ending};
use super::{init_run_config, logging, output};
use crate::camber::capabilities::check_citations;
use crate::camber::citations::wide_integers;
use crate::camber::run_config::RunConfigs;
use crate::camber::{CallerPolicy, CapabilityService, Workspace};
use crate::config::LogFormat;
use crate::mcp::capability_stdio;
use crate::tools::capability::active_facilities;
use crate::trends::store::{FacilityId, TrendStore};

/// Answers one call, or serves until the input ends.
///
/// # Errors
/// The store or a run configuration cannot be used, nothing is allowed, or the call was refused.
pub async fn run(options: CamberOptions, log: &LogOptions) -> anyhow::Result<Ending> {
    logging::start(log, LogFormat::Text, "warn");
    match (options.command, options.call) {
        (Some(CamberCommand::InitConfig(options)), _) => init_run_config::run(&options),
        (None, Some(call)) => answer(call).await,
        (None, None) => anyhow::bail!("name a capability, or --stdio, with --store and --allow"),
    }
}

async fn answer(options: CamberCall) -> anyhow::Result<Ending> {
    let store = Arc::new(open_store(&options.store)?);
    let allowed = allowed(&options, &store)?;
    let run_configs = RunConfigs::read(&options.run_config)?;
    run_configs.warn(&store, |facility| allowed.contains(facility));
    let mut caller = CallerPolicy::of(allowed);
    caller.min_trust = options.min_trust;
    let mut workspace = Workspace::new(store).with_run_configs(run_configs);
    if !options.stdio {
        workspace = workspace.on_all_cores();
    }
    let service = Arc::new(CapabilityService::start(workspace)?);
    if options.stdio {
        return serve(service, caller).await;
    }
    let name = options.capability.unwrap_or_default();
    let arguments = match &options.arguments {
        None => Value::Null,
        Some(text) => arguments_of(&name, text)?,
    };
    let outcome = service
        .call(&name, arguments, caller, &CancellationToken::new())
        .await;
    match outcome {
        Ok(result) => {
            output::print(&format!("{}\n", result.to_json()))?;
            Ok(Ending::Finished)
        }
        Err(error) => {
            output::print(&format!("{}\n", json!({ "error": error.to_json() })))?;
            Err(anyhow::anyhow!("the call was not answered: {error}"))
        }
    }
}

fn arguments_of(capability: &str, text: &str) -> anyhow::Result<Value> {
    let mut arguments = serde_json::from_str(text).context("the arguments are not JSON")?;
    if capability == check_citations::NAME {
        wide_integers::restore(text, &mut arguments, Some);
    }
    Ok(arguments)
}

async fn serve(service: Arc<CapabilityService>, caller: CallerPolicy) -> anyhow::Result<Ending> {
    let (stop, watcher) = shutdown::watch();
    let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
    capability_stdio::serve(service, caller, input, output, stop.clone())
        .await
        .context("standard output cannot be written")?;
    if stop.is_cancelled() {
        return Ok(watcher.await.unwrap_or(Ending::Finished));
    }
    watcher.abort();
    Ok(Ending::Finished)
}

/// A store, or the store of a portfolio workspace.
pub(super) fn open_store(folder: &Path) -> anyhow::Result<TrendStore> {
    let inner = folder.join("store");
    let place = match TrendStore::open(folder) {
        Ok(store) => return Ok(store),
        Err(error) if inner.is_dir() => {
            tracing::debug!(%error, "looking for the store of a workspace");
            inner
        }
        Err(error) => return Err(error.into()),
    };
    Ok(TrendStore::open(place)?)
}

/// The facilities that the caller may see, frozen from here on.
fn allowed(options: &CamberCall, store: &TrendStore) -> anyhow::Result<BTreeSet<String>> {
    if options.allow_all_active {
        let active: BTreeSet<String> = active_facilities(store).into_iter().collect();
        anyhow::ensure!(
            !active.is_empty(),
            "no facility of the store is active; `niagara-bridge store list` tells their states"
        );
        return Ok(active);
    }
    for id in &options.allow {
        anyhow::ensure!(!id.trim().is_empty(), "--allow needs a facility id");
        let stored = FacilityId::parse(id).is_ok_and(|facility| store.has_partition(&facility));
        if !stored {
            tracing::warn!(facility = id, "this facility has no stored data yet");
        }
    }
    Ok(options.allow.iter().cloned().collect())
}
