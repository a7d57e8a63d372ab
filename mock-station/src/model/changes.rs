//! The change log: what subscriptions and watches report.

use super::component::Handle;
use super::point::FED_INPUT;
use super::station::Station;
use super::value::Value;
use std::collections::VecDeque;
use std::sync::Arc;

/// How many changes are kept; a subscriber that falls further behind must load again.
const KEPT: usize = 20_000;

/// One change of a component.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub revision: u64,
    pub handle: Handle,
    pub event: ChangeEvent,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum ChangeEvent {
    /// A property has a new value; read it to see which.
    Set {
        slot: Arc<str>,
    },
    Added {
        slot: Arc<str>,
        child: Option<Handle>,
    },
    Removed {
        slot: Arc<str>,
        child: Option<Handle>,
    },
    Renamed {
        old: Arc<str>,
        new: Arc<str>,
    },
    Reordered,
    FlagsChanged {
        slot: Arc<str>,
    },
    FacetsChanged {
        slot: Arc<str>,
    },
    DisplayNameChanged {
        slot: Arc<str>,
    },
    TopicFired {
        slot: Arc<str>,
        event: Option<Value>,
    },
}

/// The newest changes with a revision that only grows.
#[derive(Debug, Default)]
pub struct ChangeLog {
    revision: u64,
    kept: VecDeque<Change>,
}

impl ChangeLog {
    /// The revision of the newest change; 0 before the first.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The changes after `revision`, oldest first; `None` if some of them are no longer kept.
    pub fn since(&self, revision: u64) -> Option<impl Iterator<Item = &Change>> {
        let missed = self.revision.saturating_sub(revision);
        let skip = (self.kept.len() as u64).checked_sub(missed)?;
        Some(self.kept.iter().skip(skip as usize))
    }

    pub(super) fn record(&mut self, handle: Handle, event: ChangeEvent) {
        self.revision += 1;
        if self.kept.len() == KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back(Change {
            revision: self.revision,
            handle,
            event,
        });
    }
}

/// The slots of a fed component that are computed when they are read; a read-only one has no input.
const COMPUTED: [&str; 2] = [FED_INPUT, "out"];

/// A component with subscribers.
#[derive(Debug)]
pub(super) struct Watched {
    subscribers: usize,
    /// The value of each of [`COMPUTED`] that was last reported.
    told: [Option<Value>; 2],
}

impl Station {
    /// The change log.
    pub fn changes(&self) -> &ChangeLog {
        &self.changes
    }

    /// Starts reporting the computed slots of a component in the change log on every tick.
    pub fn subscribe(&mut self, handle: Handle) {
        let told = COMPUTED.map(|slot| self.value(handle, slot));
        let watched = self.watched.entry(handle).or_insert(Watched {
            subscribers: 0,
            told,
        });
        watched.subscribers += 1;
    }

    /// Ends one subscription.
    pub fn unsubscribe(&mut self, handle: Handle) {
        if let Some(watched) = self.watched.get_mut(&handle) {
            watched.subscribers -= 1;
            if watched.subscribers == 0 {
                self.watched.remove(&handle);
            }
        }
    }

    pub(super) fn report_watched(&mut self) {
        let mut fed: Vec<Handle> = self.watched.keys().copied().collect();
        fed.retain(|handle| {
            self.component(*handle)
                .is_some_and(|component| component.is_fed())
        });
        fed.sort_unstable();
        for handle in fed {
            let present = COMPUTED.map(|slot| self.value(handle, slot));
            let Some(watched) = self.watched.get_mut(&handle) else {
                continue;
            };
            for ((slot, told), present) in COMPUTED.iter().zip(&mut watched.told).zip(present) {
                let same = match (&*told, &present) {
                    (Some(before), Some(now)) => before.same_as(now),
                    (before, now) => before.is_none() && now.is_none(),
                };
                if !same {
                    *told = present;
                    let slot = (*slot).into();
                    self.changes.record(handle, ChangeEvent::Set { slot });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subscriber_that_fell_behind_is_told() {
        let mut log = ChangeLog::default();
        for _ in 0..KEPT + 5 {
            log.record(Handle(3), ChangeEvent::Reordered);
        }
        assert!(log.since(4).is_none());
        assert_eq!(log.since(5).map(Iterator::count), Some(KEPT));
        assert_eq!(log.since(log.revision()).map(Iterator::count), Some(0));
    }
}
