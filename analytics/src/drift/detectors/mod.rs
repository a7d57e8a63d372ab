//! The detectors, by what they look at (Drift §5).

pub mod air_handler;
pub mod boiler;
pub mod chiller;
pub mod dx;
pub mod pump;
pub mod terminal;
pub mod tower_fan;
