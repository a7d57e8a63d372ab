//! The bridge itself on standard input and output.

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::support::{bridge, request};
use super::talk::Talk;

#[tokio::test]
async fn a_running_call_can_be_cancelled_over_standard_input() {
    let (bridge, waiting) = bridge();
    let mut talk = Talk::directly(bridge, CancellationToken::new());
    let call = request("tools/call", json!({"name": "wait"}));
    talk.say(&call.to_string()).await;
    waiting.notified().await;
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    talk.say(&cancel.to_string()).await;
    let answer = talk
        .ask(json!({"jsonrpc": "2.0", "id": 8, "method": "ping"}))
        .await;
    assert_eq!(
        answer,
        json!({"jsonrpc": "2.0", "id": 8, "result": {}}),
        "a cancelled call has no answer"
    );
    talk.end().await;
}

#[tokio::test]
async fn a_stop_answers_the_calls_that_run_on_standard_input() {
    let (bridge, waiting) = bridge();
    let stop = CancellationToken::new();
    let mut talk = Talk::directly(bridge, stop.clone());
    let call = request("tools/call", json!({"name": "wait"}));
    talk.say(&call.to_string()).await;
    waiting.notified().await;
    stop.cancel();
    let answer = talk.hear().await;
    assert_eq!(answer["id"], 7);
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    talk.end().await;
}

#[tokio::test(start_paused = true)]
async fn every_call_that_was_read_is_answered_after_the_end_of_input() {
    let (bridge, _) = bridge();
    let mut talk = Talk::directly(bridge, CancellationToken::new());
    let mut lines = request("initialize", json!({})).to_string() + "\n";
    for id in 100..131 {
        // Ends by its own time limit only.
        let call =
            json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "wait"}});
        lines.push_str(&format!("{call}\n"));
    }
    // A cancelled call is not waited for.
    let call = json!({"jsonrpc": "2.0", "id": "given up", "method": "tools/call", "params": {"name": "wait"}});
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "given up"}});
    talk.say(&format!("{lines}{call}\n{cancel}")).await;
    let mut ids = Vec::new();
    for answer in talk.rest().await {
        if answer["id"] != 7 {
            assert_eq!(
                answer["result"]["errorData"]["kind"], "station-timeout",
                "{answer}"
            );
        }
        ids.push(answer["id"].as_i64().expect("a number"));
    }
    ids.sort_unstable();
    let expected: Vec<i64> = std::iter::once(7).chain(100..131).collect();
    assert_eq!(ids, expected);
}
