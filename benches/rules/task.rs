//! A capability in a process of its own, whose memory holds nothing else.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use niagara_bridge::camber::run_config::RunConfigs;
use niagara_bridge::camber::{
    CallerPolicy, CapabilityRegistry, CapabilityResult, Watch, Workspace,
};
use niagara_bridge::trends::store::TrendStore;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

/// Set for the process that carries out one task: the task, as JSON.
pub const TASK: &str = "NIAGARA_BRIDGE_BENCH_TASK";

/// Longer than any call here.
const LONGEST: Duration = Duration::from_secs(3600);

/// One call, made several times.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Task {
    pub store: PathBuf,
    /// Those that the caller may see.
    pub facilities: Vec<String>,
    /// A run configuration of the caller.
    pub config: Option<PathBuf>,
    pub capability: String,
    pub arguments: Value,
    pub rounds: usize,
}

/// What a process found and took.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Measured {
    /// Of each round; none of them holds the start of the process.
    pub seconds: Vec<f64>,
    /// Most memory of the process in MiB; none where the system does not tell.
    pub peak: Option<f64>,
    /// The data of the last answer.
    pub data: Map<String, Value>,
}

impl Measured {
    /// The middle round.
    pub fn median(&self) -> f64 {
        let mut seconds = self.seconds.clone();
        seconds.sort_by(f64::total_cmp);
        seconds[seconds.len() / 2]
    }
}

impl Task {
    /// Measures in a process of its own.
    ///
    /// # Errors
    /// What the process said instead of figures.
    pub fn alone(&self) -> Result<Measured, String> {
        let mut program = Command::new(std::env::current_exe().expect("this program"));
        program.env(TASK, serde_json::to_string(self).expect("JSON"));
        observed(program)
    }

    /// What that process does.
    pub fn carry_out(&self) {
        let calls = Calls::over(&self.store, &self.facilities, self.config.as_deref());
        let mut seconds = Vec::new();
        let mut data = Map::new();
        for _ in 0..self.rounds {
            let begun = Instant::now();
            let answer = calls.call(&self.capability, &self.arguments);
            seconds.push(begun.elapsed().as_secs_f64());
            data = answer.data;
        }
        let measured = Measured {
            seconds,
            peak: peak_mebibytes(),
            data,
        };
        println!("{}", serde_json::to_string(&measured).expect("JSON"));
    }
}

/// Runs a program to its end and reads what it measured.
///
/// # Errors
/// What it said instead of figures.
pub fn observed(mut program: Command) -> Result<Measured, String> {
    let output = program.output().map_err(|error| error.to_string())?;
    serde_json::from_slice(&output.stdout).map_err(|error| {
        let told = String::from_utf8_lossy(&output.stderr);
        let last = told.lines().rfind(|line| !line.trim().is_empty());
        last.map_or_else(|| error.to_string(), str::to_owned)
    })
}

/// Calls over one store, on all cores, as `niagara-bridge camber` makes a single one.
struct Calls {
    registry: CapabilityRegistry,
    workspace: Workspace,
    policy: CallerPolicy,
}

impl Calls {
    fn over(store: &Path, facilities: &[String], config: Option<&Path>) -> Self {
        let store = Arc::new(TrendStore::open(store).expect("a store"));
        let mut workspace = Workspace::new(store).on_all_cores();
        if let Some(config) = config {
            let configs = RunConfigs::read(&[config.to_owned()]).expect("a configuration");
            workspace = workspace.with_run_configs(configs);
        }
        let mut policy = CallerPolicy::of(facilities);
        policy.caps.max_time = LONGEST;
        Self {
            registry: CapabilityRegistry::built_in().expect("a registry"),
            workspace,
            policy,
        }
    }

    fn call(&self, capability: &str, arguments: &Value) -> CapabilityResult {
        let watch = Watch::start(LONGEST, CancellationToken::new());
        self.registry
            .call(
                capability,
                arguments.clone(),
                &self.workspace,
                &self.policy,
                &watch,
            )
            .unwrap_or_else(|error| panic!("{capability}: {}", error.message))
    }
}

/// The most memory that this process had so far; Linux alone tells.
fn peak_mebibytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kibibytes: f64 = line.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes / 1024.0)
}
