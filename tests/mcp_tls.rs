//! The bridge over HTTPS: a made certificate, one from files that is replaced, and clients that trust it.

mod support;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use niagara_bridge::cli::assembly::assemble;
use niagara_bridge::cli::serve::start_http;
use niagara_bridge::config::load::Settings;
use niagara_bridge::config::{Config, Secret};
use niagara_bridge::mcp::http::HttpServer;
use niagara_bridge::mcp::http::certificate::{CertificateSource, Certificates};
use niagara_bridge::mcp::relay::Relay;
use niagara_bridge::station::http::{Trust, fingerprint_of};
use rustls::pki_types::ServerName;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use serde_json::{Value, json};
use support::{Client, TOKEN, request};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::sync::CancellationToken;

/// A bridge that serves HTTPS; its station is never asked.
struct Running {
    folder: TempDir,
    server: HttpServer,
}

impl Running {
    async fn start(folder: TempDir, tls: Value) -> Self {
        let settings = json!({
            "apiToken": TOKEN,
            "listen": "127.0.0.1:0",
            "dataDir": folder.path().join("data"),
            "station": { "url": "http://127.0.0.1:9", "user": "bridge", "password": "secret" },
            "tls": tls,
        });
        let config = configuration(&settings);
        let (server, _station) = start_http(
            assemble(&config).expect("a bridge"),
            &config,
            CancellationToken::new(),
        )
        .await
        .expect("a bridge on a free port");
        Self { folder, server }
    }

    async fn generated() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Self::start(folder, json!({ "generate": true })).await
    }

    fn certificate(&self) -> PathBuf {
        self.folder.path().join("data/tls-certificate.pem")
    }

    fn client(&self, certificate: &Path) -> Client {
        let mut client = Client::new(self.server.endpoint(), TOKEN);
        let pem = std::fs::read(certificate).expect("the certificate");
        let certificate = reqwest::Certificate::from_pem(&pem).expect("a certificate");
        client.http = reqwest::Client::builder()
            .no_proxy()
            .timeout(Duration::from_secs(20))
            .tls_certs_only([certificate])
            .build()
            .expect("a client");
        client
    }

    async fn connect(
        &self,
        certificate: &Path,
        version: &'static SupportedProtocolVersion,
    ) -> std::io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        let trusted = rustls::pki_types::CertificateDer::from_pem_file(certificate);
        roots.add(trusted.expect("a certificate")).expect("a root");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[version])
            .expect("a version")
            .with_root_certificates(roots)
            .with_no_client_auth();
        let stream = TcpStream::connect(self.server.address()).await?;
        let name = ServerName::try_from("127.0.0.1").expect("a name");
        TlsConnector::from(Arc::new(config))
            .connect(name, stream)
            .await
    }

    /// The answer that a client on standard input gets to its first message.
    async fn relayed(&self, trust: &Trust) -> Value {
        let endpoint = self.server.endpoint().parse().expect("a URL");
        let relay = Relay::new(endpoint, Secret::new(TOKEN), trust).expect("a relay");
        let (client, server) = tokio::io::duplex(1 << 16);
        let (input, output) = tokio::io::split(server);
        let task = tokio::spawn(relay.run(input, output, CancellationToken::new()));
        let (answers, mut requests) = tokio::io::split(client);
        let line = format!("{}\n", request("initialize", json!({})));
        requests.write_all(line.as_bytes()).await.expect("write");
        let mut answers = BufReader::new(answers).lines();
        let answer = answers.next_line().await.expect("read").expect("a line");
        requests.shutdown().await.expect("end of input");
        task.await.expect("task").expect("relay");
        serde_json::from_str(&answer).expect("JSON")
    }
}

fn configuration(settings: &Value) -> Config {
    let mut read = Settings::empty("the test".into());
    read.read_text("the test", &settings.to_string())
        .expect("settings");
    Config::from_settings(&read).expect("a configuration")
}

fn served_fingerprint(stream: &TlsStream<TcpStream>) -> String {
    let chain = stream.get_ref().1.peer_certificates().expect("a chain");
    fingerprint_of(&chain[0])
}

#[tokio::test]
async fn a_client_that_trusts_the_made_certificate_works_over_https() {
    let running = Running::generated().await;
    assert!(running.server.endpoint().starts_with("https://127.0.0.1:"));
    let mut client = running.client(&running.certificate());
    client.initialize().await;
    let echoed = client.call("echo", json!({ "msg": "hi" })).await;
    assert_eq!(echoed["content"][0]["text"], "hi", "{echoed}");
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let stream = running.connect(&running.certificate(), version).await;
        let stream = stream.expect("a handshake");
        assert_eq!(stream.get_ref().1.protocol_version(), Some(version.version));
    }
}

#[tokio::test]
async fn the_relay_trusts_by_file_or_by_fingerprint_and_says_what_to_give_otherwise() {
    let running = Running::generated().await;
    let source = CertificateSource::Generated {
        folder: running.folder.path().join("data"),
        names: vec!["localhost".into()],
    };
    let fingerprint = Certificates::open(&source).expect("kept").fingerprint();
    let pinned = Trust::pinned(&fingerprint).expect("a fingerprint");
    for trust in [pinned, Trust::CaFile(running.certificate())] {
        let answer = running.relayed(&trust).await;
        assert_eq!(
            answer["result"]["serverInfo"]["name"], "niagaramcp",
            "{answer}"
        );
    }
    let wrong = Trust::pinned(&"ab".repeat(32)).expect("a fingerprint");
    for trust in [wrong, Trust::System] {
        let answer = running.relayed(&trust).await;
        let message = answer["error"]["message"].as_str().expect("a message");
        assert!(
            message.contains("not trusted") && message.contains("--fingerprint"),
            "{message}"
        );
    }
}

#[tokio::test]
async fn plain_http_on_the_tls_port_is_told_to_use_https() {
    let running = Running::generated().await;
    let mut stream = TcpStream::connect(running.server.address())
        .await
        .expect("a connection");
    stream
        .write_all(
            b"POST /niagaramcp/mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}",
        )
        .await
        .expect("sent");
    let mut answer = String::new();
    stream
        .read_to_string(&mut answer)
        .await
        .expect("a whole answer");
    assert!(
        answer.starts_with("HTTP/1.1 400 Bad Request\r\n"),
        "{answer}"
    );
    assert!(answer.contains("https://"), "{answer}");
}

#[tokio::test]
async fn clients_that_never_finish_their_handshake_hold_nobody_up() {
    let running = Running::generated().await;
    let mut silent = Vec::new();
    for _ in 0..20 {
        let address = running.server.address();
        silent.push(TcpStream::connect(address).await.expect("a connection"));
    }
    let mut half = TcpStream::connect(running.server.address())
        .await
        .expect("a connection");
    half.write_all(&[0x16, 3, 1]).await.expect("half a record");
    let mut client = running.client(&running.certificate());
    client.initialize().await;
    assert_eq!(client.ask("ping", json!({})).await["result"], json!({}));
}

#[tokio::test]
async fn a_replaced_certificate_is_served_without_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let made = |name: &str| {
        let source = CertificateSource::Generated {
            folder: at(name),
            names: vec!["127.0.0.1".into()],
        };
        Certificates::open(&source).expect("made").fingerprint()
    };
    let (old, new) = (made("old"), made("new"));
    for name in ["tls-key.pem", "tls-certificate.pem"] {
        std::fs::copy(at("old").join(name), at(name)).expect("copied");
    }
    let (new_file, old_file) = (at("new/tls-certificate.pem"), at("old/tls-certificate.pem"));
    let tls = json!({ "certFile": at("tls-certificate.pem"), "keyFile": at("tls-key.pem") });
    let running = Running::start(folder, tls).await;
    let before = running
        .connect(&old_file, &rustls::version::TLS13)
        .await
        .expect("a handshake");
    assert_eq!(served_fingerprint(&before), old);

    let at = |name: &str| running.folder.path().join(name);
    for name in ["tls-key.pem", "tls-certificate.pem"] {
        std::fs::rename(at("new").join(name), at(name)).expect("put in place");
    }
    std::fs::copy(at("tls-certificate.pem"), &new_file).expect("a copy to trust");
    let replaced = async {
        loop {
            if let Ok(stream) = running.connect(&new_file, &rustls::version::TLS13).await {
                return stream;
            }
        }
    };
    let after = tokio::time::timeout(Duration::from_secs(20), replaced)
        .await
        .expect("the new certificate is served");
    assert_eq!(served_fingerprint(&after), new);
}
