//! The physics of the demo site: any quantity at any instant as a pure function of the seed.
//!
//! - [`calendar`], [`place`], [`noise`], [`weather`], [`context`]: time, town, chance, outdoor air, occupancy.
//! - [`zone`], [`air_handler`], [`chilled_water`], [`hot_water`], [`heat_pump`], [`heating_circuit`], [`tap_water`], [`meters`]: equipment.
//! - [`faults`]: when planted faults are present.
//! - [`cache`]: shared intermediate results, day by day.
//! - [`building`]: a building that answers [`signal::Signal`]s.

pub mod air_handler;
pub mod building;
pub mod cache;
pub mod calendar;
pub mod chilled_water;
pub mod context;
pub mod faults;
pub mod heat_pump;
pub mod heating_circuit;
pub mod hot_water;
pub mod meters;
pub mod noise;
pub mod place;
mod read;
pub mod signal;
pub mod tap_water;
pub mod weather;
pub mod zone;

#[cfg(test)]
mod tests;

pub use building::Building;
pub use faults::{Faults, Window};
pub use place::Place;
pub use signal::Signal;
