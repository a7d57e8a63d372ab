//! Frames of the store as polars frames, and those as record batches of Arrow.
//!
//! Parquet and Arrow files are written by the Arrow libraries: polars' own Parquet writer leaves a schema that CAMBER 0.110
//! cannot read.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, TimestampNanosecondArray};
use arrow_schema::{ArrowError, DataType, Field, Schema, TimeUnit};
use polars::prelude::{Column, DataFrame, PlSmallStr, PolarsResult};

use crate::trends::store::RoleFrame;
use crate::trends::store::wall_clock::iso;

/// Names of the columns before those of the roles.
pub const KEYS: [&str; 2] = ["equip", "ts"];

/// One equipment as a frame: its id, the stamps, and a column per role, null where there is no sample.
///
/// # Errors
/// Two roles have one name.
pub fn frame_of(table: &RoleFrame, roles: &[String]) -> PolarsResult<DataFrame> {
    let height = table.len();
    let [equip, ts] = KEYS.map(PlSmallStr::from_static);
    let mut columns = vec![
        Column::new(equip, vec![table.equip.as_str(); height]),
        Column::new(ts, table.stamps.as_slice()),
    ];
    for role in roles {
        let values: Vec<Option<f64>> = match table.column(role) {
            Some(column) => column
                .iter()
                .map(|value| Some(*value).filter(|value| !value.is_nan()))
                .collect(),
            None => vec![None; height],
        };
        columns.push(Column::new(PlSmallStr::from_str(role), values));
    }
    DataFrame::new(height, columns)
}

/// The frame as people read it: times on the clock of the site, numbers as short as they can be told exactly.
///
/// # Errors
/// The frame is none of [`frame_of`].
pub fn text_of(frame: &DataFrame) -> PolarsResult<DataFrame> {
    let mut columns = Vec::with_capacity(frame.width());
    for (number, column) in frame.columns().iter().enumerate() {
        let name = column.name().clone();
        columns.push(match number {
            0 => column.clone(),
            1 => {
                let stamps = column.i64()?.iter();
                Column::new(name, stamps.map(|stamp| stamp.map(iso)).collect::<Vec<_>>())
            }
            _ => {
                let values = column.f64()?.iter();
                let texts = values.map(|value| value.map(|value| value.to_string()));
                Column::new(name, texts.collect::<Vec<_>>())
            }
        });
    }
    DataFrame::new(frame.height(), columns)
}

/// The schema of the batches of [`batch_of`].
pub fn schema_of(roles: &[String]) -> Arc<Schema> {
    let [equip, ts] = KEYS;
    let mut fields = vec![
        Field::new(equip, DataType::Utf8, false),
        Field::new(ts, DataType::Timestamp(TimeUnit::Nanosecond, None), false),
    ];
    fields.extend(
        roles
            .iter()
            .map(|role| Field::new(role, DataType::Float64, true)),
    );
    Arc::new(Schema::new(fields))
}

/// The frame as a record batch.
///
/// # Errors
/// The frame is none of [`frame_of`].
pub fn batch_of(schema: &Arc<Schema>, frame: &DataFrame) -> Result<RecordBatch, ArrowError> {
    let foreign = |error: polars::error::PolarsError| ArrowError::ExternalError(Box::new(error));
    let mut arrays: Vec<ArrayRef> = Vec::with_capacity(frame.width());
    for (number, column) in frame.columns().iter().enumerate() {
        arrays.push(match number {
            0 => Arc::new(StringArray::from_iter(
                column.str().map_err(foreign)?.iter(),
            )),
            1 => Arc::new(TimestampNanosecondArray::from_iter(
                column.i64().map_err(foreign)?.iter(),
            )),
            _ => Arc::new(Float64Array::from_iter(
                column.f64().map_err(foreign)?.iter(),
            )),
        });
    }
    RecordBatch::try_new(schema.clone(), arrays)
}
