//! Which stretches of a history have been read.

use chrono::{DateTime, TimeDelta, Utc};

/// Milliseconds since 1970, the precision of a station's records.
pub type Millis = i64;

/// A stretch of time, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Stretch {
    pub from: Millis,
    pub to: Millis,
}

impl Stretch {
    /// None when it ends before it begins.
    pub fn new(from: Millis, to: Millis) -> Option<Self> {
        (from <= to).then_some(Self { from, to })
    }

    /// First instant.
    pub fn begin(self) -> DateTime<Utc> {
        instant(self.from)
    }

    /// Last instant.
    pub fn end(self) -> DateTime<Utc> {
        instant(self.to)
    }

    pub fn length(self) -> TimeDelta {
        self.end() - self.begin()
    }
}

/// The instant of a number of milliseconds; the nearest one that exists.
pub fn instant(millis: Millis) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(millis).unwrap_or(if millis < 0 {
        DateTime::<Utc>::MIN_UTC
    } else {
        DateTime::<Utc>::MAX_UTC
    })
}

/// Stretches in ascending order that neither overlap nor touch.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(from = "Vec<Stretch>", into = "Vec<Stretch>")]
pub struct Covered(Vec<Stretch>);

impl From<Vec<Stretch>> for Covered {
    fn from(stretches: Vec<Stretch>) -> Self {
        let mut covered = Self::default();
        for stretch in stretches {
            if let Some(stretch) = Stretch::new(stretch.from, stretch.to) {
                covered.add(stretch);
            }
        }
        covered
    }
}

impl From<Covered> for Vec<Stretch> {
    fn from(covered: Covered) -> Self {
        covered.0
    }
}

impl Covered {
    /// Counts a stretch as read.
    pub fn add(&mut self, mut added: Stretch) {
        self.0.retain(|known| {
            let apart =
                known.to < added.from.saturating_sub(1) || known.from > added.to.saturating_add(1);
            if !apart {
                added.from = added.from.min(known.from);
                added.to = added.to.max(known.to);
            }
            apart
        });
        let at = self.0.partition_point(|known| known.from < added.from);
        self.0.insert(at, added);
    }

    /// What of a stretch has not been read, in ascending order.
    pub fn missing(&self, wanted: Stretch) -> Vec<Stretch> {
        let mut missing = Vec::new();
        let mut from = wanted.from;
        for known in &self.0 {
            if known.to < from {
                continue;
            }
            if known.from > wanted.to {
                break;
            }
            missing.extend(Stretch::new(from, known.from.saturating_sub(1)));
            from = known.to.saturating_add(1);
        }
        missing.extend(Stretch::new(from, wanted.to));
        missing
    }

    /// The last millisecond that was read.
    pub fn last(&self) -> Option<Millis> {
        self.0.last().map(|known| known.to)
    }

    /// The first millisecond that was read.
    pub fn first(&self) -> Option<Millis> {
        self.0.first().map(|known| known.from)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stretch(from: Millis, to: Millis) -> Stretch {
        Stretch { from, to }
    }

    #[test]
    fn a_backfill_asks_for_what_is_missing_before_and_after() {
        let mut covered = Covered::default();
        assert_eq!(covered.missing(stretch(0, 9)), [stretch(0, 9)]);
        covered.add(stretch(10, 20));
        covered.add(stretch(40, 50));
        assert_eq!(
            covered.missing(stretch(0, 60)),
            [stretch(0, 9), stretch(21, 39), stretch(51, 60)]
        );
        assert_eq!(covered.missing(stretch(12, 18)), []);
        covered.add(stretch(21, 39));
        assert_eq!(covered, Covered(vec![stretch(10, 50)]));
        assert_eq!((covered.first(), covered.last()), (Some(10), Some(50)));
    }

    proptest! {
        #[test]
        fn what_was_read_and_what_is_missing_make_up_the_whole(
            read in proptest::collection::vec((0i64..60, 0i64..12), 0..8), from in 0i64..60, length in 0i64..60,
        ) {
            let mut covered = Covered::default();
            for (from, length) in &read {
                covered.add(stretch(*from, from + length));
            }
            let wanted = stretch(from, from + length);
            let missing = covered.missing(wanted);
            for millis in wanted.from..=wanted.to {
                let was_read = read.iter().any(|(from, length)| (*from..=from + length).contains(&millis));
                let is_missing = missing.iter().any(|gap| (gap.from..=gap.to).contains(&millis));
                prop_assert_ne!(was_read, is_missing, "{}", millis);
            }
        }
    }
}
