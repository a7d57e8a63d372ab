//! Measurement and verification: what a meter would have used, and what was saved.
//!
//! - [`change_point`]: energy of a day over its outdoor temperature; [`least_squares`] fits it.
//!
//! Source: CAMBER M&V capability.

pub mod change_point;
pub mod least_squares;
#[cfg(test)]
mod testing;

pub use self::change_point::{ChangePointModel, ModelKind};
pub use self::least_squares::LeastSquares;
