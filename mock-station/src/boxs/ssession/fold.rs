//! Many changes of one component made the few that bring a client to the present state.
//!
//! Operations carry the values of the moment they are delivered, so a later change of the same thing makes an earlier
//! one superfluous, and a change told under an old name has to move behind the rename.

use std::sync::Arc;

use crate::model::changes::ChangeEvent;

/// The changes to tell, in an order in which a client can apply them.
pub fn fold<'e>(events: impl IntoIterator<Item = &'e ChangeEvent>) -> Vec<ChangeEvent> {
    let mut folded = Vec::new();
    for event in events {
        append(&mut folded, event.clone());
    }
    // An order names all slots there are in the end.
    if let Some(position) = folded
        .iter()
        .position(|event| *event == ChangeEvent::Reordered)
    {
        let order = folded.remove(position);
        folded.push(order);
    }
    folded
}

fn append(folded: &mut Vec<ChangeEvent>, event: ChangeEvent) {
    match &event {
        ChangeEvent::Added { .. } | ChangeEvent::TopicFired { .. } => folded.push(event),
        ChangeEvent::Reordered => {
            if !folded.contains(&event) {
                folded.push(event);
            }
        }
        ChangeEvent::Removed { slot, .. } => {
            folded.retain(|earlier| touched(earlier) != Some(slot));
            match take_add(folded, slot) {
                Some(_) => {}
                None => folded.push(event),
            }
        }
        ChangeEvent::Renamed { old, new } => match take_add(folded, old) {
            Some(child) => {
                folded.push(ChangeEvent::Added {
                    slot: new.clone(),
                    child,
                });
                append(folded, ChangeEvent::Reordered);
            }
            None => {
                let (mut follow, rest): (Vec<_>, Vec<_>) = std::mem::take(folded)
                    .into_iter()
                    .partition(|earlier| touched(earlier) == Some(old));
                follow
                    .iter_mut()
                    .for_each(|touch| retarget(touch, new.clone()));
                *folded = rest;
                folded.push(event);
                folded.extend(follow);
            }
        },
        ChangeEvent::Set { slot }
        | ChangeEvent::FlagsChanged { slot }
        | ChangeEvent::FacetsChanged { slot }
        | ChangeEvent::DisplayNameChanged { slot } => {
            let told_by_add = folded
                .iter()
                .any(|earlier| matches!(earlier, ChangeEvent::Added { slot: added, .. } if added == slot));
            if !told_by_add {
                folded.retain(|earlier| *earlier != event);
                folded.push(event);
            }
        }
    }
}

/// The slot whose value or attributes a change is about; none for changes of the tree and for topics.
fn touched(event: &ChangeEvent) -> Option<&Arc<str>> {
    match event {
        ChangeEvent::Set { slot }
        | ChangeEvent::FlagsChanged { slot }
        | ChangeEvent::FacetsChanged { slot }
        | ChangeEvent::DisplayNameChanged { slot } => Some(slot),
        ChangeEvent::Added { .. }
        | ChangeEvent::Removed { .. }
        | ChangeEvent::Renamed { .. }
        | ChangeEvent::Reordered
        | ChangeEvent::TopicFired { .. } => None,
    }
}

fn retarget(event: &mut ChangeEvent, name: Arc<str>) {
    if let ChangeEvent::Set { slot }
    | ChangeEvent::FlagsChanged { slot }
    | ChangeEvent::FacetsChanged { slot }
    | ChangeEvent::DisplayNameChanged { slot } = event
    {
        *slot = name;
    }
}

/// Takes an add that was not told yet out of the list and gives its child.
fn take_add(folded: &mut Vec<ChangeEvent>, slot: &str) -> Option<Option<crate::model::Handle>> {
    let position = folded.iter().position(
        |event| matches!(event, ChangeEvent::Added { slot: added, .. } if &**added == slot),
    )?;
    match folded.remove(position) {
        ChangeEvent::Added { child, .. } => Some(child),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn set(slot: &str) -> ChangeEvent {
        ChangeEvent::Set { slot: slot.into() }
    }
    fn add(slot: &str) -> ChangeEvent {
        ChangeEvent::Added {
            slot: slot.into(),
            child: None,
        }
    }
    fn remove(slot: &str) -> ChangeEvent {
        ChangeEvent::Removed {
            slot: slot.into(),
            child: None,
        }
    }
    fn rename(old: &str, new: &str) -> ChangeEvent {
        ChangeEvent::Renamed {
            old: old.into(),
            new: new.into(),
        }
    }

    #[test]
    fn only_the_last_of_several_sets_is_told() {
        assert_eq!(fold(&[set("a"), set("b"), set("a")]), [set("b"), set("a")]);
    }

    #[test]
    fn what_came_and_went_between_two_polls_is_not_told() {
        assert_eq!(fold(&[add("a"), set("a"), remove("a")]), []);
        assert_eq!(
            fold(&[remove("a"), add("a"), set("a")]),
            [remove("a"), add("a")]
        );
        assert_eq!(fold(&[remove("a"), add("a"), remove("a")]), [remove("a")]);
    }

    #[test]
    fn a_rename_takes_untold_changes_with_it() {
        assert_eq!(
            fold(&[set("a"), rename("a", "b"), set("c")]),
            [rename("a", "b"), set("b"), set("c")]
        );
        assert_eq!(
            fold(&[add("a"), rename("c", "d"), rename("a", "c")]),
            [rename("c", "d"), add("c"), ChangeEvent::Reordered]
        );
    }

    #[test]
    fn the_order_comes_last_and_every_topic_is_told() {
        let fired = ChangeEvent::TopicFired {
            slot: "t".into(),
            event: None,
        };
        assert_eq!(
            fold(&[
                fired.clone(),
                ChangeEvent::Reordered,
                fired.clone(),
                add("a")
            ]),
            [fired.clone(), fired, add("a"), ChangeEvent::Reordered]
        );
    }

    /// A component as a client knows it: slot names with a number that says which value was read last.
    #[derive(Clone, Debug, Default, PartialEq)]
    struct Mirror(std::collections::BTreeMap<String, u32>);

    impl Mirror {
        fn apply(&mut self, event: &ChangeEvent, present: &Mirror) {
            let read = |slot: &str| present.0.get(slot).copied();
            match event {
                ChangeEvent::Set { slot } => {
                    assert!(
                        self.0.contains_key(&**slot),
                        "set of an unknown slot {slot}"
                    );
                    if let Some(value) = read(slot) {
                        self.0.insert(slot.to_string(), value);
                    }
                }
                ChangeEvent::Added { slot, .. } => {
                    let value = read(slot).expect("an add of a slot that is not there");
                    assert_eq!(self.0.insert(slot.to_string(), value), None);
                }
                ChangeEvent::Removed { slot, .. } => {
                    assert!(
                        self.0.remove(&**slot).is_some(),
                        "removal of an unknown {slot}"
                    );
                }
                ChangeEvent::Renamed { old, new } => {
                    let value = self.0.remove(&**old).expect("rename of an unknown slot");
                    assert_eq!(self.0.insert(new.to_string(), value), None);
                }
                _ => {}
            }
        }
    }

    proptest! {
        /// Whatever happened, a client that applies the folded changes holds what the station holds.
        #[test]
        fn a_client_that_follows_holds_the_stations_state(
            steps in prop::collection::vec((0u8..4, 0usize..4, 0usize..4), 0..40),
        ) {
            const NAMES: [&str; 4] = ["a", "b", "c", "d"];
            let mut station = Mirror::default();
            station.0.insert("a".to_owned(), 0);
            station.0.insert("b".to_owned(), 0);
            let mut client = station.clone();
            let mut events = Vec::new();
            for (number, (kind, one, two)) in steps.into_iter().enumerate() {
                let (slot, other) = (NAMES[one], NAMES[two]);
                let has = |name: &str| station.0.contains_key(name);
                let value = number as u32 + 1;
                match kind {
                    0 if has(slot) => {
                        station.0.insert(slot.to_owned(), value);
                        events.push(set(slot));
                    }
                    1 if !has(slot) => {
                        station.0.insert(slot.to_owned(), value);
                        events.push(add(slot));
                    }
                    2 if has(slot) => {
                        station.0.remove(slot);
                        events.push(remove(slot));
                    }
                    3 if has(slot) && !has(other) => {
                        let held = station.0.remove(slot).unwrap();
                        station.0.insert(other.to_owned(), held);
                        events.push(rename(slot, other));
                    }
                    _ => {}
                }
            }
            for event in fold(&events) {
                client.apply(&event, &station);
            }
            prop_assert_eq!(client, station);
        }
    }
}
