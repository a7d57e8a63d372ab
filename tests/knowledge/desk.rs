//! The tools over a knowledge file in a folder of its own, without a station.
#![allow(dead_code, reason = "each story uses its own part")]

use std::sync::Arc;

use niagara_bridge::knowledge::{KnowledgeDocument, KnowledgeStore, StoreOptions};
use niagara_bridge::station::facade::StationFacade;
use niagara_bridge::tools::context::NoServer;
use niagara_bridge::tools::station_access::StationDirectory;
use niagara_bridge::tools::{CallContext, Principal, Registry, ToolError, reading_tools};
use serde_json::{Value, json};

struct NoStation;

impl StationDirectory for NoStation {
    fn for_caller(&self, _: &Principal) -> Result<Arc<StationFacade>, ToolError> {
        Err(ToolError::station(
            "station-unreachable",
            "There is no station here.",
        ))
    }
}

pub struct Desk {
    pub store: Arc<KnowledgeStore>,
    pub registry: Registry,
    folder: tempfile::TempDir,
}

impl Desk {
    /// An empty knowledge: there is no file yet.
    pub fn empty() -> Self {
        Self::open(None)
    }

    /// A file with this text.
    pub fn holding(text: &str) -> Self {
        Self::open(Some(text))
    }

    fn open(text: Option<&str>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("knowledge.yaml");
        if let Some(text) = text {
            std::fs::write(&path, text).expect("a file");
        }
        let store = Arc::new(KnowledgeStore::open_with(path, at_once()));
        Self {
            registry: registry(store.clone()),
            store,
            folder,
        }
    }

    /// The whole result of a call by the user `ann`.
    pub async fn call(&self, tool: &str, arguments: Value) -> Value {
        let user = Principal::User { name: "ann".into() };
        let mut context = CallContext::new(user, Arc::new(NoServer::default()));
        context.session_id = "session-1".into();
        self.registry
            .call(tool, arguments, context)
            .await
            .unwrap_or_else(|error| panic!("{tool} was refused: {error}"))
    }

    /// The structured content of a call that must work; it is checked against the tool's own schema.
    pub async fn answer(&self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments).await;
        assert_eq!(result["isError"], json!(false), "{tool}: {result}");
        let answer = result["structuredContent"].clone();
        let schema = self.registry.definition(tool).expect("a tool");
        let schema = schema.output_schema.as_ref().expect("an output schema");
        let validator = jsonschema::validator_for(schema).expect("a schema");
        let problems: Vec<String> = validator
            .iter_errors(&answer)
            .map(|error| error.to_string())
            .collect();
        assert!(problems.is_empty(), "{tool}: {problems:?} in {answer}");
        answer
    }

    /// Code, message and data of a call that must fail.
    pub async fn failure(&self, tool: &str, arguments: Value) -> (i64, String, Value) {
        let result = self.call(tool, arguments).await;
        assert_eq!(result["isError"], json!(true), "{tool}: {result}");
        (
            result["errorCode"].as_i64().expect("a code"),
            result["content"][0]["text"]
                .as_str()
                .expect("a text")
                .to_owned(),
            result["errorData"].clone(),
        )
    }

    /// The text of the file, empty when there is none.
    pub fn file(&self) -> String {
        std::fs::read_to_string(self.store.path()).unwrap_or_default()
    }

    /// What a bridge that starts now would read.
    pub fn on_disk(&self) -> KnowledgeDocument {
        let store = KnowledgeStore::open(self.store.path());
        store.snapshot().model.document().clone()
    }

    /// The same as the tree of the file.
    pub fn tree(&self) -> Value {
        self.on_disk().to_tree()
    }

    /// `action id` of each line of the log of edits.
    pub fn log(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.store.audit_log_path()).unwrap_or_default();
        let line = |line: &str| {
            let entry: Value = serde_json::from_str(line).expect("a line of JSON");
            assert_eq!(entry["user"], "ann", "{entry}");
            assert_eq!(entry["sessionId"], "session-1", "{entry}");
            format!(
                "{} {}",
                entry["action"].as_str().expect("an action"),
                entry["id"].as_str().expect("an id")
            )
        };
        text.lines().map(line).collect()
    }
}

/// Nobody writes the files of these tests step by step.
pub fn at_once() -> StoreOptions {
    StoreOptions {
        rest: std::time::Duration::ZERO,
        ..StoreOptions::default()
    }
}

pub fn registry(store: Arc<KnowledgeStore>) -> Registry {
    Registry::builder()
        .tools(reading_tools(Arc::new(NoStation), store, 1_000))
        .build()
        .expect("the registry")
}
