//! Every tool that changes the station × every account, broken connection, full disk and missing interface.
//!
//! The tools come from the registry: a new one enters by itself and needs only its call in `calls`.

#[path = "../mock/mod.rs"]
mod mock;
#[path = "../writes/office.rs"]
mod office;
#[allow(dead_code, reason = "the stories of single tools use more of it")]
#[path = "../writes/site.rs"]
mod site;
#[path = "../support/mod.rs"]
mod support;

mod accounts;
mod breaks;
mod calls;
mod disks;
mod faults;
mod interfaces;
mod place;
