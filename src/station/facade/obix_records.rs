//! Histories and open alarms as oBIX tells them (oBIX specification §10, §11).

use chrono::{DateTime, FixedOffset};
use chrono_tz::Tz;

use super::StationFacade;
use super::error::{FacadeError, FacadeResult};
use super::history::HistoryRead;
use super::history_reading::Reading;
use super::obix_routes::{obix_path, scalar_text, unit_symbol};
use super::sample::{HistorySample, SampleKind, SampleValue};
use super::view::AlarmRecord;
use crate::station::error::StationError;
use crate::station::http::{CallScope, TimeoutClass};
use crate::station::obix::alarm::{AlarmQuery, ObixAlarm};
use crate::station::obix::folder::ComponentClass;
use crate::station::obix::history::HistoryReadOptions;
use crate::station::obix::href::ObixPath;
use crate::station::obix::object::Scalar;
use crate::station::obix::record::{HistoryRecord, RecordKind};
use crate::station::ord::{SlotPath, escape, unescape};

impl StationFacade {
    /// The history that a point's extension, or the extension itself, records into.
    pub(super) async fn history_id_by_obix(
        &self,
        scope: &CallScope,
        path: &SlotPath,
    ) -> FacadeResult<Option<String>> {
        let start = obix_path(path)?;
        let folder = self
            .over_obix(async { Ok(self.obix().folder(scope, &start).await?) })
            .await?;
        let itself = folder
            .type_spec
            .as_deref()
            .is_some_and(|name| name.ends_with("HistoryExt"));
        let extension = if itself {
            Some(start)
        } else {
            folder
                .children
                .into_iter()
                .find(|child| child.class == ComponentClass::HistoryExtension)
                .map(|child| child.path)
        };
        let Some(extension) = extension else {
            return Ok(None);
        };
        let named = self
            .over_obix(async { Ok(self.obix().history_name(scope, &extension).await?) })
            .await?;
        let name = match named {
            Some(name) => name,
            None => match self.configured_history_id(scope, &extension).await? {
                Some(id) => id,
                None => return Ok(None),
            },
        };
        // `/Station/Id`, `Station/Id` or a bare `Id` (oBIX specification §10.1).
        let name = name.trim_start_matches('/');
        if name.contains('/') {
            return Ok(Some(format!("/{name}")));
        }
        self.history_id_of_name(scope, name).await
    }

    /// The id of a history whose device is not told: the station's own, else the only one of this name.
    async fn history_id_of_name(
        &self,
        scope: &CallScope,
        name: &str,
    ) -> FacadeResult<Option<String>> {
        let list = self
            .over_obix(async { Ok(self.obix().histories(scope).await?) })
            .await?;
        let own = escape(&self.station_name(scope).await?);
        let devices: Vec<&str> = list
            .histories
            .iter()
            .filter(|history| history.name == name)
            .map(|history| history.device.as_str())
            .collect();
        let device = match devices.as_slice() {
            [only] => Some(*only),
            several => several.iter().copied().find(|device| *device == own),
        };
        Ok(device.map(|device| format!("/{device}/{name}")))
    }

    async fn configured_history_id(
        &self,
        scope: &CallScope,
        extension: &ObixPath,
    ) -> FacadeResult<Option<String>> {
        let config = extension.child("historyConfig");
        let asked = self
            .over_obix(async { Ok(self.obix().get(scope, &config).await?) })
            .await;
        match asked {
            Ok(document) => Ok(document
                .root
                .child("id")
                .and_then(|id| id.val())
                .filter(|id| !id.is_empty())
                .map(str::to_owned)),
            Err(FacadeError::Station(
                StationError::NotFound { .. } | StationError::PermissionDenied { .. },
            )) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn read_history_by_obix(
        &self,
        scope: &CallScope,
        mut reading: Reading,
        take: &mut (dyn FnMut(HistorySample) + Send),
    ) -> FacadeResult<HistoryRead> {
        reading.read.status_available = false;
        let wanted = reading.begin_unpaged();
        let options = HistoryReadOptions {
            max_records: wanted,
            timeout: TimeoutClass::Query,
            ..HistoryReadOptions::default()
        };
        let window = reading.window();
        let told = self
            .over_obix(async {
                let path = self
                    .obix()
                    .history_path(scope, &reading.read.history_id)
                    .await?;
                Ok(self
                    .obix()
                    .read_history(scope, &path, window, options)
                    .await?)
            })
            .await?;
        if let Some(problem) = told.first_problem.filter(|_| told.unreadable > 0) {
            return Err(StationError::Protocol {
                target: format!("history:{}", reading.read.history_id),
                expected: "records with a timestamp and a value",
                found: format!(
                    "{} records that cannot be read, the first because {problem}",
                    told.unreadable
                ),
            }
            .into());
        }
        reading.read.possibly_lost = told.records_possibly_lost;
        if reading.read.kind.is_none() {
            reading.read.kind = told.prototype.kind.map(kind_of);
        }
        if reading.read.units.is_none() {
            reading.read.units = told.prototype.unit.as_deref().map(unit_symbol);
        }
        for record in told.records {
            let sample = obix_sample(record, reading.zone());
            if reading.visit(sample, take).is_break() {
                reading.read.truncated_by_limit = true;
                break;
            }
        }
        Ok(reading.read)
    }

    pub(super) async fn open_alarms_by_obix(
        &self,
        scope: &CallScope,
        zone: Tz,
        limit: usize,
    ) -> FacadeResult<Vec<AlarmRecord>> {
        let query = AlarmQuery {
            limit: u32::try_from(limit).unwrap_or(u32::MAX),
            start: None,
            end: None,
        };
        let alarms = self
            .over_obix(async { Ok(self.obix().alarms(scope, query).await?) })
            .await?;
        Ok(alarms
            .into_iter()
            .map(|alarm| open_alarm(alarm, zone))
            .collect())
    }
}

fn kind_of(kind: RecordKind) -> SampleKind {
    match kind {
        RecordKind::Numeric => SampleKind::Numeric,
        RecordKind::Boolean => SampleKind::Boolean,
        RecordKind::Enum => SampleKind::Enum,
        RecordKind::Text => SampleKind::Text,
    }
}

fn obix_sample(record: HistoryRecord, zone: Tz) -> HistorySample {
    let cell = record.sample();
    let value = match cell.map(|cell| &cell.value) {
        Some(Scalar::Real(number)) => SampleValue::Number(*number),
        Some(Scalar::Int(number)) => SampleValue::Number(*number as f64),
        Some(Scalar::Bool(flag)) => SampleValue::Boolean(*flag),
        Some(Scalar::Tag(tag)) => SampleValue::Enum {
            tag: unescape(tag),
            ordinal: None,
        },
        Some(other) => scalar_text(other).map_or(SampleValue::Missing, SampleValue::Text),
        None => SampleValue::Missing,
    };
    HistorySample {
        timestamp: record.timestamp.with_timezone(&zone).fixed_offset(),
        value,
        // A status is only sent when it is bad; its absence proves nothing.
        status: cell
            .map(|cell| cell.status)
            .filter(|status| !status.is_ok()),
        trend_flags: Vec::new(),
    }
}

/// oBIX names no source ord, so none is claimed.
fn open_alarm(alarm: ObixAlarm, zone: Tz) -> AlarmRecord {
    let local = |time: Option<DateTime<FixedOffset>>| {
        time.map(|time| time.with_timezone(&zone).fixed_offset())
    };
    AlarmRecord {
        uuid: alarm.id,
        timestamp: local(alarm.timestamp),
        sources: Vec::new(),
        source_name: alarm.source_name,
        priority: alarm.priority.map(i64::from),
        alarm_class: alarm.alarm_class,
        ack_state: Some(
            if alarm.is_acknowledged {
                "acked"
            } else {
                "unacked"
            }
            .to_owned(),
        ),
        transition: transition(alarm.from_state.as_deref(), alarm.to_state),
        is_open: Some(true),
        is_acknowledged: Some(alarm.is_acknowledged),
        is_normal: Some(!alarm.is_active),
        alarm_value: alarm.value,
        message: alarm.message,
        ack_time: local(alarm.ack_timestamp),
        normal_time: local(alarm.normal_timestamp),
        user: None,
    }
}

/// The transition that made the alarm: oBIX tells the latest one, which of an alarm that is over leads back to normal.
fn transition(from: Option<&str>, to: Option<String>) -> Option<String> {
    let to = to?;
    let made = if to == "normal" {
        from.filter(|from| *from != "normal")?
    } else {
        &to
    };
    Some(match made {
        "offnormal" => "toOffnormal".to_owned(),
        "fault" => "toFault".to_owned(),
        "alert" => "toAlert".to_owned(),
        other => other.to_owned(),
    })
}
