//! Many small parts become few (Store §3.4): readers open one file per equipment and month.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Serialize;

use super::append::SHARED_BELOW;
use super::decode::{Wanted, Words};
use super::encode::{PartRows, PointNumbers};
use super::listing::Part;
use super::part_facts::EquipmentRange;
use super::view::FacilityView;
use super::wall_clock::Month;
use super::writer::StoreWriter;
use super::{FacilityId, StoreError};

/// Months with fewer parts that could be packed are left alone by [`StoreWriter::pack`].
const WORTH_PACKING: usize = 16;

/// What a compaction did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct CompactReport {
    pub months: usize,
    pub parts_before: usize,
    pub parts_after: usize,
    /// Rows of the months that were packed; none is lost or doubled.
    pub rows: u64,
}

impl StoreWriter<'_> {
    /// Packs every month of a facility whose parts are more than needed.
    ///
    /// Left as they are: parts that hold more than the five columns, missing values or rollups, edge and legacy parts, and
    /// months in which the class of an equipment is not the same in all rows, as the first in file order counts.
    ///
    /// # Errors
    /// A part is damaged, or the disk fails; the facility is as it was.
    pub fn compact(&mut self, facility: &FacilityId) -> Result<CompactReport, StoreError> {
        self.pack_months(facility, 1)
    }

    /// Packs only months with many small parts, as repeated appends leave them.
    ///
    /// # Errors
    /// As [`StoreWriter::compact`].
    pub fn pack(&mut self, facility: &FacilityId) -> Result<CompactReport, StoreError> {
        self.pack_months(facility, WORTH_PACKING)
    }

    fn pack_months(
        &mut self,
        facility: &FacilityId,
        worth: usize,
    ) -> Result<CompactReport, StoreError> {
        let view = self.store().view(facility)?;
        let mut report = CompactReport {
            parts_before: view.parts().len(),
            parts_after: view.parts().len(),
            ..CompactReport::default()
        };
        let mut packed: BTreeMap<Month, Vec<&Part>> = BTreeMap::new();
        for part in view.parts() {
            if let Some(month) = part.calendar_month()
                && may_be_packed(&view, part, month)?
            {
                packed.entry(month).or_default().push(part);
            }
        }
        let mut plans = Vec::new();
        for (month, parts) in packed {
            if parts.len() >= worth
                && !is_as_wanted(&view, &parts)?
                && let Some(plan) = Plan::of(&view, month, &parts)?
            {
                plans.push(plan);
            }
        }
        if plans.is_empty() {
            return Ok(report);
        }
        let replaced: BTreeSet<&str> = plans
            .iter()
            .flat_map(|plan| plan.replaced.iter().copied())
            .collect();
        let mut staged = self.store().stage_facility(facility)?;
        for file in view.files()? {
            if !replaced.contains(file.relative.as_str()) {
                staged.keep(&file)?;
            }
        }
        let sequence = super::append::next_sequence(self.root(), facility)?;
        for plan in plans {
            report.months += 1;
            let mut rows = 0;
            for (number, part) in plan.rows(&view)?.into_iter().enumerate() {
                rows += part.len() as u64;
                staged.write(plan.month, sequence, number, part)?;
            }
            if rows != plan.expected_rows {
                return Err(StoreError::Encode {
                    facility: facility.clone(),
                    problem: format!(
                        "{} rows were read and {rows} are to be written; nothing was changed",
                        plan.expected_rows
                    ),
                });
            }
            report.rows += rows;
        }
        report.parts_after = staged.parts();
        staged.swap_in(self, None)?;
        Ok(report)
    }
}

/// Whether the footers alone tell that a month is as a bulk write leaves it: a canonical part for each busy equipment.
fn is_as_wanted(view: &FacilityView, parts: &[&Part]) -> Result<bool, StoreError> {
    let mut known: BTreeSet<&str> = BTreeSet::new();
    for part in parts {
        let facts = view.facts(part)?;
        let EquipmentRange::One(equip) = &facts.equipment else {
            return Ok(false);
        };
        if !known.insert(equip)
            || facts.rows < SHARED_BELOW as u64
            || !facts.layout.departures().is_empty()
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether the rows of a part can move into another one without any reader seeing a difference.
fn may_be_packed(view: &FacilityView, part: &Part, month: Month) -> Result<bool, StoreError> {
    let facts = view.facts(part)?;
    let within = facts
        .span
        .is_some_and(|(first, last)| first >= month.start() && last < month.end());
    let expected = format!("year={}/month={}", month.year, month.month);
    Ok(within
        && part.partition() == expected
        && !facts.layout.has_extra_columns
        && !facts.layout.is_rollup
        && facts.rows > 0
        && !is_edge_part(part.name()))
}

/// `part-<16 hex>.parquet`: its name is the digest of its bytes (Store §3.3).
fn is_edge_part(name: &str) -> bool {
    name.strip_prefix("part-")
        .and_then(|rest| rest.strip_suffix(".parquet"))
        .is_some_and(|digest| {
            digest.len() == 16 && digest.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
}

/// One month that is worth packing.
struct Plan<'v> {
    month: Month,
    parts: Vec<&'v Part>,
    replaced: Vec<&'v str>,
    expected_rows: u64,
    /// Rows per equipment, which decides who gets a part of its own.
    rows_of: BTreeMap<String, usize>,
}

impl<'v> Plan<'v> {
    fn of(
        view: &FacilityView,
        month: Month,
        parts: &[&'v Part],
    ) -> Result<Option<Self>, StoreError> {
        let mut classes: BTreeMap<String, String> = BTreeMap::new();
        let mut rows_of: BTreeMap<String, usize> = BTreeMap::new();
        let mut expected_rows: u64 = 0;
        for part in parts {
            for (equip, class, _) in view.part_points(part)?.iter() {
                if classes
                    .insert(equip.clone(), class.clone())
                    .is_some_and(|known| known != *class)
                {
                    return Ok(None);
                }
            }
            let mut sound = true;
            view.decode(part, Wanted::ALL, &mut |batch| {
                let mut meaningful = 0;
                for row in batch.sound_rows() {
                    meaningful += 1;
                    let equip = batch
                        .equip
                        .code(row)
                        .and_then(|code| batch.equip.words().get(code));
                    if let Some(equip) = equip {
                        match rows_of.get_mut(*equip) {
                            Some(rows) => *rows += 1,
                            None => {
                                rows_of.insert((*equip).to_owned(), 1);
                            }
                        }
                    }
                }
                expected_rows += meaningful as u64;
                sound &=
                    meaningful == batch.rows && !batch.values.iter().any(|value| value.is_nan());
                Ok(())
            })?;
            if !sound {
                return Ok(None);
            }
        }
        let busy = |equip: &str| rows_of.get(equip).is_some_and(|rows| *rows >= SHARED_BELOW);
        let own = rows_of.keys().filter(|equip| busy(equip)).count();
        let fewest = own + usize::from(own < rows_of.len());
        let mut as_wanted = parts.len() <= fewest;
        for part in parts {
            let apart = matches!(view.facts(part)?.equipment, EquipmentRange::One(_))
                || !view
                    .part_points(part)?
                    .iter()
                    .any(|(equip, ..)| busy(equip));
            as_wanted &= apart && view.facts(part)?.layout.departures().is_empty();
        }
        // Fewer parts than that come from other writers, who put several busy ones together.
        if as_wanted || parts.len() < fewest {
            return Ok(None);
        }
        Ok(Some(Self {
            month,
            replaced: parts
                .iter()
                .map(|part| part.file.relative.as_str())
                .collect(),
            parts: parts.to_vec(),
            expected_rows,
            rows_of,
        }))
    }

    /// The equipment's own key when it gets a part of its own.
    fn busy(&self, equip: &str) -> Option<&str> {
        self.rows_of
            .get_key_value(equip)
            .filter(|(_, rows)| **rows >= SHARED_BELOW)
            .map(|(equip, _)| equip.as_str())
    }

    /// The rows of the month, sorted into the parts to be: busy equipment apart, the others together.
    fn rows(&self, view: &FacilityView) -> Result<Vec<PartRows>, StoreError> {
        let mut packed: BTreeMap<Option<&str>, PartRows> = BTreeMap::new();
        for part in &self.parts {
            view.decode(part, Wanted::ALL, &mut |batch| {
                let encode = |problem: String| StoreError::Encode {
                    facility: view.facility().clone(),
                    problem,
                };
                let word = |words: &Words<'_>, code: usize| {
                    words
                        .words()
                        .get(code)
                        .copied()
                        .unwrap_or_default()
                        .to_owned()
                };
                // Few points, many rows: names are looked at once per point and batch.
                let mut known: HashMap<(usize, usize, usize), (Option<&str>, PointNumbers)> =
                    HashMap::new();
                for row in batch.sound_rows() {
                    let class = batch.class.as_ref().and_then(|class| class.code(row));
                    let (Some(equip), Some(role)) = (batch.equip.code(row), batch.role.code(row))
                    else {
                        continue;
                    };
                    let code = (equip, class.unwrap_or(usize::MAX), role);
                    let (busy, point) = match known.get(&code) {
                        Some(found) => *found,
                        None => {
                            let equip = word(&batch.equip, equip);
                            let class = batch
                                .class
                                .as_ref()
                                .map(|class| word(class, code.1))
                                .unwrap_or_default();
                            let busy = self.busy(&equip);
                            let point = packed
                                .entry(busy)
                                .or_default()
                                .point(&equip, &class, &word(&batch.role, role))
                                .map_err(encode)?;
                            known.insert(code, (busy, point));
                            (busy, point)
                        }
                    };
                    if let (Some(rows), Some(stamp), Some(value)) = (
                        packed.get_mut(&busy),
                        batch.stamps.get(row),
                        batch.values.get(row),
                    ) {
                        rows.push(point, *stamp, *value);
                    }
                }
                Ok(())
            })?;
        }
        Ok(packed.into_values().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edge_parts_are_known_by_their_names() {
        assert!(is_edge_part("part-0123456789abcdef.parquet"));
        for other in [
            "part-0-0.parquet",
            "part-0123456789abcdeg.parquet",
            "x.parquet",
        ] {
            assert!(!is_edge_part(other), "{other}");
        }
    }
}
