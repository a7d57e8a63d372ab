//! A BOX endpoint whose every answer a test decides: for what a well-behaved station rarely does.

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use serde_json::{Value as Json, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::client::BoxClient;
use super::session::LoadPolling;
use super::types::TypeCache;
use crate::clock::SystemClock;
use crate::station::web::{LoginScheme, Secret, WebOptions, WebSession};

/// What the scripted station says to one message.
pub(super) enum Say {
    Body(Json),
    Refuse(&'static str),
    /// An error of this type, in the style of AX.
    Fail(&'static str),
    Nothing,
}

/// A message as the station received it: channel, key (for `callssc` the handler's key), body.
pub(super) type Heard = (String, String, Json);

type Script = Box<dyn FnMut(&str, &str, &Json) -> Say + Send>;

struct Station {
    script: Script,
    heard: Vec<Heard>,
    frames: usize,
    answers_first_only: bool,
}

/// A running scripted station; stops when dropped.
pub(super) struct Scripted {
    pub client: BoxClient,
    station: Arc<Mutex<Station>>,
    server: tokio::task::JoinHandle<()>,
}

impl Scripted {
    pub async fn start(script: impl FnMut(&str, &str, &Json) -> Say + Send + 'static) -> Self {
        let station = Arc::new(Mutex::new(Station {
            script: Box::new(script),
            heard: Vec::new(),
            frames: 0,
            answers_first_only: false,
        }));
        let app = Router::new()
            .route("/box/", post(answer))
            .fallback(get(|| async { "" }))
            .with_state(Arc::clone(&station));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a free port");
        let address = listener.local_addr().expect("bound");
        let server = tokio::spawn(async move {
            axum::serve(listener, app).await.expect("serving");
        });
        let url = format!("http://{address}").parse().expect("an address");
        let mut options = WebOptions::new(url, "bridge", Secret::new("secret"));
        options.scheme = LoginScheme::Basic;
        options.limits.requests_per_second = 0;
        let web = WebSession::new(options, SystemClock::shared()).expect("a session");
        let polling = LoadPolling {
            first_delay: Duration::from_millis(1),
            longest_delay: Duration::from_millis(2),
            total: Duration::from_millis(20),
        };
        let client = BoxClient::new(web, TypeCache::new()).with_polling(polling);
        Self {
            client,
            station,
            server,
        }
    }

    /// From now on only the first message of a frame is looked at.
    pub fn answer_first_only(&self) {
        self.station
            .lock()
            .expect("no panic in scripts")
            .answers_first_only = true;
    }

    /// How often a message of this key arrived.
    pub fn count(&self, key: &str) -> usize {
        self.heard()
            .iter()
            .filter(|(_, heard, _)| heard == key)
            .count()
    }

    pub fn heard(&self) -> Vec<Heard> {
        self.station
            .lock()
            .expect("no panic in scripts")
            .heard
            .clone()
    }

    pub fn frames(&self) -> usize {
        self.station.lock().expect("no panic in scripts").frames
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn answer(State(station): State<Arc<Mutex<Station>>>, body: String) -> String {
    let frame: Json = serde_json::from_str(&body).expect("the bridge sends JSON");
    let mut station = station.lock().expect("no panic in scripts");
    station.frames += 1;
    let mut messages = Vec::new();
    let considered = if station.answers_first_only {
        1
    } else {
        usize::MAX
    };
    for message in frame["m"]
        .as_array()
        .expect("messages")
        .iter()
        .take(considered)
    {
        let text = |key: &str| message[key].as_str().unwrap_or_default().to_owned();
        let (channel, key, body) = (text("c"), text("k"), message["b"].clone());
        let key = if key == "callssc" {
            body["sck"].as_str().unwrap_or_default().to_owned()
        } else {
            key
        };
        station
            .heard
            .push((channel.clone(), key.clone(), body.clone()));
        let reply = match (station.script)(&channel, &key, &body) {
            Say::Body(body) => {
                json!({"r": message["r"], "t": "rp", "c": channel, "k": key, "b": body})
            }
            Say::Refuse(text) => {
                json!({"r": message["r"], "t": "e", "c": channel, "k": key, "b": {"isErr": true, "m": text}})
            }
            Say::Fail(kind) => {
                json!({"r": message["r"], "t": "e", "c": channel, "k": key, "b": "not now", "et": kind})
            }
            Say::Nothing => continue,
        };
        messages.push(reply);
    }
    json!({"p": "box", "v": "2.3", "n": frame["n"], "m": messages}).to_string()
}
