//! Certificates, retries, limits and bodies that misbehave, against a scripted server.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mock_station::model::accounts::OBIX;
use niagara_bridge::clock::SystemClock;
use niagara_bridge::station::http::{CallScope, Trust, fingerprint_of};
use niagara_bridge::station::web::{
    Bql, LoginScheme, Secret, TableEnd, TableQuery, WebOptions, WebRequest, WebSession,
};
use niagara_bridge::station::{AuthCause, StationError};
use tokio::sync::Barrier;

use crate::scope;
use crate::wire::{Reply, Script, TestCertificate, answer, script, serve};

const TABLE: &str = "Name\nStation\n";

fn session(url: &str, edit: impl FnOnce(&mut WebOptions)) -> WebSession {
    let mut options = WebOptions::new(url.parse().unwrap(), OBIX.user, Secret::new(OBIX.password));
    options.scheme = LoginScheme::Basic;
    options.limits.requests_per_second = 0;
    edit(&mut options);
    WebSession::new(options, SystemClock::shared()).unwrap()
}

fn names() -> TableQuery {
    TableQuery::new("slot:/", "select name from baja:Component").unwrap()
}

fn tables() -> Arc<Script> {
    script(|_, _| answer("200 OK", "", TABLE))
}

/// Logs in and probes on good answers; later requests get what `later` says, numbered from 0.
fn after_probe(later: impl Fn(usize) -> Reply + Send + Sync + 'static) -> Arc<Script> {
    // http root, Basic probe, form probe, machine probe
    script(move |_, number| match number.checked_sub(4) {
        None => answer("200 OK", "", TABLE),
        Some(number) => later(number),
    })
}

#[tokio::test]
async fn only_the_trusted_certificate_is_spoken_to() {
    let own = TestCertificate::for_host("127.0.0.1");
    let other = TestCertificate::for_host("127.0.0.1");
    let authority = serve(tables(), Some(&own)).await;
    let url = format!("https://{authority}/");
    let folder = tempfile::tempdir().unwrap();
    let ca_file = folder.path().join("ca.pem");
    let other_file = folder.path().join("other.pem");
    std::fs::write(&ca_file, &own.pem).unwrap();
    std::fs::write(&other_file, &other.pem).unwrap();
    let pin =
        |certificate: &TestCertificate| Trust::pinned(&fingerprint_of(&certificate.der)).unwrap();

    for trust in [pin(&own), Trust::CaFile(ca_file), Trust::Insecure] {
        let shown = format!("{trust:?}");
        let outcome = session(&url, |options| options.trust = trust)
            .login(&scope())
            .await;
        assert_eq!(outcome, Ok(()), "{shown}");
    }
    for trust in [pin(&other), Trust::CaFile(other_file), Trust::System] {
        let shown = format!("{trust:?}");
        let error = session(&url, |options| options.trust = trust)
            .login(&scope())
            .await
            .unwrap_err();
        assert_eq!(error.kind(), "station-certificate", "{shown}: {error}");
    }
    let error = session(&url, |options| options.trust = pin(&other))
        .login(&scope())
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains(&fingerprint_of(&own.der)),
        "the message offers the real fingerprint: {error}"
    );
}

#[tokio::test]
async fn a_pinned_certificate_need_not_carry_the_host_name() {
    let factory = TestCertificate::for_host("Niagara4");
    let authority = serve(tables(), Some(&factory)).await;
    let trust = Trust::pinned(&fingerprint_of(&factory.der)).unwrap();
    let session = session(&format!("https://{authority}/"), |options| {
        options.trust = trust
    });
    session.login(&scope()).await.unwrap();
}

#[tokio::test]
async fn an_unusable_ca_file_is_named_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("empty.pem");
    std::fs::write(&path, "no certificate").unwrap();
    for file in [path.clone(), folder.path().join("missing.pem")] {
        let mut options =
            WebOptions::new("https://127.0.0.1/".parse().unwrap(), "u", Secret::new("p"));
        options.trust = Trust::CaFile(file.clone());
        let error = WebSession::new(options, SystemClock::shared()).unwrap_err();
        assert!(
            error.to_string().contains(&file.display().to_string()),
            "{error}"
        );
    }
}

#[tokio::test]
async fn credentials_follow_the_redirect_to_https_only() {
    let certificate = TestCertificate::for_host("127.0.0.1");
    let secure_heads = Arc::new(Mutex::new(Vec::new()));
    let heads = Arc::clone(&secure_heads);
    let secure = serve(
        script(move |head, _| {
            heads.lock().unwrap().push(head.to_owned());
            answer("200 OK", "", TABLE)
        }),
        Some(&certificate),
    )
    .await;
    let plain_heads = Arc::new(Mutex::new(Vec::new()));
    let heads = Arc::clone(&plain_heads);
    let location = format!("Location: https://{secure}/\r\n");
    let plain = serve(
        script(move |head, _| {
            heads.lock().unwrap().push(head.to_owned());
            answer("303 See Other", &location, "")
        }),
        None,
    )
    .await;
    let trust = Trust::pinned(&fingerprint_of(&certificate.der)).unwrap();
    let session = session(&format!("http://{plain}/"), |options| options.trust = trust);
    session.login(&scope()).await.unwrap();
    session
        .get("/ord/x", &WebRequest::read(&scope()))
        .await
        .unwrap();
    assert_eq!(session.station(), format!("https://{secure}"));
    let plain_heads = plain_heads.lock().unwrap();
    assert_eq!(plain_heads.len(), 1);
    assert!(
        !plain_heads[0].to_lowercase().contains("authorization"),
        "{}",
        plain_heads[0]
    );
    let secure_heads = secure_heads.lock().unwrap();
    assert!(
        secure_heads
            .iter()
            .all(|head| head.to_lowercase().contains("authorization: basic "))
    );
}

#[tokio::test]
async fn a_read_survives_a_broken_connection_and_a_busy_moment() {
    let authority = serve(
        after_probe(|number| match number {
            0 => Reply::Close,
            1 => answer("503 Service Unavailable", "Retry-After: 0\r\n", ""),
            _ => answer("200 OK", "", TABLE),
        }),
        None,
    )
    .await;
    let bql = Bql::new(session(&format!("http://{authority}/"), |_| ()));
    bql.dialect(&scope()).await.unwrap();
    let table = bql.query(&names(), &scope()).await.unwrap();
    assert_eq!(table.rows[0].cell(0).text(), "Station");
}

#[tokio::test]
async fn a_long_retry_after_is_left_to_the_caller() {
    let later = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&later);
    let authority = serve(
        after_probe(move |_| {
            count.fetch_add(1, Ordering::SeqCst);
            answer("429 Too Many Requests", "Retry-After: 120\r\n", "")
        }),
        None,
    )
    .await;
    let bql = Bql::new(session(&format!("http://{authority}/"), |_| ()));
    bql.dialect(&scope()).await.unwrap();
    let error = bql.query(&names(), &scope()).await.unwrap_err();
    assert_eq!(error.kind(), "station-busy", "{error}");
    assert_eq!(later.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_write_is_never_repeated_whatever_breaks() {
    let later = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&later);
    let authority = serve(
        script(move |head, _| {
            if !head.starts_with("POST") {
                return answer("200 OK", "", TABLE);
            }
            match count.fetch_add(1, Ordering::SeqCst) {
                0 => Reply::Close,
                1 => answer("503 Service Unavailable", "", ""),
                2 => answer("502 Bad Gateway", "", ""),
                3 => answer("408 Request Timeout", "", ""),
                4 => answer("429 Too Many Requests", "", ""),
                _ => Reply::Send("HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n{".to_owned()),
            }
        }),
        None,
    )
    .await;
    let session = session(&format!("http://{authority}/"), |options| {
        options.limits.request_timeout = Duration::from_millis(400);
    });
    session.login(&scope()).await.unwrap();
    for (sent, kind) in [
        (1, "outcome-unknown"),
        // A gateway may have handed it on before it answered so.
        (2, "outcome-unknown"),
        (3, "outcome-unknown"),
        (4, "outcome-unknown"),
        (5, "station-busy"),
        (6, "outcome-unknown"),
    ] {
        let write = WebRequest::write(&scope());
        let error = session.post("/box/", "", &write).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert_eq!(later.load(Ordering::SeqCst), sent);
    }
}

#[tokio::test]
async fn rows_that_arrived_before_the_deadline_are_kept_and_marked() {
    let authority = serve(
        after_probe(|_| {
            Reply::SendAndStall(
                "HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\nName\nOne\nTwo\nThr".to_owned(),
            )
        }),
        None,
    )
    .await;
    let bql = Bql::new(session(&format!("http://{authority}/"), |_| ()));
    bql.dialect(&scope()).await.unwrap();
    let table = bql
        .query(&names(), &CallScope::within(Duration::from_millis(300)))
        .await
        .unwrap();
    let rows: Vec<_> = table.rows.iter().map(|row| row.cell(0).text()).collect();
    assert_eq!((rows, table.end), (vec!["One", "Two"], TableEnd::Deadline));
    assert_eq!(table.complete().unwrap_err().kind(), "station-timeout");
}

#[tokio::test]
async fn a_torn_last_line_is_dropped_and_reported() {
    let authority = serve(
        after_probe(|_| answer("200 OK", "", "Name\nOne\nTwo\nThr")),
        None,
    )
    .await;
    let bql = Bql::new(session(&format!("http://{authority}/"), |_| ()));
    bql.dialect(&scope()).await.unwrap();
    let table = bql.query(&names(), &scope()).await.unwrap();
    assert_eq!(
        (table.rows.len(), table.end),
        (2, TableEnd::Torn { line: 4 })
    );
    let error = table.complete().unwrap_err();
    assert!(error.to_string().contains("line 4"), "{error}");
}

#[tokio::test]
async fn a_table_that_changes_its_width_is_refused_by_line() {
    let authority = serve(
        after_probe(|_| answer("200 OK", "", "Name\nOne\nTwo,2\n")),
        None,
    )
    .await;
    let bql = Bql::new(session(&format!("http://{authority}/"), |_| ()));
    bql.dialect(&scope()).await.unwrap();
    let error = bql.query(&names(), &scope()).await.unwrap_err();
    assert!(matches!(&error, StationError::Protocol { .. }), "{error}");
    assert!(error.to_string().contains("line 3"), "{error}");
}

#[tokio::test]
async fn at_most_four_requests_are_under_way() {
    let barrier = Arc::new(Barrier::new(4));
    let (now, peak) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (running, highest) = (Arc::clone(&now), Arc::clone(&peak));
    let script: Arc<Script> = Arc::new(move |head: String, _| {
        let (barrier, running, highest) = (
            Arc::clone(&barrier),
            Arc::clone(&running),
            Arc::clone(&highest),
        );
        Box::pin(async move {
            if head.starts_with("GET /held") {
                // Each group of four waits until it is complete: fewer places would never let one through.
                let count = running.fetch_add(1, Ordering::SeqCst) + 1;
                highest.fetch_max(count, Ordering::SeqCst);
                barrier.wait().await;
                running.fetch_sub(1, Ordering::SeqCst);
            }
            answer("200 OK", "", TABLE)
        })
    });
    let authority = serve(script, None).await;
    let session = session(&format!("http://{authority}/"), |_| ());
    session.login(&scope()).await.unwrap();
    let request = WebRequest::read(&scope());
    let calls = (0..12).map(|_| session.get("/held", &request));
    for outcome in futures::future::join_all(calls).await {
        outcome.unwrap();
    }
    assert_eq!(peak.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn a_login_page_with_the_wrong_media_type_is_still_a_login_page() {
    let page = "<html><script src=\"/login/loginN4.js\"></script></html>";
    let authority = serve(
        after_probe(move |_| answer("200 OK", "Content-Type: text/csv\r\n", page)),
        None,
    )
    .await;
    let bql = Bql::new(session(&format!("http://{authority}/"), |_| ()));
    bql.dialect(&scope()).await.unwrap();
    let error = bql.query(&names(), &scope()).await.unwrap_err();
    assert_eq!(error.kind(), "station-auth", "{error}");
}

#[tokio::test]
async fn an_interface_that_refuses_a_good_login_is_named_and_costs_one_new_login() {
    let probes = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&probes);
    let authority = serve(
        script(move |head, _| {
            if head.starts_with("POST /box/") {
                return answer("401 Unauthorized", "", "");
            }
            if head.starts_with("GET /ord/") {
                count.fetch_add(1, Ordering::SeqCst);
            }
            answer("200 OK", "", TABLE)
        }),
        None,
    )
    .await;
    let session = session(&format!("http://{authority}/"), |_| ());
    session.login(&scope()).await.unwrap();
    for _ in 0..3 {
        let error = session
            .post("/box/", "", &WebRequest::read(&scope()))
            .await
            .unwrap_err();
        let StationError::Auth { cause, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!(*cause, AuthCause::InterfaceRefuses);
        assert!(error.to_string().contains("/box"), "{error}");
    }
    assert_eq!(
        probes.load(Ordering::SeqCst),
        2,
        "the first login and one renewal"
    );
    assert_eq!(
        session
            .get("/ord/x", &WebRequest::read(&scope()))
            .await
            .unwrap()
            .status,
        200
    );
}

/// A server that plays the header exchange without knowing the password.
fn impostor() -> Arc<Script> {
    header_exchange(|| {
        let last = URL_SAFE_NO_PAD.encode("v=AFzQaoo69oHDlFwPyJ3M0e5iHMHj5zHjAS2aa+QYE1g=");
        let info = format!("Authentication-Info: authToken=stolen, hash=SHA-256, data={last}\r\n");
        answer("200 OK", &info, TABLE)
    })
}

/// A server that plays the header exchange up to the proof of the password, which gets what `at_proof` says.
pub fn header_exchange(at_proof: impl Fn() -> Reply + Send + Sync + 'static) -> Arc<Script> {
    script(move |head, _| {
        let authorization = head
            .lines()
            .find_map(|line| line.strip_prefix("authorization: "))
            .unwrap_or_default();
        if authorization.is_empty() {
            return answer("302 Found", "Location: /login\r\n", "");
        }
        let challenge = |text: &str| {
            answer(
                "401 Unauthorized",
                &format!("WWW-Authenticate: {text}\r\n"),
                "",
            )
        };
        if authorization.starts_with("HELLO ") {
            return challenge("SCRAM hash=SHA-256, handshakeToken=t1");
        }
        let data = authorization
            .split("data=")
            .nth(1)
            .and_then(|rest| rest.split(',').next())
            .unwrap_or_default();
        let message = String::from_utf8(URL_SAFE_NO_PAD.decode(data).unwrap()).unwrap();
        if let Some(nonce) = message
            .split("r=")
            .nth(1)
            .filter(|_| message.starts_with("n,,"))
        {
            let first = URL_SAFE_NO_PAD.encode(format!("r={nonce}server,s=AAECAwQFBgc=,i=4"));
            return challenge(&format!(
                "SCRAM handshakeToken=t2, data={first}, hash=SHA-256"
            ));
        }
        at_proof()
    })
}

#[tokio::test]
async fn an_impostor_in_the_header_exchange_never_sees_a_token_used() {
    let authority = serve(impostor(), None).await;
    let session = session(&format!("http://{authority}/"), |options| {
        options.scheme = LoginScheme::HeaderScram;
    });
    let error = session.login(&scope()).await.unwrap_err();
    let StationError::Auth { cause, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(*cause, AuthCause::ServerSignature, "{error}");
    assert!(!session.is_logged_in());
}
