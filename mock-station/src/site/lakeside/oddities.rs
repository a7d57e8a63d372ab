//! What this database is full of: a reserve unit that never came, broken sensors, copied names, readings kept by hand.

use crate::model::slot_name::escape;
use crate::model::{
    Facets, FeedSample, History, ModelError, PointKind, Status, StoredHistory, Value,
};
use crate::site::equipment::Driver;
use crate::site::extras::{dead_controller, extra_point, manual_readings, points_of};
use crate::site::tree::{PlacedEquipment, TreeBuilder, named};
use std::sync::Arc;

/// Records that the gas meter's ring buffer keeps.
const RING_CAPACITY: usize = 2_000;

/// Adds the oddities to the first building.
pub fn add(builder: &mut TreeBuilder, placed: &[PlacedEquipment]) -> Result<(), ModelError> {
    dead_controller(
        builder,
        Driver::Bacnet,
        "Wärmepumpen Dach",
        "WP3 (Reserve)",
        &["Zulufttemp.", "Ablufttemp.", "Raumtemperatur"],
        "celsius",
    )?;
    names(builder, placed)?;
    broken_sensors(builder, placed)?;
    loose_points(builder)?;
    odd_histories(builder, placed)
}

/// Misspelt units, display names that repeat, and two that an English-speaking technician wrote.
fn names(builder: &mut TreeBuilder, placed: &[PlacedEquipment]) -> Result<(), ModelError> {
    for (id, name, unit) in [("R-1.05", "ZUL_T", "celcius"), ("RLT-2", "ZUL_P", "Pa")] {
        if let Some(point) = named(placed, id, name) {
            let facets = Value::Facets(Arc::new(Facets::numeric(unit, 1)));
            builder.station.set(point.handle, "facets", facets)?;
        }
    }
    for (id, name, display) in [
        ("R-1.01", "RT_X", "Raumtemperatur Büro"),
        ("R-1.02", "RT_X", "Raumtemperatur Büro"),
        ("R-2.04", "Raumtemp. Ist", "Meeting Room Temp"),
        ("RLT-1", "Zuluft_Temp", "Supply Air (neu)"),
        ("RLT-2", "ZUL_T", "Zulufttemperatur"),
        ("RLT-2", "ABL_T", "Ablufttemperatur"),
    ] {
        if let Some(point) = named(placed, id, name) {
            builder.station.set_display_name(point.handle, display)?;
        }
    }
    Ok(())
}

/// A second supply sensor with a broken wire under the display name of the first, and points that say nothing.
fn broken_sensors(builder: &mut TreeBuilder, placed: &[PlacedEquipment]) -> Result<(), ModelError> {
    let Some(points) = placed
        .iter()
        .find(|equipment| equipment.building == 0 && equipment.equipment.id == "RLT-2")
        .and_then(|unit| points_of(builder, unit.device))
    else {
        return Ok(());
    };
    let broken = FeedSample::with_status(-273.1, Status::FAULT);
    let second = ("ZUL_T2", "control:NumericPoint");
    let second = extra_point(builder, points, second, "celsius", Some(broken))?;
    builder
        .station
        .set_display_name(second, "Zulufttemperatur")?;
    let unknown = Some(FeedSample::ok(f64::NAN));
    let enthalpy = ("h Außenluft", "control:NumericPoint");
    extra_point(
        builder,
        points,
        enthalpy,
        "kilojoules_per_kilogram",
        unknown,
    )?;
    let shed = ("Lastabwurf", "control:BooleanWritable");
    extra_point(builder, points, shed, "null", None)?;
    Ok(())
}

/// Points without a driver that people put into folders.
fn loose_points(builder: &mut TreeBuilder) -> Result<(), ModelError> {
    let root = builder.station.root();
    let site = builder.folder(root, "Gebäude am See", "baja:Folder")?;
    let folder = builder.folder(site, "Café/Foyer & Übergang", "baja:Folder")?;
    let station = &mut *builder.station;
    let note = station.add(folder, Some("Notiz_Hausmeister"), "control:StringWritable")?;
    let text = Value::from("Filter G4 {592x592} bestellt; Ölfüllung prüfen");
    let text = Value::status_value(PointKind::String, text, Status::ok());
    station.set(note, "fallback", text)?;
    let setpoint = escape("Sollwert Foyer");
    let setpoint = station.add(folder, Some(&setpoint), "control:NumericWritable")?;
    let celsius = Facets::numeric("celsius", 1);
    station.set(setpoint, "facets", Value::Facets(Arc::new(celsius)))?;
    let value = Value::status_numeric(21.5, Status::ok());
    station.set(setpoint, "fallback", value)?;
    let door = station.add(folder, Some(&escape("2. Tür")), "control:BooleanPoint")?;
    let texts = Facets::boolean("Offen", "Geschlossen");
    station.set(door, "facets", Value::Facets(Arc::new(texts)))
}

/// A history that never recorded, a ring buffer, and readings that the caretaker typed in.
fn odd_histories(builder: &mut TreeBuilder, placed: &[PlacedEquipment]) -> Result<(), ModelError> {
    let zone = builder.station.zone();
    let electric = |name| named(placed, "ZE-1", name).map(|point| point.handle);
    let hand_written = Arc::new(StoredHistory::new(manual_readings(builder.history_start)));
    for (point, name, records) in [
        (
            "Strom L3",
            "Z01_Strom_L3",
            Arc::new(StoredHistory::default()),
        ),
        ("Strom L1", "Z01_Ablesung von Hand", hand_written),
    ] {
        if let Some(point) = electric(point) {
            let id = builder.history_id(name);
            let history = History::new(&id, PointKind::Numeric, zone, records);
            builder.attach_history(point, history)?;
        }
    }
    let gas = named(placed, "ZG-1", "Gas Durchfluss");
    let recorded = gas
        .and_then(|point| builder.station.histories.get(point.history.as_deref()?))
        .cloned();
    if let (Some(gas), Some(recorded)) = (gas, recorded) {
        let ring = History {
            id: builder.history_id("Z02_Gas_aktuell"),
            capacity: Some(RING_CAPACITY),
            ..recorded
        };
        builder.attach_history(gas.handle, ring)?;
    }
    Ok(())
}
