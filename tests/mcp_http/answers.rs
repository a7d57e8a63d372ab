//! Answers: errors with their codes, ids as they were sent, documents, progress (Tool surface §5).

use serde_json::{Value, json};

use super::support::{Client, OTHER_TOKEN, Served, events, json_body, members, request};

#[tokio::test]
async fn errors_carry_their_codes_and_data() {
    let served = Served::start().await;
    let mut client = served.client();
    client.initialize().await;
    for (method, params, code, data) in [
        ("no/such", json!({}), -32601, json!({"method": "no/such"})),
        (
            "tools/call",
            json!({"name": "nothing"}),
            -32002,
            json!({"toolName": "nothing"}),
        ),
        ("tools/call", json!({}), -32602, json!({"missing": "name"})),
        (
            "resources/read",
            json!({}),
            -32602,
            json!({"missing": "uri"}),
        ),
        (
            "resources/read",
            json!({"uri": "niagara://no"}),
            -32003,
            json!({"uri": "niagara://no"}),
        ),
        (
            "prompts/get",
            json!({"name": "no"}),
            -32602,
            json!({"promptName": "no"}),
        ),
        (
            "prompts/get",
            json!({"name": "greeting"}),
            -32602,
            json!({"promptName": "greeting", "missing": "name"}),
        ),
        (
            "tools/call",
            json!({"name": "setSlot"}),
            -32011,
            json!({"tool": "setSlot", "requiresUserContext": true}),
        ),
        (
            "tools/call",
            json!({"name": "echo", "arguments": {"msg": 4}}),
            -32602,
            json!({"tool": "echo", "argument": "msg", "problem": "type", "expected": "string"}),
        ),
        (
            "tools/call",
            json!({"name": "echo"}),
            -32602,
            json!({"tool": "echo", "argument": "msg", "problem": "missing", "expected": "a value", "missing": "msg"}),
        ),
    ] {
        let answer = client.ask(method, params.clone()).await;
        assert_eq!(answer["error"]["code"], code, "{method} {params}");
        assert_eq!(answer["error"]["data"], data, "{method} {params}");
        assert!(answer.get("result").is_none());
    }
    let mut user = Client::new(served.server.endpoint(), OTHER_TOKEN);
    user.initialize().await;
    assert_eq!(
        user.call("setSlot", json!({})).await["content"][0]["text"],
        "operator"
    );
}

#[tokio::test]
async fn an_id_comes_back_exactly_as_it_was_sent() {
    let served = Served::start().await;
    let mut client = served.client();
    client.initialize().await;
    for id in [
        "\"a\"",
        "\"\"",
        "0",
        "-7",
        "18446744073709551615",
        "1.5",
        "null",
    ] {
        let ping = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}");
        let answer = json_body(client.post_text(ping).await).await;
        assert_eq!(answer["id"].to_string(), id);
        assert_eq!(members(&answer).len(), 3);
    }
}

/// Messages that are JSON but no JSON-RPC 2.0 of this protocol, and the id under which they are refused.
const NO_MESSAGES: [(&str, &str); 7] = [
    (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, "null"),
    (r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, "null"),
    (
        r#"{"jsonrpc":"2.0","id":12345678901234567890123,"method":"ping"}"#,
        "null",
    ),
    (r#"{"id":3,"method":"ping"}"#, "3"),
    (r#"{"jsonrpc":"1.0","id":"x","method":"ping"}"#, "\"x\""),
    (r#"{"jsonrpc":2.0,"id":3,"method":"ping"}"#, "3"),
    (r#"{"jsonrpc":"2.0","id":3}"#, "3"),
];

#[tokio::test]
async fn what_is_no_message_is_refused_on_every_transport() {
    let served = Served::start().await;
    let mut client = served.client();
    let stream = client
        .headers(
            client
                .http
                .get(served.server.endpoint().replace("/mcp", "/sse")),
        )
        .send();
    let mut stream = stream.await.expect("a stream");
    let first = stream.chunk().await.expect("read").expect("an event");
    let first = String::from_utf8(first.to_vec()).expect("UTF-8");
    let place = first.lines().nth(1).expect("data").replace("data: ", "");
    let messages = format!("http://{}{place}", served.server.address());
    let alone = client.clone();
    client.initialize().await;
    for (text, id) in NO_MESSAGES {
        let in_session = client.post_text(text);
        let without = alone
            .headers(alone.http.post(&alone.endpoint))
            .header("MCP-Protocol-Version", "2026-07-28")
            .header("Mcp-Method", "ping")
            .body(text)
            .send();
        let legacy = client
            .headers(client.http.post(&messages))
            .body(text)
            .send();
        for answer in [
            in_session.await,
            without.await.expect("answer"),
            legacy.await.expect("answer"),
        ] {
            assert_eq!(answer.status(), 400, "{text}");
            let answer = json_body(answer).await;
            assert_eq!(answer["id"].to_string(), id, "{text}");
            assert_eq!(answer["error"]["code"], -32600, "{text}");
            let message = answer["error"]["message"].as_str().expect("a message");
            let names_the_fault = ["'id'", "'jsonrpc'", "'method'"]
                .iter()
                .any(|word| message.contains(word));
            assert!(names_the_fault, "{text}: {message}");
        }
    }
}

#[tokio::test]
async fn resources_prompts_and_completions_are_served() {
    let served = Served::start().await;
    let mut client = served.client();
    client.initialize().await;
    let listed = client.ask("resources/list", json!({})).await;
    assert_eq!(
        listed["result"]["resources"][0]["uri"],
        "niagara://overview"
    );
    assert_eq!(
        client.ask("resources/templates/list", json!({})).await["result"],
        json!({"resourceTemplates": []})
    );
    let read = client
        .ask("resources/read", json!({"uri": "niagara://overview"}))
        .await;
    let contents = &read["result"]["contents"][0];
    assert_eq!(contents["mimeType"], "application/json");
    let overview: Value =
        serde_json::from_str(contents["text"].as_str().expect("text")).expect("json");
    assert_eq!(overview["spaceCount"], 2);

    assert_eq!(
        client.ask("prompts/list", json!({})).await["result"]["prompts"][0]["name"],
        "greeting"
    );
    let prompt = client
        .ask(
            "prompts/get",
            json!({"name": "greeting", "arguments": {"name": "Ada"}}),
        )
        .await;
    assert_eq!(
        prompt["result"]["messages"][0]["content"]["text"],
        "Greet Ada."
    );
    let complete = |kind: &str, value: &str| json!({"ref": {"type": kind, "name": "greeting"}, "argument": {"name": "name", "value": value}});
    let answer = client
        .ask("completion/complete", complete("ref/prompt", "guest-24"))
        .await;
    assert_eq!(
        answer["result"]["completion"]["values"]
            .as_array()
            .expect("values")
            .len(),
        11
    );
    let answer = client
        .ask("completion/complete", complete("ref/prompt", "guest"))
        .await;
    assert_eq!(
        answer["result"]["completion"]["values"]
            .as_array()
            .expect("values")
            .len(),
        100
    );
    assert_eq!(answer["result"]["completion"]["total"], 250);
    assert_eq!(answer["result"]["completion"]["hasMore"], true);
    assert_eq!(
        client
            .ask("completion/complete", complete("ref/other", ""))
            .await["error"]["code"],
        -32602
    );
}

#[tokio::test]
async fn progress_is_streamed_before_the_answer_to_those_who_read_streams() {
    let served = Served::start().await;
    let mut client = served.client();
    client.initialize().await;
    let with_progress =
        json!({"name": "count", "arguments": {"steps": 3}, "_meta": {"progressToken": "p"}});

    client.accept = Some("application/json, text/event-stream");
    let answer = client
        .post(request("tools/call", with_progress.clone()))
        .await;
    assert_eq!(
        answer.headers()["content-type"],
        "text/event-stream; charset=utf-8"
    );
    assert_eq!(answer.headers()["x-accel-buffering"], "no");
    let messages = events(&answer.text().await.expect("body"));
    let steps: Vec<&Value> = messages
        .iter()
        .filter(|message| message["method"] == "notifications/progress")
        .collect();
    assert_eq!(steps.len(), 3);
    assert_eq!(
        steps[2]["params"],
        json!({"progressToken": "p", "progress": 3.0, "total": 3.0, "message": "step 3"})
    );
    let last = messages.last().expect("an answer");
    assert_eq!(last["id"], 7);
    assert_eq!(last["result"]["structuredContent"]["steps"], 3);

    let plain = client.ask("tools/call", json!({"name": "count"})).await;
    assert_eq!(
        plain["result"]["structuredContent"]["steps"], 3,
        "without a token the answer is plain JSON"
    );
    client.accept = Some("application/json");
    assert_eq!(
        client.ask("tools/call", with_progress).await["result"]["structuredContent"]["caller"],
        "service"
    );
    client.accept = Some("text/event-stream");
    let answer = client.post(request("ping", json!({}))).await;
    assert_eq!(
        events(&answer.text().await.expect("body"))[0]["result"],
        json!({})
    );
}
