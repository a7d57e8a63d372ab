//! Whether every byte of the journal and of the outcome log is what was written.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::journal::{self, Standing};
use super::outcome_log::{contents, file_of_age};
use super::{AuditError, JOURNAL_NAME, LOG_NAME};

/// What was verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// Files of the journal.
    pub files: u64,
    /// Records in them.
    pub records: u64,
    /// Number of the first of them: above 1 when earlier files were moved away.
    pub first_record: u64,
    /// Outcomes in them.
    pub outcomes: u64,
    /// Lines of the outcome log that were compared with the journal.
    pub log_lines: u64,
    /// Marks of lines that a killed process left unfinished.
    pub torn_lines: u64,
    /// Writes that run now, or were running when the bridge ended.
    pub open_intents: u64,
    /// Digest of the last record. Kept elsewhere, it shows later whether records were cut off or made anew.
    pub head: String,
}

/// An outcome that a line of the log must repeat.
struct Expected {
    seq: u64,
    line: String,
}

/// Reads the audit files of a data folder and checks every byte of them.
///
/// # Errors
/// The first damage, with file, line and record; a file of the journal that is missing; or the files cannot be read.
pub fn verify(folder: &Path) -> Result<Verified, AuditError> {
    let found = verify_archived(folder)?;
    if found.first_record > 1 {
        let before = found.first_record - 1;
        return Err(AuditError::Incomplete {
            folder: folder.to_owned(),
            problem: format!(
                "the first {before} records are in journal files that are not there; put the files back, or say \
                 --archived if they are kept elsewhere"
            ),
        });
    }
    Ok(found)
}

/// The same where earlier files of the journal are kept elsewhere.
///
/// # Errors
/// As [`verify`], but for those files.
pub fn verify_archived(folder: &Path) -> Result<Verified, AuditError> {
    let mut standing: Option<Standing> = None;
    let mut outcomes = BTreeMap::new();
    let (mut records, mut first_record, mut torn_lines) = (0, 0, 0);
    let files = match journal::files(folder) {
        Ok(files) if !files.is_empty() => files,
        _ => {
            journal::nothing_recorded(folder)?;
            return Err(AuditError::Nothing {
                folder: folder.to_owned(),
            });
        }
    };
    if !folder.join(JOURNAL_NAME).exists() {
        return Err(AuditError::Incomplete {
            folder: folder.to_owned(),
            problem: format!(
                "there is no {JOURNAL_NAME} behind its earlier files: it was removed, or the bridge was killed while it \
                 began it (the next start makes it)"
            ),
        });
    }
    for path in &files {
        let read = journal::read(path, standing.take())?;
        if !read.fragment.is_empty() {
            return Err(AuditError::Damaged {
                path: path.clone(),
                line: read.records.last().map_or(1, |last| last.line + 1),
                record: format!("record {}", read.standing.seq + 1),
                problem: "the last line has no end: it was cut, or the bridge was killed while it wrote it (the next start marks it)".to_owned(),
            });
        }
        for placed in &read.records {
            let whole = |key: &str| placed.record.get(key).and_then(Value::as_u64);
            let seq = whole("seq").unwrap_or_default();
            if records == 0 {
                first_record = seq;
            }
            records += 1;
            let kind = placed.record.get("kind").and_then(Value::as_str);
            torn_lines += u64::from(kind == Some("torn"));
            let line = placed.record.get("line").and_then(Value::as_str);
            if let (Some(ordinal), Some(line)) = (whole("outcome"), line) {
                let line = line.to_owned();
                outcomes.insert(ordinal, Expected { seq, line });
            }
        }
        standing = Some(read.standing);
    }
    let standing = standing.unwrap_or_else(Standing::origin);
    let log_lines = verify_log(folder, &standing, &outcomes)?;
    Ok(Verified {
        files: files.len() as u64,
        records,
        first_record,
        outcomes: outcomes.len() as u64,
        log_lines,
        torn_lines,
        open_intents: standing.open.len() as u64,
        head: standing.last.as_str().to_owned(),
    })
}

/// Compares each file of the log with the outcomes that belong into it.
fn verify_log(
    folder: &Path,
    standing: &Standing,
    outcomes: &BTreeMap<u64, Expected>,
) -> Result<u64, AuditError> {
    let mut compared = 0;
    let mut end = standing.outcomes;
    for (age, start) in standing.log_starts.iter().rev().enumerate() {
        compared += verify_log_file(folder, age, (*start, end), outcomes)?;
        end = *start;
    }
    Ok(compared)
}

fn verify_log_file(
    folder: &Path,
    age: usize,
    (start, end): (u64, u64),
    outcomes: &BTreeMap<u64, Expected>,
) -> Result<u64, AuditError> {
    let path = file_of_age(folder, age);
    let bytes = contents(&path)?;
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let mut compared = 0;
    let damaged = |number: u64, ordinal: u64, problem: &str| AuditError::Damaged {
        path: path.clone(),
        line: number,
        record: match outcomes.get(&ordinal) {
            Some(expected) => format!("record {}, outcome {ordinal}", expected.seq),
            None => format!("outcome {ordinal}"),
        },
        problem: problem.to_owned(),
    };
    for (number, ordinal) in (1..).zip(start + 1..=end) {
        let Some(line) = lines.next() else {
            let problem = format!("the line is missing in {LOG_NAME}; the journal has it");
            return Err(damaged(number, ordinal, &problem));
        };
        // Earlier files of the journal may have been moved away, and their outcomes with them.
        let Some(expected) = outcomes.get(&ordinal) else {
            continue;
        };
        let written = line.strip_suffix(b"\n");
        if written != Some(expected.line.as_bytes()) {
            return Err(damaged(
                number,
                ordinal,
                "the line differs from what the journal recorded",
            ));
        }
        compared += 1;
    }
    if lines.next().is_some() {
        let problem = "the journal has no outcome for this line";
        return Err(damaged(end - start + 1, end + 1, problem));
    }
    Ok(compared)
}
