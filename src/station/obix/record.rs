//! History records, pages and rollup buckets as they stand in oBIX documents (oBIX specification §10.3, §10.5).

use chrono::{DateTime, FixedOffset, TimeDelta};
use chrono_tz::Tz;

use super::object::{Attribute, Element, Object};
use super::scalar::Scalar;
use crate::station::status::StatusBits;

/// What a history holds, told by the element of its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordKind {
    Numeric,
    Boolean,
    Enum,
    Text,
}

impl RecordKind {
    fn of(element: Element) -> Option<Self> {
        Some(match element {
            Element::Real | Element::Int => Self::Numeric,
            Element::Bool => Self::Boolean,
            Element::Enum => Self::Enum,
            Element::Str => Self::Text,
            _ => return None,
        })
    }
}

/// One column of a record beside its timestamp.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordCell {
    pub column: String,
    pub value: Scalar,
    /// Niagara sends no sample status over oBIX; null, fault and the like only where they are written.
    pub status: StatusBits,
}

/// One record; a record with several cells belongs to a log rather than to a trend.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryRecord {
    pub timestamp: DateTime<FixedOffset>,
    pub cells: Vec<RecordCell>,
}

impl HistoryRecord {
    /// The sample: the cell named `value`, else the only one.
    pub fn sample(&self) -> Option<&RecordCell> {
        self.cells
            .iter()
            .find(|cell| cell.column == "value")
            .or(match self.cells.as_slice() {
                [only] => Some(only),
                _ => None,
            })
    }
}

/// What the record prototype says of all records of a page.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RecordPrototype {
    pub zone: Option<Tz>,
    /// Unit name of the `value` column.
    pub unit: Option<String>,
    /// Reference to the enumeration of the `value` column.
    pub range: Option<String>,
    pub kind: Option<RecordKind>,
}

/// The answer to one history query.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HistoryPage {
    pub records: Vec<HistoryRecord>,
    pub prototype: RecordPrototype,
    /// Records whose timestamp or value could not be read, and why the first of them could not.
    pub unreadable: usize,
    pub first_problem: Option<String>,
}

impl HistoryPage {
    /// How many records the station sent.
    pub fn received(&self) -> usize {
        self.records.len() + self.unreadable
    }
}

/// Reads the answer to a history query; `None` when the document holds no `data` list.
pub fn read_page(answer: &Object, station_zone: Option<Tz>) -> Option<HistoryPage> {
    let data = data_list(answer)?;
    let prototype = read_prototype(answer, data);
    let zone = prototype.zone.or(station_zone);
    let mut page = HistoryPage {
        prototype,
        ..HistoryPage::default()
    };
    for object in data
        .children
        .iter()
        .filter(|child| child.element == Element::Obj)
    {
        match read_record(object, zone) {
            Ok(record) => page.records.push(record),
            Err(problem) => {
                page.unreadable += 1;
                page.first_problem.get_or_insert(problem);
            }
        }
    }
    if page.prototype.kind.is_none() {
        page.prototype.kind = data
            .children
            .iter()
            .find_map(|record| value_column(record).map(|value| value.element))
            .and_then(RecordKind::of);
    }
    Some(page)
}

/// The list named `data`, else the only list: some servers leave the name out.
fn data_list(answer: &Object) -> Option<&Object> {
    answer
        .children
        .iter()
        .find(|child| child.element == Element::List && child.name() == Some("data"))
        .or_else(|| {
            answer
                .children
                .iter()
                .find(|child| child.element == Element::List)
        })
}

/// The prototype is named by the list's `of` (`#RecordDef`, elsewhere `#RecordProto`) and may stand
/// before or after the data.
fn read_prototype(answer: &Object, data: &Object) -> RecordPrototype {
    let wanted = data
        .attribute(Attribute::Of)
        .unwrap_or_default()
        .split_whitespace()
        .find(|of| of.starts_with('#'));
    let prototype = answer
        .children
        .iter()
        .find(|child| match (wanted, child.href()) {
            (Some(wanted), Some(href)) => href == wanted || href.ends_with(wanted),
            (None, Some(href)) => href.starts_with('#'),
            _ => false,
        });
    let Some(prototype) = prototype else {
        return RecordPrototype::default();
    };
    let value = value_column(prototype);
    RecordPrototype {
        zone: prototype.child("timestamp").and_then(Object::zone),
        unit: value.and_then(Object::unit_name).map(str::to_owned),
        range: value
            .and_then(|value| value.attribute(Attribute::Range))
            .map(str::to_owned),
        kind: value.and_then(|value| RecordKind::of(value.element)),
    }
}

fn value_column(record: &Object) -> Option<&Object> {
    record.child("value").or_else(|| {
        let mut others = record
            .children
            .iter()
            .filter(|child| child.name() != Some("timestamp") && child.element.is_value());
        others.next().filter(|_| others.next().is_none())
    })
}

fn read_record(object: &Object, zone: Option<Tz>) -> Result<HistoryRecord, String> {
    let timestamp = object
        .child("timestamp")
        .or_else(|| {
            object
                .children
                .iter()
                .find(|child| child.element == Element::Abstime)
        })
        .ok_or("a record has no timestamp")?;
    let instant = match timestamp.scalar(zone).map_err(|error| error.to_string())? {
        Scalar::Instant(instant) => instant,
        _ => return Err("a record's timestamp is null or no time".to_owned()),
    };
    let mut cells = Vec::with_capacity(1);
    for child in object
        .children
        .iter()
        .filter(|child| !std::ptr::eq(*child, timestamp) && child.element.is_value())
    {
        let value = child.scalar(zone).map_err(|error| error.to_string())?;
        let mut status = child
            .attribute(Attribute::Status)
            .and_then(super::display::status_attribute_bits)
            .unwrap_or(StatusBits::OK);
        if value == Scalar::Null {
            status = status | StatusBits::NULL;
        }
        cells.push(RecordCell {
            column: child.name().unwrap_or("value").to_owned(),
            value,
            status,
        });
    }
    Ok(HistoryRecord {
        timestamp: instant,
        cells,
    })
}

/// One interval of a rollup.
#[derive(Debug, Clone, PartialEq)]
pub struct RollupBucket {
    pub start: DateTime<FixedOffset>,
    pub end: DateTime<FixedOffset>,
    /// None where the interval holds no sample: stations send zeros there.
    pub summary: Option<RollupSummary>,
}

/// The samples of an interval; the average is the mean of the samples, not weighted by time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RollupSummary {
    pub count: u64,
    pub min: f64,
    pub max: f64,
    pub average: f64,
    pub sum: f64,
}

/// Reads the answer to a rollup, whatever contract its wrapper names.
///
/// # Errors
/// A sentence that names the first bucket that cannot be read.
pub fn read_rollup(answer: &Object, station_zone: Option<Tz>) -> Result<Vec<RollupBucket>, String> {
    let data = data_list(answer).ok_or("the answer holds no list \"data\"")?;
    data.children
        .iter()
        .filter(|child| child.element == Element::Obj)
        .map(|bucket| read_bucket(bucket, station_zone))
        .collect()
}

fn read_bucket(bucket: &Object, zone: Option<Tz>) -> Result<RollupBucket, String> {
    let part = |name: &str| {
        let child = bucket
            .child(name)
            .ok_or_else(|| format!("a rollup interval has no {name:?}"))?;
        child.scalar(zone).map_err(|error| error.to_string())
    };
    let time = |name: &str| match part(name)? {
        Scalar::Instant(instant) => Ok(instant),
        _ => Err(format!("{name:?} of a rollup interval is null or no time")),
    };
    let number = |name: &str| {
        part(name)?
            .number()
            .ok_or_else(|| format!("{name:?} of a rollup interval is no number"))
    };
    let count = match part("count")? {
        Scalar::Int(count) => u64::try_from(count).unwrap_or(0),
        _ => return Err("\"count\" of a rollup interval is no whole number".to_owned()),
    };
    let summary = match count {
        0 => None,
        count => Some(RollupSummary {
            count,
            min: number("min")?,
            max: number("max")?,
            average: number("avg")?,
            sum: number("sum")?,
        }),
    };
    Ok(RollupBucket {
        start: time("start")?,
        end: time("end")?,
        summary,
    })
}

/// How many intervals a dense rollup has: the window divided by the interval, rounded up.
pub fn rollup_buckets(window: TimeDelta, interval: TimeDelta) -> Option<i64> {
    let (window, interval) = (window.num_milliseconds(), interval.num_milliseconds());
    if window < 0 || interval <= 0 {
        return None;
    }
    Some(window / interval + i64::from(window % interval != 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::station::obix::decode::decode;

    const ANSWER: &str = r##"<obj href="https://st1/obix/histories/St1/Zone1T/~historyQuery/" is="obix:HistoryQueryOut">
  <list name="data" of="#RecordDef obix:HistoryRecord">
    <obj><abstime name="timestamp" val="2024-08-19T15:06:08.527-04:00" tz="America/New_York"/><real name="value" val="88.54000091552734"/></obj>
    <obj><abstime name="timestamp" val="2024-08-19T15:16:08.527"/><real name="value" null="true"/></obj>
    <obj><abstime name="timestamp" val="yesterday"/><real name="value" val="1"/></obj>
    <obj><abstime name="timestamp" val="2024-08-19T15:26:08.527-04:00"/><real name="value" val="NaN" status="fault"/></obj>
  </list>
  <int name="count" val="4"/>
  <obj href="#RecordDef" is="obix:HistoryRecord"><abstime name="timestamp" tz="America/New_York"/><real name="value" unit="obix:units/celsius"/></obj>
</obj>"##;

    #[test]
    fn a_page_takes_unit_and_zone_from_the_prototype_at_its_end() {
        let page =
            read_page(&decode(ANSWER.as_bytes(), None).expect("valid"), None).expect("a page");
        assert_eq!(page.prototype.unit.as_deref(), Some("celsius"));
        assert_eq!(page.prototype.zone, Some(chrono_tz::America::New_York));
        assert_eq!(page.prototype.kind, Some(RecordKind::Numeric));
        assert_eq!(
            (page.received(), page.records.len(), page.unreadable),
            (4, 3, 1)
        );
        assert!(page.first_problem.expect("named").contains("yesterday"));
        let [first, second, third] = page.records.as_slice() else {
            panic!("three records")
        };
        assert_eq!(
            first.sample().expect("value").value,
            Scalar::Real(88.54000091552734)
        );
        assert_eq!(
            second.timestamp.to_rfc3339(),
            "2024-08-19T15:16:08.527-04:00"
        );
        assert_eq!(second.sample().expect("value").status, StatusBits::NULL);
        assert_eq!(third.sample().expect("value").status, StatusBits::FAULT);
    }

    #[test]
    fn boolean_enum_and_log_histories_are_read_by_their_elements() {
        for (value, kind) in [
            (r#"<bool name="value" val="true"/>"#, RecordKind::Boolean),
            (r#"<enum name="value" val="On"/>"#, RecordKind::Enum),
            (r#"<str name="value" val="x"/>"#, RecordKind::Text),
        ] {
            let body = format!(
                r#"<obj><list name="data"><obj><abstime name="timestamp" val="2024-08-19T15:06:08Z"/>{value}</obj></list></obj>"#
            );
            let page =
                read_page(&decode(body.as_bytes(), None).expect("valid"), None).expect("a page");
            assert_eq!(page.prototype.kind, Some(kind));
        }
        let log = r#"<obj><list><obj><abstime name="timestamp" val="2024-08-19T15:06:08Z"/><str name="user" val="a"/><str name="op" val="b"/></obj></list></obj>"#;
        let page = read_page(&decode(log.as_bytes(), None).expect("valid"), None).expect("a page");
        assert_eq!(
            (page.records[0].cells.len(), page.records[0].sample()),
            (2, None)
        );
        assert_eq!(
            read_page(&decode(b"<obj/>", None).expect("valid"), None),
            None
        );
    }

    #[test]
    fn an_empty_rollup_interval_is_a_gap_not_a_zero() {
        let body = r#"<obj is="obix:HistoryQueryOut"><list name="data" of="obix:HistoryRollupRecord">
          <obj><abstime name="start" val="2026-08-28T00:00:00.000-04:00"/><abstime name="end" val="2026-08-28T01:00:00.000-04:00"/>
            <int name="count" val="176"/><real name="min" val="50.0"/><real name="max" val="52.0"/><real name="avg" val="50.97056831869318"/><real name="sum" val="8970.82002409"/></obj>
          <obj><abstime name="start" val="2026-08-28T01:00:00.000-04:00"/><abstime name="end" val="2026-08-28T02:00:00.000-04:00"/>
            <int name="count" val="0"/><real name="min" val="0.0"/><real name="max" val="0.0"/><real name="avg" val="0.0"/><real name="sum" val="0.0"/></obj>
        </list></obj>"#;
        let buckets =
            read_rollup(&decode(body.as_bytes(), None).expect("valid"), None).expect("buckets");
        let summary = buckets[0].summary.expect("samples");
        assert_eq!((summary.count, summary.average), (176, summary.sum / 176.0));
        assert_eq!(buckets[1].summary, None);
        let window = TimeDelta::hours(47) + TimeDelta::minutes(59) + TimeDelta::seconds(59);
        assert_eq!(rollup_buckets(window, TimeDelta::hours(1)), Some(48));
        assert!(
            read_rollup(
                &decode(b"<obj><list><obj/></list></obj>", None).expect("valid"),
                None
            )
            .is_err()
        );
    }
}
