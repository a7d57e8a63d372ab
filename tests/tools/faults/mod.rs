//! A station that is down, slow or talks nonsense gives a clear error in time, and the next call works again.

mod interfaces;
mod reports;

use std::time::Duration;

use mock_station::faults::{Fault, FaultKind, Interface};
use mock_station::model::accounts::{Account, BRIDGE};
use mock_station::switches::{ObixMode, OrdForms, Switches};
use niagara_bridge::tools::CallContext;
use serde_json::{Value, json};

use crate::support::{Bench, failure_of};

fn calls() -> Vec<(&'static str, Value)> {
    let point = "station:|slot:/Drivers/BacnetNetwork/AHU_1/points/SupplyTemp";
    vec![
        ("listChildren", json!({"ord": "station:|slot:/"})),
        ("readPoint", json!({"ord": point})),
        (
            "bqlQuery",
            json!({"query": "station:|slot:/Drivers|bql:select name from baja:Component"}),
        ),
        ("getOverview", json!({})),
        ("inspectComponent", json!({"ord": point})),
        (
            "findComponentsByType",
            json!({"typeName": "control:NumericPoint"}),
        ),
        ("getSlots", json!({"ord": point})),
        ("readHistory", json!({"ord": point, "from": "2026-10-24"})),
        ("getActiveAlarms", json!({})),
        ("getAlarmHistory", json!({"from": "2026-10-24"})),
        ("probeOrd", json!({"ord": point})),
    ]
}

/// Changes how the stand-in station behaves.
fn change(bench: &Bench, how: impl FnOnce(&mut Switches)) {
    bench.mock.switches().change(how);
}

/// Every call is refused as that kind of failure of the station.
async fn all_fail_as(bench: &Bench, kind: &str) {
    for (tool, arguments) in calls() {
        let (code, message, data) = bench.failure(tool, arguments).await;
        assert_eq!(
            (code, &data["kind"]),
            (-32603, &json!(kind)),
            "{tool}: {message}"
        );
    }
}

async fn works(bench: &Bench) {
    for (tool, arguments) in calls() {
        bench.answer(tool, arguments).await;
    }
}

/// Tools that need what a station without BOX has left.
fn over_obix() -> Vec<(&'static str, Value)> {
    let mut calls = calls();
    calls.retain(|(tool, _)| {
        matches!(
            *tool,
            "listChildren" | "readPoint" | "getOverview" | "inspectComponent" | "getSlots"
        )
    });
    calls
}

/// A web service that runs before its servlets: no BOX, no URL form of BQL, and oBIX as told.
fn without_servlets(switches: &mut Switches, obix: ObixMode) {
    switches.boxs.present = false;
    switches.obix.mode = obix;
    switches.ord.forms = OrdForms {
        encoded_path: false,
        literal_path: false,
        query: false,
    };
}

#[tokio::test]
async fn a_station_that_is_down_is_named_and_welcome_back() {
    let bench = Bench::new().await;
    works(&bench).await;
    change(&bench, |switches| switches.faults.cut = true);
    for (tool, arguments) in calls() {
        let (code, message, data) = bench.failure(tool, arguments).await;
        assert_eq!(
            (code, &data["kind"]),
            (-32603, &json!("station-unreachable")),
            "{tool}: {message}"
        );
        assert_eq!(data["station"], json!(bench.mock.url()));
    }
    change(&bench, |switches| switches.faults.cut = false);
    works(&bench).await;
}

#[tokio::test]
async fn a_station_that_comes_back_changed_is_looked_at_afresh() {
    let bench = Bench::new().await;
    works(&bench).await;
    let break_down = |cut: bool| {
        bench.mock.switches().change(|switches| {
            switches.faults.cut = cut;
            switches.ord.forms = mock_station::switches::OrdForms {
                encoded_path: true,
                literal_path: false,
                query: false,
            };
        });
    };
    break_down(true);
    let (tool, arguments) = calls().remove(1);
    bench.failure(tool, arguments.clone()).await;
    break_down(false);
    bench.answer(tool, arguments).await;
    works(&bench).await;
}

#[tokio::test]
async fn a_slow_station_is_given_up_at_the_deadline() {
    let bench = Bench::new().await;
    works(&bench).await;
    change(&bench, |switches| {
        switches.faults.delay = Some(Duration::from_secs(600))
    });
    for (tool, arguments) in calls() {
        let result = bench
            .call_within(Duration::from_millis(60), tool, arguments)
            .await;
        let (code, message, data) = failure_of(&result);
        assert_eq!(
            (code, &data["kind"]),
            (-32603, &json!("station-timeout")),
            "{tool}: {message}"
        );
    }
    change(&bench, |switches| switches.faults.delay = None);
    works(&bench).await;
}

#[tokio::test]
async fn a_cancelled_call_ends_at_once() {
    let bench = Bench::new().await;
    works(&bench).await;
    change(&bench, |switches| {
        switches.faults.delay = Some(Duration::from_secs(600))
    });
    for (tool, arguments) in calls() {
        let context = CallContext::service();
        context.cancel.cancel();
        let result = bench.registry.call(tool, arguments, context).await.unwrap();
        let (code, message, data) = failure_of(&result);
        assert_eq!(
            (code, &data["kind"]),
            (-32603, &json!("cancelled")),
            "{tool}: {message}"
        );
    }
}

#[tokio::test]
async fn html_in_place_of_data_is_told_as_such() {
    let bench = Bench::new().await;
    works(&bench).await;
    change(&bench, |switches| switches.faults.html_for_data = true);
    all_fail_as(&bench, "station-protocol").await;
    change(&bench, |switches| switches.faults.html_for_data = false);
    works(&bench).await;
}

#[tokio::test]
async fn a_busy_station_is_told_as_busy() {
    let bench = Bench::new().await;
    works(&bench).await;
    change(&bench, |switches| switches.faults.status = Some(503));
    all_fail_as(&bench, "station-busy").await;
    change(&bench, |switches| switches.faults.status = None);
    works(&bench).await;
}

#[tokio::test]
async fn the_name_that_obix_gives_the_server_yields_to_the_stations_own() {
    let bench =
        Bench::with_switches(|switches| without_servlets(switches, ObixMode::BasicOk)).await;
    let name = async || {
        let overview = bench.answer("getOverview", json!({})).await;
        let health = bench.answer("getServiceHealth", json!({})).await;
        assert_eq!(overview["stationName"], health["station"]["name"]);
        overview["stationName"].clone()
    };
    let server = name().await;
    change(&bench, |switches| *switches = Switches::default());
    bench.clock.advance(Duration::from_secs(15));
    let own = name().await;
    assert_eq!(own, json!(bench.model().name()));
    assert_ne!(own, server);
}

#[tokio::test]
async fn a_query_that_no_url_form_carries_says_nothing_of_types() {
    let bench = Bench::new().await;
    works(&bench).await;
    bench.mock.switches().change(|switches| {
        switches.boxs.present = false;
        switches.ord.forms = mock_station::switches::OrdForms {
            encoded_path: false,
            literal_path: false,
            query: false,
        };
    });
    let arguments = json!({"typeName": "control:NumericPoint"});
    let (code, message, data) = bench.failure("findComponentsByType", arguments).await;
    assert_eq!(
        (code, &data["kind"]),
        (-32603, &json!("interface-missing")),
        "{message}"
    );
}

#[tokio::test]
async fn a_session_that_the_station_ended_is_renewed_unseen() {
    let bench = Bench::new().await;
    for (tool, arguments) in calls() {
        bench.mock.end_sessions();
        bench.answer(tool, arguments).await;
    }
}

#[tokio::test]
async fn a_wrong_password_is_tried_once_within_the_latch() {
    let wrong = Account {
        user: BRIDGE.user,
        password: "wrong",
    };
    let bench = Bench::start(|_| {}, |_| {}, wrong).await;
    all_fail_as(&bench, "station-auth").await;
    let health = bench.answer("getServiceHealth", json!({})).await;
    assert_eq!(
        health["station"]["reachable"],
        json!(true),
        "it answers, if only to refuse"
    );
    let error = health["station"]["error"].as_str().unwrap();
    assert!(error.contains("refused user name or password"), "{error}");
    assert_eq!(bench.mock.logins().len(), 1);
    bench.clock.advance(Duration::from_secs(31));
    let (tool, arguments) = calls().remove(0);
    bench.failure(tool, arguments).await;
    assert_eq!(bench.mock.logins().len(), 2);
}

#[tokio::test]
async fn a_wait_in_the_bridge_says_nothing_against_the_station() {
    let now = crate::support::NOW.parse().expect("a time");
    let model = mock_station::model::sample::station(now).expect("the sample station");
    let bench = Bench::connecting(
        model,
        now,
        |_| {},
        BRIDGE,
        |options| {
            options.limits.in_flight = 1;
        },
    )
    .await;
    works(&bench).await;
    let slow = FaultKind::Latency { millis: 200 };
    bench.mock.faults().set(Fault::new(slow)).expect("a fault");
    let others = (0..6)
        .map(|_| bench.call_within(Duration::from_secs(2), "readPoint", calls()[1].1.clone()));
    let (_, health) = futures::join!(
        futures::future::join_all(others),
        bench.call_within(Duration::from_millis(700), "getServiceHealth", json!({})),
    );
    let station = &health["structuredContent"]["station"];
    assert_eq!(station["reachable"], json!(true), "{station}");
    let error = station["error"].as_str().expect("a reason");
    assert!(error.contains("its turn in the bridge"), "{error}");
}

#[tokio::test]
async fn an_answer_that_broke_off_is_asked_for_once_more() {
    let now = crate::support::NOW.parse().expect("a time");
    for interface in [Interface::Box, Interface::Obix] {
        for times in [1, 2] {
            let model = mock_station::model::sample::station(now).expect("the sample station");
            let edit = |switches: &mut Switches| {
                switches.boxs.present = interface == Interface::Box;
            };
            let bench = Bench::connecting(model, now, edit, BRIDGE, |options| {
                options.limits.read_retries = 1;
            })
            .await;
            works(&bench).await;
            for (tool, arguments) in over_obix() {
                let fault = Fault::new(FaultKind::HalfBody { bytes: None })
                    .on(interface)
                    .requests(times);
                bench.mock.faults().set(fault).expect("a fault");
                let result = bench.call(tool, arguments).await;
                let is_asked = tool != "readPoint" || interface == Interface::Box;
                assert_eq!(
                    result["isError"],
                    json!(is_asked && times > 1),
                    "{tool} over {interface:?}: {result}"
                );
                bench.mock.faults().clear_all();
            }
        }
    }
}
