//! Baselines that were frozen before, as their file holds them (Drift §2.4).

use std::collections::BTreeMap;

use serde::Deserialize;

use super::baseline::{Covariate, LoadBaseline, LoadModel};
use super::book::KeptBaseline;

/// A file of frozen baselines that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it is no file of frozen baselines: {0}; freeze them again")]
pub struct FrozenError(String);

/// Frozen baselines by site or facility, equipment and kind.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FrozenBaselines {
    by_key: BTreeMap<(String, String, String), KeptBaseline>,
}

#[derive(Deserialize)]
struct StoreFile {
    #[serde(default)]
    baselines: Vec<Record>,
}

/// Keys that are not named here are ignored.
#[derive(Deserialize)]
struct Record {
    #[serde(default)]
    site: Option<String>,
    #[serde(default)]
    facility_id: Option<String>,
    #[serde(default)]
    aliases: Option<Vec<String>>,
    equip: String,
    kind: String,
    #[serde(default)]
    frozen_at: Option<String>,
    coefficients: Coefficients,
}

#[derive(Deserialize)]
struct Coefficients {
    n: usize,
    slope_f_per_ton: f64,
    intercept_f: f64,
    sigma_f: f64,
    r2: Option<f64>,
    tons_min: f64,
    tons_max: f64,
    #[serde(default)]
    coverage_start: Option<String>,
    #[serde(default)]
    coverage_end: Option<String>,
    #[serde(default)]
    load_model: Option<LoadModel>,
    #[serde(default)]
    load_band: Option<f64>,
    #[serde(default)]
    covariate: Option<String>,
    #[serde(default)]
    covariate_slope: Option<f64>,
    #[serde(default)]
    covariate_ref: Option<f64>,
    #[serde(default)]
    covariate_min: Option<f64>,
    #[serde(default)]
    covariate_max: Option<f64>,
    #[serde(default)]
    resid_lag1: Option<f64>,
    #[serde(default)]
    sample_seconds: Option<f64>,
    #[serde(default)]
    load_source: Option<String>,
}

impl From<Coefficients> for LoadBaseline {
    fn from(own: Coefficients) -> Self {
        let or_none = |value: Option<f64>| value.unwrap_or(f64::NAN);
        Self {
            n: own.n,
            slope: own.slope_f_per_ton,
            intercept: own.intercept_f,
            sigma: own.sigma_f,
            r_squared: or_none(own.r2),
            load_min: own.tons_min,
            load_max: own.tons_max,
            first: own.coverage_start.unwrap_or_default(),
            last: own.coverage_end.unwrap_or_default(),
            model: own.load_model.unwrap_or_default(),
            load_band: own.load_band.unwrap_or(0.0),
            covariate: own
                .covariate
                .filter(|name| !name.is_empty())
                .map(|name| Covariate {
                    name,
                    slope: own.covariate_slope.unwrap_or(0.0),
                    reference: own.covariate_ref.unwrap_or(0.0),
                    min: or_none(own.covariate_min),
                    max: or_none(own.covariate_max),
                }),
            residual_lag: own.resid_lag1.unwrap_or(0.0),
            sample_seconds: own.sample_seconds.unwrap_or(0.0),
            load_source: own.load_source.filter(|source| !source.is_empty()),
        }
    }
}

impl FrozenBaselines {
    /// Reads a file's text.
    ///
    /// # Errors
    /// It is no such file.
    pub fn parse(text: &str) -> Result<Self, FrozenError> {
        let file: StoreFile = serde_json::from_str(&without_bare_words(text))
            .map_err(|error| FrozenError(error.to_string()))?;
        let mut by_key = BTreeMap::new();
        for record in file.baselines {
            let kept = KeptBaseline {
                baseline: record.coefficients.into(),
                frozen_at: record.frozen_at.unwrap_or_default(),
            };
            let names = [record.facility_id, record.site];
            let names = names
                .into_iter()
                .flatten()
                .chain(record.aliases.unwrap_or_default());
            for name in names.filter(|name| !name.is_empty()) {
                let key = (name, record.equip.clone(), record.kind.clone());
                by_key.insert(key, kept.clone());
            }
        }
        Ok(Self { by_key })
    }

    /// The baseline of a kind.
    pub fn get(&self, site: &str, equip: &str, kind: &str) -> Option<&KeptBaseline> {
        self.by_key
            .get(&(site.to_owned(), equip.to_owned(), kind.to_owned()))
    }

    /// Number of baselines and names under which they are found.
    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }
}

/// The text with `null` for the bare words `NaN` and `Infinity`, which the writer of such files may leave in them.
fn without_bare_words(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(quote) = rest.find('"') {
        let (outside, from) = rest.split_at(quote);
        out.push_str(&plain(outside));
        let end = end_of_string(from);
        let (string, behind) = from.split_at(end);
        out.push_str(string);
        rest = behind;
    }
    out.push_str(&plain(rest));
    out
}

fn plain(outside: &str) -> String {
    outside
        .replace("-Infinity", "null")
        .replace("Infinity", "null")
        .replace("NaN", "null")
}

/// Length of the string that begins with a quote.
fn end_of_string(text: &str) -> usize {
    let mut escaped = false;
    for (place, letter) in text.char_indices().skip(1) {
        match letter {
            '\\' if !escaped => escaped = true,
            '"' if !escaped => return place + 1,
            _ => escaped = false,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"{"baselines": [{"fingerprint": "x", "site": "HQ \"NaN\"", "facility_id": "hq", "equip": "CH-1",
        "kind": "chiller_subcooling", "frozen_at": "2024-05-01", "accepted_by": "me", "history": [],
        "coefficients": {"n": 40, "slope_f_per_ton": 0.01, "intercept_f": 9.5, "sigma_f": 0.2, "r2": NaN, "tons_min": 5.0,
        "tons_max": 200.0, "covariate": "oat", "covariate_slope": 0.1, "covariate_ref": 60.0}}]}"#;

    #[test]
    fn a_record_is_found_under_its_facility_and_its_site() {
        let store = FrozenBaselines::parse(FILE).unwrap();
        let kept = store.get("hq", "CH-1", "chiller_subcooling").unwrap();
        assert_eq!(
            (kept.baseline.sigma, kept.frozen_at.as_str()),
            (0.2, "2024-05-01")
        );
        assert_eq!(kept.baseline.covariate_effect(70.0), 1.0);
        assert!(
            store
                .get("HQ \"NaN\"", "CH-1", "chiller_subcooling")
                .is_some()
        );
        assert!(store.get("hq", "CH-2", "chiller_subcooling").is_none());
        assert!(kept.baseline.r_squared.is_nan() && kept.baseline.model == LoadModel::Linear);
    }

    #[test]
    fn another_file_is_refused() {
        for text in ["", "[1", r#"{"baselines": [{"equip": "CH-1"}]}"#, "\"\\"] {
            let refused = FrozenBaselines::parse(text).unwrap_err().to_string();
            assert!(refused.contains("freeze them again"), "{refused}");
        }
        assert!(FrozenBaselines::parse("{}").unwrap().is_empty());
    }
}
