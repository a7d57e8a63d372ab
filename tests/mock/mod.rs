//! A frozen sample station and sessions with it, for the tests of the station clients.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::sync::Arc;

use chrono::{DateTime, Utc};
use mock_station::clock::TestClock;
use mock_station::model::accounts::{self, Account};
use mock_station::server::MockStation;
use niagara_bridge::clock::SystemClock;
use niagara_bridge::station::http::CallScope;
use niagara_bridge::station::web::{LoginScheme, Secret, WebOptions, WebSession};

/// A running station with its frozen clock.
pub struct Frozen {
    pub station: MockStation,
    pub clock: Arc<TestClock>,
}

/// The sample station in the winter hour that Europe/Paris has twice.
pub async fn start() -> Frozen {
    start_at("2025-10-26T01:37:00Z").await
}

pub async fn start_at(now: &str) -> Frozen {
    let now: DateTime<Utc> = now.parse().expect("a time");
    let clock = Arc::new(TestClock::at(now));
    let station = MockStation::builder()
        .clock(clock.clone())
        .start()
        .await
        .expect("the station starts");
    Frozen { station, clock }
}

impl Frozen {
    /// A session of an account, by its own scheme; without the rate limit that real stations need.
    pub fn session(&self, account: Account) -> WebSession {
        let url = self.station.url().parse().expect("an address");
        let mut options = WebOptions::new(url, account.user, Secret::new(account.password));
        options.limits.requests_per_second = 0;
        if account == accounts::OBIX {
            options.scheme = LoginScheme::Basic;
        }
        WebSession::new(options, SystemClock::shared()).expect("a session")
    }
}

pub fn scope() -> CallScope {
    CallScope::unlimited()
}
