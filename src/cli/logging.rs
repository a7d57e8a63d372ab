//! Log lines on standard error.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use super::arguments::{LogFormat, LogLevel, LogOptions};
use crate::config;

/// Starts logging; a second call changes nothing.
///
/// Messages of the session library are kept at `warn`: it logs whole messages, which may carry secrets.
pub fn start(options: &LogOptions, format: config::LogFormat, level: &str) {
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
    let filter = EnvFilter::new(format!("warn,niagara_bridge={level},rmcp=error"));
    let lines = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_env_filter(filter);
    let outcome = if json {
        lines.json().try_init()
    } else {
        lines.with_target(false).try_init()
    };
    if let Err(error) = outcome {
        tracing::debug!(%error, "logging runs already");
    }
}
