//! The capabilities of a running process: who may call, on which threads, until when.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use chrono_tz::Tz;
use niagara_analytics::drift::Trace;
use niagara_analytics::run_config::MvEntry;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::capability::CapabilityDefinition;
use super::context::{CallerPolicy, Watch};
use super::engine::{self, DriftCall};
use super::error::{CapabilityError, FailureCode};
use super::pool::WorkerPool;
use super::registry::{CapabilityRegistry, CapabilityRegistryError};
use super::result::CapabilityResult;
use super::stored_samples::{
    FoundSamples, WantedSamples, facility_zone, outdoor_point, stored_samples,
};
use super::workspace::{Workspace, analysis_threads};

/// A service that cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    #[error(transparent)]
    Registry(#[from] CapabilityRegistryError),
    #[error(
        "the threads of the analyses cannot be started: {0}; stop other programs and start again"
    )]
    Threads(#[from] io::Error),
}

/// Answers calls.
pub struct CapabilityService {
    registry: Arc<CapabilityRegistry>,
    workspace: Arc<Workspace>,
    pool: WorkerPool,
}

impl CapabilityService {
    /// The capabilities of this build over a workspace, on all cores but one.
    ///
    /// # Errors
    /// A definition is broken, or the threads cannot be started.
    pub fn start(workspace: Workspace) -> Result<Self, ServiceError> {
        Self::with(CapabilityRegistry::built_in()?, workspace)
    }

    /// The same with a registry of its own.
    ///
    /// # Errors
    /// The threads cannot be started.
    pub fn with(registry: CapabilityRegistry, workspace: Workspace) -> Result<Self, ServiceError> {
        Ok(Self {
            registry: Arc::new(registry),
            workspace: Arc::new(workspace),
            pool: WorkerPool::start(analysis_threads())?,
        })
    }

    /// All definitions, sorted by name.
    pub fn definitions(&self) -> impl Iterator<Item = &CapabilityDefinition> {
        self.registry.definitions()
    }

    /// The registry.
    pub fn registry(&self) -> &CapabilityRegistry {
        &self.registry
    }

    /// What the calls share.
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Answers one call. When its time is over, or `cancel` fires, or this future is dropped, at most the unit of work
    /// that runs is finished, and its outcome is thrown away.
    ///
    /// # Errors
    /// The call is refused or failed.
    pub async fn call(
        &self,
        name: &str,
        arguments: Value,
        caller: CallerPolicy,
        cancel: &CancellationToken,
    ) -> Result<CapabilityResult, CapabilityError> {
        let registry = self.registry.clone();
        let name = name.to_owned();
        self.on_pool(caller, cancel, move |workspace, caller, watch| {
            registry.call(&name, arguments, workspace, caller, watch)
        })
        .await
    }

    /// Samples of stored points, under the same policy and within the same time as a call.
    ///
    /// # Errors
    /// The caller may not see the facility, a point is not stored, or reading failed.
    pub async fn samples(
        &self,
        wanted: WantedSamples,
        caller: CallerPolicy,
        cancel: &CancellationToken,
    ) -> Result<FoundSamples, CapabilityError> {
        self.on_pool(caller, cancel, move |workspace, caller, watch| {
            stored_samples(workspace, caller, watch, &wanted)
        })
        .await
    }

    /// The outdoor temperature that applies to an equipment, under the same policy and within the same time as a call.
    ///
    /// # Errors
    /// The caller may not see the facility, nothing is shared, or reading failed.
    pub async fn outdoor_point(
        &self,
        facility: String,
        equip: String,
        caller: CallerPolicy,
        cancel: &CancellationToken,
    ) -> Result<(String, String), CapabilityError> {
        self.on_pool(caller, cancel, move |workspace, caller, watch| {
            outdoor_point(workspace, caller, watch, &facility, &equip)
        })
        .await
    }

    /// The residuals behind the findings of a run of drift, by finding id; the arguments are those of the capability.
    ///
    /// # Errors
    /// As a call of the capability.
    pub async fn drift_traces(
        &self,
        arguments: Value,
        caller: CallerPolicy,
        cancel: &CancellationToken,
    ) -> Result<BTreeMap<String, Vec<Trace>>, CapabilityError> {
        let registry = self.registry.clone();
        self.on_pool(caller, cancel, move |workspace, caller, watch| {
            registry.within_call(
                "drift",
                arguments,
                workspace,
                caller,
                watch,
                |call, checked| DriftCall::of(call, checked).map(|run| run.outcome.traces),
            )
        })
        .await
    }

    /// The entries of a facility's project of measurement and verification; the arguments are those of `mv_summary`.
    ///
    /// # Errors
    /// As a call of the capability.
    pub async fn mv_entries(
        &self,
        arguments: Value,
        caller: CallerPolicy,
        cancel: &CancellationToken,
    ) -> Result<Vec<MvEntry>, CapabilityError> {
        let registry = self.registry.clone();
        self.on_pool(caller, cancel, move |workspace, caller, watch| {
            registry.within_call(
                "mv_summary",
                arguments,
                workspace,
                caller,
                watch,
                engine::mv::declared,
            )
        })
        .await
    }

    /// The zone of a facility's wall clock, for callers who may see the facility.
    ///
    /// # Errors
    /// The caller may not see the facility, or reading failed.
    pub async fn zone(
        &self,
        facility: String,
        caller: CallerPolicy,
        cancel: &CancellationToken,
    ) -> Result<Option<Tz>, CapabilityError> {
        self.on_pool(caller, cancel, move |workspace, caller, watch| {
            facility_zone(workspace, caller, watch, &facility)
        })
        .await
    }

    /// Runs one piece of work on the pool until its time is over, `cancel` fires or this future is dropped.
    async fn on_pool<T: Send + 'static>(
        &self,
        caller: CallerPolicy,
        cancel: &CancellationToken,
        work: impl FnOnce(&Workspace, &CallerPolicy, &Watch) -> Result<T, CapabilityError>
        + Send
        + 'static,
    ) -> Result<T, CapabilityError> {
        let ended = cancel.child_token();
        let _ends_with_this_future = ended.clone().drop_guard();
        let watch = Watch::start(caller.caps.max_time, ended.clone());
        let (answer, answered) = oneshot::channel();
        let (workspace, own) = (self.workspace.clone(), watch.clone());
        let span = tracing::Span::current();
        let accepted = self.pool.run(move || {
            let _within = span.entered();
            // Nobody waits any longer for a call whose time was over in the queue.
            let outcome = match own.check() {
                Ok(()) => work(&workspace, &caller, &own),
                Err(error) => Err(error),
            };
            if answer.send(outcome).is_err() {
                tracing::debug!("nobody waits for the answer of a call");
            }
        });
        if !accepted {
            return Err(stopping());
        }
        tokio::select! {
            biased;
            answer = answered => answer.unwrap_or_else(|_| Err(stopping())),
            () = ended.cancelled() => Err(watch.overdue()),
            () = tokio::time::sleep_until(watch.deadline().into()) => {
                Err(watch.overdue())
            }
        }
    }
}

fn stopping() -> CapabilityError {
    CapabilityError::new(FailureCode::Internal, "the bridge is stopping")
}
