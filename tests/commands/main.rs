//! The program as people run it: exit codes, what it prints where, how it ends.

mod demo;
#[cfg(unix)]
mod stops;
mod words;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

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

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}
