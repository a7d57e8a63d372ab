//! Trends: the samples of mapped points, kept beside the bridge in a folder that other programs can read as well.
//!
//! - [`store`]: the folder: facilities, parts, registry, catalogue, lock, fences.
//! - [`units`], [`states`], [`site_time`]: how a station's values and instants become those of the store.
//! - [`duty`]: states that hold until they change, as shares of equal steps of time.
//! - [`ingest`]: from the histories of mapped points into the store.
//! - [`files`]: CSV files into the store, frames of the store into files.
//!
//! Imports point one way: `trends` knows neither tools nor MCP. Only [`ingest`] knows stations.

pub mod duty;
pub mod files;
pub mod ingest;
pub mod site_time;
pub mod states;
pub mod store;
pub mod units;
