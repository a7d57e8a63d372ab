//! Measurement and verification: what a meter would have used, and what was saved.
//!
//! - [`daily`]: energy and weather of every day.
//! - [`drivers`]: what a model knows of a day beside its temperature.
//! - [`change_point`]: energy of a day over its outdoor temperature; [`least_squares`] fits it.
//! - [`bills`]: bills as rows with the weather of their days.
//! - [`degree_days`]: energy of a bill over degree days; [`model`] is either.
//! - [`statistics`], [`baseline`]: how well that fits, and whether it is good enough.
//! - [`coverage`]: how far a model is asked about weather that it has not seen.
//! - [`forecast`]: the baseline projected onto the reporting period.
//! - [`ledger`], [`adjustments`]: what else changed at a site, and the saving with it.
//! - [`methods`]: savings by backcast, at standard conditions, by chaining; [`proposal`] of a method; [`sep`] validity, with
//!   [`distributions`].
//! - [`versioned`], [`frozen`], [`triggers`]: baselines that somebody froze, savings against them, and when to renew them.
//! - [`unit_scale`]: bills whose quantities cannot be right by what they cost.
//! - [`questions`]: periods that make an answer doubtful.
//! - [`project`]: all entries of a configuration; [`trended`] and [`billed`] are one meter; [`rows`] are what is answered.
//!
//! Source: CAMBER M&V capability.

pub mod adjustments;
pub mod baseline;
pub mod billed;
pub mod bills;
pub mod change_point;
pub mod coverage;
pub mod daily;
pub mod degree_days;
pub mod distributions;
pub mod drivers;
pub mod forecast;
pub mod frozen;
pub mod least_squares;
pub mod ledger;
pub mod methods;
pub mod model;
pub mod project;
pub mod proposal;
pub mod questions;
pub mod rows;
mod rows_adjusted;
mod screening;
pub mod sep;
pub mod statistics;
#[cfg(test)]
mod testing;
pub mod trended;
pub mod triggers;
pub mod unit_scale;
pub mod versioned;

pub use self::adjustments::{Adjusted, Unadjusted};
pub use self::baseline::{Baseline, FullYear};
pub use self::bills::{AvoidedCost, Bill, BillRows, SettledBills, Weather};
pub use self::change_point::{ChangePointModel, ModelKind};
pub use self::coverage::{Coverage, CoverageTier, Domain, ExtrapolationPolicy, Support};
pub use self::daily::{BilledDays, DailyFrame, DailyRule, NoDays};
pub use self::degree_days::{BaseSearch, DegreeDayKind, DegreeDayModel};
pub use self::forecast::{ForecastSaving, Kernel, Projection, SavingDecline, SavingTotals};
pub use self::least_squares::LeastSquares;
pub use self::ledger::{Change, Ledger, LedgerEntry, LedgerRefusal};
pub use self::model::BaselineModel;
pub use self::project::{BillWeathers, Frozen, SiteDays, Sources};
pub use self::rows::{MvFinding, MvRule};
pub use self::statistics::{AcceptanceLimit, FitStatistics};
pub use self::trended::MvError;
pub use self::versioned::FrozenVersion;
