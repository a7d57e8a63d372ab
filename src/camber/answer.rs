//! What becomes of a capability's answer before a caller sees it (CAMBER core §2 steps 9 to 16).

use std::collections::{BTreeSet, HashSet};
use std::io;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::citations::lexer::{Quotes, as_one_sentence};
use super::citations::{Mode, verify};
use super::context::CallerPolicy;
use super::error::{CapabilityError, FailureCode};
use super::hygiene::{cut_long_strings, one_line, summary, without_citations};
use super::registry::{Entry, told};
use super::result::CapabilityResult;
use super::token::scope;
use super::workspace::Workspace;

/// A removed sentence is shown up to this length, in characters.
const SHOWN_SENTENCE: usize = 200;

/// Problems of an answer that the log tells.
const TOLD_PROBLEMS: usize = 3;

fn fault(message: impl Into<String>) -> CapabilityError {
    CapabilityError::new(FailureCode::Internal, message)
}

/// Refuses facts without ids, and ids that two facts have.
pub(super) fn check_answer(result: &CapabilityResult) -> Result<(), CapabilityError> {
    let mut seen = HashSet::new();
    for fact in &result.facts {
        let id = fact.get("id").and_then(Value::as_str).unwrap_or_default();
        if id.is_empty() {
            return Err(fault("a fact of the answer has no id"));
        }
        if !seen.insert(id) {
            return Err(fault(format!("two facts of the answer have the id {id}")));
        }
    }
    Ok(())
}

/// Cuts, names, cleans and checks an answer.
pub(super) fn finish(
    entry: &Entry,
    mut result: CapabilityResult,
    token: &str,
    workspace: &Workspace,
    caller: &CallerPolicy,
    names: &BTreeSet<String>,
) -> Result<CapabilityResult, CapabilityError> {
    cut_rows(&mut result, caller.caps.max_rows);
    scope(&mut result, token);
    clean(entry, &mut result, workspace, names);
    check_schema(entry, &mut result)?;
    for value in result.data.iter() {
        check_facilities(value, caller)?;
    }
    check_size(&result, caller.caps.max_bytes)?;
    check_citations(&mut result);
    Ok(result)
}

fn cut_rows(result: &mut CapabilityResult, max_rows: usize) {
    for (key, value) in &mut result.data {
        if let Value::Array(rows) = value
            && rows.len() > max_rows
        {
            result.banners.push(format!(
                "'{key}' holds the first {max_rows} of {} rows",
                rows.len()
            ));
            rows.truncate(max_rows);
            result.truncated = true;
        }
    }
}

/// Text from the data cannot pass for our own words, and nothing names a path.
fn clean(
    entry: &Entry,
    result: &mut CapabilityResult,
    workspace: &Workspace,
    names: &BTreeSet<String>,
) {
    let own: HashSet<String> = result
        .facts
        .iter()
        .filter_map(|fact| fact.get("id").and_then(Value::as_str))
        .map(str::to_owned)
        .collect();
    let redactor = &workspace.redactor;
    result.text = redactor.text(&summary(&result.text, |id| own.contains(id)), names);
    for fact in &mut result.facts {
        if let Some(Value::String(text)) = fact.get_mut("text") {
            *text = as_one_sentence(&without_citations(&one_line(text)));
        }
    }
    let mut cut: usize = result
        .facts
        .iter_mut()
        .flat_map(|fact| fact.iter_mut())
        .filter(|(key, _)| key.as_str() != "id")
        .map(|(_, value)| cut_long_strings(value))
        .sum();
    for (key, value) in &mut result.data {
        if !entry.definition.own_output.contains(&key.as_str()) {
            cut += cut_long_strings(value);
        }
    }
    if cut > 0 {
        result.truncated = true;
        result
            .banners
            .push(format!("{cut} overlong text(s) were cut"));
    }
    for banner in &mut result.banners {
        *banner = redactor.text(&one_line(banner), names);
    }
}

fn check_schema(entry: &Entry, result: &mut CapabilityResult) -> Result<(), CapabilityError> {
    let data = Value::Object(std::mem::take(&mut result.data));
    let problems: Vec<String> = entry
        .output()
        .validate(&data)
        .iter()
        .take(TOLD_PROBLEMS)
        .map(told)
        .collect();
    if let Value::Object(data) = data {
        result.data = data;
    }
    if problems.is_empty() {
        return Ok(());
    }
    let name = entry.definition.name;
    tracing::error!(
        capability = name,
        ?problems,
        "an answer breaks its own schema"
    );
    Err(fault(format!(
        "the answer of {name} breaks its own schema: {}",
        problems.join("; ")
    )))
}

/// No answer names a facility that the caller may not see.
fn check_facilities(
    (key, value): (&String, &Value),
    caller: &CallerPolicy,
) -> Result<(), CapabilityError> {
    match value {
        Value::String(facility) if key == "facility_id" && !caller.allowed.contains(facility) => {
            tracing::error!(facility, "an answer names a facility outside the allowlist");
            Err(fault(
                "the answer names a facility that this caller may not see",
            ))
        }
        Value::Array(items) => items
            .iter()
            .try_for_each(|item| check_facilities((key, item), caller)),
        Value::Object(members) => members
            .iter()
            .try_for_each(|member| check_facilities(member, caller)),
        _ => Ok(()),
    }
}

/// Counts bytes without keeping them.
struct Counter(usize);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn check_size(result: &CapabilityResult, max_bytes: usize) -> Result<(), CapabilityError> {
    #[derive(Serialize)]
    struct Whole<'a> {
        data: &'a Map<String, Value>,
        text: &'a str,
        facts: &'a [Map<String, Value>],
        banners: &'a [String],
    }
    let whole = Whole {
        data: &result.data,
        text: &result.text,
        facts: &result.facts,
        banners: &result.banners,
    };
    let mut counter = Counter(0);
    serde_json::to_writer(&mut counter, &whole)
        .map_err(|error| fault(format!("the answer cannot be written as JSON: {error}")))?;
    if counter.0 <= max_bytes {
        return Ok(());
    }
    Err(CapabilityError::new(
        FailureCode::TooLarge,
        format!(
            "the answer has {} bytes, more than the {max_bytes} allowed; ask for a smaller page or fewer equipment",
            counter.0
        ),
    )
    .with("bytes", json!(counter.0))
    .with("max_bytes", json!(max_bytes)))
}

/// What no fact carries is removed from the summary, and the removal is told.
fn check_citations(result: &mut CapabilityResult) {
    let facts: Vec<&Map<String, Value>> = result.facts.iter().collect();
    let found = verify(&result.text, &facts, Mode::WholeText, Quotes::Opaque);
    let removed = found.sentences.iter().filter(|sentence| !sentence.kept);
    for sentence in removed {
        let shown: String = without_citations(&sentence.text)
            .chars()
            .take(SHOWN_SENTENCE)
            .collect();
        result.banners.push(format!(
            "a sentence was removed, since no cited fact carries its figures: {shown}"
        ));
    }
    for id in &found.unknown {
        result.banners.push(format!(
            "a citation was removed, since the result has no fact ({id})"
        ));
    }
    if !found.unknown.is_empty() || found.sentences.iter().any(|sentence| !sentence.kept) {
        result.text = found.text;
    }
}
