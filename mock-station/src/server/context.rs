//! State that all servlets of one running station share.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, Utc};

use super::log::{Log, LoginEntry, LoginOutcome, LoginWay, RequestEntry};
use crate::clock::StationClock;
use crate::model::SharedStation;
use crate::switches::SharedSwitches;
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
    pub sessions: Arc<SessionStore>,
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
            sessions: Arc::default(),
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
