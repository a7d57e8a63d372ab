//! `docs`: the tables of tools, resources, prompts, rules and metrics in the README, made from the registry.

use std::fmt::Write;

use anyhow::{Context, bail};

use super::arguments::DocsOptions;
use super::assembly;
use super::rules;
use super::shutdown::Ending;
use crate::mcp::bridge::Bridge;
use crate::mcp::metrics::{FAMILIES, PREFIX};
use crate::resources::Address;

/// What stands between two lines `<!-- NAME:begin -->` and `<!-- NAME:end -->`.
const TOOLS: &str = "tools";
const METRICS: &str = "metrics";
const RULES: &str = "rules";

/// Writes the tables, or checks them.
///
/// # Errors
/// The file cannot be read or written, has no markers, or (with `--check`) is out of date.
pub fn run(options: &DocsOptions) -> anyhow::Result<Ending> {
    let path = options.file.display();
    let text =
        std::fs::read_to_string(&options.file).with_context(|| format!("{path} cannot be read"))?;
    let bridge = assembly::definitions_only()?;
    let mut fresh = text.clone();
    for (name, table) in [
        (TOOLS, tables(&bridge)),
        (RULES, rules::table()),
        (METRICS, metrics_table()),
    ] {
        fresh = replaced(&fresh, name, &table).with_context(|| {
            let (begin, end) = marks(name);
            format!(
                "{path} has no lines '{begin}' and '{end}'; put them where the table shall stand"
            )
        })?;
    }
    if fresh == text {
        return Ok(Ending::Finished);
    }
    if options.check {
        bail!(
            "the tables in {path} are out of date; run `niagara-bridge docs` and commit the result"
        );
    }
    std::fs::write(&options.file, fresh).with_context(|| format!("{path} cannot be written"))?;
    Ok(Ending::Finished)
}

fn marks(name: &str) -> (String, String) {
    (
        format!("<!-- {name}:begin -->"),
        format!("<!-- {name}:end -->"),
    )
}

fn replaced(text: &str, name: &str, tables: &str) -> Option<String> {
    let (begin, end) = marks(name);
    let (head, rest) = text.split_once(&begin)?;
    let (_, tail) = rest.split_once(&end)?;
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let tables = tables.replace('\n', newline);
    Some(format!(
        "{head}{begin}{newline}{newline}{tables}{newline}{end}{tail}"
    ))
}

/// The tables as Markdown.
pub fn tables(bridge: &Bridge) -> String {
    let mut text =
        String::from("| tool | category | reads or writes | what it does |\n|---|---|---|---|\n");
    for tool in bridge.tools.definitions() {
        let kind = match (tool.annotations.read_only, tool.requires_user_context) {
            (true, _) => "reads",
            (false, false) => "writes",
            (false, true) => "writes, as a user",
        };
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "| `{}` | {} | {kind} | {} |",
            tool.name,
            tool.category.name(),
            cell(first_sentence(&tool.description))
        );
    }
    text.push_str("\n| resource | what it is |\n|---|---|\n");
    for resource in bridge.resources.definitions() {
        let note = if matches!(resource.address, Address::Template(_)) {
            " (template)"
        } else {
            ""
        };
        let _ = writeln!(
            text,
            "| `{}`{note} | {} |",
            resource.address.text(),
            cell(&resource.description)
        );
    }
    if bridge.prompts.definitions().next().is_some() {
        text.push_str("\n| prompt | arguments | what it does |\n|---|---|---|\n");
    }
    for prompt in bridge.prompts.definitions() {
        let arguments: Vec<String> = prompt
            .arguments
            .iter()
            .map(|argument| format!("`{}`", argument.name))
            .collect();
        let _ = writeln!(
            text,
            "| `{}` | {} | {} |",
            prompt.name,
            arguments.join(", "),
            cell(&prompt.description)
        );
    }
    text
}

/// The metrics as Markdown.
pub fn metrics_table() -> String {
    let mut text = String::from("| metric | kind | labels | what it tells |\n|---|---|---|---|\n");
    for family in FAMILIES {
        let labels: Vec<String> = family
            .labels
            .iter()
            .map(|label| format!("`{label}`"))
            .collect();
        let _ = writeln!(
            text,
            "| `{PREFIX}{}` | {} | {} | {} |",
            family.name,
            family.kind.word(),
            labels.join(", "),
            cell(family.about)
        );
    }
    text
}

/// Up to the first full stop that ends a sentence.
fn first_sentence(text: &str) -> &str {
    match text.find(". ") {
        Some(end) => text.get(..=end).unwrap_or(text),
        None => text,
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_text_between_the_markers_changes() {
        let (begin, end) = marks(TOOLS);
        let text = format!("a\n{begin}\nold\n{end}\nb\n");
        let fresh = replaced(&text, TOOLS, "new\n").expect("markers");
        assert_eq!(fresh, format!("a\n{begin}\n\nnew\n\n{end}\nb\n"));
        assert_eq!(
            replaced(&fresh, TOOLS, "new\n").expect("markers"),
            fresh,
            "writing twice changes nothing"
        );
        assert_eq!(replaced("no markers", TOOLS, "x"), None);
        assert_eq!(replaced(&text, METRICS, "x"), None);
    }

    #[test]
    fn every_tool_has_a_row_with_its_first_sentence() {
        let bridge = assembly::definitions_only().expect("registry");
        let text = tables(&bridge);
        for tool in bridge.tools.definitions() {
            assert!(
                text.contains(&format!("| `{}` | {} |", tool.name, tool.category.name())),
                "{}",
                tool.name
            );
        }
        assert!(text.contains("| `niagara://overview` |"));
        assert_eq!(
            first_sentence("Lists 1.5 things. More."),
            "Lists 1.5 things."
        );
    }

    #[test]
    fn check_tells_whether_the_file_is_up_to_date() {
        let folder = tempfile::tempdir().expect("folder");
        let file = folder.path().join("README.md");
        let places = [TOOLS, RULES, METRICS].map(|name| {
            let (begin, end) = marks(name);
            format!("{begin}\n{end}\n")
        });
        std::fs::write(&file, places.concat()).expect("write");
        let run = |check| {
            run(&DocsOptions {
                file: file.clone(),
                check,
            })
        };
        assert!(
            run(true)
                .expect_err("stale")
                .to_string()
                .contains("out of date")
        );
        run(false).expect("written");
        run(true).expect("up to date");
    }
}
