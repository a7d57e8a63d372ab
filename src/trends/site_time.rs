//! Instants of a station as stamps of the store: the wall clock of the site (Store §4).

use chrono::{DateTime, LocalResult, NaiveDateTime, TimeDelta, TimeZone, Utc};
use chrono_tz::Tz;

use super::store::wall_clock::{stamp_of, time_of};

/// Longest step of a clock that is put forward; zones that skipped a whole day at the date line included.
const LONGEST_GAP_MINUTES: i64 = 25 * 60;

/// The wall clock of a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SiteClock {
    zone: Tz,
}

impl SiteClock {
    pub fn new(zone: Tz) -> Self {
        Self { zone }
    }

    /// The clock of an IANA zone, in any letter case; none when there is no such zone.
    pub fn named(zone: &str) -> Option<Self> {
        chrono_tz::TZ_VARIANTS
            .iter()
            .find(|known| known.name().eq_ignore_ascii_case(zone))
            .map(|zone| Self::new(*zone))
    }

    pub fn zone(self) -> Tz {
        self.zone
    }

    /// What the clock on the wall showed, in nanoseconds; none outside of the years that the store can hold.
    ///
    /// The hour that an autumn night has twice gives equal stamps, the one that a spring night skips none.
    ///
    /// ```
    /// use chrono::{DateTime, Utc};
    /// use niagara_bridge::trends::site_time::SiteClock;
    /// use niagara_bridge::trends::store::wall_clock::iso;
    /// let berlin = SiteClock::new(chrono_tz::Europe::Berlin);
    /// let shown = |text: &str| iso(berlin.stamp(text.parse::<DateTime<Utc>>().unwrap()).unwrap());
    /// assert_eq!(shown("2026-10-25T00:30:00Z"), "2026-10-25T02:30:00");
    /// assert_eq!(shown("2026-10-25T01:30:00Z"), "2026-10-25T02:30:00");
    /// ```
    pub fn stamp(self, instant: DateTime<Utc>) -> Option<i64> {
        stamp_of(instant.with_timezone(&self.zone).naive_local())
    }

    /// The last instant at which the clock showed the stamp; for a time that it skipped, the moment of the skip.
    pub fn last_instant(self, stamp: i64) -> DateTime<Utc> {
        self.instant(time_of(stamp), true)
    }

    /// The first instant at which the clock showed the stamp.
    pub fn first_instant(self, stamp: i64) -> DateTime<Utc> {
        self.instant(time_of(stamp), false)
    }

    fn instant(self, shown: NaiveDateTime, last: bool) -> DateTime<Utc> {
        match self.zone.from_local_datetime(&shown) {
            LocalResult::Single(instant) => instant.to_utc(),
            LocalResult::Ambiguous(earlier, later) if last => earlier.max(later).to_utc(),
            LocalResult::Ambiguous(earlier, later) => earlier.min(later).to_utc(),
            LocalResult::None => self.skipped(shown),
        }
    }

    /// Times between those before and after a skip: as if the clock had gone on.
    fn skipped(self, shown: NaiveDateTime) -> DateTime<Utc> {
        (1..=LONGEST_GAP_MINUTES / 15)
            .filter_map(|quarters| {
                let back = TimeDelta::minutes(quarters * 15);
                let before = shown.checked_sub_signed(back)?;
                let instant = self.zone.from_local_datetime(&before).latest()?;
                instant.to_utc().checked_add_signed(back)
            })
            .next()
            .unwrap_or_else(|| shown.and_utc())
    }

    /// Whether the clock shows this time twice and this is the second time.
    pub fn is_second_pass(self, instant: DateTime<Utc>) -> bool {
        let shown = instant.with_timezone(&self.zone).naive_local();
        matches!(
            self.zone.from_local_datetime(&shown),
            LocalResult::Ambiguous(earlier, later) if earlier.max(later).to_utc() == instant
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trends::store::wall_clock::{iso, parse_bound};

    const NEW_YORK: SiteClock = SiteClock {
        zone: chrono_tz::America::New_York,
    };

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().expect("an instant")
    }

    #[test]
    fn the_repeated_hour_is_told_apart_by_its_instants_only() {
        let (first, second) = (at("2026-11-01T05:30:00Z"), at("2026-11-01T06:30:00Z"));
        let stamp = NEW_YORK.stamp(first).expect("a stamp");
        assert_eq!(NEW_YORK.stamp(second), Some(stamp));
        assert_eq!(iso(stamp), "2026-11-01T01:30:00");
        assert_eq!(NEW_YORK.first_instant(stamp), first);
        assert_eq!(NEW_YORK.last_instant(stamp), second);
        assert!(NEW_YORK.is_second_pass(second) && !NEW_YORK.is_second_pass(first));
    }

    #[test]
    fn the_spring_hour_is_absent_and_a_stamp_in_it_is_the_time_as_if_the_clock_had_gone_on() {
        let before = NEW_YORK.stamp(at("2026-03-08T06:59:00Z")).expect("a stamp");
        let after = NEW_YORK.stamp(at("2026-03-08T07:00:00Z")).expect("a stamp");
        assert_eq!(
            (iso(before).as_str(), iso(after).as_str()),
            ("2026-03-08T01:59:00", "2026-03-08T03:00:00")
        );
        let skipped = parse_bound("2026-03-08T02:30:00").expect("a stamp");
        assert_eq!(NEW_YORK.last_instant(skipped), at("2026-03-08T07:30:00Z"));
        assert_eq!(NEW_YORK.first_instant(skipped), at("2026-03-08T07:30:00Z"));
    }

    #[test]
    fn times_beyond_the_store_have_no_stamp() {
        assert_eq!(NEW_YORK.stamp(at("2300-01-01T00:00:00Z")), None);
    }
}
