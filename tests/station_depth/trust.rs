//! Which certificates are trusted, and that no credential goes to anybody else.

use mock_station::model::accounts;
use mock_station::server::MockStation;
use mock_station::tls::CertificateProfile;
use niagara_bridge::clock::SystemClock;
use niagara_bridge::station::http::Trust;
use niagara_bridge::station::web::{Secret, WebOptions, WebSession};

use crate::mock::scope;

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
    refused(Trust::CaFile(own.clone())).await;

    // Its issuer is trusted, but it was made for another name than the address.
    std::fs::write(&own, renewed.pem()).expect("written");
    let text = refused(Trust::CaFile(own)).await;
    assert!(text.contains("made for another name"), "{text}");
    assert!(!text.contains("give its CA file"), "{text}");
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

/// Connections of before go on to serve, which is no reason to say nothing.
#[tokio::test]
async fn a_certificate_that_changes_while_connected_is_told_by_the_next_new_connection() {
    let station = MockStation::builder()
        .https()
        .certificate(CertificateProfile::local_owner())
        .start()
        .await
        .expect("started");
    let url = station.https_url().expect("https");
    let pin = Trust::pinned(&station.certificate().fingerprint).expect("a fingerprint");
    let session = session_at(&url, pin);
    session.login(&scope()).await.expect("logged in");
    session
        .look_at_certificate(&scope())
        .await
        .expect("trusted");
    assert_eq!(session.certificate_problem(), None);

    station
        .rotate_certificate(&CertificateProfile::Station)
        .expect("a certificate");
    let error = session
        .look_at_certificate(&scope())
        .await
        .expect_err("another certificate");
    assert_eq!(error.kind(), "station-certificate", "{error}");
    let problem = session.certificate_problem().expect("a problem");
    assert!(problem.contains("pin the new fingerprint"), "{problem}");

    let renewed = Trust::pinned(&station.certificate().fingerprint).expect("a fingerprint");
    let other = session_at(&url, renewed);
    other.login(&scope()).await.expect("logged in");
    assert_eq!(other.certificate_problem(), None);
}
