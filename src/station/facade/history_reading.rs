//! One reading of a history over several requests: which records to ask for next, and what each row means.

use std::ops::ControlFlow;

use chrono::{DateTime, FixedOffset, Utc};
use chrono_tz::Tz;

use super::error::FacadeResult;
use super::history::{HistoryRead, HistorySource, HistorySpan};
use super::rows::Row;
use super::sample::{
    HistorySample, SampleKind, SampleValue, kind_of_cell, parse_trend_flags, parse_value,
};
use crate::station::error::StationError;
use crate::station::facets::Facets;
use crate::station::ord::HistoryId;
use crate::station::status::StatusBits;
use crate::station::web::cell::Cell;
use crate::station::web::query::TableQuery;

/// Records per request: an answer stays far below the response limit, and a slow station is asked in pieces.
const PAGE: usize = 50_000;

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
    pub(super) fn reduced(self) -> Option<Self> {
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

    pub(super) fn select(self) -> String {
        let millis = if self.millis {
            ", timestamp.millis"
        } else {
            ""
        };
        let flags = if self.trend_flags { ", trendFlags" } else { "" };
        format!("timestamp{millis}, value, status{flags}")
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
    /// The last choice of an enumeration: its text names every choice, and most records repeat it.
    choice: Option<(String, SampleValue)>,
    pub(super) read: HistoryRead,
}

impl Reading {
    pub(super) fn new(zone: Tz, span: HistorySpan, source: HistorySource) -> Self {
        Self {
            zone,
            to: span.to,
            limit: span.limit,
            cursor: span.from,
            seen: 0,
            skip: 0,
            page_left: 0,
            last: None,
            at_last: 0,
            beyond: None,
            facets: source.facets.clone(),
            choice: None,
            read: HistoryRead {
                history_id: source.id,
                kind: source.kind,
                units: source.facets.unit().map(|unit| unit.symbol().to_owned()),
                boolean_texts: [
                    source.facets.false_text().unwrap_or("false").to_owned(),
                    source.facets.true_text().unwrap_or("true").to_owned(),
                ],
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
    pub(super) fn begin_page(&mut self) -> usize {
        self.skip = self.seen;
        self.page_left = PAGE.min(self.limit.saturating_sub(self.read.rows));
        self.beyond = None;
        self.seen + self.page_left + 1
    }

    pub(super) fn query(&self, columns: HistoryColumns, rows: usize) -> FacadeResult<TableQuery> {
        let id: HistoryId = self.read.history_id.parse().map_err(StationError::from)?;
        let from = self.cursor.with_timezone(&Utc);
        let to = self.to.with_timezone(&Utc);
        let select = format!("select top {rows} {}", columns.select());
        Ok(TableQuery::history(&id, Some(from), Some(to), self.zone, &select)?.export(rows))
    }

    pub(super) fn take_row(
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

    pub(super) fn page_is_full(&self) -> bool {
        self.beyond.is_some()
    }

    pub(super) fn limit_reached(&self) -> bool {
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
            return match self.read.kind {
                None => SampleValue::Missing,
                Some(SampleKind::Enum) => self.choice(cell.0),
                Some(kind) => parse_value(kind, cell.0),
            };
        }
        self.displayed_value(row, cell)
    }

    fn choice(&mut self, text: &str) -> SampleValue {
        match &self.choice {
            Some((known, value)) if known == text => value.clone(),
            _ => {
                let value = parse_value(SampleKind::Enum, text);
                self.choice = Some((text.to_owned(), value.clone()));
                value
            }
        }
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
