//! The bridge itself on standard input and output.

use niagara_bridge::mcp::stdio;
use niagara_bridge::tools::{Principal, ToolSets};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio_util::sync::CancellationToken;

use super::support::{bridge, request};

#[tokio::test]
async fn a_running_call_can_be_cancelled_over_standard_input() {
    let (bridge, waiting) = bridge();
    let (client, server) = tokio::io::duplex(1 << 16);
    let (input, output) = tokio::io::split(server);
    let stop = CancellationToken::new();
    let served = tokio::spawn(stdio::serve(
        bridge,
        Principal::Service,
        ToolSets::all(),
        input,
        output,
        stop,
    ));
    let (answers, mut requests) = tokio::io::split(client);
    let mut answers = BufReader::new(answers).lines();
    let mut say = async |message: Value| {
        requests
            .write_all(format!("{message}\n").as_bytes())
            .await
            .expect("write")
    };
    say(request("tools/call", json!({"name": "wait"}))).await;
    waiting.notified().await;
    say(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}))
        .await;
    say(json!({"jsonrpc": "2.0", "id": 8, "method": "ping"})).await;
    let line = answers.next_line().await.expect("read").expect("a line");
    let answer: Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(
        answer,
        json!({"jsonrpc": "2.0", "id": 8, "result": {}}),
        "a cancelled call has no answer"
    );
    drop(requests);
    drop(answers);
    served.await.expect("task").expect("session");
}

#[tokio::test]
async fn a_stop_answers_the_calls_that_run_on_standard_input() {
    let (bridge, waiting) = bridge();
    let (client, server) = tokio::io::duplex(1 << 16);
    let (input, output) = tokio::io::split(server);
    let stop = CancellationToken::new();
    let served = tokio::spawn(stdio::serve(
        bridge,
        Principal::Service,
        ToolSets::all(),
        input,
        output,
        stop.clone(),
    ));
    let (answers, mut requests) = tokio::io::split(client);
    let mut answers = BufReader::new(answers).lines();
    let call = request("tools/call", json!({"name": "wait"}));
    requests
        .write_all(format!("{call}\n").as_bytes())
        .await
        .expect("write");
    waiting.notified().await;
    stop.cancel();
    let line = answers.next_line().await.expect("read").expect("a line");
    let answer: Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(answer["id"], 7);
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    served.await.expect("task").expect("session");
}

#[tokio::test(start_paused = true)]
async fn every_call_that_was_read_is_answered_after_the_end_of_input() {
    let (bridge, _) = bridge();
    let (client, server) = tokio::io::duplex(1 << 20);
    let (input, output) = tokio::io::split(server);
    let served = tokio::spawn(stdio::serve(
        bridge,
        Principal::Service,
        ToolSets::all(),
        input,
        output,
        CancellationToken::new(),
    ));
    let (answers, mut requests) = tokio::io::split(client);
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
    lines.push_str(&format!("{call}\n{cancel}\n"));
    requests.write_all(lines.as_bytes()).await.expect("write");
    requests.shutdown().await.expect("end of input");
    served.await.expect("task").expect("session");
    let mut answers = BufReader::new(answers).lines();
    let mut ids = Vec::new();
    while let Some(line) = answers.next_line().await.expect("read") {
        let answer: Value = serde_json::from_str(&line).expect("JSON");
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
