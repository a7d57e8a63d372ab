//! `rules`: the catalogue of fault rules and drift detectors for people: what each looks for, reads and can be told.

use std::fmt::Write as _;

use anyhow::bail;
use clap::{Args, Subcommand};
use niagara_analytics::catalogue::{self, RuleEntry, RuleKind, RuleScope};
use niagara_analytics::{RuleCatalogue, families, roles};
use serde_json::{Map, Value, json};

use super::output;
use super::shutdown::Ending;

#[derive(Debug, Args)]
pub struct RulesOptions {
    #[command(subcommand)]
    pub command: RulesCommand,
    /// Print JSON instead of text.
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum RulesCommand {
    /// List rules and drift detectors with what they look for.
    List {
        /// Only rules for equipment of this class, such as VAV or CHILLER.
        #[arg(long)]
        class: Option<String>,
    },
    /// Tell everything about one: inputs, parameters with units, ranges and advice.
    Show {
        /// The rule or detector, as `rules list` names it.
        rule: String,
    },
}

/// Prints the list, or one rule.
///
/// # Errors
/// The class or the rule is unknown.
pub fn run(options: &RulesOptions) -> anyhow::Result<Ending> {
    let text = match &options.command {
        RulesCommand::List { class } => {
            let entries = of_class(class.as_deref())?;
            match options.json {
                true => line(&json!({
                    "rules": entries.iter().map(|entry| summary(entry)).collect::<Vec<_>>(),
                })),
                false => list_text(&entries),
            }
        }
        RulesCommand::Show { rule } => {
            let entry = known(rule)?;
            match options.json {
                true => line(&Value::Object(detail(entry))),
                false => detail_text(entry),
            }
        }
    };
    output::print(&text)?;
    Ok(Ending::Finished)
}

fn line(value: &Value) -> String {
    format!("{value:#}\n")
}

/// Rules first, then detectors, each by name.
fn of_class(class: Option<&str>) -> anyhow::Result<Vec<&'static RuleEntry>> {
    let family = match class {
        None => None,
        Some(class) => match families::family(class) {
            Some(family) => Some(family),
            None => bail!(
                "the class {class:?} is of no known family; families are {}",
                families::FAMILIES.join(", ")
            ),
        },
    };
    let fits = |entry: &&RuleEntry| match family {
        None => true,
        Some(family) => {
            entry.kind == RuleKind::Rule
                && (entry.equip_families.is_empty()
                    || entry.equip_families.iter().any(|own| own == family))
        }
    };
    let mut entries: Vec<&RuleEntry> = RuleCatalogue::shipped().entries().filter(fits).collect();
    // Stable: the names stay in order.
    entries.sort_by_key(|entry| entry.kind == RuleKind::Drift);
    Ok(entries)
}

fn known(rule: &str) -> anyhow::Result<&'static RuleEntry> {
    let catalogue = RuleCatalogue::shipped();
    if let Some(entry) = catalogue.entry(rule) {
        return Ok(entry);
    }
    let names = catalogue.names();
    let close = niagara_analytics::run_config::section::close_names(rule, names.iter().copied());
    match close.is_empty() {
        true => bail!("there is no rule {rule:?}; `niagara-bridge rules list` names them all"),
        false => bail!(
            "there is no rule {rule:?}; did you mean {}?",
            close.join(", ")
        ),
    }
}

/// Equipment families as people read them.
fn judged(entry: &RuleEntry) -> String {
    match (entry.kind, entry.equip_families.is_empty()) {
        (RuleKind::Drift, _) => "equipment with the points that it needs".to_owned(),
        (RuleKind::Rule, true) => "any equipment with its inputs".to_owned(),
        (RuleKind::Rule, false) => entry
            .equip_families
            .iter()
            .map(|family| family.replace('_', " "))
            .collect::<Vec<_>>()
            .join(", "),
    }
}

const fn scope(entry: &RuleEntry) -> &'static str {
    match entry.scope {
        RuleScope::Equipment => "equipment",
        RuleScope::Fleet => "fleet",
    }
}

fn summary(entry: &RuleEntry) -> Value {
    json!({
        "rule": entry.id,
        "kind": entry.kind.word(),
        "scope": scope(entry),
        "title": entry.title,
        "equip_families": entry.equip_families,
        "description": entry.description,
    })
}

/// What `rule_params` lists with its advice, and what the rule reads.
fn detail(entry: &RuleEntry) -> Map<String, Value> {
    let mut row = catalogue::rule_row(entry, true);
    if entry.kind == RuleKind::Rule {
        row.insert("title".to_owned(), json!(entry.title));
        row.insert("description".to_owned(), json!(entry.description));
        row.insert("scope".to_owned(), json!(scope(entry)));
        row.insert(
            "inputs".to_owned(),
            json!({
                "required": entry.required,
                "any_of": entry.any_of,
                "optional": entry.optional,
                "cost_only": entry.cost_only,
            }),
        );
        row.insert(
            "set_in_run_config_only".to_owned(),
            json!(entry.non_tunable_args),
        );
    }
    row
}

fn list_text(entries: &[&RuleEntry]) -> String {
    let width = entries.iter().map(|entry| entry.id.len()).max();
    let width = width.unwrap_or_default();
    let mut text = String::new();
    let mut kind = None;
    for entry in entries {
        if kind != Some(entry.kind) {
            text.push_str(match entry.kind {
                RuleKind::Rule => "Rules (capability rule_run)\n",
                RuleKind::Drift => "\nDrift detectors (capability drift)\n",
            });
            kind = Some(entry.kind);
        }
        // Writing to a String cannot fail.
        let _ = match entry.kind {
            RuleKind::Rule => writeln!(
                text,
                "  {:width$}  {} [{}]",
                entry.id,
                entry.title,
                judged(entry)
            ),
            RuleKind::Drift => writeln!(text, "  {}", entry.id),
        };
    }
    text.push_str("\n`niagara-bridge rules show RULE` tells inputs and parameters.\n");
    text
}

/// A role with its unit.
fn role(slug: &str) -> String {
    match roles::role(slug) {
        Some(role) if !role.unit.is_empty() => format!("{slug} ({})", role.unit),
        _ => slug.to_owned(),
    }
}

fn list_of_roles(slugs: &[String]) -> String {
    slugs
        .iter()
        .map(|slug| role(slug))
        .collect::<Vec<_>>()
        .join(", ")
}

fn detail_text(entry: &RuleEntry) -> String {
    let mut text = match entry.kind {
        RuleKind::Rule => format!("{}: {}\n\n{}\n\n", entry.id, entry.title, entry.description),
        RuleKind::Drift => format!("{}: drift detector\n\n", entry.id),
    };
    for (label, told) in facts(entry) {
        let _ = writeln!(text, "{label:<12}{told}");
    }
    text.push_str("\nParameters\n");
    for parameter in &entry.params {
        parameter_text(&mut text, &parameter.to_json(true));
    }
    text
}

fn facts(entry: &RuleEntry) -> Vec<(&'static str, String)> {
    let mut facts = vec![("Run with", entry.kind.run_with().to_owned())];
    if entry.kind == RuleKind::Drift {
        return facts;
    }
    let together = match entry.scope {
        RuleScope::Equipment => "each for itself",
        RuleScope::Fleet => "all together",
    };
    facts.push(("Judges", format!("{}; {together}", judged(entry))));
    let groups = entry
        .any_of
        .iter()
        .map(|group| format!("one of {}", list_of_roles(group)));
    let needed: Vec<String> = Some(list_of_roles(&entry.required))
        .filter(|required| !required.is_empty())
        .into_iter()
        .chain(groups)
        .collect();
    facts.push(("Needs", needed.join("; ")));
    for (label, slugs) in [
        ("Also uses", &entry.optional),
        ("For costs", &entry.cost_only),
    ] {
        if !slugs.is_empty() {
            facts.push((label, list_of_roles(slugs)));
        }
    }
    if entry.wants_topology {
        facts.push(("Topology", "uses which equipment serves which".to_owned()));
    }
    if !entry.non_tunable_args.is_empty() {
        facts.push((
            "Run config",
            format!("alone may set {}", entry.non_tunable_args.join(", ")),
        ));
    }
    if let Some(fixed) = entry.fixed_in_code() {
        facts.push(("Fixed", fixed));
    }
    facts
}

/// One parameter with its default, unit, range and advice.
fn parameter_text(text: &mut String, parameter: &Value) {
    let word = |name: &str| parameter.get(name).and_then(Value::as_str);
    let default = match parameter.get("default") {
        None | Some(Value::Null) => "no default".to_owned(),
        Some(Value::String(default)) => default.clone(),
        Some(default) => default.to_string(),
    };
    let unit = word("unit").unwrap_or_default();
    let _ = write!(
        text,
        "  {}: {default} {unit}",
        word("name").unwrap_or_default()
    );
    if let Some(range) = parameter.get("range").and_then(Value::as_array) {
        let told: Vec<String> = range
            .iter()
            .map(|value| {
                value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned)
            })
            .collect();
        let is_span = range.len() == 2 && range.iter().all(Value::is_number);
        let _ = match is_span {
            true => write!(text, ", usually {}", told.join(" to ")),
            false => write!(text, ", usually one of {}", told.join(", ")),
        };
    }
    text.push('\n');
    for (label, name) in [
        ("Why", "basis"),
        ("Setting it", "calibrate"),
        ("Note", "note"),
        ("Handed to", "passed_to"),
    ] {
        if let Some(told) = word(name) {
            let _ = writeln!(text, "      {label}: {told}");
        }
    }
}

/// The rules as Markdown, for the README.
pub fn table() -> String {
    let mut text = String::from("| rule | judges | what it looks for |\n|---|---|---|\n");
    let rules = RuleCatalogue::shipped()
        .entries()
        .filter(|entry| entry.kind == RuleKind::Rule);
    for entry in rules {
        let _ = writeln!(
            text,
            "| `{}` | {} | {} |",
            entry.id,
            judged(entry),
            entry.title
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_lists_the_rules_that_judge_it() {
        let names = |class: Option<&str>| -> Vec<&str> {
            let entries = of_class(class).expect("a known class");
            entries.iter().map(|entry| entry.id.as_str()).collect()
        };
        assert_eq!(names(None).len(), 70);
        let towers = names(Some("Cooling tower 2"));
        assert!(towers.contains(&"cooling_tower_approach"));
        assert!(!towers.contains(&"boiler_short_cycle"));
        let refused = of_class(Some("Gizmo")).expect_err("unknown").to_string();
        assert!(refused.contains("families are air_handler"), "{refused}");
    }

    #[test]
    fn one_rule_is_told_with_inputs_and_advice() {
        let text = detail_text(known("condenser_bypass_leak").expect("a rule"));
        for told in [
            "Judges      cooling tower, chw plant; each for itself",
            "Needs       cw_bypass_valve (percent), cw_supply_temp (degF)",
            "  closed_pct: 2.0 % (bypass valve command), usually 0.0 to 10.0",
            "      Setting it: ",
        ] {
            assert!(text.contains(told), "{told} is not in\n{text}");
        }
        let refused = known("condenser_bypas_leak")
            .expect_err("unknown")
            .to_string();
        assert!(
            refused.contains("did you mean condenser_bypass_leak"),
            "{refused}"
        );
    }

    #[test]
    fn every_entry_can_be_shown() {
        for entry in RuleCatalogue::shipped().entries() {
            let text = detail_text(entry);
            for parameter in &entry.params {
                assert!(
                    text.contains(&format!("  {}: ", parameter.name)),
                    "{}",
                    entry.id
                );
            }
            assert_eq!(detail(entry).get("rule"), Some(&json!(entry.id)));
        }
        assert_eq!(table().lines().count(), 61);
    }
}
