//! Points that are watched: one stream of changes, whichever interface tells them (oBIX specification §7;
//! Station web specification §4.4–4.6).
//!
//! - [`StationFacade::subscribe`] gives a [`Subscription`]; all subscriptions of an identity share one oBIX watch or
//!   one BOX server session, which ends with the last of them.
//! - `hub` keeps who wants what; `mailbox` what a subscriber has not taken yet; `driver` runs the one source:
//!   `watch`, else `box_session`, else `polling`.

mod box_session;
mod driver;
mod hub;
mod mailbox;
mod polling;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures::Stream;

pub(super) use self::hub::ChangeHub;
use self::hub::Membership;
use super::StationFacade;
use super::error::FacadeResult;
use super::view::PointValue;
use crate::station::error::StationError;
use crate::station::ord::Ord;
use crate::station::status::StatusBits;

/// Most points watched for one identity: what small controllers bear.
pub const MAX_WATCHED_POINTS: usize = 500;

/// The output of a point at a moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PointOutput {
    /// None for a null output.
    pub value: Option<PointValue>,
    /// Display text of `out`, `21.5 % {ok} @ 10`.
    pub text: Option<String>,
    pub status: Option<StatusBits>,
}

/// What a subscriber learns of a point: its output at first, then whenever it changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The ord as it was subscribed.
    pub ord: Ord,
    /// None for a null output, and while there is a [`problem`](Self::problem).
    pub value: Option<PointValue>,
    /// Display text of `out`.
    pub text: Option<String>,
    pub status: Option<StatusBits>,
    /// Bridge time of the observation.
    pub at: DateTime<Utc>,
    /// The watch was interrupted before this observation: changes in between may be missing.
    pub gap: bool,
    /// Why the point cannot be observed at present.
    pub problem: Option<String>,
}

/// How changes reach the bridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeRoute {
    /// An oBIX watch, polled for changes.
    ObixWatch,
    /// Subscriptions in the BOX server session, polled for changes.
    BoxSession,
    /// Reading all points again and again.
    Polling,
}

impl ChangeRoute {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::ObixWatch => "oBIX watch",
            Self::BoxSession => "BOX subscription",
            Self::Polling => "polling",
        }
    }
}

/// How often the station is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangePacing {
    /// Between polls of a watch: the vendor's advice for small controllers is 10 s or more (oBIX specification §7.4).
    pub watch: Duration,
    /// Between polls of the BOX session; browsers take 2.5 s (Station web specification §4.4).
    pub box_session: Duration,
    /// Between readings where the station offers neither.
    pub polling: Duration,
    /// Pause after a failure; doubles with each further one (oBIX specification §12).
    pub first_pause: Duration,
    /// The longest such pause.
    pub longest_pause: Duration,
    /// How long a route of second choice is used before the first is tried again.
    pub recheck: Duration,
}

impl Default for ChangePacing {
    fn default() -> Self {
        Self {
            watch: Duration::from_secs(10),
            box_session: Duration::from_millis(2500),
            polling: Duration::from_secs(10),
            first_pause: Duration::from_secs(10),
            longest_pause: Duration::from_secs(300),
            recheck: Duration::from_secs(600),
        }
    }
}

/// A set of watched points. Dropping it ends the watch; the station's resources go with the last one.
#[derive(Debug)]
pub struct Subscription {
    facade: Arc<StationFacade>,
    membership: Membership,
}

impl Subscription {
    /// The next change; none after the facade was closed.
    ///
    /// Changes that were not taken in time are merged: of each point only the latest state waits, with `gap` when
    /// any of them had it. Cancelling the wait loses nothing.
    pub async fn next(&mut self) -> Option<Change> {
        self.membership.mailbox().next().await
    }

    /// The same as a stream.
    pub fn into_stream(self) -> impl Stream<Item = Change> + Send {
        futures::stream::unfold(self, async |mut subscription| {
            let change = subscription.next().await?;
            Some((change, subscription))
        })
    }

    /// How changes come at present; none before the first answer of the station.
    pub fn route(&self) -> Option<ChangeRoute> {
        self.membership.hub().route()
    }

    /// Watches one more point; its state follows as a change. A point that is watched already stays as it is.
    ///
    /// # Errors
    /// [`StationError::InvalidInput`] beyond [`MAX_WATCHED_POINTS`] of the identity.
    pub fn add(&self, ord: &Ord) -> FacadeResult<()> {
        self.membership.add(std::slice::from_ref(ord))?;
        self.facade.changes.drive(&self.facade);
        Ok(())
    }

    /// Watches a point no longer; what waits of it is dropped.
    pub fn remove(&self, ord: &Ord) {
        self.membership.remove(ord);
    }
}

impl StationFacade {
    /// Watches control points: the present output of each follows as its first change, or the reason why it cannot be
    /// read. Needs a runtime; the station is asked in the background.
    ///
    /// The route is oBIX watch, else BOX subscription, else polling.
    ///
    /// # Errors
    /// [`StationError::InvalidInput`] for an ord that is no component, and beyond [`MAX_WATCHED_POINTS`] points of
    /// this identity.
    pub fn subscribe(self: &Arc<Self>, ords: &[Ord]) -> FacadeResult<Subscription> {
        let membership = Membership::join(&self.changes, ords)?;
        self.changes.drive(self);
        Ok(Subscription {
            facade: Arc::clone(self),
            membership,
        })
    }

    /// The same facade with another pace of asking for changes.
    pub fn with_change_pacing(mut self, pacing: ChangePacing) -> Self {
        self.changes = Arc::new(ChangeHub::new(pacing));
        self
    }

    /// How changes reach the bridge at present; none without a subscription.
    pub fn change_route(&self) -> Option<ChangeRoute> {
        self.changes.route()
    }

    /// How many points are watched.
    pub fn watched_points(&self) -> usize {
        self.changes.watched()
    }
}

fn not_watchable(ord: &Ord) -> StationError {
    StationError::InvalidInput {
        what: "the ord to watch",
        detail: format!("{ord} names no component; give the ord of a control point"),
    }
}
