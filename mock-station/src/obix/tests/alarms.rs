//! Alarms: found through the lobby, asked for by subject, acknowledged in the caller's own name (§11).

use super::site::{Site, attribute, member, names, val};
use crate::model::AckState;
use crate::model::accounts::{ADMIN, OBIX, VIEWER};
use crate::model::audit::AuditOperation;
use crate::obix::element::Element;

const SERVICE: &str = "/obix/config/Services/AlarmService";
const FIRST: &str = "5f2e6d3c-0000-4000-8000-000000000001";

async fn query(site: &Site, subject: &str, filter: &str) -> Element {
    let body = format!("<obj is='obix:AlarmFilter'>{filter}</obj>");
    site.post(OBIX, &format!("{subject}/~alarmQuery/"), &body)
        .await
}

fn sources(answer: &Element) -> Vec<&str> {
    let list = member(answer, "data");
    list.children
        .iter()
        .map(|record| val(record, "sourceName"))
        .collect()
}

#[tokio::test]
async fn the_open_alarms_come_in_the_shape_of_the_station() {
    let site = Site::start().await;
    let lobby = site.get(OBIX, "/obix/").await;
    let subject = format!("/obix/{}", attribute(member(&lobby, "alarms"), "href"));
    let answer = query(&site, subject.trim_end_matches('/'), "").await;
    assert_eq!(attribute(&answer, "is"), "obix:AlarmQueryOut");
    assert_eq!(names(&answer), ["data", "count", "start", "end"]);
    assert_eq!(
        sources(&answer),
        [
            "Sample:SupplyTemp",
            "Sample:FanStatus",
            "Sample:BrokenSensor",
            "Sample:DeadSensor"
        ]
    );
    assert_eq!(val(&answer, "count"), "4");
    let first = &member(&answer, "data").children[0];
    assert_eq!(
        names(first),
        [
            "ack",
            "alarmValue",
            "normalTimestamp",
            "timestamp",
            "priority",
            "alarmClass",
            "presentValue",
            "fromState",
            "toState",
            "offnormalValue",
            "msgText",
            "sourceName",
            "sourceStation"
        ]
    );
    let href = attribute(first, "href").to_owned();
    let ack = member(first, "ack");
    assert_eq!(attribute(ack, "href"), format!("{href}/ack"));
    assert_eq!(
        (attribute(ack, "in"), attribute(ack, "out")),
        ("obix:AlarmAckIn", "obix:AlarmAckOut")
    );
    assert_eq!(val(first, "sourceStation"), "Sample");
    let alone = site.get(OBIX, &href).await;
    assert_eq!(alone.children, first.children);
    assert_eq!(alone.get("href"), Some(href.as_str()));
}

#[tokio::test]
async fn a_class_has_its_own_alarms_and_filters_narrow_them() {
    let site = Site::start().await;
    let (own, all): (Vec<String>, usize) = {
        let station = site.station.station().read();
        let open = station.alarms.open();
        let own = open.filter(|record| record.alarm_class == "defaultAlarmClass");
        (
            own.filter_map(|record| record.alarm_data.text("sourceName").map(str::to_owned))
                .collect(),
            station.alarms.iter().count(),
        )
    };
    assert!(!own.is_empty() && own.len() < 4);
    let class = format!("{SERVICE}/defaultAlarmClass");
    assert_eq!(sources(&query(&site, &class, "").await), own);
    let two = query(&site, SERVICE, "<int name='limit' val='2'/>").await;
    assert_eq!((sources(&two).len(), val(&two, "count")), (2, "2"));
    let ever = "<abstime name='start' val='2020-01-01T00:00:00Z'/>";
    assert_eq!(sources(&query(&site, SERVICE, ever).await).len(), all);
    let future = "<abstime name='start' val='2030-01-01T00:00:00Z'/>";
    let none = query(&site, SERVICE, future).await;
    assert_eq!((sources(&none).len(), val(&none, "count")), (0, "0"));
    assert_eq!(attribute(member(&none, "start"), "null"), "true");
    let bad = query(&site, SERVICE, "<int name='limit' val='-1'/>").await;
    assert!(attribute(&bad, "display").contains("Invalid limit"));
    let elsewhere = query(&site, "/obix/config/Logic", "").await;
    assert_eq!(attribute(&elsewhere, "is"), "obix:BadUriErr");
    let feed = site.get(OBIX, &format!("{SERVICE}/~alarmFeed/")).await;
    assert_eq!((&*feed.tag, attribute(&feed, "of")), ("feed", "obix:Alarm"));
}

#[tokio::test]
async fn an_acknowledgement_is_stored_in_the_name_of_who_logged_in() {
    let site = Site::start().await;
    let ack = format!("/obix/alarm/{FIRST}/ack");
    let body = "<obj is='obix:AckAlarmIn'><str name='ackUser' val='somebody'/></obj>";
    let refused = site.post(VIEWER, &ack, body).await;
    assert_eq!(attribute(&refused, "is"), "obix:PermissionErr");
    let incomplete = site.post(ADMIN, &ack, "<obj/>").await;
    assert!(attribute(&incomplete, "display").contains("ackUser"));
    let forced = body.replace("</obj>", "<bool name='forceCleared' val='true'/></obj>");
    let forced = site.post(ADMIN, &ack, &forced).await;
    assert_eq!(attribute(&forced, "is"), "obix:UnsupportedErr");
    let state = |site: &Site| {
        site.station
            .station()
            .read()
            .alarms
            .get(FIRST)
            .unwrap()
            .ack_state
    };
    assert_eq!(state(&site), AckState::Unacked);
    let done = site.post(ADMIN, &ack, body).await;
    assert_eq!(attribute(&done, "is"), "obix:AlarmAckOut");
    let record = member(&done, "alarm");
    assert_eq!(val(record, "ackUser"), "admin");
    assert_eq!(val(record, "ackTimestamp"), "2026-03-10T11:07:30.000+01:00");
    assert_eq!(state(&site), AckState::Acked);
    {
        let station = site.station.station().read();
        let entry = station.audit.of_user("admin").last().unwrap();
        assert_eq!(
            (entry.operation, entry.target.as_str()),
            (AuditOperation::Acknowledged, FIRST)
        );
    }
    let unknown = site.post(ADMIN, "/obix/alarm/none/ack", body).await;
    assert_eq!(attribute(&unknown, "is"), "obix:BadUriErr");
}
