//! Machines against what they did at the same load before: baselines, shifts, alarms and what they point to.
//!
//! - [`baseline`], [`shift`], [`alarm`]: a line over the load, the distance from it, and whether that lasts.
//! - [`normaliser`], [`windows`], [`wet_bulb`]: which loads and rows count.
//! - [`book`], [`frozen`]: where baselines are from.
//! - [`detector`], [`measure`], [`setpoint`], [`detectors`], [`family`]: what is looked at, by family.
//! - [`run`], [`outcome`]: families over equipment, and what they answer.
//! - [`questions`]: windows that make the answers doubtful.
//! - [`diagnosis`]: what the findings of one equipment mean together.
//!
//! Source: CAMBER drift capability.

pub mod alarm;
pub mod baseline;
pub mod book;
pub mod detector;
pub mod detectors;
pub mod diagnosis;
pub mod family;
pub mod frozen;
pub mod measure;
pub mod normaliser;
pub mod outcome;
pub mod questions;
mod run;
pub mod setpoint;
pub mod shift;
pub mod wet_bulb;
pub mod windows;

#[cfg(test)]
mod examples;
#[cfg(test)]
mod robustness;

pub use self::detector::Trace;
pub use self::family::Family;
pub use self::frozen::{FrozenBaselines, FrozenError};
pub use self::outcome::{Diagnosis, DriftOutcome, FamilyRun, Unevaluated};
pub use self::run::{DriftError, DriftRun, run};
