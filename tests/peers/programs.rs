//! Where the foreign programs are, and how to run one to its end.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;
use tokio::process::Command;

/// The installed programs, or none when the run does not want them.
pub struct Peers {
    folder: PathBuf,
}

impl Peers {
    /// The programs, or none with a printed reason.
    pub fn find(test: &str) -> Option<Self> {
        match std::env::var_os("NIAGARA_BRIDGE_PEERS") {
            Some(folder) => Some(Self {
                folder: PathBuf::from(folder),
            }),
            None => {
                println!(
                    "{test}: skipped, NIAGARA_BRIDGE_PEERS names no folder with the foreign programs"
                );
                None
            }
        }
    }

    /// A Python of the environment `name`.
    pub fn python(&self, name: &str) -> Command {
        let environment = self.folder.join(name);
        let python = if cfg!(windows) {
            environment.join("Scripts").join("python.exe")
        } else {
            environment.join("bin").join("python")
        };
        assert!(
            python.exists(),
            "{} is missing: run .ci/run, which installs it",
            python.display()
        );
        Command::new(python)
    }

    /// Where answers of the reference are kept that take minutes.
    pub fn results(&self) -> PathBuf {
        self.folder.join("camber-results")
    }

    /// The packages of the conformance suite, with a Node that it runs on.
    pub fn conformance(&self) -> PathBuf {
        let packages = self.folder.join("conformance").join("node_modules");
        assert!(
            packages.exists(),
            "{} is missing: run .ci/run, which installs it",
            packages.display()
        );
        packages
    }

    /// Node with the folder of the installed packages in its environment.
    pub fn node(&self) -> Command {
        let mut node = Command::new("node");
        node.env("NIAGARA_BRIDGE_PEERS", &self.folder);
        node
    }
}

/// A script of this folder.
pub fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join("peers")
        .join("scripts")
        .join(name)
}

/// Runs a program to its end and reads the JSON object that it prints.
pub async fn observe(mut program: Command) -> Value {
    let output = program
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .expect("the program starts");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{:?} ended with {}\n{printed}\n{}",
        program.as_std().get_program(),
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_str(&printed)
        .unwrap_or_else(|error| panic!("not one JSON object ({error}): {printed}"))
}
