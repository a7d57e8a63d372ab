//! Project Haystack tags that the integrator of the second floor left behind: direct tags, on its equipment only.

use crate::model::{Flags, Handle, ModelError, StructValue, Value, registry};
use crate::site::tree::{PlacedEquipment, TreeBuilder, named};

/// Points of the air handler with their markers.
const AIR_HANDLER: [(&str, &str); 10] = [
    ("SA_Temp", "discharge air temp sensor"),
    ("SA_TempSpt", "discharge air temp sp"),
    ("MA_Temp", "mixed air temp sensor"),
    ("RA_Temp", "return air temp sensor"),
    ("OA_DmprCmd", "outside air damper cmd"),
    ("ClgVlvCmd", "cooling valve cmd"),
    ("HtgVlvCmd", "heating valve cmd"),
    ("SupFanStatus", "discharge fan run sensor"),
    ("SupFanVFD_Spd", "discharge fan speed cmd"),
    // Said too little: any of several pressures.
    ("DuctStatic", "pressure sensor"),
];

/// Points of a box with their markers.
const ZONE_BOX: [(&str, &str); 5] = [
    ("ZoneTemp", "zone air temp sensor"),
    ("ClgSpt", "zone air temp cooling sp"),
    ("HtgSpt", "zone air temp heating sp"),
    ("AirFlow", "discharge air flow sensor"),
    ("DamperPos", "damper cmd"),
];

/// Boxes that were tagged before the integrator left.
const BOXES: [&str; 3] = ["VAV-2-01", "VAV-2-02", "VAV-2-03"];

/// Tags the site, the folder of the second floor, its air handler and some of its boxes.
pub fn add(builder: &mut TreeBuilder, placed: &[PlacedEquipment]) -> Result<(), ModelError> {
    let root = builder.station.root();
    let site = builder.folder(root, "Harborview", "baja:Folder")?;
    mark(builder, site, "site")?;
    text(builder, site, "dis", "Harborview")?;
    text(builder, site, "geoCity", "New York")?;
    let device = |id: &str| {
        placed
            .iter()
            .find(|equipment| equipment.building == 0 && equipment.equipment.id == id)
            .map(|equipment| equipment.device)
    };
    let Some(air_handler) = device("AHU-2") else {
        return Ok(());
    };
    mark(builder, air_handler, "ahu equip")?;
    for (name, markers) in AIR_HANDLER {
        if let Some(point) = named(placed, "AHU-2", name) {
            mark(builder, point.handle, markers)?;
        }
    }
    for id in BOXES {
        let Some(unit) = device(id) else {
            continue;
        };
        if let Some(floor) = builder.station.parent(unit).filter(|_| id == BOXES[0]) {
            mark(builder, floor, "floor space")?;
            text(builder, floor, "dis", "Second floor")?;
        }
        mark(builder, unit, "vav equip")?;
        relate(builder, unit, "hs:airRef", air_handler)?;
        for (name, markers) in ZONE_BOX {
            if let Some(point) = named(placed, id, name) {
                mark(builder, point.handle, markers)?;
            }
        }
    }
    Ok(())
}

fn mark(builder: &mut TreeBuilder, component: Handle, markers: &str) -> Result<(), ModelError> {
    for marker in markers.split(' ') {
        put(builder, component, &format!("hs$3a{marker}"), Value::Marker)?;
    }
    Ok(())
}

fn text(
    builder: &mut TreeBuilder,
    component: Handle,
    tag: &str,
    text: &str,
) -> Result<(), ModelError> {
    put(
        builder,
        component,
        &format!("hs$3a{tag}"),
        Value::from(text),
    )
}

/// A relation to another component, in a slot that the station names.
fn relate(
    builder: &mut TreeBuilder,
    component: Handle,
    id: &str,
    end: Handle,
) -> Result<(), ModelError> {
    let ty = registry::find("baja:Relation").ok_or_else(|| ModelError::UnknownType {
        spec: "baja:Relation".to_owned(),
    })?;
    let relation = StructValue::new(ty)
        .with("relationId", Value::from(id))
        .with("relationOrd", Value::Ord(format!("h:{end}").into()));
    put(builder, component, "Relation", Value::Struct(relation))
}

fn put(
    builder: &mut TreeBuilder,
    component: Handle,
    slot: &str,
    value: Value,
) -> Result<(), ModelError> {
    builder
        .station
        .add_value(component, Some(slot), value, Flags::METADATA, None)?;
    Ok(())
}
