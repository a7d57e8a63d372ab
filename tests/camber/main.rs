//! Capabilities over stored trends: what they answer, and what no caller gets to see.

mod cancelled_runs;
mod command;
mod figures;
mod policy;
mod rule_run;
mod sensor_trust;
mod stdio;
mod store_yard;
mod surface;
mod unsound_store;
