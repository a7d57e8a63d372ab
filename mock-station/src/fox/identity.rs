//! What a hello says about the station.

use std::net::IpAddr;

use super::time_zone;
use crate::server::ServerContext;

/// The station as its hello describes it to one connection.
#[derive(Clone, Debug)]
pub(super) struct Identity {
    pub host_name: String,
    pub host_address: String,
    pub station_name: String,
    pub time_zone: String,
    pub vm: String,
    pub connection: u32,
}

impl Identity {
    pub(super) fn of(context: &ServerContext, local: IpAddr) -> Self {
        let station = context.station.read();
        Self {
            host_name: station.identity.host_name.clone(),
            host_address: local.to_string(),
            station_name: station.name(),
            time_zone: time_zone::describe(station.zone(), context.now()),
            vm: context.lifecycle.vm().to_string(),
            connection: context.lifecycle.next_fox_connection(),
        }
    }
}
