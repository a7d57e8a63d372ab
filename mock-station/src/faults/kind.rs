//! The kinds of faults and their ranges.

use http::HeaderValue;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Fault, Interface};

/// What goes wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum FaultKind {
    /// The answer comes late.
    Latency { millis: u64 },
    /// The connection closes without an answer.
    Cut,
    /// The station does what was asked, then the connection closes without an answer.
    CutAfter,
    /// The head promises the whole body; the connection closes in the middle of it, or after `bytes`.
    HalfBody {
        #[serde(default)]
        bytes: Option<usize>,
    },
    /// The right body under a wrong media type.
    WrongContentType {
        #[serde(default = "octets")]
        media_type: String,
    },
    /// An HTML page with status 200 in place of the answer.
    HtmlPage,
    /// 401, and the session the request came with is gone.
    SessionLost,
    /// 429 of a flood filter (Station web specification §1).
    TooManyRequests {
        #[serde(default)]
        retry_after_seconds: Option<u32>,
    },
    /// An error page with this status, 400 to 599.
    ServerError {
        #[serde(default = "internal_error")]
        status: u16,
    },
    /// The body comes in portions of `bytes`, with a pause before each but the first.
    SlowDrip {
        #[serde(default = "portion")]
        bytes: usize,
        #[serde(default = "pause")]
        pause_millis: u64,
    },
    /// The station's clock is set forwards or, with a negative number, backwards before the answer.
    ClockJump { seconds: i64 },
    /// The station restarts: sessions, watches and connections are gone, the request too. For `down_millis` it accepts
    /// and closes connections.
    Restart {
        #[serde(default)]
        down_millis: u64,
    },
    /// oBIX without licence: 500, or 403 (oBIX specification §1.2).
    ObixUnlicensed {
        #[serde(default = "internal_error")]
        status: u16,
    },
    /// No oBIX servlet: 404.
    ObixAbsent,
    /// No BOX servlet: 404.
    BoxAbsent,
    /// Only these URL forms of the ord servlet are accepted, none by default; others get 400 (Station web specification
    /// §3.2).
    OrdForms {
        #[serde(default)]
        encoded_path: bool,
        #[serde(default)]
        literal_path: bool,
        #[serde(default)]
        query: bool,
    },
    /// Every account counts as one of the Basic scheme: SCRAM logins are refused.
    BasicOnly,
    /// Every account counts as one of the digest scheme: Basic is refused.
    DigestOnly,
}

fn octets() -> String {
    "application/octet-stream".to_owned()
}

fn internal_error() -> u16 {
    500
}

fn portion() -> usize {
    16
}

fn pause() -> u64 {
    50
}

impl FaultKind {
    /// A slow drip of 16 bytes every 50 ms.
    pub fn slow_drip() -> Self {
        Self::SlowDrip {
            bytes: portion(),
            pause_millis: pause(),
        }
    }

    /// The ord servlet refuses every URL form.
    pub fn no_ord_forms() -> Self {
        Self::OrdForms {
            encoded_path: false,
            literal_path: false,
            query: false,
        }
    }

    /// Whether it is something that happens once, not a state that lasts.
    pub(super) fn is_event(&self) -> bool {
        matches!(self, Self::ClockJump { .. } | Self::Restart { .. })
    }

    /// The interface it can touch at all.
    pub(super) fn home(&self) -> Interface {
        match self {
            Self::ObixUnlicensed { .. } | Self::ObixAbsent => Interface::Obix,
            Self::BoxAbsent => Interface::Box,
            Self::OrdForms { .. } => Interface::Ord,
            _ => Interface::All,
        }
    }
}

/// A fault that cannot be set.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum FaultError {
    #[error("probability {0} is not between 0 and 1; use for example 0.25")]
    Probability(f64),
    #[error("the status {0} is no error status; use 400 to 599")]
    Status(u16),
    #[error("an unlicensed oBIX server answers 500 or 403, not {0}")]
    UnlicensedStatus(u16),
    #[error("a wait of {0} ms is too long; use {MAX_WAIT_MILLIS} or less")]
    Wait(u64),
    #[error(
        "a clock jump of {0} s leads out of the calendar; use {MAX_JUMP_SECONDS} or less either way"
    )]
    Jump(i64),
    #[error("a slow drip needs portions of one byte or more")]
    EmptyPortion,
    #[error("{0:?} is no media type; use for example text/plain")]
    MediaType(String),
    #[error("the fault applies to no request of this interface; leave the interface out")]
    NeverMeets,
}

/// Longest clock jump: a hundred years.
const MAX_JUMP_SECONDS: u64 = 100 * 366 * 86_400;

/// Longest wait of one step: an hour.
const MAX_WAIT_MILLIS: u64 = 3_600_000;

pub(super) fn check(fault: &Fault) -> Result<(), FaultError> {
    if !(0.0..=1.0).contains(&fault.probability) {
        return Err(FaultError::Probability(fault.probability));
    }
    if !fault.interface.covers(fault.fault.home()) && fault.fault.home() != Interface::All {
        return Err(FaultError::NeverMeets);
    }
    match &fault.fault {
        FaultKind::Latency { millis } => wait(*millis),
        FaultKind::Restart { down_millis } => wait(*down_millis),
        FaultKind::ClockJump { seconds } if seconds.unsigned_abs() > MAX_JUMP_SECONDS => {
            Err(FaultError::Jump(*seconds))
        }
        FaultKind::SlowDrip { bytes: 0, .. } => Err(FaultError::EmptyPortion),
        FaultKind::SlowDrip { pause_millis, .. } => wait(*pause_millis),
        FaultKind::ServerError { status } if !(400..=599).contains(status) => {
            Err(FaultError::Status(*status))
        }
        FaultKind::ObixUnlicensed { status } if !matches!(status, 403 | 500) => {
            Err(FaultError::UnlicensedStatus(*status))
        }
        FaultKind::WrongContentType { media_type }
            if media_type.is_empty() || HeaderValue::from_str(media_type).is_err() =>
        {
            Err(FaultError::MediaType(media_type.clone()))
        }
        _ => Ok(()),
    }
}

fn wait(millis: u64) -> Result<(), FaultError> {
    if millis > MAX_WAIT_MILLIS {
        return Err(FaultError::Wait(millis));
    }
    Ok(())
}
