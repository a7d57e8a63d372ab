//! Switches that tools ask at every call, because they change while the bridge runs.

use std::sync::{Arc, PoisonError, RwLock};

use super::Config;
use super::camber::CamberRules;
use super::writes::WriteRules;

/// What is allowed at present.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Policy {
    /// `writes`: what people may change on the station through the bridge.
    pub writes: WriteRules,
    /// `knowledge.readOnly`: the knowledge file is not changed.
    pub knowledge_read_only: bool,
    /// `camber`: what callers may see of stored trends.
    pub camber: CamberRules,
}

impl Policy {
    /// The policy of a configuration.
    pub fn of(config: &Config) -> Self {
        Self {
            writes: config.writes.clone(),
            knowledge_read_only: config.knowledge_read_only,
            camber: config.camber.clone(),
        }
    }
}

/// The policy of a running bridge, shared by all its tools.
#[derive(Debug, Clone, Default)]
pub struct SharedPolicy(Arc<RwLock<Arc<Policy>>>);

impl SharedPolicy {
    /// Begins with `policy`.
    pub fn new(policy: Policy) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(policy))))
    }

    /// What is allowed now; ask again for the next call.
    pub fn current(&self) -> Arc<Policy> {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Allows this from now on.
    pub fn replace(&self, policy: Policy) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(policy);
    }
}
