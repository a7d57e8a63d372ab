//! Whether a text says only what facts carry (CAMBER core §9).
//!
//! - [`lexer`]: citations, sentences and numbers.
//! - [`check`]: the verdict on each sentence, and the text without what is not supported.
//! - [`wide_integers`]: numbers of facts that no JSON value holds exactly.

pub mod check;
pub mod lexer;
pub mod wide_integers;

pub use check::{Mode, Sentence, Verdict, Verification, verify};
