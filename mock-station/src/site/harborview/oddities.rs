//! What real databases are full of: spare and dead points, copies, misspelt units, names in other languages, odd histories.

use crate::model::slot_name::escape;
use crate::model::{
    Facets, FeedSample, History, ModelError, PointKind, Status, StoredHistory, Value,
};
use crate::site::equipment::Driver;
use crate::site::extras::{dead_controller, extra_point, manual_readings, points_of};
use crate::site::tree::{PlacedEquipment, TreeBuilder, decoded, named};
use std::sync::Arc;

/// Records that the meter's small ring buffer keeps.
const SMALL_CAPACITY: usize = 500;

/// Adds the oddities to the first building.
pub fn add(builder: &mut TreeBuilder, placed: &[PlacedEquipment]) -> Result<(), ModelError> {
    names(builder, placed)?;
    spare_controller(builder)?;
    old_sensors(builder, placed)?;
    loose_points(builder)?;
    odd_histories(builder, placed)
}

/// A misspelt unit, display names that repeat, and names in three other languages.
fn names(builder: &mut TreeBuilder, placed: &[PlacedEquipment]) -> Result<(), ModelError> {
    if let Some(point) = named(placed, "VAV-2-07", "DischAirTemp") {
        let facets = Facets::numeric("farenheit", 1);
        builder
            .station
            .set(point.handle, "facets", Value::Facets(Arc::new(facets)))?;
    }
    let aliases = [
        ("VAV-3-06", "RmTmp", "Raumtemperatur"),
        ("VAV-3-06", "RmClgStpt", "Sollwert Kühlen"),
        ("VAV-3-07", "RmTmp", "Température de zone"),
        ("VAV-3-08", "RmTmp", "Temperatura de la sala"),
        ("VAV-2-03", "ZoneTemp", "Zone Temp"),
        ("VAV-2-04", "ZoneTemp", "Zone Temp"),
        ("AHU-1", "SAT", "Supply Air Temp"),
    ];
    for (id, name, display) in aliases {
        if let Some(point) = named(placed, id, name) {
            builder.station.set_display_name(point.handle, display)?;
        }
    }
    Ok(())
}

/// A box controller that was ordered, addressed and never installed.
fn spare_controller(builder: &mut TreeBuilder) -> Result<(), ModelError> {
    dead_controller(
        builder,
        Driver::Bacnet,
        "1st Floor VAVs",
        "VAV-1-09 (spare)",
        &["ZN-T", "DA-T", "SA-F"],
        "fahrenheit",
    )
}

/// A second supply-air sensor with a broken wire, with the display name of the first, and a point without any value.
fn old_sensors(builder: &mut TreeBuilder, placed: &[PlacedEquipment]) -> Result<(), ModelError> {
    let Some(unit) = placed
        .iter()
        .find(|equipment| equipment.building == 0 && equipment.equipment.id == "AHU-1")
    else {
        return Ok(());
    };
    let Some(points) = points_of(builder, unit.device) else {
        return Ok(());
    };
    let broken = FeedSample::with_status(-459.7, Status::FAULT);
    let second = ("SAT_2", "control:NumericPoint");
    let second = extra_point(builder, points, second, "fahrenheit", Some(broken))?;
    builder
        .station
        .set_display_name(second, "Supply Air Temp")?;
    let unknown = Some(FeedSample::ok(f64::NAN));
    let enthalpy = ("Enthalpy", "control:NumericPoint");
    extra_point(builder, points, enthalpy, "fahrenheit", unknown)?;
    let shed = ("LoadShedCmd", "control:BooleanWritable");
    extra_point(builder, points, shed, "null", None)?;
    Ok(())
}

/// Points without a driver that people put into folders.
fn loose_points(builder: &mut TreeBuilder) -> Result<(), ModelError> {
    let root = builder.station.root();
    let site = builder.folder(root, "Harborview", "baja:Folder")?;
    let folder = builder.folder(site, "A/C Lobby & Café", "baja:Folder")?;
    let station = &mut *builder.station;
    let note = station.add(folder, Some("OperatorNote"), "control:StringWritable")?;
    station.set(
        note,
        "fallback",
        Value::status_value(
            PointKind::String,
            Value::from("Filter {20x24} ordered"),
            Status::ok(),
        ),
    )?;
    let setpoint = station.add(folder, Some("Lobby$20SP"), "control:NumericWritable")?;
    station.set(
        setpoint,
        "facets",
        Value::Facets(Arc::new(Facets::numeric("fahrenheit", 1))),
    )?;
    station.set(
        setpoint,
        "fallback",
        Value::status_numeric(72.0, Status::ok()),
    )?;
    let empty = station.add(folder, Some("$32nd$20Door"), "control:BooleanPoint")?;
    station.set(
        empty,
        "facets",
        Value::Facets(Arc::new(Facets::boolean("Open", "Closed"))),
    )
}

/// An empty history, a small ring buffer, and one with duplicate, hidden and late records around a clock change.
fn odd_histories(builder: &mut TreeBuilder, placed: &[PlacedEquipment]) -> Result<(), ModelError> {
    let zone = builder.station.zone();
    let meter = |name| named(placed, "MTR-E1", name).map(|point| point.handle);
    if let Some(point) = meter("Amps_C") {
        let id = builder.history_id("Elec_Main_Amps_C");
        builder.attach_history(
            point,
            History::new(
                &id,
                PointKind::Numeric,
                zone,
                Arc::new(StoredHistory::default()),
            ),
        )?;
    }
    let demand = builder.history_id("Elec_Main_kW_Demand");
    if let (Some(point), Some(source)) = (
        meter("kW_Demand"),
        builder
            .station
            .histories
            .get(&demand)
            .map(|history| Arc::clone(&history.records)),
    ) {
        let mut ring = History::new(
            &builder.history_id("Elec_Main_kW_Recent"),
            PointKind::Numeric,
            zone,
            source,
        );
        ring.capacity = Some(SMALL_CAPACITY);
        ring.value_facets = Facets::numeric("kilowatt", 1);
        builder.attach_history(point, ring)?;
    }
    imported_histories(builder, placed)?;
    if let Some(point) = meter("Amps_A") {
        let records = StoredHistory::new(manual_readings(builder.history_start));
        let id = builder.history_id("Elec_Main_Manual Readings");
        builder.attach_history(
            point,
            History::new(&id, PointKind::Numeric, zone, Arc::new(records)),
        )?;
    }
    Ok(())
}

/// Histories that this station imports from the weather station's JACE: they have no extension and no point here.
fn imported_histories(
    builder: &mut TreeBuilder,
    placed: &[PlacedEquipment],
) -> Result<(), ModelError> {
    let Some(weather) = placed
        .iter()
        .find(|equipment| equipment.equipment.class == "Weather")
    else {
        return Ok(());
    };
    let Some(imports) = builder
        .station
        .component(weather.device)
        .and_then(|device| device.child("histories"))
    else {
        return Ok(());
    };
    for name in ["OA-T", "OA-RH"] {
        let local = builder.history_id(&format!("Roof_JACE_{name}"));
        let Some(original) = builder.station.histories.get(&local).cloned() else {
            continue;
        };
        let imported = History {
            id: format!("/Roof_JACE/{}", escape(name)),
            source_ord: None,
            point: None,
            ..original
        };
        let import = builder.station.add(
            imports,
            Some(&escape(&format!("Roof_JACE_{name}"))),
            "niagaraDriver:NiagaraHistoryImport",
        )?;
        for slot in ["historyId", "localHistoryId"] {
            builder
                .station
                .set(import, slot, decoded("history:HistoryId", &imported.id)?)?;
        }
        builder.station.histories.insert(imported);
    }
    Ok(())
}
