//! Whether a text says only what facts carry (CAMBER core §9).
//!
//! - [`lexer`]: citations, sentences and numbers.
//! - [`check`]: the verdict on each sentence, and the text without what is not supported.

pub mod check;
pub mod lexer;

pub use check::{Mode, Sentence, Verdict, Verification, verify};
