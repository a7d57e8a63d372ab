//! A stand-in Niagara 4 station, written from the interface descriptions alone; it shares no protocol code with the bridge.
//!
//! - [`clock`]: the station's time.
//! - [`model`]: component tree, type registry, points with priority arbitration, links, users and permissions.
//! - [`site`]: the demo building, its physical simulation, histories, alarms and planted faults.
//! - [`server`]: starts a station; what its servlets share.
//! - [`switches`]: every disagreement between real stations.
//! - [`web`]: login, sessions, the ord servlet, BQL and the CSV exporter.
//! - [`boxs`]: the BOX servlet.
//! - [`obix`]: the oBIX servlet.
//! - [`fox`]: the Fox ports, which answer a hello and nothing more.
//! - [`tls`]: the station's certificate.
//! - [`faults`]: what goes wrong on purpose; [`control`]: the port that commands it from outside.

pub mod boxs;
pub mod clock;
pub mod control;
pub mod faults;
pub mod fox;
pub mod model;
pub mod obix;
pub mod server;
pub mod site;
pub mod switches;
pub mod tls;
pub mod web;
