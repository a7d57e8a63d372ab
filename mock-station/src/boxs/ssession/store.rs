//! Server sessions of the BOX servlet: who owns one, when it expires, what waits in it for the next poll (Station web specification §4.4).

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use indexmap::IndexMap;

use super::subscriptions::Subscriptions;
use crate::boxs::error::BoxError;
use crate::model::Handle;
use crate::switches::BoxSwitches;

/// A load that was asked for and whose operation a later poll delivers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingLoad {
    pub handle: Handle,
    /// Levels of components below the target whose slots are loaded too.
    pub depth: usize,
    polls_left: u32,
}

/// One component space of a session, under the id its client chose.
#[derive(Debug, Default)]
pub struct Space {
    loads: VecDeque<PendingLoad>,
    pub subscriptions: Subscriptions,
}

impl Space {
    /// Queues a load that appears after `latency` polls without it.
    pub fn queue_load(&mut self, handle: Handle, depth: usize, latency: u32) {
        self.loads.push_back(PendingLoad {
            handle,
            depth,
            polls_left: latency,
        });
    }

    /// The loads that this poll delivers; a load never overtakes an earlier one.
    pub fn poll_loads(&mut self) -> Vec<PendingLoad> {
        let mut due = Vec::new();
        while self.loads.front().is_some_and(|load| load.polls_left == 0) {
            due.extend(self.loads.pop_front());
        }
        for load in &mut self.loads {
            load.polls_left = load.polls_left.saturating_sub(1);
        }
        due
    }
}

/// The spaces of one client.
#[derive(Debug)]
pub struct Session {
    id: String,
    user: String,
    last_used: DateTime<Utc>,
    spaces: IndexMap<String, Space>,
}

impl Session {
    /// Creates a space, empty even if one of that id was there.
    pub fn create_space(&mut self, space: &str) {
        self.spaces.insert(space.to_owned(), Space::default());
    }

    /// Removes a space; removing an unknown one changes nothing.
    pub fn remove_space(&mut self, space: &str) {
        self.spaces.shift_remove(space);
    }

    /// # Errors
    /// When the client has not created the space.
    pub fn space(&mut self, space: &str) -> Result<&mut Space, BoxError> {
        self.spaces
            .get_mut(space)
            .ok_or_else(|| BoxError::UnknownSpace {
                id: self.id.clone(),
                space: space.to_owned(),
            })
    }

    /// All spaces in order of creation.
    pub fn spaces(&mut self) -> impl Iterator<Item = (&str, &mut Space)> {
        self.spaces
            .iter_mut()
            .map(|(id, space)| (id.as_str(), space))
    }

    fn expired(&self, now: DateTime<Utc>, idle: Duration) -> bool {
        // A clock set back gives a negative idle time, which is no expiry.
        (now - self.last_used)
            .to_std()
            .is_ok_and(|since| since > idle)
    }
}

/// All sessions of a running station.
///
/// Whoever needs the station and a session takes the station first: the lock inside is never held while waiting for it.
#[derive(Debug, Default)]
pub struct Sessions {
    by_id: Mutex<HashMap<String, Session>>,
}

impl Sessions {
    /// Opens a session for `user` and gives its id.
    ///
    /// # Errors
    /// When the station's limit of sessions is reached.
    pub fn make(
        &self,
        user: &str,
        now: DateTime<Utc>,
        switches: &BoxSwitches,
    ) -> Result<String, BoxError> {
        let mut sessions = self.by_id.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|_, session| !session.expired(now, switches.session_idle));
        if sessions.len() >= switches.session_limit {
            return Err(BoxError::SessionLimit {
                limit: switches.session_limit,
            });
        }
        let id = uuid::Uuid::new_v4().simple().to_string();
        let session = Session {
            id: id.clone(),
            user: user.to_owned(),
            last_used: now,
            spaces: IndexMap::new(),
        };
        sessions.insert(id.clone(), session);
        Ok(id)
    }

    /// Works on a session of `user` and renews it.
    ///
    /// # Errors
    /// When the session is unknown, expired or another user's, or `work` fails.
    pub fn with<Answer>(
        &self,
        id: &str,
        user: &str,
        now: DateTime<Utc>,
        switches: &BoxSwitches,
        work: impl FnOnce(&mut Session) -> Result<Answer, BoxError>,
    ) -> Result<Answer, BoxError> {
        let mut sessions = self.by_id.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|_, session| !session.expired(now, switches.session_idle));
        let session = sessions.get_mut(id).ok_or_else(|| unknown(id))?;
        if session.user != user {
            return Err(BoxError::ForeignSession { id: id.to_owned() });
        }
        session.last_used = now;
        work(session)
    }

    /// Ends a session of `user`.
    ///
    /// # Errors
    /// When the session is unknown, expired or another user's.
    pub fn delete(
        &self,
        id: &str,
        user: &str,
        now: DateTime<Utc>,
        switches: &BoxSwitches,
    ) -> Result<(), BoxError> {
        self.with(id, user, now, switches, |_| Ok(()))?;
        let mut sessions = self.by_id.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.remove(id);
        Ok(())
    }

    /// Number of living sessions of each user that has one.
    pub fn by_user(&self, now: DateTime<Utc>, switches: &BoxSwitches) -> BTreeMap<String, usize> {
        let sessions = self.by_id.lock().unwrap_or_else(PoisonError::into_inner);
        let mut counts = BTreeMap::new();
        for session in sessions.values() {
            if !session.expired(now, switches.session_idle) {
                *counts.entry(session.user.clone()).or_default() += 1;
            }
        }
        counts
    }

    /// Number of sessions that have not expired.
    pub fn count(&self, now: DateTime<Utc>, switches: &BoxSwitches) -> usize {
        let sessions = self.by_id.lock().unwrap_or_else(PoisonError::into_inner);
        sessions
            .values()
            .filter(|session| !session.expired(now, switches.session_idle))
            .count()
    }
}

fn unknown(id: &str) -> BoxError {
    BoxError::UnknownSession { id: id.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeDelta;

    fn noon() -> DateTime<Utc> {
        "2026-03-01T12:00:00Z".parse().unwrap()
    }

    #[test]
    fn loads_wait_for_their_polls_and_keep_their_order() {
        let mut space = Space::default();
        space.queue_load(Handle(1), 0, 2);
        space.queue_load(Handle(2), 0, 0);
        let polled = |space: &mut Space| -> Vec<u32> {
            space
                .poll_loads()
                .iter()
                .map(|load| load.handle.0)
                .collect()
        };
        assert_eq!(polled(&mut space), [0u32; 0]);
        assert_eq!(polled(&mut space), [0u32; 0]);
        assert_eq!(polled(&mut space), [1, 2]);
        assert_eq!(polled(&mut space), [0u32; 0]);
    }

    #[test]
    fn a_session_lives_as_long_as_it_is_used_and_belongs_to_its_user() {
        let (sessions, switches) = (Sessions::default(), BoxSwitches::default());
        let id = sessions.make("ann", noon(), &switches).unwrap();
        let at = |seconds| noon() + TimeDelta::seconds(seconds);
        let touch = |user: &str, now| sessions.with(&id, user, now, &switches, |_| Ok(()));
        assert_eq!(touch("ann", at(90)), Ok(()));
        assert_eq!(
            touch("bob", at(91)),
            Err(BoxError::ForeignSession { id: id.clone() })
        );
        assert_eq!(touch("ann", at(180)), Ok(()));
        assert_eq!(sessions.count(at(270), &switches), 1);
        assert_eq!(touch("ann", at(271)), Err(unknown(&id)));
        assert_eq!(sessions.count(at(271), &switches), 0);
    }

    #[test]
    fn the_limit_counts_only_living_sessions() {
        let sessions = Sessions::default();
        let switches = BoxSwitches {
            session_limit: 2,
            ..BoxSwitches::default()
        };
        let first = sessions.make("ann", noon(), &switches).unwrap();
        sessions.make("ann", noon(), &switches).unwrap();
        assert_eq!(
            sessions.make("bob", noon(), &switches),
            Err(BoxError::SessionLimit { limit: 2 })
        );
        sessions.delete(&first, "ann", noon(), &switches).unwrap();
        sessions.make("bob", noon(), &switches).unwrap();
        let later = noon() + TimeDelta::seconds(91);
        assert!(sessions.make("cid", later, &switches).is_ok());
        assert_eq!(sessions.count(later, &switches), 1);
    }
}
