//! boxp.
