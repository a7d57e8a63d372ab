//! Streams: what the server says outside its answers, and the older transport (Tool surface §1.2, §1.3).

use niagara_bridge::mcp::http::HttpOptions;
use reqwest::StatusCode;
use serde_json::json;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::support::{OTHER_TOKEN, Served, events, json_body, request};

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
