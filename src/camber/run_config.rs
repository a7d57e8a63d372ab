//! Files of run configurations, read and checked once at the start (CAMBER core §5.3; Engine §5).

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use niagara_analytics::drift::FrozenBaselines;
use niagara_analytics::run_config::oversights::{self, OfStored};
use niagara_analytics::run_config::{
    ConfigError, ConfigFiles, Oversight, ReferenceSource, RunConfig, SharedOat, Source,
};
use serde_json::{Map, Value};

use super::python_text::canonical_json;
use super::token::sha256;
use crate::trends::files::csv_series::{self, CsvSeries};
use crate::trends::site_time::SiteClock;
use crate::trends::store::{FacilityId, FacilityPoints, TrendStore};
use crate::unrepeated_keys;

/// A larger file is no run configuration, and no table of one.
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

/// One run configuration as it was at the start, with the files that it names.
#[derive(Debug, Clone, PartialEq)]
pub struct RunConfigFile {
    pub path: PathBuf,
    /// The facility that it is of.
    pub facility: String,
    /// The store that it names, resolved against the folder of the file.
    pub store: Option<PathBuf>,
    pub config: RunConfig,
    series: HashMap<ReferenceSource, CsvSeries>,
    /// The frozen baselines of its drift section, or why there are none.
    frozen: Result<FrozenBaselines, String>,
    /// SHA-256 of the content and of its files, whatever their paths.
    pub digest: String,
}

impl RunConfigFile {
    /// Reads one file, JSON or YAML.
    ///
    /// # Errors
    /// It or a file that it names cannot be read, or it is no run configuration.
    pub fn read(path: &Path) -> Result<Self, RunConfigError> {
        let wrong = |problem: String| RunConfigError::Wrong {
            path: path.to_owned(),
            problem,
        };
        let text = text_of(path).map_err(|error| match error {
            Unread::Io(source) => RunConfigError::Unreadable {
                path: path.to_owned(),
                source,
            },
            Unread::TooLarge => wrong(format!("it is larger than {LARGEST} bytes")),
        })?;
        let content = match path.extension().and_then(|extension| extension.to_str()) {
            Some("yaml" | "yml") => yaml(&text),
            _ => unrepeated_keys::json(&text).map_err(|error| error.to_string()),
        }
        .map_err(wrong)?;
        let Value::Object(content) = content else {
            return Err(wrong("it is not an object".to_owned()));
        };
        let folder = Folder::of(path);
        let config = RunConfig::read(content, &folder).map_err(|error| wrong(error.to_string()))?;
        let facility = config
            .facility()
            .ok_or_else(|| {
                wrong(
                    "it names no facility: give source.facility_id, facility_id or site".to_owned(),
                )
            })?
            .to_owned();
        let store = match &config.source {
            Some(Source::Store(source)) => source.store.as_deref(),
            _ => None,
        }
        .filter(|store| !store.is_empty())
        .map(|store| folder.at(store));
        let series = folder
            .series(&config)
            .map_err(|error| wrong(error.to_string()))?;
        let frozen = folder
            .frozen(&config)
            .map_err(|error| wrong(error.to_string()))?;
        let mut digest = canonical_json(&Value::Object(config.content().clone()));
        for text in folder.read_texts() {
            digest.push('\n');
            digest.push_str(&text);
        }
        Ok(Self {
            path: path.to_owned(),
            facility,
            store,
            config,
            series,
            frozen,
            digest: sha256(digest.as_bytes()),
        })
    }

    /// The outdoor temperatures of the file that `shared_oat` names.
    pub fn shared_oat(&self) -> Option<&CsvSeries> {
        match self.config.shared_oat.as_ref()? {
            SharedOat::File { file, .. } => self.series.get(&oat_file(file)),
            SharedOat::Point { .. } => None,
        }
    }

    /// The samples of a file of two columns that bills name for their weather.
    pub fn series_of(&self, path: &str) -> Option<&CsvSeries> {
        self.series.get(&oat_file(path))
    }

    /// The samples of a reference that is a file.
    pub fn reference(&self, source: &ReferenceSource) -> Option<&CsvSeries> {
        self.series.get(source)
    }

    /// The frozen baselines that its drift section names.
    ///
    /// # Errors
    /// Why there are none: the file could not be read at the start.
    pub fn frozen(&self) -> Result<&FrozenBaselines, &str> {
        self.frozen.as_ref().map_err(String::as_str)
    }

    /// What has no effect in it, or hardly the one that is meant; beside what the facility stores, where that is known.
    pub fn oversights(&self, stored: Option<&FacilityPoints>) -> Vec<Oversight> {
        let mut found = self.config.oversights().to_vec();
        if let Some(stored) = stored {
            let (classes, points) = (&stored.classes, &stored.points);
            found.extend(OfStored { classes, points }.of(&self.config));
        }
        if let Some(topology) = &self.config.topology {
            let equipment = stored.iter().flat_map(|stored| stored.classes.keys());
            found.extend(oversights::of_topology(
                topology,
                equipment.map(String::as_str),
            ));
        }
        if let Err(error) = self.config.mv_entries() {
            let problem = format!("{}; mv_summary refuses it", error.problem);
            found.push(Oversight::new(error.place, problem));
        }
        found
    }

    /// Files and folders that no answer may name.
    fn places(&self) -> impl Iterator<Item = PathBuf> {
        let folder = self.path.parent().map(Path::to_owned);
        [Some(self.path.clone()), folder, self.store.clone()]
            .into_iter()
            .flatten()
    }
}

fn oat_file(file: &str) -> ReferenceSource {
    ReferenceSource::File {
        path: file.to_owned(),
        time_column: None,
        value_column: None,
    }
}

enum Unread {
    Io(std::io::Error),
    TooLarge,
}

fn text_of(path: &Path) -> Result<String, Unread> {
    if std::fs::metadata(path).map_err(Unread::Io)?.len() > LARGEST {
        return Err(Unread::TooLarge);
    }
    std::fs::read_to_string(path).map_err(Unread::Io)
}

/// YAML whose scalars mean what they mean in JSON; nothing at all is an empty object.
fn yaml(text: &str) -> Result<Value, String> {
    let value = unrepeated_keys::yaml(text).map_err(|error| error.to_string())?;
    Ok(match value {
        Value::Null => Value::Object(Map::new()),
        value => value,
    })
}

/// The folder of a configuration, which remembers what was read from it.
struct Folder {
    path: PathBuf,
    texts: std::sync::Mutex<BTreeMap<String, String>>,
}

impl Folder {
    fn of(file: &Path) -> Self {
        Self {
            path: file.parent().unwrap_or(Path::new("")).to_owned(),
            texts: std::sync::Mutex::default(),
        }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.path.join(path)
    }

    fn texts(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, String>> {
        self.texts
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn read_texts(&self) -> Vec<String> {
        self.texts().values().cloned().collect()
    }

    /// The baselines of the drift section. A file that is not there yet is no mistake of the configuration: nothing has
    /// been frozen.
    fn frozen(&self, config: &RunConfig) -> Result<Result<FrozenBaselines, String>, ConfigError> {
        let file = config.drift.as_ref().and_then(|drift| drift.frozen_file());
        let Some(file) = file else {
            return Ok(Ok(FrozenBaselines::default()));
        };
        match self.text(file) {
            Err(problem) => Ok(Err(format!("{file:?}: {problem}"))),
            Ok(text) => match FrozenBaselines::parse(&text) {
                Ok(baselines) => Ok(Ok(baselines)),
                Err(error) => Err(ConfigError::new("drift.store", error.to_string())),
            },
        }
    }

    /// The tables of samples that the configuration names.
    fn series(
        &self,
        config: &RunConfig,
    ) -> Result<HashMap<ReferenceSource, CsvSeries>, ConfigError> {
        let source_zone = match &config.source {
            Some(Source::Store(source)) => source.timezone.as_deref(),
            Some(Source::Folder(source)) => source.timezone.as_deref(),
            None => None,
        };
        let mut wanted: Vec<(String, ReferenceSource, Option<&str>)> = Vec::new();
        if let Some(SharedOat::File { file, timezone }) = &config.shared_oat {
            let zone = timezone.as_deref().or(source_zone);
            wanted.push(("shared_oat.file".to_owned(), oat_file(file), zone));
        }
        let entries = config.raw("mv").and_then(Value::as_array);
        for (number, entry) in entries.into_iter().flatten().enumerate() {
            if let Some(file) = entry.pointer("/oat/file").and_then(Value::as_str) {
                wanted.push((
                    format!("mv[{number}].oat.file"),
                    oat_file(file),
                    source_zone,
                ));
            }
        }
        let references = &config.references;
        let outdoor = references.outdoor.iter().map(|spec| ("*", "oat", spec));
        let points = references
            .points
            .iter()
            .map(|((equip, role), spec)| (equip.as_str(), role.as_str(), spec));
        for (equip, role, spec) in points.chain(outdoor) {
            if matches!(spec.source, ReferenceSource::File { .. }) {
                let place = format!("report.rcx.references.{equip}.{role}.csv");
                wanted.push((place, spec.source.clone(), source_zone));
            }
        }
        let mut series = HashMap::new();
        for (place, source, zone) in wanted {
            let ReferenceSource::File {
                path,
                time_column,
                value_column,
            } = &source
            else {
                continue;
            };
            let refuse = |problem: String| ConfigError::new(&place, format!("{path:?}: {problem}"));
            let clock = match zone {
                None => None,
                Some(zone) => Some(SiteClock::named(zone).ok_or_else(|| {
                    ConfigError::new("source.timezone", format!("{zone:?} is no IANA time zone"))
                })?),
            };
            let text = self.text(path).map_err(refuse)?;
            let columns = [time_column.as_deref(), value_column.as_deref()];
            let found = csv_series::parse(&text, columns, clock).map_err(refuse)?;
            series.insert(source, found);
        }
        Ok(series)
    }
}

impl ConfigFiles for Folder {
    fn text(&self, path: &str) -> Result<String, String> {
        let text = text_of(&self.at(path)).map_err(|error| match error {
            Unread::Io(error) => format!("it cannot be read: {error}"),
            Unread::TooLarge => format!("it is larger than {LARGEST} bytes"),
        })?;
        self.texts().insert(path.to_owned(), text.clone());
        Ok(text)
    }
}

/// The run configurations of a process, one per facility.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunConfigs {
    by_facility: BTreeMap<String, Arc<RunConfigFile>>,
}

impl RunConfigs {
    /// Reads all files.
    ///
    /// # Errors
    /// One of them cannot be used, or two are of one facility.
    pub fn read<P: AsRef<Path>>(paths: &[P]) -> Result<Self, RunConfigError> {
        let mut by_facility: BTreeMap<String, Arc<RunConfigFile>> = BTreeMap::new();
        for path in paths {
            let config = RunConfigFile::read(path.as_ref())?;
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
    pub fn of(&self, facility: &str) -> Option<&Arc<RunConfigFile>> {
        self.by_facility.get(facility)
    }

    /// The facilities that have one.
    pub fn facilities(&self) -> impl Iterator<Item = &str> {
        self.by_facility.keys().map(String::as_str)
    }

    /// Writes to the log what has no effect in the files, and which of them are of a facility that is not served.
    pub fn warn(&self, store: &TrendStore, is_served: impl Fn(&str) -> bool) {
        for (facility, file) in &self.by_facility {
            let path = file.path.display();
            // A store that cannot be read is told by whoever opens it, and before the first ingest there is nothing to hold
            // the file against.
            let id = FacilityId::parse(facility).ok();
            let id = id.filter(|id| store.has_partition(id));
            let stored = id.and_then(|id| store.points(&id).ok());
            for oversight in file.oversights(stored.as_ref()) {
                tracing::warn!(%path, "run configuration: {oversight}");
            }
            if !is_served(facility) {
                tracing::warn!(
                    %path,
                    facility,
                    "this run configuration is of a facility that is not served here, and nothing runs with it; the facility \
                     is what source.facility_id (facility_id, site) says"
                );
            }
        }
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
            .flat_map(|config| config.places())
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
    ) -> Result<RunConfigFile, RunConfigError> {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        RunConfigFile::read(&path)
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
        assert_eq!(config.config.trust_floor(0.5), 0.7);
        let same = read(&folder, "other.yaml", "site: annex\nrules: []\n").unwrap();
        assert_eq!(same.facility, "annex");
        let copy = read(&folder, "copy.json", store).unwrap();
        assert_eq!(copy.digest, config.digest);
        assert_ne!(same.digest, config.digest);
    }

    #[test]
    fn yaml_means_what_json_means() {
        let text = "site: hq\nremark: [yes, 012, 07:00, 2024-03-01, 1e-06, true, ~]\n";
        let folder = tempfile::tempdir().unwrap();
        let config = read(&folder, "hq.yaml", text).unwrap();
        assert_eq!(
            config.config.raw("remark"),
            Some(&serde_json::json!([
                "yes",
                "012",
                "07:00",
                "2024-03-01",
                1e-6,
                true,
                null
            ]))
        );
    }

    #[test]
    fn the_files_that_it_names_are_read_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let write =
            |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write(
            "oat.csv",
            "time,oat\n2024-03-01 00:00,40.5\n2024-03-01 01:00,\n",
        );
        write("zones.csv", "zone,ahu\nVAV-1,AHU-1\n");
        let text = r#"{"source": {"kind": "store", "facility_id": "hq"},
            "shared_oat": {"file": "oat.csv"}, "topology": {"csv": "zones.csv"}}"#;
        let config = read(&folder, "hq.json", text).unwrap();
        let oat = config.shared_oat().unwrap();
        assert_eq!((oat.stamps.len(), oat.values[0]), (1, 40.5));
        let before = config.digest;
        write("zones.csv", "zone,ahu\nVAV-1,AHU-2\n");
        assert_ne!(read(&folder, "hq.json", text).unwrap().digest, before);
        write("oat.csv", "time\n");
        let error = read(&folder, "hq.json", text).unwrap_err().to_string();
        assert!(
            error.contains("shared_oat.file") && error.contains("hq.json"),
            "{error}"
        );
    }

    #[test]
    fn what_has_no_effect_is_known_at_the_start() {
        let folder = tempfile::tempdir().unwrap();
        let text = "site: hq\ntrust_floor: 0.7\nequipment: [{class: METER}]\ntopology: {parents: {a: a}}\n\
            mv: [{class: METER, role: powr}]\n";
        let told: Vec<String> = read(&folder, "hq.yaml", text)
            .unwrap()
            .oversights(None)
            .iter()
            .map(ToString::to_string)
            .collect();
        let expected = [
            "trust_floor: there is no such key",
            "topology: \"a\" is its own parent",
            "mv[0].role: there is no role \"powr\"; mv_summary refuses it",
        ];
        assert_eq!(told.len(), expected.len(), "{told:?}");
        for (line, start) in told.iter().zip(expected) {
            assert!(line.starts_with(start), "{line}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_at_the_start() {
        let folder = tempfile::tempdir().unwrap();
        for (text, problem) in [
            ("[]", "not an object"),
            ("{}", "names no facility"),
            (
                r#"{"site": "hq", "rules": ["economiser"]}"#,
                "rules[0]: there is no rule \"economiser\"",
            ),
            (
                r#"{"site": "hq", "rules": [{"name": "actuator_stuck", "params": {"tol": 1}}]}"#,
                "no parameter \"tol\"",
            ),
            (
                r#"{"site": "hq", "equipment": [{"equip": "AHU-1"}]}"#,
                "equipment[0].class",
            ),
            (
                r#"{"site": "hq", "trust_gate": {"min_trust": 2}}"#,
                "trust_gate.min_trust",
            ),
            (r#"{"site": "hq", "mv": 3}"#, "mv: it must be a list"),
            (
                "{\"site\": \"hq\",\n\"rules\": [],\n\"rules\": []}",
                "\"rules\" stands twice in one map, keep one of them at line 3",
            ),
        ] {
            let error = read(&folder, "wrong.json", text).unwrap_err().to_string();
            assert!(
                error.contains(problem) && error.contains("wrong.json"),
                "{error}"
            );
        }
        let twice = "site: hq\nrules:\n- name: actuator_stuck\n  params: {tol_pct: 1}\n  params: {tol_pct: 2}\n";
        let error = read(&folder, "twice.yaml", twice).unwrap_err().to_string();
        assert!(
            error.contains("\"params\" stands twice") && error.contains("line 5"),
            "{error}"
        );
        read(&folder, "a.json", r#"{"site": "hq"}"#).unwrap();
        read(&folder, "b.json", r#"{"facility_id": "hq"}"#).unwrap();
        let paths = [folder.path().join("a.json"), folder.path().join("b.json")];
        let error = RunConfigs::read(&paths).unwrap_err().to_string();
        assert!(error.contains("one per facility"), "{error}");
        assert!(RunConfigs::read(&[folder.path().join("none.json")]).is_err());
    }
}
