//! The log of knowledge edits: one JSON line for each (Tool surface §9.5, §12 item 24).

use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::PoisonError;

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Map, Value, json};

use super::Shared;
use super::editing::Editor;
use super::saving::SaveStep;
use crate::knowledge::change::sections_changed;
use crate::knowledge::document::KnowledgeDocument;

/// One line of the log.
pub(super) struct AuditRecord(Value);

impl AuditRecord {
    pub(super) fn new(
        now: DateTime<Utc>,
        editor: &Editor,
        action: &str,
        id: &str,
        before: &KnowledgeDocument,
        after: &KnowledgeDocument,
    ) -> Self {
        Self(json!({
            "ts": now.to_rfc3339_opts(SecondsFormat::Secs, true),
            "action": action,
            "id": id,
            "sessionId": editor.session_id,
            "user": editor.principal,
            "tool": editor.tool,
            "change": sections_changed(before, after)
                .into_iter()
                .map(|(section, change)| (section.to_owned(), change.to_json()))
                .collect::<Map<_, _>>(),
        }))
    }
}

impl Shared {
    /// Appends a line. The edit is saved by then, so a failure is logged and shown by getServiceHealth.
    pub(super) fn log(&self, record: &AuditRecord) {
        let path = self.audit_log_path();
        let outcome = append(&path, &record.0.to_string());
        let failure = outcome.err().map(|error| {
            tracing::error!(log = %path.display(), %error, "an edit of the knowledge was saved but not logged");
            error.to_string()
        });
        *self
            .audit_failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = failure;
        self.done(SaveStep::Logged);
    }
}

/// Appends a line; the rest of a line that a killed process left behind stays a line of its own.
fn append(path: &Path, line: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new()
        .create(true)
        .read(true)
        .append(true)
        .open(path)?;
    let mut last = [b'\n'];
    if file.metadata()?.len() > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    let start = if last == [b'\n'] { "" } else { "\n" };
    file.write_all(format!("{start}{line}\n").as_bytes())
}
