//! obix.
