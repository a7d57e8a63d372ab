//! Capabilities over stored trends as tools beside those of the station (CAMBER core §11.4).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono_tz::Tz;
use futures::future::BoxFuture;
use niagara_analytics::drift::Trace;
use niagara_analytics::run_config::MvEntry;
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::context::{CallContext, Principal};
use super::definition::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::error::{ErrorCode, ToolError};
use crate::camber::registry::CapabilityRegistryError;
use crate::camber::stored_samples::{FoundSamples, WantedSamples};
use crate::camber::{
    CallerPolicy, CapabilityDefinition, CapabilityError, CapabilityRegistry, CapabilityResult,
    CapabilityService, FailureCode,
};
use crate::config::camber::{CapabilityRules, FacilityAllowance};
use crate::config::policy::SharedPolicy;
use crate::trends::store::{FacilityState, TrendStore};

/// No configuration allows a longer call.
const LONGEST_CALL: Duration = Duration::from_secs(3600);

/// Where capabilities are answered; none where nothing but their definitions is asked for.
#[derive(Clone, Default)]
pub struct CapabilityAccess {
    service: Option<Arc<CapabilityService>>,
    policy: SharedPolicy,
}

impl CapabilityAccess {
    /// Answers by `service`, to each caller what `policy` allows at the moment of the call.
    pub fn new(service: Arc<CapabilityService>, policy: SharedPolicy) -> Self {
        Self {
            service: Some(service),
            policy,
        }
    }

    /// The facility of the station itself, where it is known.
    pub fn station_facility(&self) -> Option<String> {
        let points = self.service.as_ref()?.workspace().points.as_ref()?;
        points.facility()
    }

    /// Answers one call for the caller of `context`; none where there is no store.
    pub async fn answer(
        &self,
        context: &CallContext,
        name: &str,
        arguments: Value,
    ) -> Option<Result<CapabilityResult, CapabilityError>> {
        let service = self.service.as_ref()?;
        let caller = self.caller(service, &context.principal);
        Some(service.call(name, arguments, caller, &context.cancel).await)
    }

    /// Samples of stored points, for the caller of `context`; none where there is no store.
    pub async fn samples(
        &self,
        context: &CallContext,
        wanted: WantedSamples,
    ) -> Option<Result<FoundSamples, CapabilityError>> {
        let service = self.service.as_ref()?;
        let caller = self.caller(service, &context.principal);
        Some(service.samples(wanted, caller, &context.cancel).await)
    }

    /// The outdoor temperature that applies to an equipment, for the caller of `context`; none where there is no store.
    pub async fn outdoor_point(
        &self,
        context: &CallContext,
        facility: &str,
        equip: &str,
    ) -> Option<Result<(String, String), CapabilityError>> {
        let service = self.service.as_ref()?;
        let caller = self.caller(service, &context.principal);
        let (facility, equip) = (facility.to_owned(), equip.to_owned());
        let point = service.outdoor_point(facility, equip, caller, &context.cancel);
        Some(point.await)
    }

    /// The residuals behind the findings of a run of drift, for the caller of `context`; none where there is no store.
    pub async fn drift_traces(
        &self,
        context: &CallContext,
        arguments: Value,
    ) -> Option<Result<BTreeMap<String, Vec<Trace>>, CapabilityError>> {
        let service = self.service.as_ref()?;
        let caller = self.caller(service, &context.principal);
        let traces = service.drift_traces(arguments, caller, &context.cancel);
        Some(traces.await)
    }

    /// The entries of a facility's project of measurement and verification, for the caller of `context`; none where there is
    /// no store.
    pub async fn mv_entries(
        &self,
        context: &CallContext,
        facility: &str,
    ) -> Option<Result<Vec<MvEntry>, CapabilityError>> {
        let service = self.service.as_ref()?;
        let caller = self.caller(service, &context.principal);
        let arguments = json!({ "facility_id": facility });
        Some(service.mv_entries(arguments, caller, &context.cancel).await)
    }

    /// The zone of a facility's wall clock, for the caller of `context`; none where there is no store.
    pub async fn zone(
        &self,
        context: &CallContext,
        facility: &str,
    ) -> Option<Result<Option<Tz>, CapabilityError>> {
        let service = self.service.as_ref()?;
        let caller = self.caller(service, &context.principal);
        let facility = facility.to_owned();
        Some(service.zone(facility, caller, &context.cancel).await)
    }

    fn caller(&self, service: &CapabilityService, principal: &Principal) -> CallerPolicy {
        let policy = self.policy.current();
        let rules = policy.camber.of(principal.user());
        caller_policy(rules, &service.workspace().store, principal.to_string())
    }
}

/// What the rules of a caller allow now.
pub fn caller_policy(rules: &CapabilityRules, store: &TrendStore, caller: String) -> CallerPolicy {
    let allowed = match &rules.allow {
        FacilityAllowance::These(ids) => ids.clone(),
        FacilityAllowance::AllActive => active_facilities(store).into_iter().collect(),
    };
    CallerPolicy {
        allowed,
        min_trust: rules.min_trust,
        caps: rules.caps,
        caller,
    }
}

/// The facilities of a store that are active; none when the store cannot be listed.
pub fn active_facilities(store: &TrendStore) -> Vec<String> {
    let registry = store.registry();
    let known = store.known_facilities().unwrap_or_else(|error| {
        tracing::warn!(%error, "the facilities of the trends store cannot be listed");
        Vec::new()
    });
    known
        .iter()
        .map(|facility| facility.as_str().to_owned())
        .filter(|facility| registry.state(facility) == FacilityState::Active)
        .collect()
}

/// Every capability of this build as a tool.
///
/// # Errors
/// A definition is broken.
pub fn capability_tools(
    access: &CapabilityAccess,
) -> Result<Vec<Arc<dyn Tool>>, CapabilityRegistryError> {
    let registry = CapabilityRegistry::built_in()?;
    let tools = registry.definitions().map(|definition| -> Arc<dyn Tool> {
        Arc::new(CapabilityTool {
            definition: definition.clone(),
            access: access.clone(),
        })
    });
    Ok(tools.collect())
}

struct CapabilityTool {
    definition: CapabilityDefinition,
    access: CapabilityAccess,
}

impl Tool for CapabilityTool {
    fn definition(&self) -> ToolDefinition {
        let capability = &self.definition;
        let mut tool = ToolDefinition::new(
            capability.name,
            Category::Camber,
            Annotations::READ,
            capability.description,
        )
        .output(capability.output_schema.clone())
        .within(LONGEST_CALL);
        tool.title = Some(capability.title.to_owned());
        tool.input_schema = capability.input_schema.clone();
        tool.judges_arguments = true;
        tool
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let arguments = Value::Object(arguments.values().clone());
            let name = self.definition.name;
            let Some(outcome) = self.access.answer(context, name, arguments).await else {
                let error = CapabilityError::new(
                    FailureCode::Unavailable,
                    "there is no trends store; its log line at the start of the bridge says why",
                );
                return Ok(failure(&error.with("retryable", false)));
            };
            match outcome {
                Ok(result) => Ok(output(result)),
                Err(error) if is_fault(error.code) => Err(ToolError::new(
                    ErrorCode::CapabilityFault,
                    error.to_string(),
                )),
                Err(error) => Ok(failure(&error)),
            }
        })
    }
}

/// Failures that the caller can do nothing about: a JSON-RPC error instead of a result.
fn is_fault(code: FailureCode) -> bool {
    matches!(code, FailureCode::Internal | FailureCode::UnknownCapability)
}

/// Notices and summary for people, the data for programs.
pub fn texts(result: &CapabilityResult) -> [String; 2] {
    let notices: Vec<String> = result
        .banners
        .iter()
        .map(|banner| format!("NOTICE: {banner}"))
        .collect();
    let mut parts = Vec::new();
    if !notices.is_empty() {
        parts.push(notices.join("\n"));
    }
    if !result.text.is_empty() {
        parts.push(result.text.clone());
    }
    let data = Value::Object(result.data.clone()).to_string();
    [parts.join("\n\n"), data]
}

/// What a result says beside its data.
pub fn result_meta(result: &CapabilityResult) -> Value {
    json!({
        "camber/facts": result.facts,
        "camber/banners": result.banners,
        "camber/truncated": result.truncated,
    })
}

/// What an error says beside its text.
pub fn error_meta(error: &CapabilityError) -> Value {
    let mut told = json!({ "code": error.code.word() });
    if !error.data.is_empty() {
        told["data"] = Value::Object(error.data.clone());
    }
    json!({ "camber/error": told })
}

fn output(result: CapabilityResult) -> ToolOutput {
    let (texts, meta) = (texts(&result), result_meta(&result));
    ToolOutput::texts_with(&texts, result.data, meta)
}

fn failure(error: &CapabilityError) -> ToolOutput {
    ToolOutput::failure(error.to_string(), error_meta(error))
}
