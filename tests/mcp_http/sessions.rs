//! Sessions: opened, found, asked for in the documented order, bound to their caller (Tool surface §1.2, §2).

use reqwest::StatusCode;
use serde_json::{Value, json};

use super::support::{Client, OTHER_TOKEN, Served, json_body, request};

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
    for (body, code, id) in [
        ("not json", -32700, Value::Null),
        ("", -32700, Value::Null),
        ("[]", -32600, Value::Null),
        ("{\"id\":1}", -32600, json!(1)),
    ] {
        let refused = client.post_text(body).await;
        assert_eq!(
            refused.status(),
            StatusCode::BAD_REQUEST,
            "bad JSON wins over a bad session"
        );
        let refused = json_body(refused).await;
        assert_eq!(refused["error"]["code"], code, "{body}");
        assert_eq!(refused["id"], id, "{body}");
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
    pub fn bridge_sessions(&self) -> usize {
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
