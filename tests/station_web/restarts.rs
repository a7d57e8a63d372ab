//! A station that restarted has closed all connections at once, which the bridge learns only by using one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::join_all;
use mock_station::model::accounts::OBIX;
use niagara_bridge::clock::SystemClock;
use niagara_bridge::station::web::{LoginScheme, Secret, WebOptions, WebRequest, WebSession};
use tokio::sync::Barrier;

use crate::scope;
use crate::wire::{Process, Script, TestCertificate, answer, serve_process};

/// As many as an identity may have in flight: more than a read has repetitions.
const CONNECTIONS: usize = 4;

/// A logged-in session whose pool holds idle connections.
struct Idle {
    session: WebSession,
    process: Process,
    /// Writes that arrived at a process that lives.
    writes: Arc<AtomicUsize>,
}

impl Idle {
    async fn new(certificate: Option<&TestCertificate>) -> Self {
        let process = Process::default();
        let writes = Arc::<AtomicUsize>::default();
        let authority =
            serve_process(station(Arc::clone(&writes)), certificate, process.clone()).await;
        let scheme = certificate.map_or("http", |_| "https");
        let url = format!("{scheme}://{authority}/").parse().unwrap();
        let mut options = WebOptions::new(url, OBIX.user, Secret::new(OBIX.password));
        options.scheme = LoginScheme::Basic;
        options.limits.requests_per_second = 0;
        options.trust = niagara_bridge::station::http::Trust::Insecure;
        let session = WebSession::new(options, SystemClock::shared()).unwrap();
        session.login(&scope()).await.unwrap();
        let read = WebRequest::read(&scope());
        let held = (0..CONNECTIONS).map(|_| session.get("/held", &read));
        for outcome in join_all(held).await {
            assert_eq!(outcome.unwrap().status, 200);
        }
        Self {
            session,
            process,
            writes,
        }
    }
}

/// Holds requests until there are as many as connections, so that each needs one of its own.
fn station(writes: Arc<AtomicUsize>) -> Arc<Script> {
    let full = Arc::new(Barrier::new(CONNECTIONS));
    Arc::new(move |head: String, _| {
        let (full, writes) = (Arc::clone(&full), Arc::clone(&writes));
        Box::pin(async move {
            if head.starts_with("GET /held") {
                full.wait().await;
            }
            if head.starts_with("POST ") {
                writes.fetch_add(1, Ordering::SeqCst);
            }
            answer("200 OK", "", "Name\nStation\n")
        })
    })
}

#[tokio::test]
async fn a_read_finds_out_by_one_dead_connection_however_many_are_idle() {
    let certificate = TestCertificate::for_host("127.0.0.1");
    let many = (0..24).map(|number| {
        let certificate = (number % 4 == 0).then_some(&certificate);
        async move {
            let idle = Idle::new(certificate).await;
            let read = WebRequest::read(&scope());
            for restarts in 1..=2 {
                idle.process.restart();
                let answer = idle.session.get("/ord/x", &read).await;
                assert_eq!(answer.map(|answer| answer.status), Ok(200), "{number}");
                assert_eq!(idle.process.dead_letters(), restarts, "{number}");
            }
        }
    });
    join_all(many).await;
}

#[tokio::test]
async fn reads_that_find_out_together_are_all_answered() {
    let many = (0..8).map(|_| async {
        let idle = Idle::new(None).await;
        idle.process.restart();
        let read = WebRequest::read(&scope());
        let reads = (0..CONNECTIONS).map(|_| idle.session.get("/ord/x", &read));
        for outcome in join_all(reads).await {
            assert_eq!(outcome.map(|answer| answer.status), Ok(200));
        }
        assert!(idle.process.dead_letters() <= CONNECTIONS);
    });
    join_all(many).await;
}

#[tokio::test]
async fn a_login_never_falls_on_a_connection_of_before() {
    let many = (0..24).map(|_| async {
        let idle = Idle::new(None).await;
        idle.session.close().await;
        idle.process.restart();
        assert_eq!(idle.session.login(&scope()).await, Ok(()));
        assert_eq!(idle.process.dead_letters(), 0);
    });
    join_all(many).await;
}

#[tokio::test]
async fn a_write_on_a_dead_connection_is_sent_once_and_the_next_one_arrives() {
    let idle = Idle::new(None).await;
    idle.process.restart();
    let write = WebRequest::write(&scope());
    let error = idle.session.post("/box/", "1", &write).await.unwrap_err();
    assert_eq!(error.kind(), "outcome-unknown", "{error}");
    assert_eq!(idle.process.dead_letters(), 1);
    assert_eq!(idle.writes.load(Ordering::SeqCst), 0);
    let answer = idle.session.post("/box/", "2", &write).await;
    assert_eq!(answer.map(|answer| answer.status), Ok(200));
    assert_eq!(idle.process.dead_letters(), 1);
    assert_eq!(idle.writes.load(Ordering::SeqCst), 1);
}
