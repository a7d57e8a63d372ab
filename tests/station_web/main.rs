//! The station client's web tier against the stand-in station: login, session, BQL and what can go wrong.

mod bql;
mod dialects;
mod faults;
mod login;
mod restarts;
mod session;
mod strangers;
mod transport;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use mock_station::clock::TestClock as StationTestClock;
use mock_station::model::accounts::{Account, BRIDGE, OBIX};
use mock_station::server::{LoginEntry, LoginOutcome, MockStation};
use mock_station::switches::Switches;
use niagara_bridge::clock::TestClock;
use niagara_bridge::station::http::CallScope;
use niagara_bridge::station::web::{LoginScheme, Secret, WebOptions, WebSession};

/// A station with a frozen clock and a session that is about to use it.
pub struct Bench {
    pub mock: MockStation,
    pub clock: Arc<TestClock>,
    pub station_clock: Arc<StationTestClock>,
    pub session: WebSession,
}

pub const SCHEMES: [LoginScheme; 3] = [
    LoginScheme::FormScram,
    LoginScheme::HeaderScram,
    LoginScheme::Basic,
];

/// The account that exists for a scheme.
pub fn account_for(scheme: LoginScheme) -> Account {
    match scheme {
        LoginScheme::Basic => OBIX,
        LoginScheme::FormScram | LoginScheme::HeaderScram => BRIDGE,
    }
}

pub fn scope() -> CallScope {
    CallScope::within(Duration::from_secs(20))
}

/// Options without the rate limit, so that tests do not wait for it.
pub fn options(
    mock: &MockStation,
    scheme: LoginScheme,
    account: Account,
    password: &str,
) -> WebOptions {
    let url = mock.url().parse().expect("the mock's address");
    let mut options = WebOptions::new(url, account.user, Secret::new(password));
    options.scheme = scheme;
    options.limits.requests_per_second = 0;
    options
}

impl Bench {
    pub async fn new(scheme: LoginScheme, switches: Switches) -> Self {
        Self::with_options(switches, |mock| {
            let account = account_for(scheme);
            options(mock, scheme, account, account.password)
        })
        .await
    }

    pub async fn with_options(
        switches: Switches,
        options: impl FnOnce(&MockStation) -> WebOptions,
    ) -> Self {
        let now = "2025-11-02T06:40:00Z".parse().expect("a time");
        let station_clock = Arc::new(StationTestClock::at(now));
        let mock = MockStation::builder()
            .clock(station_clock.clone())
            .switches(switches)
            .start()
            .await
            .expect("the mock starts");
        let clock = Arc::new(TestClock::at(now));
        let session = WebSession::new(options(&mock), clock.clone()).expect("a session");
        Self {
            mock,
            clock,
            station_clock,
            session,
        }
    }

    pub async fn usual() -> Self {
        Self::new(LoginScheme::FormScram, Switches::default()).await
    }

    pub fn logins(&self) -> Vec<LoginEntry> {
        self.mock.logins()
    }

    pub fn good_logins(&self) -> usize {
        self.logins()
            .iter()
            .filter(|login| login.outcome == LoginOutcome::Success)
            .count()
    }

    pub fn bad_logins(&self) -> usize {
        self.logins().len() - self.good_logins()
    }
}
