//! Histories of points: which history a point records into, and its records (Tool surface §13.5.3).

use std::ops::ControlFlow;

use chrono::{DateTime, FixedOffset, Utc};
use chrono_tz::Tz;

use super::StationFacade;
use super::error::{FacadeError, FacadeResult};
use super::rows::{Row, RowsEnd};
use super::sample::{
    HistorySample, SampleKind, SampleValue, kind_of_cell, parse_trend_flags, parse_value,
};
use crate::station::error::StationError;
use crate::station::facets::Facets;
use crate::station::http::CallScope;
use crate::station::ord::{HistoryId, Ord, SlotName, SlotPath};
use crate::station::status::StatusBits;
use crate::station::web::cell::Cell;
use crate::station::web::query::{TableQuery, literal};

/// Most records that one call visits when it aggregates.
pub const HISTORY_SCAN_LIMIT: usize = 500_000;

/// Records per request: an answer stays far below the response limit, and a slow station is asked in pieces.
const PAGE: usize = 50_000;

/// Which records are wanted.
#[derive(Debug, Clone, Copy)]
pub struct HistoryRequest<'a> {
    /// A control point or a history extension.
    pub ord: &'a Ord,
    /// First instant, included.
    pub from: DateTime<FixedOffset>,
    /// Last instant, included.
    pub to: DateTime<FixedOffset>,
    /// Most records to visit.
    pub limit: usize,
}

/// What a reading of a history told beside its records.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryRead {
    /// `/Station/Name`.
    pub history_id: String,
    pub kind: Option<SampleKind>,
    /// Unit symbol of the values.
    pub units: Option<String>,
    /// Records visited.
    pub rows: usize,
    pub truncated_by_limit: bool,
    pub truncated_by_timeout: bool,
    /// Whether the interface told the status of each record.
    pub status_available: bool,
    /// Instant of the first record that was not visited; for a timeout, of the last one visited.
    pub next_from: Option<DateTime<FixedOffset>>,
    /// Records at `next_from` that were visited already.
    pub next_from_repeats: usize,
    /// More records shared one instant than the interface can page.
    pub possibly_lost: bool,
}

/// A history that a point records into.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HistorySource {
    pub id: String,
    pub kind: Option<SampleKind>,
    pub facets: Facets,
}

/// Columns that a station offers on history queries; found out once and remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HistoryColumns {
    millis: bool,
    trend_flags: bool,
}

impl Default for HistoryColumns {
    /// All of them, until a station refuses one.
    fn default() -> Self {
        Self {
            millis: true,
            trend_flags: true,
        }
    }
}

impl HistoryColumns {
    /// The next smaller set to try when a query is refused.
    fn reduced(self) -> Option<Self> {
        match self {
            Self { millis: true, .. } => Some(Self {
                millis: false,
                ..self
            }),
            Self {
                trend_flags: true, ..
            } => Some(Self {
                trend_flags: false,
                ..self
            }),
            _ => None,
        }
    }

    fn select(self) -> String {
        let millis = if self.millis {
            ", timestamp.millis"
        } else {
            ""
        };
        let flags = if self.trend_flags { ", trendFlags" } else { "" };
        format!("timestamp{millis}, value, status{flags}")
    }
}

impl StationFacade {
    /// Visits the records of a point's history in `[from, to]`, oldest first.
    ///
    /// # Errors
    /// [`FacadeError::NoHistory`] for a point without a history extension, station errors otherwise. When the time is
    /// over after some records arrived, the result says so instead.
    pub async fn read_history(
        &self,
        scope: &CallScope,
        request: HistoryRequest<'_>,
        take: &mut (dyn FnMut(HistorySample) + Send),
    ) -> FacadeResult<HistoryRead> {
        let zone = self.zone(scope).await?;
        let source = self.history_source(scope, request.ord).await?;
        let mut reading = Reading::new(zone, &request, source);
        match self.read_pages(scope, &mut reading, take).await {
            Ok(()) => Ok(reading.read),
            Err(error) if self.may_fall_back(&error) && reading.read.rows == 0 => self
                .read_history_by_obix(scope, reading, take)
                .await
                .map_err(|second| prefer(error, second)),
            Err(error) => Err(error),
        }
    }

    async fn read_pages(
        &self,
        scope: &CallScope,
        reading: &mut Reading,
        take: &mut (dyn FnMut(HistorySample) + Send),
    ) -> FacadeResult<()> {
        loop {
            let columns = self.history_columns();
            let page = reading.begin_page();
            let query = reading.query(columns, page)?;
            let mut failure = None;
            let ended =
                self.query_rows(scope, &query, &mut |row| match reading
                    .take_row(&row, columns, take)
                {
                    Ok(flow) => flow,
                    Err(error) => {
                        failure = Some(error);
                        ControlFlow::Break(())
                    }
                })
                .await;
            if let Some(error) = failure {
                return Err(error);
            }
            match ended {
                Ok(RowsEnd::Complete) if !reading.page_is_full() => return Ok(()),
                Ok(RowsEnd::Complete | RowsEnd::Stopped) if reading.limit_reached() => {
                    reading.read.truncated_by_limit = true;
                    return Ok(());
                }
                Ok(RowsEnd::Complete | RowsEnd::Stopped) => {}
                Ok(RowsEnd::Cut) => {
                    reading.stop_for_time();
                    return Ok(());
                }
                Err(FacadeError::Station(StationError::BadQuery { .. }))
                    if columns.reduced().is_some() =>
                {
                    if let Some(smaller) = columns.reduced() {
                        self.set_history_columns(smaller);
                    }
                }
                Err(error) if reading.read.rows > 0 && is_timeout(&error) => {
                    reading.stop_for_time();
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn history_id_without_bql(
        &self,
        scope: &CallScope,
        path: &SlotPath,
        error: FacadeError,
    ) -> FacadeResult<Option<String>> {
        let error = match self.history_id_by_box(scope, path).await {
            Err(second) if self.may_fall_back(&second) => prefer(error, second),
            outcome => return outcome,
        };
        self.history_id_by_obix(scope, path)
            .await
            .map_err(|third| prefer(error, third))
    }

    async fn history_id_by_box(
        &self,
        scope: &CallScope,
        path: &SlotPath,
    ) -> FacadeResult<Option<String>> {
        let node = self.resolve(scope, &Ord::slot(path.clone())).await?;
        let mut candidates = vec![(path.clone(), node.type_name().to_owned())];
        for child in node.components() {
            if let Ok(name) = SlotName::new(child.slot_name()) {
                candidates.push((path.child(name), child.type_name().to_owned()));
            }
        }
        for (extension, type_spec) in candidates {
            let is_extension = match self.boxp().ancestry(scope, &type_spec).await {
                Ok(ancestry) => ancestry.is_history_extension(),
                Err(StationError::NotFound { .. } | StationError::PermissionDenied { .. }) => false,
                Err(error) => return Err(error.into()),
            };
            let Some(config) = SlotName::new("historyConfig").ok().filter(|_| is_extension) else {
                continue;
            };
            let config = self
                .resolve(scope, &Ord::slot(extension.child(config)))
                .await?;
            let id = config
                .child("id")
                .and_then(|slot| slot.value.clone().or_else(|| slot.display.clone()));
            return Ok(id.filter(|id| !id.is_empty()));
        }
        Ok(None)
    }

    /// The history of a point or history extension, remembered for ten minutes.
    pub(super) async fn history_source(
        &self,
        scope: &CallScope,
        ord: &Ord,
    ) -> FacadeResult<HistorySource> {
        let path = self.slot_path(scope, ord).await?;
        let key = path.to_string();
        if let Some(known) = self.cached_extension(&key) {
            return Ok(known);
        }
        let id = match self.history_id_by_query(scope, &path).await {
            Err(error) if self.may_fall_back(&error) || is_bad_query(&error) => {
                self.history_id_without_bql(scope, &path, error).await?
            }
            other => other?,
        };
        let id = id.ok_or_else(|| FacadeError::NoHistory {
            ord: Ord::slot(path.clone()).absolute(),
        })?;
        let source = self.describe_history(scope, id).await;
        self.remember_extension(key, source.clone());
        Ok(source)
    }

    async fn history_id_by_query(
        &self,
        scope: &CallScope,
        path: &SlotPath,
    ) -> FacadeResult<Option<String>> {
        let query = format!("station:|{path}|bql:select slotPath, id from history:HistoryConfig");
        let mut found = None;
        self.rows(scope, &query, &mut |row| {
            let extension = row
                .cell(0)
                .text()
                .parse::<Ord>()
                .ok()
                .and_then(|ord| ord.parent())
                .and_then(|ord| ord.slot_path().cloned());
            let belongs = extension.is_some_and(|extension| {
                extension == *path || extension.parent().as_ref() == Some(path)
            });
            match row.cell(1).some() {
                Some(id) if belongs => {
                    found = Some(id.to_owned());
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        })
        .await?;
        Ok(found)
    }

    /// Record type and unit of a history; unknown when the station does not list histories to this user.
    async fn describe_history(&self, scope: &CallScope, id: String) -> HistorySource {
        let mut source = HistorySource {
            id,
            kind: None,
            facets: Facets::default(),
        };
        let Ok(quoted) = literal(&source.id) else {
            return source;
        };
        let query = format!("history:|bql:select id, recordType, valueFacets where id = {quoted}");
        let asked = self
            .rows(scope, &query, &mut |row| {
                if row.cell(0).text() == source.id {
                    source.kind = SampleKind::of_record_type(row.cell(1).text());
                    source.facets = row.cell(2).facets();
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            })
            .await;
        if let Err(error) = asked {
            tracing::debug!(history = %source.id, %error, "the record type is taken from the first record");
        }
        source
    }
}

fn is_bad_query(error: &FacadeError) -> bool {
    matches!(error, FacadeError::Station(StationError::BadQuery { .. }))
}

pub(super) fn is_timeout(error: &FacadeError) -> bool {
    matches!(
        error,
        FacadeError::Station(StationError::Timeout { .. } | StationError::TooLarge { .. })
    )
}

/// The error of the first choice, unless the second choice knows something definite.
pub(super) fn prefer(first: FacadeError, second: FacadeError) -> FacadeError {
    match &second {
        FacadeError::Station(StationError::InterfaceMissing { .. }) => first,
        _ => second,
    }
}

/// The state of one call over several pages.
pub(super) struct Reading {
    zone: Tz,
    to: DateTime<FixedOffset>,
    limit: usize,
    cursor: DateTime<FixedOffset>,
    /// Records at the cursor that were visited on earlier pages.
    seen: usize,
    /// Records of this page still to be skipped because they were visited.
    skip: usize,
    page_left: usize,
    last: Option<DateTime<FixedOffset>>,
    at_last: usize,
    beyond: Option<DateTime<FixedOffset>>,
    facets: Facets,
    pub(super) read: HistoryRead,
}

impl Reading {
    pub(super) fn new(zone: Tz, request: &HistoryRequest<'_>, source: HistorySource) -> Self {
        Self {
            zone,
            to: request.to,
            limit: request.limit,
            cursor: request.from,
            seen: 0,
            skip: 0,
            page_left: 0,
            last: None,
            at_last: 0,
            beyond: None,
            facets: source.facets.clone(),
            read: HistoryRead {
                history_id: source.id,
                kind: source.kind,
                units: source.facets.unit().map(|unit| unit.symbol().to_owned()),
                rows: 0,
                truncated_by_limit: false,
                truncated_by_timeout: false,
                status_available: true,
                next_from: None,
                next_from_repeats: 0,
                possibly_lost: false,
            },
        }
    }

    /// Rows to ask for: those to skip, a page, and one more that proves there is more.
    fn begin_page(&mut self) -> usize {
        self.skip = self.seen;
        self.page_left = PAGE.min(self.limit.saturating_sub(self.read.rows));
        self.beyond = None;
        self.seen + self.page_left + 1
    }

    fn query(&self, columns: HistoryColumns, rows: usize) -> FacadeResult<TableQuery> {
        let id: HistoryId = self.read.history_id.parse().map_err(StationError::from)?;
        let from = self.cursor.with_timezone(&Utc);
        let to = self.to.with_timezone(&Utc);
        let select = format!("select top {rows} {}", columns.select());
        Ok(TableQuery::history(&id, Some(from), Some(to), self.zone, &select)?.export(rows))
    }

    fn take_row(
        &mut self,
        row: &Row<'_>,
        columns: HistoryColumns,
        take: &mut (dyn FnMut(HistorySample) + Send),
    ) -> FacadeResult<ControlFlow<()>> {
        let sample = self.sample(row, columns)?;
        Ok(self.visit(sample, take))
    }

    /// Takes a record in the order of the interface; breaks at the first one beyond the page.
    pub(super) fn visit(
        &mut self,
        sample: HistorySample,
        take: &mut (dyn FnMut(HistorySample) + Send),
    ) -> ControlFlow<()> {
        let instant = sample.timestamp;
        if self.skip > 0 && instant == self.cursor {
            self.skip -= 1;
            return ControlFlow::Continue(());
        }
        if self.page_left == 0 {
            self.end_page(instant);
            return ControlFlow::Break(());
        }
        self.page_left -= 1;
        self.read.rows += 1;
        if self.last == Some(instant) {
            self.at_last += 1;
        } else {
            self.at_last = if instant == self.cursor {
                self.seen + 1
            } else {
                1
            };
            self.last = Some(instant);
        }
        take(sample);
        ControlFlow::Continue(())
    }

    fn end_page(&mut self, beyond: DateTime<FixedOffset>) {
        self.beyond = Some(beyond);
        self.seen = if self.last == Some(beyond) {
            self.at_last
        } else {
            0
        };
        self.cursor = beyond;
        self.read.next_from = Some(beyond);
        self.read.next_from_repeats = self.seen;
    }

    fn page_is_full(&self) -> bool {
        self.beyond.is_some()
    }

    fn limit_reached(&self) -> bool {
        self.read.rows >= self.limit
    }

    /// Without a record beyond, the next call starts at the last one visited.
    pub(super) fn stop_for_time(&mut self) {
        self.read.truncated_by_timeout = true;
        if self.beyond.is_none() {
            self.read.next_from = self.last.or(Some(self.cursor));
            self.read.next_from_repeats = if self.last.is_some() {
                self.at_last
            } else {
                self.seen
            };
        }
    }

    fn sample(&mut self, row: &Row<'_>, columns: HistoryColumns) -> FacadeResult<HistorySample> {
        let millis = columns.millis.then(|| row.cell(1));
        let value_at = 1 + usize::from(columns.millis);
        Ok(HistorySample {
            timestamp: self.timestamp(row, millis)?,
            value: self.value(row, row.cell(value_at)),
            status: parse_status(row.cell(value_at + 1)),
            trend_flags: if columns.trend_flags {
                parse_trend_flags(row.cell(value_at + 2).text())
            } else {
                Vec::new()
            },
        })
    }

    /// Machine times are exact; display times have no offset, so there the milliseconds come first.
    fn timestamp(
        &self,
        row: &Row<'_>,
        millis: Option<Cell<'_>>,
    ) -> FacadeResult<DateTime<FixedOffset>> {
        let by_millis = || millis.and_then(|cell| cell.millis().ok().flatten());
        let instant = if row.format.machine {
            row.cell(0)
                .time(row.format)
                .ok()
                .flatten()
                .or_else(by_millis)
        } else {
            by_millis()
        };
        let instant = match instant {
            Some(instant) => Some(instant),
            None => row.cell(0).time(row.format)?,
        };
        let instant = instant.ok_or_else(|| StationError::Protocol {
            target: format!("history:{}", self.read.history_id),
            expected: "a timestamp in every record",
            found: "a record without one".to_owned(),
        })?;
        Ok(instant.with_timezone(&self.zone).fixed_offset())
    }

    fn value(&mut self, row: &Row<'_>, cell: Cell<'_>) -> SampleValue {
        if row.format.machine {
            if self.read.kind.is_none() {
                self.read.kind = kind_of_cell(cell.text());
            }
            return self
                .read
                .kind
                .map_or(SampleValue::Missing, |kind| parse_value(kind, cell.0));
        }
        self.displayed_value(row, cell)
    }

    /// A value as the account's language shows it: numbers with separators and units, booleans as their facet texts.
    fn displayed_value(&mut self, row: &Row<'_>, cell: Cell<'_>) -> SampleValue {
        let shown = cell.status_text(row.format);
        if self.read.kind.is_none() {
            self.read.kind = match shown.number {
                Some(_) => Some(SampleKind::Numeric),
                None => shown.text.as_deref().and_then(kind_of_cell),
            };
        }
        let Some(text) = shown.text else {
            return SampleValue::Missing;
        };
        match self.read.kind {
            Some(SampleKind::Numeric) => shown
                .number
                .map_or(SampleValue::Text(text), SampleValue::Number),
            Some(SampleKind::Boolean) if self.facets.true_text() == Some(text.as_str()) => {
                SampleValue::Boolean(true)
            }
            Some(SampleKind::Boolean) if self.facets.false_text() == Some(text.as_str()) => {
                SampleValue::Boolean(false)
            }
            Some(SampleKind::Enum) => SampleValue::Enum {
                ordinal: self.facets.range().and_then(|range| range.ordinal(&text)),
                tag: text,
            },
            Some(kind) => parse_value(kind, &text),
            None => SampleValue::Missing,
        }
    }

    pub(super) fn zone(&self) -> Tz {
        self.zone
    }

    pub(super) fn window(&self) -> (DateTime<FixedOffset>, DateTime<FixedOffset>) {
        (self.cursor, self.to)
    }

    /// One page for everything, for interfaces that page by themselves; the number of records to ask for.
    pub(super) fn begin_unpaged(&mut self) -> usize {
        self.begin_page();
        self.page_left = self.limit.saturating_sub(self.read.rows);
        self.seen + self.page_left + 1
    }
}

/// Status in machine (`14`, `20;activeLevel=…`) or display form (`{down,stale}`); what cannot be read is a fault.
fn parse_status(cell: Cell<'_>) -> Option<StatusBits> {
    cell.some()?;
    Some(match cell.status() {
        Ok(words) if words.unknown.is_empty() => words.bits,
        Ok(words) => words.bits | StatusBits::FAULT,
        Err(_) => StatusBits::FAULT,
    })
}
