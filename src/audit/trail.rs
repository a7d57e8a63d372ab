//! Intent → write → outcome, in both files, whatever happens in between.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::append_file::{OpenAppend, on_disk};
use super::chain::Hash;
use super::journal::Journal;
use super::outcome_log::OutcomeLog;
use super::record::{Attempt, Ending, Verdict, members};
use super::{AuditError, JOURNAL_NAME, LOG_NAME, failed};
use crate::clock::SharedClock;

/// Code of an answer that was lost (Tool surface §5.3).
const INTERNAL: i32 = -32603;

/// The word of the records for a write that was not sent because its intent could not be recorded.
const UNRECORDED: &str = "audit";

/// Refusals that wait for a disk that takes them; later ones are told in the log of the process only.
const MOST_WAITING: usize = 1000;

/// Who only asks whether the files can be written has those that failed opened again this often at the most: the whole
/// journal is read then.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// Why nothing can be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditFailure {
    /// The whole error, with the path of the file and the remedy.
    pub message: String,
    /// The same without paths ([`AuditError::cause`]).
    pub cause: String,
}

/// How the files are kept.
#[derive(Clone)]
pub struct AuditOptions {
    /// A file of the journal that is longer gets a successor.
    pub journal_bytes: u64,
    /// A file of the outcome log does not grow beyond this (Tool surface §4.2).
    pub log_bytes: u64,
    pub open: OpenAppend,
}

impl Default for AuditOptions {
    fn default() -> Self {
        Self {
            journal_bytes: 10_000_000,
            log_bytes: 10_000_000,
            open: on_disk(),
        }
    }
}

/// The audit of one data folder. One process at a time may use it (the folder's lock sees to that).
pub struct AuditTrail {
    folder: PathBuf,
    options: AuditOptions,
    clock: SharedClock,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// None before the first record, and after a failure until the files could be opened again.
    files: Option<Files>,
    /// Digest of the last record that is known to be in the journal.
    known: Option<Hash>,
    /// Opened once: what is open in the journal from then on was left by this process.
    resumed: bool,
    /// Intents of writes that run now.
    running: BTreeSet<u64>,
    /// Outcomes that the disk did not take.
    waiting: Vec<Waiting>,
    failure: Option<AuditFailure>,
    /// When the files were last looked at for somebody who only asked.
    looked: Option<Duration>,
}

struct Files {
    journal: Journal,
    log: OutcomeLog,
}

#[derive(Clone)]
struct Waiting {
    intent: Option<u64>,
    /// Members of the intent that could not be recorded; some of it may be on the disk all the same.
    unsent: Option<Map<String, Value>>,
    verdict: Verdict,
    line: String,
}

impl AuditTrail {
    /// The audit of a folder; nothing is opened yet.
    pub fn new(folder: impl Into<PathBuf>, options: AuditOptions, clock: SharedClock) -> Arc<Self> {
        Arc::new(Self {
            folder: folder.into(),
            options,
            clock,
            state: Mutex::default(),
        })
    }

    /// Opens the files and gives an outcome to what an earlier process left without one.
    ///
    /// # Errors
    /// The disk refuses, or the journal was changed by something else.
    pub fn resume(&self) -> Result<(), AuditError> {
        let mut state = self.state();
        let outcome = self.files(&mut state).map(|_| ());
        state.note(outcome)
    }

    /// Why the last record could not be written; none while all is well.
    pub fn failure(&self) -> Option<String> {
        self.state().failure.clone().map(|failure| failure.message)
    }

    /// The folder of the files.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether the next write could be recorded, found out without one: both files are in their places and can be opened
    /// for writing. A full disk shows once a record did not fit, until what waits does.
    ///
    /// # Errors
    /// It could not be; files that failed are tried again every ten seconds at the most.
    pub fn check(&self) -> Result<(), AuditFailure> {
        let mut state = self.state();
        let now = self.clock.monotonic();
        let is_fresh = |looked| now.saturating_sub(looked) < LOOK_AGAIN;
        if let Some(failure) = &state.failure
            && state.looked.is_some_and(is_fresh)
        {
            return Err(failure.clone());
        }
        state.looked = Some(now);
        let outcome = self
            .files(&mut state)
            .and_then(|files| files.check_places());
        let outcome = outcome.and_then(|()| self.check_writable());
        state
            .note(outcome)
            .map_err(|error| AuditFailure::of(&error))
    }

    fn check_writable(&self) -> Result<(), AuditError> {
        [JOURNAL_NAME, LOG_NAME].iter().try_for_each(|name| {
            let path = self.folder.join(name);
            (self.options.open)(&path)
                .map(|_| ())
                .map_err(failed("open", &path))
        })
    }

    /// Records that a write is about to be sent. When this returns, the record is on the disk.
    ///
    /// # Errors
    /// It could not be recorded; the write must not be sent.
    pub fn begin(
        self: &Arc<Self>,
        attempt: Attempt,
        policy: &str,
    ) -> Result<OpenWrite, AuditError> {
        self.begin_in(&mut self.state(), attempt, policy)
    }

    /// As [`AuditTrail::begin`]; what cannot be recorded gets `refusal` as its only outcome, at once or when the disk
    /// works again, whether or not its intent reached the disk.
    ///
    /// # Errors
    /// It could not be recorded; the write must not be sent.
    pub fn begin_or_refuse(
        self: &Arc<Self>,
        attempt: Attempt,
        policy: &str,
        refusal: &Ending,
    ) -> Result<OpenWrite, AuditError> {
        let mut state = self.state();
        let begun = self.begin_in(&mut state, attempt.clone(), policy);
        if begun.is_err() {
            let unsent = Waiting {
                intent: None,
                unsent: Some(attempt.intent(policy)),
                verdict: refusal.verdict,
                line: attempt.line(UNRECORDED, refusal),
            };
            if state.waiting.len() < MOST_WAITING {
                state.waiting.push(unsent);
            }
            let outcome = self.files(&mut state).map(|_| ());
            if let Err(error) = state.note(outcome) {
                tracing::error!(%error, "the refusal of a write is not recorded yet");
            }
        }
        begun
    }

    fn begin_in(
        self: &Arc<Self>,
        state: &mut State,
        attempt: Attempt,
        policy: &str,
    ) -> Result<OpenWrite, AuditError> {
        let fields = attempt.intent(policy);
        let outcome = self.files(state).and_then(|files| {
            files.check_places()?;
            files.journal.append("intent", fields, self.clock.now())
        });
        let intent = state.note(outcome)?;
        state.running.insert(intent);
        Ok(OpenWrite {
            trail: self.clone(),
            intent,
            attempt,
            policy: policy.to_owned(),
            began: self.clock.monotonic(),
            finished: false,
        })
    }

    /// Records a write that the bridge itself refused.
    ///
    /// A failure of the disk is logged and shown by [`AuditTrail::failure`]; the record follows when the disk works
    /// again.
    pub fn refused(&self, attempt: &Attempt, policy: &str, ending: &Ending) {
        self.record(Waiting {
            intent: None,
            unsent: None,
            verdict: ending.verdict,
            line: attempt.line(policy, ending),
        });
    }

    fn record(&self, outcome: Waiting) {
        let mut state = self.state();
        if let Some(intent) = outcome.intent {
            state.running.remove(&intent);
        }
        let result = self
            .files(&mut state)
            .and_then(|files| files.record(&outcome, &self.clock));
        if let Err(error) = state.note(result) {
            tracing::error!(%error, "the outcome of a write is not recorded yet");
            // Outcomes of intents are never given up: each belongs to a write that ran.
            if outcome.intent.is_some() || state.waiting.len() < MOST_WAITING {
                state.waiting.push(outcome);
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // After a panic the files are as a crash would leave them, and they are opened so.
        self.state.lock().unwrap_or_else(|poisoned| {
            let mut state = PoisonError::into_inner(poisoned);
            state.files = None;
            self.state.clear_poison();
            state
        })
    }

    /// The open files; after a failure they are opened again and what is missing in them is added first.
    fn files<'a>(&self, state: &'a mut State) -> Result<&'a mut Files, AuditError> {
        let mut files = match state.files.take() {
            Some(files) => files,
            None => self.open_files(state)?,
        };
        while let Some(outcome) = state.waiting.first() {
            files.record(outcome, &self.clock)?;
            state.waiting.remove(0);
        }
        state.known = Some(files.journal.standing.last.clone());
        Ok(state.files.insert(files))
    }

    fn open_files(&self, state: &mut State) -> Result<Files, AuditError> {
        let now = self.clock.now();
        let options = &self.options;
        let journal = Journal::open(
            &self.folder,
            options.open.clone(),
            options.journal_bytes,
            now,
            state.known.as_ref(),
        )?;
        let log = OutcomeLog::open(
            &self.folder,
            options.open.clone(),
            options.log_bytes,
            &journal.standing,
        )?;
        let mut files = Files { journal, log };
        state.know_unsent(&files.journal.standing.open);
        // The first one may have been written before the disk failed.
        if state
            .waiting
            .first()
            .is_some_and(|outcome| files.holds(outcome))
        {
            state.waiting.remove(0);
        }
        let told: BTreeSet<u64> = state
            .waiting
            .iter()
            .filter_map(|held| held.intent)
            .collect();
        let open: BTreeMap<u64, Map<String, Value>> = files.journal.standing.open.clone();
        for (intent, record) in open {
            if state.running.contains(&intent) || told.contains(&intent) {
                continue;
            }
            let (attempt, policy) = Attempt::of_intent(&record);
            let ending = if state.resumed {
                Ending::not_done(
                    Verdict::Refused,
                    Duration::ZERO,
                    INTERNAL,
                    "The intent could not be brought to the disk; nothing was sent.",
                )
            } else {
                Ending::not_done(
                    Verdict::InDoubt,
                    Duration::ZERO,
                    INTERNAL,
                    "The bridge ended before the station answered; the station may have done it.",
                )
            };
            let outcome = Waiting {
                intent: Some(intent),
                unsent: None,
                verdict: ending.verdict,
                line: attempt.line(&policy, &ending),
            };
            files.record(&outcome, &self.clock)?;
        }
        state.resumed = true;
        Ok(files)
    }
}

impl AuditFailure {
    fn of(error: &AuditError) -> Self {
        Self {
            message: error.to_string(),
            cause: error.cause(),
        }
    }
}

impl State {
    /// Finds refusals whose intent reached the disk although that could not be confirmed: they are its outcome.
    fn know_unsent(&mut self, open: &BTreeMap<u64, Map<String, Value>>) {
        let mut known: BTreeSet<u64> = self.running.clone();
        known.extend(self.waiting.iter().filter_map(|held| held.intent));
        for held in &mut self.waiting {
            let Some(fields) = held.unsent.take() else {
                continue;
            };
            let found = open.iter().find(|(intent, record)| {
                let is_same = fields
                    .iter()
                    .all(|(key, value)| record.get(key) == Some(value));
                is_same && !known.contains(intent)
            });
            held.intent = found.map(|(intent, _)| *intent);
            known.extend(held.intent);
        }
    }

    /// Keeps what went wrong for those who ask; files that failed are not used on.
    fn note<T>(&mut self, outcome: Result<T, AuditError>) -> Result<T, AuditError> {
        match &outcome {
            Ok(_) => self.failure = None,
            Err(error) => {
                // What was appended last is in the journal, whatever failed behind it.
                if let Some(files) = self.files.take() {
                    self.known = Some(files.journal.standing.last.clone());
                }
                self.failure = Some(AuditFailure::of(error));
            }
        }
        outcome
    }
}

impl Files {
    /// Whether the journal has this outcome already: its line was written before the disk failed.
    fn holds(&self, outcome: &Waiting) -> bool {
        let standing = &self.journal.standing;
        match outcome.intent {
            Some(intent) => !standing.open.contains_key(&intent),
            None => standing.last_line.as_deref() == Some(outcome.line.as_str()),
        }
    }

    /// Whether both files are found under their names.
    fn check_places(&self) -> Result<(), AuditError> {
        self.journal.check_place()?;
        self.log.check_place()
    }

    fn record(&mut self, outcome: &Waiting, clock: &SharedClock) -> Result<(), AuditError> {
        self.check_places()?;
        let now = clock.now();
        if self.log.is_full_for(&outcome.line) {
            // The journal first: a rotation that it tells of can be completed later.
            let outcomes = self.journal.standing.outcomes;
            let note = members(json!({ "outcomesBefore": outcomes }));
            self.journal.append("logRotated", note, now)?;
            self.log.rotate()?;
        }
        let record = json!({
            "intent": outcome.intent,
            "outcome": self.journal.standing.outcomes + 1,
            "verdict": outcome.verdict.name(),
            "line": outcome.line,
        });
        self.journal.append("outcome", members(record), now)?;
        self.log.append(&outcome.line)
    }
}

/// A write whose intent is recorded. Dropped without [`OpenWrite::finish`], it is recorded as in doubt.
pub struct OpenWrite {
    trail: Arc<AuditTrail>,
    intent: u64,
    attempt: Attempt,
    policy: String,
    began: Duration,
    finished: bool,
}

impl OpenWrite {
    /// Records how the write ended. A failure of the disk does not fail the call (Tool surface §4.1): it is logged,
    /// and the record follows before the next write.
    pub fn finish(mut self, ending: &Ending) {
        self.finished = true;
        self.record(ending);
    }

    /// Time since the intent was recorded.
    pub fn elapsed(&self) -> Duration {
        self.trail.clock.monotonic().saturating_sub(self.began)
    }

    fn record(&self, ending: &Ending) {
        self.trail.record(Waiting {
            intent: Some(self.intent),
            unsent: None,
            verdict: ending.verdict,
            line: self.attempt.line(&self.policy, ending),
        });
    }
}

impl Drop for OpenWrite {
    fn drop(&mut self) {
        if !self.finished {
            self.record(&Ending::not_done(
                Verdict::InDoubt,
                self.elapsed(),
                INTERNAL,
                "The call ended before the station answered; the station may have done it.",
            ));
        }
    }
}

impl fmt::Debug for AuditTrail {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "AuditTrail({})", self.folder.display())
    }
}

impl fmt::Debug for OpenWrite {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "OpenWrite(intent: {})", self.intent)
    }
}
