//! Revision 2026-07-28 over real HTTP: requests that stand alone.

mod support;

use reqwest::{Response, StatusCode};
use serde_json::{Value, json};
use support::{Client, Served, events, json_body};

const REVISION: &str = "2026-07-28";
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

fn meta() -> Value {
    json!({ VERSION_KEY: REVISION, CAPABILITIES_KEY: {} })
}

/// A request with its headers; `name` is what intermediaries route by.
async fn send(client: &Client, method: &str, mut params: Value, name: Option<&str>) -> Response {
    if params.get("_meta").is_none() {
        params["_meta"] = meta();
    }
    let mut request = client
        .headers(client.http.post(&client.endpoint))
        .header("MCP-Protocol-Version", REVISION)
        .header("Mcp-Method", method);
    if let Some(name) = name {
        request = request.header("Mcp-Name", name);
    }
    let body = json!({ "jsonrpc": "2.0", "id": "r1", "method": method, "params": params });
    let request = request.body(body.to_string());
    request.send().await.expect("answer")
}

#[tokio::test]
async fn a_client_discovers_lists_and_calls_without_a_session() {
    let served = Served::start().await;
    let client = served.client();
    let discovered = json_body(send(&client, "server/discover", json!({}), None).await).await;
    let result = &discovered["result"];
    assert_eq!(
        result["supportedVersions"],
        json!(["2026-07-28", "2025-11-25", "2025-06-18"])
    );
    assert_eq!(
        result["capabilities"]["resources"],
        json!({ "subscribe": true, "listChanged": true })
    );
    assert_eq!(result["resultType"], "complete");
    assert_eq!(
        result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
        "niagaramcp"
    );

    let listed = json_body(send(&client, "tools/list", json!({}), None).await).await;
    assert_eq!(listed["id"], "r1");
    assert_eq!(listed["result"]["tools"][0]["name"], "echo");
    assert_eq!(listed["result"]["cacheScope"], "private");
    assert_eq!(listed["result"]["ttlMs"], 60_000);

    let call = json!({ "name": "echo", "arguments": { "msg": "hello" } });
    let answer = send(&client, "tools/call", call, Some("echo")).await;
    assert!(answer.headers().get("mcp-session-id").is_none());
    let answer = json_body(answer).await;
    assert_eq!(answer["result"]["content"][0]["text"], "hello");
    assert_eq!(answer["result"]["resultType"], "complete");
}

#[tokio::test]
async fn headers_and_body_must_agree() {
    let served = Served::start().await;
    let client = served.client();
    let call = json!({ "name": "echo", "arguments": { "msg": "x" } });
    for (name, status, code) in [
        (Some("echo"), StatusCode::OK, None),
        (Some("=?base64?ZWNobw==?="), StatusCode::OK, None),
        (Some("setSlot"), StatusCode::BAD_REQUEST, Some(-32020)),
        (None, StatusCode::BAD_REQUEST, Some(-32020)),
    ] {
        let answer = send(&client, "tools/call", call.clone(), name).await;
        assert_eq!(answer.status(), status, "{name:?}");
        let answer = json_body(answer).await;
        assert_eq!(answer["error"]["code"].as_i64(), code, "{name:?}");
        assert_eq!(answer["id"], "r1");
    }
    let other = json!({ "_meta": { VERSION_KEY: "2031-01-01", CAPABILITIES_KEY: {} } });
    let mismatch = send(&client, "tools/list", other, None).await;
    assert_eq!(json_body(mismatch).await["error"]["code"], -32020);
    for (meta, missing) in [
        (json!({}), json!([VERSION_KEY, CAPABILITIES_KEY])),
        (json!({ VERSION_KEY: REVISION }), json!([CAPABILITIES_KEY])),
    ] {
        let answer = send(&client, "tools/list", json!({ "_meta": meta }), None).await;
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST);
        let answer = json_body(answer).await;
        assert_eq!(answer["error"]["code"], -32602);
        assert_eq!(answer["error"]["data"]["missing"], missing);
    }
}

#[tokio::test]
async fn methods_of_sessions_are_gone_and_the_others_are_new() {
    let served = Served::start().await;
    let mut client = served.client();
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "no/such",
    ] {
        let answer = send(
            &client,
            method,
            json!({ "uri": "x", "level": "info" }),
            None,
        )
        .await;
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{method}");
        assert_eq!(json_body(answer).await["error"]["code"], -32601, "{method}");
    }
    client.initialize().await;
    let answer = client.ask("subscriptions/listen", json!({})).await;
    assert_eq!(answer["error"]["code"], -32601);
}

#[tokio::test]
async fn a_listener_learns_which_lists_changed() {
    let served = Served::start().await;
    let mut client = served.client();
    client.accept = Some("application/json, text/event-stream");
    let wanted = json!({ "notifications": { "toolsListChanged": true, "resourcesListChanged": true, "promptsListChanged": true, "resourceSubscriptions": ["niagara://overview"] } });
    let mut stream = send(&client, "subscriptions/listen", wanted, None).await;
    let mut text = String::new();
    let mut next = async || loop {
        if let Some((event, rest)) = text.clone().split_once("\n\n") {
            text = rest.to_owned();
            return events(&format!("{event}\n\n")).remove(0);
        }
        let piece = stream
            .chunk()
            .await
            .expect("read")
            .expect("the stream goes on");
        text.push_str(std::str::from_utf8(&piece).expect("UTF-8"));
    };
    let first = next().await;
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(
        first["params"]["notifications"],
        json!({ "toolsListChanged": true, "resourcesListChanged": true, "resourceSubscriptions": [] }),
        "what cannot be watched is left out"
    );
    let id = &first["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
    assert_eq!(id, "r1");
    served.bridge.tools_changed();
    let second = next().await;
    assert_eq!(second["method"], "notifications/tools/list_changed");
    assert_eq!(
        &second["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        id
    );
    served.bridge.resources_changed();
    assert_eq!(
        next().await["method"],
        "notifications/resources/list_changed"
    );
    served.server.stop().await;
}
