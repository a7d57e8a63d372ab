//! File and environment → settings that fit the table of keys.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use zeroize::{Zeroize, Zeroizing};

use super::keys::{KEYS, Key, Kind, find, is_block, secret_of_file, suggest};
use super::tree::parse;
use super::{Config, Secret};
use crate::knowledge::format;

/// Prefix of the environment variables that override the file: `NIAGARA_BRIDGE__STATION__URL`.
pub const ENVIRONMENT_PREFIX: &str = "NIAGARA_BRIDGE__";

/// What is wrong with the configuration, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error(
        "The configuration file {path} cannot be read: {source}. `niagara-bridge init` writes one."
    )]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(
        "The configuration file {0} is empty. An editor may be about to write it; to run on defaults, leave a line \
         that begins with # in it."
    )]
    Empty(PathBuf),
    #[error("The configuration cannot be understood: {0}")]
    Syntax(String),
    #[error("{place}: there is no setting '{key}'.{}", remedy(suggestion))]
    Unknown {
        place: String,
        key: String,
        suggestion: Option<String>,
    },
    #[error("{place}: '{key}' is not usable: {problem}.")]
    Value {
        place: String,
        key: String,
        problem: String,
    },
}

fn remedy(suggestion: &Option<String>) -> String {
    match suggestion {
        Some(path) => format!(" Did you mean '{path}'?"),
        None => " `niagara-bridge init` writes a file with all settings.".to_owned(),
    }
}

/// Values from file and environment, each with the place it came from.
pub struct Settings {
    values: BTreeMap<&'static str, (Value, String)>,
    secrets: BTreeMap<&'static str, (SecretSource, String)>,
    origin: String,
}

enum SecretSource {
    Text(Secret),
    File(PathBuf),
}

/// Reads the configuration: file if given, then environment.
///
/// # Errors
/// The first thing that is wrong.
pub fn load(
    file: Option<&Path>,
    environment: impl IntoIterator<Item = (String, String)>,
) -> Result<Config, ConfigError> {
    Config::from_settings(&read(file, environment)?)
}

/// Reads the settings alone: file if given, then environment.
///
/// # Errors
/// The first thing that is wrong.
pub fn read(
    file: Option<&Path>,
    environment: impl IntoIterator<Item = (String, String)>,
) -> Result<Settings, ConfigError> {
    read_file(file, environment, true)
}

/// Reads the settings of a file that changed while the bridge runs.
///
/// # Errors
/// The first thing that is wrong; an empty file too, for an editor that truncates before it writes must not reset the
/// bridge to its defaults.
pub fn read_again(
    file: &Path,
    environment: impl IntoIterator<Item = (String, String)>,
) -> Result<Settings, ConfigError> {
    read_file(Some(file), environment, false)
}

fn read_file(
    file: Option<&Path>,
    environment: impl IntoIterator<Item = (String, String)>,
    may_be_empty: bool,
) -> Result<Settings, ConfigError> {
    let mut settings = Settings::empty(file.map_or("the environment".to_owned(), |path| {
        path.display().to_string()
    }));
    if let Some(path) = file {
        let unreadable = |source| ConfigError::Unreadable {
            path: path.to_owned(),
            source,
        };
        let size = std::fs::metadata(path).map_err(unreadable)?.len();
        if size > format::MAX_BYTES {
            return Err(ConfigError::Syntax(format!(
                "{} has {size} bytes; at most {} are read.",
                path.display(),
                format::MAX_BYTES
            )));
        }
        let text = Zeroizing::new(std::fs::read_to_string(path).map_err(unreadable)?);
        if !may_be_empty && text.trim_start_matches('\u{feff}').trim().is_empty() {
            return Err(ConfigError::Empty(path.to_owned()));
        }
        settings.read_text(&path.display().to_string(), &text)?;
    }
    settings.read_environment(environment)?;
    Ok(settings)
}

impl Settings {
    /// Defaults only; `origin` names the source in errors about missing values.
    pub fn empty(origin: String) -> Self {
        Self {
            values: BTreeMap::new(),
            secrets: BTreeMap::new(),
            origin,
        }
    }

    /// Takes the settings of a YAML text.
    ///
    /// # Errors
    /// Text that is no YAML map, or holds unknown keys or values of the wrong kind.
    pub fn read_text(&mut self, origin: &str, text: &str) -> Result<(), ConfigError> {
        let mut tree = parse(origin, text)?;
        let outcome = self.read_block(origin, text, "", &tree);
        wipe(&mut tree);
        outcome
    }

    fn read_block(
        &mut self,
        origin: &str,
        text: &str,
        prefix: &str,
        tree: &Value,
    ) -> Result<(), ConfigError> {
        let Some(members) = tree.as_object() else {
            return Err(ConfigError::Value {
                place: origin.to_owned(),
                key: if prefix.is_empty() {
                    "the file".to_owned()
                } else {
                    prefix.to_owned()
                },
                problem: "it must hold 'name: value' lines".to_owned(),
            });
        };
        for (name, value) in members {
            let path = if prefix.is_empty() {
                name.clone()
            } else {
                format!("{prefix}.{name}")
            };
            let place = match line_of(text, &path, 0) {
                Some(line) => format!("{origin} line {line}"),
                None => origin.to_owned(),
            };
            if value.is_null()
                && (find(&path).is_some() || is_block(&path) || secret_of_file(&path).is_some())
            {
                continue;
            }
            if is_block(&path) {
                self.read_block(origin, text, &path, value)?;
            } else {
                self.set(&path, value.clone(), place)?;
            }
        }
        Ok(())
    }

    /// Takes the variables that begin with [`ENVIRONMENT_PREFIX`]; case and single underscores do not matter.
    ///
    /// # Errors
    /// A variable with the prefix that names no setting, or a value of the wrong kind.
    pub fn read_environment(
        &mut self,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<(), ConfigError> {
        for (variable, value) in variables {
            let Some(name) = variable.strip_prefix(ENVIRONMENT_PREFIX) else {
                continue;
            };
            let plain = |name: &str| name.replace('_', "").to_lowercase();
            let wanted = name.split("__").map(plain).collect::<Vec<_>>().join(".");
            let same = |path: &str| path.to_lowercase() == wanted;
            let known = KEYS
                .iter()
                .flat_map(|key| {
                    let file = (key.kind == Kind::Secret).then(|| format!("{}File", key.path));
                    [Some(key.path.to_owned()), file].into_iter().flatten()
                })
                .find(|path| same(path));
            let place = format!("environment variable {variable}");
            match known {
                Some(path) => self.set(&path, Value::String(value), place)?,
                None => {
                    return Err(ConfigError::Unknown {
                        place,
                        key: wanted.clone(),
                        suggestion: suggest(&wanted),
                    });
                }
            }
        }
        Ok(())
    }

    fn set(&mut self, path: &str, value: Value, place: String) -> Result<(), ConfigError> {
        let wrong = |problem: String| ConfigError::Value {
            place: place.clone(),
            key: path.to_owned(),
            problem,
        };
        if let Some(key) = secret_of_file(path) {
            let file = scalar_text(&value)
                .ok_or_else(|| wrong("it must be the path of a file".to_owned()))?;
            if !file.trim().is_empty() {
                self.secrets
                    .insert(key.path, (SecretSource::File(PathBuf::from(file)), place));
            }
            return Ok(());
        }
        let Some(key) = find(path) else {
            return Err(ConfigError::Unknown {
                place,
                key: path.to_owned(),
                suggestion: suggest(path),
            });
        };
        if key.kind == Kind::Secret {
            let text = scalar_text(&value).ok_or_else(|| wrong("it must be a text".to_owned()))?;
            if !text.is_empty() {
                self.secrets
                    .insert(key.path, (SecretSource::Text(Secret::new(text)), place));
            }
            return Ok(());
        }
        let value = convert(key, value).map_err(wrong)?;
        self.values.insert(key.path, (value, place));
        Ok(())
    }

    /// Paths of the settings that have another value in `other`.
    pub fn differences(&self, other: &Self) -> Vec<&'static str> {
        let differs = |key: &&Key| match key.kind {
            Kind::Secret => !same_secret(
                self.secrets.get(key.path).map(|(source, _)| source),
                other.secrets.get(key.path).map(|(source, _)| source),
            ),
            _ => self.value(key.path) != other.value(key.path),
        };
        KEYS.iter().filter(differs).map(|key| key.path).collect()
    }

    fn value(&self, path: &str) -> Value {
        if let Some((value, _)) = self.values.get(path) {
            return value.clone();
        }
        let default = find(path).map(default_value).unwrap_or_default();
        debug_assert!(find(path).is_some(), "{path} is not in the table of keys");
        default
    }

    /// A text, none when blank.
    pub fn text(&self, path: &str) -> Option<&str> {
        let text = match self.values.get(path) {
            Some((value, _)) => value.as_str(),
            None => find(path).map(|key| key.default),
        };
        text.map(str::trim).filter(|text| !text.is_empty())
    }

    /// A flag.
    pub fn flag(&self, path: &str) -> bool {
        self.value(path) == Value::Bool(true)
    }

    /// A whole number.
    pub fn whole(&self, path: &str) -> i64 {
        self.value(path).as_i64().unwrap_or_default()
    }

    /// A whole number that is not negative.
    pub fn count(&self, path: &str) -> usize {
        usize::try_from(self.whole(path)).unwrap_or_default()
    }

    /// A time in seconds.
    pub fn seconds(&self, path: &str) -> Duration {
        Duration::from_secs(self.count(path) as u64)
    }

    /// A list of texts.
    pub fn list(&self, path: &str) -> Vec<String> {
        let value = self.value(path);
        value
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    }

    /// A map.
    pub fn map(&self, path: &str) -> BTreeMap<String, Value> {
        let value = self.value(path);
        value
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    /// A secret, read from its file where one is named.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn secret(&self, path: &str) -> Result<Option<Secret>, ConfigError> {
        match self.secrets.get(path) {
            None => Ok(None),
            Some((SecretSource::Text(secret), _)) => Ok(Some(secret.clone())),
            Some((SecretSource::File(file), place)) => {
                let text = std::fs::read_to_string(file)
                    .map(Zeroizing::new)
                    .map_err(|error| ConfigError::Value {
                        place: place.clone(),
                        key: format!("{path}File"),
                        problem: format!("{} cannot be read: {error}", file.display()),
                    })?;
                let text = text.trim_end_matches(['\r', '\n']);
                Ok((!text.is_empty()).then(|| Secret::new(text)))
            }
        }
    }

    /// The files that hold secrets of these settings: `file` itself, and those that it names.
    pub fn files_with_secrets(&self, file: &Path) -> Vec<PathBuf> {
        let own = file.display().to_string();
        let mut files: Vec<PathBuf> = self
            .secrets
            .values()
            .filter_map(|(source, place)| match source {
                SecretSource::File(named) => Some(named.clone()),
                SecretSource::Text(_) => place.starts_with(&own).then(|| file.to_owned()),
            })
            .collect();
        files.sort();
        files.dedup();
        files
    }

    /// An error about a setting, at the place it came from.
    pub fn wrong(&self, path: &str, problem: String) -> ConfigError {
        let value = self.values.get(path).map(|(_, place)| place);
        let place = value
            .or_else(|| self.secrets.get(path).map(|(_, place)| place))
            .unwrap_or(&self.origin);
        ConfigError::Value {
            place: place.clone(),
            key: path.to_owned(),
            problem,
        }
    }
}

fn same_secret(one: Option<&SecretSource>, other: Option<&SecretSource>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(SecretSource::Text(one)), Some(SecretSource::Text(other))) => {
            one.expose() == other.expose()
        }
        (Some(SecretSource::File(one)), Some(SecretSource::File(other))) => one == other,
        _ => false,
    }
}

fn default_value(key: &Key) -> Value {
    match key.kind {
        Kind::Flag => Value::Bool(key.default == "true"),
        Kind::Whole(..) => key
            .default
            .parse::<i64>()
            .map(Value::from)
            .unwrap_or_default(),
        Kind::List => split(key.default.trim_matches(['[', ']'])),
        Kind::Map => Value::Object(serde_json::Map::new()),
        Kind::Text | Kind::Secret | Kind::Choice(_) => Value::from(key.default),
    }
}

fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

fn split(text: &str) -> Value {
    text.split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
        .map(Value::from)
        .collect()
}

fn convert(key: &Key, value: Value) -> Result<Value, String> {
    match key.kind {
        Kind::Text | Kind::Secret => scalar_text(&value)
            .map(Value::from)
            .ok_or_else(|| "it must be a text".to_owned()),
        Kind::Flag => match scalar_text(&value)
            .map(|text| text.trim().to_lowercase())
            .as_deref()
        {
            Some("true") => Ok(Value::Bool(true)),
            Some("false") => Ok(Value::Bool(false)),
            _ => Err("it must be true or false".to_owned()),
        },
        Kind::Whole(least, most) => {
            let number = scalar_text(&value).and_then(|text| text.trim().parse::<i64>().ok());
            number
                .filter(|number| (least..=most).contains(number))
                .map(Value::from)
                .ok_or_else(|| format!("it must be a whole number from {least} to {most}"))
        }
        Kind::Choice(words) => match scalar_text(&value) {
            Some(text) if words.contains(&text.trim()) => Ok(Value::from(text.trim())),
            _ => Err(format!(
                "it must be one of {}",
                words
                    .iter()
                    .filter(|word| !word.is_empty())
                    .copied()
                    .collect::<Vec<_>>()
                    .join(", ")
            )),
        },
        Kind::List => match value {
            Value::Array(items) => items
                .iter()
                .map(|item| scalar_text(item).map(Value::from))
                .collect::<Option<Value>>()
                .ok_or_else(|| "every item of the list must be a text".to_owned()),
            other => scalar_text(&other)
                .map(|text| split(&text))
                .ok_or_else(|| "it must be a list".to_owned()),
        },
        Kind::Map => match value {
            Value::Object(_) => Ok(value),
            _ => Err("it must hold 'name: value' lines".to_owned()),
        },
    }
}

/// The line of a key in block-style YAML, by indentation, after `skipped` earlier ones; none in flow style.
pub(super) fn line_of(text: &str, path: &str, mut skipped: usize) -> Option<usize> {
    let mut open: Vec<(usize, String)> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let content = line.trim_start();
        let Some((name, _)) = content.split_once(':') else {
            continue;
        };
        if content.starts_with('#') {
            continue;
        }
        let indent = line.len() - content.len();
        open.retain(|(outer, _)| *outer < indent);
        open.push((indent, name.trim().trim_matches(['"', '\'']).to_owned()));
        if open
            .iter()
            .map(|(_, name)| name.as_str())
            .collect::<Vec<_>>()
            .join(".")
            == path
        {
            if skipped > 0 {
                skipped -= 1;
                continue;
            }
            return Some(number + 1);
        }
    }
    None
}

fn wipe(tree: &mut Value) {
    match tree {
        Value::String(text) => text.zeroize(),
        Value::Array(items) => items.iter_mut().for_each(wipe),
        Value::Object(members) => members.values_mut().for_each(wipe),
        _ => {}
    }
}
