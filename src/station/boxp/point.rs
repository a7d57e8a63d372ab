//! A control point: value, status, active level, facets and priority array
//! (Station web specification §4.8; Tool surface §13.5.2, readPoint).

use chrono::{DateTime, FixedOffset};

use super::client::BoxClient;
use super::contract::Contract;
use super::node::Node;
use crate::station::error::StationError;
use crate::station::facets::Facets;
use crate::station::http::CallScope;
use crate::station::ord::Ord;
use crate::station::permissions::Permissions;
use crate::station::priority::{ActiveLevel, Priority, PriorityArray};
use crate::station::status::Status;
use crate::station::value::{DynamicEnum, StatusValue, Value};

/// The kinds of point by the type of their output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PointKind {
    Numeric,
    Boolean,
    Enum,
    Text,
}

impl PointKind {
    fn of_status_type(type_spec: &str) -> Option<Self> {
        Some(match type_spec {
            "baja:StatusNumeric" => Self::Numeric,
            "baja:StatusBoolean" => Self::Boolean,
            "baja:StatusEnum" => Self::Enum,
            "baja:StatusString" => Self::Text,
            _ => return None,
        })
    }

    /// The value that a struct holds when the station left its default out
    /// (Station web specification §5.6).
    pub fn default_value(self) -> Value {
        match self {
            Self::Numeric => Value::Double(0.0),
            Self::Boolean => Value::Boolean(false),
            Self::Enum => Value::Enum(DynamicEnum::default()),
            Self::Text => Value::String(String::new()),
        }
    }
}

/// Everything a reader wants to know of a point.
#[derive(Debug, Clone, PartialEq)]
pub struct PointView {
    pub type_spec: String,
    pub handle: Option<String>,
    pub permissions: Option<Permissions>,
    pub kind: PointKind,
    pub out: StatusValue,
    /// Display text of the whole output, `21.5 % {ok} @ 10`.
    pub out_display: Option<String>,
    /// Display text of the value alone.
    pub value_display: Option<String>,
    /// None on points without priority array.
    pub active_level: Option<ActiveLevel>,
    pub facets: Facets,
    /// Inputs and fallback of a writable.
    pub priority_array: Option<PriorityArray>,
    pub override_expiration: Option<DateTime<FixedOffset>>,
    /// Slots whose text could not be read; they count as null.
    pub problems: Vec<String>,
}

impl PointView {
    /// Reads a point from its loaded component and, where known, the contract of its type.
    ///
    /// `None` when the component has no output of a status type.
    pub fn read(node: &Node, contract: Option<&Contract>) -> Option<Self> {
        let mut problems = Vec::new();
        let slot = |name: &str| {
            node.child(name)
                .or_else(|| contract.and_then(|contract| contract.slot(name)))
        };
        let out = slot("out")?;
        let kind = PointKind::of_status_type(out.type_name())?;
        let out_value = read_status_value(out, kind, &mut problems);
        let facets = match slot("facets")
            .and_then(|slot| slot.value.as_deref())
            .map(str::parse::<Facets>)
        {
            Some(Ok(facets)) => facets,
            Some(Err(error)) => {
                problems.push(format!("facets: {error}"));
                Facets::default()
            }
            None => Facets::default(),
        };
        let active_level = out_value
            .status
            .active_level()
            .or_else(|| level_of_display(out.display.as_deref()?));
        let is_writable = slot("in1").is_some()
            || slot("in16").is_some()
            || node.type_name().ends_with("Writable");
        let priority_array = is_writable.then(|| {
            let mut array = PriorityArray::default();
            for priority in Priority::all() {
                if let Some(input) = slot(&priority.slot()) {
                    array.set(priority, read_status_value(input, kind, &mut problems));
                }
            }
            if let Some(fallback) = slot("fallback") {
                array.set_fallback(read_status_value(fallback, kind, &mut problems));
            }
            array
        });
        let override_expiration =
            match slot("overrideExpiration").and_then(|slot| slot.value.as_deref()) {
                Some(text) => match Value::decode("baja:AbsTime", text) {
                    // Instant 0 is how some versions write "none".
                    Ok(Value::AbsTime(instant)) if instant.timestamp_millis() != 0 => Some(instant),
                    Ok(_) => None,
                    Err(error) => {
                        problems.push(format!("overrideExpiration: {error}"));
                        None
                    }
                },
                None => None,
            };
        Some(Self {
            type_spec: node.type_name().to_owned(),
            handle: node.handle.clone(),
            permissions: node.permissions.as_deref().map(Permissions::parse),
            kind,
            value_display: out.child("value").and_then(|value| value.display.clone()),
            out_display: out
                .display
                .clone()
                .or_else(|| text_of_default_output(node).map(str::to_owned)),
            out: out_value,
            active_level,
            facets,
            priority_array,
            override_expiration,
            problems,
        })
    }
}

/// The display text of an output that a load left out because it holds its default: a point's own text is that of its
/// output, in the account's language and with the point's facets. A default is in good condition, so that a text
/// which does not say so is another.
pub fn text_of_default_output(point: &Node) -> Option<&str> {
    let text = point.display.as_deref()?;
    (point.child("out").is_none() && text.ends_with("{ok}")).then_some(text)
}

/// A status struct; what is missing in a struct that was sent has the struct's default, a struct that was
/// not sent at all is null.
fn read_status_value(slot: &Node, kind: PointKind, problems: &mut Vec<String>) -> StatusValue {
    if !slot.is_loaded {
        return StatusValue::default();
    }
    let mut note = |part: &str, error: &dyn std::fmt::Display| {
        problems.push(format!("{}/{part}: {error}", slot.slot_name()));
    };
    let status = match slot
        .child("status")
        .and_then(|status| status.value.as_deref())
        .map(str::parse::<Status>)
    {
        Some(Ok(status)) => status,
        Some(Err(error)) => {
            note("status", &error);
            return StatusValue::default();
        }
        None => Status::default(),
    };
    let value = match slot.child("value") {
        Some(node) => match node
            .value
            .as_deref()
            .map(|text| Value::decode(node.type_name(), text))
        {
            Some(Ok(value)) => value,
            Some(Err(error)) => {
                note("value", &error);
                Value::Null
            }
            None => kind.default_value(),
        },
        None => kind.default_value(),
    };
    StatusValue { value, status }
}

/// The text behind the last ` @ `.
fn level_of_display(display: &str) -> Option<ActiveLevel> {
    display.rsplit_once(" @ ")?.1.parse().ok()
}

impl BoxClient {
    /// Reads a point with its priority array: one request, and the contract of its type once.
    ///
    /// # Errors
    /// As [`BoxClient::resolve`]; [`StationError::NotFound`] when the component is no control point.
    pub async fn point(&self, scope: &CallScope, ord: &Ord) -> Result<PointView, StationError> {
        let node = self.resolve(scope, ord).await?;
        let contract = match self.contract(scope, node.type_name()).await {
            Ok(contract) => Some(contract),
            Err(StationError::NotFound { .. } | StationError::PermissionDenied { .. }) => None,
            Err(error) => return Err(error),
        };
        PointView::read(&node, contract.as_deref()).ok_or_else(|| StationError::NotFound {
            target: ord.absolute(),
            detail: format!(
                "{} is not a control point: it has no output with a status",
                node.type_name()
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::station::boxp::node::tests::numeric_writable;
    use crate::station::status::StatusBits;
    use serde_json::json;

    #[test]
    fn a_writable_is_read_with_its_level_facets_and_inputs() {
        let node = Node::decode(&numeric_writable()).expect("the specification's example");
        let point = PointView::read(&node, None).expect("a point");
        assert_eq!(
            (point.kind, &point.out.value),
            (PointKind::Numeric, &Value::Double(21.5))
        );
        assert_eq!(point.active_level.expect("active").to_string(), "10");
        assert_eq!(point.facets.unit().expect("unit").symbol(), "%");
        let array = point.priority_array.expect("writable");
        let ten = Priority::new(10).expect("a level");
        assert_eq!(
            array.get(ten),
            &StatusValue::ok(Value::Double(21.5)),
            "an omitted status is ok"
        );
        assert_eq!(
            array.get(Priority::MANUAL).status.bits(),
            StatusBits::NULL,
            "an omitted input is null"
        );
        assert!(point.problems.is_empty());
    }

    #[test]
    fn broken_texts_are_named_and_read_as_null() {
        let node = Node::decode(&json!({"t":"control:BooleanWritable","h":"1","s":[
            {"n":"facets","t":"baja:Facets","v":"nonsense"},
            {"n":"out","t":"baja:StatusBoolean","d":"On {overridden} @ 8","s":[
                {"n":"value","t":"baja:Boolean","v":"perhaps"},{"n":"status","t":"baja:Status","v":"20"}]},
            {"n":"in8","t":"baja:StatusBoolean","s":[{"n":"status","t":"baja:Status","v":"zz"}]},
            {"n":"overrideExpiration","t":"baja:AbsTime","v":"1970-01-01T00:00:00.000Z"}]}))
        .expect("a node");
        let point = PointView::read(&node, None).expect("a point");
        assert_eq!(point.out.value, Value::Null);
        assert_eq!(
            point.active_level.expect("from the display").to_string(),
            "8"
        );
        assert_eq!(point.override_expiration, None);
        for slot in ["facets", "out/value", "in8/status"] {
            assert!(
                point
                    .problems
                    .iter()
                    .any(|problem| problem.starts_with(slot)),
                "{slot}: {:?}",
                point.problems
            );
        }
    }

    #[test]
    fn a_folder_is_no_point() {
        let node = Node::decode(&json!({"t":"baja:Folder","h":"1","s":[]})).expect("a node");
        assert_eq!(PointView::read(&node, None), None);
    }
}
