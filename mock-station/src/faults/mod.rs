//! The fault switchboard: what goes wrong on purpose, where, how often.
//!
//! - [`Fault`], [`FaultKind`]: what goes wrong; limited to an [`Interface`], to a number of requests, to chance.
//! - [`Switchboard`]: the faults that are set, and which of them fired.
//! - `plan`: what the fired faults do to one request; `delivery`: how a damaged answer leaves.
//!
//! [`crate::switches::FaultSwitches`] remains for faults that simply hold for the whole web tier.

mod chance;
pub(crate) mod delivery;
mod interface;
mod kind;
pub(crate) mod plan;

use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::server::Log;
use chance::Chance;

pub use interface::Interface;
pub use kind::{FaultError, FaultKind};

/// One fault with its limits.
///
/// ```
/// use mock_station::faults::{Fault, FaultKind, Interface};
/// let fault = Fault::new(FaultKind::Cut).on(Interface::Obix).requests(3).chance(0.5, 7);
/// assert_eq!(fault.requests, Some(3));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Fault {
    pub fault: FaultKind,
    #[serde(default)]
    pub interface: Interface,
    /// Whether it meets only requests that ask for a change: BOX messages that do, oBIX writes and invocations.
    #[serde(default)]
    pub writes_only: bool,
    /// Matching requests that pass unharmed before the fault begins.
    #[serde(default)]
    pub after: u32,
    /// Matching requests after which the fault is over; none = until cleared. A restart and a clock jump happen once
    /// unless told otherwise.
    #[serde(default)]
    pub requests: Option<u32>,
    /// Chance of each matching request to be hit, 0 to 1.
    #[serde(default = "certain")]
    pub probability: f64,
    /// Seed of that chance: the same seed hits the same requests.
    #[serde(default)]
    pub seed: u64,
}

fn certain() -> f64 {
    1.0
}

impl Fault {
    /// A fault on every interface that lasts until cleared.
    pub fn new(kind: FaultKind) -> Self {
        Self {
            fault: kind,
            interface: Interface::All,
            writes_only: false,
            after: 0,
            requests: None,
            probability: certain(),
            seed: 0,
        }
    }

    /// Limits it to one interface.
    pub fn on(mut self, interface: Interface) -> Self {
        self.interface = interface;
        self
    }

    /// Limits it to requests that ask for a change.
    pub fn on_writes(mut self) -> Self {
        self.writes_only = true;
        self
    }

    /// Limits it to the next `count` matching requests, whether chance hits them or not.
    pub fn requests(mut self, count: u32) -> Self {
        self.requests = Some(count);
        self
    }

    /// Lets `count` matching requests pass first.
    pub fn after(mut self, count: u32) -> Self {
        self.after = count;
        self
    }

    /// Hits each matching request with this probability, in an order that the seed decides.
    pub fn chance(mut self, probability: f64, seed: u64) -> Self {
        self.probability = probability;
        self.seed = seed;
        self
    }
}

/// Names a set fault until it is cleared or used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FaultId(pub u64);

/// A fault that is set, with what is left of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SetFault {
    pub id: FaultId,
    /// `after` and `requests` count down.
    #[serde(flatten)]
    pub fault: Fault,
}

/// A fault that hit a request.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FiredFault {
    pub time: DateTime<Utc>,
    pub id: FaultId,
    pub fault: FaultKind,
    pub interface: Interface,
    pub method: String,
    /// Path and query, secrets masked.
    pub target: String,
}

/// The faults of a running station; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Switchboard {
    board: Arc<Mutex<Board>>,
    fired: Log<FiredFault>,
}

#[derive(Debug, Default)]
struct Board {
    last_id: u64,
    faults: Vec<Armed>,
}

#[derive(Debug)]
struct Armed {
    set: SetFault,
    chance: Chance,
}

/// The request a fault may hit.
#[derive(Clone, Debug)]
pub(crate) struct Occasion {
    pub time: DateTime<Utc>,
    pub interface: Interface,
    /// Whether it asks for a change.
    pub writes: bool,
    pub method: String,
    pub target: String,
}

impl Switchboard {
    /// Sets a fault; the next matching request meets it. Several faults can hit one request.
    ///
    /// # Errors
    /// When a number of the fault is out of its range.
    pub fn set(&self, fault: Fault) -> Result<FaultId, FaultError> {
        let mut fault = fault;
        kind::check(&fault)?;
        if fault.fault.is_event() && fault.requests.is_none() {
            fault.requests = Some(1);
        }
        let mut board = self.lock();
        board.last_id += 1;
        let id = FaultId(board.last_id);
        let chance = Chance::new(fault.seed);
        let set = SetFault { id, fault };
        board.faults.push(Armed { set, chance });
        Ok(id)
    }

    /// Ends a fault; false when it is unknown or already used up.
    pub fn clear(&self, id: FaultId) -> bool {
        let mut board = self.lock();
        let before = board.faults.len();
        board.faults.retain(|armed| armed.set.id != id);
        board.faults.len() < before
    }

    /// Ends all faults.
    pub fn clear_all(&self) {
        self.lock().faults.clear();
    }

    /// The faults that are set and not used up, oldest first.
    pub fn list(&self) -> Vec<SetFault> {
        self.lock()
            .faults
            .iter()
            .map(|armed| armed.set.clone())
            .collect()
    }

    /// Which faults hit which requests, oldest first.
    pub fn fired(&self) -> Vec<FiredFault> {
        self.fired.entries()
    }

    /// Forgets what has fired so far.
    pub fn clear_fired(&self) {
        self.fired.clear();
    }

    /// The faults that hit this request, in the order they were set; counts them down.
    pub(crate) fn draw(&self, occasion: &Occasion) -> Vec<FaultKind> {
        let mut board = self.lock();
        let mut hits = Vec::new();
        for armed in &mut board.faults {
            if armed.hits(occasion) {
                hits.push((armed.set.id, armed.set.fault.fault.clone()));
            }
        }
        board
            .faults
            .retain(|armed| armed.set.fault.requests != Some(0));
        drop(board);
        for (id, kind) in &hits {
            self.fired.push(FiredFault {
                time: occasion.time,
                id: *id,
                fault: kind.clone(),
                interface: occasion.interface,
                method: occasion.method.clone(),
                target: occasion.target.clone(),
            });
        }
        hits.into_iter().map(|(_, kind)| kind).collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Armed {
    fn hits(&mut self, occasion: &Occasion) -> bool {
        let interface = occasion.interface;
        let fault = &mut self.set.fault;
        if !fault.interface.covers(interface) || !fault.fault.home().covers(interface) {
            return false;
        }
        if fault.writes_only && !occasion.writes {
            return false;
        }
        if fault.after > 0 {
            fault.after -= 1;
            return false;
        }
        if let Some(left) = &mut fault.requests {
            if *left == 0 {
                return false;
            }
            *left -= 1;
        }
        self.chance.happens(fault.probability)
    }
}

#[cfg(test)]
mod tests;
