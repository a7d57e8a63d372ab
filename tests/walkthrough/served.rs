//! The program `serve` as a process of its own beside the demo station, to be killed and started again.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use mock_station::model::{SharedStation, accounts};
use mock_station::server::MockStation;
use mock_station::site::{Harborview, SiteOptions};
use serde_json::{Value, json};

use crate::support::{Client, TOKEN};

/// The demo station, its truth, and a data folder that outlives every bridge.
pub struct Site {
    pub station: MockStation,
    pub truth: mock_station::site::truth::Truth,
    folder: tempfile::TempDir,
}

impl Site {
    pub async fn start() -> Self {
        let now = "2026-07-14T15:20:00Z".parse().expect("a time");
        let site = Harborview::build(SiteOptions::for_tests(now)).expect("the demo site");
        let clock = std::sync::Arc::new(mock_station::clock::TestClock::at(now));
        let station = MockStation::builder()
            .station(SharedStation::new(site.station, clock))
            .start()
            .await
            .expect("the stand-in station");
        Self {
            station,
            truth: site.truth,
            folder: tempfile::tempdir().expect("a folder"),
        }
    }

    pub fn data_dir(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Starts `serve` on this site.
    pub fn serve(&self) -> Bridge {
        let account = accounts::BRIDGE;
        let settings = json!({
            "listen": "127.0.0.1:0",
            "apiToken": TOKEN,
            "dataDir": self.data_dir(),
            "station": { "url": self.station.url(), "user": account.user, "password": account.password },
            "limits": { "requestsPerSecond": 0, "inboundPerPrincipal": 0, "inboundPerAddress": 0 },
        });
        let config = self.folder.path().join("config.yaml");
        std::fs::write(&config, settings.to_string()).expect("write");
        Bridge::start(&config)
    }
}

/// A running `serve`; killed when dropped.
pub struct Bridge {
    child: Child,
    endpoint: String,
}

impl Bridge {
    fn start(config: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_niagara-bridge"))
            .args(["serve", "--log-format", "json", "--log-level", "info"])
            .arg("--config")
            .arg(config)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let mut log = BufReader::new(child.stderr.take().expect("a log"));
        let endpoint = loop {
            let mut line = String::new();
            let length = log.read_line(&mut line).expect("read");
            assert_ne!(length, 0, "the bridge ended early");
            let line: Value = serde_json::from_str(&line).expect("a log line is JSON");
            if let Some(endpoint) = line.pointer("/fields/endpoint").or(line.get("endpoint")) {
                break endpoint.as_str().expect("text").to_owned();
            }
        };
        // A full pipe would hold the bridge up.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        Self { child, endpoint }
    }

    pub async fn client(&self) -> Client {
        let mut client = Client::new(self.endpoint.clone(), TOKEN);
        client.initialize().await;
        client
    }

    /// Ends the process as `kill -9` does; nothing of it can tidy up.
    pub fn kill(mut self) {
        self.child.kill().expect("kill");
        self.child.wait().expect("the end");
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
