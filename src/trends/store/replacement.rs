//! New content for a whole facility, built beside the old and swapped in (Store §9, §11.2).

use std::path::{Path, PathBuf};

use super::append::{EquipmentRows, part_path, partition, scratch, write_part, write_parts};
use super::encode::PartRows;
use super::leftovers::STAGING;
use super::listing::{ListedFile, facility_folder, folder_name};
use super::wall_clock::Month;
use super::writer::{Registration, StoreWriter};
use super::{FacilityId, StoreError, TrendStore, swap};
use crate::durable_file::failed;

/// The content of a facility in the making. Readers go on with the old one, and the store is not locked.
#[derive(Debug)]
pub struct StagedFacility {
    root: PathBuf,
    facility: FacilityId,
    scratch: Option<PathBuf>,
    sequence: u64,
    rows: u64,
    parts: usize,
}

impl TrendStore {
    /// Begins a new content for a facility, as `ingest --force` does.
    ///
    /// # Errors
    /// The scratch folder cannot be made.
    pub fn stage_facility(&self, facility: &FacilityId) -> Result<StagedFacility, StoreError> {
        let folder = scratch(self.root(), "ingest")?;
        let content = folder.join(folder_name(facility));
        std::fs::create_dir(&content).map_err(failed("make the folder", &content))?;
        Ok(StagedFacility {
            root: self.root().to_owned(),
            facility: facility.clone(),
            scratch: Some(folder),
            sequence: 0,
            rows: 0,
            parts: 0,
        })
    }
}

impl StagedFacility {
    /// Adds samples; a call may be as large or as small as is convenient, but each makes parts of its own.
    ///
    /// # Errors
    /// As [`StoreWriter::stage_append`], save for the state of the facility, which the commit looks at.
    pub fn add(&mut self, equipment: &[EquipmentRows]) -> Result<u64, StoreError> {
        let mut rows = 0;
        let mut files = Vec::new();
        for (number, (month, part)) in partition(&self.facility, equipment)?
            .into_iter()
            .enumerate()
        {
            rows += part.len() as u64;
            let path = part_path(&self.facility, month, self.sequence, number);
            files.push((self.scratch().join(path), part));
        }
        self.sequence += 1;
        self.rows += rows;
        self.parts += files.len();
        write_parts(&self.facility, files)?;
        Ok(rows)
    }

    /// Rows so far, without those of linked parts.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Parts so far.
    pub fn parts(&self) -> usize {
        self.parts
    }

    fn scratch(&self) -> &Path {
        // Only the commit takes it, and that consumes the value.
        self.scratch.as_deref().unwrap_or(&self.root)
    }

    pub(super) fn write(
        &mut self,
        month: Month,
        sequence: u64,
        number: usize,
        part: PartRows,
    ) -> Result<(), StoreError> {
        if part.is_empty() {
            return Ok(());
        }
        self.rows += part.len() as u64;
        self.parts += 1;
        let path = self
            .scratch()
            .join(part_path(&self.facility, month, sequence, number));
        write_part(&self.facility, &path, part)
    }

    /// Takes over a file of the facility as it is.
    pub(super) fn keep(&mut self, file: &ListedFile) -> Result<(), StoreError> {
        let from = facility_folder(&self.root, &self.facility).join(&file.relative);
        let to = self
            .scratch()
            .join(folder_name(&self.facility))
            .join(&file.relative);
        if let Some(folder) = to.parent() {
            std::fs::create_dir_all(folder).map_err(failed("make the folder", folder))?;
        }
        // A second name of the same content; where the file system has none, a copy.
        if std::fs::hard_link(&from, &to).is_err() {
            std::fs::copy(&from, &to).map_err(failed("copy", &from))?;
            // Windows syncs no file that is open for reading only.
            std::fs::OpenOptions::new()
                .write(true)
                .open(&to)
                .and_then(|file| file.sync_all())
                .map_err(failed("sync", &to))?;
        }
        if file.relative.ends_with(".parquet") {
            self.parts += 1;
        }
        Ok(())
    }

    /// Puts the new content in the place of the old, keeping readers out meanwhile.
    ///
    /// # Errors
    /// The facility takes no data, or a file operation failed; the next writer then finishes or takes back the swap.
    pub fn commit(
        mut self,
        writer: &mut StoreWriter<'_>,
        registration: Option<&Registration>,
    ) -> Result<(), StoreError> {
        writer.store().check_takes_data(&self.facility)?;
        self.swap_in(writer, registration)
    }

    /// The swap alone, for upkeep that adds no data.
    pub(super) fn swap_in(
        &mut self,
        writer: &mut StoreWriter<'_>,
        registration: Option<&Registration>,
    ) -> Result<(), StoreError> {
        let name = folder_name(&self.facility);
        let built = self.scratch().join(&name);
        let fence = writer.raise_fence(&self.facility)?;
        swap::replace(writer.root(), &name, &built, writer.observer())?;
        if let Some(registration) = registration {
            writer.register(&self.facility, registration)?;
        }
        writer.invalidate()?;
        writer.lower_fence(fence)
    }
}

impl Drop for StagedFacility {
    fn drop(&mut self) {
        let Some(folder) = self.scratch.take() else {
            return;
        };
        if let Err(error) = swap::remove_folder(&folder) {
            tracing::warn!(%error, "scratch that is no longer needed cannot be removed");
        }
        // Fails when another writer has scratch there, which is as it should be.
        let _ = std::fs::remove_dir(self.root.join(STAGING));
    }
}
