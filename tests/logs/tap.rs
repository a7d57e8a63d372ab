//! A wire tap between the bridge and the station: what passed, and which secrets were in it.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use regex::Regex;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Passes connections on and keeps what they say.
pub struct Tap {
    pub address: SocketAddr,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl Tap {
    pub async fn before(station: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let heard = Arc::<Mutex<Vec<u8>>>::default();
        let kept = heard.clone();
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let Ok(far) = TcpStream::connect(station).await else {
                    return;
                };
                let (near_read, near_write) = near.into_split();
                let (far_read, far_write) = far.into_split();
                tokio::spawn(pass(near_read, far_write, kept.clone()));
                tokio::spawn(pass(far_read, near_write, kept.clone()));
            }
        });
        Self { address, heard }
    }

    /// Every secret that passed, by its kind.
    pub fn secrets(&self) -> Secrets {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        Secrets::of(&String::from_utf8_lossy(&heard))
    }
}

async fn pass(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    kept: Arc<Mutex<Vec<u8>>>,
) {
    let mut piece = vec![0; 1 << 16];
    while let Ok(length @ 1..) = from.read(&mut piece).await {
        let piece = &piece[..length];
        kept.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend_from_slice(piece);
        if to.write_all(piece).await.is_err() {
            return;
        }
    }
    // The other side may be gone already.
    let _ = to.shutdown().await;
}

/// What must stay between the bridge and the station.
#[derive(Debug, Default)]
pub struct Secrets {
    pub cookies: BTreeSet<String>,
    pub csrf: BTreeSet<String>,
    /// Basic credentials and tokens that header logins hand out.
    pub credentials: BTreeSet<String>,
    pub nonces: BTreeSet<String>,
    pub proofs: BTreeSet<String>,
}

impl Secrets {
    fn of(heard: &str) -> Self {
        let all = |pattern: &str, text: &str| -> Vec<String> {
            let pattern = Regex::new(pattern).expect("a pattern");
            let found = pattern.captures_iter(text);
            found.map(|groups| groups[1].to_owned()).collect()
        };
        let mut scram = heard.to_owned();
        for data in all(r"data=([A-Za-z0-9_-]+)", heard) {
            if let Ok(message) = URL_SAFE_NO_PAD.decode(&data) {
                scram.push('\n');
                scram.push_str(&String::from_utf8_lossy(&message));
            }
        }
        let credentials = all(r"(?i)authorization: basic (\S+)", heard)
            .into_iter()
            .chain(all(r"(?i)authtoken=([^\s,]+)", heard));
        Self {
            cookies: all(r"JSESSIONID=([^;\s]{8,})", heard).into_iter().collect(),
            csrf: all(r"(?i)x-niagara-csrftoken: (\S+)", heard)
                .into_iter()
                .collect(),
            credentials: credentials.collect(),
            nonces: all(r"\br=([A-Za-z0-9+/=]{16,})", &scram)
                .into_iter()
                .collect(),
            proofs: all(r"\bp=([A-Za-z0-9+/=]{40,})", &scram)
                .into_iter()
                .collect(),
        }
    }

    pub fn all(&self) -> impl Iterator<Item = &String> {
        let kinds = [
            &self.cookies,
            &self.csrf,
            &self.credentials,
            &self.nonces,
            &self.proofs,
        ];
        kinds.into_iter().flatten()
    }
}
