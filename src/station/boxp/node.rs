//! BSON nodes: the JSON encoding of slots and components inside BOX (Station web specification §4.7).

use serde_json::{Map, Value as Json};
use thiserror::Error;

/// What a slot is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SlotKind {
    Property,
    Action,
    Topic,
}

/// One slot, struct or component as the station sent it.
///
/// Texts stay in the station's encoding; stations leave out what equals the type's default, so that
/// `None` and an empty `children` mean "not sent", not "empty".
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub kind: SlotKind,
    /// Escaped slot name; absent on the root of an answer.
    pub name: Option<String>,
    /// Type of the value, such as `control:NumericWritable`.
    pub type_spec: Option<String>,
    /// Encoded text of a simple value.
    pub value: Option<String>,
    /// Display text of the value in the user's language.
    pub display: Option<String>,
    /// Display name where it differs from the name.
    pub display_name: Option<String>,
    /// Slot flag letters.
    pub flags: String,
    /// Encoded slot facets.
    pub facets: Option<String>,
    pub children: Vec<Node>,
    /// Whether the answer carried the children at all (a stub does not).
    pub is_loaded: bool,
    /// Handle of a component, without `h:`.
    pub handle: Option<String>,
    pub is_stub: bool,
    /// Letters of the current user's permissions on this component.
    pub permissions: Option<String>,
    /// Outgoing links.
    pub knobs: Vec<Knob>,
    /// Types of an action.
    pub action: Option<Box<ActionTypes>>,
    /// Event type of a topic.
    pub topic_event: Option<String>,
}

/// Parameter and result of an action.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ActionTypes {
    pub parameter: Option<String>,
    /// Not sent by stations from 4.15 on.
    pub parameter_default: Option<Node>,
    pub returns: Option<String>,
}

/// The source end of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Knob {
    pub id: String,
    pub source_slot: String,
    pub target_ord: String,
    pub target_slot: String,
}

/// Why JSON is not a node.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the BOX node {place} {reason}")]
pub struct NodeError {
    /// Slot path inside the answer.
    pub place: String,
    pub reason: &'static str,
}

/// The deepest nesting read: a component tree of twelve levels, each with structs in structs.
const MAX_DEPTH: usize = 60;

impl Node {
    /// Reads a node with everything below it.
    pub fn decode(json: &Json) -> Result<Self, NodeError> {
        read(json, "", 0)
    }

    /// An empty property of the given type, for defaults that a station did not describe.
    pub fn property(name: &str, type_spec: Option<&str>) -> Self {
        Self {
            kind: SlotKind::Property,
            name: Some(name.to_owned()),
            type_spec: type_spec.map(str::to_owned),
            value: None,
            display: None,
            display_name: None,
            flags: String::new(),
            facets: None,
            children: Vec::new(),
            is_loaded: false,
            handle: None,
            is_stub: false,
            permissions: None,
            knobs: Vec::new(),
            action: None,
            topic_event: None,
        }
    }

    /// The child of this slot name.
    pub fn child(&self, name: &str) -> Option<&Node> {
        self.children
            .iter()
            .find(|child| child.name.as_deref() == Some(name))
    }

    /// Slot name, empty for the root of an answer.
    pub fn slot_name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    /// Type, empty when the station sent none.
    pub fn type_name(&self) -> &str {
        self.type_spec.as_deref().unwrap_or_default()
    }

    /// A component: it has a handle of its own or is a stub of one.
    pub fn is_component(&self) -> bool {
        self.kind == SlotKind::Property && (self.handle.is_some() || self.is_stub)
    }

    /// A property that is not a component.
    pub fn is_property(&self) -> bool {
        self.kind == SlotKind::Property && !self.is_component()
    }

    /// Child components in slot order.
    pub fn components(&self) -> impl Iterator<Item = &Node> {
        self.children.iter().filter(|child| child.is_component())
    }

    /// Properties that are not components, in slot order.
    pub fn properties(&self) -> impl Iterator<Item = &Node> {
        self.children.iter().filter(|child| child.is_property())
    }

    /// Actions in slot order.
    pub fn actions(&self) -> impl Iterator<Item = &Node> {
        self.children
            .iter()
            .filter(|child| child.kind == SlotKind::Action)
    }

    /// Whether a flag letter is set, such as `r` for readonly (Station web specification §5.4).
    pub fn has_flag(&self, letter: char) -> bool {
        self.flags.contains(letter)
    }
}

fn read(json: &Json, parent: &str, depth: usize) -> Result<Node, NodeError> {
    let wrong = |reason| NodeError {
        place: if parent.is_empty() {
            "at the root".into()
        } else {
            parent.into()
        },
        reason,
    };
    if depth > MAX_DEPTH {
        return Err(wrong("nests deeper than 60 levels"));
    }
    let fields = json
        .as_object()
        .ok_or_else(|| wrong("is not a JSON object"))?;
    let name = text(fields, "n");
    let place = format!("{parent}/{}", name.as_deref().unwrap_or_default());
    let type_spec = text(fields, "t");
    let kind = match fields
        .get("nm")
        .or_else(|| fields.get("st"))
        .and_then(Json::as_str)
    {
        Some("a") => SlotKind::Action,
        Some("t") => SlotKind::Topic,
        _ if type_spec
            .as_deref()
            .is_some_and(|name| name.ends_with("Action")) =>
        {
            SlotKind::Action
        }
        _ => SlotKind::Property,
    };
    let (children, is_loaded) = match fields.get("s") {
        None | Some(Json::Null) => (Vec::new(), false),
        Some(Json::Array(items)) => {
            let children: Result<Vec<_>, _> = items
                .iter()
                .map(|item| read(item, &place, depth + 1))
                .collect();
            (children?, true)
        }
        Some(_) => return Err(wrong("has slots \"s\" that are not a list")),
    };
    let parameter_default = match fields.get("apd") {
        None | Some(Json::Null) => None,
        Some(json) => Some(read(json, &place, depth + 1)?),
    };
    let action = (kind == SlotKind::Action).then(|| {
        Box::new(ActionTypes {
            parameter: text(fields, "apt"),
            parameter_default,
            returns: text(fields, "art"),
        })
    });
    Ok(Node {
        kind,
        name,
        type_spec,
        value: text(fields, "v"),
        display: text(fields, "d"),
        display_name: text(fields, "dn"),
        flags: text(fields, "f").unwrap_or_default(),
        facets: text(fields, "x"),
        children,
        is_loaded,
        handle: text(fields, "h").filter(|handle| !handle.is_empty()),
        is_stub: fields.get("stub").and_then(Json::as_bool).unwrap_or(false),
        permissions: fields
            .get("l")
            .and_then(Json::as_object)
            .and_then(|login| text(login, "p")),
        knobs: fields
            .get("nk")
            .and_then(Json::as_array)
            .map(|knobs| read_knobs(knobs))
            .unwrap_or_default(),
        action,
        topic_event: text(fields, "tet"),
    })
}

/// A text field; some versions send numbers and booleans bare.
fn text(fields: &Map<String, Json>, key: &str) -> Option<String> {
    match fields.get(key)? {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) => Some(number.to_string()),
        Json::Bool(flag) => Some(flag.to_string()),
        Json::Null | Json::Array(_) | Json::Object(_) => None,
    }
}

fn read_knobs(knobs: &[Json]) -> Vec<Knob> {
    knobs
        .iter()
        .filter_map(Json::as_object)
        .map(|knob| Knob {
            id: text(knob, "id").unwrap_or_default(),
            source_slot: text(knob, "ss").unwrap_or_default(),
            target_ord: text(knob, "to").unwrap_or_default(),
            target_slot: text(knob, "ts").unwrap_or_default(),
        })
        .collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    /// The loaded writable of the Station web specification §4.7.
    pub(in crate::station::boxp) fn numeric_writable() -> Json {
        json!({"nm":"p","h":"2f1","t":"control:NumericWritable","l":{"p":"irwR"},"s":[
            {"nm":"p","n":"facets","t":"baja:Facets","v":"units=u:percent;%;;;|precision=i:1|min=d:0.0|max=d:100.0"},
            {"nm":"p","n":"out","f":"rtso","t":"baja:StatusNumeric","d":"21.5 % {ok} @ 10","s":[
                {"nm":"p","n":"value","t":"baja:Double","v":"21.5","d":"21.5"},
                {"nm":"p","n":"status","t":"baja:Status","v":"0;activeLevel=e:10@control:PriorityLevel"}]},
            {"nm":"p","n":"in10","t":"baja:StatusNumeric","s":[{"nm":"p","n":"value","t":"baja:Double","v":21.5}]},
            {"nm":"a","n":"override","apt":"control:NumericOverride"},
            {"n":"set","t":"baja:Action","apt":"baja:Double"},
            {"nm":"t","n":"changed","tet":"baja:Event"},
            {"nm":"p","n":"ext","t":"history:NumericIntervalHistoryExt","h":"2f2"},
            {"nm":"p","n":"stub","t":"baja:Folder","stub":true}]})
    }

    #[test]
    fn a_loaded_point_is_read_with_values_actions_and_children() {
        let node = Node::decode(&numeric_writable()).expect("the specification's example");
        assert_eq!(
            (node.handle.as_deref(), node.permissions.as_deref()),
            (Some("2f1"), Some("irwR"))
        );
        let out = node.child("out").expect("present");
        assert!(out.has_flag('r') && !out.has_flag('h'));
        assert_eq!(
            out.child("value").and_then(|value| value.value.as_deref()),
            Some("21.5")
        );
        let in10 = node
            .child("in10")
            .and_then(|level| level.child("value"))
            .expect("present");
        assert_eq!(
            in10.value.as_deref(),
            Some("21.5"),
            "bare numbers are accepted"
        );
        assert_eq!(
            node.actions().map(Node::slot_name).collect::<Vec<_>>(),
            ["override", "set"]
        );
        assert_eq!(
            node.components().map(Node::slot_name).collect::<Vec<_>>(),
            ["ext", "stub"]
        );
        assert_eq!(
            node.properties().map(Node::slot_name).collect::<Vec<_>>(),
            ["facets", "out", "in10"]
        );
        assert_eq!(
            node.child("changed").expect("present").kind,
            SlotKind::Topic
        );
        assert!(node.is_loaded && !node.child("stub").expect("present").is_loaded);
    }

    #[test]
    fn a_broken_node_is_named_by_its_place() {
        let error =
            Node::decode(&json!({"s":[{"n":"a","s":[{"n":"b","s":5}]}]})).expect_err("broken");
        assert!(error.to_string().contains("/a"), "{error}");
        assert!(Node::decode(&json!("text")).is_err());
        let mut deep = json!({});
        for _ in 0..100 {
            deep = json!({"s":[deep]});
        }
        assert!(Node::decode(&deep).is_err());
    }

    fn any_json() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::from),
            any::<i64>().prop_map(Json::from),
            "[a-z:]{0,6}".prop_map(Json::from),
        ];
        leaf.prop_recursive(5, 40, 5, |inner| {
            let key = prop_oneof![
                Just("s"),
                Just("n"),
                Just("t"),
                Just("v"),
                Just("l"),
                Just("nk"),
                Just("apd"),
                Just("nm")
            ];
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
                proptest::collection::vec((key, inner), 0..5).prop_map(|pairs| Json::Object(
                    pairs
                        .into_iter()
                        .map(|(key, json)| (key.to_owned(), json))
                        .collect()
                )),
            ]
        })
    }

    proptest! {
        #[test]
        fn no_json_upsets_the_decoder(json in any_json()) {
            let _ = Node::decode(&json);
        }
    }
}
