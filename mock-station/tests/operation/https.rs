//! The web tier over TLS: the same answers, a station's certificate, and the way there.

use mock_station::tls::CertificateProfile;
use rustls::version::{TLS12, TLS13};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::client::{BASIC, QUERY, builder, get, request_text, send_on, tls, verified_tls};

fn fingerprint(der: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, der);
    let octets = digest.as_ref().iter();
    octets.map(|octet| format!("{octet:02x}")).collect()
}

#[tokio::test]
async fn tls_serves_what_plain_http_serves_and_marks_its_cookies() {
    let mock = builder().https().start().await.unwrap();
    let plain = get(&mock, QUERY, BASIC).await.unwrap();
    let address = mock.https_address().unwrap();
    let (stream, certificate) = tls(address).await;
    let secure = send_on(stream, "GET", QUERY, BASIC, "").await.unwrap();
    assert_eq!((secure.status, &secure.body), (200, &plain.body));
    let cookie_line = |answer: &super::client::Answer| {
        let lines = answer.head.split("\r\n");
        let mut cookies = lines.filter(|line| line.contains("JSESSIONID="));
        cookies.next().unwrap().to_owned()
    };
    assert!(cookie_line(&secure).ends_with("; Secure"));
    assert!(!cookie_line(&plain).contains("Secure"));
    let shown = mock.certificate();
    assert_eq!(certificate, shown.der);
    assert_eq!(fingerprint(&certificate), shown.fingerprint);
    assert_eq!(shown.subject, "CN=Niagara4");
    let about = "/obix/about/";
    let (stream, _) = tls(address).await;
    let secure_about = send_on(stream, "GET", about, BASIC, "").await.unwrap();
    let text = |answer: &super::client::Answer| String::from_utf8(answer.body.clone()).unwrap();
    assert!(text(&secure_about).contains(" href=\"https://"));
    let plain_about = get(&mock, about, BASIC).await.unwrap();
    assert!(text(&plain_about).contains(" href=\"http://"));
    let (stream, _) = tls(address).await;
    let page = send_on(stream, "GET", "/prelogin", "", "").await.unwrap();
    let strict = page.header("strict-transport-security");
    assert_eq!(strict, Some("max-age=63072000"));
    let plain_page = get(&mock, "/prelogin", "").await.unwrap();
    assert_eq!(plain_page.header("strict-transport-security"), None);
}

#[tokio::test]
async fn plain_requests_are_sent_to_the_tls_port_and_answered_there() {
    let mock = builder().https().start().await.unwrap();
    assert!(mock.redirect_to_https());
    let target = "/obix/about/?x=1";
    let away = get(&mock, target, BASIC).await.unwrap();
    let expected = format!("{}{target}", mock.https_url().unwrap());
    assert_eq!(
        (away.status, away.header("location")),
        (303, Some(expected.as_str()))
    );
    assert!(mock.logins().is_empty(), "the password was not looked at");
    let (stream, _) = tls(mock.https_address().unwrap()).await;
    let there = send_on(stream, "GET", QUERY, BASIC, "").await.unwrap();
    assert_eq!(there.status, 200);
    let without = builder().start().await.unwrap();
    assert!(!without.redirect_to_https() && without.https_url().is_none());
}

#[tokio::test]
async fn a_rotated_certificate_shows_on_new_connections_only() {
    let mock = builder().https().start().await.unwrap();
    let address = mock.https_address().unwrap();
    let (mut old, first) = tls(address).await;
    let second = mock
        .rotate_certificate(&CertificateProfile::Factory)
        .unwrap();
    assert_eq!(second.subject, "CN=Niagara4, O=ForRecoveryPurposes");
    let (_, seen) = tls(address).await;
    assert_ne!(seen, first);
    assert_eq!(fingerprint(&seen), second.fingerprint);
    let request = request_text("GET", "/prelogin", "", "");
    old.write_all(request.as_bytes()).await.unwrap();
    let mut head = [0; 12];
    old.read_exact(&mut head).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");
    let bad = CertificateProfile::Owner {
        names: vec!["not a name!".to_owned()],
    };
    if mock.rotate_certificate(&bad).is_err() {
        assert_eq!(mock.certificate(), second, "the old one stays");
    }
}

#[tokio::test]
async fn an_owners_certificate_verifies_in_both_protocol_versions_and_a_factory_one_does_not() {
    let start = builder()
        .https()
        .certificate(CertificateProfile::local_owner());
    let mock = start.start().await.unwrap();
    let address = mock.https_address().unwrap();
    let trusted = mock.certificate();
    for version in [&TLS12, &TLS13] {
        let stream = verified_tls(address, &trusted.der, version).await.unwrap();
        let answer = send_on(stream, "GET", QUERY, BASIC, "").await.unwrap();
        assert_eq!(answer.status, 200);
    }
    let factory = mock
        .rotate_certificate(&CertificateProfile::Factory)
        .unwrap();
    let refused = verified_tls(address, &factory.der, &TLS13)
        .await
        .unwrap_err();
    assert!(
        refused.to_string().contains("not valid for name"),
        "{refused}"
    );
    let expired = mock
        .rotate_certificate(&CertificateProfile::Expired)
        .unwrap();
    let refused = verified_tls(address, &expired.der, &TLS13)
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("expired"), "{refused}");
}

#[tokio::test]
async fn faults_and_restarts_reach_the_tls_port_too() {
    use mock_station::faults::{Fault, FaultKind};
    let mock = builder().https().start().await.unwrap();
    let address = mock.https_address().unwrap();
    mock.faults()
        .set(Fault::new(FaultKind::ServerError { status: 502 }).requests(1))
        .unwrap();
    let (stream, _) = tls(address).await;
    let answer = send_on(stream, "GET", QUERY, BASIC, "").await.unwrap();
    assert_eq!(answer.status, 502);
    let (mut idle, _) = tls(address).await;
    mock.restart(std::time::Duration::ZERO);
    let mut rest = Vec::new();
    idle.read_to_end(&mut rest).await.ok();
    assert!(rest.is_empty(), "the connection is gone");
    let (stream, _) = tls(address).await;
    assert!(send_on(stream, "GET", QUERY, BASIC, "").await.is_some());
}
