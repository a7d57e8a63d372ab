//! Web sessions: ids, users, CSRF tokens, expiry on the station clock.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};

use super::random;
use super::scram::Exchange;
use crate::switches::LoginSwitches;

/// What a session is good for.
#[derive(Debug, Default)]
pub(crate) enum Stage {
    /// A session id was handed out, nobody has logged in.
    #[default]
    Fresh,
    /// Client-first was answered, client-final is awaited.
    Challenged(Box<Exchange>),
    /// The proof was right; the form login still needs its last request.
    Proven(String),
    /// Logged in.
    User(String),
}

#[derive(Debug)]
struct Session {
    stage: Stage,
    csrf_token: String,
    /// Name of the session in logs.
    number: u64,
    created: DateTime<Utc>,
    used: DateTime<Utc>,
    /// The licence agreement was accepted in this session.
    eula_accepted: bool,
}

/// An authenticated session, as a request sees it.
#[derive(Clone, Debug)]
pub(crate) struct OpenSession {
    pub id: String,
    pub user: String,
    pub csrf_token: String,
    pub number: u64,
    pub eula_accepted: bool,
}

/// All web sessions of a station; BEARER tokens are ids of the same store (Station web specification §2.4).
#[derive(Debug, Default)]
pub struct SessionStore {
    sessions: Mutex<Sessions>,
}

#[derive(Debug, Default)]
struct Sessions {
    by_id: HashMap<String, Session>,
    last_number: u64,
}

/// Sessions without a login kept at most; the oldest go first.
const FRESH_LIMIT: usize = 10_000;

impl SessionStore {
    fn lock(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a session at a stage and returns its id.
    pub(crate) fn open(&self, stage: Stage, now: DateTime<Utc>) -> String {
        let mut sessions = self.lock();
        if sessions.by_id.len() >= FRESH_LIMIT {
            let oldest = sessions
                .by_id
                .iter()
                .filter(|(_, session)| !matches!(session.stage, Stage::User(_)))
                .min_by_key(|(_, session)| session.used)
                .map(|(id, _)| id.clone());
            if let Some(oldest) = oldest {
                sessions.by_id.remove(&oldest);
            }
        }
        sessions.last_number += 1;
        let number = sessions.last_number;
        let id = format!("node0{}", random::token(18));
        sessions.by_id.insert(
            id.clone(),
            Session {
                stage,
                csrf_token: random::token(24),
                number,
                created: now,
                used: now,
                eula_accepted: false,
            },
        );
        id
    }

    /// Opens a session for a user who has logged in, ending older ones where the account allows only one.
    pub(crate) fn open_for_user(
        &self,
        user: &str,
        concurrent_allowed: bool,
        now: DateTime<Utc>,
    ) -> OpenSession {
        if !concurrent_allowed {
            self.end_sessions_of(user);
        }
        let id = self.open(Stage::User(user.to_owned()), now);
        let sessions = self.lock();
        let session = sessions.by_id.get(&id);
        OpenSession {
            user: user.to_owned(),
            csrf_token: session.map_or_else(String::new, |opened| opened.csrf_token.clone()),
            number: session.map_or(0, |opened| opened.number),
            eula_accepted: false,
            id,
        }
    }

    /// The first of some ids that belongs to an authenticated, unexpired session; its idle time starts anew.
    pub(crate) fn authenticated<'a>(
        &self,
        ids: impl IntoIterator<Item = &'a str>,
        now: DateTime<Utc>,
        switches: &LoginSwitches,
    ) -> Option<OpenSession> {
        let mut sessions = self.lock();
        for id in ids {
            let Some(session) = sessions.by_id.get_mut(id) else {
                continue;
            };
            if expired(session, now, switches) {
                sessions.by_id.remove(id);
                continue;
            }
            let Stage::User(user) = &session.stage else {
                continue;
            };
            let open = OpenSession {
                id: id.to_owned(),
                user: user.clone(),
                csrf_token: session.csrf_token.clone(),
                number: session.number,
                eula_accepted: session.eula_accepted,
            };
            session.used = now;
            return Some(open);
        }
        None
    }

    /// Whether any of the ids is known and unexpired, logged in or not.
    pub(crate) fn any_known<'a>(
        &self,
        ids: impl IntoIterator<Item = &'a str>,
        now: DateTime<Utc>,
        switches: &LoginSwitches,
    ) -> Option<String> {
        let sessions = self.lock();
        ids.into_iter()
            .find(|id| {
                sessions
                    .by_id
                    .get(*id)
                    .is_some_and(|session| !expired(session, now, switches))
            })
            .map(str::to_owned)
    }

    /// Takes the stage of the first id whose stage fits, leaving [`Stage::Fresh`].
    pub(crate) fn take_stage<'a>(
        &self,
        ids: impl IntoIterator<Item = &'a str>,
        fits: impl Fn(&Stage) -> bool,
    ) -> Option<(String, Stage)> {
        let mut sessions = self.lock();
        for id in ids {
            if let Some(session) = sessions.by_id.get_mut(id)
                && fits(&session.stage)
            {
                return Some((id.to_owned(), std::mem::take(&mut session.stage)));
            }
        }
        None
    }

    /// Sets the stage of a session; false when the id is unknown.
    pub(crate) fn set_stage(&self, id: &str, stage: Stage, now: DateTime<Utc>) -> bool {
        match self.lock().by_id.get_mut(id) {
            Some(session) => {
                session.stage = stage;
                session.used = now;
                true
            }
            None => false,
        }
    }

    /// Gives a session a new id, as a server does against session fixation.
    pub(crate) fn renew(&self, id: &str) -> Option<String> {
        let mut sessions = self.lock();
        let session = sessions.by_id.remove(id)?;
        let renewed = format!("node0{}", random::token(18));
        sessions.by_id.insert(renewed.clone(), session);
        Some(renewed)
    }

    pub(crate) fn accept_eula(&self, id: &str) {
        if let Some(session) = self.lock().by_id.get_mut(id) {
            session.eula_accepted = true;
        }
    }

    pub(crate) fn end(&self, id: &str) {
        self.lock().by_id.remove(id);
    }

    pub(crate) fn end_sessions_of(&self, user: &str) {
        self.lock()
            .by_id
            .retain(|_, session| !matches!(&session.stage, Stage::User(name) if name == user));
    }

    pub(crate) fn authenticated_count(
        &self,
        now: DateTime<Utc>,
        switches: &LoginSwitches,
    ) -> usize {
        self.lock()
            .by_id
            .values()
            .filter(|session| {
                matches!(session.stage, Stage::User(_)) && !expired(session, now, switches)
            })
            .count()
    }

    /// Number of authenticated sessions of each user that has one.
    pub(crate) fn by_user(
        &self,
        now: DateTime<Utc>,
        switches: &LoginSwitches,
    ) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for session in self.lock().by_id.values() {
            if let Stage::User(user) = &session.stage
                && !expired(session, now, switches)
            {
                *counts.entry(user.clone()).or_default() += 1;
            }
        }
        counts
    }

    pub(crate) fn clear(&self) {
        self.lock().by_id.clear();
    }

    /// Whether a session is still logged in; does not count as activity.
    pub fn is_open(&self, id: &str, now: DateTime<Utc>, switches: &LoginSwitches) -> bool {
        self.lock().by_id.get(id).is_some_and(|session| {
            matches!(session.stage, Stage::User(_)) && !expired(session, now, switches)
        })
    }
}

fn expired(session: &Session, now: DateTime<Utc>, switches: &LoginSwitches) -> bool {
    let over = |since: DateTime<Utc>, limit: std::time::Duration| {
        now.signed_duration_since(since)
            .to_std()
            .is_ok_and(|age| age > limit)
    };
    over(session.used, switches.session_idle)
        || switches
            .session_absolute
            .is_some_and(|limit| over(session.created, limit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeDelta;

    fn start() -> DateTime<Utc> {
        DateTime::from_timestamp(1_700_000_000, 0).expect("a valid instant")
    }

    #[test]
    fn a_session_expires_after_the_idle_limit_and_activity_prolongs_it() {
        let store = SessionStore::default();
        let switches = LoginSwitches::default();
        let id = store.open_for_user("bridge", true, start()).id;
        let later = start() + TimeDelta::seconds(800);
        assert!(
            store
                .authenticated([id.as_str()], later, &switches)
                .is_some()
        );
        let again = start() + TimeDelta::seconds(1_600);
        assert!(
            store
                .authenticated([id.as_str()], again, &switches)
                .is_some()
        );
        let late = again + TimeDelta::seconds(901);
        assert!(
            store
                .authenticated([id.as_str()], late, &switches)
                .is_none()
        );
        assert_eq!(store.authenticated_count(late, &switches), 0);
    }

    #[test]
    fn a_single_session_account_loses_its_older_session() {
        let store = SessionStore::default();
        let switches = LoginSwitches::default();
        let first = store.open_for_user("bridge", false, start()).id;
        let second = store.open_for_user("bridge", false, start()).id;
        assert!(!store.is_open(&first, start(), &switches));
        assert!(store.is_open(&second, start(), &switches));
    }

    #[test]
    fn the_absolute_limit_ends_a_busy_session() {
        let store = SessionStore::default();
        let switches = LoginSwitches {
            session_absolute: Some(std::time::Duration::from_secs(1_000)),
            ..LoginSwitches::default()
        };
        let id = store.open_for_user("bridge", true, start()).id;
        let busy = start() + TimeDelta::seconds(600);
        assert!(
            store
                .authenticated([id.as_str()], busy, &switches)
                .is_some()
        );
        let over = start() + TimeDelta::seconds(1_001);
        assert!(
            store
                .authenticated([id.as_str()], over, &switches)
                .is_none()
        );
    }

    #[test]
    fn a_renewed_id_replaces_the_old_one() {
        let store = SessionStore::default();
        let switches = LoginSwitches::default();
        let id = store.open_for_user("bridge", true, start()).id;
        let renewed = store.renew(&id).expect("the session is known");
        assert!(!store.is_open(&id, start(), &switches));
        assert!(store.is_open(&renewed, start(), &switches));
    }
}
