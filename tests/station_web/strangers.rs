//! Logins that no station answers, or that a station does not finish: what counts as a failed login and what does not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mock_station::model::accounts::BRIDGE;
use mock_station::switches::Switches;
use niagara_bridge::clock::TestClock;
use niagara_bridge::station::web::{LoginScheme, Secret, WebOptions, WebSession};
use niagara_bridge::station::{AuthCause, StationError};

use crate::transport::header_exchange;
use crate::wire::{Reply, Script, answer, script, serve};
use crate::{Bench, options, scope};

const BOTH_SCRAM: [LoginScheme; 2] = [LoginScheme::FormScram, LoginScheme::HeaderScram];

/// What becomes of the proof.
type Ending = fn() -> Reply;

async fn session_with(
    script: Arc<Script>,
    scheme: LoginScheme,
    login_timeout: Duration,
) -> (WebSession, Arc<TestClock>) {
    let authority = serve(script, None).await;
    let url = format!("http://{authority}/").parse().unwrap();
    let mut options = WebOptions::new(url, BRIDGE.user, Secret::new(BRIDGE.password));
    options.scheme = scheme;
    options.limits.requests_per_second = 0;
    options.login_timeout = login_timeout;
    let clock = Arc::new(TestClock::at("2025-11-02T06:40:00Z".parse().unwrap()));
    (WebSession::new(options, clock.clone()).unwrap(), clock)
}

#[tokio::test]
async fn what_is_no_station_is_told_as_such_and_asked_again_at_the_next_call() {
    let page = "<html><body>It works!</body></html>";
    let strangers: [(&str, &str, &str, &str); 7] = [
        (
            "200 OK",
            "Content-Type: text/html\r\n",
            page,
            "station-protocol",
        ),
        (
            "200 OK",
            "Content-Type: application/json\r\n",
            "{}",
            "station-protocol",
        ),
        ("404 Not Found", "", page, "station-protocol"),
        ("401 Unauthorized", "", "", "station-protocol"),
        (
            "401 Unauthorized",
            "WWW-Authenticate: Basic realm=\"x\"\r\n",
            "",
            "station-protocol",
        ),
        (
            "302 Found",
            "Location: /elsewhere\r\n",
            "",
            "station-protocol",
        ),
        ("500 Internal Server Error", "", page, "station-error"),
    ];
    for scheme in BOTH_SCRAM {
        for (status, headers, body, kind) in strangers {
            let asked = Arc::new(AtomicUsize::new(0));
            let count = Arc::clone(&asked);
            let script = script(move |_, _| {
                count.fetch_add(1, Ordering::SeqCst);
                answer(status, headers, body)
            });
            let (session, _) = session_with(script, scheme, Duration::from_secs(20)).await;
            let mut before = 0;
            for _ in 0..2 {
                let error = session.login(&scope()).await.unwrap_err();
                let text = error.to_string();
                assert_eq!(error.kind(), kind, "{scheme:?} {status} {headers}: {text}");
                assert!(!text.contains("basic"), "{scheme:?} {status}: {text}");
                let now = asked.load(Ordering::SeqCst);
                assert!(
                    now > before,
                    "{scheme:?} {status}: the station is asked again"
                );
                before = now;
            }
        }
    }
}

#[tokio::test]
async fn a_station_whose_login_page_is_not_there_yet_is_logged_in_to_as_soon_as_it_is() {
    for scheme in BOTH_SCRAM {
        for status in [401, 404, 500, 502] {
            let mut switches = Switches::default();
            switches.faults.status = Some(status);
            let bench = Bench::new(scheme, switches).await;
            let error = bench.session.login(&scope()).await.unwrap_err();
            assert_ne!(error.kind(), "station-auth", "{scheme:?} {status}: {error}");
            bench.mock.switches().change(|s| s.faults.status = None);
            let outcome = bench.session.login(&scope()).await;
            assert_eq!(outcome, Ok(()), "{scheme:?} {status}");
        }
    }
}

#[tokio::test]
async fn callers_of_a_login_that_hangs_are_all_told_and_the_next_call_starts_a_new_one() {
    let table = "Name\nStation\n";
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let hanging_once = script(move |_, number| {
        count.fetch_add(1, Ordering::SeqCst);
        match number {
            0 => Reply::SendAndStall(String::new()),
            _ => answer("200 OK", "", table),
        }
    });
    let limit = Duration::from_millis(200);
    let (session, _) = session_with(hanging_once, LoginScheme::Basic, limit).await;
    let scope = scope();
    let calls = (0..4).map(|_| session.login(&scope));
    for outcome in futures::future::join_all(calls).await {
        let error = outcome.unwrap_err();
        assert!(
            matches!(error, StationError::LoginTimeout { .. }),
            "{error}"
        );
        assert_eq!(error.kind(), "station-timeout");
    }
    assert_eq!(asked.load(Ordering::SeqCst), 1, "all waited for one login");
    assert_eq!(session.login(&scope).await, Ok(()));
}

#[tokio::test]
async fn a_proof_without_an_answer_may_be_a_bad_login_and_is_not_repeated_within_the_latch() {
    let endings: [(Ending, &str); 3] = [
        (|| Reply::SendAndStall(String::new()), "not answered"),
        (|| Reply::Close, "cannot be reached"),
        (|| answer("502 Bad Gateway", "", ""), "HTTP 502"),
    ];
    for (ending, told) in endings {
        let proofs = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&proofs);
        let script = header_exchange(move || {
            count.fetch_add(1, Ordering::SeqCst);
            ending()
        });
        let limit = Duration::from_millis(400);
        let (session, clock) = session_with(script, LoginScheme::HeaderScram, limit).await;
        let first = session.login(&scope()).await.unwrap_err();
        let StationError::Auth { cause, .. } = &first else {
            panic!("{first}");
        };
        assert_eq!(*cause, AuthCause::Unanswered);
        assert!(first.to_string().contains(told), "{first}");
        let latched = session.login(&scope()).await.unwrap_err();
        assert!(matches!(latched, StationError::Latched { .. }), "{latched}");
        assert_eq!(proofs.load(Ordering::SeqCst), 1);
        clock.advance(Duration::from_secs(30));
        session.login(&scope()).await.unwrap_err();
        assert_eq!(proofs.load(Ordering::SeqCst), 2);
    }
}

#[tokio::test]
async fn a_latched_login_still_tells_cause_user_and_remedy() {
    let bench = Bench::with_options(Switches::default(), |mock| {
        options(mock, LoginScheme::FormScram, BRIDGE, "wrong")
    })
    .await;
    bench.session.login(&scope()).await.unwrap_err();
    bench.clock.advance(Duration::from_secs(10));
    let error = bench.session.login(&scope()).await.unwrap_err();
    assert!(matches!(error, StationError::Latched { .. }), "{error}");
    let text = error.to_string();
    for part in [
        bench.mock.url().as_str(),
        "refused user name or password",
        "(user bridge)",
        "check user name and password",
        "in 20 s",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
}
