//! Endings: a call is cancelled, its session ends, its client leaves, the bridge stops.

use reqwest::StatusCode;
use serde_json::{Value, json};
use std::time::Duration;

use super::support::{OTHER_TOKEN, Served, TOKEN, events, json_body, request};

#[tokio::test]
async fn a_cancelled_call_ends_and_the_session_goes_on() {
    let served = Served::start().await;
    let mut client = served.client();
    client.initialize().await;
    let waiting = client.clone();
    let call = tokio::spawn(async move {
        waiting
            .post(request("tools/call", json!({"name": "wait"})))
            .await
    });
    served.waiting.notified().await;
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    assert_eq!(client.post(cancel).await.status(), StatusCode::ACCEPTED);
    let cancelled = call.await.expect("call");
    assert_eq!(cancelled.status(), StatusCode::OK);
    let cancelled = json_body(cancelled).await;
    assert_eq!(
        cancelled["id"], 7,
        "a request is never answered with nothing"
    );
    assert_eq!(cancelled["error"]["code"], -32603);
    assert_eq!(cancelled["error"]["data"]["kind"], "cancelled");
    assert_eq!(
        client.call("echo", json!({"msg": "on"})).await["content"][0]["text"],
        "on"
    );
}

/// The error that ends the call in which a client waited when the bridge was stopped.
fn assert_told_of_the_stop(answer: &Value) {
    assert_eq!(answer["id"], 7, "{answer}");
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    let words = answer["error"]["message"].as_str().expect("text");
    assert!(words.contains("is stopping"), "{words}");
}

#[tokio::test]
async fn a_stop_in_the_middle_of_a_call_is_told_to_every_kind_of_client() {
    for accept in ["application/json", "text/event-stream"] {
        let served = Served::start().await;
        let mut client = served.client();
        client.initialize().await;
        client.accept = Some(accept);
        let call = tokio::spawn(async move {
            client
                .post(request("tools/call", json!({"name": "wait"})))
                .await
        });
        served.waiting.notified().await;
        served.server.stop().await;
        let answer = call.await.expect("call");
        assert_eq!(answer.status(), StatusCode::OK, "{accept}");
        let text = answer.text().await.expect("body");
        let answer = match accept {
            "text/event-stream" => events(&text).pop().expect("an answer"),
            _ => serde_json::from_str(&text).expect("JSON"),
        };
        assert_told_of_the_stop(&answer);
    }
}

#[tokio::test]
async fn a_session_that_ends_in_the_middle_of_a_call_is_told_so() {
    let served = Served::start().await;
    let mut client = served.client();
    client.initialize().await;
    let waiting = client.clone();
    let call = tokio::spawn(async move {
        waiting
            .post(request("tools/call", json!({"name": "wait"})))
            .await
    });
    served.waiting.notified().await;
    served.server.sessions().end_all();
    let answer = json_body(call.await.expect("call")).await;
    assert_eq!(answer["id"], 7);
    assert_eq!(answer["error"]["code"], -32001, "{answer}");
}

#[tokio::test]
async fn a_client_that_leaves_in_the_middle_of_a_call_harms_nobody() {
    let served = Served::start().await;
    let mut client = served.client();
    client.initialize().await;
    for accept in ["application/json", "text/event-stream"] {
        let mut leaving = client.clone();
        leaving.accept = Some(accept);
        let call = tokio::spawn(async move {
            leaving
                .post(request("tools/call", json!({"name": "wait"})))
                .await
                .text()
                .await
        });
        served.waiting.notified().await;
        call.abort();
        assert!(call.await.expect_err("aborted").is_cancelled());
        let answer = client.call("echo", json!({"msg": "on"})).await;
        assert_eq!(answer["content"][0]["text"], "on");
    }
}

#[tokio::test]
async fn a_stop_ends_running_calls_and_closes_the_port() {
    let served = Served::start().await;
    let mut client = served.client();
    client.initialize().await;
    let waiting = client.clone();
    let call = tokio::spawn(async move {
        waiting
            .headers(waiting.http.post(&waiting.endpoint))
            .body(request("tools/call", json!({"name": "wait"})).to_string())
            .send()
            .await
    });
    served.waiting.notified().await;
    let address = served.server.address();
    tokio::time::timeout(Duration::from_secs(10), served.server.stop())
        .await
        .expect("stops");
    drop(
        call.await
            .expect("the call ended, with or without an answer"),
    );
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
    assert_ne!(TOKEN, OTHER_TOKEN);
}
