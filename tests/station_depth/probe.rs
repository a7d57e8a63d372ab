//! The command `probe` as its users read it: every scenario of the Fox ports, accounts, other devices, nothing at all.

use std::time::Duration;

use mock_station::fox::{FoxScenario, FoxSettings};
use mock_station::model::accounts::{Account as MockAccount, BRIDGE};
use mock_station::server::MockStation;
use niagara_bridge::cli::probe::account::Account;
use niagara_bridge::cli::probe::report::{report, silence};
use niagara_bridge::cli::probe::settings::station_block;
use niagara_bridge::cli::probe::{Findings, Inquiry, examine};
use niagara_bridge::config::Config;
use niagara_bridge::config::load::Settings;
use niagara_bridge::station::http::Trust;
use niagara_bridge::station::web::{LoginScheme, Secret};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

async fn station(scenario: FoxScenario) -> MockStation {
    MockStation::builder()
        .https()
        .fox(FoxSettings {
            scenario,
            pace: Duration::ZERO,
            ..FoxSettings::default()
        })
        .start()
        .await
        .expect("started")
}

fn ask(station: &MockStation, url: &str) -> Inquiry {
    let fox = station.fox().expect("fox ports");
    let port = |address: Option<std::net::SocketAddr>| address.expect("a port").port();
    let mut inquiry = Inquiry::new(
        url.parse().expect("an address"),
        port(fox.address()),
        port(fox.secure_address()),
    );
    inquiry.fox_patience = Duration::from_millis(400);
    inquiry
}

fn as_user(mut inquiry: Inquiry, account: MockAccount, password: &str) -> Inquiry {
    inquiry.account = Some(Account {
        user: account.user.to_owned(),
        password: Secret::new(password),
        scheme: LoginScheme::FormScram,
    });
    inquiry
}

/// The line of a Fox port.
fn fox_line(text: &str, topic: &str) -> String {
    let start = format!("  {topic} ");
    let lines: Vec<&str> = text.lines().collect();
    let at = lines
        .iter()
        .position(|line| line.starts_with(&start))
        .unwrap_or_else(|| panic!("no {topic} in\n{text}"));
    // What belongs to it follows without a topic of its own.
    let more = lines[at + 1..]
        .iter()
        .take_while(|line| line.starts_with("        "));
    std::iter::once(&lines[at])
        .chain(more)
        .copied()
        .collect::<Vec<_>>()
        .join("\n")
}

#[tokio::test]
async fn every_scenario_of_the_fox_ports_is_told_in_words() {
    let station = station(FoxScenario::N4).await;
    let fox = station.fox().expect("fox").clone();
    for (scenario, plain, secure) in [
        (FoxScenario::Ax, "version 3.8.111", "version 3.8.111"),
        (FoxScenario::N4, "a station answers: Fox 1.0.2", "Fox 1.0.2"),
        (FoxScenario::Fatal, "refuses this kind of peer", "refuses"),
        (FoxScenario::Silent, "stayed silent", "stayed silent"),
        (FoxScenario::Close, "closed the connection", "closed"),
        (FoxScenario::Echo, "our own hello", "our own hello"),
        (FoxScenario::Garbage, "no Fox port", "no Fox port"),
        (FoxScenario::Slow, "Fox 1.0.2", "Fox 1.0.2"),
        (FoxScenario::Split, "brand", "brand"),
        (FoxScenario::Trailing, "Fox 1.0.2", "Fox 1.0.2"),
        (FoxScenario::BlobTerminator, "station", "station"),
        (FoxScenario::HugeLen, "malformed", "malformed"),
        (FoxScenario::Crlf, "version 3.8.111", "version 3.8.111"),
        (FoxScenario::ErrorFrame, "error frame", "error frame"),
        (FoxScenario::KeepaliveFirst, "Fox 1.0.2", "Fox 1.0.2"),
        (FoxScenario::TlsOnPlain, "speaks TLS where plain", "foxs://"),
        (FoxScenario::PlainOnTls, "Fox 1.0.2", "speaks plain Fox"),
        (FoxScenario::ExpiredCert, "Fox 1.0.2", "out of date"),
        (FoxScenario::FactoryCert, "Fox 1.0.2", "the factory's"),
    ] {
        fox.play(scenario);
        fox.clear_connections();
        let findings = examine(&ask(&station, &station.url())).await;
        let text = report(&findings);
        let (told_plain, told_secure) = (fox_line(&text, "Fox"), fox_line(&text, "Foxs"));
        assert!(told_plain.contains(plain), "{scenario:?}: {told_plain}");
        assert!(told_secure.contains(secure), "{scenario:?}: {told_secure}");
        assert!(findings.shows_station(), "its web service answers");
        for connection in fox.connections() {
            // Where TLS meets plain text, what arrives is a handshake and no hello.
            let is_mixed = matches!(scenario, FoxScenario::TlsOnPlain | FoxScenario::PlainOnTls);
            assert!(
                connection.received_total <= 52 || is_mixed,
                "{scenario:?}: more than a hello"
            );
        }
    }
    assert!(station.logins().is_empty(), "nobody asked for a login");
}

/// The block as the configuration reads it.
fn configured(findings: &Findings) -> Config {
    let block = station_block(findings).expect("a block");
    let block = block.replace("passwordFile: station-password", "password: secret");
    let mut settings = Settings::empty("probe".to_owned());
    settings.read_text("probe", &block).expect(&block);
    Config::from_settings(&settings).unwrap_or_else(|error| panic!("{error} in\n{block}"))
}

#[tokio::test]
async fn a_station_with_a_certificate_of_its_own_gets_settings_that_work() {
    let station = station(FoxScenario::N4).await;
    let url = station.https_url().expect("https");
    let findings = examine(&ask(&station, &url)).await;
    let text = report(&findings);
    let pin = station.certificate().fingerprint;
    for words in [
        "as a Niagara station does",
        "this machine does not trust it",
        "the certificate of the web service",
        "not told without a login",
        "scheme: form-scram",
        &format!("fingerprint: {pin}"),
    ] {
        assert!(text.contains(words), "{words} in\n{text}");
    }
    let config = configured(&findings).station.expect("a station");
    assert_eq!(config.url.as_str(), format!("{url}/"));
    assert_eq!(config.trust, Trust::pinned(&pin).expect("a pin"));
    let fox = config.fox.expect("a Fox port");
    assert!(fox.secure);

    // An account is not shown to a certificate that nobody has looked at.
    let inquiry = as_user(ask(&station, &url), BRIDGE, BRIDGE.password);
    let text = report(&examine(&inquiry).await);
    assert!(text.contains("not sent: the certificate"), "{text}");
    assert!(station.logins().is_empty());

    let mut inquiry = inquiry;
    inquiry.trust = Some(config.trust);
    let findings = examine(&inquiry).await;
    let text = report(&findings);
    assert!(text.contains("login            accepted"), "{text}");
    assert_eq!(station.logins().len(), 1);
    assert_eq!(station.sessions(), 0, "it logs out");
    assert!(!text.contains(BRIDGE.password));
    configured(&findings);
}

#[tokio::test]
async fn with_an_account_the_station_tells_who_it_is_and_what_the_account_can_use() {
    let station = station(FoxScenario::Ax).await;
    let inquiry = as_user(ask(&station, &station.url()), BRIDGE, BRIDGE.password);
    let findings = examine(&inquiry).await;
    let text = report(&findings);
    for words in [
        "name             Sample",
        "time zone        Europe/Paris",
        "BQL              usable (",
        "BOX              usable",
        "oBIX             usable",
        "alarm service    answers",
        "fox: \"foxs://127.0.0.1:",
    ] {
        assert!(text.contains(words), "{words} in\n{text}");
    }
    assert!(
        text.contains(&format!("user: \"{}\"", BRIDGE.user)),
        "{text}"
    );
    assert_eq!(station.logins().len(), 1);
    assert_eq!((station.sessions(), station.box_sessions()), (0, 0));

    station
        .switches()
        .change(|switches| switches.boxs.present = false);
    let text = report(&examine(&inquiry).await);
    assert!(text.contains("BOX              not usable"), "{text}");

    station.clear_logs();
    let wrong = as_user(ask(&station, &station.url()), BRIDGE, "wrong");
    let text = report(&examine(&wrong).await);
    assert!(text.contains("login            failed:"), "{text}");
    assert!(text.contains("DigestScheme"), "{text}");
    assert_eq!(station.logins().len(), 1, "one attempt, whatever comes");
}

#[tokio::test]
async fn plain_http_that_moves_to_https_is_followed_and_said() {
    let station = station(FoxScenario::N4).await;
    assert!(station.redirect_to_https());
    let findings = examine(&ask(&station, &station.url())).await;
    let text = report(&findings);
    let secure = station.https_url().expect("https");
    assert!(text.contains(&format!("sent on to {secure}")), "{text}");
    let config = configured(&findings).station.expect("a station");
    assert_eq!(config.url.as_str(), format!("{secure}/"));
}

/// A device that answers every request with one text.
async fn device(answer: &'static str) -> u16 {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut heard = [0; 1024];
                // A client may be gone again.
                let _ = stream.read(&mut heard).await;
                let _ = stream.write_all(answer.as_bytes()).await;
            });
        }
    });
    port
}

#[tokio::test]
async fn other_devices_are_no_stations() {
    let page = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 9\r\nconnection: close\r\n\r\nIt works!";
    let printer = device("220 printer ready\r\n").await;
    for answer in [page, "220 printer ready\r\n"] {
        let port = device(answer).await;
        let address = format!("127.0.0.1:{port}").parse().expect("an address");
        let mut inquiry = Inquiry::new(address, printer, printer);
        inquiry.fox_patience = Duration::from_millis(400);
        inquiry.account = Some(Account {
            user: "bridge".to_owned(),
            password: Secret::new("secret"),
            scheme: LoginScheme::FormScram,
        });
        let findings = examine(&inquiry).await;
        let text = report(&findings);
        assert!(!findings.shows_station(), "{text}");
        assert!(findings.shows_anything(), "{text}");
        assert!(text.contains("nothing fits"), "{text}");
        assert!(text.contains("not sent: "), "{text}");
        assert!(fox_line(&text, "Fox").contains("no Fox port"), "{text}");
        assert!(!text.contains("It works"), "{text}");
    }
}

#[tokio::test]
async fn an_address_where_nothing_answers_is_told_interface_by_interface() {
    let gone = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.local_addr().expect("bound").port()
    };
    let address = format!("http://127.0.0.1:{gone}").parse().expect("one");
    let findings = examine(&Inquiry::new(address, gone, gone)).await;
    assert!(!findings.shows_anything());
    let text = silence(&findings);
    for words in ["cannot be reached", "fox://127.0.0.1", "refused"] {
        assert!(text.contains(words), "{words} in {text}");
    }
}

#[tokio::test]
async fn a_fox_port_without_a_web_service_is_a_station_that_the_bridge_cannot_use() {
    let station = station(FoxScenario::N4).await;
    let fox = station.fox().expect("fox").address().expect("a port");
    let mut inquiry = Inquiry::new(format!("fox://{fox}").parse().expect("one"), 1, 1);
    inquiry.fox.retain(|target| !target.secure);
    let gone = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = gone.local_addr().expect("bound").port();
    drop(gone);
    inquiry.address.web = vec![format!("http://127.0.0.1:{port}").parse().expect("one")];
    let findings = examine(&inquiry).await;
    let text = report(&findings);
    assert!(findings.shows_station(), "{text}");
    assert!(text.contains("web service is not reachable"), "{text}");
    assert_eq!(station_block(&findings), None);
}
