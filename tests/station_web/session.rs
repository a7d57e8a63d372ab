//! What the session promises to the interfaces above it: writes once, tokens, logout, no leaks to other places.

use std::time::Duration;

use mock_station::server::MockStation;
use mock_station::switches::Switches;
use niagara_bridge::station::http::CallScope;
use niagara_bridge::station::web::{LoginScheme, WebRequest};
use niagara_bridge::station::{AuthCause, StationError};

use crate::{Bench, SCHEMES, scope};

const FRAME: &str =
    r#"{"p":"box","v":"2.3","n":1,"m":[{"r":1,"t":"rt","c":"sys","k":"props","b":{}}]}"#;

fn posts(mock: &MockStation, path: &str) -> usize {
    mock.requests()
        .iter()
        .filter(|request| request.method == "POST" && request.path() == path)
        .count()
}

fn json(request: WebRequest) -> WebRequest {
    request.media("application/json", Some("application/json"))
}

#[tokio::test]
async fn one_login_serves_box_and_obix_too() {
    for scheme in SCHEMES {
        let bench = Bench::new(scheme, Switches::default()).await;
        let frame = bench
            .session
            .post("/box/", FRAME, &json(WebRequest::read(&scope())))
            .await
            .unwrap();
        assert_eq!(frame.status, 200, "{scheme:?}");
        assert!(
            String::from_utf8_lossy(&frame.body).contains("\"rp\""),
            "{scheme:?}"
        );
        assert_eq!(bench.bad_logins(), 0);
    }
}

#[tokio::test]
async fn the_csrf_token_travels_with_every_post_when_known() {
    let mut switches = Switches::default();
    switches.login.csrf_box = true;
    let bench = Bench::new(LoginScheme::FormScram, switches).await;
    let request = json(WebRequest::read(&scope()));
    let answer = bench.session.post("/box/", FRAME, &request).await.unwrap();
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn a_write_that_meets_an_ended_session_is_not_repeated() {
    let bench = Bench::usual().await;
    bench.session.login(&scope()).await.unwrap();
    bench.mock.end_sessions();
    bench.mock.clear_logs();
    let write = json(WebRequest::write(&scope()));
    let error = bench
        .session
        .post("/box/", FRAME, &write)
        .await
        .unwrap_err();
    assert!(
        matches!(
            &error,
            StationError::Auth {
                cause: AuthCause::SessionExpired,
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(posts(&bench.mock, "/box/"), 1);
    // The session was renewed meanwhile, so the caller's own repetition goes through.
    let answer = bench.session.post("/box/", FRAME, &write).await.unwrap();
    assert_eq!(answer.status, 200);
    assert_eq!(bench.good_logins(), 1);
}

#[tokio::test]
async fn a_write_without_an_answer_has_an_unknown_outcome_and_is_sent_once() {
    let bench = Bench::usual().await;
    bench.session.login(&scope()).await.unwrap();
    bench
        .mock
        .switches()
        .change(|s| s.faults.delay = Some(Duration::from_secs(30)));
    let hasty = CallScope::within(Duration::from_millis(150));
    let error = bench
        .session
        .post("/box/", FRAME, &json(WebRequest::write(&hasty)))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), "outcome-unknown", "{error}");
    bench.mock.switches().change(|s| {
        s.faults.delay = None;
        s.faults.cut = true;
    });
    let error = bench
        .session
        .post("/box/", FRAME, &json(WebRequest::write(&scope())))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), "outcome-unknown", "{error}");
}

#[tokio::test]
async fn a_write_to_a_station_that_is_not_there_was_certainly_not_done() {
    let bench = Bench::usual().await;
    bench.session.login(&scope()).await.unwrap();
    let Bench { mock, session, .. } = bench;
    mock.shutdown().await;
    let error = session
        .post("/box/", FRAME, &json(WebRequest::write(&scope())))
        .await
        .unwrap_err();
    assert!(
        matches!(error.kind(), "station-unreachable" | "outcome-unknown"),
        "{error}"
    );
    let error = session
        .post("/box/", FRAME, &json(WebRequest::write(&scope())))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), "station-unreachable", "{error}");
}

#[tokio::test]
async fn closing_ends_the_session_on_the_station() {
    for scheme in SCHEMES {
        let bench = Bench::new(scheme, Switches::default()).await;
        bench.session.login(&scope()).await.unwrap();
        let request = json(WebRequest::read(&scope()));
        bench.session.post("/box/", FRAME, &request).await.unwrap();
        assert_eq!(bench.mock.sessions(), 1, "{scheme:?}");
        bench.session.close().await;
        assert_eq!(bench.mock.sessions(), 0, "{scheme:?}");
        assert!(!bench.session.is_logged_in());
    }
}

#[tokio::test]
async fn targets_that_leave_the_station_are_refused_unsent() {
    let bench = Bench::usual().await;
    bench.session.login(&scope()).await.unwrap();
    bench.mock.clear_logs();
    for target in [
        "//evil.example/x",
        "http://evil.example/",
        "ord/x",
        "/\\evil.example/",
    ] {
        let error = bench
            .session
            .get(target, &WebRequest::read(&scope()))
            .await
            .unwrap_err();
        assert_eq!(error.kind(), "invalid-input", "{target}");
    }
    let long = format!("/ord/{}", "x".repeat(8000));
    let error = bench
        .session
        .get(&long, &WebRequest::read(&scope()))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("split the query"), "{error}");
    assert!(bench.mock.requests().is_empty());
}

#[tokio::test]
async fn credentials_wait_for_https_when_the_station_demands_it() {
    for scheme in SCHEMES {
        let bench = Bench::new(scheme, Switches::default()).await;
        // A port of this machine on which nobody listens stands for the https port.
        let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let authority = closed.local_addr().unwrap().to_string();
        drop(closed);
        bench
            .mock
            .switches()
            .change(|s| s.login.https_only = Some(authority.clone()));
        let error = bench.session.login(&scope()).await.unwrap_err();
        assert_eq!(error.kind(), "station-unreachable", "{scheme:?} {error}");
        assert!(
            error.to_string().contains(&format!("https://{authority}")),
            "{error}"
        );
        let seen: Vec<String> = bench
            .mock
            .requests()
            .iter()
            .map(|r| format!("{} {}", r.method, r.target))
            .collect();
        assert_eq!(seen, ["GET /"], "{scheme:?}");
    }
}

#[tokio::test]
async fn a_redirect_to_another_host_is_not_followed() {
    let bench = Bench::usual().await;
    bench
        .mock
        .switches()
        .change(|s| s.login.https_only = Some("elsewhere.example".to_owned()));
    let error = bench.session.login(&scope()).await.unwrap_err();
    assert_eq!(error.kind(), "station-protocol", "{error}");
    assert!(error.to_string().contains("elsewhere.example"), "{error}");
}
