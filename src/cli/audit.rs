//! `audit`: who changed what on the station, and whether the records are whole (Tool surface §4.2).
//!
//! The files are only read, so the bridge may run meanwhile.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};

use super::arguments::{AuditCommand, AuditFilter, AuditFormat, AuditOptions, AuditPlace};
use super::output;
use super::serve::{environment, usual_place};
use super::shutdown::Ending;
use crate::audit::query::{self, Filter};
use crate::audit::{AuditError, Verified, verify, verify_archived};
use crate::config::Config;
use crate::config::load::read;
use crate::durable_file;

/// How often files that look damaged are looked at.
const LOOKS: u32 = 3;

/// Longer than a disk takes for the three records of a write.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// Shows, checks or exports the records.
///
/// # Errors
/// There are none, they cannot be read, or they were changed.
pub fn run(options: &AuditOptions) -> anyhow::Result<Ending> {
    match &options.command {
        AuditCommand::Tail {
            place,
            filter,
            lines,
        } => {
            let outcomes = query::outcomes(&folder(place)?, &wanted(filter))?;
            let skipped = outcomes.len().saturating_sub(*lines);
            let mut text = String::new();
            for outcome in outcomes.iter().skip(skipped) {
                text.push_str(&query::sentence(outcome));
                text.push('\n');
            }
            output::print(&text)?;
        }
        AuditCommand::Verify { place, archived } => {
            output::print(&report(&verified(&folder(place)?, *archived)?))?
        }
        AuditCommand::Export {
            place,
            filter,
            format,
            output,
        } => {
            let outcomes = query::outcomes(&folder(place)?, &wanted(filter))?;
            let text = match format {
                AuditFormat::Json => json_lines(&outcomes),
                AuditFormat::Csv => query::csv(&outcomes),
            };
            match output {
                None => output::print(&text)?,
                Some(path) => {
                    durable_file::replace(path, text.as_bytes())?;
                    output::say(&format!(
                        "Wrote {} writes to {}.",
                        outcomes.len(),
                        path.display()
                    ));
                }
            }
        }
    }
    Ok(Ending::Finished)
}

fn folder(place: &AuditPlace) -> anyhow::Result<PathBuf> {
    if let Some(folder) = &place.data_dir {
        return Ok(folder.clone());
    }
    let file = place.config.clone().or_else(usual_place);
    let settings = read(file.as_deref(), environment())?;
    Ok(Config::from_settings(&settings)?.data_dir)
}

/// A record that a running bridge writes just now looks cut; damage looks so a moment later too.
fn verified(folder: &Path, archived: bool) -> Result<Verified, AuditError> {
    let look = if archived { verify_archived } else { verify };
    for _ in 1..LOOKS {
        if let Ok(found) = look(folder) {
            return Ok(found);
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
    look(folder)
}

fn wanted(filter: &AuditFilter) -> Filter {
    Filter {
        user: filter.user.clone(),
        tool: filter.tool.clone(),
        ord: filter.ord.clone(),
        since: filter.since,
    }
}

fn json_lines(outcomes: &[Map<String, Value>]) -> String {
    let mut text = String::new();
    for outcome in outcomes {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}", Value::Object(outcome.clone()));
    }
    text
}

fn report(found: &Verified) -> String {
    let mut text = format!(
        "The audit is whole: {} records in {} journal files, {} outcomes, {} lines of the log.\n",
        found.records, found.files, found.outcomes, found.log_lines
    );
    if found.first_record > 1 {
        let before = found.first_record - 1;
        let _ = writeln!(
            text,
            "The first {before} records are in journal files that are not in this folder."
        );
    }
    if found.torn_lines > 0 {
        let _ = writeln!(
            text,
            "{} lines were left unfinished when the bridge was killed; they are marked and kept.",
            found.torn_lines
        );
    }
    if found.open_intents > 0 {
        let _ = writeln!(
            text,
            "{} writes have no outcome yet: they run now, or the bridge ended; its next start records that.",
            found.open_intents
        );
    }
    let _ = writeln!(text, "Last digest: {}", found.head);
    text
}
