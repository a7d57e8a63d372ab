//! Log lines on standard error. Each one passes the mask, so no secret leaves the process in them.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{IsTerminal, Write};
use std::panic::PanicHookInfo;

use tracing::Dispatch;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::SubscriberInitExt;

use super::arguments::{LogFormat, LogLevel, LogOptions};
use crate::config;
use crate::secrecy::MaskedWriter;

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

/// The session library is kept at `error`, for it logs whole messages; its worker reports the ordinary end of a
/// session as an error. The certificate check reports what callers get as an error of their own.
const QUIET: &str = "rmcp=error,rmcp::transport::worker=off,rustls_platform_verifier=off";

fn filter(level: &str) -> EnvFilter {
    EnvFilter::new(format!("warn,niagara_bridge={level},{QUIET}"))
}

/// Starts logging; a second call changes nothing.
pub fn start(options: &LogOptions, format: config::LogFormat, level: &str) -> LogSwitch {
    let level = match options.log_level {
        Some(LogLevel::Error) => "error",
        Some(LogLevel::Warn) => "warn",
        Some(LogLevel::Info) => "info",
        Some(LogLevel::Debug) => "debug",
        Some(LogLevel::Trace) => "trace",
        None => level,
    };
    let format = match options.log_format {
        Some(LogFormat::Json) => config::LogFormat::Json,
        Some(LogFormat::Text) => config::LogFormat::Text,
        None => format,
    };
    let colours = std::io::stderr().is_terminal();
    let (lines, switch) = lines(std::io::stderr, colours, format, level);
    if let Err(error) = lines.try_init() {
        tracing::debug!(%error, "logging runs already");
        return LogSwitch::fixed();
    }
    match options.log_level {
        Some(_) => LogSwitch::fixed(),
        None => switch,
    }
}

/// Log lines of that format from that level on, masked, to what `open` opens for each of them.
pub fn lines<W: Write + 'static>(
    open: impl Fn() -> W + Send + Sync + 'static,
    colours: bool,
    format: config::LogFormat,
    level: &str,
) -> (Dispatch, LogSwitch) {
    let lines = tracing_subscriber::fmt()
        .with_writer(move || MaskedWriter::new(open()))
        // It would tell of a closed standard error there, and panic.
        .log_internal_errors(false)
        .with_ansi(colours);
    let set: Box<dyn Fn(EnvFilter) + Send>;
    // The format is part of the type, so the handles have two types.
    let dispatch = match format {
        config::LogFormat::Json => {
            let lines = lines.json().with_env_filter(filter(level));
            let lines = lines.with_filter_reloading();
            let handle = lines.reload_handle();
            set = Box::new(move |filter| told(handle.reload(filter)));
            lines.into()
        }
        config::LogFormat::Text => {
            let lines = lines.with_target(false).with_env_filter(filter(level));
            let lines = lines.with_filter_reloading();
            let handle = lines.reload_handle();
            set = Box::new(move |filter| told(handle.reload(filter)));
            lines.into()
        }
    };
    (dispatch, LogSwitch { set: Some(set) })
}

fn told(outcome: Result<(), tracing_subscriber::reload::Error>) {
    if let Err(error) = outcome {
        tracing::warn!(%error, "the log level could not be changed");
    }
}

/// Reports panics of this process by a masked log line: their messages may quote what the program was working on.
pub fn report_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let message = message_of(panic);
        let thread = std::thread::current();
        let thread = thread.name().unwrap_or("unnamed");
        let place = panic.location().map(ToString::to_string);
        let place = place.unwrap_or_else(|| "an unknown place".to_owned());
        // Taken only where RUST_BACKTRACE asks for it.
        let trace = Backtrace::capture();
        let trace = (trace.status() == BacktraceStatus::Captured).then_some(trace);
        if tracing::enabled!(tracing::Level::ERROR) {
            let trace = trace.map(tracing::field::display);
            tracing::error!(thread, %place, trace, "a fault of the program: {message}");
            return;
        }
        let mut out = MaskedWriter::new(std::io::stderr());
        // Without standard error there is nobody to tell.
        let _ = writeln!(out, "thread '{thread}' panicked at {place}: {message}");
        if let Some(trace) = trace {
            let _ = writeln!(out, "{trace}");
        }
    }));
}

fn message_of<'a>(panic: &'a PanicHookInfo<'_>) -> &'a str {
    let payload = panic.payload();
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a message")
}
