//! Errors of the knowledge layer.

use std::path::PathBuf;

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
        "the knowledge document {origin} uses a YAML {what} at line {line}; write the value out, or put the text in quotes"
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

fn place(line: Option<usize>, column: Option<usize>) -> String {
    match (line, column) {
        (Some(line), Some(column)) => format!(" at line {line}, column {column}"),
        (Some(line), None) => format!(" at line {line}"),
        _ => String::new(),
    }
}
