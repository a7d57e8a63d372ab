//! Counters for monitoring, over real HTTP.

mod support;

use reqwest::StatusCode;
use serde_json::json;
use support::{Served, TOKEN, json_body, request};

#[tokio::test]
async fn metrics_count_what_happened_for_those_who_have_a_token() {
    let served = Served::start().await;
    let mut client = served.client();
    client.initialize().await;
    client.call("echo", json!({ "msg": "x" })).await;
    client.call("echo", json!({ "msg": 4 })).await;
    client.call("made-up\"name", json!({})).await;
    let mut guesser = client.clone();
    guesser.token = "not-the-token".into();
    let refused = guesser.post(request("ping", json!({}))).await;
    assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);

    let address = served.server.endpoint().replace("/mcp", "/metrics");
    let answer = client.headers(client.http.get(&address)).send().await;
    let answer = answer.expect("answer");
    assert_eq!(answer.status(), StatusCode::OK);
    assert_eq!(
        answer.headers()["content-type"],
        "text/plain; version=0.0.4; charset=utf-8"
    );
    let text = answer.text().await.expect("body");
    for line in [
        "niagara_bridge_tool_calls_total{tool=\"echo\",outcome=\"ok\"} 1",
        "niagara_bridge_tool_calls_total{tool=\"echo\",outcome=\"refused\"} 1",
        "niagara_bridge_tool_calls_total{tool=\"unknown\",outcome=\"refused\"} 1",
        "niagara_bridge_tool_call_duration_seconds_count 3",
        "niagara_bridge_sessions{transport=\"streamable-http\"} 1",
        "niagara_bridge_http_answers_total{status=\"401\"} 1",
        "niagara_bridge_refused_tokens_total 1",
        "niagara_bridge_tools 4",
    ] {
        assert!(text.lines().any(|known| known == line), "{line} in\n{text}");
    }
    assert!(!text.contains("made-up") && !text.contains(TOKEN));
    let stranger = client.http.get(&address).send().await.expect("answer");
    assert_eq!(stranger.status(), StatusCode::UNAUTHORIZED);
    let health = served.server.endpoint().replace("/mcp", "/health");
    let health = client.http.get(&health).send().await.expect("answer");
    assert_eq!(json_body(health).await["sessionCount"], 1);
}
