//! Deadline and cancellation of a caller.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::station::error::{CallTime, StationError};

/// Least time that a write is begun with: one whose answer the caller's own deadline cuts off is in doubt for nothing.
const LEAST_WRITE_TIME: Duration = Duration::from_millis(1500);

/// Hears of each request that the station answered and of each row that it sent; steps of a call that takes long.
pub trait RequestCount: fmt::Debug + Send + Sync {
    fn answered(&self);

    /// A row of a table or a record of a history arrived.
    fn row(&self) {}
}

/// How long a caller waits and how it gives up; handed down through every station call.
///
/// ```
/// use std::time::Duration;
/// use niagara_bridge::station::http::CallScope;
/// let scope = CallScope::within(Duration::from_secs(9));
/// assert!(scope.remaining().unwrap() <= Duration::from_secs(9));
/// ```
#[derive(Debug, Clone)]
pub struct CallScope {
    begun: Instant,
    deadline: Option<Instant>,
    cancel: CancellationToken,
    count: Option<Arc<dyn RequestCount>>,
    permit: Option<Permit>,
    /// Milliseconds that requests of the call waited for their turn in the bridge.
    waited: Arc<AtomicU64>,
}

/// Says whether the caller's writes may still be sent, or why not.
#[derive(Clone)]
struct Permit(Arc<dyn Fn() -> Result<(), String> + Send + Sync>);

impl fmt::Debug for Permit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Permit")
    }
}

impl Default for CallScope {
    fn default() -> Self {
        Self {
            begun: Instant::now(),
            deadline: None,
            cancel: CancellationToken::default(),
            count: None,
            permit: None,
            waited: Arc::default(),
        }
    }
}

impl CallScope {
    /// No deadline beyond each request's own time limit.
    pub fn unlimited() -> Self {
        Self::default()
    }

    /// Ends after `limit`.
    pub fn within(limit: Duration) -> Self {
        Self {
            deadline: Instant::now().checked_add(limit),
            ..Self::default()
        }
    }

    /// Ends at `deadline`.
    pub fn until(deadline: Instant) -> Self {
        Self {
            deadline: Some(deadline),
            ..Self::default()
        }
    }

    /// Ends also when `cancel` fires.
    pub fn with_cancel(mut self, cancel: CancellationToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// Tells `count` of each request that is answered.
    pub fn with_count(mut self, count: Arc<dyn RequestCount>) -> Self {
        self.count = Some(count);
        self
    }

    /// Asks `permit` before each write of the call: a reason from it keeps the write from being sent.
    pub fn permitted_by(
        mut self,
        permit: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.permit = Some(Permit(Arc::new(permit)));
        self
    }

    /// Whether a write may still be sent.
    ///
    /// # Errors
    /// Why not.
    pub fn check_permit(&self) -> Result<(), String> {
        match &self.permit {
            Some(Permit(permit)) => permit(),
            None => Ok(()),
        }
    }

    /// A request was answered.
    pub(super) fn answered(&self) {
        if let Some(count) = &self.count {
            count.answered();
        }
    }

    /// A row or record arrived.
    pub fn row(&self) {
        if let Some(count) = &self.count {
            count.row();
        }
    }

    /// Same scope, ending no later than in `limit`.
    pub fn at_most(&self, limit: Duration) -> Self {
        let by = Instant::now().checked_add(limit);
        Self {
            deadline: match (self.deadline, by) {
                (Some(own), Some(by)) => Some(own.min(by)),
                (own, by) => own.or(by),
            },
            ..self.clone()
        }
    }

    /// A request of the call waited for its turn in the bridge.
    pub(super) fn note_wait(&self, waited: Duration) {
        let millis = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
        self.waited.fetch_add(millis, Ordering::Relaxed);
    }

    /// What the requests of the call waited for their turns, at most all its time so far.
    pub(super) fn waited(&self) -> Duration {
        Duration::from_millis(self.waited.load(Ordering::Relaxed)).min(self.begun.elapsed())
    }

    /// The time that the call has as a whole; none without a deadline.
    pub(super) fn whole(&self) -> Option<Duration> {
        self.deadline
            .map(|deadline| deadline.saturating_duration_since(self.begun))
    }

    /// The instant at which the caller stops waiting.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Time left; none without a deadline.
    pub fn remaining(&self) -> Option<Duration> {
        self.deadline
            .map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Whether the next of several writes may be begun: the time left is enough for its answer, and nobody has given up.
    ///
    /// ```
    /// use std::time::Duration;
    /// use niagara_bridge::station::http::CallScope;
    /// assert!(CallScope::unlimited().may_begin_write());
    /// assert!(!CallScope::within(Duration::from_secs(1)).may_begin_write());
    /// ```
    pub fn may_begin_write(&self) -> bool {
        !self.cancel.is_cancelled() && self.remaining().is_none_or(|left| left >= LEAST_WRITE_TIME)
    }

    /// The token that ends the call early.
    pub fn cancel_token(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Runs `work` unless deadline or cancellation comes first; `what` names the work in the error.
    pub async fn run<T>(
        &self,
        what: &str,
        work: impl Future<Output = Result<T, StationError>>,
    ) -> Result<T, StationError> {
        let begin = Instant::now();
        let expiry = async {
            match self.deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(StationError::Cancelled { what: what.to_owned() }),
            result = work => result,
            () = expiry => Err(StationError::Timeout {
                what: what.to_owned(),
                after: begin.elapsed(),
                call: self.whole().map(|whole| Box::new(CallTime { whole, queue: None })),
            }),
        }
    }
}
