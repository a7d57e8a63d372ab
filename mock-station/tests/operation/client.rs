//! A station with a frozen clock, and a client that shows every octet of an answer.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use chrono::{DateTime, Utc};
use mock_station::clock::TestClock;
use mock_station::faults::{Fault, FaultId};
use mock_station::server::{Builder, MockStation};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// The sample account that logs in by Basic, see `model::accounts::OBIX`.
pub const BASIC: &str = "Authorization: Basic b2JpeDpPYml4LUhhcmJvcnZpZXctMQ==\r\n";

/// A query in the literal path form whose answer is the station's name as CSV.
pub const QUERY: &str = "/ord/station:%7Cslot:/%7Cbql:select%20stationName%20from%20baja:Station%7Cview:file:ITableToCsv";

pub fn noon() -> DateTime<Utc> {
    "2026-03-02T12:00:00Z".parse().unwrap()
}

pub fn builder() -> Builder {
    MockStation::builder().clock(Arc::new(TestClock::at(noon())))
}

pub async fn station() -> MockStation {
    builder().start().await.unwrap()
}

/// Sets a fault that must be possible.
pub fn set(mock: &MockStation, fault: Fault) -> FaultId {
    mock.faults().set(fault).unwrap()
}

/// An answer as it came.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    /// None when the connection closed before the head was complete.
    pub fn parse(octets: &[u8]) -> Option<Self> {
        let end = octets.windows(4).position(|four| four == b"\r\n\r\n")?;
        let head = String::from_utf8(octets[..end + 2].to_vec()).unwrap();
        Some(Self {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            body: octets[end + 4..].to_vec(),
            head,
        })
    }

    /// First header of a name, which is matched in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.split("\r\n").find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            (key.to_ascii_lowercase() == name).then_some(value)
        })
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The id in the answer's session cookie.
    pub fn session(&self) -> Option<String> {
        let (_, rest) = self.head.split_once("JSESSIONID=")?;
        Some(rest.split(';').next().unwrap_or("").to_owned())
    }
}

pub fn request_text(method: &str, target: &str, headers: &str, body: &str) -> String {
    format!(
        "{method} {target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    )
}

/// Sends a request on a connection of its own and reads until the station closes it.
pub async fn send(
    address: SocketAddr,
    method: &str,
    target: &str,
    headers: &str,
    body: &str,
) -> Option<Answer> {
    let stream = TcpStream::connect(address).await.unwrap();
    send_on(stream, method, target, headers, body).await
}

pub async fn send_on<Stream: AsyncRead + AsyncWrite + Unpin>(
    mut stream: Stream,
    method: &str,
    target: &str,
    headers: &str,
    body: &str,
) -> Option<Answer> {
    let headers = format!("Connection: close\r\n{headers}");
    let request = request_text(method, target, &headers, body);
    // A station that is down closes before it reads.
    let _ = stream.write_all(request.as_bytes()).await;
    let mut octets = Vec::new();
    // A broken connection ends the reading with an error; what came before counts.
    let _ = stream.read_to_end(&mut octets).await;
    Answer::parse(&octets)
}

pub async fn get(mock: &MockStation, target: &str, headers: &str) -> Option<Answer> {
    send(mock.address(), "GET", target, headers, "").await
}

/// The status of a GET as the Basic account.
pub async fn status(mock: &MockStation, target: &str) -> Option<u16> {
    get(mock, target, BASIC).await.map(|answer| answer.status)
}

/// Accepts any certificate and keeps it.
#[derive(Debug, Default)]
struct Collector {
    seen: Mutex<Vec<u8>>,
}

impl ServerCertVerifier for Collector {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        *self.seen.lock().unwrap() = leaf.to_vec();
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        default_provider()
            .signature_verification_algorithms
            .supported_schemes()
    }
}

/// A TLS connection that trusts anything, and the certificate it was shown.
pub async fn tls(address: SocketAddr) -> (TlsStream<TcpStream>, Vec<u8>) {
    let collector = Arc::new(Collector::default());
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(collector.clone())
        .with_no_client_auth();
    let stream = connect(config, address, "localhost").await.unwrap();
    let seen = collector.seen.lock().unwrap().clone();
    (stream, seen)
}

/// A TLS connection that trusts one certificate and checks name and dates.
pub async fn verified_tls(
    address: SocketAddr,
    trusted: &[u8],
    version: &'static rustls::SupportedProtocolVersion,
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.to_vec().into()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[version])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    connect(config, address, "localhost").await
}

async fn connect(
    config: ClientConfig,
    address: SocketAddr,
    name: &'static str,
) -> std::io::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(address).await?;
    let name = ServerName::try_from(name).unwrap();
    TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
}
