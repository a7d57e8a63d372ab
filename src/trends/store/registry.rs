//! The facility registry `_facilities.json` (Store §6).
//!
//! Free keys that other programs put into an entry are kept as they are.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use chrono::{DateTime, SecondsFormat, Utc};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{FacilityId, StoreError};
use crate::durable_file::{FileError, Staged, folder_of, sync_folder};

/// Name of the file in the root.
pub const FILE: &str = "_facilities.json";

/// A registry of more than this is no registry.
const LARGEST: u64 = 64 * 1024 * 1024;

/// Keys that only lifecycle changes set.
const LIFECYCLE: [&str; 4] = ["name", "state", "created_at", "state_changed_at"];

/// Where a facility is in its life (Store §6.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FacilityState {
    Provisioning,
    Active,
    Suspended,
    Offboarding,
    Archived,
    Purged,
}

impl FacilityState {
    const ALL: [Self; 6] = [
        Self::Provisioning,
        Self::Active,
        Self::Suspended,
        Self::Offboarding,
        Self::Archived,
        Self::Purged,
    ];

    /// The word in the registry.
    pub fn word(self) -> &'static str {
        match self {
            Self::Provisioning => "provisioning",
            Self::Active => "active",
            Self::Suspended => "suspended",
            Self::Offboarding => "offboarding",
            Self::Archived => "archived",
            Self::Purged => "purged",
        }
    }

    /// The state of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word() == word)
    }

    /// Whether data may be written: everything but an archived facility takes it (Store §2).
    pub fn accepts_data(self) -> bool {
        self != Self::Archived
    }

    /// Whether a facility may go from this state to that one (Store §6.2).
    pub fn may_become(self, next: Self) -> bool {
        use FacilityState::{Active, Archived, Offboarding, Provisioning, Purged, Suspended};
        matches!(
            (self, next),
            (Provisioning | Suspended | Offboarding | Archived, Active)
                | (Active, Suspended | Offboarding)
                | (Suspended, Offboarding)
                | (Offboarding, Archived)
                | (Archived, Purged)
        )
    }
}

/// What the registry says about one facility.
#[derive(Debug, Clone, PartialEq)]
pub struct FacilityEntry {
    fields: Map<String, Value>,
}

impl FacilityEntry {
    /// The entry with all its keys, as stored.
    pub fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.fields.get(key).and_then(Value::as_str)
    }

    /// The name under which it was registered.
    pub fn name(&self) -> Option<&str> {
        self.text("name")
    }

    /// The name to show: display name, else name.
    pub fn shown_name(&self) -> Option<&str> {
        self.text("display_name")
            .filter(|name| !name.is_empty())
            .or_else(|| self.name().filter(|name| !name.is_empty()))
    }

    /// The state; `active` when none is recorded, none when the word is unknown.
    pub fn state(&self) -> Option<FacilityState> {
        match self.fields.get("state") {
            None | Some(Value::Null) => Some(FacilityState::Active),
            Some(word) => word.as_str().and_then(FacilityState::from_word),
        }
    }

    /// The word of the state as recorded; `active` when none is.
    pub fn state_word(&self) -> &str {
        self.text("state").unwrap_or("active")
    }

    /// The block of a catalogue data set, when the facility was ingested from one.
    pub fn dataset(&self) -> Option<&Map<String, Value>> {
        self.fields.get("dataset").and_then(Value::as_object)
    }

    /// The first valid IANA zone of entry, data set, catalogue and open-fdd block, as written there (Store §6.3).
    ///
    /// `catalogue_zone` tells the zone that the data set catalogue has for a `dataset_id`.
    pub fn time_zone(&self, catalogue_zone: impl FnOnce(&str) -> Option<String>) -> Option<String> {
        let of = |block: Option<&Map<String, Value>>, key: &str| {
            let text = block?.get(key)?.as_str()?.trim();
            is_zone(text).then(|| text.to_owned())
        };
        let dataset = self.dataset();
        let openfdd = self.fields.get("openfdd").and_then(Value::as_object);
        of(Some(&self.fields), "timezone")
            .or_else(|| of(dataset, "local_timezone"))
            .or_else(|| of(dataset, "timezone"))
            .or_else(|| {
                let id = dataset?.get("dataset_id")?.as_str()?;
                catalogue_zone(id).filter(|zone| is_zone(zone))
            })
            .or_else(|| of(openfdd, "timezone"))
    }
}

/// Whether a text is the name of an IANA zone, in any letter case.
pub fn is_zone(text: &str) -> bool {
    chrono_tz::TZ_VARIANTS
        .iter()
        .any(|zone| zone.name().eq_ignore_ascii_case(text))
}

/// How the registry file was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegistryCondition {
    /// There is none.
    Missing,
    Sound,
    /// It is there but cannot be trusted: what is wrong with it.
    Damaged(String),
}

/// The registry as it was at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Registry {
    path: PathBuf,
    entries: BTreeMap<String, FacilityEntry>,
    condition: RegistryCondition,
}

impl Registry {
    /// Reads the registry of a store; a damaged one has no entries.
    pub fn read(root: &Path) -> Self {
        let path = root.join(FILE);
        match entries_of(&path) {
            Ok(Some(entries)) => Self {
                path,
                entries,
                condition: RegistryCondition::Sound,
            },
            Ok(None) => Self {
                path,
                entries: BTreeMap::new(),
                condition: RegistryCondition::Missing,
            },
            Err(problem) => Self {
                path,
                entries: BTreeMap::new(),
                condition: RegistryCondition::Damaged(problem),
            },
        }
    }

    /// All entries by facility id.
    pub fn entries(&self) -> &BTreeMap<String, FacilityEntry> {
        &self.entries
    }

    /// The entry of a facility.
    pub fn entry(&self, facility: &str) -> Option<&FacilityEntry> {
        self.entries.get(facility)
    }

    /// How the file was found.
    pub fn condition(&self) -> &RegistryCondition {
        &self.condition
    }

    /// The state of a facility: unregistered ones are active; an unknown word counts as suspended, which the analyses
    /// leave out.
    pub fn state(&self, facility: &str) -> FacilityState {
        self.entry(facility)
            .map_or(Some(FacilityState::Active), FacilityEntry::state)
            .unwrap_or(FacilityState::Suspended)
    }

    /// Refuses to go on with a registry that cannot be trusted.
    ///
    /// # Errors
    /// [`StoreError::RegistryDamaged`].
    pub fn trusted(&self) -> Result<&Self, StoreError> {
        match &self.condition {
            RegistryCondition::Damaged(problem) => Err(StoreError::RegistryDamaged {
                path: self.path.clone(),
                problem: problem.clone(),
            }),
            RegistryCondition::Missing | RegistryCondition::Sound => Ok(self),
        }
    }

    /// Adds a facility, or adds `facts` to the entry of one that is registered already.
    ///
    /// Returns whether anything changed.
    ///
    /// # Errors
    /// The facility is registered under another name, or a fact is a lifecycle key.
    pub(super) fn register(
        &mut self,
        facility: &FacilityId,
        name: Option<&str>,
        state: FacilityState,
        facts: &Map<String, Value>,
        now: DateTime<Utc>,
    ) -> Result<bool, StoreError> {
        if let Some(key) = LIFECYCLE.iter().find(|key| facts.contains_key(**key)) {
            return Err(StoreError::Refused(format!(
                "{key} of facility \"{facility}\" cannot be set by registering it; use `niagara-bridge store facility`"
            )));
        }
        let Some(entry) = self.entries.get_mut(facility.as_str()) else {
            let mut fields = facts.clone();
            let now = stamp(now);
            fields.insert(
                "name".to_owned(),
                name.unwrap_or(facility.as_str()).to_owned().into(),
            );
            fields.insert("state".to_owned(), state.word().into());
            fields.insert("created_at".to_owned(), now.clone().into());
            fields.insert("state_changed_at".to_owned(), now.into());
            self.entries
                .insert(facility.as_str().to_owned(), FacilityEntry { fields });
            return Ok(true);
        };
        if let (Some(name), Some(known)) = (name, entry.name())
            && name != known
        {
            return Err(StoreError::Refused(format!(
                "facility \"{facility}\" is registered as {known:?}, not as {name:?}; choose another facility id, or keep \
                 the name"
            )));
        }
        let before = entry.fields.clone();
        if let Some(name) = name {
            entry.fields.insert("name".to_owned(), name.into());
        }
        entry.fields.extend(
            facts
                .iter()
                .map(|(key, value)| (key.clone(), value.clone())),
        );
        Ok(entry.fields != before)
    }

    /// Moves a registered facility to another state; one without an entry gets one.
    ///
    /// # Errors
    /// The lifecycle has no such step.
    pub(super) fn set_state(
        &mut self,
        facility: &FacilityId,
        next: FacilityState,
        now: DateTime<Utc>,
    ) -> Result<bool, StoreError> {
        let current = self.state(facility.as_str());
        if current == next && self.entry(facility.as_str()).is_some() {
            return Ok(false);
        }
        if current != next && !current.may_become(next) {
            return Err(StoreError::Refused(format!(
                "facility \"{facility}\" is {} and cannot become {} from there",
                current.word(),
                next.word()
            )));
        }
        self.register(facility, None, current, &Map::new(), now)?;
        if let Some(entry) = self.entries.get_mut(facility.as_str()) {
            entry.fields.insert("state".to_owned(), next.word().into());
            entry
                .fields
                .insert("state_changed_at".to_owned(), stamp(now).into());
        }
        Ok(true)
    }

    /// Drops the entry of a facility.
    pub(super) fn forget(&mut self, facility: &FacilityId) -> Option<FacilityEntry> {
        self.entries.remove(facility.as_str())
    }

    /// Writes the registry, in one step for readers.
    ///
    /// # Errors
    /// The file on disk is damaged, or cannot be replaced.
    pub(super) fn write(&self) -> Result<(), StoreError> {
        self.trusted()?;
        let object: Map<String, Value> = self
            .entries
            .iter()
            .map(|(id, entry)| (id.clone(), Value::Object(entry.fields.clone())))
            .collect();
        write_json(&self.path, &Value::Object(object))?;
        Ok(())
    }
}

fn entries_of(path: &Path) -> Result<Option<BTreeMap<String, FacilityEntry>>, String> {
    let Some(object) = read_object(path)? else {
        return Ok(None);
    };
    object
        .into_iter()
        .map(|(id, entry)| match entry {
            Value::Object(fields) => Ok((id, FacilityEntry { fields })),
            _ => Err(format!("the entry of {id:?} is no object")),
        })
        .collect::<Result<_, _>>()
        .map(Some)
}

/// The object in a JSON file of the store; none when there is no such file.
pub(super) fn read_object(path: &Path) -> Result<Option<Map<String, Value>>, String> {
    let size = match std::fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
        Ok(facts) => facts.len(),
    };
    if size > LARGEST {
        return Err(format!("it has {size} bytes, {LARGEST} at most are read"));
    }
    let text = std::fs::read(path).map_err(|error| error.to_string())?;
    match serde_json::from_slice(&text) {
        Ok(Value::Object(object)) => Ok(Some(object)),
        Ok(_) => Err("it holds no JSON object".to_owned()),
        Err(error) => Err(format!("it holds no JSON: {error}")),
    }
}

/// Replaces a JSON file of the store by way of `<name>.tmp`, with sorted keys.
pub(super) fn write_json(path: &Path, value: &Value) -> Result<(), FileError> {
    let text = sorted(value).to_string();
    let mut temp = path.as_os_str().to_owned();
    temp.push(".tmp");
    let mut staged = Staged::create(temp.into(), path.to_owned())?;
    staged.fill(text.as_bytes())?;
    staged.commit()?;
    sync_folder(folder_of(path))
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let by_key: BTreeMap<&String, &Value> = object.iter().collect();
            Value::Object(
                by_key
                    .into_iter()
                    .map(|(key, value)| (key.clone(), sorted(value)))
                    .collect(),
            )
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

/// A time as the registry writes it.
pub(super) fn stamp(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn registry(text: &str) -> (tempfile::TempDir, Registry) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), text).unwrap();
        let registry = Registry::read(folder.path());
        (folder, registry)
    }

    #[test]
    fn an_entry_is_normalised_as_it_is_read() {
        let (_folder, registry) = registry(
            r#"{"hq": {"name": "HQ", "created_at": "2024-01-01T00:00:00Z", "timezone": " america/chicago "},
                "b": {"display_name": "B wing", "state": "archived"}, "c": {"state": "odd"}}"#,
        );
        let hq = registry.entry("hq").unwrap();
        assert_eq!(hq.shown_name(), Some("HQ"));
        assert_eq!(hq.state(), Some(FacilityState::Active));
        assert_eq!(hq.time_zone(|_| None).as_deref(), Some("america/chicago"));
        assert_eq!(registry.entry("b").unwrap().shown_name(), Some("B wing"));
        assert!(!registry.state("b").accepts_data());
        assert_eq!(registry.state("c"), FacilityState::Suspended);
        assert_eq!(registry.state("unregistered"), FacilityState::Active);
    }

    #[test]
    fn the_first_valid_zone_wins() {
        let zone = |entry: Value| {
            let Value::Object(fields) = entry else {
                panic!("an object")
            };
            FacilityEntry { fields }
                .time_zone(|id| (id == "bdg2").then(|| "Europe/London".to_owned()))
        };
        assert_eq!(
            zone(json!({"timezone": "Eastern", "dataset": {"local_timezone": "US/Pacific"}}))
                .as_deref(),
            Some("US/Pacific")
        );
        assert_eq!(
            zone(json!({"dataset": {"dataset_id": "bdg2", "timezone": "PST"}})).as_deref(),
            Some("Europe/London")
        );
        assert_eq!(
            zone(json!({"openfdd": {"timezone": "Etc/GMT+5"}})).as_deref(),
            Some("Etc/GMT+5")
        );
        for none in ["Z", "PST", "+05:00", "", "tzlocal()"] {
            assert_eq!(zone(json!({"timezone": none})), None, "{none}");
        }
        for some in ["EST", "CET", "UTC"] {
            assert_eq!(zone(json!({"timezone": some})).as_deref(), Some(some));
        }
    }

    #[test]
    fn a_registry_that_cannot_be_trusted_is_never_overwritten() {
        for (text, problem) in [
            ("", "no JSON"),
            ("[]", "no JSON object"),
            ("{\"hq\": 1}", "the entry of \"hq\""),
        ] {
            let (folder, registry) = registry(text);
            let RegistryCondition::Damaged(found) = registry.condition() else {
                panic!("{text:?} passed")
            };
            assert!(found.contains(problem), "{found}");
            assert!(registry.write().is_err());
            assert_eq!(
                std::fs::read_to_string(folder.path().join(FILE)).unwrap(),
                text
            );
        }
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(
            *Registry::read(folder.path()).condition(),
            RegistryCondition::Missing
        );
    }

    #[test]
    fn a_facility_is_registered_once_and_moves_through_its_states() {
        let folder = tempfile::tempdir().unwrap();
        let mut registry = Registry::read(folder.path());
        let hq = FacilityId::parse("hq").unwrap();
        let now = "2026-03-08T07:00:00Z".parse().unwrap();
        let Value::Object(zone) = json!({"timezone": "America/Chicago"}) else {
            panic!()
        };
        let add = |registry: &mut Registry, name| {
            registry.register(&hq, Some(name), FacilityState::Active, &zone, now)
        };
        assert!(add(&mut registry, "HQ").unwrap());
        assert!(!add(&mut registry, "HQ").unwrap());
        let error = add(&mut registry, "Other").unwrap_err().to_string();
        assert!(error.contains("\"HQ\""), "{error}");
        assert!(
            registry
                .set_state(&hq, FacilityState::Suspended, now)
                .unwrap()
        );
        assert!(
            registry
                .set_state(&hq, FacilityState::Archived, now)
                .is_err()
        );
        registry.write().unwrap();
        assert_eq!(
            std::fs::read_to_string(folder.path().join(FILE)).unwrap(),
            "{\"hq\":{\"created_at\":\"2026-03-08T07:00:00Z\",\"name\":\"HQ\",\"state\":\"suspended\",\
             \"state_changed_at\":\"2026-03-08T07:00:00Z\",\"timezone\":\"America/Chicago\"}}"
        );
        let Value::Object(state) = json!({"state": "active"}) else {
            panic!()
        };
        assert!(
            registry
                .register(&hq, None, FacilityState::Active, &state, now)
                .is_err()
        );
    }
}
