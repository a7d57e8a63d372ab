//! State that all servlets of one running station share.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::lifecycle::Lifecycle;
use super::log::{Log, LoginEntry, LoginOutcome, LoginWay, RequestEntry, WriteEntry};
use crate::clock::StationClock;
use crate::faults::Switchboard;
use crate::model::SharedStation;
use crate::switches::{SharedSwitches, Switches};
use crate::web::session::SessionStore;

/// The user a servlet works for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthenticatedUser {
    pub name: String,
    /// The web session's id: the same for all requests of one login. Not for logs.
    pub session_id: String,
}

type ServletStates = Arc<Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>>;

/// What a servlet needs of the station it runs in; cheap to clone.
#[derive(Clone)]
pub struct ServerContext {
    pub station: SharedStation,
    pub clock: Arc<dyn StationClock>,
    pub switches: SharedSwitches,
    pub requests: Log<RequestEntry>,
    pub logins: Log<LoginEntry>,
    pub writes: Log<WriteEntry>,
    pub sessions: Arc<SessionStore>,
    pub faults: Switchboard,
    pub lifecycle: Arc<Lifecycle>,
    servlet_states: ServletStates,
}

impl ServerContext {
    pub fn new(
        clock: Arc<dyn StationClock>,
        station: SharedStation,
        switches: SharedSwitches,
    ) -> Self {
        Self {
            station,
            clock,
            switches,
            requests: Log::default(),
            logins: Log::default(),
            writes: Log::default(),
            sessions: Arc::default(),
            faults: Switchboard::default(),
            lifecycle: Arc::default(),
            servlet_states: ServletStates::default(),
        }
    }

    pub fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// A servlet's own state, made on first use and kept as long as the station runs.
    pub fn servlet_state<T: Any + Send + Sync + Default>(&self) -> Arc<T> {
        let mut states = self
            .servlet_states
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let state = states
            .entry(TypeId::of::<T>())
            .or_insert_with(|| Arc::new(T::default()))
            .clone();
        drop(states);
        // The key is the value's own type, so the downcast cannot fail; a fresh value keeps this total.
        state.downcast::<T>().unwrap_or_default()
    }

    /// The same station with switches of its own, for one request that sees it differently.
    pub(crate) fn with_switches(&self, switches: Switches) -> Self {
        Self {
            switches: SharedSwitches::new(switches),
            ..self.clone()
        }
    }

    /// Restarts the station: what it does not save, sessions, the servlets' states and all connections are gone. New
    /// connections are closed for the time given.
    pub fn restart(&self, down: Duration) {
        self.lifecycle.go_down(down);
        self.station.write().restart(self.now());
        self.sessions.clear();
        self.servlet_states
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
        self.lifecycle.begin_anew();
    }

    pub(crate) fn record_login(&self, user: &str, way: LoginWay, outcome: LoginOutcome) {
        self.logins.push(LoginEntry {
            time: self.now(),
            user: user.to_owned(),
            way,
            outcome,
        });
    }
}

impl fmt::Debug for ServerContext {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ServerContext")
            .field("switches", &self.switches)
            .finish_non_exhaustive()
    }
}
