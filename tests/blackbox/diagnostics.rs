//! Numbers 14 to 16 and 18 to 24: what the server says of itself.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::client::Bridge;

fn assert_keys(value: &Value, keys: &[&str]) {
    for key in keys {
        assert!(value.get(*key).is_some(), "{key} is missing: {value}");
    }
}

#[test]
fn the_server_describes_itself_and_probes_ords() {
    let bridge = Bridge::start();
    let mut client = bridge.client();
    let initialized = client.initialize();

    // 14
    let info = client.facts("getServerInfo", json!({}));
    assert_keys(&info, &["version", "knowledgeFile", "transports", "tools"]);

    // 15, 16
    let root = client.facts("probeOrd", json!({"ord": "station:|slot:/"}));
    assert_eq!(root["exists"], true);
    let garbage = client.call(
        "probeOrd",
        json!({"ord": "station:|slot:/No/Such/Thing/At/All"}),
    );
    assert_eq!(garbage["isError"], false);
    assert_eq!(garbage["structuredContent"]["exists"], false);

    // 18, 19
    client.authorization = None;
    let health = client.exchange("GET", "/health", None);
    assert!([200, 503].contains(&health.status), "{health:?}");
    assert_keys(&health.json(), &["status", "version"]);
    client.authorization = bridge.client().authorization;

    // 20
    let transports = initialized["serverInfo"]["transports"].as_array();
    assert!(!transports.expect("transports").is_empty());

    // 21
    let tools = client.ask("tools/list", json!({}));
    let categories: BTreeSet<&str> = tools["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .map(|tool| {
            tool["category"]
                .as_str()
                .expect("every tool has a category")
        })
        .collect();
    assert!(categories.len() >= 6, "{categories:?}");
    bridge.stop();
}

#[test]
fn dumps_hold_what_the_client_looks_for() {
    let bridge = Bridge::start();
    let mut client = bridge.client();
    client.initialize();

    // 22
    let dump = client.facts("getDiagnosticDump", json!({}));
    assert_keys(
        &dump,
        &["server", "sessions", "knowledge", "health", "auditLogTail"],
    );

    // 23
    let features = client.call("getFeatureDump", json!({}));
    let text = features["content"][0]["text"].as_str().expect("text");
    for heading in ["Tools (", "Resources (", "Prompts (", "Transports:"] {
        assert!(text.contains(heading), "{heading} is missing:\n{text}");
    }

    // 24
    let features = client.facts("getFeatureDump", json!({"format": "json"}));
    assert_keys(
        &features,
        &[
            "version",
            "tools",
            "resources",
            "prompts",
            "transports",
            "knowledge",
            "sessionCount",
            "health",
            "errorCodes",
        ],
    );
    assert_eq!(
        features["resources"]["static"].as_array().map(Vec::len),
        Some(3)
    );
    assert!(features["prompts"]["totalCount"].as_u64() >= Some(7));
    assert_eq!(features["errorCodes"].as_array().map(Vec::len), Some(15));
    bridge.stop();
}
