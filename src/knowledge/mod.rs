//! knowledge.
