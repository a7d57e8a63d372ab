//! What one identity has asked of its station, counted for monitoring.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use url::Url;

use crate::station::error::StationError;

/// The part of the station's web service that a request went to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Destination {
    /// The ord servlet: BQL and exports.
    OrdServlet,
    Box,
    Obix,
    /// Login, logout and their pages.
    Login,
    Other,
}

impl Destination {
    /// By the first segment of the path (Station web specification §2–§4).
    pub fn of(url: &Url) -> Self {
        let first = url
            .path_segments()
            .and_then(|mut segments| segments.next())
            .unwrap_or_default();
        match first {
            "ord" => Self::OrdServlet,
            "box" => Self::Box,
            "obix" => Self::Obix,
            "prelogin" | "login" | "logout" | "j_security_check" => Self::Login,
            _ => Self::Other,
        }
    }

    /// The word in labels.
    pub fn name(self) -> &'static str {
        match self {
            Self::OrdServlet => "ord",
            Self::Box => "box",
            Self::Obix => "obix",
            Self::Login => "login",
            Self::Other => "other",
        }
    }
}

/// What came of a request, as far as its head tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestOutcome {
    /// 2xx.
    Ok,
    /// 3xx: steps of a login, or a session that ended.
    Redirected,
    /// 401, 403.
    Denied,
    /// Another 4xx.
    ClientError,
    /// 429, 503.
    Busy,
    /// Another 5xx.
    ServerError,
    /// No connection, it broke, or its certificate is not trusted.
    Unreachable,
    Timeout,
    /// The caller gave up.
    Cancelled,
    /// The bridge did not send it: its turn did not come in time.
    NotSent,
}

impl RequestOutcome {
    /// Of an answer's status.
    pub fn of_status(status: u16) -> Self {
        match status {
            0..300 => Self::Ok,
            300..400 => Self::Redirected,
            401 | 403 => Self::Denied,
            429 | 503 => Self::Busy,
            400..500 => Self::ClientError,
            500.. => Self::ServerError,
        }
    }

    /// Of a request without an answer.
    pub fn of_error(error: &StationError) -> Self {
        match error {
            StationError::Timeout { .. } => Self::Timeout,
            StationError::Cancelled { .. } => Self::Cancelled,
            StationError::Queued { .. } => Self::NotSent,
            _ => Self::Unreachable,
        }
    }

    /// The word in labels.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Redirected => "redirected",
            Self::Denied => "denied",
            Self::ClientError => "client-error",
            Self::Busy => "busy",
            Self::ServerError => "server-error",
            Self::Unreachable => "unreachable",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::NotSent => "not-sent",
        }
    }
}

/// Counters of one client.
#[derive(Debug, Default)]
pub struct Traffic {
    requests: Mutex<BTreeMap<(Destination, RequestOutcome), u64>>,
    in_flight: AtomicU64,
    waiting: AtomicU64,
    logins_ok: AtomicU64,
    logins_failed: AtomicU64,
    logins_latched: AtomicU64,
}

impl Traffic {
    pub(super) fn count(&self, destination: Destination, outcome: RequestOutcome) {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        *requests.entry((destination, outcome)).or_default() += 1;
    }

    /// Counts a login that was tried.
    pub fn login(&self, accepted: bool) {
        let counter = if accepted {
            &self.logins_ok
        } else {
            &self.logins_failed
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a login that was not tried because another failed a moment ago.
    pub fn latched(&self) {
        self.logins_latched.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn waits(&self) -> Presence<'_> {
        Presence::new(&self.waiting)
    }

    pub(super) fn flies(&self) -> Presence<'_> {
        Presence::new(&self.in_flight)
    }

    /// Requests by destination and outcome.
    pub fn requests(&self) -> BTreeMap<(Destination, RequestOutcome), u64> {
        self.requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Requests that were answered, however.
    pub fn answered(&self) -> u64 {
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let answered = requests.iter().filter(|((_, outcome), _)| {
            matches!(
                outcome,
                RequestOutcome::Ok
                    | RequestOutcome::Redirected
                    | RequestOutcome::Denied
                    | RequestOutcome::ClientError
            )
        });
        answered.map(|(_, count)| count).sum()
    }

    /// Requests that were sent and whose head has not arrived.
    pub fn in_flight(&self) -> u64 {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Requests that wait for their turn.
    pub fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Logins by outcome: `ok`, `failed`, `latched`.
    pub fn logins(&self) -> [(&'static str, u64); 3] {
        [
            ("ok", &self.logins_ok),
            ("failed", &self.logins_failed),
            ("latched", &self.logins_latched),
        ]
        .map(|(outcome, counter)| (outcome, counter.load(Ordering::Relaxed)))
    }
}

/// Counted while it lives, so that a request that is given up is not counted for ever.
pub(super) struct Presence<'a>(&'a AtomicU64);

impl<'a> Presence<'a> {
    fn new(counter: &'a AtomicU64) -> Self {
        counter.fetch_add(1, Ordering::Relaxed);
        Self(counter)
    }
}

impl Drop for Presence<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_the_part_of_the_station() {
        for (path, name) in [
            ("/ord/station:%7Cslot:/", "ord"),
            ("/ord?station:", "ord"),
            ("/box/", "box"),
            ("/obix/config/Drivers/", "obix"),
            ("/j_security_check/", "login"),
            ("/prelogin", "login"),
            ("/", "other"),
            ("/ordinary", "other"),
        ] {
            let url: Url = format!("http://st1{path}").parse().expect(path);
            assert_eq!(Destination::of(&url).name(), name, "{path}");
        }
    }

    #[test]
    fn presence_ends_with_whatever_held_it() {
        let traffic = Traffic::default();
        let first = traffic.flies();
        let second = traffic.flies();
        assert_eq!(traffic.in_flight(), 2);
        drop(first);
        drop(second);
        assert_eq!(traffic.in_flight(), 0);
    }
}
