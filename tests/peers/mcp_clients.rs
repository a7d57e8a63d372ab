//! The official MCP client libraries connect, list and call, over HTTP and over stdio.

use std::path::PathBuf;
use std::sync::Arc;

use mock_station::clock::TestClock;
use mock_station::model::SharedStation;
use mock_station::model::accounts::BRIDGE;
use mock_station::server::MockStation;
use mock_station::site::{Harborview, SiteOptions};
use niagara_bridge::cli::assembly::assemble;
use niagara_bridge::cli::serve::start_http;
use niagara_bridge::config::load::load;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use crate::programs::{Peers, observe, script};

const TOKEN: &str = "peer-test-token-0123456789abcdefghij";
const FOLDER: &str = "station:|slot:/Drivers/BacnetNetwork/AHU1/points";
const POINT: &str = "station:|slot:/Drivers/BacnetNetwork/AHU1/points/SAT";

/// The demo building at a fixed moment, and a configuration of a bridge to it.
struct Site {
    station: MockStation,
    folder: TempDir,
}

impl Site {
    async fn start() -> Self {
        let now = "2026-07-15T14:03:00Z".parse().expect("a time");
        let site = Harborview::build(SiteOptions {
            days: 10,
            ..SiteOptions::for_tests(now)
        })
        .expect("the demo building");
        let station = MockStation::builder()
            .station(SharedStation::new(
                site.station,
                Arc::new(TestClock::at(now)),
            ))
            .start()
            .await
            .expect("a free port on loopback");
        Self {
            station,
            folder: tempfile::tempdir().expect("a temporary folder"),
        }
    }

    fn config(&self) -> PathBuf {
        let path = self.folder.path().join("config.yaml");
        let text = json!({
            "apiToken": TOKEN,
            "listen": "127.0.0.1:0",
            "dataDir": self.folder.path().join("data"),
            "station": { "url": self.station.url(), "user": BRIDGE.user, "password": BRIDGE.password },
            "limits": { "requestsPerSecond": 0, "inboundPerPrincipal": 0, "inboundPerAddress": 0 },
        });
        std::fs::write(&path, text.to_string()).expect("the configuration is written");
        path
    }

    /// What a client must see, taken from the station's model.
    fn check(&self, seen: &Value) {
        let names = |key: &str| -> Vec<&str> {
            seen[key]
                .as_array()
                .expect(key)
                .iter()
                .filter_map(Value::as_str)
                .collect()
        };
        assert_eq!(&names("tools")[..3], ["echo", "listChildren", "readPoint"]);
        assert!(names("tools").contains(&"readHistory"));
        assert_eq!(seen["resources"][0]["uri"], "niagara://overview");

        let calls = &seen["calls"];
        assert_eq!(calls[0]["content"][0]["text"], "grüße 温度");
        let model = self.station.station().read();
        let folder = model.resolve_component(FOLDER).expect("the folder");
        let expected: Vec<&str> = model.children(folder).map(|child| child.name()).collect();
        let children: Vec<&str> = calls[1]["structuredContent"]["children"]
            .as_array()
            .expect("children")
            .iter()
            .filter_map(|child| child["name"].as_str())
            .collect();
        assert!(!expected.is_empty());
        assert_eq!(children, expected);

        let point = model.resolve_component(POINT).expect("the point");
        let value = model.value(point, "out/value").expect("a value").encode();
        let expected: f64 = value.parse().expect("a number");
        assert_eq!(
            calls[2]["structuredContent"]["valueNumber"].as_f64(),
            Some(expected)
        );
        assert_eq!(calls[3]["isError"], true, "an ord of nothing is an error");
    }
}

fn calls() -> String {
    json!([
        { "name": "echo", "arguments": { "msg": "grüße 温度" } },
        { "name": "listChildren", "arguments": { "ord": FOLDER } },
        { "name": "readPoint", "arguments": { "ord": POINT } },
        { "name": "readPoint", "arguments": { "ord": "station:|slot:/No/Such/Point" } },
    ])
    .to_string()
}

/// The bridge program on standard input and output, as a client starts it.
fn bridge_program(site: &Site) -> Vec<String> {
    vec![
        env!("CARGO_BIN_EXE_niagara-bridge").to_owned(),
        "serve".to_owned(),
        "--config".to_owned(),
        site.config().display().to_string(),
        "--stdio".to_owned(),
    ]
}

async fn over_http(client: impl Fn(&str) -> Command) {
    let site = Site::start().await;
    let config = load(Some(&site.config()), std::iter::empty()).expect("the configuration");
    let stop = CancellationToken::new();
    let (server, end) = start_http(assemble(&config).expect("a bridge"), &config, stop)
        .await
        .expect("a free port on loopback");
    let seen = observe(client(&server.endpoint())).await;
    site.check(&seen);
    server.stop().await;
    end.close().await;
    assert_eq!(
        site.station.sessions(),
        0,
        "the bridge logs out of the station"
    );
}

#[tokio::test]
async fn python_client_over_http() {
    let Some(peers) = Peers::find("python_client_over_http") else {
        return;
    };
    over_http(|endpoint| {
        let mut client = peers.python("mcp-python");
        client
            .arg(script("mcp_client.py"))
            .args(["http", endpoint, TOKEN, &calls()]);
        client
    })
    .await;
}

/// The high-level client first tries the newest revision and has to find ours.
#[tokio::test]
async fn python_client_negotiates_the_revision() {
    let Some(peers) = Peers::find("python_client_negotiates_the_revision") else {
        return;
    };
    over_http(|endpoint| {
        let mut client = peers.python("mcp-python");
        client
            .arg(script("mcp_client.py"))
            .args(["negotiated", endpoint, TOKEN, &calls()]);
        client
    })
    .await;
}

#[tokio::test]
async fn python_client_over_stdio() {
    let Some(peers) = Peers::find("python_client_over_stdio") else {
        return;
    };
    let site = Site::start().await;
    let mut client = peers.python("mcp-python");
    client
        .arg(script("mcp_client.py"))
        .args(["stdio", &calls()])
        .args(bridge_program(&site));
    site.check(&observe(client).await);
}

#[tokio::test]
async fn typescript_client_over_http() {
    let Some(peers) = Peers::find("typescript_client_over_http") else {
        return;
    };
    over_http(|endpoint| {
        let mut client = peers.node();
        client
            .arg(script("mcp_client.mjs"))
            .args(["http", endpoint, TOKEN, &calls()]);
        client
    })
    .await;
}

#[tokio::test]
async fn typescript_client_over_stdio() {
    let Some(peers) = Peers::find("typescript_client_over_stdio") else {
        return;
    };
    let site = Site::start().await;
    let mut client = peers.node();
    client
        .arg(script("mcp_client.mjs"))
        .args(["stdio", &calls()])
        .args(bridge_program(&site));
    site.check(&observe(client).await);
}
