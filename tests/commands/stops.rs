//! A server that is stopped answers who waits and leaves nothing behind.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

use super::{bridge, text};

/// A station that takes connections and never answers.
fn silent_station() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("address");
    std::thread::spawn(move || {
        let taken: Vec<_> = listener.incoming().collect();
        drop(taken);
    });
    format!("http://{address}")
}

/// A bridge that serves a station, and a session with it.
struct Client {
    bridge: Child,
    /// What the bridge logs after it has told its endpoint.
    log: JoinHandle<std::io::Result<String>>,
    endpoint: String,
    token: String,
    /// The header of the session; empty before there is one.
    session: String,
    _folder: tempfile::TempDir,
}

impl Client {
    fn of_a_bridge_to(station: &Value) -> Self {
        let token = "t".repeat(40);
        let folder = tempfile::tempdir().expect("folder");
        let config = folder.path().join("config.yaml");
        let settings = json!({
            "listen": "127.0.0.1:0",
            "apiToken": token,
            "dataDir": folder.path().join("data"),
            "station": station,
        });
        std::fs::write(&config, settings.to_string()).expect("write");
        let mut bridge = bridge(&["serve", "--log-format", "json", "--config", text(&config)])
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let (endpoint, log) = followed(&mut bridge);
        let mut client = Self {
            bridge,
            log,
            endpoint,
            token,
            session: String::new(),
            _folder: folder,
        };
        let opened = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}});
        let opened = received(client.sent(&opened));
        let session = opened
            .lines()
            .find(|line| line.starts_with("mcp-session-id"))
            .expect("a session");
        client.session = format!("{session}\r\n");
        client
    }

    /// Sends one message on a connection of its own.
    fn sent(&self, body: &Value) -> std::net::TcpStream {
        let rest = self.endpoint.strip_prefix("http://").expect("http");
        let (address, path) = rest.split_once('/').expect("a path");
        let mut stream = std::net::TcpStream::connect(address).expect("connect");
        let body = body.to_string();
        let head = format!(
            "POST /{path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {}\r\n{}\
             connection: close\r\ncontent-length: {}\r\n\r\n",
            self.token,
            self.session,
            body.len()
        );
        stream.write_all(head.as_bytes()).expect("write");
        stream.write_all(body.as_bytes()).expect("write");
        stream
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args([name, &self.bridge.id().to_string()])
            .status();
        assert!(sent.expect("kill").success());
    }
}

fn received(stream: std::net::TcpStream) -> String {
    std::io::read_to_string(stream).expect("an answer")
}

#[test]
fn a_stop_during_a_call_answers_the_client_although_the_station_hangs() {
    let station = json!({ "url": silent_station(), "user": "bridge", "password": "secret" });
    let mut client = Client::of_a_bridge_to(&station);
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "readPoint", "arguments": {"ord": "station:|slot:/A"}}});
    let call = client.sent(&call);
    // Its answer comes after the bridge has begun with the call, which was sent before.
    let ping = json!({"jsonrpc": "2.0", "id": 3, "method": "ping"});
    assert!(received(client.sent(&ping)).contains("200 OK"));
    client.signal("-INT");
    let answer = received(call);
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let (_, answer) = answer.split_once("\r\n\r\n").expect("a body");
    let answer: Value = serde_json::from_str(answer).expect("JSON");
    assert_eq!(answer["id"], 2);
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    assert_eq!(client.bridge.wait().expect("ends").code(), Some(130));
    let log = client.log.join().expect("thread").expect("log");
    assert!(!log.contains("\"level\":\"ERROR\""), "{log}");
}

#[test]
fn a_second_signal_ends_the_farewell_to_a_slow_station_at_once() {
    let folder = tempfile::tempdir().expect("folder");
    let config = folder.path().join("config.yaml");
    let settings = json!({
        "listen": "127.0.0.1:0",
        "apiToken": "t".repeat(40),
        "dataDir": folder.path().join("data"),
        "station": { "url": silent_station(), "user": "bridge", "password": "secret" },
    });
    std::fs::write(&config, settings.to_string()).expect("write");
    let mut child = bridge(&["serve", "--config", text(&config)])
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut log = BufReader::new(child.stderr.take().expect("log"));
    let interrupt = |process: u32| {
        let sent = Command::new("kill")
            .args(["-INT", &process.to_string()])
            .status();
        assert!(sent.expect("kill").success());
    };
    for (said, next) in [
        ("serving", "the end is asked for"),
        ("a second signal ends at once", "and asked for again"),
    ] {
        let mut line = String::new();
        while !line.contains(said) {
            line.clear();
            assert_ne!(
                log.read_line(&mut line).expect("read"),
                0,
                "ended before {next}"
            );
        }
        interrupt(child.id());
    }
    assert_eq!(child.wait().expect("ends").code(), Some(130));
    let rest = std::io::read_to_string(log).expect("log");
    assert!(rest.contains("ended at once by a second signal"), "{rest}");
}

/// The endpoint that a serving bridge names in its JSON log, and the rest of the log, which is read to its end.
fn followed(child: &mut Child) -> (String, JoinHandle<std::io::Result<String>>) {
    let mut log = BufReader::new(child.stderr.take().expect("log"));
    loop {
        let mut line = String::new();
        assert_ne!(log.read_line(&mut line).expect("read"), 0, "ended early");
        let line: Value = serde_json::from_str(&line).expect("a log line is JSON");
        if let Some(endpoint) = line.pointer("/fields/endpoint").or(line.get("endpoint")) {
            let endpoint = endpoint.as_str().expect("text").to_owned();
            return (
                endpoint,
                std::thread::spawn(move || std::io::read_to_string(log)),
            );
        }
    }
}

#[test]
fn a_stop_leaves_nothing_behind_on_the_station() {
    use mock_station::server::MockStation;
    use mock_station::switches::ObixMode;

    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    for obix in [ObixMode::BasicOk, ObixMode::NoServlet] {
        let mock = runtime
            .block_on(MockStation::builder().start())
            .expect("started");
        mock.switches().change(|switches| switches.obix.mode = obix);
        let account = mock_station::model::accounts::BRIDGE;
        let station =
            json!({ "url": mock.url(), "user": account.user, "password": account.password });
        let mut client = Client::of_a_bridge_to(&station);
        let point = "station%3A%7Cslot%3A%2FDrivers%2FBacnetNetwork%2FAHU_1%2Fpoints%2FSupplyTemp";
        let subscribe = json!({"jsonrpc": "2.0", "id": 2, "method": "resources/subscribe",
            "params": {"uri": format!("niagara://point/{point}")}});
        let answer = received(client.sent(&subscribe));
        assert!(answer.contains("\"result\":{}"), "{answer}");
        let deadline = std::time::Instant::now() + Duration::from_secs(30);
        // The route is told once the bridge knows the watch or session: one that it never heard of it cannot end.
        let health = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call",
            "params": {"name": "getServiceHealth", "arguments": {}}});
        loop {
            let answer = received(client.sent(&health));
            let watched = mock.obix_watches() + mock.box_sessions() > 0;
            if watched && (answer.contains("oBIX watch") || answer.contains("BOX subscription")) {
                break;
            }
            assert!(std::time::Instant::now() < deadline, "nothing is watched");
        }
        assert_eq!(mock.sessions(), 1);
        client.signal("-TERM");
        assert_eq!(client.bridge.wait().expect("ends").code(), Some(0));
        assert_eq!(
            (mock.obix_watches(), mock.box_sessions(), mock.sessions()),
            (0, 0, 0),
            "{obix:?}: something remains on the station"
        );
    }
}
