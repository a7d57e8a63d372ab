//! The client of the script, and the bridge that it talks to.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use mock_station::model::accounts;
use mock_station::server::MockStation;
use niagara_bridge::cli::assembly::assemble;
use niagara_bridge::cli::serve::start_http;
use niagara_bridge::config::Config;
use niagara_bridge::config::load::Settings;
use niagara_bridge::mcp::http::HttpServer;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

const TOKEN: &str = "black-box-token-0123456789abcdef-0123456789";

/// The client's own patience: every call has to answer within it.
const PATIENCE: Duration = Duration::from_secs(10);

/// A bridge to the sample station, both running until the end of the test.
pub struct Bridge {
    runtime: Runtime,
    station: MockStation,
    server: HttpServer,
    _data: tempfile::TempDir,
}

impl Bridge {
    pub fn start() -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let data = tempfile::tempdir().expect("a folder");
        let (station, server) = runtime.block_on(async {
            let station = MockStation::builder().start().await.expect("station");
            let account = accounts::BRIDGE;
            let document = json!({
                "listen": "127.0.0.1:0",
                "apiToken": TOKEN,
                "dataDir": data.path(),
                "station": { "url": station.url(), "user": account.user, "password": account.password },
                "limits": { "requestsPerSecond": 0, "inboundPerPrincipal": 0, "inboundPerAddress": 0 },
            });
            let mut settings = Settings::empty("the test".into());
            settings
                .read_text("the test", &document.to_string())
                .expect("settings");
            let config = Config::from_settings(&settings).expect("config");
            let assembly = assemble(&config).expect("assembly");
            let started = start_http(assembly, &config, CancellationToken::new()).await;
            (station, started.expect("server").0)
        });
        Self {
            runtime,
            station,
            server,
            _data: data,
        }
    }

    pub fn client(&self) -> Client {
        Client::at(self.server.address(), TOKEN)
    }

    pub fn stop(self) {
        self.runtime.block_on(async {
            self.server.stop().await;
            self.station.shutdown().await;
        });
    }
}

/// One answer; header names are as they were sent.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HashMap<String, String>,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The session header in one of the two spellings that the client knows.
    pub fn session(&self) -> Option<&String> {
        let known = ["Mcp-Session-Id", "mcp-session-id"];
        known.into_iter().find_map(|name| self.headers.get(name))
    }
}

/// A client that sends what it is told to, on one connection per request.
pub struct Client {
    address: SocketAddr,
    pub authorization: Option<String>,
    pub session: Option<String>,
    last_id: u64,
}

impl Client {
    /// A client of a bridge that listens there.
    pub fn at(address: SocketAddr, token: &str) -> Self {
        Self {
            address,
            authorization: Some(format!("Bearer {token}")),
            session: None,
            last_id: 0,
        }
    }

    /// Sends a request and leaves the answer unread.
    fn send(&self, method: &str, path: &str, body: Option<&str>) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(self.address).expect("connect");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let mut head = format!(
            "{method} /niagaramcp{path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n",
            self.address
        );
        if let Some(authorization) = &self.authorization {
            head += &format!("Authorization: {authorization}\r\n");
        }
        if let Some(session) = &self.session {
            head += &format!("Mcp-Session-Id: {session}\r\n");
        }
        if let Some(body) = body {
            head += &format!(
                "Content-Type: application/json\r\nContent-Length: {}\r\n",
                body.len()
            );
        }
        head += "\r\n";
        stream.write_all(head.as_bytes()).expect("write");
        stream
            .write_all(body.unwrap_or_default().as_bytes())
            .expect("write");
        BufReader::new(stream)
    }

    pub fn exchange(&self, method: &str, path: &str, body: Option<&str>) -> Answer {
        let mut stream = self.send(method, path, body);
        let (status, headers) = head(&mut stream);
        let body = body_text(&mut stream, &headers);
        Answer {
            status,
            headers,
            body,
        }
    }

    pub fn post(&mut self, method: &str, params: Value) -> Answer {
        self.last_id += 1;
        let message =
            json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params});
        self.exchange("POST", "/mcp", Some(&message.to_string()))
    }

    /// Opens a session and keeps its id; answers the result of `initialize`.
    pub fn initialize(&mut self) -> Value {
        let asked = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "black box", "version": "1" },
        });
        let answer = self.post("initialize", asked);
        assert_eq!(answer.status, 200, "{answer:?}");
        self.session = answer.session().cloned();
        assert!(self.session.is_some(), "no session header: {answer:?}");
        answer.json()["result"].clone()
    }

    /// The result of a method.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let answer = self.post(method, params);
        assert_eq!(answer.status, 200, "{answer:?}");
        let mut body = answer.json();
        assert_eq!(body["id"], self.last_id, "{body}");
        assert!(body.get("error").is_none(), "{method}: {body}");
        body["result"].take()
    }

    /// The result of a tool.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// The structured content of a tool that must work.
    pub fn facts(&mut self, tool: &str, arguments: Value) -> Value {
        let mut answer = self.call(tool, arguments);
        assert_eq!(answer["isError"], false, "{tool}: {answer}");
        answer["structuredContent"].take()
    }

    /// Opens an event stream; its lines come as they are sent.
    pub fn stream(&self, path: &str) -> (u16, Events) {
        let mut stream = self.send("GET", path, None);
        let (status, headers) = head(&mut stream);
        assert_eq!(
            headers.get("transfer-encoding").map(String::as_str),
            Some("chunked"),
            "{headers:?}"
        );
        (status, Events(stream))
    }
}

/// The lines of an open event stream.
pub struct Events(BufReader<TcpStream>);

impl Events {
    /// The data of the next event.
    pub fn next_data(&mut self) -> String {
        loop {
            // Chunk sizes and line ends between chunks are lines without a prefix.
            let line = line(&mut self.0);
            if let Some(data) = line.strip_prefix("data: ") {
                return data.to_owned();
            }
        }
    }
}

fn line(stream: &mut BufReader<TcpStream>) -> String {
    let mut line = String::new();
    let length = stream.read_line(&mut line).expect("read");
    assert_ne!(length, 0, "the connection was closed");
    line.trim_end().to_owned()
}

fn head(stream: &mut BufReader<TcpStream>) -> (u16, HashMap<String, String>) {
    let status = line(stream);
    let status = status.split(' ').nth(1).and_then(|code| code.parse().ok());
    let mut headers = HashMap::new();
    loop {
        let line = line(stream);
        let Some((name, value)) = line.split_once(": ") else {
            assert_eq!(line, "", "a header has a value");
            return (status.expect("a status"), headers);
        };
        headers.insert(name.to_owned(), value.to_owned());
    }
}

fn body_text(stream: &mut BufReader<TcpStream>, headers: &HashMap<String, String>) -> String {
    let mut body = Vec::new();
    if headers.contains_key("transfer-encoding") {
        loop {
            let size = usize::from_str_radix(&line(stream), 16).expect("a chunk size");
            let start = body.len();
            body.resize(start + size, 0);
            stream.read_exact(&mut body[start..]).expect("a chunk");
            line_end(stream);
            if size == 0 {
                break;
            }
        }
    } else {
        stream.read_to_end(&mut body).expect("a body");
    }
    String::from_utf8(body).expect("UTF-8")
}

fn line_end(stream: &mut BufReader<TcpStream>) {
    let mut end = String::new();
    stream.read_line(&mut end).expect("read");
    assert_eq!(end, "\r\n");
}
