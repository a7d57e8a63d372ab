//! The MCP surface over real HTTP: sessions, checks, errors, replies (Tool surface §1, §2, §5, §14).

mod support;

use niagara_bridge::mcp::http::HttpOptions;
use niagara_bridge::mcp::http::checks::InboundLimits;
use reqwest::StatusCode;
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use std::time::Duration;
use support::{Client, OTHER_TOKEN, Served, TOKEN, events, json_body, members, request};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const UNKNOWN_SESSION: &str = "00000000-0000-0000-0000-000000000000";

#[tokio::test]
async fn a_client_of_the_old_module_works_unchanged() {
    let served = Served::start().await;
    let mut client = served.client();
    let initialized = client.initialize().await;
    assert_eq!(initialized["protocolVersion"], "2025-06-18");
    assert_eq!(initialized["serverInfo"]["name"], "niagaramcp");
    assert_eq!(
        initialized["serverInfo"]["transports"],
        json!(["sse", "streamable-http"])
    );

    let note = client
        .post(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        .await;
    assert_eq!(note.status(), StatusCode::ACCEPTED);
    assert_eq!(note.headers()["content-type"], "text/plain; charset=utf-8");
    assert_eq!(note.text().await.expect("body"), "");

    let tools = client.ask("tools/list", json!({"cursor": "ignored"})).await;
    assert_eq!(tools["id"], 7);
    let echo = &tools["result"]["tools"][0];
    assert_eq!(echo["name"], "echo");
    assert_eq!(echo["category"], "transport-test");
    assert_eq!(echo["requiresUserContext"], false);
    assert_eq!(echo["annotations"]["readOnlyHint"], true);
    assert_eq!(echo["annotations"]["openWorldHint"], false);

    let answer = client.call("echo", json!({"msg": "hello"})).await;
    assert_eq!(answer["content"][0]["text"], "hello");
    assert_eq!(answer["isError"], false);

    let session = client.session.clone().expect("session");
    for _ in 0..2 {
        let deleted = client
            .headers(client.http.delete(&client.endpoint))
            .send()
            .await
            .expect("answer");
        assert_eq!(deleted.status(), StatusCode::NO_CONTENT);
    }
    let gone = client.post(request("ping", json!({}))).await;
    assert_eq!(gone.status(), StatusCode::NOT_FOUND);
    let gone = json_body(gone).await;
    assert_eq!(gone["error"]["code"], -32001);
    assert_eq!(gone["error"]["data"]["sessionId"], session);
}

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
async fn sessions_are_asked_for_in_the_documented_order() {
    let served = Served::start().await;
    let mut client = served.client();
    let uninvited = client.post(request("tools/list", json!({}))).await;
    assert_eq!(uninvited.status(), StatusCode::BAD_REQUEST);
    assert!(uninvited.text().await.expect("body").contains("initialize"));

    client.session = Some(UNKNOWN_SESSION.into());
    for method in ["ping", "initialize"] {
        assert_eq!(
            client.post(request(method, json!({}))).await.status(),
            StatusCode::NOT_FOUND,
            "{method}"
        );
    }
    for (body, code) in [
        ("not json", -32700),
        ("", -32700),
        ("[]", -32600),
        ("{\"id\":1}", -32600),
    ] {
        let refused = client.post_text(body).await;
        assert_eq!(
            refused.status(),
            StatusCode::BAD_REQUEST,
            "bad JSON wins over a bad session"
        );
        let refused = json_body(refused).await;
        assert_eq!(refused["error"]["code"], code, "{body}");
        assert_eq!(refused["id"], Value::Null);
    }
    let stream = client
        .headers(client.http.get(&client.endpoint))
        .send()
        .await
        .expect("answer");
    assert_eq!(stream.status(), StatusCode::NOT_FOUND);
    let deleted = client
        .headers(client.http.delete(&client.endpoint))
        .send()
        .await
        .expect("answer");
    assert_eq!(
        deleted.status(),
        StatusCode::NO_CONTENT,
        "DELETE is idempotent"
    );
    client.session = None;
    for method in [reqwest::Method::GET, reqwest::Method::DELETE] {
        let refused = client
            .headers(client.http.request(method, &client.endpoint))
            .send()
            .await
            .expect("answer");
        assert_eq!(refused.status(), StatusCode::BAD_REQUEST);
    }
}

#[tokio::test]
async fn a_repeated_initialize_and_calls_before_initialized_are_served() {
    let served = Served::start().await;
    let mut client = served.client();
    let first = client.initialize().await;
    let again = client
        .ask("initialize", json!({"protocolVersion": "2025-06-18"}))
        .await;
    assert_eq!(again["result"], first);
    assert_eq!(client.ask("ping", json!({})).await["result"], json!({}));
    assert_eq!(served.bridge_sessions(), 1);
}

impl Served {
    fn bridge_sessions(&self) -> usize {
        use niagara_bridge::tools::ServerFacts;
        self.bridge.sessions().total()
    }
}

#[tokio::test]
async fn only_a_client_that_asks_gets_the_newer_revision() {
    let served = Served::start().await;
    let client = served.client();
    for (asked, agreed) in [
        (json!({}), "2025-06-18"),
        (json!({"protocolVersion": "2025-11-25"}), "2025-11-25"),
        (json!([]), "2025-06-18"),
    ] {
        let answer = client.ask("initialize", asked).await;
        assert_eq!(answer["result"]["protocolVersion"], agreed);
    }
    let sent = |revision: &str| {
        let request_body = request("initialize", json!({})).to_string();
        client
            .headers(client.http.post(&client.endpoint))
            .header("MCP-Protocol-Version", revision)
            .body(request_body)
            .send()
    };
    assert_eq!(
        sent("2025-03-26").await.expect("answer").status(),
        StatusCode::OK
    );
    let refused = sent("1999-01-01").await.expect("answer");
    assert_eq!(refused.status(), StatusCode::BAD_REQUEST);
    assert_eq!(
        json_body(refused).await["error"]["data"]["requested"],
        "1999-01-01"
    );
}

#[tokio::test]
async fn a_session_belongs_to_its_caller() {
    let served = Served::start().await;
    let mut owner = served.client();
    owner.initialize().await;
    let mut other = Client::new(served.server.endpoint(), OTHER_TOKEN);
    other.session = owner.session.clone();
    assert_eq!(
        other.post(request("ping", json!({}))).await.status(),
        StatusCode::NOT_FOUND
    );
    let deleted = other
        .headers(other.http.delete(&other.endpoint))
        .send()
        .await
        .expect("answer");
    assert_eq!(deleted.status(), StatusCode::NO_CONTENT);
    assert_eq!(
        owner.ask("ping", json!({})).await["result"],
        json!({}),
        "somebody else cannot end the session"
    );
}

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
async fn the_server_stream_says_that_it_works_and_ends() {
    let served = Served::start().await;
    let mut client = served.client();
    client.initialize().await;
    let stream = client
        .headers(client.http.get(&client.endpoint))
        .send()
        .await
        .expect("answer");
    assert_eq!(stream.status(), StatusCode::OK);
    assert_eq!(
        stream.headers()["content-type"],
        "text/event-stream; charset=utf-8"
    );
    assert_eq!(stream.headers()["cache-control"], "no-cache");
    assert_eq!(stream.text().await.expect("body"), ": stream-open\n\n");
}

#[tokio::test]
async fn a_client_that_reads_event_streams_is_told_which_lists_changed() {
    let served = Served::start().await;
    let mut client = served.client();
    let initialized = client.initialize().await;
    for list in ["tools", "resources"] {
        assert_eq!(initialized["capabilities"][list]["listChanged"], true);
    }
    assert_eq!(initialized["capabilities"]["prompts"], json!({}));
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(client.post(ready).await.status(), StatusCode::ACCEPTED);
    client.accept = Some("text/event-stream");
    let open = client.headers(client.http.get(&client.endpoint));
    let mut stream = open.send().await.expect("answer");
    let mut waiting = String::new();
    assert_eq!(next_event(&mut stream, &mut waiting).await, ": stream-open");
    // Its answer shows that the session has taken the notification before it.
    client.accept = None;
    client.ask("ping", json!({})).await;
    served.bridge.resources_changed();
    let told = next_event(&mut stream, &mut waiting).await;
    assert_eq!(
        events(&format!("{told}\n\n"))[0]["method"],
        "notifications/resources/list_changed"
    );
    served.bridge.tools_changed();
    let told = next_event(&mut stream, &mut waiting).await;
    assert_eq!(
        events(&format!("{told}\n\n"))[0]["method"],
        "notifications/tools/list_changed"
    );
    served.server.stop().await;
    assert_eq!(stream.chunk().await.expect("the end"), None);
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
    assert!(
        answer
            .text()
            .await
            .expect("body")
            .contains("/niagaramcp/other")
    );
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
    assert_eq!(
        client.post(huge).await.status(),
        StatusCode::PAYLOAD_TOO_LARGE
    );
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

/// The next event or comment of a stream.
async fn next_event(stream: &mut reqwest::Response, waiting: &mut String) -> String {
    loop {
        if let Some((event, rest)) = waiting.split_once("\n\n") {
            let event = event.to_owned();
            *waiting = rest.to_owned();
            return event;
        }
        let piece = stream
            .chunk()
            .await
            .expect("read")
            .expect("the stream goes on");
        waiting.push_str(std::str::from_utf8(&piece).expect("UTF-8"));
    }
}

#[tokio::test]
async fn a_client_of_the_older_transport_is_served() {
    let served = Served::start().await;
    let client = served.client();
    let base = served.server.endpoint().replace("/mcp", "");
    let open = client.headers(client.http.get(format!("{base}/sse")));
    let mut stream = open.send().await.expect("answer");
    assert_eq!(
        stream.headers()["content-type"],
        "text/event-stream; charset=utf-8"
    );
    let mut waiting = String::new();
    let first = next_event(&mut stream, &mut waiting).await;
    let path = first
        .strip_prefix("event: endpoint\ndata: ")
        .expect("the endpoint comes first");
    assert!(
        path.starts_with("/niagaramcp/messages?sessionId="),
        "a server-relative path: {path}"
    );
    assert_eq!(served.bridge_sessions(), 1);

    let messages = format!("http://{}{path}", served.server.address());
    let send = |body: String| {
        client
            .headers(client.http.post(&messages))
            .body(body)
            .send()
    };
    let asked = json!({"protocolVersion": "2024-11-05"});
    let accepted = send(request("initialize", asked).to_string())
        .await
        .expect("answer");
    assert_eq!(accepted.status(), StatusCode::ACCEPTED);
    let answer = &events(&(next_event(&mut stream, &mut waiting).await + "\n\n"))[0];
    assert_eq!(answer["id"], 7);
    assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    send(ready.to_string()).await.expect("answer");
    send(request("ping", json!({})).to_string())
        .await
        .expect("answer");
    next_event(&mut stream, &mut waiting).await;
    served.bridge.resources_changed();
    let told = &events(&(next_event(&mut stream, &mut waiting).await + "\n\n"))[0];
    assert_eq!(told["method"], "notifications/resources/list_changed");
    assert_eq!(
        send("no json".into()).await.expect("answer").status(),
        StatusCode::BAD_REQUEST
    );

    let session = path.split('=').next_back().expect("id").to_owned();
    let mut crossed = client.clone();
    crossed.session = Some(session.clone());
    let refused = crossed.post(request("ping", json!({}))).await;
    assert_eq!(
        refused.status(),
        StatusCode::NOT_FOUND,
        "not a session of the other transport"
    );
    let mut stranger = client.clone();
    stranger.token = OTHER_TOKEN.into();
    let refused = stranger
        .headers(client.http.post(&messages))
        .body("{}")
        .send();
    assert_eq!(
        refused.await.expect("answer").status(),
        StatusCode::NOT_FOUND
    );
    for (query, status) in [
        ("", StatusCode::BAD_REQUEST),
        ("?sessionId=x", StatusCode::NOT_FOUND),
    ] {
        let post = client
            .http
            .post(format!("{base}/messages{query}"))
            .body("no json");
        let answer = client.headers(post).send().await.expect("answer");
        assert_eq!(answer.status(), status, "the session comes before the body");
    }

    let deleted = crossed.headers(crossed.http.delete(&crossed.endpoint));
    assert_eq!(
        deleted.send().await.expect("answer").status(),
        StatusCode::NO_CONTENT
    );
    assert!(
        stream.chunk().await.expect("read").is_none(),
        "its stream ends"
    );
    assert_eq!(served.bridge_sessions(), 0);
}

#[tokio::test]
async fn a_quiet_stream_shows_signs_of_life_and_can_be_switched_off() {
    let options = HttpOptions {
        sse_heartbeat: Duration::ZERO,
        ..HttpOptions::default()
    };
    let served = Served::with(options).await;
    let client = served.client();
    let address = served.server.endpoint().replace("/mcp", "/sse");
    let mut stream = client
        .headers(client.http.get(&address))
        .send()
        .await
        .expect("answer");
    let mut waiting = String::new();
    assert!(
        next_event(&mut stream, &mut waiting)
            .await
            .starts_with("event: endpoint")
    );
    assert_eq!(next_event(&mut stream, &mut waiting).await, ": ping");
    served.bridge.switches.sse.store(false, Ordering::Relaxed);
    let off = client
        .headers(client.http.get(&address))
        .send()
        .await
        .expect("answer");
    assert_eq!(off.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(
        json_body(off).await["error"]["data"],
        json!({"transport": "sse"})
    );
}
