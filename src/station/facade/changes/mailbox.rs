//! What a subscriber has not taken yet: of each point the latest state only, so that a slow one costs bounded memory.

use std::sync::{Mutex, MutexGuard, PoisonError};

use indexmap::IndexMap;
use tokio::sync::Notify;

use super::Change;
use crate::station::ord::Ord;

/// Changes that wait for one subscriber.
#[derive(Debug, Default)]
pub(super) struct Mailbox {
    state: Mutex<State>,
    arrival: Notify,
}

#[derive(Debug, Default)]
struct State {
    waiting: IndexMap<Ord, Change>,
    is_closed: bool,
}

impl Mailbox {
    /// Puts a change in; it replaces an older one of the same point and inherits its gap mark.
    pub(super) fn put(&self, mut change: Change) {
        let mut state = self.state();
        if let Some(older) = state.waiting.get(&change.ord) {
            change.gap |= older.gap;
        }
        state.waiting.insert(change.ord.clone(), change);
        drop(state);
        self.arrival.notify_one();
    }

    /// Forgets what waits of a point.
    pub(super) fn discard(&self, ord: &Ord) {
        self.state().waiting.shift_remove(ord);
    }

    /// No more changes will come.
    pub(super) fn close(&self) {
        self.state().is_closed = true;
        self.arrival.notify_one();
    }

    /// The change that waits longest; none when nothing waits and nothing will come.
    pub(super) async fn next(&self) -> Option<Change> {
        loop {
            {
                let mut state = self.state();
                if let Some((_, change)) = state.waiting.shift_remove_index(0) {
                    return Some(change);
                }
                if state.is_closed {
                    return None;
                }
            }
            self.arrival.notified().await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;
    use crate::station::facade::PointValue;

    fn change(path: &str, value: f64, gap: bool) -> Change {
        Change {
            ord: Ord::component(path).expect("an ORD"),
            value: Some(PointValue::Number(value)),
            text: None,
            status: None,
            at: DateTime::UNIX_EPOCH,
            gap,
            problem: None,
        }
    }

    #[tokio::test]
    async fn a_slow_reader_gets_the_latest_state_and_every_gap() {
        let mailbox = Mailbox::default();
        for (path, value, gap) in [
            ("slot:/A", 1.0, true),
            ("slot:/B", 2.0, false),
            ("slot:/A", 3.0, false),
            ("slot:/C", 4.0, false),
        ] {
            mailbox.put(change(path, value, gap));
        }
        mailbox.discard(&Ord::component("slot:/B").expect("an ORD"));
        mailbox.close();
        assert_eq!(mailbox.next().await, Some(change("slot:/A", 3.0, true)));
        assert_eq!(mailbox.next().await, Some(change("slot:/C", 4.0, false)));
        assert_eq!(mailbox.next().await, None);
        assert_eq!(mailbox.next().await, None, "closed stays closed");
    }
}
