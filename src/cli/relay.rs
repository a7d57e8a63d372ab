//! `stdio`: standard input and output ↔ a bridge that runs already.

use anyhow::{Context, anyhow, bail};

use super::arguments::{LogOptions, StdioOptions};
use super::logging;
use super::shutdown::{self, Ending};
use crate::config::{LogFormat, Secret};
use crate::mcp::relay::Relay;
use crate::station::error::StationError;
use crate::station::http::Trust;

/// Relays until standard input ends.
///
/// # Errors
/// The token is missing or the address cannot be used.
pub async fn run(options: StdioOptions, log: &LogOptions) -> anyhow::Result<Ending> {
    let _level = logging::start(log, LogFormat::Text, "warn");
    let token = std::env::var(&options.token_env)
        .ok()
        .filter(|token| !token.trim().is_empty())
        .with_context(|| {
            format!(
                "the environment variable {} holds no token; set it to the bridge's bearer token",
                options.token_env
            )
        })?;
    if !["http", "https"].contains(&options.url.scheme()) {
        bail!("'{}' is no http or https address", options.url);
    }
    let trust = match (options.fingerprint, options.ca_file) {
        (Some(fingerprint), _) => {
            Trust::pinned(&fingerprint).context("--fingerprint cannot be used")?
        }
        (None, Some(file)) => Trust::CaFile(file),
        (None, None) => Trust::System,
    };
    let relay =
        Relay::new(options.url, Secret::new(token.trim()), &trust).map_err(
            |error| match error {
                StationError::Setup { detail } => {
                    anyhow!(
                        "the relay cannot use its certificate settings: {detail}; check --ca-file"
                    )
                }
                other => other.into(),
            },
        )?;
    let (stop, watcher) = shutdown::watch();
    relay
        .run(tokio::io::stdin(), tokio::io::stdout(), stop.clone())
        .await?;
    if stop.is_cancelled() {
        return Ok(watcher.await.unwrap_or(Ending::Finished));
    }
    watcher.abort();
    Ok(Ending::Finished)
}
