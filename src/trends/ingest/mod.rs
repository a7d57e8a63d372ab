//! From the histories of mapped points into the trends store.
//!
//! - [`sample_rule`]: which records are samples, and what number each is.
//! - [`covered`]: which stretches of a history have been read.

pub mod covered;
pub mod sample_rule;
