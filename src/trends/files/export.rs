//! Frames of the store for people's own tools: CSV, Parquet or Arrow.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, TimestampNanosecondArray};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use super::FilesError;
use crate::trends::store::wall_clock::iso;
use crate::trends::store::{BinWidth, FacilityId, RoleFrame, Selection, TrendStore, Window};

/// A kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    Csv,
    Parquet,
    /// Arrow IPC, also known as Feather 2.
    Arrow,
}

/// What is exported.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameExport {
    pub facility: FacilityId,
    /// Empty for all.
    pub equipment: BTreeSet<String>,
    /// Empty for all.
    pub roles: BTreeSet<String>,
    pub window: Window,
    pub bins: Option<BinWidth>,
}

impl FrameExport {
    /// Writes a table with equipment, time and a column per role; returns the number of rows.
    ///
    /// # Errors
    /// Nothing matches, stored data is damaged, or the file cannot be written.
    pub fn write(
        &self,
        store: &TrendStore,
        format: ExportFormat,
        target: &mut (dyn Write + Send),
    ) -> Result<u64, FilesError> {
        let stored = store.points(&self.facility)?;
        let wanted =
            |known: &BTreeSet<String>, name: &String| known.is_empty() || known.contains(name);
        let matching = stored
            .points
            .iter()
            .filter(|(equip, role)| wanted(&self.equipment, equip) && wanted(&self.roles, role));
        let (mut equipment, mut roles) = (BTreeSet::new(), BTreeSet::new());
        for (equip, role) in matching {
            equipment.insert(equip.clone());
            roles.insert(role.clone());
        }
        if equipment.is_empty() {
            return Err(FilesError::Write(format!(
                "facility \"{}\" holds no such equipment and role; `niagara-bridge camber points` names those that it has",
                self.facility
            )));
        }
        let roles: Vec<String> = roles.into_iter().collect();
        let selection = Selection {
            roles: Some(roles.iter().cloned().collect()),
            window: self.window,
        };
        let frames = equipment
            .iter()
            .map(|equip| Ok(store.role_frame(&self.facility, equip, &selection, self.bins)?));
        match format {
            ExportFormat::Csv => csv_file(frames, &roles, target),
            ExportFormat::Parquet => parquet_file(frames, &roles, target),
            ExportFormat::Arrow => arrow_file(frames, &roles, target),
        }
    }
}

fn unwritable(error: impl std::fmt::Display) -> FilesError {
    FilesError::Write(error.to_string())
}

fn csv_file(
    frames: impl Iterator<Item = Result<RoleFrame, FilesError>>,
    roles: &[String],
    target: &mut (dyn Write + Send),
) -> Result<u64, FilesError> {
    let mut file = csv::Writer::from_writer(target);
    let head = ["equip", "ts"]
        .into_iter()
        .chain(roles.iter().map(String::as_str));
    file.write_record(head).map_err(unwritable)?;
    let mut rows = 0;
    for frame in frames {
        let frame = frame?;
        let columns: Vec<Option<&[f64]>> = roles.iter().map(|role| frame.column(role)).collect();
        for (row, stamp) in frame.stamps.iter().enumerate() {
            let mut record = vec![frame.equip.clone(), iso(*stamp)];
            record.extend(columns.iter().map(|column| {
                let value = column
                    .and_then(|column| column.get(row))
                    .filter(|value| !value.is_nan());
                value.map(f64::to_string).unwrap_or_default()
            }));
            file.write_record(&record).map_err(unwritable)?;
            rows += 1;
        }
    }
    file.flush().map_err(unwritable)?;
    Ok(rows)
}

fn schema(roles: &[String]) -> Arc<Schema> {
    let mut fields = vec![
        Field::new("equip", DataType::Utf8, false),
        Field::new("ts", DataType::Timestamp(TimeUnit::Nanosecond, None), false),
    ];
    fields.extend(
        roles
            .iter()
            .map(|role| Field::new(role, DataType::Float64, true)),
    );
    Arc::new(Schema::new(fields))
}

fn batch(
    schema: &Arc<Schema>,
    frame: &RoleFrame,
    roles: &[String],
) -> Result<RecordBatch, FilesError> {
    let names = std::iter::repeat_n(frame.equip.as_str(), frame.len());
    let mut columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values(names)),
        Arc::new(TimestampNanosecondArray::from_iter_values(
            frame.stamps.iter().copied(),
        )),
    ];
    for role in roles {
        let values: Float64Array = match frame.column(role) {
            Some(column) => column
                .iter()
                .map(|value| Some(*value).filter(|value| !value.is_nan()))
                .collect(),
            None => std::iter::repeat_n(None::<f64>, frame.len()).collect(),
        };
        columns.push(Arc::new(values));
    }
    RecordBatch::try_new(schema.clone(), columns).map_err(unwritable)
}

fn parquet_file(
    frames: impl Iterator<Item = Result<RoleFrame, FilesError>>,
    roles: &[String],
    target: &mut (dyn Write + Send),
) -> Result<u64, FilesError> {
    let schema = schema(roles);
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .build();
    let mut file =
        ArrowWriter::try_new(target, schema.clone(), Some(properties)).map_err(unwritable)?;
    let mut rows = 0;
    for frame in frames {
        let frame = frame?;
        rows += frame.len() as u64;
        file.write(&batch(&schema, &frame, roles)?)
            .map_err(unwritable)?;
    }
    file.close().map_err(unwritable)?;
    Ok(rows)
}

fn arrow_file(
    frames: impl Iterator<Item = Result<RoleFrame, FilesError>>,
    roles: &[String],
    target: &mut (dyn Write + Send),
) -> Result<u64, FilesError> {
    let schema = schema(roles);
    let mut file = FileWriter::try_new(target, &schema).map_err(unwritable)?;
    let mut rows = 0;
    for frame in frames {
        let frame = frame?;
        rows += frame.len() as u64;
        file.write(&batch(&schema, &frame, roles)?)
            .map_err(unwritable)?;
    }
    file.finish().map_err(unwritable)?;
    Ok(rows)
}
