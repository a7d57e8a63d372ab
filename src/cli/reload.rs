//! Applies a changed configuration file to the bridge that runs (Tool surface §6).

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::assembly::offer;
use super::logging::LogSwitch;
use crate::config::Config;
use crate::config::load::{ConfigError, Settings, read_again};
use crate::config::policy::{Policy, SharedPolicy};
use crate::file_watch::FileWatch;
use crate::mcp::bridge::Bridge;
use crate::mcp::http::OpenSessions;
use crate::tools::Offer;

/// Settings that take effect at once; everything else needs a restart.
const LIVE: [&str; 25] = [
    "enabled",
    "showLog",
    "log.level",
    "sseEnabled",
    "streamableEnabled",
    "disabledTools",
    "toolsets",
    "writes.enabled",
    "writes.serviceAccountMayWrite",
    "writes.readbackDelayMs",
    "writes.allow",
    "writes.deny",
    "writes.priorities",
    "writes.principals",
    "writes.maxOverrideMinutes",
    "writes.ratePerMinute",
    "writes.confirm",
    "writes.confirmDestructive",
    "knowledge.readOnly",
    "camber.allow",
    "camber.minTrust",
    "camber.maxRows",
    "camber.maxBytes",
    "camber.maxSeconds",
    "camber.principals",
];

/// The level that a configuration logs at.
pub fn log_level(config: &Config) -> &str {
    if config.show_log {
        "debug"
    } else {
        &config.log_level
    }
}

/// Variables that override the file.
pub type Environment = fn() -> Vec<(String, String)>;

/// A running bridge and the file that it was configured by.
pub struct Reload {
    pub file: PathBuf,
    pub environment: Environment,
    /// The settings in force.
    pub settings: Settings,
    pub bridge: Arc<Bridge>,
    pub policy: SharedPolicy,
    /// None when the bridge speaks on standard input and output.
    pub sessions: Option<OpenSessions>,
    pub log: LogSwitch,
}

impl Reload {
    /// Watches the file until `stop` fires; the receiver counts the changes that were handled, good and bad ones.
    ///
    /// # Errors
    /// The file cannot be watched.
    pub fn start(mut self, stop: CancellationToken) -> notify::Result<watch::Receiver<u64>> {
        let mut file = FileWatch::start(&self.file)?;
        let (handled, seen) = watch::channel(0);
        tokio::spawn(async move {
            loop {
                let goes_on = tokio::select! {
                    () = stop.cancelled() => false,
                    goes_on = file.changed() => goes_on,
                };
                if !goes_on {
                    return;
                }
                let outcome = self.apply();
                self.bridge.metrics.reload(outcome.is_ok());
                if let Err(error) = outcome {
                    tracing::error!(file = %self.file.display(), "the changed configuration is not used, the old one stays in force: {error}");
                }
                handled.send_modify(|count| *count += 1);
            }
        });
        Ok(seen)
    }

    /// A name that no tool has would leave open what somebody meant to close. One that was there before is in force
    /// already as far as it can be, and must not keep the rest from taking effect.
    fn refuse_new_unknown(&self, settings: &Settings, offer: &Offer) -> Result<(), ConfigError> {
        let before =
            Config::from_settings(&self.settings).map(|config| super::assembly::offer(&config));
        let known = |name: &str| {
            before
                .as_ref()
                .is_ok_and(|before| before.disabled().any(|earlier| earlier == name))
        };
        let unknown = self.bridge.tools.unknown_in(offer);
        match unknown.iter().find(|unknown| !known(&unknown.name)) {
            Some(unknown) => Err(settings.wrong("disabledTools", unknown.to_string())),
            None => Ok(()),
        }
    }

    /// Reads the file and applies what may change while the bridge runs.
    ///
    /// # Errors
    /// What is wrong with the file; then nothing was changed.
    pub fn apply(&mut self) -> Result<(), ConfigError> {
        let settings = read_again(&self.file, (self.environment)())?;
        let config = Config::from_settings(&settings)?;
        let offer = offer(&config);
        self.refuse_new_unknown(&settings, &offer)?;
        let changed = self.settings.differences(&settings);
        self.log.set(log_level(&config));
        self.bridge.switches.set(&config);
        self.policy.replace(Policy::of(&config));
        if self.bridge.tools.set_offer(offer) {
            self.bridge.tools_changed();
        }
        if !config.enabled
            && let Some(sessions) = &self.sessions
        {
            sessions.end_all();
        }
        self.settings = settings;
        let (live, later): (Vec<&str>, Vec<&str>) =
            changed.into_iter().partition(|path| LIVE.contains(path));
        tracing::info!(file = %self.file.display(), changed = %live.join(", "), "the configuration was read again");
        if !later.is_empty() {
            tracing::warn!(settings = %later.join(", "), "these settings take effect at the next start");
        }
        Ok(())
    }
}
