//! Frames of the store for people's own tools: CSV, Parquet or Arrow.

use std::collections::BTreeSet;
use std::io::Write;

use arrow_ipc::writer::FileWriter;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use polars::prelude::CsvWriter;
use polars::prelude::SerWriter as _;

use super::FilesError;
use super::frames::{batch_of, frame_of, schema_of, text_of};
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
    let empty = RoleFrame::default();
    let head = frame_of(&empty, roles).map_err(unwritable)?;
    let mut file = CsvWriter::new(target)
        .batched(head.schema())
        .map_err(unwritable)?;
    let mut rows = 0;
    for frame in frames {
        let frame = frame_of(&frame?, roles).map_err(unwritable)?;
        rows += frame.height() as u64;
        let text = text_of(&frame).map_err(unwritable)?;
        file.write_batch(&text).map_err(unwritable)?;
    }
    file.finish().map_err(unwritable)?;
    Ok(rows)
}

fn parquet_file(
    frames: impl Iterator<Item = Result<RoleFrame, FilesError>>,
    roles: &[String],
    target: &mut (dyn Write + Send),
) -> Result<u64, FilesError> {
    let schema = schema_of(roles);
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .build();
    let mut file =
        ArrowWriter::try_new(target, schema.clone(), Some(properties)).map_err(unwritable)?;
    let mut rows = 0;
    for frame in frames {
        let frame = frame_of(&frame?, roles).map_err(unwritable)?;
        rows += frame.height() as u64;
        file.write(&batch_of(&schema, &frame).map_err(unwritable)?)
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
    let schema = schema_of(roles);
    let mut file = FileWriter::try_new(target, &schema).map_err(unwritable)?;
    let mut rows = 0;
    for frame in frames {
        let frame = frame_of(&frame?, roles).map_err(unwritable)?;
        rows += frame.height() as u64;
        file.write(&batch_of(&schema, &frame).map_err(unwritable)?)
            .map_err(unwritable)?;
    }
    file.finish().map_err(unwritable)?;
    Ok(rows)
}
