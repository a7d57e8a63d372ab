//! One facility as it is at one moment (Store §5.1).

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::decode::{self, RowBatch, Wanted};
use super::fence::{self, FenceState};
use super::listing::{self, IndexedParts, ListedFile, Part, facility_folder};
use super::part_facts::PartPoints;
use super::series::{EquipmentSeries, RoleSeries};
use super::{FacilityId, FacilityPoints, StoreError, Window};

/// What is read of an equipment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only these roles; none for all.
    pub roles: Option<BTreeSet<String>>,
    pub window: Window,
}

/// The parts of a facility as they were listed, and its fence before that.
///
/// Reads fail with [`StoreError::Replaced`] when a listed part is not there any more; [`FacilityView::check_unchanged`]
/// tells whether a writer replaced files meanwhile.
#[derive(Debug, Clone)]
pub struct FacilityView {
    root: PathBuf,
    facility: FacilityId,
    folder: PathBuf,
    index: Arc<IndexedParts>,
    fence: FenceState,
}

impl FacilityView {
    pub(super) fn new(
        root: PathBuf,
        facility: FacilityId,
        index: Arc<IndexedParts>,
        fence: FenceState,
    ) -> Self {
        Self {
            folder: facility_folder(&root, &facility),
            root,
            facility,
            index,
            fence,
        }
    }

    /// Which facility it is.
    pub fn facility(&self) -> &FacilityId {
        &self.facility
    }

    /// The parts in the order of their paths.
    pub fn parts(&self) -> &[Part] {
        &self.index.parts
    }

    /// All visible files of the facility as they are now, parts and others.
    ///
    /// # Errors
    /// A folder cannot be read.
    pub(super) fn files(&self) -> Result<Vec<ListedFile>, StoreError> {
        listing::files(&self.folder, &self.facility)
    }

    /// Rows of all parts.
    ///
    /// # Errors
    /// A part is damaged.
    pub fn rows(&self) -> Result<u64, StoreError> {
        self.parts().iter().try_fold(0, |rows: u64, part| {
            Ok(rows.saturating_add(self.facts(part)?.rows))
        })
    }

    /// Rows of the parts that are not damaged, as far as their footers tell.
    pub fn readable_rows(&self) -> u64 {
        let facts = self.parts().iter().flat_map(|part| &part.facts);
        facts.fold(0, |rows, facts| rows.saturating_add(facts.rows))
    }

    /// First and last stored stamp; none without rows. From statistics; only parts without them are read.
    ///
    /// # Errors
    /// A part is damaged.
    pub fn span(&self) -> Result<Option<(i64, i64)>, StoreError> {
        let mut span: Option<(i64, i64)> = None;
        for part in self.parts() {
            let facts = self.facts(part)?;
            let of_part = match facts.span {
                _ if facts.rows == 0 => None,
                Some(known) => Some(known),
                None => self.span_by_rows(part)?,
            };
            span = match (span, of_part) {
                (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
                (one, other) => one.or(other),
            };
        }
        Ok(span)
    }

    fn span_by_rows(&self, part: &Part) -> Result<Option<(i64, i64)>, StoreError> {
        let mut span: Option<(i64, i64)> = None;
        let stamps = Wanted {
            stamp: true,
            ..NO_COLUMNS
        };
        self.decode(part, stamps, &mut |batch| {
            for row in batch.sound_rows() {
                if let Some(stamp) = batch.stamps.get(row) {
                    span = Some(
                        span.map_or((*stamp, *stamp), |(a, b)| (a.min(*stamp), b.max(*stamp))),
                    );
                }
            }
            Ok(())
        })?;
        Ok(span)
    }

    /// The samples of one equipment; empty when the facility does not store it.
    ///
    /// # Errors
    /// A part that may hold the equipment is damaged, or was replaced since it was listed.
    pub fn equipment(
        &self,
        equip: &str,
        selection: &Selection,
    ) -> Result<EquipmentSeries, StoreError> {
        let mut collected = Collected::new(equip, selection);
        for part in self.parts() {
            let facts = self.facts(part)?;
            let (first, last) = part.span();
            if facts.equipment.may_hold(equip) && selection.window.touches(first, last) {
                self.decode(part, Wanted::ALL, &mut |batch| {
                    collected.add(batch);
                    Ok(())
                })?;
            }
        }
        Ok(collected.finish())
    }

    /// The distinct points and the class of each equipment, from the parts.
    ///
    /// # Errors
    /// A part is damaged, or was replaced since it was listed.
    pub fn points(&self) -> Result<FacilityPoints, StoreError> {
        let mut found = FacilityPoints::default();
        for part in self.parts() {
            for (equip, class, role) in self.part_points(part)?.iter() {
                if !found
                    .classes
                    .get(equip)
                    .is_some_and(|known| !known.is_empty() || class.is_empty())
                {
                    found.classes.insert(equip.clone(), class.clone());
                }
                found.points.insert((equip.clone(), role.clone()));
            }
        }
        Ok(found)
    }

    /// The points of one part in the order of its rows; read once and kept with its facts.
    pub(super) fn part_points(&self, part: &Part) -> Result<Arc<PartPoints>, StoreError> {
        let facts = self.facts(part)?;
        if let Some(known) = facts.points.get() {
            return Ok(known.clone());
        }
        let mut seen: BTreeSet<(String, String, String)> = BTreeSet::new();
        let mut points = PartPoints::new();
        self.decode(part, Wanted::POINTS, &mut |batch| {
            let mut codes: BTreeSet<(usize, usize, usize)> = BTreeSet::new();
            let mut before = None;
            for row in batch.sound_rows() {
                let class = batch.class.as_ref().and_then(|class| class.code(row));
                let (Some(equip), Some(role)) = (batch.equip.code(row), batch.role.code(row))
                else {
                    continue;
                };
                let code = (equip, class.unwrap_or(usize::MAX), role);
                if before == Some(code) {
                    continue;
                }
                before = Some(code);
                if codes.insert(code) {
                    let word = |words: &[&str], code: usize| {
                        words.get(code).copied().unwrap_or_default().to_owned()
                    };
                    let point = (
                        word(batch.equip.words(), equip),
                        batch
                            .class
                            .as_ref()
                            .map(|class| word(class.words(), code.1))
                            .unwrap_or_default(),
                        word(batch.role.words(), role),
                    );
                    if seen.insert(point.clone()) {
                        points.push(point);
                    }
                }
            }
            Ok(())
        })?;
        let points = Arc::new(points);
        // Another thread may have been faster; both found the same.
        let _ = facts.points.set(points.clone());
        Ok(points)
    }

    /// Refuses what was read when a writer replaced or removed files since the view was taken.
    ///
    /// # Errors
    /// [`StoreError::Replaced`].
    pub fn check_unchanged(&self) -> Result<(), StoreError> {
        let now = fence::read(&self.root, &self.facility)?;
        if now.is_busy() || now.token() != self.fence.token() || !self.folder.is_dir() {
            return Err(StoreError::Replaced {
                facility: self.facility.clone(),
            });
        }
        Ok(())
    }

    /// The facts of a part of this view.
    ///
    /// # Errors
    /// The part is damaged.
    pub fn facts<'a>(
        &self,
        part: &'a Part,
    ) -> Result<&'a Arc<super::part_facts::PartFacts>, StoreError> {
        part.facts.as_ref().map_err(|problem| StoreError::Damaged {
            facility: self.facility.clone(),
            path: self.folder.join(&part.file.relative),
            problem: problem.clone(),
        })
    }

    /// Shows every batch of rows of a part.
    ///
    /// # Errors
    /// The part is damaged, was replaced since it was listed, or `visit` fails.
    pub fn decode(
        &self,
        part: &Part,
        wanted: Wanted,
        visit: &mut dyn FnMut(&RowBatch<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        decode::part(&self.folder, &self.facility, part, wanted, visit)
    }
}

const NO_COLUMNS: Wanted = Wanted {
    class: false,
    stamp: false,
    value: false,
};

/// Gathers the rows of one equipment.
struct Collected<'a> {
    selection: &'a Selection,
    equip: &'a str,
    class: String,
    roles: BTreeMap<String, RoleSeries>,
}

impl<'a> Collected<'a> {
    fn new(equip: &'a str, selection: &'a Selection) -> Self {
        Self {
            selection,
            equip,
            class: String::new(),
            roles: BTreeMap::new(),
        }
    }

    fn add(&mut self, batch: &RowBatch<'_>) {
        let ours: Vec<bool> = batch
            .equip
            .words()
            .iter()
            .map(|word| *word == self.equip)
            .collect();
        if !ours.contains(&true) {
            return;
        }
        let mut series: Vec<Option<RoleSeries>> = batch
            .role
            .words()
            .iter()
            .map(|role| {
                let wanted = self
                    .selection
                    .roles
                    .as_ref()
                    .is_none_or(|roles| roles.contains(*role));
                wanted.then(RoleSeries::default)
            })
            .collect();
        let window = self.selection.window;
        for row in batch.sound_rows() {
            let (Some(equip), Some(role)) = (batch.equip.code(row), batch.role.code(row)) else {
                continue;
            };
            let (Some(true), Some(Some(series))) = (ours.get(equip), series.get_mut(role)) else {
                continue;
            };
            let (Some(stamp), Some(value)) = (batch.stamps.get(row), batch.values.get(row)) else {
                continue;
            };
            if window.contains(*stamp) {
                series.push(*stamp, *value);
            }
            if self.class.is_empty()
                && let Some(class) = &batch.class
                && let Some(word) = class.code(row).and_then(|code| class.words().get(code))
            {
                (*word).clone_into(&mut self.class);
            }
        }
        for (role, found) in batch.role.words().iter().zip(series) {
            let Some(found) = found.filter(|found| !found.is_empty()) else {
                continue;
            };
            let known = self.roles.entry((*role).to_owned()).or_default();
            known.stamps.extend(found.stamps);
            known.values.extend(found.values);
        }
    }

    fn finish(mut self) -> EquipmentSeries {
        for role in self.roles.values_mut() {
            role.sort();
        }
        EquipmentSeries {
            equip: self.equip.to_owned(),
            equip_class: self.class,
            roles: self.roles,
        }
    }
}
