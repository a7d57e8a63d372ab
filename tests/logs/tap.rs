//! A wire tap between the bridge and the station: what passed, and which secrets were in it.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use regex::Regex;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What one side of one connection said.
type Side = Arc<Mutex<Vec<u8>>>;

/// Passes connections on and keeps what they say.
pub struct Tap {
    pub address: SocketAddr,
    /// Side by side, for connections that speak at the same time would cut each other's messages.
    heard: Arc<Mutex<Vec<Side>>>,
}

impl Tap {
    pub async fn before(station: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let heard = Arc::<Mutex<Vec<Side>>>::default();
        let kept = heard.clone();
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let Ok(far) = TcpStream::connect(station).await else {
                    return;
                };
                let (near_read, near_write) = near.into_split();
                let (far_read, far_write) = far.into_split();
                let sides = [Side::default(), Side::default()];
                lock(&kept).extend_from_slice(&sides);
                let [said, answered] = sides;
                tokio::spawn(pass(near_read, far_write, said));
                tokio::spawn(pass(far_read, near_write, answered));
            }
        });
        Self { address, heard }
    }

    /// Every secret that passed, by its kind.
    pub fn secrets(&self) -> Secrets {
        let heard: Vec<u8> = lock(&self.heard)
            .iter()
            .flat_map(|side| lock(side).clone())
            .collect();
        Secrets::of(&String::from_utf8_lossy(&heard))
    }
}

fn lock<T>(kept: &Mutex<T>) -> MutexGuard<'_, T> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn pass(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, kept: Side) {
    let mut piece = vec![0; 1 << 16];
    while let Ok(length @ 1..) = from.read(&mut piece).await {
        let piece = &piece[..length];
        // A body has no end of its own: what follows it on the connection would lengthen a nonce that ends it.
        if begins_a_message(piece) {
            lock(&kept).push(b'\n');
        }
        lock(&kept).extend_from_slice(piece);
        if to.write_all(piece).await.is_err() {
            return;
        }
    }
    // The other side may be gone already.
    let _ = to.shutdown().await;
}

fn begins_a_message(piece: &[u8]) -> bool {
    let starts: [&[u8]; 4] = [b"HTTP/1.", b"GET /", b"POST /", b"PUT /"];
    starts.iter().any(|start| piece.starts_with(start))
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
            // Of either alphabet: a nonce that was cut at its first `-` or `_` could be taken for the client's part of it.
            nonces: all(r"\br=([A-Za-z0-9+/=_-]{16,})", &scram)
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

/// A whole nonce is heard whatever letters it has, and only it.
#[tokio::test]
async fn nonces_are_told_apart_by_the_station_s_part() {
    let own = "Y2xpZW50bm9uY2UwMDAx";
    for part in ["-abc", "_abc", "abc-_", "+/=="] {
        let station = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let tap = Tap::before(station.local_addr().expect("bound")).await;
        let mut near = TcpStream::connect(tap.address).await.expect("the tap");
        let (mut far, _) = station.accept().await.expect("a connection");
        let first = format!("POST /j HTTP/1.1\r\n\r\nmessage=n,,n=bridge,r={own}");
        let answer = format!("HTTP/1.1 200 OK\r\n\r\nr={own}{part},s=AAAA,i=4");
        for text in [&first, &answer] {
            let (speaker, hearer) = match text.starts_with("HTTP") {
                false => (&mut near, &mut far),
                true => (&mut far, &mut near),
            };
            speaker.write_all(text.as_bytes()).await.expect("sent");
            let mut heard = vec![0; text.len()];
            hearer.read_exact(&mut heard).await.expect("received");
        }
        let secrets = tap.secrets();
        let expected = BTreeSet::from([own.to_owned(), format!("{own}{part}")]);
        assert_eq!(secrets.nonces, expected);
    }
}
