//! Log lines on standard error.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use super::arguments::{LogFormat, LogLevel, LogOptions};
use crate::config;

/// The level of the log of this process, changeable while it runs.
pub struct LogSwitch {
    set: Option<Box<dyn Fn(EnvFilter) + Send>>,
}

impl LogSwitch {
    /// A switch without effect: the level was chosen on the command line, or logging runs already.
    pub fn fixed() -> Self {
        Self { set: None }
    }

    /// Logs at this level from now on.
    pub fn set(&self, level: &str) {
        if let Some(set) = &self.set {
            set(filter(level));
        }
    }
}

fn filter(level: &str) -> EnvFilter {
    EnvFilter::new(format!("warn,niagara_bridge={level},rmcp=error"))
}

/// Starts logging; a second call changes nothing.
///
/// Messages of the session library are kept at `warn`: it logs whole messages, which may carry secrets.
pub fn start(options: &LogOptions, format: config::LogFormat, level: &str) -> LogSwitch {
    let level = match options.log_level {
        Some(LogLevel::Error) => "error",
        Some(LogLevel::Warn) => "warn",
        Some(LogLevel::Info) => "info",
        Some(LogLevel::Debug) => "debug",
        Some(LogLevel::Trace) => "trace",
        None => level,
    };
    let json = match options.log_format {
        Some(format) => format == LogFormat::Json,
        None => format == config::LogFormat::Json,
    };
    let lines = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    let set: Box<dyn Fn(EnvFilter) + Send>;
    // The format is part of the type, so the handles have two types.
    let outcome = if json {
        let lines = lines.json().with_env_filter(filter(level));
        let lines = lines.with_filter_reloading();
        let handle = lines.reload_handle();
        set = Box::new(move |filter| told(handle.reload(filter)));
        lines.try_init()
    } else {
        let lines = lines.with_target(false).with_env_filter(filter(level));
        let lines = lines.with_filter_reloading();
        let handle = lines.reload_handle();
        set = Box::new(move |filter| told(handle.reload(filter)));
        lines.try_init()
    };
    if let Err(error) = outcome {
        tracing::debug!(%error, "logging runs already");
        return LogSwitch::fixed();
    }
    match options.log_level {
        Some(_) => LogSwitch::fixed(),
        None => LogSwitch { set: Some(set) },
    }
}

fn told(outcome: Result<(), tracing_subscriber::reload::Error>) {
    if let Err(error) = outcome {
        tracing::warn!(%error, "the log level could not be changed");
    }
}
