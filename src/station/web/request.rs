//! How a session is set up, and what is asked through it.

use std::time::Duration;

use bytes::Bytes;
use url::Url;

use crate::secrecy::Secret;
use crate::station::http::{CallScope, HttpBody, HttpLimits, TimeoutClass, Trust};

/// Authentication scheme of the station account; fixed by configuration, never tried in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum LoginScheme {
    /// SCRAM over the login form, for users on DigestScheme (Station web specification §2.3).
    #[default]
    FormScram,
    /// SCRAM in request headers, for users on DigestScheme (Station web specification §2.4).
    HeaderScram,
    /// HTTP Basic, for users on HTTPBasicScheme (Station web specification §2.2).
    Basic,
}

impl LoginScheme {
    /// The word of `station.scheme`.
    pub fn word(self) -> &'static str {
        match self {
            Self::FormScram => "form-scram",
            Self::HeaderScram => "header-scram",
            Self::Basic => "basic",
        }
    }
}

/// How to reach and log in to a station.
#[derive(Debug, Clone)]
pub struct WebOptions {
    /// Address of the web service, for example `https://station.example`.
    pub url: Url,
    /// Login scheme of the account.
    pub scheme: LoginScheme,
    /// User name.
    pub user: String,
    /// Password.
    pub password: Secret,
    /// Which certificate is trusted.
    pub trust: Trust,
    /// Limits towards the station.
    pub limits: HttpLimits,
    /// Pause after a failed login before the next attempt.
    pub latch: Duration,
    /// Time for all steps of a login together; shorter than a tool call, so that the call can tell what happened.
    pub login_timeout: Duration,
}

/// Shorter than the 9 s of a tool call.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(8);

impl WebOptions {
    /// Options with default limits, a 30 s latch and certificates as the operating system trusts them.
    pub fn new(url: Url, user: impl Into<String>, password: Secret) -> Self {
        Self {
            url,
            scheme: LoginScheme::default(),
            user: user.into(),
            password,
            trust: Trust::default(),
            limits: HttpLimits::default(),
            latch: Duration::from_secs(30),
            login_timeout: LOGIN_TIMEOUT,
        }
    }
}

/// Whether a request may be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Purpose {
    /// Changes nothing on the station, whatever its HTTP method: repeated after a broken connection or a new login.
    #[default]
    Read,
    /// Changes nothing of the plant, but is answered differently the second time, such as a poll of what changed:
    /// repeated only when the station has not worked on it.
    ReadOnce,
    /// Changes something: sent exactly once.
    Write,
}

/// Everything about a request but its target and body.
#[derive(Debug, Clone, Default)]
pub struct WebRequest {
    /// May it be repeated?
    pub purpose: Purpose,
    /// Which time limit it gets.
    pub timeout: TimeoutClass,
    /// `Accept` header; none sends `*/*`.
    pub accept: Option<&'static str>,
    /// `Content-Type` of the body.
    pub content_type: Option<&'static str>,
    /// Deadline and cancellation of the caller.
    pub scope: CallScope,
}

impl WebRequest {
    /// A read within a scope.
    pub fn read(scope: &CallScope) -> Self {
        Self {
            scope: scope.clone(),
            ..Self::default()
        }
    }

    /// A read within a scope whose answer the station gives once.
    pub fn read_once(scope: &CallScope) -> Self {
        Self {
            purpose: Purpose::ReadOnce,
            scope: scope.clone(),
            ..Self::default()
        }
    }

    /// A write within a scope.
    pub fn write(scope: &CallScope) -> Self {
        Self {
            purpose: Purpose::Write,
            scope: scope.clone(),
            ..Self::default()
        }
    }

    /// Sets the time limit's class.
    pub fn timeout(mut self, class: TimeoutClass) -> Self {
        self.timeout = class;
        self
    }

    /// Sets the media types: what is accepted and what the body is.
    pub fn media(mut self, accept: &'static str, content_type: Option<&'static str>) -> Self {
        self.accept = Some(accept);
        self.content_type = content_type;
        self
    }
}

/// A complete answer. Any status arrives here except those that the session itself deals with.
#[derive(Debug, Clone)]
pub struct WebResponse {
    /// Status code.
    pub status: u16,
    /// Media type without parameters, lower case.
    pub content_type: String,
    /// Body.
    pub body: Bytes,
}

/// An answer whose body is still arriving.
#[derive(Debug)]
pub struct WebStream {
    /// Status code.
    pub status: u16,
    /// Media type without parameters, lower case.
    pub content_type: String,
    /// Body; dropping it closes the connection.
    pub body: HttpBody,
}
