//! A server of a few lines that says exactly what a test wants, for what no well-behaved station does.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::BoxFuture;
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// What the server does about one request.
pub enum Reply {
    /// Sends these bytes and waits for the next request.
    Send(String),
    /// Sends these bytes and then neither closes nor goes on.
    SendAndStall(String),
    /// Closes without a word.
    Close,
}

/// Called with the head of each request and its number from 0.
pub type Script = dyn Fn(String, usize) -> BoxFuture<'static, Reply> + Send + Sync;

/// A plain answer with a length.
pub fn answer(status: &str, headers: &str, body: &str) -> Reply {
    Reply::Send(format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    ))
}

/// Answers every request by a plain function.
pub fn script(reply: impl Fn(&str, usize) -> Reply + Send + Sync + 'static) -> Arc<Script> {
    let reply = Arc::new(reply);
    Arc::new(move |head, number| {
        let reply = Arc::clone(&reply);
        Box::pin(async move { reply(&head, number) })
    })
}

/// A certificate made for a test.
pub struct TestCertificate {
    pub der: CertificateDer<'static>,
    pub pem: String,
    key: Vec<u8>,
}

impl TestCertificate {
    pub fn for_host(host: &str) -> Self {
        let made = rcgen::generate_simple_self_signed([host.to_owned()]).expect("a certificate");
        Self {
            der: made.cert.der().clone(),
            pem: made.cert.pem(),
            key: made.signing_key.serialize_der(),
        }
    }

    fn acceptor(&self) -> TlsAcceptor {
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.clone()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("protocol versions")
            .with_no_client_auth()
            .with_single_cert(vec![self.der.clone()], key)
            .expect("a usable certificate");
        TlsAcceptor::from(Arc::new(config))
    }
}

/// The process behind a server: connections of an older one look open until something is sent on them.
#[derive(Clone, Default)]
pub struct Process {
    number: Arc<AtomicUsize>,
    dead_letters: Arc<AtomicUsize>,
}

impl Process {
    /// Begins a new process.
    pub fn restart(&self) {
        self.number.fetch_add(1, Ordering::SeqCst);
    }

    /// Requests so far that fell on a connection of an older process.
    pub fn dead_letters(&self) -> usize {
        self.dead_letters.load(Ordering::SeqCst)
    }

    fn number(&self) -> usize {
        self.number.load(Ordering::SeqCst)
    }

    fn note_dead_letter(&self) {
        self.dead_letters.fetch_add(1, Ordering::SeqCst);
    }
}

/// Starts the server on a free port and returns `host:port`.
pub async fn serve(script: Arc<Script>, certificate: Option<&TestCertificate>) -> String {
    serve_process(script, certificate, Process::default()).await
}

/// The same for a server that restarts.
pub async fn serve_process(
    script: Arc<Script>,
    certificate: Option<&TestCertificate>,
    process: Process,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let authority = listener.local_addr().expect("an address").to_string();
    let acceptor = certificate.map(TestCertificate::acceptor);
    let numbers = Arc::new(AtomicUsize::new(0));
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let (script, numbers, acceptor) =
                (Arc::clone(&script), Arc::clone(&numbers), acceptor.clone());
            let process = process.clone();
            tokio::spawn(async move {
                match acceptor {
                    Some(acceptor) => {
                        if let Ok(socket) = acceptor.accept(socket).await {
                            talk(socket, script, numbers, process).await;
                        }
                    }
                    None => talk(socket, script, numbers, process).await,
                }
            });
        }
    });
    authority
}

async fn talk(
    mut socket: impl AsyncRead + AsyncWrite + Unpin,
    script: Arc<Script>,
    numbers: Arc<AtomicUsize>,
    process: Process,
) {
    let born = process.number();
    let mut received = Vec::new();
    loop {
        let end = loop {
            if let Some(at) = received.windows(4).position(|w| w == b"\r\n\r\n") {
                break at + 4;
            }
            let mut piece = [0u8; 4096];
            match socket.read(&mut piece).await {
                Ok(0) | Err(_) => return,
                Ok(count) => received.extend_from_slice(&piece[..count]),
            }
        };
        let head = String::from_utf8_lossy(&received[..end]).into_owned();
        received.drain(..end);
        if process.number() != born {
            process.note_dead_letter();
            return;
        }
        let number = numbers.fetch_add(1, Ordering::SeqCst);
        let sent = match script(head, number).await {
            Reply::Send(text) => socket.write_all(text.as_bytes()).await,
            Reply::SendAndStall(text) => {
                let _ = socket.write_all(text.as_bytes()).await;
                let _ = socket.flush().await;
                return std::future::pending().await;
            }
            Reply::Close => return,
        };
        if sent.is_err() || socket.flush().await.is_err() {
            return;
        }
    }
}
