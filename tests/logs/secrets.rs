//! The program at its most talkative: logins of all schemes, refusals, calls, a reload, a probe. Nothing that it
//! writes or answers tells a secret.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use mock_station::model::accounts::{self, Account};
use mock_station::server::MockStation;
use serde_json::{Value, json};

use super::support::{Client, request};
use super::tap::{Secrets, Tap};

const API_TOKEN: &str = "service-token-that-nobody-may-read-0123456789";
const WRONG_TOKEN: &str = "guessed-token-that-nobody-has-0123456789";
const WRONG_PASSWORD: &str = "Wrong-Password-77";
/// A line of the log must come within this time.
const PATIENCE: Duration = Duration::from_secs(20);

/// How one run is set up.
struct Setting {
    scheme: &'static str,
    account: Account,
    format: &'static str,
}

/// A bridge of a configuration file, and its log so far.
struct Running {
    child: Child,
    lines: Receiver<String>,
    log: String,
    config: PathBuf,
    settings: Value,
    _folder: tempfile::TempDir,
}

impl Running {
    fn start(setting: &Setting, tap: &Tap, password: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        // The path is logged, so a mask that does not work shows at once.
        let home = folder.path().join(API_TOKEN);
        std::fs::create_dir(&home).expect("a folder");
        let settings = json!({
            "apiToken": API_TOKEN,
            "listen": "127.0.0.1:0",
            "dataDir": folder.path().join("data"),
            "station": {
                "url": format!("http://{}", tap.address),
                "user": setting.account.user,
                "password": password,
                "scheme": setting.scheme,
            },
            "limits": { "requestsPerSecond": 0, "inboundPerPrincipal": 0, "inboundPerAddress": 0 },
            "log": { "format": setting.format, "level": "info" },
        });
        let config = home.join("config.yaml");
        write(&config, &settings);
        let mut child = Command::new(env!("CARGO_BIN_EXE_niagara-bridge"))
            .args(["serve", "--config"])
            .arg(&config)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let output = BufReader::new(child.stderr.take().expect("log"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            lines,
            log: String::new(),
            config,
            settings,
            _folder: folder,
        }
    }

    /// Waits for a line with these words.
    fn until(&mut self, words: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|_| panic!("no '{words}' in\n{}", self.log));
            self.log.push_str(&line);
            self.log.push('\n');
            if line.contains(words) {
                return line;
            }
        }
    }

    fn endpoint(&mut self) -> String {
        let line = self.until("serving");
        let start = line.find("http://").expect("an address");
        let rest = &line[start..];
        let end = rest.find(['"', ' ']).unwrap_or(rest.len());
        rest[..end].to_owned()
    }

    fn reload(&mut self, changes: &Value, words: &str) {
        for (key, value) in changes.as_object().into_iter().flatten() {
            self.settings[key] = value.clone();
        }
        write(&self.config, &self.settings);
        self.until(words);
    }

    /// Ends the program and gives its whole log.
    fn end(mut self) -> String {
        #[cfg(unix)]
        {
            let id = self.child.id().to_string();
            let interrupt = Command::new("kill").args(["-INT", &id]).status();
            assert!(interrupt.expect("kill").success());
        }
        #[cfg(windows)]
        self.child.kill().expect("killed");
        self.child.wait().expect("ends");
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            self.log.push_str(&line);
            self.log.push('\n');
        }
        self.log
    }
}

/// Editors put a finished file in place of the old one.
fn write(file: &Path, settings: &Value) {
    let new = file.with_extension("new");
    std::fs::write(&new, settings.to_string()).expect("the file is written");
    std::fs::rename(&new, file).expect("the file is put in place");
}

/// Calls everything that a client can call, with the arguments that a client can guess; gives all answers.
async fn use_everything(endpoint: &str) -> String {
    let mut client = Client::new(endpoint.to_owned(), API_TOKEN);
    client.initialize().await;
    let listed = client.ask("tools/list", json!({})).await;
    let mut answers = String::new();
    for tool in listed["result"]["tools"].as_array().expect("tools") {
        let root = json!({
            "ord": "station:|slot:/", "depth": 1, "msg": "hello",
            "query": "station:|slot:/|bql:select name, password, authenticator from baja:User",
        });
        let known = &tool["inputSchema"]["properties"];
        let arguments: serde_json::Map<String, Value> = root
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(name, _)| known.get(name.as_str()).is_some())
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let call = json!({ "name": tool["name"], "arguments": arguments });
        answers.push_str(&client.ask("tools/call", call).await.to_string());
    }
    for (method, params) in [
        ("resources/list", json!({})),
        ("resources/read", json!({ "uri": "niagara://overview" })),
        ("prompts/list", json!({})),
        (
            "tools/call",
            json!({ "name": API_TOKEN, "arguments": { "password": 1 } }),
        ),
    ] {
        let answer = client.ask(method, params).await;
        if method != "tools/call" {
            answers.push_str(&answer.to_string());
        }
    }
    let mut guesser = client.clone();
    guesser.token = WRONG_TOKEN.to_owned();
    let refused = guesser.post(request("ping", json!({}))).await;
    assert_eq!(refused.status(), 401);
    answers + &refused.text().await.expect("text")
}

fn assert_silent(what: &str, text: &str, secrets: &Secrets, more: &[&str]) {
    let secrets = secrets.all().map(String::as_str);
    for secret in secrets.chain(more.iter().copied()) {
        assert!(!text.contains(secret), "{what} tells {secret}:\n{text}");
    }
}

async fn tell_nothing(setting: Setting) {
    let station = MockStation::builder().start().await.expect("a station");
    let tap = Tap::before(station.address()).await;
    let mut running = Running::start(&setting, &tap, setting.account.password);
    let endpoint = running.endpoint();
    running.reload(
        &json!({ "showLog": true }),
        "the configuration was read again",
    );
    let mut answers = use_everything(&endpoint).await;
    let talkative =
        json!({ "showLog": false, "log": { "format": setting.format, "level": "trace" } });
    running.reload(&talkative, "the configuration was read again");
    answers.push_str(&use_everything(&endpoint).await);
    running.reload(
        &json!({ "password": setting.account.password }),
        "the changed configuration is not used",
    );
    let log = running.end();

    let secrets = tap.secrets();
    match setting.scheme {
        "form-scram" => assert!(!secrets.cookies.is_empty() && !secrets.csrf.is_empty()),
        _ => assert!(!secrets.credentials.is_empty()),
    }
    if setting.scheme != "basic" {
        assert!(secrets.nonces.len() >= 2, "{secrets:?}");
        assert!(!secrets.proofs.is_empty(), "{secrets:?}");
    }
    let passwords = [setting.account.password, API_TOKEN, WRONG_TOKEN];
    assert_silent("the log", &log, &secrets, &passwords);
    assert_silent("an answer", &answers, &secrets, &passwords);
    assert!(
        log.contains("DEBUG") && log.contains("a tool is called"),
        "{log}"
    );
    assert!(
        log.contains("<redacted>"),
        "the path of the configuration holds the token: {log}"
    );
    if setting.format == "json" {
        for line in log.lines() {
            serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        }
    }
}

async fn tell_nothing_in_any_format(scheme: &'static str, account: Account) {
    for format in ["text", "json"] {
        tell_nothing(Setting {
            scheme,
            account,
            format,
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_login_leaves_no_secret_in_text_and_in_json() {
    tell_nothing_in_any_format("form-scram", accounts::BRIDGE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_header_login_leaves_no_secret_in_text_and_in_json() {
    tell_nothing_in_any_format("header-scram", accounts::BRIDGE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_basic_login_leaves_no_secret_in_text_and_in_json() {
    tell_nothing_in_any_format("basic", accounts::OBIX).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_login_does_not_tell_what_was_tried() {
    let station = MockStation::builder().start().await.expect("a station");
    for (scheme, account) in [
        ("form-scram", accounts::BRIDGE),
        ("header-scram", accounts::VIEWER),
        ("basic", accounts::OBIX),
    ] {
        let tap = Tap::before(station.address()).await;
        let setting = Setting {
            scheme,
            account,
            format: "json",
        };
        let mut running = Running::start(&setting, &tap, WRONG_PASSWORD);
        let endpoint = running.endpoint();
        let mut client = Client::new(endpoint, API_TOKEN);
        client.initialize().await;
        let arguments = json!({ "ord": "station:|slot:/" });
        let answer = client.call("listChildren", arguments).await;
        assert_eq!(answer["isError"], true, "{answer}");
        let log = running.end();
        let secrets = tap.secrets();
        assert_ne!(secrets.all().count(), 0);
        assert!(log.contains("login failed"), "{log}");
        let more = [WRONG_PASSWORD, API_TOKEN];
        assert_silent("the log", &log, &secrets, &more);
        assert_silent("the answer", &answer.to_string(), &secrets, &more);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_probe_does_not_log_in_with_what_stands_in_the_address() {
    let station = MockStation::builder().start().await.expect("a station");
    let tap = Tap::before(station.address()).await;
    let account = accounts::OBIX;
    let address = format!("{}:{}@{}", account.user, account.password, tap.address);
    for address in [
        address.clone(),
        format!("http://{address}"),
        format!("ftp://{address}"),
    ] {
        let mut probe = Command::new(env!("CARGO_BIN_EXE_niagara-bridge"));
        probe.args(["probe", &address, "--log-level", "trace"]);
        let output = tokio::task::spawn_blocking(move || probe.output());
        let output = output.await.expect("ends").expect("runs");
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8(said).expect("UTF-8");
        let secrets = tap.secrets();
        assert!(secrets.credentials.is_empty(), "{secrets:?}");
        assert_silent("the probe", &said, &secrets, &[account.password]);
    }
}
