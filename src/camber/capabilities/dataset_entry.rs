//! `dataset_entry`: everything the catalogue knows of one data set (CAMBER core §12.6).

use serde_json::{Map, Value, json};

use super::dataset_search::{row, row_schema};
use crate::camber::call::Call;
use crate::camber::capability::{
    Capability, CapabilityDefinition, closed_object, list_of, of_type, whole_object,
};
use crate::camber::dataset_catalogue::{DatasetCatalogue, DatasetEntry};
use crate::camber::error::CapabilityError;
use crate::camber::hygiene::quoted;
use crate::camber::result::{CapabilityResult, Facts};

const NAME: &str = "dataset_entry";

/// Tells one entry of the catalogue of data sets.
pub struct DatasetEntryCapability;

fn details(entry: &DatasetEntry) -> Map<String, Value> {
    let mut rules = entry.suggested_rules.clone();
    rules.sort_unstable();
    let issues: Vec<Value> = entry
        .data_issues
        .iter()
        .map(|issue| {
            let mut row = json!({"id": issue.id, "title": issue.title, "handling": issue.handling});
            if let Some(note) = &issue.note {
                row["note"] = json!(note);
            }
            row
        })
        .collect();
    let mut data = row(entry);
    let Value::Object(more) = json!({
        "summary": entry.summary,
        "publisher": entry.publisher,
        "citation": entry.citation,
        "landing_url": entry.landing_url,
        "access_reason": entry.access_reason,
        "timezone": entry.clock,
        "verified_on": entry.verified_on,
        "dois": entry.dois,
        "subsets": entry.subsets.keys().collect::<Vec<_>>(),
        "suggested_rules": rules,
        "known_issues": entry.known_issues,
        "attribution_required": entry.attribution_required,
        "data_issues": issues,
    }) else {
        return data;
    };
    data.extend(more);
    data
}

fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

impl Capability for DatasetEntryCapability {
    fn definition(&self) -> CapabilityDefinition {
        let texts = [
            "summary",
            "publisher",
            "citation",
            "landing_url",
            "access_reason",
            "timezone",
            "verified_on",
        ];
        let lists = ["dois", "subsets", "suggested_rules", "known_issues"];
        let issue = closed_object(
            &["id", "title", "handling"],
            ["id", "title", "handling", "note"].map(|name| (name, of_type(&["string"]))),
        );
        let mut properties = row_schema();
        properties.extend(texts.map(|name| (name, of_type(&["string"]))));
        properties.extend(lists.map(|name| (name, list_of(of_type(&["string"])))));
        properties.push(("attribution_required", of_type(&["boolean"])));
        properties.push(("data_issues", list_of(issue)));
        CapabilityDefinition {
            name: NAME,
            title: "One public data set",
            description: "All metadata of one data set of the catalogue: summary, publisher, citation, DOIs, landing page, \
                licence and access (with the reason for a research-only one), subsets, download size, rules that suit \
                it, known issues and how ingest treats data issues. Nothing is downloaded. Call it after dataset_search. \
                Cheap. Example: {\"dataset_id\": \"lbnl-sdahu\"}.",
            input_schema: closed_object(
                &["dataset_id"],
                [(
                    "dataset_id",
                    json!({"type": "string", "pattern": "^[a-z0-9][a-z0-9-]{0,99}$",
                        "description": "Id as dataset_search lists it."}),
                )],
            )
            .into(),
            output_schema: whole_object(properties).into(),
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
        let id = arguments
            .get("dataset_id")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let Some(entry) = DatasetCatalogue::shipped().entry(id) else {
            return Err(CapabilityError::not_found(format!(
                "the catalogue has no data set {}; dataset_search lists those that exist",
                quoted(id)
            )));
        };
        let mut facts = Facts::of(NAME);
        let extra = [("dataset_id", json!(entry.id))];
        let told = format!(
            "{} is a {} data set of {}, licence {}, access {}",
            quoted(&entry.id),
            entry.kind,
            quoted(&entry.publisher),
            quoted(&entry.licence),
            entry.access
        );
        let size = match entry.download_bytes {
            0 => format!(
                "{} is generated locally: 0 bytes to download",
                quoted(&entry.id)
            ),
            bytes => format!(
                "{}: the default subset is a download of {} bytes",
                quoted(&entry.id),
                thousands(bytes)
            ),
        };
        let licence = facts.add("dataset", entry.licence.as_str(), told.clone(), &extra);
        let bytes = facts.add("dataset_size", entry.download_bytes, size.clone(), &extra);
        let mut result = CapabilityResult {
            data: details(entry),
            ..CapabilityResult::default()
        };
        if entry.research_only {
            result.banners.push(format!(
                "{} is research-only: this server refuses every facility ingested from it",
                quoted(&entry.id)
            ));
        }
        result.text = format!("{told} {licence}. {size} {bytes}.");
        result.facts = facts.into_list();
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_told_in_thousands() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(271_713_180), "271,713,180");
    }
}
