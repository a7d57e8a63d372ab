//! Plans that wait to be applied: each belongs to who made it, counts once, and for ten minutes.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::{Value, json};

use super::plan_operation::Operation;
use super::{Principal, ToolError};
use crate::clock::SharedClock;

/// How long a plan counts.
pub const PLAN_TIME: Duration = Duration::from_secs(600);

/// Most plans of one principal that wait; the oldest of them makes room, so that nobody pushes out those of others.
const MOST_PLANS: usize = 50;

/// An operation and what it found.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedOperation {
    pub operation: Operation,
    pub found: Value,
}

/// A plan of one principal.
#[derive(Debug, Clone, PartialEq)]
pub struct WritePlan {
    pub principal: Principal,
    pub operations: Vec<PlannedOperation>,
}

impl WritePlan {
    /// SHA-256 over the operations and what they found, in hex.
    pub fn digest(&self) -> String {
        let all: Vec<Value> = self
            .operations
            .iter()
            .map(|planned| json!([planned.operation.to_json(), planned.found]))
            .collect();
        hex(digest(&SHA256, Value::Array(all).to_string().as_bytes()).as_ref())
    }
}

struct Kept {
    plan: WritePlan,
    /// Reading of the monotonic clock.
    until: Duration,
}

/// All plans that wait.
pub struct PlanStore {
    clock: SharedClock,
    plans: Mutex<HashMap<String, Kept>>,
}

impl PlanStore {
    /// A store without plans.
    pub fn new(clock: SharedClock) -> Self {
        Self {
            clock,
            plans: Mutex::default(),
        }
    }

    /// Keeps a plan and gives its id.
    ///
    /// # Errors
    /// The machine has no random numbers.
    pub fn keep(&self, plan: WritePlan) -> Result<String, ToolError> {
        let mut bytes = [0; 12];
        SystemRandom::new().fill(&mut bytes).map_err(|_| {
            ToolError::internal("The system gives no random numbers, so no plan can be kept.")
        })?;
        let id = hex(&bytes);
        let now = self.clock.monotonic();
        let mut plans = self.plans();
        plans.retain(|_, kept| kept.until > now);
        let own = plans
            .iter()
            .filter(|(_, kept)| kept.plan.principal == plan.principal);
        if own.clone().count() >= MOST_PLANS {
            let oldest = own.min_by_key(|(_, kept)| kept.until);
            if let Some(id) = oldest.map(|(id, _)| id.clone()) {
                plans.remove(&id);
            }
        }
        let until = now.saturating_add(PLAN_TIME);
        plans.insert(id.clone(), Kept { plan, until });
        Ok(id)
    }

    /// A plan of this principal that still counts.
    pub fn look(&self, id: &str, principal: &Principal) -> Option<WritePlan> {
        let now = self.clock.monotonic();
        let plans = self.plans();
        let kept = plans.get(id).filter(|kept| kept.until > now)?;
        (kept.plan.principal == *principal).then(|| kept.plan.clone())
    }

    /// Uses a plan up; false when somebody has.
    pub fn take(&self, id: &str) -> bool {
        self.plans().remove(id).is_some()
    }

    fn plans(&self) -> MutexGuard<'_, HashMap<String, Kept>> {
        // The table is consistent between any two statements that change it.
        self.plans.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::clock::TestClock;

    fn plan(user: &str) -> WritePlan {
        let arguments = json!({"ord": "slot:/A", "slotName": "b", "value": 1});
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        WritePlan {
            principal: Principal::User { name: user.into() },
            operations: vec![PlannedOperation {
                operation: Operation::of("setSlot", arguments).expect("an operation"),
                found: json!(0),
            }],
        }
    }

    #[test]
    fn a_plan_counts_once_for_ten_minutes_and_for_its_maker() {
        let clock = Arc::new(TestClock::at("2026-11-02T10:00:00Z".parse().expect("time")));
        let store = PlanStore::new(clock.clone());
        let olga = plan("olga");
        let id = store.keep(olga.clone()).expect("kept");
        assert_eq!(store.look(&id, &olga.principal), Some(olga.clone()));
        assert_eq!(store.look(&id, &Principal::Service), None);
        assert_eq!(store.look("made up", &olga.principal), None);
        assert!(store.take(&id));
        assert!(!store.take(&id));
        let id = store.keep(olga.clone()).expect("kept");
        clock.advance(PLAN_TIME);
        assert_eq!(store.look(&id, &olga.principal), None);
        let mut other = olga.clone();
        other.operations[0].found = json!(1);
        assert_ne!(olga.digest(), other.digest());
    }

    #[test]
    fn many_plans_push_the_oldest_of_their_maker_out_and_none_of_others() {
        let clock = Arc::new(TestClock::at("2026-11-02T10:00:00Z".parse().expect("time")));
        let store = PlanStore::new(clock.clone());
        let other = store.keep(plan("maria")).expect("kept");
        let first = store.keep(plan("olga")).expect("kept");
        for _ in 0..MOST_PLANS {
            clock.advance(Duration::from_millis(1));
            store.keep(plan("olga")).expect("kept");
        }
        assert!(!store.take(&first));
        assert!(store.take(&other));
    }
}
