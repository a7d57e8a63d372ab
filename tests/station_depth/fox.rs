//! The probe of Fox ports in every scenario of the stand-in station.

use std::sync::Arc;
use std::time::Duration;

use mock_station::fox::{FoxScenario, FoxSettings};
use mock_station::server::MockStation;
use niagara_bridge::clock::{SystemClock, TestClock};
use niagara_bridge::station::fox::{FoxFailure, FoxProber, FoxProblem, FoxReport, FoxTarget};
use niagara_bridge::station::http::Trust;

use crate::mock::scope;

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
        // A port that closes at once need not hear it; one that speaks TLS takes it for a broken handshake.
        match connection.scenario {
            FoxScenario::Close => assert!(connection.received_total <= 52),
            FoxScenario::TlsOnPlain => {}
            scenario => assert_eq!(connection.received_total, 52, "{scenario:?}"),
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
