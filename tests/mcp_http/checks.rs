//! Who may come in, and what is refused before a session is looked at (Tool surface §1.1, §1.4).

use niagara_bridge::mcp::http::HttpOptions;
use niagara_bridge::mcp::http::checks::InboundLimits;
use reqwest::StatusCode;
use serde_json::json;
use std::sync::atomic::Ordering;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::support::{Client, OTHER_TOKEN, Served, json_body, request};

#[tokio::test]
async fn the_401_is_spelt_exactly_on_the_wire() {
    let served = Served::start().await;
    for request in [
        "POST /niagaramcp/mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}",
        "GET /niagaramcp/nothing HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer wrong\r\nconnection: close\r\n\r\n",
    ] {
        let mut stream = tokio::net::TcpStream::connect(served.server.address())
            .await
            .expect("connect");
        stream.write_all(request.as_bytes()).await.expect("write");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("read");
        assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
        assert!(
            answer.contains("\r\nWWW-Authenticate: Bearer\r\n"),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn strangers_are_turned_away() {
    let served = Served::start().await;
    let client = served.client();
    let initialize = request("initialize", json!({})).to_string();
    for (header, value, status) in [
        ("Origin", "https://evil.example", StatusCode::FORBIDDEN),
        ("Origin", "null", StatusCode::FORBIDDEN),
        ("Host", "evil.example", StatusCode::FORBIDDEN),
        ("Origin", "http://localhost:6274", StatusCode::OK),
        ("X-MCP-Toolsets", "reading", StatusCode::BAD_REQUEST),
    ] {
        let request = client
            .headers(client.http.post(&client.endpoint))
            .header(header, value)
            .body(initialize.clone());
        let answer = request.send().await.expect("answer");
        assert_eq!(answer.status(), status, "{header}: {value}");
    }
    let mut unknown = client.clone();
    unknown.token = "wrong".into();
    assert_eq!(
        unknown.post_text("not even json").await.status(),
        StatusCode::UNAUTHORIZED,
        "the bearer comes first"
    );
    let nothing = served.server.endpoint().replace("/mcp", "/other");
    let answer = client
        .headers(client.http.get(&nothing))
        .send()
        .await
        .expect("answer");
    assert_eq!(answer.status(), StatusCode::NOT_FOUND);
    assert_eq!(
        answer.headers()["content-type"],
        "text/plain; charset=utf-8"
    );
    let message = answer.text().await.expect("a message");
    assert!(message.contains("/niagaramcp/other"), "{message}");
    assert_eq!(
        client
            .http
            .get(&nothing)
            .send()
            .await
            .expect("answer")
            .status(),
        StatusCode::UNAUTHORIZED
    );
}

#[tokio::test]
async fn tool_sets_narrow_what_a_session_sees() {
    let served = Served::start().await;
    let mut client = served.client();
    client.endpoint.push_str("?toolsets=transport-test,write");
    client.initialize().await;
    let tools = client.ask("tools/list", json!({})).await;
    let names: Vec<&str> = tools["result"]["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(names, ["echo", "setSlot"]);
    assert_eq!(
        client.ask("tools/call", json!({"name": "count"})).await["error"]["code"],
        -32002
    );
}

fn names(tools: &serde_json::Value) -> Vec<&str> {
    let tools = tools["result"]["tools"].as_array().expect("tools");
    tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect()
}

#[tokio::test]
async fn a_session_remembers_the_tool_sets_of_its_beginning() {
    let served = Served::start().await;
    let mut client = served.client();
    let initialize = |sets: &str| {
        client
            .headers(client.http.post(&client.endpoint))
            .header("X-MCP-Toolsets", sets)
            .body(request("initialize", json!({})).to_string())
    };
    let unknown = initialize("Write, reading").send().await.expect("answer");
    assert_eq!(unknown.status(), StatusCode::BAD_REQUEST);
    let unknown = json_body(unknown).await;
    assert_eq!(unknown["error"]["data"]["toolset"], "reading");
    let known = unknown["error"]["data"]["known"].as_array().expect("names");
    assert!(known.contains(&json!("transport-test")), "{known:?}");

    let opened = initialize("WRITE").send().await.expect("answer");
    let session = opened.headers()["mcp-session-id"].to_str().expect("text");
    client.session = Some(session.to_owned());
    assert_eq!(
        names(&client.ask("tools/list", json!({})).await),
        ["setSlot"]
    );
    let call = json!({"name": "echo", "arguments": {"msg": "x"}});
    assert_eq!(
        client.ask("tools/call", call).await["error"]["code"],
        -32002
    );

    let plain = client.endpoint.clone();
    client.endpoint = format!("{plain}?toolsets=write&toolsets=Transport-Test");
    let asked_again = client.ask("tools/list", json!({})).await;
    assert_eq!(
        names(&asked_again),
        ["echo", "setSlot"],
        "this request asks for more"
    );
    client.endpoint = plain;
    assert_eq!(
        names(&client.ask("tools/list", json!({})).await),
        ["setSlot"]
    );
}

#[tokio::test]
async fn switches_answer_in_the_documented_order() {
    let served = Served::start().await;
    let client = served.client();
    served
        .bridge
        .switches
        .streamable
        .store(false, Ordering::Relaxed);
    let off = client.post(request("initialize", json!({}))).await;
    assert_eq!(off.status(), StatusCode::SERVICE_UNAVAILABLE);
    let off = json_body(off).await;
    assert_eq!(off["error"]["code"], -32009);
    assert_eq!(
        off["error"]["data"],
        json!({"transport": "streamable-http"})
    );
    let mut unknown = client.clone();
    unknown.token = "wrong".into();
    assert_eq!(
        unknown.post(request("ping", json!({}))).await.status(),
        StatusCode::UNAUTHORIZED
    );

    served
        .bridge
        .switches
        .enabled
        .store(false, Ordering::Relaxed);
    assert_eq!(
        unknown.post(request("ping", json!({}))).await.status(),
        StatusCode::SERVICE_UNAVAILABLE
    );
    let health = served.server.endpoint().replace("/mcp", "/health");
    let answer = client.http.get(&health).send().await.expect("answer");
    assert_eq!(
        answer.status(),
        StatusCode::SERVICE_UNAVAILABLE,
        "health answers even when disabled"
    );
    assert!(json_body(answer).await["note"].is_string());
}

#[tokio::test]
async fn health_needs_no_token() {
    let served = Served::start().await;
    let mut client = served.client();
    client.initialize().await;
    let answer = client
        .http
        .get(served.server.endpoint().replace("/mcp", "/health"))
        .send()
        .await
        .expect("answer");
    assert_eq!(answer.status(), StatusCode::OK);
    let health = json_body(answer).await;
    assert_eq!(health["status"], "ok");
    assert_eq!(health["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(health["sessionCount"], 1);
    assert_eq!(
        health["healthyServices"],
        json!(["alarm", "history", "web"])
    );
}

#[tokio::test]
async fn too_much_is_refused() {
    let limits = InboundLimits {
        per_principal: 3,
        per_address: 0,
    };
    let served = Served::with(HttpOptions {
        body_limit: 200,
        limits,
        ..HttpOptions::default()
    })
    .await;
    let client = served.client();
    let huge = request("initialize", json!({"pad": "x".repeat(300)}));
    let huge = client.post(huge).await;
    assert_eq!(huge.status(), StatusCode::PAYLOAD_TOO_LARGE);
    let huge = json_body(huge).await;
    assert_eq!(huge["error"]["data"]["kind"], "body-too-large");
    let message = huge["error"]["message"].as_str().expect("a message");
    assert!(message.contains("200 bytes"), "{message}");
    let mut statuses = Vec::new();
    for _ in 0..4 {
        let answer = client.post(request("initialize", json!({}))).await;
        statuses.push(answer.status());
        if answer.status() == StatusCode::TOO_MANY_REQUESTS {
            assert_eq!(answer.headers()["retry-after"], "1");
            let answer = json_body(answer).await;
            assert_eq!(answer["id"], 7);
            assert_eq!(answer["error"]["data"]["kind"], "rate-limited");
        }
    }
    assert!(
        statuses.contains(&StatusCode::TOO_MANY_REQUESTS),
        "{statuses:?}"
    );
    let other = Client::new(served.server.endpoint(), OTHER_TOKEN);
    assert_eq!(
        other.post(request("initialize", json!({}))).await.status(),
        StatusCode::OK,
        "others are not held up"
    );
}

#[tokio::test]
async fn the_base_path_and_listed_origins_are_configurable() {
    let options = HttpOptions {
        base_path: "/site/mcp-bridge/".into(),
        allowed_origins: vec!["https://console.example".into()],
        ..HttpOptions::default()
    };
    let served = Served::with(options).await;
    assert!(served.server.endpoint().ends_with("/site/mcp-bridge/mcp"));
    let client = served.client();
    let preflight = client
        .http
        .request(reqwest::Method::OPTIONS, &client.endpoint)
        .header("Origin", "https://console.example");
    let answer = preflight.send().await.expect("answer");
    assert_eq!(answer.status(), StatusCode::NO_CONTENT);
    assert_eq!(
        answer.headers()["access-control-allow-origin"],
        "https://console.example"
    );
    let posted = client
        .headers(client.http.post(&client.endpoint))
        .header("Origin", "https://console.example");
    let answer = posted
        .body(request("initialize", json!({})).to_string())
        .send()
        .await
        .expect("answer");
    assert_eq!(answer.status(), StatusCode::OK);
    assert_eq!(
        answer.headers()["access-control-expose-headers"],
        "Mcp-Session-Id"
    );
}
