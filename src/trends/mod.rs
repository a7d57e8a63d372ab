//! Trends: the samples of mapped points, kept beside the bridge in a folder that other programs can read as well.
//!
//! - [`store`]: the folder: facilities, parts, registry, catalogue, lock, fences.
//!
//! Imports point one way: `trends` knows neither tools nor MCP.

pub mod store;
