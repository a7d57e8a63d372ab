//! Asynchronous actions: answered at once, done later, failures known to nobody but the station's log (Station web specification §4.8).

use super::component::Handle;
use super::error::ModelError;
use super::station::Station;
use super::value::Value;
use chrono::{DateTime, TimeDelta, Utc};
use std::collections::HashMap;

/// Actions that wait for their time, and actions that are made to fail.
#[derive(Debug, Default)]
pub struct Actions {
    waiting: Vec<Waiting>,
    failing: HashMap<(Handle, String), String>,
}

#[derive(Debug)]
struct Waiting {
    due: DateTime<Utc>,
    handle: Handle,
    action: String,
    argument: Option<Value>,
}

impl Station {
    /// Lets an action fail with this text from now on, as one whose driver or program breaks down.
    pub fn fail_action(&mut self, handle: Handle, action: &str, cause: &str) {
        let key = (handle, action.to_owned());
        self.actions.failing.insert(key, cause.to_owned());
    }

    /// Ends what [`Station::fail_action`] began.
    pub fn mend_action(&mut self, handle: Handle, action: &str) {
        self.actions.failing.remove(&(handle, action.to_owned()));
    }

    /// Number of asynchronous actions that were answered and are not done yet.
    pub fn waiting_actions(&self) -> usize {
        self.actions.waiting.len()
    }

    pub(super) fn check_failing(&self, handle: Handle, action: &str) -> Result<(), ModelError> {
        let key = (handle, action.to_owned());
        match self.actions.failing.get(&key) {
            Some(cause) => Err(ModelError::ActionFailed {
                component: self.slot_path(handle),
                action: action.to_owned(),
                cause: cause.clone(),
            }),
            None => Ok(()),
        }
    }

    /// Does an asynchronous action, at once without a delay; its failure is logged, not answered.
    pub(super) fn invoke_later(
        &mut self,
        handle: Handle,
        action: &str,
        argument: Option<Value>,
        delay: TimeDelta,
    ) {
        let waiting = Waiting {
            due: self.now + delay,
            handle,
            action: action.to_owned(),
            argument,
        };
        if delay > TimeDelta::zero() {
            self.actions.waiting.push(waiting);
        } else {
            self.carry_out(waiting);
        }
    }

    pub(super) fn do_due_actions(&mut self) {
        let now = self.now;
        let (due, waiting) = std::mem::take(&mut self.actions.waiting)
            .into_iter()
            .partition(|waiting| waiting.due <= now);
        self.actions.waiting = waiting;
        let mut due: Vec<Waiting> = due;
        due.sort_by_key(|waiting| waiting.due);
        for waiting in due {
            self.carry_out(waiting);
        }
    }

    /// A restart forgets what was not done yet.
    pub(super) fn drop_waiting_actions(&mut self) {
        self.actions.waiting.clear();
    }

    fn carry_out(&mut self, waiting: Waiting) {
        if let Err(error) = self.invoke(waiting.handle, &waiting.action, waiting.argument) {
            tracing::debug!(%error, "an asynchronous action failed");
        }
    }
}
