//! Alarms over oBIX: the alarm subject's query and its records (oBIX specification §11).

use chrono::{DateTime, FixedOffset};

use super::client::{Document, ObixClient};
use super::encode::{alarm_acknowledgement, alarm_filter};
use super::href::{ObixPath, Reference, resolve};
use super::object::{Element, Object};
use super::scalar::Scalar;
use super::write::unclear;
use crate::station::error::StationError;
use crate::station::http::{CallScope, TimeoutClass};

/// Which alarms are asked for; without bounds the open ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlarmQuery {
    pub limit: u32,
    pub start: Option<DateTime<FixedOffset>>,
    pub end: Option<DateTime<FixedOffset>>,
}

/// One alarm record.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ObixAlarm {
    /// `niagara-uuid` where it is sent, else the last segment of the record's path.
    pub id: Option<String>,
    pub path: Option<ObixPath>,
    pub timestamp: Option<DateTime<FixedOffset>>,
    pub normal_timestamp: Option<DateTime<FixedOffset>>,
    pub ack_timestamp: Option<DateTime<FixedOffset>>,
    pub is_active: bool,
    /// Without any statement an alarm counts as unacknowledged.
    pub is_acknowledged: bool,
    /// 0 to 255, lower is more urgent.
    pub priority: Option<u8>,
    pub alarm_class: Option<String>,
    /// The whole `sourceName`, `Station:Point`.
    pub source_name: Option<String>,
    /// The part before the first colon, else the station that keeps the record.
    pub source_station: Option<String>,
    /// The part behind the first colon, else the whole name.
    pub source_point: Option<String>,
    /// Station that keeps the record; a supervisor for alarms of others.
    pub record_station: Option<String>,
    pub from_state: Option<String>,
    pub to_state: Option<String>,
    pub message: Option<String>,
    /// Text of `offnormalValue`, else of `alarmValue`.
    pub value: Option<String>,
    /// Operation that acknowledges it; none where the station offers none to this user.
    pub ack: Option<ObixPath>,
}

impl ObixClient {
    /// Queries the alarm subject that the lobby points to.
    ///
    /// # Errors
    /// [`StationError::InterfaceMissing`] when the lobby shows no alarms to this user.
    pub async fn alarms(
        &self,
        scope: &CallScope,
        query: AlarmQuery,
    ) -> Result<Vec<ObixAlarm>, StationError> {
        let lobby = self.lobby(scope).await?;
        let subject = lobby
            .alarms
            .as_ref()
            .ok_or_else(|| self.not_exposed("alarms over oBIX"))?;
        let argument = alarm_filter(query.start, query.end, query.limit);
        // The virtual child belongs to the subject, never to the lobby.
        let operation = subject.child("~alarmQuery");
        let document = self
            .ask(scope, &operation, subject, &argument, TimeoutClass::Query)
            .await?;
        read_alarms(&document).ok_or_else(|| StationError::Protocol {
            target: operation.to_string(),
            expected: "an alarm query result with a data list",
            found: format!("<{}> without one", document.root.element.local_name()),
        })
    }
}

impl ObixClient {
    /// Acknowledges an alarm: a write, sent once. Returns the record as the station has it then, where it tells;
    /// else ask for the alarm again.
    ///
    /// The station notes the logged-in user, whatever name is sent (oBIX specification §11.3).
    ///
    /// # Errors
    /// [`StationError::InterfaceMissing`] when the record offers no acknowledgement, and
    /// [`StationError::OutcomeUnknown`] when the answer was lost.
    pub async fn acknowledge_alarm(
        &self,
        scope: &CallScope,
        alarm: &ObixAlarm,
    ) -> Result<Option<ObixAlarm>, StationError> {
        let operation = alarm
            .ack
            .as_ref()
            .ok_or_else(|| self.not_exposed("acknowledging this alarm over oBIX"))?;
        let owner = alarm.path.as_ref().unwrap_or(operation);
        let argument = alarm_acknowledgement(self.user());
        let answer = self.write(scope, operation, owner, &argument).await;
        let document = answer.map_err(|error| unclear(operation, error))?;
        Ok(read_acknowledged(&document))
    }
}

/// The record in an `AckAlarmOut`: its child `alarm`, or the answer itself.
fn read_acknowledged(document: &Document) -> Option<ObixAlarm> {
    let root = &document.root;
    let record = root.child("alarm").or_else(|| {
        let is_record = root.child("timestamp").is_some() || root.implements("obix:Alarm");
        is_record.then_some(root)
    })?;
    (record.element == Element::Obj && !record.is_null()).then(|| read_alarm(document, record))
}

fn read_alarms(document: &Document) -> Option<Vec<ObixAlarm>> {
    let children = &document.root.children;
    let data = children
        .iter()
        .find(|child| child.element == Element::List && child.name() == Some("data"))
        .or_else(|| children.iter().find(|child| child.element == Element::List))?;
    let records = data
        .children
        .iter()
        .filter(|child| child.element == Element::Obj);
    Some(records.map(|record| read_alarm(document, record)).collect())
}

fn read_alarm(document: &Document, record: &Object) -> ObixAlarm {
    let present = |name: &str| record.child(name).filter(|child| !child.is_null());
    let text = |name: &str| {
        present(name)
            .and_then(Object::val)
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    };
    let time = |name: &str| match present(name).map(|child| child.scalar(None)) {
        // The epoch is how stations write "never" (oBIX specification §2.5).
        Some(Ok(Scalar::Instant(instant))) if instant.timestamp_millis() != 0 => Some(instant),
        _ => None,
    };
    let path = document.path_of(record);
    // Its reference is relative to the record, not to the list.
    let ack = record
        .child("ack")
        .filter(|child| child.element == Element::Op)
        .and_then(Object::href)
        .and_then(
            |href| match resolve(path.as_ref().unwrap_or(&document.base), href) {
                Ok(Reference::Object(path)) if path.is_in_tree() => Some(path),
                _ => None,
            },
        );
    let source_name = text("sourceName");
    let record_station = text("sourceStation");
    let (source_station, source_point) = match source_name
        .as_deref()
        .map(|name| name.split_once(':').ok_or(name))
    {
        Some(Ok((station, point))) => (Some(station.to_owned()), Some(point.to_owned())),
        Some(Err(whole)) => (record_station.clone(), Some(whole.to_owned())),
        None => (record_station.clone(), None),
    };
    let (to_state, normal_timestamp, ack_timestamp) = (
        text("toState"),
        time("normalTimestamp"),
        time("ackTimestamp"),
    );
    let acked_by_state = text("ackState").is_some_and(|state| {
        ["acked", "ack", "acknowledged"].contains(&state.trim().to_lowercase().as_str())
    });
    ObixAlarm {
        id: text("niagara-uuid")
            .or_else(|| path.as_ref().map(|path| path.last_segment().to_owned())),
        timestamp: time("timestamp"),
        is_active: match &to_state {
            Some(state) => !state.trim().eq_ignore_ascii_case("normal"),
            None => normal_timestamp.is_none(),
        },
        is_acknowledged: acked_by_state || ack_timestamp.is_some(),
        priority: text("priority").and_then(|text| text.trim().parse().ok()),
        alarm_class: text("alarmClass"),
        message: text("msgText"),
        value: text("offnormalValue").or_else(|| text("alarmValue")),
        from_state: text("fromState"),
        path,
        ack,
        normal_timestamp,
        ack_timestamp,
        source_name,
        source_station,
        source_point,
        record_station,
        to_state,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::station::obix::decode::decode;

    fn alarms(records: &str) -> Vec<ObixAlarm> {
        let body = format!(
            r#"<obj is="obix:AlarmQueryOut"><int name="count" val="1"/><list name="data" of="obix:Alarm">{records}</list></obj>"#
        );
        let base = ObixPath::parse("/obix/config/Services/AlarmService/").expect("a path");
        read_alarms(&Document {
            base,
            root: decode(body.as_bytes(), None).expect("valid"),
        })
        .expect("a list")
    }

    #[test]
    fn a_record_of_a_station_is_read() {
        let alarm = alarms(
            r#"<obj href="/obix/alarm/5f2e6d3c" display="" is="obix:Alarm obix:AckAlarm obix:PointAlarm obix:StatefulAlarm">
              <op name="ack" href="/obix/alarm/5f2e6d3c/ack" in="obix:AlarmAckIn" out="obix:AlarmAckOut"/>
              <bool name="alarmValue" val="true"/>
              <abstime name="normalTimestamp" val="2024-10-05T13:27:07.031+11:00"/>
              <abstime name="timestamp" val="2024-10-05T13:21:33.805+11:00"/>
              <int name="priority" val="255"/><str name="alarmClass" val="defaultAlarmClass"/>
              <str name="presentValue" val="OK"/><str name="fromState" val="offnormal"/><str name="toState" val="normal"/>
              <str name="offnormalValue" val="FAULT"/><str name="msgText" val=""/>
              <str name="sourceName" val="Jace1:Pump:1_Flt"/><str name="sourceStation" val="Sup1"/></obj>"#,
        )
        .remove(0);
        assert_eq!(alarm.id.as_deref(), Some("5f2e6d3c"));
        assert_eq!(
            (
                alarm.source_station.as_deref(),
                alarm.source_point.as_deref()
            ),
            (Some("Jace1"), Some("Pump:1_Flt"))
        );
        assert_eq!(
            (alarm.is_active, alarm.is_acknowledged, alarm.priority),
            (false, false, Some(255))
        );
        assert_eq!(
            (alarm.value.as_deref(), alarm.message),
            (Some("FAULT"), None)
        );
        assert_eq!(
            alarm.timestamp.expect("a time").to_rfc3339(),
            "2024-10-05T13:21:33.805+11:00"
        );
    }

    #[test]
    fn the_acknowledgement_is_found_relative_to_its_record() {
        let read = alarms(
            r#"<obj href="/obix/alarm/5f2e"><op name="ack" href="ack/"/></obj>
               <obj href="/obix/alarm/77"><op name="ack" href="https://other:444/obix/alarm/77/ack"/></obj>
               <obj href="/obix/alarm/78"><op name="ack" href="/admin/delete"/></obj><obj/>"#,
        );
        let paths: Vec<_> = read
            .iter()
            .map(|alarm| alarm.ack.as_ref().map(ObixPath::path))
            .collect();
        assert_eq!(
            paths,
            [
                Some("/obix/alarm/5f2e/ack/"),
                Some("/obix/alarm/77/ack"),
                None,
                None
            ]
        );
    }

    #[test]
    fn the_answer_to_an_acknowledgement_holds_the_record_or_nothing() {
        let answered = |body: &str| {
            read_acknowledged(&Document {
                base: ObixPath::parse("/obix/alarm/5f2e/").expect("a path"),
                root: decode(body.as_bytes(), None).expect("valid"),
            })
        };
        let record = r#"<str name="ackState" val="acked"/><abstime name="timestamp" val="2024-10-05T13:21:33.805+11:00"/>"#;
        for body in [
            format!(
                r#"<obj is="obix:AckAlarmOut"><obj name="alarm" href="/obix/alarm/5f2e">{record}</obj></obj>"#
            ),
            format!(r#"<obj href="/obix/alarm/5f2e" is="obix:Alarm">{record}</obj>"#),
        ] {
            let alarm = answered(&body).expect("a record");
            assert_eq!(
                (alarm.id.as_deref(), alarm.is_acknowledged),
                (Some("5f2e"), true)
            );
        }
        assert_eq!(answered(r#"<obj null="true"/>"#), None);
        assert_eq!(
            answered(r#"<obj is="obix:AckAlarmOut"><obj name="alarm" null="true"/></obj>"#),
            None
        );
    }

    #[test]
    fn state_and_acknowledgement_follow_what_is_there() {
        let read = alarms(
            r#"<obj><str name="sourceName" val="Pump"/><str name="sourceStation" val="Sup1"/><str name="ackState" val="Acked"/><abstime name="normalTimestamp" null="true" val="1970-01-01T00:00:00Z"/></obj>
               <obj><abstime name="ackTimestamp" val="2024-10-05T13:27:07.031Z"/><abstime name="normalTimestamp" val="2024-10-05T13:27:07.031Z"/><str name="priority" val="high"/></obj>
               <obj><str name="ackState" val="unacked"/><abstime name="ackTimestamp" val="1969-12-31T19:00:00.000-05:00"/></obj>"#,
        );
        let states: Vec<_> = read
            .iter()
            .map(|alarm| (alarm.is_active, alarm.is_acknowledged))
            .collect();
        assert_eq!(states, [(true, true), (false, true), (true, false)]);
        assert_eq!(
            (
                read[0].source_station.as_deref(),
                read[0].source_point.as_deref()
            ),
            (Some("Sup1"), Some("Pump"))
        );
        assert_eq!(read[1].priority, None);
    }
}
