//! Old data and whole facilities are taken out of a store (Store §6.4, §9).

use std::collections::BTreeSet;

use serde::Serialize;

use super::listing::folder_name;
use super::registry::Registry;
use super::writer::{StoreStep, StoreWriter};
use super::{FacilityId, StoreError, TrendStore, swap, tombstones};

/// What pruning took out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct PruneReport {
    pub parts: usize,
    pub rows: u64,
    pub bytes: u64,
}

impl TrendStore {
    /// What [`StoreWriter::prune`] would take out.
    ///
    /// # Errors
    /// The facility is unknown or a part is damaged.
    pub fn plan_prune(
        &self,
        facility: &FacilityId,
        before: i64,
    ) -> Result<PruneReport, StoreError> {
        let view = self.view(facility)?;
        let mut report = PruneReport::default();
        for part in view.parts() {
            if part.span().1 < before {
                report.parts += 1;
                report.rows += view.facts(part)?.rows;
                report.bytes += part.file.size;
            }
        }
        Ok(report)
    }
}

impl StoreWriter<'_> {
    /// Takes out every part whose last stamp is before `before`; a part that reaches beyond it stays whole.
    ///
    /// # Errors
    /// A part is damaged, or the disk fails; the next writer then finishes or takes back what was begun.
    pub fn prune(&mut self, facility: &FacilityId, before: i64) -> Result<PruneReport, StoreError> {
        let report = self.store().plan_prune(facility, before)?;
        if report.parts == 0 {
            return Ok(report);
        }
        let view = self.store().view(facility)?;
        let old: BTreeSet<&str> = view
            .parts()
            .iter()
            .filter(|part| part.span().1 < before)
            .map(|part| part.file.relative.as_str())
            .collect();
        let mut staged = self.store().stage_facility(facility)?;
        for file in view.files()? {
            if !old.contains(file.relative.as_str()) {
                staged.keep(&file)?;
            }
        }
        staged.swap_in(self, None)?;
        Ok(report)
    }

    /// Removes a facility for good: its id is buried, its folder and its registry entry go.
    ///
    /// # Errors
    /// The facility is unknown, the registry is damaged, or the disk fails; asking again finishes what was begun.
    pub fn remove(&mut self, facility: &FacilityId, reason: &str) -> Result<(), StoreError> {
        let mut registry = Registry::read(self.root());
        registry.trusted()?;
        let has_folder = self.store().has_partition(facility);
        if !has_folder && registry.entry(facility.as_str()).is_none() {
            return Err(StoreError::NoData(facility.clone()));
        }
        let fence = self.raise_fence(facility)?;
        tombstones::bury(
            self.root(),
            facility,
            registry.entry(facility.as_str()),
            reason,
            self.now(),
        )?;
        self.observer().reached(StoreStep::Tombstoned);
        if has_folder {
            swap::recover(self.root(), &folder_name(facility))?;
            swap::remove(self.root(), &folder_name(facility), self.observer())?;
        }
        if registry.forget(facility).is_some() {
            registry.write()?;
        }
        self.observer().reached(StoreStep::EntryDropped);
        self.invalidate()?;
        self.lower_fence(fence)
    }
}
