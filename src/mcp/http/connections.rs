//! Serving connections: time limits for unfinished requests, and a bound on the connections of one address.

use std::collections::HashMap;
use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody, to_bytes};
use axum::extract::ConnectInfo;
use axum::http::{Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::checks::refusal;
use super::tls::{Connection, Entrance, PeerAddress};

/// Bounds of what one client can hold open without a complete request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Time for the head of a request, from the moment the connection is ready for one.
    pub head: Duration,
    /// Time for the body of a request.
    pub body: Duration,
    /// Open connections of one address.
    pub per_address: usize,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            head: Duration::from_secs(10),
            body: Duration::from_secs(30),
            per_address: connections_of_one_address(most_open_files()),
        }
    }
}

/// Connections that one address may hold, of all the files that this process may open: a quarter, so that the
/// station, the data folder and other clients keep theirs; 256 where there are plenty, 1024 or more.
fn connections_of_one_address(files: Option<u64>) -> usize {
    const MOST: u64 = 256;
    const FEWEST: u64 = 8;
    let quarter = files.map_or(MOST, |files| files / 4);
    usize::try_from(quarter.clamp(FEWEST, MOST)).unwrap_or(usize::MAX)
}

/// None when there is no limit.
#[cfg(unix)]
fn most_open_files() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current
}

/// Windows bounds handles by memory only.
#[cfg(windows)]
fn most_open_files() -> Option<u64> {
    None
}

/// One open connection.
#[derive(Default)]
struct Seat {
    close: CancellationToken,
    /// Requests and streams that are being answered.
    at_work: AtomicUsize,
}

/// Open connections by address, the oldest first.
#[derive(Clone)]
pub struct Seats {
    taken: Arc<Mutex<HashMap<IpAddr, Vec<Arc<Seat>>>>>,
    per_address: usize,
}

/// A connection's place among those of its address; free again when dropped.
pub struct Place {
    seats: Seats,
    address: IpAddr,
    seat: Arc<Seat>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.seats.lock();
        if let Some(of_address) = taken.get_mut(&self.address) {
            of_address.retain(|seat| !Arc::ptr_eq(seat, &self.seat));
            if of_address.is_empty() {
                taken.remove(&self.address);
            }
        }
    }
}

struct AtWork(Arc<Seat>);

impl AtWork {
    fn begin(seat: &Arc<Seat>) -> Self {
        seat.at_work.fetch_add(1, Ordering::Relaxed);
        Self(seat.clone())
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.at_work.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Seats {
    /// Places for `per_address` connections of each address.
    pub fn new(per_address: usize) -> Self {
        Self {
            taken: Arc::default(),
            per_address,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, Vec<Arc<Seat>>>> {
        // Push and remove leave the map consistent, so a panic elsewhere cannot have broken it.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for one more connection of `address`. At the bound the oldest connection without a request is closed
    /// for it; none when all are at work.
    pub fn take(&self, address: IpAddr) -> Option<Place> {
        let address = address.to_canonical();
        let mut taken = self.lock();
        let of_address = taken.entry(address).or_default();
        if of_address.len() >= self.per_address {
            let waiting = of_address
                .iter()
                .position(|seat| seat.at_work.load(Ordering::Relaxed) == 0);
            let Some(waiting) = waiting else {
                tracing::warn!(%address, "a connection was refused: too many of its address are open");
                return None;
            };
            of_address.remove(waiting).close.cancel();
        }
        let seat = Arc::<Seat>::default();
        of_address.push(seat.clone());
        Some(Place {
            seats: self.clone(),
            address,
            seat,
        })
    }
}

/// Serves the connections of `entrance` until `stop` fires, then lets the open ones finish their requests.
pub async fn serve(
    mut entrance: Entrance,
    router: Router,
    limits: ConnectionLimits,
    stop: CancellationToken,
) {
    let open = TaskTracker::new();
    loop {
        let (connection, peer, place) = tokio::select! {
            accepted = entrance.accept() => accepted,
            () = stop.cancelled() => break,
        };
        let router = router.clone();
        open.spawn(converse(
            connection,
            peer,
            place,
            router,
            limits.head,
            stop.clone(),
        ));
    }
    drop(entrance);
    open.close();
    open.wait().await;
}

async fn converse(
    connection: Connection,
    peer: SocketAddr,
    place: Place,
    router: Router,
    head_limit: Duration,
    stop: CancellationToken,
) {
    let seat = place.seat.clone();
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: Request<Incoming>| {
        let at_work = AtWork::begin(&seat);
        request
            .extensions_mut()
            .insert(ConnectInfo(PeerAddress(peer)));
        let answer = router.call(request);
        async move { answer.await.map(|answer| working(answer, at_work)) }
    });
    let mut served = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(head_limit)
            .serve_connection(TokioIo::new(connection), service)
    );
    let mut stopping = false;
    loop {
        tokio::select! {
            outcome = served.as_mut() => {
                if let Err(error) = outcome {
                    tracing::debug!(%peer, %error, "a connection ended early");
                }
                return;
            }
            () = stop.cancelled(), if !stopping => {
                stopping = true;
                served.as_mut().graceful_shutdown();
            }
            () = place.seat.close.cancelled() => {
                tracing::debug!(%peer, "a connection without a request made room for a new one");
                return;
            }
        }
    }
}

/// A stream is at work until its end; an answer whose length is known is as good as sent.
fn working(answer: Response, at_work: AtWork) -> Response {
    if answer.body().size_hint().exact().is_some() {
        return answer;
    }
    answer.map(|body| {
        Body::new(body.map_frame(move |frame| {
            let _ = &at_work;
            frame
        }))
    })
}

/// Reads the body of a request.
///
/// # Errors
/// The answer to a body that is too large, was cut off or did not arrive in time.
pub async fn read_body(
    body: Body,
    byte_limit: usize,
    time_limit: Duration,
) -> Result<Bytes, Box<Response>> {
    match tokio::time::timeout(time_limit, to_bytes(body, byte_limit)).await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(error)) if is_too_large(&error) => {
            let text =
                format!("The body is larger than {byte_limit} bytes; send less in one request.");
            let status = StatusCode::PAYLOAD_TOO_LARGE;
            Err(Box::new(refusal(status, "body-too-large", text)))
        }
        Ok(Err(_)) => {
            let text = "The body was cut off before its end; send the request again.";
            Err(Box::new(refusal(
                StatusCode::BAD_REQUEST,
                "body-cut-off",
                text,
            )))
        }
        Err(_) => {
            let text = format!(
                "The body did not arrive within {} s; send the request again.",
                time_limit.as_secs_f32()
            );
            let close = [(header::CONNECTION, "close")];
            let refusal = refusal(StatusCode::REQUEST_TIMEOUT, "body-too-slow", text);
            Err(Box::new((close, refusal).into_response()))
        }
    }
}

fn is_too_large(error: &axum::Error) -> bool {
    error
        .source()
        .is_some_and(|cause| cause.is::<http_body_util::LengthLimitError>())
}

#[cfg(test)]
mod tests {
    use axum::routing::{get, post};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    /// A server whose `/echo` reads a body, with short limits; gives its address.
    async fn served(limits: ConnectionLimits) -> (SocketAddr, CancellationToken) {
        let echo = post(move |body: Body| async move {
            match read_body(body, 100, limits.body).await {
                Ok(body) => body.into_response(),
                Err(refusal) => *refusal,
            }
        });
        let router = Router::new()
            .route("/echo", echo)
            .route("/health", get(|| async { "well" }));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
        let address = listener.local_addr().expect("address");
        let seats = Seats::new(limits.per_address);
        let entrance = Entrance::new(listener, None, seats);
        let stop = CancellationToken::new();
        tokio::spawn(serve(entrance, router, limits, stop.clone()));
        (address, stop)
    }

    async fn sends(address: SocketAddr, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.expect("connect");
        stream.write_all(text.as_bytes()).await.expect("write");
        stream
    }

    /// What the server says until it closes the connection.
    async fn said(mut stream: TcpStream) -> String {
        let mut said = Vec::new();
        // A connection may end by a reset when the server closes it with bytes unread.
        let _ = stream.read_to_end(&mut said).await;
        String::from_utf8_lossy(&said).into_owned()
    }

    const HEALTH: &str = "GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    const LONG: Duration = Duration::from_secs(3600);

    #[tokio::test]
    async fn a_head_that_never_ends_closes_its_connection() {
        let (address, _stop) = served(ConnectionLimits {
            head: Duration::from_millis(50),
            body: LONG,
            per_address: 10,
        })
        .await;
        let half = sends(address, "POST /echo HTTP/1.1\r\nhost: x\r\nx-slow: ").await;
        assert!(!said(half).await.contains(" 200 "));
        let silent = sends(address, "").await;
        assert_eq!(said(silent).await, "");
    }

    #[tokio::test]
    async fn a_body_that_never_ends_is_answered_and_closes_its_connection() {
        let (address, _stop) = served(ConnectionLimits {
            head: LONG,
            body: Duration::from_millis(50),
            per_address: 10,
        })
        .await;
        let head = "POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n";
        let half = sends(address, &format!("{head}\r\n12345")).await;
        let answer = said(half).await;
        assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
        assert!(answer.contains("\"kind\":\"body-too-slow\""), "{answer}");
        let large = format!(
            "POST /echo HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 101\r\n\r\n{}",
            "x".repeat(101)
        );
        let answer = said(sends(address, &large).await).await;
        assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
        assert!(
            answer.contains("content-type: application/json"),
            "{answer}"
        );
        assert!(answer.contains("\"kind\":\"body-too-large\""), "{answer}");
        let whole = sends(
            address,
            &format!("{head}connection: close\r\n\r\n1234567890"),
        )
        .await;
        assert!(said(whole).await.ends_with("\r\n\r\n1234567890"));
    }

    #[tokio::test]
    async fn silent_connections_of_an_address_give_way_to_a_new_one() {
        let (address, _stop) = served(ConnectionLimits {
            head: LONG,
            body: LONG,
            per_address: 3,
        })
        .await;
        let mut silent = Vec::new();
        for _ in 0..10 {
            silent.push(sends(address, "POST /echo HTTP/1.1\r\n").await);
        }
        let answer = said(sends(address, HEALTH).await).await;
        assert!(answer.ends_with("well"), "{answer}");
        for closed in silent.drain(..7) {
            assert_eq!(said(closed).await, "");
        }
    }

    #[test]
    fn one_address_cannot_use_up_the_files_of_the_process() {
        for (files, connections) in [
            (None, 256),
            (Some(1_048_576), 256),
            (Some(1024), 256),
            (Some(256), 64),
            (Some(16), 8),
        ] {
            assert_eq!(connections_of_one_address(files), connections, "{files:?}");
        }
    }

    #[test]
    fn a_connection_at_work_keeps_its_place() {
        let seats = Seats::new(2);
        let (one, other) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        let first = seats.take(one).expect("free");
        let second = seats.take(one).expect("free");
        let works = AtWork::begin(&first.seat);
        let third = seats.take(one).expect("the second gives way");
        assert!(second.seat.close.is_cancelled());
        let also_works = AtWork::begin(&third.seat);
        assert!(seats.take(one).is_none());
        assert!(seats.take(other).is_some(), "addresses do not share places");
        drop(also_works);
        assert!(seats.take(one).is_some());
        assert!(!first.seat.close.is_cancelled());
        drop((works, first, second, third));
        assert!(seats.lock().is_empty());
    }
}
