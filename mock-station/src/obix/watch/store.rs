//! The live watches and their leases.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};

use super::super::element::Element;

/// The lease that a station gives when nobody says otherwise; §7.2 reports this value, not established as general.
const DEFAULT_LEASE: TimeDelta = TimeDelta::seconds(30);

/// What one watch observes, in the order of subscription.
#[derive(Debug, Default)]
pub struct Members(Mutex<Vec<Member>>);

/// One subscribed href.
#[derive(Debug)]
pub struct Member {
    /// As it was subscribed.
    pub href: String,
    /// What the watch's owner was last told about it.
    pub told: Element,
}

impl Members {
    /// The members, for one op at a time.
    pub fn lock(&self) -> MutexGuard<'_, Vec<Member>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A watch as an op sees it.
#[derive(Clone, Debug)]
pub struct Ticket {
    pub number: u32,
    pub owner: String,
    pub lease: TimeDelta,
    pub members: Arc<Members>,
}

#[derive(Debug)]
struct Watch {
    ticket: Ticket,
    last_used: DateTime<Utc>,
}

/// All watches of a running station; a restart begins with an empty one.
#[derive(Debug)]
pub struct WatchStore(Mutex<Live>);

#[derive(Debug)]
struct Live {
    made: u32,
    default_lease: TimeDelta,
    watches: BTreeMap<u32, Watch>,
}

impl Default for WatchStore {
    fn default() -> Self {
        Self(Mutex::new(Live {
            made: 0,
            default_lease: DEFAULT_LEASE,
            watches: BTreeMap::new(),
        }))
    }
}

impl WatchStore {
    fn live(&self) -> MutexGuard<'_, Live> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new watch with the next number.
    pub fn make(&self, owner: &str, now: DateTime<Utc>) -> Ticket {
        let mut live = self.live();
        live.expire(now);
        live.made += 1;
        let ticket = Ticket {
            number: live.made,
            owner: owner.to_owned(),
            lease: live.default_lease,
            members: Arc::default(),
        };
        let watch = Watch {
            ticket: ticket.clone(),
            last_used: now,
        };
        live.watches.insert(ticket.number, watch);
        ticket
    }

    /// A live watch, whose lease begins anew.
    pub fn renew(&self, number: u32, now: DateTime<Utc>) -> Option<Ticket> {
        let mut live = self.live();
        live.expire(now);
        let watch = live.watches.get_mut(&number)?;
        watch.last_used = now;
        Some(watch.ticket.clone())
    }

    /// Ends a watch.
    pub fn delete(&self, number: u32) {
        self.live().watches.remove(&number);
    }

    /// The numbers of the live watches of all users.
    pub fn numbers(&self, now: DateTime<Utc>) -> Vec<u32> {
        let mut live = self.live();
        live.expire(now);
        live.watches.keys().copied().collect()
    }

    pub fn set_lease(&self, number: u32, lease: TimeDelta) {
        if let Some(watch) = self.live().watches.get_mut(&number) {
            watch.ticket.lease = lease;
        }
    }

    pub fn default_lease(&self) -> TimeDelta {
        self.live().default_lease
    }

    pub fn set_default_lease(&self, lease: TimeDelta) {
        self.live().default_lease = lease;
    }
}

impl Live {
    fn expire(&mut self, now: DateTime<Utc>) {
        self.watches
            .retain(|_, watch| now.signed_duration_since(watch.last_used) <= watch.ticket.lease);
    }
}
