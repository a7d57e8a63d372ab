//! Who changed what: every write to the station is recorded before it is sent and after it was answered.
//!
//! - `chain`: one line of the journal, sealed by a digest over the line before it.
//! - `append_file`: a file that only grows; tests put a full disk in its place. `standing_file`: whether its name still
//!   leads to it.
//! - `journal`: `audit.journal` and its earlier files: intents and outcomes, rotated, recovered after a crash.
//! - `outcome_log`: `niagaramcp.audit.log`: one line for each outcome, as existing readers expect it.
//! - `record`: what is recorded of a write; `redact`: what is left out of it.
//! - `trail`: both files as one thing: intent → write → outcome.
//! - `verify`: whether every byte of both files is what was written; `query`: what they tell.
//!
//! The journal leads: the log can be made anew from it, and a write whose intent cannot be recorded is refused
//! (Tool surface §4).

mod append_file;
mod chain;
mod journal;
mod outcome_log;
pub mod query;
mod record;
mod redact;
mod standing_file;
mod trail;
mod verify;

use std::path::PathBuf;

pub use append_file::{AppendFile, OpenAppend, on_disk};
pub use record::{Attempt, Ending, Verdict};
pub(crate) use redact::{NAMING_KEYS, VALUE_KEYS};
pub use redact::{redacted_arguments, redacted_text};
pub use trail::{AuditFailure, AuditOptions, AuditTrail, OpenWrite};
pub use verify::{Verified, verify, verify_archived};

/// Name of the outcome log in the data folder (Tool surface §4.2).
pub const LOG_NAME: &str = "niagaramcp.audit.log";

/// Name of the journal in the data folder; earlier files add a number.
pub const JOURNAL_NAME: &str = "audit.journal";

/// Why something could not be recorded or read.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The disk is full, read-only or broken.
    #[error(
        "cannot {action} the audit file {file}: {source}; check the free space and the rights of the data folder",
        file = path.display()
    )]
    File {
        action: &'static str,
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// Nothing was ever recorded there.
    #[error(
        "there is no {JOURNAL_NAME} in {folder}: no write was recorded there, or it is not the data folder of the bridge (name that with --data-dir, or its configuration with --config)",
        folder = folder.display()
    )]
    Nothing { folder: PathBuf },
    /// The file was removed, replaced or cut while the bridge ran.
    #[error(
        "the audit file {file} is not as the bridge left it: {problem}; put it back where it was, or, if it is lost, stop the bridge, move the other audit files away as well and start it again",
        file = path.display()
    )]
    Displaced {
        path: PathBuf,
        problem: &'static str,
    },
    /// Records are known to be somewhere else, or gone.
    #[error(
        "the audit in {folder} is not complete: {problem}",
        folder = folder.display()
    )]
    Incomplete { folder: PathBuf, problem: String },
    /// The files were changed by something else.
    #[error(
        "the audit file {file} is damaged at line {line} ({record}): {problem}; look into it with `niagara-bridge audit verify`, and move the audit files away to begin new ones",
        file = path.display()
    )]
    Damaged {
        path: PathBuf,
        line: u64,
        record: String,
        problem: String,
    },
}

impl AuditError {
    /// What went wrong, without where: for answers to people who may not know the folders of the machine.
    pub fn cause(&self) -> String {
        let of = |path: &std::path::Path, problem: &dyn std::fmt::Display| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            format!("{name}: {problem}")
        };
        match self {
            Self::File { path, source, .. } => of(path, source),
            Self::Displaced { path, problem } => of(path, problem),
            Self::Damaged {
                path,
                line,
                problem,
                ..
            } => format!("{} at line {line}", of(path, problem)),
            Self::Nothing { .. } => format!("there is no {JOURNAL_NAME}"),
            Self::Incomplete { problem, .. } => problem.clone(),
        }
    }
}

/// Turns an input/output error into an [`AuditError`].
fn failed(
    action: &'static str,
    path: &std::path::Path,
) -> impl FnOnce(std::io::Error) -> AuditError {
    move |source| AuditError::File {
        action,
        path: path.to_owned(),
        source,
    }
}
