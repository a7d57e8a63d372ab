//! What all calls of a process share: the store, run configurations, and the places that no answer may name.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use super::redaction::PathRedactor;
use super::run_config::RunConfigs;
use super::token::sha256;
use crate::trends::store::TrendStore;

/// Ords of the stored points of one facility.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PointOrds {
    ords: BTreeMap<(String, String), String>,
    digest: String,
}

impl PointOrds {
    /// By equipment and role.
    pub fn new(ords: BTreeMap<(String, String), String>) -> Self {
        let mut text = String::new();
        for ((equip, role), ord) in &ords {
            text.push_str(&format!("{equip}\t{role}\t{ord}\n"));
        }
        let digest = sha256(text.as_bytes());
        Self { ords, digest }
    }

    /// The ord of a point.
    pub fn ord(&self, equip: &str, role: &str) -> Option<&str> {
        self.ords
            .get(&(equip.to_owned(), role.to_owned()))
            .map(String::as_str)
    }

    /// Changes with the content; part of the call token, since rows carry ords.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.ords.is_empty()
    }
}

/// Knows which station point a stored point is.
pub trait PointDirectory: Send + Sync {
    /// The facility whose points the site model describes; none when that is unclear.
    fn facility(&self) -> Option<String>;

    /// The points of a facility, as the site model has them now.
    fn ords(&self, facility: &str) -> Arc<PointOrds>;
}

/// What all calls share.
pub struct Workspace {
    pub store: Arc<TrendStore>,
    pub run_configs: RunConfigs,
    pub redactor: PathRedactor,
    pub points: Option<Arc<dyn PointDirectory>>,
    /// Threads of one call.
    pub threads: NonZeroUsize,
}

impl Workspace {
    /// Over a store, without run configurations.
    pub fn new(store: Arc<TrendStore>) -> Self {
        let mut redactor = PathRedactor::of_this_process();
        redactor.add(store.root());
        Self {
            store,
            run_configs: RunConfigs::default(),
            redactor,
            points: None,
            threads: analysis_threads(),
        }
    }

    /// For a process that answers one call and serves nobody beside: no core is left to others.
    pub fn on_all_cores(mut self) -> Self {
        self.threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        self
    }

    /// With the run configurations of callers.
    pub fn with_run_configs(mut self, run_configs: RunConfigs) -> Self {
        for path in run_configs.places() {
            self.redactor.add(&path);
        }
        self.run_configs = run_configs;
        self
    }

    /// With the station's names of stored points.
    pub fn with_points(mut self, points: Arc<dyn PointDirectory>) -> Self {
        self.points = Some(points);
        self
    }
}

/// One core is left to the station's tools.
pub fn analysis_threads() -> NonZeroUsize {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    NonZeroUsize::new(cores.saturating_sub(1)).unwrap_or(NonZeroUsize::MIN)
}
