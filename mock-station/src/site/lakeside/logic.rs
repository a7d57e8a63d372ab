//! Time programmes, heating curves and frost protection, and the links that tie them to points of the drivers.

use crate::model::slot_name::escape;
use crate::model::{Facets, Handle, ModelError, Status, Value};
use crate::site::logic::{EVERY_DAY, WORKDAYS, clock, occupancy_enable, weekly};
use crate::site::tree::{PlacedEquipment, TreeBuilder, of_first_building};
use chrono::NaiveTime;
use std::sync::Arc;

/// Adds the time programmes and the control logic of the site and links them to points of the first building.
pub fn add(builder: &mut TreeBuilder, placed: &[PlacedEquipment]) -> Result<(), ModelError> {
    let root = builder.station.root();
    let site = builder.folder(root, "Gebäude am See", "baja:Folder")?;
    let occupancy = time_programmes(builder, site)?;
    let logic = builder.folder(site, "Regelung", "baja:Folder")?;
    let folder = builder.folder(logic, "Freigaben", "baja:Folder")?;
    let names = ["Feiertag", "KeinFeiertag", "Freigabe_Belegung"];
    let enable = occupancy_enable(builder, folder, occupancy, names)?;
    for class in ["AHU", "HeatPump"] {
        for equipment in of_first_building(placed, class) {
            if let Some(point) = equipment.with_role("occupancy") {
                builder.station.link(enable, "out", point, "in12")?;
            }
        }
    }
    weather_logic(builder, logic, placed)?;
    room_logic(builder, logic, placed)
}

fn celsius() -> Value {
    Value::Facets(Arc::new(Facets::numeric("celsius", 1)))
}

fn number(value: f64) -> Value {
    Value::status_numeric(value, Status::ok())
}

/// Programmes of the building, the courtyard's lights and the circulation pump; returns the first.
fn time_programmes(builder: &mut TreeBuilder, site: Handle) -> Result<Handle, ModelError> {
    let folder = builder.folder(site, "Zeitprogramme", "baja:Folder")?;
    let station = &mut *builder.station;
    let mut programme = |name: &str, texts: (&str, &str)| {
        let schedule = station.add(folder, Some(&escape(name)), "schedule:BooleanSchedule")?;
        let facets = Facets::boolean(texts.0, texts.1);
        station.set(schedule, "facets", Value::Facets(Arc::new(facets)))?;
        Ok::<Handle, ModelError>(schedule)
    };
    let occupancy = programme("Belegung Büro", ("Belegt", "Unbelegt"))?;
    let lights = programme("Außenbeleuchtung Hof", ("Ein", "Aus"))?;
    let circulation = programme("Zirkulation Trinkwarmwasser", ("Ein", "Aus"))?;
    let on = || Value::Boolean(true);
    weekly(
        station,
        occupancy,
        &WORKDAYS,
        (clock(7, 0), clock(18, 0)),
        on(),
    )?;
    weekly(
        station,
        circulation,
        &EVERY_DAY,
        (clock(5, 30), clock(20, 0)),
        on(),
    )?;
    for span in [
        (clock(17, 0), NaiveTime::MIN),
        (NaiveTime::MIN, clock(6, 30)),
    ] {
        weekly(station, lights, &EVERY_DAY, span, on())?;
    }
    let name = escape("Sollwert Heizen");
    let setpoint = station.add(folder, Some(&name), "schedule:NumericSchedule")?;
    station.set(setpoint, "facets", celsius())?;
    station.set(setpoint, "defaultOutput", number(17.0))?;
    weekly(
        station,
        setpoint,
        &WORKDAYS,
        (clock(6, 0), clock(18, 0)),
        Value::Double(21.0),
    )?;
    Ok(occupancy)
}

/// Outdoor temperature for everybody, the heating curve, the summer switch and frost protection.
fn weather_logic(
    builder: &mut TreeBuilder,
    logic: Handle,
    placed: &[PlacedEquipment],
) -> Result<(), ModelError> {
    let Some(sensor) =
        of_first_building(placed, "Weather").find_map(|station| station.with_role("oat"))
    else {
        return Ok(());
    };
    let folder = builder.folder(logic, "Witterungsführung", "baja:Folder")?;
    let station = &mut *builder.station;
    let shared = station.add(folder, Some("AT_gemeinsam"), "control:NumericWritable")?;
    station.set(shared, "facets", celsius())?;
    station.set(shared, "fallback", number(10.0))?;
    station.link(sensor, "out", shared, "in10")?;
    let curve = station.add(folder, Some("Heizkurve_Kessel"), "kitControl:Reset")?;
    station.set(curve, "facets", celsius())?;
    for (slot, value) in [
        ("inputLowLimit", -6.7),
        ("inputHighLimit", 13.3),
        ("outputLowLimit", 82.2),
        ("outputHighLimit", 60.0),
    ] {
        station.set(curve, slot, number(value))?;
    }
    station.link(shared, "out", curve, "inA")?;
    for (name, block, limit) in [
        ("Sommerbetrieb", "kitControl:GreaterThan", 19.0),
        ("Frostgefahr", "kitControl:LessThan", 2.0),
    ] {
        let setting = station.add(
            folder,
            Some(&format!("{name}_Grenze")),
            "kitControl:NumericConst",
        )?;
        station.set(setting, "facets", celsius())?;
        station.set(setting, "value", number(limit))?;
        let switch = station.add(folder, Some(name), block)?;
        station.link(shared, "out", switch, "inA")?;
        station.link(setting, "out", switch, "inB")?;
    }
    Ok(())
}

/// Mean and extremes of the first rooms of the ground floor.
fn room_logic(
    builder: &mut TreeBuilder,
    logic: Handle,
    placed: &[PlacedEquipment],
) -> Result<(), ModelError> {
    let folder = builder.folder(logic, "Räume EG", "baja:Folder")?;
    let sensors: Vec<Handle> = of_first_building(placed, "VAV")
        .filter_map(|room| room.with_role("space_temp"))
        .take(4)
        .collect();
    let station = &mut *builder.station;
    for (name, spec) in [
        ("Mittelwert", "kitControl:Average"),
        ("Wärmster Raum", "kitControl:Maximum"),
        ("Kältester Raum", "kitControl:Minimum"),
    ] {
        let block = station.add(folder, Some(&escape(name)), spec)?;
        station.set(block, "facets", celsius())?;
        for (sensor, input) in sensors.iter().zip(["inA", "inB", "inC", "inD"]) {
            station.link(*sensor, "out", block, input)?;
        }
    }
    Ok(())
}
