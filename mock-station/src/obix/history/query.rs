//! `~historyQuery`: records of a history (oBIX specification §10.3).

use super::filter::Filter;
use crate::model::{History, HistoryRecord};
use crate::obix::element::Element;
use crate::obix::scope::Scope;
use crate::obix::time::abstime;
use crate::obix::value::{self, Setting};

/// The oldest records within the filter: data first, then count and bounds of what is sent, the prototype last.
pub fn answer(scope: &Scope<'_>, history: &History, filter: &Filter, href: String) -> Element {
    let records = filter.oldest(history, scope.now);
    let zone = history.time_zone;
    let mut data = Element::named("list", "data").with("of", "#RecordDef obix:HistoryRecord");
    data.children
        .extend(records.iter().map(|record| row(history, record)));
    let first = records.first().map(|record| record.timestamp);
    let last = records.last().map(|record| record.timestamp);
    Element::new("obj")
        .with("href", format!("{href}~historyQuery/"))
        .with("is", "obix:HistoryQueryOut")
        .with_child(data)
        .with_child(Element::value("int", "count", records.len().to_string()))
        .with_child(abstime(first, zone).with_name("start"))
        .with_child(abstime(last, zone).with_name("end"))
        .with_child(prototype(history))
}

fn row(history: &History, record: &HistoryRecord) -> Element {
    let time = abstime(Some(record.timestamp), history.time_zone);
    let setting = Setting {
        facets: &history.value_facets,
        slot_href: "",
    };
    let shown = value::bare(&record.value, &setting);
    let mut named = Element::named(value::tag(history.kind), "value");
    named.set("val", shown.get("val").unwrap_or_default());
    Element::new("obj")
        .with_child(time.with_name("timestamp"))
        .with_child(named)
}

/// Zone and unit of all records.
fn prototype(history: &History) -> Element {
    let timestamp = Element::named("abstime", "timestamp").with("tz", history.time_zone.name());
    let unit = value::unit(&history.value_facets);
    Element::new("obj")
        .with("href", "#RecordDef")
        .with("is", "obix:HistoryRecord")
        .with_child(timestamp)
        .with_child(Element::named(value::tag(history.kind), "value").with_some("unit", unit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{DynamicEnum, EnumRange, Facets, PointKind, StoredHistory, Value};
    use chrono::{TimeZone, Utc};
    use std::sync::Arc;

    fn val(kind: PointKind, facets: Facets, value: Value) -> String {
        let time = Utc.with_ymd_and_hms(2024, 8, 19, 19, 6, 8).unwrap();
        let records = Arc::new(StoredHistory::default());
        let zone = chrono_tz::America::New_York;
        let history = History {
            value_facets: facets,
            ..History::new("/S/H", kind, zone, records)
        };
        let row = row(&history, &HistoryRecord::ok(time, value));
        let timestamp = row.child("timestamp").unwrap();
        assert_eq!(timestamp.get("val"), Some("2024-08-19T15:06:08.000-04:00"));
        assert_eq!(timestamp.get("tz"), Some("America/New_York"));
        let value = row.child("value").unwrap();
        format!("{} {}", value.tag, value.get("val").unwrap())
    }

    #[test]
    fn each_kind_of_history_has_its_own_element() {
        let none = Facets::new;
        let noisy = Value::Float(88.54);
        assert_eq!(
            val(PointKind::Numeric, none(), noisy),
            "real 88.54000091552734"
        );
        assert_eq!(val(PointKind::Numeric, none(), f64::NAN.into()), "real NaN");
        assert_eq!(val(PointKind::Boolean, none(), true.into()), "bool true");
        assert_eq!(val(PointKind::String, none(), "a < b".into()), "str a < b");
        let range = EnumRange::of(&[("Off", 0), ("Not occupied", 1)]);
        let mode = Value::DynamicEnum(DynamicEnum {
            ordinal: 1,
            range: Arc::default(),
        });
        assert_eq!(
            val(PointKind::Enum, Facets::range(range), mode),
            "enum Not$20occupied"
        );
    }
}
