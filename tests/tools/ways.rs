//! Stations that offer their data over different interfaces.

use mock_station::switches::{MachineMode, Switches};

/// An interface, and the switches that leave no other.
pub type Way = (&'static str, fn(&mut Switches));

/// Everything that a station may be read over.
pub const WAYS: [Way; 4] = [
    ("machine cells", |_| {}),
    ("BOX tables", |switches| {
        switches.export.csv_exporter = false
    }),
    ("display cells", |switches| {
        switches.export.machine_mode = MachineMode::Refused;
        switches.boxs.present = false;
    }),
    ("oBIX", obix_only),
];

pub fn obix_only(switches: &mut Switches) {
    switches.boxs.present = false;
    switches.export.csv_exporter = false;
}
