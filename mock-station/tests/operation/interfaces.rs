//! Faults that take an interface or a login scheme away, and restarts.

use std::time::Duration;

use mock_station::faults::{Fault, FaultKind, Interface};
use mock_station::model::Value;
use mock_station::model::accounts::ADMIN;
use mock_station::server::{LoginOutcome, MockStation};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::client::{Answer, BASIC, QUERY, get, request_text, send, set, station, status};

/// `POST /box` with a frame that opens a server session.
async fn open_box_session(mock: &MockStation) -> Option<Answer> {
    let frame =
        r#"{"p":"box","v":"2.3","n":0,"m":[{"r":0,"t":"rt","c":"ssession","k":"make","b":{}}]}"#;
    let headers = format!("{BASIC}Content-Type: application/json\r\n");
    send(mock.address(), "POST", "/box/", &headers, frame).await
}

#[tokio::test]
async fn an_unlicensed_obix_server_refuses_while_the_rest_works() {
    let mock = station().await;
    assert_eq!(status(&mock, "/obix/about/").await, Some(200));
    for code in [500, 403] {
        let id = set(
            &mock,
            Fault::new(FaultKind::ObixUnlicensed { status: code }),
        );
        assert_eq!(status(&mock, "/obix/about/").await, Some(code));
        assert_eq!(status(&mock, QUERY).await, Some(200));
        mock.faults().clear(id);
    }
    set(&mock, Fault::new(FaultKind::ObixAbsent).requests(1));
    assert_eq!(status(&mock, "/obix/about/").await, Some(404));
    assert_eq!(status(&mock, "/obix/about/").await, Some(200));
}

#[tokio::test]
async fn a_station_without_box_answers_404_there_only() {
    let mock = station().await;
    assert_eq!(open_box_session(&mock).await.unwrap().status, 200);
    set(&mock, Fault::new(FaultKind::BoxAbsent));
    assert_eq!(open_box_session(&mock).await.unwrap().status, 404);
    assert_eq!(status(&mock, QUERY).await, Some(200));
    assert_eq!(mock.box_sessions(), 1);
}

#[tokio::test]
async fn the_ord_servlet_takes_only_the_forms_it_is_left() {
    let mock = station().await;
    let by_query = QUERY.replace("/ord/", "/ord?");
    let id = set(&mock, Fault::new(FaultKind::no_ord_forms()));
    assert_eq!(status(&mock, QUERY).await, Some(400));
    assert_eq!(status(&mock, &by_query).await, Some(400));
    mock.faults().clear(id);
    let only_query = FaultKind::OrdForms {
        encoded_path: false,
        literal_path: false,
        query: true,
    };
    set(&mock, Fault::new(only_query));
    assert_eq!(status(&mock, QUERY).await, Some(400));
    assert_eq!(status(&mock, &by_query).await, Some(200));
}

#[tokio::test]
async fn accounts_become_basic_or_digest_accounts() {
    use base64::Engine;
    let mock = station().await;
    let encode = |text: String| base64::engine::general_purpose::STANDARD.encode(text);
    let pair = format!("{}:{}", ADMIN.user, ADMIN.password);
    let basic = format!("Authorization: Basic {}\r\n", encode(pair));
    let hello = format!(
        "Authorization: HELLO username={}\r\n",
        encode(ADMIN.user.to_owned()).trim_end_matches('=')
    );
    let greeted = |answer: Answer| {
        answer
            .header("www-authenticate")
            .is_some_and(|value| value.to_ascii_lowercase().starts_with("scram"))
    };
    assert_eq!(get(&mock, QUERY, &basic).await.unwrap().status, 302);
    assert!(greeted(get(&mock, QUERY, &hello).await.unwrap()));
    let id = set(&mock, Fault::new(FaultKind::BasicOnly));
    assert_eq!(get(&mock, QUERY, &basic).await.unwrap().status, 200);
    assert!(!greeted(get(&mock, QUERY, &hello).await.unwrap()));
    mock.faults().clear(id);
    set(&mock, Fault::new(FaultKind::DigestOnly));
    assert_eq!(status(&mock, QUERY).await, Some(302));
    assert!(greeted(get(&mock, QUERY, &hello).await.unwrap()));
    let last = mock.logins().last().cloned().unwrap();
    assert_eq!(last.outcome, LoginOutcome::WrongScheme);
}

#[tokio::test]
async fn a_restart_takes_sessions_connections_and_unsaved_values() {
    let mock = station().await;
    open_box_session(&mock).await.unwrap();
    assert_eq!((mock.sessions(), mock.box_sessions()), (1, 1));
    let started = mock.station().read().started();
    let mut idle = TcpStream::connect(mock.address()).await.unwrap();
    let request = request_text("GET", "/prelogin", "", "");
    idle.write_all(request.as_bytes()).await.unwrap();
    let mut first = [0; 12];
    idle.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    mock.jump_clock(chrono::TimeDelta::minutes(5));
    mock.restart(Duration::ZERO);
    let mut rest = Vec::new();
    idle.read_to_end(&mut rest).await.ok();
    assert_eq!((mock.sessions(), mock.box_sessions()), (0, 0));
    assert_eq!(mock.restarts(), 1);
    assert!(mock.station().read().started() > started);
    assert_eq!(status(&mock, QUERY).await, Some(200));
}

#[tokio::test]
async fn a_restart_in_the_middle_of_a_request_loses_its_answer() {
    let mock = station().await;
    assert_eq!(status(&mock, QUERY).await, Some(200));
    let restart = Fault::new(FaultKind::Restart { down_millis: 0 });
    set(&mock, restart.on(Interface::Ord));
    assert_eq!(status(&mock, "/obix/about/").await, Some(200));
    assert_eq!(status(&mock, QUERY).await, None);
    assert_eq!((mock.sessions(), mock.restarts()), (0, 1));
    assert_eq!(status(&mock, QUERY).await, Some(200), "it happens once");
}

#[tokio::test]
async fn a_station_that_is_down_closes_connections_until_it_is_up() {
    let mock = station().await;
    mock.restart(Duration::from_secs(600));
    assert_eq!(status(&mock, QUERY).await, None);
    assert_eq!(status(&mock, QUERY).await, None);
    mock.restart(Duration::ZERO);
    assert_eq!(status(&mock, QUERY).await, Some(200));
}

#[tokio::test]
async fn a_restart_forgets_a_command_at_an_unsaved_level() {
    let mock = station().await;
    let point = {
        let mut station = mock.station().write();
        let root = station.root();
        let point = station
            .add(root, Some("P"), "control:NumericWritable")
            .unwrap();
        let valid = mock_station::model::Status::ok();
        station
            .set(point, "in10", Value::status_numeric(7.0, valid))
            .unwrap();
        point
    };
    let valid = || mock.station().read().out(point).unwrap().1.is_valid();
    assert!(valid());
    mock.restart(Duration::ZERO);
    assert!(!valid(), "no input is left");
}
