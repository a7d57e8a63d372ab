//! The demo, for clients that start it and for people who end it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use serde_json::json;

use super::{bridge, converse, run, script, text};

const LOG: &str = "log.txt";

/// Whoever tries the demo reads its first lines: nothing is wrong then.
#[test]
fn the_demo_starts_without_a_warning() {
    assert_eq!(Demo::start().log(), "");
}

/// A running demo, ended when dropped.
pub(super) struct Demo {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
    endpoint: String,
    token: String,
    pub(super) station: String,
    // A killed program cannot tidy up, so its data lies in a folder of the test.
    data: tempfile::TempDir,
}

impl Demo {
    pub(super) fn start() -> Self {
        let data = tempfile::tempdir().expect("folder");
        let log = std::fs::File::create(data.path().join(LOG)).expect("a log");
        let mut child = bridge(&[
            "demo",
            "--listen",
            "127.0.0.1:0",
            "--data-dir",
            text(data.path()),
        ])
        .stdout(Stdio::piped())
        .stderr(log)
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
            data,
        }
    }

    /// What it has logged so far.
    fn log(&self) -> String {
        std::fs::read_to_string(self.data.path().join(LOG)).expect("a log")
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
    let interrupted = std::process::Command::new("kill")
        .args(["-INT", &demo.id().to_string()])
        .status()
        .expect("kill");
    assert!(interrupted.success());
    assert_eq!(demo.wait().expect("ends").code(), Some(130));
    assert_eq!(made(), 0, "the temporary folder is gone");
}
