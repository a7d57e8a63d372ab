//! Schedules, kitControl logic and the links that tie them to points of the drivers.

use crate::model::{Facets, Handle, ModelError, Status, Value};
use crate::site::logic::{EVERY_DAY, WORKDAYS, clock, occupancy_enable, weekly};
use crate::site::tree::{PlacedEquipment, TreeBuilder, of_first_building};
use chrono::NaiveTime;
use std::sync::Arc;

/// Adds the schedules and the control logic of the site and links them to points of the first building.
pub fn add(builder: &mut TreeBuilder, placed: &[PlacedEquipment]) -> Result<(), ModelError> {
    let root = builder.station.root();
    let site = builder.folder(root, "Harborview", "baja:Folder")?;
    let occupancy = schedules(builder, site)?;
    let logic = builder.folder(site, "Logic", "baja:Folder")?;
    let folder = builder.folder(logic, "Occupancy", "baja:Folder")?;
    let names = ["Holiday", "NotHoliday", "OccEnable"];
    let enable = occupancy_enable(builder, folder, occupancy, names)?;
    for equipment in of_first_building(placed, "AHU") {
        if let Some(point) = equipment.with_role("occupancy") {
            builder.station.link(enable, "out", point, "in10")?;
        }
    }
    weather_logic(builder, logic, placed)?;
    zone_logic(builder, logic, placed)?;
    loop_logic(builder, logic, placed)
}

/// Occupancy, night light and setpoint programs; returns the occupancy schedule.
fn schedules(builder: &mut TreeBuilder, site: Handle) -> Result<Handle, ModelError> {
    let folder = builder.folder(site, "Schedules", "baja:Folder")?;
    let station = &mut *builder.station;
    let occupancy = station.add(folder, Some("OccSched"), "schedule:BooleanSchedule")?;
    station.set(
        occupancy,
        "facets",
        Value::Facets(Arc::new(Facets::boolean("Occupied", "Unoccupied"))),
    )?;
    weekly(
        station,
        occupancy,
        &WORKDAYS,
        (clock(7, 0), clock(18, 0)),
        Value::Boolean(true),
    )?;
    let parking = station.add(folder, Some("Parking$20Lights"), "schedule:BooleanSchedule")?;
    for span in [
        (clock(18, 30), NaiveTime::MIN),
        (NaiveTime::MIN, clock(6, 0)),
    ] {
        weekly(station, parking, &EVERY_DAY, span, Value::Boolean(true))?;
    }
    let setpoint = station.add(folder, Some("ZoneClgSP_Sched"), "schedule:NumericSchedule")?;
    station.set(
        setpoint,
        "facets",
        Value::Facets(Arc::new(Facets::numeric("fahrenheit", 1))),
    )?;
    station.set(
        setpoint,
        "defaultOutput",
        Value::status_numeric(82.0, Status::ok()),
    )?;
    weekly(
        station,
        setpoint,
        &WORKDAYS,
        (clock(6, 0), clock(18, 0)),
        Value::Double(74.0),
    )?;
    Ok(occupancy)
}

/// Outdoor temperature for everybody, the economizer's high limit and the supply-air reset line.
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
    let folder = builder.folder(logic, "Outdoor Air", "baja:Folder")?;
    let station = &mut *builder.station;
    let fahrenheit = || Value::Facets(Arc::new(Facets::numeric("fahrenheit", 1)));
    let shared = station.add(folder, Some("OAT_Global"), "control:NumericWritable")?;
    station.set(shared, "facets", fahrenheit())?;
    station.set(
        shared,
        "fallback",
        Value::status_numeric(60.0, Status::ok()),
    )?;
    station.link(sensor, "out", shared, "in10")?;
    let limit = station.add(folder, Some("EconHighLimit"), "kitControl:NumericConst")?;
    station.set(limit, "facets", fahrenheit())?;
    station.set(limit, "value", Value::status_numeric(65.0, Status::ok()))?;
    let cool_enough = station.add(folder, Some("EconOK"), "kitControl:LessThan")?;
    station.link(shared, "out", cool_enough, "inA")?;
    station.link(limit, "out", cool_enough, "inB")?;
    let reset = station.add(folder, Some("SAT_Reset"), "kitControl:Reset")?;
    station.set(reset, "facets", fahrenheit())?;
    for (slot, value) in [
        ("inputLowLimit", 60.0),
        ("inputHighLimit", 70.0),
        ("outputLowLimit", 63.5),
        ("outputHighLimit", 55.0),
    ] {
        station.set(reset, slot, Value::status_numeric(value, Status::ok()))?;
    }
    station.link(shared, "out", reset, "inA")?;
    Ok(())
}

/// Average and extremes of the zones of the first floor.
fn zone_logic(
    builder: &mut TreeBuilder,
    logic: Handle,
    placed: &[PlacedEquipment],
) -> Result<(), ModelError> {
    let folder = builder.folder(logic, "1st Floor Zones", "baja:Folder")?;
    let sensors: Vec<Handle> = of_first_building(placed, "VAV")
        .filter_map(|unit| unit.with_role("space_temp"))
        .take(4)
        .collect();
    let station = &mut *builder.station;
    for (name, spec) in [
        ("AvgZnT", "kitControl:Average"),
        ("MaxZnT", "kitControl:Maximum"),
        ("MinZnT", "kitControl:Minimum"),
    ] {
        let block = station.add(folder, Some(name), spec)?;
        station.set(
            block,
            "facets",
            Value::Facets(Arc::new(Facets::numeric("fahrenheit", 1))),
        )?;
        for (sensor, input) in sensors.iter().zip(["inA", "inB", "inC", "inD"]) {
            station.link(*sensor, "out", block, input)?;
        }
    }
    Ok(())
}

/// A loop that shows how the hot-water setpoint would be held.
fn loop_logic(
    builder: &mut TreeBuilder,
    logic: Handle,
    placed: &[PlacedEquipment],
) -> Result<(), ModelError> {
    let Some(supply) = of_first_building(placed, "HotWaterPlant")
        .find_map(|plant| plant.with_role("hw_supply_temp"))
    else {
        return Ok(());
    };
    let folder = builder.folder(logic, "HW Plant", "baja:Folder")?;
    let station = &mut *builder.station;
    let control = station.add(folder, Some("HWS_Loop"), "kitControl:LoopPoint")?;
    station.set(
        control,
        "facets",
        Value::Facets(Arc::new(Facets::numeric("percent", 1))),
    )?;
    station.set(
        control,
        "setpoint",
        Value::status_numeric(160.0, Status::ok()),
    )?;
    station.set(control, "proportionalConstant", Value::Double(4.0))?;
    station.link(supply, "out", control, "controlledVariable")?;
    Ok(())
}
