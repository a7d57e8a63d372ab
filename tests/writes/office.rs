//! The writing tools with their gate, a vault and an audit, in front of the small station.
#![allow(dead_code, reason = "each story uses its own part")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mock_station::model::accounts::{self, AHU1_CATEGORY, Account};
use mock_station::model::audit::AuditOperation;
use niagara_bridge::audit::{AuditOptions, AuditTrail, JOURNAL_NAME, LOG_NAME, verify};
use niagara_bridge::clock::{SharedClock, SystemClock, TestClock};
use niagara_bridge::config::Config;
use niagara_bridge::config::load::Settings;
use niagara_bridge::config::policy::{Policy, SharedPolicy};
use niagara_bridge::identity::{
    Credentials, SessionLimits, UserStations, Vault, VaultKey, vault_file,
};
use niagara_bridge::knowledge::{KnowledgeStore, StoreOptions};
use niagara_bridge::station::boxp::TypeCache;
use niagara_bridge::station::facade::StationFacade;
use niagara_bridge::station::web::{Secret, WebOptions, WebSession};
use niagara_bridge::tools::context::NoServer;
use niagara_bridge::tools::write_gate::{SharedGate, WriteGate};
use niagara_bridge::tools::{CallContext, Principal, Registry, RpcError, writing_tools};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::site::{Site, site};

/// A point in the operator's category; those below `slot:/Logic` are not.
pub const OWN_POINT: &str = "station:|slot:/Ahu1/Setpoint";

/// A point that the operator does not see.
pub const OTHER_POINT: &str = "station:|slot:/Logic/Setpoint";

pub struct Office {
    pub site: Site,
    pub registry: Registry,
    pub gate: SharedGate,
    pub trail: Arc<AuditTrail>,
    pub policy: SharedPolicy,
    pub users: Arc<UserStations>,
    /// Time of the gate and of the audit.
    pub clock: Arc<TestClock>,
    pub knowledge: Arc<KnowledgeStore>,
    folder: TempDir,
}

/// The block `writes` of a configuration, in JSON, on top of what these tests need.
pub fn policy(writes: Value) -> Policy {
    let mut block = json!({"enabled": true, "readbackDelayMs": 0, "ratePerMinute": 0});
    if let (Some(block), Some(writes)) = (block.as_object_mut(), writes.as_object()) {
        block.extend(writes.clone());
    }
    let mut settings = Settings::empty("the test".to_owned());
    let text = json!({ "writes": block }).to_string();
    settings.read_text("the test", &text).expect("settings");
    Policy::of(&Config::from_settings(&settings).expect("a configuration"))
}

impl Office {
    /// Writes enabled, nothing else set.
    pub async fn new() -> Self {
        Self::with(json!({}), AuditOptions::default()).await
    }

    /// With other keys of `writes`, and another disk under the audit.
    pub async fn with(writes: Value, audit: AuditOptions) -> Self {
        let clock = TestClock::at("2026-03-02T12:00:00Z".parse().expect("time"));
        Self::timed(writes, audit, Arc::new(clock), SystemClock::shared(), None).await
    }

    /// With sessions that remember missing interfaces and failed logins by the test's own clock, and that ask once.
    pub async fn by_the_clock() -> Self {
        let clock = TestClock::at("2026-03-02T12:00:00Z".parse().expect("time"));
        let clock = Arc::new(clock);
        Self::timed(
            json!({}),
            AuditOptions::default(),
            clock.clone(),
            clock,
            Some(0),
        )
        .await
    }

    async fn timed(
        writes: Value,
        audit: AuditOptions,
        clock: Arc<TestClock>,
        sessions: SharedClock,
        retries: Option<usize>,
    ) -> Self {
        let site = site().await;
        add_own_point(&site);
        let folder = tempfile::tempdir().expect("a folder");
        let key = VaultKey::make(&folder.path().join("vault.key")).expect("a key");
        let vault = Vault::open(vault_file(folder.path()), &key).expect("a vault");
        for account in [accounts::ADMIN, accounts::OPERATOR, accounts::VIEWER] {
            let password = Secret::new(account.password);
            vault.keep(account.user, &password).expect("kept");
        }
        let url: url::Url = site.frozen.station.url().parse().expect("an address");
        let types = TypeCache::new();
        let session_clock = sessions.clone();
        let make = move |user: &str, password: Secret| {
            let mut options = WebOptions::new(url.clone(), user, password);
            options.limits.requests_per_second = 0;
            if let Some(retries) = retries {
                options.limits.read_retries = retries;
            }
            let session = WebSession::new(options, session_clock.clone())?;
            Ok(StationFacade::new(session, types.clone(), None))
        };
        let bridge = accounts::BRIDGE;
        let service = make(bridge.user, Secret::new(bridge.password)).expect("a facade");
        let limits = SessionLimits {
            most: 32,
            idle: Duration::from_secs(600),
        };
        let users = Arc::new(UserStations::new(
            Arc::new(service),
            Credentials::Vault(Box::new(vault)),
            Box::new(make),
            limits,
            sessions,
        ));
        let policy = SharedPolicy::new(policy(writes));
        let trail = AuditTrail::new(folder.path(), audit, clock.clone());
        let gate = WriteGate::new(policy.clone(), trail.clone(), users.clone(), clock.clone());
        let knowledge = Arc::new(KnowledgeStore::open_with(
            folder.path().join("knowledge.yaml"),
            StoreOptions {
                rest: std::time::Duration::ZERO,
                ..StoreOptions::default()
            },
        ));
        let registry = Registry::builder()
            .acting_by(users.clone())
            .recording_by(gate.clone())
            .tools(writing_tools(&gate, &knowledge))
            .build()
            .expect("the registry");
        Self {
            site,
            registry,
            gate,
            trail,
            policy,
            users,
            clock,
            knowledge,
            folder,
        }
    }

    /// Keeps the station password of one more user.
    pub fn keep_password(&self, user: &str, password: &str) {
        let key = VaultKey::from_file(&self.file("vault.key")).expect("a key");
        let vault = Vault::open(vault_file(self.folder()), &key).expect("a vault");
        vault.keep(user, &Secret::new(password)).expect("kept");
    }

    /// Applies other keys of `writes`, as a reload would.
    pub fn allow(&self, writes: Value) {
        self.policy.replace(policy(writes));
    }

    /// A call by a station user.
    pub async fn call_as(&self, user: Account, tool: &str, arguments: Value) -> Value {
        let answer = self.call(context(Some(user.user)), tool, arguments).await;
        answer.unwrap_or_else(|error| panic!("{tool} was refused: {error}"))
    }

    /// A call by whoever `context` says.
    pub async fn call(
        &self,
        context: CallContext,
        tool: &str,
        arguments: Value,
    ) -> Result<Value, RpcError> {
        self.registry.call(tool, arguments, context).await
    }

    /// The structured content of a call that must work; it is checked against the tool's own schema.
    pub async fn answer(&self, user: Account, tool: &str, arguments: Value) -> Value {
        let result = self.call_as(user, tool, arguments.clone()).await;
        assert_eq!(
            result["isError"],
            json!(false),
            "{tool} {arguments}: {result}"
        );
        let structured = result["structuredContent"].clone();
        let definition = self.registry.definition(tool).expect("a tool");
        if let Some(schema) = &definition.output_schema {
            let validator = jsonschema::validator_for(schema).expect("a schema");
            let problems: Vec<String> = validator
                .iter_errors(&structured)
                .map(|error| error.to_string())
                .collect();
            assert!(problems.is_empty(), "{tool}: {problems:?} in {structured}");
        }
        structured
    }

    /// Code and `errorData` of a call that must fail inside the tool.
    pub async fn failure(&self, user: Account, tool: &str, arguments: Value) -> (i64, Value) {
        failure_of(&self.call_as(user, tool, arguments).await)
    }

    /// The call, confirmed: by the token that its first step answers.
    pub async fn confirmed(&self, user: Account, tool: &str, mut arguments: Value) -> Value {
        let (code, data) = self.failure(user, tool, arguments.clone()).await;
        assert_eq!((code, &data["policy"]), (-32010, &json!("confirmation")));
        arguments["confirm"] = data["confirm"].clone();
        self.call_as(user, tool, arguments).await
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Records of the journal of one kind.
    pub fn records(&self, kind: &str) -> Vec<Value> {
        let mut records = lines(&self.file(JOURNAL_NAME));
        records.retain(|record| record["kind"] == kind);
        records
    }

    /// Lines of the audit log.
    pub fn log(&self) -> Vec<Value> {
        lines(&self.file(LOG_NAME))
    }

    /// The last line of the audit log, after the whole audit was found sound: as many intents as executed writes, and one
    /// line for each call.
    pub fn last_line(&self, intents: usize, lines: usize) -> Value {
        assert_eq!(self.records("intent").len(), intents, "intents");
        assert_eq!(self.records("outcome").len(), lines, "outcomes");
        let log = self.log();
        assert_eq!(log.len(), lines, "lines of the log");
        verify(self.folder()).expect("the audit is sound");
        log.last().cloned().expect("a line")
    }

    /// What the station's own audit history says that a user did: operation, component and slot.
    pub fn audited_by_station(&self, user: &str) -> Vec<String> {
        let entries = self.site.frozen.station.audit_of(user);
        let session = [
            AuditOperation::Login,
            AuditOperation::LoginFailed,
            AuditOperation::Logout,
        ];
        let changes = entries
            .into_iter()
            .filter(|entry| !session.contains(&entry.operation));
        changes
            .map(|entry| format!("{} {} {}", entry.operation.word(), entry.target, entry.slot))
            .collect()
    }
}

/// A call of a station user, or of the service identity.
pub fn context(user: Option<&str>) -> CallContext {
    let principal = match user {
        Some(name) => Principal::User {
            name: name.to_owned(),
        },
        None => Principal::Service,
    };
    let mut context = CallContext::new(principal, Arc::new(NoServer::default()));
    context.session_id = "session-1".to_owned();
    context.request_id = "request-1".to_owned();
    context
}

pub fn failure_of(result: &Value) -> (i64, Value) {
    assert_eq!(result["isError"], json!(true), "{result}");
    let code = result["errorCode"].as_i64().expect("a code");
    (code, result["errorData"].clone())
}

fn add_own_point(site: &Site) {
    let mut station = site.frozen.station.station().write();
    let root = station.root();
    let folder = station
        .add(root, Some("Ahu1"), "baja:Folder")
        .expect("a folder");
    station
        .add(folder, Some("Setpoint"), "control:NumericWritable")
        .expect("a point");
    let mask = station.users.category_mask(AHU1_CATEGORY);
    station.set_categories(folder, mask).expect("a category");
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}
