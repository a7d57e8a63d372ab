//! Whole equipment of a facility in one pass over its parts, several at a time (Store §5 step 1).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use super::decode::{RowBatch, Wanted};
use super::listing::Part;
use super::part_facts::EquipmentRange;
use super::scan::{ScanOptions, in_parallel};
use super::series::{EquipmentSeries, RoleSeries};
use super::view::FacilityView;
use super::{StoreError, Window};

/// Rows of parts of several equipment that are held at once: more of them are read in several rounds.
const ROUND_ROWS: u64 = 16 << 20;

impl FacilityView {
    /// Hands the samples of every selected equipment to `visit`, one after the other in no certain order, and returns what
    /// it made of each. Equipment without a selected sample comes with no roles.
    ///
    /// Parts of a single equipment are read when it is its turn; those of several are read first, so that their rows are
    /// in memory together.
    ///
    /// # Errors
    /// A part that may hold selected equipment is damaged or was replaced, or the scan was cancelled.
    pub fn scan_equipment<T: Send>(
        &self,
        equips: &BTreeSet<String>,
        options: &ScanOptions<'_>,
        visit: &(dyn Fn(EquipmentSeries) -> T + Sync),
    ) -> Result<Vec<T>, StoreError> {
        let mut own: BTreeMap<&str, Vec<&Part>> = BTreeMap::new();
        let mut shared: Vec<&Part> = Vec::new();
        let mut shared_rows = 0_u64;
        for part in self.parts() {
            let facts = self.facts(part)?;
            let (first, last) = part.span();
            if facts.rows == 0 || !options.window.touches(first, last) {
                continue;
            }
            match &facts.equipment {
                EquipmentRange::One(equip) if equips.contains(equip) => {
                    own.entry(equip).or_default().push(part);
                }
                EquipmentRange::One(_) => {}
                range if equips.iter().any(|equip| range.may_hold(equip)) => {
                    shared_rows = shared_rows.saturating_add(facts.rows);
                    shared.push(part);
                }
                _ => {}
            }
        }
        let rounds = usize::try_from(shared_rows.div_ceil(ROUND_ROWS))
            .unwrap_or(usize::MAX)
            .clamp(1, equips.len().max(1));
        let all: Vec<&String> = equips.iter().collect();
        let mut made = Vec::with_capacity(all.len());
        for round in all.chunks(all.len().div_ceil(rounds).max(1)) {
            made.extend(self.scan_round(round, &own, &shared, options, visit)?);
        }
        Ok(made)
    }

    fn scan_round<T: Send>(
        &self,
        equips: &[&String],
        own: &BTreeMap<&str, Vec<&Part>>,
        shared: &[&Part],
        options: &ScanOptions<'_>,
        visit: &(dyn Fn(EquipmentSeries) -> T + Sync),
    ) -> Result<Vec<T>, StoreError> {
        let wanted: BTreeSet<&str> = equips.iter().map(|equip| equip.as_str()).collect();
        let mixed: Mutex<BTreeMap<usize, BTreeMap<String, EquipmentSeries>>> = Mutex::default();
        let numbered: Vec<(usize, &Part)> = shared.iter().copied().enumerate().collect();
        in_parallel(&numbered, options, |(number, part)| {
            let mut found = BTreeMap::new();
            self.decode(part, Wanted::ALL, &mut |batch| {
                collect(batch, &wanted, options, &mut found);
                Ok(())
            })?;
            lock(&mixed).insert(*number, found);
            Ok(())
        })?;
        let made = Mutex::new(Vec::with_capacity(equips.len()));
        in_parallel(equips, options, |equip| {
            let mut series = EquipmentSeries {
                equip: (*equip).clone(),
                ..EquipmentSeries::default()
            };
            let single = BTreeSet::from([equip.as_str()]);
            for part in own.get(equip.as_str()).into_iter().flatten() {
                let mut found = BTreeMap::new();
                self.decode(part, Wanted::ALL, &mut |batch| {
                    collect(batch, &single, options, &mut found);
                    Ok(())
                })?;
                absorb(&mut series, found.remove(equip.as_str()));
            }
            let parts: Vec<Option<EquipmentSeries>> = lock(&mixed)
                .values_mut()
                .map(|found| found.remove(equip.as_str()))
                .collect();
            for part in parts {
                absorb(&mut series, part);
            }
            for role in series.roles.values_mut() {
                role.sort();
            }
            let outcome = visit(series);
            lock(&made).push(outcome);
            Ok(())
        })?;
        Ok(made.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds the rows of one part, in the order of its rows.
fn absorb(series: &mut EquipmentSeries, found: Option<EquipmentSeries>) {
    let Some(found) = found else {
        return;
    };
    if series.equip_class.is_empty() {
        series.equip_class = found.equip_class;
    }
    for (role, rows) in found.roles {
        let known = series.roles.entry(role).or_default();
        if known.is_empty() {
            *known = rows;
        } else {
            known.stamps.extend(rows.stamps);
            known.values.extend(rows.values);
        }
    }
}

/// The first class of each wanted equipment that is not empty; looks no further than where all are known.
fn classes<'b>(batch: &'b RowBatch<'_>, is_wanted: &[bool]) -> Vec<Option<&'b str>> {
    let mut classes = vec![None; is_wanted.len()];
    let Some(class) = &batch.class else {
        return classes;
    };
    let mut missing = is_wanted.iter().filter(|wanted| **wanted).count();
    for row in batch.sound_rows() {
        if missing == 0 {
            break;
        }
        let word = class.code(row).and_then(|code| class.words().get(code));
        let place = batch.equip.code(row);
        if let Some(word) = word.filter(|word| !word.is_empty())
            && let Some(place) = place.filter(|place| is_wanted.get(*place) == Some(&true))
            && let Some(known) = classes.get_mut(place)
            && known.is_none()
        {
            *known = Some(*word);
            missing -= 1;
        }
    }
    classes
}

/// The rows of a batch that are of the wanted equipment, by equipment and role.
fn collect(
    batch: &RowBatch<'_>,
    equips: &BTreeSet<&str>,
    options: &ScanOptions<'_>,
    found: &mut BTreeMap<String, EquipmentSeries>,
) {
    let equip_words = batch.equip.words();
    let role_words = batch.role.words();
    let is_wanted: Vec<bool> = equip_words
        .iter()
        .map(|equip| equips.contains(equip))
        .collect();
    if !is_wanted.contains(&true) {
        return;
    }
    let role_wanted: Vec<bool> = role_words
        .iter()
        .map(|role| options.roles.is_none_or(|roles| roles.contains(*role)))
        .collect();
    let window: Window = options.window;
    let classes = classes(batch, &is_wanted);
    let wanted: Vec<bool> = is_wanted
        .iter()
        .flat_map(|equip| role_wanted.iter().map(move |role| *equip && *role))
        .collect();
    let mut series: Vec<RoleSeries> = Vec::new();
    series.resize_with(wanted.len(), RoleSeries::default);
    match series.first_mut().filter(|_| batch.is_of_one_point()) {
        Some(slot) => {
            if wanted == [true] {
                slot.extend_within(window, &batch.stamps, &batch.values);
            }
        }
        None => {
            for row in batch.samples() {
                let slot = row.equip * role_words.len() + row.role;
                if wanted.get(slot) == Some(&true)
                    && window.contains(row.stamp)
                    && let Some(slot) = series.get_mut(slot)
                {
                    slot.push(row.stamp, row.value);
                }
            }
        }
    }
    for (place, equip) in equip_words.iter().enumerate() {
        if is_wanted.get(place) != Some(&true) {
            continue;
        }
        let one = found
            .entry((*equip).to_owned())
            .or_insert_with(|| EquipmentSeries {
                equip: (*equip).to_owned(),
                ..EquipmentSeries::default()
            });
        if one.equip_class.is_empty()
            && let Some(Some(class)) = classes.get(place)
        {
            (*class).clone_into(&mut one.equip_class);
        }
        for (number, role) in role_words.iter().enumerate() {
            let Some(rows) = series.get_mut(place * role_words.len() + number) else {
                continue;
            };
            if rows.is_empty() {
                continue;
            }
            let rows = std::mem::take(rows);
            let known = one.roles.entry((*role).to_owned()).or_default();
            known.stamps.extend(rows.stamps);
            known.values.extend(rows.values);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::wall_clock::{HOUR, parse_bound};
    use super::super::{EquipmentRows, FacilityId, RoleColumn, Selection, TrendStore};
    use super::*;

    #[test]
    fn one_pass_reads_what_single_reads_do() {
        let folder = tempfile::tempdir().unwrap();
        let store = TrendStore::create(folder.path().join("store")).unwrap();
        let facility = FacilityId::parse("hq").unwrap();
        let start = parse_bound("2024-02-27").unwrap();
        let rows = |equip: &str, count: i64, step: i64| EquipmentRows {
            equip: equip.to_owned(),
            equip_class: "AHU".to_owned(),
            columns: ["oat", "power"]
                .map(|role| RoleColumn {
                    role: role.to_owned(),
                    stamps: (0..count).map(|row| start + row * step).collect(),
                    values: (0..count).map(|row| row as f64).collect(),
                })
                .to_vec(),
        };
        // A large equipment has parts of its own, small ones share theirs; the second append repeats stamps.
        for _ in 0..2 {
            store
                .writer(Duration::from_secs(5))
                .unwrap()
                .append(
                    &facility,
                    &[
                        rows("A", 5_000, HOUR / 4),
                        rows("B", 100, HOUR),
                        rows("C", 7, HOUR),
                    ],
                    None,
                )
                .unwrap();
        }
        let window = Window {
            start: Some(start + 2 * HOUR),
            end: Some(start + 60 * HOUR),
        };
        let roles = BTreeSet::from(["power".to_owned()]);
        for roles in [None, Some(&roles)] {
            let view = store.view(&facility).unwrap();
            let equips = ["A", "B", "C", "D"].map(str::to_owned).into();
            let options = ScanOptions {
                window,
                roles,
                ..ScanOptions::default()
            };
            let mut found = view
                .scan_equipment(&equips, &options, &|series| series)
                .unwrap();
            found.sort_by(|a, b| a.equip.cmp(&b.equip));
            let single: Vec<EquipmentSeries> = equips
                .iter()
                .map(|equip| {
                    let selection = Selection {
                        roles: roles.cloned(),
                        window,
                    };
                    view.equipment(equip, &selection).unwrap()
                })
                .collect();
            assert_eq!(found, single);
            assert_eq!(found[1].roles["power"].len(), 2 * 59);
        }
    }
}
