//! The official conformance suite against our transport, with the suite's fixtures beside our own tools.

use std::path::Path;
use std::process::Stdio;

use tokio::net::TcpListener;
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use crate::fixtures;
use crate::programs::Peers;

/// Scenarios that fail on purpose, each with its reason.
const EXPECTED: &str = "tests/peers/conformance-expected-failures.yaml";

async fn passes(test: &str, revision: &str) {
    let Some(peers) = Peers::find(test) else {
        return;
    };
    // A second test in this process finds the provider installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let server = fixtures::serve(listener, CancellationToken::new())
        .await
        .expect("the fixtures");
    let results = tempfile::tempdir().expect("a temporary folder");
    let suite = peers.conformance();
    let output = Command::new(suite.join(".bin").join("node"))
        .arg(suite.join("@modelcontextprotocol/conformance/dist/index.js"))
        .args([
            "server",
            "--url",
            &server.endpoint(),
            "--requirements",
            revision,
        ])
        .arg("--expected-failures")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(EXPECTED))
        .arg("--output-dir")
        .arg(results.path())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .expect("the suite starts");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{printed}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    println!("{printed}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_scored_scenario_of_2025_11_25_passes() {
    passes("every_scored_scenario_of_2025_11_25_passes", "2025-11-25").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_scored_scenario_of_2026_07_28_passes() {
    passes("every_scored_scenario_of_2026_07_28_passes", "2026-07-28").await;
}
