//! A configured bridge over real HTTP against a stand-in station: answers fit their schemas, faults degrade, settings act.

mod support;

use std::time::Duration;

use mock_station::model::accounts;
use mock_station::server::MockStation;
use niagara_bridge::cli::assembly::{assemble, definitions_only};
use niagara_bridge::cli::serve::start_http;
use niagara_bridge::config::Config;
use niagara_bridge::config::load::Settings;
use niagara_bridge::tools::Category;
use reqwest::StatusCode;
use serde_json::{Value, json};
use support::{Client, TOKEN, json_body};
use tokio_util::sync::CancellationToken;

struct Site {
    station: MockStation,
    server: niagara_bridge::mcp::http::HttpServer,
    _data: tempfile::TempDir,
}

async fn site(changes: Value) -> Site {
    let station = MockStation::builder().start().await.expect("station");
    let data = tempfile::tempdir().expect("folder");
    let account = accounts::BRIDGE;
    let mut document = json!({
        "listen": "127.0.0.1:0",
        "apiToken": TOKEN,
        "dataDir": data.path(),
        "station": { "url": station.url(), "user": account.user, "password": account.password },
        "limits": { "requestsPerSecond": 0, "inboundPerPrincipal": 0, "inboundPerAddress": 0 },
    });
    for (key, value) in changes.as_object().expect("changes") {
        document[key] = value.clone();
    }
    let mut settings = Settings::empty("the test".into());
    settings
        .read_text("the test", &document.to_string())
        .expect("settings");
    let config = Config::from_settings(&settings).expect("config");
    let assembly = assemble(&config).expect("assembly");
    let (server, _) = start_http(assembly, &config, CancellationToken::new())
        .await
        .expect("server");
    Site {
        station,
        server,
        _data: data,
    }
}

impl Site {
    async fn client(&self) -> Client {
        let mut client = Client::new(self.server.endpoint(), TOKEN);
        client.initialize().await;
        client
    }
}

#[tokio::test]
async fn every_answer_fits_the_schema_that_its_tool_announces() {
    let site = site(json!({})).await;
    let client = site.client().await;
    let tools = client.ask("tools/list", json!({})).await["result"]["tools"].clone();
    let point = "station:|slot:/Drivers/BacnetNetwork/AHU_1/points/SupplyTemp";
    for (tool, arguments) in [
        ("listChildren", json!({"ord": "slot:/", "depth": 3})),
        ("readPoint", json!({"ord": point})),
        ("getOverview", json!({})),
        ("inspectComponent", json!({"ord": point})),
        ("getSlots", json!({"ord": point})),
        (
            "findComponentsByType",
            json!({"typeName": "control:ControlPoint", "limit": 2}),
        ),
        ("getActiveAlarms", json!({})),
        ("getAlarmHistory", json!({"from": "2020-01-01"})),
        (
            "readHistory",
            json!({"ord": point, "from": "2020-01-01", "limit": 5}),
        ),
        ("getServerInfo", json!({})),
        ("getServiceHealth", json!({})),
        ("probeOrd", json!({"ord": point})),
    ] {
        let answer = client.call(tool, arguments).await;
        assert_eq!(answer["isError"], false, "{tool}: {answer}");
        let tool = tools
            .as_array()
            .expect("tools")
            .iter()
            .find(|entry| entry["name"] == tool)
            .expect("listed");
        let validator = jsonschema::validator_for(&tool["outputSchema"]).expect("schema");
        let structured = &answer["structuredContent"];
        if let Err(error) = validator.validate(structured) {
            panic!("{}: {error} at {}", tool["name"], error.instance_path());
        }
        let text: Value =
            serde_json::from_str(answer["content"][0]["text"].as_str().expect("text"))
                .expect("JSON");
        assert_eq!(
            &text, structured,
            "text and structured content say the same"
        );
    }
}

#[tokio::test]
async fn a_station_that_is_gone_degrades_health_and_fails_calls_in_time() {
    let site = site(json!({})).await;
    let client = site.client().await;
    let Site {
        station,
        server,
        _data,
    } = site;
    station.shutdown().await;
    let answer = client
        .call("readPoint", json!({"ord": "slot:/Drivers"}))
        .await;
    assert_eq!(answer["isError"], true);
    assert_eq!(answer["errorCode"], -32603);
    assert_eq!(answer["errorData"]["kind"], "station-unreachable");
    let health = client
        .http
        .get(client.endpoint.replace("/mcp", "/health"))
        .send()
        .await
        .expect("answer");
    assert_eq!(health.status(), StatusCode::SERVICE_UNAVAILABLE);
    let health = json_body(health).await;
    assert_eq!(health["status"], "degraded");
    assert_eq!(health["station"], "unreachable");
    assert_eq!(health["healthyServices"], json!(["web"]));
    assert_eq!(
        client.call("echo", json!({"msg": "here"})).await["content"][0]["text"],
        "here"
    );
    tokio::time::timeout(Duration::from_secs(10), server.stop())
        .await
        .expect("stops");
}

/// What `/health` answers.
async fn health(client: &Client) -> (StatusCode, Value) {
    let address = client.endpoint.replace("/mcp", "/health");
    let answer = client.http.get(address).send().await.expect("answer");
    (answer.status(), json_body(answer).await)
}

#[tokio::test]
async fn writes_that_cannot_be_recorded_degrade_health_where_writes_are_allowed() {
    for is_allowed in [true, false] {
        let site = site(json!({"writes": {"enabled": is_allowed}})).await;
        let client = site.client().await;
        let (status, document) = health(&client).await;
        assert_eq!(
            (status, &document["audit"]),
            (StatusCode::OK, &json!("recording"))
        );
        let folder = site._data.path();
        std::fs::remove_file(folder.join("audit.journal")).expect("a journal");

        let (status, document) = health(&client).await;
        let expected = match is_allowed {
            true => (StatusCode::SERVICE_UNAVAILABLE, "degraded"),
            false => (StatusCode::OK, "ok"),
        };
        assert_eq!(
            (status, document["status"].as_str().expect("a word")),
            expected
        );
        assert_eq!(document["audit"], "failing");
        let reason = document["auditFailure"].as_str().expect("a reason");
        assert!(reason.contains("audit.journal: it was removed"), "{reason}");
        assert!(!reason.contains(&folder.display().to_string()), "{reason}");

        let answer = client.call("getServiceHealth", json!({})).await;
        let journal = &answer["structuredContent"]["auditJournal"];
        assert_eq!(journal["writable"], false, "{answer}");
        let error = journal["error"].as_str().expect("an error");
        assert!(error.contains("put it back"), "{error}");
    }
}

#[tokio::test]
async fn the_configuration_decides_what_is_offered() {
    let site = site(json!({
        "disabledTools": "bqlQuery",
        "toolsets": ["read", "diagnostic"],
        "sseEnabled": false,
        "mcpProtocolVersion": "2025-11-25",
        "basePath": "bridge",
    }))
    .await;
    assert!(site.server.endpoint().ends_with("/bridge/mcp"));
    let mut client = Client::new(site.server.endpoint(), TOKEN);
    let initialized = client.initialize().await;
    assert_eq!(initialized["protocolVersion"], "2025-11-25");
    assert_eq!(
        initialized["serverInfo"]["transports"],
        json!(["streamable-http"])
    );
    let info = client.call("getServerInfo", json!({})).await;
    let everything = definitions_only().expect("the definitions");
    let expected: Vec<String> = everything
        .tools
        .definitions()
        .filter(|tool| matches!(tool.category, Category::Read | Category::Diagnostic))
        .map(|tool| tool.name.clone())
        .filter(|name| name != "bqlQuery")
        .collect();
    assert!(expected.iter().any(|name| name == "readPoint"));
    assert_eq!(info["structuredContent"]["tools"], json!(expected));
    let refused = client.ask("tools/call", json!({"name": "bqlQuery"})).await;
    assert_eq!(refused["error"]["code"], -32002);
}
