//! oBIX objects to bytes, and the request documents of a reading client.

use std::time::Duration;

use chrono::{DateTime, FixedOffset, SecondsFormat, TimeDelta};
use quick_xml::escape::escape;

use super::href::ObixPath;
use super::object::{Attribute, Element, Object};
use super::scalar::format_reltime;

/// Writes an object as a document without prolog; stations accept bodies without namespace.
pub fn encode(object: &Object) -> String {
    let mut text = String::new();
    write(object, &mut text);
    text
}

fn write(object: &Object, text: &mut String) {
    let tag = object.element.local_name();
    text.push('<');
    text.push_str(tag);
    for (attribute, value) in object.attributes() {
        text.push(' ');
        text.push_str(attribute.local_name());
        text.push_str("=\"");
        // Line breaks and tabs would be read back as blanks.
        let escaped = escape(value)
            .replace('\t', "&#9;")
            .replace('\n', "&#10;")
            .replace('\r', "&#13;");
        text.push_str(&escaped);
        text.push('"');
    }
    if object.children.is_empty() {
        text.push_str("/>");
        return;
    }
    text.push('>');
    for child in &object.children {
        write(child, text);
    }
    text.push_str("</");
    text.push_str(tag);
    text.push('>');
}

/// A batch of reads; the root must be a `list` (oBIX specification §8).
pub fn batch_read(paths: &[ObixPath]) -> Object {
    let mut batch = Object::new(Element::List)
        .with(Attribute::Is, "obix:BatchIn")
        .with(Attribute::Of, "obix:uri");
    batch.children = paths
        .iter()
        .map(|path| {
            Object::new(Element::Uri)
                .with(Attribute::Is, "obix:Read")
                .with(Attribute::Val, path.request_target())
        })
        .collect();
    batch
}

/// The argument of a watch's `add` and `remove`; the references are server-absolute (oBIX specification §7.3).
pub fn watch_hrefs(paths: &[ObixPath]) -> Object {
    let mut hrefs = Object::new(Element::List)
        .with(Attribute::Name, "hrefs")
        .with(Attribute::Of, "obix:uri");
    hrefs.children = paths
        .iter()
        .map(|path| Object::new(Element::Uri).with(Attribute::Val, path.request_target()))
        .collect();
    Object::new(Element::Obj)
        .with(Attribute::Is, "obix:WatchIn")
        .with_child(hrefs)
}

/// A lease of a watch (oBIX specification §7.2).
pub fn watch_lease(lease: Duration) -> Object {
    let lease = TimeDelta::from_std(lease).unwrap_or(TimeDelta::MAX);
    Object::new(Element::Reltime).with(Attribute::Val, format_reltime(lease))
}

/// The filter of a history query: inclusive bounds, the oldest `limit` records (oBIX specification §10.3).
pub fn history_filter(
    start: Option<DateTime<FixedOffset>>,
    end: Option<DateTime<FixedOffset>>,
    limit: u32,
) -> Object {
    let filter = Object::new(Element::Obj).with(Attribute::Is, "obix:HistoryFilter");
    with_window(filter, start, end, Some(limit))
}

/// The filter of an alarm query; without bounds it asks for open alarms (oBIX specification §11.2).
pub fn alarm_filter(
    start: Option<DateTime<FixedOffset>>,
    end: Option<DateTime<FixedOffset>>,
    limit: u32,
) -> Object {
    let filter = Object::new(Element::Obj).with(Attribute::Is, "obix:AlarmFilter");
    with_window(filter, start, end, Some(limit))
}

/// The argument of an alarm's `ack`; its user must be named, and nothing else belongs in it (oBIX specification §11.3).
pub fn alarm_acknowledgement(user: &str) -> Object {
    Object::new(Element::Obj)
        .with(Attribute::Is, "obix:AckAlarmIn")
        .with_child(
            Object::new(Element::Str)
                .with(Attribute::Name, "ackUser")
                .with(Attribute::Val, user),
        )
}

/// The argument of a history rollup (oBIX specification §10.5).
pub fn rollup_filter(
    start: DateTime<FixedOffset>,
    end: DateTime<FixedOffset>,
    interval: TimeDelta,
) -> Object {
    let filter = Object::new(Element::Obj).with(Attribute::Is, "obix:HistoryRollupIn");
    with_window(filter, Some(start), Some(end), None).with_child(
        Object::new(Element::Reltime)
            .with(Attribute::Name, "interval")
            .with(Attribute::Val, format_reltime(interval)),
    )
}

fn with_window(
    mut filter: Object,
    start: Option<DateTime<FixedOffset>>,
    end: Option<DateTime<FixedOffset>>,
    limit: Option<u32>,
) -> Object {
    if let Some(limit) = limit {
        filter = filter.with_child(
            Object::new(Element::Int)
                .with(Attribute::Name, "limit")
                .with(Attribute::Val, limit.to_string()),
        );
    }
    for (name, instant) in [("start", start), ("end", end)] {
        if let Some(instant) = instant {
            filter = filter.with_child(
                Object::new(Element::Abstime)
                    .with(Attribute::Name, name)
                    .with(
                        Attribute::Val,
                        instant.to_rfc3339_opts(SecondsFormat::Millis, false),
                    ),
            );
        }
    }
    filter
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::station::obix::decode::decode;
    use proptest::prelude::*;

    #[test]
    fn the_requests_are_those_of_the_specification() {
        let path = ObixPath::parse("/obix/config/Demo/Zone1/out/").expect("a path");
        assert_eq!(
            encode(&batch_read(&[path])),
            r#"<list is="obix:BatchIn" of="obix:uri"><uri is="obix:Read" val="/obix/config/Demo/Zone1/out/"/></list>"#
        );
        let start = DateTime::parse_from_rfc3339("2024-08-19T00:00:00-04:00").expect("a time");
        assert_eq!(
            encode(&history_filter(Some(start), None, 1000)),
            r#"<obj is="obix:HistoryFilter"><int name="limit" val="1000"/><abstime name="start" val="2024-08-19T00:00:00.000-04:00"/></obj>"#
        );
        assert_eq!(
            encode(&alarm_acknowledgement("op & co")),
            r#"<obj is="obix:AckAlarmIn"><str name="ackUser" val="op &amp; co"/></obj>"#
        );
        let output = ObixPath::parse("/obix/config/Demo/Zone1/out/").expect("a path");
        assert_eq!(
            encode(&watch_hrefs(&[output])),
            r#"<obj is="obix:WatchIn"><list name="hrefs" of="obix:uri"><uri val="/obix/config/Demo/Zone1/out/"/></list></obj>"#
        );
        assert_eq!(
            encode(&watch_lease(Duration::from_secs(90))),
            r#"<reltime val="PT1M30S"/>"#
        );
        assert!(
            encode(&rollup_filter(start, start, TimeDelta::hours(1)))
                .contains(r#"<reltime name="interval" val="PT1H"/>"#)
        );
    }

    fn any_object() -> impl Strategy<Value = Object> {
        let element = prop_oneof![
            Just(Element::Obj),
            Just(Element::Real),
            Just(Element::Op),
            Just(Element::Err)
        ];
        let attributes = proptest::option::of(
            "[^\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\\ufffe\\uffff]{0,12}",
        );
        let leaf =
            (element, attributes.clone(), attributes).prop_map(|(element, name, display)| {
                let mut object = Object::new(element);
                if let Some(name) = name {
                    object.set(Attribute::Name, name);
                }
                if let Some(display) = display {
                    object.set(Attribute::Display, display);
                }
                object
            });
        leaf.prop_recursive(4, 20, 4, |inner| {
            proptest::collection::vec(inner, 0..4).prop_map(|children| {
                let mut object = Object::new(Element::List);
                object.children = children;
                object
            })
        })
    }

    proptest! {
        #[test]
        fn every_object_reads_back_as_it_was(object in any_object()) {
            prop_assert_eq!(decode(encode(&object).as_bytes(), None), Ok(object));
        }
    }
}
