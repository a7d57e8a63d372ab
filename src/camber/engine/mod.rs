//! Analyses over stored trends: which configuration runs, over which frames, and what the rules say (Engine §4).
//!
//! - [`ground`]: the configuration, equipment and window of a call.
//! - [`frames`]: run frames out of the store, built once per call.
//! - [`drift`]: families of detectors over a call's baseline, or over what a configuration declares.
//! - [`mv`]: the run of `mv_summary`.
//! - [`oversights`]: what of a configuration has no effect.
//! - [`references`]: points against the reference instruments of the configuration.
//! - [`rcx`]: ranked issues of such a run.
//! - [`rules`]: the run that `rule_run` and `finding_detail` share.

pub mod drift;
pub mod frames;
pub mod ground;
pub mod mv;
mod oversights;
pub mod rcx;
pub mod references;
pub mod rules;

pub use self::drift::DriftCall;
pub use self::ground::RunGround;
pub use self::mv::MvRun;
pub use self::rcx::RcxRun;
pub use self::rules::{PreparedRun, RuleRun};

use niagara_analytics::run_config::ConfigError;

use super::error::CapabilityError;

/// A run that its configuration or its arguments forbid.
fn refused(error: &ConfigError) -> CapabilityError {
    CapabilityError::invalid(error.to_string())
}
