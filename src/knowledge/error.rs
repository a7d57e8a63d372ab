//! Errors of the knowledge layer.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::durable_file::FileError;

/// Why a knowledge document could not be used; each text names the file, the place and a remedy.
#[derive(Debug, thiserror::Error)]
pub enum KnowledgeError {
    #[error("cannot read the knowledge file {path}: {source}; check that the file exists and that this process may read it", path = path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error(
        "the knowledge file {path} is not there any more; put it back, or accept that the model is empty without it",
        path = path.display()
    )]
    Gone { path: PathBuf },
    #[error(
        "the knowledge file {path} is missing, though it was there once{copy}; put it back, or begin anew by reloadKnowledge \
         with startEmpty true",
        path = path.display(), copy = copy_text(copy.as_deref())
    )]
    Absent {
        path: PathBuf,
        /// The newest copy beside it.
        copy: Option<PathBuf>,
    },
    #[error(
        "the knowledge file {path} holds nothing, as when an editor was stopped while it wrote; put a copy in its place (they \
         lie beside it, named .bak), or write `schema_version: 1` into it if the model is meant to be empty",
        path = path.display()
    )]
    Empty { path: PathBuf },
    #[error(
        "the knowledge document {origin} has {size} bytes, more than the limit of {limit}; split the site or remove notes"
    )]
    TooLarge {
        origin: String,
        size: u64,
        limit: u64,
    },
    #[error(
        "the knowledge document {origin} is not valid UTF-8 at byte {offset}; save it as UTF-8"
    )]
    Encoding { origin: String, offset: usize },
    #[error("the knowledge document {origin} is not valid {format}{place}: {detail}; correct the text there", place = place(*.line, *.column))]
    Syntax {
        origin: String,
        format: &'static str,
        line: Option<usize>,
        column: Option<usize>,
        detail: String,
    },
    #[error(
        "the knowledge document {origin} has a {what} at line {line}; write the value out, or put the text in quotes"
    )]
    Unsupported {
        origin: String,
        what: &'static str,
        line: usize,
    },
    #[error("the knowledge document {origin} is nested deeper than {limit} levels; flatten it")]
    TooDeep { origin: String, limit: usize },
    #[error("the knowledge document {origin} is wrong at {place}: {problem}; {remedy}")]
    Schema {
        origin: String,
        place: String,
        problem: String,
        remedy: &'static str,
    },
}

fn copy_text(copy: Option<&Path>) -> String {
    copy.map_or_else(String::new, |copy| {
        format!(
            " and copies of it lie beside it, the newest is {}",
            copy.display()
        )
    })
}

fn place(line: Option<usize>, column: Option<usize>) -> String {
    match (line, column) {
        (Some(line), Some(column)) => format!(" at line {line}, column {column}"),
        (Some(line), None) => format!(" at line {line}"),
        _ => String::new(),
    }
}

/// The knowledge file exists but cannot be used, so nothing can be said from it (Tool surface §5.3, −32004).
#[derive(Debug, Clone, thiserror::Error)]
#[error("The knowledge file cannot be used: {detail}. Then call reloadKnowledge.")]
pub struct KnowledgeUnreadable {
    pub path: PathBuf,
    pub detail: Arc<KnowledgeError>,
}

/// Why a change of the knowledge was not made; then file and model are as they were.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// `knowledge.readOnly` is set.
    #[error(
        "The knowledge file {path} is not changed: the setting 'knowledge.readOnly' is true. Set it to false to allow edits.",
        path = path.display()
    )]
    ReadOnly { path: PathBuf },
    #[error(transparent)]
    Unreadable(#[from] KnowledgeUnreadable),
    /// Somebody else changed the file since it was last read.
    #[error(
        "The knowledge file {path} was changed by another program since it was read.{kept} Call reloadKnowledge, look at \
         the result, then repeat the edit.",
        path = path.display(), kept = kept_text(kept.as_deref())
    )]
    ChangedOnDisk {
        path: PathBuf,
        /// Where a state of the file is kept that another change from outside overtook.
        kept: Option<PathBuf>,
    },
    /// Somebody else seems to be writing the file just now.
    #[error(
        "The knowledge file {path} is being written by another program and does not come to rest; nothing was changed. Try \
         again in a few seconds.",
        path = path.display()
    )]
    StillChanging { path: PathBuf },
    #[error("The knowledge was not changed: {0}.")]
    Save(#[from] FileError),
    /// The changed or imported document breaks a rule of its format.
    #[error("The knowledge was not changed: {0}.")]
    Document(#[from] KnowledgeError),
    /// The work ended before its time.
    #[error(
        "The knowledge was not changed: the edit stopped unexpectedly ({detail}). Look at the log of this server."
    )]
    Interrupted { detail: String },
    /// The change itself was refused: an unknown id, a reference to nothing and the like.
    #[error("{message}")]
    Refused {
        message: String,
        /// `errorData` of the answer.
        data: Map<String, Value>,
    },
}

fn kept_text(kept: Option<&Path>) -> String {
    kept.map_or_else(String::new, |kept| {
        format!(
            " It was changed twice meanwhile: what it held in between is kept in {}.",
            kept.display()
        )
    })
}

impl EditError {
    /// A refused change; `message` is one or two sentences with a remedy.
    pub fn refused(message: impl Into<String>) -> Self {
        Self::Refused {
            message: message.into(),
            data: Map::new(),
        }
    }

    /// Adds one key of `errorData` to a refused change.
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        if let Self::Refused { data, .. } = &mut self {
            data.insert(key.to_owned(), value.into());
        }
        self
    }
}
