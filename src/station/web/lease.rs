//! The login that a session holds: made once for all its callers, latched after a failure, given up when it expires.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use http::HeaderMap;
use url::Url;

use super::request::LoginScheme;
use super::session::{Inner, State, interface_of};
use crate::station::error::{AuthCause, StationError};
use crate::station::http::{CallScope, station_of};

/// A logout must not hold up the end of the process.
const LOGOUT_TIMEOUT: Duration = Duration::from_secs(5);

/// Wait for a login under way that the station has not even begun to answer.
const UNPROVEN_LOGIN: Duration = Duration::from_secs(2);

/// Pause before another login where the station took the password and lost the session.
const UNKEPT_SESSION: Duration = Duration::from_secs(2);

pub(super) type Flight = Shared<BoxFuture<'static, Result<Lease, StationError>>>;

/// Makes room for the next login when this one ends, however it ends.
struct FlightEnd(Arc<Inner>);

impl Drop for FlightEnd {
    fn drop(&mut self) {
        *self.0.flight() = None;
    }
}

#[derive(Debug, Clone)]
pub(super) struct Latch {
    until: Duration,
    cause: AuthCause,
    reason: String,
}

/// A login in use: its number, and whether it was made for this very call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lease {
    pub(super) generation: u64,
    pub(super) fresh: bool,
}

impl Inner {
    /// The current login, none when there is no session, or the latch.
    pub(super) fn ready(&self) -> Result<Option<u64>, StationError> {
        let now = self.clock.monotonic();
        let state = self.state();
        if state.logged_in {
            return Ok(Some(state.generation));
        }
        match &state.latch {
            Some(latch) if now < latch.until => {
                self.http.traffic().latched();
                Err(StationError::Latched {
                    station: station_of(&state.base),
                    user: self.options.user.clone(),
                    remaining: latch.until - now,
                    reason: latch.reason.clone(),
                    cause: latch.cause,
                })
            }
            _ => Ok(None),
        }
    }

    pub(super) fn is_latched(&self) -> bool {
        let now = self.clock.monotonic();
        let state = self.state();
        !state.logged_in && state.latch.as_ref().is_some_and(|latch| now < latch.until)
    }

    pub(super) fn flight(&self) -> MutexGuard<'_, Option<Flight>> {
        self.flight.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The login under way, or a new one.
    pub(super) fn shared_login(self: &Arc<Self>) -> Flight {
        let mut flight = self.flight();
        if let Some(running) = flight.as_ref() {
            return running.clone();
        }
        let end = FlightEnd(Arc::clone(self));
        // A login runs to its end even if its callers give up: an abandoned one would leave a bad login uncounted.
        let login = tokio::spawn(async move { end.0.log_in_once().await });
        let joined = async {
            login.await.unwrap_or_else(|_| {
                Err(StationError::Cancelled {
                    what: "the login".to_owned(),
                })
            })
        };
        flight.insert(joined.boxed().shared()).clone()
    }

    pub(super) async fn log_in_once(&self) -> Result<Lease, StationError> {
        let _only = self.login.lock().await;
        if let Some(generation) = self.ready()? {
            return Ok(Lease {
                generation,
                fresh: false,
            });
        }
        self.state().reset(&self.options.url);
        self.proof_is_out.store(false, Ordering::Relaxed);
        // No step of a login is sent twice, so none may fall on a connection that a restart has closed.
        self.http.begin_anew();
        let outcome = CallScope::within(self.options.login_timeout)
            .run("the login", super::login::log_in(self))
            .await
            .map_err(|error| self.login_failure(error));
        let now = self.clock.monotonic();
        let mut state = self.state();
        match outcome {
            Ok(()) => {
                self.http.traffic().login(true);
                state.logged_in = true;
                state.latch = None;
                state.generation = state.generation.wrapping_add(1);
                tracing::info!(station = %station_of(&state.base), user = %self.options.user, "logged in");
                Ok(Lease {
                    generation: state.generation,
                    fresh: true,
                })
            }
            Err(error) => {
                self.http.traffic().login(false);
                if let StationError::Auth { cause, detail, .. } = &error {
                    let latch = match cause {
                        // The password was right, so trying again soon locks nobody out.
                        AuthCause::SessionNotKept => self.options.latch.min(UNKEPT_SESSION),
                        _ => self.options.latch,
                    };
                    state.latch = Some(Latch {
                        until: now.saturating_add(latch),
                        cause: *cause,
                        reason: detail.clone(),
                    });
                }
                tracing::warn!(station = %station_of(&state.base), user = %self.options.user, %error, "login failed");
                Err(error)
            }
        }
    }

    /// Without a verdict on a proof that went out, the station may have counted a bad login; a login that broke off
    /// earlier cost nothing.
    pub(super) fn login_failure(&self, error: StationError) -> StationError {
        if self.proof_is_out.load(Ordering::Relaxed) {
            return self.auth(AuthCause::Unanswered, error.to_string());
        }
        match error {
            StationError::Timeout { after, call, .. } => StationError::LoginTimeout {
                station: self.station(),
                // The call may have come to its login late; its own time says more than the rest of it.
                after: call.map_or(after, |call| call.whole),
            },
            other => other,
        }
    }

    pub(super) fn expire(&self, generation: u64) {
        let mut state = self.state();
        if state.generation == generation {
            state.logged_in = false;
        }
    }

    pub(super) fn is_refusing(&self, root: &str) -> bool {
        let now = self.clock.monotonic();
        self.state()
            .refusing
            .get(root)
            .is_some_and(|until| now < *until)
    }

    /// Remembers the refusal, so that an interface this login cannot use does not cost a new login per request.
    pub(super) fn interface_refuses(&self, root: String, detail: String) -> StationError {
        let until = self.clock.monotonic().saturating_add(self.options.latch);
        let detail = match self.options.scheme {
            LoginScheme::FormScram => format!("{root}: {detail}"),
            LoginScheme::HeaderScram | LoginScheme::Basic => format!(
                "{root}: {detail}; not every interface takes the configured station.scheme, while a session of \
                 form-scram serves them all where the user's Authentication Scheme is a digest one"
            ),
        };
        self.state().refusing.insert(root, until);
        self.auth(AuthCause::InterfaceRefuses, detail)
    }

    pub(super) fn note_accepted(&self, generation: u64, target: &str, headers: &HeaderMap) {
        let mut state = self.state();
        if !state.refusing.is_empty() {
            state.refusing.remove(&interface_of(target));
        }
        if state.generation == generation && state.logged_in {
            state.jar.store(headers);
        }
    }

    pub(super) async fn logout(&self) {
        // A login that has proven nothing yet will hardly leave a session behind.
        let patience = match self.proof_is_out.load(Ordering::Relaxed) {
            true => LOGOUT_TIMEOUT,
            false => UNPROVEN_LOGIN,
        };
        let Ok(_only) = tokio::time::timeout(patience, self.login.lock()).await else {
            tracing::debug!("a login under way was not waited for any longer");
            return;
        };
        if !self.state().logged_in {
            return;
        }
        if let Err(error) = CallScope::within(LOGOUT_TIMEOUT)
            .run("the logout", super::login::log_out(self))
            .await
        {
            if error.leaves_behind() {
                tracing::warn!(
                    station = %self.station(), user = %self.options.user, %error,
                    "a login stays behind at the station; it ends when it has been idle"
                );
            } else {
                tracing::debug!(%error, "logout failed; the session ends by idle expiry");
            }
        }
        self.state().reset(&self.options.url);
    }
}

impl State {
    pub(super) fn reset(&mut self, base: &Url) {
        self.base = base.clone();
        self.jar.clear();
        self.authorization = None;
        self.csrf = None;
        self.logged_in = false;
    }
}
