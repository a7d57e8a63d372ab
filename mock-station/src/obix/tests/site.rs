//! A sample station behind HTTP whose accounts all log in by Basic, with a frozen clock.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use chrono_tz::Europe::Paris;

use crate::clock::TestClock;
use crate::model::accounts::{self, Account};
use crate::model::users::BASIC_SCHEME;
use crate::model::{History, HistoryRecord, PointKind, SharedStation, StoredHistory, sample};
use crate::obix::decode;
use crate::obix::element::Element;
use crate::server::MockStation;

/// 11:07:30 in Paris.
const NOW: &str = "2026-03-10T10:07:30Z";

pub const POINTS: &str = "/obix/config/Drivers/BacnetNetwork/AHU_1/points";

pub struct Site {
    pub station: MockStation,
    pub clock: Arc<TestClock>,
    http: reqwest::Client,
}

pub struct Answer {
    pub status: u16,
    pub media_type: String,
    pub location: String,
    pub text: String,
}

impl Site {
    pub async fn start() -> Self {
        let now = at(NOW);
        let mut station = sample::station(now).expect("the sample station can be built");
        for account in accounts::ALL {
            let user = station.users.get_mut(account.user).expect("it is known");
            user.scheme = BASIC_SCHEME.to_owned();
        }
        for history in [doubled(), autumn()] {
            station.histories.insert(history);
        }
        let clock = Arc::new(TestClock::at(now));
        let shared = SharedStation::new(station, clock.clone());
        let station = MockStation::builder()
            .station(shared)
            .start()
            .await
            .expect("port 0 is free");
        // The client wants a provider even for plain HTTP; a second installation is refused and harmless.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .cookie_store(true)
            // A restart of the station must not show as a dead connection of the pool.
            .pool_max_idle_per_host(0)
            .build()
            .expect("a client without TLS roots");
        Self {
            station,
            clock,
            http,
        }
    }

    pub async fn send(
        &self,
        account: Account,
        method: &str,
        target: &str,
        body: Option<&str>,
    ) -> Answer {
        let method = reqwest::Method::from_bytes(method.as_bytes()).expect("a method");
        let mut request = self
            .http
            .request(method, format!("{}{target}", self.station.url()))
            .basic_auth(account.user, Some(account.password));
        if let Some(body) = body {
            request = request
                .header("content-type", "text/xml")
                .body(body.to_owned());
        }
        let response = request.send().await.expect("the station answers");
        let header = |name: &str| {
            let value = response.headers().get(name);
            value
                .and_then(|value| value.to_str().ok())
                .unwrap_or_default()
                .to_owned()
        };
        Answer {
            status: response.status().as_u16(),
            media_type: header("content-type"),
            location: header("location"),
            text: response.text().await.expect("a whole body"),
        }
    }

    /// The root of an answer with HTTP 200.
    pub async fn object(
        &self,
        account: Account,
        method: &str,
        target: &str,
        body: Option<&str>,
    ) -> Element {
        let answer = self.send(account, method, target, body).await;
        assert_eq!(answer.status, 200, "{target}: {}", answer.text);
        assert!(answer.media_type.starts_with("text/xml"));
        decode::document(answer.text.as_bytes())
            .expect("well-formed XML")
            .expect("a root element")
    }

    pub async fn get(&self, account: Account, target: &str) -> Element {
        self.object(account, "GET", target, None).await
    }

    pub async fn put(&self, account: Account, target: &str, body: &str) -> Element {
        self.object(account, "PUT", target, Some(body)).await
    }

    pub async fn post(&self, account: Account, target: &str, body: &str) -> Element {
        self.object(account, "POST", target, Some(body)).await
    }
}

pub fn at(text: &str) -> DateTime<Utc> {
    text.parse().expect("a valid instant")
}

/// An attribute that has to be there.
pub fn attribute<'a>(element: &'a Element, key: &str) -> &'a str {
    element
        .get(key)
        .unwrap_or_else(|| panic!("no {key} on {element:?}"))
}

/// `val` of a child.
pub fn val<'a>(element: &'a Element, child: &str) -> &'a str {
    attribute(member(element, child), "val")
}

pub fn member<'a>(element: &'a Element, child: &str) -> &'a Element {
    element
        .child(child)
        .unwrap_or_else(|| panic!("no {child} in {element:?}"))
}

pub fn names(element: &Element) -> Vec<&str> {
    element
        .children
        .iter()
        .filter_map(|child| child.get("name"))
        .collect()
}

/// The records of the worked example of the paging algorithm: two at 10:05.
fn doubled() -> History {
    let records = [
        ("10:00", 1.0),
        ("10:05", 2.0),
        ("10:05", 3.0),
        ("10:10", 4.0),
        ("10:15", 5.0),
    ];
    stored(
        "/Sample/Doubled",
        records.map(|(time, number)| (format!("2026-01-15T{time}:00Z"), number)),
    )
}

/// Half hours over the night when the clocks of Paris go back at 03:00.
fn autumn() -> History {
    stored(
        "/Sample/Autumn",
        ["00:00", "00:30", "01:00", "01:30", "02:00"]
            .map(|time| (format!("2025-10-26T{time}:00Z"), 20.0)),
    )
}

fn stored(id: &str, records: [(String, f64); 5]) -> History {
    let records = records
        .into_iter()
        .map(|(time, number)| HistoryRecord::ok(at(&time), number))
        .collect();
    let stored = Arc::new(StoredHistory::new(records));
    History::new(id, PointKind::Numeric, Paris, stored)
}
