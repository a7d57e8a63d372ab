//! One alarm record as a query's row tells it; words of another language are never guessed (Station web specification §3.6).

use chrono::{DateTime, FixedOffset};
use chrono_tz::Tz;

use super::error::FacadeResult;
use super::rows::Row;
use super::view::AlarmRecord;
use crate::station::ord::Ord;

/// The columns of an alarm query, in the order in which cells are read.
pub(super) const COLUMNS: &str = "timestamp, uuid, source, sourceState, ackState, ackRequired, alarmClass, priority, normalTime, \
                       ackTime, user, alarmTransition, lastUpdate, alarmData.sourceName, alarmData.msgText, \
                       alarmData.alarmValue, alarmData.presentValue";

pub(super) struct AlarmDecoder {
    pub zone: Tz,
    /// The rows are those of open alarms.
    pub open: bool,
}

impl AlarmDecoder {
    pub fn decode(&self, row: &Row<'_>) -> FacadeResult<AlarmRecord> {
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
        let cells = cells.iter().collect();
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
}
