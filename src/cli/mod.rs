//! The commands.
//!
//! - [`arguments`]: what can be typed.
//! - [`assembly`]: configuration → a bridge that can be served; [`metric_sources`]: what its parts tell the metrics.
//! - [`demo`], [`serve`], [`relay`], [`init`], [`user`], [`probe`], [`audit`], [`store`], [`ingest`], [`trends`],
//!   [`camber`] with [`init_run_config`], [`report`], [`rules`], [`docs`]: one file per command.
//! - [`ingest_schedule`]: ingest in the background of a bridge that serves.
//! - [`reload`]: a changed configuration file, applied to the bridge that runs.
//! - [`output`], [`logging`], [`shutdown`]: what is printed, log lines, signals.
//! - [`data_folder`], [`knowledge_lock`]: the locks of the data folder and of the knowledge file.
//!
//! Results go to standard output, everything else to standard error. Exit codes: 0 done, 1 failed, 2 wrong usage,
//! 130 interrupted.

pub mod arguments;
pub mod assembly;
pub mod audit;
pub mod camber;
pub mod data_folder;
pub mod demo;
pub mod docs;
pub mod ingest;
pub mod ingest_schedule;
pub mod init;
pub mod init_run_config;
pub mod knowledge_lock;
pub mod logging;
pub mod metric_sources;
pub mod output;
pub mod probe;
pub mod process_lock;
pub mod relay;
pub mod reload;
pub mod report;
pub mod rules;
pub mod serve;
pub mod shutdown;
pub mod store;
pub mod trends;
pub mod user;

use std::process::ExitCode;

use clap::Parser;

use self::arguments::{Arguments, Command};
use self::shutdown::Ending;

/// Exit code after an interrupt by the user: 128 + SIGINT.
const INTERRUPTED: u8 = 130;

/// Runs the command that was typed.
pub fn main() -> ExitCode {
    forbid_core_dumps();
    logging::report_panics();
    // clap itself ends the process with 2 on wrong usage and with 0 on --help.
    let arguments = Arguments::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            output::say(&format!(
                "niagara-bridge: the program cannot start: {error}."
            ));
            return ExitCode::FAILURE;
        }
    };
    let outcome = runtime.block_on(run(arguments));
    // A blocked read of standard input must not hold the end up.
    runtime.shutdown_background();
    match outcome {
        Ok(Ending::Finished) => ExitCode::SUCCESS,
        Ok(Ending::Interrupted) => ExitCode::from(INTERRUPTED),
        Err(error) => {
            output::say(&format!("niagara-bridge: {}", sentence(&error)));
            ExitCode::FAILURE
        }
    }
}

/// A core dump would hold tokens and passwords. Windows writes none unless the administrator asks for them.
fn forbid_core_dumps() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, setrlimit};
        let none = Rlimit {
            current: Some(0),
            maximum: Some(0),
        };
        if let Err(error) = setrlimit(Resource::Core, none) {
            output::say(&format!(
                "niagara-bridge: core dumps cannot be switched off: {error}."
            ));
        }
    }
}

async fn run(arguments: Arguments) -> anyhow::Result<Ending> {
    match arguments.command {
        Command::Demo(options) => demo::run(options, &arguments.logging).await,
        Command::Serve(options) => serve::run(options, &arguments.logging).await,
        Command::Stdio(options) => relay::run(options, &arguments.logging).await,
        Command::Init(options) => init::run(&options),
        Command::User(options) => user::run(options, &arguments.logging).await,
        Command::Probe(options) => probe::run(&options, &arguments.logging).await,
        Command::Audit(options) => audit::run(&options),
        Command::Store(options) => store::run(&options, &arguments.logging),
        Command::Trends(options) => trends::run(&options),
        Command::Ingest(options) => Box::pin(ingest::run(options, &arguments.logging)).await,
        Command::Camber(options) => camber::run(options, &arguments.logging).await,
        Command::Report(options) => Box::pin(report::run(options, &arguments.logging)).await,
        Command::Rules(options) => rules::run(&options),
        Command::Docs(options) => docs::run(&options),
    }
}

/// An error and its causes, each said once, as one sentence.
fn sentence(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        if text.contains(&cause) {
            continue;
        }
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&cause);
    }
    if !text.ends_with(['.', '!', '?']) {
        text.push('.');
    }
    text
}
