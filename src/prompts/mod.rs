//! prompts.
