//! value.
