//! Histories of points: which history a point records into, and its records (Tool surface §13.5.3).

use std::ops::ControlFlow;

use chrono::{DateTime, FixedOffset};
use chrono_tz::Tz;

use super::StationFacade;
use super::error::{FacadeError, FacadeResult};
use super::histories::ListedHistory;
use super::history_reading::Reading;
use super::rows::RowsEnd;
use super::sample::{HistorySample, SampleKind};
use crate::station::error::StationError;
use crate::station::facets::Facets;
use crate::station::http::CallScope;
use crate::station::ord::{Ord, SlotName, SlotPath};
use crate::station::web::query::literal;

/// Most records that one call visits when it aggregates.
pub const HISTORY_SCAN_LIMIT: usize = 500_000;

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

/// Which records of a known history are wanted.
#[derive(Debug, Clone, Copy)]
pub struct HistorySpan {
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
    /// What people see for a boolean's false and true.
    pub boolean_texts: [String; 2],
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
        let span = HistorySpan {
            from: request.from,
            to: request.to,
            limit: request.limit,
        };
        self.read_source(scope, zone, source, span, take).await
    }

    /// Visits the records of a history that [`StationFacade::histories`] listed, oldest first.
    ///
    /// # Errors
    /// As [`StationFacade::read_history`].
    pub async fn read_listed_history(
        &self,
        scope: &CallScope,
        history: &ListedHistory,
        span: HistorySpan,
        take: &mut (dyn FnMut(HistorySample) + Send),
    ) -> FacadeResult<HistoryRead> {
        let zone = self.zone(scope).await?;
        let source = HistorySource {
            id: history.id.clone(),
            kind: history.kind,
            facets: history.facets.clone(),
        };
        self.read_source(scope, zone, source, span, take).await
    }

    async fn read_source(
        &self,
        scope: &CallScope,
        zone: Tz,
        source: HistorySource,
        span: HistorySpan,
        take: &mut (dyn FnMut(HistorySample) + Send),
    ) -> FacadeResult<HistoryRead> {
        let mut reading = Reading::new(zone, span, source);
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
        FacadeError::Station(
            StationError::Timeout { .. }
                | StationError::Queued { .. }
                | StationError::TooLarge { .. }
        )
    )
}

/// The error of the first choice, unless the second choice knows something definite.
pub(super) fn prefer(first: FacadeError, second: FacadeError) -> FacadeError {
    match &second {
        FacadeError::Station(StationError::InterfaceMissing { .. }) => first,
        _ => second,
    }
}
