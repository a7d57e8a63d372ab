//! What can go wrong between the bridge and a station, in sentences that name a remedy.

use std::fmt;
use std::time::Duration;

use thiserror::Error;

use super::echo::{explained, shortened};
use super::ord::OrdError;
use super::time::TimeError;

/// Why a station does not accept a login.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AuthCause {
    /// User name, password or authentication scheme do not fit.
    Refused,
    /// The user's authentication scheme differs from the configured one.
    WrongScheme,
    /// The proof of the password was sent and not answered: the station may have counted a failed login.
    Unanswered,
    /// The station could not prove that it knows the password: it may be an impostor.
    ServerSignature,
    /// The licence agreement waits for acceptance by this user.
    EulaPending,
    /// The session ended while a write was under way; nothing was repeated.
    SessionExpired,
    /// The login works, but this interface does not accept it.
    InterfaceRefuses,
    /// The password was accepted, but the session is gone with the next request.
    SessionNotKept,
    /// The bridge may no longer act as this user; the station was not asked.
    Withdrawn,
}

impl AuthCause {
    /// What the operator should do.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Refused => {
                "check user name and password, and that station.scheme matches the user's Authentication Scheme Name \
                 (DigestScheme: form-scram or header-scram; HTTPBasicScheme: basic); a locked-out user is refused the \
                 same way until the lock-out period ends"
            }
            Self::WrongScheme => {
                "set station.scheme to the user's Authentication Scheme Name (DigestScheme: form-scram or \
                 header-scram; HTTPBasicScheme: basic)"
            }
            Self::Unanswered => {
                "check that the station is running and not overloaded; the attempt may count as a failed login, \
                 therefore it is not repeated at once"
            }
            Self::ServerSignature => {
                "make sure the address and the certificate are those of the real station, and change the password if \
                 in doubt"
            }
            Self::EulaPending => {
                "log in once with a browser as this user and accept the licence agreement"
            }
            Self::SessionExpired => {
                "read the target again to see its state, then repeat the request"
            }
            Self::SessionNotKept => {
                "the station may have restarted in that moment or end this user's sessions, or a proxy in between drops \
                 cookies"
            }
            Self::Withdrawn => {
                "the user was revoked while the call ran; bind the user again if this is not meant"
            }
            Self::InterfaceRefuses => {
                "check that the user's roles permit this interface, and that no proxy in between asks for a login of its own"
            }
        }
    }

    fn sentence(self) -> &'static str {
        match self {
            Self::Refused => "refused user name or password",
            Self::WrongScheme => "does not offer the configured login scheme to this user",
            Self::Unanswered => "did not say whether it accepts the password",
            Self::ServerSignature => "could not prove that it knows the password",
            Self::EulaPending => "wants its licence agreement accepted first",
            Self::SessionExpired => "had ended the session before the write arrived",
            Self::InterfaceRefuses => "accepted the login but not for this interface",
            Self::SessionNotKept => "accepted the password but did not keep the session",
            Self::Withdrawn => "was not asked to change anything",
        }
    }
}

impl fmt::Display for AuthCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sentence())
    }
}

/// A request to a station that did not end well.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum StationError {
    /// No connection, or it broke.
    #[error(
        "the station {station} cannot be reached: {cause}; check that it is running and that address, port and firewall are right"
    )]
    Unreachable { station: String, cause: String },
    /// The connection broke in the middle of an answer.
    #[error(
        "the station {station} broke off its answer to {} after {received} bytes: {cause}; try again, and look at the network or a proxy between bridge and station if it happens often",
        shortened(target)
    )]
    Cut {
        station: String,
        target: String,
        received: u64,
        cause: String,
    },
    /// The TLS certificate is not trusted.
    #[error("the certificate of {station} is not trusted: {cause}; {}", CertificateFault::of(cause).remedy())]
    Certificate { station: String, cause: String },
    /// The station does not accept the login.
    #[error("the station {station} {cause} (user {user}): {detail}; {}", cause.remedy())]
    Auth {
        station: String,
        user: String,
        cause: AuthCause,
        detail: String,
    },
    /// A login failed a moment ago; the bridge does not risk a lock-out.
    #[error(
        "the station {station} {cause} (user {user}) at the last login: {reason}; {}; the bridge tries again no sooner \
         than in {} s, so that the user is not locked out",
        cause.remedy(),
        .remaining.as_secs().max(1)
    )]
    Latched {
        station: String,
        user: String,
        remaining: Duration,
        reason: String,
        cause: AuthCause,
    },
    /// The login did not end in time; no proof of the password was under way.
    #[error(
        "the station {station} did not answer the login within {:.1} s; check that its login page opens in a browser, or try again when the station is less busy",
        .after.as_secs_f64()
    )]
    LoginTimeout { station: String, after: Duration },
    /// The answer did not come in time.
    #[error("{} {}", shortened(what), timeout_text(*after, call.as_deref()))]
    Timeout {
        what: String,
        after: Duration,
        /// The call whose time it was, where that ended the request rather than the request's own limit.
        call: Option<Box<CallTime>>,
    },
    /// The time was over before the bridge, which spares the station, sent the request.
    #[error(
        "{} was not sent: the time of the call was over after {:.1} s of waiting for its turn in the bridge; {}",
        shortened(what), .after.as_secs_f64(), queue_text(*in_flight, *requests_per_second)
    )]
    Queued {
        what: String,
        after: Duration,
        in_flight: usize,
        requests_per_second: u32,
    },
    /// The caller gave up.
    #[error("{} was cancelled by the caller", shortened(what))]
    Cancelled { what: String },
    /// The user may not do this.
    #[error(
        "the station denies {user} access to {}: {}; grant the permission in the user's role",
        shortened(target),
        explained(detail, target)
    )]
    PermissionDenied {
        user: String,
        target: String,
        detail: String,
    },
    /// The ORD, history or document does not exist for this user.
    #[error(
        "{} was not found on the station: {}; check the spelling, and that the user may read it",
        shortened(target),
        explained(detail, target)
    )]
    NotFound { target: String, detail: String },
    /// The station cannot understand the query.
    #[error(
        "the station does not accept the query {}: {}; check type names, column names and quotes",
        shortened(query),
        explained(detail, query)
    )]
    BadQuery { query: String, detail: String },
    /// An interface that the operation needs is not there.
    #[error("the station {station} does not offer {needs}: {detail}")]
    InterfaceMissing {
        station: String,
        needs: &'static str,
        detail: String,
    },
    /// A time of the station that allows more than one reading.
    #[error(transparent)]
    TimeFormat(#[from] TimeError),
    /// Something else arrived than the interface promises.
    #[error(
        "{} answered with {} where {expected} was expected; check that the address is a Niagara station's web service",
        shortened(target),
        explained(found, target)
    )]
    Protocol {
        target: String,
        expected: &'static str,
        found: String,
    },
    /// The answer exceeds the limit.
    #[error(
        "the answer of {} exceeds {} MiB; ask for less, for example a smaller subtree or a shorter time range",
        shortened(target), limit / (1 << 20)
    )]
    TooLarge { target: String, limit: u64 },
    /// The station asks for patience.
    #[error("the station {station} is busy (HTTP {status}); try again in a moment")]
    Busy { station: String, status: u16 },
    /// The station failed while working on the request.
    #[error(
        "the station failed on {} (HTTP {status}): {}; the station's application director shows the cause",
        shortened(target),
        explained(detail, target)
    )]
    Server {
        target: String,
        status: u16,
        detail: String,
    },
    /// A write was sent, but its answer never arrived.
    #[error(
        "the outcome of writing {} is unknown: {}; read the value back before trying again",
        shortened(target),
        explained(cause, target)
    )]
    OutcomeUnknown { target: String, cause: String },
    /// The bridge refuses to send this.
    #[error("{what} is not acceptable: {}", shortened(detail))]
    InvalidInput { what: &'static str, detail: String },
    /// The caller's ORD is not one.
    #[error(transparent)]
    Ord(#[from] OrdError),
    /// A setting makes the connection impossible.
    #[error("the station connection cannot be set up: {detail}")]
    Setup { detail: String },
}

/// What is wrong with a certificate: one for another name does not become right by trusting its authority, nor does
/// one that has expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CertificateFault {
    OtherName,
    Expired,
    /// Nobody who is trusted vouches for it, or it is not the pinned one.
    Untrusted,
}

impl CertificateFault {
    /// From the words of the TLS library.
    pub fn of(cause: &str) -> Self {
        if cause.contains("not valid for name") || cause.contains("NotValidForName") {
            Self::OtherName
        } else if cause.to_lowercase().contains("expired") {
            Self::Expired
        } else {
            Self::Untrusted
        }
    }

    fn remedy(self) -> &'static str {
        match self {
            Self::OtherName => {
                "it was made for another name: write in station.url a name that it holds, let the station have a \
                 certificate for this name, or pin its SHA-256 fingerprint under station.tls, which does without the name"
            }
            Self::Expired => {
                "renew it on the station, or pin its SHA-256 fingerprint under station.tls"
            }
            Self::Untrusted => "give its CA file or its SHA-256 fingerprint under station.tls",
        }
    }
}

/// The time that a call had, and where it went.
#[derive(Debug, Clone, PartialEq)]
pub struct CallTime {
    pub whole: Duration,
    /// What of it went by before the bridge, which spares the station, sent its requests.
    pub queue: Option<OwnQueue>,
}

/// Waiting in the bridge itself, and the limits behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnQueue {
    pub waited: Duration,
    pub in_flight: usize,
    pub requests_per_second: u32,
}

impl CallTime {
    /// Whether the bridge's own limits took most of it.
    fn is_of_queue(&self) -> bool {
        let queue = self.queue.as_ref();
        queue.is_some_and(|queue| queue.waited * 2 >= self.whole)
    }
}

/// A request with less time than this was hardly sent when the time of its call was over.
const NO_TIME: Duration = Duration::from_millis(50);

fn timeout_text(after: Duration, call: Option<&CallTime>) -> String {
    let seconds = |time: Duration| format!("{:.1} s", time.as_secs_f64());
    const REMEDY: &str = "ask for less, or try again when the station is less busy";
    let Some(call) = call else {
        return format!("was not answered within {}; {REMEDY}", seconds(after));
    };
    let whole = seconds(call.whole);
    let answer = if after >= call.whole || seconds(after) == whole {
        format!("was not answered within {whole}")
    } else if after < NO_TIME {
        format!("had no time left: the {whole} of the call were over")
    } else {
        format!(
            "was not answered in the {} that were left of the {whole} of the call",
            seconds(after)
        )
    };
    match &call.queue {
        Some(queue) => format!(
            "{answer}; {} of them went by waiting for a turn in the bridge: {}",
            seconds(queue.waited),
            queue_text(queue.in_flight, queue.requests_per_second)
        ),
        None => format!("{answer}; {REMEDY}"),
    }
}

fn queue_text(in_flight: usize, requests_per_second: u32) -> String {
    let rate = match requests_per_second {
        0 => "any number".to_owned(),
        rate => rate.to_string(),
    };
    format!(
        "the bridge asks this station at most {in_flight} things at a time (limits.inFlight) and {rate} per second \
         (limits.requestsPerSecond), so ask for less, make fewer calls at once or raise these limits if the station \
         can bear it"
    )
}

impl StationError {
    /// A word for machines; tools put it into `errorData.kind` (Tool surface §5.3).
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } | Self::Cut { .. } => "station-unreachable",
            Self::Certificate { .. } => "station-certificate",
            Self::Auth { .. } | Self::Latched { .. } => "station-auth",
            Self::Timeout {
                call: Some(call), ..
            } if call.is_of_queue() => "bridge-busy",
            Self::Timeout { .. } | Self::LoginTimeout { .. } => "station-timeout",
            Self::Queued { .. } => "bridge-busy",
            Self::Cancelled { .. } => "cancelled",
            Self::PermissionDenied { .. } => "permission-denied",
            Self::NotFound { .. } => "not-found",
            Self::BadQuery { .. } => "bad-query",
            Self::InterfaceMissing { .. } => "interface-missing",
            Self::TimeFormat(_) => "station-time-format",
            Self::Protocol { .. } => "station-protocol",
            Self::TooLarge { .. } => "too-large",
            Self::Busy { .. } => "station-busy",
            Self::Server { .. } => "station-error",
            Self::OutcomeUnknown { .. } => "outcome-unknown",
            Self::InvalidInput { .. } | Self::Ord(_) => "invalid-input",
            Self::Setup { .. } => "station-setup",
        }
    }

    /// The same error about a caller's query as the caller wrote it, where `sent` is what the bridge made of it.
    pub fn about_query(self, sent: &str, written: &str) -> Self {
        let own = |text: String| text.replace(sent, written);
        match self {
            Self::BadQuery { query, detail } => Self::BadQuery {
                query: own(query),
                detail: own(detail),
            },
            Self::NotFound { target, detail } => Self::NotFound {
                target: own(target),
                detail: own(detail),
            },
            Self::PermissionDenied {
                user,
                target,
                detail,
            } => Self::PermissionDenied {
                user,
                target: own(target),
                detail: own(detail),
            },
            Self::Server {
                target,
                status,
                detail,
            } => Self::Server {
                target: own(target),
                status,
                detail: own(detail),
            },
            Self::Protocol {
                target,
                expected,
                found,
            } => Self::Protocol {
                target: own(target),
                expected,
                found: own(found),
            },
            Self::TooLarge { target, limit } => Self::TooLarge {
                target: own(target),
                limit,
            },
            Self::Timeout { what, after, call } => Self::Timeout {
                what: own(what),
                after,
                call,
            },
            Self::Cut {
                station,
                target,
                received,
                cause,
            } => Self::Cut {
                station,
                target: own(target),
                received,
                cause,
            },
            other => other,
        }
    }

    /// Whether the station's web service answered, although it did not do what was asked.
    pub fn shows_station(&self) -> bool {
        match self {
            Self::Auth { cause, .. } | Self::Latched { cause, .. } => {
                *cause != AuthCause::Unanswered
            }
            Self::Busy { .. }
            | Self::Server { .. }
            | Self::PermissionDenied { .. }
            | Self::InterfaceMissing { .. } => true,
            _ => false,
        }
    }

    /// A page came where a table was asked for: the exporter of tables is not allowed, or something else answers.
    pub fn is_page_for_table(&self) -> bool {
        matches!(self, Self::Protocol { expected: "CSV", found, .. } if found.starts_with("an HTML page"))
    }

    /// Whether the request never left the bridge, which says nothing about the station.
    pub fn is_of_own_queue(&self) -> bool {
        matches!(self, Self::Queued { .. })
    }

    /// Whether the station may be there without having done what was asked, so that what should end may go on.
    pub fn leaves_behind(&self) -> bool {
        matches!(
            self,
            Self::Timeout { .. }
                | Self::LoginTimeout { .. }
                | Self::Queued { .. }
                | Self::Cut { .. }
                | Self::Busy { .. }
                | Self::Cancelled { .. }
        )
    }

    /// The same request may succeed later without anyone changing anything.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. }
                | Self::Cut { .. }
                | Self::Timeout { .. }
                | Self::LoginTimeout { .. }
                | Self::Queued { .. }
                | Self::Busy { .. }
                | Self::Latched { .. }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_for_another_name_is_not_blamed_on_its_authority() {
        for (cause, words, other) in [
            (
                "invalid peer certificate: certificate not valid for name \"a\"; certificate is only valid for DnsName(\"b\")",
                "another name",
                "CA file",
            ),
            (
                "invalid peer certificate: NotValidForName",
                "another name",
                "CA file",
            ),
            (
                "invalid peer certificate: certificate expired: verification time 1",
                "renew",
                "CA file",
            ),
            (
                "invalid peer certificate: UnknownIssuer",
                "CA file",
                "another name",
            ),
        ] {
            let error = StationError::Certificate {
                station: "https://a".into(),
                cause: cause.into(),
            };
            let text = error.to_string();
            assert!(text.contains(words) && !text.contains(other), "{text}");
        }
    }

    #[test]
    fn a_timeout_tells_where_the_time_of_the_call_went() {
        let text = |after: f64, waited: Option<f64>| {
            let error = StationError::Timeout {
                what: "POST /box/".into(),
                after: Duration::from_secs_f64(after),
                call: Some(Box::new(CallTime {
                    whole: Duration::from_secs(9),
                    queue: waited.map(|waited| OwnQueue {
                        waited: Duration::from_secs_f64(waited),
                        in_flight: 4,
                        requests_per_second: 20,
                    }),
                })),
            };
            (error.kind(), error.to_string())
        };
        let (kind, crowded) = text(1.0, Some(8.0));
        assert_eq!(kind, "bridge-busy");
        for part in [
            "in the 1.0 s that were left of the 9.0 s of the call",
            "8.0 s of them went by waiting for a turn in the bridge",
            "at most 4 things at a time (limits.inFlight)",
        ] {
            assert!(crowded.contains(part), "{crowded}");
        }
        let (kind, slow) = text(8.99, None);
        assert_eq!(kind, "station-timeout");
        assert!(
            slow.contains("not answered within 9.0 s; ask for less"),
            "{slow}"
        );
        let (_, late) = text(0.001, None);
        assert!(
            late.contains("the 9.0 s of the call were over") && !late.contains("0.0 s"),
            "{late}"
        );
        assert_eq!(text(7.0, Some(2.0)).0, "station-timeout");
    }

    #[test]
    fn a_refused_login_names_station_user_and_remedy() {
        let error = StationError::Auth {
            station: "https://st1".into(),
            user: "bridge".into(),
            cause: AuthCause::Refused,
            detail: "HTTP 401".into(),
        };
        let text = error.to_string();
        for part in ["https://st1", "bridge", "HTTP 401", "DigestScheme"] {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
    }
}
