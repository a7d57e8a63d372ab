//! Connections from clients, plain or over TLS 1.2 and 1.3.
//!
//! Handshakes run beside each other and never hold up the next connection. A client that speaks plain HTTP to the TLS
//! port is told so in plain HTTP.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::serve::Listener;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::certificate::Certificates;
use super::connections::{Place, Seats};

/// Time that a client gets for its handshake.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);

/// Handshakes under way at the same time; further connections wait in the system's queue.
const MOST_HANDSHAKES: usize = 256;

/// First byte of every TLS connection: a handshake record (RFC 8446 §5.1).
const HANDSHAKE_RECORD: u8 = 0x16;

/// Where a request comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerAddress(pub SocketAddr);

/// TLS settings that serve the certificate in use at the time of each handshake.
///
/// # Errors
/// The TLS library refuses its settings.
pub fn server_config(certificates: Arc<Certificates>) -> Result<Arc<ServerConfig>, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(certificates);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Accepts connections.
pub enum Entrance {
    Plain(TcpListener, Seats),
    Tls(TlsEntrance),
}

/// Connections whose handshake is done.
pub struct TlsEntrance {
    ready: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr, Place)>,
    acceptor: JoinHandle<()>,
}

impl Drop for TlsEntrance {
    fn drop(&mut self) {
        self.acceptor.abort();
    }
}

impl Entrance {
    /// Accepts on `listener` as many connections as `seats` has places for, over TLS with `config`.
    pub fn new(listener: TcpListener, config: Option<Arc<ServerConfig>>, seats: Seats) -> Self {
        let Some(config) = config else {
            return Self::Plain(listener, seats);
        };
        let (done, ready) = mpsc::channel(MOST_HANDSHAKES);
        let acceptor = tokio::spawn(accept(listener, TlsAcceptor::from(config), seats, done));
        Self::Tls(TlsEntrance { ready, acceptor })
    }

    /// The next connection.
    pub async fn accept(&mut self) -> (Connection, SocketAddr, Place) {
        match self {
            Self::Plain(listener, seats) => {
                let (stream, peer, place) = accept_quick(listener, seats).await;
                (Connection::Plain(stream), peer, place)
            }
            Self::Tls(entrance) => match entrance.ready.recv().await {
                Some((stream, peer, place)) => (Connection::Tls(Box::new(stream)), peer, place),
                // The acceptor ends only with the process or by a fault of its own.
                None => std::future::pending().await,
            },
        }
    }
}

async fn accept_quick(listener: &mut TcpListener, seats: &Seats) -> (TcpStream, SocketAddr, Place) {
    let (stream, peer, place) = loop {
        let (stream, peer) = Listener::accept(listener).await;
        if let Some(place) = seats.take(peer.ip()) {
            break (stream, peer, place);
        }
    };
    // Nagle's algorithm would hold small answers back for 40 ms.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY could not be set");
    }
    (stream, peer, place)
}

async fn accept(
    mut listener: TcpListener,
    tls: TlsAcceptor,
    seats: Seats,
    done: mpsc::Sender<(TlsStream<TcpStream>, SocketAddr, Place)>,
) {
    let mut handshakes = JoinSet::new();
    loop {
        while handshakes.len() >= MOST_HANDSHAKES {
            handshakes.join_next().await;
        }
        let (stream, peer, place) = tokio::select! {
            accepted = accept_quick(&mut listener, &seats) => accepted,
            Some(_) = handshakes.join_next() => continue,
        };
        let (tls, done) = (tls.clone(), done.clone());
        handshakes.spawn(async move {
            match tokio::time::timeout(HANDSHAKE_LIMIT, handshake(tls, stream)).await {
                Ok(Ok(Some(stream))) => drop(done.send((stream, peer, place)).await),
                Ok(Ok(None)) => {
                    tracing::warn!(%peer, "a client spoke plain HTTP to the TLS port");
                }
                Ok(Err(error)) => tracing::debug!(%peer, %error, "a TLS handshake failed"),
                Err(_) => tracing::debug!(%peer, "a TLS handshake was not finished in time"),
            }
        });
    }
}

/// None when the client does not speak TLS.
async fn handshake(
    tls: TlsAcceptor,
    stream: TcpStream,
) -> io::Result<Option<TlsStream<TcpStream>>> {
    let mut first = [0];
    match stream.peek(&mut first).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ if first == [HANDSHAKE_RECORD] => tls.accept(stream).await.map(Some),
        _ => refuse_plain(stream).await.map(|()| None),
    }
}

const PLAIN_REFUSAL: &str = "This port speaks HTTPS only: write https:// in the address. \
    A token sent this way crossed the network unencrypted.\n";

async fn refuse_plain(mut stream: TcpStream) -> io::Result<()> {
    let mut request = [0; 4096];
    let _ = stream.read(&mut request).await?;
    let answer = format!(
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{PLAIN_REFUSAL}",
        PLAIN_REFUSAL.len()
    );
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await?;
    // Closing with unread input resets the connection, and the client would lose the answer.
    while stream.read(&mut request).await? > 0 {}
    Ok(())
}

/// A connection to a client.
pub enum Connection {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl AsyncRead for Connection {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(context, pieces),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_write_vectored(context, pieces),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_shutdown(context),
        }
    }
}
