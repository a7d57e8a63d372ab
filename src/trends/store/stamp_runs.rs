//! The stamps of a point as runs of equal steps: a year of a point trended every 15 minutes is one run.

/// `count` stamps from `first`, `step` apart; the step of a single stamp is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    pub first: i64,
    pub step: i64,
    pub count: u64,
}

impl Run {
    fn last(self) -> i64 {
        // The run was built from stamps, so its last one is a stamp too.
        let steps = i64::try_from(self.count.saturating_sub(1)).unwrap_or(i64::MAX);
        self.first.saturating_add(self.step.saturating_mul(steps))
    }
}

/// Distinct stamps in ascending order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StampRuns {
    runs: Vec<Run>,
    count: u64,
}

impl StampRuns {
    /// Takes stamps in any order.
    ///
    /// ```
    /// use niagara_bridge::trends::store::StampRuns;
    /// let stamps = StampRuns::from_stamps(vec![30, 10, 20, 20, 100]);
    /// assert_eq!((stamps.len(), stamps.first(), stamps.last()), (4, Some(10), Some(100)));
    /// assert_eq!(stamps.differences().collect::<Vec<_>>(), [(10, 2), (70, 1)]);
    /// ```
    pub fn from_stamps(mut stamps: Vec<i64>) -> Self {
        stamps.sort_unstable();
        let mut runs = Self::default();
        for stamp in stamps {
            runs.push(stamp);
        }
        runs
    }

    /// Number of distinct stamps.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Whether there is no stamp.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The first stamp.
    pub fn first(&self) -> Option<i64> {
        self.runs.first().map(|run| run.first)
    }

    /// The last stamp.
    pub fn last(&self) -> Option<i64> {
        self.runs.last().map(|run| run.last())
    }

    /// The runs.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Every stamp.
    pub fn stamps(&self) -> impl Iterator<Item = i64> + '_ {
        self.runs.iter().flat_map(|run| {
            (0..run.count).scan(run.first, |next, _| {
                let stamp = *next;
                *next = next.saturating_add(run.step);
                Some(stamp)
            })
        })
    }

    /// The differences of neighbouring stamps in their order, each with the number of times that it follows itself.
    pub fn differences(&self) -> impl Iterator<Item = (i64, u64)> + '_ {
        let mut before: Option<i64> = None;
        self.runs.iter().flat_map(move |run| {
            let leap = before.map(|last| (run.first.saturating_sub(last), 1));
            before = Some(run.last());
            let within = (run.count > 1).then_some((run.step, run.count - 1));
            leap.into_iter().chain(within)
        })
    }

    /// Neighbours further apart than `limit`: (stamp before, stamp after).
    pub fn leaps(&self, limit: i64) -> impl Iterator<Item = (i64, i64)> + '_ {
        let mut before: Option<i64> = None;
        self.runs.iter().flat_map(move |run| {
            let leap = before
                .map(|last| (last, run.first))
                .filter(|(last, first)| first.saturating_sub(*last) > limit);
            before = Some(run.last());
            let steps = if run.step > limit {
                run.count.saturating_sub(1)
            } else {
                0
            };
            let within = (0..steps).scan(run.first, move |from, _| {
                let pair = (*from, from.saturating_add(run.step));
                *from = pair.1;
                Some(pair)
            });
            leap.into_iter().chain(within)
        })
    }

    /// Adds a stamp that is not before the last one; false, and nothing added, when it is.
    pub(super) fn push(&mut self, stamp: i64) -> bool {
        let Some(run) = self.runs.last_mut() else {
            self.start(stamp);
            return true;
        };
        let last = run.last();
        if stamp <= last {
            return stamp == last;
        }
        match stamp.checked_sub(last) {
            Some(step) if run.count == 1 || step == run.step => {
                run.step = step;
                run.count += 1;
                self.count += 1;
            }
            _ => self.start(stamp),
        }
        true
    }

    fn start(&mut self, first: i64) {
        self.runs.push(Run {
            first,
            step: 0,
            count: 1,
        });
        self.count += 1;
    }

    /// Adds the stamps of another list.
    pub(super) fn merge(&mut self, other: Self) {
        let (Some(last), Some(first)) = (self.last(), other.first()) else {
            if self.is_empty() {
                *self = other;
            }
            return;
        };
        if first > last {
            self.append(other);
            return;
        }
        let all = self.stamps().chain(other.stamps()).collect();
        *self = Self::from_stamps(all);
    }

    /// Adds a list that begins after this one ends.
    fn append(&mut self, other: Self) {
        let mut runs = other.runs.into_iter();
        let Some(head) = runs.next() else { return };
        // Month joins month: the step goes on across the border.
        let joins = self.runs.last().is_some_and(|run| {
            run.count > 1
                && (head.count == 1 || head.step == run.step)
                && head.first.checked_sub(run.last()) == Some(run.step)
        });
        match self.runs.last_mut() {
            Some(run) if joins => run.count += head.count,
            _ => self.runs.push(head),
        }
        self.runs.extend(runs);
        self.count += other.count;
    }
}

/// Collects stamps that mostly come in order.
#[derive(Debug, Default)]
pub(super) struct StampCollector {
    ordered: StampRuns,
    stray: Vec<i64>,
}

impl StampCollector {
    pub(super) fn add(&mut self, stamp: i64) {
        if !self.ordered.push(stamp) {
            self.stray.push(stamp);
        }
    }

    /// Adds what the next batch of the same part brought.
    pub(super) fn join(&mut self, next: Self) {
        self.ordered.merge(next.ordered);
        self.stray.extend(next.stray);
    }

    pub(super) fn finish(mut self) -> StampRuns {
        if !self.stray.is_empty() {
            self.ordered.merge(StampRuns::from_stamps(self.stray));
        }
        self.ordered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(stamps: &[i64]) -> StampRuns {
        StampRuns::from_stamps(stamps.to_vec())
    }

    #[test]
    fn a_regular_point_is_one_run_across_months() {
        let mut january = of(&[0, 15, 30, 45]);
        january.merge(of(&[60, 75, 90]));
        assert_eq!(
            january.runs(),
            [Run {
                first: 0,
                step: 15,
                count: 7
            }]
        );
        january.merge(of(&[105]));
        assert_eq!((january.runs().len(), january.len()), (1, 8));
    }

    #[test]
    fn lists_that_overlap_become_one_without_duplicates() {
        let mut list = of(&[0, 10, 20]);
        list.merge(of(&[5, 10, 40]));
        assert_eq!(list.stamps().collect::<Vec<_>>(), [0, 5, 10, 20, 40]);
        assert_eq!(list.len(), 5);
        let mut empty = StampRuns::default();
        empty.merge(list.clone());
        assert_eq!(empty, list);
        list.merge(StampRuns::default());
        assert_eq!(empty, list);
    }

    #[test]
    fn leaps_and_differences_are_those_of_the_stamps() {
        let stamps = [0, 60, 90, 150, 180, 840, 1500];
        let list = of(&stamps);
        let flat: Vec<i64> = list
            .differences()
            .flat_map(|(step, count)| std::iter::repeat_n(step, usize::try_from(count).unwrap()))
            .collect();
        assert_eq!(flat, [60, 30, 60, 30, 660, 660]);
        assert_eq!(
            list.leaps(100).collect::<Vec<_>>(),
            [(180, 840), (840, 1500)]
        );
        assert_eq!(list.leaps(660).count(), 0);
    }

    #[test]
    fn stamps_out_of_order_are_not_lost() {
        let mut collector = StampCollector::default();
        for stamp in [10, 20, 5, 20, 30, 7] {
            collector.add(stamp);
        }
        assert_eq!(
            collector.finish().stamps().collect::<Vec<_>>(),
            [5, 7, 10, 20, 30]
        );
    }

    #[test]
    fn extreme_stamps_do_not_overflow() {
        let list = of(&[i64::MIN, i64::MAX]);
        assert_eq!(list.len(), 2);
        assert_eq!(list.first(), Some(i64::MIN));
        assert_eq!(list.last(), Some(i64::MAX));
        assert_eq!(list.leaps(0).collect::<Vec<_>>(), [(i64::MIN, i64::MAX)]);
    }
}
