//! Sensors that a configuration compares with a reference (Engine §3.8, §5.8).

use std::collections::BTreeMap;

use super::section::{ConfigError, Section};
use crate::roles;

/// The equipment name that stands for the outdoor temperature of the whole site.
const EVERY: &str = "*";

/// What a point is compared with.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ReferenceSource {
    /// A stored point.
    Point { equip: String, role: String },
    /// A CSV file; without names of columns the time is the first one, and the values are the next.
    File {
        path: String,
        time_column: Option<String>,
        value_column: Option<String>,
    },
}

/// From where on a comparison speaks against a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReferenceLimits {
    pub bias_warn: f64,
    pub bias_fault: f64,
    /// Per month.
    pub drift_warn: f64,
    pub drift_fault: f64,
    pub min_correlation: f64,
    pub min_samples: usize,
    /// Days.
    pub min_drift_days: f64,
}

impl Default for ReferenceLimits {
    fn default() -> Self {
        Self {
            bias_warn: 2.0,
            bias_fault: 5.0,
            drift_warn: 1.0,
            drift_fault: 3.0,
            min_correlation: 0.7,
            min_samples: 100,
            min_drift_days: 28.0,
        }
    }
}

/// One comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceSpec {
    pub source: ReferenceSource,
    /// As it is shown: the label, else the equipment with its role, else the name of the file.
    pub label: String,
    pub limits: ReferenceLimits,
}

/// All comparisons of a configuration.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct References {
    /// By equipment and role.
    pub points: BTreeMap<(String, String), ReferenceSpec>,
    /// What every outdoor temperature of the site is compared with.
    pub outdoor: Option<ReferenceSpec>,
}

impl References {
    /// Reads `report.rcx` (its `references` and `oat_reference`).
    ///
    /// A reference that would be fetched over the network is left out, as in every capability.
    ///
    /// # Errors
    /// A role or key does not exist, a comparison has no reference, or the site's outdoor temperature has two.
    pub fn read(rcx: &Section<'_>) -> Result<Self, ConfigError> {
        let mut read = Self::default();
        if let Some(oat) = rcx.section("oat_reference")?
            && oat.value("csv").is_some()
        {
            read.outdoor = Some(ReferenceSpec::read(&oat, "oat")?);
        }
        let Some(references) = rcx.section("references")? else {
            return Ok(read);
        };
        for equip in references.fields().keys() {
            let Some(points) = references.section(equip)? else {
                continue;
            };
            for role in points.fields().keys() {
                if roles::role(role).is_none() {
                    return Err(points.refuse(role, format!("there is no role {role:?}")));
                }
                let Some(spec) = points.section(role)? else {
                    continue;
                };
                let is_fetched = spec.value("fetch").is_some() && spec.value("csv").is_none();
                if equip == EVERY && is_fetched {
                    continue;
                }
                let spec = ReferenceSpec::read(&spec, role)?;
                if equip != EVERY {
                    read.points.insert((equip.clone(), role.clone()), spec);
                    continue;
                }
                if role != "oat" {
                    return Err(points.refuse(role, "only oat may be compared for the whole site"));
                }
                if rcx.value("oat_reference").is_some() {
                    return Err(
                        points.refuse(role, "oat_reference says the same; give one of them")
                    );
                }
                read.outdoor = Some(spec);
            }
        }
        Ok(read)
    }

    /// Whether nothing is compared.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty() && self.outdoor.is_none()
    }
}

impl ReferenceSpec {
    fn read(section: &Section<'_>, role: &str) -> Result<Self, ConfigError> {
        section.only(&[
            "equip",
            "role",
            "csv",
            "time_col",
            "value_col",
            "label",
            "bias_warn",
            "bias_fault",
            "drift_warn",
            "drift_fault",
            "min_correlation",
            "min_samples",
            "min_drift_days",
        ])?;
        let source = source(section, role)?;
        let label = match (section.text("label")?, &source) {
            (Some(label), _) => label.to_owned(),
            (None, ReferenceSource::Point { equip, role }) => format!("{equip} {role}"),
            (None, ReferenceSource::File { path, .. }) => file_name(path),
        };
        Ok(Self {
            source,
            label,
            limits: limits(section)?,
        })
    }
}

fn source(section: &Section<'_>, role: &str) -> Result<ReferenceSource, ConfigError> {
    let text = |key: &str| Ok(section.text(key)?.map(str::to_owned));
    match (section.text("equip")?, section.text("csv")?) {
        (Some(equip), None) => {
            let role = section.text("role")?.unwrap_or(role);
            if roles::role(role).is_none() {
                return Err(section.refuse("role", format!("there is no role {role:?}")));
            }
            Ok(ReferenceSource::Point {
                equip: equip.to_owned(),
                role: role.to_owned(),
            })
        }
        (None, Some(path)) => Ok(ReferenceSource::File {
            path: path.to_owned(),
            time_column: text("time_col")?,
            value_column: text("value_col")?,
        }),
        _ => Err(ConfigError::new(
            section.place(),
            "give either equip or csv",
        )),
    }
}

fn file_name(path: &str) -> String {
    path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned()
}

fn limits(section: &Section<'_>) -> Result<ReferenceLimits, ConfigError> {
    let usual = ReferenceLimits::default();
    let at_least_zero =
        |key: &str, usual: f64| Ok(section.number_within(key, 0.0, f64::MAX)?.unwrap_or(usual));
    let min_samples = match section.value("min_samples") {
        None => usual.min_samples,
        Some(value) => value
            .as_u64()
            .and_then(|count| usize::try_from(count).ok())
            .ok_or_else(|| section.refuse("min_samples", "it must be a count"))?,
    };
    Ok(ReferenceLimits {
        bias_warn: at_least_zero("bias_warn", usual.bias_warn)?,
        bias_fault: at_least_zero("bias_fault", usual.bias_fault)?,
        drift_warn: at_least_zero("drift_warn", usual.drift_warn)?,
        drift_fault: at_least_zero("drift_fault", usual.drift_fault)?,
        min_correlation: section
            .number_within("min_correlation", -1.0, 1.0)?
            .unwrap_or(usual.min_correlation),
        min_samples,
        min_drift_days: at_least_zero("min_drift_days", usual.min_drift_days)?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(rcx: Value) -> Result<References, String> {
        Section::of(&rcx, "report.rcx")
            .and_then(|section| References::read(&section))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn comparisons_have_a_reference_a_label_and_limits() {
        let references = read(json!({"references": {
            "AHU-1": {
                "supply_air_temp": {"csv": "logs/duct.csv", "bias_warn": 1.0},
                "oat": {"equip": "WX"},
            },
            "*": {"oat": {"csv": "airport.csv", "label": "airport"}},
        }}))
        .unwrap();
        let of = |role: &str| {
            references
                .points
                .get(&("AHU-1".to_owned(), role.to_owned()))
                .unwrap()
        };
        assert_eq!(of("supply_air_temp").label, "duct.csv");
        assert_eq!(of("supply_air_temp").limits.bias_warn, 1.0);
        assert_eq!(
            (of("oat").label.as_str(), of("oat").limits.bias_warn),
            ("WX oat", 2.0)
        );
        assert_eq!(references.outdoor.unwrap().label, "airport");
    }

    #[test]
    fn wrong_comparisons_are_refused() {
        for (rcx, told) in [
            (
                json!({"references": {"A": {"oat": {}}}}),
                "give either equip or csv",
            ),
            (
                json!({"references": {"A": {"fan": {"equip": "B"}}}}),
                "no role \"fan\"",
            ),
            (
                json!({"references": {"A": {"oat": {"equip": "B", "bias": 1}}}}),
                "report.rcx.references.A.oat.bias",
            ),
            (
                json!({"references": {"*": {"co2": {"equip": "B"}}}}),
                "only oat",
            ),
            (
                json!({"oat_reference": {"csv": "x.csv"}, "references": {"*": {"oat": {"equip": "B"}}}}),
                "give one of them",
            ),
        ] {
            let refused = read(rcx).unwrap_err();
            assert!(refused.contains(told), "{refused}");
        }
        // A reference that is fetched is left out.
        assert!(
            read(json!({"oat_reference": {"fetch": "open-meteo"}}))
                .unwrap()
                .is_empty()
        );
    }
}
