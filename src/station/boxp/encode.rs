//! Values in the form that the station takes them (Station web specification §4.7, §5).

use std::time::Duration;

use serde_json::{Value as Json, json};

use super::node::{Node, SlotKind};
use super::point::PointKind;
use crate::station::status::{Status, StatusBits};
use crate::station::value::Value;

impl PointKind {
    /// Type of the point's inputs and output.
    pub fn status_type(self) -> &'static str {
        match self {
            Self::Numeric => "baja:StatusNumeric",
            Self::Boolean => "baja:StatusBoolean",
            Self::Enum => "baja:StatusEnum",
            Self::Text => "baja:StatusString",
        }
    }

    /// Type of the value inside them.
    pub fn value_type(self) -> &'static str {
        match self {
            Self::Numeric => "baja:Double",
            Self::Boolean => "baja:Boolean",
            Self::Enum => "baja:DynamicEnum",
            Self::Text => "baja:String",
        }
    }

    /// Type of the argument of the point's `override`; booleans have the value in the name of the action.
    fn override_type(self) -> &'static str {
        match self {
            Self::Numeric => "control:NumericOverride",
            Self::Boolean => "control:Override",
            Self::Enum => "control:EnumOverride",
            Self::Text => "control:StringOverride",
        }
    }
}

/// A simple value by its type and encoding.
pub fn simple(type_spec: &str, text: &str) -> Json {
    json!({"nm": "p", "t": type_spec, "v": text})
}

fn member(name: &str, type_spec: &str, text: &str) -> Json {
    json!({"nm": "p", "n": name, "t": type_spec, "v": text})
}

/// An input of a point as a whole: a value alone would leave its status at null (Station web specification §4.6).
pub fn status_value(kind: PointKind, value: &Value, bits: StatusBits) -> Json {
    json!({"nm": "p", "t": kind.status_type(), "s": [
        member("value", kind.value_type(), &value.encode()),
        member("status", "baja:Status", &format!("{:x}", bits.bits()))]})
}

/// The argument of `override`, `active` and `inactive`; no duration means until released.
pub fn override_argument(kind: PointKind, value: &Value, duration: Duration) -> Json {
    let mut members = vec![
        member(
            "duration",
            "baja:RelTime",
            &duration.as_millis().to_string(),
        ),
        member("maxOverrideDuration", "baja:RelTime", "0"),
    ];
    if kind != PointKind::Boolean {
        members.push(member("value", kind.value_type(), &value.encode()));
    }
    json!({"nm": "p", "t": kind.override_type(), "s": members})
}

/// A described value, such as the default of a contract, with everything below it.
pub fn property(node: &Node) -> Json {
    let mut fields = json!({"nm": "p", "t": node.type_name()});
    let Some(object) = fields.as_object_mut() else {
        return fields;
    };
    if let Some(text) = &node.value {
        object.insert("v".to_owned(), json!(sent_text(node, text)));
    }
    if node.is_loaded && node.value.is_none() {
        let members = node
            .children
            .iter()
            .filter(|child| child.kind == SlotKind::Property)
            .map(|child| {
                let mut encoded = property(child);
                if let Some(object) = encoded.as_object_mut() {
                    object.insert("n".to_owned(), json!(child.slot_name()));
                }
                encoded
            })
            .collect();
        object.insert("s".to_owned(), Json::Array(members));
    }
    fields
}

/// Stations refuse a status that carries facets (Station web specification §4.6).
fn sent_text(node: &Node, text: &str) -> String {
    match node.type_name() {
        "baja:Status" => text.parse::<Status>().map_or_else(
            |_| text.to_owned(),
            |status| format!("{:x}", status.bits().bits()),
        ),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::station::value::DynamicEnum;

    #[test]
    fn an_input_is_written_with_value_and_status() {
        assert_eq!(
            status_value(
                PointKind::Numeric,
                &Value::Double(21.0),
                StatusBits::default()
            ),
            json!({"nm":"p","t":"baja:StatusNumeric","s":[
                {"nm":"p","n":"value","t":"baja:Double","v":"21.0"},
                {"nm":"p","n":"status","t":"baja:Status","v":"0"}]})
        );
        let mode: DynamicEnum = "1@{off=0,on=1}".parse().expect("a choice");
        assert_eq!(
            status_value(PointKind::Enum, &Value::Enum(mode), StatusBits::NULL),
            json!({"nm":"p","t":"baja:StatusEnum","s":[
                {"nm":"p","n":"value","t":"baja:DynamicEnum","v":"1@{off=0,on=1}"},
                {"nm":"p","n":"status","t":"baja:Status","v":"40"}]})
        );
    }

    #[test]
    fn an_override_names_its_duration_and_booleans_no_value() {
        let quarter = Duration::from_secs(900);
        let numeric = override_argument(PointKind::Numeric, &Value::Double(55.0), quarter);
        assert_eq!(numeric["t"], "control:NumericOverride");
        assert_eq!(
            numeric["s"][0],
            json!({"nm":"p","n":"duration","t":"baja:RelTime","v":"900000"})
        );
        assert_eq!(numeric["s"][2]["v"], "55.0");
        let boolean = override_argument(PointKind::Boolean, &Value::Boolean(true), Duration::ZERO);
        assert_eq!(
            (
                &boolean["t"],
                boolean["s"].as_array().map(Vec::len),
                &boolean["s"][0]["v"]
            ),
            (&json!("control:Override"), Some(2), &json!("0"))
        );
    }

    #[test]
    fn a_default_is_sent_whole_and_its_status_without_facets() {
        let default = Node::decode(&json!({"nm":"p","n":"in4","t":"baja:StatusNumeric","s":[
            {"nm":"p","n":"value","t":"baja:Double","v":"0.0","d":"0.0"},
            {"nm":"p","n":"status","t":"baja:Status","v":"40;activeLevel=e:4@control:PriorityLevel"},
            {"nm":"a","n":"act"}]}))
        .expect("a node");
        assert_eq!(
            property(&default),
            json!({"nm":"p","t":"baja:StatusNumeric","s":[
                {"nm":"p","t":"baja:Double","v":"0.0","n":"value"},
                {"nm":"p","t":"baja:Status","v":"40","n":"status"}]})
        );
    }
}
