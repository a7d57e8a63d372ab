//! The equipment of one building: which controller it hangs on, under which names, with which points.

use super::measure::UnitSystem;
use super::rows::{self, Row};
use super::sim::building::{AIR_HANDLERS, HEAT_PUMPS, ZONES_PER_AIR_HANDLER};

/// The network a controller is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    Bacnet,
    Modbus,
    /// Another station.
    Niagara,
}

/// One piece of equipment and where its points are.
#[derive(Clone, Debug)]
pub struct Equipment {
    /// Identity in the truth model, e.g. `VAV-2-05`.
    pub id: String,
    /// CAMBER equipment class.
    pub class: &'static str,
    /// Identity of the equipment that serves it.
    pub served_by: Option<String>,
    pub driver: Driver,
    /// Display name of the folder of devices, if the controller is in one.
    pub device_folder: Option<&'static str>,
    /// Display name of the controller.
    pub device: String,
    /// Display name of the folder of points, for controllers that serve several pieces of equipment.
    pub point_folder: Option<&'static str>,
    pub rows: &'static [Row],
    /// Index among equipment of its kind in the building.
    pub index: usize,
    /// Which installer named the points.
    pub style: usize,
    pub system: UnitSystem,
}

const FLOOR_FOLDERS: [&str; AIR_HANDLERS] = ["1st Floor VAVs", "2nd Floor VAVs", "3rd Floor VAVs"];
const AIR_HANDLER_DEVICES: [&str; AIR_HANDLERS] = ["AHU1", "AHU_2", "AHU-3 Roof"];

/// Display name of a box controller; each floor was fitted out by another installer.
fn box_device(floor: usize, number: usize) -> String {
    match floor {
        0 => format!("VAV-1-{number:02}"),
        1 => format!("VAV_2_{number:02}"),
        _ => format!("3-{number:02} VAV"),
    }
}

/// All equipment of building `building` (0 is Harborview itself), with or without the site's weather station.
pub fn of_building(building: usize) -> Vec<Equipment> {
    let prefix = if building == 0 {
        String::new()
    } else {
        format!("B{:02}-", building + 1)
    };
    let id = |name: &str| format!("{prefix}{name}");
    let base = |name: &str, class, device: &str, rows| Equipment {
        id: id(name),
        class,
        served_by: None,
        driver: Driver::Bacnet,
        device_folder: None,
        device: device.to_owned(),
        point_folder: None,
        rows,
        index: 0,
        style: 0,
        system: UnitSystem::Customary,
    };
    let mut all = Vec::new();
    for (index, device) in AIR_HANDLER_DEVICES.into_iter().enumerate() {
        let name = format!("AHU-{}", index + 1);
        let system = if index == 2 {
            UnitSystem::Metric
        } else {
            UnitSystem::Customary
        };
        all.push(Equipment {
            index,
            style: index,
            system,
            ..base(&name, "AHU", device, rows::AIR_HANDLER)
        });
    }
    for (floor, folder) in FLOOR_FOLDERS.into_iter().enumerate() {
        for number in 1..=ZONES_PER_AIR_HANDLER {
            let name = format!("VAV-{}-{number:02}", floor + 1);
            all.push(Equipment {
                served_by: Some(id(&format!("AHU-{}", floor + 1))),
                device_folder: Some(folder),
                index: floor * ZONES_PER_AIR_HANDLER + number - 1,
                style: floor,
                ..base(&name, "VAV", &box_device(floor, number), rows::ZONE_BOX)
            });
        }
    }
    let plant = |name: &str, class, device: &str, folder, rows, index| Equipment {
        point_folder: Some(folder),
        index,
        ..base(name, class, device, rows)
    };
    all.push(plant(
        "CHW",
        "ChilledWaterPlant",
        "CHW Plant",
        "CHW Loop",
        rows::CHILLED_WATER,
        0,
    ));
    all.push(plant(
        "CH-1",
        "Chiller",
        "CHW Plant",
        "Chiller #1",
        rows::CHILLER,
        0,
    ));
    all.push(plant(
        "CH-2",
        "Chiller",
        "CHW Plant",
        "Chiller #2",
        rows::CHILLER,
        1,
    ));
    all.push(plant(
        "CT-1",
        "CoolingTower",
        "CHW Plant",
        "Tower",
        rows::TOWER,
        0,
    ));
    all.push(plant(
        "HW",
        "HotWaterPlant",
        "HW_Plant",
        "HW_Loop",
        rows::HOT_WATER,
        0,
    ));
    all.push(plant("B-1", "Boiler", "HW_Plant", "B-1", rows::BOILER, 0));
    all.push(plant("B-2", "Boiler", "HW_Plant", "B-2", rows::BOILER, 1));
    for index in 0..HEAT_PUMPS {
        let name = format!("HP-{}", index + 1);
        all.push(Equipment {
            index,
            ..base(
                &name,
                "HeatPump",
                &format!("RTU-HP{}", index + 1),
                rows::HEAT_PUMP,
            )
        });
    }
    let meter = |name: &str, device: &str, rows| Equipment {
        driver: Driver::Modbus,
        ..base(name, "Meter", device, rows)
    };
    all.push(meter("MTR-E1", "Elec_Main", rows::ELECTRIC_METER));
    all.push(meter("MTR-G1", "GasMeter", rows::GAS_METER));
    if building == 0 {
        all.push(Equipment {
            driver: Driver::Niagara,
            ..base("WX-1", "Weather", "Roof_JACE", rows::WEATHER)
        });
    }
    all
}
