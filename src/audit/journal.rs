//! `audit.journal`: intents and outcomes, each line chained to the one before, also across files.
//!
//! A full file gets a number (`audit.journal.000001`) and stays; the next one begins with a record that names the last
//! digest and what is still open, so that the newest file alone tells how things stand. A line that a killed process
//! left unfinished stays where it is, and the record behind it says so.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};

use super::append_file::{AppendFile, OpenAppend};
use super::chain::{self, Hash};
use super::outcome_log::{KEPT, contents, file_of_age};
use super::record::{members, stamp};
use super::standing_file::FileMark;
use super::{AuditError, JOURNAL_NAME, LOG_NAME, failed};
use crate::durable_file;

/// Digits of the number of an earlier file.
const DIGITS: usize = 6;

/// Only the account of the bridge reads who wrote what.
#[cfg(unix)]
const OWNER_ONLY: u32 = 0o600;

/// How things stand behind a record.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Standing {
    pub last: Hash,
    /// Number of the last record.
    pub seq: u64,
    /// Number of the file that it stands in.
    pub file: u64,
    /// Outcomes so far.
    pub outcomes: u64,
    /// For each kept file of the outcome log, oldest first: outcomes before its first line.
    pub log_starts: Vec<u64>,
    /// Intents without an outcome.
    pub open: BTreeMap<u64, Map<String, Value>>,
    /// Line of the last outcome.
    pub last_line: Option<String>,
}

impl Standing {
    pub(super) fn origin() -> Self {
        Self {
            last: Hash::origin(),
            seq: 0,
            file: 0,
            outcomes: 0,
            log_starts: vec![0],
            open: BTreeMap::new(),
            last_line: None,
        }
    }

    /// Outcomes before the first line of the newest log file.
    pub(super) fn log_start(&self) -> u64 {
        self.log_starts.last().copied().unwrap_or_default()
    }

    /// Takes the next record in.
    pub(super) fn take(&mut self, record: &Map<String, Value>, hash: Hash) {
        let whole = |key: &str| record.get(key).and_then(Value::as_u64);
        self.last = hash;
        self.seq = whole("seq").unwrap_or(self.seq + 1);
        match record.get("kind").and_then(Value::as_str) {
            Some("file") => self.take_header(record),
            Some("intent") => {
                self.open.insert(self.seq, record.clone());
            }
            Some("outcome") => {
                if let Some(intent) = whole("intent") {
                    self.open.remove(&intent);
                }
                self.outcomes = whole("outcome").unwrap_or(self.outcomes + 1);
                let line = record.get("line").and_then(Value::as_str);
                self.last_line = line.map(str::to_owned);
            }
            Some("logRotated") => {
                self.log_starts.push(self.outcomes);
                if self.log_starts.len() > KEPT + 1 {
                    self.log_starts.remove(0);
                }
            }
            _ => {}
        }
    }

    fn take_header(&mut self, record: &Map<String, Value>) {
        let list = |key: &str| {
            record
                .get(key)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
        };
        self.file = record
            .get("file")
            .and_then(Value::as_u64)
            .unwrap_or(self.file + 1);
        self.outcomes = record
            .get("outcomes")
            .and_then(Value::as_u64)
            .unwrap_or_default();
        self.log_starts = list("logStarts").filter_map(Value::as_u64).collect();
        let open = list("open").filter_map(Value::as_object);
        self.open = open
            .filter_map(|intent| Some((intent.get("seq")?.as_u64()?, intent.clone())))
            .collect();
    }

    /// The first record of the next file.
    fn header(&self, now: DateTime<Utc>) -> Map<String, Value> {
        members(json!({
            "seq": self.seq + 1,
            "kind": "file",
            "at": stamp(now),
            "file": self.file + 1,
            "prev": self.last.as_str(),
            "outcomes": self.outcomes,
            "logStarts": self.log_starts,
            "open": self.open.values().collect::<Vec<_>>(),
        }))
    }
}

/// One record with its line number, counted from 1.
pub(super) struct Placed {
    pub line: u64,
    pub record: Map<String, Value>,
}

/// A file of the journal, every record checked.
pub(super) struct Contents {
    pub records: Vec<Placed>,
    pub standing: Standing,
    /// What stands behind the last line end.
    pub fragment: Vec<u8>,
}

/// The journal's files that are there, oldest first.
///
/// # Errors
/// The folder cannot be listed.
pub(super) fn files(folder: &Path) -> Result<Vec<PathBuf>, AuditError> {
    let listed = std::fs::read_dir(folder).map_err(failed("list the folder of", folder))?;
    let mut numbered = Vec::new();
    for entry in listed {
        let name = entry
            .map_err(failed("list the folder of", folder))?
            .file_name();
        let number = name
            .to_str()
            .and_then(|name| name.strip_prefix(JOURNAL_NAME)?.strip_prefix('.'))
            .filter(|number| {
                number.len() >= DIGITS && number.bytes().all(|sign| sign.is_ascii_digit())
            })
            .and_then(|number| number.parse::<u64>().ok());
        numbered.extend(number.map(|number| (number, folder.join(&name))));
    }
    numbered.sort();
    let mut files: Vec<PathBuf> = numbered.into_iter().map(|(_, path)| path).collect();
    let current = folder.join(JOURNAL_NAME);
    if current.exists() {
        files.push(current);
    }
    Ok(files)
}

/// Reads a file of the journal that follows `standing`; none for the oldest file that is there.
///
/// # Errors
/// The file cannot be read, or a record in it was changed; that one is named.
pub(super) fn read(path: &Path, standing: Option<Standing>) -> Result<Contents, AuditError> {
    let bytes = std::fs::read(path).map_err(failed("read", path))?;
    let (whole, fragment) = match bytes.iter().rposition(|byte| *byte == b'\n') {
        Some(end) => bytes.split_at(end + 1),
        None => (&[][..], bytes.as_slice()),
    };
    let mut standing = standing.unwrap_or_else(|| {
        let first = chain::previous_named(first_line(Some(&bytes)));
        Standing {
            last: first.unwrap_or_else(Hash::origin),
            ..Standing::origin()
        }
    });
    let mut records: Vec<Placed> = Vec::new();
    // Lines that do not fit are damage, unless the record behind them tells of them: line, place, problem.
    let mut torn: Option<(u64, usize, String)> = None;
    let (mut number, mut begin) = (0, 0);
    for line in whole.split_inclusive(|byte| *byte == b'\n') {
        let place = begin;
        begin += line.len();
        number += 1;
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let (record, hash) = match chain::check(&standing.last, line) {
            Ok(checked) => checked,
            Err(problem) => {
                torn.get_or_insert((number, place, problem));
                continue;
            }
        };
        let told = torn
            .as_ref()
            .map(|(_, from, _)| between(&bytes, *from, place));
        if !is_note_of(&record, told) {
            let (at, from, problem) = torn.unwrap_or_else(|| {
                let problem = "it tells of a torn line that is not there".to_owned();
                (number, place, problem)
            });
            let line = first_line(bytes.get(from..));
            return Err(damaged(path, at, line, &standing, problem));
        }
        torn = None;
        let is_header = record.get("kind").and_then(Value::as_str) == Some("file");
        if is_header != records.is_empty() {
            let problem = "each file begins with one record of the kind 'file'".to_owned();
            return Err(damaged(path, number, line, &standing, problem));
        }
        standing.take(&record, hash);
        records.push(Placed {
            line: number,
            record,
        });
    }
    let mut fragment = fragment;
    if let Some((at, from, problem)) = torn {
        let note = chain::check(&standing.last, fragment).ok();
        let told = between(&bytes, from, begin);
        if !note.is_some_and(|(record, _)| is_note_of(&record, Some(told))) {
            fragment = bytes.get(from..).unwrap_or_default();
            // The start of a record is no JSON; what can be read was whole once, and was changed.
            let mut pieces = fragment.split(|byte| *byte == b'\n');
            if pieces.any(|piece| chain::members_unchecked(piece).is_some()) {
                return Err(damaged(
                    path,
                    at,
                    first_line(Some(fragment)),
                    &standing,
                    problem,
                ));
            }
        }
    }
    if records.is_empty() {
        let problem = "the file has no complete record".to_owned();
        return Err(damaged(
            path,
            1,
            first_line(Some(fragment)),
            &standing,
            problem,
        ));
    }
    let fragment = fragment.to_vec();
    Ok(Contents {
        records,
        standing,
        fragment,
    })
}

/// Torn lines without the line end before the record at `place`.
fn between(bytes: &[u8], from: usize, place: usize) -> &[u8] {
    bytes.get(from..place.saturating_sub(1)).unwrap_or_default()
}

fn first_line(bytes: Option<&[u8]>) -> &[u8] {
    let mut lines = bytes.unwrap_or_default().split(|byte| *byte == b'\n');
    lines.next().unwrap_or_default()
}

/// Whether a record fits the torn lines before it, or the absence of one.
fn is_note_of(record: &Map<String, Value>, fragment: Option<&[u8]>) -> bool {
    let is_note = record.get("kind").and_then(Value::as_str) == Some("torn");
    match fragment {
        None => !is_note,
        Some(fragment) => {
            let digest = record.get("sha256").and_then(Value::as_str);
            is_note && digest == Some(chain::sha256(fragment).as_str())
        }
    }
}

/// A record in a few words.
pub(super) fn described(record: &Map<String, Value>) -> String {
    let text = |key: &str| record.get(key).and_then(Value::as_str).unwrap_or_default();
    let seq = record.get("seq").map(Value::to_string).unwrap_or_default();
    let kind = text("kind");
    match kind {
        "intent" => format!(
            "record {seq}, intent of {} by {} on {}",
            text("tool"),
            text("user"),
            text("ord")
        ),
        _ => format!("record {seq}, {kind}"),
    }
}

fn damaged(
    path: &Path,
    line: u64,
    bytes: &[u8],
    standing: &Standing,
    problem: String,
) -> AuditError {
    // The number is counted, because the one in a changed line may be the change.
    let seq = standing.seq + 1;
    let record = match chain::members_unchecked(bytes) {
        Some(mut members) => {
            if standing.seq > 0 {
                members.insert("seq".to_owned(), seq.into());
            }
            described(&members)
        }
        None if standing.seq == 0 => "its first record".to_owned(),
        None => format!("record {seq}"),
    };
    AuditError::Damaged {
        path: path.to_owned(),
        line,
        record,
        problem,
    }
}

/// The journal, open for appending.
pub(super) struct Journal {
    folder: PathBuf,
    opener: OpenAppend,
    rotate_at: u64,
    file: Box<dyn AppendFile>,
    mark: FileMark,
    length: u64,
    pub standing: Standing,
}

impl Journal {
    /// Opens the newest file, or begins the first one; a torn last line is marked. `known` is the digest of the last
    /// record that this process wrote.
    ///
    /// # Errors
    /// The disk refuses, or the newest file was changed by something else, or does not have that record.
    pub(super) fn open(
        folder: &Path,
        opener: OpenAppend,
        rotate_at: u64,
        now: DateTime<Utc>,
        known: Option<&Hash>,
    ) -> Result<Self, AuditError> {
        std::fs::create_dir_all(folder).map_err(failed("make the folder of", folder))?;
        let current = folder.join(JOURNAL_NAME);
        let there = files(folder)?;
        if let Some(known) = known {
            must_hold(known, &there, &current)?;
        }
        let (standing, fragment) = match there.last() {
            None => {
                nothing_recorded(folder)?;
                (Standing::origin(), Vec::new())
            }
            Some(newest) => {
                let contents = read(newest, None)?;
                (contents.standing, contents.fragment)
            }
        };
        let mut journal = if current.exists() {
            Self::resume(folder, opener, rotate_at, standing)?
        } else {
            Self::begin(folder, opener, rotate_at, standing, now)?
        };
        if !fragment.is_empty() {
            journal.mend(&fragment, now)?;
        }
        Ok(journal)
    }

    fn resume(
        folder: &Path,
        opener: OpenAppend,
        rotate_at: u64,
        standing: Standing,
    ) -> Result<Self, AuditError> {
        let current = folder.join(JOURNAL_NAME);
        let file = opener(&current).map_err(failed("open", &current))?;
        let facts = std::fs::metadata(&current).map_err(failed("look at", &current))?;
        Ok(Self {
            folder: folder.to_owned(),
            opener,
            rotate_at,
            file,
            mark: FileMark::of(&current)?,
            length: facts.len(),
            standing,
        })
    }

    /// Makes the next file. It appears with its first record or not at all.
    fn begin(
        folder: &Path,
        opener: OpenAppend,
        rotate_at: u64,
        mut standing: Standing,
        now: DateTime<Utc>,
    ) -> Result<Self, AuditError> {
        let current = folder.join(JOURNAL_NAME);
        let header = standing.header(now);
        let (line, hash) = chain::seal(&standing.last, header.clone());
        durable_file::replace(&current, format!("{line}\n").as_bytes())
            .map_err(|error| failed("begin", &current)(error.source))?;
        #[cfg(unix)]
        std::fs::set_permissions(
            &current,
            std::os::unix::fs::PermissionsExt::from_mode(OWNER_ONLY),
        )
        .map_err(failed("set the rights of", &current))?;
        standing.take(&header, hash);
        Self::resume(folder, opener, rotate_at, standing)
    }

    /// Says what an unfinished line was, or only ends it if nothing else was missing.
    fn mend(&mut self, fragment: &[u8], now: DateTime<Utc>) -> Result<(), AuditError> {
        if let Ok((record, hash)) = chain::check(&self.standing.last, fragment) {
            self.write(b"\n")?;
            self.standing.take(&record, hash);
            return Ok(());
        }
        tracing::warn!(
            bytes = fragment.len(),
            "the audit journal ended within a line, which is marked now"
        );
        let (torn, end) = match fragment.strip_suffix(b"\n") {
            Some(torn) => (torn, ""),
            None => (fragment, "\n"),
        };
        let note = json!({ "bytes": torn.len(), "sha256": chain::sha256(torn) });
        let (line, record, hash) = self.sealed("torn", members(note), now);
        self.write(format!("{end}{line}\n").as_bytes())?;
        self.standing.take(&record, hash);
        Ok(())
    }

    /// Whether what is appended now is found under the journal's name.
    ///
    /// # Errors
    /// The file was removed, replaced or cut.
    pub(super) fn check_place(&self) -> Result<(), AuditError> {
        let path = self.folder.join(JOURNAL_NAME);
        self.mark.check(&path, self.length)
    }

    /// Appends a record and brings it to the disk; its number comes back.
    ///
    /// # Errors
    /// The disk refuses. Then the journal must be opened anew: a part of the line may be in the file.
    pub(super) fn append(
        &mut self,
        kind: &str,
        fields: Map<String, Value>,
        now: DateTime<Utc>,
    ) -> Result<u64, AuditError> {
        if self.length >= self.rotate_at {
            self.rotate(now)?;
        }
        let (line, record, hash) = self.sealed(kind, fields, now);
        self.write(format!("{line}\n").as_bytes())?;
        self.standing.take(&record, hash);
        Ok(self.standing.seq)
    }

    fn sealed(
        &self,
        kind: &str,
        fields: Map<String, Value>,
        now: DateTime<Utc>,
    ) -> (String, Map<String, Value>, Hash) {
        let mut record = members(json!({ "seq": self.standing.seq + 1, "kind": kind }));
        // The time of an attempt, where the fields have one, is earlier than the time of the record.
        record.insert("at".to_owned(), stamp(now).into());
        record.extend(fields);
        let (line, hash) = chain::seal(&self.standing.last, record.clone());
        (line, record, hash)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), AuditError> {
        let path = self.folder.join(JOURNAL_NAME);
        self.file.append(bytes).map_err(failed("write", &path))?;
        self.file.sync().map_err(failed("sync", &path))?;
        self.length = self.length.saturating_add(bytes.len() as u64);
        Ok(())
    }

    fn rotate(&mut self, now: DateTime<Utc>) -> Result<(), AuditError> {
        let current = self.folder.join(JOURNAL_NAME);
        let number = self.standing.file;
        let earlier = self
            .folder
            .join(format!("{JOURNAL_NAME}.{number:0DIGITS$}"));
        std::fs::rename(&current, &earlier).map_err(failed("rename", &current))?;
        *self = Self::begin(
            &self.folder,
            self.opener.clone(),
            self.rotate_at,
            self.standing.clone(),
            now,
        )?;
        Ok(())
    }
}

/// A journal that this process wrote to must have its last record: one that lost it must not be continued.
fn must_hold(known: &Hash, files: &[PathBuf], current: &Path) -> Result<(), AuditError> {
    let displaced = |problem| AuditError::Displaced {
        path: current.to_owned(),
        problem,
    };
    for path in files.iter().rev() {
        let records = read(path, None)?.records;
        let text = |record: &Map<String, Value>, key: &str| {
            let digest = record.get(key).and_then(Value::as_str);
            digest == Some(known.as_str())
        };
        // The first record of a file names the last digest of the file before.
        let mut records = records.iter().map(|placed| &placed.record);
        if records.any(|record| text(record, "hash") || text(record, "prev")) {
            return Ok(());
        }
    }
    Err(displaced(match current.exists() {
        true => "records that the bridge wrote are gone from it",
        false => "it was removed or moved away",
    }))
}

/// A log with lines had a journal: a new one beside it would hide that the records are gone.
pub(super) fn nothing_recorded(folder: &Path) -> Result<(), AuditError> {
    for age in 0..=KEPT {
        let lines = contents(&file_of_age(folder, age))?;
        let lines = lines.iter().filter(|byte| **byte == b'\n').count();
        if lines > 0 {
            return Err(AuditError::Incomplete {
                folder: folder.to_owned(),
                problem: format!(
                    "{LOG_NAME} has {lines} lines, and there is no {JOURNAL_NAME} that recorded them; put it back, or \
                     move the log away as well to begin new ones"
                ),
            });
        }
    }
    Ok(())
}

/// The lines of the outcomes behind the first `from`, looked for in as few files as needed.
///
/// # Errors
/// A file cannot be read or was changed.
pub(super) fn outcome_lines(folder: &Path, from: u64) -> Result<Vec<String>, AuditError> {
    let mut lines: BTreeMap<u64, String> = BTreeMap::new();
    for path in files(folder)?.iter().rev() {
        let contents = read(path, None)?;
        for placed in &contents.records {
            let ordinal = placed.record.get("outcome").and_then(Value::as_u64);
            let line = placed.record.get("line").and_then(Value::as_str);
            if let (Some(ordinal), Some(line)) = (ordinal.filter(|ordinal| *ordinal > from), line) {
                lines.insert(ordinal, line.to_owned());
            }
        }
        if lines.keys().next().is_none_or(|first| *first <= from + 1) && !lines.is_empty() {
            break;
        }
    }
    Ok(lines.into_values().collect())
}
