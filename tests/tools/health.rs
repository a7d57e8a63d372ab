//! What getServiceHealth tells of routes is what the next calls do.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use mock_station::fox::{FoxScenario, FoxSettings};
use mock_station::model::accounts::BRIDGE;
use mock_station::model::{SharedStation, sample};
use mock_station::server::MockStation;
use mock_station::switches::{ObixMode, Switches};
use niagara_bridge::clock::TestClock;
use niagara_bridge::knowledge::KnowledgeStore;
use niagara_bridge::station::boxp::TypeCache;
use niagara_bridge::station::facade::StationFacade;
use niagara_bridge::station::fox::FoxTarget;
use niagara_bridge::station::http::Trust;
use niagara_bridge::station::ord::Ord;
use niagara_bridge::station::web::{Secret, WebOptions, WebSession};
use niagara_bridge::tools::station_access::ServiceStation;
use niagara_bridge::tools::{CallContext, Registry, reading_tools};
use serde_json::{Value, json};

use crate::support::{Bench, NOW};

const POINT: &str = "station:|slot:/Drivers/BacnetNetwork/AHU_1/points/SupplyTemp";

/// A tool for each kind of operation.
fn samples() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        (
            "search",
            "findComponentsByType",
            json!({"typeName": "control:NumericPoint"}),
        ),
        ("children", "listChildren", json!({"ord": "slot:/Drivers"})),
        ("component", "inspectComponent", json!({"ord": POINT})),
        ("value", "readPoint", json!({"ord": POINT})),
        (
            "history",
            "readHistory",
            json!({"ord": POINT, "from": "2026-10-25"}),
        ),
        ("alarms", "getActiveAlarms", json!({})),
    ]
}

fn path_of(interface: &str) -> &'static str {
    match interface {
        "bql" => "/ord",
        "box" => "/box",
        "obix" => "/obix",
        other => panic!("no interface {other}"),
    }
}

async fn routes_hold(switch: fn(&mut Switches)) -> Vec<(String, String)> {
    let bench = Bench::with_switches(switch).await;
    // The first calls find out what the station offers.
    for (_, tool, arguments) in samples() {
        bench.call(tool, arguments).await;
    }
    let health = bench.answer("getServiceHealth", json!({})).await;
    let operations = health["station"]["operations"]
        .as_array()
        .expect("operations")
        .clone();
    let interface = |operation: &str| {
        let entry = operations
            .iter()
            .find(|entry| entry["operation"] == operation)
            .unwrap_or_else(|| panic!("{operation} is not told"));
        entry["interface"].as_str().expect("a name").to_owned()
    };
    for (operation, tool, arguments) in samples() {
        bench.mock.clear_logs();
        let result = bench.call(tool, arguments).await;
        let told = interface(operation);
        if told == "none" {
            assert_eq!(
                result["errorData"]["kind"], "interface-missing",
                "{operation}: {result}"
            );
            continue;
        }
        assert_eq!(result["isError"], json!(false), "{operation}: {result}");
        let asked: Vec<String> = bench
            .mock
            .requests()
            .iter()
            .map(|request| request.path().to_owned())
            .collect();
        assert!(
            asked.iter().all(|path| path.starts_with(path_of(&told))) && !asked.is_empty(),
            "{operation} is told to go over {told}: {asked:?}"
        );
    }
    ["search", "children", "value", "changes"]
        .map(|operation| (operation.to_owned(), interface(operation)))
        .to_vec()
}

fn interfaces(routes: &[(String, String)]) -> Vec<&str> {
    routes.iter().map(|(_, name)| name.as_str()).collect()
}

#[tokio::test]
async fn every_operation_goes_over_the_interface_that_the_report_names() {
    let all = routes_hold(|_| {}).await;
    assert_eq!(interfaces(&all), ["bql", "box", "box", "obix"]);
    let no_obix = routes_hold(|switches| switches.obix.mode = ObixMode::NoServlet).await;
    assert_eq!(interfaces(&no_obix), ["bql", "box", "box", "box"]);
    let no_box = routes_hold(|switches| switches.boxs.present = false).await;
    assert_eq!(interfaces(&no_box), ["bql", "obix", "bql", "obix"]);
    let no_bql = routes_hold(|switches| switches.export.csv_exporter = false).await;
    assert_eq!(interfaces(&no_bql), ["box", "box", "box", "obix"]);
    let obix_alone = routes_hold(|switches| {
        switches.boxs.present = false;
        switches.export.csv_exporter = false;
    })
    .await;
    assert_eq!(interfaces(&obix_alone), ["none", "obix", "obix", "obix"]);
}

#[tokio::test]
async fn the_route_of_changes_is_told_while_points_are_watched() {
    for (obix, route) in [
        (ObixMode::BasicOk, "oBIX watch"),
        (ObixMode::NoServlet, "BOX subscription"),
    ] {
        let bench = Bench::with_switches(|switches| switches.obix.mode = obix).await;
        let before = bench.answer("getServiceHealth", json!({})).await;
        assert_eq!(
            before["station"]["changes"],
            json!({"watchedPoints": 0}),
            "{before}"
        );
        let ord = Ord::component(POINT).expect("an ord");
        let mut watching = bench.facade.subscribe(&[ord]).expect("a subscription");
        watching.next().await.expect("a first change");
        let health = bench.answer("getServiceHealth", json!({})).await;
        assert_eq!(
            health["station"]["changes"],
            json!({"watchedPoints": 1, "route": route})
        );
        let changes = health["station"]["operations"]
            .as_array()
            .and_then(|operations| operations.last().cloned())
            .expect("operations");
        assert_eq!(changes["how"], route, "{changes}");
        drop(watching);
        bench.facade.close().await;
    }
}

/// A bridge to a station whose Fox port plays a scenario.
async fn with_fox(scenario: FoxScenario) -> (MockStation, Registry) {
    let now: DateTime<Utc> = NOW.parse().expect("a time");
    let clock = Arc::new(mock_station::clock::TestClock::at(now));
    let mock = MockStation::builder()
        .station(SharedStation::new(
            sample::station(now).expect("the sample"),
            clock,
        ))
        .fox(FoxSettings::from(scenario))
        .start()
        .await
        .expect("started");
    let address = mock.fox().and_then(|fox| fox.address()).expect("a port");
    let target = FoxTarget {
        host: address.ip().to_string(),
        port: address.port(),
        secure: false,
    };
    let url = mock.url().parse().expect("an address");
    let options = WebOptions::new(url, BRIDGE.user, Secret::new(BRIDGE.password));
    let session = WebSession::new(options, Arc::new(TestClock::at(now))).expect("a session");
    let facade =
        StationFacade::new(session, TypeCache::new(), None).with_fox(target, Trust::System);
    let folder = std::env::temp_dir().join("no-such-knowledge.yaml");
    let registry = Registry::builder()
        .tools(reading_tools(
            Arc::new(ServiceStation(Arc::new(facade))),
            Arc::new(KnowledgeStore::open(folder)),
            100,
        ))
        .build()
        .expect("the registry");
    (mock, registry)
}

async fn fox_line(registry: &Registry) -> Value {
    let answer = registry
        .call("getServiceHealth", json!({}), CallContext::service())
        .await
        .expect("called");
    let structured = answer["structuredContent"].clone();
    let definition = registry.definition("getServiceHealth").expect("a tool");
    let schema = definition.output_schema.as_ref().expect("a schema");
    let validator = jsonschema::validator_for(schema).expect("valid");
    assert!(validator.is_valid(&structured), "{structured}");
    structured["station"]["fox"].clone()
}

#[tokio::test]
async fn a_configured_fox_port_has_its_line_and_is_asked_once_a_minute() {
    let (mock, registry) = with_fox(FoxScenario::Ax).await;
    let line = fox_line(&registry).await;
    assert_eq!(
        (&line["isFox"], &line["stationName"], &line["appVersion"]),
        (&json!(true), &json!("Sample"), &json!("3.8.111")),
        "{line}"
    );
    assert_eq!(line["fresh"], true);
    for secret in ["hostId", "hostAddress", "vmUuid"] {
        assert!(!line.to_string().contains(secret), "{secret} in {line}");
    }
    assert_eq!(fox_line(&registry).await["fresh"], false);
    let fox = mock.fox().expect("fox");
    assert_eq!(fox.connections().len(), 1);

    for (scenario, words) in [
        (FoxScenario::Close, "without an answer"),
        (FoxScenario::Echo, "our own hello"),
        (FoxScenario::Fatal, "refuses this kind of peer"),
    ] {
        let (_mock, registry) = with_fox(scenario).await;
        let line = fox_line(&registry).await;
        let problem = line["problem"].as_str().unwrap_or_default();
        assert!(problem.contains(words), "{scenario:?}: {line}");
        assert_eq!(line["reachable"], true);
        assert_eq!(line["isFox"], json!(scenario == FoxScenario::Fatal));
    }
}

#[tokio::test]
async fn without_a_fox_port_nothing_is_said_of_it() {
    let bench = Bench::new().await;
    let health = bench.answer("getServiceHealth", json!({})).await;
    assert_eq!(health["station"].get("fox"), None);
}

#[tokio::test]
async fn a_knowledge_file_that_vanishes_is_told_by_health_and_dump() {
    let bench = Bench::new().await;
    let space = json!({"id": "hq", "name": "HQ"});
    bench.answer("createSpace", space).await;
    let healthy = bench.answer("getServiceHealth", json!({})).await;
    assert_eq!(healthy["knowledgeFile"]["readable"], json!(true));
    assert_eq!(healthy["knowledgeFile"].get("error"), None);

    std::fs::remove_file(bench.knowledge.path()).expect("removed");
    let health = bench.answer("getServiceHealth", json!({})).await;
    let file = &health["knowledgeFile"];
    assert_eq!(
        (&file["exists"], &file["readable"]),
        (&json!(false), &json!(false))
    );
    let problem = file["error"].as_str().expect("an error");
    assert!(problem.contains("not there any more"), "{problem}");
    let dump = bench.answer("getDiagnosticDump", json!({})).await;
    assert_eq!(dump["health"]["knowledgeFile"], "no-store");
    assert_eq!(dump["knowledge"]["error"], json!(problem));
}

/// A session that was open before the station went is no proof that it is there; nor is a port that accepts and closes.
#[tokio::test]
async fn a_station_that_answers_nothing_is_not_reachable_whatever_was_before() {
    use mock_station::faults::{Fault, FaultKind};
    use niagara_bridge::station::http::CallScope;

    for silent in [
        Some(FaultKind::Cut),
        Some(FaultKind::Latency { millis: 600_000 }),
        // Starts anew for ten minutes.
        None,
    ] {
        let bench = Bench::new().await;
        let health = bench.answer("getServiceHealth", json!({})).await;
        assert_eq!(health["station"]["reachable"], json!(true));
        let point: Ord = POINT.parse().expect("an ord");
        let subscription = bench
            .facade
            .subscribe(std::slice::from_ref(&point))
            .expect("a subscription");
        match &silent {
            Some(fault) => {
                let fault = Fault::new(fault.clone());
                bench.mock.faults().set(fault).expect("a fault");
            }
            None => bench.mock.restart(std::time::Duration::from_secs(600)),
        }
        let patience = std::time::Duration::from_millis(300);
        // Beyond the failures after which only connections are tried.
        for round in 0..8 {
            let result = bench
                .call_within(patience, "getServiceHealth", json!({}))
                .await;
            let station = &result["structuredContent"]["station"];
            assert_eq!(
                station["reachable"],
                json!(false),
                "{silent:?} {round}: {station}"
            );
            assert!(station["error"].is_string(), "{silent:?}: {station}");
            let scope = CallScope::within(patience);
            let error = bench.facade.services(&scope).await.expect_err("silent");
            assert!(!error.shows_station(), "{silent:?}: {error}");
        }
        drop(subscription);
    }
}

/// A station that refuses or fails is there all the same.
#[tokio::test]
async fn a_station_that_answers_with_errors_is_reachable() {
    use mock_station::faults::{Fault, FaultKind};

    for kind in [
        FaultKind::ServerError { status: 500 },
        FaultKind::ServerError { status: 503 },
        FaultKind::ServerError { status: 404 },
        FaultKind::HtmlPage,
    ] {
        let bench = Bench::new().await;
        bench.answer("getServiceHealth", json!({})).await;
        bench
            .mock
            .faults()
            .set(Fault::new(kind.clone()))
            .expect("a fault");
        let health = bench.answer("getServiceHealth", json!({})).await;
        assert_eq!(
            health["station"]["reachable"],
            json!(true),
            "{kind:?}: {health}"
        );
    }
}
