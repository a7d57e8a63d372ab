//! The servlet as clients meet it: over HTTP, against the sample station.

mod alarms;
mod batch;
mod commands;
mod histories;
mod modes;
mod points;
mod site;
mod tree;
mod watches;
