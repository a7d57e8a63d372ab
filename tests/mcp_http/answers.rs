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
async fn any_json_id_comes_back_as_it_was_sent() {
    let served = Served::start().await;
    let mut client = served.client();
    client.initialize().await;
    for id in [
        json!("a"),
        json!(1.5),
        json!(u64::MAX),
        Value::Null,
        json!({"k": [1]}),
    ] {
        let answer = client
            .post(json!({"jsonrpc": "2.0", "id": id, "method": "ping"}))
            .await;
        let answer = json_body(answer).await;
        assert_eq!(answer["id"], id);
        assert_eq!(members(&answer).len(), 3);
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
