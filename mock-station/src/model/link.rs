//! Links: the output of one slot arrives at another, through chains and around cycles.

use super::component::{Handle, SlotContent};
use super::error::ModelError;
use super::flags::Flags;
use super::link_check::{LinkKind, converts};
use super::registry;
use super::station::Station;
use super::status::Status;
use super::value::{PointKind, StructValue, Value};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

/// How often one link may fire in one cascade; a cycle that has not settled by then waits for the next change.
const FIRES_PER_CASCADE: u32 = 8;

/// The two ends of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkEnds {
    pub source: Handle,
    pub source_slot: Arc<str>,
    pub target: Handle,
    pub target_slot: Arc<str>,
}

/// One live link: its ends and the slot of the target that holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkView {
    pub slot: Arc<str>,
    pub ends: LinkEnds,
}

/// All live links by source and by target.
#[derive(Debug, Default)]
pub struct Links {
    outgoing: BTreeMap<Handle, Vec<LinkView>>,
    by_target: HashMap<Handle, Vec<LinkView>>,
}

impl Links {
    /// Links that start at `source` (the station calls them knobs).
    pub fn from(&self, source: Handle) -> &[LinkView] {
        self.outgoing.get(&source).map_or(&[], Vec::as_slice)
    }

    /// Links that end at `target`.
    pub fn to(&self, target: Handle) -> &[LinkView] {
        self.by_target.get(&target).map_or(&[], Vec::as_slice)
    }

    pub(super) fn is_link_slot(&self, target: Handle, slot: &str) -> bool {
        self.to(target).iter().any(|link| &*link.slot == slot)
    }

    pub(super) fn fed_sources(&self, station: &Station) -> Vec<Handle> {
        let fed = |handle: &Handle| {
            station
                .component(*handle)
                .is_some_and(|component| component.is_fed())
        };
        self.outgoing.keys().copied().filter(fed).collect()
    }

    pub(super) fn rename_slot(&mut self, target: Handle, old: &str, new: &Arc<str>) {
        let everywhere = self
            .outgoing
            .values_mut()
            .chain(self.by_target.values_mut())
            .flatten();
        for link in everywhere.filter(|link| link.ends.target == target && &*link.slot == old) {
            link.slot = new.clone();
        }
    }

    fn insert(&mut self, link: LinkView) {
        self.outgoing
            .entry(link.ends.source)
            .or_default()
            .push(link.clone());
        self.by_target
            .entry(link.ends.target)
            .or_default()
            .push(link);
    }

    fn retain(&mut self, keep: impl Fn(&LinkView) -> bool) {
        self.outgoing
            .values_mut()
            .for_each(|links| links.retain(&keep));
        self.by_target
            .values_mut()
            .for_each(|links| links.retain(&keep));
        self.outgoing.retain(|_, links| !links.is_empty());
        self.by_target.retain(|_, links| !links.is_empty());
    }
}

impl Station {
    /// All live links.
    pub fn links(&self) -> &Links {
        &self.links
    }

    /// Links `source/source_slot` to `target/target_slot`; returns the name of the new link slot on the target.
    pub fn link(
        &mut self,
        source: Handle,
        source_slot: &str,
        target: Handle,
        target_slot: &str,
    ) -> Result<Arc<str>, ModelError> {
        let link = self.make_link(source, source_slot, target, target_slot)?;
        self.add_value(target, Some("Link"), link, Flags::NONE, None)
    }

    /// The link value that would connect the two slots, not yet added; a conversion link where the kinds differ.
    pub fn make_link(
        &self,
        source: Handle,
        source_slot: &str,
        target: Handle,
        target_slot: &str,
    ) -> Result<Value, ModelError> {
        let kind = self.check_link(&LinkEnds {
            source,
            source_slot: source_slot.into(),
            target,
            target_slot: target_slot.into(),
        })?;
        let (spec, converter) = match kind {
            LinkKind::Direct => ("baja:Link", None),
            LinkKind::Converted(converter) => ("baja:ConversionLink", Some(converter)),
        };
        let ty = registry::find(spec).ok_or_else(|| ModelError::UnknownType {
            spec: spec.to_owned(),
        })?;
        let mut link = StructValue::new(ty);
        if let Some(converter) = converter {
            link.set("converter", Value::Struct(StructValue::new(converter)));
        }
        let link = link
            .with("sourceOrd", Value::Ord(format!("h:{source}").into()))
            .with("sourceSlotName", Value::from(source_slot))
            .with("targetSlotName", Value::from(target_slot));
        Ok(Value::Struct(link))
    }

    pub(super) fn check_link_ends(&self, ends: LinkEnds) -> Result<LinkEnds, ModelError> {
        let illegal = |reason: String| Err(ModelError::IllegalLink { reason });
        if self.slot(ends.source, &ends.source_slot).is_none() {
            return illegal(format!(
                "source {} has no slot {}",
                self.slot_path(ends.source),
                ends.source_slot
            ));
        }
        if self.slot(ends.target, &ends.target_slot).is_none() {
            return illegal(format!(
                "target {} has no slot {}",
                self.slot_path(ends.target),
                ends.target_slot
            ));
        }
        Ok(ends)
    }

    /// The ends of a link value held by `target`; `None` if the value is no link or is disabled.
    pub(super) fn link_ends(
        &self,
        target: Handle,
        value: &Value,
    ) -> Option<Result<LinkEnds, ModelError>> {
        let body = value.as_struct().filter(|body| body.ty.is_link())?;
        if body.get("enabled").and_then(Value::as_bool) == Some(false) {
            return None;
        }
        let text = |name| body.get(name).and_then(Value::as_str).unwrap_or_default();
        let source = match self.resolve_component(text("sourceOrd")) {
            Ok(source) => source,
            Err(error) => return Some(Err(error)),
        };
        Some(Ok(LinkEnds {
            source,
            source_slot: text("sourceSlotName").into(),
            target,
            target_slot: text("targetSlotName").into(),
        }))
    }

    pub(super) fn connect(&mut self, slot: Arc<str>, ends: LinkEnds) {
        let source = ends.source;
        self.links.insert(LinkView { slot, ends });
        self.propagate_from(source);
    }

    pub(super) fn disconnect(&mut self, target: Handle, slot: &str) {
        self.links
            .retain(|link| !(link.ends.target == target && &*link.slot == slot));
    }

    /// Removes every link with an end in `doomed`, also the link slots on surviving targets.
    pub(super) fn cut_links_of(&mut self, doomed: &[Handle]) {
        let orphaned: Vec<LinkView> = doomed
            .iter()
            .flat_map(|handle| self.links.from(*handle))
            .filter(|link| !doomed.contains(&link.ends.target))
            .cloned()
            .collect();
        let gone: std::collections::HashSet<Handle> = doomed.iter().copied().collect();
        self.links
            .retain(|link| !gone.contains(&link.ends.source) && !gone.contains(&link.ends.target));
        for link in orphaned {
            if let Some(target) = self.component_mut(link.ends.target) {
                target.dynamic.shift_remove(&*link.slot);
            }
            let removed = super::changes::ChangeEvent::Removed {
                slot: link.slot,
                child: None,
            };
            self.changes.record(link.ends.target, removed);
        }
    }

    /// Carries all linked properties of `source` to the properties they are linked to and on from there.
    pub(super) fn propagate_from(&mut self, source: Handle) {
        let links = self.links.from(source).iter();
        // An action is invoked when something changes, not when a link is made.
        let links = links.filter(|link| {
            self.component(link.ends.target)
                .is_some_and(|target| target.stored(&link.ends.target_slot).is_some())
        });
        self.cascade(links.cloned().collect());
    }

    /// Carries what an action was invoked with, or a topic fired, to the actions and topics linked to it.
    pub(super) fn signal(&mut self, source: Handle, slot: &str, event: Option<&Value>) {
        let links = self.links.from(source).iter();
        let targets: Vec<LinkEnds> = links
            .filter(|link| &*link.ends.source_slot == slot)
            .map(|link| link.ends.clone())
            .collect();
        for ends in targets {
            self.trigger(&ends, event);
        }
    }

    /// Invokes the action, or fires the topic, at the end of a link. A cycle of actions is cut like one of values.
    fn trigger(&mut self, ends: &LinkEnds, event: Option<&Value>) {
        if self.trigger_depth >= FIRES_PER_CASCADE {
            return;
        }
        self.trigger_depth += 1;
        let content = self
            .slot(ends.target, &ends.target_slot)
            .map(|slot| slot.content);
        match content {
            Some(SlotContent::Action(action)) => {
                let argument = action.parameter.and(event.cloned());
                if let Err(error) = self.invoke(ends.target, &ends.target_slot, argument) {
                    tracing::debug!(%error, "a linked action failed");
                }
            }
            Some(SlotContent::Topic(_)) => {
                self.fire(ends.target, &ends.target_slot, event.cloned());
            }
            _ => {}
        }
        self.trigger_depth -= 1;
    }

    /// Carries one changed slot to its targets and on from there.
    pub(super) fn follow_links(&mut self, source: Handle, slot: &str) {
        let links: Vec<LinkView> = self
            .links
            .from(source)
            .iter()
            .filter(|link| &*link.ends.source_slot == slot)
            .cloned()
            .collect();
        self.cascade(links);
    }

    fn cascade(&mut self, links: Vec<LinkView>) {
        if links.is_empty() {
            return;
        }
        let mut pending: VecDeque<LinkView> = links.into();
        let mut fired: HashMap<(Handle, Arc<str>), u32> = HashMap::new();
        while let Some(link) = pending.pop_front() {
            let count = fired
                .entry((link.ends.target, link.slot.clone()))
                .or_insert(0);
            *count += 1;
            if *count > FIRES_PER_CASCADE {
                continue;
            }
            for changed in self.carry(&link) {
                let next = self.links.from(link.ends.target).iter();
                pending.extend(
                    next.filter(|next| *next.ends.source_slot == *changed)
                        .cloned(),
                );
            }
        }
    }

    /// Moves one value over one link; names the slots of the target that changed by it.
    fn carry(&mut self, link: &LinkView) -> Vec<Arc<str>> {
        let ends = &link.ends;
        let Some(value) = self.value(ends.source, &ends.source_slot) else {
            return Vec::new();
        };
        let Some(current) = self
            .component(ends.target)
            .and_then(|target| target.stored(&ends.target_slot))
        else {
            self.trigger(ends, Some(&value));
            return Vec::new();
        };
        let Some(value) = self.arriving(link, &value, current) else {
            return Vec::new();
        };
        if value.same_as(current) {
            return Vec::new();
        }
        if let Some(target) = self.component_mut(ends.target) {
            target.store(&ends.target_slot, value);
            if let Some(level) = super::point::input_level(&ends.target_slot) {
                target.commanded.set(level, false);
            }
        }
        self.changes.record(
            ends.target,
            super::changes::ChangeEvent::Set {
                slot: ends.target_slot.clone(),
            },
        );
        let mut changed = vec![ends.target_slot.clone()];
        changed.extend(self.recompute(ends.target));
        changed
    }
}

impl Station {
    /// What a link brings to a slot that holds `current`. A link without the converter it needs, or with a wrong one,
    /// faults: the target keeps its value and says so in its status, if it has one.
    fn arriving(&self, link: &LinkView, value: &Value, current: &Value) -> Option<Value> {
        let held = self.component(link.ends.target)?.stored(&link.slot)?;
        let body = held.as_struct()?;
        let fits = match body.get("converter").and_then(Value::as_struct) {
            Some(converter) => converts(converter.ty, value, current),
            None => value.type_spec() == current.type_spec(),
        };
        if fits {
            return convert(value, current);
        }
        let kind = PointKind::of_status_type(current.type_spec())?;
        let (value, _) = current.as_status_value()?;
        let fault = Status::from_bits(Status::FAULT);
        Some(Value::status_value(kind, value.clone(), fault))
    }
}

/// What arrives at a slot holding `target` when `source` is linked to it; status values lose their level on the way.
fn convert(source: &Value, target: &Value) -> Option<Value> {
    if let Some((target_value, _)) = target.as_status_value() {
        let kind = PointKind::of_status_type(target.type_spec())?;
        let (value, bits) = match source.as_status_value() {
            Some((value, status)) => (value, status.bits),
            None => (source, 0),
        };
        let value = convert_simple(value, target_value, kind)?;
        return Some(Value::status_value(
            kind,
            value,
            super::status::Status::from_bits(bits),
        ));
    }
    if source.type_spec() == target.type_spec() {
        return Some(source.clone());
    }
    let plain = source.as_status_value().map_or(source, |(value, _)| value);
    match target {
        Value::Double(_) => plain.as_f64().map(Value::Double),
        Value::Float(_) => plain.as_f64().map(|number| Value::Float(number as f32)),
        Value::Integer(_) => plain.as_f64().map(|number| Value::Integer(number as i32)),
        Value::Boolean(_) => plain.as_bool().map(Value::Boolean),
        Value::String(_) => Some(Value::from(plain.encode())),
        _ => None,
    }
}

fn convert_simple(value: &Value, target: &Value, kind: PointKind) -> Option<Value> {
    Some(match kind {
        PointKind::Numeric => Value::Double(value.as_f64()?),
        PointKind::Boolean => Value::Boolean(value.as_bool()?),
        PointKind::String => match value {
            Value::String(_) => value.clone(),
            other => Value::from(other.encode()),
        },
        PointKind::Enum => match (value, target) {
            (Value::DynamicEnum(_), _) => value.clone(),
            (other, Value::DynamicEnum(range)) => Value::DynamicEnum(super::enums::DynamicEnum {
                ordinal: other.as_f64()? as i32,
                range: range.range.clone(),
            }),
            _ => return None,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::point::FeedSample;
    use crate::model::status::Status;
    use chrono::{DateTime, TimeDelta, TimeZone, Utc};

    fn station() -> Station {
        Station::new(
            "T",
            chrono_tz::Tz::UTC,
            Utc.with_ymd_and_hms(2026, 3, 10, 10, 0, 0).unwrap(),
        )
    }

    fn add(station: &mut Station, name: &str, spec: &str) -> Handle {
        station.add(station.root(), Some(name), spec).unwrap()
    }

    fn number(station: &Station, handle: Handle) -> f64 {
        station.out(handle).unwrap().0.as_f64().unwrap()
    }

    #[test]
    fn a_change_runs_through_a_chain_at_once() {
        let mut station = station();
        let source = add(&mut station, "Source", "kitControl:NumericConst");
        let mut last = source;
        for number in 0..20 {
            let next = add(
                &mut station,
                &format!("W{number}"),
                "control:NumericWritable",
            );
            station.link(last, "out", next, "in16").unwrap();
            last = next;
        }
        station
            .set(source, "value/value", Value::Double(33.0))
            .unwrap();
        assert_eq!(number(&station, last), 33.0);
        assert_eq!(station.out(last).unwrap().1.active_level(), Some(16));
    }

    #[test]
    fn a_cycle_settles_or_is_cut() {
        let mut station = station();
        let a = add(&mut station, "A", "kitControl:Add");
        let one = add(&mut station, "One", "kitControl:NumericConst");
        station.set(one, "value/value", Value::Double(1.0)).unwrap();
        station.link(one, "out", a, "inA").unwrap();
        station.link(a, "out", a, "inB").unwrap();
        let first = number(&station, a);
        assert!((2.0..20.0).contains(&first), "{first}");
        let x = add(&mut station, "X", "control:NumericWritable");
        let y = add(&mut station, "Y", "control:NumericWritable");
        station.link(x, "out", y, "in10").unwrap();
        station.link(y, "out", x, "in12").unwrap();
        station
            .set(x, "in5", Value::status_numeric(4.0, Status::ok()))
            .unwrap();
        assert_eq!(number(&station, y), 4.0);
    }

    #[test]
    fn kinds_are_converted_on_the_way() {
        let mut station = station();
        let source = add(&mut station, "N", "kitControl:NumericConst");
        let flag = add(&mut station, "B", "control:BooleanWritable");
        let text = add(&mut station, "S", "control:StringWritable");
        let link = station.link(source, "out", flag, "in10").unwrap();
        station.link(source, "out", text, "in10").unwrap();
        station
            .set(source, "value/value", Value::Double(2.0))
            .unwrap();
        assert_eq!(station.out(flag).unwrap().0, Value::Boolean(true));
        assert_eq!(station.out(text).unwrap().0, Value::from("2.0"));
        let slot = station.slot(flag, &link).unwrap();
        assert!(slot.is_link());
        assert_eq!(slot.value().unwrap().type_spec(), "baja:ConversionLink");
    }

    #[test]
    fn a_driver_point_carries_its_status_over_a_link() {
        let mut station = station();
        let start = station.now();
        let sensor = add(&mut station, "Sensor", "control:NumericPoint");
        let target = add(&mut station, "Target", "control:NumericWritable");
        station.link(sensor, "out", target, "in16").unwrap();
        let feed = move |now: DateTime<Utc>| match (now - start).num_seconds() {
            seconds if seconds < 10 => FeedSample::ok(seconds as f64),
            _ => FeedSample::with_status(99.0, Status::FAULT),
        };
        station.attach_feed(sensor, Arc::new(feed));
        station.tick(start + TimeDelta::seconds(5));
        assert_eq!(number(&station, target), 5.0);
        station.tick(start + TimeDelta::seconds(10));
        assert_eq!(station.value(target, "in16/status").unwrap().encode(), "2");
        let (held, status) = station.out(target).unwrap();
        assert_eq!(
            (held.as_f64(), status.has(Status::NULL)),
            (Some(5.0), true),
            "the last good value stays, marked null"
        );
    }

    #[test]
    fn a_removed_source_takes_its_links_along() {
        let mut station = station();
        let source = add(&mut station, "Source", "kitControl:NumericConst");
        let target = add(&mut station, "Target", "control:NumericWritable");
        let link = station.link(source, "out", target, "in16").unwrap();
        assert_eq!(station.links().from(source).len(), 1);
        station.rename(target, &link, "Feed").unwrap();
        assert_eq!(&*station.links().to(target)[0].slot, "Feed");
        station.remove_component(source).unwrap();
        assert!(station.slot(target, "Feed").is_none());
        assert!(station.links().to(target).is_empty());
    }

    #[test]
    fn removing_or_disabling_a_link_stops_it() {
        let mut station = station();
        let source = add(&mut station, "Source", "kitControl:NumericConst");
        let target = add(&mut station, "Target", "control:NumericWritable");
        let link = station.link(source, "out", target, "in16").unwrap();
        station
            .set(target, &format!("{link}/enabled"), Value::Boolean(false))
            .unwrap();
        station
            .set(source, "value/value", Value::Double(5.0))
            .unwrap();
        assert_eq!(number(&station, target), 0.0);
        station
            .set(target, &format!("{link}/enabled"), Value::Boolean(true))
            .unwrap();
        assert_eq!(number(&station, target), 5.0);
        station.remove(target, &link).unwrap();
        station
            .set(source, "value/value", Value::Double(6.0))
            .unwrap();
        assert_eq!(number(&station, target), 5.0);
    }

    #[test]
    fn links_to_nothing_are_refused() {
        let mut station = station();
        let source = add(&mut station, "Source", "kitControl:NumericConst");
        let target = add(&mut station, "Target", "control:NumericWritable");
        assert!(matches!(
            station.link(source, "nope", target, "in16"),
            Err(ModelError::IllegalLink { .. })
        ));
        assert!(matches!(
            station.link(source, "out", target, "in17"),
            Err(ModelError::IllegalLink { .. })
        ));
    }
}
