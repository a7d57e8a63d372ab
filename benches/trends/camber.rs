//! The same coverage asked of CAMBER, in its own process, without its start.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use niagara_bridge::trends::store::FacilityId;
use serde_json::Value;

/// What CAMBER found, and how long the call took.
pub struct Answer {
    pub coverage: f64,
    pub took: Duration,
}

/// The Python with CAMBER, where `.ci/run` has put it.
pub fn python() -> Option<PathBuf> {
    let environment = PathBuf::from(std::env::var_os("NIAGARA_BRIDGE_PEERS")?).join("camber");
    let python = if cfg!(windows) {
        environment.join("Scripts").join("python.exe")
    } else {
        environment.join("bin").join("python")
    };
    python.exists().then_some(python)
}

/// The middle one of some calls.
pub fn coverage(
    python: &Path,
    store: &Path,
    facility: &FacilityId,
    equips: &BTreeSet<String>,
    rounds: usize,
) -> Answer {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/trends/camber_coverage.py");
    let output = Command::new(python)
        .arg(script)
        .arg(store)
        .arg(facility.as_str())
        .arg(rounds.to_string())
        .args(equips)
        .output()
        .expect("it runs");
    let printed: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    Answer {
        coverage: printed["coverage"].as_f64().expect("a share"),
        took: Duration::from_secs_f64(printed["seconds"].as_f64().expect("seconds")),
    }
}
