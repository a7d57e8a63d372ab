//! What the audit tells: outcomes by user, tool, ord and time, as lines of text, JSON or CSV.

use std::fmt::Write;
use std::path::Path;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use super::{AuditError, journal};

/// Columns of a table: the members of the contract (Tool surface §4.2), then ours.
pub const COLUMNS: [&str; 16] = [
    "ts",
    "user",
    "sessionId",
    "tool",
    "ord",
    "action",
    "args",
    "resultOk",
    "durationMs",
    "errorCode",
    "errorMessage",
    "requestId",
    "policy",
    "outcome",
    "oldValue",
    "newValue",
];

/// Which outcomes are looked for; empty fields let all pass.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    pub user: Option<String>,
    pub tool: Option<String>,
    /// A part of the ord.
    pub ord: Option<String>,
    pub since: Option<DateTime<Utc>>,
}

impl Filter {
    fn lets_pass(&self, outcome: &Map<String, Value>) -> bool {
        let text = |key: &str| outcome.get(key).and_then(Value::as_str).unwrap_or_default();
        let same = |wanted: &Option<String>, key: &str| {
            let wanted = wanted.as_deref();
            wanted.is_none_or(|wanted| text(key).eq_ignore_ascii_case(wanted))
        };
        let part = self.ord.as_deref();
        let started = || DateTime::parse_from_rfc3339(text("ts")).ok();
        same(&self.user, "user")
            && same(&self.tool, "tool")
            && part.is_none_or(|part| text("ord").contains(part))
            && self
                .since
                .is_none_or(|since| started().is_some_and(|at| at >= since))
    }
}

/// The outcomes of the journal, oldest first, also those that the outcome log no longer keeps.
///
/// # Errors
/// There is no journal, or it cannot be read or was changed.
pub fn outcomes(folder: &Path, filter: &Filter) -> Result<Vec<Map<String, Value>>, AuditError> {
    let files = match journal::files(folder) {
        Ok(files) if !files.is_empty() => files,
        _ => {
            return Err(AuditError::Nothing {
                folder: folder.to_owned(),
            });
        }
    };
    let mut found = Vec::new();
    let mut standing = None;
    for path in files {
        let read = journal::read(&path, standing.take())?;
        let lines = read
            .records
            .iter()
            .filter_map(|placed| placed.record.get("line")?.as_str());
        let outcomes = lines.filter_map(|line| serde_json::from_str(line).ok());
        found.extend(outcomes.filter(|outcome| filter.lets_pass(outcome)));
        standing = Some(read.standing);
    }
    Ok(found)
}

/// One outcome as a line to read.
pub fn sentence(outcome: &Map<String, Value>) -> String {
    let text = |key: &str| shown(outcome.get(key));
    let mut line = format!(
        "{}  {}  {} ({})  {}  {}",
        text("ts"),
        text("user"),
        text("tool"),
        text("action"),
        text("ord"),
        text("outcome")
    );
    let (old, new) = (text("oldValue"), text("newValue"));
    if !(old.is_empty() && new.is_empty()) {
        let or_unknown = |text: String| {
            if text.is_empty() {
                "?".to_owned()
            } else {
                text
            }
        };
        line = format!("{line}  {} → {}", or_unknown(old), or_unknown(new));
    }
    if !text("errorCode").is_empty() {
        line = format!("{line}  {}: {}", text("errorCode"), text("errorMessage"));
    }
    escaped(&line)
}

/// What a caller wrote must neither forge further lines nor command the terminal, nor show text in another order than it
/// stands there: such signs are written as `\u{…}`.
fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            sign if sign.is_control() || turns_text(sign) => shown.extend(sign.escape_unicode()),
            sign => shown.push(sign),
        }
    }
    shown
}

/// Marks that change the direction of text, and the separators that some readers take for line ends.
fn turns_text(sign: char) -> bool {
    matches!(sign,
        '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// The outcomes as CSV (RFC 4180) with a line of names.
pub fn csv(outcomes: &[Map<String, Value>]) -> String {
    let mut text = COLUMNS.join(",");
    text.push_str("\r\n");
    for outcome in outcomes {
        let cells = COLUMNS.map(|column| cell(outcome.get(column)));
        // Writing to a String cannot fail.
        let _ = write!(text, "{}\r\n", cells.join(","));
    }
    text
}

fn shown(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// A spreadsheet runs a text that begins like a formula, so it gets an apostrophe in front; numbers stay numbers.
fn cell(value: Option<&Value>) -> String {
    let mut text = escaped(&shown(value));
    let formula = text.starts_with(['=', '+', '-', '@']);
    if formula && text.parse::<f64>().is_err() {
        text.insert(0, '\'');
    }
    if text.contains(['"', ',']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn outcome() -> Map<String, Value> {
        let outcome = json!({
            "ts": "2026-03-08T07:00:00.000Z", "user": "maria", "sessionId": "", "tool": "setSlot",
            "ord": "=HYPERLINK(\"x\")", "action": "set", "args": { "slotName": "a" }, "resultOk": false,
            "durationMs": 3, "errorCode": "-32010", "errorMessage": "no,\nnever", "requestId": "r",
            "policy": "allowed", "outcome": "failed", "oldValue": 20.5, "newValue": null,
        });
        outcome.as_object().unwrap().clone()
    }

    #[test]
    fn csv_survives_quotes_commas_lines_and_formulas() {
        let text = csv(&[outcome()]);
        let row = text.split_once("\r\n").unwrap().1;
        assert_eq!(
            row,
            "2026-03-08T07:00:00.000Z,maria,,setSlot,\"'=HYPERLINK(\"\"x\"\")\",set,\"{\"\"slotName\"\":\"\"a\"\"}\",\
             false,3,-32010,\"no,\\u{a}never\",r,allowed,failed,20.5,\r\n"
        );
    }

    #[test]
    fn signs_that_command_a_terminal_or_turn_text_are_escaped_in_both() {
        let mut outcome = outcome();
        for sign in [
            '\u{1b}', '\r', '\t', '\u{202e}', '\u{2066}', '\u{200f}', '\u{2028}', '\u{85}',
        ] {
            outcome.insert("ord".into(), format!("slot:/A{sign}gnp.B").into());
            for text in [sentence(&outcome), csv(&[outcome.clone()])] {
                let inner = text.replace("\r\n", "");
                assert!(!inner.contains(sign), "{sign:?} in {text:?}");
                let escape = format!("slot:/A{}gnp.B", sign.escape_unicode());
                assert!(text.contains(&escape), "{text:?}");
            }
        }
    }

    #[test]
    fn a_sentence_is_one_line() {
        assert_eq!(
            sentence(&outcome()),
            "2026-03-08T07:00:00.000Z  maria  setSlot (set)  =HYPERLINK(\"x\")  failed  20.5 → ?  -32010: no,\\u{a}never"
        );
    }

    #[test]
    fn filters_meet_all_their_conditions() {
        let filter = Filter {
            user: Some("Maria".into()),
            tool: Some("setslot".into()),
            ord: Some("HYPER".into()),
            since: "2026-03-08T07:00:00Z".parse().ok(),
        };
        assert!(filter.lets_pass(&outcome()));
        let late = Filter {
            since: "2026-03-08T07:00:01Z".parse().ok(),
            ..filter.clone()
        };
        assert!(!late.lets_pass(&outcome()));
        let other = Filter {
            user: Some("mari".into()),
            ..filter
        };
        assert!(!other.lets_pass(&outcome()));
    }
}
