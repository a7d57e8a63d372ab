//! Histories of the station as `renderTrend` draws them.

use chrono::{DateTime, FixedOffset};
use chrono_tz::Tz;
use futures::future::{BoxFuture, try_join_all};

use super::result_value::time_text;
use super::station_access::{SharedStations, scope, station_error};
use super::trend_request::{Source, TrendRequest, WantedPoint, Window};
use super::trend_samples::{Drawn, Samples, Truncation};
use super::{CallContext, ErrorCode, ToolError};
use crate::plot::{Series, Shape};
use crate::station::echo::shortened;
use crate::station::facade::{
    FacadeError, HISTORY_SCAN_LIMIT, HistoryFilter, HistoryRead, HistoryRequest, HistorySample,
    HistorySpan, ListedHistory, PageRequest, SampleKind, SampleValue, StationFacade,
};
use crate::station::http::CallScope;
use crate::station::status::StatusBits;

/// Histories whose id begins with the wanted one; the station lists the wanted one among them.
const NAMESAKES: usize = 200;

/// The live points of a request, each with its place in it.
pub(super) async fn read(
    stations: &SharedStations,
    context: &CallContext,
    request: &TrendRequest,
    window: &Window,
) -> Result<Vec<(usize, Samples)>, ToolError> {
    if !request.has_live_points() {
        return Ok(Vec::new());
    }
    let station = stations.for_caller(&context.principal)?;
    let is_live = |point: &WantedPoint| !matches!(point.source, Source::Stored { .. });
    let count = request.points.iter().filter(|point| is_live(point)).count();
    let zone = window.axis.zone;
    let (from, to) = window.bounds();
    let reader = Reader {
        station: &station,
        scope: scope(context),
        span: HistorySpan {
            from: instant(from, zone),
            to: instant(to, zone),
            limit: HISTORY_SCAN_LIMIT / count.max(1),
        },
    };
    // The session's own limit of requests in flight holds the others back.
    let mut reads: Vec<BoxFuture<'_, Result<(usize, Samples), ToolError>>> = Vec::new();
    for (place, point) in request.points.iter().enumerate() {
        if is_live(point) {
            let read = reader.read(point);
            reads.push(Box::pin(async move { Ok((place, read.await?)) }));
        }
    }
    try_join_all(reads).await
}

fn instant(millis: i64, zone: Tz) -> DateTime<FixedOffset> {
    let instant = DateTime::from_timestamp_millis(millis).unwrap_or_default();
    instant.with_timezone(&zone).fixed_offset()
}

struct Reader<'a> {
    station: &'a StationFacade,
    scope: CallScope,
    span: HistorySpan,
}

impl Reader<'_> {
    async fn read(&self, point: &WantedPoint) -> Result<Samples, ToolError> {
        let mut taken = Taken::default();
        let mut drawn = Drawn {
            label: point.label.clone(),
            ..Drawn::default()
        };
        let (name, read) = match &point.source {
            Source::Point { text, ord } => {
                drawn.ord = Some(text.clone());
                let request = HistoryRequest {
                    ord,
                    from: self.span.from,
                    to: self.span.to,
                    limit: self.span.limit,
                };
                let mut take = |sample| taken.add(sample);
                let read = self.station.read_history(&self.scope, request, &mut take);
                (text, read.await)
            }
            Source::History { id } => {
                let history = self.listed(id).await?;
                let mut take = |sample| taken.add(sample);
                let read =
                    self.station
                        .read_listed_history(&self.scope, &history, self.span, &mut take);
                (id, read.await)
            }
            Source::Stored { .. } => {
                return Err(ToolError::internal("A stored trend is no live history."));
            }
        };
        let read = read.map_err(|error: FacadeError| station_error(error, name))?;
        if taken.has_texts() || read.kind == Some(SampleKind::Text) {
            return Err(ToolError::invalid_params(format!(
                "The history of {} records texts, which cannot be drawn; read it with readHistory.",
                shortened(name)
            ))
            .with("argument", "points")
            .with("history", name.clone()));
        }
        Ok(taken.into_samples(drawn, read))
    }

    /// The history of that id, as the station lists it.
    async fn listed(&self, id: &str) -> Result<ListedHistory, ToolError> {
        let filter = HistoryFilter {
            id_prefix: Some(id),
            ..HistoryFilter::default()
        };
        let page = PageRequest {
            offset: 0,
            limit: NAMESAKES,
        };
        let listed = self.station.histories(&self.scope, filter, page, false);
        let listed = listed.await.map_err(|error| station_error(error, id))?;
        let mut found = listed.items.into_iter();
        found.find(|history| history.id == id).ok_or_else(|| {
            ToolError::new(
                ErrorCode::OrdNotResolvable,
                format!(
                    "The station lists no history {}; listHistories shows those that there are, and case matters.",
                    shortened(id)
                ),
            )
            .with("history", id)
        })
    }
}

/// Records as they come.
#[derive(Default)]
struct Taken {
    times: Vec<i64>,
    values: Vec<f64>,
    kind: Option<SampleKind>,
    /// Tags of an enum with their numbers.
    tags: Vec<(f64, String)>,
}

impl Taken {
    fn add(&mut self, sample: HistorySample) {
        let is_hidden = sample.is_hidden();
        let is_bad = sample
            .status
            .is_some_and(|status| status.contains(StatusBits::NULL) || !status.is_valid());
        let value = match sample.value {
            SampleValue::Number(number) => self.of_kind(SampleKind::Numeric, number),
            SampleValue::Boolean(flag) => {
                self.of_kind(SampleKind::Boolean, f64::from(u8::from(flag)))
            }
            SampleValue::Enum { tag, ordinal } => {
                let number = self.number_of(tag, ordinal);
                self.of_kind(SampleKind::Enum, number)
            }
            SampleValue::Text(_) => self.of_kind(SampleKind::Text, f64::NAN),
            SampleValue::Missing => f64::NAN,
        };
        self.times.push(sample.timestamp.timestamp_millis());
        self.values
            .push(if is_hidden || is_bad { f64::NAN } else { value });
    }

    fn of_kind(&mut self, kind: SampleKind, value: f64) -> f64 {
        self.kind = self.kind.or(Some(kind));
        value
    }

    /// The ordinal, or the place among the tags in the order of their first record where the station tells none.
    fn number_of(&mut self, tag: String, ordinal: Option<i32>) -> f64 {
        let known = self.tags.iter().find(|(_, known)| *known == tag);
        if let Some((number, _)) = known {
            return *number;
        }
        let number = ordinal.map_or_else(|| self.tags.len() as f64, f64::from);
        self.tags.push((number, tag));
        number
    }

    fn has_texts(&self) -> bool {
        self.kind == Some(SampleKind::Text)
    }

    fn into_samples(mut self, mut drawn: Drawn, read: HistoryRead) -> Samples {
        let kind = self.kind.or(read.kind);
        self.tags.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let is_state = kind == Some(SampleKind::Boolean);
        let is_enum = kind == Some(SampleKind::Enum);
        if is_state {
            let [off, on] = read.boolean_texts;
            drawn.states = vec![(0.0, off), (1.0, on)];
        } else {
            drawn.states = self.tags;
        }
        drawn.history_id = Some(read.history_id);
        drawn.units.clone_from(&read.units);
        drawn.status_available = Some(read.status_available);
        if read.truncated_by_limit || read.truncated_by_timeout {
            drawn.truncated = Some(Truncation {
                by_time: read.truncated_by_timeout,
                next_from: read.next_from.as_ref().map(time_text),
            });
        }
        let series = Series {
            label: drawn.label.clone(),
            // States of an enum have an axis of their own.
            units: match is_enum {
                true => Some("state".to_owned()),
                false => read.units,
            },
            is_state,
            shape: match is_state || is_enum {
                true => Shape::Held,
                false => Shape::ByInterval,
            },
            times: self.times,
            values: self.values,
        };
        Samples { drawn, series }
    }
}
