//! The catalogue of public building data sets: metadata and licence terms (CAMBER core §13).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::knowledge::shipped;

const CATALOGUE: &str = include_str!("../../knowledge/camber/dataset-catalog.json");
const CONFIGS: &str = include_str!("../../knowledge/camber/dataset-configs.json");

static SHIPPED: LazyLock<DatasetCatalogue> =
    LazyLock::new(|| shipped::table("camber/dataset-catalog.json", CATALOGUE));
static TEMPLATES: LazyLock<Templates> =
    LazyLock::new(|| shipped::table("camber/dataset-configs.json", CONFIGS));

/// What an issue of a data set is, and what ingest does about it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct DataIssue {
    pub id: String,
    pub title: String,
    pub handling: String,
    #[serde(default)]
    pub note: Option<String>,
}

/// One part of a data set that can be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Subset {
    #[serde(default)]
    pub download_bytes: u64,
}

/// One data set.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct DatasetEntry {
    pub id: String,
    pub title: String,
    pub summary: String,
    /// `simulated`, `real`, `lab` or `synthetic`.
    pub kind: String,
    /// SPDX id.
    pub licence: String,
    /// `open` or `research_only`.
    pub access: String,
    pub access_reason: String,
    pub research_only: bool,
    /// The licence allows it and the set is not held for research.
    pub commercial_ok: bool,
    pub attribution_required: bool,
    pub labeled_faults: bool,
    pub equipment: String,
    pub good_for: Vec<String>,
    pub publisher: String,
    pub citation: String,
    pub dois: Vec<String>,
    pub landing_url: String,
    /// What its stamps mean.
    pub clock: String,
    pub local_timezone: Option<String>,
    pub verified_on: String,
    /// What the facility of an ingested set is called, before its group.
    pub facility_base: String,
    /// Of the default subset; 0 when it is generated locally.
    pub download_bytes: u64,
    pub store_bytes_estimate: Option<u64>,
    pub subsets: BTreeMap<String, Subset>,
    pub suggested_rules: Vec<String>,
    pub known_issues: Vec<String>,
    pub data_issues: Vec<DataIssue>,
}

/// All data sets, sorted by id.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct DatasetCatalogue {
    datasets: Vec<DatasetEntry>,
}

impl DatasetCatalogue {
    /// The catalogue of this build.
    pub fn shipped() -> &'static Self {
        &SHIPPED
    }

    /// All entries, sorted by id.
    pub fn entries(&self) -> &[DatasetEntry] {
        &self.datasets
    }

    /// The entry of that id.
    pub fn entry(&self, id: &str) -> Option<&DatasetEntry> {
        self.datasets.iter().find(|entry| entry.id == id)
    }

    /// The entry that a facility is named for: `ds-<base>` or `ds-<base>-<group>`.
    ///
    /// ```
    /// use niagara_bridge::camber::dataset_catalogue::DatasetCatalogue;
    /// let catalogue = DatasetCatalogue::shipped();
    /// assert_eq!(catalogue.by_facility("ds-bdg2-fox").unwrap().id, "bdg2");
    /// assert!(catalogue.by_facility("ds-bdg20").is_none());
    /// ```
    pub fn by_facility(&self, facility: &str) -> Option<&DatasetEntry> {
        self.datasets
            .iter()
            .filter(|entry| {
                facility
                    .strip_prefix(entry.facility_base.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
            })
            .max_by_key(|entry| entry.facility_base.len())
    }

    /// The zone of a data set's clock, when it is one.
    pub fn zone(&self, id: &str) -> Option<String> {
        let entry = self.entry(id)?;
        Some(
            entry
                .local_timezone
                .clone()
                .unwrap_or_else(|| entry.clock.clone()),
        )
    }
}

/// Whether a licence forbids commercial use or derivatives (CAMBER core §5.2).
pub fn is_research_licence(licence: &str) -> bool {
    licence
        .to_uppercase()
        .split('-')
        .any(|term| matches!(term, "NC" | "ND"))
}

#[derive(Debug, Default, Deserialize)]
struct Templates {
    configs: Vec<ConfigTemplate>,
}

/// The run configuration that fits a data set.
#[derive(Debug, Clone, Deserialize)]
pub struct ConfigTemplate {
    pub id: String,
    pub purpose: String,
    pub config: Map<String, Value>,
}

/// The run configuration of a data set.
pub fn config_template(id: &str) -> Option<&'static ConfigTemplate> {
    TEMPLATES.configs.iter().find(|template| template.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_is_whole_and_its_access_follows_from_the_licences() {
        let catalogue = DatasetCatalogue::shipped();
        assert_eq!(catalogue.entries().len(), 34);
        let ids: Vec<&String> = catalogue.entries().iter().map(|entry| &entry.id).collect();
        assert!(ids.is_sorted());
        for entry in catalogue.entries() {
            assert_eq!(
                entry.research_only,
                entry.access == "research_only",
                "{}",
                entry.id
            );
            assert!(
                !is_research_licence(&entry.licence) || entry.research_only,
                "{}",
                entry.id
            );
            let reason = entry.research_only && !is_research_licence(&entry.licence);
            assert_eq!(reason, !entry.access_reason.is_empty(), "{}", entry.id);
            assert_eq!(
                catalogue.by_facility(&entry.facility_base).unwrap().id,
                entry.id
            );
            assert!(config_template(&entry.id).is_some(), "{}", entry.id);
        }
    }

    #[test]
    fn licences_with_nc_or_nd_are_for_research() {
        for licence in ["CC-BY-NC-4.0", "cc-by-nd-4.0", "CC-BY-NC-SA-4.0"] {
            assert!(is_research_licence(licence), "{licence}");
        }
        for licence in ["NIST-PD", "CC-BY-SA-4.0", "CNC-1", ""] {
            assert!(!is_research_licence(licence), "{licence}");
        }
    }
}
