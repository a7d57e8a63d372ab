//! The station as servlets share it.

use super::station::Station;
use crate::clock::StationClock;
use chrono::{DateTime, SubsecRound, Utc};
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A station behind a lock, moved on by its clock whenever somebody looks.
#[derive(Clone)]
pub struct SharedStation {
    station: Arc<RwLock<Station>>,
    clock: Arc<dyn StationClock>,
}

impl SharedStation {
    /// Shares `station`; from now on `clock` is its time.
    pub fn new(station: Station, clock: Arc<dyn StationClock>) -> Self {
        Self {
            station: Arc::new(RwLock::new(station)),
            clock,
        }
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
