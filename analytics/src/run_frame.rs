//! What a run judges of one equipment: its stored columns on the grid of the run, and the points that its site shares
//! (Engine §4.2).

use std::collections::BTreeSet;

use crate::frame::{Frame, RoleFrame};
use crate::gates;
use crate::resample::{BinWidth, ResampleError};
use crate::roles;

/// A shared sample reaches over at most so many rows without one.
const LONGEST_FILL: usize = 4;

/// One point of the site that every equipment without such a point of its own is given, on the grid of the run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SharedPoint {
    pub role: String,
    /// Sorted and distinct.
    pub stamps: Vec<i64>,
    /// One per stamp, NaN where there is none.
    pub values: Vec<f64>,
}

impl SharedPoint {
    /// The column of an equipment's frame as a point of the site, on the grid of a run; none when it stores no such role.
    ///
    /// # Errors
    /// As [`RoleFrame::resampled`].
    pub fn of(
        stored: &RoleFrame,
        column: &str,
        role: &str,
        bins: BinWidth,
    ) -> Result<Option<Self>, ResampleError> {
        let resampled = stored.resampled(bins)?;
        let RoleFrame {
            stamps,
            mut columns,
            ..
        } = resampled;
        Ok(columns.remove(column).map(|values| Self {
            role: role.to_owned(),
            stamps,
            values,
        }))
    }

    /// The values at these sorted stamps: those of the same stamp, and then the last one before over at most four rows.
    pub fn on(&self, stamps: &[i64]) -> Vec<f64> {
        let mut own = self.stamps.iter().zip(&self.values).peekable();
        let mut last = f64::NAN;
        let mut age = 0;
        stamps
            .iter()
            .map(|stamp| {
                while own.next_if(|(known, _)| *known < stamp).is_some() {}
                let value = own
                    .peek()
                    .filter(|(known, _)| *known == stamp)
                    .map_or(f64::NAN, |(_, value)| **value);
                if !value.is_nan() {
                    (last, age) = (value, 0);
                    return value;
                }
                age += 1;
                if age > LONGEST_FILL { f64::NAN } else { last }
            })
            .collect()
    }
}

/// One equipment in a run. Built once per call; rules see parts of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunFrame {
    table: RoleFrame,
    /// Columns that are the site's, not the equipment's.
    shared: BTreeSet<String>,
}

impl RunFrame {
    /// The run frame out of the stored frame.
    ///
    /// # Errors
    /// As [`RoleFrame::resampled`].
    pub fn of_stored(
        stored: &RoleFrame,
        bins: BinWidth,
        shared: &[SharedPoint],
    ) -> Result<Self, ResampleError> {
        Ok(Self::of_resampled(stored.resampled(bins)?, shared))
    }

    /// The run frame out of the frame on the grid of the run: percent columns as 0 to 100, shared points merged.
    pub fn of_resampled(mut table: RoleFrame, shared: &[SharedPoint]) -> Self {
        for (role, values) in &mut table.columns {
            if roles::is_percent(role) && gates::is_fraction(values) {
                for value in values.iter_mut() {
                    *value *= 100.0;
                }
            }
        }
        let mut merged = BTreeSet::new();
        if !table.is_empty() {
            for point in shared {
                if !table.columns.contains_key(&point.role) {
                    let values = point.on(&table.stamps);
                    table.columns.insert(point.role.clone(), values);
                    merged.insert(point.role.clone());
                }
            }
        }
        Self {
            table,
            shared: merged,
        }
    }

    /// The same frame as one of this class.
    #[must_use]
    pub fn of_class(mut self, class: &str) -> Self {
        class.clone_into(&mut self.table.equip_class);
        self
    }

    /// Id of the equipment.
    pub fn equip(&self) -> &str {
        &self.table.equip
    }

    /// Class as the store holds it; may be empty.
    pub fn equip_class(&self) -> &str {
        &self.table.equip_class
    }

    /// All columns, shared ones included.
    pub fn table(&self) -> &RoleFrame {
        &self.table
    }

    /// All columns as a rule sees them.
    pub fn whole(&self) -> Frame<'_> {
        Frame::whole(&self.table)
    }

    /// Only these columns. A rule is shown its wanted roles and all shared ones.
    pub fn seen<'a>(&'a self, roles: &'a BTreeSet<String>) -> Frame<'a> {
        Frame::of(&self.table, roles)
    }

    /// Whether the column is there, the equipment's own or a shared one.
    pub fn has(&self, role: &str) -> bool {
        self.table.columns.contains_key(role)
    }

    /// The columns that are the site's, by code point.
    pub fn shared_roles(&self) -> impl Iterator<Item = &str> {
        self.shared.iter().map(String::as_str)
    }

    /// Whether the equipment itself stores the role in the window.
    pub fn stores(&self, role: &str) -> bool {
        self.table.columns.contains_key(role) && !self.shared.contains(role)
    }

    /// The roles that the equipment itself stores in the window, by code point.
    pub fn stored_roles(&self) -> impl Iterator<Item = &str> {
        self.table
            .columns
            .keys()
            .map(String::as_str)
            .filter(|role| !self.shared.contains(*role))
    }

    /// Whether the equipment stores nothing in the window.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wall_clock::HOUR;

    const NONE: f64 = f64::NAN;

    fn table(rows: i64, columns: &[(&str, &[f64])]) -> RoleFrame {
        RoleFrame {
            equip: "AHU-1".to_owned(),
            equip_class: "AHU".to_owned(),
            stamps: (0..rows).map(|row| row * HOUR).collect(),
            columns: columns
                .iter()
                .map(|(role, values)| ((*role).to_owned(), values.to_vec()))
                .collect(),
        }
    }

    fn outdoor(from: i64, values: &[f64]) -> SharedPoint {
        SharedPoint {
            role: "oat".to_owned(),
            stamps: (from..).zip(values).map(|(hour, _)| hour * HOUR).collect(),
            values: values.to_vec(),
        }
    }

    fn same(left: &[f64], right: &[f64]) -> bool {
        left.len() == right.len()
            && left
                .iter()
                .zip(right)
                .all(|(a, b)| a == b || (a.is_nan() && b.is_nan()))
    }

    #[test]
    fn a_fraction_of_a_percent_role_becomes_percent_over_the_whole_window() {
        let frame = RunFrame::of_resampled(
            table(
                3,
                &[
                    ("cool_valve", &[0.0, 0.5, NONE]),
                    ("damper", &[0.0, 2.0, 1.0]),
                    ("occupancy", &[0.0, 0.5, 1.0]),
                ],
            ),
            &[],
        );
        let column = |role| frame.table().column(role).unwrap();
        assert!(same(column("cool_valve"), &[0.0, 50.0, NONE]));
        assert_eq!(column("damper"), [0.0, 2.0, 1.0]);
        assert_eq!(column("occupancy"), [0.0, 0.5, 1.0]);
    }

    #[test]
    fn a_shared_point_reaches_four_rows_and_never_replaces_an_own_one() {
        let shared = [outdoor(-1, &[40.0, NONE, 50.0])];
        let frame = RunFrame::of_resampled(table(7, &[("power", &[1.0; 7])]), &shared);
        let oat = frame.table().column("oat").unwrap();
        assert!(same(oat, &[NONE, 50.0, 50.0, 50.0, 50.0, 50.0, NONE]));
        assert!(!frame.stores("oat") && frame.stores("power"));
        assert_eq!(frame.stored_roles().collect::<Vec<_>>(), ["power"]);

        let own = RunFrame::of_resampled(table(2, &[("oat", &[NONE, NONE])]), &shared);
        assert!(own.stores("oat") && own.whole().with_data("oat").is_none());

        let empty = RunFrame::of_resampled(table(0, &[]), &shared);
        assert!(empty.is_empty() && !empty.whole().has("oat"));
    }

    #[test]
    fn a_shared_point_is_a_column_on_the_grid_of_the_run() {
        let mut quarters = table(4, &[("oat", &[40.0, 42.0, 44.0, 46.0])]);
        quarters.stamps = vec![0, HOUR / 2, HOUR, 3 * HOUR];
        let point = SharedPoint::of(&quarters, "oat", "oat", BinWidth::HOUR)
            .unwrap()
            .unwrap();
        assert!(same(&point.values, &[41.0, 44.0, NONE, 46.0]));
        assert!(
            SharedPoint::of(&quarters, "wetbulb_temp", "oat", BinWidth::HOUR)
                .unwrap()
                .is_none()
        );
    }
}
