//! `dataset_search`: which public data sets there are (CAMBER core §12.5).

use serde_json::{Map, Value, json};

use crate::camber::call::Call;
use crate::camber::capability::{
    Capability, CapabilityDefinition, closed_object, count, list_of, of_type, whole_object, word,
};
use crate::camber::dataset_catalogue::{DatasetCatalogue, DatasetEntry};
use crate::camber::error::CapabilityError;
use crate::camber::result::{CapabilityResult, Facts, counted};

const NAME: &str = "dataset_search";

/// Rows that the summary tells.
const TOLD: usize = 10;

/// Searches the catalogue of data sets.
pub struct DatasetSearch;

/// What every row of a data set has; `dataset_entry` adds to it.
pub(super) fn row_schema() -> Vec<(&'static str, Value)> {
    vec![
        ("id", of_type(&["string"])),
        ("title", of_type(&["string"])),
        ("kind", of_type(&["string"])),
        ("licence", of_type(&["string"])),
        (
            "access",
            json!({"type": "string", "enum": ["open", "research_only"]}),
        ),
        ("research_only", of_type(&["boolean"])),
        ("commercial_ok", of_type(&["boolean"])),
        ("labeled_faults", of_type(&["boolean"])),
        ("equipment", of_type(&["string"])),
        ("download_bytes", count()),
        ("store_bytes_estimate", of_type(&["integer", "null"])),
        ("good_for", list_of(of_type(&["string"]))),
        ("notice", of_type(&["string", "null"])),
    ]
}

/// A data set as a row.
pub(super) fn row(entry: &DatasetEntry) -> Map<String, Value> {
    let notice = entry.research_only.then(|| {
        format!(
            "Research-only ({}): this server refuses every facility ingested from it; use it elsewhere, under its licence.",
            entry.licence
        )
    });
    let Value::Object(row) = json!({
        "id": entry.id,
        "title": entry.title,
        "kind": entry.kind,
        "licence": entry.licence,
        "access": entry.access,
        "research_only": entry.research_only,
        "commercial_ok": entry.commercial_ok,
        "labeled_faults": entry.labeled_faults,
        "equipment": entry.equipment,
        "download_bytes": entry.download_bytes,
        "store_bytes_estimate": entry.store_bytes_estimate,
        "good_for": entry.good_for,
        "notice": notice,
    }) else {
        return Map::new();
    };
    row
}

/// Words of a query, lower case: runs of letters, digits, `_` and `-`.
pub(super) fn query_words(query: &str) -> Vec<String> {
    query
        .to_lowercase()
        .split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

fn matches(entry: &DatasetEntry, words: &[String]) -> bool {
    let text = [
        &entry.id,
        &entry.title,
        &entry.summary,
        &entry.equipment,
        &entry.publisher,
        &entry.kind,
    ]
    .into_iter()
    .chain(&entry.good_for)
    .map(String::as_str)
    .collect::<Vec<_>>()
    .join(" ")
    .to_lowercase();
    words.iter().all(|word| text.contains(word))
}

impl Capability for DatasetSearch {
    fn definition(&self) -> CapabilityDefinition {
        CapabilityDefinition {
            name: NAME,
            title: "Search public data sets",
            description: "Searches the catalogue of public building data sets (simulated, real, lab and synthetic; many \
                with labelled faults) by words and filters. Returns metadata only: id, title, kind, licence, access, \
                whether commercial use is allowed, fault labels, equipment, download size and what each is good for. \
                Call it to find data to practise on or to validate a rule with; research-only sets are listed with a \
                notice, their data are refused here. Cheap. Example: {\"query\": \"chiller\", \"labeled\": true}.",
            input_schema: closed_object(
                &[],
                [
                    (
                        "query",
                        word("Words that must all occur, such as \"chiller plant\"."),
                    ),
                    (
                        "kind",
                        json!({"type": "string", "enum": ["simulated", "real", "lab", "synthetic"],
                            "description": "Only sets of this kind."}),
                    ),
                    (
                        "labeled",
                        json!({"type": "boolean", "description": "True: only sets with labelled faults."}),
                    ),
                    (
                        "licence",
                        json!({"type": "string", "enum": ["all", "commercial"], "default": "all",
                            "description": "commercial: only sets whose licence allows commercial use."}),
                    ),
                ],
            ).into(),
            output_schema: whole_object([
                ("count", count()),
                ("research_only", count()),
                ("datasets", list_of(whole_object(row_schema()))),
            ]).into(),
            long_running: false,
            reads_store: false,
            own_output: &[],
        }
    }

    fn run(
        &self,
        _call: &Call<'_>,
        arguments: &Map<String, Value>,
    ) -> Result<CapabilityResult, CapabilityError> {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        let words = query_words(text("query").unwrap_or_default());
        let commercial = text("licence") == Some("commercial");
        let labelled = arguments.get("labeled") == Some(&Value::Bool(true));
        let found: Vec<&DatasetEntry> = DatasetCatalogue::shipped()
            .entries()
            .iter()
            .filter(|entry| text("kind").is_none_or(|kind| entry.kind == kind))
            .filter(|entry| !labelled || entry.labeled_faults)
            .filter(|entry| !commercial || entry.commercial_ok)
            .filter(|entry| matches(entry, &words))
            .collect();
        let research = found.iter().filter(|entry| entry.research_only).count();
        let mut facts = Facts::of(NAME);
        let cite = facts.add(
            "dataset_count",
            found.len(),
            format!(
                "{} match, {research} of them research-only",
                counted(found.len(), "data set", "data sets")
            ),
            &[],
        );
        let mut sentences = vec![format!(
            "{} match, {research} of them research-only {cite}.",
            counted(found.len(), "data set", "data sets")
        )];
        for (place, entry) in found.iter().enumerate() {
            // The titles are ours and of this build, but hold numbers: they are quoted like names.
            let told = format!(
                "\"{}\": {}, licence \"{}\", access {}",
                entry.id, entry.kind, entry.licence, entry.access
            );
            let cite = facts.add(
                "dataset",
                entry.licence.as_str(),
                told.clone(),
                &[("dataset_id", json!(entry.id))],
            );
            if place < TOLD {
                sentences.push(format!("{told} {cite}."));
            }
        }
        let mut result = CapabilityResult::of(json!({
            "count": found.len(),
            "research_only": research,
            "datasets": found.iter().map(|entry| row(entry)).collect::<Vec<_>>(),
        }));
        if research > 0 {
            result.banners.push(format!(
                "{} of the listed data sets are research-only: this server refuses every facility ingested from them",
                research
            ));
        }
        result.text = sentences.join(" ");
        result.facts = facts.into_list();
        Ok(result)
    }
}
