//! Alarm records over BQL (Tool surface §13.5.3), with oBIX for open alarms where BQL is refused.

use std::ops::ControlFlow;

use chrono::{DateTime, FixedOffset, TimeDelta, Utc};
use chrono_tz::Tz;

use super::StationFacade;
use super::alarm_record::{AlarmDecoder, COLUMNS};
use super::alarm_selection::{SCAN_LIMIT, Selection};
use super::error::{FacadeError, FacadeResult};
use super::history::{is_timeout, prefer};
use super::rows::RowsEnd;
use super::view::AlarmPage;
use crate::station::error::StationError;
use crate::station::http::CallScope;
use crate::station::time::abs_time_in;

/// In which order alarms are returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AlarmOrder {
    #[default]
    Database,
    Newest,
}

/// Properties that alarms must have; those left open do not matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AlarmFilter<'a> {
    /// The id of the record.
    pub uuid: Option<&'a str>,
    pub alarm_class: Option<&'a str>,
    /// Only alarms at least as urgent: 0 to 255, lower is more urgent.
    pub max_priority: Option<i64>,
    /// `acked`, `unacked` or `ackPending`.
    pub ack_state: Option<&'a str>,
}

/// Which alarms are wanted.
#[derive(Debug, Clone, Copy)]
pub struct AlarmRequest<'a> {
    /// Records of this range, both ends included; open alarms when absent.
    pub between: Option<(DateTime<FixedOffset>, DateTime<FixedOffset>)>,
    /// Only alarms whose source is this ord or lies below it; a text prefix when it ends with `/`.
    pub source_prefix: Option<&'a str>,
    pub filter: AlarmFilter<'a>,
    pub order: AlarmOrder,
    /// Matching alarms to leave out first.
    pub offset: usize,
    pub limit: usize,
}

impl StationFacade {
    /// Open alarms, or alarm records of a time range.
    ///
    /// # Errors
    /// [`StationError::NotFound`] when the station has no alarm service; other station errors as they are.
    pub async fn alarms(
        &self,
        scope: &CallScope,
        request: AlarmRequest<'_>,
    ) -> FacadeResult<AlarmPage> {
        let zone = self.zone(scope).await?;
        match self.alarms_by_query(scope, &request, zone).await {
            Err(error) if self.may_fall_back(&error) => {
                self.alarms_without_bql(scope, &request, zone, error).await
            }
            outcome => outcome,
        }
    }

    async fn alarms_by_query(
        &self,
        scope: &CallScope,
        request: &AlarmRequest<'_>,
        zone: Tz,
    ) -> FacadeResult<AlarmPage> {
        let decoder = AlarmDecoder {
            zone,
            open: request.between.is_none(),
        };
        let mut selection = Selection::new(request);
        let mut failure = None;
        let ended = self
            .rows(
                scope,
                &query(request, zone),
                &mut |row| match decoder.decode(&row) {
                    Ok(alarm) => selection.take(alarm),
                    Err(error) => {
                        failure = Some(error);
                        ControlFlow::Break(())
                    }
                },
            )
            .await;
        if let Some(error) = failure {
            return Err(error);
        }
        match ended {
            Ok(RowsEnd::Cut) => selection.page.truncated_by_timeout = true,
            Ok(RowsEnd::Complete | RowsEnd::Stopped) => {}
            Err(error) if !selection.page.alarms.is_empty() && is_timeout(&error) => {
                selection.page.truncated_by_timeout = true;
            }
            Err(error) => return Err(error),
        }
        Ok(selection.page)
    }

    /// oBIX knows open alarms only; records of the past need BQL.
    async fn alarms_without_bql(
        &self,
        scope: &CallScope,
        request: &AlarmRequest<'_>,
        zone: Tz,
        error: FacadeError,
    ) -> FacadeResult<AlarmPage> {
        if request.between.is_some() || request.source_prefix.is_some() {
            return Err(StationError::InterfaceMissing {
                station: self.station(),
                needs: "bql-alarm",
                detail: format!("past alarms and the sources of alarms are told by BQL only, and BQL answered: {error}"),
            }
            .into());
        }
        let open = self
            .open_alarms_by_obix(scope, zone, rows_to_ask(request))
            .await
            .map_err(|second| prefer(error, second))?;
        let mut selection = Selection::new(request);
        for alarm in open {
            if selection.take(alarm).is_break() {
                break;
            }
        }
        Ok(selection.page)
    }
}

/// Filters work on this side, so everything has to be looked at; else one row more than wanted proves truncation.
fn rows_to_ask(request: &AlarmRequest<'_>) -> usize {
    if request.source_prefix.is_some() || request.filter != AlarmFilter::default() {
        SCAN_LIMIT + 1
    } else {
        request.offset + request.limit + 1
    }
}

fn query(request: &AlarmRequest<'_>, zone: Tz) -> String {
    let rows = rows_to_ask(request);
    let mut query = format!("alarm:|bql:select top {rows} {COLUMNS}");
    match request.between {
        None => query.push_str(" from openAlarms"),
        Some((from, to)) => {
            let literal = |time: DateTime<Utc>| abs_time_in(time, zone);
            query.push_str(&format!(
                " where timestamp >= baja:AbsTime '{}' and timestamp <= baja:AbsTime '{}'",
                literal(not_null_time(from, TimeDelta::milliseconds(1))),
                literal(not_null_time(to, TimeDelta::milliseconds(-1))),
            ));
        }
    }
    if request.order == AlarmOrder::Newest {
        query.push_str(" order by timestamp desc");
    }
    query
}

/// The epoch itself is a station's null time, with which nothing compares (Station web specification §5.1); the bound
/// next to it, inside the range, means the same records.
fn not_null_time(time: DateTime<FixedOffset>, inwards: TimeDelta) -> DateTime<Utc> {
    let time = time.with_timezone(&Utc);
    if time.timestamp_millis() == 0 {
        time + inwards
    } else {
        time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_epoch_is_never_sent_as_a_bound() {
        let epoch = DateTime::UNIX_EPOCH.fixed_offset();
        let before = epoch - TimeDelta::days(1);
        let text = |between| {
            query(
                &AlarmRequest {
                    between: Some(between),
                    source_prefix: None,
                    filter: AlarmFilter::default(),
                    order: AlarmOrder::Database,
                    offset: 0,
                    limit: 10,
                },
                chrono_tz::UTC,
            )
        };
        let from_epoch = text((epoch, epoch + TimeDelta::days(1)));
        assert!(
            from_epoch.contains(">= baja:AbsTime '1970-01-01T00:00:00.001"),
            "{from_epoch}"
        );
        let to_epoch = text((before, epoch));
        assert!(
            to_epoch.contains("<= baja:AbsTime '1969-12-31T23:59:59.999"),
            "{to_epoch}"
        );
    }

    #[test]
    fn the_query_of_a_range_has_offsets_and_an_order() {
        let at = |text| DateTime::parse_from_rfc3339(text).unwrap();
        let request = AlarmRequest {
            between: Some((at("2026-11-01T05:30:00Z"), at("2026-11-01T06:30:00Z"))),
            source_prefix: None,
            filter: AlarmFilter::default(),
            order: AlarmOrder::Newest,
            offset: 0,
            limit: 10,
        };
        let text = query(&request, chrono_tz::America::New_York);
        assert!(
            text.starts_with("alarm:|bql:select top 11 timestamp, uuid, source,"),
            "{text}"
        );
        assert!(text.ends_with(
            "where timestamp >= baja:AbsTime '2026-11-01T01:30:00.000-04:00' and timestamp <= baja:AbsTime \
             '2026-11-01T01:30:00.000-05:00' order by timestamp desc"
        ), "{text}");
    }
}
