//! Alarm subjects: the alarm service and its classes (oBIX specification §11).

mod record;

use super::address::Address;
use super::config::Place;
use super::contract::is_alarm_subject;
use super::element::Element;
use super::error::ObixError;
use super::history::Filter;
use super::scope::Scope;
use super::time::instant_text;
use crate::model::Component;
use crate::model::alarm::AlarmRecord;

pub use record::{acknowledge, read};

/// What an alarm subject has besides its slots; `count` is the number of open alarms.
pub fn subject_members(scope: &Scope<'_>, subject: &Component) -> [Element; 3] {
    let open = of_subject(scope, subject).filter(|record| record.is_open());
    [
        Element::value("int", "count", open.count().to_string()).with("href", "count/"),
        query_op().with_name("query").with("href", "~alarmQuery/"),
        feed_head().with_name("feed").with("href", "~alarmFeed/"),
    ]
}

fn query_op() -> Element {
    Element::new("op")
        .with("in", "obix:AlarmFilter")
        .with("out", "obix:AlarmQueryOut")
}

fn feed_head() -> Element {
    Element::new("feed")
        .with("in", "obix:AlarmFilter")
        .with("of", "obix:Alarm")
}

/// The alarms of a subject that the user may see, oldest first: a class has its own, the service those of all classes.
fn of_subject<'a>(
    scope: &'a Scope<'_>,
    subject: &'a Component,
) -> impl Iterator<Item = &'a AlarmRecord> {
    let is_class = subject.ty().is("alarm:AlarmClass");
    scope.station.alarms.iter().filter(move |record| {
        let class = &record.alarm_class;
        (!is_class || class == subject.name()) && record::is_visible(scope, class)
    })
}

/// The op or the feed as an object; the feed's events come through watches.
///
/// # Errors
/// Where there is no such child.
pub fn read_virtual(of: &Place<'_>, name: &str, address: &Address) -> Result<Element, ObixError> {
    subject_of(of, address)?;
    match name {
        "~alarmQuery" => Ok(query_op()),
        "~alarmFeed" => Ok(feed_head()),
        _ => Err(address.unknown()),
    }
}

/// The feed with the alarms of its subject as its events.
///
/// # Errors
/// Where there is no feed.
pub fn feed(scope: &Scope<'_>, of: &Place<'_>, address: &Address) -> Result<Element, ObixError> {
    let subject = subject_of(of, address)?;
    let mut feed = feed_head();
    let events = of_subject(scope, subject).map(|record| record::object(scope, record));
    feed.children.extend(events);
    Ok(feed)
}

/// Invokes a virtual child of an alarm subject.
///
/// # Errors
/// Where there is no such child, it is no op, or the filter cannot be read.
pub fn invoke_virtual(
    scope: &Scope<'_>,
    of: &Place<'_>,
    name: &str,
    address: &Address,
    body: Option<&Element>,
) -> Result<Element, ObixError> {
    let subject = subject_of(of, address)?;
    match name {
        "~alarmQuery" => query(scope, subject, address, body),
        "~alarmFeed" => Err(ObixError::Unsupported(format!(
            "{} is a feed: add it to a watch",
            address.text
        ))),
        _ => Err(address.unknown()),
    }
}

/// Only alarm subjects have these children.
fn subject_of<'a>(of: &Place<'a>, address: &Address) -> Result<&'a Component, ObixError> {
    match of {
        Place::Component(component) if is_alarm_subject(component.ty()) => Ok(component),
        _ => Err(address.unknown()),
    }
}

/// Without bounds the open alarms, with bounds those of any state last changed within them (§11.2).
fn query(
    scope: &Scope<'_>,
    subject: &Component,
    address: &Address,
    body: Option<&Element>,
) -> Result<Element, ObixError> {
    let filter = Filter::of_argument(body, scope.station.zone())?;
    let bounded = filter.start.is_some() || filter.end.is_some();
    let records: Vec<&AlarmRecord> = of_subject(scope, subject)
        .filter(|record| match bounded {
            false => record.is_open(),
            true => {
                let changed = record.last_update;
                filter.start.is_none_or(|start| changed >= start)
                    && filter.end.is_none_or(|end| changed <= end)
            }
        })
        .take(filter.limit.unwrap_or(usize::MAX))
        .collect();
    let mut data = Element::named("list", "data").with("of", "obix:Alarm");
    let objects = records.iter().map(|record| record::object(scope, record));
    data.children.extend(objects);
    let bound = |name: &'static str, record: Option<&&AlarmRecord>| {
        let time = record.map(|record| scope.station.local(record.timestamp));
        match time {
            Some(time) => Element::value("abstime", name, instant_text(time)),
            None => Element::named("abstime", name).with("null", "true"),
        }
    };
    Ok(Element::new("obj")
        .with("href", format!("{}{}", scope.origin, address.canonical()))
        .with("is", "obix:AlarmQueryOut")
        .with_child(data)
        .with_child(Element::value("int", "count", records.len().to_string()))
        .with_child(bound("start", records.first()))
        .with_child(bound("end", records.last())))
}
