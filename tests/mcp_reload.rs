//! A changed configuration file takes effect while the bridge runs (Tool surface §6).

mod support;

use std::path::Path;
use std::time::Duration;

use niagara_bridge::cli::assembly::assemble;
use niagara_bridge::cli::logging::LogSwitch;
use niagara_bridge::cli::reload::Reload;
use niagara_bridge::cli::serve::start_http;
use niagara_bridge::config::Config;
use niagara_bridge::config::load::{read, read_again};
use niagara_bridge::config::policy::SharedPolicy;
use niagara_bridge::mcp::http::HttpServer;
use reqwest::StatusCode;
use serde_json::{Value, json};
use support::{Client, TOKEN, json_body, request};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// A bridge that runs by a file; its station is never asked.
struct Running {
    folder: TempDir,
    server: HttpServer,
    policy: SharedPolicy,
    handled: watch::Receiver<u64>,
}

impl Running {
    async fn start() -> Self {
        Self::start_with(&json!({})).await
    }

    async fn start_with(changes: &Value) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("config.yaml");
        write(&file, folder.path(), changes);
        let settings = read(Some(&file), []).expect("settings");
        let config = Config::from_settings(&settings).expect("a configuration");
        let assembly = assemble(&config).expect("a bridge");
        let (bridge, policy) = (assembly.bridge.clone(), assembly.policy.clone());
        let stop = CancellationToken::new();
        let (server, _station) = start_http(assembly, &config, stop.clone())
            .await
            .expect("a free port on loopback");
        let reload = Reload {
            file,
            environment: Vec::new,
            settings,
            bridge,
            policy: policy.clone(),
            sessions: Some(server.sessions()),
            log: LogSwitch::fixed(),
        };
        let handled = reload.start(stop).expect("the file is watched");
        Self {
            folder,
            server,
            policy,
            handled,
        }
    }

    /// Writes the file anew and waits until the bridge has taken notice.
    async fn change(&mut self, changes: &Value) {
        let file = self.folder.path().join("config.yaml");
        write(&file, self.folder.path(), changes);
        self.noticed().await;
    }

    async fn noticed(&mut self) {
        tokio::time::timeout(Duration::from_secs(20), self.handled.changed())
            .await
            .expect("the change is noticed")
            .expect("the watch goes on");
    }

    fn client(&self) -> Client {
        Client::new(self.server.endpoint(), TOKEN)
    }

    async fn tools(&self, client: &Client) -> Vec<String> {
        let answer = client.ask("tools/list", json!({})).await;
        let tools = answer["result"]["tools"].as_array().expect("tools");
        tools
            .iter()
            .filter_map(|tool| tool["name"].as_str().map(str::to_owned))
            .collect()
    }
}

/// Editors put a finished file in place of the old one.
fn write(file: &Path, folder: &Path, changes: &Value) {
    let mut settings = json!({
        "apiToken": TOKEN,
        "listen": "127.0.0.1:0",
        "dataDir": folder.join("data"),
        "station": { "url": "http://127.0.0.1:9", "user": "bridge", "password": "secret" },
    });
    for (key, value) in changes.as_object().into_iter().flatten() {
        settings[key] = value.clone();
    }
    let new = folder.join("config.new");
    std::fs::write(&new, settings.to_string()).expect("the file is written");
    std::fs::rename(&new, file).expect("the file is put in place");
}

#[tokio::test]
async fn an_operator_changes_the_offer_while_a_client_is_connected() {
    let mut running = Running::start().await;
    let mut client = running.client();
    client.initialize().await;
    assert!(running.tools(&client).await.contains(&"bqlQuery".into()));
    assert!(!running.policy.current().writes.enabled);

    let changes =
        json!({ "disabledTools": "bqlquery", "toolsets": ["read"], "writes": { "enabled": true } });
    running.change(&changes).await;
    let tools = running.tools(&client).await;
    assert!(!tools.contains(&"bqlQuery".into()) && !tools.contains(&"echo".into()));
    assert!(tools.contains(&"readPoint".into()));
    assert!(running.policy.current().writes.enabled);

    running.change(&json!({ "streamableEnabled": false })).await;
    let refused = client.post(request("ping", json!({}))).await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(json_body(refused).await["error"]["code"], -32009);

    running.change(&json!({})).await;
    assert_eq!(client.ask("ping", json!({})).await["result"], json!({}));
    assert!(running.tools(&client).await.contains(&"bqlQuery".into()));
}

#[tokio::test]
async fn a_disabled_bridge_ends_its_sessions_and_comes_back_without_them() {
    let mut running = Running::start().await;
    let mut client = running.client();
    client.initialize().await;
    running.change(&json!({ "enabled": false })).await;
    let refused = client.post(request("ping", json!({}))).await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);

    running.change(&json!({ "enabled": true })).await;
    let gone = client.post(request("ping", json!({}))).await;
    assert_eq!(gone.status(), StatusCode::NOT_FOUND);
    client.session = None;
    client.initialize().await;
    assert_eq!(client.ask("ping", json!({})).await["result"], json!({}));
}

#[tokio::test]
async fn a_bad_file_keeps_the_old_settings() {
    let mut running = Running::start().await;
    let mut client = running.client();
    client.initialize().await;
    running.change(&json!({ "toolsets": ["read"] })).await;
    let before = running.tools(&client).await;
    for bad in [
        json!({ "enabled": "perhaps" }),
        json!({ "toolsets": ["reading"], "enabled": false }),
        json!({ "enabeld": false }),
        json!({ "disabledTools": "readPiont", "enabled": false }),
    ] {
        running.change(&bad).await;
        assert_eq!(running.tools(&client).await, before, "{bad}");
    }
    let file = running.folder.path().join("config.yaml");
    for bad in ["enabled: [", "", " \n\t\n"] {
        std::fs::write(&file, bad).expect("written");
        running.noticed().await;
        assert_eq!(running.tools(&client).await, before, "{bad:?}");
    }
    let environment = Vec::new;
    let told = match read_again(&file, environment()) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("an empty file was taken"),
    };
    assert!(
        told.starts_with("The configuration file") && told.contains("config.yaml is empty"),
        "{told}"
    );
}

/// A name that was wrong at the start must not keep everything else from taking effect.
#[tokio::test]
async fn an_unknown_name_of_the_start_does_not_stand_in_the_way() {
    let mut running = Running::start_with(&json!({ "disabledTools": "readPiont" })).await;
    let mut client = running.client();
    client.initialize().await;
    running
        .change(
            &json!({ "disabledTools": "readPiont,bqlQuery", "toolsets": ["read", "diagnostic"] }),
        )
        .await;
    let tools = running.tools(&client).await;
    assert!(tools.contains(&"readPoint".into()), "{tools:?}");
    assert!(!tools.contains(&"bqlQuery".into()) && !tools.contains(&"echo".into()));
    running
        .change(&json!({ "disabledTools": "readPiont,echoo" }))
        .await;
    assert_eq!(
        running.tools(&client).await,
        tools,
        "a new wrong name is refused"
    );
    running.change(&json!({ "disabledTools": "" })).await;
    assert!(running.tools(&client).await.contains(&"bqlQuery".into()));
}

#[tokio::test]
async fn knowledge_is_locked_and_unlocked_while_a_client_edits() {
    let mut running = Running::start().await;
    let mut client = running.client();
    client.initialize().await;
    let create = |id: &str| {
        let arguments = json!({"id": id, "name": id});
        json!({"name": "createSpace", "arguments": arguments})
    };
    let answer = client.ask("tools/call", create("north")).await;
    assert_eq!(answer["result"]["isError"], false, "{answer}");

    running
        .change(&json!({ "knowledge": { "readOnly": true } }))
        .await;
    let answer = client.ask("tools/call", create("south")).await;
    assert_eq!(answer["result"]["errorCode"], -32004, "{answer}");
    assert_eq!(answer["result"]["errorData"]["reason"], "read-only");
    let summary = json!({"name": "getKnowledgeSummary", "arguments": {}});
    let answer = client.ask("tools/call", summary).await;
    assert_eq!(answer["result"]["structuredContent"]["spaceCount"], 1);

    running.change(&json!({})).await;
    let answer = client.ask("tools/call", create("south")).await;
    assert_eq!(answer["result"]["isError"], false, "{answer}");
}
