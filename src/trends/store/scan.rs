//! The stamps of every point of a facility in one pass over its parts, in little memory (Core §12.3).

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use niagara_analytics::runner::units;

use super::decode::{RowBatch, Wanted};
use super::listing::Part;
use super::part_facts::EquipmentRange;
use super::stamp_runs::{StampCollector, StampRuns};
use super::view::FacilityView;
use super::{StoreError, Window};

/// What is scanned, and how.
pub struct ScanOptions<'a> {
    /// Only these; none for all.
    pub equips: Option<&'a BTreeSet<String>>,
    /// Only these; none for all.
    pub roles: Option<&'a BTreeSet<String>>,
    pub window: Window,
    /// Threads that read parts.
    pub threads: NonZeroUsize,
    /// Asked before each part; true ends the scan with [`StoreError::Cancelled`].
    pub cancelled: &'a (dyn Fn() -> bool + Sync),
}

impl Default for ScanOptions<'_> {
    /// Everything, on one thread.
    fn default() -> Self {
        Self {
            equips: None,
            roles: None,
            window: Window::OPEN,
            threads: NonZeroUsize::MIN,
            cancelled: &|| false,
        }
    }
}

/// The stamps of one point that have a value: those of NaN and null do not count, those of infinities do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PointStamps {
    pub equip: String,
    pub role: String,
    pub stamps: StampRuns,
}

/// The parts that may hold what is wanted.
struct Grouped<'a> {
    /// Parts of a single equipment, by that.
    own: BTreeMap<&'a str, Vec<&'a Part>>,
    /// Parts of several.
    shared: Vec<&'a Part>,
}

type Points = BTreeMap<(String, String), StampRuns>;

impl FacilityView {
    /// The stamps of every selected point with samples, sorted by equipment and role.
    ///
    /// # Errors
    /// As [`FacilityView::scan_stamps`].
    pub fn stamps(&self, options: &ScanOptions<'_>) -> Result<Vec<PointStamps>, StoreError> {
        let all = Mutex::new(Vec::new());
        self.scan_stamps(options, &|point| {
            all.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(point);
        })?;
        let mut all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
        all.sort_unstable_by(|a: &PointStamps, b| (&a.equip, &a.role).cmp(&(&b.equip, &b.role)));
        Ok(all)
    }

    /// Hands the stamps of every selected point with samples to `visit`, equipment by equipment in no certain order.
    ///
    /// Parts of one equipment are read month by month and given out at once; parts of several equipment are read first.
    /// Inside of [`super::TrendStore::read`], which may read twice, [`FacilityView::stamps`] is the safer one.
    ///
    /// # Errors
    /// A part that may hold selected points is damaged or was replaced, or the scan was cancelled.
    pub fn scan_stamps(
        &self,
        options: &ScanOptions<'_>,
        visit: &(dyn Fn(PointStamps) + Sync),
    ) -> Result<(), StoreError> {
        let Grouped { own, shared } = self.grouped(options)?;
        let mixed = Mutex::new(Points::new());
        in_parallel(&shared, options, |part| {
            let found = self.stamps_of(&[part], options)?;
            let mut mixed = mixed.lock().unwrap_or_else(PoisonError::into_inner);
            absorb(&mut mixed, found);
            Ok(())
        })?;
        let groups: Vec<Vec<&Part>> = own.into_values().collect();
        in_parallel(&groups, options, |parts| {
            let mut found = self.stamps_of(parts, options)?;
            {
                let mut mixed = mixed.lock().unwrap_or_else(PoisonError::into_inner);
                let equips: BTreeSet<String> =
                    found.keys().map(|(equip, _)| equip.clone()).collect();
                for equip in equips {
                    absorb(&mut found, take_equipment(&mut mixed, &equip));
                }
            }
            give(found, visit);
            Ok(())
        })?;
        give(
            mixed.into_inner().unwrap_or_else(PoisonError::into_inner),
            visit,
        );
        Ok(())
    }

    /// Whether any point has a sample in a window; parts are read until one is found.
    ///
    /// # Errors
    /// A part that may hold one is damaged or was replaced, or the scan was cancelled.
    pub fn holds_sample(
        &self,
        window: Window,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<bool, StoreError> {
        let columns = Wanted {
            class: false,
            ..Wanted::ALL
        };
        for part in self.parts() {
            let facts = self.facts(part)?;
            let (first, last) = part.span();
            if facts.rows == 0 || !window.touches(first, last) {
                continue;
            }
            if cancelled() {
                return Err(StoreError::Cancelled);
            }
            let mut found = false;
            let read = self.decode(part, columns, &mut |batch| {
                found = batch.sound_rows().any(|row| {
                    let sample = batch.stamps.get(row).zip(batch.values.get(row));
                    sample.is_some_and(|(stamp, value)| !value.is_nan() && window.contains(*stamp))
                });
                // Nothing of the rest is wanted.
                match found {
                    true => Err(StoreError::Cancelled),
                    false => Ok(()),
                }
            });
            if found {
                return Ok(true);
            }
            read?;
        }
        Ok(false)
    }

    fn grouped<'a>(&'a self, options: &ScanOptions<'_>) -> Result<Grouped<'a>, StoreError> {
        let mut own: BTreeMap<&str, Vec<&Part>> = BTreeMap::new();
        let mut shared = Vec::new();
        for part in self.parts() {
            let facts = self.facts(part)?;
            let (first, last) = part.span();
            let wanted = facts.rows > 0
                && options.window.touches(first, last)
                && options.equips.is_none_or(|equips| {
                    equips.iter().any(|equip| facts.equipment.may_hold(equip))
                });
            if !wanted {
                continue;
            }
            match &facts.equipment {
                EquipmentRange::One(equip) => own.entry(equip).or_default().push(part),
                _ => shared.push(part),
            }
        }
        for parts in own.values_mut() {
            // Month after month, so that runs go on across borders.
            parts.sort_by_key(|part| part.span());
        }
        Ok(Grouped { own, shared })
    }

    fn stamps_of(&self, parts: &[&Part], options: &ScanOptions<'_>) -> Result<Points, StoreError> {
        let columns = Wanted {
            class: false,
            ..Wanted::ALL
        };
        let mut points = Points::new();
        for part in parts {
            if (options.cancelled)() {
                return Err(StoreError::Cancelled);
            }
            let facts = self.facts(part)?;
            let (first, last) = part.span();
            let within = facts.span.is_some() && options.window.covers(first, last);
            let mut found: BTreeMap<(String, String), StampCollector> = BTreeMap::new();
            self.decode(part, columns, &mut |batch| {
                collect(batch, options, within, &mut found);
                Ok(())
            })?;
            absorb(
                &mut points,
                found
                    .into_iter()
                    .map(|(point, collector)| (point, collector.finish()))
                    .collect(),
            );
        }
        Ok(points)
    }
}

fn collect(
    batch: &RowBatch<'_>,
    options: &ScanOptions<'_>,
    within: bool,
    found: &mut BTreeMap<(String, String), StampCollector>,
) {
    let (equips, roles) = (batch.equip.words(), batch.role.words());
    let chosen = |words: &[&str], wanted: Option<&BTreeSet<String>>| -> Vec<bool> {
        words
            .iter()
            .map(|word| wanted.is_none_or(|wanted| wanted.contains(*word)))
            .collect()
    };
    let equip_chosen = chosen(equips, options.equips);
    let role_chosen = chosen(roles, options.roles);
    let mut collectors: Vec<Option<StampCollector>> = Vec::new();
    collectors.resize_with(equips.len().saturating_mul(roles.len()), || None);
    let wanted: Vec<bool> = equip_chosen
        .iter()
        .flat_map(|equip| role_chosen.iter().map(move |role| *equip && *role))
        .collect();
    for row in batch.samples() {
        let slot = row.equip * roles.len() + row.role;
        if wanted.get(slot) == Some(&true)
            && !row.value.is_nan()
            && (within || options.window.contains(row.stamp))
            && let Some(slot) = collectors.get_mut(slot)
        {
            slot.get_or_insert_default().add(row.stamp);
        }
    }
    for (slot, collector) in collectors.into_iter().enumerate() {
        let Some(collector) = collector else { continue };
        let (Some(equip), Some(role)) = (
            equips.get(slot / roles.len()),
            roles.get(slot % roles.len()),
        ) else {
            continue;
        };
        found
            .entry(((*equip).to_owned(), (*role).to_owned()))
            .or_default()
            .join(collector);
    }
}

fn absorb(points: &mut Points, found: Points) {
    for (point, stamps) in found {
        points.entry(point).or_default().merge(stamps);
    }
}

fn take_equipment(points: &mut Points, equip: &str) -> Points {
    let keys: Vec<(String, String)> = points
        .range((equip.to_owned(), String::new())..)
        .take_while(|((known, _), _)| known == equip)
        .map(|(point, _)| point.clone())
        .collect();
    keys.into_iter()
        .filter_map(|point| points.remove_entry(&point))
        .collect()
}

fn give(points: Points, visit: &(dyn Fn(PointStamps) + Sync)) {
    for ((equip, role), stamps) in points {
        if !stamps.is_empty() {
            visit(PointStamps {
                equip,
                role,
                stamps,
            });
        }
    }
}

/// Does the work for each unit on the threads that the options allow; the first failure ends all, and after a cancel at most
/// one more unit begins.
pub(super) fn in_parallel<T: Sync>(
    units: &[T],
    options: &ScanOptions<'_>,
    work: impl Fn(&T) -> Result<(), StoreError> + Sync,
) -> Result<(), StoreError> {
    let failure: Mutex<Option<StoreError>> = Mutex::default();
    let locked = || failure.lock().unwrap_or_else(PoisonError::into_inner);
    let ended = || locked().is_some() || (options.cancelled)();
    let done = units::in_parallel(units, options.threads, &ended, |unit| {
        if let Err(error) = work(unit) {
            locked().get_or_insert(error);
        }
    });
    match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => done.map(drop).map_err(|_| StoreError::Cancelled),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::wall_clock::{DAY, HOUR, parse_bound};
    use super::super::{EquipmentRows, FacilityId, RoleColumn, TrendStore};
    use super::*;

    #[test]
    fn a_window_holds_a_sample_where_any_point_has_one() {
        let folder = tempfile::tempdir().unwrap();
        let store = TrendStore::create(folder.path().join("store")).unwrap();
        let facility = FacilityId::parse("hq").unwrap();
        let start = parse_bound("2024-02-27").unwrap();
        // Two days, two days without anything, two days: over the border of a month.
        let rows = EquipmentRows {
            equip: "A".to_owned(),
            equip_class: "AHU".to_owned(),
            columns: vec![RoleColumn {
                role: "oat".to_owned(),
                stamps: (0..48)
                    .chain(96..144)
                    .map(|hour| start + hour * HOUR)
                    .collect(),
                values: vec![50.0; 96],
            }],
        };
        store
            .writer(Duration::from_secs(5))
            .unwrap()
            .append(&facility, &[rows], None)
            .unwrap();
        let view = store.view(&facility).unwrap();
        let holds = |first: i64, last: i64| {
            let window = Window {
                start: Some(start + first),
                end: Some(start + last),
            };
            view.holds_sample(window, &|| false).unwrap()
        };
        assert!(holds(0, 0) && holds(47 * HOUR, 50 * HOUR) && holds(5 * DAY, 9 * DAY));
        assert!(!holds(2 * DAY, 4 * DAY - HOUR) && !holds(-DAY, -HOUR) && !holds(6 * DAY, 9 * DAY));
        assert!(!holds(HOUR / 4, HOUR / 2));
        assert!(view.holds_sample(Window::OPEN, &|| false).unwrap());
        let ended = view.holds_sample(Window::OPEN, &|| true);
        assert!(matches!(ended, Err(StoreError::Cancelled)));
    }
}
