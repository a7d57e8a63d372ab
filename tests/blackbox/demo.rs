//! The program itself as `demo --test-setup`, at its most talkative.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use serde_json::Value;

use crate::client::Client;

/// A running demo.
pub struct Demo {
    child: Child,
    pub token: String,
    address: SocketAddr,
    log: Option<JoinHandle<String>>,
    data: tempfile::TempDir,
}

impl Demo {
    pub fn start() -> Self {
        let data = tempfile::tempdir().expect("a folder");
        let mut child = Command::new(env!("CARGO_BIN_EXE_niagara-bridge"))
            .args(["demo", "--test-setup", "--listen", "127.0.0.1:0"])
            .args(["--log-level", "trace", "--data-dir"])
            .arg(data.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let mut errors = child.stderr.take().expect("a log");
        let log = std::thread::spawn(move || {
            let mut log = String::new();
            errors.read_to_string(&mut log).expect("UTF-8");
            log
        });
        let mut output = BufReader::new(child.stdout.take().expect("output"));
        let (mut token, mut endpoint) = (String::new(), String::new());
        loop {
            let mut line = String::new();
            let length = output.read_line(&mut line).expect("read");
            assert_ne!(length, 0, "the demo ended early");
            match line.split_whitespace().collect::<Vec<_>>().as_slice() {
                ["endpoint", url] => endpoint = (*url).to_owned(),
                ["token", text] => token = (*text).to_owned(),
                ["Ctrl-C", ..] => break,
                _ => {}
            }
        }
        let address = endpoint.trim_start_matches("http://");
        let address = address.split('/').next().expect("an address");
        Self {
            child,
            token,
            address: address.parse().expect("an address"),
            log: Some(log),
            data,
        }
    }

    pub fn client(&self, token: &str) -> Client {
        Client::at(self.address, token)
    }

    pub fn folder(&self) -> &Path {
        self.data.path()
    }

    /// Lines of a file of JSON lines.
    pub fn lines(&self, name: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.folder().join(name)).expect("readable");
        let lines = text.lines();
        lines
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect()
    }

    /// Ends the program and gives its log.
    pub fn end(&mut self) -> String {
        self.child.kill().expect("killed");
        self.child.wait().expect("ended");
        let log = self.log.take().expect("ended once");
        log.join().expect("read")
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
