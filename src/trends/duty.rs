//! States that hold until the next event, as the share of each bin in which they were on (Store §11).

use chrono::{DateTime, Offset, TimeZone, Utc};

use super::site_time::SiteClock;
use super::store::BinWidth;
use super::store::wall_clock::{MINUTE, stamp_of};

/// Milliseconds since 1970, the precision of a station's records.
type Millis = i64;

const NANOS_PER_MILLI: i64 = 1_000_000;

/// Roles of which a bin that was on at any time counts as on (Store §10.1).
const ANY_ON: [&str; 2] = ["warmup", "cooldown"];

/// Width of the bins where neither the station nor a person names another: a quarter of an hour (Store §11.2).
pub fn usual_bins() -> BinWidth {
    BinWidth::from_nanos(15 * MINUTE).unwrap_or(BinWidth::HOUR)
}

/// Equal steps of a site's wall clock, as stretches of real time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SiteBins {
    clock: SiteClock,
    width: Millis,
    /// A time of the wall clock at which a bin begins.
    anchor: Millis,
}

/// One step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SiteBin {
    pub begin: Millis,
    /// The first millisecond that is not in the bin.
    pub end: Millis,
    /// What the clock shows at its begin, in milliseconds.
    label: Millis,
}

impl SiteBin {
    /// The stamp of the bin; none outside of the years that a store can hold.
    pub fn stamp(self) -> Option<i64> {
        stamp_of(DateTime::from_timestamp_millis(self.label)?.naive_utc())
    }
}

impl SiteBins {
    /// Bins that begin at midnight.
    ///
    /// ```
    /// use niagara_bridge::trends::duty::SiteBins;
    /// use niagara_bridge::trends::site_time::SiteClock;
    /// use niagara_bridge::trends::store::BinWidth;
    /// let kathmandu = SiteBins::new(SiteClock::new(chrono_tz::Asia::Kathmandu), BinWidth::HOUR);
    /// // 00:15 of UTC is 06:00 there.
    /// assert_eq!(kathmandu.at(1_772_324_100_000).begin, 1_772_324_100_000);
    /// ```
    pub fn new(clock: SiteClock, width: BinWidth) -> Self {
        Self {
            clock,
            width: (width.nanos() / NANOS_PER_MILLI).max(1),
            anchor: 0,
        }
    }

    /// Bins of stamps without a zone, the first of which begins at `anchor` (Store §5 step 4).
    pub fn of_stamps(width: BinWidth, anchor: i64) -> Self {
        Self {
            anchor: anchor.div_euclid(NANOS_PER_MILLI),
            ..Self::new(SiteClock::new(chrono_tz::UTC), width)
        }
    }

    /// The bin of an instant. One in which the clock is put forward or back ends there, and another begins.
    pub fn at(self, instant: Millis) -> SiteBin {
        let offset = self.offset(instant);
        let shown = instant.saturating_add(offset);
        let label = shown.saturating_sub(shown.saturating_sub(self.anchor).rem_euclid(self.width));
        let mut begin = label.saturating_sub(offset);
        let mut end = begin.saturating_add(self.width);
        if self.offset(begin) != offset {
            begin = self.first_with(offset, begin, instant);
        }
        if self.offset(end.saturating_sub(1)) != offset {
            end = self.first_without(offset, instant, end);
        }
        SiteBin {
            begin,
            end,
            // Both parts of a bin that a change of the clock cuts carry the label of the whole.
            label,
        }
    }

    /// First millisecond of the bins that lie wholly in `from..end`, and the end of them; none when there is none.
    pub fn whole(self, from: Millis, end: Millis) -> Option<(Millis, Millis)> {
        let first = self.at(from);
        let from = if first.begin == from { from } else { first.end };
        let end = self.at(end).begin;
        (from < end).then_some((from, end))
    }

    fn offset(self, instant: Millis) -> Millis {
        let utc =
            DateTime::<Utc>::from_timestamp_millis(instant).map(|instant| instant.naive_utc());
        let seconds = utc.map_or(0, |utc| {
            let offset = self.clock.zone().offset_from_utc_datetime(&utc);
            offset.fix().local_minus_utc()
        });
        i64::from(seconds) * 1000
    }

    /// The first instant after `without` that has the offset which `with` has.
    fn first_with(self, offset: Millis, mut without: Millis, mut with: Millis) -> Millis {
        while with - without > 1 {
            let middle = without + (with - without) / 2;
            if self.offset(middle) == offset {
                with = middle;
            } else {
                without = middle;
            }
        }
        with
    }

    /// The first instant after `with` that has another offset than it.
    fn first_without(self, offset: Millis, mut with: Millis, mut without: Millis) -> Millis {
        while without - with > 1 {
            let middle = with + (without - with) / 2;
            if self.offset(middle) == offset {
                with = middle;
            } else {
                without = middle;
            }
        }
        without
    }
}

/// Turns events into one value per bin: the time that the state was on as a share of the time in which it is known.
#[derive(Debug, Clone)]
pub struct StateDuty {
    bins: SiteBins,
    /// A bin counts as on when the state was on at any time.
    any_on: bool,
    /// What holds from `at` on; none when nobody knows.
    held: Option<f64>,
    at: Millis,
    bin: SiteBin,
    on: f64,
    known: f64,
    greatest: f64,
    /// Stamps and values of the bins that are complete and of which something is known.
    pub stamps: Vec<i64>,
    pub values: Vec<f64>,
}

impl StateDuty {
    /// Begins at the bin of `from` with the state that holds there, if one is known.
    pub fn new(bins: SiteBins, role: &str, from: Millis, held: Option<f64>) -> Self {
        let bin = bins.at(from);
        Self {
            bins,
            any_on: ANY_ON.contains(&role),
            held,
            at: from,
            bin,
            on: 0.0,
            known: 0.0,
            greatest: 0.0,
            stamps: Vec::new(),
            values: Vec::new(),
        }
    }

    /// The state that holds where the reading begins, told by an event before it.
    pub fn begin_with(&mut self, state: Option<f64>) {
        self.held = state;
    }

    /// From `when` on the state is another one, or not known. An event before one that was told already is left out.
    pub fn change(&mut self, when: Millis, state: Option<f64>) {
        if when >= self.at {
            self.advance(when);
            self.held = state;
        }
    }

    /// Says that nothing changed up to `to`.
    pub fn advance(&mut self, to: Millis) {
        while self.at < to {
            let until = self.bin.end.min(to);
            match self.held {
                Some(value) => {
                    let span = (until - self.at) as f64;
                    self.on += value * span;
                    self.known += span;
                    self.greatest = self.greatest.max(value);
                }
                None if until < to && self.known == 0.0 => {
                    // Nothing is known of all bins before that of `to`.
                    self.bin = self.bins.at(to);
                    self.at = self.bin.begin.max(until);
                    continue;
                }
                None => {}
            }
            self.at = until;
            if until == self.bin.end {
                self.finish_bin();
                self.bin = self.bins.at(until);
            }
        }
    }

    /// Holds the last state to the end of its bin, as of a log that tells no more (Store §11).
    pub fn close(&mut self) {
        if self.at > self.bin.begin || self.held.is_some() {
            self.advance(self.bin.end);
        }
    }

    /// The begin of the bin that is not complete yet: all before it is told.
    pub fn settled(&self) -> Millis {
        self.bin.begin
    }

    fn finish_bin(&mut self) {
        if self.known > 0.0
            && let Some(stamp) = self.bin.stamp()
        {
            self.stamps.push(stamp);
            self.values.push(if self.any_on {
                self.greatest
            } else {
                self.on / self.known
            });
        }
        (self.on, self.known, self.greatest) = (0.0, 0.0, 0.0);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::trends::store::wall_clock::{iso, parse_bound};

    fn millis(text: &str) -> Millis {
        text.parse::<DateTime<Utc>>()
            .expect("an instant")
            .timestamp_millis()
    }

    fn quarter(zone: chrono_tz::Tz) -> SiteBins {
        SiteBins::new(
            SiteClock::new(zone),
            BinWidth::parse("15min").expect("a width"),
        )
    }

    fn shown(duty: &StateDuty) -> Vec<String> {
        let bins = duty.stamps.iter().zip(&duty.values);
        bins.map(|(stamp, value)| format!("{} {value:.2}", &iso(*stamp)[5..16]))
            .collect()
    }

    #[test]
    fn the_example_of_the_specification_comes_out() {
        let at = |time: &str| parse_bound(&format!("2024-03-01T{time}")).expect("a stamp");
        let bins = SiteBins::of_stamps(BinWidth::HOUR, at("00:00"));
        for (role, expected) in [
            (
                "occupancy",
                ["03-01T00:00 0.40", "03-01T01:00 0.25", "03-01T02:00 0.25"],
            ),
            (
                "warmup",
                ["03-01T00:00 1.00", "03-01T01:00 1.00", "03-01T02:00 1.00"],
            ),
        ] {
            let mut duty = StateDuty::new(bins, role, at("00:00") / NANOS_PER_MILLI, None);
            for (time, state) in [
                ("00:10", 1.0),
                ("00:30", 0.0),
                ("01:45", 1.0),
                ("02:15", 0.0),
            ] {
                duty.change(at(time) / NANOS_PER_MILLI, Some(state));
            }
            duty.close();
            assert_eq!(shown(&duty), expected, "{role}");
        }
    }

    #[test]
    fn the_night_with_an_hour_twice_has_its_bins_twice_and_the_spring_hour_none() {
        let mut autumn = StateDuty::new(
            quarter(chrono_tz::America::New_York),
            "occupancy",
            millis("2026-11-01T05:30:00Z"),
            Some(1.0),
        );
        autumn.change(millis("2026-11-01T06:00:00Z"), Some(0.0));
        autumn.advance(millis("2026-11-01T07:00:00Z"));
        assert_eq!(
            shown(&autumn),
            [
                "11-01T01:30 1.00",
                "11-01T01:45 1.00",
                "11-01T01:00 0.00",
                "11-01T01:15 0.00",
                "11-01T01:30 0.00",
                "11-01T01:45 0.00"
            ]
        );
        let mut spring = StateDuty::new(
            quarter(chrono_tz::America::New_York),
            "occupancy",
            millis("2026-03-08T06:45:00Z"),
            Some(1.0),
        );
        spring.advance(millis("2026-03-08T07:15:00Z"));
        assert_eq!(shown(&spring), ["03-08T01:45 1.00", "03-08T03:00 1.00"]);
    }

    #[test]
    fn a_change_of_the_clock_within_a_bin_cuts_it() {
        // Lord Howe puts its clocks by half an hour: 02:00 becomes 01:30 at 15:00 UTC.
        let bins = SiteBins::new(
            SiteClock::new(chrono_tz::Australia::Lord_Howe),
            BinWidth::HOUR,
        );
        let change = millis("2026-04-04T15:00:00Z");
        let (before, after) = (bins.at(change - 1), bins.at(change));
        assert_eq!((before.end, after.begin), (change, change));
        assert_eq!(before.stamp().map(iso), after.stamp().map(iso));
        assert_eq!(after.end, change + 30 * 60_000);
    }

    #[test]
    fn time_of_which_nothing_is_known_counts_neither_way() {
        let from = millis("2026-06-01T12:00:00Z");
        let minute = |minutes: i64| from + minutes * 60_000;
        let mut duty = StateDuty::new(quarter(chrono_tz::UTC), "occupancy", from, Some(1.0));
        duty.change(minute(5), None);
        duty.change(minute(10), Some(0.0));
        duty.change(minute(20), None);
        duty.change(minute(50), Some(1.0));
        // An event that comes after later ones changes nothing that was told.
        duty.change(minute(30), Some(0.0));
        duty.advance(minute(62));
        assert_eq!(
            shown(&duty),
            ["06-01T12:00 0.50", "06-01T12:15 0.00", "06-01T12:45 1.00"]
        );
        assert_eq!(duty.settled(), minute(60));
    }

    #[test]
    fn whole_bins_of_a_stretch_leave_its_ragged_ends_out() {
        let bins = quarter(chrono_tz::UTC);
        let from = millis("2026-06-01T12:00:00Z");
        let minute = |minutes: i64| from + minutes * 60_000;
        assert_eq!(
            bins.whole(minute(1), minute(46)),
            Some((minute(15), minute(45)))
        );
        assert_eq!(
            bins.whole(minute(0), minute(15)),
            Some((minute(0), minute(15)))
        );
        assert_eq!(bins.whole(minute(1), minute(29)), None);
    }

    proptest! {
        /// Told in one go or in parts, the bins are the same.
        #[test]
        fn how_often_one_looks_makes_no_difference(
            events in proptest::collection::vec((0i64..600, 0u8..3), 0..30), looks in proptest::collection::vec(0i64..600, 0..10),
        ) {
            let from = millis("2026-10-31T23:00:00Z");
            let bins = quarter(chrono_tz::Europe::Berlin);
            let mut events = events;
            events.sort_by_key(|(at, _)| *at);
            let state = |code: u8| [Some(0.0), Some(1.0), None].get(usize::from(code)).copied().flatten();
            let mut once = StateDuty::new(bins, "occupancy", from, None);
            let mut often = once.clone();
            for (at, code) in &events {
                for look in looks.iter().filter(|look| *look <= at) {
                    often.advance(from + look * 60_000);
                }
                once.change(from + at * 60_000, state(*code));
                often.change(from + at * 60_000, state(*code));
            }
            once.advance(from + 600 * 60_000);
            often.advance(from + 600 * 60_000);
            prop_assert_eq!(&once.stamps, &often.stamps);
            for (one, other) in once.values.iter().zip(&often.values) {
                prop_assert!((one - other).abs() < 1e-12);
            }
        }
    }
}
