//! The capability `coverage` over a stored facility, as callers ask for it.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use niagara_bridge::camber::{CallerPolicy, CapabilityRegistry, Watch, Workspace};
use niagara_bridge::trends::store::{FacilityId, TrendStore};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Set for the process that measures one coverage: the store, which it opens for the first time.
pub const STORE: &str = "NIAGARA_BRIDGE_BENCH_STORE";

/// Longer than any call here.
const LONGEST: Duration = Duration::from_secs(3600);

/// What was found.
pub struct Found {
    pub points: usize,
    /// Mean over all points, four decimals.
    pub coverage: f64,
}

/// Calls over one store.
pub struct Caller {
    registry: CapabilityRegistry,
    workspace: Workspace,
    policy: CallerPolicy,
    facility: FacilityId,
}

impl Caller {
    /// As `niagara-bridge camber` answers a single call: on all cores.
    pub fn of(store: TrendStore, facility: &FacilityId) -> Self {
        let mut policy = CallerPolicy::of([facility.as_str()]);
        policy.caps.max_time = LONGEST;
        Self {
            registry: CapabilityRegistry::built_in().expect("a registry"),
            workspace: Workspace::new(Arc::new(store)).on_all_cores(),
            policy,
            facility: facility.clone(),
        }
    }

    /// The coverage of the facility, or of some of its equipment.
    pub fn coverage(&self, equips: Option<&BTreeSet<String>>) -> Found {
        let mut arguments = json!({"facility_id": self.facility.as_str()});
        if let Some(equips) = equips {
            arguments["equips"] = json!(equips);
        }
        let watch = Watch::start(LONGEST, CancellationToken::new());
        let answer = self
            .registry
            .call("coverage", arguments, &self.workspace, &self.policy, &watch)
            .expect("an answer");
        let count = answer.data["n_points"].as_u64().expect("a count");
        Found {
            points: usize::try_from(count).expect("few"),
            coverage: answer.data["coverage"].as_f64().expect("a share"),
        }
    }
}

/// What a process of its own took for the first coverage after its start, and for the next.
pub struct Alone {
    pub first: Duration,
    pub again: Duration,
    /// Most memory of the process, in MB; none where the system does not tell.
    pub peak: Option<f64>,
}

/// Measures in a process of its own, whose memory holds nothing else.
pub fn alone(store: &Path) -> Alone {
    let output = Command::new(std::env::current_exe().expect("this program"))
        .env(STORE, store)
        .output()
        .expect("it runs");
    let printed: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    let seconds = |name: &str| Duration::from_secs_f64(printed[name].as_f64().expect("seconds"));
    Alone {
        first: seconds("first"),
        again: seconds("again"),
        peak: printed["peak"].as_f64(),
    }
}

/// What that process does.
pub fn measure_alone(store: &Path, facility: &FacilityId) {
    let caller = Caller::of(TrendStore::open(store).expect("a store"), facility);
    let seconds = || {
        let begun = Instant::now();
        caller.coverage(None);
        begun.elapsed().as_secs_f64()
    };
    let (first, again) = (seconds(), seconds());
    println!(
        "{}",
        json!({"first": first, "again": again, "peak": peak_megabytes()})
    );
}

/// The most memory that this process had so far; Linux alone tells.
fn peak_megabytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: f64 = line.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes / 1024.0)
}
