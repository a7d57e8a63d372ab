//! The station tools over the whole chain against the stand-in station: every value equals what its model holds.

mod alarms;
mod bql;
mod browse;
mod fallbacks;
mod faults;
mod history;
mod points;
mod site;
mod support;
