//! Numbers 1 to 8: sessions, authentication, the older transport.

use serde_json::json;

use crate::client::Bridge;

#[test]
fn a_session_is_opened_used_and_closed() {
    let bridge = Bridge::start();
    let mut client = bridge.client();

    // 1
    let initialized = client.initialize();
    assert_eq!(initialized["protocolVersion"], "2025-06-18");
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let accepted = client.exchange("POST", "/mcp", Some(&ready.to_string()));
    assert_eq!((accepted.status, accepted.body.as_str()), (202, ""));

    // 2
    let tools = client.ask("tools/list", json!({}));
    let tools = tools["tools"].as_array().expect("tools");
    for name in [
        "echo",
        "listChildren",
        "readPoint",
        "writePoint",
        "bqlQuery",
    ] {
        assert!(
            tools.iter().any(|tool| tool["name"] == name),
            "{name} is missing"
        );
    }

    // 3
    let message = "round trip: \"größer\" \\ \u{1F3E2}";
    let echo = client.call("echo", json!({"msg": message}));
    assert_eq!(echo["content"][0]["text"], message);

    // 4, 5
    let deleted = client.exchange("DELETE", "/mcp", None);
    assert_eq!((deleted.status, deleted.body.as_str()), (204, ""));
    assert_eq!(client.post("ping", json!({})).status, 404);

    // 7
    client.session = Some("00000000-0000-0000-0000-000000000000".into());
    let unknown = client.post("tools/list", json!({}));
    assert_eq!(unknown.status, 404);
    assert_eq!(unknown.json()["error"]["code"], -32001);
    bridge.stop();
}

/// Number 6; the name of the header is looked up letter for letter.
#[test]
fn a_request_without_a_token_is_refused_with_the_header_that_the_client_looks_for() {
    let bridge = Bridge::start();
    let mut client = bridge.client();
    for authorization in [None, Some("Bearer wrong".to_owned())] {
        client.authorization = authorization;
        for (method, path) in [("POST", "/mcp"), ("GET", "/sse"), ("DELETE", "/mcp")] {
            let refused = client.exchange(method, path, (method == "POST").then_some("{}"));
            assert_eq!(refused.status, 401, "{method} {path}");
            let challenge = refused.headers.get("WWW-Authenticate");
            let challenge = challenge.unwrap_or_else(|| panic!("{method} {path}: {refused:?}"));
            assert!(challenge.contains("Bearer"), "{challenge}");
        }
    }
    bridge.stop();
}

/// Number 8.
#[test]
fn the_older_transport_names_its_address_and_takes_messages() {
    let bridge = Bridge::start();
    let client = bridge.client();
    let (status, mut events) = client.stream("/sse");
    assert_eq!(status, 200);
    let address = events.next_data();
    assert!(address.contains("sessionId="), "{address}");
    let path = address.strip_prefix("/niagaramcp").expect("the base path");
    let initialize = json!({"jsonrpc": "2.0", "id": "first", "method": "initialize", "params": {}});
    let taken = client.exchange("POST", path, Some(&initialize.to_string()));
    assert_eq!((taken.status, taken.body.as_str()), (202, ""));
    let answer: serde_json::Value = serde_json::from_str(&events.next_data()).expect("JSON");
    assert_eq!(answer["id"], "first");
    assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
    drop(events);
    bridge.stop();
}
