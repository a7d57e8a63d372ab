//! facade.
