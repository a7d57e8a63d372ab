//! The capabilities alone over standard input and output, in both eras of the protocol.

use std::sync::Arc;

use niagara_bridge::camber::call::Call;
use niagara_bridge::camber::{
    CallerPolicy, Capability, CapabilityDefinition, CapabilityError, CapabilityRegistry,
    CapabilityResult, CapabilityService,
};
use niagara_bridge::mcp::capability_stdio::serve;
use niagara_bridge::schema::StoredSchema;
use serde_json::{Map, Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::store_yard::StoreYard;

/// Works until nobody waits for it any longer.
struct Endless;

impl Capability for Endless {
    fn definition(&self) -> CapabilityDefinition {
        CapabilityDefinition {
            name: "endless",
            title: "Endless",
            description: "Never ends by itself.",
            input_schema: StoredSchema::from(json!({"type": "object"})),
            output_schema: StoredSchema::from(json!({"type": "object"})),
            long_running: true,
            reads_store: false,
            own_output: &[],
        }
    }

    fn run(
        &self,
        call: &Call<'_>,
        _arguments: &Map<String, Value>,
    ) -> Result<CapabilityResult, CapabilityError> {
        loop {
            call.watch.check()?;
            std::thread::yield_now();
        }
    }
}

struct Client {
    requests: WriteHalf<DuplexStream>,
    answers: Lines<BufReader<ReadHalf<DuplexStream>>>,
    served: JoinHandle<std::io::Result<()>>,
    _yard: StoreYard,
}

impl Client {
    fn new() -> Self {
        let yard = StoreYard::with_a_day();
        let service = CapabilityService::start(yard.workspace()).expect("a service");
        Self::of(yard, service)
    }

    fn of(yard: StoreYard, service: CapabilityService) -> Self {
        let service = Arc::new(service);
        let (client, server) = tokio::io::duplex(1 << 22);
        let (input, output) = tokio::io::split(server);
        let caller = CallerPolicy::of(["hq"]);
        let served = tokio::spawn(serve(
            service,
            caller,
            input,
            output,
            CancellationToken::new(),
        ));
        let (answers, requests) = tokio::io::split(client);
        Self {
            requests,
            answers: BufReader::new(answers).lines(),
            served,
            _yard: yard,
        }
    }

    async fn send(&mut self, line: &[u8]) {
        self.requests.write_all(line).await.expect("write");
        self.requests.write_all(b"\n").await.expect("write");
    }

    async fn receive(&mut self) -> Value {
        let line = self
            .answers
            .next_line()
            .await
            .expect("read")
            .expect("a line");
        serde_json::from_str(&line).expect("JSON")
    }

    async fn ask(&mut self, message: &Value) -> Value {
        self.send(message.to_string().as_bytes()).await;
        self.receive().await
    }

    async fn request(&mut self, method: &str, params: Value) -> Value {
        self.ask(&json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}))
            .await
    }

    async fn modern(&mut self, method: &str, mut params: Value) -> Value {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        self.request(method, params).await
    }
}

#[tokio::test]
async fn the_older_era_begins_with_initialize() {
    let mut client = Client::new();
    let early = client.request("tools/list", json!({})).await;
    assert_eq!(early["error"]["code"], -32602, "{early}");
    assert_eq!(client.request("ping", json!({})).await["result"], json!({}));
    for (asked, agreed) in [
        (json!("2025-06-18"), "2025-06-18"),
        (json!("2026-07-28"), "2025-11-25"),
        (json!("1999-01-01"), "2025-11-25"),
    ] {
        let hello = client
            .request("initialize", json!({"protocolVersion": asked}))
            .await;
        assert_eq!(hello["result"]["protocolVersion"], agreed);
        assert_eq!(
            hello["result"]["capabilities"],
            json!({"tools": {}, "prompts": {}})
        );
    }
    assert_eq!(
        client
            .request("initialize", json!({"protocolVersion": 1}))
            .await["error"]["code"],
        -32602
    );
    let tools = client.request("tools/list", json!({})).await;
    let known = CapabilityRegistry::built_in().expect("a registry");
    assert_eq!(
        tools["result"]["tools"].as_array().map(Vec::len),
        Some(known.definitions().count())
    );
    assert!(tools["result"].get("ttlMs").is_none());
    assert_eq!(
        client.request("tools/list", json!({"cursor": "x"})).await["error"]["code"],
        -32602
    );
    assert_eq!(
        client.request("server/discover", json!({})).await["error"]["code"],
        -32601
    );
    let points = client
        .request(
            "tools/call",
            json!({"name": "points", "arguments": {"facility_id": "hq"}}),
        )
        .await;
    assert_eq!(points["result"]["structuredContent"]["count"], 4);
    assert!(points["result"]["_meta"]["camber/facts"].is_array());
    let refused = client
        .request(
            "tools/call",
            json!({"name": "points", "arguments": {"facility_id": "annex"}}),
        )
        .await;
    assert_eq!(refused["result"]["isError"], true);
    for params in [
        json!({"name": "walk"}),
        json!({}),
        json!({"name": "points", "arguments": []}),
    ] {
        assert_eq!(
            client.request("tools/call", params).await["error"]["code"],
            -32602
        );
    }
    let prompts = client.request("prompts/list", json!({})).await;
    let names: Vec<&str> = prompts["result"]["prompts"]
        .as_array()
        .expect("prompts")
        .iter()
        .filter_map(|prompt| prompt["name"].as_str())
        .collect();
    assert!(
        names.is_sorted() && names.contains(&"sensor_trust_review"),
        "{names:?}"
    );
    assert_eq!(
        client
            .request("prompts/get", json!({"name": "triage_ahu"}))
            .await["error"]["code"],
        -32602
    );
}

#[tokio::test]
async fn the_newer_era_needs_nothing_before_a_request() {
    let mut client = Client::new();
    let found = client.modern("server/discover", json!({})).await;
    assert_eq!(
        found["result"]["supportedVersions"],
        json!(["2026-07-28", "2025-11-25", "2025-06-18"])
    );
    assert_eq!(found["result"]["resultType"], "complete");
    assert_eq!(found["result"]["ttlMs"], 300_000);
    let call = client
        .modern(
            "tools/call",
            json!({"name": "points", "arguments": {"facility_id": "annex"}}),
        )
        .await;
    let meta = &call["result"]["_meta"];
    assert_eq!(meta["camber/error"]["code"], "not_allowed");
    assert!(meta["io.modelcontextprotocol/serverInfo"].is_object());
    assert_eq!(
        client.modern("ping", json!({})).await["error"]["code"],
        -32601
    );
    let strange = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2031-01-01"}});
    let refused = client.request("tools/list", strange).await;
    assert_eq!(refused["error"]["code"], -32022);
    assert_eq!(refused["error"]["data"]["requested"], "2031-01-01");
    let bare = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}});
    assert_eq!(
        client.request("tools/list", bare).await["error"]["code"],
        -32602
    );
}

#[tokio::test]
async fn bad_lines_are_told_and_survived_and_the_end_of_input_is_the_end() {
    let mut client = Client::new();
    for (line, code) in [
        (&b"not json"[..], -32700),
        (b"\xff\xfe", -32700),
        (b"[]", -32600),
        (br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
        (br#"{"jsonrpc":"1.0","method":"ping"}"#, -32600),
    ] {
        client.send(line).await;
        let answer = client.receive().await;
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert!(answer.get("id").is_none(), "{answer}");
    }
    let long = format!("\"{}\"", "x".repeat(1_048_577));
    client.send(long.as_bytes()).await;
    assert_eq!(client.receive().await["error"]["code"], -32600);
    client.send(b"").await;
    client
        .send(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    client
        .send(br#"{"jsonrpc":"2.0","id":1,"result":{}}"#)
        .await;
    client
        .send(br#"{"jsonrpc":"2.0","id":"last","method":"ping"}"#)
        .await;
    client.requests.shutdown().await.expect("the end");
    assert_eq!(client.receive().await["id"], "last");
    client
        .served
        .await
        .expect("a task")
        .expect("an orderly end");
}

#[tokio::test]
async fn a_call_that_its_client_takes_back_ends_and_gets_no_answer() {
    let yard = StoreYard::new();
    let registry =
        CapabilityRegistry::of([Box::new(Endless) as Box<dyn Capability>]).expect("a registry");
    let service = CapabilityService::with(registry, yard.workspace()).expect("a service");
    let mut client = Client::of(yard, service);
    client
        .request("initialize", json!({"protocolVersion": "2025-11-25"}))
        .await;
    // The second waits for the first, and is taken back before its turn.
    for id in ["first", "second"] {
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "endless"}});
        client.send(call.to_string().as_bytes()).await;
    }
    for id in ["second", "first"] {
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
        client.send(cancel.to_string().as_bytes()).await;
    }
    let next = client.request("ping", json!({})).await;
    assert_eq!((&next["id"], &next["result"]), (&json!(7), &json!({})));
}
