//! What callers may see of stored trends, and how much of it (CAMBER core §1.3).

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use super::load::{ConfigError, Settings};
use crate::camber::Caps;
use crate::camber::context::TRUST_FLOOR;

/// Name of the service identity among `camber.principals`.
const SERVICE: &str = "service";

/// The word that allows every active facility of the store.
const ALL_ACTIVE: &str = "all-active";

/// The longest time of a call, in seconds.
const LONGEST: u64 = 3600;

/// Which facilities a caller may see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FacilityAllowance {
    /// Every facility that is active when the call is made.
    AllActive,
    /// These; none is nothing.
    These(BTreeSet<String>),
}

impl Default for FacilityAllowance {
    fn default() -> Self {
        Self::These(BTreeSet::new())
    }
}

impl FacilityAllowance {
    fn read(names: Vec<String>) -> Self {
        match names.iter().any(|name| name == ALL_ACTIVE) {
            true => Self::AllActive,
            false => Self::These(names.into_iter().collect()),
        }
    }
}

/// The rules of one caller.
#[derive(Debug, Clone, PartialEq)]
pub struct CapabilityRules {
    pub allow: FacilityAllowance,
    pub min_trust: f64,
    pub caps: Caps,
}

impl Default for CapabilityRules {
    fn default() -> Self {
        Self {
            allow: FacilityAllowance::default(),
            min_trust: TRUST_FLOOR,
            caps: Caps::default(),
        }
    }
}

/// The block `camber` of the configuration.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CamberRules {
    /// `camber.config`: run configurations, one per facility.
    pub run_configs: Vec<PathBuf>,
    general: CapabilityRules,
    principals: BTreeMap<String, CapabilityRules>,
}

impl CamberRules {
    /// Reads the block.
    ///
    /// # Errors
    /// A value that makes no sense, with its place.
    pub fn read(settings: &Settings) -> Result<Self, ConfigError> {
        let general = CapabilityRules {
            allow: FacilityAllowance::read(settings.list("camber.allow")),
            min_trust: floor(settings)?,
            caps: Caps {
                max_rows: settings.count("camber.maxRows"),
                max_bytes: settings.count("camber.maxBytes"),
                max_time: settings.seconds("camber.maxSeconds"),
            },
        };
        let mut principals = BTreeMap::new();
        for (name, rules) in settings.map("camber.principals") {
            let own = own_rules(&general, &rules).map_err(|problem| {
                settings.wrong("camber.principals", format!("{name}: {problem}"))
            })?;
            principals.insert(name, own);
        }
        let files = settings.list("camber.config");
        Ok(Self {
            run_configs: files.into_iter().map(PathBuf::from).collect(),
            general,
            principals,
        })
    }

    /// The rules of a user, or of the service identity.
    pub fn of(&self, user: Option<&str>) -> &CapabilityRules {
        self.principals
            .get(user.unwrap_or(SERVICE))
            .unwrap_or(&self.general)
    }
}

fn floor(settings: &Settings) -> Result<f64, ConfigError> {
    let text = settings.text("camber.minTrust").unwrap_or_default();
    text.parse()
        .ok()
        .filter(|floor| (0.0..=1.0).contains(floor))
        .ok_or_else(|| {
            settings.wrong(
                "camber.minTrust",
                format!("'{text}' is no number from 0 to 1"),
            )
        })
}

/// The rules of one person: what is absent is as for everybody.
fn own_rules(general: &CapabilityRules, rules: &Value) -> Result<CapabilityRules, String> {
    let Value::Object(rules) = rules else {
        return Err("write a map with allow, minTrust, maxRows, maxBytes or maxSeconds".to_owned());
    };
    let mut own = general.clone();
    for (key, value) in rules {
        let count = |least: u64| {
            value
                .as_u64()
                .filter(|count| *count >= least)
                .and_then(|count| usize::try_from(count).ok())
                .ok_or_else(|| format!("{key} must be a whole number of at least {least}"))
        };
        match key.as_str() {
            "allow" => own.allow = FacilityAllowance::read(names(value)?),
            "minTrust" => {
                own.min_trust = value
                    .as_f64()
                    .filter(|floor| (0.0..=1.0).contains(floor))
                    .ok_or("minTrust must be a number from 0 to 1")?;
            }
            "maxRows" => own.caps.max_rows = count(1)?,
            "maxBytes" => own.caps.max_bytes = count(1)?,
            "maxSeconds" => {
                let seconds = u64::try_from(count(1)?).unwrap_or(LONGEST).min(LONGEST);
                own.caps.max_time = Duration::from_secs(seconds);
            }
            other => {
                return Err(format!(
                    "there is no '{other}'; write allow, minTrust, maxRows, maxBytes or maxSeconds"
                ));
            }
        }
    }
    Ok(own)
}

fn names(value: &Value) -> Result<Vec<String>, String> {
    let wrong = || "allow must be a list of facility ids, or all-active".to_owned();
    match value {
        Value::String(one) => Ok(vec![one.clone()]),
        Value::Array(several) => several
            .iter()
            .map(|name| name.as_str().map(str::to_owned).ok_or_else(wrong))
            .collect(),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<CamberRules, ConfigError> {
        let mut settings = Settings::empty("test".to_owned());
        settings.read_text("test.yaml", text)?;
        CamberRules::read(&settings)
    }

    #[test]
    fn nobody_sees_anything_unless_it_is_allowed() {
        let rules = read("camber: {}").unwrap();
        assert_eq!(rules.of(None), &CapabilityRules::default());
        assert_eq!(
            rules.of(None).allow,
            FacilityAllowance::These(BTreeSet::new())
        );
    }

    #[test]
    fn a_person_has_what_is_given_and_the_rest_as_everybody() {
        let rules = read(
            "camber:\n  allow: [hq]\n  minTrust: 0.6\n  maxRows: 100\n  principals:\n    ann: {allow: all-active, \
             maxSeconds: 30}\n    service: {allow: []}\n",
        )
        .unwrap();
        let ann = rules.of(Some("ann"));
        assert_eq!(ann.allow, FacilityAllowance::AllActive);
        assert_eq!((ann.min_trust, ann.caps.max_rows), (0.6, 100));
        assert_eq!(ann.caps.max_time, Duration::from_secs(30));
        assert_eq!(
            rules.of(Some("bob")).allow,
            FacilityAllowance::These(BTreeSet::from(["hq".to_owned()]))
        );
        assert_eq!(rules.of(None).allow, FacilityAllowance::default());
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_its_key() {
        for (text, told) in [
            ("camber: {minTrust: 2}", "camber.minTrust"),
            ("camber: {minTrust: high}", "camber.minTrust"),
            ("camber: {principals: {ann: {alow: [hq]}}}", "alow"),
            ("camber: {principals: {ann: [hq]}}", "ann"),
            ("camber: {principals: {ann: {maxRows: 0}}}", "maxRows"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(told), "{text}: {error}");
        }
    }
}
