//! The Fox ports as a prober meets them, and what they keep of the prober.

use std::time::Duration;

use mock_station::fox::{FoxConnection, FoxScenario, FoxService, FoxSettings};
use mock_station::server::MockStation;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use super::client::{builder, tls, verified_tls};

/// The sufficient hello of the Fox specification §4.
const HELLO: &[u8] = b"fox a 1 -1 fox hello\n{\nfox.version=s:1.0\nid=i:1\n};;\n";

async fn playing(scenario: FoxScenario) -> MockStation {
    let settings = FoxSettings {
        pace: Duration::from_micros(200),
        ..FoxSettings::from(scenario)
    };
    builder().fox(settings).start().await.unwrap()
}

fn fox(mock: &MockStation) -> &FoxService {
    mock.fox().unwrap()
}

async fn plain(mock: &MockStation) -> TcpStream {
    TcpStream::connect(fox(mock).address().unwrap())
        .await
        .unwrap()
}

/// Greets, then reads until something the caller knows has come, or the station closes.
async fn greet<Stream: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut Stream,
    enough: impl Fn(&[u8]) -> bool,
) -> Vec<u8> {
    stream.write_all(HELLO).await.unwrap();
    stream.flush().await.unwrap();
    hear(stream, enough).await
}

async fn hear<Stream: AsyncRead + Unpin>(
    stream: &mut Stream,
    enough: impl Fn(&[u8]) -> bool,
) -> Vec<u8> {
    let mut heard = Vec::new();
    let mut buffer = [0; 8192];
    while !enough(&heard) {
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(count) => heard.extend_from_slice(&buffer[..count]),
        }
    }
    heard
}

fn ends_with(ending: &'static str) -> impl Fn(&[u8]) -> bool {
    move |heard| heard.ends_with(ending.as_bytes())
}

/// What a plain port says up to an ending, as text.
async fn plain_answer(mock: &MockStation, ending: &'static str) -> String {
    let heard = greet(&mut plain(mock).await, ends_with(ending)).await;
    String::from_utf8_lossy(&heard).into_owned()
}

fn line<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix("=s:"))
}

async fn only_connection(mock: &MockStation) -> FoxConnection {
    let mut all = fox(mock).closed_connections(1).await;
    assert_eq!(all.len(), 1);
    all.remove(0)
}

#[tokio::test]
async fn an_n4_station_greets_with_four_fields_and_challenges_at_once_on_both_ports() {
    let mock = playing(FoxScenario::N4).await;
    let ending = "fox a 1 -1 fox challenge\n{\nmethod=s:n4digest\n};;\n";
    let text = plain_answer(&mock, ending).await;
    let host = mock.station().read().identity.host_name.clone();
    assert_eq!(
        text,
        format!(
            "fox a 0 -1 fox hello\n{{\nfox.version=s:1.0.2\nhostName=s:{host}\nhostAddress=s:127.0.0.1\napp.name=s:Station\n}};;\n{ending}"
        )
    );
    let (mut stream, certificate) = tls(fox(&mock).secure_address().unwrap()).await;
    let secure = greet(&mut stream, ends_with(ending)).await;
    assert_eq!(String::from_utf8(secure).unwrap(), text);
    assert_eq!(
        certificate,
        mock.certificate().der,
        "one certificate serves all ports"
    );
    drop(stream);
    let seen = fox(&mock).closed_connections(2).await;
    assert_eq!(
        seen.iter().map(|one| one.secure).collect::<Vec<_>>(),
        [false, true]
    );
    assert!(seen.iter().all(|one| one.greeted && one.received == HELLO));
}

#[tokio::test]
async fn an_ax_station_names_itself_in_the_order_of_captures() {
    let mock = playing(FoxScenario::Ax).await;
    let text = plain_answer(&mock, "]\n};;\n").await;
    let hello = text.split("};;\n").next().unwrap();
    let keys: Vec<&str> = hello
        .lines()
        .filter_map(|line| line.split_once('=').map(|(key, _)| key))
        .filter(|key| !key.starts_with('<'))
        .collect();
    assert_eq!(
        keys,
        [
            "fox.version",
            "id",
            "hostName",
            "hostAddress",
            "app.name",
            "app.version",
            "vm.name",
            "vm.version",
            "os.name",
            "os.version",
            "station.name",
            "lang",
            "timeZone",
            "hostId",
            "vmUuid",
            "brandId",
            "sysInfo",
            "authAgentTypeSpecs"
        ]
    );
    let station = mock.station().read();
    assert_eq!(line(hello, "station.name"), Some(station.name().as_str()));
    let zone = line(hello, "timeZone").unwrap();
    assert_eq!(zone.split(';').next(), Some(station.zone().name()));
    assert!(text.contains("fox a 1 -1 fox challenge\n{\nmethod=s:digest-md5\nnonce=b:44["));
}

#[tokio::test]
async fn a_restart_shows_in_the_virtual_machine_and_the_counter() {
    let mock = playing(FoxScenario::Ax).await;
    let first = plain_answer(&mock, "]\n};;\n").await;
    let second = plain_answer(&mock, "]\n};;\n").await;
    mock.restart(Duration::ZERO);
    let third = plain_answer(&mock, "]\n};;\n").await;
    assert!(first.contains("\nid=i:1\n") && second.contains("\nid=i:2\n"));
    assert!(third.contains("\nid=i:1\n"));
    assert_eq!(line(&first, "vmUuid"), line(&second, "vmUuid"));
    assert_ne!(line(&first, "vmUuid"), line(&third, "vmUuid"));
}

#[tokio::test]
async fn fatal_error_garbage_and_keep_alive_answers_are_as_described() {
    let mock = playing(FoxScenario::Fatal).await;
    let fatal = plain_answer(&mock, "};;\n").await;
    assert!(fatal.starts_with("fox a 0 -1 fox hello\n{\nfatal=s:"));
    assert!(fatal.contains("\nfox.version=s:Niagara 4\n"));
    fox(&mock).play(FoxScenario::ErrorFrame);
    let error = plain_answer(&mock, "};;\n").await;
    assert!(error.starts_with("fox e 0 1 fox hello\n{\n"), "{error}");
    fox(&mock).play(FoxScenario::Garbage);
    let garbage = greet(&mut plain(&mock).await, |heard| heard.len() > 8).await;
    assert!(!garbage.starts_with(b"fox "));
    fox(&mock).change(|settings| {
        settings.scenario = FoxScenario::KeepaliveFirst;
        settings.keepalives = 4;
    });
    let kept = plain_answer(&mock, "n4digest\n};;\n").await;
    let kinds: Vec<&str> = kept
        .lines()
        .filter(|line| line.starts_with("fox "))
        .collect();
    assert_eq!(
        kinds,
        [
            "fox k -1 -1 fox keepAlive",
            "fox n -1 -1 fox keepAlive",
            "fox k -1 -1 fox keepAlive",
            "fox n -1 -1 fox keepAlive",
            "fox a 0 -1 fox hello",
            "fox a 1 -1 fox challenge"
        ]
    );
}

#[tokio::test]
async fn a_silent_a_closing_and_an_echoing_port_are_no_station() {
    let mock = playing(FoxScenario::Silent).await;
    let mut silent = plain(&mock).await;
    let heard = greet(&mut silent, |heard| !heard.is_empty());
    assert!(
        tokio::time::timeout(Duration::from_millis(50), heard)
            .await
            .is_err()
    );
    drop(silent);
    let seen = only_connection(&mock).await;
    assert_eq!((seen.received.as_slice(), seen.greeted), (HELLO, false));
    fox(&mock).play(FoxScenario::Close);
    let mut closing = plain(&mock).await;
    assert!(hear(&mut closing, |_| false).await.is_empty());
    fox(&mock).play(FoxScenario::Echo);
    let echo = greet(&mut plain(&mock).await, |heard| heard.len() >= HELLO.len()).await;
    assert_eq!(echo, HELLO);
}

#[tokio::test]
async fn slow_split_and_trailing_hellos_are_whole_hellos() {
    let mock = playing(FoxScenario::N4).await;
    let whole = plain_answer(&mock, "n4digest\n};;\n").await;
    let hello = &whole[..whole.find("};;\n").unwrap() + 4];
    fox(&mock).play(FoxScenario::Slow);
    assert_eq!(plain_answer(&mock, "};;\n").await, hello);
    fox(&mock).play(FoxScenario::Trailing);
    let enough = |heard: &[u8]| heard.len() >= 1024 * 1024 + 64;
    let trailing = greet(&mut plain(&mock).await, enough).await;
    assert!(trailing.starts_with(hello.as_bytes()));
    fox(&mock).play(FoxScenario::Split);
    for place in 1..6 {
        let mut stream = plain(&mock).await;
        let mut first = vec![0; place];
        stream.write_all(HELLO).await.unwrap();
        stream.read_exact(&mut first).await.unwrap();
        let rest = hear(&mut stream, ends_with("AuthAgent\n};;\n")).await;
        assert!(
            [first, rest]
                .concat()
                .starts_with(b"fox a 0 -1 fox hello\n{\n")
        );
    }
}

#[tokio::test]
async fn hellos_that_are_hard_to_read_arrive_as_described() {
    let mock = playing(FoxScenario::BlobTerminator).await;
    let tricky = plain_answer(&mock, "after=s:seen\n};;\n").await;
    assert!(tricky.contains("\nextra=b:11[ab}\n};;\ncde]\nafter=s:seen\n};;\n"));
    fox(&mock).play(FoxScenario::HugeLen);
    let huge = plain_answer(&mock, "=b:2147483648[").await;
    assert!(huge.starts_with("fox a 0 -1 fox hello\n{\n"));
    fox(&mock).play(FoxScenario::Crlf);
    let returns = plain_answer(&mock, "};;\r\n").await;
    assert_eq!(
        returns.matches('\n').count(),
        returns.matches("\r\n").count()
    );
    assert!(returns.contains("\r\napp.version=s:3.8.111\r\n"));
}

#[tokio::test]
async fn ports_that_speak_the_wrong_protocol() {
    let mock = playing(FoxScenario::TlsOnPlain).await;
    let alert = greet(&mut plain(&mock).await, |_| false).await;
    assert_eq!(
        alert.get(..2),
        Some(&[0x15, 0x03][..]),
        "a TLS alert: {alert:?}"
    );
    assert!(only_connection(&mock).await.handshake_error.is_some());
    let (mut stream, _) = tls(fox(&mock).address().unwrap()).await;
    let inside = greet(&mut stream, ends_with("n4digest\n};;\n")).await;
    assert!(inside.starts_with(b"fox a 0 "));
    fox(&mock).play(FoxScenario::PlainOnTls);
    let address = fox(&mock).secure_address().unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream
        .write_all(b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x03")
        .await
        .unwrap();
    let text = hear(&mut stream, ends_with("n4digest\n};;\n")).await;
    assert!(text.starts_with(b"fox a 0 -1 fox hello\n{\n"));
}

#[tokio::test]
async fn certificates_that_a_probe_must_remark_on() {
    let mock = playing(FoxScenario::FactoryCert).await;
    let address = fox(&mock).secure_address().unwrap();
    let (mut stream, factory) = tls(address).await;
    let recovery = b"ForRecoveryPurposes";
    assert!(factory.windows(recovery.len()).any(|part| part == recovery));
    assert!(
        greet(&mut stream, ends_with("n4digest\n};;\n"))
            .await
            .starts_with(b"fox a 0 ")
    );
    fox(&mock).play(FoxScenario::ExpiredCert);
    let (mut stream, certificate) = tls(address).await;
    assert!(
        greet(&mut stream, ends_with("n4digest\n};;\n"))
            .await
            .starts_with(b"fox a 0 ")
    );
    assert_ne!(certificate, mock.certificate().der);
    let refused = verified_tls(address, &certificate, &rustls::version::TLS13).await;
    assert!(
        refused.is_err(),
        "each connection shows a new certificate, trusted by nobody"
    );
}

#[tokio::test]
async fn a_client_that_says_more_than_hello_is_on_record_and_gets_nothing_for_it() {
    let mock = playing(FoxScenario::N4).await;
    let mut stream = plain(&mock).await;
    greet(&mut stream, ends_with("n4digest\n};;\n")).await;
    let more = b"fox a 2 1 fox anything\n{\nname=s:x\n};;\n";
    stream.write_all(more).await.unwrap();
    stream.shutdown().await.unwrap();
    assert!(hear(&mut stream, |_| false).await.is_empty());
    let seen = only_connection(&mock).await;
    assert_eq!(seen.received, [HELLO, more].concat());
    assert_eq!(seen.received_total, HELLO.len() + more.len());
}

#[tokio::test]
async fn whoever_sends_no_hello_is_sent_away_without_a_word() {
    let mock = playing(FoxScenario::Ax).await;
    for text in [
        "GET / HTTP/1.1\r\n\r\n",
        "fox a 1 -1 fox login\n",
        "\x16\x03\x01\n",
    ] {
        let mut stream = plain(&mock).await;
        stream.write_all(text.as_bytes()).await.unwrap();
        assert!(hear(&mut stream, |_| false).await.is_empty(), "{text:?}");
    }
    assert!(
        fox(&mock)
            .closed_connections(3)
            .await
            .iter()
            .all(|one| !one.greeted)
    );
    fox(&mock).clear_connections();
    assert!(fox(&mock).connections().is_empty());
}

#[tokio::test]
async fn every_scenario_ends_when_the_client_leaves_and_shutdown_waits_for_none() {
    let mock = playing(FoxScenario::Ax).await;
    for (count, scenario) in FoxScenario::ALL.into_iter().enumerate() {
        fox(&mock).play(scenario);
        let mut stream = plain(&mock).await;
        // A closing port may reset before the hello is out.
        let _ = stream.write_all(HELLO).await;
        drop(stream);
        let seen = fox(&mock).closed_connections(count + 1).await;
        assert_eq!(seen.last().map(|one| one.scenario), Some(scenario));
    }
    fox(&mock).play(FoxScenario::Silent);
    let mut open = plain(&mock).await;
    mock.shutdown().await;
    assert!(hear(&mut open, |_| false).await.is_empty());
}

#[tokio::test]
async fn the_hundred_and_first_connection_is_closed() {
    let mock = playing(FoxScenario::N4).await;
    let mut held = Vec::new();
    for _ in 0..100 {
        let mut stream = plain(&mock).await;
        greet(&mut stream, ends_with("n4digest\n};;\n")).await;
        held.push(stream);
    }
    let mut late = plain(&mock).await;
    assert!(hear(&mut late, |_| false).await.is_empty());
    held.clear();
    fox(&mock).closed_connections(101).await;
    assert!(
        plain_answer(&mock, "n4digest\n};;\n")
            .await
            .starts_with("fox a 0 ")
    );
}
