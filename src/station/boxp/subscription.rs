//! Components watched in the server session: the station tells their changes by poll (Station web specification §4.5,
//! keys `sub` and `unsub`).

use serde_json::{Value as Json, json};

use super::client::{BoxClient, protocol};
use super::node::Node;
use super::session::{ChangeEvent, ServerSession, read_operations};
use crate::station::error::StationError;
use crate::station::http::CallScope;
use crate::station::ord::Ord;

/// ORDs per `sub` or `unsub`.
const CHUNK: usize = 100;

/// The outcome of a subscription.
#[derive(Debug, Clone, PartialEq)]
pub struct Subscribed {
    /// The session that the subscriptions live in, see [`Changes::generation`](super::session::Changes::generation).
    pub generation: u64,
    /// Handles in the order of the ORDs, or why an ORD was not taken.
    pub handles: Vec<Result<String, StationError>>,
    /// The state of the components at this moment.
    pub events: Vec<ChangeEvent>,
}

impl BoxClient {
    /// Watches components; their changes come with [`BoxClient::take_changes`].
    ///
    /// # Errors
    /// An ORD that the station refuses does not fail the others; the call fails when the station offers no
    /// subscriptions or cannot be asked.
    pub async fn subscribe(
        &self,
        scope: &CallScope,
        ords: &[Ord],
    ) -> Result<Subscribed, StationError> {
        let mut session = self.lock(scope).await?;
        let mut handles = Vec::with_capacity(ords.len());
        let mut events = Vec::new();
        let mut generation = None;
        for chunk in ords.chunks(CHUNK) {
            handles.extend(
                self.subscribe_chunk(scope, &mut session, chunk, &mut events)
                    .await?,
            );
            session.follow();
            // Had the session to be renewed between two chunks, the first number makes the caller begin again.
            generation.get_or_insert(session.generation);
        }
        Ok(Subscribed {
            generation: generation.unwrap_or(session.generation),
            handles,
            events,
        })
    }

    async fn subscribe_chunk(
        &self,
        scope: &CallScope,
        session: &mut ServerSession,
        ords: &[Ord],
        events: &mut Vec<ChangeEvent>,
    ) -> Result<Vec<Result<String, StationError>>, StationError> {
        let refusal = match self
            .call_space(scope, session, "sub", argument(ords))
            .await?
        {
            Ok(body) => return read_subscribed(&body, ords, events),
            Err(refusal) => refusal,
        };
        if let [ord] = ords {
            return Ok(vec![Err(self.not_found(&ord.absolute(), refusal))]);
        }
        // One bad ORD fails them all, and the text need not tell which.
        let mut answers: Vec<Result<String, StationError>> = self
            .resolve_many(scope, ords)
            .await?
            .into_iter()
            .map(|node| node.map(|_| String::new()))
            .collect();
        let good: Vec<Ord> = ords
            .iter()
            .zip(&answers)
            .filter(|(_, answer)| answer.is_ok())
            .map(|(ord, _)| ord.clone())
            .collect();
        if good.len() == ords.len() {
            return Err(self.interface_refused("BOX subscriptions", refusal));
        }
        if !good.is_empty() {
            let body = self
                .call_space(scope, session, "sub", argument(&good))
                .await?
                .map_err(|refusal| self.interface_refused("BOX subscriptions", refusal))?;
            let handles = read_subscribed(&body, &good, events)?;
            let places = answers.iter_mut().filter(|answer| answer.is_ok());
            for (place, handle) in places.zip(handles) {
                *place = handle;
            }
        }
        Ok(answers)
    }

    /// Watches components no longer. In another session than `generation` there is nothing to end.
    pub async fn unsubscribe(
        &self,
        scope: &CallScope,
        generation: u64,
        handles: &[String],
    ) -> Result<(), StationError> {
        let mut session = self.lock(scope).await?;
        for chunk in handles.chunks(CHUNK) {
            if session.id.is_none() || session.generation != generation {
                return Ok(());
            }
            let ords: Vec<String> = chunk.iter().map(|handle| format!("h:{handle}")).collect();
            let reply = self
                .call_space_once(scope, &mut session, "unsub", &json!(ords))
                .await?;
            if let Err(refusal) = reply {
                tracing::debug!(%refusal, "the station did not end a subscription");
            }
        }
        Ok(())
    }
}

fn argument(ords: &[Ord]) -> Json {
    ords.iter().map(Ord::absolute).collect()
}

/// `{"h":[handle,…],"e":{"ops":[…]}}`
fn read_subscribed(
    body: &Json,
    ords: &[Ord],
    events: &mut Vec<ChangeEvent>,
) -> Result<Vec<Result<String, StationError>>, StationError> {
    let handles = body
        .get("h")
        .and_then(Json::as_array)
        .filter(|handles| handles.len() == ords.len())
        .ok_or_else(|| {
            let expected = "one handle per subscribed component";
            protocol("BOX sub", expected, "another number of them")
        })?;
    if let Some(group) = body.get("e") {
        events.extend(read_operations(group));
    }
    let handles = handles.iter().zip(ords).map(|(handle, ord)| {
        let handle = handle.as_str().map(|text| text.trim_start_matches("h:"));
        match handle.filter(|text| !text.is_empty()) {
            Some(handle) => Ok(handle.to_owned()),
            None => Err(StationError::NotFound {
                target: ord.absolute(),
                detail: "the station gave no handle for it".into(),
            }),
        }
    });
    Ok(handles.collect())
}

impl ChangeEvent {
    /// Applies the change to a loaded component. False when the component must be loaded anew, because the change
    /// concerns something that the station had left out or cannot be read.
    pub fn apply(&self, component: &mut Node) -> bool {
        let value = || self.fields.get("b").map(Node::decode);
        let slot = self.fields.get("n").and_then(Json::as_str);
        match (self.kind.as_str(), slot) {
            ("l", _) => match value() {
                Some(Ok(node)) => {
                    *component = Node {
                        handle: node.handle.clone().or_else(|| self.handle.clone()),
                        ..node
                    };
                    true
                }
                _ => false,
            },
            ("s" | "a", Some(path)) => match value() {
                Some(Ok(node)) => {
                    let display = self.fields.get("d").and_then(Json::as_str);
                    set_slot(component, path, node, display)
                }
                _ => false,
            },
            ("v", Some(name)) => {
                component
                    .children
                    .retain(|child| child.name.as_deref() != Some(name));
                true
            }
            ("s" | "a", None) => false,
            // Order, flags, topics, knobs and what later versions add say nothing about values.
            _ => true,
        }
    }
}

/// Sets a slot, or a member of a struct by its path `out/value`.
fn set_slot(node: &mut Node, path: &str, mut value: Node, display: Option<&str>) -> bool {
    let (name, rest) = match path.split_once('/') {
        Some((name, rest)) => (name, Some(rest)),
        None => (path, None),
    };
    let place = node
        .children
        .iter_mut()
        .find(|child| child.name.as_deref() == Some(name));
    match (place, rest) {
        (Some(child), Some(rest)) => {
            // The text of the whole no longer fits its parts.
            child.display = None;
            set_slot(child, rest, value, display)
        }
        (None, Some(_)) => false,
        (place, None) => {
            value.name = Some(name.to_owned());
            value.display = value.display.or_else(|| display.map(str::to_owned));
            match place {
                Some(child) => {
                    value.type_spec = value.type_spec.or_else(|| child.type_spec.take());
                    *child = value;
                }
                None => node.children.push(value),
            }
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn event(fields: Json) -> ChangeEvent {
        read_operations(&json!({"ops": [fields]}))
            .next()
            .expect("an operation")
    }

    fn point() -> Node {
        Node::decode(
            &json!({"nm":"p","h":"2f1","t":"control:NumericWritable","s":[
            {"nm":"p","n":"out","t":"baja:StatusNumeric","d":"21.5 {ok}","s":[
                {"nm":"p","n":"value","t":"baja:Double","v":"21.5"},
                {"nm":"p","n":"status","t":"baja:Status","v":"0"}]}]}),
        )
        .expect("a node")
    }

    fn out_value(node: &Node) -> Option<String> {
        node.child("out")?.child("value")?.value.clone()
    }

    #[test]
    fn a_change_replaces_a_slot_or_a_member_of_its_struct() {
        let mut node = point();
        let whole = event(
            json!({"nm":"s","h":"2f1","n":"out","d":"22.0 {ok}","b":{"nm":"p","t":"baja:StatusNumeric","s":[
            {"nm":"p","n":"value","t":"baja:Double","v":"22.0"}]}}),
        );
        assert!(whole.apply(&mut node));
        assert_eq!(out_value(&node).as_deref(), Some("22.0"));
        assert_eq!(
            node.child("out").and_then(|out| out.display.as_deref()),
            Some("22.0 {ok}")
        );
        let member = event(
            json!({"nm":"s","h":"2f1","n":"out/value","b":{"nm":"p","t":"baja:Double","v":"23.0"}}),
        );
        assert!(member.apply(&mut node));
        assert_eq!(out_value(&node).as_deref(), Some("23.0"));
        assert_eq!(
            node.child("out").and_then(|out| out.display.as_deref()),
            None
        );
        let load = event(json!({"nm":"l","h":"2f1","b":{"t":"control:NumericPoint","s":[]}}));
        assert!(load.apply(&mut node));
        assert_eq!(
            (node.type_name(), node.handle.as_deref()),
            ("control:NumericPoint", Some("2f1"))
        );
    }

    #[test]
    fn a_change_of_something_left_out_asks_for_a_new_load() {
        let mut node = point();
        let before = node.clone();
        for fields in [
            json!({"nm":"s","h":"2f1","n":"in10/value","b":{"nm":"p","t":"baja:Double","v":"1"}}),
            json!({"nm":"s","h":"2f1","b":{"nm":"p","t":"baja:Double","v":"1"}}),
            json!({"nm":"s","h":"2f1","n":"out","b":7}),
            json!({"nm":"l","h":"2f1"}),
        ] {
            assert!(!event(fields.clone()).apply(&mut node), "{fields}");
        }
        assert!(event(json!({"nm":"k","h":"2f1","nk":[]})).apply(&mut node));
        assert_eq!(node, before);
    }

    proptest! {
        #[test]
        fn no_operation_upsets_a_component(kind in "[laskvx]", path in "(out|in1|/|value){0,6}", body in "\\{\\}|null|7|\\{\"nm\":\"p\",\"s\":\\[\\]\\}") {
            let body: Json = serde_json::from_str(&body).expect("our own JSON");
            let mut node = point();
            let _ = event(json!({"nm": kind, "h": "2f1", "n": path, "b": body})).apply(&mut node);
        }
    }
}
