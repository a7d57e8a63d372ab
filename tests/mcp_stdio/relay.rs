//! The relay: messages pass to a running bridge and back, and failures are told in plain words.

use niagara_bridge::tools::ServerFacts;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::support::{Served, TOKEN, request};
use super::talk::Talk;

#[tokio::test]
async fn a_client_on_standard_input_uses_a_running_bridge() {
    let served = Served::start().await;
    let mut talk = Talk::with(&served.server.endpoint(), TOKEN);
    assert_eq!(
        talk.ask(request("initialize", json!({}))).await["result"]["serverInfo"]["name"],
        "niagaramcp"
    );
    talk.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    talk.say("not json").await;
    assert_eq!(talk.hear().await["error"]["code"], -32700);
    let echo = request(
        "tools/call",
        json!({"name": "echo", "arguments": {"msg": "über\nzwei"}}),
    );
    assert_eq!(
        talk.ask(echo).await["result"]["content"][0]["text"],
        "über\nzwei"
    );

    let counted =
        json!({"name": "count", "arguments": {"steps": 2}, "_meta": {"progressToken": 5}});
    assert_eq!(
        talk.ask(request("tools/call", counted)).await["params"]["message"],
        "step 1"
    );
    assert_eq!(talk.hear().await["params"]["progressToken"], 5);
    assert_eq!(talk.hear().await["result"]["structuredContent"]["steps"], 2);

    assert_eq!(served.bridge.sessions().total(), 1);
    talk.end().await;
    assert_eq!(
        served.bridge.sessions().total(),
        0,
        "the end of input ends the session"
    );
}

#[tokio::test]
async fn a_client_on_standard_input_is_told_which_lists_changed() {
    let served = Served::start().await;
    let mut talk = Talk::with(&served.server.endpoint(), TOKEN);
    talk.ask(request("initialize", json!({}))).await;
    talk.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    // Its answer shows that the session has taken the notification before it.
    let ping = talk.ask(request("ping", json!({}))).await;
    assert_eq!(ping["result"], json!({}));
    served.bridge.resources_changed();
    let told = talk.hear().await;
    assert_eq!(told["method"], "notifications/resources/list_changed");

    // What the lost session would have told is unknown, so both lists may have changed.
    served.server.sessions().end_all();
    let mut told = [talk.hear().await, talk.hear().await].map(|note| note["method"].clone());
    told.sort_by_key(ToString::to_string);
    assert_eq!(
        told,
        [
            "notifications/resources/list_changed",
            "notifications/tools/list_changed"
        ]
    );
    served.bridge.resources_changed();
    let told = talk.hear().await;
    assert_eq!(told["method"], "notifications/resources/list_changed");
    talk.end().await;
}

#[tokio::test]
async fn a_session_that_the_bridge_has_lost_is_opened_again() {
    let served = Served::start().await;
    let mut talk = Talk::with(&served.server.endpoint(), TOKEN);
    talk.ask(request(
        "initialize",
        json!({"protocolVersion": "2025-11-25"}),
    ))
    .await;
    served.server.sessions().end_all();
    let echo = request(
        "tools/call",
        json!({"name": "echo", "arguments": {"msg": "still here"}}),
    );
    assert_eq!(
        talk.ask(echo).await["result"]["content"][0]["text"],
        "still here"
    );
    talk.end().await;
}

#[tokio::test]
async fn failures_are_answered_in_plain_words() {
    let served = Served::start().await;
    let mut talk = Talk::with(&served.server.endpoint(), "wrong");
    let refused = talk.ask(request("initialize", json!({}))).await;
    assert_eq!(refused["id"], 7);
    assert!(
        refused["error"]["message"]
            .as_str()
            .expect("text")
            .contains("refuses the token"),
        "{refused}"
    );
    talk.end().await;

    let endpoint = served.server.endpoint();
    served.server.stop().await;
    let mut talk = Talk::with(&endpoint, TOKEN);
    let gone = talk.ask(request("initialize", json!({}))).await;
    assert!(
        gone["error"]["message"]
            .as_str()
            .expect("text")
            .contains("cannot be reached"),
        "{gone}"
    );
    talk.end().await;
}

#[tokio::test]
async fn a_call_without_a_session_is_told_to_initialize() {
    let served = Served::start().await;
    let mut talk = Talk::with(&served.server.endpoint(), TOKEN);
    let refused = talk.ask(request("tools/list", json!({}))).await;
    assert!(
        refused["error"]["message"]
            .as_str()
            .expect("text")
            .contains("initialize"),
        "{refused}"
    );
    talk.end().await;
}

#[tokio::test]
async fn a_relay_that_is_stopped_answers_the_calls_it_waits_for() {
    let served = Served::start().await;
    let stop = CancellationToken::new();
    let mut talk = Talk::until(&served.server.endpoint(), TOKEN, stop.clone());
    talk.ask(request("initialize", json!({}))).await;
    talk.say(&request("tools/call", json!({"name": "wait"})).to_string())
        .await;
    served.waiting.notified().await;
    stop.cancel();
    let answer = talk.hear().await;
    assert_eq!(answer["id"], 7);
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    talk.end().await;
}
