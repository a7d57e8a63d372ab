//! The station's Fox port beside its web service: whether it is there, and what it says of itself (Fox specification §8).

use std::time::Duration;

use super::StationFacade;
use crate::clock::SharedClock;
use crate::station::fox::{FoxAnswer, FoxProber, FoxTarget};
use crate::station::http::{CallScope, Trust};

/// Patience for each step of the hello: a report must not wait for a port that swallows connections.
const PATIENCE: Duration = Duration::from_secs(3);

/// The one Fox port that the configuration names, and its prober.
#[derive(Debug)]
pub(super) struct FoxPort {
    target: FoxTarget,
    prober: FoxProber,
}

/// What a report tells of the Fox port.
#[derive(Debug, Clone, PartialEq)]
pub struct FoxState {
    pub target: FoxTarget,
    /// The answer, also of a probe a short while ago, or why nothing was sent.
    pub outcome: Result<FoxAnswer, String>,
}

impl FoxPort {
    fn new(target: FoxTarget, trust: Trust, clock: SharedClock) -> Self {
        Self {
            prober: FoxProber::new(vec![target.clone()], trust, clock).with_patience(PATIENCE),
            target,
        }
    }
}

impl StationFacade {
    /// The same facade with the station's Fox port, whose hello belongs to [`StationFacade::report`] then.
    pub fn with_fox(mut self, target: FoxTarget, trust: Trust) -> Self {
        self.fox = Some(FoxPort::new(target, trust, self.clock.clone()));
        self
    }

    /// None without a configured Fox port.
    pub(super) async fn fox_state(&self, scope: &CallScope) -> Option<FoxState> {
        let FoxPort { target, prober } = self.fox.as_ref()?;
        let outcome = prober.probe(scope, target).await;
        Some(FoxState {
            target: target.clone(),
            outcome: outcome.map_err(|error| error.to_string()),
        })
    }
}
