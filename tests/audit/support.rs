//! A data folder with an audit.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use niagara_bridge::audit::{
    Attempt, AuditOptions, AuditTrail, Ending, JOURNAL_NAME, LOG_NAME, OpenWrite,
};
use niagara_bridge::clock::TestClock;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

/// Time in which a write of these tests runs.
pub const TOOK: Duration = Duration::from_millis(12);

pub struct Audit {
    pub data: TempDir,
    pub clock: Arc<TestClock>,
    pub options: AuditOptions,
}

impl Audit {
    pub fn new() -> Self {
        Self::with(AuditOptions::default())
    }

    pub fn with(options: AuditOptions) -> Self {
        Self {
            data: tempfile::tempdir().expect("folder"),
            clock: Arc::new(TestClock::at("2026-03-08T06:59:00Z".parse().expect("time"))),
            options,
        }
    }

    pub fn folder(&self) -> &Path {
        self.data.path()
    }

    /// A process that uses the folder.
    pub fn process(&self) -> Arc<AuditTrail> {
        AuditTrail::new(self.folder(), self.options.clone(), self.clock.clone())
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    /// Records of the newest file of the journal.
    pub fn journal(&self) -> Vec<Value> {
        lines(&self.file(JOURNAL_NAME))
    }

    /// Lines of the newest file of the log.
    pub fn log(&self) -> Vec<Value> {
        lines(&self.file(LOG_NAME))
    }

    pub fn kinds(&self) -> Vec<String> {
        let journal = self.journal();
        let kinds = journal.iter().map(|record| record["kind"].as_str());
        kinds.map(|kind| kind.expect("a kind").to_owned()).collect()
    }
}

fn lines(path: &Path) -> Vec<Value> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(_) => return Vec::new(),
    };
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

pub fn object(value: Value) -> Map<String, Value> {
    value.as_object().expect("an object").clone()
}

/// Maria sets a slot.
pub fn attempt(number: usize) -> Attempt {
    let arguments = object(json!({ "slotName": "setpoint", "value": number }));
    let mut attempt = Attempt::new(
        "2026-03-08T06:59:00Z".parse().expect("time"),
        "maria",
        "setSlot",
        "set",
        "station:|slot:/Drivers/A",
        &arguments,
        false,
    );
    attempt.session_id = "s-1".to_owned();
    attempt.request_id = format!("r-{number}");
    attempt
}

pub fn begun(trail: &Arc<AuditTrail>, number: usize) -> OpenWrite {
    trail.begin(attempt(number), "allowed").expect("recorded")
}

pub fn done() -> Ending {
    Ending::done(TOOK, Some(20.0.into()), Some(21.5.into()))
}

/// A whole write.
pub fn write(trail: &Arc<AuditTrail>, number: usize) {
    begun(trail, number).finish(&done());
}
