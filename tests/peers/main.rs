//! Checks with programs that other people wrote, so that a misreading shared by our two sides shows.
//!
//! They run when `NIAGARA_BRIDGE_PEERS` names the folder in which `.ci/run` has installed the programs; without it each
//! test prints why it is skipped. With it, a missing program is a failure.

mod browser;
mod camber_capabilities;
mod camber_details;
mod camber_drift;
mod camber_mv;
mod camber_mv_bills;
mod camber_mv_calendars;
mod camber_mv_scales;
mod camber_rcx;
mod camber_rules;
mod camber_sites;
mod camber_store;
mod camber_trust;
mod camber_trust_gates;
mod conformance;
#[path = "../support/fault_table.rs"]
mod fault_table;
#[path = "../../examples/conformance_server/fixtures/mod.rs"]
mod fixtures;
#[path = "../support/judged_site.rs"]
mod judged_site;
mod mcp_clients;
mod nmap;
mod programs;
mod pyhaystack;
mod report_page;
