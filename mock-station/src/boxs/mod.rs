//! boxs.
