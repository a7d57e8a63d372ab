//! The task behind all subscriptions of an identity: one source at a time, the next when it does not serve, a pause
//! when the station does not answer.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::box_session::BoxSource;
use super::hub::{ChangeHub, Observation};
use super::watch::WatchSource;
use super::{ChangeRoute, polling};
use crate::station::error::StationError;
use crate::station::facade::StationFacade;
use crate::station::facade::error::FacadeError;
use crate::station::facade::interfaces::is_interface_refusal;
use crate::station::http::CallScope;
use crate::station::ord::Ord;

/// Time for one round of questions.
const ROUND: Duration = Duration::from_secs(30);
/// Time for giving up a source at the station.
const FAREWELL: Duration = Duration::from_secs(4);
/// A source that is lost so often without serving once does not work on this station.
const MOST_LOSSES: u32 = 3;

/// What one round of a source brought.
#[derive(Debug, Default)]
pub(super) struct Step {
    pub observed: Vec<(Ord, Observation)>,
    /// Points that the source does not take; they are read by polling.
    pub refused: Vec<Ord>,
}

/// Why a round brought nothing.
#[derive(Debug)]
pub(super) enum StepFailure {
    /// The station does not offer this route to this identity.
    Unusable(String),
    /// The watch or session is gone: a new one is made.
    Lost(String),
    /// The station cannot be asked at present.
    Down(Box<StationError>),
}

impl StepFailure {
    pub(super) fn of(error: FacadeError) -> Self {
        match error {
            FacadeError::Station(error) if is_interface_refusal(&error) => {
                Self::Unusable(error.to_string())
            }
            FacadeError::Station(
                error @ (StationError::Unreachable { .. }
                | StationError::Cut { .. }
                | StationError::Certificate { .. }
                | StationError::Auth { .. }
                | StationError::Latched { .. }
                | StationError::Timeout { .. }
                | StationError::LoginTimeout { .. }
                | StationError::Queued { .. }
                | StationError::Cancelled { .. }
                | StationError::Busy { .. }
                | StationError::Setup { .. }),
            ) => Self::Down(Box::new(error)),
            other => Self::Lost(other.to_string()),
        }
    }
}

enum Source {
    Watch(Box<WatchSource>),
    Box(BoxSource),
    Polling,
}

impl Source {
    fn new(route: ChangeRoute, pace: Duration) -> Self {
        match route {
            ChangeRoute::ObixWatch => Self::Watch(Box::new(WatchSource::new(pace))),
            ChangeRoute::BoxSession => Self::Box(BoxSource::default()),
            ChangeRoute::Polling => Self::Polling,
        }
    }

    async fn step(
        &mut self,
        facade: &StationFacade,
        scope: &CallScope,
        wanted: &[Ord],
    ) -> Result<Step, StepFailure> {
        match self {
            Self::Watch(source) => source.step(facade, scope, wanted).await,
            Self::Box(source) => source.step(facade, scope, wanted).await,
            Self::Polling => match polling::step(facade, scope, wanted).await {
                // There is no other route: it stays, and tries again after a pause.
                Err(StepFailure::Unusable(text) | StepFailure::Lost(text)) => Err(
                    StepFailure::Down(Box::new(StationError::InterfaceMissing {
                        station: facade.station(),
                        needs: "any interface that reads points",
                        detail: text,
                    })),
                ),
                outcome => outcome,
            },
        }
    }

    /// Frees what the station keeps for this source.
    async fn give_up(self, facade: &StationFacade) {
        let scope = CallScope::within(FAREWELL);
        match self {
            Self::Watch(source) => source.give_up(facade, &scope).await,
            Self::Box(source) => source.give_up(facade, &scope).await,
            Self::Polling => {}
        }
    }
}

/// Asks the station until nobody watches anything any more, or `cancel` fires.
pub(super) async fn run(
    facade: Arc<StationFacade>,
    hub: Arc<ChangeHub>,
    cancel: CancellationToken,
) {
    let mut driver = Driver {
        facade,
        hub,
        cancel,
        route: ChangeRoute::ObixWatch,
        source: None,
        chosen_at: Instant::now(),
        losses: 0,
        pauses: None,
        failures: 0,
        stragglers: HashSet::new(),
        stragglers_due: None,
    };
    loop {
        if driver.hub.watched() == 0 {
            driver.drop_source().await;
            if driver.hub.finish_if_idle() || driver.cancel.is_cancelled() {
                return;
            }
            continue;
        }
        let pause = driver.round().await;
        driver.rest(pause).await;
        if driver.cancel.is_cancelled() {
            driver.drop_source().await;
            return;
        }
    }
}

struct Driver {
    facade: Arc<StationFacade>,
    hub: Arc<ChangeHub>,
    cancel: CancellationToken,
    route: ChangeRoute,
    source: Option<Source>,
    chosen_at: Instant,
    losses: u32,
    pauses: Option<ExponentialBackoff>,
    failures: u32,
    /// Points that the source refused.
    stragglers: HashSet<Ord>,
    stragglers_due: Option<Instant>,
}

impl Driver {
    /// One round; returns the pause before the next.
    async fn round(&mut self) -> Duration {
        let pacing = self.hub.pacing;
        if self.route != ChangeRoute::ObixWatch && self.chosen_at.elapsed() >= pacing.recheck {
            self.change_route(ChangeRoute::ObixWatch).await;
        }
        let wanted = self.hub.wanted();
        let scope = CallScope::within(ROUND).with_cancel(self.cancel.clone());
        let pace = self.pace();
        let source = self
            .source
            .get_or_insert_with(|| Source::new(self.route, pace));
        let outcome = match source.step(&self.facade, &scope, &wanted).await {
            Ok(step) => self.take(&scope, &wanted, step).await,
            Err(failure) => Err(failure),
        };
        match outcome {
            Ok(()) => {
                (self.losses, self.failures, self.pauses) = (0, 0, None);
                self.hub.set_route(self.route);
                pace
            }
            Err(StepFailure::Unusable(reason)) => {
                tracing::info!(
                    route = self.route.name(),
                    reason,
                    "changes of points come by another route"
                );
                self.change_route(next_route(self.route)).await;
                Duration::ZERO
            }
            Err(StepFailure::Lost(reason)) => {
                tracing::info!(
                    route = self.route.name(),
                    reason,
                    "the watch of points is made anew"
                );
                self.losses += 1;
                let route = if self.losses < MOST_LOSSES {
                    self.route
                } else {
                    next_route(self.route)
                };
                self.change_route(route).await;
                Duration::ZERO
            }
            Err(StepFailure::Down(error)) => self.wait_for_station(&error),
        }
    }

    fn pace(&self) -> Duration {
        match self.route {
            ChangeRoute::ObixWatch => self.hub.pacing.watch,
            ChangeRoute::BoxSession => self.hub.pacing.box_session,
            ChangeRoute::Polling => self.hub.pacing.polling,
        }
    }

    async fn change_route(&mut self, route: ChangeRoute) {
        self.drop_source().await;
        self.hub.interrupt();
        if route != self.route {
            self.route = route;
            self.losses = 0;
            self.chosen_at = Instant::now();
        }
    }

    async fn drop_source(&mut self) {
        self.stragglers.clear();
        if let Some(source) = self.source.take() {
            source.give_up(&self.facade).await;
        }
    }

    /// Hands on what the source saw, and reads by polling what it refused.
    async fn take(
        &mut self,
        scope: &CallScope,
        wanted: &[Ord],
        step: Step,
    ) -> Result<(), StepFailure> {
        let now = self.facade.now();
        for (ord, observation) in step.observed {
            self.hub.publish(&ord, observation, now);
        }
        let has_new = !step.refused.is_empty();
        self.stragglers.extend(step.refused);
        if self.stragglers.is_empty() {
            return Ok(());
        }
        let still: HashSet<&Ord> = wanted.iter().collect();
        self.stragglers.retain(|ord| still.contains(ord));
        let is_due = self.stragglers_due.is_none_or(|due| due <= Instant::now());
        if !has_new && !is_due {
            return Ok(());
        }
        let ords: Vec<Ord> = self.stragglers.iter().cloned().collect();
        let read = polling::step(&self.facade, scope, &ords).await?;
        let readable = read
            .observed
            .iter()
            .filter(|(_, observation)| observation.is_ok())
            .count();
        for (ord, observation) in read.observed {
            self.hub.publish(&ord, observation, now);
        }
        self.stragglers_due = Instant::now().checked_add(self.hub.pacing.polling);
        // A watch that takes less than half of what can be read looks healthy and is not (oBIX specification §13).
        if readable * 2 > wanted.len() {
            return Err(StepFailure::Unusable(format!(
                "it refuses {readable} of {} points that can be read otherwise",
                wanted.len()
            )));
        }
        Ok(())
    }

    fn wait_for_station(&mut self, error: &StationError) -> Duration {
        if self.cancel.is_cancelled() {
            return Duration::ZERO;
        }
        self.failures = self.failures.saturating_add(1);
        self.hub.interrupt();
        match &mut self.source {
            Some(Source::Watch(source)) => source.distrust(),
            Some(Source::Box(source)) => source.distrust(),
            Some(Source::Polling) | None => {}
        }
        // A single failure that may pass by itself is no news.
        if self.failures > 1 || !error.is_transient() {
            self.hub
                .publish_problem(&error.to_string(), self.facade.now());
        }
        let pacing = self.hub.pacing;
        let pause = self
            .pauses
            .get_or_insert_with(|| {
                ExponentialBuilder::default()
                    .with_min_delay(pacing.first_pause)
                    .with_max_delay(pacing.longest_pause)
                    .without_max_times()
                    .with_jitter()
                    .build()
            })
            .next()
            .unwrap_or(pacing.longest_pause);
        tracing::debug!(%error, ?pause, "watched points cannot be asked for");
        pause
    }

    /// Waits; changed wishes end the wait unless the station is down.
    async fn rest(&self, pause: Duration) {
        let sleep = tokio::time::sleep(pause);
        tokio::pin!(sleep);
        loop {
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => return,
                () = self.hub.retry.notified() => return,
                () = self.hub.wake.notified() => {
                    if self.failures == 0 || self.hub.watched() == 0 {
                        return;
                    }
                }
                () = &mut sleep => return,
            }
        }
    }
}

fn next_route(route: ChangeRoute) -> ChangeRoute {
    match route {
        ChangeRoute::ObixWatch => ChangeRoute::BoxSession,
        ChangeRoute::BoxSession | ChangeRoute::Polling => ChangeRoute::Polling,
    }
}
