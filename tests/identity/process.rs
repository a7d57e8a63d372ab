//! The program itself: standard input and output as one user, and what its log never tells.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

use mock_station::model::accounts::BRIDGE;
use serde_json::{Value, json};

use crate::desk::{Desk, marked_query, token_of};
use crate::support::Client;

fn program(desk: &Desk, arguments: &[&str]) -> Child {
    command(desk, arguments).spawn().expect("starts")
}

fn command(desk: &Desk, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_niagara-bridge"));
    command
        .args([
            "serve",
            "--log-format",
            "json",
            "--log-level",
            "trace",
            "--config",
        ])
        .arg(desk.config_file())
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// What a client says that has one question.
fn script(question: &str) -> [Value; 3] {
    [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": {"name": "bqlQuery", "arguments": marked_query(question)}}),
    ]
}

/// The answer of the question among all that was printed, in whatever order.
fn answer_of_question(answers: &str) -> Value {
    let mut all = answers
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    all.find(|answer| answer["id"] == 2).unwrap_or_default()
}

/// Everything that was printed, once the program has ended.
fn outcome(mut child: Child, input: &[Value]) -> (i32, String, String) {
    let mut stdin = child.stdin.take().expect("input");
    for line in input {
        // A program that refuses to start reads nothing.
        let _ = writeln!(stdin, "{line}");
    }
    drop(stdin);
    let output = child.wait_with_output().expect("ends");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (
        output.status.code().expect("a code"),
        text(output.stdout),
        text(output.stderr),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_starts_the_program_acts_as_one_user() {
    let desk = Desk::new().await;
    let crew = desk.crew(1);
    desk.identities()
        .grant(
            "guest",
            "token of guest",
            None,
            None,
            std::time::Duration::ZERO,
        )
        .expect("granted");
    let child = program(&desk, &["--stdio", "--as", "crew01"]);
    let ended = tokio::task::spawn_blocking(move || outcome(child, &script("by-crew01")));
    let (code, answers, log) = ended.await.expect("ran");
    assert_eq!(code, 0, "{log}");
    let answered = answer_of_question(&answers);
    assert_eq!(answered["result"]["isError"], false, "{answers}{log}");
    let asked = desk.station.requests();
    let mut marked = asked
        .iter()
        .filter(|request| request.target.contains("by-crew01"));
    assert!(marked.clone().count() > 0);
    assert!(marked.all(|request| request.user.as_deref() == Some("crew01")));
    assert!(!answers.contains(&crew[0].password) && !log.contains(&crew[0].password));
    assert_eq!(desk.station.sessions(), 0, "logged out at the end");

    for (name, words) in [
        ("guest", "no station password of 'guest'"),
        ("nobody", "no user 'nobody'"),
    ] {
        let child = program(&desk, &["--stdio", "--as", name]);
        let (code, _, log) = tokio::task::spawn_blocking(move || outcome(child, &[]))
            .await
            .expect("ran");
        assert_eq!(code, 1);
        assert!(log.contains(words), "{log}");
    }
}

/// As `LoadCredential=` of a systemd unit hands them over: files that only the service reads, in a folder of its own.
#[tokio::test(flavor = "multi_thread")]
async fn every_secret_can_be_a_credential_of_the_service() {
    let desk = Desk::new().await;
    let crew = desk.crew(1);
    let credentials = desk.data_dir().join("credentials");
    std::fs::create_dir_all(&credentials).expect("a folder");
    let keep = |name: &str, content: &[u8]| {
        let file = credentials.join(name);
        std::fs::write(&file, content).expect("written");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let rights = std::fs::Permissions::from_mode(0o400);
            std::fs::set_permissions(&file, rights).expect("set");
        }
        file
    };
    let key = std::fs::read(desk.key_file()).expect("the key");
    keep("niagara-bridge-vault-key", &key);
    let password = keep("station-password", b"Secret-1\n");
    let token = keep("api-token", b"credential-token-0123456789-0123456789\n");
    std::fs::remove_file(desk.key_file()).expect("removed");
    let settings = json!({
        "dataDir": desk.data_dir(),
        "station": { "url": desk.station.url(), "user": BRIDGE.user },
        "limits": { "requestsPerSecond": 0, "inboundPerPrincipal": 0, "inboundPerAddress": 0 },
    });
    std::fs::write(desk.config_file(), settings.to_string()).expect("written");

    let with_credentials = |arguments: &[&str]| {
        let mut command = command(&desk, arguments);
        command
            .env("CREDENTIALS_DIRECTORY", &credentials)
            .env("NIAGARA_BRIDGE__STATION__PASSWORD_FILE", &password)
            .env("NIAGARA_BRIDGE__API_TOKEN_FILE", &token);
        command
    };
    for (arguments, user) in [
        (&["--stdio", "--as", "crew01"][..], "crew01"),
        (&["--stdio"][..], BRIDGE.user),
    ] {
        let question = format!("asked-by-{user}");
        let child = with_credentials(arguments).spawn().expect("starts");
        let lines = script(&question);
        let ended = tokio::task::spawn_blocking(move || outcome(child, &lines));
        let (code, answers, log) = ended.await.expect("ran");
        assert_eq!(code, 0, "{log}");
        let answered = answer_of_question(&answers);
        assert_eq!(answered["result"]["isError"], false, "{answers}{log}");
        let asked = desk.station.requests();
        let mut asked = asked.iter().filter(|one| one.target.contains(&question));
        assert!(asked.clone().count() > 0);
        assert!(asked.all(|one| one.user.as_deref() == Some(user)));
        for secret in ["Secret-1", "credential-token", &crew[0].password] {
            assert!(!log.contains(secret) && !answers.contains(secret));
        }
    }

    let without = command(&desk, &["--stdio"]).spawn().expect("starts");
    let ended = tokio::task::spawn_blocking(move || outcome(without, &[]));
    let (code, _, log) = ended.await.expect("ran");
    assert_eq!(code, 1);
    assert!(log.contains("station.passwordFile"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_most_talkative_log_tells_no_password_token_or_digest() {
    let desk = Desk::new().await;
    let crew = desk.crew(2);
    let mut child = program(&desk, &[]);
    let mut log = BufReader::new(child.stderr.take().expect("a log"));
    let (log, said, endpoint) = tokio::task::spawn_blocking(move || {
        let mut said = String::new();
        loop {
            let mut line = String::new();
            assert_ne!(
                log.read_line(&mut line).expect("read"),
                0,
                "ended early: {said}"
            );
            said += &line;
            let line: Value = serde_json::from_str(&line).expect("a log line is JSON");
            if let Some(endpoint) = line.pointer("/fields/endpoint").or(line.get("endpoint")) {
                let endpoint = endpoint.as_str().expect("text").to_owned();
                return (log, said, endpoint);
            }
        }
    })
    .await
    .expect("started");
    let rest = std::thread::spawn(move || {
        let (mut log, mut text) = (log, String::new());
        log.read_to_string(&mut text).expect("UTF-8");
        text
    });
    desk.station
        .change_password(&crew[1].user, "Another-1")
        .expect("changed");
    for member in &crew {
        let mut client = Client::new(endpoint.clone(), &token_of(&member.user));
        client.initialize().await;
        client.call("bqlQuery", marked_query("x")).await;
    }
    let wrong = Client::new(endpoint, "Sentinel-token-of-nobody");
    assert_eq!(wrong.post(json!({})).await.status(), 401);
    child.kill().expect("killed");
    child.wait().expect("ended");
    let log = said + &rest.join().expect("read");
    assert!(
        log.contains("crew01") && log.contains("crew02"),
        "both were at work"
    );
    let stored = std::fs::read_to_string(desk.identities().path()).expect("users.json");
    let digests = stored
        .split("tokenHash\": \"")
        .skip(1)
        .filter_map(|rest| rest.get(..64));
    let secrets = crew
        .iter()
        .flat_map(|member| [member.password.clone(), token_of(&member.user)]);
    let other = ["Sentinel".to_owned()]
        .into_iter()
        .chain(digests.map(str::to_owned));
    for secret in secrets.chain(other) {
        assert!(!log.contains(&secret), "{secret} was logged");
    }
}
