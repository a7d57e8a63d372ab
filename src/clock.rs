//! The one clock of the bridge: wall time for stamps, a monotonic reading for latches and caches.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};

/// Source of time; production code never asks the operating system directly, so tests can drive it.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Wall-clock time.
    fn now(&self) -> DateTime<Utc>;
    /// Time since an arbitrary origin; never goes backwards, whatever happens to the wall clock.
    fn monotonic(&self) -> Duration;
}

/// A clock handed around by reference count.
pub type SharedClock = Arc<dyn Clock>;

/// The operating system's clock.
#[derive(Debug)]
pub struct SystemClock {
    origin: Instant,
}

impl SystemClock {
    /// Starts the monotonic reading at zero now.
    pub fn new() -> Self {
        Self {
            origin: Instant::now(),
        }
    }

    /// The system clock, ready to be handed around.
    pub fn shared() -> SharedClock {
        Arc::new(Self::new())
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> DateTime<Utc> {
        Utc::now()
    }

    fn monotonic(&self) -> Duration {
        self.origin.elapsed()
    }
}

/// A clock that stands still until told to move.
///
/// ```
/// use std::time::Duration;
/// use niagara_bridge::clock::{Clock, TestClock};
///
/// let clock = TestClock::at("2026-03-08T06:59:00Z".parse().unwrap());
/// clock.advance(Duration::from_secs(60));
/// assert_eq!(clock.now().to_rfc3339(), "2026-03-08T07:00:00+00:00");
/// assert_eq!(clock.monotonic(), Duration::from_secs(60));
/// ```
#[derive(Debug)]
pub struct TestClock {
    reading: Mutex<(DateTime<Utc>, Duration)>,
}

impl TestClock {
    /// A frozen clock that shows `now`.
    pub fn at(now: DateTime<Utc>) -> Self {
        Self {
            reading: Mutex::new((now, Duration::ZERO)),
        }
    }

    /// Moves wall and monotonic time forward together.
    pub fn advance(&self, by: Duration) {
        let mut reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let step = TimeDelta::from_std(by).unwrap_or(TimeDelta::MAX);
        reading.0 = reading
            .0
            .checked_add_signed(step)
            .unwrap_or(DateTime::<Utc>::MAX_UTC);
        reading.1 = reading.1.saturating_add(by);
    }

    /// Sets the wall time only, as a clock correction would; the monotonic reading keeps its course.
    pub fn set_wall(&self, now: DateTime<Utc>) {
        self.reading
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .0 = now;
    }
}

impl Clock for TestClock {
    fn now(&self) -> DateTime<Utc> {
        self.reading
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .0
    }

    fn monotonic(&self) -> Duration {
        self.reading
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wall_clock_correction_leaves_the_monotonic_reading_alone() {
        let clock = TestClock::at(DateTime::UNIX_EPOCH);
        clock.advance(Duration::from_secs(5));
        clock.set_wall(DateTime::UNIX_EPOCH);
        assert_eq!(clock.now(), DateTime::UNIX_EPOCH);
        assert_eq!(clock.monotonic(), Duration::from_secs(5));
    }
}
