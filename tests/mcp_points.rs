//! Points as resources: read, subscribed to in a session, listened to without one, against the stand-in station.

mod mock;
mod support;

use std::sync::Arc;
use std::time::Duration;

use mock::Frozen;
use mock_station::model::accounts;
use mock_station::model::component::Handle;
use mock_station::model::value::Value as StationValue;
use niagara_bridge::config::Secret;
use niagara_bridge::mcp::auth::Authenticator;
use niagara_bridge::mcp::bridge::Bridge;
use niagara_bridge::mcp::http::HttpServer;
use niagara_bridge::prompts::PromptRegistry;
use niagara_bridge::resources::ResourceRegistry;
use niagara_bridge::resources::point::{PointResource, StationChanges};
use niagara_bridge::station::boxp::TypeCache;
use niagara_bridge::station::facade::{ChangePacing, StationFacade};
use niagara_bridge::tools::overrides::ListOverrides;
use niagara_bridge::tools::point::ReadPoint;
use niagara_bridge::tools::station_access::{ServiceStation, SharedStations};
use niagara_bridge::tools::{Registry, echo::Echo};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use support::{Client, TOKEN, events, healthy, request, unhurried};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Polls as fast as the answers come; a test never waits for a pause.
const FAST: ChangePacing = ChangePacing {
    watch: Duration::from_millis(2),
    box_session: Duration::from_millis(2),
    polling: Duration::from_millis(2),
    first_pause: Duration::from_millis(2),
    longest_pause: Duration::from_millis(10),
    recheck: Duration::from_secs(600),
};

struct Site {
    frozen: Frozen,
    facade: Arc<StationFacade>,
    server: HttpServer,
    point: Handle,
    ord: String,
}

impl Site {
    async fn start() -> Self {
        let frozen = mock::start().await;
        let session = frozen.session(accounts::BRIDGE);
        let facade = StationFacade::new(session, TypeCache::new(), None).with_change_pacing(FAST);
        let facade = Arc::new(facade);
        let stations: SharedStations = Arc::new(ServiceStation(facade.clone()));
        let tools = Registry::builder()
            .tool(Echo)
            .tool(ReadPoint(stations.clone()))
            .tool(ListOverrides(stations.clone()))
            .build()
            .expect("tools");
        let changes = Arc::new(StationChanges(stations.clone()));
        let resources = ResourceRegistry::default().with(PointResource::new(stations, changes));
        let bridge = Arc::new(Bridge::new(tools, resources, PromptRegistry::default()));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let server = HttpServer::start(
            bridge,
            Authenticator::new(Some(Secret::new(TOKEN)), None),
            healthy(),
            unhurried(),
            listener,
            CancellationToken::new(),
        )
        .await
        .expect("start");
        let (point, ord) = writable(&frozen);
        Self {
            frozen,
            facade,
            server,
            point,
            ord,
        }
    }

    fn uri(&self) -> String {
        format!(
            "niagara://point/{}",
            utf8_percent_encode(&self.ord, NON_ALPHANUMERIC)
        )
    }

    /// Commands the point at level 8, as an operator does.
    fn command(&self, value: f64) {
        let mut station = self.frozen.station.station().write();
        let input = station.value(self.point, "in8").expect("an input");
        let StationValue::Struct(mut input) = input else {
            panic!("an input is a struct");
        };
        input.set("value", StationValue::Double(value));
        input.set("status", StationValue::Status(Default::default()));
        station
            .set(self.point, "in8", StationValue::Struct(input))
            .expect("set");
    }

    async fn end(self) {
        self.server.stop().await;
        self.facade.close().await;
        assert_eq!(self.frozen.station.sessions(), 0, "the bridge logs out");
        assert_eq!(self.frozen.station.box_sessions(), 0);
    }
}

/// A writable point that is in good state.
fn writable(frozen: &Frozen) -> (Handle, String) {
    let station = frozen.station.station().read();
    station
        .descendants(station.root())
        .filter(|component| component.ty().is("control:NumericWritable"))
        .find(|component| {
            station
                .out(component.handle())
                .is_some_and(|(_, status)| status.bits == 0)
        })
        .map(|component| {
            let path = station.slot_path(component.handle());
            (component.handle(), format!("station:|{path}"))
        })
        .expect("a writable point")
}

#[tokio::test]
async fn a_call_of_several_station_requests_tells_how_many_are_done() {
    let site = Site::start().await;
    let mut client = Client::new(site.server.endpoint(), TOKEN);
    client.initialize().await;
    client.accept = Some("application/json, text/event-stream");
    let call =
        json!({"name": "listOverrides", "arguments": {}, "_meta": {"progressToken": "overrides"}});
    let answer = client.post(request("tools/call", call)).await;
    let messages = events(&answer.text().await.expect("body"));
    let told: Vec<&Value> = messages
        .iter()
        .filter(|message| message["method"] == "notifications/progress")
        .map(|message| &message["params"])
        .collect();
    assert!(told.len() >= 2, "{messages:?}");
    assert!(
        told.iter()
            .all(|params| params["progressToken"] == "overrides")
    );
    assert_eq!(told[0]["progress"], 1.0);
    assert_eq!(told[0]["message"], "1 station request done");
    let counts: Vec<f64> = told
        .iter()
        .map(|params| params["progress"].as_f64().expect("a number"))
        .collect();
    assert!(
        counts.windows(2).all(|pair| pair[0] < pair[1]),
        "{counts:?}"
    );
    let last = messages.last().expect("an answer");
    assert_eq!(last["result"]["isError"], false, "{last}");
    site.end().await;
}

/// The events of a stream, one by one.
struct Events {
    stream: reqwest::Response,
    waiting: String,
}

impl Events {
    fn of(stream: reqwest::Response) -> Self {
        Self {
            stream,
            waiting: String::new(),
        }
    }

    async fn next(&mut self) -> Value {
        loop {
            if let Some((event, rest)) = self.waiting.split_once("\n\n") {
                let event = format!("{event}\n\n");
                self.waiting = rest.to_owned();
                if let Some(message) = events(&event).pop() {
                    return message;
                }
                continue;
            }
            let piece = self.stream.chunk().await.expect("read");
            let piece = piece.expect("the stream goes on");
            self.waiting
                .push_str(std::str::from_utf8(&piece).expect("UTF-8"));
        }
    }

    /// The next update that shows this value.
    async fn update_to(&mut self, value: f64) -> Value {
        loop {
            let message = self.next().await;
            if message["method"] != "notifications/resources/updated" {
                continue;
            }
            let state = &message["params"]["_meta"]["niagara-bridge/state"];
            if state["valueNumber"].as_f64() == Some(value) {
                return message["params"].clone();
            }
        }
    }
}

#[tokio::test]
async fn a_point_is_read_as_a_resource() {
    let site = Site::start().await;
    let mut client = Client::new(site.server.endpoint(), TOKEN);
    client.initialize().await;
    let templates = client.ask("resources/templates/list", json!({})).await;
    assert_eq!(
        templates["result"]["resourceTemplates"][0]["uriTemplate"],
        "niagara://point/{ord}"
    );
    let read = client
        .ask("resources/read", json!({ "uri": site.uri() }))
        .await;
    let text = read["result"]["contents"][0]["text"]
        .as_str()
        .expect("text");
    let document: Value = serde_json::from_str(text).expect("JSON");
    let called = client.call("readPoint", json!({ "ord": site.ord })).await;
    assert_eq!(document, called["structuredContent"]);
    let none = json!({ "uri": "niagara://point/slot%3A%2FNo" });
    assert_eq!(
        client.ask("resources/read", none).await["error"]["code"],
        -32003
    );
    site.end().await;
}

#[tokio::test]
async fn a_session_subscribes_and_sees_the_operators_command() {
    let site = Site::start().await;
    let mut client = Client::new(site.server.endpoint(), TOKEN);
    client.initialize().await;
    let uri = site.uri();
    let subscribed = client
        .ask("resources/subscribe", json!({ "uri": uri }))
        .await;
    assert_eq!(subscribed["result"], json!({}));
    let stream = client.headers(client.http.get(&client.endpoint));
    let mut pushed = Events::of(stream.send().await.expect("answer"));
    site.command(17.25);
    let update = pushed.update_to(17.25).await;
    assert_eq!(update["uri"], uri);
    let state = &update["_meta"]["niagara-bridge/state"];
    assert_eq!(state["ord"], site.ord);
    assert_eq!(state["status"], "{ok}");
    site.command(18.5);
    pushed.update_to(18.5).await;

    let ended = client
        .ask("resources/unsubscribe", json!({ "uri": uri }))
        .await;
    assert_eq!(ended["result"], json!({}));
    for (uri, code) in [
        ("niagara://nothing", -32003),
        ("niagara://point/nonsense%20", -32003),
        (
            "niagara://point/station%3A%7Cslot%3A%2FDrivers%2FNoSuchPoint",
            -32003,
        ),
        ("niagara://point/station%3A%7Cslot%3A%2FDrivers", -32603),
    ] {
        let refused = client
            .ask("resources/subscribe", json!({ "uri": uri }))
            .await;
        assert_eq!(refused["error"]["code"], code, "{uri}");
    }
    site.end().await;
}

#[tokio::test]
async fn a_listener_without_a_session_sees_it_too_and_leaves_nothing_behind() {
    let site = Site::start().await;
    let client = Client::new(site.server.endpoint(), TOKEN);
    let uri = site.uri();
    let body = json!({
        "jsonrpc": "2.0", "id": 4, "method": "subscriptions/listen",
        "params": {
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            },
            "notifications": { "resourceSubscriptions": [
                "niagara://point/slot%3A%2FNoSuchPoint", uri, "niagara://point/slot%3A%2FDrivers", "niagara://nothing",
            ] },
        },
    });
    let request = client
        .headers(client.http.post(&client.endpoint))
        .header("Accept", "application/json, text/event-stream")
        .header("MCP-Protocol-Version", "2026-07-28")
        .header("Mcp-Method", "subscriptions/listen")
        .body(body.to_string());
    let mut pushed = Events::of(request.send().await.expect("answer"));
    let first = pushed.next().await;
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(
        first["params"]["notifications"]["resourceSubscriptions"],
        json!([uri])
    );
    site.command(21.0);
    let update = pushed.update_to(21.0).await;
    assert_eq!(update["_meta"]["io.modelcontextprotocol/subscriptionId"], 4);
    drop(pushed);
    site.end().await;
}
