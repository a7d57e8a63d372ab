//! The samples of one equipment, role by role, as they are stored (Store §5 step 1).

use std::collections::BTreeMap;

use super::Window;
use super::frame::{self, RoleFrame};
use crate::knowledge::camber_roles::camber_role_named;

/// Samples of one role, sorted by stamp; equal stamps stay as often and in the order in which the parts hold them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RoleSeries {
    /// Nanoseconds of the site's wall clock since 1970-01-01T00:00.
    pub stamps: Vec<i64>,
    /// In the unit of the role; NaN only in parts of foreign writers.
    pub values: Vec<f64>,
}

impl RoleSeries {
    /// Number of samples.
    pub fn len(&self) -> usize {
        self.stamps.len()
    }

    /// Whether there is no sample.
    pub fn is_empty(&self) -> bool {
        self.stamps.is_empty()
    }

    /// Stamp and value of each sample.
    pub fn samples(&self) -> impl Iterator<Item = (i64, f64)> + '_ {
        self.stamps.iter().copied().zip(self.values.iter().copied())
    }

    pub(super) fn push(&mut self, stamp: i64, value: f64) {
        self.stamps.push(stamp);
        self.values.push(value);
    }

    /// Adds those of a window.
    pub(super) fn extend_within(&mut self, window: Window, stamps: &[i64], values: &[f64]) {
        if stamps.iter().all(|stamp| window.contains(*stamp)) {
            self.stamps.extend_from_slice(stamps);
            self.values.extend_from_slice(values);
            return;
        }
        for (stamp, value) in stamps.iter().zip(values) {
            if window.contains(*stamp) {
                self.push(*stamp, *value);
            }
        }
    }

    /// Brings the samples into the order of their stamps; canonical parts are in that order already.
    pub(super) fn sort(&mut self) {
        if self.stamps.is_sorted() {
            return;
        }
        let mut samples: Vec<(i64, f64)> = self.samples().collect();
        samples.sort_by_key(|(stamp, _)| *stamp);
        (self.stamps, self.values) = samples.into_iter().unzip();
    }
}

/// The samples of one equipment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EquipmentSeries {
    pub equip: String,
    /// The first non-empty class in the parts that were read, `""` when there is none.
    pub equip_class: String,
    /// By role slug; roles without a sample are left out.
    pub roles: BTreeMap<String, RoleSeries>,
}

impl EquipmentSeries {
    /// The unit in which the store holds a role, for example `degF`; none for slugs outside of the vocabulary.
    pub fn unit(role: &str) -> Option<&'static str> {
        camber_role_named(role).map(|known| known.unit.as_str())
    }

    /// First and last stamp of all roles.
    pub fn span(&self) -> Option<(i64, i64)> {
        let first = self
            .roles
            .values()
            .filter_map(|role| role.stamps.first())
            .min()?;
        let last = self
            .roles
            .values()
            .filter_map(|role| role.stamps.last())
            .max()?;
        Some((*first, *last))
    }

    /// Duplicates merged and one column per role (Store §5 steps 2, 3).
    pub fn frame(&self) -> RoleFrame {
        frame::pivot(self)
    }
}
