//! Which interfaces this station offers to this identity: noticed in passing, remembered for a while, asked again later.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::error::{FacadeError, FacadeResult};
use crate::station::error::{AuthCause, StationError};

/// How long a missing interface is believed missing before it is tried again.
const RECHECK: Duration = Duration::from_secs(60);
/// An interface that has worked before is believed missing after this many refusals in a row ...
const LASTING_REFUSALS: u32 = 3;
/// ... that span this time: a web service that starts up before its servlets refuses for some seconds.
const LASTING_TIME: Duration = Duration::from_secs(10);

/// An interface that operations are routed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interface {
    Bql,
    Box,
    Obix,
}

/// What an interface has shown so far.
#[derive(Debug, Default)]
struct State {
    has_worked: bool,
    refused: Option<Refused>,
}

/// Refusals since the interface last worked.
#[derive(Debug)]
struct Refused {
    first: Duration,
    last: Duration,
    times: u32,
    error: Box<StationError>,
}

impl State {
    /// Why the interface is believed missing.
    fn missing(&self, now: Duration) -> Option<&StationError> {
        let refused = self.refused.as_ref()?;
        // A login that is not accepted here is no matter of starting up, and each try costs a session.
        let is_lasting = !self.has_worked
            || matches!(*refused.error, StationError::Auth { .. })
            || (refused.times >= LASTING_REFUSALS
                && refused.last.saturating_sub(refused.first) >= LASTING_TIME);
        (is_lasting && now.saturating_sub(refused.last) < RECHECK).then_some(&refused.error)
    }

    fn note_refusal(&mut self, error: &StationError, now: Duration) {
        let error = Box::new(error.clone());
        match &mut self.refused {
            Some(refused) => {
                refused.last = now;
                refused.times = refused.times.saturating_add(1);
                refused.error = error;
            }
            None => {
                self.refused = Some(Refused {
                    first: now,
                    last: now,
                    times: 1,
                    error,
                });
            }
        }
    }
}

/// What is remembered of the three interfaces.
#[derive(Debug, Default)]
pub(super) struct Interfaces {
    states: Mutex<[State; 3]>,
}

impl Interfaces {
    /// The reason why an interface need not be tried now.
    pub(super) fn missing(&self, interface: Interface, now: Duration) -> Option<FacadeError> {
        let states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let error = states.get(interface as usize)?.missing(now)?;
        Some(error.clone().into())
    }

    /// Learns from the outcome of an operation.
    pub(super) fn note<T>(&self, interface: Interface, outcome: &FacadeResult<T>, now: Duration) {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(state) = states.get_mut(interface as usize) else {
            return;
        };
        match outcome {
            Ok(_) => {
                state.has_worked = true;
                state.refused = None;
            }
            Err(FacadeError::Station(error)) if is_whole_interface(error) => {
                let was_missing = state.missing(now).is_some();
                state.note_refusal(error, now);
                if !was_missing && state.missing(now).is_some() {
                    tracing::warn!(?interface, %error, "this station does not offer an interface; others are used instead");
                }
            }
            // A station that is down may come back with other interfaces.
            Err(FacadeError::Station(StationError::Unreachable { .. })) => state.refused = None,
            Err(_) => {}
        }
    }
}

/// Errors that concern the whole interface, so that another one may serve.
pub(super) fn is_interface_refusal(error: &StationError) -> bool {
    matches!(
        error,
        StationError::InterfaceMissing { .. }
            | StationError::Auth {
                cause: AuthCause::InterfaceRefuses,
                ..
            }
    )
}

/// Whether the refusal is of everything behind the interface. One service of it that is not exposed, such as alarms
/// over oBIX, says nothing of the rest.
fn is_whole_interface(error: &StationError) -> bool {
    match error {
        StationError::InterfaceMissing { needs, .. } => WHOLE_INTERFACES.contains(needs),
        error => is_interface_refusal(error),
    }
}

/// What [`StationError::InterfaceMissing`] needs where an interface is missing as a whole.
const WHOLE_INTERFACES: [&str; 5] = [
    "BQL over the ord servlet",
    "BOX",
    "a free BOX server session",
    "oBIX",
    "a licensed oBIX server",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn missing() -> FacadeResult<()> {
        Err(StationError::InterfaceMissing {
            station: "http://st1".into(),
            needs: "BOX",
            detail: "HTTP 404".into(),
        }
        .into())
    }

    #[test]
    fn a_missing_interface_is_left_alone_for_a_minute() {
        let interfaces = Interfaces::default();
        let at = Duration::from_secs;
        assert!(interfaces.missing(Interface::Box, at(0)).is_none());
        interfaces.note(Interface::Box, &missing(), at(10));
        assert!(interfaces.missing(Interface::Box, at(69)).is_some());
        assert!(interfaces.missing(Interface::Obix, at(69)).is_none());
        assert!(interfaces.missing(Interface::Box, at(70)).is_none());
        interfaces.note(Interface::Box, &Ok(()), at(71));
        assert!(interfaces.missing(Interface::Box, at(72)).is_none());
    }

    #[test]
    fn an_interface_that_has_worked_is_asked_again_until_it_keeps_refusing() {
        let interfaces = Interfaces::default();
        let at = Duration::from_secs;
        let is_missing = |now| interfaces.missing(Interface::Box, at(now)).is_some();
        interfaces.note(Interface::Box, &Ok(()), at(0));
        for now in [1, 2, 3, 4] {
            interfaces.note(Interface::Box, &missing(), at(now));
            assert!(
                !is_missing(now),
                "{now} s: a start of the station may last that long"
            );
        }
        interfaces.note(Interface::Box, &missing(), at(11));
        assert!(is_missing(11) && is_missing(70));
        assert!(!is_missing(71));
        interfaces.note(Interface::Box, &Ok(()), at(71));
        interfaces.note(Interface::Box, &missing(), at(100));
        interfaces.note(Interface::Box, &missing(), at(120));
        assert!(!is_missing(120), "two refusals may be two incidents");
    }

    #[test]
    fn a_service_that_is_not_exposed_leaves_the_interface_in_use() {
        let interfaces = Interfaces::default();
        let no_alarms: FacadeResult<()> = Err(StationError::InterfaceMissing {
            station: "http://st1".into(),
            needs: "alarms over oBIX",
            detail: "the oBIX lobby does not show it to this user".into(),
        }
        .into());
        interfaces.note(Interface::Obix, &no_alarms, Duration::ZERO);
        assert!(
            interfaces
                .missing(Interface::Obix, Duration::ZERO)
                .is_none()
        );
    }

    #[test]
    fn a_station_that_went_down_is_asked_afresh() {
        let interfaces = Interfaces::default();
        interfaces.note(Interface::Box, &missing(), Duration::ZERO);
        let down: FacadeResult<()> = Err(StationError::Unreachable {
            station: "s".into(),
            cause: "refused".into(),
        }
        .into());
        interfaces.note(Interface::Box, &down, Duration::ZERO);
        assert!(interfaces.missing(Interface::Box, Duration::ZERO).is_none());
    }
}
