//! What trends say about equipment: sensor trust, fault rules, drift, RCx and M&V, as pure functions over frames.
//!
//! Nothing here reads a file, knows a station or waits: the caller builds frames and hands them in.
//!
//! - [`frame`], [`resample`], [`wall_clock`]: one equipment as a table of columns; NaN is "no sample".
//! - [`run_config`]: what is run over which equipment.
//! - [`run_frame`], [`topology`]: what a run judges of an equipment, and which equipment serves which.
//! - [`numeric`]: the rounding, quantiles and spreads that all texts agree on.
//! - [`masks`], [`psychrometrics`], [`wet_bulb`], [`refrigerants`]: sets of samples; moist air; saturation.
//! - [`roles`], [`families`], [`catalogue`]: the vocabulary: what a column is, what an equipment is, what rules exist.
//! - [`gates`], [`occupancy`], [`masks`]: which samples count: fan on, plant running, occupied.
//! - [`holidays`]: public calendars of countries.
//! - [`trust`]: how far a trend can be trusted.
//! - [`drift`]: machines against what they did at the same load before.
//! - [`mv`]: energy baselines over weather, and savings against them.
//! - [`rcx`]: findings merged into ranked issues with costs and reasons.
//! - [`runner`], [`evidence`]: rules over equipment, and the hours behind a finding.
//! - [`parameters`], [`finding`], [`rules`]: what a rule is given, what it answers, and the rules.
//!
//! Source: CAMBER analytic engine; CAMBER air-side and zone-side rules; CAMBER plant-side rules.

#![allow(
    clippy::neg_cmp_op_on_partial_ord,
    reason = "NaN is a missing sample: `!(value < limit)` and `value >= limit` differ in what a missing one means"
)]

pub mod catalogue;
pub mod drift;
pub mod evidence;
pub mod families;
pub mod finding;
pub mod frame;
pub mod gates;
pub mod holidays;
pub mod masks;
pub mod mv;
pub mod numeric;
pub mod occupancy;
pub mod parameters;
pub mod psychrometrics;
pub mod rcx;
pub mod refrigerants;
pub mod resample;
pub mod roles;
pub mod rules;
pub mod run_config;
pub mod run_frame;
pub mod runner;
mod tables;
pub mod topology;
pub mod trust;
pub mod wall_clock;
pub mod wet_bulb;

pub use self::catalogue::{RuleCatalogue, RuleEntry};
pub use self::finding::{Metrics, Severity, Verdict};
pub use self::frame::{Frame, RoleFrame};
pub use self::parameters::Parameters;
pub use self::resample::BinWidth;
pub use self::rules::{FleetFrames, RuleCode};
pub use self::run_config::RunConfig;
pub use self::run_frame::{RunFrame, SharedPoint};
pub use self::topology::Topology;
