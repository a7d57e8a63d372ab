//! The base `history:`: the list of configurations and the records of one history (§3.5).

mod audit;

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};

use super::QueryError;
use super::ast::{Expression, ExtentTarget, Literal, Operator, Projection, Select, Step};
use super::evaluate::{constant, instant, named_range};
use super::node::{Fields, Node, Scope, typed};
use super::rows;
use crate::model::facets::Facets;
use crate::model::history::{History, HistoryRecord, trend_flags};
use crate::model::status::Status;
use crate::model::value::Value;
use crate::web::ord::with_parameters;
use crate::web::table::Table;
use crate::web::time_range::{self, TimeRange};
use crate::web::wire_time;

const RECORD_COLUMNS: [&str; 4] = ["timestamp", "trendFlags", "status", "value"];
const CONFIG_COLUMNS: [&str; 8] = [
    "id",
    "source",
    "timeZone",
    "recordType",
    "capacity",
    "fullPolicy",
    "interval",
    "valueFacets",
];

/// A query whose projection is `*`, as an undecorated table shows itself.
fn everything() -> Select {
    Select {
        top: None,
        distinct: false,
        projection: Projection::All,
        extent: None,
        filter: None,
        having: None,
        order: Vec::new(),
    }
}

fn names(columns: &[&str]) -> Vec<String> {
    columns.iter().map(|name| (*name).to_owned()).collect()
}

pub(super) fn table(
    scope: &Scope<'_>,
    body: &str,
    select: Option<&Select>,
) -> Result<Table, QueryError> {
    let (path, parameters) = with_parameters(body);
    let undecorated = everything();
    let select = select.unwrap_or(&undecorated);
    let path = match select.extent.as_ref().map(|extent| &extent.target) {
        Some(ExtentTarget::History(id)) => id.as_str(),
        Some(ExtentTarget::Everything) | None => path,
        Some(ExtentTarget::Type(spec)) if spec == "history:HistoryConfig" => path,
        Some(ExtentTarget::Type(name) | ExtentTarget::Named(name)) => {
            return Err(QueryError::invalid(format!(
                "`from {name}` names no history"
            )));
        }
    };
    let id = match path.strip_prefix('^') {
        Some(name) => format!("/{}/{name}", scope.station.name()),
        None => path.trim_end_matches('/').to_owned(),
    };
    if audit::is_id(scope, &id) {
        return audit::table(scope, select, &parameters);
    }
    match id.matches('/').count() {
        0 if id.is_empty() => configurations(scope, select, None),
        1 if id.starts_with('/') => configurations(scope, select, id.strip_prefix('/')),
        2 if id.starts_with('/') => records(scope, select, &id, &parameters),
        _ => Err(QueryError::NotFound(format!("no history has the id {id}"))),
    }
}

fn readable(scope: &Scope<'_>, history: &History) -> bool {
    history
        .point
        .is_none_or(|point| scope.station.can_read(scope.user, point))
}

fn configurations(
    scope: &Scope<'_>,
    select: &Select,
    device: Option<&str>,
) -> Result<Table, QueryError> {
    let listed: Vec<Configuration<'_>> = scope
        .station
        .histories
        .iter()
        .filter(|history| device.is_none_or(|device| history.device() == device))
        .filter(|history| readable(scope, history))
        .map(Configuration)
        .collect();
    if device.is_some() && listed.is_empty() {
        return Err(QueryError::NotFound("no such history device".into()));
    }
    let rows = listed.iter().map(|row| Node::Fields(row));
    rows::table(scope, select, rows, &names(&CONFIG_COLUMNS), None)
}

fn records(
    scope: &Scope<'_>,
    select: &Select,
    id: &str,
    parameters: &[(&str, &str)],
) -> Result<Table, QueryError> {
    let history = scope
        .station
        .histories
        .get(id)
        .ok_or_else(|| QueryError::NotFound(format!("no history has the id {id}")))?;
    if !readable(scope, history) {
        return Err(QueryError::Forbidden(format!(
            "{} may not read {id}",
            scope.user.name
        )));
    }
    let asked = Parameters::parse(scope, parameters)?;
    let mut range = asked.range;
    if let Some(filter) = &select.filter {
        range = range.intersection(filter_range(scope, filter));
    }
    let facets = Arc::new(history.value_facets.clone());
    let rows: Vec<Record> = fetch(scope, history, range, asked.delta)
        .into_iter()
        .map(|record| Record {
            time: record.timestamp.with_timezone(&scope.zone).fixed_offset(),
            record,
            facets: facets.clone(),
            record_type: history.record_type(),
        })
        .collect();
    let column_facets = |name: &str| (name == "value").then(|| facets.clone());
    rows::table(
        scope,
        select,
        rows.iter().map(|row| Node::Fields(row)),
        &names(&RECORD_COLUMNS),
        Some(&column_facets),
    )
}

/// Records of a range, clipped to what the history holds; with `delta` the differences between neighbours.
fn fetch(
    scope: &Scope<'_>,
    history: &History,
    range: TimeRange,
    delta: bool,
) -> Vec<HistoryRecord> {
    let Some((first, last)) = history.bounds(scope.now) else {
        return Vec::new();
    };
    let start = range.start.map_or(first, |start| start.max(first));
    let end = range.end.map_or(last, |end| end.min(last));
    let records = history.records(start, end, scope.now);
    if !delta {
        return records;
    }
    records
        .windows(2)
        .filter_map(|pair| {
            let [before, after] = pair else { return None };
            let difference = after.value.as_f64()? - before.value.as_f64()?;
            Some(HistoryRecord {
                value: Value::Double(difference),
                ..after.clone()
            })
        })
        .collect()
}

/// What follows the `?` of a history ord.
struct Parameters {
    range: TimeRange,
    delta: bool,
}

impl Parameters {
    fn parse(scope: &Scope<'_>, pairs: &[(&str, &str)]) -> Result<Self, QueryError> {
        let value = |name: &str| {
            pairs
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| *value)
                .filter(|value| !value.is_empty())
        };
        let time = |name: &str| {
            value(name)
                .map(|text| {
                    wire_time::parse(text, scope.zone).ok_or_else(|| {
                        QueryError::invalid(format!("`{name}={text}` is no ISO time"))
                    })
                })
                .transpose()
        };
        let explicit = TimeRange {
            start: time("start")?,
            end: time("end")?,
        };
        let range = match value("period") {
            None | Some("timeRange") => explicit,
            Some(period) => time_range::named(period, scope.now, scope.zone).ok_or_else(|| {
                QueryError::invalid(format!("`period={period}` is no known period"))
            })?,
        };
        Ok(Self {
            range,
            delta: value("delta") == Some("true"),
        })
    }
}

/// The range that the time stamps of all matching records lie in: only these predicates use the index.
fn filter_range(scope: &Scope<'_>, filter: &Expression) -> TimeRange {
    let Expression::Binary(operator, left, right) = filter else {
        return TimeRange::default();
    };
    if *operator == Operator::And {
        return filter_range(scope, left).intersection(filter_range(scope, right));
    }
    if !is_timestamp(left) {
        return TimeRange::default();
    }
    if *operator == Operator::In {
        return named_range(scope, right).unwrap_or_default();
    }
    let Some(bound) = literal_instant(scope, right) else {
        return TimeRange::default();
    };
    // The bounds are inclusive; the filter itself still runs on every record.
    let (start, end) = match operator {
        Operator::Equal => (Some(bound), Some(bound)),
        Operator::Greater | Operator::GreaterOrEqual => (Some(bound), None),
        Operator::Less | Operator::LessOrEqual => (None, Some(bound)),
        _ => (None, None),
    };
    TimeRange {
        start: start.map(|at| at - TimeDelta::milliseconds(1)),
        end: end.map(|at| at + TimeDelta::milliseconds(1)),
    }
}

fn is_timestamp(expression: &Expression) -> bool {
    matches!(
        expression,
        Expression::Path(steps)
            if matches!(steps.as_slice(), [Step { name, .. }] if name == "timestamp")
    )
}

fn literal_instant(scope: &Scope<'_>, expression: &Expression) -> Option<DateTime<Utc>> {
    let Expression::Literal(literal @ (Literal::Text(_) | Literal::Simple { .. })) = expression
    else {
        return None;
    };
    instant(scope, &constant(literal).ok()?)
}

/// A row of the list of histories.
struct Configuration<'a>(&'a History);

impl Fields for Configuration<'_> {
    fn type_spec(&self) -> &'static str {
        "history:HistoryConfig"
    }

    fn field(&self, name: &str) -> Option<Option<Value>> {
        let history = self.0;
        Some(Some(match name {
            "id" => typed("history:HistoryId", &history.id),
            "historyName" | "name" => Value::from(history.name()),
            "deviceName" => Value::from(history.device()),
            "source" => Value::OrdList(Arc::new(history.source_ord.iter().cloned().collect())),
            "recordType" => Value::TypeSpec(history.record_type().into()),
            "valueFacets" => Value::Facets(Arc::new(history.value_facets.clone())),
            "timeZone" => Value::TimeZone(history.time_zone.name().into()),
            "interval" => typed("history:CollectionInterval", &history.interval.encode()),
            "capacity" => typed("history:Capacity", &history.capacity_text()),
            "fullPolicy" => typed("history:FullPolicy", history.full_policy.tag()),
            _ => return None,
        }))
    }

    fn text(&self) -> String {
        self.0.id.clone()
    }
}

/// A row of a history.
struct Record {
    record: HistoryRecord,
    time: DateTime<chrono::FixedOffset>,
    facets: Arc<Facets>,
    record_type: &'static str,
}

impl Fields for Record {
    fn type_spec(&self) -> &'static str {
        self.record_type
    }

    fn field(&self, name: &str) -> Option<Option<Value>> {
        Some(Some(match name {
            "timestamp" => Value::AbsTime(Some(self.time)),
            "trendFlags" => {
                let text = trend_flags::display(self.record.trend_flags);
                typed("history:TrendFlags", &text)
            }
            "status" => Value::Status(Status::from_bits(self.record.status)),
            "value" => self.record.value.clone(),
            _ => return None,
        }))
    }

    fn facets(&self, name: &str) -> Option<Arc<Facets>> {
        (name == "value").then(|| self.facets.clone())
    }

    fn text(&self) -> String {
        format!("{} {}", self.time.to_rfc3339(), self.record.value.encode())
    }
}
