//! The real listener: connections, faults, shutdown.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::model::accounts::OBIX;
use crate::server::MockStation;
use crate::switches::Switches;

const BASIC: &str = "Authorization: Basic b2JpeDpPYml4LUhhcmJvcnZpZXctMQ==\r\n";
const PROBE: &str = "/ord/station:%7Cslot:/%7Cbql:select%20stationName%20from%20baja:Station%7Cview:file:ITableToCsv";

async fn exchange(station: &MockStation, target: &str, headers: &str) -> String {
    let mut stream = TcpStream::connect(station.address())
        .await
        .expect("it listens");
    let request =
        format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n");
    stream
        .write_all(request.as_bytes())
        .await
        .expect("it reads");
    let mut answer = Vec::new();
    // A cut connection ends the reading with an error; what came before counts.
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

async fn start(switches: Switches) -> MockStation {
    MockStation::builder()
        .switches(switches)
        .start()
        .await
        .expect("a free port exists")
}

#[tokio::test]
async fn a_started_station_answers_and_keeps_its_books() {
    let station = start(Switches::default()).await;
    let answer = exchange(&station, PROBE, BASIC).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.ends_with(&format!("\n{}\n", station.station().read().name())));
    let requests = station.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].path(), PROBE);
    assert_eq!(requests[0].status, 200);
    assert_eq!(requests[0].user.as_deref(), Some(OBIX.user));
    assert!(requests[0].session.is_some());
    assert_eq!(station.logins().len(), 1);
    assert_eq!(station.sessions(), 1);
    station.end_sessions();
    assert_eq!(station.sessions(), 0);
    station.clear_logs();
    assert!(station.requests().is_empty() && station.logins().is_empty());
    let address = station.address();
    station.shutdown().await;
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn faults_cut_replace_and_shorten_answers() {
    let station = start(Switches::default()).await;
    station.switches().change(|s| s.faults.cut = true);
    assert_eq!(exchange(&station, PROBE, BASIC).await, "");
    station.switches().change(|s| {
        s.faults.cut = false;
        s.faults.status = Some(503);
    });
    assert!(
        exchange(&station, PROBE, BASIC)
            .await
            .starts_with("HTTP/1.1 503 ")
    );
    station.switches().change(|s| {
        s.faults.status = None;
        s.faults.html_for_data = true;
    });
    assert!(
        exchange(&station, PROBE, BASIC)
            .await
            .contains("<!DOCTYPE html>")
    );
    station.switches().change(|s| {
        s.faults.html_for_data = false;
        s.faults.body_limit = Some(8);
    });
    let cut = exchange(&station, PROBE, BASIC).await;
    let body = cut.split("\r\n\r\n").nth(1).expect("a head");
    assert_eq!(body.len(), 8);
    assert!(!cut.contains("content-length: 8\r\n"));
    station.switches().change(|s| {
        s.faults.body_limit = None;
        s.faults.delay = Some(Duration::from_millis(1));
    });
    assert!(
        exchange(&station, PROBE, BASIC)
            .await
            .starts_with("HTTP/1.1 200 ")
    );
}

#[tokio::test]
async fn every_second_obix_request_can_be_dropped() {
    let mut switches = Switches::default();
    switches.obix.drop_every = Some(2);
    switches.obix.delay = Some(Duration::from_millis(1));
    let station = start(switches).await;
    let mut answered = Vec::new();
    for _ in 0..4 {
        answered.push(!exchange(&station, "/obix/about/", BASIC).await.is_empty());
    }
    assert_eq!(answered, [true, false, true, false]);
    assert!(!exchange(&station, PROBE, BASIC).await.is_empty());
}

#[tokio::test]
async fn a_taken_port_is_named() {
    let station = start(Switches::default()).await;
    let second = MockStation::builder().bind(station.address()).start().await;
    let error = second.expect_err("the port is taken").to_string();
    assert!(error.contains(&station.address().to_string()), "{error}");
}
