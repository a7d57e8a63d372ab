//! Periods of a day: what callers give, and the smallest changes that lead from the present ones to the wanted ones.
//!
//! The changes come in an order in which no two periods ever overlap, and a period that only moves or grows is changed in
//! place, so that the time it keeps is covered throughout: equipment does not stop for a moment because its schedule is
//! edited.

use std::fmt;

use chrono::{NaiveTime, Timelike};

use super::view::PointValue;

/// Milliseconds of a day.
const DAY: u32 = 86_400_000;

/// A time of day, midnight at its end included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimeOfDay(u32);

impl TimeOfDay {
    /// Reads `06:30`, `06:30:00` or `06:30:00.000`; as the end of a period `24:00` and `00:00` are the end of the day.
    ///
    /// # Errors
    /// What a time of day looks like.
    pub fn parse(text: &str, is_finish: bool) -> Result<Self, String> {
        let text = text.trim();
        if is_finish && ["24:00", "24:00:00", "24:00:00.000"].contains(&text) {
            return Ok(Self(DAY));
        }
        let time = ["%H:%M", "%H:%M:%S%.f"]
            .iter()
            .find_map(|form| NaiveTime::parse_from_str(text, form).ok())
            .filter(|time| time.nanosecond() < 1_000_000_000)
            .ok_or_else(|| {
                format!("'{text}' is no time of day such as 06:30 or 18:45:30; the end of the day is 24:00 as a finish")
            })?;
        Ok(match Self::of(time) {
            Self(0) if is_finish => Self(DAY),
            time => time,
        })
    }

    fn of(time: NaiveTime) -> Self {
        Self(time.num_seconds_from_midnight() * 1000 + time.nanosecond() / 1_000_000)
    }

    /// The station's form, in which the end of the day is midnight (Station web specification §5.1).
    pub(super) fn encode(self) -> String {
        let seconds = self.0 % DAY / 1000;
        format!(
            "{:02}:{:02}:{:02}.{:03}",
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60,
            self.0 % 1000
        )
    }
}

impl fmt::Display for TimeOfDay {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, rest) = (self.0 / 1000, self.0 % 1000);
        write!(
            out,
            "{:02}:{:02}:{:02}",
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60
        )?;
        match rest {
            0 => Ok(()),
            rest => write!(out, ".{rest:03}"),
        }
    }
}

/// A span of a day and what the schedule puts out in it.
#[derive(Debug, Clone, PartialEq)]
pub struct SchedulePeriod {
    pub start: TimeOfDay,
    /// Not included.
    pub finish: TimeOfDay,
    /// None puts out the null value.
    pub value: Option<PointValue>,
}

impl SchedulePeriod {
    fn overlap(&self, other: &Self) -> u32 {
        let start = self.start.max(other.start);
        let finish = self.finish.min(other.finish);
        finish.0.saturating_sub(start.0)
    }

    fn same_value(&self, other: &Self) -> bool {
        match (&self.value, &other.value) {
            (
                Some(PointValue::Enum {
                    ordinal: Some(one), ..
                }),
                Some(PointValue::Enum {
                    ordinal: Some(two), ..
                }),
            ) => one == two,
            (one, two) => one == two,
        }
    }

    pub(super) fn same(&self, other: &Self) -> bool {
        (self.start, self.finish) == (other.start, other.finish) && self.same_value(other)
    }

    /// Whether it covers a time of day.
    pub(super) fn covers(&self, time: NaiveTime) -> bool {
        let time = TimeOfDay::of(time);
        self.start <= time && time < self.finish
    }
}

/// Whether two programs of a day are the same.
pub(super) fn same_periods(one: &[SchedulePeriod], two: &[SchedulePeriod]) -> bool {
    one.len() == two.len() && one.iter().zip(two).all(|(one, two)| one.same(two))
}

/// Periods in the order of the day.
///
/// # Errors
/// One that ends before it begins, or two that overlap.
pub(super) fn in_order(mut periods: Vec<SchedulePeriod>) -> Result<Vec<SchedulePeriod>, String> {
    for period in &periods {
        if period.start >= period.finish {
            return Err(format!(
                "the period from {} to {} ends before it begins; one over midnight is written as two, up to 24:00 and from 00:00",
                period.start, period.finish
            ));
        }
    }
    periods.sort_by_key(|period| period.start);
    for pair in periods.windows(2) {
        if let [one, two] = pair
            && one.overlap(two) > 0
        {
            return Err(format!(
                "the periods {}–{} and {}–{} overlap; end the first where the second begins",
                one.start, one.finish, two.start, two.finish
            ));
        }
    }
    Ok(periods)
}

/// One change of a day; `at` is the place of the period among the present ones.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PeriodChange {
    SetStart { at: usize, to: TimeOfDay },
    SetFinish { at: usize, to: TimeOfDay },
    SetValue { at: usize, to: Option<PointValue> },
    Remove { at: usize },
    Add(SchedulePeriod),
}

/// The changes from `old` to `new`, which is in order and without overlaps.
pub(super) fn changes(old: &[SchedulePeriod], new: &[SchedulePeriod]) -> Vec<PeriodChange> {
    let mut partner: Vec<Option<usize>> = vec![None; old.len()];
    let mut is_new: Vec<bool> = vec![true; new.len()];
    let mut pair = |fits: &dyn Fn(&SchedulePeriod, &SchedulePeriod) -> bool| {
        for (place, wanted) in new.iter().enumerate() {
            if !is_new.get(place).copied().unwrap_or_default() {
                continue;
            }
            let best = old
                .iter()
                .enumerate()
                .filter(|(at, held)| {
                    partner.get(*at).is_some_and(Option::is_none) && fits(held, wanted)
                })
                .max_by_key(|(_, held)| held.overlap(wanted))
                .map(|(at, _)| at);
            if let (Some(at), Some(is_new)) = (best, is_new.get_mut(place)) {
                *is_new = false;
                if let Some(partner) = partner.get_mut(at) {
                    *partner = Some(place);
                }
            }
        }
    };
    pair(&|held, wanted| held.same(wanted));
    pair(&|held, wanted| held.overlap(wanted) > 0 && held.same_value(wanted));
    pair(&|held, wanted| held.overlap(wanted) > 0);
    let (mut shrunk, mut removed, mut valued, mut grown) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (at, (held, partner)) in old.iter().zip(&partner).enumerate() {
        let Some(wanted) = partner.and_then(|place| new.get(place)) else {
            removed.push(PeriodChange::Remove { at });
            continue;
        };
        if wanted.start != held.start {
            let list = if wanted.start > held.start {
                &mut shrunk
            } else {
                &mut grown
            };
            let to = wanted.start;
            list.push(PeriodChange::SetStart { at, to });
        }
        if wanted.finish != held.finish {
            let list = if wanted.finish < held.finish {
                &mut shrunk
            } else {
                &mut grown
            };
            let to = wanted.finish;
            list.push(PeriodChange::SetFinish { at, to });
        }
        if !held.same_value(wanted) {
            let to = wanted.value.clone();
            valued.push(PeriodChange::SetValue { at, to });
        }
    }
    let added = new
        .iter()
        .zip(&is_new)
        .filter(|(_, is_new)| **is_new)
        .map(|(period, _)| PeriodChange::Add(period.clone()));
    shrunk
        .into_iter()
        .chain(removed)
        .chain(valued)
        .chain(grown)
        .chain(added)
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn period(start: &str, finish: &str, value: bool) -> SchedulePeriod {
        SchedulePeriod {
            start: TimeOfDay::parse(start, false).expect("a time"),
            finish: TimeOfDay::parse(finish, true).expect("a time"),
            value: Some(PointValue::Boolean(value)),
        }
    }

    #[test]
    fn times_are_read_and_written_in_the_forms_of_people_and_stations() {
        for (text, is_finish, shown, encoded) in [
            ("06:30", false, "06:30:00", "06:30:00.000"),
            ("06:30:15.5", false, "06:30:15.500", "06:30:15.500"),
            ("24:00", true, "24:00:00", "00:00:00.000"),
            ("00:00", true, "24:00:00", "00:00:00.000"),
            ("00:00", false, "00:00:00", "00:00:00.000"),
        ] {
            let time = TimeOfDay::parse(text, is_finish).expect("a time");
            assert_eq!(
                (time.to_string().as_str(), time.encode().as_str()),
                (shown, encoded)
            );
        }
        for text in ["", "6", "25:00", "06:60", "24:00", "06:30:61", "noon"] {
            let error = TimeOfDay::parse(text, false).expect_err("no time");
            assert!(error.contains("no time of day"), "{error}");
        }
    }

    #[test]
    fn periods_that_overlap_or_run_backwards_are_named() {
        let overlap = vec![
            period("08:00", "12:00", true),
            period("06:00", "08:30", true),
        ];
        let error = in_order(overlap).expect_err("overlap");
        assert!(
            error.contains("06:00:00–08:30:00 and 08:00:00–12:00:00 overlap"),
            "{error}"
        );
        let error = in_order(vec![period("22:00", "06:00", true)]).expect_err("over midnight");
        assert!(error.contains("up to 24:00"), "{error}");
        let touching = vec![
            period("12:00", "24:00", true),
            period("00:00", "12:00", true),
        ];
        let ordered = in_order(touching).expect("they only touch");
        assert_eq!(ordered[0].start.to_string(), "00:00:00");
    }

    #[test]
    fn a_longer_day_is_one_change_of_the_period_that_is_there() {
        let old = [period("06:30", "19:00", true)];
        let found = changes(&old, &[period("06:30", "20:00", true)]);
        let to = TimeOfDay::parse("20:00", true).expect("a time");
        assert_eq!(found, [PeriodChange::SetFinish { at: 0, to }]);
        assert_eq!(changes(&old, &old), []);
        let split = [
            period("06:30", "12:00", true),
            period("12:00", "19:00", false),
        ];
        let found = changes(&old, &split);
        assert_eq!(found.len(), 2, "the end moves, and one is added: {found:?}");
        assert!(matches!(found[1], PeriodChange::Add(_)));
    }

    fn any_day() -> impl Strategy<Value = Vec<SchedulePeriod>> {
        proptest::collection::btree_set(0_u32..=24, 0..9).prop_flat_map(|marks| {
            let marks: Vec<u32> = marks.into_iter().collect();
            proptest::collection::vec(any::<Option<bool>>(), marks.len()).prop_map(move |values| {
                let spans = marks.windows(2).zip(values);
                spans
                    .filter_map(|(span, value)| {
                        let hour =
                            |at: usize| TimeOfDay(span.get(at).copied().unwrap_or(0) * 3_600_000);
                        Some(SchedulePeriod {
                            start: hour(0),
                            finish: hour(1),
                            value: Some(PointValue::Boolean(value?)),
                        })
                    })
                    .collect()
            })
        })
    }

    fn value_at(periods: &[SchedulePeriod], hour: u32) -> Option<&SchedulePeriod> {
        let time = NaiveTime::from_hms_opt(hour, 30, 0)?;
        periods.iter().find(|period| period.covers(time))
    }

    proptest! {
        #[test]
        fn every_step_keeps_the_day_sound_and_the_last_one_makes_it_as_wanted(
            old in any_day(), new in any_day(),
        ) {
            let mut present: Vec<Option<SchedulePeriod>> = old.iter().cloned().map(Some).collect();
            for change in changes(&old, &new) {
                match change {
                    PeriodChange::SetStart { at, to } => present[at].as_mut().expect("there").start = to,
                    PeriodChange::SetFinish { at, to } => present[at].as_mut().expect("there").finish = to,
                    PeriodChange::SetValue { at, to } => present[at].as_mut().expect("there").value = to,
                    PeriodChange::Remove { at } => present[at] = None,
                    PeriodChange::Add(period) => present.push(Some(period)),
                }
                let day: Vec<SchedulePeriod> = present.iter().flatten().cloned().collect();
                prop_assert!(in_order(day.clone()).is_ok(), "{day:?}");
                for hour in 0..24 {
                    let (before, after) = (value_at(&old, hour), value_at(&new, hour));
                    let keeps = |one: &SchedulePeriod, two: &SchedulePeriod| one.value == two.value;
                    let (Some(before), Some(after)) = (before, after) else { continue };
                    let moved_only = old.len() == 1 && new.len() == 1;
                    if moved_only && keeps(before, after) {
                        prop_assert!(value_at(&day, hour).is_some_and(|now| keeps(now, after)));
                    }
                }
            }
            let mut day: Vec<SchedulePeriod> = present.into_iter().flatten().collect();
            day.sort_by_key(|period| period.start);
            prop_assert!(same_periods(&day, &new), "{day:?} is not {new:?}");
        }
    }
}
