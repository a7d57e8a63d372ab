//! A small station with known contents, served on a free port, and a client that posts BOX frames to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use chrono::{DateTime, Utc};
use mock_station::clock::TestClock;
use mock_station::model::accounts::CrewMember;
use mock_station::model::users::BASIC_SCHEME;
use mock_station::model::{
    EnumRange, Facets, FeedSample, Flags, Handle, SharedStation, Station, Status, User, Value,
};
use mock_station::server::MockStation;
use serde_json::{Value as Json, json};

pub const ADMIN: &str = "tester";
/// Reads operator slots everywhere, as the sample account `viewer`.
pub const VIEWER: &str = "reader";
/// Works in category `AHU1` only, as the sample account `operator`.
pub const OPERATOR: &str = "worker";
pub const PASSWORD: &str = "Tester-Pass-1";

pub fn noon() -> DateTime<Utc> {
    "2026-03-02T12:00:00Z".parse().unwrap()
}

/// The station under test.
pub struct Bench {
    pub mock: MockStation,
    pub clock: Arc<TestClock>,
}

/// The handle of a component.
pub fn handle(bench: &Bench, ord: &str) -> Handle {
    bench.mock.station().read().resolve_component(ord).unwrap()
}

pub async fn bench() -> Bench {
    serve(site()).await
}

/// The model's own sample station, with the three users added.
pub async fn sample() -> Bench {
    let mut station = mock_station::model::sample::station(noon()).unwrap();
    add_users(&mut station);
    serve(station).await
}

/// A station with a crew, each of whom has the category of one point `slot:/Crew/P<number>`, counted from 0.
pub async fn crew(count: usize) -> (Bench, Vec<CrewMember>) {
    let mut station = site();
    let members = station.add_crew(count, 8).unwrap();
    let root = station.root();
    let folder = station.add(root, Some("Crew"), "baja:Folder").unwrap();
    for (number, member) in members.iter().enumerate() {
        let name = format!("P{number}");
        let point = station
            .add(folder, Some(&name), "control:NumericWritable")
            .unwrap();
        station.set_categories(point, Some(member.mask)).unwrap();
        // The test's clients log in with Basic.
        if let Some(user) = station.users.get_mut(&member.user) {
            user.scheme = BASIC_SCHEME.to_owned();
        }
    }
    (serve(station).await, members)
}

async fn serve(station: Station) -> Bench {
    let clock = Arc::new(TestClock::at(noon()));
    let station = SharedStation::new(station, clock.clone());
    let builder = MockStation::builder().station(station).clock(clock.clone());
    Bench {
        mock: builder.start().await.unwrap(),
        clock,
    }
}

fn site() -> Station {
    let mut station = Station::new("Bench", chrono_tz::Tz::Europe__Paris, noon());
    station.add_accounts(8).unwrap();
    add_users(&mut station);
    let root = station.root();
    let logic = station.add(root, Some("Logic"), "baja:Folder").unwrap();
    add_setpoint(&mut station, logic);
    add_command(&mut station, logic);
    add_mode(&mut station, logic);
    let temperature = station
        .add(logic, Some("Zone$20Temp"), "control:NumericPoint")
        .unwrap();
    let facets = Value::Facets(Arc::new(Facets::numeric("celsius", 1)));
    station.set(temperature, "facets", facets).unwrap();
    station.attach_feed(temperature, Arc::new(|_| FeedSample::ok(1234.56)));
    let average = station
        .add(logic, Some("Copy"), "control:NumericWritable")
        .unwrap();
    station.link(temperature, "out", average, "in16").unwrap();
    let level2 = station.add(logic, Some("Level2"), "baja:Folder").unwrap();
    let level3 = station.add(level2, Some("Level3"), "baja:Folder").unwrap();
    station.add(level3, Some("Level4"), "baja:Folder").unwrap();
    let unit = station.add(root, Some("AHU1"), "baja:Folder").unwrap();
    let mask = station.users.category_mask("AHU1");
    station.set_categories(unit, mask).unwrap();
    station
        .add(unit, Some("Damper"), "control:NumericWritable")
        .unwrap();
    station
}

fn add_users(station: &mut Station) {
    for (name, role) in [
        (ADMIN, "admin"),
        (VIEWER, "viewer"),
        (OPERATOR, "ahu1Operator"),
    ] {
        let mut user = User::new(name, PASSWORD, 8, &[role]);
        user.scheme = BASIC_SCHEME.to_owned();
        station.add_user(user).unwrap();
    }
}

fn add_setpoint(station: &mut Station, logic: Handle) {
    let point = station
        .add(logic, Some("Setpoint"), "control:NumericWritable")
        .unwrap();
    let facets = Value::Facets(Arc::new(Facets::numeric("celsius", 1)));
    station.set(point, "facets", facets).unwrap();
    station
        .set(point, "in10", Value::status_numeric(21.5, Status::ok()))
        .unwrap();
    station
        .set(point, "fallback", Value::status_numeric(0.0, Status::ok()))
        .unwrap();
    station
        .add_value(
            point,
            Some("n$3apoint"),
            Value::Marker,
            Flags::METADATA,
            None,
        )
        .unwrap();
    station
        .add_value(
            point,
            Some("note"),
            Value::from("north wing"),
            Flags::OPERATOR,
            None,
        )
        .unwrap();
}

fn add_command(station: &mut Station, logic: Handle) {
    let point = station
        .add(logic, Some("Fan$20Cmd"), "control:BooleanWritable")
        .unwrap();
    let facets = Value::Facets(Arc::new(Facets::boolean("Running", "Stopped")));
    station.set(point, "facets", facets).unwrap();
    station
        .invoke(point, "active", Value::struct_of("control:Override"))
        .unwrap();
}

fn add_mode(station: &mut Station, logic: Handle) {
    let point = station
        .add(logic, Some("Mode"), "control:EnumWritable")
        .unwrap();
    let range = EnumRange::of(&[("Off", 0), ("Heat Pump", 1)]);
    let facets = Value::Facets(Arc::new(Facets::range(range)));
    station.set(point, "facets", facets).unwrap();
    station.set_display_name(point, "Operating mode").unwrap();
}

/// One user's connection.
pub struct Client {
    http: reqwest::Client,
    url: String,
    user: String,
    password: String,
    sequence: AtomicU64,
}

impl Bench {
    pub fn client(&self, user: &str) -> Client {
        self.client_of(user, PASSWORD)
    }

    pub fn client_of(&self, user: &str, password: &str) -> Client {
        // reqwest wants a provider even for plain HTTP; a second installation is refused and harmless.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Client {
            http: reqwest::Client::builder()
                .no_proxy()
                .cookie_store(true)
                .build()
                .unwrap(),
            url: self.mock.url(),
            user: user.to_owned(),
            password: password.to_owned(),
            sequence: AtomicU64::new(1),
        }
    }

    pub fn change(&self, edit: impl FnOnce(&mut mock_station::switches::BoxSwitches)) {
        self.mock
            .switches()
            .change(|switches| edit(&mut switches.boxs));
    }
}

impl Client {
    /// Sends any request to the station and gives status and body.
    pub async fn request(&self, method: &str, path: &str, body: String) -> (u16, String) {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let request = self
            .http
            .request(method, format!("{}{path}", self.url))
            .basic_auth(&self.user, Some(&self.password))
            .header("content-type", "application/json")
            .body(body);
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }

    /// Posts text to the servlet and gives status and body.
    pub async fn post(&self, text: String) -> (u16, String) {
        self.request("POST", "/box/", text).await
    }

    /// Posts text to the servlet: the whole reply of status 200, or what went wrong.
    pub async fn try_post(&self, text: String) -> Result<String, String> {
        let request = self
            .http
            .post(format!("{}/box/", self.url))
            .basic_auth(&self.user, Some(&self.password))
            .header("content-type", "application/json")
            .body(text);
        let response = request.send().await.map_err(|error| error.to_string())?;
        let status = response.status().as_u16();
        let text = response.text().await.map_err(|error| error.to_string())?;
        if status == 200 {
            Ok(text)
        } else {
            Err(format!("status {status}"))
        }
    }

    /// Posts a frame, which must be answered with HTTP 200 and JSON.
    pub async fn frame(&self, frame: Json) -> Json {
        let (status, text) = self.post(frame.to_string()).await;
        assert_eq!(status, 200, "{text}");
        serde_json::from_str(&text).unwrap()
    }

    /// Sends one message and gives its reply.
    pub async fn message(&self, channel: &str, key: &str, body: Json) -> Json {
        let n = self.sequence.fetch_add(1, Ordering::Relaxed);
        let message = json!({"r": 0, "t": "rt", "c": channel, "k": key, "b": body});
        let frame = self
            .frame(json!({"p": "box", "v": "2.3", "n": n, "m": [message]}))
            .await;
        assert_eq!(frame["n"], json!(n));
        assert_eq!(frame["m"].as_array().map(Vec::len), Some(1), "{frame}");
        frame["m"][0].clone()
    }

    /// The body of a reply that must not be an error.
    pub async fn ask(&self, channel: &str, key: &str, body: Json) -> Json {
        let reply = self.message(channel, key, body).await;
        assert_eq!(reply["t"], "rp", "{reply}");
        reply["b"].clone()
    }

    /// The text of a reply that must be an N4 error.
    pub async fn refusal(&self, channel: &str, key: &str, body: Json) -> String {
        let reply = self.message(channel, key, body).await;
        assert_eq!(reply["t"], "e", "{reply}");
        assert_eq!(reply["b"]["isErr"], true, "{reply}");
        reply["b"]["m"].as_str().unwrap().to_owned()
    }

    pub async fn resolve(&self, ord: &str) -> Json {
        let body = json!({"o": format!("station:|{ord}"), "bo": "station:|slot:/"});
        self.ask("ord", "resolve", body).await["o"].clone()
    }

    /// Opens a server session with the space `station:`.
    pub async fn session(&self) -> Session<'_> {
        let id = self.ask("ssession", "make", json!({})).await;
        let id = id.as_str().unwrap().to_owned();
        let space = json!({
            "id": id, "scid": "station:", "scts": "box:ComponentSpaceSessionHandler", "scarg": "station:",
        });
        let made = self.ask("ssession", "makessc", space).await;
        assert_eq!(made, json!({"isReadonly": false}));
        Session { client: self, id }
    }
}

/// A server session with its component space.
pub struct Session<'a> {
    pub client: &'a Client,
    pub id: String,
}

impl Session<'_> {
    fn call_body(&self, key: &str, argument: Json) -> Json {
        json!({"id": self.id, "scid": "station:", "sck": key, "scarg": argument})
    }

    pub async fn call(&self, key: &str, argument: Json) -> Json {
        let body = self.call_body(key, argument);
        self.client.ask("ssession", "callssc", body).await
    }

    pub async fn call_refusal(&self, key: &str, argument: Json) -> String {
        let body = self.call_body(key, argument);
        self.client.refusal("ssession", "callssc", body).await
    }

    /// The operations of one poll.
    pub async fn poll(&self) -> Vec<Json> {
        let events = self
            .client
            .ask("ssession", "pollchgs", json!({"id": self.id}))
            .await;
        let mut operations = Vec::new();
        for event in events.as_array().unwrap() {
            assert_eq!(event["scid"], "station:");
            assert_eq!(
                (&event["evs"]["nm"], &event["evs"]["ver"]),
                (&json!("sync"), &json!("1.0"))
            );
            operations.extend(event["evs"]["ops"].as_array().unwrap().iter().cloned());
        }
        operations
    }
}

impl Session<'_> {
    /// Applies operations that must not be refused.
    pub async fn sync(&self, operations: Json) -> Json {
        let argument = json!({"nm": "sync", "ver": 1.0, "ops": operations});
        self.call("syncTo", argument).await
    }

    /// The text with which operations are refused.
    pub async fn sync_refusal(&self, operations: Json) -> String {
        let argument = json!({"nm": "sync", "ver": 1.0, "ops": operations});
        self.call_refusal("syncTo", argument).await
    }
}

/// A simple value as clients send it.
pub fn simple(spec: &str, text: &str) -> Json {
    json!({"nm": "p", "t": spec, "v": text})
}

/// A numeric status value.
pub fn numeric(value: &str, status: &str) -> Json {
    json!({"nm": "p", "t": "baja:StatusNumeric", "s": [
        {"nm": "p", "n": "value", "t": "baja:Double", "v": value},
        {"nm": "p", "n": "status", "t": "baja:Status", "v": status}]})
}

/// The child node of a name.
pub fn child<'a>(node: &'a Json, name: &str) -> &'a Json {
    find(node, name).unwrap_or_else(|| panic!("no {name} in {node:#}"))
}

pub fn find<'a>(node: &'a Json, name: &str) -> Option<&'a Json> {
    node["s"]
        .as_array()?
        .iter()
        .find(|child| child["n"] == name)
}
