//! Capabilities over stored trends: what they answer, and what no caller gets to see.

mod figures;
mod policy;
mod store_yard;
mod unsound_store;
