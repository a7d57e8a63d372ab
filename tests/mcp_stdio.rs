//! Standard input and output: the relay to a running bridge, and what it does when the bridge is not there.

mod support;

use niagara_bridge::config::Secret;
use niagara_bridge::mcp::relay::Relay;
use niagara_bridge::mcp::stdio;
use niagara_bridge::station::http::Trust;
use niagara_bridge::tools::{Principal, ServerFacts, ToolSets};
use serde_json::{Value, json};
use support::{Served, TOKEN, bridge, request};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The client's end of a relay.
struct Talk {
    requests: WriteHalf<DuplexStream>,
    answers: Lines<BufReader<ReadHalf<DuplexStream>>>,
    task: JoinHandle<std::io::Result<()>>,
}

impl Talk {
    fn with(endpoint: &str, token: &str) -> Self {
        Self::until(endpoint, token, CancellationToken::new())
    }

    fn until(endpoint: &str, token: &str, stop: CancellationToken) -> Self {
        let relay = Relay::new(
            endpoint.parse().expect("url"),
            Secret::new(token),
            &Trust::System,
        )
        .expect("relay");
        let (client, server) = tokio::io::duplex(1 << 16);
        let (input, output) = tokio::io::split(server);
        let task = tokio::spawn(relay.run(input, output, stop));
        let (answers, requests) = tokio::io::split(client);
        Self {
            requests,
            answers: BufReader::new(answers).lines(),
            task,
        }
    }

    async fn say(&mut self, line: &str) {
        self.requests
            .write_all(format!("{line}\n").as_bytes())
            .await
            .expect("write");
    }

    async fn hear(&mut self) -> Value {
        let line = self
            .answers
            .next_line()
            .await
            .expect("read")
            .expect("a line");
        serde_json::from_str(&line).expect("JSON")
    }

    async fn ask(&mut self, message: Value) -> Value {
        self.say(&message.to_string()).await;
        self.hear().await
    }

    async fn end(mut self) {
        self.requests.shutdown().await.expect("end of input");
        self.task.await.expect("task").expect("relay");
    }
}

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
    for lost in [false, true] {
        if lost {
            served.server.sessions().end_all();
        }
        assert_eq!(
            talk.ask(request("ping", json!({}))).await["result"],
            json!({})
        );
        // What is said before the stream is open waits for it in the session.
        served.bridge.resources_changed();
        let told = talk.hear().await;
        assert_eq!(told["method"], "notifications/resources/list_changed");
    }
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
