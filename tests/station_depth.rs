//! Watched points, Fox, certificates and circuit breaker against the stand-in station.

mod mock;

use std::sync::Arc;
use std::time::Duration;

use mock::{Frozen, scope, start};
use mock_station::fox::{FoxScenario, FoxSettings};
use mock_station::model::accounts;
use mock_station::model::component::Handle;
use mock_station::model::value::Value;
use mock_station::server::MockStation;
use mock_station::switches::ObixMode;
use mock_station::tls::CertificateProfile;
use niagara_bridge::clock::{SystemClock, TestClock};
use niagara_bridge::station::boxp::TypeCache;
use niagara_bridge::station::facade::{
    Change, ChangePacing, ChangeRoute, FacadeError, PointValue, StationFacade, Subscription,
};
use niagara_bridge::station::fox::{FoxFailure, FoxProber, FoxProblem, FoxReport, FoxTarget};
use niagara_bridge::station::http::Trust;
use niagara_bridge::station::ord::Ord;
use niagara_bridge::station::web::{LoginScheme, Secret, WebOptions, WebSession};

/// Polls as fast as the answers come; a test never waits for a pause.
const FAST: ChangePacing = ChangePacing {
    watch: Duration::from_millis(2),
    box_session: Duration::from_millis(2),
    polling: Duration::from_millis(2),
    first_pause: Duration::from_millis(2),
    longest_pause: Duration::from_millis(10),
    recheck: Duration::from_secs(600),
};

fn facade(frozen: &Frozen) -> Arc<StationFacade> {
    let session = frozen.session(accounts::BRIDGE);
    Arc::new(StationFacade::new(session, TypeCache::new(), None).with_change_pacing(FAST))
}

/// Writable numeric points of the station, with their ords.
fn writables(frozen: &Frozen, count: usize) -> Vec<(Handle, Ord)> {
    let station = frozen.station.station().read();
    station
        .descendants(station.root())
        .filter(|component| component.ty().is("control:NumericWritable"))
        .map(|component| {
            let path = station.slot_path(component.handle());
            (component.handle(), Ord::component(&path).expect("an ORD"))
        })
        .take(count)
        .collect()
}

/// Commands a point at level 8, as an operator does; returns what its output is now.
fn command(frozen: &Frozen, handle: Handle, value: f64) -> f64 {
    let mut station = frozen.station.station().write();
    let input = station.value(handle, "in8").expect("an input");
    let Value::Struct(mut input) = input else {
        panic!("an input is a struct");
    };
    input.set("value", Value::Double(value));
    input.set("status", Value::Status(Default::default()));
    station
        .set(handle, "in8", Value::Struct(input))
        .expect("set");
    let (value, _) = station.out(handle).expect("an output");
    value.as_f64().expect("a number")
}

fn model_value(frozen: &Frozen, handle: Handle) -> f64 {
    let station = frozen.station.station().read();
    let (value, _) = station.out(handle).expect("an output");
    value.as_f64().expect("a number")
}

fn number(change: &Change) -> Option<f64> {
    match &change.value {
        Some(PointValue::Number(number)) => Some(*number),
        _ => None,
    }
}

/// The next change of a point that satisfies a condition; fails the test when none comes in good time.
async fn awaited(
    subscription: &mut Subscription,
    ord: &Ord,
    accepts: impl Fn(&Change) -> bool,
) -> Change {
    let search = async {
        loop {
            let change = subscription.next().await.expect("the subscription lives");
            if change.ord == *ord && accepts(&change) {
                return change;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), search)
        .await
        .expect("the change arrives")
}

#[tokio::test]
async fn points_are_watched_over_box_where_obix_is_not_offered() {
    let frozen = start().await;
    frozen
        .station
        .switches()
        .change(|switches| switches.obix.mode = ObixMode::NoServlet);
    let facade = facade(&frozen);
    let points = writables(&frozen, 3);
    let ords: Vec<Ord> = points.iter().map(|(_, ord)| ord.clone()).collect();
    let mut subscription = facade.subscribe(&ords).expect("watchable");
    for (handle, ord) in &points {
        let first = awaited(&mut subscription, ord, |_| true).await;
        assert_eq!(number(&first), Some(model_value(&frozen, *handle)), "{ord}");
        assert!(!first.gap && first.problem.is_none(), "{first:?}");
    }
    assert_eq!(subscription.route(), Some(ChangeRoute::BoxSession));
    assert_eq!(frozen.station.box_sessions(), 1, "one session for all");

    let (handle, ord) = &points[1];
    let now = command(&frozen, *handle, 17.25);
    let change = awaited(&mut subscription, ord, |change| number(change) == Some(now)).await;
    assert!(!change.gap, "nothing was missed");
    facade.close().await;
    assert_eq!(subscription.next().await, None);
    assert_eq!(frozen.station.box_sessions(), 0);
    assert_eq!(frozen.station.sessions(), 0);
}

#[tokio::test]
async fn an_expired_box_session_is_made_anew_and_the_gap_is_marked() {
    let frozen = start().await;
    frozen
        .station
        .switches()
        .change(|switches| switches.obix.mode = ObixMode::NoServlet);
    let facade = facade(&frozen);
    let points = writables(&frozen, 1);
    let (handle, ord) = points[0].clone();
    let mut subscription = facade.subscribe(&[ord.clone()]).expect("watchable");
    awaited(&mut subscription, &ord, |_| true).await;
    // Longer than any session lives without a request.
    frozen.clock.advance(chrono::TimeDelta::hours(2));
    let now = command(&frozen, handle, 42.5);
    let change = awaited(&mut subscription, &ord, |change| {
        number(change) == Some(now) && change.gap
    })
    .await;
    assert!(change.problem.is_none());
    let next = command(&frozen, handle, 43.5);
    let change = awaited(&mut subscription, &ord, |change| {
        number(change) == Some(next)
    })
    .await;
    assert!(!change.gap, "the watch goes on without a gap");
    facade.close().await;
}

#[tokio::test]
async fn without_subscriptions_points_are_polled_and_bad_ords_are_named() {
    let frozen = start().await;
    frozen.station.switches().change(|switches| {
        switches.obix.mode = ObixMode::NoServlet;
        switches.boxs.session_limit = 0;
    });
    let facade = facade(&frozen);
    let (handle, ord) = writables(&frozen, 1)[0].clone();
    let nowhere = Ord::component("slot:/Nowhere/Point").expect("an ORD");
    let folder = Ord::component("slot:/Drivers").expect("an ORD");
    let mut subscription = facade
        .subscribe(&[ord.clone(), nowhere.clone(), folder.clone()])
        .expect("watchable");
    let first = awaited(&mut subscription, &ord, |_| true).await;
    assert_eq!(number(&first), Some(model_value(&frozen, handle)));
    assert_eq!(subscription.route(), Some(ChangeRoute::Polling));
    // What came first waits in no order between points: ask again for those two.
    let mut second = facade
        .subscribe(&[nowhere.clone(), folder.clone()])
        .expect("watchable");
    let missing = awaited(&mut second, &nowhere, |_| true).await;
    assert!(
        missing
            .problem
            .as_deref()
            .is_some_and(|text| text.contains("Nowhere")),
        "{missing:?}"
    );
    let no_point = awaited(&mut second, &folder, |_| true).await;
    assert!(
        no_point
            .problem
            .as_deref()
            .is_some_and(|text| text.contains("no control point")),
        "{no_point:?}"
    );
    let now = command(&frozen, handle, 12.75);
    awaited(&mut subscription, &ord, |change| {
        number(change) == Some(now)
    })
    .await;
    facade.close().await;
}

#[tokio::test]
async fn subscribers_share_one_watch_that_ends_with_the_last() {
    let frozen = start().await;
    frozen
        .station
        .switches()
        .change(|switches| switches.obix.mode = ObixMode::NoServlet);
    let facade = facade(&frozen);
    let points = writables(&frozen, 2);
    let (handle, ord) = points[0].clone();
    let mut first = facade.subscribe(&[ord.clone()]).expect("watchable");
    awaited(&mut first, &ord, |_| true).await;
    let mut second = facade.subscribe(&[ord.clone()]).expect("watchable");
    awaited(&mut second, &ord, |_| true).await;
    assert_eq!(
        (facade.watched_points(), frozen.station.box_sessions()),
        (1, 1)
    );
    second.add(&points[1].1).expect("watchable");
    awaited(&mut second, &points[1].1, |_| true).await;
    drop(first);
    let now = command(&frozen, handle, 31.5);
    awaited(&mut second, &ord, |change| number(change) == Some(now)).await;
    drop(second);
    assert_eq!(facade.watched_points(), 0);
    let many: Vec<Ord> = (0..501)
        .map(|number| Ord::component(&format!("slot:/P{number}")).expect("an ORD"))
        .collect();
    assert!(
        facade.subscribe(&many).is_err(),
        "more than a controller bears"
    );
    assert_eq!(facade.watched_points(), 0, "all or none");
    let history = "history:/A/B".parse::<Ord>().expect("an ORD");
    assert!(facade.subscribe(&[history]).is_err());
    facade.close().await;
}

#[tokio::test]
async fn a_station_that_goes_away_is_awaited_and_watched_again() {
    let frozen = start().await;
    let facade = facade(&frozen);
    let (handle, ord) = writables(&frozen, 1)[0].clone();
    let mut subscription = facade.subscribe(&[ord.clone()]).expect("watchable");
    awaited(&mut subscription, &ord, |_| true).await;
    frozen
        .station
        .switches()
        .change(|switches| switches.faults.cut = true);
    let gone = awaited(&mut subscription, &ord, |change| change.problem.is_some()).await;
    assert_eq!((gone.value, gone.gap), (None, false));
    let now = command(&frozen, handle, 55.5);
    frozen
        .station
        .switches()
        .change(|switches| switches.faults.cut = false);
    let back = awaited(&mut subscription, &ord, |change| change.problem.is_none()).await;
    assert_eq!((number(&back), back.gap), (Some(now), true));
    facade.close().await;
    assert_eq!(frozen.station.sessions(), 0);
}

fn prober(targets: &[&FoxTarget], trust: Trust) -> FoxProber {
    let targets = targets.iter().map(|target| (*target).clone()).collect();
    FoxProber::new(targets, trust, SystemClock::shared()).with_patience(Duration::from_millis(400))
}

fn fox_targets(station: &MockStation) -> (FoxTarget, FoxTarget) {
    let fox = station.fox().expect("fox ports");
    let target = |address: std::net::SocketAddr, secure| FoxTarget {
        host: address.ip().to_string(),
        port: address.port(),
        secure,
    };
    (
        target(fox.address().expect("a plain port"), false),
        target(fox.secure_address().expect("a TLS port"), true),
    )
}

async fn probed(target: &FoxTarget, trust: Trust) -> FoxReport {
    let answer = prober(&[target], trust)
        .probe(&scope(), target)
        .await
        .expect("allowed");
    assert!(answer.is_fresh);
    (*answer.report).clone()
}

#[tokio::test]
async fn every_kind_of_fox_port_is_told_apart_and_gets_nothing_but_the_hello() {
    let station = MockStation::builder()
        .fox(FoxSettings {
            pace: Duration::ZERO,
            ..FoxSettings::default()
        })
        .start()
        .await
        .expect("started");
    let fox = station.fox().expect("fox ports").clone();
    let (plain, secure) = fox_targets(&station);
    for scenario in FoxScenario::ALL {
        fox.play(scenario);
        let report = probed(&plain, Trust::Insecure).await;
        let failure = report.failure.clone();
        let identity = report.identity.clone();
        assert!(report.reachable, "{scenario:?}");
        let is_fox = match scenario {
            FoxScenario::Ax | FoxScenario::Split | FoxScenario::BlobTerminator => {
                let identity = identity.expect("a hello");
                assert!(identity.station_name.is_some(), "{scenario:?}");
                assert!(identity.app_version.is_some());
                assert!(identity.time_zone.is_some_and(|zone| !zone.id.is_empty()));
                true
            }
            FoxScenario::Crlf => {
                let identity = identity.expect("a hello");
                let name = identity.station_name.expect("a name");
                assert_eq!(name.trim_end(), name, "no carriage return in it");
                true
            }
            FoxScenario::N4
            | FoxScenario::Slow
            | FoxScenario::Trailing
            | FoxScenario::KeepaliveFirst
            | FoxScenario::ExpiredCert
            | FoxScenario::FactoryCert
            | FoxScenario::PlainOnTls => {
                let identity = identity.expect("a hello");
                assert_eq!(
                    identity.app_name.as_deref(),
                    Some("Station"),
                    "{scenario:?}"
                );
                assert_eq!(identity.keys.len(), 4, "{scenario:?}");
                assert_eq!((identity.app_version, identity.station_name), (None, None));
                true
            }
            FoxScenario::Fatal => {
                let identity = identity.expect("a hello");
                assert!(identity.fatal.is_some() && identity.host_name.is_none());
                true
            }
            FoxScenario::ErrorFrame => {
                assert!(matches!(failure, Some(FoxFailure::ErrorFrame { .. })));
                true
            }
            FoxScenario::HugeLen => {
                assert!(
                    matches!(failure, Some(FoxFailure::Malformed { .. })),
                    "{failure:?}"
                );
                true
            }
            FoxScenario::Silent => {
                assert_eq!(failure, Some(FoxFailure::Silent));
                false
            }
            FoxScenario::Close => {
                assert_eq!(failure, Some(FoxFailure::ClosedWithoutAnswer));
                false
            }
            FoxScenario::Echo => {
                assert_eq!(failure, Some(FoxFailure::Echo));
                false
            }
            FoxScenario::Garbage => {
                assert!(
                    matches!(failure, Some(FoxFailure::NotFox { .. })),
                    "{failure:?}"
                );
                false
            }
            FoxScenario::TlsOnPlain => {
                assert_eq!(failure, Some(FoxFailure::SpeaksTls));
                false
            }
        };
        assert_eq!(report.is_fox, is_fox, "{scenario:?}");
    }
    fox.play(FoxScenario::Split);
    for _ in 0..80 {
        let report = probed(&plain, Trust::Insecure).await;
        assert!(
            report
                .identity
                .is_some_and(|identity| identity.brand.is_some())
        );
    }
    for connection in fox.connections() {
        if connection.scenario != FoxScenario::TlsOnPlain {
            assert_eq!(connection.received_total, 52, "{:?}", connection.scenario);
        }
    }
    fox.play(FoxScenario::PlainOnTls);
    let report = probed(&secure, Trust::Insecure).await;
    assert_eq!(report.failure, Some(FoxFailure::SpeaksPlainFox));
}

#[tokio::test]
async fn fox_over_tls_tells_the_certificate_and_says_hello_only_to_a_trusted_one() {
    let station = MockStation::builder()
        .fox(FoxSettings::from(FoxScenario::N4))
        .start()
        .await
        .expect("started");
    let fox = station.fox().expect("fox ports").clone();
    let (plain, secure) = fox_targets(&station);
    let certificate = station.certificate();
    let pin = Trust::pinned(&certificate.fingerprint).expect("a fingerprint");
    let report = probed(&secure, pin.clone()).await;
    let tls = report.tls.clone().expect("TLS");
    let facts = tls.certificate.expect("a certificate");
    assert_eq!(facts.fingerprint, certificate.fingerprint);
    assert_eq!(
        facts.not_after.map(|end| end.timestamp()),
        Some(certificate.not_after.timestamp())
    );
    assert!(tls.verified && facts.is_self_signed && report.is_fox);

    let open = probed(&secure, Trust::Insecure).await;
    assert!(open.is_fox && open.tls.is_some_and(|tls| !tls.verified));

    fox.clear_connections();
    let other = Trust::pinned(&"ab".repeat(32)).expect("a fingerprint");
    let report = probed(&secure, other).await;
    let Some(FoxFailure::NotVerified { cause }) = &report.failure else {
        panic!("{report:?}");
    };
    assert!(
        cause.contains(&certificate.fingerprint) && cause.contains(&"ab".repeat(32)),
        "{cause}"
    );
    assert!(
        report
            .tls
            .is_some_and(|tls| tls.certificate.is_some() && !tls.verified)
    );
    assert!(!report.is_fox);
    for connection in fox.connections() {
        assert_eq!(connection.received_total, 0, "not even a hello");
    }
    for (scenario, word) in [
        (FoxScenario::ExpiredCert, "out of date"),
        (FoxScenario::FactoryCert, "factory"),
    ] {
        fox.play(scenario);
        let report = probed(&secure, Trust::Insecure).await;
        assert!(
            report.hints.iter().any(|hint| hint.contains(word)),
            "{:?}",
            report.hints
        );
    }
    let report = probed(&plain, Trust::System).await;
    assert!(
        report
            .hints
            .iter()
            .any(|hint| hint.contains("plain Fox is open"))
    );
}

#[tokio::test]
async fn a_fox_target_is_asked_once_a_minute_and_only_if_allowed() {
    let station = MockStation::builder()
        .fox(FoxSettings::from(FoxScenario::Ax))
        .start()
        .await
        .expect("started");
    let fox = station.fox().expect("fox ports").clone();
    let (plain, secure) = fox_targets(&station);
    let clock = Arc::new(TestClock::at(
        "2026-01-01T00:00:00Z".parse().expect("a time"),
    ));
    let prober = FoxProber::new(vec![plain.clone()], Trust::System, clock.clone());
    let first = prober.probe(&scope(), &plain).await.expect("allowed");
    let again = prober.probe(&scope(), &plain).await.expect("allowed");
    assert_eq!((first.is_fresh, again.is_fresh), (true, false));
    assert_eq!(again.report, first.report);
    clock.advance(Duration::from_secs(59));
    assert!(
        !prober
            .probe(&scope(), &plain)
            .await
            .expect("allowed")
            .is_fresh
    );
    clock.advance(Duration::from_secs(1));
    assert!(
        prober
            .probe(&scope(), &plain)
            .await
            .expect("allowed")
            .is_fresh
    );
    assert_eq!(fox.connections().len(), 2);
    let refused = prober.probe(&scope(), &secure).await;
    assert!(matches!(refused, Err(FoxProblem::NotAllowed { .. })));
    assert_eq!(fox.connections().len(), 2);

    // A station that is gone is asked less and less often.
    drop(station);
    let gone = FoxTarget {
        port: plain.port,
        ..plain.clone()
    };
    for pause in [120, 240] {
        clock.advance(Duration::from_secs(900));
        let answer = prober.probe(&scope(), &gone).await.expect("allowed");
        assert!(answer.is_fresh && !answer.report.is_fox);
        assert_eq!(answer.next_in.as_secs(), pause);
    }
}

/// A session of the service account at this address with this trust.
fn session_at(url: &str, trust: Trust) -> WebSession {
    let account = accounts::BRIDGE;
    let url = url.parse().expect("an address");
    let mut options = WebOptions::new(url, account.user, Secret::new(account.password));
    options.limits.requests_per_second = 0;
    options.trust = trust;
    WebSession::new(options, SystemClock::shared()).expect("a session")
}

#[tokio::test]
async fn each_way_to_trust_a_certificate_accepts_its_own_and_nothing_else() {
    let station = MockStation::builder()
        .https()
        .certificate(CertificateProfile::local_owner())
        .start()
        .await
        .expect("started");
    let url = station.https_url().expect("https");
    let certificate = station.certificate();
    let folder = tempfile::tempdir().expect("a folder");
    let own = folder.path().join("own.pem");
    std::fs::write(&own, certificate.pem()).expect("written");
    let pin = Trust::pinned(&certificate.fingerprint).expect("a fingerprint");
    for trust in [Trust::CaFile(own.clone()), pin.clone(), Trust::Insecure] {
        session_at(&url, trust.clone())
            .login(&scope())
            .await
            .unwrap_or_else(|error| panic!("{trust:?}: {error}"));
    }
    station.clear_logs();
    let refused = async |trust: Trust| {
        let error = session_at(&url, trust).login(&scope()).await;
        let error = error.expect_err("not trusted");
        assert_eq!(error.kind(), "station-certificate", "{error}");
        error.to_string()
    };
    refused(Trust::System).await;

    // The station gets another certificate: nobody who relied on the old one sends anything.
    let renewed = station
        .rotate_certificate(&CertificateProfile::Station)
        .expect("a certificate");
    let text = refused(pin).await;
    for part in [
        &certificate.fingerprint,
        &renewed.fingerprint,
        "pin the new fingerprint",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    refused(Trust::CaFile(own)).await;
    assert_eq!(station.logins(), [], "no credential was sent");
    session_at(&url, Trust::Insecure)
        .login(&scope())
        .await
        .expect("explicitly insecure");
}

#[tokio::test]
async fn a_station_that_insists_on_https_gets_no_credentials_before() {
    let station = MockStation::builder()
        .https()
        .start()
        .await
        .expect("started");
    assert!(station.redirect_to_https());
    let pin = Trust::pinned(&station.certificate().fingerprint).expect("a fingerprint");
    let session = session_at(&station.url(), pin);
    session.login(&scope()).await.expect("logged in");
    assert_eq!(session.base_url().scheme(), "https");
    let redirected: Vec<String> = station
        .requests()
        .into_iter()
        .filter(|request| request.status == 303)
        .map(|request| request.target)
        .collect();
    assert_eq!(
        redirected,
        ["/"],
        "one request without credentials over http"
    );

    // A certificate that is not trusted ends it there.
    station.clear_logs();
    let stranger = session_at(&station.url(), Trust::System);
    let error = stranger.login(&scope()).await.expect_err("not trusted");
    assert_eq!(error.kind(), "station-certificate");
    assert_eq!(station.logins(), []);
}

#[tokio::test]
async fn after_many_failures_only_a_connection_is_tried_and_the_first_call_after_the_return_works()
{
    let frozen = start().await;
    let facade = facade(&frozen);
    let (handle, ord) = writables(&frozen, 1)[0].clone();
    facade.read_point(&scope(), &ord).await.expect("readable");
    frozen
        .station
        .switches()
        .change(|switches| switches.faults.cut = true);
    let mut told = false;
    for _ in 0..6 {
        let error = facade.read_point(&scope(), &ord).await.expect_err("gone");
        told |= error.to_string().contains("in a row");
        let FacadeError::Station(error) = error else {
            panic!("{error}");
        };
        assert_eq!(error.kind(), "station-unreachable");
    }
    // The port still accepts connections, so that every call is a trial of its own.
    assert!(
        !told,
        "the breaker does not hide that the station accepts connections"
    );
    frozen
        .station
        .switches()
        .change(|switches| switches.faults.cut = false);
    let reading = facade.read_point(&scope(), &ord).await.expect("it is back");
    assert_eq!(
        reading.typed,
        Some(PointValue::Number(model_value(&frozen, handle)))
    );

    let address = frozen.station.address();
    frozen.station.shutdown().await;
    let mut texts = Vec::new();
    for _ in 0..8 {
        let error = facade.read_point(&scope(), &ord).await.expect_err("down");
        texts.push(error.to_string());
    }
    let last = texts.last().expect("a text");
    assert!(
        last.contains("in a row") && last.contains("only a connection is tried"),
        "{last}"
    );
    let again = MockStation::builder()
        .bind(address)
        .start()
        .await
        .expect("the same port");
    facade
        .read_point(&scope(), &ord)
        .await
        .expect("the first call after the return");
    assert!(again.sessions() > 0);
}

/// What a scripted station with oBIX alone keeps.
#[derive(Default)]
struct Scripted {
    value: f64,
    /// Number of the living watch; 0 for none.
    watch: u32,
    made: u32,
    changed: bool,
    /// Paths of the requests.
    heard: Vec<String>,
    /// The watch refuses every point.
    refuses: bool,
    held: Vec<String>,
}

type SharedScript = Arc<std::sync::Mutex<Scripted>>;

const WATCHED: &str = "/obix/config/A/out/";

async fn obix_answer(
    axum::extract::State(script): axum::extract::State<SharedScript>,
    request: axum::extract::Request,
) -> impl axum::response::IntoResponse {
    let path = request.uri().path().to_owned();
    let body = axum::body::to_bytes(request.into_body(), 1 << 16)
        .await
        .expect("a small body");
    let body = String::from_utf8_lossy(&body).into_owned();
    let mut script = script.lock().expect("no panic in scripts");
    script.heard.push(path.clone());
    let value = format!(
        r#"<real href="{WATCHED}" val="{}" display="{} {{ok}}"/>"#,
        script.value, script.value
    );
    let bad = r#"<err is="obix:BadUriErr" display="no such object"/>"#.to_owned();
    let list = |members: &str| {
        format!(
            r#"<obj is="obix:WatchOut"><list name="values" of="obix:obj">{members}</list></obj>"#
        )
    };
    let alive = format!("/obix/watchService/watch{}/", script.watch);
    let text = match path.as_str() {
        "/obix/" => r#"<obj is="obix:Lobby"><ref name="watchService" href="watchService/" is="obix:WatchService"/><ref name="about" href="about/"/></obj>"#.to_owned(),
        "/obix/watchService/make" | "/obix/watchService/make/" => {
            script.made += 1;
            script.watch = script.made;
            script.held.clear();
            let base = format!("/obix/watchService/watch{}/", script.watch);
            format!(r#"<obj href="{base}" is="obix:Watch"><reltime name="lease" val="PT30S" href="{base}lease/"/></obj>"#)
        }
        path if script.watch > 0 && path.starts_with(&alive) => {
            match path.trim_start_matches(&alive).trim_end_matches('/') {
                "lease" => r#"<reltime val="PT30S"/>"#.to_owned(),
                "add" if script.refuses || !body.contains(WATCHED) => list(&bad),
                "add" => {
                    script.held.push(WATCHED.to_owned());
                    list(&value)
                }
                "remove" => {
                    script.held.clear();
                    r#"<obj null="true"/>"#.to_owned()
                }
                "pollChanges" if std::mem::take(&mut script.changed) => list(&value),
                "pollChanges" => list(""),
                "pollRefresh" => list(&value),
                "delete" => {
                    script.watch = 0;
                    r#"<obj null="true"/>"#.to_owned()
                }
                _ => bad,
            }
        }
        WATCHED => value,
        _ => bad,
    };
    ([(http::header::CONTENT_TYPE, "text/xml")], text)
}

/// A station that offers oBIX and nothing else, and a facade of it.
async fn obix_only() -> (SharedScript, Arc<StationFacade>) {
    let script = SharedScript::default();
    let app = axum::Router::new()
        .route(
            "/box/",
            axum::routing::any(async || http::StatusCode::NOT_FOUND),
        )
        .route(
            "/ord/{*rest}",
            axum::routing::any(async || http::StatusCode::NOT_FOUND),
        )
        .fallback(obix_answer)
        .with_state(Arc::clone(&script));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    tokio::spawn(async move { axum::serve(listener, app).await.expect("serving") });
    let url = url.parse().expect("an address");
    let mut options = WebOptions::new(url, "bridge", Secret::new("secret"));
    options.scheme = LoginScheme::Basic;
    options.limits.requests_per_second = 0;
    let session = WebSession::new(options, SystemClock::shared()).expect("a session");
    let facade = StationFacade::new(session, TypeCache::new(), None).with_change_pacing(FAST);
    (script, Arc::new(facade))
}

fn edit(script: &SharedScript, edit: impl FnOnce(&mut Scripted)) {
    edit(&mut script.lock().expect("no panic in scripts"));
}

#[tokio::test]
async fn an_obix_watch_is_made_kept_renewed_with_a_gap_mark_and_deleted() {
    let (script, facade) = obix_only().await;
    edit(&script, |script| script.value = 1.5);
    let ord = Ord::component("slot:/A").expect("an ORD");
    let mut subscription = facade.subscribe(&[ord.clone()]).expect("watchable");
    let first = awaited(&mut subscription, &ord, |_| true).await;
    assert_eq!((number(&first), first.gap), (Some(1.5), false));
    assert_eq!(first.text.as_deref(), Some("1.5 {ok}"));
    edit(&script, |script| {
        (script.value, script.changed) = (2.5, true)
    });
    let change = awaited(&mut subscription, &ord, |_| true).await;
    assert_eq!((number(&change), change.gap), (Some(2.5), false));
    assert_eq!(subscription.route(), Some(ChangeRoute::ObixWatch));

    // The lease ends, and the value changes while nobody watches.
    edit(&script, |script| (script.value, script.watch) = (3.5, 0));
    let change = awaited(&mut subscription, &ord, |_| true).await;
    assert_eq!((number(&change), change.gap), (Some(3.5), true));
    edit(&script, |script| assert_eq!(script.made, 2));

    // One bad point is served by its own words and does not end the watch.
    let bad = Ord::component("slot:/Gone").expect("an ORD");
    subscription.add(&bad).expect("watchable");
    let problem = awaited(&mut subscription, &bad, |_| true).await;
    assert!(problem.problem.is_some() && problem.value.is_none());
    assert_eq!(subscription.route(), Some(ChangeRoute::ObixWatch));
    edit(&script, |script| {
        assert!(script.watch > 0 && !script.held.is_empty())
    });

    facade.close().await;
    edit(&script, |script| {
        assert_eq!(script.watch, 0, "the watch was deleted")
    });
    assert_eq!(subscription.next().await, None);
}

#[tokio::test]
async fn a_watch_that_refuses_readable_points_is_given_up_for_polling() {
    let (script, facade) = obix_only().await;
    edit(&script, |script| {
        (script.value, script.refuses) = (7.0, true)
    });
    let ord = Ord::component("slot:/A").expect("an ORD");
    let mut subscription = facade.subscribe(&[ord.clone()]).expect("watchable");
    let first = awaited(&mut subscription, &ord, |_| true).await;
    assert_eq!(number(&first), Some(7.0));
    edit(&script, |script| script.value = 8.0);
    awaited(&mut subscription, &ord, |change| {
        number(change) == Some(8.0)
    })
    .await;
    assert_eq!(subscription.route(), Some(ChangeRoute::Polling));
    edit(&script, |script| {
        assert_eq!(script.watch, 0, "no watch is left behind")
    });
    facade.close().await;
}
