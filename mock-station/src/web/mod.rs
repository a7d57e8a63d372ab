//! The web tier: login, sessions, the ord servlet, BQL and the exporters.

#![allow(dead_code)]

#[path = "bql/ast.rs"]
mod ast;
mod csv;
mod ord_url;
mod time_range;
