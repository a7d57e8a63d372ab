//! The servlet as clients meet it: over HTTP, against the sample station.

mod batch;
mod histories;
mod modes;
mod points;
mod site;
mod tree;
