//! The station's audit trail as the history `/<station>/AuditHistory`: one `history:AuditRecord` per entry.
//!
//! It can be asked for by its id; the list of histories shows what belongs to points only.

use chrono::{DateTime, FixedOffset};

use super::{Parameters, filter_range, names};
use crate::model::audit::AuditEntry;
use crate::model::value::Value;
use crate::web::bql::QueryError;
use crate::web::bql::ast::Select;
use crate::web::bql::node::{Fields, Node, Scope};
use crate::web::bql::rows;
use crate::web::table::Table;

const NAME: &str = "AuditHistory";
const COLUMNS: [&str; 7] = [
    "timestamp",
    "operation",
    "target",
    "slotName",
    "oldValue",
    "value",
    "userName",
];

pub(super) fn is_id(scope: &Scope<'_>, id: &str) -> bool {
    id.strip_prefix('/').and_then(|id| id.split_once('/'))
        == Some((scope.station.name().as_str(), NAME))
}

pub(super) fn table(
    scope: &Scope<'_>,
    select: &Select,
    parameters: &[(&str, &str)],
) -> Result<Table, QueryError> {
    let service = scope.station.service("history:AuditHistoryService");
    let service = service
        .ok_or_else(|| QueryError::NotFound("the station keeps no audit history".to_owned()))?;
    if !scope.station.can_read(scope.user, service) {
        return Err(QueryError::Forbidden(format!(
            "{} may not read the audit history",
            scope.user.name
        )));
    }
    let mut range = Parameters::parse(scope, parameters)?.range;
    if let Some(filter) = &select.filter {
        range = range.intersection(filter_range(scope, filter));
    }
    let entries = scope.station.audit.entries().iter();
    let rows: Vec<Row<'_>> = entries
        .filter(|entry| {
            range.start.is_none_or(|start| entry.time >= start)
                && range.end.is_none_or(|end| entry.time <= end)
        })
        .map(|entry| Row {
            entry,
            time: entry.time.with_timezone(&scope.zone).fixed_offset(),
        })
        .collect();
    rows::table(
        scope,
        select,
        rows.iter().map(|row| Node::Fields(row)),
        &names(&COLUMNS),
        None,
    )
}

struct Row<'a> {
    entry: &'a AuditEntry,
    time: DateTime<FixedOffset>,
}

impl Fields for Row<'_> {
    fn type_spec(&self) -> &'static str {
        "history:AuditRecord"
    }

    fn field(&self, name: &str) -> Option<Option<Value>> {
        let entry = self.entry;
        Some(Some(match name {
            "timestamp" => Value::AbsTime(Some(self.time)),
            "operation" => Value::from(entry.operation.word()),
            "target" => Value::from(entry.target.as_str()),
            "slotName" => Value::from(entry.slot.as_str()),
            "oldValue" => Value::from(entry.old_value.as_str()),
            "value" => Value::from(entry.new_value.as_str()),
            "userName" => Value::from(entry.user.as_str()),
            _ => return None,
        }))
    }

    fn text(&self) -> String {
        let entry = self.entry;
        format!("{} {} {}", entry.operation.word(), entry.target, entry.user)
    }
}
