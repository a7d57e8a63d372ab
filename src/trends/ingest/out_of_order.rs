//! Records that a station wrote after later ones: late and repeated ones, or a clock that was put back.

use super::covered::{Millis, instant};

/// Fewer repeated steps than this may be records that came twice.
const FEWEST_STEPS: usize = 2;

/// Without a regular interval so many records in turn with others tell of a clock that was put back.
const FEWEST_INTERLEAVED: usize = 3;

/// Between two records of a clock that was put back lie at most so many of the first pass.
const MOST_BETWEEN: usize = 3;

/// The flag of a record whose time lies before that of one that was written earlier.
pub const FLAG: &str = "outOfOrder";

/// Times of the records that were visited, in ascending order, and which of them are flagged.
#[derive(Debug, Clone, Default)]
pub struct Arrivals {
    times: Vec<Millis>,
    flagged: Vec<usize>,
}

/// What the flags of a history mean.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutOfOrder {
    /// Records that came late or twice.
    pub late: u64,
    /// Time of the first and the last of them.
    pub between: Option<(Millis, Millis)>,
    /// Stretches of time that a clock which was put back passed twice.
    pub passed_twice: Vec<(Millis, Millis)>,
}

impl Arrivals {
    /// Adds the next record; one of the same time as the last came twice, although its time does not lie before.
    pub fn add(&mut self, time: Millis, is_flagged: bool) {
        let came_twice = self.times.last() == Some(&time)
            && self.flagged.last() != self.times.len().checked_sub(1).as_ref();
        if is_flagged || came_twice {
            self.flagged.push(self.times.len());
        }
        self.times.push(time);
    }

    /// Tells the two apart: after a clock was put back, records come twice as densely for a while; a late or repeated record
    /// stands alone.
    pub fn judge(&self, interval: Option<Millis>) -> OutOfOrder {
        let mut found = OutOfOrder::default();
        let mut judged_until = None;
        for (order, index) in self.flagged.iter().enumerate() {
            let Some(time) = self.times.get(*index).copied() else {
                continue;
            };
            if judged_until.is_some_and(|until| time <= until) {
                continue;
            }
            let until = match interval {
                Some(interval) => self.dense_until(time, interval),
                None => self.interleaved_until(order),
            };
            match until {
                Some(until) => {
                    found.passed_twice.push((time, until));
                    judged_until = Some(until);
                }
                None => found.add_late(1, time, time),
            }
        }
        found
    }

    /// The end of the time from `time` on in which there are at least two records per interval.
    fn dense_until(&self, time: Millis, interval: Millis) -> Option<Millis> {
        if interval <= 0 {
            return None;
        }
        let mut from = time.saturating_sub(interval / 2);
        let mut until = time;
        let mut steps = 0;
        loop {
            let end = from.saturating_add(interval);
            let first = self.times.partition_point(|known| *known < from);
            let behind = self.times.partition_point(|known| *known < end);
            if behind.saturating_sub(first) < 2 || end == from {
                break;
            }
            until = self.times.get(behind - 1).copied().unwrap_or(until);
            steps += 1;
            from = end;
        }
        (steps >= FEWEST_STEPS).then_some(until)
    }

    /// The last of several flagged records between each two of which there are a few others.
    fn interleaved_until(&self, order: usize) -> Option<Millis> {
        let run = self.flagged.get(order..)?;
        let in_turn = run
            .windows(2)
            .take_while(|pair| match pair {
                [one, next] => (1..=MOST_BETWEEN).contains(&(next - one - 1)),
                _ => false,
            })
            .count();
        let last = run.get(in_turn)?;
        let last = self.times.get(*last).copied()?;
        (in_turn + 1 >= FEWEST_INTERLEAVED).then_some(last)
    }
}

impl OutOfOrder {
    fn add_late(&mut self, count: u64, first: Millis, last: Millis) {
        self.late += count;
        let known = self.between.unwrap_or((first, last));
        self.between = Some((known.0.min(first), known.1.max(last)));
    }

    /// Takes over what another part of the same history told.
    pub fn add(&mut self, other: &Self) {
        if let Some((first, last)) = other.between {
            self.add_late(other.late, first, last);
        }
        self.passed_twice.extend(&other.passed_twice);
    }

    /// What late records mean, to go on behind the name of the history.
    pub fn late_remark(&self) -> Option<String> {
        let (first, last) = self.between?;
        let shown = |time| instant(time).to_rfc3339();
        Some(if self.late == 1 {
            format!(
                "holds a record that came late or twice, of {}",
                shown(first)
            )
        } else {
            format!(
                "holds {} records that came late or twice, of {} to {}",
                self.late,
                shown(first),
                shown(last)
            )
        })
    }

    /// What a clock that was put back means, to go on behind the name of the history.
    pub fn clock_remark(&self) -> Option<String> {
        let (from, until) = self.passed_twice.first()?;
        let (from, until) = (instant(*from).to_rfc3339(), instant(*until).to_rfc3339());
        Some(match self.passed_twice.len() {
            1 => format!(
                "has two records for each moment from {from} to {until}: the station's clock was put back"
            ),
            times => format!(
                "has two records for each moment of {times} stretches of time, the first from {from} to {until}: the \
                 station's clock was put back"
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUARTER: Millis = 900_000;

    /// Records at these quarters, those with a mark flagged.
    fn arrivals(records: &[(i64, bool)]) -> Arrivals {
        let mut arrivals = Arrivals::default();
        for (quarter, is_flagged) in records {
            arrivals.add(quarter * QUARTER, *is_flagged);
        }
        arrivals
    }

    fn plain(quarters: std::ops::Range<i64>) -> Vec<(i64, bool)> {
        quarters.map(|quarter| (quarter, false)).collect()
    }

    #[test]
    fn a_late_record_and_one_that_came_twice_stand_alone() {
        let mut records = plain(0..20);
        records[5].1 = true;
        records.insert(12, (11, true));
        let found = arrivals(&records).judge(Some(QUARTER));
        assert_eq!((found.late, found.passed_twice.len()), (2, 0));
        let remark = found.late_remark().expect("a remark");
        assert!(
            remark.contains("2 records") && remark.contains("late or twice"),
            "{remark}"
        );
        assert_eq!(found.clock_remark(), None);
    }

    #[test]
    fn a_record_that_came_twice_is_told_although_the_station_flags_neither() {
        for flags in [(false, false), (false, true), (true, false)] {
            let mut records = plain(0..20);
            records[11].1 = flags.0;
            records.insert(12, (11, flags.1));
            for interval in [Some(QUARTER), None] {
                let found = arrivals(&records).judge(interval);
                assert_eq!(
                    (found.late, found.between),
                    (1, Some((11 * QUARTER, 11 * QUARTER))),
                    "{flags:?} {interval:?}"
                );
            }
        }
    }

    #[test]
    fn a_batch_that_fills_a_gap_is_late() {
        let mut records = plain(0..20);
        for record in &mut records[5..12] {
            record.1 = true;
        }
        for interval in [Some(QUARTER), None] {
            let found = arrivals(&records).judge(interval);
            assert_eq!(
                (found.late, found.passed_twice.len()),
                (7, 0),
                "{interval:?}"
            );
        }
    }

    #[test]
    fn a_clock_that_was_put_back_passes_an_hour_twice_whichever_records_are_flagged() {
        for all_are_flagged in [true, false] {
            let mut records = plain(0..20);
            for again in 8..12_i64 {
                records.push((again, all_are_flagged || again == 8));
            }
            records.sort_by_key(|(quarter, _)| *quarter);
            let found = arrivals(&records).judge(Some(QUARTER));
            assert_eq!(found.late, 0, "{all_are_flagged}");
            assert_eq!(found.passed_twice, [(8 * QUARTER, 11 * QUARTER)]);
            let remark = found.clock_remark().expect("a remark");
            assert!(
                remark.contains("02:00:00") && remark.contains("put back"),
                "{remark}"
            );
        }
    }

    #[test]
    fn changes_of_two_passes_in_turn_tell_of_the_clock_and_scattered_ones_do_not() {
        let in_turn: Vec<(i64, bool)> = (0..20)
            .map(|at| (at, (6..14).contains(&at) && at % 2 == 0))
            .collect();
        let found = arrivals(&in_turn).judge(None);
        assert_eq!((found.late, found.passed_twice.len()), (0, 1));
        let scattered: Vec<(i64, bool)> = (0..60).map(|at| (at, at % 20 == 7)).collect();
        let found = arrivals(&scattered).judge(None);
        assert_eq!((found.late, found.passed_twice.len()), (3, 0));
    }

    #[test]
    fn parts_of_a_history_are_told_together() {
        let mut whole = OutOfOrder::default();
        for part in [5, 40] {
            let mut records = plain(part..part + 10);
            records[3].1 = true;
            whole.add(&arrivals(&records).judge(Some(QUARTER)));
        }
        assert_eq!(whole.late, 2);
        assert_eq!(whole.between, Some((8 * QUARTER, 43 * QUARTER)));
    }
}
