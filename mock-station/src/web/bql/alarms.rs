//! The base `alarm:` (§3.6).

use std::sync::Arc;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;

use super::QueryError;
use super::ast::{ExtentTarget, Projection, Select};
use super::node::{Fields, Node, Scope, typed};
use super::rows;
use crate::model::alarm::AlarmRecord;
use crate::model::value::Value;
use crate::web::table::Table;

const COLUMNS: [&str; 14] = [
    "timestamp",
    "uuid",
    "sourceState",
    "ackState",
    "ackRequired",
    "source",
    "alarmClass",
    "priority",
    "normalTime",
    "ackTime",
    "user",
    "alarmData",
    "alarmTransition",
    "lastUpdate",
];

pub(super) fn table(
    scope: &Scope<'_>,
    body: &str,
    select: Option<&Select>,
) -> Result<Table, QueryError> {
    let archive = match body.trim_matches('/') {
        "" => false,
        "archive" => true,
        other => {
            return Err(QueryError::NotFound(format!(
                "`alarm:{other}` is no alarm space"
            )));
        }
    };
    let undecorated = Select {
        top: None,
        distinct: false,
        projection: Projection::All,
        extent: None,
        filter: None,
        having: None,
        order: Vec::new(),
    };
    let select = select.unwrap_or(&undecorated);
    let alarms = &scope.station.alarms;
    let found: Vec<&AlarmRecord> = match select.extent.as_ref().map(|extent| &extent.target) {
        _ if archive => alarms.archive().collect(),
        None | Some(ExtentTarget::Everything) => alarms.iter().collect(),
        Some(ExtentTarget::Named(name)) if name == "openAlarms" => alarms.open().collect(),
        Some(ExtentTarget::Named(name)) if name == "ackPendingAlarms" => {
            alarms.ack_pending().collect()
        }
        Some(ExtentTarget::Type(spec)) if spec == "alarm:AlarmRecord" => alarms.iter().collect(),
        Some(
            ExtentTarget::Named(name) | ExtentTarget::Type(name) | ExtentTarget::History(name),
        ) => {
            return Err(QueryError::invalid(format!(
                "`from {name}` is no extent of the alarm database"
            )));
        }
    };
    let listed: Vec<Row<'_>> = found
        .into_iter()
        .filter(|record| readable(scope, record))
        .map(|record| Row {
            record,
            zone: scope.zone,
        })
        .collect();
    let columns: Vec<String> = COLUMNS.iter().map(|name| (*name).to_owned()).collect();
    let rows = listed.iter().map(|row| Node::Fields(row));
    rows::table(scope, select, rows, &columns, None)
}

/// Alarm rows need operator-read on their alarm class.
fn readable(scope: &Scope<'_>, record: &AlarmRecord) -> bool {
    let station = scope.station;
    let class = station
        .service("alarm:AlarmService")
        .and_then(|service| station.component(service)?.child(&record.alarm_class));
    class.is_none_or(|class| station.can_read(scope.user, class))
}

struct Row<'a> {
    record: &'a AlarmRecord,
    zone: Tz,
}

impl Row<'_> {
    fn time(&self, at: Option<DateTime<Utc>>) -> Value {
        Value::AbsTime(at.map(|at| at.with_timezone(&self.zone).fixed_offset()))
    }
}

impl Fields for Row<'_> {
    fn type_spec(&self) -> &'static str {
        "alarm:AlarmRecord"
    }

    fn field(&self, name: &str) -> Option<Option<Value>> {
        let record = self.record;
        Some(Some(match name {
            "timestamp" => self.time(Some(record.timestamp)),
            "uuid" => typed("baja:Uuid", &record.uuid),
            "sourceState" => typed("alarm:SourceState", record.source_state.tag()),
            "ackState" => typed("alarm:AckState", record.ack_state.tag()),
            "ackRequired" => Value::Boolean(record.ack_required),
            "source" => Value::OrdList(Arc::new(record.source.clone())),
            "alarmClass" => Value::from(record.alarm_class.as_str()),
            "priority" => Value::Integer(record.priority),
            "normalTime" => self.time(record.normal_time),
            "ackTime" => self.time(record.ack_time),
            "user" => Value::from(record.user.as_str()),
            "alarmData" => Value::Facets(Arc::new(record.alarm_data.clone())),
            "alarmTransition" => typed(
                "alarm:AlarmTransition",
                record.alarm_transition.transition(),
            ),
            "lastUpdate" => self.time(Some(record.last_update)),
            "noteCount" => Value::Integer(i32::try_from(record.notes.len()).unwrap_or(i32::MAX)),
            _ => return None,
        }))
    }

    fn text(&self) -> String {
        format!("{} {}", self.record.uuid, self.record.source_state.tag())
    }
}
