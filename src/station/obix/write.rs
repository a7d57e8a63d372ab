//! Commands of writable points at levels 8 and 1 by their operations (oBIX specification §6.2, §6.3).

use std::time::Duration;

use chrono::TimeDelta;

use super::client::ObixClient;
use super::href::ObixPath;
use super::object::{Attribute, Element, Object};
use super::point::ObixPoint;
use super::scalar::format_reltime;
use crate::station::boxp::point::PointKind;
use crate::station::error::StationError;
use crate::station::http::CallScope;
use crate::station::ord::escape;
use crate::station::priority::Priority;
use crate::station::value::Value;

/// The operation that commands a level, with its argument; none for levels that oBIX does not reach, and for an
/// enumeration whose tag is not known.
pub fn command(
    kind: PointKind,
    priority: Priority,
    value: &Value,
    duration: Duration,
) -> Option<(&'static str, Object)> {
    let nothing = Object::new(Element::Obj);
    let is_manual = priority == Priority::MANUAL;
    if !is_manual && priority != Priority::EMERGENCY {
        return None;
    }
    Some(match (is_manual, value) {
        (true, Value::Null) => ("auto", nothing),
        (false, Value::Null) => ("emergencyAuto", nothing),
        (true, Value::Boolean(flag)) => {
            let operation = if *flag { "active" } else { "inactive" };
            (operation, override_argument(kind, None, duration))
        }
        (false, Value::Boolean(flag)) => {
            let operation = if *flag {
                "emergencyActive"
            } else {
                "emergencyInactive"
            };
            (operation, nothing)
        }
        (true, _) => {
            let value = value_element(value)?.with(Attribute::Name, "value");
            ("override", override_argument(kind, Some(value), duration))
        }
        (false, _) => ("emergencyOverride", value_element(value)?),
    })
}

fn value_element(value: &Value) -> Option<Object> {
    let (element, text) = match value {
        Value::Enum(choice) => (Element::Enum, escape(choice.tag()?)),
        Value::String(text) => (Element::Str, text.clone()),
        number => {
            number.as_f64()?;
            (Element::Real, number.encode())
        }
    };
    Some(Object::new(element).with(Attribute::Val, text))
}

fn override_argument(kind: PointKind, value: Option<Object>, duration: Duration) -> Object {
    let contract = match kind {
        PointKind::Numeric => "/obix/def/control:NumericOverride",
        PointKind::Boolean => "/obix/def/control:Override",
        PointKind::Enum => "/obix/def/control:EnumOverride",
        PointKind::Text => "/obix/def/control:StringOverride",
    };
    let duration = TimeDelta::from_std(duration).unwrap_or(TimeDelta::MAX);
    let argument = Object::new(Element::Obj)
        .with(Attribute::Is, contract)
        .with_child(
            Object::new(Element::Reltime)
                .with(Attribute::Name, "duration")
                .with(Attribute::Val, format_reltime(duration)),
        );
    match value {
        Some(value) => argument.with_child(value),
        None => argument,
    }
}

impl ObixClient {
    /// Invokes an operation of a point, once; the answer is the point as it is then, where the station sends it.
    ///
    /// # Errors
    /// [`StationError::OutcomeUnknown`] when the answer was lost or not to be understood.
    pub async fn command_point(
        &self,
        scope: &CallScope,
        point: &ObixPath,
        operation: &str,
        argument: &Object,
    ) -> Result<Option<ObixPoint>, StationError> {
        let operation = point.child(operation);
        let answer = self.write(scope, &operation, point, argument).await;
        let document = answer.map_err(|error| unclear(&operation, error))?;
        Ok(self.point_of(point, &document).ok())
    }
}

/// An answer that is not to be understood, or a failure in the middle of the work, leaves open what the station did.
pub(super) fn unclear(operation: &ObixPath, error: StationError) -> StationError {
    match error {
        StationError::Protocol { found: cause, .. }
        | StationError::Server {
            status: 500..,
            detail: cause,
            ..
        } => StationError::OutcomeUnknown {
            target: operation.to_string(),
            cause,
        },
        error => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::station::obix::encode::encode;

    fn sent(kind: PointKind, priority: Priority, value: &Value, seconds: u64) -> (String, String) {
        let (operation, argument) =
            command(kind, priority, value, Duration::from_secs(seconds)).expect("a command");
        (operation.to_owned(), encode(&argument))
    }

    #[test]
    fn each_kind_has_its_operations_at_both_levels() {
        let (manual, emergency) = (Priority::MANUAL, Priority::EMERGENCY);
        assert_eq!(
            sent(PointKind::Numeric, manual, &Value::Double(55.0), 900),
            ("override".to_owned(), r#"<obj is="/obix/def/control:NumericOverride"><reltime name="duration" val="PT15M"/><real val="55.0" name="value"/></obj>"#.to_owned())
        );
        assert_eq!(
            sent(PointKind::Boolean, manual, &Value::Boolean(false), 0),
            ("inactive".to_owned(), r#"<obj is="/obix/def/control:Override"><reltime name="duration" val="PT0S"/></obj>"#.to_owned())
        );
        let mode = Value::Enum("1@{off=0,Low$20speed=1}".parse().expect("a choice"));
        assert_eq!(
            sent(PointKind::Enum, emergency, &mode, 0),
            (
                "emergencyOverride".to_owned(),
                r#"<enum val="Low$20speed"/>"#.to_owned()
            )
        );
        assert_eq!(
            sent(PointKind::Text, emergency, &Value::String("a<b".into()), 0).1,
            r#"<str val="a&lt;b"/>"#
        );
        assert_eq!(
            sent(PointKind::Boolean, emergency, &Value::Boolean(true), 0).0,
            "emergencyActive"
        );
        assert_eq!(sent(PointKind::Numeric, manual, &Value::Null, 0).0, "auto");
        assert_eq!(
            sent(PointKind::Numeric, emergency, &Value::Null, 0).0,
            "emergencyAuto"
        );
        let ninth = Priority::new(9).expect("a level");
        assert_eq!(
            command(PointKind::Numeric, ninth, &Value::Null, Duration::ZERO),
            None
        );
        let bare = Value::Enum("3".parse().expect("a choice"));
        assert_eq!(
            command(PointKind::Enum, manual, &bare, Duration::ZERO),
            None
        );
    }
}
