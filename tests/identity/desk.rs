//! A stand-in station, a data folder with a vault, and a bridge that serves both.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use mock_station::model::accounts::{self, CrewMember, TEST_ITERATIONS};
use mock_station::server::MockStation;
use niagara_bridge::cli::assembly::{StationEnd, assemble};
use niagara_bridge::cli::serve::start_http;
use niagara_bridge::clock::SystemClock;
use niagara_bridge::config::load::load;
use niagara_bridge::config::{Config, Secret};
use niagara_bridge::identity::{Identities, Vault, VaultKey, vault_file};
use niagara_bridge::mcp::http::HttpServer;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{Client, TOKEN};

/// The station and everything the bridge keeps.
pub struct Desk {
    pub station: MockStation,
    folder: tempfile::TempDir,
}

/// A bridge that runs.
pub struct Served {
    pub server: HttpServer,
    pub end: StationEnd,
}

impl Desk {
    pub async fn new() -> Self {
        let desk = Self {
            station: MockStation::builder().start().await.expect("station"),
            folder: tempfile::tempdir().expect("folder"),
        };
        let account = accounts::BRIDGE;
        let settings = json!({
            "listen": "127.0.0.1:0",
            "apiToken": TOKEN,
            "dataDir": desk.data_dir(),
            "station": { "url": desk.station.url(), "user": account.user, "password": account.password },
            "limits": { "requestsPerSecond": 0, "inboundPerPrincipal": 0, "inboundPerAddress": 0 },
            "identity": { "vaultKeyFile": desk.key_file() },
        });
        std::fs::write(desk.config_file(), settings.to_string()).expect("write");
        VaultKey::make(&desk.key_file()).expect("key");
        desk
    }

    pub fn data_dir(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub fn key_file(&self) -> PathBuf {
        self.folder.path().join("vault.key")
    }

    pub fn config_file(&self) -> PathBuf {
        self.folder.path().join("config.yaml")
    }

    pub fn config(&self) -> Config {
        load(Some(&self.config_file()), []).expect("config")
    }

    pub fn identities(&self) -> Identities {
        Identities::new(&self.data_dir(), SystemClock::shared())
    }

    pub fn vault(&self) -> Vault {
        let key = VaultKey::from_file(&self.key_file()).expect("key");
        Vault::open(vault_file(&self.data_dir()), &key).expect("vault")
    }

    /// Runs `niagara-bridge user …`; the text goes to its standard input.
    pub async fn command(&self, arguments: &[&str], input: &str) -> (i32, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_niagara-bridge"));
        command
            .arg("user")
            .args(arguments)
            .arg("--config")
            .arg(self.config_file())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let input = input.to_owned();
        let run = move || {
            use std::io::Write;
            let mut child = command.spawn().expect("starts");
            let mut stdin = child.stdin.take().expect("input");
            // A command that fails early reads nothing.
            let _ = stdin.write_all(input.as_bytes());
            drop(stdin);
            child.wait_with_output().expect("ends")
        };
        let Output {
            status,
            stdout,
            stderr,
        } = tokio::task::spawn_blocking(run).await.expect("ran");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        (status.code().expect("a code"), text(stdout), text(stderr))
    }

    /// Binds by the command and returns the token.
    pub async fn bind(&self, name: &str, password: &str) -> String {
        let (code, token, said) = self.command(&["bind", name], password).await;
        assert_eq!(code, 0, "{said}");
        token.trim().to_owned()
    }

    /// Generated operators of the station, bound; each with the token `token of NAME`.
    pub fn crew(&self, count: usize) -> Vec<CrewMember> {
        let crew = self
            .station
            .station()
            .write()
            .add_crew(count, TEST_ITERATIONS)
            .expect("crew");
        for member in &crew {
            let password = Secret::new(member.password.as_str());
            self.vault().keep(&member.user, &password).expect("kept");
            self.identities()
                .grant(
                    &member.user,
                    &token_of(&member.user),
                    None,
                    None,
                    Duration::ZERO,
                )
                .expect("granted");
        }
        crew
    }

    pub async fn serve(&self) -> Served {
        self.serve_with(|_| {}).await
    }

    pub async fn serve_with(&self, change: impl FnOnce(&mut Config)) -> Served {
        let mut config = self.config();
        change(&mut config);
        let assembly = assemble(&config).expect("assembly");
        let started = start_http(assembly, &config, CancellationToken::new()).await;
        let (server, end) = started.expect("server");
        Served { server, end }
    }

    /// Users of the requests that the station answered since the log was cleared, without repetition.
    pub fn seen_users(&self) -> Vec<String> {
        let mut users: Vec<String> = self
            .station
            .requests()
            .into_iter()
            .filter_map(|request| request.user)
            .collect();
        users.sort();
        users.dedup();
        users
    }
}

pub fn token_of(user: &str) -> String {
    format!("token-of-{user}")
}

impl Served {
    pub fn client(&self, token: &str) -> Client {
        Client::new(self.server.endpoint(), token)
    }

    pub async fn session(&self, token: &str) -> Arc<Client> {
        let mut client = self.client(token);
        client.initialize().await;
        Arc::new(client)
    }

    pub async fn stop(self) {
        self.server.stop().await;
        self.end.close().await;
    }
}

/// A query that the station's log shows, marked with a word.
pub fn marked_query(word: &str) -> Value {
    json!({ "query": format!("station:|slot:/|bql:select name from baja:Station where name != '{word}'") })
}

pub fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}
