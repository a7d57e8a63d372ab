//! Which interfaces this station offers to this identity: noticed in passing, remembered for a while, asked again later.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::error::{FacadeError, FacadeResult};
use crate::station::error::{AuthCause, StationError};

/// How long a missing interface is believed missing before it is tried again.
const RECHECK: Duration = Duration::from_secs(60);
/// The same for one that was never seen working, by the tries so far: the station may still be starting up. And for one
/// that refuses the login, which may be the mistake of a moment.
const FIRST_RECHECKS: [Duration; 3] = [
    Duration::from_secs(2),
    Duration::from_secs(5),
    Duration::from_secs(15),
];
/// The same when no interface is left.
const NONE_LEFT: Duration = Duration::from_secs(2);
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
    /// The station was too busy to answer since the interface last worked.
    was_busy: bool,
    refused: Option<Refused>,
}

/// Refusals since the interface last worked.
#[derive(Debug)]
struct Refused {
    first: Duration,
    last: Duration,
    times: u32,
    /// Tries that began after the pause of the one before; refusals that come together are one try.
    tries: usize,
    /// Another interface has recovered since, so this one may have too.
    is_doubtful: bool,
    error: Box<StationError>,
}

impl Refused {
    /// A login that is not accepted here is not tried over and over within one call: each try may cost a session.
    fn is_of_login(&self) -> bool {
        matches!(*self.error, StationError::Auth { .. })
    }

    fn pause(&self, has_worked: bool) -> Duration {
        if has_worked && !self.is_of_login() {
            return RECHECK;
        }
        let at = self.tries.saturating_sub(1);
        FIRST_RECHECKS.get(at).copied().unwrap_or(RECHECK)
    }

    fn is_resting(&self, has_worked: bool, now: Duration) -> bool {
        !self.is_doubtful && now.saturating_sub(self.last) < self.pause(has_worked)
    }
}

impl State {
    /// Why the interface is believed missing.
    fn missing(&self, now: Duration) -> Option<&StationError> {
        let refused = self.refused.as_ref()?;
        let is_lasting = !self.has_worked
            || refused.is_of_login()
            || (refused.times >= LASTING_REFUSALS
                && refused.last.saturating_sub(refused.first) >= LASTING_TIME);
        (is_lasting && refused.is_resting(self.has_worked, now)).then_some(&refused.error)
    }

    fn note_refusal(&mut self, error: &StationError, now: Duration) {
        let error = Box::new(error.clone());
        match &mut self.refused {
            Some(refused) => {
                if !refused.is_resting(self.has_worked, now) {
                    refused.tries = refused.tries.saturating_add(1);
                }
                refused.last = now;
                refused.times = refused.times.saturating_add(1);
                refused.is_doubtful = false;
                refused.error = error;
            }
            None => {
                self.refused = Some(Refused {
                    first: now,
                    last: now,
                    times: 1,
                    tries: 1,
                    is_doubtful: false,
                    error,
                });
            }
        }
    }

    /// Whether the interface has just come back.
    fn note_success(&mut self) -> bool {
        self.has_worked = true;
        let was_busy = std::mem::take(&mut self.was_busy);
        self.refused.take().is_some() || was_busy
    }

    /// What refused before is asked again at once. A login that is not accepted here costs no new session each time: the
    /// web session remembers that by itself.
    fn doubt(&mut self) {
        if let Some(refused) = &mut self.refused {
            refused.is_doubtful = true;
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
        // A station with none of them is in trouble rather than built so: it is asked again soon.
        let last = states
            .iter()
            .map(|state| state.missing(now).and(state.refused.as_ref()));
        if let Some(last) = last
            .map(|refused| Some(refused?.last))
            .collect::<Option<Vec<_>>>()
            && last
                .iter()
                .all(|last| now.saturating_sub(*last) >= NONE_LEFT)
        {
            return None;
        }
        Some(error.clone().into())
    }

    /// Somebody wants to know what is offered now: every interface is asked, whatever was remembered.
    pub(super) fn doubt_all(&self) {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        states.iter_mut().for_each(State::doubt);
    }

    /// Learns from the outcome of an operation.
    pub(super) fn note<T>(&self, interface: Interface, outcome: &FacadeResult<T>, now: Duration) {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(state) = states.get_mut(interface as usize) else {
            return;
        };
        match outcome {
            Ok(_) => {
                if state.note_success() {
                    states.iter_mut().for_each(State::doubt);
                }
            }
            Err(FacadeError::Station(error)) if is_whole_interface(error) => {
                let was_missing = state.missing(now).is_some();
                state.note_refusal(error, now);
                if !was_missing && state.missing(now).is_some() {
                    tracing::warn!(?interface, %error, "this station does not offer an interface; others are used instead");
                }
            }
            // A station that is down may come back with other interfaces.
            Err(FacadeError::Station(
                StationError::Unreachable { .. } | StationError::Cut { .. },
            )) => state.refused = None,
            Err(FacadeError::Station(StationError::Busy { .. })) => state.was_busy = true,
            Err(_) => {}
        }
    }

    /// The station was gone and is back: every interface is asked again at once.
    pub(super) fn station_is_back(&self) {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        states.iter_mut().for_each(|state| state.refused = None);
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
    fn an_interface_never_seen_working_is_asked_again_after_growing_pauses() {
        let interfaces = Interfaces::default();
        let at = Duration::from_secs;
        let is_missing = |now| interfaces.missing(Interface::Box, at(now)).is_some();
        assert!(!is_missing(0));
        let mut now = 10;
        for pause in [2, 5, 15, 60, 60] {
            interfaces.note(Interface::Box, &missing(), at(now));
            interfaces.note(Interface::Box, &missing(), at(now));
            assert!(
                is_missing(now + pause - 1),
                "{pause} s: refusals that come together are one"
            );
            assert!(interfaces.missing(Interface::Obix, at(now)).is_none());
            assert!(!is_missing(now + pause), "{pause} s");
            now += pause;
        }
        interfaces.note(Interface::Box, &Ok(()), at(now));
        assert!(!is_missing(now + 1));
    }

    #[test]
    fn an_interface_is_asked_at_once_when_another_has_come_back() {
        let interfaces = Interfaces::default();
        let at = Duration::from_secs;
        let is_missing = |now| interfaces.missing(Interface::Box, at(now)).is_some();
        interfaces.note(Interface::Box, &missing(), at(0));
        interfaces.note(Interface::Bql, &missing(), at(0));
        interfaces.note(Interface::Obix, &Ok(()), at(1));
        assert!(is_missing(1), "oBIX worked all the time");
        interfaces.note(Interface::Bql, &Ok(()), at(1));
        assert!(!is_missing(1));
        interfaces.note(Interface::Box, &missing(), at(1));
        interfaces.note(Interface::Bql, &Ok(()), at(2));
        assert!(
            is_missing(5),
            "BQL came back once, and the second pause is 5 s"
        );
        assert!(!is_missing(6));
    }

    #[test]
    fn a_station_that_was_busy_or_gone_is_asked_afresh_when_it_answers() {
        let interfaces = Interfaces::default();
        let busy: FacadeResult<()> = Err(StationError::Busy {
            station: "http://st1".into(),
            status: 503,
        }
        .into());
        interfaces.note(Interface::Box, &missing(), Duration::ZERO);
        interfaces.note(Interface::Obix, &busy, Duration::ZERO);
        assert!(interfaces.missing(Interface::Box, Duration::ZERO).is_some());
        interfaces.note(Interface::Obix, &Ok(()), Duration::ZERO);
        assert!(interfaces.missing(Interface::Box, Duration::ZERO).is_none());
        interfaces.note(Interface::Box, &missing(), Duration::ZERO);
        interfaces.station_is_back();
        assert!(interfaces.missing(Interface::Box, Duration::ZERO).is_none());
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
    fn a_login_that_one_interface_refuses_is_tried_again_soon() {
        let interfaces = Interfaces::default();
        let at = Duration::from_secs;
        let refused: FacadeResult<()> = Err(StationError::Auth {
            station: "http://st1".into(),
            user: "bridge".into(),
            cause: AuthCause::InterfaceRefuses,
            detail: "/obix: HTTP 401".into(),
        }
        .into());
        let is_missing = |now| interfaces.missing(Interface::Obix, at(now)).is_some();
        interfaces.note(Interface::Obix, &Ok(()), at(0));
        let mut now = 10;
        for pause in [2, 5, 15, 60] {
            interfaces.note(Interface::Obix, &refused, at(now));
            assert!(is_missing(now + pause - 1), "{pause} s");
            assert!(!is_missing(now + pause), "{pause} s");
            now += pause;
        }
        interfaces.note(Interface::Obix, &refused, at(now));
        assert!(is_missing(now + 1));
        interfaces.doubt_all();
        assert!(
            !is_missing(now + 1),
            "whoever asks for the state gets the present one"
        );
    }

    #[test]
    fn a_station_without_any_interface_is_asked_again_soon() {
        let interfaces = Interfaces::default();
        let at = Duration::from_secs;
        let all = [Interface::Bql, Interface::Box, Interface::Obix];
        for now in [0, 5, 11] {
            for interface in all {
                if now == 0 {
                    interfaces.note(interface, &Ok(()), at(now));
                }
                interfaces.note(interface, &missing(), at(now));
            }
        }
        assert!(
            all.iter()
                .all(|one| interfaces.missing(*one, at(12)).is_some())
        );
        assert!(
            all.iter()
                .all(|one| interfaces.missing(*one, at(13)).is_none())
        );
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
