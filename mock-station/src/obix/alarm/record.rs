//! One alarm in the shape that stations send, and its acknowledgement (oBIX specification §11.2, §11.3).

use super::super::address::Address;
use super::super::element::Element;
use super::super::error::ObixError;
use super::super::scope::{Caller, Scope};
use super::super::time::instant_text;
use super::super::value::{self, Setting};
use crate::model::alarm::{AckState, AlarmRecord};
use crate::model::{Facets, Value};
use chrono::{DateTime, Utc};

/// Whether the user may see alarms of a class; one whose component is gone is everybody's.
pub fn is_visible(scope: &Scope<'_>, class: &str) -> bool {
    let class = scope.station.alarm_class(class);
    class.is_none_or(|class| scope.can_read(class))
}

/// The alarm at `/obix/alarm/<uuid>`, or its `ack` op.
///
/// # Errors
/// When there is none, or its class is not for this user.
pub fn read(scope: &Scope<'_>, address: &Address, names: &[&str]) -> Result<Element, ObixError> {
    match names {
        [uuid] => Ok(object(scope, visible(scope, address, uuid)?)),
        [uuid, "ack"] => Ok(ack_op(visible(scope, address, uuid)?)),
        _ => Err(address.unknown()),
    }
}

fn visible<'a>(
    scope: &Scope<'a>,
    address: &Address,
    uuid: &str,
) -> Result<&'a AlarmRecord, ObixError> {
    let record = scope.station.alarms.get(uuid);
    let record = record.ok_or_else(|| address.unknown())?;
    if is_visible(scope, &record.alarm_class) {
        Ok(record)
    } else {
        Err(scope.denied(&address.text))
    }
}

/// Acknowledges an alarm in the name of the authenticated user, whatever name the argument gives.
///
/// # Errors
/// When there is no such alarm or op, `ackUser` is missing, or the user may not acknowledge alarms of the class.
pub fn acknowledge(
    caller: &Caller<'_>,
    address: &Address,
    names: &[&str],
    body: Option<&Element>,
) -> Result<Element, ObixError> {
    let uuid = match names {
        [uuid, "ack"] => *uuid,
        [_] => return Err(ObixError::Unsupported(format!("{} is no op", address.text))),
        _ => return Err(address.unknown()),
    };
    caller.view(|scope| visible(scope, address, uuid).map(|_| ()))?;
    if body.and_then(|body| body.child("ackUser")).is_none() {
        return Err(ObixError::Failed(
            "Invalid AlarmAckIn: a child named ackUser is needed".into(),
        ));
    }
    if body.is_some_and(|body| body.child("forceCleared").is_some()) {
        return Err(ObixError::Unsupported(
            "forceCleared is not offered: an alarm returns to normal with its source".into(),
        ));
    }
    let mut station = caller.context.station.write();
    station.acknowledge_as(&caller.user.name, uuid)?;
    drop(station);
    caller.view(|scope| {
        let record = object(scope, visible(scope, address, uuid)?);
        Ok(Element::new("obj")
            .with("is", "obix:AlarmAckOut")
            .with_child(record.with_name("alarm")))
    })
}

/// The record with all that this station's alarms carry.
pub fn object(scope: &Scope<'_>, record: &AlarmRecord) -> Element {
    let time = |name, time: Option<DateTime<Utc>>| match time {
        Some(time) => Element::value("abstime", name, instant_text(scope.station.local(time))),
        None => Element::named("abstime", name).with("null", "true"),
    };
    let data = |name: &str| {
        let value = record.alarm_data.get(name);
        value.map(|value| match value {
            Value::String(text) => text.to_string(),
            other => other.encode(),
        })
    };
    let text = |name, value: String| Element::value("str", name, value);
    let mut object = Element::new("obj")
        .with("href", href(record))
        .with("display", data("msgText").unwrap_or_default())
        .with(
            "is",
            "obix:Alarm obix:AckAlarm obix:PointAlarm obix:StatefulAlarm",
        )
        .with_child(ack_op(record).with_name("ack"));
    object.children.extend(alarm_value(record));
    object.children.extend([
        time("normalTimestamp", record.normal_time),
        time("timestamp", Some(record.timestamp)),
        Element::value("int", "priority", record.priority.to_string()),
        text("alarmClass", record.alarm_class.clone()),
        text("presentValue", data("presentValue").unwrap_or_default()),
        text(
            "fromState",
            data("fromState").unwrap_or_else(|| "normal".to_owned()),
        ),
        text("toState", record.source_state.tag().to_owned()),
        text("offnormalValue", data("offnormalValue").unwrap_or_default()),
        text("msgText", data("msgText").unwrap_or_default()),
        text("sourceName", data("sourceName").unwrap_or_default()),
        text("sourceStation", scope.station.name()),
    ]);
    if record.ack_state == AckState::Acked {
        object.children.extend([
            time("ackTimestamp", record.ack_time),
            text("ackUser", record.user.clone()),
        ]);
    }
    object
}

/// The value that raised the alarm, typed where the record holds more than its text.
fn alarm_value(record: &AlarmRecord) -> Option<Element> {
    let held = record
        .alarm_data
        .get("alarmValue")
        .or_else(|| record.alarm_data.get("offnormalValue"))?;
    let setting = Setting {
        facets: &Facets::new(),
        slot_href: "",
    };
    let typed = match held {
        Value::String(text) => match text.trim() {
            "true" | "false" => Value::decode_as("baja:Boolean", text.trim()),
            number => number.parse().ok().map(Value::Double),
        },
        _ => None,
    };
    Some(value::bare(typed.as_ref().unwrap_or(held), &setting).with_name("alarmValue"))
}

fn ack_op(record: &AlarmRecord) -> Element {
    Element::new("op")
        .with("href", format!("{}/ack", href(record)))
        .with("in", "obix:AlarmAckIn")
        .with("out", "obix:AlarmAckOut")
}

fn href(record: &AlarmRecord) -> String {
    format!("/obix/alarm/{}", record.uuid)
}
