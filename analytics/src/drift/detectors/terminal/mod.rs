//! Detectors of a terminal unit (Drift §5.4).

pub mod damper;
pub mod reheat_valve;
