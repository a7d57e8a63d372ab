//! Histories of points: which history a point records into, and its records (Tool surface §13.5.3).

use std::ops::ControlFlow;

use chrono::{DateTime, FixedOffset, Utc};
use chrono_tz::Tz;

use super::error::{FacadeError, FacadeResult};
use super::rows::{CellMode, Row, RowsEnd};
use super::sample::{HistorySample, SampleKind, SampleValue, kind_of_cell, parse_trend_flags, parse_value};
use super::{EXTENSION_CACHE, StationFacade};
use crate::station::error::StationError;
use crate::station::facets::Facets;
use crate::station::http::CallScope;
use crate::station::ord::{Ord, SlotPath};
use crate::station::status::{Status, StatusBits};
use crate::station::time::{abs_time_in, parse_abs_time, parse_display_time};
use crate::station::web::cell::split_display;

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
    pub units: Option<String>,
}

/// Columns that a station offers on history queries; found out once and remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HistoryColumns {
    millis: bool,
    trend_flags: bool,
}

impl HistoryColumns {
    pub(super) const ALL: Self = Self {
        millis: true,
        trend_flags: true,
    };

    /// The next smaller set to try when a query is refused.
    fn reduced(self) -> Option<Self> {
        match self {
            Self { millis: true, .. } => Some(Self { millis: false, ..self }),
            Self { trend_flags: true, .. } => Some(Self { trend_flags: false, ..self }),
            _ => None,
        }
    }

    fn select(self) -> String {
        let millis = if self.millis { ", timestamp.millis" } else { "" };
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
            Err(error) if self.may_fall_back(&error) && reading.read.rows == 0 => {
                self.read_history_by_obix(scope, reading, take).await.map_err(|second| prefer(error, second))
            }
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
            let query = reading.query(columns, page);
            let mut failure = None;
            let ended = self
                .rows(scope, &query, &mut |row| match reading.take_row(&row, columns, take) {
                    Ok(flow) => flow,
                    Err(error) => {
                        failure = Some(error);
                        ControlFlow::Break(())
                    }
                })
                .await;
            if let Some(error) = failure {
                self.learn_time_format(scope, error, reading).await?;
                continue;
            }
            match ended {
                Ok(RowsEnd::Complete) if !reading.page_is_full() => return Ok(()),
                Ok(RowsEnd::Complete | RowsEnd::Stopped) if reading.limit_reached() => {
                    reading.read.truncated_by_limit = true;
                    return Ok(());
                }
                Ok(RowsEnd::Complete | RowsEnd::Stopped) => {}
                Ok(RowsEnd::TimedOut) => {
                    reading.stop_for_time();
                    return Ok(());
                }
                Err(FacadeError::Station(StationError::BadQuery { .. })) if columns.reduced().is_some() => {
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

    /// A display time needs the account's time format: fetched once, then the page is asked again.
    async fn learn_time_format(
        &self,
        scope: &CallScope,
        error: FacadeError,
        reading: &mut Reading,
    ) -> FacadeResult<()> {
        let first_row = reading.page_is_untouched();
        if !first_row || reading.time_format.is_some() || !is_time_format(&error) {
            return Err(error);
        }
        reading.time_format = self.time_format(scope).await;
        if reading.time_format.is_none() { Err(error) } else { Ok(()) }
    }

    /// The history of a point or history extension, remembered for ten minutes.
    pub(super) async fn history_source(&self, scope: &CallScope, ord: &Ord) -> FacadeResult<HistorySource> {
        let path = self.slot_path(scope, ord).await?;
        let key = path.to_string();
        if let Some(known) = self.cached_extension(&key) {
            return Ok(known);
        }
        let id = match self.history_id_by_query(scope, &path).await {
            Err(error) if self.may_fall_back(&error) || is_bad_query(&error) => {
                self.history_id_by_box(scope, &path).await.map_err(|second| prefer(error, second))?
            }
            other => other?,
        };
        let id = id.ok_or_else(|| FacadeError::NoHistory {
            ord: Ord::slot(path.clone()).absolute(),
        })?;
        let source = self.describe_history(scope, id).await;
        self.remember_extension(key, source.clone(), EXTENSION_CACHE);
        Ok(source)
    }

    async fn history_id_by_query(&self, scope: &CallScope, path: &SlotPath) -> FacadeResult<Option<String>> {
        let query = format!("station:|{path}|bql:select slotPath, id from history:HistoryConfig");
        let mut found = None;
        self.rows(scope, &query, &mut |row| {
            let extension = row
                .cell(0)
                .parse::<Ord>()
                .ok()
                .and_then(|ord| ord.parent())
                .and_then(|ord| ord.slot_path().cloned());
            let belongs = extension.is_some_and(|extension| extension == *path || extension.parent().as_ref() == Some(path));
            let id = row.cell(1).trim();
            if belongs && !id.is_empty() && id != "null" {
                found = Some(id.to_owned());
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })
        .await?;
        Ok(found)
    }

    /// Record type and unit of a history; unknown when the station does not list histories to this user.
    async fn describe_history(&self, scope: &CallScope, id: String) -> HistorySource {
        let mut source = HistorySource { id, kind: None, units: None };
        if source.id.contains(['\'', '\\', '|']) {
            return source;
        }
        let query = format!("history:|bql:select id, recordType, valueFacets where id = '{}'", source.id);
        let asked = self
            .rows(scope, &query, &mut |row| {
                if row.cell(0).trim() == source.id {
                    source.kind = SampleKind::of_record_type(row.cell(1).trim());
                    let facets = match row.mode {
                        CellMode::Machine => row.cell(2).trim().parse().unwrap_or_default(),
                        CellMode::Display => Facets::parse_display(row.cell(2)),
                    };
                    source.units = facets.unit().map(|unit| unit.symbol().to_owned());
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

pub(super) fn is_time_format(error: &FacadeError) -> bool {
    matches!(error, FacadeError::Station(StationError::TimeFormat(_)))
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
    /// Records visited before this page.
    page_start: usize,
    last: Option<DateTime<FixedOffset>>,
    at_last: usize,
    beyond: Option<DateTime<FixedOffset>>,
    pub(super) time_format: Option<String>,
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
            page_start: 0,
            last: None,
            at_last: 0,
            beyond: None,
            time_format: None,
            read: HistoryRead {
                history_id: source.id,
                kind: source.kind,
                units: source.units,
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
        self.page_start = self.read.rows;
        self.beyond = None;
        self.seen + self.page_left + 1
    }

    fn query(&self, columns: HistoryColumns, rows: usize) -> String {
        format!(
            "history:{}?period=timeRange;start={};end={}|bql:select top {rows} {}",
            self.read.history_id,
            abs_time_in(self.cursor.with_timezone(&Utc), self.zone),
            abs_time_in(self.to.with_timezone(&Utc), self.zone),
            columns.select(),
        )
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
            self.at_last = if instant == self.cursor { self.seen + 1 } else { 1 };
            self.last = Some(instant);
        }
        take(sample);
        ControlFlow::Continue(())
    }

    fn end_page(&mut self, beyond: DateTime<FixedOffset>) {
        self.beyond = Some(beyond);
        self.seen = if self.last == Some(beyond) { self.at_last } else { 0 };
        self.cursor = beyond;
        self.read.next_from = Some(beyond);
        self.read.next_from_repeats = self.seen;
    }

    fn page_is_untouched(&self) -> bool {
        self.read.rows == self.page_start
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
            self.read.next_from_repeats = if self.last.is_some() { self.at_last } else { self.seen };
        }
    }

    fn sample(&mut self, row: &Row<'_>, columns: HistoryColumns) -> FacadeResult<HistorySample> {
        let millis = columns.millis.then(|| row.cell(1));
        let value_at = 1 + usize::from(columns.millis);
        let timestamp = self.timestamp(row.cell(0), millis)?;
        let value = self.value(row.cell(value_at), row.mode);
        let status = parse_status(row.cell(value_at + 1));
        let trend_flags = if columns.trend_flags {
            parse_trend_flags(row.cell(value_at + 2))
        } else {
            Vec::new()
        };
        Ok(HistorySample { timestamp, value, status, trend_flags })
    }

    fn timestamp(&self, text: &str, millis: Option<&str>) -> FacadeResult<DateTime<FixedOffset>> {
        let local = |instant: DateTime<Utc>| instant.with_timezone(&self.zone).fixed_offset();
        if let Ok(Some(instant)) = parse_abs_time(text) {
            return Ok(local(instant.to_utc()));
        }
        // Grouping separators are whatever the account's language uses.
        let digits: String = millis
            .unwrap_or_default()
            .chars()
            .filter(|character| character.is_ascii_digit())
            .collect();
        if let Some(instant) = digits.parse().ok().and_then(DateTime::from_timestamp_millis) {
            return Ok(local(instant));
        }
        let format = self.time_format.as_deref().unwrap_or_default();
        match parse_display_time(text, format, self.zone)? {
            Some(instant) => Ok(local(instant)),
            None => Err(StationError::Protocol {
                target: format!("history:{}", self.read.history_id),
                expected: "a timestamp in every record",
                found: "a record without one".to_owned(),
            }
            .into()),
        }
    }

    fn value(&mut self, cell: &str, mode: CellMode) -> SampleValue {
        let text = match mode {
            CellMode::Machine => cell.to_owned(),
            CellMode::Display => split_display(cell).value,
        };
        if self.read.kind.is_none() {
            self.read.kind = kind_of_cell(&text);
        }
        match self.read.kind {
            Some(kind) => parse_value(kind, &text),
            None => SampleValue::Missing,
        }
    }
}

/// Status of a cell in machine (`14`, `20;activeLevel=…`) or display form (`{down,stale}`); unknown words are a fault.
fn parse_status(cell: &str) -> Option<StatusBits> {
    let cell = cell.trim();
    if cell.is_empty() {
        return None;
    }
    if cell.contains('{') {
        let words = crate::station::status::StatusWords::parse(cell);
        let uncertain = if words.unknown.is_empty() { StatusBits::OK } else { StatusBits::FAULT };
        return Some(words.bits | uncertain);
    }
    Some(cell.parse::<Status>().map_or(StatusBits::FAULT, |status| status.bits()))
}
