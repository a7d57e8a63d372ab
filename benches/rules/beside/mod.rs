//! Capabilities beside CAMBER's: the same call over the same store, each in a process of its own.
//!
//! Neither the start of a process counts, nor what it loads for its first call: the middle one of several calls does, and
//! CAMBER loads parts of itself in the first one. Neither side keeps answers from one call to the next.

mod cases;
mod projects;

use std::path::{Path, PathBuf};
use std::process::Command;

use niagara_bridge::camber::CapabilityRegistry;
use serde_json::{Map, Value};

use super::table::Table;
use super::task::{Measured, Task, observed};

/// A capability that both have.
struct Case {
    /// What it is asked of, where the capability alone does not tell.
    of: &'static str,
    /// How many times faster it should be (issues "Analytic engine" and "Drift, RCx report, M&V summary", acceptance).
    least_ratio: f64,
    /// What both should find alike, and how an answer tells it.
    found: &'static str,
    same: fn(&Map<String, Value>) -> Value,
    task: Task,
    /// What we are asked beside, so that the answer holds all rows: CAMBER 0.110 has no pages.
    whole: Value,
}

impl Case {
    fn our_task(&self) -> Task {
        let mut task = self.task.clone();
        for (key, value) in self.whole.as_object().into_iter().flatten() {
            task.arguments[key] = value.clone();
        }
        task
    }

    fn name(&self) -> String {
        match self.of {
            "" => self.task.capability.clone(),
            of => format!("{} of {of}", self.task.capability),
        }
    }
}

/// Where CAMBER is, once `.ci/run` has put it there.
fn python() -> Option<PathBuf> {
    let environment = PathBuf::from(std::env::var_os("NIAGARA_BRIDGE_PEERS")?).join("camber");
    let python = if cfg!(windows) {
        environment.join("Scripts").join("python.exe")
    } else {
        environment.join("bin").join("python")
    };
    python.exists().then_some(python)
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/rules/camber_calls.py")
}

/// Measures every capability, or those that are named.
pub fn measure(table: &mut Table, named: &[String]) {
    let Some(python) = python() else {
        eprintln!("CAMBER: left out, NIAGARA_BRIDGE_PEERS names no folder with it");
        return;
    };
    let registry = CapabilityRegistry::built_in().expect("a registry");
    let is_wanted = |name: &str| {
        let of_capabilities = named.iter().any(|name| registry.has(name));
        !of_capabilities || named.iter().any(|own| own == name)
    };
    let folder = tempfile::tempdir().expect("a folder");
    for case in cases::all(&python, folder.path()) {
        if !is_wanted(&case.task.capability) {
            continue;
        }
        let name = case.name();
        // One refused call leaves the figures of the others.
        match (case.our_task().alone(), their_call(&python, &case.task)) {
            (Ok(ours), Ok(theirs)) => tell(table, &name, &case, &ours, &theirs),
            (Err(problem), _) => table.row(&name, format!("ours failed: {problem}")),
            (_, Err(problem)) => table.row(&name, format!("CAMBER failed: {problem}")),
        }
    }
}

/// Times are compared only where both answers hold the same.
fn tell(table: &mut Table, name: &str, case: &Case, ours: &Measured, theirs: &Measured) {
    let (our, their) = ((case.same)(&ours.data), (case.same)(&theirs.data));
    table.seconds(&format!("{name}, CAMBER"), theirs.median(), "");
    table.seconds(&format!("{name}, ours"), ours.median(), "");
    if our != their || our.is_null() {
        let differ = format!("ours {our}, CAMBER's {their}: times are not compared");
        return table.row(&format!("{name}, {}", case.found), differ);
    }
    table.row(
        &format!("{name}, {}", case.found),
        format!("{our} on both sides"),
    );
    table.row(
        &format!("{name}, CAMBER's time to ours"),
        format!(
            "{:.0} (target {:.0} or more)",
            theirs.median() / ours.median(),
            case.least_ratio
        ),
    );
    if let (Some(our), Some(their)) = (ours.peak, theirs.peak) {
        table.row(
            &format!("{name}, most memory of the processes"),
            format!(
                "ours {our:.0} MiB, CAMBER's {their:.0} MiB, share {:.2} (target 0.5 or less)",
                our / their
            ),
        );
    }
}

fn their_call(python: &Path, task: &Task) -> Result<Measured, String> {
    let mut program = Command::new(python);
    program
        .arg(script())
        .arg("call")
        .arg(serde_json::to_string(task).expect("JSON"));
    observed(program)
}
