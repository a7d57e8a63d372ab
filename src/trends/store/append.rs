//! New samples beside the old ones (Store §3.3): staged, then moved into place so that a kill loses and doubles nothing.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::encode::PartRows;
use super::fence::Fence;
use super::generation::fresh_token;
use super::leftovers::STAGING;
use super::listing::{self, facility_folder, folder_name};
use super::wall_clock::Month;
use super::writer::{Registration, StoreStep, StoreWriter};
use super::{FacilityId, StoreError, names, swap, tombstones};
use crate::durable_file::{failed, sync_folder};

/// Equipment with fewer rows than this in a month shares a part with others: an hour of a building is one file, a month of
/// an equipment its own (Store §3.4).
pub(super) const SHARED_BELOW: usize = 1024;

/// Parts that are written at a time.
const MOST_WRITERS: usize = 4;

/// Its presence in a staging folder says that all parts are there: whoever finds it moves the rest into place.
const READY: &str = "_ready";

/// The samples of one role.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RoleColumn {
    pub role: String,
    /// Nanoseconds of the site's wall clock, in any order.
    pub stamps: Vec<i64>,
    /// One per stamp, in the role's unit; NaN is not stored.
    pub values: Vec<f64>,
}

/// The samples of one equipment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EquipmentRows {
    pub equip: String,
    /// `""` when unknown.
    pub equip_class: String,
    pub columns: Vec<RoleColumn>,
}

/// What an append wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AppendReport {
    pub rows: u64,
    /// Paths of the parts below the root, with `/` between names.
    pub parts: Vec<String>,
}

/// An append whose parts are complete but not in sight yet.
///
/// Between this and [`StagedAppend::commit`] a caller may note the parts that are to come: after a kill it finds all of
/// them in place or none, once a writer has opened the store.
#[derive(Debug)]
pub struct StagedAppend<'w, 's> {
    writer: &'w mut StoreWriter<'s>,
    facility: FacilityId,
    folder: Option<PathBuf>,
    report: AppendReport,
}

impl<'s> StoreWriter<'s> {
    /// Appends samples and, with a registration, registers the facility.
    ///
    /// # Errors
    /// As [`StoreWriter::stage_append`] and [`StagedAppend::commit`].
    pub fn append(
        &mut self,
        facility: &FacilityId,
        equipment: &[EquipmentRows],
        registration: Option<&Registration>,
    ) -> Result<AppendReport, StoreError> {
        self.stage_append(facility, equipment)?.commit(registration)
    }

    /// Writes samples as complete parts that no reader sees yet.
    ///
    /// # Errors
    /// The facility takes no data, a name is not fit for the store, columns differ in length, or the disk fails.
    pub fn stage_append(
        &mut self,
        facility: &FacilityId,
        equipment: &[EquipmentRows],
    ) -> Result<StagedAppend<'_, 's>, StoreError> {
        self.store().check_takes_data(facility)?;
        let parts = partition(facility, equipment)?;
        let mut report = AppendReport::default();
        if parts.is_empty() {
            return Ok(StagedAppend {
                writer: self,
                facility: facility.clone(),
                folder: None,
                report,
            });
        }
        let sequence = next_sequence(self.root(), facility)?;
        let folder = scratch(self.root(), "append")?;
        let mut files = Vec::with_capacity(parts.len());
        for (number, (month, rows)) in parts.into_iter().enumerate() {
            let relative = part_path(facility, month, sequence, number);
            report.rows += rows.len() as u64;
            files.push((folder.join(&relative), rows));
            report.parts.push(relative);
        }
        // From here on a failure, such as a full disk, leaves nothing behind.
        let staged = StagedAppend {
            writer: self,
            facility: facility.clone(),
            folder: Some(folder.clone()),
            report,
        };
        write_parts(facility, files)?;
        swap::sync_tree(&folder)?;
        staged.writer.observer().reached(StoreStep::AppendStaged);
        Ok(staged)
    }
}

impl StagedAppend<'_, '_> {
    /// What will have been written.
    pub fn report(&self) -> &AppendReport {
        &self.report
    }

    /// Moves the parts into sight and tells readers; with a registration, registers the facility.
    ///
    /// A first ingest keeps readers out until the registry entry is written too (Core §8.2).
    ///
    /// # Errors
    /// A file operation failed, or the registration is refused; the append is then finished by the next writer.
    pub fn commit(
        mut self,
        registration: Option<&Registration>,
    ) -> Result<AppendReport, StoreError> {
        let report = std::mem::take(&mut self.report);
        let first = !self.writer.store().has_partition(&self.facility);
        let fence: Option<Fence> = (first && registration.is_some())
            .then(|| self.writer.raise_fence(&self.facility))
            .transpose()?;
        if let Some(folder) = self.folder.take() {
            let ready = folder.join(READY);
            File::create(&ready)
                .and_then(|file| file.sync_all())
                .map_err(failed("create", &ready))?;
            sync_folder(&folder)?;
            self.writer.observer().reached(StoreStep::AppendReady);
            move_parts(self.writer.root(), &folder, || {
                self.writer.observer().reached(StoreStep::PartMoved);
            })?;
            self.writer.observer().reached(StoreStep::AppendDone);
        }
        if let Some(registration) = registration {
            self.writer.register(&self.facility, registration)?;
        }
        if !report.parts.is_empty() {
            self.writer.invalidate()?;
        }
        if let Some(fence) = fence {
            self.writer.lower_fence(fence)?;
        }
        Ok(report)
    }
}

impl Drop for StagedAppend<'_, '_> {
    fn drop(&mut self) {
        // Given up before its commit.
        if let Some(folder) = self.folder.take()
            && let Err(error) = discard(self.writer.root(), &folder)
        {
            tracing::warn!(%error, "the next writer removes an append that was given up");
        }
    }
}

fn discard(root: &Path, folder: &Path) -> Result<(), StoreError> {
    swap::remove_folder(folder)?;
    // Fails when another writer has scratch there, which is as it should be.
    let _ = std::fs::remove_dir(root.join(STAGING));
    Ok(())
}

/// A new empty folder below the staging folder.
pub(super) fn scratch(root: &Path, purpose: &str) -> Result<PathBuf, StoreError> {
    let token = fresh_token();
    let folder = root.join(STAGING).join(format!(
        "{purpose}-{}-{}",
        std::process::id(),
        token.get(..12).unwrap_or(&token)
    ));
    std::fs::create_dir_all(&folder).map_err(failed("make the folder", &folder))?;
    Ok(folder)
}

/// Sorts samples into parts: by month, busy equipment apart, the others of a month together.
pub(super) fn partition(
    facility: &FacilityId,
    equipment: &[EquipmentRows],
) -> Result<Vec<(Month, PartRows)>, StoreError> {
    let mut own: BTreeMap<(Month, usize), PartRows> = BTreeMap::new();
    for (number, equip) in equipment.iter().enumerate() {
        names::check_equipment(&equip.equip)?;
        names::check_class(&equip.equip_class)?;
        for column in &equip.columns {
            names::check_role(&column.role)?;
            if column.stamps.len() != column.values.len() {
                return Err(StoreError::Refused(format!(
                    "role {} of equipment {:?} has {} stamps and {} values",
                    column.role,
                    equip.equip,
                    column.stamps.len(),
                    column.values.len()
                )));
            }
            add_column(facility, &mut own, number, equip, column)?;
        }
    }
    let mut parts: Vec<(Month, PartRows)> = Vec::new();
    let mut shared: BTreeMap<Month, Vec<usize>> = BTreeMap::new();
    for ((month, number), rows) in own {
        if rows.len() >= SHARED_BELOW {
            parts.push((month, rows));
        } else if !rows.is_empty() {
            shared.entry(month).or_default().push(number);
        }
    }
    for (month, numbers) in shared {
        let mut rows: BTreeMap<(Month, usize), PartRows> = BTreeMap::new();
        for equip in numbers.iter().filter_map(|number| equipment.get(*number)) {
            for column in &equip.columns {
                add_column(facility, &mut rows, 0, equip, column)?;
            }
        }
        parts.extend(rows.remove(&(month, 0)).map(|rows| (month, rows)));
    }
    parts.sort_by_key(|(month, _)| *month);
    Ok(parts)
}

fn add_column(
    facility: &FacilityId,
    parts: &mut BTreeMap<(Month, usize), PartRows>,
    number: usize,
    equip: &EquipmentRows,
    column: &RoleColumn,
) -> Result<(), StoreError> {
    let encode = |problem: String| StoreError::Encode {
        facility: facility.clone(),
        problem,
    };
    let samples = column.stamps.iter().zip(&column.values);
    let mut rest = samples.peekable();
    while let Some((stamp, _)) = rest.peek() {
        let month = Month::of(**stamp);
        let (start, end) = (month.start(), month.end());
        let part = parts.entry((month, number)).or_default();
        let point = part
            .point(&equip.equip, &equip.equip_class, &column.role)
            .map_err(encode)?;
        while let Some((stamp, value)) =
            rest.next_if(|(stamp, _)| (start..end).contains(*stamp) || **stamp == i64::MAX)
        {
            part.push(point, *stamp, *value);
        }
    }
    Ok(())
}

/// The number of the next write call: no name of it can be taken (Store §3.3).
pub(super) fn next_sequence(root: &Path, facility: &FacilityId) -> Result<u64, StoreError> {
    let folder = facility_folder(root, facility);
    if !folder.is_dir() {
        return Ok(0);
    }
    let mut count = 0;
    let mut beyond = 0;
    for file in listing::files(&folder, facility)? {
        if !file.relative.ends_with(".parquet") {
            continue;
        }
        count += 1;
        let name = file.relative.rsplit('/').next().unwrap_or_default();
        if let Some(sequence) = sequence_of(name) {
            beyond = beyond.max(sequence.saturating_add(1));
        }
    }
    Ok(beyond.max(count))
}

/// `<seq>` of `part-<seq>-<i>.parquet`.
fn sequence_of(name: &str) -> Option<u64> {
    let (sequence, number) = name
        .strip_prefix("part-")?
        .strip_suffix(".parquet")?
        .split_once('-')?;
    number.parse::<u64>().ok()?;
    sequence.parse().ok()
}

/// Path of a part below the root.
pub(super) fn part_path(
    facility: &FacilityId,
    month: Month,
    sequence: u64,
    number: usize,
) -> String {
    format!(
        "{}/year={}/month={}/part-{sequence}-{number}.parquet",
        folder_name(facility),
        month.year,
        month.month
    )
}

/// Encodes rows into new files and brings them to the disk, some at a time: encoding takes a processor, and a sync waits
/// for the disk.
pub(super) fn write_parts(
    facility: &FacilityId,
    files: Vec<(PathBuf, PartRows)>,
) -> Result<(), StoreError> {
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = threads.min(MOST_WRITERS).min(files.len());
    let files = Mutex::new(files.into_iter());
    let next = || files.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some((path, rows)) = next() {
            write_part(facility, &path, rows)?;
        }
        Ok(())
    };
    if threads < 2 {
        return work();
    }
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        // The scope itself waits for those behind the first that failed.
        workers.into_iter().try_for_each(|worker| {
            worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })
}

/// Encodes rows into a new file and brings it to the disk.
pub(super) fn write_part(
    facility: &FacilityId,
    path: &Path,
    rows: PartRows,
) -> Result<(), StoreError> {
    let bytes = rows.encode().map_err(|problem| StoreError::Encode {
        facility: facility.clone(),
        problem,
    })?;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed("make the folder", folder))?;
    }
    let mut file = File::create_new(path).map_err(failed("create", path))?;
    file.write_all(&bytes)
        .and_then(|()| file.sync_all())
        .map_err(failed("write", path))?;
    Ok(())
}

/// Finishes an append that a killed writer had made ready; false when it was not.
pub(super) fn roll_forward(root: &Path, folder: &Path) -> Result<bool, StoreError> {
    if !folder.join(READY).exists() {
        return Ok(false);
    }
    move_parts(root, folder, || {})?;
    Ok(true)
}

/// Moves staged parts into place, then removes the staging folder.
fn move_parts(root: &Path, folder: &Path, moved: impl Fn()) -> Result<(), StoreError> {
    let buried = tombstones::read(root)?;
    for entry in std::fs::read_dir(folder).map_err(failed("read the folder", folder))? {
        let entry = entry.map_err(failed("read the folder", folder))?;
        let name = entry.file_name();
        let Some(facility) = name
            .to_str()
            .and_then(|name| name.strip_prefix("facility_id="))
            .and_then(|id| FacilityId::parse(id).ok())
        else {
            continue;
        };
        // Removed between the kill and now: its data must not come back.
        if buried.contains_key(facility.as_str()) {
            continue;
        }
        for file in listing::files(&entry.path(), &facility)? {
            let from = entry.path().join(&file.relative);
            let to = free_name(root, &facility, &file.relative)?;
            place(root, &from, &to)?;
            moved();
        }
    }
    discard(root, folder)
}

/// The planned name, or one of a later write call when another program took it after the kill.
fn free_name(root: &Path, facility: &FacilityId, relative: &str) -> Result<PathBuf, StoreError> {
    let planned = facility_folder(root, facility).join(relative);
    if !planned.try_exists().map_err(failed("look for", &planned))? {
        return Ok(planned);
    }
    let sequence = next_sequence(root, facility)?;
    Ok(planned.with_file_name(format!("part-{sequence}-0.parquet")))
}

/// Moves a part to its place and brings all names on the way to the disk.
fn place(root: &Path, from: &Path, to: &Path) -> Result<(), StoreError> {
    let folder = crate::durable_file::folder_of(to);
    let is_new = !folder.is_dir();
    std::fs::create_dir_all(folder).map_err(failed("make the folder", folder))?;
    swap::rename(from, to)?;
    sync_folder(folder)?;
    if is_new {
        let above = folder
            .ancestors()
            .skip(1)
            .take_while(|above| above.starts_with(root));
        for above in above {
            sync_folder(above)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_parts_are_told_from_others() {
        assert_eq!(sequence_of("part-12-0.parquet"), Some(12));
        for other in [
            "part-legacy-00-1.parquet",
            "part-0123456789abcdef.parquet",
            "data.parquet",
        ] {
            assert_eq!(sequence_of(other), None, "{other}");
        }
    }
}
