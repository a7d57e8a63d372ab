//! Who watches what: members and their points, the last state of each point, and the one task that asks the station.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use indexmap::IndexMap;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::mailbox::Mailbox;
use super::{Change, ChangePacing, ChangeRoute, MAX_WATCHED_POINTS, PointOutput, not_watchable};
use crate::station::error::StationError;
use crate::station::facade::StationFacade;
use crate::station::facade::error::FacadeResult;
use crate::station::ord::Ord;

/// Closing must not hold up the end of the process.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// What was seen of a point, or why nothing was seen.
pub(super) type Observation = Result<PointOutput, String>;

/// All subscriptions of one identity.
#[derive(Debug)]
pub(in crate::station::facade) struct ChangeHub {
    pub(super) pacing: ChangePacing,
    state: Mutex<State>,
    /// The points changed.
    pub(super) wake: Notify,
    /// The station is back: no need to wait out a pause.
    pub(super) retry: Notify,
}

#[derive(Debug, Default)]
struct State {
    points: IndexMap<Ord, Point>,
    members: HashMap<u64, Arc<Mailbox>>,
    next_member: u64,
    route: Option<ChangeRoute>,
    running: Option<Running>,
}

#[derive(Debug, Default)]
struct Point {
    members: HashSet<u64>,
    last: Option<Change>,
    /// The next observation carries the gap mark.
    was_interrupted: bool,
}

#[derive(Debug)]
struct Running {
    cancel: CancellationToken,
    task: JoinHandle<()>,
}

impl ChangeHub {
    pub(in crate::station::facade) fn new(pacing: ChangePacing) -> Self {
        Self {
            pacing,
            state: Mutex::default(),
            wake: Notify::new(),
            retry: Notify::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn route(&self) -> Option<ChangeRoute> {
        self.state().route
    }

    pub(super) fn set_route(&self, route: ChangeRoute) {
        self.state().route = Some(route);
    }

    pub(super) fn watched(&self) -> usize {
        self.state().points.len()
    }

    /// The points that someone watches.
    pub(super) fn wanted(&self) -> Vec<Ord> {
        self.state().points.keys().cloned().collect()
    }

    /// A pause after failures need not be waited out.
    pub(in crate::station::facade) fn station_is_back(&self) {
        self.retry.notify_waiters();
    }

    /// Starts the task that asks the station, unless it runs.
    pub(super) fn drive(self: &Arc<Self>, facade: &Arc<StationFacade>) {
        let mut state = self.state();
        if state.running.is_none() && !state.points.is_empty() {
            let cancel = CancellationToken::new();
            let task = tokio::spawn(super::driver::run(
                Arc::clone(facade),
                Arc::clone(self),
                cancel.clone(),
            ));
            state.running = Some(Running { cancel, task });
        }
        drop(state);
        self.wake.notify_one();
    }

    /// Called by the task when it has given up its source: true when nobody watches anything, and the task must end.
    pub(super) fn finish_if_idle(&self) -> bool {
        let mut state = self.state();
        if !state.points.is_empty() {
            return false;
        }
        state.running = None;
        state.route = None;
        true
    }

    /// From now on the next observation of each point carries the gap mark.
    pub(super) fn interrupt(&self) {
        for point in self.state().points.values_mut() {
            // A point that was never seen has no gap before its first observation.
            point.was_interrupted |= point.last.is_some();
        }
    }

    /// Tells the members of a point what was seen, unless they know it.
    pub(super) fn publish(&self, ord: &Ord, observation: Observation, at: DateTime<Utc>) {
        let mut state = self.state();
        let State {
            points, members, ..
        } = &mut *state;
        let Some(point) = points.get_mut(ord) else {
            return;
        };
        let (output, problem) = match observation {
            Ok(output) => (output, None),
            Err(problem) => (PointOutput::default(), Some(problem)),
        };
        let change = Change {
            ord: ord.clone(),
            value: output.value,
            text: output.text,
            status: output.status,
            at,
            gap: problem.is_none() && std::mem::take(&mut point.was_interrupted),
            problem,
        };
        if !change.gap && point.last.as_ref().is_some_and(|last| same(last, &change)) {
            return;
        }
        for member in &point.members {
            if let Some(mailbox) = members.get(member) {
                mailbox.put(change.clone());
            }
        }
        point.last = Some(change);
    }

    /// Tells the members of every point that the station cannot be asked.
    pub(super) fn publish_problem(&self, problem: &str, at: DateTime<Utc>) {
        for ord in self.wanted() {
            self.publish(&ord, Err(problem.to_owned()), at);
        }
    }

    /// Ends all subscriptions and waits until the station's resources are given up.
    pub(in crate::station::facade) async fn shut_down(&self) {
        let running = {
            let mut state = self.state();
            for mailbox in state.members.values() {
                mailbox.close();
            }
            state.members.clear();
            state.points.clear();
            state.route = None;
            state.running.take()
        };
        let Some(Running { cancel, task }) = running else {
            return;
        };
        cancel.cancel();
        if tokio::time::timeout(SHUTDOWN_TIMEOUT, task).await.is_err() {
            tracing::debug!("the watch was not given up in time; it ends by its lease");
        }
    }
}

fn same(last: &Change, next: &Change) -> bool {
    (&last.value, &last.text, last.status, &last.problem)
        == (&next.value, &next.text, next.status, &next.problem)
}

/// One subscriber's place in the hub.
#[derive(Debug)]
pub(super) struct Membership {
    hub: Arc<ChangeHub>,
    mailbox: Arc<Mailbox>,
    number: u64,
}

impl Membership {
    pub(super) fn join(hub: &Arc<ChangeHub>, ords: &[Ord]) -> FacadeResult<Self> {
        let mailbox = Arc::new(Mailbox::default());
        let number = {
            let mut state = hub.state();
            let number = state.next_member;
            state.next_member += 1;
            state.members.insert(number, Arc::clone(&mailbox));
            number
        };
        let membership = Self {
            hub: Arc::clone(hub),
            mailbox,
            number,
        };
        membership.add(ords)?;
        Ok(membership)
    }

    pub(super) fn hub(&self) -> &ChangeHub {
        &self.hub
    }

    pub(super) fn mailbox(&self) -> &Mailbox {
        &self.mailbox
    }

    /// All or none of the points.
    pub(super) fn add(&self, ords: &[Ord]) -> FacadeResult<()> {
        if let Some(ord) = ords
            .iter()
            .find(|ord| !matches!(ord, Ord::Slot(_) | Ord::Handle(_)))
        {
            return Err(not_watchable(ord).into());
        }
        let mut state = self.hub.state();
        let fresh: HashSet<&Ord> = ords
            .iter()
            .filter(|ord| !state.points.contains_key(*ord))
            .collect();
        if state.points.len() + fresh.len() > MAX_WATCHED_POINTS {
            return Err(StationError::InvalidInput {
                what: "the number of watched points",
                detail: format!(
                    "this identity watches {} points already and at most {MAX_WATCHED_POINTS} are allowed; end subscriptions that are not needed",
                    state.points.len()
                ),
            }
            .into());
        }
        // A member of a closed facade gets nothing any more.
        if !state.members.contains_key(&self.number) {
            return Ok(());
        }
        for ord in ords {
            let point = state.points.entry(ord.clone()).or_default();
            if point.members.insert(self.number)
                && let Some(last) = &point.last
            {
                self.mailbox.put(Change {
                    gap: false,
                    ..last.clone()
                });
            }
        }
        drop(state);
        self.hub.wake.notify_one();
        Ok(())
    }

    pub(super) fn remove(&self, ord: &Ord) {
        let mut state = self.hub.state();
        if let Some(point) = state.points.get_mut(ord) {
            point.members.remove(&self.number);
            if point.members.is_empty() {
                state.points.shift_remove(ord);
            }
        }
        self.mailbox.discard(ord);
        drop(state);
        self.hub.wake.notify_one();
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        let mut state = self.hub.state();
        state.members.remove(&self.number);
        state.points.retain(|_, point| {
            point.members.remove(&self.number);
            !point.members.is_empty()
        });
        drop(state);
        self.hub.wake.notify_one();
    }
}
