//! The one HTTP client of the bridge: limits, deadlines, retries of reads, trust in certificates.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use bytes::Bytes;
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use http::{HeaderMap, Method};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use url::Url;

use breaker::Breaker;
use certificate_watch::CertificateWatch;
use connections::Connections;
use failure::connection_error;

use super::error::{CallTime, OwnQueue, StationError};

mod body;
mod breaker;
mod certificate_watch;
mod connections;
mod failure;
mod scope;
mod traffic;
mod trust;

pub use body::{HttpBody, HttpResponse};
pub use scope::{CallScope, RequestCount};
pub use traffic::{Destination, RequestOutcome, Traffic};
pub use trust::{Trust, fingerprint_of};
pub(crate) use trust::{another_certificate, config_with, verifier};

/// Time to establish a connection (Station web specification §9).
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Shorter waits for a turn in the bridge are no news.
const WORTH_TELLING: Duration = Duration::from_millis(100);

/// What the bridge allows itself towards one station and identity (Station web specification §9 rule 9).
#[derive(Debug, Clone)]
pub struct HttpLimits {
    /// Requests under way at the same time, over all interfaces.
    pub in_flight: usize,
    /// Requests per second; 0 = unlimited.
    pub requests_per_second: u32,
    /// Largest answer in bytes.
    pub response_bytes: u64,
    /// Time for an ordinary request.
    pub request_timeout: Duration,
    /// Time for an interactive BQL query.
    pub query_timeout: Duration,
    /// Time for an export that ingest reads.
    pub export_timeout: Duration,
    /// Repetitions of a read after a broken connection or a busy answer.
    pub read_retries: usize,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            in_flight: 4,
            requests_per_second: 20,
            response_bytes: 32 << 20,
            request_timeout: Duration::from_secs(30),
            query_timeout: Duration::from_secs(10),
            export_timeout: Duration::from_secs(60),
            read_retries: 2,
        }
    }
}

/// Which of the configured time limits a request gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeoutClass {
    /// Any request without a class of its own: 30 s.
    #[default]
    Standard,
    /// Interactive BQL: 10 s.
    Query,
    /// Bulk export: 60 s.
    Export,
}

/// One request, ready to be sent more than once if it is a read.
#[derive(Debug, Clone)]
pub struct HttpRequest {
    /// HTTP method.
    pub method: Method,
    /// Full address.
    pub url: Url,
    /// Headers, credentials included; never logged.
    pub headers: HeaderMap,
    /// Body; empty for none.
    pub body: Bytes,
}

/// Sends requests to one station for one identity.
#[derive(Debug, Clone)]
pub struct HttpClient {
    connections: Arc<Connections>,
    limits: HttpLimits,
    places: Arc<Semaphore>,
    rate: Option<Arc<DefaultDirectRateLimiter>>,
    breaker: Arc<Breaker>,
    certificates: CertificateWatch,
    trust: Trust,
    traffic: Arc<Traffic>,
}

impl HttpClient {
    /// Builds the client. Redirects are never followed, no proxy is used, HTTP/1.1 only.
    pub fn new(trust: &Trust, limits: HttpLimits) -> Result<Self, StationError> {
        let certificates = CertificateWatch::default();
        let connections = Arc::new(Connections::new(trust, &certificates)?);
        let rate = NonZeroU32::new(limits.requests_per_second)
            .map(|rate| Arc::new(RateLimiter::direct(Quota::per_second(rate))));
        Ok(Self {
            connections,
            places: Arc::new(Semaphore::new(limits.in_flight.max(1))),
            rate,
            breaker: Arc::default(),
            certificates,
            trust: trust.clone(),
            traffic: Arc::default(),
            limits,
        })
    }

    /// Why the newest connection to the station was not trusted, although older ones may still serve.
    pub fn certificate_problem(&self) -> Option<String> {
        self.certificates.problem()
    }

    /// Looks at the station's certificate over a connection of its own, with a request that carries no credential.
    ///
    /// # Errors
    /// [`StationError::Certificate`] while it is not trusted, [`StationError::Unreachable`] without a connection.
    pub async fn look_at_certificate(&self, base: &Url) -> Result<(), StationError> {
        let own = Arc::new(Connections::new(&self.trust, &self.certificates)?);
        let (client, _) = own.in_use();
        let _place = self.turn("the certificate").await?;
        match client.get(base.clone()).send().await {
            Ok(_) => Ok(()),
            Err(error) => Err(connection_error(&station_of(base), &error)),
        }
    }

    /// Closes the idle connections, so that later requests open new ones: for requests that must not fall on one that the
    /// station has closed, because they are sent once.
    pub(crate) fn begin_anew(&self) {
        self.connections.begin_anew();
    }

    /// The limits in force.
    pub fn limits(&self) -> &HttpLimits {
        &self.limits
    }

    /// What was asked so far; clones count together.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// The time a request of a class may take.
    pub fn timeout(&self, class: TimeoutClass) -> Duration {
        match class {
            TimeoutClass::Standard => self.limits.request_timeout,
            TimeoutClass::Query => self.limits.query_timeout,
            TimeoutClass::Export => self.limits.export_timeout,
        }
    }

    /// Sends once, within scope, time limit, rate and number of places. `sent` tells whether the station may have
    /// seen the request when this fails.
    pub async fn send(
        &self,
        request: HttpRequest,
        class: TimeoutClass,
        scope: &CallScope,
        sent: &AtomicBool,
    ) -> Result<HttpResponse, StationError> {
        self.send_once(request, class, scope, sent)
            .await
            .map_err(|failure| *failure.error)
    }

    /// Sends a read, repeated with growing, jittered pauses after a broken connection or an answer 429, 502 or 503.
    ///
    /// A repetition after a broken connection goes over a connection opened since.
    ///
    /// After the last repetition a 429 or 503 is [`StationError::Busy`], a 502 [`StationError::Unreachable`].
    pub async fn send_read(
        &self,
        request: HttpRequest,
        class: TimeoutClass,
        scope: &CallScope,
    ) -> Result<HttpResponse, StationError> {
        self.send_repeated(request, class, scope, |failure| failure.repeatable)
            .await
    }

    /// Sends a read whose answer the station gives once: repeated only after an answer 429 or 503, by which the
    /// station says that it has not worked on it.
    pub async fn send_read_once(
        &self,
        request: HttpRequest,
        class: TimeoutClass,
        scope: &CallScope,
    ) -> Result<HttpResponse, StationError> {
        self.send_repeated(request, class, scope, |failure| {
            failure.repeatable && matches!(*failure.error, StationError::Busy { .. })
        })
        .await
    }

    async fn send_repeated(
        &self,
        request: HttpRequest,
        class: TimeoutClass,
        scope: &CallScope,
        may_repeat: impl Fn(&Failure) -> bool,
    ) -> Result<HttpResponse, StationError> {
        let policy = ExponentialBuilder::default()
            .with_min_delay(FIRST_PAUSE)
            .with_max_times(self.limits.read_retries)
            .with_jitter();
        let station = station_of(&request.url);
        let attempt = || async {
            let sent = AtomicBool::new(false);
            let response = self.send_once(request.clone(), class, scope, &sent).await?;
            refuse_busy(response, &station)
        };
        attempt
            .retry(policy)
            .when(|failure: &Failure| {
                may_repeat(failure) && scope.remaining().is_none_or(|left| left > FIRST_PAUSE)
            })
            .adjust(|failure: &Failure, pause| {
                pause.map(|pause| pause.max(failure.pause.unwrap_or_default()))
            })
            .await
            .map_err(|failure| *failure.error)
    }

    async fn send_once(
        &self,
        request: HttpRequest,
        class: TimeoutClass,
        scope: &CallScope,
        sent: &AtomicBool,
    ) -> Result<HttpResponse, Failure> {
        let target = describe(&request);
        let destination = Destination::of(&request.url);
        let progress = Progress {
            sent,
            repeatable: AtomicBool::new(false),
        };
        let turn = self.own_turn(scope, &target, self.turn(&target)).await;
        let outcome = match turn {
            Ok(place) => {
                let attempt = self.send_unscoped(request, class, &target, scope, &progress, place);
                // Boxed: the futures of a tool nest deep, and each holds those below it.
                let outcome = scope.run(&target, Box::pin(attempt)).await;
                outcome.map_err(|error| self.timed(error, scope))
            }
            Err(error) => Err(error),
        };
        self.traffic.count(
            destination,
            match &outcome {
                Ok(answer) => RequestOutcome::of_status(answer.status),
                Err(error) => RequestOutcome::of_error(error),
            },
        );
        if outcome.is_ok() {
            scope.answered();
        }
        outcome.map_err(|error| Failure {
            error: Box::new(error),
            repeatable: progress.repeatable.into_inner(),
            pause: None,
        })
    }

    /// Waits for a turn among the requests of this identity, which is no waiting for the station.
    pub(crate) async fn own_turn<T>(
        &self,
        scope: &CallScope,
        what: &str,
        turn: impl Future<Output = Result<T, StationError>>,
    ) -> Result<T, StationError> {
        let begin = Instant::now();
        let outcome = scope.run(what, turn).await;
        scope.note_wait(begin.elapsed());
        outcome.map_err(|error| match error {
            StationError::Timeout { what, .. } => StationError::Queued {
                what,
                after: scope.waited(),
                in_flight: self.limits.in_flight.max(1),
                requests_per_second: self.limits.requests_per_second,
            },
            other => other,
        })
    }

    /// The call whose time a request may use up, as errors tell it.
    fn call_time(&self, scope: &CallScope) -> Option<Box<CallTime>> {
        let waited = scope.waited();
        let queue = (waited >= WORTH_TELLING).then(|| OwnQueue {
            waited,
            in_flight: self.limits.in_flight.max(1),
            requests_per_second: self.limits.requests_per_second,
        });
        let whole = scope.whole()?;
        Some(Box::new(CallTime { whole, queue }))
    }

    /// A timeout by the deadline of the call tells what became of the call's time.
    fn timed(&self, error: StationError, scope: &CallScope) -> StationError {
        match error {
            StationError::Timeout {
                what,
                after,
                call: Some(_),
            } => StationError::Timeout {
                what,
                after,
                call: self.call_time(scope),
            },
            other => other,
        }
    }

    /// Waits for a free place and for the rate.
    async fn turn(&self, target: &str) -> Result<OwnedSemaphorePermit, StationError> {
        let _waits = self.traffic.waits();
        let place = Arc::clone(&self.places).acquire_owned().await;
        let place = place.map_err(|_| StationError::Cancelled {
            what: target.to_owned(),
        })?;
        if let Some(rate) = &self.rate {
            rate.until_ready().await;
        }
        Ok(place)
    }

    async fn send_unscoped(
        &self,
        request: HttpRequest,
        class: TimeoutClass,
        target: &str,
        scope: &CallScope,
        progress: &Progress<'_>,
        place: OwnedSemaphorePermit,
    ) -> Result<HttpResponse, StationError> {
        let station = station_of(&request.url);
        let _flies = self.traffic.flies();
        let admission = self.breaker.admit(&request.url).await?;
        let begin = Instant::now();
        let own = begin + self.timeout(class);
        let (expires, call) = match scope.deadline() {
            Some(deadline) if deadline <= own => (deadline, self.call_time(scope)),
            _ => (own, None),
        };
        let (client, pool) = self.connections.in_use();
        let mut builder = client
            .request(request.method, request.url)
            .headers(request.headers);
        if !request.body.is_empty() {
            builder = builder.body(request.body);
        }
        progress.sent.store(true, Ordering::Relaxed);
        let response = tokio::time::timeout_at(expires, builder.send())
            .await
            .map_err(|_| {
                // A slow answer is no absence, but a trial without an answer has not shown that the station is back.
                if admission.is_trial() {
                    self.breaker
                        .note_failure("it accepts connections but does not answer");
                }
                StationError::Timeout {
                    what: target.to_owned(),
                    after: begin.elapsed(),
                    call: call.clone(),
                }
            })?
            .map_err(|error| {
                if error.is_connect() {
                    progress.sent.store(false, Ordering::Relaxed);
                } else if !error.is_timeout() {
                    progress.repeatable.store(true, Ordering::Relaxed);
                    pool.broke();
                }
                let error = connection_error(&station, &error);
                if let StationError::Unreachable { cause, .. } = &error {
                    self.breaker.note_failure(cause);
                }
                error
            })?;
        self.breaker.note_answer();
        drop(admission);
        Ok(HttpResponse {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            body: HttpBody {
                response,
                pool,
                ahead: None,
                target: target.to_owned(),
                station,
                received: 0,
                limit: self.limits.response_bytes,
                expires,
                call,
                begin,
                _place: place,
            },
        })
    }
}

/// What is known of an attempt while it runs.
struct Progress<'a> {
    /// The station may have seen the request.
    sent: &'a AtomicBool,
    /// The connection broke: a read may be sent again.
    repeatable: AtomicBool,
}

/// Why one attempt failed, and whether a read may try again.
struct Failure {
    error: Box<StationError>,
    repeatable: bool,
    pause: Option<Duration>,
}

/// Pause before the first repetition of a read.
const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// A longer `Retry-After` than this is the caller's business.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

fn refuse_busy(response: HttpResponse, station: &str) -> Result<HttpResponse, Failure> {
    let station = station.to_owned();
    let error = match response.status {
        status @ (429 | 503) => StationError::Busy { station, status },
        502 => StationError::Unreachable {
            station,
            cause: "a gateway in front of it answered HTTP 502".to_owned(),
        },
        _ => return Ok(response),
    };
    let pause = response
        .headers
        .get(http::header::RETRY_AFTER)
        .and_then(|value| value.to_str().ok()?.trim().parse().ok())
        .map(Duration::from_secs);
    Err(Failure {
        error: Box::new(error),
        repeatable: pause.is_none_or(|pause| pause <= LONGEST_PAUSE),
        pause,
    })
}

/// Scheme, host and port: what error texts call the station.
pub(crate) fn station_of(url: &Url) -> String {
    url.origin().ascii_serialization()
}

fn describe(request: &HttpRequest) -> String {
    format!("{} {}", request.method, request.url.path())
}
