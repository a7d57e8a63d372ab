//! A station that is gone is not worth three connection attempts per request: after repeated failures only a bare
//! connection is tried, by one request at a time, until it succeeds.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::{Mutex as AsyncMutex, MutexGuard as AsyncMutexGuard};
use url::Url;

use crate::station::error::StationError;

/// Failed attempts in a row that open the breaker; two reads with their repetitions.
const THRESHOLD: u32 = 6;
/// Time for the bare connection: enough for a slow network, and short against a caller's deadline.
const TRIAL: Duration = Duration::from_secs(1);

/// The state of one station as one identity sees it.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    state: Mutex<State>,
    trial: AsyncMutex<()>,
}

#[derive(Debug, Default)]
struct State {
    failures: u32,
    cause: String,
    /// Counts failed trials, so that those who waited for one do not repeat it.
    failed_trials: u64,
}

/// Permission for a request; while it is a trial, others wait for what becomes of it.
pub(super) struct Admission<'b> {
    trial: Option<AsyncMutexGuard<'b, ()>>,
}

impl Admission<'_> {
    /// Whether this request finds out if the station is back.
    pub(super) fn is_trial(&self) -> bool {
        self.trial.is_some()
    }
}

impl Breaker {
    /// Lets a request pass while the station answers; else makes sure first that somebody listens there.
    ///
    /// # Errors
    /// [`StationError::Unreachable`], at once or after a second at most, while nobody does.
    pub(super) async fn admit(&self, url: &Url) -> Result<Admission<'_>, StationError> {
        let Some(seen) = self.open_since() else {
            return Ok(Admission { trial: None });
        };
        let trial = self.trial.lock().await;
        match self.open_since() {
            None => return Ok(Admission { trial: None }),
            // Another request tried while this one waited.
            Some(now) if now != seen => return Err(self.refusal(url)),
            Some(_) => {}
        }
        match tokio::time::timeout(TRIAL, connect(url)).await {
            Ok(Ok(())) => Ok(Admission { trial: Some(trial) }),
            Ok(Err(error)) => {
                self.fail_trial(error.to_string());
                Err(self.refusal(url))
            }
            Err(_) => {
                self.fail_trial("no connection within 1 s".to_owned());
                Err(self.refusal(url))
            }
        }
    }

    /// The station answered.
    pub(super) fn note_answer(&self) {
        let mut state = self.state();
        if state.failures >= THRESHOLD {
            tracing::info!("the station answers again");
        }
        state.failures = 0;
    }

    /// A connection failed or broke.
    pub(super) fn note_failure(&self, cause: &str) {
        let mut state = self.state();
        state.failures = state.failures.saturating_add(1);
        state.cause = cause.to_owned();
        if state.failures == THRESHOLD {
            tracing::warn!(
                cause,
                "the station does not answer; only connections are tried until it does"
            );
        }
        if state.failures >= THRESHOLD {
            state.failed_trials = state.failed_trials.wrapping_add(1);
        }
    }

    fn fail_trial(&self, cause: String) {
        let mut state = self.state();
        state.failed_trials = state.failed_trials.wrapping_add(1);
        state.cause = cause;
    }

    /// The number of failed trials while the breaker is open; none while it is closed.
    fn open_since(&self) -> Option<u64> {
        let state = self.state();
        (state.failures >= THRESHOLD).then_some(state.failed_trials)
    }

    fn refusal(&self, url: &Url) -> StationError {
        let state = self.state();
        StationError::Unreachable {
            station: super::station_of(url),
            cause: format!(
                "{} (it did not answer {} times in a row, so that only a connection is tried now)",
                state.cause, state.failures
            ),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn connect(url: &Url) -> std::io::Result<()> {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let port = url.port_or_known_default().unwrap_or_default();
    TcpStream::connect((host, port)).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn listener() -> (tokio::net::TcpListener, Url) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a free port");
        let address = listener.local_addr().expect("bound");
        (
            listener,
            format!("http://{address}").parse().expect("an address"),
        )
    }

    fn open(breaker: &Breaker) {
        for _ in 0..THRESHOLD {
            breaker.note_failure("connection refused");
        }
    }

    #[tokio::test]
    async fn repeated_failures_open_it_and_the_first_answer_closes_it() {
        let (listener, url) = listener().await;
        let breaker = Breaker::default();
        for _ in 1..THRESHOLD {
            breaker.note_failure("connection refused");
        }
        drop(listener);
        assert!(breaker.admit(&url).await.is_ok(), "not yet open");
        breaker.note_failure("connection refused");
        let Err(error) = breaker.admit(&url).await else {
            panic!("nobody listens");
        };
        let text = error.to_string();
        assert!(text.contains("did not answer 6 times in a row"), "{text}");
        let address = url.socket_addrs(|| None).expect("an address");
        let _back = tokio::net::TcpListener::bind(address.as_slice())
            .await
            .expect("the port is free again");
        let trial = breaker.admit(&url).await.expect("it listens again");
        assert!(trial.is_trial());
        breaker.note_answer();
        drop(trial);
        assert!(breaker.admit(&url).await.expect("closed").trial.is_none());
    }

    #[tokio::test]
    async fn others_wait_for_the_trial_and_share_its_fate() {
        let (_listener, url) = listener().await;
        for recovers in [true, false] {
            let breaker = Breaker::default();
            open(&breaker);
            let trial = breaker.admit(&url).await.expect("somebody listens");
            let waiting = breaker.admit(&url);
            tokio::pin!(waiting);
            assert!(futures::poll!(&mut waiting).is_pending());
            match recovers {
                true => breaker.note_answer(),
                false => breaker.note_failure("broken pipe"),
            }
            drop(trial);
            assert_eq!(waiting.await.is_ok(), recovers);
        }
    }
}
