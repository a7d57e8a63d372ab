//! The equipment of one building of Lakeside.

use super::rows;
use crate::site::equipment::{Driver, Equipment};
use crate::site::measure::{Convention, Language, UnitSystem};
use crate::site::row::Row;
use crate::site::sim::building::{AIR_HANDLERS, HEAT_PUMPS, ZONES_PER_AIR_HANDLER};
use crate::site::sim::heating_circuit::CIRCUITS;
use std::borrow::Cow;

/// The second chiller came with the maker's own controller, which was never changed over from °F and gpm.
const MAKERS_CONTROLLER: Convention = Convention {
    units: UnitSystem::Customary,
    language: Language::German,
};

/// One floor: its air handler's controller, its room controller, and the number rooms begin with.
struct Floor {
    air_handler: &'static str,
    rooms: &'static str,
    number: usize,
}

const FLOORS: [Floor; AIR_HANDLERS] = [
    Floor {
        air_handler: "RLT01 Erdgeschoß",
        rooms: "ISP_EG",
        number: 0,
    },
    Floor {
        air_handler: "RLT02_1OG",
        rooms: "ISP_1OG",
        number: 1,
    },
    Floor {
        air_handler: "RLT03 (2.OG)",
        rooms: "ISP_2OG",
        number: 2,
    },
];
const CIRCUIT_FOLDERS: [&str; CIRCUITS] = ["HK1 RLT", "HK2 EG", "HK3 1.OG", "HK4 2.OG"];
const PLC: &str = "SPS Heizzentrale";
const COOLING: &str = "Kältezentrale";
const GATEWAY: &str = "M-Bus Gateway";

struct Names {
    prefix: String,
}

impl Names {
    fn id(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    fn base(
        &self,
        name: &str,
        class: &'static str,
        device: &str,
        rows: &'static [Row],
    ) -> Equipment {
        Equipment {
            id: self.id(name),
            class,
            served_by: None,
            driver: Driver::Bacnet,
            device_folder: None,
            device: device.to_owned(),
            point_folder: None,
            rows,
            index: 0,
            style: 0,
            convention: Convention::GERMAN,
        }
    }

    /// Equipment that shares a controller with others, in a folder of points.
    fn within(
        &self,
        name: &str,
        class: &'static str,
        (device, folder): (&str, &'static str),
        rows: &'static [Row],
        index: usize,
    ) -> Equipment {
        Equipment {
            point_folder: Some(Cow::Borrowed(folder)),
            index,
            ..self.base(name, class, device, rows)
        }
    }
}

/// All equipment of building `building` (0 is Lakeside itself), with or without the site's weather station.
pub fn of_building(building: usize) -> Vec<Equipment> {
    let names = Names {
        prefix: match building {
            0 => String::new(),
            _ => format!("H{:02}-", building + 1),
        },
    };
    let mut all = air(&names);
    all.extend(cooling(&names));
    all.extend(heating(&names));
    for (name, folder, rows) in [
        ("ZE-1", "Z01 Strom Haupt", rows::ELECTRIC_METER),
        ("ZG-1", "Z02 Gas", rows::GAS_METER),
    ] {
        all.push(Equipment {
            driver: Driver::Modbus,
            ..names.within(name, "Meter", (GATEWAY, folder), rows, 0)
        });
    }
    if building == 0 {
        all.push(names.base("WS-1", "Weather", "Wetterstation", rows::WEATHER));
    }
    all
}

/// Air handlers and, per floor, the rooms on one controller station.
fn air(names: &Names) -> Vec<Equipment> {
    let mut all = Vec::new();
    for (index, floor) in FLOORS.iter().enumerate() {
        all.push(Equipment {
            index,
            style: index,
            device_folder: Some("Lüftung"),
            ..names.base(
                &format!("RLT-{}", index + 1),
                "AHU",
                floor.air_handler,
                rows::AIR_HANDLER,
            )
        });
    }
    for (index, floor) in FLOORS.iter().enumerate() {
        for number in 1..=ZONES_PER_AIR_HANDLER {
            let room = format!("{}.{number:02}", floor.number);
            let folder = match index {
                0 => format!("Raum {room}"),
                1 => format!("R{}{number:02}_Büro", floor.number),
                _ => format!("{room} Großraum"),
            };
            all.push(Equipment {
                driver: Driver::Niagara,
                served_by: Some(names.id(&format!("RLT-{}", index + 1))),
                point_folder: Some(Cow::Owned(folder)),
                index: index * ZONES_PER_AIR_HANDLER + number - 1,
                style: index,
                ..names.base(&format!("R-{room}"), "VAV", floor.rooms, rows::ROOM)
            });
        }
    }
    all
}

fn cooling(names: &Names) -> Vec<Equipment> {
    let plant = |name, class, folder, rows, index| {
        names.within(name, class, (COOLING, folder), rows, index)
    };
    vec![
        plant(
            "KW",
            "ChilledWaterPlant",
            "Kaltwasser",
            rows::CHILLED_WATER,
            0,
        ),
        plant("KM-1", "Chiller", "Kältemaschine 1", rows::CHILLER, 0),
        Equipment {
            style: 1,
            convention: MAKERS_CONTROLLER,
            ..plant("KM-2", "Chiller", "KM2 Fremdregler", rows::CHILLER, 1)
        },
        plant("RKW-1", "CoolingTower", "Rückkühlwerk", rows::TOWER, 0),
    ]
}

fn heating(names: &Names) -> Vec<Equipment> {
    let plant = |name: &str, class, folder, rows, index| Equipment {
        driver: Driver::Modbus,
        ..names.within(name, class, (PLC, folder), rows, index)
    };
    let mut all = vec![
        plant("HZ", "HotWaterPlant", "Kesselkreis", rows::HOT_WATER, 0),
        plant("K-1", "Boiler", "Kessel 1", rows::BOILER, 0),
        plant("K-2", "Boiler", "Kessel 2", rows::BOILER, 1),
    ];
    for (index, folder) in CIRCUIT_FOLDERS.into_iter().enumerate() {
        let name = format!("HK-{}", index + 1);
        all.push(plant(&name, "HWPump", folder, rows::HEATING_CIRCUIT, index));
    }
    all.push(plant(
        "TWW",
        "WaterHeater",
        "Trinkwarmwasser",
        rows::TAP_WATER,
        0,
    ));
    for index in 0..HEAT_PUMPS {
        all.push(Equipment {
            index,
            device_folder: Some("Wärmepumpen Dach"),
            ..names.base(
                &format!("WP-{}", index + 1),
                "HeatPump",
                &format!("WP{}", index + 1),
                rows::HEAT_PUMP,
            )
        });
    }
    all
}
