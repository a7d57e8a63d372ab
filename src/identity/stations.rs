//! One station session per user (Tool surface §3, §13.2).
//!
//! A user whose password the vault keeps acts by a session of their own: own cookies, own login latch, own limits. It
//! is made at the first call, closed when it was idle, and again when the password is replaced or the user revoked. A
//! user without a kept password reads by the service account and changes nothing.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::error::IdentityError;
use super::vault::{Stamp, Vault};
use crate::clock::SharedClock;
use crate::secrecy::Secret;
use crate::station::error::StationError;
use crate::station::facade::StationFacade;
use crate::tools::station_access::StationDirectory;
use crate::tools::{ErrorCode, Principal, ToolError};

/// Time for one logout.
const FAREWELL: Duration = Duration::from_secs(10);

/// Idle sessions are looked for at least this often.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// Makes the facade of an account; nothing is sent before its first operation.
pub type MakeFacade =
    Box<dyn Fn(&str, Secret) -> Result<StationFacade, StationError> + Send + Sync>;

/// How many sessions are kept open, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionLimits {
    /// Sessions of users that are open at the same time.
    pub most: usize,
    /// A session unused for longer than this is logged out.
    pub idle: Duration,
}

/// Where the passwords of users are.
pub enum Credentials {
    /// In this vault.
    Vault(Box<Vault>),
    /// Nowhere that can be opened; the text says why and what to do.
    None { reason: String },
}

struct Open {
    facade: Arc<StationFacade>,
    stamp: Stamp,
    /// Reading of the monotonic clock.
    used: Duration,
}

impl Open {
    /// Whether a call or a subscription needs the session at present.
    fn is_held(&self) -> bool {
        Arc::strong_count(&self.facade) > 1 || self.facade.watched_points() > 0
    }
}

/// The station sessions of all callers.
pub struct UserStations {
    service: Arc<StationFacade>,
    credentials: Credentials,
    make: MakeFacade,
    limits: SessionLimits,
    clock: SharedClock,
    open: Mutex<HashMap<String, Open>>,
}

impl UserStations {
    /// `service` acts for the service identity, and for reading users without a password in the vault.
    pub fn new(
        service: Arc<StationFacade>,
        credentials: Credentials,
        make: MakeFacade,
        limits: SessionLimits,
        clock: SharedClock,
    ) -> Self {
        Self {
            service,
            credentials,
            make,
            limits,
            clock,
            open: Mutex::default(),
        }
    }

    /// Users whose sessions are open, sorted.
    pub fn open_users(&self) -> Vec<String> {
        let mut names: Vec<String> = self.open().keys().cloned().collect();
        names.sort();
        names
    }

    /// Why this user cannot act on the station, none when the user can.
    fn reason(&self, name: &str) -> Option<String> {
        match &self.credentials {
            Credentials::None { reason } => Some(reason.clone()),
            Credentials::Vault(vault) => match vault.stamp(name) {
                Ok(Some(_)) => None,
                Ok(None) => Some(format!(
                    "the bridge keeps no station password of '{name}'; `niagara-bridge user bind {name}` asks for it"
                )),
                Err(error) => Some(error.to_string()),
            },
        }
    }

    /// The session of a user, none when the vault has no password for that user.
    fn of_user(&self, name: &str) -> Result<Option<Arc<StationFacade>>, ToolError> {
        let Credentials::Vault(vault) = &self.credentials else {
            return Ok(None);
        };
        let sealed = |error: IdentityError| cannot_act(name, &error.to_string());
        let Some(stamp) = vault.stamp(name).map_err(sealed)? else {
            self.drop_session(name);
            return Ok(None);
        };
        let now = self.clock.monotonic();
        let mut open = self.open();
        if let Some(known) = open.get_mut(name)
            && known.stamp == stamp
        {
            known.used = now;
            return Ok(Some(known.facade.clone()));
        }
        let Some((password, stamp)) = vault.password(name).map_err(sealed)? else {
            return Ok(None);
        };
        if !open.contains_key(name) && open.len() >= self.limits.most {
            self.make_room(&mut open)?;
        }
        let facade = (self.make)(name, password)
            .map_err(|error| crate::tools::station_access::station_error(error, "station:"))?;
        let made = Open {
            facade: Arc::new(facade),
            stamp,
            used: now,
        };
        let facade = made.facade.clone();
        match open.entry(name.to_owned()) {
            Entry::Occupied(mut known) => farewell(known.insert(made)),
            Entry::Vacant(place) => {
                place.insert(made);
            }
        }
        Ok(Some(facade))
    }

    /// Closes the session that was unused for longest.
    fn make_room(&self, open: &mut HashMap<String, Open>) -> Result<(), ToolError> {
        let oldest = open
            .iter()
            .filter(|(_, known)| !known.is_held())
            .min_by_key(|(_, known)| known.used)
            .map(|(name, _)| name.clone());
        match oldest.and_then(|name| open.remove(&name)) {
            Some(session) => {
                farewell(session);
                Ok(())
            }
            None => Err(ToolError::station(
                "station-busy",
                format!(
                    "{} users are at work on the station, as many as identity.maxSessions allows. Try again later.",
                    self.limits.most
                ),
            )),
        }
    }

    fn drop_session(&self, name: &str) {
        let dropped = self.open().remove(name);
        if let Some(session) = dropped {
            farewell(session);
        }
    }

    /// Logs out what was idle for too long, and whose password is no longer kept.
    pub async fn tidy(&self) {
        let now = self.clock.monotonic();
        let names = match &self.credentials {
            Credentials::Vault(vault) => vault.names(),
            Credentials::None { .. } => return,
        };
        // A vault that cannot be read at this moment ends no session: it will be told at the next call.
        let names = names.ok();
        let is_over = |name: &str, known: &Open| {
            let revoked = names
                .as_ref()
                .is_some_and(|names| !names.iter().any(|kept| kept == name));
            !known.is_held() && (revoked || now.saturating_sub(known.used) > self.limits.idle)
        };
        let over: Vec<Open> = {
            let mut open = self.open();
            let names: Vec<String> = open
                .iter()
                .filter(|(name, known)| is_over(name, known))
                .map(|(name, _)| name.clone())
                .collect();
            names.iter().filter_map(|name| open.remove(name)).collect()
        };
        close_all(over).await;
    }

    /// Keeps the sessions tidy until `stop` fires.
    pub fn keep_tidy(self: &Arc<Self>, stop: CancellationToken) {
        let pause = LOOK_EVERY.min(self.limits.idle.max(Duration::from_secs(1)));
        let stations = self.clone();
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = tokio::time::sleep(pause) => stations.tidy().await,
                }
            }
        });
    }

    /// Logs every user out; a station that does not answer is left alone.
    pub async fn close(&self) {
        let all: Vec<Open> = self.open().drain().map(|(_, session)| session).collect();
        close_all(all).await;
    }

    fn open(&self) -> MutexGuard<'_, HashMap<String, Open>> {
        // The table is consistent between any two statements that change it.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StationDirectory for UserStations {
    fn for_caller(&self, principal: &Principal) -> Result<Arc<StationFacade>, ToolError> {
        let own = match principal.user() {
            Some(name) => self.of_user(name)?,
            None => None,
        };
        Ok(own.unwrap_or_else(|| self.service.clone()))
    }

    /// Every account is one of the same station.
    fn station_of(&self, _principal: &Principal) -> Option<String> {
        Some(self.service.station())
    }

    fn may_change_station(&self, principal: &Principal) -> Result<(), String> {
        match principal.user().and_then(|name| self.reason(name)) {
            None => Ok(()),
            Some(reason) => Err(reason),
        }
    }

    fn for_writing(&self, principal: &Principal) -> Result<Arc<StationFacade>, ToolError> {
        let Some(name) = principal.user() else {
            return Ok(self.service.clone());
        };
        match self.of_user(name)? {
            Some(own) => Ok(own),
            None => {
                let reason = self.reason(name);
                let reason = reason.as_deref().unwrap_or("its password was just removed");
                Err(cannot_act(name, reason))
            }
        }
    }
}

fn cannot_act(name: &str, reason: &str) -> ToolError {
    ToolError::new(
        ErrorCode::UserNotFound,
        format!("The bridge cannot act as the station user '{name}': {reason}."),
    )
    .with("reason", reason)
}

async fn close_all(sessions: Vec<Open>) {
    let farewells = sessions.into_iter().map(|session| async move {
        let facade = session.facade;
        if tokio::time::timeout(FAREWELL, facade.close())
            .await
            .is_err()
        {
            tracing::warn!(
                user = facade.web().user(),
                "the station did not answer the logout; the session ends when it has been idle"
            );
        }
    });
    futures::future::join_all(farewells).await;
}

/// Logs out beside the call that found the session to be over.
fn farewell(session: Open) {
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => drop(runtime.spawn(close_all(vec![session]))),
        Err(_) => tracing::warn!(
            user = session.facade.web().user(),
            "the session ends at the station when it has been idle"
        ),
    }
}
