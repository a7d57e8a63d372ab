//! What the station saw: requests and logins, without secrets.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, Utc};

/// Entries kept per log; the oldest go first.
const CAPACITY: usize = 100_000;

/// One answered request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestEntry {
    pub time: DateTime<Utc>,
    pub method: String,
    /// Path and query as sent; the values of `csrfToken` and `j_password` are masked.
    pub target: String,
    pub status: u16,
    /// The authenticated user; none on public paths and refusals.
    pub user: Option<String>,
    /// A public name for the session, not the cookie's value.
    pub session: Option<u64>,
}

impl RequestEntry {
    /// The target without its query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or("")
    }
}

/// One BOX message that asked the station to change something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteEntry {
    pub time: DateTime<Utc>,
    /// The user it came from; none when that was not to be seen.
    pub user: Option<String>,
    /// The BOX server session it named.
    pub session: Option<String>,
    /// The handler key: `syncTo`, `invokeAction`, `checkLinks` with creation, `save`.
    pub key: String,
    /// What it was about, as `s 2f1/in10` or `2f1.override`; several operations separated by `; `.
    pub target: String,
    pub outcome: WriteOutcome,
}

/// What became of a message that asked for a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// A fault kept it from the servlet.
    Lost,
    /// It was carried out; the client may not have been told.
    Done,
    /// The error it was answered with. Earlier operations of the same message may have been carried out.
    Refused(String),
}

/// One finished login attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginEntry {
    pub time: DateTime<Utc>,
    pub user: String,
    pub way: LoginWay,
    pub outcome: LoginOutcome,
}

/// The interface a login came through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginWay {
    FormScram,
    HeaderScram,
    Basic,
}

/// How a login ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginOutcome {
    Success,
    /// The password, or the proof made from it, does not fit.
    BadProof,
    Locked,
    UnknownUser,
    /// The account uses another authentication scheme.
    WrongScheme,
    Disabled,
    /// The message is not SCRAM, or does not fit the exchange.
    Malformed,
}

/// A bounded log that servlets append to and tests read.
#[derive(Debug)]
pub struct Log<T> {
    entries: Arc<Mutex<VecDeque<T>>>,
}

impl<T> Clone for Log<T> {
    fn clone(&self) -> Self {
        Self {
            entries: self.entries.clone(),
        }
    }
}

impl<T> Default for Log<T> {
    fn default() -> Self {
        Self {
            entries: Arc::default(),
        }
    }
}

impl<T: Clone> Log<T> {
    pub fn push(&self, entry: T) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() == CAPACITY {
            entries.pop_front();
        }
        entries.push_back(entry);
    }

    /// All entries, oldest first.
    pub fn entries(&self) -> Vec<T> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.iter().cloned().collect()
    }

    pub fn clear(&self) {
        self.entries
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }
}

/// A request target with the values of secret parameters masked.
pub fn masked_target(path: &str, query: Option<&str>) -> String {
    let whole = match query {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    };
    let mut masked = whole;
    for secret in ["csrfToken=", "j_password="] {
        let mut from = 0;
        while let Some(found) = masked.get(from..).and_then(|rest| rest.find(secret)) {
            let start = from + found + secret.len();
            let end = masked[start..]
                .find(['&', ';', '|'])
                .map_or(masked.len(), |length| start + length);
            masked.replace_range(start..end, "***");
            from = start;
        }
    }
    masked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_parameters_are_masked() {
        assert_eq!(
            masked_target("/logout", Some("csrfToken=abc&x=1")),
            "/logout?csrfToken=***&x=1"
        );
        assert_eq!(
            masked_target("/ord", Some("a;csrfToken=q;b=1;csrfToken=z")),
            "/ord?a;csrfToken=***;b=1;csrfToken=***"
        );
    }
}
