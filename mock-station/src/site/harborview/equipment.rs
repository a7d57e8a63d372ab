//! The equipment of one building of Harborview.

use super::rows;
use crate::site::equipment::{Driver, Equipment};
use crate::site::measure::Convention;
use crate::site::sim::building::{AIR_HANDLERS, HEAT_PUMPS, ZONES_PER_AIR_HANDLER};
use std::borrow::Cow;

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
        convention: Convention::CUSTOMARY,
    };
    let mut all = Vec::new();
    for (index, device) in AIR_HANDLER_DEVICES.into_iter().enumerate() {
        let name = format!("AHU-{}", index + 1);
        let convention = if index == 2 {
            Convention::METRIC
        } else {
            Convention::CUSTOMARY
        };
        all.push(Equipment {
            index,
            style: index,
            convention,
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
        point_folder: Some(Cow::Borrowed(folder)),
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
