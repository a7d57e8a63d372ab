//! Which facilities a caller may have: allowlist and licences (CAMBER core §5).

use serde_json::{Map, Value};

use super::context::CallerPolicy;
use super::dataset_catalogue::{DatasetCatalogue, is_research_licence};
use super::error::{CapabilityError, FailureCode};
use super::hygiene::quoted;
use crate::trends::store::{Registry, RegistryCondition, StoreError, TrendStore};

/// Why a facility's data are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LicenceBar {
    /// Its licence or its publisher allows research only.
    ResearchOnly,
    /// Nobody can tell what its licence allows.
    Unverified,
}

/// What the registry and the catalogue say of all facilities, as it was when the call began.
#[derive(Debug)]
pub struct FacilityPolicy {
    registry: Registry,
    damage: Option<&'static str>,
}

impl FacilityPolicy {
    /// Reads the registry of a store.
    ///
    /// # Errors
    /// The folder of the store cannot be read.
    pub fn read(store: &TrendStore) -> Result<Self, StoreError> {
        let registry = store.registry();
        let damage = match registry.condition() {
            RegistryCondition::Damaged(_) => Some("is unreadable"),
            RegistryCondition::Missing => {
                let has_datasets = store
                    .facilities()?
                    .iter()
                    .any(|facility| facility.is_dataset());
                has_datasets.then_some("is missing although the store holds public data sets")
            }
            RegistryCondition::Sound if registry.entries().is_empty() => {
                (!store.facilities()?.is_empty()).then_some("is empty")
            }
            RegistryCondition::Sound => None,
        };
        Ok(Self { registry, damage })
    }

    /// The registry.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The notice that every result carries while the registry is damaged.
    pub fn notice(&self) -> Option<String> {
        self.damage.map(|damage| {
            format!(
                "the facility registry of the store {damage}: licences cannot be established, so the data of every \
                 facility are refused until it is restored"
            )
        })
    }

    /// What keeps the facility's data from being shown.
    pub fn bar(&self, facility: &str) -> Option<LicenceBar> {
        let catalogue = DatasetCatalogue::shipped();
        let is_dataset = facility.starts_with("ds-");
        let named = is_dataset
            .then(|| catalogue.by_facility(facility))
            .flatten();
        let entry = self.registry.entry(facility);
        let dataset = entry.and_then(|entry| entry.dataset());
        let recorded = dataset.is_some_and(|block| is_research_only(block, catalogue));
        if recorded || named.is_some_and(|entry| entry.research_only) {
            return Some(LicenceBar::ResearchOnly);
        }
        let unknown = is_dataset && (entry.is_none() || (named.is_none() && dataset.is_none()));
        (self.damage.is_some() || unknown).then_some(LicenceBar::Unverified)
    }

    /// Refuses a facility whose data may not be shown.
    ///
    /// # Errors
    /// [`FailureCode::RefusedLicence`].
    pub fn require_clean(&self, facility: &str) -> Result<(), CapabilityError> {
        let refuse = |message: String| {
            CapabilityError::new(FailureCode::RefusedLicence, message).with("facility_id", facility)
        };
        match self.bar(facility) {
            None => Ok(()),
            Some(LicenceBar::ResearchOnly) => Err(refuse(format!(
                "facility {} holds research-only data, which this server does not show to anybody",
                quoted(facility)
            ))),
            Some(LicenceBar::Unverified) => Err(refuse(format!(
                "the licence of facility {} cannot be established; restore the facility registry of the store or \
                 ingest the facility again",
                quoted(facility)
            ))
            .with("reason", "licence_unverified")),
        }
    }
}

/// By what the registry recorded at ingest, or by the catalogue's present terms.
fn is_research_only(dataset: &Map<String, Value>, catalogue: &DatasetCatalogue) -> bool {
    let text = |key: &str| dataset.get(key).and_then(Value::as_str);
    text("access") == Some("research_only")
        || text("redistribution") == Some("prohibited")
        || text("licence").is_some_and(is_research_licence)
        || text("dataset_id")
            .and_then(|id| catalogue.entry(id))
            .is_some_and(|entry| entry.research_only)
}

/// The facilities that arguments name, in the order in which they are judged.
pub fn named_facilities(arguments: &Map<String, Value>) -> Vec<String> {
    let one = arguments.get("facility_id").and_then(Value::as_str);
    let several = arguments
        .get("facility_ids")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    one.into_iter().chain(several).map(str::to_owned).collect()
}

/// Refuses facilities outside the allowlist, whether they exist or not.
///
/// # Errors
/// [`FailureCode::NotAllowed`].
pub fn require_allowed(named: &[String], caller: &CallerPolicy) -> Result<(), CapabilityError> {
    match named.iter().find(|id| !caller.allowed.contains(*id)) {
        Some(foreign) => Err(CapabilityError::new(
            FailureCode::NotAllowed,
            format!(
                "facility {} is not among those that this caller may see; the capability facilities lists them",
                quoted(foreign)
            ),
        )),
        None => Ok(()),
    }
}
