//! One equipment as a table: a row per stamp, a column per role (Store §5 steps 2, 3, 5).

use std::collections::{BTreeMap, BTreeSet};

use crate::numeric;
use crate::wall_clock::HOUR;

/// A table of one equipment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RoleFrame {
    pub equip: String,
    pub equip_class: String,
    /// Sorted and distinct, in nanoseconds of the site's wall clock.
    pub stamps: Vec<i64>,
    /// One value per stamp, NaN where there is none; by role slug.
    pub columns: BTreeMap<String, Vec<f64>>,
}

impl RoleFrame {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.stamps.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.stamps.is_empty()
    }

    /// The values of a role.
    pub fn column(&self, role: &str) -> Option<&[f64]> {
        self.columns.get(role).map(Vec::as_slice)
    }
}

/// What a rule sees of an equipment: some columns of its run frame, and the points that a site shares (Engine §4.2).
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    table: &'a RoleFrame,
    /// Columns that are seen; all when there is no list.
    seen: Option<&'a BTreeSet<String>>,
}

impl<'a> Frame<'a> {
    /// All columns.
    pub fn whole(table: &'a RoleFrame) -> Self {
        Self { table, seen: None }
    }

    /// Only these columns.
    pub fn of(table: &'a RoleFrame, seen: &'a BTreeSet<String>) -> Self {
        Self {
            table,
            seen: Some(seen),
        }
    }

    /// Id of the equipment.
    pub fn equip(&self) -> &'a str {
        &self.table.equip
    }

    /// Class as the store holds it; may be empty.
    pub fn equip_class(&self) -> &'a str {
        &self.table.equip_class
    }

    /// Sorted stamps, nanoseconds of the site's wall clock.
    pub fn stamps(&self) -> &'a [i64] {
        &self.table.stamps
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.table.stamps.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.table.stamps.is_empty()
    }

    /// The values of a role, one per row, NaN where there is no sample. Some even when all are NaN: presence is that the
    /// column exists (Engine §4.3).
    pub fn column(&self, role: &str) -> Option<&'a [f64]> {
        if self.seen.is_some_and(|seen| !seen.contains(role)) {
            return None;
        }
        self.table.column(role)
    }

    /// The values of a role of which at least one is there.
    pub fn with_data(&self, role: &str) -> Option<&'a [f64]> {
        self.column(role)
            .filter(|values| values.iter().any(|value| !value.is_nan()))
    }

    /// Whether the column exists.
    pub fn has(&self, role: &str) -> bool {
        self.column(role).is_some()
    }

    /// All roles that are seen, by code point.
    pub fn roles(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let seen = self.seen;
        self.table
            .columns
            .keys()
            .map(String::as_str)
            .filter(move |role| seen.is_none_or(|seen| seen.contains(*role)))
    }

    /// Median gap of the stamps in hours; 0 when there is none.
    pub fn step_hours(&self) -> f64 {
        numeric::median_step(self.stamps()).map_or(0.0, |step| step / numeric::nanos(HOUR))
    }
}

/// A mean as pandas forms it: a Kahan sum that skips NaN (Store §5).
#[derive(Debug, Clone, Copy, Default)]
pub struct Mean {
    sum: f64,
    carry: f64,
    count: u32,
}

impl Mean {
    /// Adds a value, in the order of time.
    pub fn add(&mut self, value: f64) {
        if value.is_nan() {
            return;
        }
        let corrected = value - self.carry;
        let sum = self.sum + corrected;
        self.carry = (sum - self.sum) - corrected;
        if self.carry.is_nan() {
            self.carry = 0.0;
        }
        self.sum = sum;
        self.count += 1;
    }

    /// The mean; NaN when nothing was added.
    pub fn value(self) -> f64 {
        if self.count == 0 {
            f64::NAN
        } else {
            self.sum / f64::from(self.count)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_sees_its_own_columns_only() {
        let table = RoleFrame {
            stamps: vec![0, HOUR],
            columns: [
                ("oat".to_owned(), vec![1.0, 2.0]),
                ("power".to_owned(), vec![f64::NAN, f64::NAN]),
            ]
            .into(),
            ..RoleFrame::default()
        };
        let seen = BTreeSet::from(["power".to_owned()]);
        let frame = Frame::of(&table, &seen);
        assert!(!frame.has("oat") && frame.has("power") && frame.with_data("power").is_none());
        assert_eq!(frame.roles().collect::<Vec<_>>(), ["power"]);
        assert_eq!(Frame::whole(&table).step_hours(), 1.0);
    }

    #[test]
    fn sums_are_compensated() {
        let mut mean = Mean::default();
        for value in [1e16, 1.0, 1.0, -1e16] {
            mean.add(value);
        }
        assert_eq!(mean.value(), 0.5);
        assert!(Mean::default().value().is_nan());
    }
}
