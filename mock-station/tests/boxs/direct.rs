//! The servlet called without HTTP, for tests that need it thousands of times.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use http::{HeaderMap, Method};
use mock_station::boxs;
use mock_station::clock::TestClock;
use mock_station::model::{self, SharedStation, Station};
use mock_station::server::{AuthenticatedUser, PlainRequest, ServerContext};
use mock_station::switches::SharedSwitches;
use serde_json::{Value as Json, json};

use crate::client::noon;

/// A station whose administrator asks.
pub struct Direct {
    pub context: ServerContext,
    pub clock: Arc<TestClock>,
}

pub fn sample() -> Direct {
    Direct::new(model::sample::station(noon()).unwrap(), noon())
}

impl Direct {
    pub fn new(station: Station, now: DateTime<Utc>) -> Self {
        let clock = Arc::new(TestClock::at(now));
        let station = SharedStation::new(station, clock.clone());
        let context = ServerContext::new(clock.clone(), station, SharedSwitches::default());
        Self { context, clock }
    }

    pub fn post(&self, body: Vec<u8>) -> (u16, String) {
        let user = AuthenticatedUser {
            name: "admin".to_owned(),
            session_id: "web".to_owned(),
        };
        let request = PlainRequest {
            method: Method::POST,
            raw_path: "/box/".to_owned(),
            raw_query: None,
            headers: HeaderMap::new(),
            body: body.into(),
            secure: false,
        };
        let response = boxs::handle(&self.context, &user, request);
        let text = String::from_utf8(response.body.to_vec()).unwrap();
        (response.status.as_u16(), text)
    }

    /// Sends one message and gives its reply.
    pub fn message(&self, channel: &str, key: &str, body: Json) -> Json {
        let message = json!({"r": 1, "t": "rt", "c": channel, "k": key, "b": body});
        let frame = json!({"p": "box", "n": 1, "m": [message]});
        let (_, text) = self.post(frame.to_string().into_bytes());
        serde_json::from_str::<Json>(&text).unwrap()["m"][0].clone()
    }

    /// The body of a reply that must not be an error.
    pub fn ask(&self, channel: &str, key: &str, body: Json) -> Json {
        let reply = self.message(channel, key, body);
        assert_eq!(reply["t"], "rp", "{reply}");
        reply["b"].clone()
    }

    /// Opens a server session with the space `s` and gives its id.
    pub fn session(&self) -> Json {
        let id = self.ask("ssession", "make", json!({}));
        let space = json!({
            "id": id, "scid": "s", "scts": "box:ComponentSpaceSessionHandler", "scarg": "station:",
        });
        self.ask("ssession", "makessc", space);
        id
    }

    pub fn call(&self, session: &Json, key: &str, argument: Json) -> Json {
        let body = json!({"id": session, "scid": "s", "sck": key, "scarg": argument});
        self.ask("ssession", "callssc", body)
    }

    /// The operations of one poll.
    pub fn poll(&self, session: &Json) -> Vec<Json> {
        let events = self.ask("ssession", "pollchgs", json!({"id": session}));
        let events = events.as_array().unwrap().iter();
        events
            .flat_map(|event| event["evs"]["ops"].as_array().unwrap().clone())
            .collect()
    }
}
