//! A bridge that uses every tool that changes the station, with the log of the whole process: nothing tells a secret.

#[path = "../write_matrix/calls.rs"]
#[allow(dead_code, reason = "the matrices use more of it")]
mod calls;
#[path = "../mock/mod.rs"]
mod mock;
#[path = "../writes/office.rs"]
mod office;
#[path = "../write_matrix/place.rs"]
#[allow(dead_code, reason = "the matrices use more of it")]
mod place;
#[path = "../writes/site.rs"]
#[allow(dead_code, reason = "the stories of single tools use more of it")]
mod site;
#[path = "../support/mod.rs"]
mod support;

mod secrets;
