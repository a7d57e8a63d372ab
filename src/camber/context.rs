//! Who calls, what that caller may see, and how much time and room a call has (CAMBER core §1.3).

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::error::{CapabilityError, FailureCode};

/// The trust floor unless the configuration says otherwise.
pub const TRUST_FLOOR: f64 = 0.5;

/// How much a call may answer and how long it may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// Rows of a list.
    pub max_rows: usize,
    /// Bytes of data, text, facts and banners together, as JSON.
    pub max_bytes: usize,
    pub max_time: Duration,
}

impl Default for Caps {
    fn default() -> Self {
        Self {
            max_rows: 5000,
            max_bytes: 2_000_000,
            max_time: Duration::from_secs(120),
        }
    }
}

/// The policy of one caller.
#[derive(Debug, Clone, PartialEq)]
pub struct CallerPolicy {
    /// Facilities that the caller may see; empty means none.
    pub allowed: BTreeSet<String>,
    /// Lowest trust score that an input of an analysis may have, 0 to 1.
    pub min_trust: f64,
    pub caps: Caps,
    /// For the log.
    pub caller: String,
}

impl CallerPolicy {
    /// A caller that may see these facilities, with the usual floor and caps.
    pub fn of(allowed: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            allowed: allowed.into_iter().map(Into::into).collect(),
            min_trust: TRUST_FLOOR,
            caps: Caps::default(),
            caller: "local".to_owned(),
        }
    }
}

/// Until when a call may run, and whether somebody still waits for it.
#[derive(Debug, Clone)]
pub struct Watch {
    deadline: Instant,
    limit: Duration,
    cancel: CancellationToken,
    observer: Option<Observer>,
}

/// Is told the answer of every look at the watch.
#[derive(Clone)]
struct Observer(Arc<dyn Fn(bool) + Send + Sync>);

impl fmt::Debug for Observer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Observer")
    }
}

impl Watch {
    /// Begins now.
    pub fn start(limit: Duration, cancel: CancellationToken) -> Self {
        Self {
            deadline: Instant::now() + limit,
            limit,
            cancel,
            observer: None,
        }
    }

    /// With somebody who is told, at every look, whether the time was over: each unit of work looks once before it starts.
    #[must_use]
    pub fn observed(mut self, observer: impl Fn(bool) + Send + Sync + 'static) -> Self {
        self.observer = Some(Observer(Arc::new(observer)));
        self
    }

    /// When the time is over.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Whether no further unit of work may start.
    pub fn is_over(&self) -> bool {
        let over = self.cancel.is_cancelled() || Instant::now() >= self.deadline;
        if let Some(Observer(tell)) = &self.observer {
            tell(over);
        }
        over
    }

    /// Refuses to go on when the time is over or nobody waits; asked before every unit of work.
    ///
    /// # Errors
    /// [`FailureCode::Timeout`].
    pub fn check(&self) -> Result<(), CapabilityError> {
        match self.is_over() {
            true => Err(self.overdue()),
            false => Ok(()),
        }
    }

    /// What the caller of an overdue call is told.
    pub fn overdue(&self) -> CapabilityError {
        if self.cancel.is_cancelled() && Instant::now() < self.deadline {
            return CapabilityError::new(FailureCode::Timeout, "the call was cancelled");
        }
        let seconds = self.limit.as_secs_f64();
        CapabilityError::new(
            FailureCode::Timeout,
            format!(
                "the call ran longer than {seconds} s; ask for fewer equipment or a shorter window"
            ),
        )
        .with("max_seconds", seconds)
    }
}
