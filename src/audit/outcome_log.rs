//! `niagaramcp.audit.log`: one line for each outcome (Tool surface §4.2). What a crash left out is taken from the
//! journal.

use std::path::{Path, PathBuf};

use super::append_file::{AppendFile, OpenAppend};
use super::journal::{Standing, outcome_lines};
use super::standing_file::FileMark;
use super::{AuditError, LOG_NAME, failed};

/// Earlier files that are kept (Tool surface §4.2).
pub(super) const KEPT: usize = 5;

/// The log, open for appending.
pub(super) struct OutcomeLog {
    folder: PathBuf,
    opener: OpenAppend,
    rotate_at: u64,
    file: Box<dyn AppendFile>,
    mark: FileMark,
    length: u64,
}

/// The newest file for 0, an earlier one for its age.
pub(super) fn file_of_age(folder: &Path, age: usize) -> PathBuf {
    match age {
        0 => folder.join(LOG_NAME),
        age => folder.join(format!("{LOG_NAME}.{age}")),
    }
}

impl OutcomeLog {
    /// Opens the log and completes it, so that it fits the journal that stands at `standing`.
    ///
    /// # Errors
    /// The disk refuses, or the journal cannot be read.
    pub(super) fn open(
        folder: &Path,
        opener: OpenAppend,
        rotate_at: u64,
        standing: &Standing,
    ) -> Result<Self, AuditError> {
        let path = file_of_age(folder, 0);
        let expected = standing.outcomes.saturating_sub(standing.log_start());
        let mut bytes = contents(&path)?;
        if expected == 0 && standing.log_start() > 0 && !bytes.is_empty() {
            // The journal says that the log was rotated, and the process ended before it was.
            make_room(folder)?;
            bytes.clear();
        }
        let file = opener(&path).map_err(failed("open", &path))?;
        let mut log = Self {
            folder: folder.to_owned(),
            opener,
            rotate_at,
            file,
            mark: FileMark::of(&path)?,
            length: bytes.len() as u64,
        };
        log.complete(&bytes, standing, expected)?;
        Ok(log)
    }

    fn complete(
        &mut self,
        bytes: &[u8],
        standing: &Standing,
        expected: u64,
    ) -> Result<(), AuditError> {
        let there = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        let fragment = bytes
            .rsplit(|byte| *byte == b'\n')
            .next()
            .unwrap_or_default();
        if there >= expected {
            if there > expected || !fragment.is_empty() {
                tracing::warn!(
                    log = LOG_NAME,
                    "the audit log has more lines than the journal knows; run `niagara-bridge audit verify`"
                );
            }
            // The next line stays a line of its own.
            return if fragment.is_empty() {
                Ok(())
            } else {
                self.write(b"\n")
            };
        }
        tracing::warn!(
            lines = expected - there,
            "the audit log is completed from the journal"
        );
        let missing = outcome_lines(&self.folder, standing.log_start() + there)?;
        let mut text = missing.join("\n").into_bytes();
        text.push(b'\n');
        match text.strip_prefix(fragment) {
            Some(rest) => {
                let rest = rest.to_vec();
                self.write(&rest)
            }
            None => {
                text.insert(0, b'\n');
                self.write(&text)
            }
        }
    }

    /// Whether a line of this length belongs into the next file.
    pub(super) fn is_full_for(&self, line: &str) -> bool {
        let with_line = self.length.saturating_add(line.len() as u64 + 1);
        self.length > 0 && with_line > self.rotate_at
    }

    /// Begins the next file; the oldest one goes.
    ///
    /// # Errors
    /// The disk refuses. Then the log must be opened anew.
    pub(super) fn rotate(&mut self) -> Result<(), AuditError> {
        make_room(&self.folder)?;
        let path = file_of_age(&self.folder, 0);
        self.file = (self.opener)(&path).map_err(failed("open", &path))?;
        self.mark = FileMark::of(&path)?;
        self.length = 0;
        Ok(())
    }

    /// Whether what is appended now is found under the log's name.
    ///
    /// # Errors
    /// The file was removed, replaced or cut.
    pub(super) fn check_place(&self) -> Result<(), AuditError> {
        self.mark.check(&file_of_age(&self.folder, 0), self.length)
    }

    /// Appends a line and brings it to the disk.
    ///
    /// # Errors
    /// The disk refuses. Then the log must be opened anew: a part of the line may be in the file.
    pub(super) fn append(&mut self, line: &str) -> Result<(), AuditError> {
        self.write(format!("{line}\n").as_bytes())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), AuditError> {
        let path = file_of_age(&self.folder, 0);
        self.file.append(bytes).map_err(failed("write", &path))?;
        self.file.sync().map_err(failed("sync", &path))?;
        self.length = self.length.saturating_add(bytes.len() as u64);
        Ok(())
    }
}

/// A file's bytes, none when it is missing.
pub(super) fn contents(path: &Path) -> Result<Vec<u8>, AuditError> {
    match std::fs::read(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        outcome => outcome.map_err(failed("read", path)),
    }
}

/// Makes each file one older, as far as the first age that is free: a process that was killed on the way left one.
fn make_room(folder: &Path) -> Result<(), AuditError> {
    let free = (1..=KEPT).find(|age| !file_of_age(folder, *age).exists());
    for age in (0..free.unwrap_or(KEPT)).rev() {
        let path = file_of_age(folder, age);
        std::fs::rename(&path, file_of_age(folder, age + 1)).map_err(failed("rename", &path))?;
    }
    Ok(())
}
