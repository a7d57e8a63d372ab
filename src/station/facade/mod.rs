mod aggregate;
mod bounded_query;
mod sample;
pub use bounded_query::{QueryRefusal, bound_query};
