//! What real databases have beside their working equipment: dead controllers, loose points, hand-entered readings.

use super::equipment::Driver;
use super::row::Access;
use super::sim::calendar::QUARTER_MS;
use super::tree::TreeBuilder;
use crate::model::history::trend_flags;
use crate::model::point::ConstantFeed;
use crate::model::slot_name::escape;
use crate::model::{
    Facets, FeedSample, Handle, HistoryRecord, ModelError, PointKind, Status, Value,
};
use chrono::DateTime;
use std::sync::Arc;

/// Adds a proxied point that is not of the simulation; numbers get `unit`, and without a sample it has no value.
pub fn extra_point(
    builder: &mut TreeBuilder,
    parent: Handle,
    (name, spec): (&str, &str),
    unit: &str,
    sample: Option<FeedSample>,
) -> Result<Handle, ModelError> {
    let point = builder.station.add(parent, Some(&escape(name)), spec)?;
    let kind = if spec.contains("Boolean") {
        PointKind::Boolean
    } else {
        PointKind::Numeric
    };
    let access = if spec.ends_with("Writable") {
        Access::Writable
    } else {
        Access::Sensor
    };
    builder.proxy(point, Driver::Bacnet, kind, access)?;
    if kind == PointKind::Numeric {
        builder.station.set(
            point,
            "facets",
            Value::Facets(Arc::new(Facets::numeric(unit, 1))),
        )?;
    }
    if let Some(sample) = sample {
        builder
            .station
            .attach_feed(point, Arc::new(ConstantFeed(sample)));
    }
    Ok(point)
}

/// The point container of a controller.
pub fn points_of(builder: &TreeBuilder, device: Handle) -> Option<Handle> {
    builder.station.component(device)?.child("points")
}

/// A controller in a folder of the first building that never answered, with numeric points of one unit.
pub fn dead_controller(
    builder: &mut TreeBuilder,
    driver: Driver,
    folder: &str,
    name: &str,
    points: &[&str],
    unit: &str,
) -> Result<(), ModelError> {
    let device = builder.device(0, driver, Some(folder), name)?;
    for (slot, value) in [
        ("status", Value::Status(Status::from_bits(Status::DOWN))),
        ("health/down", Value::Boolean(true)),
        (
            "health/lastFailCause",
            Value::from("Timeout waiting for response"),
        ),
    ] {
        builder.station.set(device, slot, value)?;
    }
    let Some(parent) = points_of(builder, device) else {
        return Ok(());
    };
    for point in points {
        let down = FeedSample::with_status(0.0, Status::DOWN | Status::STALE);
        let point = (*point, "control:NumericPoint");
        extra_point(builder, parent, point, unit, Some(down))?;
    }
    Ok(())
}

/// Six hours of hand-entered readings: a restart, a double entry, a late entry, a hidden one and bad status.
pub fn manual_readings(start: i64) -> Vec<HistoryRecord> {
    let record = |quarter: i64, value: f64, trend_flags: u8, status: u32| HistoryRecord {
        timestamp: DateTime::from_timestamp_millis(
            start - start.rem_euclid(QUARTER_MS) + quarter * QUARTER_MS,
        )
        .unwrap_or(DateTime::UNIX_EPOCH),
        trend_flags,
        status,
        value: Value::Double(value),
    };
    let mut records = vec![record(0, 101.0, trend_flags::START, 0)];
    records.extend((1..24).map(|quarter| record(quarter, 101.0 + quarter as f64, 0, 0)));
    records.push(record(5, 106.5, trend_flags::OUT_OF_ORDER, 0));
    records.push(record(9, 110.0, 0, 0));
    records.push(record(9, 110.0, trend_flags::HIDDEN, 0));
    records.push(record(24, 0.0, 0, Status::DOWN));
    records.push(record(25, 0.0, 0, Status::FAULT | Status::STALE));
    records.push(record(26, 0.0, 0, Status::NULL));
    records.push(record(
        27,
        128.0,
        trend_flags::START | trend_flags::MODIFIED,
        Status::OVERRIDDEN,
    ));
    records
}
