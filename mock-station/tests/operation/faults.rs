//! Faults of transport and timing, seen from the client's end of the wire.

use std::time::Duration;

use chrono::TimeDelta;
use mock_station::faults::{Fault, FaultKind, Interface};
use mock_station::server::MockStation;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::client::{BASIC, QUERY, get, noon, request_text, send, set, station, status};

/// Far beyond the moment a client waits in these tests.
const ENDLESS: u64 = 600_000;

/// Whether the station answers within a moment.
async fn answers_soon(mock: &MockStation) -> bool {
    let asked = get(mock, QUERY, BASIC);
    tokio::time::timeout(Duration::from_millis(100), asked)
        .await
        .is_ok_and(|answer| answer.is_some())
}

#[tokio::test]
async fn latency_holds_an_answer_back_until_it_is_cleared() {
    let mock = station().await;
    let id = set(&mock, Fault::new(FaultKind::Latency { millis: ENDLESS }));
    assert!(!answers_soon(&mock).await);
    assert!(mock.faults().clear(id));
    assert_eq!(status(&mock, QUERY).await, Some(200));
    set(&mock, Fault::new(FaultKind::Latency { millis: 1 }));
    assert_eq!(status(&mock, QUERY).await, Some(200));
    assert_eq!(mock.faults().fired().len(), 2);
}

#[tokio::test]
async fn a_cut_connection_gives_nothing_and_the_next_one_works() {
    let mock = station().await;
    set(&mock, Fault::new(FaultKind::Cut).requests(2));
    assert_eq!(status(&mock, QUERY).await, None);
    assert_eq!(status(&mock, QUERY).await, None);
    assert_eq!(status(&mock, QUERY).await, Some(200));
    assert_eq!(mock.requests().len(), 1, "a cut request was not answered");
}

#[tokio::test]
async fn half_a_body_arrives_under_the_length_of_the_whole() {
    let mock = station().await;
    let whole = get(&mock, QUERY, BASIC).await.unwrap();
    set(
        &mock,
        Fault::new(FaultKind::HalfBody { bytes: None }).requests(1),
    );
    let half = get(&mock, QUERY, BASIC).await.unwrap();
    assert_eq!(half.body, whole.body[..whole.body.len() / 2]);
    assert_eq!(
        half.header("content-length"),
        whole.header("content-length")
    );
    set(
        &mock,
        Fault::new(FaultKind::HalfBody { bytes: Some(3) }).requests(1),
    );
    assert_eq!(get(&mock, QUERY, BASIC).await.unwrap().body.len(), 3);
    assert_eq!(get(&mock, QUERY, BASIC).await.unwrap().body, whole.body);
}

#[tokio::test]
async fn the_media_type_lies_or_a_page_comes_in_place_of_data() {
    let mock = station().await;
    let right = get(&mock, QUERY, BASIC).await.unwrap();
    let media_type = "image/png".to_owned();
    let id = set(
        &mock,
        Fault::new(FaultKind::WrongContentType { media_type }),
    );
    let wrong = get(&mock, QUERY, BASIC).await.unwrap();
    assert_eq!(wrong.header("content-type"), Some("image/png"));
    assert_eq!((wrong.status, wrong.body), (200, right.body));
    mock.faults().clear(id);
    set(&mock, Fault::new(FaultKind::HtmlPage));
    let page = get(&mock, QUERY, BASIC).await.unwrap();
    assert_eq!(page.status, 200);
    assert!(page.text().starts_with("<!DOCTYPE html>"));
}

#[tokio::test]
async fn a_session_ends_in_the_middle() {
    let mock = station().await;
    let session = get(&mock, QUERY, BASIC).await.unwrap().session().unwrap();
    let cookie = format!("Cookie: JSESSIONID={session}\r\n");
    assert_eq!(get(&mock, QUERY, &cookie).await.unwrap().status, 200);
    set(&mock, Fault::new(FaultKind::SessionLost).requests(1));
    assert_eq!(get(&mock, QUERY, &cookie).await.unwrap().status, 401);
    assert_eq!(mock.sessions(), 0);
    let after = get(&mock, QUERY, &cookie).await.unwrap();
    assert_eq!(
        (after.status, after.header("location")),
        (302, Some("/login"))
    );
    assert_eq!(status(&mock, QUERY).await, Some(200), "a new login works");
}

#[tokio::test]
async fn a_flood_filter_and_a_broken_servlet_answer_with_their_status() {
    let mock = station().await;
    let retry_after_seconds = Some(7);
    let flood = FaultKind::TooManyRequests {
        retry_after_seconds,
    };
    set(&mock, Fault::new(flood).requests(1));
    let refused = get(&mock, QUERY, BASIC).await.unwrap();
    assert_eq!(
        (refused.status, refused.header("retry-after")),
        (429, Some("7"))
    );
    set(
        &mock,
        Fault::new(FaultKind::ServerError { status: 500 }).requests(1),
    );
    let broken = get(&mock, QUERY, BASIC).await.unwrap();
    assert_eq!(broken.status, 500);
    assert!(
        broken
            .header("content-type")
            .unwrap()
            .starts_with("text/html")
    );
    let statuses: Vec<u16> = mock.requests().iter().map(|entry| entry.status).collect();
    assert_eq!(statuses, [429, 500]);
    assert!(mock.logins().is_empty(), "nobody's password was looked at");
}

#[tokio::test]
async fn a_slow_drip_brings_everything_in_the_end() {
    let mock = station().await;
    let whole = get(&mock, QUERY, BASIC).await.unwrap();
    let drip = |pause_millis| FaultKind::SlowDrip {
        bytes: 7,
        pause_millis,
    };
    set(&mock, Fault::new(drip(1)).requests(1));
    let slow = get(&mock, QUERY, BASIC).await.unwrap();
    assert_eq!(slow.body, whole.body);
    set(&mock, Fault::new(drip(ENDLESS)).requests(1));
    let mut stream = TcpStream::connect(mock.address()).await.unwrap();
    let request = request_text("GET", QUERY, BASIC, "");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut octets = Vec::new();
    let reading = stream.read_to_end(&mut octets);
    assert!(
        tokio::time::timeout(Duration::from_millis(100), reading)
            .await
            .is_err()
    );
    let begun = super::client::Answer::parse(&octets).unwrap();
    assert_eq!(begun.body, whole.body[..7]);
}

#[tokio::test]
async fn the_station_clock_jumps_and_idle_sessions_go_with_it() {
    let mock = station().await;
    let session = get(&mock, QUERY, BASIC).await.unwrap().session().unwrap();
    let cookie = format!("Cookie: JSESSIONID={session}\r\n");
    let jump = |seconds| Fault::new(FaultKind::ClockJump { seconds });
    set(&mock, jump(-7_200));
    assert_eq!(get(&mock, QUERY, &cookie).await.unwrap().status, 200);
    assert_eq!(mock.clock().now(), noon() - TimeDelta::hours(2));
    assert_eq!(mock.station().read().now(), noon() - TimeDelta::hours(2));
    set(&mock, jump(3_600));
    assert_eq!(get(&mock, QUERY, &cookie).await.unwrap().status, 302);
    assert_eq!(mock.clock().now(), noon() - TimeDelta::hours(1));
    mock.jump_clock(TimeDelta::hours(1));
    assert_eq!(mock.clock().now(), noon());
}

#[tokio::test]
async fn faults_stay_with_their_interface_count_and_chance() {
    let mock = station().await;
    let only_obix = Fault::new(FaultKind::Cut)
        .on(Interface::Obix)
        .after(1)
        .requests(1);
    set(&mock, only_obix);
    let mut seen = Vec::new();
    for target in ["/obix/about/", QUERY, "/obix/about/", "/obix/about/"] {
        seen.push(status(&mock, target).await.is_some());
    }
    assert_eq!(seen, [true, true, false, true]);
    assert!(mock.faults().list().is_empty());
    let login_only = Fault::new(FaultKind::ServerError { status: 503 }).on(Interface::Login);
    set(&mock, login_only);
    assert_eq!(get(&mock, "/prelogin", "").await.unwrap().status, 503);
    assert_eq!(status(&mock, QUERY).await, Some(200));
    let mut series = Vec::new();
    for _ in 0..2 {
        mock.faults().clear_all();
        set(&mock, Fault::new(FaultKind::Cut).chance(0.5, 11));
        let mut hits = Vec::new();
        for _ in 0..12 {
            hits.push(status(&mock, QUERY).await.is_none());
        }
        series.push(hits);
    }
    assert_eq!(series[0], series[1], "the seed decides");
    assert!(series[0].contains(&true) && series[0].contains(&false));
}

#[tokio::test]
async fn several_faults_hit_one_request() {
    let mock = station().await;
    set(&mock, Fault::new(FaultKind::Latency { millis: 1 }));
    set(&mock, Fault::new(FaultKind::ServerError { status: 503 }));
    set(&mock, Fault::new(FaultKind::HalfBody { bytes: Some(5) }));
    let answer = get(&mock, QUERY, BASIC).await.unwrap();
    assert_eq!((answer.status, answer.body.len()), (503, 5));
    assert_eq!(mock.faults().fired().len(), 3);
}

#[tokio::test]
async fn shutdown_does_not_wait_for_a_held_back_answer() {
    let mock = station().await;
    set(&mock, Fault::new(FaultKind::Latency { millis: ENDLESS }));
    let address = mock.address();
    let waiting = tokio::spawn(async move { send(address, "GET", QUERY, BASIC, "").await });
    while mock.faults().fired().is_empty() {
        tokio::task::yield_now().await;
    }
    mock.shutdown().await;
    assert!(waiting.await.unwrap().is_none());
}
