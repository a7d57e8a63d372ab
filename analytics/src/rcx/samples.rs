//! Flagged samples of findings on a common time line (RCx report §3.4, §3.8).

use std::collections::BTreeMap;

use crate::frame::RoleFrame;
use crate::gates::Gate;
use crate::numeric::{median_step, nanos, round, share_of};
use crate::wall_clock::HOUR;

/// Flagged samples; stamps sorted, one flag each.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Mask {
    pub stamps: Vec<i64>,
    pub flags: Vec<bool>,
}

impl Mask {
    /// A mask over the rows of a frame.
    pub fn of(table: &RoleFrame, flags: &[bool]) -> Self {
        Self {
            stamps: table.stamps.clone(),
            flags: flags.to_vec(),
        }
    }

    /// Where any of several is set, over all their stamps.
    pub fn union<'m>(masks: impl IntoIterator<Item = &'m Self>) -> Self {
        let mut flags: BTreeMap<i64, bool> = BTreeMap::new();
        for mask in masks {
            for (stamp, flag) in mask.stamps.iter().zip(&mask.flags) {
                *flags.entry(*stamp).or_default() |= *flag;
            }
        }
        let (stamps, flags) = flags.into_iter().unzip();
        Self { stamps, flags }
    }

    /// Only while a gate over a frame is open; as it is without one.
    #[must_use]
    pub fn gated(mut self, table: &RoleFrame, gate: Option<&Gate>) -> Self {
        let Some(gate) = gate else {
            return self;
        };
        let mut rows = table.stamps.iter().zip(&gate.mask).peekable();
        for (stamp, flag) in self.stamps.iter().zip(&mut self.flags) {
            while rows.next_if(|(known, _)| *known < stamp).is_some() {}
            let open = rows
                .peek()
                .is_some_and(|(known, open)| *known == stamp && **open);
            *flag &= open;
        }
        self
    }

    /// How many samples are set.
    pub fn count(&self) -> usize {
        self.flags.iter().filter(|flag| **flag).count()
    }

    /// How many samples are set in both.
    pub fn common(&self, other: &Self) -> usize {
        let mut others = other.set().peekable();
        self.set()
            .filter(|stamp| {
                while others.next_if(|known| known < stamp).is_some() {}
                others.peek() == Some(stamp)
            })
            .count()
    }

    fn set(&self) -> impl Iterator<Item = i64> + '_ {
        self.stamps
            .iter()
            .zip(&self.flags)
            .filter(|(_, flag)| **flag)
            .map(|(stamp, _)| *stamp)
    }

    /// Hours of the samples that are set, two decimals.
    pub fn hours(&self) -> f64 {
        hours(self.count(), &self.stamps)
    }
}

/// Hours of so many samples of a time line, two decimals.
pub(super) fn hours(count: usize, stamps: &[i64]) -> f64 {
    let step = median_step(stamps).map_or(0.0, |step| step / nanos(HOUR));
    round(share_of(count) * step, 2)
}

/// How far two sets of samples are the same time: the part that both have, of each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Overlap {
    pub common: usize,
    pub of_first: f64,
    pub of_second: f64,
}

impl Overlap {
    /// Two sets that are less the same are of other hours.
    const LEAST: f64 = 0.25;

    /// The overlap; none when either set is empty.
    pub fn of(first: &Mask, second: &Mask) -> Option<Self> {
        let (one, other) = (first.count(), second.count());
        if one == 0 || other == 0 {
            return None;
        }
        let common = first.common(second);
        Some(Self {
            common,
            of_first: share_of(common) / share_of(one),
            of_second: share_of(common) / share_of(other),
        })
    }

    /// Whether the two are of the same hours.
    pub fn is_enough(&self) -> bool {
        self.of_first.max(self.of_second) >= Self::LEAST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask(from: i64, flags: &[u8]) -> Mask {
        Mask {
            stamps: (from..).take(flags.len()).map(|hour| hour * HOUR).collect(),
            flags: flags.iter().map(|flag| *flag == 1).collect(),
        }
    }

    #[test]
    fn members_count_every_hour_once_and_only_while_the_fan_runs() {
        let (one, other) = (mask(0, &[1, 1, 0, 0]), mask(1, &[1, 1, 1, 1]));
        let union = Mask::union([&one, &other]);
        assert_eq!((union.count(), union.hours()), (5, 5.0));
        let table = RoleFrame {
            stamps: vec![0, HOUR, 2 * HOUR],
            ..RoleFrame::default()
        };
        let gate = Gate {
            mask: vec![false, true, true],
            source: "fan status",
        };
        assert_eq!(union.clone().gated(&table, Some(&gate)).hours(), 2.0);
        assert_eq!(union.clone().gated(&table, None), union);
    }

    #[test]
    fn the_larger_part_decides_whether_hours_are_the_same() {
        let long = mask(0, &[1; 20]);
        let short = mask(18, &[1, 1, 1, 1]);
        let overlap = Overlap::of(&long, &short).unwrap();
        assert_eq!(
            (overlap.common, overlap.of_first, overlap.of_second),
            (2, 0.1, 0.5)
        );
        assert!(overlap.is_enough());
        assert!(
            !Overlap::of(&long, &mask(19, &[1, 1, 1, 1, 1]))
                .unwrap()
                .is_enough()
        );
        assert_eq!(Overlap::of(&long, &mask(0, &[0, 0])), None);
    }
}
