//! A part of a configuration, read with the place of everything that is wrong with it.

use serde_json::{Map, Value};

/// Something in a configuration that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct ConfigError {
    /// `equipment[2].class`.
    pub place: String,
    pub problem: String,
}

impl ConfigError {
    /// A problem at a place.
    pub fn new(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            problem: problem.into(),
        }
    }
}

/// An object of a configuration. A key whose value is null counts as absent.
#[derive(Debug, Clone)]
pub struct Section<'a> {
    place: String,
    fields: &'a Map<String, Value>,
}

impl<'a> Section<'a> {
    /// The whole configuration.
    pub fn root(fields: &'a Map<String, Value>) -> Self {
        Self {
            place: String::new(),
            fields,
        }
    }

    /// The object at a place.
    ///
    /// # Errors
    /// It is no object.
    pub fn of(value: &'a Value, place: impl Into<String>) -> Result<Self, ConfigError> {
        let place = place.into();
        match value {
            Value::Object(fields) => Ok(Self { place, fields }),
            _ => Err(ConfigError::new(place, "it must be an object")),
        }
    }

    /// Where the object stands; empty for the whole configuration.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Where a key of it stands.
    pub fn at(&self, key: &str) -> String {
        match self.place.is_empty() {
            true => key.to_owned(),
            false => format!("{}.{key}", self.place),
        }
    }

    /// A problem of a key.
    pub fn refuse(&self, key: &str, problem: impl Into<String>) -> ConfigError {
        ConfigError::new(self.at(key), problem)
    }

    /// The keys and values.
    pub fn fields(&self) -> &'a Map<String, Value> {
        self.fields
    }

    /// The value of a key.
    pub fn value(&self, key: &str) -> Option<&'a Value> {
        self.fields.get(key).filter(|value| !value.is_null())
    }

    /// A text.
    ///
    /// # Errors
    /// It is none.
    pub fn text(&self, key: &str) -> Result<Option<&'a str>, ConfigError> {
        self.typed(key, "a text", Value::as_str)
    }

    /// A text that must be there and not be empty.
    ///
    /// # Errors
    /// It is missing, empty, or no text.
    pub fn required_text(&self, key: &str) -> Result<&'a str, ConfigError> {
        self.text(key)?
            .filter(|text| !text.trim().is_empty())
            .ok_or_else(|| self.refuse(key, "it is missing; give a text"))
    }

    /// One of these words.
    ///
    /// # Errors
    /// It is another one, or no text.
    pub fn word(&self, key: &str, words: &[&str]) -> Result<Option<&'a str>, ConfigError> {
        match self.text(key)? {
            Some(word) if !words.contains(&word) => Err(self.refuse(
                key,
                format!("it is {word:?}; it may be {}", words.join(", ")),
            )),
            word => Ok(word),
        }
    }

    /// A finite number.
    ///
    /// # Errors
    /// It is none.
    pub fn number(&self, key: &str) -> Result<Option<f64>, ConfigError> {
        self.typed(key, "a number", |value| {
            value.as_f64().filter(|number| number.is_finite())
        })
    }

    /// A number within bounds.
    ///
    /// # Errors
    /// It is none, or beyond them.
    pub fn number_within(
        &self,
        key: &str,
        low: f64,
        high: f64,
    ) -> Result<Option<f64>, ConfigError> {
        match self.number(key)? {
            Some(number) if !(low..=high).contains(&number) => Err(self.refuse(
                key,
                format!("it is {number}; it must be {}", bounds(low, high)),
            )),
            number => Ok(number),
        }
    }

    /// A switch.
    ///
    /// # Errors
    /// It is neither true nor false.
    pub fn flag(&self, key: &str) -> Result<Option<bool>, ConfigError> {
        self.typed(key, "true or false", Value::as_bool)
    }

    /// A list.
    ///
    /// # Errors
    /// It is none.
    pub fn list(&self, key: &str) -> Result<Option<&'a [Value]>, ConfigError> {
        self.typed(key, "a list", |value| value.as_array().map(Vec::as_slice))
    }

    /// A list of objects; empty when it is absent.
    ///
    /// # Errors
    /// It is no list, or something in it is no object.
    pub fn sections(&self, key: &str) -> Result<Vec<Section<'a>>, ConfigError> {
        self.list(key)?
            .unwrap_or_default()
            .iter()
            .enumerate()
            .map(|(number, value)| Self::of(value, format!("{}[{number}]", self.at(key))))
            .collect()
    }

    /// An object.
    ///
    /// # Errors
    /// It is none.
    pub fn section(&self, key: &str) -> Result<Option<Section<'a>>, ConfigError> {
        self.value(key)
            .map(|value| Self::of(value, self.at(key)))
            .transpose()
    }

    /// One text, or a list of texts.
    ///
    /// # Errors
    /// It is neither.
    pub fn texts(&self, key: &str) -> Result<Option<Vec<&'a str>>, ConfigError> {
        self.typed(key, "a text or a list of texts", |value| match value {
            Value::String(one) => Some(vec![one.as_str()]),
            Value::Array(several) => several.iter().map(Value::as_str).collect(),
            _ => None,
        })
    }

    /// A list of numbers.
    ///
    /// # Errors
    /// It is none.
    pub fn numbers(&self, key: &str) -> Result<Option<Vec<f64>>, ConfigError> {
        self.typed(key, "a list of numbers", |value| {
            value.as_array()?.iter().map(Value::as_f64).collect()
        })
    }

    /// Refuses keys other than these.
    ///
    /// # Errors
    /// There is one.
    pub fn only(&self, known: &[&str]) -> Result<(), ConfigError> {
        match self
            .fields
            .keys()
            .find(|key| !known.contains(&key.as_str()))
        {
            Some(unknown) => Err(self.refuse(
                unknown,
                format!(
                    "there is no such key here{}; known are {}",
                    did_you_mean(unknown, known.iter().copied()),
                    known.join(", ")
                ),
            )),
            None => Ok(()),
        }
    }

    fn typed<T>(
        &self,
        key: &str,
        kind: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, ConfigError> {
        match self.value(key) {
            None => Ok(None),
            Some(value) => match read(value) {
                Some(read) => Ok(Some(read)),
                None => Err(self.refuse(key, format!("it must be {kind}"))),
            },
        }
    }
}

/// "a number from 0 to 1", "a number of 0 or more", "a number above 0".
fn bounds(low: f64, high: f64) -> String {
    let has_end = high < f64::MAX;
    let is_above_zero = low > 0.0 && low <= f64::MIN_POSITIVE;
    match (is_above_zero, has_end) {
        (true, true) => format!("a number above 0 and up to {high}"),
        (true, false) => "a number above 0".to_owned(),
        (false, true) => format!("a number from {low} to {high}"),
        (false, false) => format!("a number of {low} or more"),
    }
}

/// ` (did you mean a or b?)`, or nothing when no known name is close.
pub fn did_you_mean<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let mut close = close_names(unknown, known);
    // Beside near names a third is noise.
    close.truncate(2);
    match close.is_empty() {
        true => String::new(),
        false => format!(" (did you mean {}?)", close.join(" or ")),
    }
}

/// At most three of the known names that are close to one that is unknown, nearest first; case does not count.
pub fn close_names<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let unknown = unknown.to_lowercase();
    let most = unknown.chars().count() / 3 + 1;
    let mut close: Vec<(usize, &str)> = known
        .into_iter()
        .map(|name| (distance(&unknown, &name.to_lowercase()), name))
        .filter(|(distance, _)| *distance <= most)
        .collect();
    close.sort_unstable();
    close.into_iter().take(3).map(|(_, name)| name).collect()
}

/// Changes of single letters from one text to the other (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (above, letter) in one.chars().enumerate() {
        let mut left = above + 1;
        let mut diagonal = above;
        for (column, known) in other.iter().enumerate() {
            let Some(cell) = row.get(column + 1).copied() else {
                break;
            };
            let changed = diagonal + usize::from(letter != *known);
            diagonal = cell;
            if let Some(before) = row.get_mut(column) {
                *before = left;
            }
            left = changed.min(cell + 1).min(left + 1);
        }
        if let Some(last) = row.last_mut() {
            *last = left;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let content = json!({"equipment": [{"class": "AHU"}, {"class": 7, "x": null}]});
        let root = Section::root(content.as_object().unwrap());
        let entries = root.sections("equipment").unwrap();
        assert_eq!(entries[0].required_text("class"), Ok("AHU"));
        let told = entries[1].text("class").unwrap_err().to_string();
        assert_eq!(told, "equipment[1].class: it must be a text");
        assert_eq!(entries[1].text("x"), Ok(None));
        let told = root.only(&["site", "rules"]).unwrap_err().to_string();
        assert!(told.starts_with("equipment: there is no such key here; known are site, rules"));
        assert!(root.section("equipment").is_err());
    }

    #[test]
    fn close_names_are_offered() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(
            close_names(
                "economiser_high_limit",
                ["economizer_high_limit", "leaking_valve"]
            ),
            ["economizer_high_limit"]
        );
        assert_eq!(close_names("ahu_1", ["VAV-1", "AHU-1"]), ["AHU-1"]);
        assert!(close_names("x", ["leaking_valve"]).is_empty());
        assert_eq!(
            did_you_mean("parms", ["name", "params", "basis"]),
            " (did you mean params?)"
        );
        assert_eq!(did_you_mean("colour", ["name", "params"]), "");
    }
}
