//! What a component space has subscribed, and what changed in it since the last poll (Station web specification §4.4, §4.5).
//!
//! Stored slots are followed by the model's change log. Values the station computes when somebody looks (the output of
//! a fed point) have no entry there: each is compared with the one that was told last.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use indexmap::IndexMap;

use super::fold::fold;
use crate::boxs::node::NodeWriter;
use crate::model::changes::ChangeEvent;
use crate::model::component::Component;
use crate::model::link::LinkView;
use crate::model::{Handle, Station, User, Value};

/// Something to tell about a subscribed component.
#[derive(Clone, Debug, PartialEq)]
pub enum News {
    /// Single changes are no longer known: everything anew.
    Everything,
    Change(ChangeEvent),
    KnobAdded(LinkView),
    KnobRemoved(LinkView),
}

/// News of one component, in the order to be told.
#[derive(Clone, Debug, PartialEq)]
pub struct ComponentNews {
    pub handle: Handle,
    pub news: Vec<News>,
}

/// Who looks at the station, and how.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub station: &'a Station,
    pub user: &'a User,
    pub writer: &'a NodeWriter<'a>,
}

/// The subscriptions of one component space.
#[derive(Debug, Default)]
pub struct Subscriptions {
    by_handle: IndexMap<Handle, Subscription>,
    /// Changes up to this revision have been told.
    told: u64,
    /// When a poll last brought news.
    last_news: Option<DateTime<Utc>>,
}

#[derive(Debug)]
struct Subscription {
    /// The state at this revision was told when the subscription was made.
    since: u64,
    /// The values told last of slots that the station computes.
    computed: Vec<(&'static str, Option<Value>)>,
    /// The outgoing links told last.
    knobs: Vec<LinkView>,
    /// Dynamic slots that were kept from the user.
    hidden: BTreeSet<Arc<str>>,
    /// Changes went by while the user could not read the component.
    missed: bool,
}

impl Subscriptions {
    /// Subscribes a component, or renews its subscription, as of now.
    pub fn add(&mut self, view: View<'_>, handle: Handle) {
        if let Some(subscription) = Subscription::new(view, handle) {
            self.by_handle.insert(handle, subscription);
        }
    }

    /// Ends a subscription; nothing more is told of the component.
    pub fn remove(&mut self, handle: Handle) {
        self.by_handle.shift_remove(&handle);
    }

    /// Everything that happened since the last news, unless that was less than `gathering` ago; by a clock that stands
    /// still or goes back nothing is gathered.
    pub fn take_news(
        &mut self,
        view: View<'_>,
        now: DateTime<Utc>,
        gathering: Duration,
    ) -> Vec<ComponentNews> {
        let since_last = self.last_news.and_then(|last| (now - last).to_std().ok());
        if since_last.is_some_and(|since| !since.is_zero() && since < gathering) {
            return Vec::new();
        }
        let revision = view.station.changes().revision();
        let changes = self.logged(view.station);
        let log_moved = self.told != revision;
        self.told = revision;
        self.by_handle
            .retain(|handle, _| view.station.component(*handle).is_some());
        let mut found: Vec<(u64, ComponentNews)> = Vec::new();
        for (handle, subscription) in &mut self.by_handle {
            let own = changes.as_ref().map(|changes| changes.get(handle));
            // Components with logged changes come in the order of these, the others after them.
            let first = own.flatten().map_or(u64::MAX, |own| own.first);
            let events = own.map(|own| own.map_or(&[][..], |own| &own.events));
            let news = subscription.news(view, *handle, events, log_moved);
            if !news.is_empty() {
                let handle = *handle;
                found.push((first, ComponentNews { handle, news }));
            }
        }
        found.sort_by_key(|(first, _)| *first);
        if !found.is_empty() {
            self.last_news = Some(now);
        }
        found.into_iter().map(|(_, news)| news).collect()
    }

    /// The logged changes not yet told, by subscribed component; none if the log no longer has them all.
    fn logged<'s>(&self, station: &'s Station) -> Option<HashMap<Handle, OwnChanges<'s>>> {
        let mut changes: HashMap<Handle, OwnChanges<'s>> = HashMap::new();
        // Before the oldest subscription there is nothing to tell.
        let oldest = self.by_handle.values().map(|own| own.since).min();
        let from = oldest.map_or(station.changes().revision(), |oldest| oldest.max(self.told));
        for change in station.changes().since(from)? {
            let known = self.by_handle.get(&change.handle);
            if known.is_none_or(|subscription| change.revision <= subscription.since) {
                continue;
            }
            let own = changes.entry(change.handle).or_insert(OwnChanges {
                first: change.revision,
                events: Vec::new(),
            });
            own.events.push(&change.event);
        }
        Some(changes)
    }
}

struct OwnChanges<'s> {
    /// Revision of the first one.
    first: u64,
    events: Vec<&'s ChangeEvent>,
}

impl Subscription {
    fn new(view: View<'_>, handle: Handle) -> Option<Self> {
        let component = view.station.component(handle)?;
        let computed = computed_slots(component)
            .iter()
            .map(|slot| (*slot, view.station.value(handle, slot)));
        Some(Self {
            since: view.station.changes().revision(),
            computed: computed.collect(),
            knobs: visible_knobs(view, handle),
            hidden: hidden_slots(view, handle),
            missed: false,
        })
    }

    /// `events` is none when the log no longer has them all.
    fn news(
        &mut self,
        view: View<'_>,
        handle: Handle,
        events: Option<&[&ChangeEvent]>,
        log_moved: bool,
    ) -> Vec<News> {
        if !view.station.can_read(view.user, handle) {
            self.missed |= log_moved;
            return Vec::new();
        }
        let Some(events) = events.filter(|_| !self.missed) else {
            if let Some(anew) = Self::new(view, handle) {
                *self = anew;
            }
            return vec![News::Everything];
        };
        let mut news = Vec::new();
        if !events.is_empty() {
            let hidden = match events.iter().any(|event| alters_slots(event)) {
                true => hidden_slots(view, handle),
                false => self.hidden.clone(),
            };
            for change in fold(events.iter().copied()) {
                news.extend(self.as_seen(change, &hidden).map(News::Change));
            }
            self.hidden = hidden;
        }
        self.compare_computed(view.station, handle, &mut news);
        if log_moved {
            self.compare_knobs(view, handle, &mut news);
        }
        news
    }

    /// A change as the user sees it. Computed slots are told by comparison, slots that are kept from the user not at
    /// all; new flags can bring a slot into sight or out of it. `hidden` are the slots kept from the user in the end.
    fn as_seen(&mut self, change: ChangeEvent, hidden: &BTreeSet<Arc<str>>) -> Option<ChangeEvent> {
        match change {
            ChangeEvent::Set { ref slot } => {
                let computed = self.computed.iter().any(|(own, _)| **own == **slot);
                (!computed).then_some(change)
            }
            ChangeEvent::Removed { ref slot, .. } => (!self.hidden.remove(slot)).then_some(change),
            ChangeEvent::Renamed { ref old, ref new } => {
                if self.hidden.remove(old) {
                    self.hidden.insert(new.clone());
                    return None;
                }
                Some(change)
            }
            ChangeEvent::FlagsChanged { slot } => {
                match (self.hidden.contains(&slot), hidden.contains(&slot)) {
                    (true, true) => None,
                    (true, false) => {
                        self.hidden.remove(&slot);
                        Some(ChangeEvent::Added { slot, child: None })
                    }
                    (false, true) => Some(ChangeEvent::Removed { slot, child: None }),
                    (false, false) => Some(ChangeEvent::FlagsChanged { slot }),
                }
            }
            ChangeEvent::Added { ref slot, .. } => (!hidden.contains(slot)).then_some(change),
            _ => Some(change),
        }
    }

    fn compare_computed(&mut self, station: &Station, handle: Handle, news: &mut Vec<News>) {
        for (slot, told) in &mut self.computed {
            let present = station.value(handle, slot);
            let same = match (&*told, &present) {
                (Some(told), Some(present)) => told.same_as(present),
                (told, present) => told.is_none() && present.is_none(),
            };
            if !same {
                *told = present;
                let slot = Arc::from(*slot);
                news.push(News::Change(ChangeEvent::Set { slot }));
            }
        }
    }

    fn compare_knobs(&mut self, view: View<'_>, handle: Handle, news: &mut Vec<News>) {
        if self.knobs.is_empty() && view.station.links().from(handle).is_empty() {
            return;
        }
        let present = visible_knobs(view, handle);
        let gone = self.knobs.iter().filter(|knob| !present.contains(knob));
        news.extend(gone.cloned().map(News::KnobRemoved));
        let new = present.iter().filter(|knob| !self.knobs.contains(knob));
        news.extend(new.cloned().map(News::KnobAdded));
        self.knobs = present;
    }
}

/// The slots of a component whose value the station computes when it is read.
fn computed_slots(component: &Component) -> &'static [&'static str] {
    if component.ty().is("driver:ProxyExt") {
        &["status", "readValue", "faultCause"]
    } else if component.is_fed() && component.ty().is_writable_point() {
        &["in16", "out"]
    } else if component.is_fed() {
        &["out"]
    } else {
        &[]
    }
}

fn visible_knobs(view: View<'_>, handle: Handle) -> Vec<LinkView> {
    let links = view.station.links().from(handle).iter();
    links
        .filter(|link| view.station.can_read(view.user, link.ends.target))
        .cloned()
        .collect()
}

fn hidden_slots(view: View<'_>, handle: Handle) -> BTreeSet<Arc<str>> {
    let slots = view.station.slots(handle);
    slots
        .iter()
        .filter(|slot| !slot.frozen && !view.writer.shows(handle, slot))
        .map(|slot| Arc::from(slot.name))
        .collect()
}

/// Whether a change can alter which dynamic slots the user sees.
fn alters_slots(event: &ChangeEvent) -> bool {
    matches!(
        event,
        ChangeEvent::Added { .. }
            | ChangeEvent::Removed { .. }
            | ChangeEvent::Renamed { .. }
            | ChangeEvent::FlagsChanged { .. }
    )
}
