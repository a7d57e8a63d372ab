//! The program as people run it: exit codes, what it prints where, how it ends.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use niagara_bridge::trends::store::wall_clock::MINUTE;
use niagara_bridge::trends::store::{EquipmentRows, FacilityId, RoleColumn, TrendStore};
use serde_json::{Value, json};

fn bridge(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_niagara-bridge"));
    command
        .args(arguments)
        .env_remove("NIAGARA_BRIDGE_TOKEN")
        .stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> (i32, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = bridge(arguments).output().expect("runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (
        status.code().expect("an exit code"),
        text(stdout),
        text(stderr),
    )
}

/// A running demo, ended when dropped.
struct Demo {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
    endpoint: String,
    token: String,
    station: String,
    // A killed program cannot tidy up, so its data lies in a folder of the test.
    _data: tempfile::TempDir,
}

impl Demo {
    fn start() -> Self {
        let data = tempfile::tempdir().expect("folder");
        let mut child = bridge(&[
            "demo",
            "--listen",
            "127.0.0.1:0",
            "--data-dir",
            text(data.path()),
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
        let mut output = BufReader::new(child.stdout.take().expect("output"));
        let (mut endpoint, mut token, mut station) = Default::default();
        loop {
            let mut line = String::new();
            assert_ne!(
                output.read_line(&mut line).expect("read"),
                0,
                "the demo ended early"
            );
            match line.split_whitespace().collect::<Vec<_>>().as_slice() {
                ["endpoint", url] => endpoint = (*url).to_owned(),
                ["token", text] => token = (*text).to_owned(),
                [
                    "The",
                    "stand-in",
                    ..,
                    url,
                    "the",
                    "bridge",
                    "to",
                    "it",
                    "at",
                ] => {
                    station = url.trim_end_matches(',').to_owned();
                }
                ["Ctrl-C", ..] => break,
                _ => {}
            }
        }
        Self {
            child,
            output,
            endpoint,
            token,
            station,
            _data: data,
        }
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = self.output.get_mut();
    }
}

/// Lines to a program's standard input, its answers by id.
fn converse(mut command: Command, lines: &[Value]) -> (i32, Vec<Value>) {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    let mut input = child.stdin.take().expect("input");
    for line in lines {
        writeln!(input, "{line}").expect("write");
    }
    drop(input);
    let Output { status, stdout, .. } = child.wait_with_output().expect("ends");
    let answers = String::from_utf8(stdout).expect("UTF-8");
    let answers = answers
        .lines()
        .map(|line| serde_json::from_str(line).expect("only protocol on standard output"));
    (status.code().expect("an exit code"), answers.collect())
}

fn script() -> [Value; 3] {
    [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "getOverview"}}),
    ]
}

#[test]
fn the_demo_serves_clients_that_start_a_program() {
    let demo = Demo::start();
    assert_eq!(demo.token.len(), 43);
    let mut relay = bridge(&[
        "stdio",
        "--url",
        &demo.endpoint,
        "--token-env",
        "DEMO_TOKEN",
    ]);
    relay.env("DEMO_TOKEN", &demo.token);
    let (code, answers) = converse(relay, &script());
    assert_eq!(code, 0);
    assert_eq!(answers[0]["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(answers[1]["result"]["isError"], false);
    assert_eq!(
        answers[1]["result"]["structuredContent"]["stationName"],
        "Harborview"
    );

    let (code, words, _) = run(&["probe", &demo.station]);
    assert_eq!(code, 0);
    assert!(words.contains("station.scheme: form-scram"), "{words}");

    let (code, words, said) = run(&["probe", demo.station.trim_start_matches("http://")]);
    assert_eq!(code, 0, "{said}");
    assert!(words.contains("station.scheme: form-scram"), "{words}");
    assert!(said.contains("names no scheme"), "{said}");

    let folder = tempfile::tempdir().expect("folder");
    let config = folder.path().join("config.yaml");
    let account = mock_station::model::accounts::BRIDGE;
    let settings = json!({
        "dataDir": folder.path().join("data"),
        "station": { "url": demo.station, "user": account.user, "password": account.password },
    });
    std::fs::write(&config, settings.to_string()).expect("write");
    let (code, words, said) = run(&["probe", "--no-fox", "--config", text(&config)]);
    assert_eq!(code, 0, "{said}");
    for known in ["Harborview", "accepted", "America/New_York"] {
        assert!(words.contains(known), "{known} in {words}");
    }
    assert!(!words.contains(account.password) && !said.contains(account.password));
    let (code, answers) = converse(
        bridge(&["serve", "--stdio", "--config", text(&config)]),
        &script(),
    );
    assert_eq!(code, 0);
    assert_eq!(
        answers[1]["result"]["structuredContent"]["stationName"],
        "Harborview"
    );
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_demo_and_removes_its_folder() {
    let token = "chosen-by-the-user-0123456789abcdef";
    let places = tempfile::tempdir().expect("folder");
    let mut demo = {
        // The demo makes its own folder inside the system's temporary folder.
        let mut command = bridge(&["demo", "--listen", "127.0.0.1:0", "--api-token", token]);
        let mut child = command
            .env("TMPDIR", places.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("starts");
        let mut output = BufReader::new(child.stdout.take().expect("output"));
        let mut greeting = String::new();
        while !greeting.contains("Ctrl-C") {
            assert_ne!(
                output.read_line(&mut greeting).expect("read"),
                0,
                "{greeting}"
            );
        }
        assert!(greeting.contains(token));
        child
    };
    let made = || std::fs::read_dir(places.path()).expect("list").count();
    assert_eq!(made(), 1);
    let interrupted = Command::new("kill")
        .args(["-INT", &demo.id().to_string()])
        .status()
        .expect("kill");
    assert!(interrupted.success());
    assert_eq!(demo.wait().expect("ends").code(), Some(130));
    assert_eq!(made(), 0, "the temporary folder is gone");
}

/// A station that takes connections and never answers.
#[cfg(unix)]
fn silent_station() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("address");
    std::thread::spawn(move || {
        let taken: Vec<_> = listener.incoming().collect();
        drop(taken);
    });
    format!("http://{address}")
}

/// Sends one message on a connection of its own.
#[cfg(unix)]
fn sent(endpoint: &str, token: &str, session: &str, body: &Value) -> std::net::TcpStream {
    let rest = endpoint.strip_prefix("http://").expect("http");
    let (address, path) = rest.split_once('/').expect("a path");
    let mut stream = std::net::TcpStream::connect(address).expect("connect");
    let body = body.to_string();
    let session = match session {
        "" => String::new(),
        header => format!("{header}\r\n"),
    };
    let head = format!(
        "POST /{path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n{session}\
         connection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).expect("write");
    stream.write_all(body.as_bytes()).expect("write");
    stream
}

#[cfg(unix)]
fn received(stream: std::net::TcpStream) -> String {
    std::io::read_to_string(stream).expect("an answer")
}

#[cfg(unix)]
#[test]
fn a_stop_during_a_call_answers_the_client_although_the_station_hangs() {
    let token = "t".repeat(40);
    let folder = tempfile::tempdir().expect("folder");
    let config = folder.path().join("config.yaml");
    let settings = json!({
        "listen": "127.0.0.1:0",
        "apiToken": token,
        "dataDir": folder.path().join("data"),
        "station": { "url": silent_station(), "user": "bridge", "password": "secret" },
    });
    std::fs::write(&config, settings.to_string()).expect("write");
    let mut child = bridge(&["serve", "--log-format", "json", "--config", text(&config)])
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut log = BufReader::new(child.stderr.take().expect("log"));
    let endpoint = loop {
        let mut line = String::new();
        assert_ne!(log.read_line(&mut line).expect("read"), 0, "ended early");
        let line: Value = serde_json::from_str(&line).expect("a log line is JSON");
        if let Some(endpoint) = line.pointer("/fields/endpoint").or(line.get("endpoint")) {
            break endpoint.as_str().expect("text").to_owned();
        }
    };
    let drain = std::thread::spawn(move || std::io::read_to_string(log));
    let opened = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}});
    let opened = received(sent(&endpoint, &token, "", &opened));
    let session = opened
        .lines()
        .find(|line| line.starts_with("mcp-session-id"))
        .expect("a session");
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "readPoint", "arguments": {"ord": "station:|slot:/A"}}});
    let call = sent(&endpoint, &token, session, &call);
    // Its answer comes after the bridge has begun with the call, which was sent before.
    let ping = json!({"jsonrpc": "2.0", "id": 3, "method": "ping"});
    assert!(received(sent(&endpoint, &token, session, &ping)).contains("200 OK"));
    let interrupted = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .expect("kill");
    assert!(interrupted.success());
    let answer = received(call);
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let (_, answer) = answer.split_once("\r\n\r\n").expect("a body");
    let answer: Value = serde_json::from_str(answer).expect("JSON");
    assert_eq!(answer["id"], 2);
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    assert_eq!(child.wait().expect("ends").code(), Some(130));
    let log = drain.join().expect("thread").expect("log");
    assert!(!log.contains("\"level\":\"ERROR\""), "{log}");
}

#[cfg(unix)]
#[test]
fn a_second_signal_ends_the_farewell_to_a_slow_station_at_once() {
    let folder = tempfile::tempdir().expect("folder");
    let config = folder.path().join("config.yaml");
    let settings = json!({
        "listen": "127.0.0.1:0",
        "apiToken": "t".repeat(40),
        "dataDir": folder.path().join("data"),
        "station": { "url": silent_station(), "user": "bridge", "password": "secret" },
    });
    std::fs::write(&config, settings.to_string()).expect("write");
    let mut child = bridge(&["serve", "--config", text(&config)])
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut log = BufReader::new(child.stderr.take().expect("log"));
    let interrupt = |process: u32| {
        let sent = Command::new("kill")
            .args(["-INT", &process.to_string()])
            .status();
        assert!(sent.expect("kill").success());
    };
    for (said, next) in [
        ("serving", "the end is asked for"),
        ("a second signal ends at once", "and asked for again"),
    ] {
        let mut line = String::new();
        while !line.contains(said) {
            line.clear();
            assert_ne!(
                log.read_line(&mut line).expect("read"),
                0,
                "ended before {next}"
            );
        }
        interrupt(child.id());
    }
    assert_eq!(child.wait().expect("ends").code(), Some(130));
    let rest = std::io::read_to_string(log).expect("log");
    assert!(rest.contains("ended at once by a second signal"), "{rest}");
}

/// The endpoint that a serving bridge names in its JSON log; the rest of the log is read and dropped.
#[cfg(unix)]
fn endpoint_of(child: &mut Child) -> String {
    let mut log = BufReader::new(child.stderr.take().expect("log"));
    loop {
        let mut line = String::new();
        assert_ne!(log.read_line(&mut line).expect("read"), 0, "ended early");
        let line: Value = serde_json::from_str(&line).expect("a log line is JSON");
        if let Some(endpoint) = line.pointer("/fields/endpoint").or(line.get("endpoint")) {
            let endpoint = endpoint.as_str().expect("text").to_owned();
            std::thread::spawn(move || std::io::read_to_string(log));
            return endpoint;
        }
    }
}

#[cfg(unix)]
#[test]
fn a_stop_leaves_nothing_behind_on_the_station() {
    use mock_station::server::MockStation;
    use mock_station::switches::ObixMode;

    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    for obix in [ObixMode::BasicOk, ObixMode::NoServlet] {
        let mock = runtime
            .block_on(MockStation::builder().start())
            .expect("started");
        mock.switches().change(|switches| switches.obix.mode = obix);
        let token = "t".repeat(40);
        let folder = tempfile::tempdir().expect("folder");
        let config = folder.path().join("config.yaml");
        let account = mock_station::model::accounts::BRIDGE;
        let settings = json!({
            "listen": "127.0.0.1:0",
            "apiToken": token,
            "dataDir": folder.path().join("data"),
            "station": { "url": mock.url(), "user": account.user, "password": account.password },
        });
        std::fs::write(&config, settings.to_string()).expect("write");
        let mut child = bridge(&["serve", "--log-format", "json", "--config", text(&config)])
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let endpoint = endpoint_of(&mut child);
        let opened = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}});
        let opened = received(sent(&endpoint, &token, "", &opened));
        let session = opened
            .lines()
            .find(|line| line.starts_with("mcp-session-id"))
            .expect("a session");
        let point = "station%3A%7Cslot%3A%2FDrivers%2FBacnetNetwork%2FAHU_1%2Fpoints%2FSupplyTemp";
        let subscribe = json!({"jsonrpc": "2.0", "id": 2, "method": "resources/subscribe",
            "params": {"uri": format!("niagara://point/{point}")}});
        let answer = received(sent(&endpoint, &token, session, &subscribe));
        assert!(answer.contains("\"result\":{}"), "{answer}");
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
        // The route is told once the bridge knows the watch or session: one that it never heard of it cannot end.
        let health = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call",
            "params": {"name": "getServiceHealth", "arguments": {}}});
        loop {
            let answer = received(sent(&endpoint, &token, session, &health));
            let watched = mock.obix_watches() + mock.box_sessions() > 0;
            if watched && (answer.contains("oBIX watch") || answer.contains("BOX subscription")) {
                break;
            }
            assert!(std::time::Instant::now() < deadline, "nothing is watched");
        }
        assert_eq!(mock.sessions(), 1);
        let stopped = Command::new("kill")
            .args(["-TERM", &child.id().to_string()])
            .status()
            .expect("kill");
        assert!(stopped.success());
        assert_eq!(child.wait().expect("ends").code(), Some(0));
        assert_eq!(
            (mock.obix_watches(), mock.box_sessions(), mock.sessions()),
            (0, 0, 0),
            "{obix:?}: something remains on the station"
        );
    }
}

/// The exit code of a command whose results and words nobody reads, as behind `2>&1 | head -0`.
fn unread(arguments: &[&str]) -> i32 {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let status = bridge(arguments)
        .stdout(writer.try_clone().expect("one more end"))
        .stderr(writer)
        .status()
        .expect("runs");
    status.code().expect("an exit code")
}

#[test]
fn a_reader_that_has_gone_ends_every_command_quietly() {
    let demo = Demo::start();
    let folder = tempfile::tempdir().expect("folder");
    let config = folder.path().join("config.yaml");
    let data = folder.path().join("data");
    std::fs::create_dir(&data).expect("folder");
    let settings = json!({
        "dataDir": data,
        "station": { "url": demo.station, "user": "bridge", "password": "secret" },
    });
    std::fs::write(&config, settings.to_string()).expect("write");
    let trends = data.join("trends");
    let store = TrendStore::create(&trends).expect("a store");
    let rows = EquipmentRows {
        equip: "AHU-1".to_owned(),
        equip_class: "AHU".to_owned(),
        columns: vec![RoleColumn {
            role: "oat".to_owned(),
            stamps: (0..20_000).map(|minute| minute * MINUTE).collect(),
            values: vec![50.0; 20_000],
        }],
    };
    let hq = FacilityId::parse("hq").expect("an id");
    let mut writer = store.writer(Duration::ZERO).expect("the lock");
    writer.append(&hq, &[rows], None).expect("stored");
    drop(writer);
    let (config, store) = (text(&config), text(&trends));
    let address = demo.station.trim_start_matches("http://");
    for command in [
        &["--help"][..],
        &["init"],
        &["probe", "--no-fox", address],
        &["user", "list", "--config", config],
        &["store", "list", "--store", store],
        &["store", "list", "--json", "--config", config],
        &["store", "verify", "--store", store],
        &["store", "compact", "--store", store],
        &["store", "prune", "--before", "2024-01-01", "--store", store],
        &["store", "facility", "activate", "hq", "--store", store],
        &["trends", "export", "hq", "--store", store],
        &[
            "trends", "export", "hq", "--store", store, "--format", "arrow",
        ],
        &[
            "camber",
            "coverage",
            r#"{"facility_id": "hq"}"#,
            "--store",
            store,
            "--allow",
            "hq",
        ],
        &["camber", "--stdio", "--store", store, "--allow", "hq"],
    ] {
        assert_eq!(unread(command), 0, "{command:?}");
    }
    // A token that nobody read is lost: that is worth a failure.
    let bind = ["user", "bind", "ann", "--no-password", "--config", config];
    assert_eq!(unread(&bind), 1);
}

#[test]
fn mistakes_end_with_a_sentence_and_the_right_code() {
    for (arguments, code, words) in [
        (
            vec!["serve", "--config", "no/such.yaml"],
            1,
            "no/such.yaml cannot be read",
        ),
        (vec!["probe", "http://127.0.0.1:9"], 1, "cannot be reached"),
        (
            vec!["probe", "ftp://127.0.0.1"],
            2,
            "no http, https, fox or foxs address",
        ),
        (
            vec!["stdio", "--url", "http://127.0.0.1:9/mcp"],
            1,
            "NIAGARA_BRIDGE_TOKEN holds no token",
        ),
        (vec!["init", "no/such/folder/x.yaml"], 1, "does not exist"),
        (vec!["demo", "--api-token", "short"], 1, "needs 32 or more"),
        (
            vec!["docs", "--check", "no/README.md"],
            1,
            "no/README.md cannot be read",
        ),
        (vec!["bogus"], 2, "bogus"),
        (vec!["probe"], 2, "URL|HOST[:PORT]"),
        (vec!["probe", "10.0.0.1-20"], 2, "never probed"),
        (
            vec!["probe", "127.0.0.1", "--password-file", "x"],
            2,
            "--user",
        ),
    ] {
        let (ended, stdout, stderr) = run(&arguments);
        assert_eq!(ended, code, "{arguments:?}: {stderr}");
        assert!(stderr.contains(words), "{arguments:?}: {stderr}");
        assert_eq!(stdout, "", "standard output is for results");
        assert!(!stderr.contains("panicked"), "{stderr}");
    }
}

#[test]
fn init_writes_a_configuration_that_lacks_only_the_station() {
    let (code, config, _) = run(&["init"]);
    assert_eq!(code, 0);
    let folder = tempfile::tempdir().expect("folder");
    let file = folder.path().join("config.yaml");
    std::fs::write(&file, config).expect("write");
    let (code, _, stderr) = run(&["serve", "--config", text(&file)]);
    assert_eq!(code, 1);
    assert!(stderr.contains("station.url is not set"), "{stderr}");
}

#[cfg(unix)]
#[test]
fn a_file_whose_secret_every_user_can_read_is_told() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("folder");
    let file = folder.path().join("config.yaml");
    std::fs::write(&file, format!("apiToken: {}\n", "t".repeat(40))).expect("write");
    for (mode, warned) in [(0o644, true), (0o640, false), (0o600, false)] {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("mode");
        let (_, _, stderr) = run(&["serve", "--config", text(&file)]);
        assert_eq!(
            stderr.contains("every user of this machine can read"),
            warned,
            "{mode:o}: {stderr}"
        );
    }
}

#[test]
fn serve_tells_at_once_whether_the_station_accepts_the_login() {
    let demo = Demo::start();
    let account = mock_station::model::accounts::BRIDGE;
    for (password, words) in [
        (account.password, "the station accepts the login"),
        ("wrong", "the station cannot be used yet"),
    ] {
        let folder = tempfile::tempdir().expect("folder");
        let config = folder.path().join("config.yaml");
        let settings = json!({
            "listen": "127.0.0.1:0",
            "apiToken": "t".repeat(40),
            "dataDir": folder.path().join("data"),
            "station": { "url": demo.station, "user": account.user, "password": password },
        });
        std::fs::write(&config, settings.to_string()).expect("write");
        let mut child = bridge(&["serve", "--config", text(&config)])
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let log = BufReader::new(child.stderr.take().expect("log"));
        let told = log.lines().any(|line| line.expect("text").contains(words));
        child.kill().expect("killed");
        child.wait().expect("ends");
        assert!(told, "{words}");
    }
}
