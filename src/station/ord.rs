//! ord.
