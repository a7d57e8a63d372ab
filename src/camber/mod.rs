//! Read-only capabilities over stored trends: one registry, one policy for every call.
//!
//! - [`capability`], [`registry`], [`answer`]: what a capability is, and the pipeline of a call.
//! - [`context`], [`workspace`], [`call`]: who calls; what all calls share; what one call knows.
//! - [`service`], [`pool`]: calls on a bounded pool, with deadlines and cancellation.
//! - [`facility_policy`]: allowlist and licences.
//! - [`stored_samples`]: samples as they are, for pictures.
//! - [`citations`], [`token`], [`pages`], [`hygiene`], [`redaction`]: what a text may say, and how facts are named.
//! - [`dataset_catalogue`], [`rule_catalogue`], [`run_config`]: shipped metadata, and what callers configure.
//! - [`engine`]: runs of rules: configuration, frames, findings.
//! - [`capabilities`]: one file per capability.
//!
//! Source: CAMBER core: capability registry, policy, citations, non-analytic capabilities.

mod answer;
pub mod call;
pub mod capabilities;
pub mod capability;
pub mod citations;
pub mod context;
pub mod dataset_catalogue;
pub mod engine;
pub mod error;
pub mod facility_policy;
pub mod hygiene;
pub mod pages;
pub mod pool;
pub mod python_text;
pub mod redaction;
pub mod registry;
pub mod result;
pub use niagara_analytics::catalogue as rule_catalogue;
pub mod run_config;
pub mod service;
pub mod stored_samples;
pub mod token;
pub mod workspace;

pub use capability::{Capability, CapabilityDefinition};
pub use context::{CallerPolicy, Caps, Watch};
pub use error::{CapabilityError, FailureCode};
pub use registry::CapabilityRegistry;
pub use result::CapabilityResult;
pub use service::CapabilityService;
pub use workspace::{PointDirectory, PointOrds, Workspace};

#[cfg(test)]
mod hostile_text_tests;
