//! The knowledge model over its tools and its file.

mod saving;
