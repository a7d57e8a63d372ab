//! The station as servlets share it.

use super::station::Station;
use crate::clock::{ShiftedClock, StationClock};
use chrono::{DateTime, SubsecRound, TimeDelta, Utc};
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A station behind a lock, moved on by its clock whenever somebody looks.
#[derive(Clone)]
pub struct SharedStation {
    station: Arc<RwLock<Station>>,
    clock: Arc<dyn StationClock>,
    shifted: Arc<ShiftedClock>,
}

impl SharedStation {
    /// Shares `station`; from now on `clock` is its time, until [`SharedStation::jump_clock`] shifts it.
    pub fn new(station: Station, clock: Arc<dyn StationClock>) -> Self {
        let shifted = Arc::new(ShiftedClock::new(clock));
        Self {
            station: Arc::new(RwLock::new(station)),
            clock: shifted.clone(),
            shifted,
        }
    }

    /// Sets the station's clock forwards or backwards against the clock it was given.
    pub fn jump_clock(&self, step: TimeDelta) {
        self.shifted.jump(step);
    }

    /// How far the station's clock is ahead of the clock it was given.
    pub fn clock_shift(&self) -> TimeDelta {
        self.shifted.shift()
    }

    /// The clock.
    pub fn clock(&self) -> &Arc<dyn StationClock> {
        &self.clock
    }

    /// The clock's present instant, not cut to seconds.
    pub fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// The station to read from, ticked first if a new second began.
    ///
    /// Take it once per request and pass the reference on: a second guard in the same thread can wait forever behind a writer.
    pub fn read(&self) -> RwLockReadGuard<'_, Station> {
        let now = self.clock.now().trunc_subsecs(0);
        let guard = self
            .station
            .read()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        if guard.now() == now {
            return guard;
        }
        drop(guard);
        self.station
            .write()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .tick(now);
        self.station
            .read()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The station to change, ticked first.
    pub fn write(&self) -> RwLockWriteGuard<'_, Station> {
        let now = self.clock.now();
        let mut guard = self
            .station
            .write()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        guard.tick(now);
        guard
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;
    use crate::clock::TestClock;
    use chrono::{TimeDelta, TimeZone};

    #[test]
    fn whoever_looks_sees_the_present_second() {
        let start = Utc.with_ymd_and_hms(2026, 3, 10, 10, 7, 30).unwrap();
        let clock = Arc::new(TestClock::at(start));
        let shared = SharedStation::new(sample::station(start).unwrap(), clock.clone());
        let sine = shared.read().resolve_component("slot:/Logic/Sine").unwrap();
        let before = shared.read().out(sine).unwrap().0;
        clock.advance(TimeDelta::milliseconds(900));
        assert_eq!(
            shared.read().out(sine).unwrap().0,
            before,
            "less than a second is no new instant"
        );
        clock.advance(TimeDelta::seconds(4));
        assert_ne!(shared.read().out(sine).unwrap().0, before);
        assert_eq!(shared.read().now(), start + TimeDelta::seconds(4));
        clock.set(start);
        assert_eq!(
            shared.write().out(sine).unwrap().0,
            before,
            "the clock may also jump back"
        );
    }
}
