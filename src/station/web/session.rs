//! One identity's session with a station, shared by every interface.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, COOKIE};
use http::{HeaderMap, HeaderValue, Method};
use url::Url;

use super::cookies::CookieJar;
use super::expiry::{is_data, is_login_page, is_login_path, peek, redirect_target, shown_path};
use super::lease::{Flight, Latch, Lease};
use super::request::{LoginScheme, Purpose, WebOptions, WebRequest, WebResponse, WebStream};
use crate::clock::SharedClock;
use crate::secrecy::Secret;
use crate::station::error::{AuthCause, StationError};
use crate::station::http::{CallScope, HttpClient, HttpRequest, HttpResponse, Traffic, station_of};

/// Name of the CSRF header (Station web specification §2.6).
pub(super) const CSRF_HEADER: &str = "x-niagara-csrftoken";
/// Request line and headers share 8192 bytes (Station web specification §1); the rest is for headers.
const LONGEST_TARGET: usize = 7_500;

/// A logged-in session; cheap to clone, all clones share login, cookies and limits.
#[derive(Debug, Clone)]
pub struct WebSession {
    inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) options: WebOptions,
    pub(super) http: HttpClient,
    pub(super) clock: SharedClock,
    /// The proof of a password went out and has not been answered.
    pub(super) proof_is_out: AtomicBool,
    /// Keeps login and logout apart.
    pub(super) login: tokio::sync::Mutex<()>,
    /// The login under way, which all callers share, its failure included.
    pub(super) flight: Mutex<Option<Flight>>,
    state: Mutex<State>,
}

/// What a login leaves behind.
#[derive(Debug)]
pub(super) struct State {
    /// Address in use; differs from the configured one after a redirect to https.
    pub(super) base: Url,
    pub(super) jar: CookieJar,
    /// Value of `Authorization` for ordinary requests.
    pub(super) authorization: Option<Secret>,
    pub(super) csrf: Option<Secret>,
    pub(super) logged_in: bool,
    /// Counts logins, so that late answers of an older session change nothing.
    pub(super) generation: u64,
    pub(super) latch: Option<Latch>,
    /// Interfaces (first path segment) that refused a fresh login, and when to ask again.
    pub(super) refusing: HashMap<String, Duration>,
}

/// A request as the caller gave it.
struct Outgoing<'a> {
    method: Method,
    target: &'a str,
    body: Bytes,
    request: &'a WebRequest,
}

enum Attempt {
    Answered(Box<WebStream>),
    /// The station wants a login; the text says how it said so.
    Refused(String),
}

impl WebSession {
    /// Prepares a session; nothing is sent before the first request.
    pub fn new(options: WebOptions, clock: SharedClock) -> Result<Self, StationError> {
        if !matches!(options.url.scheme(), "http" | "https") || options.url.host().is_none() {
            return Err(StationError::Setup {
                detail: format!(
                    "{} is not the address of a web service; write http:// or https:// and a host",
                    options.url
                ),
            });
        }
        let http = HttpClient::new(&options.trust, options.limits.clone())?;
        let state = State {
            base: options.url.clone(),
            jar: CookieJar::default(),
            authorization: None,
            csrf: None,
            logged_in: false,
            generation: 0,
            latch: None,
            refusing: HashMap::new(),
        };
        Ok(Self {
            inner: Arc::new(Inner {
                options,
                http,
                clock,
                proof_is_out: AtomicBool::new(false),
                login: tokio::sync::Mutex::new(()),
                flight: Mutex::new(None),
                state: Mutex::new(state),
            }),
        })
    }

    /// Scheme, host and port of the station, as error texts name it.
    pub fn station(&self) -> String {
        self.inner.station()
    }

    /// The address in use, after a possible redirect to https.
    pub fn base_url(&self) -> Url {
        self.inner.state().base.clone()
    }

    /// Name of the logged-in user.
    pub fn user(&self) -> &str {
        &self.inner.options.user
    }

    /// The configured login scheme.
    pub fn scheme(&self) -> LoginScheme {
        self.inner.options.scheme
    }

    /// The session's clock.
    pub fn clock(&self) -> &SharedClock {
        &self.inner.clock
    }

    /// What was asked of the station so far.
    pub fn traffic(&self) -> &Traffic {
        self.inner.http.traffic()
    }

    /// Waits for a turn among the requests of this identity, which is no waiting for the station.
    pub(crate) async fn own_turn<T>(
        &self,
        scope: &CallScope,
        what: &str,
        turn: impl Future<Output = Result<T, StationError>>,
    ) -> Result<T, StationError> {
        self.inner.http.own_turn(scope, what, turn).await
    }

    /// True while the station is believed to know this session.
    pub fn is_logged_in(&self) -> bool {
        self.inner.state().logged_in
    }

    /// True while the last login is known to have failed and the next attempt is held back.
    pub fn refuses_login(&self) -> bool {
        self.inner.is_latched()
    }

    /// Why the newest connection to the station was not trusted, although older ones may still serve.
    pub fn certificate_problem(&self) -> Option<String> {
        self.inner.http.certificate_problem()
    }

    /// Looks at the station's certificate over a connection of its own, without credentials.
    ///
    /// # Errors
    /// [`StationError::Certificate`] while it is not trusted.
    pub async fn look_at_certificate(&self, scope: &CallScope) -> Result<(), StationError> {
        let base = self.base_url();
        let look = self.inner.http.look_at_certificate(&base);
        scope.run("the certificate", look).await
    }

    /// Logs in unless a session exists; concurrent callers share one login.
    ///
    /// Errors: [`StationError::Auth`] for the attempt that failed, [`StationError::Latched`] for the latch time after.
    pub async fn login(&self, scope: &CallScope) -> Result<(), StationError> {
        self.lease(scope).await.map(drop)
    }

    /// `GET`s a server-relative, already percent-encoded target and receives the whole body.
    pub async fn get(
        &self,
        target: &str,
        request: &WebRequest,
    ) -> Result<WebResponse, StationError> {
        self.whole(Method::GET, target, Bytes::new(), request).await
    }

    /// `POST`s a body and receives the whole answer.
    pub async fn post(
        &self,
        target: &str,
        body: impl Into<Bytes>,
        request: &WebRequest,
    ) -> Result<WebResponse, StationError> {
        self.whole(Method::POST, target, body.into(), request).await
    }

    /// `PUT`s a body and receives the whole answer.
    pub async fn put(
        &self,
        target: &str,
        body: impl Into<Bytes>,
        request: &WebRequest,
    ) -> Result<WebResponse, StationError> {
        self.whole(Method::PUT, target, body.into(), request).await
    }

    /// `GET`s a target and hands over the body while it arrives.
    pub async fn get_stream(
        &self,
        target: &str,
        request: &WebRequest,
    ) -> Result<WebStream, StationError> {
        let outgoing = Outgoing {
            method: Method::GET,
            target,
            body: Bytes::new(),
            request,
        };
        self.exchange(&outgoing).await
    }

    /// Ends the session on the station; later requests log in again.
    pub async fn close(&self) {
        self.inner.logout().await;
    }

    async fn whole(
        &self,
        method: Method,
        target: &str,
        body: Bytes,
        request: &WebRequest,
    ) -> Result<WebResponse, StationError> {
        let outgoing = Outgoing {
            method,
            target,
            body,
            request,
        };
        match self.receive(&outgoing).await {
            // Reading again changes nothing; a second break is no accident.
            Err(StationError::Cut { .. })
                if request.purpose == Purpose::Read
                    && self.inner.options.limits.read_retries > 0 =>
            {
                self.receive(&outgoing).await
            }
            outcome => outcome,
        }
    }

    async fn receive(&self, outgoing: &Outgoing<'_>) -> Result<WebResponse, StationError> {
        let (target, request) = (outgoing.target, outgoing.request);
        // Boxed: the futures of a tool nest deep, and each holds those below it.
        let answer = Box::pin(self.exchange(outgoing)).await?;
        let received = request.scope.run(target, answer.body.bytes()).await;
        let body = received.map_err(|error| after_sending(request.purpose, target, error))?;
        Ok(WebResponse {
            status: answer.status,
            content_type: answer.content_type,
            body,
        })
    }

    /// One request, with at most one new login when the station has ended the session.
    async fn exchange(&self, outgoing: &Outgoing<'_>) -> Result<WebStream, StationError> {
        let scope = &outgoing.request.scope;
        let lease = self.lease(scope).await?;
        let detail = match self.attempt(outgoing, lease).await? {
            Attempt::Answered(answer) => return Ok(*answer),
            Attempt::Refused(detail) => detail,
        };
        let root = interface_of(outgoing.target);
        if lease.fresh || self.inner.is_refusing(&root) {
            return Err(self.inner.interface_refuses(root, detail));
        }
        self.inner.expire(lease.generation);
        let renewed = self.lease(scope).await?;
        if outgoing.request.purpose == Purpose::Write {
            return Err(self.inner.auth(AuthCause::SessionExpired, detail));
        }
        match self.attempt(outgoing, renewed).await? {
            Attempt::Answered(answer) => Ok(*answer),
            Attempt::Refused(detail) => Err(self.inner.interface_refuses(root, detail)),
        }
    }

    async fn lease(&self, scope: &CallScope) -> Result<Lease, StationError> {
        if let Some(generation) = self.inner.ready()? {
            return Ok(Lease {
                generation,
                fresh: false,
            });
        }
        let outcome = scope.run("the login", self.inner.shared_login()).await;
        outcome.map_err(|error| match error {
            StationError::Timeout { after, call, .. } => StationError::LoginTimeout {
                station: self.station(),
                // The call may have come to its login late; its own time says more than the rest of it.
                after: call.map_or(after, |call| call.whole),
            },
            other => other,
        })
    }

    async fn attempt(
        &self,
        outgoing: &Outgoing<'_>,
        lease: Lease,
    ) -> Result<Attempt, StationError> {
        let WebRequest {
            purpose,
            timeout,
            scope,
            ..
        } = outgoing.request;
        let request = self.inner.authorised(outgoing)?;
        let base = request.url.clone();
        let answer = match purpose {
            Purpose::Read => {
                let send = self.inner.http.send_read(request, *timeout, scope);
                send.await?
            }
            Purpose::ReadOnce => {
                let send = self.inner.http.send_read_once(request, *timeout, scope);
                send.await?
            }
            Purpose::Write => self.send_write(request, outgoing).await?,
        };
        if let Some(detail) = self.inner.refusal(&answer, &base) {
            return Ok(Attempt::Refused(detail));
        }
        let headers = answer.headers.clone();
        let mut stream = WebStream {
            status: answer.status,
            content_type: answer.content_type(),
            body: answer.into_body(),
        };
        if stream.status == 200 && !is_data(&stream.content_type) {
            let page = scope.run(outgoing.target, peek(&mut stream.body)).await;
            let page = page.map_err(|error| after_sending(*purpose, outgoing.target, error))?;
            if is_login_page(&page) {
                return Ok(Attempt::Refused(
                    "it answered with its login page".to_owned(),
                ));
            }
        }
        self.inner
            .note_accepted(lease.generation, outgoing.target, &headers);
        Ok(Attempt::Answered(Box::new(stream)))
    }

    async fn send_write(
        &self,
        request: HttpRequest,
        outgoing: &Outgoing<'_>,
    ) -> Result<HttpResponse, StationError> {
        let WebRequest { timeout, scope, .. } = outgoing.request;
        if let Err(reason) = scope.check_permit() {
            return Err(self.inner.auth(AuthCause::Withdrawn, reason));
        }
        let sent = AtomicBool::new(false);
        let answer = match self.inner.http.send(request, *timeout, scope, &sent).await {
            Ok(answer) => answer,
            Err(error) if sent.into_inner() => {
                return Err(unknown_outcome(outgoing.target, &error));
            }
            Err(error) => return Err(error),
        };
        match answer.status {
            // The filter that limits requests stands in front of the servlets (Station web specification §1).
            status @ 429 => Err(StationError::Busy {
                station: self.station(),
                status,
            }),
            // Gateways answer so too, and that after they handed the message on.
            status @ (408 | 502 | 503 | 504) => Err(StationError::OutcomeUnknown {
                target: outgoing.target.to_owned(),
                cause: format!("HTTP {status}, which a gateway may answer for the station"),
            }),
            _ => Ok(answer),
        }
    }
}

impl Inner {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn station(&self) -> String {
        station_of(&self.state().base)
    }

    pub(super) fn auth(&self, cause: AuthCause, detail: impl Into<String>) -> StationError {
        StationError::Auth {
            station: self.station(),
            user: self.options.user.clone(),
            cause,
            detail: detail.into(),
        }
    }

    /// Resolves a server-relative target; never leaves the station.
    pub(super) fn url(&self, target: &str) -> Result<Url, StationError> {
        let refused = |detail: &str| StationError::InvalidInput {
            what: "the request target",
            detail: format!("{target:?} {detail}"),
        };
        if !target.starts_with('/') || target.starts_with("//") || target.starts_with("/\\") {
            return Err(refused("is not a path on the station"));
        }
        let base = self.state().base.clone();
        let url = base
            .join(target)
            .map_err(|error| refused(&error.to_string()))?;
        if url.origin() != base.origin() {
            return Err(refused("leaves the station"));
        }
        if url.as_str().len() > LONGEST_TARGET {
            return Err(refused(
                "is longer than the station accepts; split the query",
            ));
        }
        Ok(url)
    }

    fn authorised(&self, outgoing: &Outgoing<'_>) -> Result<HttpRequest, StationError> {
        let url = self.url(outgoing.target)?;
        let state = self.state();
        let mut headers = HeaderMap::new();
        let accept = outgoing.request.accept.unwrap_or("*/*");
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        if let Some(content_type) = outgoing.request.content_type {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        }
        if let Some(cookies) = state.jar.header(url.path(), url.scheme() == "https") {
            headers.insert(COOKIE, sensitive(&cookies)?);
        }
        if let Some(authorization) = &state.authorization {
            headers.insert(AUTHORIZATION, sensitive(authorization.expose())?);
        }
        if outgoing.method != Method::GET
            && let Some(csrf) = &state.csrf
        {
            headers.insert(CSRF_HEADER, sensitive(csrf.expose())?);
        }
        Ok(HttpRequest {
            method: outgoing.method.clone(),
            url,
            headers,
            body: outgoing.body.clone(),
        })
    }

    /// How an answer says "not authenticated", if it does (Station web specification §1).
    fn refusal(&self, answer: &HttpResponse, asked: &Url) -> Option<String> {
        if answer.status == 401 {
            return Some("HTTP 401".to_owned());
        }
        let location = redirect_target(answer, asked)?;
        if is_login_path(location.path()) {
            return Some(format!(
                "HTTP {} to {}",
                answer.status,
                shown_path(&location)
            ));
        }
        // The web service was switched to https: the next login follows it there before any credential is sent.
        (asked.scheme() == "http"
            && location.scheme() == "https"
            && location.host() == asked.host())
        .then(|| format!("HTTP {} to https", answer.status))
    }
}

pub(super) fn sensitive(text: &str) -> Result<HeaderValue, StationError> {
    let mut value = HeaderValue::from_str(text).map_err(|_| StationError::Setup {
        detail: "a credential or cookie contains characters that HTTP headers cannot carry"
            .to_owned(),
    })?;
    value.set_sensitive(true);
    Ok(value)
}

pub(super) fn interface_of(target: &str) -> String {
    let path = target.split('?').next().unwrap_or_default();
    let root = path
        .trim_start_matches('/')
        .split('/')
        .next()
        .unwrap_or_default();
    format!("/{root}")
}

/// A failure behind the request: a write may have happened.
fn after_sending(purpose: Purpose, target: &str, error: StationError) -> StationError {
    match purpose {
        Purpose::Read | Purpose::ReadOnce => error,
        Purpose::Write => unknown_outcome(target, &error),
    }
}

fn unknown_outcome(target: &str, error: &StationError) -> StationError {
    StationError::OutcomeUnknown {
        target: target.to_owned(),
        cause: error.to_string(),
    }
}
