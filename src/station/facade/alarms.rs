//! Alarm records over BQL (Tool surface §13.5.3), with oBIX for open alarms where BQL is refused.

use std::ops::ControlFlow;

use chrono::{DateTime, FixedOffset, Utc};
use chrono_tz::Tz;

use super::StationFacade;
use super::error::{FacadeError, FacadeResult};
use super::history::{is_timeout, prefer};
use super::rows::{Row, RowsEnd};
use super::view::{AlarmPage, AlarmRecord};
use crate::station::error::StationError;
use crate::station::http::CallScope;
use crate::station::ord::Ord;
use crate::station::time::abs_time_in;

/// Most rows looked at when a source prefix filters them on this side.
const SCAN_LIMIT: usize = 50_000;

/// The columns of an alarm query, in the order in which cells are read.
const COLUMNS: &str = "timestamp, uuid, source, sourceState, ackState, ackRequired, alarmClass, priority, normalTime, \
                       ackTime, user, alarmTransition, lastUpdate, alarmData.sourceName, alarmData.msgText, \
                       alarmData.alarmValue, alarmData.presentValue";

/// In which order alarms are returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AlarmOrder {
    #[default]
    Database,
    Newest,
}

/// Which alarms are wanted.
#[derive(Debug, Clone, Copy)]
pub struct AlarmRequest<'a> {
    /// Records of this range, both ends included; open alarms when absent.
    pub between: Option<(DateTime<FixedOffset>, DateTime<FixedOffset>)>,
    /// Only alarms whose source is this ord or lies below it; a text prefix when it ends with `/`.
    pub source_prefix: Option<&'a str>,
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
            .open_alarms_by_obix(scope, zone, request.offset + request.limit + 1)
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

fn query(request: &AlarmRequest<'_>, zone: Tz) -> String {
    let rows = match request.source_prefix {
        Some(_) => SCAN_LIMIT + 1,
        None => request.offset + request.limit + 1,
    };
    let mut query = format!("alarm:|bql:select top {rows} {COLUMNS}");
    match request.between {
        None => query.push_str(" from openAlarms"),
        Some((from, to)) => {
            let literal = |time: DateTime<FixedOffset>| abs_time_in(time.with_timezone(&Utc), zone);
            query.push_str(&format!(
                " where timestamp >= baja:AbsTime '{}' and timestamp <= baja:AbsTime '{}'",
                literal(from),
                literal(to),
            ));
        }
    }
    if request.order == AlarmOrder::Newest {
        query.push_str(" order by timestamp desc");
    }
    query
}

/// Filters by source, skips, and stops behind the limit.
struct Selection {
    prefix: Option<SourcePrefix>,
    skip: usize,
    limit: usize,
    scanned: usize,
    page: AlarmPage,
}

impl Selection {
    fn new(request: &AlarmRequest<'_>) -> Self {
        Self {
            prefix: request.source_prefix.map(SourcePrefix::new),
            skip: request.offset,
            limit: request.limit,
            scanned: 0,
            page: AlarmPage::default(),
        }
    }

    fn take(&mut self, alarm: AlarmRecord) -> ControlFlow<()> {
        self.scanned += 1;
        if self.scanned > SCAN_LIMIT {
            self.page.truncated = true;
            return ControlFlow::Break(());
        }
        if self
            .prefix
            .as_ref()
            .is_some_and(|prefix| !prefix.matches_any(&alarm.sources))
        {
            return ControlFlow::Continue(());
        }
        if self.skip > 0 {
            self.skip -= 1;
            return ControlFlow::Continue(());
        }
        if self.page.alarms.len() == self.limit {
            self.page.truncated = true;
            return ControlFlow::Break(());
        }
        self.page.alarms.push(alarm);
        ControlFlow::Continue(())
    }
}

/// A source prefix in canonical form (Tool surface §8.10): `/A` does not match `/AB`, `/A/` is a plain text prefix.
struct SourcePrefix(String);

impl SourcePrefix {
    fn new(text: &str) -> Self {
        Self(canonical(text).to_owned())
    }

    fn matches_any(&self, sources: &[String]) -> bool {
        sources.iter().any(|source| self.matches(canonical(source)))
    }

    fn matches(&self, source: &str) -> bool {
        match source.strip_prefix(self.0.as_str()) {
            Some(rest) => self.0.ends_with('/') || rest.is_empty() || rest.starts_with('/'),
            None => false,
        }
    }
}

fn canonical(ord: &str) -> &str {
    let ord = ord.trim();
    let ord = ord.strip_prefix("local:|").unwrap_or(ord);
    ord.strip_prefix("station:|").unwrap_or(ord)
}

struct AlarmDecoder {
    zone: Tz,
    open: bool,
}

impl AlarmDecoder {
    fn decode(&self, row: &Row<'_>) -> FacadeResult<AlarmRecord> {
        fn text<'a>(row: &Row<'a>, at: usize) -> Option<&'a str> {
            row.cell(at).some()
        }
        let owned = |at: usize| text(row, at).map(str::to_owned);
        let state = row.cell(3).text();
        let acknowledged = AckState::read(row.cell(4).text()).map(|state| state == AckState::Acked);
        let normal = source_is_normal(state);
        let is_open = match (self.open, acknowledged, normal) {
            (true, ..) => Some(true),
            (false, Some(acknowledged), Some(normal)) => Some(!(acknowledged && normal)),
            _ => None,
        };
        Ok(AlarmRecord {
            uuid: owned(1),
            timestamp: self.time(row, 0)?,
            sources: row
                .cell(2)
                .ord_list()
                .iter()
                .map(|source| absolute(source))
                .collect(),
            source_name: owned(13),
            priority: text(row, 7).and_then(|number| number.parse().ok()),
            alarm_class: owned(6),
            ack_state: text(row, 4).map(|word| {
                AckState::read(word)
                    .map_or(word, |state| state.tag())
                    .to_owned()
            }),
            transition: text(row, 11).map(|word| transition_tag(word).to_owned()),
            is_open,
            is_acknowledged: acknowledged,
            is_normal: normal,
            alarm_value: owned(15),
            message: owned(14),
            ack_time: self.time(row, 9)?,
            normal_time: self.time(row, 8)?,
            user: owned(10),
        })
    }

    fn time(&self, row: &Row<'_>, at: usize) -> FacadeResult<Option<DateTime<FixedOffset>>> {
        let instant = row.cell(at).time(row.format)?;
        Ok(instant.map(|instant| instant.with_timezone(&self.zone).fixed_offset()))
    }
}

fn absolute(source: &str) -> String {
    Ord::parse(source).map_or_else(|_| source.to_owned(), |ord| ord.absolute())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AckState {
    Acked,
    Unacked,
    AckPending,
}

impl AckState {
    /// Display words differ from tags in case and blanks only; a word of another language is unknown, never guessed.
    fn read(word: &str) -> Option<Self> {
        match letters(word).as_str() {
            "acked" | "acknowledged" => Some(Self::Acked),
            "unacked" | "unacknowledged" => Some(Self::Unacked),
            "ackpending" => Some(Self::AckPending),
            _ => None,
        }
    }

    fn tag(self) -> &'static str {
        match self {
            Self::Acked => "acked",
            Self::Unacked => "unacked",
            Self::AckPending => "ackPending",
        }
    }
}

fn source_is_normal(word: &str) -> Option<bool> {
    match letters(word).as_str() {
        "normal" => Some(true),
        "offnormal" | "fault" | "alert" => Some(false),
        _ => None,
    }
}

/// The tag of a transition word; an unknown word stays as it is.
fn transition_tag(word: &str) -> &str {
    const TAGS: [&str; 8] = [
        "toOffnormal",
        "toFault",
        "toNormal",
        "toAlert",
        "offnormal",
        "fault",
        "normal",
        "alert",
    ];
    let found = letters(word);
    TAGS.into_iter()
        .find(|tag| tag.to_lowercase() == found)
        .unwrap_or(word)
}

fn letters(word: &str) -> String {
    word.to_lowercase()
        .chars()
        .filter(|character| character.is_alphabetic())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::station::web::cell::CellFormat;

    fn decode(cells: &[&str], open: bool) -> AlarmRecord {
        let cells: Vec<String> = cells.iter().map(|cell| (*cell).to_owned()).collect();
        let decoder = AlarmDecoder {
            zone: chrono_tz::America::New_York,
            open,
        };
        let format = CellFormat::machine(chrono_tz::America::New_York);
        let row = Row {
            cells: &cells,
            format: &format,
        };
        decoder.decode(&row).unwrap()
    }

    const CELLS: [&str; 17] = [
        "2026-11-01T05:30:00.000Z",
        "5f2e",
        "local:|station:|slot:/A/P\nstation:|slot:/B",
        "Off Normal",
        "Unacked",
        "true",
        "hvac",
        "100",
        "null",
        "1970-01-01T00:00:00.000Z",
        "",
        "offnormal",
        "",
        "AHU-1",
        "too hot",
        "88.5",
        "70.0",
    ];

    #[test]
    fn every_field_of_a_record_is_read() {
        let alarm = decode(&CELLS, false);
        assert_eq!(
            alarm.timestamp.unwrap().to_rfc3339(),
            "2026-11-01T01:30:00-04:00"
        );
        assert_eq!(alarm.sources, ["station:|slot:/A/P", "station:|slot:/B"]);
        assert_eq!(
            (alarm.ack_state.as_deref(), alarm.transition.as_deref()),
            (Some("unacked"), Some("offnormal"))
        );
        assert_eq!(
            (alarm.is_acknowledged, alarm.is_normal, alarm.is_open),
            (Some(false), Some(false), Some(true))
        );
        assert_eq!(
            (alarm.priority, alarm.alarm_value.as_deref()),
            (Some(100), Some("88.5"))
        );
        assert_eq!(
            (alarm.ack_time, alarm.normal_time, alarm.user),
            (None, None, None)
        );
    }

    #[test]
    fn a_word_of_another_language_is_unknown_and_not_guessed() {
        let mut cells = CELLS;
        cells[3] = "Störung";
        cells[4] = "Quittiert";
        let alarm = decode(&cells, false);
        assert_eq!(
            (alarm.is_acknowledged, alarm.is_normal, alarm.is_open),
            (None, None, None)
        );
        assert_eq!(alarm.ack_state.as_deref(), Some("Quittiert"));
        assert_eq!(decode(&cells, true).is_open, Some(true));
    }

    #[test]
    fn an_alarm_is_closed_when_acknowledged_and_normal() {
        let mut cells = CELLS;
        cells[3] = "normal";
        cells[4] = "acked";
        assert_eq!(decode(&cells, false).is_open, Some(false));
    }

    #[test]
    fn a_source_prefix_is_a_path_unless_it_ends_with_a_slash() {
        for (prefix, source, matches) in [
            ("station:|slot:/A", "station:|slot:/A/P", true),
            ("slot:/A", "local:|station:|slot:/A", true),
            ("local:|station:|slot:/A", "station:|slot:/AB", false),
            ("slot:/A/", "station:|slot:/A", false),
            ("slot:/", "station:|slot:/X", true),
        ] {
            let sources = ["station:|slot:/Other".to_owned(), source.to_owned()];
            assert_eq!(
                SourcePrefix::new(prefix).matches(canonical(source)),
                matches,
                "{prefix} {source}"
            );
            assert_eq!(
                SourcePrefix::new(prefix).matches_any(&sources[1..]),
                matches
            );
        }
    }

    #[test]
    fn pages_skip_stop_and_tell_that_there_is_more() {
        let request = AlarmRequest {
            between: None,
            source_prefix: Some("slot:/A"),
            order: AlarmOrder::Newest,
            offset: 1,
            limit: 2,
        };
        let mut selection = Selection::new(&request);
        let mut visited = 0;
        for number in 0..9 {
            let source = if number % 2 == 0 {
                "station:|slot:/A/P"
            } else {
                "station:|slot:/B"
            };
            let alarm = AlarmRecord {
                uuid: Some(number.to_string()),
                sources: vec![source.into()],
                ..AlarmRecord::default()
            };
            visited += 1;
            if selection.take(alarm).is_break() {
                break;
            }
        }
        let ids: Vec<_> = selection
            .page
            .alarms
            .iter()
            .filter_map(|alarm| alarm.uuid.as_deref())
            .collect();
        assert_eq!(ids, ["2", "4"]);
        assert!(selection.page.truncated);
        assert_eq!(
            visited, 7,
            "the first match beyond the limit ends the search"
        );
    }

    #[test]
    fn the_query_of_a_range_has_offsets_and_an_order() {
        let at = |text| DateTime::parse_from_rfc3339(text).unwrap();
        let request = AlarmRequest {
            between: Some((at("2026-11-01T05:30:00Z"), at("2026-11-01T06:30:00Z"))),
            source_prefix: None,
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
