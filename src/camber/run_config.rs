//! Run configurations of callers, read and checked once at the start (CAMBER core §5.3).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::python_text::canonical_json;
use super::rule_catalogue::{RuleCatalogue, RuleKind};
use super::token::sha256;

/// A larger file is no run configuration.
const LARGEST: u64 = 10 * 1024 * 1024;

/// A run configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RunConfigError {
    #[error("run configuration {path} cannot be read: {source}; check the name and the rights of the file", path = path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("run configuration {path} is wrong: {problem}", path = path.display())]
    Wrong { path: PathBuf, problem: String },
    #[error(
        "run configurations {first} and {second} are both of facility \"{facility}\"; give one per facility",
        first = first.display(),
        second = second.display()
    )]
    Twice {
        facility: String,
        first: PathBuf,
        second: PathBuf,
    },
}

/// One run configuration as it was at the start.
#[derive(Debug, Clone, PartialEq)]
pub struct RunConfig {
    pub path: PathBuf,
    /// The facility that it is of.
    pub facility: String,
    /// The store that it reads, when it names one: resolved against the folder of the file.
    pub store: Option<PathBuf>,
    pub content: Map<String, Value>,
    /// SHA-256 of the content, whatever its path.
    pub digest: String,
}

impl RunConfig {
    /// Reads one file, JSON or YAML.
    ///
    /// # Errors
    /// It cannot be read, or is no run configuration.
    pub fn read(path: &Path) -> Result<Self, RunConfigError> {
        let unreadable = |source| RunConfigError::Unreadable {
            path: path.to_owned(),
            source,
        };
        let wrong = |problem: String| RunConfigError::Wrong {
            path: path.to_owned(),
            problem,
        };
        if std::fs::metadata(path).map_err(unreadable)?.len() > LARGEST {
            return Err(wrong(format!("it is larger than {LARGEST} bytes")));
        }
        let text = std::fs::read_to_string(path).map_err(unreadable)?;
        let content: Value = match path.extension().and_then(|extension| extension.to_str()) {
            Some("yaml" | "yml") => {
                serde_yaml::from_str(&text).map_err(|error| wrong(error.to_string()))?
            }
            _ => serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?,
        };
        let Value::Object(content) = content else {
            return Err(wrong("it is not an object".to_owned()));
        };
        let facility = facility_of(&content).ok_or_else(|| {
            wrong("it names no facility: give source.facility_id, facility_id or site".to_owned())
        })?;
        check_rules(&content).map_err(wrong)?;
        check_equipment(&content).map_err(wrong)?;
        check_floor(&content).map_err(wrong)?;
        let store = content
            .get("source")
            .filter(|source| is_store(source))
            .and_then(|source| source.get("store"))
            .and_then(Value::as_str)
            .filter(|store| !store.is_empty())
            .map(|store| path.parent().unwrap_or(Path::new("")).join(store));
        let digest = sha256(canonical_json(&Value::Object(content.clone())).as_bytes());
        Ok(Self {
            path: path.to_owned(),
            facility,
            store,
            content,
            digest,
        })
    }

    /// The trust floor of a run: the configuration's own, but never below the caller's.
    pub fn trust_floor(&self, caller: f64) -> f64 {
        own_floor(&self.content).map_or(caller, |own| own.max(caller))
    }
}

fn is_store(source: &Value) -> bool {
    source.get("kind").and_then(Value::as_str) == Some("store")
}

fn facility_of(content: &Map<String, Value>) -> Option<String> {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    match content.get("source").filter(|source| is_store(source)) {
        Some(source) => text(source.get("facility_id")),
        None => text(content.get("facility_id")).or_else(|| text(content.get("site"))),
    }
    .filter(|facility| !facility.trim().is_empty())
}

fn own_floor(content: &Map<String, Value>) -> Option<f64> {
    content.get("trust_gate")?.get("min_trust")?.as_f64()
}

fn check_floor(content: &Map<String, Value>) -> Result<(), String> {
    let stated = content
        .get("trust_gate")
        .and_then(|gate| gate.get("min_trust"))
        .filter(|floor| !floor.is_null());
    match (stated, own_floor(content)) {
        (Some(_), Some(floor)) if (0.0..=1.0).contains(&floor) => Ok(()),
        (None, _) => Ok(()),
        _ => Err("trust_gate.min_trust must be a number from 0 to 1".to_owned()),
    }
}

/// Every rule is a name, or an object with a name and parameters that the rule has.
fn check_rules(content: &Map<String, Value>) -> Result<(), String> {
    let rules = match content.get("rules") {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Array(rules)) => rules,
        Some(_) => return Err("rules must be a list".to_owned()),
    };
    for (place, rule) in rules.iter().enumerate() {
        let name = rule
            .as_str()
            .or_else(|| rule.get("name").and_then(Value::as_str))
            .ok_or_else(|| format!("rules[{place}] has no name"))?;
        let entry = RuleCatalogue::shipped()
            .entry(name)
            .filter(|entry| entry.kind == RuleKind::Rule)
            .ok_or_else(|| format!("rules[{place}]: there is no rule \"{name}\""))?;
        let parameters = rule.get("params").and_then(Value::as_object);
        for parameter in parameters.into_iter().flat_map(Map::keys) {
            if entry.parameter(parameter).is_none() {
                return Err(format!(
                    "rules[{place}]: the rule \"{name}\" has no parameter \"{parameter}\""
                ));
            }
        }
    }
    Ok(())
}

fn check_equipment(content: &Map<String, Value>) -> Result<(), String> {
    let equipment = match content.get("equipment") {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Array(equipment)) => equipment,
        Some(_) => return Err("equipment must be a list".to_owned()),
    };
    match equipment
        .iter()
        .position(|entry| entry.get("class").and_then(Value::as_str).is_none())
    {
        Some(place) => Err(format!("equipment[{place}] has no class")),
        None => Ok(()),
    }
}

/// The run configurations of a process, one per facility.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunConfigs {
    by_facility: BTreeMap<String, Arc<RunConfig>>,
}

impl RunConfigs {
    /// Reads all files.
    ///
    /// # Errors
    /// One of them cannot be used, or two are of one facility.
    pub fn read<P: AsRef<Path>>(paths: &[P]) -> Result<Self, RunConfigError> {
        let mut by_facility: BTreeMap<String, Arc<RunConfig>> = BTreeMap::new();
        for path in paths {
            let config = RunConfig::read(path.as_ref())?;
            if let Some(first) = by_facility.get(&config.facility) {
                return Err(RunConfigError::Twice {
                    facility: config.facility,
                    first: first.path.clone(),
                    second: config.path,
                });
            }
            by_facility.insert(config.facility.clone(), Arc::new(config));
        }
        Ok(Self { by_facility })
    }

    /// The configuration of a facility.
    pub fn of(&self, facility: &str) -> Option<&Arc<RunConfig>> {
        self.by_facility.get(facility)
    }

    /// Digest of all contents; none when there are none.
    pub fn digest(&self) -> Option<String> {
        if self.by_facility.is_empty() {
            return None;
        }
        let digests: Vec<&str> = self
            .by_facility
            .values()
            .map(|config| config.digest.as_str())
            .collect();
        Some(sha256(digests.join("\n").as_bytes()))
    }

    /// Files and folders that no answer may name.
    pub fn places(&self) -> Vec<PathBuf> {
        self.by_facility
            .values()
            .flat_map(|config| {
                let folder = config.path.parent().map(Path::to_owned);
                [Some(config.path.clone()), folder, config.store.clone()]
            })
            .flatten()
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(
        folder: &tempfile::TempDir,
        name: &str,
        text: &str,
    ) -> Result<RunConfig, RunConfigError> {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        RunConfig::read(&path)
    }

    #[test]
    fn a_configuration_is_of_the_facility_that_it_names() {
        let folder = tempfile::tempdir().unwrap();
        let store = r#"{"source": {"kind": "store", "store": "../trends", "facility_id": "hq"},
            "rules": ["economizer_high_limit", {"name": "actuator_stuck", "params": {"tol_pct": 1}}],
            "trust_gate": {"min_trust": 0.7}}"#;
        let config = read(&folder, "hq.json", store).unwrap();
        assert_eq!(config.facility, "hq");
        assert_eq!(
            config.store.as_deref(),
            Some(folder.path().join("../trends").as_path())
        );
        assert_eq!(
            (config.trust_floor(0.5), config.trust_floor(0.9)),
            (0.7, 0.9)
        );
        let same = read(&folder, "other.yaml", "site: annex\nrules: []\n").unwrap();
        assert_eq!(
            (same.facility.as_str(), same.trust_floor(0.5)),
            ("annex", 0.5)
        );
        let copy = read(&folder, "copy.json", store).unwrap();
        assert_eq!(copy.digest, config.digest);
        assert_ne!(same.digest, config.digest);
    }

    #[test]
    fn what_is_wrong_is_said_at_the_start() {
        let folder = tempfile::tempdir().unwrap();
        for (text, problem) in [
            ("[]", "not an object"),
            ("{}", "names no facility"),
            (
                r#"{"site": "hq", "rules": ["economiser"]}"#,
                "no rule \"economiser\"",
            ),
            (r#"{"site": "hq", "rules": ["coil_leak_drift"]}"#, "no rule"),
            (
                r#"{"site": "hq", "rules": [{"name": "actuator_stuck", "params": {"tol": 1}}]}"#,
                "no parameter \"tol\"",
            ),
            (
                r#"{"site": "hq", "equipment": [{"equip": "AHU-1"}]}"#,
                "no class",
            ),
            (
                r#"{"site": "hq", "trust_gate": {"min_trust": 2}}"#,
                "0 to 1",
            ),
        ] {
            let error = read(&folder, "wrong.json", text).unwrap_err().to_string();
            assert!(
                error.contains(problem) && error.contains("wrong.json"),
                "{error}"
            );
        }
        read(&folder, "a.json", r#"{"site": "hq"}"#).unwrap();
        read(&folder, "b.json", r#"{"facility_id": "hq"}"#).unwrap();
        let paths = [folder.path().join("a.json"), folder.path().join("b.json")];
        let error = RunConfigs::read(&paths).unwrap_err().to_string();
        assert!(error.contains("one per facility"), "{error}");
        assert!(RunConfigs::read(&[folder.path().join("none.json")]).is_err());
    }
}
