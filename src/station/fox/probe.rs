//! Looking whether a station's Fox port answers: one hello to an allowed target, seldom, and never a login
//! (Fox specification §8).

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use thiserror::Error;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::certificate::CertificateFacts;
use super::connection::{NotSecured, Secured, secure};
use super::hello::FoxIdentity;
use super::reading::{Heard, greet};
use crate::clock::SharedClock;
use crate::station::error::StationError;
use crate::station::http::{CallScope, Trust};

/// Port of plain Fox (Fox specification §1).
pub const FOX_PORT: u16 = 1911;
/// Port of Fox over TLS.
pub const FOXS_PORT: u16 = 4911;

/// Time for each step: connection, TLS handshake, answer.
const STEP: Duration = Duration::from_secs(5);
const WHOLE_PROBE: Duration = Duration::from_secs(15);
/// Time between two probes of a target, and the shortest that may be set.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(60);
const SHORTEST_INTERVAL: Duration = Duration::from_secs(10);
/// The longest pause after failures.
const LONGEST_PAUSE: Duration = Duration::from_secs(15 * 60);

/// A Fox port.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FoxTarget {
    /// Host name or address.
    pub host: String,
    pub port: u16,
    /// Fox over TLS.
    pub secure: bool,
}

impl fmt::Display for FoxTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.secure { "foxs" } else { "fox" };
        if self.host.contains(':') {
            write!(f, "{scheme}://[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{scheme}://{}:{}", self.host, self.port)
        }
    }
}

/// Reads `fox://host[:port]` or `foxs://host[:port]`; ranges and wildcards are no targets.
///
/// ```
/// use niagara_bridge::station::fox::FoxTarget;
///
/// let target: FoxTarget = "foxs://st1.example".parse().unwrap();
/// assert_eq!((target.port, target.secure), (4911, true));
/// assert!("fox://10.0.0.1-20".parse::<FoxTarget>().is_err());
/// assert!("fox://10.0.0.0/24".parse::<FoxTarget>().is_err());
/// ```
impl FromStr for FoxTarget {
    type Err = FoxProblem;

    fn from_str(text: &str) -> Result<Self, FoxProblem> {
        let malformed = || FoxProblem::NotATarget {
            text: text.to_owned(),
        };
        let (secure, rest) = match (text.strip_prefix("foxs://"), text.strip_prefix("fox://")) {
            (Some(rest), _) => (true, rest),
            (_, Some(rest)) => (false, rest),
            _ => return Err(malformed()),
        };
        let default = if secure { FOXS_PORT } else { FOX_PORT };
        let (host, port) = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, "")) => (host, default),
            Some((host, port)) => {
                let port = port.strip_prefix(':').ok_or_else(malformed)?;
                (host, port.parse().map_err(|_| malformed())?)
            }
            None => match rest.split_once(':') {
                Some((host, port)) => (host, port.parse().map_err(|_| malformed())?),
                None => (rest, default),
            },
        };
        if port == 0 || !is_one_host(host) {
            return Err(malformed());
        }
        Ok(Self {
            host: host.to_owned(),
            port,
            secure,
        })
    }
}

/// An address or a host name; digits with dots and hyphens only would be a range.
fn is_one_host(host: &str) -> bool {
    host.parse::<std::net::IpAddr>().is_ok()
        || (host.bytes().any(|letter| letter.is_ascii_alphabetic())
            && host.bytes().all(|letter| {
                letter.is_ascii_alphanumeric() || matches!(letter, b'.' | b'-' | b'_')
            }))
}

/// Why a target was not probed.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum FoxProblem {
    #[error("{text:?} is no Fox target; write fox://host:1911 or foxs://host:4911")]
    NotATarget { text: String },
    #[error("{target} is not among the configured Fox targets; only those are probed")]
    NotAllowed { target: FoxTarget },
    #[error(transparent)]
    Station(#[from] StationError),
}

/// Why a probe learnt no identity.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FoxFailure {
    #[error("the connection was refused: nothing listens on the port, or Fox is disabled")]
    Refused,
    #[error("no connection in time: a firewall may drop it, or the address is wrong")]
    ConnectTimeout,
    #[error("the host cannot be reached: {cause}")]
    Unreachable { cause: String },
    #[error("the TLS handshake failed: {cause}")]
    Handshake { cause: String },
    #[error("the certificate is not trusted: {cause}; no hello was sent")]
    NotVerified { cause: String },
    #[error("the port speaks TLS where plain Fox was expected; probe it as foxs://")]
    SpeaksTls,
    #[error("the port speaks plain Fox where TLS was expected; probe it as fox://")]
    SpeaksPlainFox,
    #[error("the port accepted the connection but stayed silent")]
    Silent,
    #[error("the port closed the connection without an answer")]
    ClosedWithoutAnswer,
    #[error("the port returned our own hello: it is an echo, no station")]
    Echo,
    #[error("the port is no Fox port: {found}")]
    NotFox { found: String },
    #[error("the hello is malformed: {reason}")]
    Malformed { reason: String },
    #[error("the hello broke off")]
    CutOff,
    #[error("the hello was not complete in time")]
    TooSlow,
    #[error("the station answered with an error frame ({channel} {command}): {text}")]
    ErrorFrame {
        channel: String,
        command: String,
        text: String,
    },
}

impl FoxFailure {
    /// Whether a TCP connection came about.
    fn was_reached(&self) -> bool {
        !matches!(
            self,
            Self::Refused | Self::ConnectTimeout | Self::Unreachable { .. }
        )
    }
}

/// TLS as a station speaks it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFacts {
    /// `TLSv1_2` or `TLSv1_3`; none when the handshake failed.
    pub version: Option<String>,
    pub certificate: Option<CertificateFacts>,
    /// The configured trust mode vouches for the certificate.
    pub verified: bool,
}

/// What one probe found.
#[derive(Debug, Clone, PartialEq)]
pub struct FoxReport {
    pub target: FoxTarget,
    pub at: DateTime<Utc>,
    /// A TCP connection came about.
    pub reachable: bool,
    /// A station's Fox service answered, whatever it said.
    pub is_fox: bool,
    pub tls: Option<TlsFacts>,
    pub identity: Option<FoxIdentity>,
    /// Why there is no identity.
    pub failure: Option<FoxFailure>,
    /// From the hello to its answer.
    pub round_trip: Option<Duration>,
    /// The answer ended before its frame did.
    pub truncated: bool,
    /// Observations for the operator, in sentences; they are hints, no facts.
    pub hints: Vec<String>,
}

/// A report, and whether it was made for this call.
#[derive(Debug, Clone, PartialEq)]
pub struct FoxAnswer {
    pub report: Arc<FoxReport>,
    /// False: the target was probed a short while ago, and this is what came of it.
    pub is_fresh: bool,
    /// When the next probe is possible.
    pub next_in: Duration,
}

/// Probes Fox ports that are allowed, each at most once a minute and one at a time.
#[derive(Debug)]
pub struct FoxProber {
    allowed: Vec<FoxTarget>,
    trust: Trust,
    interval: Duration,
    patience: Duration,
    clock: SharedClock,
    targets: Mutex<HashMap<FoxTarget, Arc<tokio::sync::Mutex<Memory>>>>,
}

/// What is remembered of a target.
#[derive(Debug, Default)]
struct Memory {
    last: Option<Arc<FoxReport>>,
    next_at: Duration,
    failures: u32,
    /// The last identity and when it was seen.
    seen: Option<(FoxIdentity, DateTime<Utc>)>,
}

impl FoxProber {
    /// A prober for these targets; `trust` decides for Fox over TLS whether the hello is sent.
    pub fn new(allowed: Vec<FoxTarget>, trust: Trust, clock: SharedClock) -> Self {
        Self {
            allowed,
            trust,
            interval: DEFAULT_INTERVAL,
            patience: STEP,
            clock,
            targets: Mutex::default(),
        }
    }

    /// The same prober with another interval; below 10 s it stays at 10 s.
    pub fn with_interval(mut self, interval: Duration) -> Self {
        self.interval = interval.max(SHORTEST_INTERVAL);
        self
    }

    /// The same prober with less patience for each step; 5 s is the most.
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience.min(STEP);
        self
    }

    /// Probes a target, or tells what the last probe found when that was a short while ago.
    ///
    /// # Errors
    /// [`FoxProblem`] when nothing was sent. What a probe finds, good or bad, is a report.
    pub async fn probe(
        &self,
        scope: &CallScope,
        target: &FoxTarget,
    ) -> Result<FoxAnswer, FoxProblem> {
        if !self.allowed.contains(target) {
            return Err(FoxProblem::NotAllowed {
                target: target.clone(),
            });
        }
        let memory = {
            let mut targets = self.targets.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(targets.entry(target.clone()).or_default())
        };
        let what = format!("probing {target}");
        let mut memory = scope.run(&what, async { Ok(memory.lock().await) }).await?;
        let now = self.clock.monotonic();
        if let Some(report) = &memory.last
            && now < memory.next_at
        {
            return Ok(FoxAnswer {
                report: Arc::clone(report),
                is_fresh: false,
                next_in: memory.next_at - now,
            });
        }
        // Counted before it is sent: a caller who gives up must not open the way for another probe.
        memory.next_at = now.saturating_add(self.interval);
        let scope = scope.at_most(WHOLE_PROBE);
        let mut report = scope.run(&what, self.probe_once(target)).await?;
        memory.failures = match report.is_fox {
            true => 0,
            false => memory.failures.saturating_add(1),
        };
        let next_in = pause_after(self.interval, memory.failures);
        memory.next_at = self.clock.monotonic().saturating_add(next_in);
        report.hints = self.hints(&report, memory.seen.as_ref());
        if let Some(identity) = &report.identity {
            memory.seen = Some((identity.clone(), report.at));
        }
        let report = Arc::new(report);
        memory.last = Some(Arc::clone(&report));
        Ok(FoxAnswer {
            report,
            is_fresh: true,
            next_in,
        })
    }

    async fn probe_once(&self, target: &FoxTarget) -> Result<FoxReport, StationError> {
        let mut report = FoxReport {
            target: target.clone(),
            at: self.clock.now(),
            reachable: false,
            is_fox: false,
            tls: None,
            identity: None,
            failure: None,
            round_trip: None,
            truncated: false,
            hints: Vec::new(),
        };
        let connect = TcpStream::connect((target.host.as_str(), target.port));
        let stream = match timeout(self.patience, connect).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                return Ok(failed(report, FoxFailure::Refused));
            }
            Ok(Err(error)) => {
                let cause = error.to_string();
                return Ok(failed(report, FoxFailure::Unreachable { cause }));
            }
            Err(_) => return Ok(failed(report, FoxFailure::ConnectTimeout)),
        };
        // One write must be one segment; without this the hello waits for nothing else to send.
        let _ = stream.set_nodelay(true);
        report.reachable = true;
        if target.secure {
            self.greet_secured(stream, report).await
        } else {
            Ok(with_heard(report, greet(stream, self.patience).await))
        }
    }

    async fn greet_secured(
        &self,
        stream: TcpStream,
        mut report: FoxReport,
    ) -> Result<FoxReport, StationError> {
        let host = report.target.host.clone();
        let secured = match timeout(self.patience, secure(stream, &host, &self.trust)).await {
            Err(_) => return Ok(failed(report, FoxFailure::Silent)),
            Ok(secured) => secured?,
        };
        let secured: Secured = match secured {
            Ok(secured) => secured,
            Err(failure) => return Ok(not_secured(report, failure)),
        };
        let is_open = self.trust == Trust::Insecure;
        report.tls = Some(TlsFacts {
            version: Some(secured.version),
            certificate: secured.certificate.as_deref().map(CertificateFacts::read),
            verified: secured.refusal.is_none() && !is_open,
        });
        if let Some(cause) = secured.refusal {
            return Ok(failed(report, FoxFailure::NotVerified { cause }));
        }
        Ok(with_heard(
            report,
            greet(secured.stream, self.patience).await,
        ))
    }

    fn hints(
        &self,
        report: &FoxReport,
        before: Option<&(FoxIdentity, DateTime<Utc>)>,
    ) -> Vec<String> {
        let mut hints = Vec::new();
        if report.is_fox && !report.target.secure {
            hints.push(
                "plain Fox is open: whoever is on the path can read and change its traffic; use Foxs only".to_owned(),
            );
        }
        let certificate = report
            .tls
            .as_ref()
            .and_then(|facts| facts.certificate.as_ref());
        if let Some(certificate) = certificate {
            if !certificate.is_in_date(report.at) {
                hints.push("the certificate is out of date".to_owned());
            }
            if certificate.is_factory {
                hints.push(
                    "the certificate is the factory's; replace it with one of the owner".to_owned(),
                );
            }
        }
        if let (Some(now), Some((then, seen_at))) = (&report.identity, before) {
            let has_new_machine = matches!(
                (&then.vm_uuid, &now.vm_uuid),
                (Some(then), Some(now)) if then != now
            );
            let counts_anew = matches!((then.id, now.id), (Some(then), Some(now)) if now < then);
            if has_new_machine || counts_anew {
                hints.push(format!(
                    "the station may have restarted between {} and {}",
                    seen_at.to_rfc3339(),
                    report.at.to_rfc3339()
                ));
            }
        }
        hints
    }
}

/// The interval, doubled with each failure up to 15 minutes.
fn pause_after(interval: Duration, failures: u32) -> Duration {
    let factor = 1u32.checked_shl(failures.min(16)).unwrap_or(u32::MAX);
    let longest = LONGEST_PAUSE.max(interval);
    interval.saturating_mul(factor).min(longest)
}

fn failed(mut report: FoxReport, failure: FoxFailure) -> FoxReport {
    report.reachable |= failure.was_reached();
    report.failure = Some(failure);
    report
}

fn with_heard(report: FoxReport, heard: Heard) -> FoxReport {
    FoxReport {
        identity: heard.identity,
        is_fox: heard.is_fox,
        failure: heard.failure,
        round_trip: heard.round_trip,
        truncated: heard.truncated,
        ..report
    }
}

fn not_secured(mut report: FoxReport, failure: NotSecured) -> FoxReport {
    if let Some(certificate) = &failure.certificate {
        report.tls = Some(TlsFacts {
            version: None,
            certificate: Some(CertificateFacts::read(certificate)),
            verified: false,
        });
    }
    let speaks_fox = failure.first_octets.starts_with(b"fox ");
    let nothing_came = failure.first_octets.is_empty();
    let failure = match () {
        () if speaks_fox => FoxFailure::SpeaksPlainFox,
        () if nothing_came => FoxFailure::ClosedWithoutAnswer,
        () => FoxFailure::Handshake {
            cause: failure.cause,
        },
    };
    failed(report, failure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_single_hosts_with_a_port() {
        for (text, shown) in [
            ("fox://192.0.2.1", "fox://192.0.2.1:1911"),
            ("foxs://[2001:db8::1]", "foxs://[2001:db8::1]:4911"),
            ("foxs://[2001:db8::1]:5000", "foxs://[2001:db8::1]:5000"),
            ("fox://jace-3.example:2000", "fox://jace-3.example:2000"),
        ] {
            let target: FoxTarget = text.parse().expect(text);
            assert_eq!(target.to_string(), shown);
            assert_eq!(shown.parse(), Ok(target));
        }
        for text in [
            "192.0.2.1",
            "fox://",
            "fox://a:0",
            "fox://a:99999",
            "fox://10.0.0.*",
            "fox://10.0.0.1-20",
            "fox://10.0.0.0/24",
            "fox://a,b",
            "foxs://[::1]x",
            "http://a",
        ] {
            assert!(text.parse::<FoxTarget>().is_err(), "{text}");
        }
    }

    #[test]
    fn failures_make_probes_rarer() {
        let minute = Duration::from_secs(60);
        let pauses: Vec<u64> = [0, 1, 2, 4, 40]
            .map(|failures| pause_after(minute, failures).as_secs())
            .to_vec();
        assert_eq!(pauses, [60, 120, 240, 900, 900]);
    }
}
