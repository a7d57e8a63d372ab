//! Alarms are acknowledged in the user's name, once each.

use chrono::{TimeDelta, Utc};
use mock_station::faults::{FaultKind, Interface};
use mock_station::model::accounts::{self, ADMIN, VIEWER};
use mock_station::model::{AckState, AlarmRecord, Facets, Handle, SourceState, Station};
use mock_station::switches::ObixMode;
use niagara_bridge::station::facade::{
    AckEnding, AckRoute, AlarmAck, AlarmChoice, AlarmChoiceError, StationFacade,
};

use serde_json::json;

use crate::mock::scope;
use crate::office::{Office, context};
use crate::site::{Site, facade, site};

pub const SOURCE: &str = "station:|slot:/Logic/Setpoint";

pub fn uuid(number: usize) -> String {
    format!("5f2e6d3c-0000-4000-8000-{number:012x}")
}

/// Three open alarms of a point, the second back to normal, the third acknowledged, and one of another point.
pub fn add_alarms(site: &Site) {
    let mut station = site.frozen.station.station().write();
    let cases = [
        ("Setpoint", SourceState::Offnormal, AckState::Unacked),
        ("Setpoint", SourceState::Normal, AckState::Unacked),
        ("Setpoint", SourceState::Fault, AckState::Acked),
        ("Fan", SourceState::Offnormal, AckState::Unacked),
    ];
    for (number, (point, source_state, ack_state)) in cases.into_iter().enumerate() {
        let path = format!("slot:/Logic/{point}");
        let point = station.resolve_component(&path).expect("a point");
        let extension = extension(&mut station, point);
        let timestamp = station.now() - TimeDelta::hours(9 - number as i64);
        let source = vec![station.nav_ord(extension)];
        station.insert_alarm(AlarmRecord {
            timestamp,
            uuid: uuid(number),
            source_state,
            ack_state,
            ack_required: true,
            source,
            alarm_class: "defaultAlarmClass".to_owned(),
            priority: 100,
            normal_time: None,
            ack_time: None,
            user: String::new(),
            alarm_data: Facets::new(),
            alarm_transition: SourceState::Offnormal,
            last_update: timestamp,
            archived: false,
            notes: Vec::new(),
        });
    }
}

fn extension(station: &mut Station, point: Handle) -> Handle {
    let path = format!("{}/Alarm", station.slot_path(point));
    match station.resolve_component(&path) {
        Ok(known) => known,
        Err(_) => station
            .add(point, Some("Alarm"), "alarm:AlarmSourceExt")
            .expect("an extension"),
    }
}

async fn desk() -> Site {
    let site = site().await;
    add_alarms(&site);
    site
}

async fn acknowledge(station: &StationFacade, choice: AlarmChoice<'_>) -> Vec<AlarmAck> {
    let scope = scope();
    let alarms = station.alarms_to_acknowledge(&scope, choice).await;
    let alarms = alarms.unwrap_or_else(|error| panic!("{choice:?}: {error}"));
    station.acknowledge_alarms(&scope, alarms).await
}

fn state(site: &Site, number: usize) -> (AckState, String) {
    let station = site.frozen.station.station().read();
    let alarm = station.alarms.get(&uuid(number)).expect("an alarm");
    (alarm.ack_state, alarm.user.clone())
}

/// Requests that acknowledge, as they reached the station.
fn requests(site: &Site) -> usize {
    let requests = site.frozen.station.requests();
    let is_ack = |path: &str| path.trim_end_matches('/').ends_with("/ack");
    requests
        .iter()
        .filter(|entry| entry.method == "POST" && is_ack(entry.path()))
        .count()
}

#[tokio::test]
async fn one_alarm_is_acknowledged_by_its_id_in_the_users_name() {
    let site = desk().await;
    let id = uuid(0).to_uppercase();
    let acks = acknowledge(&site.admin, AlarmChoice::Uuid(&id)).await;
    let [ack] = acks.as_slice() else {
        panic!("{acks:?}");
    };
    assert_eq!(ack.ending, AckEnding::Done(AckRoute::Obix));
    assert_eq!(ack.before.is_acknowledged, Some(false));
    let after = ack.after.as_ref().expect("read back");
    assert_eq!(
        (after.is_acknowledged, after.is_open, after.user.as_deref()),
        (Some(true), Some(true), Some("admin"))
    );
    assert!(after.ack_time.is_some_and(|time| time <= Utc::now()));
    assert_eq!(state(&site, 0), (AckState::Acked, "admin".to_owned()));
    assert_eq!(state(&site, 3).0, AckState::Unacked);
    assert_eq!(requests(&site), 1);

    let again = acknowledge(&site.admin, AlarmChoice::Uuid(&id)).await;
    assert_eq!(again[0].ending, AckEnding::WasAcknowledged);
    assert_eq!(requests(&site), 1, "nothing was sent");
}

#[tokio::test]
async fn all_alarms_of_a_source_are_acknowledged_and_closed_ones_are_told_so() {
    let site = desk().await;
    let acks = acknowledge(&site.admin, AlarmChoice::Source(SOURCE)).await;
    let endings: Vec<&AckEnding> = acks.iter().map(|ack| &ack.ending).collect();
    let done = AckEnding::Done(AckRoute::Obix);
    assert_eq!(endings, [&done, &done, &AckEnding::WasAcknowledged]);
    let closed = acks[1].after.as_ref().expect("read back");
    assert_eq!(
        (closed.is_normal, closed.is_open),
        (Some(true), Some(false))
    );
    assert_eq!(closed.user.as_deref(), Some("admin"));
    assert_eq!(state(&site, 3).0, AckState::Unacked, "another source");
}

#[tokio::test]
async fn an_alarm_that_is_not_there_is_named() {
    let site = desk().await;
    for choice in [
        AlarmChoice::Uuid("77"),
        AlarmChoice::Source("station:|slot:/Logic/Mode"),
    ] {
        let error = site.admin.alarms_to_acknowledge(&scope(), choice).await;
        let error = error.expect_err("none");
        assert!(
            matches!(error, AlarmChoiceError::NoneOpen { .. }),
            "{error:?}"
        );
        assert!(error.to_string().contains("getActiveAlarms"), "{error}");
    }
}

#[tokio::test]
async fn a_lost_answer_is_in_doubt_with_the_record_read_again_and_ends_the_call() {
    for (kind, acted) in [
        (FaultKind::Cut, false),
        (FaultKind::CutAfter, true),
        (FaultKind::HalfBody { bytes: None }, true),
    ] {
        let site = desk().await;
        let scope = scope();
        let choice = AlarmChoice::Source(SOURCE);
        let alarms = site.admin.alarms_to_acknowledge(&scope, choice).await;
        let alarms = alarms.expect("alarms");
        site.break_next_write(Interface::Obix, kind.clone());
        let acks = site.admin.acknowledge_alarms(&scope, alarms).await;
        assert!(
            matches!(acks[0].ending, AckEnding::InDoubt(_)),
            "{kind:?}: {:?}",
            acks[0].ending
        );
        let seen = acks[0].after.as_ref().expect("read again");
        assert_eq!(seen.is_acknowledged, Some(acted), "{kind:?}");
        assert_eq!(acks[1].ending, AckEnding::NotTried, "{kind:?}");
        assert_eq!(state(&site, 1).0, AckState::Unacked);
        assert!(requests(&site) <= 1, "{kind:?}: never twice");
    }
}

#[tokio::test]
async fn an_alarm_that_is_no_longer_listed_is_called_acknowledged_only_by_who_did_it() {
    for is_lost in [false, true] {
        let site = desk().await;
        // oBIX lists open alarms only, and the second one closes when it is acknowledged.
        let switches = site.frozen.station.switches();
        switches.change(|switches| {
            switches.export.csv_exporter = false;
            switches.boxs.present = false;
        });
        let (scope, id) = (scope(), uuid(1));
        let alarms = site
            .admin
            .alarms_to_acknowledge(&scope, AlarmChoice::Uuid(&id));
        let alarms = alarms.await.expect("alarms");
        if is_lost {
            site.break_next_write(Interface::Obix, FaultKind::CutAfter);
        }
        let acks = site.admin.acknowledge_alarms(&scope, alarms).await;
        assert_eq!(state(&site, 1).0, AckState::Acked);
        match (&acks[0].ending, &acks[0].after) {
            (AckEnding::Done(AckRoute::Obix), Ok(after)) if !is_lost => {
                assert_eq!(
                    (after.is_acknowledged, after.is_open),
                    (Some(true), Some(false))
                );
            }
            (AckEnding::InDoubt(_), Err(reason)) if is_lost => {
                assert!(reason.contains("no longer listed"), "{reason}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_reader_is_refused_and_a_station_without_obix_alarms_says_what_is_missing() {
    let site = desk().await;
    let viewer = facade(&site.frozen, accounts::VIEWER);
    let id = uuid(0);
    let acks = acknowledge(&viewer, AlarmChoice::Uuid(&id)).await;
    let AckEnding::Refused(error) = &acks[0].ending else {
        panic!("{:?}", acks[0].ending);
    };
    assert!(!error.to_string().is_empty());
    assert_eq!(state(&site, 0).0, AckState::Unacked);

    let switches = site.frozen.station.switches();
    switches.change(|switches| switches.obix.mode = ObixMode::NoServlet);
    let acks = acknowledge(&site.admin, AlarmChoice::Uuid(&id)).await;
    let AckEnding::Refused(error) = &acks[0].ending else {
        panic!("{:?}", acks[0].ending);
    };
    assert!(error.to_string().contains("oBIX"), "{error}");
    assert_eq!(state(&site, 0).0, AckState::Unacked);
}

async fn office() -> Office {
    let office = Office::new().await;
    add_alarms(&office.site);
    office
}

#[tokio::test]
async fn the_tool_acknowledges_each_alarm_with_a_record_of_its_own() {
    let office = office().await;
    let answer = office
        .answer(ADMIN, "ackAlarm", json!({"sourceOrd": SOURCE}))
        .await;
    assert_eq!(
        (&answer["acknowledged"], &answer["alreadyAcknowledged"]),
        (&json!(2), &json!(1))
    );
    let outcomes: Vec<&str> = answer["alarms"]
        .as_array()
        .expect("alarms")
        .iter()
        .filter_map(|alarm| alarm["outcome"].as_str())
        .collect();
    assert_eq!(
        outcomes,
        ["already-acknowledged", "acknowledged", "acknowledged"]
    );
    let first = &answer["alarms"][1];
    assert_eq!(first["before"]["isAcknowledged"], json!(false));
    assert_eq!(
        (&first["after"]["isAcknowledged"], &first["after"]["user"]),
        (&json!(true), &json!("admin"))
    );
    let line = office.last_line(2, 2);
    assert_eq!(
        (&line["action"], &line["oldValue"], &line["newValue"]),
        (&json!("acknowledge"), &json!("unacked"), &json!("acked"))
    );
    assert_eq!(office.audited_by_station("admin").len(), 2);
    let again = office
        .answer(ADMIN, "ackAlarm", json!({"uuid": uuid(0)}))
        .await;
    assert_eq!(again["alreadyAcknowledged"], json!(1));
    office.last_line(2, 2);
}

#[tokio::test]
async fn who_may_not_acknowledge_is_told_and_recorded() {
    let office = office().await;
    let one = json!({"uuid": uuid(0)});
    let service = office.call(context(None), "ackAlarm", one.clone()).await;
    assert_eq!(service.expect_err("no user").code.code(), -32011);
    let (code, data) = office.failure(VIEWER, "ackAlarm", one.clone()).await;
    assert_eq!(code, -32010, "{data}");
    office.last_line(1, 2);
    office.allow(json!({"deny": ["slot:/Logic/**"]}));
    let (code, data) = office.failure(ADMIN, "ackAlarm", one.clone()).await;
    assert_eq!((code, &data["policy"]), (-32010, &json!("ord-denied")));
    office.last_line(1, 3);
    for wrong in [json!({}), json!({"uuid": "1", "sourceOrd": SOURCE})] {
        let (code, _) = office.failure(ADMIN, "ackAlarm", wrong).await;
        assert_eq!(code, -32602);
    }
    let (code, data) = office
        .failure(ADMIN, "ackAlarm", json!({"uuid": "77"}))
        .await;
    assert_eq!((code, &data["uuid"]), (-32006, &json!("77")));
    let line = office.last_line(1, 6);
    assert_eq!(
        (&line["outcome"], &line["policy"]),
        (&json!("refused"), &json!("not-possible"))
    );
    assert_eq!(state(&office.site, 0).0, AckState::Unacked);
}

#[tokio::test]
async fn a_lost_acknowledgement_is_in_doubt_in_answer_and_record() {
    let office = office().await;
    office
        .site
        .break_next_write(Interface::Obix, FaultKind::CutAfter);
    let (code, data) = office
        .failure(ADMIN, "ackAlarm", json!({"sourceOrd": SOURCE}))
        .await;
    assert_eq!((code, &data["inDoubt"]), (-32603, &json!(true)), "{data}");
    assert_eq!(data["observed"]["isAcknowledged"], json!(true));
    assert_eq!(office.last_line(1, 1)["outcome"], json!("inDoubt"));
    assert_eq!(state(&office.site, 1).0, AckState::Unacked, "not gone on");
}

#[tokio::test]
async fn what_a_gateway_answers_leaves_an_acknowledgement_in_doubt_and_no_second_one_is_sent() {
    let site = desk().await;
    let kinds = [
        FaultKind::HtmlPage,
        FaultKind::ServerError { status: 503 },
        FaultKind::ServerError { status: 502 },
        FaultKind::ServerError { status: 408 },
    ];
    for kind in kinds {
        site.frozen.station.clear_logs();
        site.break_next_write(Interface::Obix, kind.clone());
        let acks = acknowledge(&site.admin, AlarmChoice::Uuid(&uuid(0))).await;
        let [ack] = acks.as_slice() else {
            panic!("{acks:?}");
        };
        assert!(
            matches!(ack.ending, AckEnding::InDoubt(_)),
            "{kind:?}: {:?}",
            ack.ending
        );
        assert_eq!(requests(&site), 1, "{kind:?}");
        let seen = ack.after.as_ref().expect("read again");
        assert_eq!(seen.is_acknowledged, Some(false), "{kind:?}");
        assert_eq!(state(&site, 0).0, AckState::Unacked, "not sent over BOX");
    }
    let acks = acknowledge(&site.admin, AlarmChoice::Uuid(&uuid(0))).await;
    assert_eq!(acks[0].ending, AckEnding::Done(AckRoute::Obix));
}
