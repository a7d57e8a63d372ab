//! The station's clock: everything that ages (samples, overrides, sessions, lockouts) asks it and never the machine.

use chrono::{DateTime, TimeDelta, Utc};
use std::sync::{Arc, Mutex, PoisonError};

/// A source of the station's present time.
pub trait StationClock: Send + Sync {
    /// The present instant, in UTC.
    fn now(&self) -> DateTime<Utc>;
}

/// The machine's clock, shifted by a constant so that a station can be started "at" any date.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    offset: TimeDelta,
}

impl SystemClock {
    /// The machine's own time.
    pub fn new() -> Self {
        Self {
            offset: TimeDelta::zero(),
        }
    }

    /// A clock that reads `start` now and runs on from there.
    pub fn starting_at(start: DateTime<Utc>) -> Self {
        Self {
            offset: start - Utc::now(),
        }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl StationClock for SystemClock {
    fn now(&self) -> DateTime<Utc> {
        Utc::now()
            .checked_add_signed(self.offset)
            .unwrap_or(DateTime::<Utc>::MAX_UTC)
    }
}

/// A clock that stands still until a test moves it.
#[derive(Debug)]
pub struct TestClock {
    now: Mutex<DateTime<Utc>>,
}

impl TestClock {
    /// A clock frozen at `now`.
    pub fn at(now: DateTime<Utc>) -> Self {
        Self {
            now: Mutex::new(now),
        }
    }

    /// Jumps to `now`, forwards or backwards.
    pub fn set(&self, now: DateTime<Utc>) {
        *self
            .now
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner()) = now;
    }

    /// Moves on by `step`, which may be negative.
    pub fn advance(&self, step: TimeDelta) {
        let mut now = self
            .now
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        *now = now.checked_add_signed(step).unwrap_or(*now);
    }
}

impl StationClock for TestClock {
    fn now(&self) -> DateTime<Utc> {
        *self
            .now
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Another clock seen through a shift that can be changed while it runs: a station's clock that is set wrong.
pub struct ShiftedClock {
    inner: Arc<dyn StationClock>,
    shift: Mutex<TimeDelta>,
}

impl ShiftedClock {
    /// `inner` without a shift.
    pub fn new(inner: Arc<dyn StationClock>) -> Self {
        Self {
            inner,
            shift: Mutex::new(TimeDelta::zero()),
        }
    }

    /// How far it is ahead of the clock behind it.
    pub fn shift(&self) -> TimeDelta {
        *self.shift.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Jumps by `step`, forwards or backwards; a jump out of the calendar is ignored.
    pub fn jump(&self, step: TimeDelta) {
        let mut shift = self.shift.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sum) = shift.checked_add(&step)
            && self.inner.now().checked_add_signed(sum).is_some()
        {
            *shift = sum;
        }
    }
}

impl StationClock for ShiftedClock {
    fn now(&self) -> DateTime<Utc> {
        let now = self.inner.now();
        now.checked_add_signed(self.shift()).unwrap_or(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeZone;

    #[test]
    fn a_shifted_clock_starts_where_it_is_told_and_runs_on() {
        let start = Utc.with_ymd_and_hms(2025, 7, 1, 12, 0, 0).unwrap();
        let clock = SystemClock::starting_at(start);
        let first = clock.now();
        assert!(first >= start && first - start < TimeDelta::minutes(1));
        assert!(clock.now() >= first);
    }

    #[test]
    fn a_test_clock_moves_only_by_hand() {
        let start = Utc.with_ymd_and_hms(2025, 7, 1, 12, 0, 0).unwrap();
        let clock = TestClock::at(start);
        clock.advance(TimeDelta::seconds(90));
        assert_eq!(clock.now(), start + TimeDelta::seconds(90));
        clock.advance(TimeDelta::MAX);
        assert_eq!(
            clock.now(),
            start + TimeDelta::seconds(90),
            "a step beyond the calendar is ignored"
        );
        clock.set(start);
        assert_eq!(clock.now(), start);
    }

    #[test]
    fn a_shifted_view_jumps_and_follows_the_clock_behind_it() {
        let start = Utc.with_ymd_and_hms(2025, 7, 1, 12, 0, 0).unwrap();
        let behind = Arc::new(TestClock::at(start));
        let clock = ShiftedClock::new(behind.clone());
        clock.jump(TimeDelta::hours(-2));
        behind.advance(TimeDelta::seconds(5));
        assert_eq!(
            clock.now(),
            start + TimeDelta::seconds(5) - TimeDelta::hours(2)
        );
        clock.jump(TimeDelta::MAX);
        assert_eq!(clock.shift(), TimeDelta::hours(-2));
    }
}
