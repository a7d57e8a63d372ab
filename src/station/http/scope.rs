//! Deadline and cancellation of a caller.

use std::future::Future;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::station::error::StationError;

/// How long a caller waits and how it gives up; handed down through every station call.
///
/// ```
/// use std::time::Duration;
/// use niagara_bridge::station::http::CallScope;
/// let scope = CallScope::within(Duration::from_secs(9));
/// assert!(scope.remaining().unwrap() <= Duration::from_secs(9));
/// ```
#[derive(Debug, Clone, Default)]
pub struct CallScope {
    deadline: Option<Instant>,
    cancel: CancellationToken,
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
            cancel: CancellationToken::new(),
        }
    }

    /// Ends at `deadline`.
    pub fn until(deadline: Instant) -> Self {
        Self {
            deadline: Some(deadline),
            cancel: CancellationToken::new(),
        }
    }

    /// Ends also when `cancel` fires.
    pub fn with_cancel(mut self, cancel: CancellationToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// Same scope, ending no later than in `limit`.
    pub fn at_most(&self, limit: Duration) -> Self {
        let by = Instant::now().checked_add(limit);
        Self {
            deadline: match (self.deadline, by) {
                (Some(own), Some(by)) => Some(own.min(by)),
                (own, by) => own.or(by),
            },
            cancel: self.cancel.clone(),
        }
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
            () = expiry => Err(StationError::Timeout { what: what.to_owned(), after: begin.elapsed() }),
        }
    }
}
