//! The one who may change a store: holds its lock (Store §12).

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use super::fence::{self, Fence};
use super::lock::StoreLock;
use super::registry::Registry;
use super::{Catalogue, FacilityId, FacilityState, StoreError, TrendStore, generation, leftovers};

/// Moments of a change at which a kill must be survived, told to the observer just after each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StoreStep {
    /// The parts of an append lie in the staging folder.
    AppendStaged,
    /// The append will be finished whatever happens.
    AppendReady,
    /// One of its parts is in its place.
    PartMoved,
    /// All are, and the staging folder is gone.
    AppendDone,
    /// Readers are kept out.
    FenceRaised,
    /// The new content of a facility lies beside the old.
    SwapBuilt,
    /// The swap will be finished whatever happens.
    SwapReady,
    /// The facility has no folder at this moment.
    OldMovedAway,
    NewInPlace,
    OldRemoved,
    /// The id of a facility is taken for ever.
    Tombstoned,
    /// Its folder is out of sight.
    Trashed,
    /// Its registry entry is gone.
    EntryDropped,
    /// A registry entry was written.
    Registered,
    /// The catalogue of before is gone.
    CatalogueInvalid,
    /// Readers are let in again.
    FenceLowered,
}

impl StoreStep {
    /// All steps in the order in which they can occur.
    pub const ALL: [Self; 16] = [
        Self::AppendStaged,
        Self::AppendReady,
        Self::PartMoved,
        Self::AppendDone,
        Self::FenceRaised,
        Self::SwapBuilt,
        Self::SwapReady,
        Self::OldMovedAway,
        Self::NewInPlace,
        Self::OldRemoved,
        Self::Tombstoned,
        Self::Trashed,
        Self::EntryDropped,
        Self::Registered,
        Self::CatalogueInvalid,
        Self::FenceLowered,
    ];
}

/// Is told each step of a change; tests stop the process there.
#[derive(Clone)]
pub struct Observer(Arc<dyn Fn(StoreStep) + Send + Sync>);

impl Observer {
    /// Calls `observe` at each step.
    pub fn new(observe: impl Fn(StoreStep) + Send + Sync + 'static) -> Self {
        Self(Arc::new(observe))
    }

    pub(super) fn reached(&self, step: StoreStep) {
        (self.0)(step);
    }
}

impl Default for Observer {
    fn default() -> Self {
        Self::new(|_| {})
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Observer")
    }
}

/// What the registry is to know of a facility that gets data.
#[derive(Debug, Clone, PartialEq)]
pub struct Registration {
    /// Its name; the id when there is none.
    pub name: Option<String>,
    /// The state of a new entry; an existing one keeps its own.
    pub state: FacilityState,
    /// Further keys, such as `timezone`.
    pub facts: Map<String, Value>,
}

impl Registration {
    /// An active facility with a time zone, as ingest registers a station.
    pub fn active(name: Option<&str>, time_zone: Option<&str>) -> Self {
        let mut facts = Map::new();
        if let Some(zone) = time_zone {
            facts.insert("timezone".to_owned(), zone.into());
        }
        Self {
            name: name.map(str::to_owned),
            state: FacilityState::Active,
            facts,
        }
    }
}

/// Holds the lock of a store; every change goes through it.
#[derive(Debug)]
pub struct StoreWriter<'s> {
    store: &'s TrendStore,
    _lock: StoreLock,
}

impl<'s> StoreWriter<'s> {
    pub(super) fn open(store: &'s TrendStore, wait: Duration) -> Result<Self, StoreError> {
        let lock = StoreLock::acquire(store.root(), wait, store.clock.now())?;
        let writer = Self { store, _lock: lock };
        if leftovers::tidy(store.root())? {
            writer.invalidate()?;
        }
        fence::clear_dead(store.root())?;
        Ok(writer)
    }

    /// The store that is written.
    pub fn store(&self) -> &'s TrendStore {
        self.store
    }

    pub(super) fn root(&self) -> &'s Path {
        self.store.root()
    }

    pub(super) fn observer(&self) -> &'s Observer {
        &self.store.observer
    }

    pub(super) fn now(&self) -> DateTime<Utc> {
        self.store.clock.now()
    }

    /// Registers a facility, or adds facts to its entry; returns whether the registry changed.
    ///
    /// # Errors
    /// The registry is damaged, the id may not be given out, or it belongs to another name.
    pub fn register(
        &mut self,
        facility: &FacilityId,
        registration: &Registration,
    ) -> Result<bool, StoreError> {
        self.store.check_may_exist(facility)?;
        let mut registry = Registry::read(self.root());
        registry.trusted()?;
        let changed = registry.register(
            facility,
            registration.name.as_deref(),
            registration.state,
            &registration.facts,
            self.now(),
        )?;
        if changed {
            registry.write()?;
            self.observer().reached(StoreStep::Registered);
        }
        Ok(changed)
    }

    /// Moves a facility to another state of its life; returns whether it was in another one.
    ///
    /// # Errors
    /// The facility is unknown, the registry is damaged, or the lifecycle has no such step.
    pub fn set_state(
        &mut self,
        facility: &FacilityId,
        next: FacilityState,
    ) -> Result<bool, StoreError> {
        let mut registry = Registry::read(self.root());
        registry.trusted()?;
        if registry.entry(facility.as_str()).is_none() && !self.store.has_partition(facility) {
            return Err(StoreError::NoData(facility.clone()));
        }
        let changed = registry.set_state(facility, next, self.now())?;
        if changed {
            registry.write()?;
            self.observer().reached(StoreStep::Registered);
        }
        Ok(changed)
    }

    /// Writes the point catalogue, so that readers need not look into parts; false when it cannot be complete.
    ///
    /// # Errors
    /// The store cannot be read or the file not written.
    pub fn rebuild_catalogue(&mut self) -> Result<bool, StoreError> {
        Catalogue::rebuild(self.store)
    }

    /// The same where it only spares readers a look into parts: what was written before stands, even if the catalogue cannot
    /// be made because one facility, perhaps another one, is damaged.
    ///
    /// # Errors
    /// As [`StoreWriter::rebuild_catalogue`], save for damage.
    pub fn offer_catalogue(&mut self) -> Result<(), StoreError> {
        match self.rebuild_catalogue() {
            Err(error @ StoreError::Damaged { .. }) => {
                tracing::warn!(%error, "the point catalogue is not written");
                Ok(())
            }
            outcome => outcome.map(|_| ()),
        }
    }

    /// Tells readers that the data changed.
    pub(super) fn invalidate(&self) -> Result<(), StoreError> {
        generation::invalidate(self.root())?;
        self.observer().reached(StoreStep::CatalogueInvalid);
        Ok(())
    }

    pub(super) fn raise_fence(&self, facility: &FacilityId) -> Result<Fence, StoreError> {
        let fence = Fence::raise(self.root(), facility)?;
        self.observer().reached(StoreStep::FenceRaised);
        Ok(fence)
    }

    pub(super) fn lower_fence(&self, fence: Fence) -> Result<(), StoreError> {
        fence.lower()?;
        self.observer().reached(StoreStep::FenceLowered);
        Ok(())
    }
}
