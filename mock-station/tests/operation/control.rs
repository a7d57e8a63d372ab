//! The control port: what another process can do to the station.

use std::net::SocketAddr;

use chrono::TimeDelta;
use mock_station::faults::{Fault, FaultKind, Interface};
use mock_station::fox::{FoxScenario, FoxSettings};
use mock_station::server::MockStation;
use serde_json::{Value, json};

use super::client::{BASIC, QUERY, builder, get, noon, send, status};

fn port(mock: &MockStation) -> SocketAddr {
    let url = mock.control_url().unwrap();
    url.strip_prefix("http://").unwrap().parse().unwrap()
}

async fn command(mock: &MockStation, method: &str, path: &str, body: &str) -> (u16, Value) {
    let answer = send(port(mock), method, path, "", body).await.unwrap();
    let value = serde_json::from_slice(&answer.body).unwrap();
    (answer.status, value)
}

async fn commanded() -> MockStation {
    let start = builder().https().control().fox(FoxSettings::default());
    start.start().await.unwrap()
}

#[tokio::test]
async fn faults_are_set_listed_and_cleared() {
    let mock = commanded().await;
    let body = r#"{"fault":{"kind":"server-error","status":503},"interface":"ord","requests":2}"#;
    let (code, set) = command(&mock, "POST", "/faults", body).await;
    assert_eq!(code, 200);
    let expected = Fault::new(FaultKind::ServerError { status: 503 });
    let listed = mock.faults().list();
    assert_eq!(listed[0].fault, expected.on(Interface::Ord).requests(2));
    assert_eq!(set["id"], json!(listed[0].id));
    assert_eq!(status(&mock, QUERY).await, Some(503));
    let (_, faults) = command(&mock, "GET", "/faults", "").await;
    assert_eq!(faults[0]["requests"], 1);
    assert_eq!(faults[0]["fault"]["kind"], "server-error");
    let (_, fired) = command(&mock, "GET", "/fired", "").await;
    assert_eq!(fired[0]["interface"], "ord");
    let one = format!("/faults/{}", set["id"]);
    assert_eq!(command(&mock, "DELETE", &one, "").await.0, 200);
    assert_eq!(command(&mock, "DELETE", &one, "").await.0, 404);
    assert_eq!(status(&mock, QUERY).await, Some(200));
    command(&mock, "POST", "/faults", r#"{"fault":{"kind":"cut"}}"#).await;
    assert_eq!(status(&mock, QUERY).await, None);
    let (code, state) = command(&mock, "GET", "/state", "").await;
    assert_eq!((code, state["faults"].as_array().unwrap().len()), (200, 1));
    command(&mock, "DELETE", "/faults", "").await;
    assert_eq!(status(&mock, QUERY).await, Some(200));
}

#[tokio::test]
async fn the_state_tells_where_everything_is() {
    let mock = commanded().await;
    get(&mock, QUERY, BASIC).await.unwrap();
    let (_, state) = command(&mock, "GET", "/state", "").await;
    assert_eq!(state["url"], mock.url());
    assert_eq!(state["httpsUrl"], mock.https_url().unwrap());
    assert_eq!(state["station"], mock.station().read().name());
    assert_eq!(
        state["certificate"]["sha256"],
        mock.certificate().fingerprint
    );
    let fox = mock.fox().unwrap();
    assert_eq!(state["fox"]["address"], fox.address().unwrap().to_string());
    assert_eq!(state["fox"]["scenario"], "n4");
    assert_eq!(state["clock"]["now"], "2026-03-02T12:00:00.000Z");
    assert_eq!(
        (&state["sessions"], &state["requests"]),
        (&json!(1), &json!(1))
    );
    let text = state.to_string();
    assert!(!text.contains("Obix-Harborview"), "no secrets: {text}");
}

#[tokio::test]
async fn restart_clock_certificate_redirect_sessions_and_fox_are_commanded() {
    let mock = commanded().await;
    get(&mock, QUERY, BASIC).await.unwrap();
    command(&mock, "DELETE", "/sessions", "").await;
    assert_eq!(mock.sessions(), 0);
    let (_, restarted) = command(&mock, "POST", "/restart", "").await;
    assert_eq!((&restarted["restarts"], mock.restarts()), (&json!(1), 1));
    let (_, jumped) = command(&mock, "POST", "/clock", r#"{"jumpSeconds":-90}"#).await;
    assert_eq!(jumped["shiftSeconds"], -90);
    assert_eq!(mock.clock().now(), noon() - TimeDelta::seconds(90));
    let before = mock.certificate();
    let profile = r#"{"profile":"owner","names":["localhost"]}"#;
    let (_, made) = command(&mock, "POST", "/certificate", profile).await;
    assert_ne!(mock.certificate(), before);
    assert_eq!(made["sha256"], mock.certificate().fingerprint);
    command(&mock, "POST", "/redirect", r#"{"https":true}"#).await;
    assert_eq!(status(&mock, QUERY).await, Some(303));
    command(&mock, "POST", "/redirect", r#"{"https":false}"#).await;
    assert_eq!(status(&mock, QUERY).await, Some(200));
    let fox = r#"{"scenario":"keepalive-first","keepalives":3}"#;
    command(&mock, "POST", "/fox", fox).await;
    let settings = mock.fox().unwrap().settings();
    assert_eq!(
        (settings.scenario, settings.keepalives),
        (FoxScenario::KeepaliveFirst, 3)
    );
    assert_eq!(command(&mock, "GET", "/fox", "").await.1, json!([]));
}

#[tokio::test]
async fn mistakes_are_named() {
    let mock = builder().control().start().await.unwrap();
    let cases = [
        ("POST", "/faults", "not json", 400, "body"),
        (
            "POST",
            "/faults",
            r#"{"fault":{"kind":"earthquake"}}"#,
            400,
            "earthquake",
        ),
        (
            "POST",
            "/faults",
            r#"{"fault":{"kind":"cut"},"probability":2}"#,
            400,
            "between 0 and 1",
        ),
        ("POST", "/clock", r#"{"jump":1}"#, 400, "jumpSeconds"),
        (
            "POST",
            "/clock",
            r#"{"jumpSeconds":9223372036854775807}"#,
            400,
            "calendar",
        ),
        ("POST", "/redirect", r#"{"https":true}"#, 400, "no TLS port"),
        ("POST", "/fox", r#"{"scenario":"n4"}"#, 400, "no Fox port"),
        ("GET", "/nothing", "", 404, "/nothing"),
        ("DELETE", "/faults/x", "", 404, "GET /faults"),
    ];
    for (method, path, body, code, part) in cases {
        let (answered, value) = command(&mock, method, path, body).await;
        assert_eq!(answered, code, "{method} {path} {body}");
        let message = value["error"].as_str().unwrap();
        assert!(message.contains(part), "{message}");
    }
}

#[tokio::test]
async fn accounts_writes_and_the_audit_trail_are_within_reach() {
    let mock = commanded().await;
    let (_, state) = command(&mock, "GET", "/state", "").await;
    assert_eq!(state["saves"], json!({"count": 0, "last": null}));
    let root = mock.station().read().root();
    let saved = mock
        .station()
        .write()
        .invoke_as("admin", root, "save", None);
    assert_eq!(saved, Ok(None));
    let (_, state) = command(&mock, "GET", "/state", "").await;
    assert_eq!(state["saves"]["count"], 1);
    let (_, audit) = command(&mock, "GET", "/audit", "").await;
    assert_eq!(
        (&audit[0]["user"], &audit[0]["operation"], &audit[0]["slot"]),
        (&json!("admin"), &json!("Invoked"), &json!("save"))
    );

    let (code, _) = command(&mock, "POST", "/box", r#"{"sessionLimit":32}"#).await;
    assert_eq!((code, mock.switches().get().boxs.session_limit), (200, 32));

    let save = format!(
        r#"{{"p":"box","n":1,"m":[{{"r":0,"t":"rt","c":"ssession","k":"callssc","b":{{"id":"s1","scid":"station:","sck":"invokeAction","scarg":{{"h":"{root}","a":"save"}}}}}}]}}"#
    );
    let answer = send(mock.address(), "POST", "/box/", BASIC, &save).await;
    assert_eq!(answer.unwrap().status, 200);
    let (_, writes) = command(&mock, "GET", "/writes", "").await;
    assert_eq!(
        (&writes[0]["user"], &writes[0]["key"], &writes[0]["outcome"]),
        (&json!("obix"), &json!("invokeAction"), &json!("refused"))
    );
    let error = writes[0]["error"].as_str().unwrap();
    assert!(error.contains("Unknown server session 's1'"), "{error}");

    assert_eq!(mock.sessions_by_user().get("obix"), Some(&1));
    assert_eq!(command(&mock, "DELETE", "/sessions/obix", "").await.0, 200);
    assert!(mock.sessions_by_user().is_empty());
    let change = r#"{"user":"obix","password":"Another-2"}"#;
    assert_eq!(command(&mock, "POST", "/password", change).await.0, 200);
    assert_eq!(status(&mock, QUERY).await, Some(302), "the old password");
    let unknown = r#"{"user":"nobody","password":"x"}"#;
    assert_eq!(command(&mock, "POST", "/password", unknown).await.0, 400);
}
