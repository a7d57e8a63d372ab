use std::io::Write;

use super::load::{Settings, load};
use super::*;

fn read(text: &str) -> Result<Config, ConfigError> {
    let mut settings = Settings::empty("config.yaml".into());
    settings.read_text("config.yaml", text)?;
    Config::from_settings(&settings)
}

fn refusal(text: &str) -> String {
    read(text).expect_err(text).to_string()
}

#[test]
fn an_empty_file_means_the_documented_defaults() {
    let config = read("").expect("defaults");
    assert_eq!(config.listen, "127.0.0.1:8723".parse().expect("address"));
    assert_eq!(config.base_path, "niagaramcp");
    assert_eq!(config.session_idle, Duration::from_secs(1800));
    assert_eq!(
        config.required_services,
        [RequiredService::Alarm, RequiredService::History]
    );
    assert_eq!(config.max_history_records, 10_000);
    assert!(config.enabled && !config.writes.enabled && config.writes.service_account_may_write);
    assert_eq!(config.writes.readback_delay, Duration::from_secs(1));
    assert!(config.api_token.is_none() && config.station.is_none());
    assert_eq!(config.inbound, InboundLimits::default());
}

#[test]
fn too_small_numbers_of_the_old_module_are_corrected() {
    let config =
        read("sseHeartbeatSec: 0\nknowledgeBackupCount: -3\nmaxHistoryRecordsPerQuery: -1\n")
            .expect("corrected");
    assert_eq!(config.knowledge_backup_count, 0);
    assert_eq!(config.max_history_records, 10_000);
    let config = read("maxHistoryRecordsPerQuery: 50000").expect("corrected");
    assert_eq!(config.max_history_records, 10_000);
}

#[test]
fn a_station_is_read_with_all_its_settings() {
    let config = read(
        "station:\n  url: https://station.example\n  user: bridge\n  password: 12345\n  scheme: basic\n  timeZone: Europe/Berlin\n  \
         tls: {insecure: true}\nlimits:\n  inFlight: 2\n  latchSec: 60\n",
    )
    .expect("station");
    let station = config.station.expect("station");
    assert_eq!(station.password.expose(), "12345");
    assert_eq!(station.scheme, LoginScheme::Basic);
    assert_eq!(station.time_zone, Some(chrono_tz::Europe::Berlin));
    assert_eq!(station.trust, Trust::Insecure);
    assert_eq!(
        (station.limits.in_flight, station.latch),
        (2, Duration::from_secs(60))
    );
}

#[test]
fn mistakes_are_named_with_their_line_and_a_remedy() {
    for (text, parts) in [
        (
            "enabled: true\nlisten: 127.0.0.1:1\nlistem: x",
            vec!["config.yaml line 3", "'listem'", "'listen'"],
        ),
        (
            "station:\n  # url: x\n  ulr: x",
            vec!["config.yaml line 3", "'station.ulr'", "'station.url'"],
        ),
        ("url: x", vec!["line 1", "'station.url'"]),
        ("limits:\n  inFlight: 0", vec!["line 2", "from 1 to 64"]),
        ("log: {format: xml}", vec!["config.yaml", "text, json"]),
        ("enabled: yes please", vec!["line 1", "true or false"]),
        ("station: 4", vec!["'station'", "'name: value'"]),
        ("- a", vec!["the file"]),
        (
            "toolsets: [reading]",
            vec!["line 1", "no tool set 'reading'"],
        ),
        (
            "requiredServices: [email]",
            vec!["neither alarm nor history"],
        ),
        ("station: {url: 'ftp://x'}", vec!["station.url"]),
        (
            "station: {url: 'http://u:p@x'}",
            vec!["station.user and station.password"],
        ),
        (
            "station: {url: 'http://x', user: u}",
            vec!["station.passwordFile"],
        ),
        (
            "station: {url: 'http://x', user: u, password: p, tls: {caFile: a, insecure: true}}",
            vec!["only one of"],
        ),
        (
            "station: {url: 'http://x', user: u, password: p, timeZone: Mars}",
            vec!["America/New_York"],
        ),
        ("a: &x 1\nb: *x", vec!["cannot be understood"]),
        ("enabled: [", vec!["cannot be understood"]),
    ] {
        let message = refusal(text);
        for part in parts {
            assert!(message.contains(part), "{text}: {message}");
        }
    }
}

#[test]
fn a_short_token_is_refused_without_being_shown() {
    let message = refusal("apiToken: hunter2hunter2");
    assert!(message.contains("14 characters and needs 32"), "{message}");
    assert!(!message.contains("hunter2"), "{message}");
    assert!(
        refusal(&format!(
            "apiToken: '{} {}'",
            "a".repeat(20),
            "b".repeat(20)
        ))
        .contains("blanks")
    );
    let config = read(&format!("apiToken: {}", "x".repeat(32))).expect("long enough");
    assert!(
        !format!("{config:?}").contains("xxxx"),
        "secrets never show in debug output"
    );
}

#[test]
fn texts_and_secrets_are_taken_letter_for_letter() {
    let digits = "1".repeat(32);
    for written in [
        "1.10", "1e5", "0x1F", "007", "true", "1_000", ".5", "+4", &digits,
    ] {
        let config = read(&format!(
            "station:\n  url: http://x\n  user: {written}\n  password: {written}\n"
        ))
        .expect(written);
        let station = config.station.expect("station");
        assert_eq!(station.password.expose(), written);
        assert_eq!(station.user, written);
    }
    for token in ["1.10000000000000000000000000000000", &digits] {
        let config = read(&format!("apiToken: {token}")).expect(token);
        assert_eq!(config.api_token.expect("token").expose(), token);
    }
    for written in ["1.10", "1e5", "12", "-1", "true"] {
        let message = refusal(&format!(
            r#"{{"station": {{"url": "http://x", "user": "u", "password": {written}}}}}"#
        ));
        assert!(message.contains("put it in quotes"), "{message}");
        let shown = written != "true" && message.contains(written);
        assert!(!shown, "{message}");
    }
}

#[test]
fn a_setting_that_stands_twice_is_named_with_its_own_line() {
    for (text, line, key) in [
        (
            "listen: 127.0.0.1:1\nbasePath: a\nlisten: 127.0.0.1:2\n",
            3,
            "listen",
        ),
        (
            "log:\n  level: info\nstation:\n  url: http://x\n  user: a\n  url: http://y\n",
            6,
            "station.url",
        ),
        (
            "log: {level: info}\nenabled: true\nlog: {level: warn}\n",
            3,
            "log",
        ),
    ] {
        let message = refusal(text);
        assert!(
            message.contains(&format!("config.yaml line {line}")),
            "{message}"
        );
        assert!(
            message.contains(&format!("'{key}'")) && message.contains("twice"),
            "{message}"
        );
    }
}

#[test]
fn broken_text_is_a_fault_of_the_configuration_and_not_of_the_site_model() {
    for text in [
        "enabled: [",
        "a: &x 1\nb: *x",
        "{\"enabled\": ",
        "station: hunter2",
        "listen: !tag x\nb: !tag {}",
    ] {
        let message = refusal(text);
        assert!(message.contains("config.yaml"), "{message}");
        assert!(
            !message.contains("knowledge") && !message.contains("hunter2"),
            "{message}"
        );
    }
}

#[test]
fn the_files_that_hold_secrets_are_known() {
    let own = std::path::Path::new("config.yaml");
    let files = |text: &str| {
        let mut settings = Settings::empty("config.yaml".into());
        settings.read_text("config.yaml", text).expect(text);
        let names = settings.files_with_secrets(own).into_iter();
        names
            .map(|name| name.display().to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(files("listen: 127.0.0.1:1"), [""; 0]);
    assert_eq!(
        files(&format!("apiToken: {}", "x".repeat(32))),
        ["config.yaml"]
    );
    assert_eq!(
        files("station:\n  passwordFile: secret.txt"),
        ["secret.txt"]
    );
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in "[a-z:\\-\\[\\]{}&*|>'\"# \\n,0-9.]{0,120}") {
        let _ = read(&text);
    }
}

#[test]
fn other_machines_are_let_in_only_on_purpose() {
    let message = refusal("listen: 0.0.0.0:8723");
    for key in ["'listen'", "tls.generate: true", "allowPlainHttp: true"] {
        assert!(message.contains(key), "{key}: {message}");
    }
    let config = read("listen: 0.0.0.0:8723\nallowPlainHttp: true").expect("on purpose");
    assert_eq!(config.listen.port(), 8723);
    assert!(read("listen: localhost:9000").is_ok());
}

#[test]
fn with_a_certificate_other_machines_are_let_in() {
    let config = read(
        "listen: 10.0.0.4:8723\ndataDir: data\nallowedHosts: [BMS.example:8723, '[fd00::1]:1']\ntls: {generate: true}",
    )
    .expect("encrypted");
    let names = [
        "localhost",
        "127.0.0.1",
        "::1",
        "10.0.0.4",
        "bms.example",
        "fd00::1",
    ];
    assert_eq!(
        config.tls,
        Some(CertificateSource::Generated {
            folder: "data".into(),
            names: names.map(str::to_owned).to_vec(),
        })
    );
    let config = read("listen: 0.0.0.0:8723\ntls: {certFile: a.pem, keyFile: b.pem}");
    assert_eq!(
        config.expect("encrypted").tls,
        Some(CertificateSource::Files {
            certificate: "a.pem".into(),
            key: "b.pem".into(),
        })
    );
    assert!(refusal("tls: {certFile: a.pem}").contains("tls.keyFile is missing"));
    assert!(refusal("tls: {keyFile: a.pem}").contains("tls.certFile is missing"));
    let both = "tls:\n  certFile: a\n  keyFile: b\n  generate: true";
    assert!(refusal(both).contains("line 4"));
}

#[test]
fn a_base_path_is_made_of_plain_names() {
    for (written, kept) in [
        ("''", ""),
        ("/", ""),
        ("/site/niagara-1/", "site/niagara-1"),
        ("v1.0", "v1.0"),
    ] {
        assert_eq!(
            read(&format!("basePath: {written}"))
                .expect(written)
                .base_path,
            kept
        );
    }
    for written in [
        "a/../b c", "..", "a//b", "a?b", "a#b", "{id}", "*", "a%2Fb", "\u{e4}",
    ] {
        let message = refusal(&format!("basePath: '{written}'"));
        assert!(
            message.contains("'basePath'") && message.contains("line 1"),
            "{message}"
        );
    }
}

#[test]
fn the_station_address_ends_behind_host_and_port() {
    let text = |url: &str| format!("station: {{url: '{url}', user: u, password: p}}");
    for url in ["http://x", "https://x:8443/", "http://[::1]:8080"] {
        assert!(read(&text(url)).is_ok(), "{url}");
    }
    for url in [
        "http://x/foo",
        "http://x/?x=1",
        "http://x/#top",
        "http://x:81/ord?a",
    ] {
        let message = refusal(&text(url));
        assert!(
            message.contains("must end behind the host and port"),
            "{message}"
        );
    }
}

#[test]
fn the_environment_overrides_the_file() {
    let mut file = tempfile::NamedTempFile::new().expect("file");
    writeln!(
        file,
        "listen: 127.0.0.1:1\nstation:\n  url: http://one.example\n  user: bridge"
    )
    .expect("write");
    let mut secret = tempfile::NamedTempFile::new().expect("file");
    writeln!(secret, "from a file\r").expect("write");
    let environment = [
        ("NIAGARA_BRIDGE__STATION__URL", "http://two.example"),
        (
            "NIAGARA_BRIDGE__STATION__PASSWORD_FILE",
            secret.path().to_str().expect("path"),
        ),
        ("NIAGARA_BRIDGE__ALLOWEDHOSTS", "a.example, b.example"),
        ("NIAGARA_BRIDGE__ENABLED", "false"),
        ("UNRELATED", "x"),
    ];
    let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let config = load(Some(file.path()), environment).expect("config");
    let station = config.station.expect("station");
    assert_eq!(station.url.host_str(), Some("two.example"));
    assert_eq!(station.password.expose(), "from a file");
    assert_eq!(config.allowed_hosts, ["a.example", "b.example"]);
    assert!(!config.enabled);
    let unknown = [("NIAGARA_BRIDGE__STATION__ULR".to_owned(), "x".to_owned())];
    let message = load(Some(file.path()), unknown)
        .expect_err("unknown")
        .to_string();
    assert!(
        message.contains("NIAGARA_BRIDGE__STATION__ULR") && message.contains("station.url"),
        "{message}"
    );
}

#[test]
fn a_missing_file_is_named_with_the_way_to_write_one() {
    let message = load(Some(std::path::Path::new("no/such/config.yaml")), [])
        .expect_err("missing")
        .to_string();
    assert!(
        message.contains("no/such/config.yaml") && message.contains("init"),
        "{message}"
    );
}

#[test]
fn the_written_file_is_read_back_as_the_defaults_and_names_every_working_key() {
    let token = "t".repeat(40);
    let text = template::template(Some(&token));
    let config = read(&text).expect("the template is valid");
    assert_eq!(config.api_token.expect("token").expose(), token);
    let uncommented: String = text
        .lines()
        .map(|line| match line.split_once("# ") {
            Some((indent, setting)) if is_setting(setting) => {
                format!("{indent}{setting}\n")
            }
            _ => format!("{line}\n"),
        })
        .filter(|line| !line.contains("apiToken: \"\""))
        .collect();
    let config = read(&uncommented).expect("every default is a valid value");
    assert_eq!(config.listen, read("").expect("defaults").listen);
    for key in keys::KEYS {
        assert_eq!(
            load::line_of(&uncommented, key.path, 0).is_some(),
            !keys::WITHOUT_FUNCTION.contains(&key.path),
            "{}: a setting is offered exactly when something acts on it",
            key.path
        );
    }
}

fn is_setting(text: &str) -> bool {
    let name = text.split(':').next().unwrap_or_default();
    keys::KEYS
        .iter()
        .any(|key| key.path.rsplit('.').next() == Some(name))
}
