//! resources.
