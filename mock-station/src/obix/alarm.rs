//! Alarm subjects: the alarm service and its classes (oBIX specification §11.1).

use super::address::Address;
use super::config::Place;
use super::element::Element;
use super::error::ObixError;
use super::scope::Scope;
use crate::model::Component;

/// What an alarm subject has besides its slots; `count` is the number of open alarms.
pub fn subject_members(scope: &Scope<'_>, subject: &Component) -> [Element; 3] {
    let is_class = subject.ty().is("alarm:AlarmClass");
    let open = scope
        .station
        .alarms
        .open()
        .filter(|record| !is_class || record.alarm_class == subject.name())
        .count();
    [
        Element::value("int", "count", open.to_string()).with("href", "count/"),
        Element::named("op", "query")
            .with("href", "~alarmQuery/")
            .with("in", "obix:AlarmFilter")
            .with("out", "obix:AlarmQueryOut"),
        Element::named("feed", "feed")
            .with("href", "~alarmFeed/")
            .with("in", "obix:AlarmFilter")
            .with("of", "obix:Alarm"),
    ]
}

/// The alarm query is an op and not read; the feed has no meaning over HTTP.
///
/// # Errors
/// Always.
pub fn read_virtual(of: &Place<'_>, name: &str, address: &Address) -> Result<Element, ObixError> {
    Err(refusal(of, name, address))
}

/// Invokes a virtual child of an alarm subject.
///
/// # Errors
/// Where there is no such child, or it is not offered.
pub fn invoke_virtual(of: &Place<'_>, name: &str, address: &Address) -> Result<Element, ObixError> {
    Err(refusal(of, name, address))
}

fn refusal(of: &Place<'_>, name: &str, address: &Address) -> ObixError {
    match (of, name) {
        (Place::Component(subject), "~alarmQuery" | "~alarmFeed")
            if super::contract::is_alarm_subject(subject.ty()) =>
        {
            ObixError::Unsupported(format!("{} is not offered by this station", address.text))
        }
        _ => address.unknown(),
    }
}
