//! Headless Chromium logs in to the stand-in station through its login pages: form SCRAM in the page's own script.

use mock_station::model::accounts::VIEWER;
use mock_station::server::{LoginOutcome, MockStation};
use serde_json::Value;

use crate::programs::{Peers, observe, script};

async fn log_in(peers: &Peers, station: &MockStation, password: &str) -> Value {
    let mut browser = peers.node();
    browser
        .arg(script("browser_login.mjs"))
        .args([&station.url(), VIEWER.user, password]);
    observe(browser).await
}

#[tokio::test]
async fn a_browser_logs_in_through_the_login_pages() {
    let Some(peers) = Peers::find("a_browser_logs_in_through_the_login_pages") else {
        return;
    };
    let station = MockStation::builder()
        .start()
        .await
        .expect("a free port on loopback");

    let seen = log_in(&peers, &station, "not the password").await;
    assert_eq!(
        seen["error"], 1,
        "the page says that the login failed: {seen}"
    );
    assert_eq!(seen["csrf"], false);
    assert_eq!(station.sessions(), 0);

    let seen = log_in(&peers, &station, VIEWER.password).await;
    assert_eq!(
        seen["first"], "/prelogin",
        "an anonymous browser is sent to the login"
    );
    assert_eq!(seen["error"], 0, "{seen}");
    assert_eq!(seen["csrf"], true, "a rendered page carries the token");
    assert_eq!(seen["problems"], Value::Array(Vec::new()));
    assert!(
        seen["cookies"]
            .as_array()
            .is_some_and(|names| names.iter().any(|name| name == "JSESSIONID")),
        "{seen}"
    );
    assert_eq!(station.sessions(), 1);
    let outcomes: Vec<LoginOutcome> = station.logins().iter().map(|entry| entry.outcome).collect();
    assert_eq!(outcomes, [LoginOutcome::BadProof, LoginOutcome::Success]);
}
