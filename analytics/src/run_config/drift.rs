//! What a configuration lets drift: families, windows and references (Drift §2.1).

use serde_json::Value;

use super::equipment::EquipmentEntry;
use super::section::{ConfigError, Section, did_you_mean};
use crate::catalogue::RuleCatalogue;
use crate::drift::Family;
use crate::drift::detectors::air_handler::Coil;
use crate::drift::detectors::air_handler::coil_leak;
use crate::parameters::Parameters;
use crate::wall_clock::{Window, parse_bound};

/// Arguments of the coil-leak detector that an entry may not set.
const FIXED: [&str; 5] = ["store", "site", "run_id", "coil", "freeze_if_missing"];

/// A window as it is written, and what it means.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WrittenWindow {
    pub start: Option<String>,
    pub end: Option<String>,
    pub window: Window,
}

impl WrittenWindow {
    /// A window out of its two ends; an empty or missing one is open.
    ///
    /// # Errors
    /// An end is no time that exists, or lies before the start; the problem for people.
    pub fn of(start: Option<&str>, end: Option<&str>) -> Result<Self, String> {
        let bound = |text: Option<&str>| match text.filter(|text| !text.is_empty()) {
            None => Ok(None),
            Some(text) => parse_bound(text).map(Some).ok_or_else(|| {
                format!(
                    "{text:?} is no time that exists; write it as 2024-03-01 or 2024-03-01T06:30"
                )
            }),
        };
        let window = Window {
            start: bound(start)?,
            end: bound(end)?,
        };
        if let (Some(first), Some(last)) = (window.start, window.end)
            && last < first
        {
            return Err("it ends before it starts; exchange the two".to_owned());
        }
        let kept = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(str::to_owned);
        Ok(Self {
            start: kept(start),
            end: kept(end),
            window,
        })
    }

    fn read(section: &Section<'_>, key: &str) -> Result<Option<Self>, ConfigError> {
        let Some(ends) = section.list(key)? else {
            return Ok(None);
        };
        let refuse = |problem: String| section.refuse(key, problem);
        let [start, end] = ends else {
            return Err(refuse("it must be a list of a start and an end".to_owned()));
        };
        let text = |value: &'_ Value| match value {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(text.clone())),
            _ => Err(refuse("its ends must be texts or null".to_owned())),
        };
        Self::of(text(start)?.as_deref(), text(end)?.as_deref())
            .map(Some)
            .map_err(refuse)
    }

    /// Start and end as they are shown in summaries.
    pub fn ends(&self) -> [Option<&str>; 2] {
        [self.start.as_deref(), self.end.as_deref()]
    }
}

/// What a family is compared with, when that is not what was frozen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DriftReference {
    /// A known-good period of each equipment itself.
    Period(WrittenWindow),
    /// Another equipment, in a period of it or at any time.
    Equipment {
        equip: String,
        period: Option<WrittenWindow>,
    },
}

impl DriftReference {
    fn read(section: &Section<'_>) -> Result<Self, ConfigError> {
        section.only(&["equip", "period"])?;
        let period = WrittenWindow::read(section, "period")?;
        let equip = section.text("equip")?.filter(|equip| !equip.is_empty());
        match (equip, period) {
            (Some(equip), period) => Ok(Self::Equipment {
                equip: equip.to_owned(),
                period,
            }),
            (None, Some(period)) => {
                if period.start.is_none() || period.end.is_none() {
                    return Err(section.refuse("period", "both of its ends must be given"));
                }
                Ok(Self::Period(period))
            }
            (None, None) => Err(ConfigError::new(
                section.place(),
                "it must name an equip, a period, or both",
            )),
        }
    }
}

/// One family over one class of equipment.
#[derive(Debug, Clone, PartialEq)]
pub struct DriftEntry {
    pub class: String,
    pub family: Family,
    /// Its own; [`DriftSection::resolved`] puts that of the section or the call in its place where it has none.
    pub baseline: Option<WrittenWindow>,
    pub current: Option<WrittenWindow>,
    pub reference: Option<DriftReference>,
    /// Coils whose valves are judged.
    pub coils: Vec<Coil>,
    /// Whether the alarm on the approach is a finding of its own.
    pub sustained_alarm: bool,
    /// Name of the plant whose pumps are also judged together.
    pub plant: Option<String>,
    /// Coils that are judged for leaks.
    pub coil_leak: Vec<Coil>,
    /// Parameters of the coil-leak detector; always there.
    pub coil_leak_params: Option<Parameters>,
}

impl DriftEntry {
    /// A family over a class, and nothing else.
    pub fn bare(class: impl Into<String>, family: Family) -> Self {
        Self {
            class: class.into(),
            family,
            baseline: None,
            current: None,
            reference: None,
            coils: vec![Coil::Cooling],
            sustained_alarm: false,
            plant: None,
            coil_leak: Vec::new(),
            coil_leak_params: RuleCatalogue::shipped()
                .entry(coil_leak::RULE)
                .map(Parameters::of),
        }
    }

    fn read(section: &Section<'_>) -> Result<Self, ConfigError> {
        let class = section.required_text("class")?;
        let word = section.required_text("family")?;
        let family = Family::named(word).ok_or_else(|| {
            let known: Vec<&str> = Family::ALL.iter().map(|family| family.word()).collect();
            section.refuse(
                "family",
                format!(
                    "there is no family {word:?}; known are {}",
                    known.join(", ")
                ),
            )
        })?;
        let mut entry = Self::bare(class, family);
        entry.baseline = WrittenWindow::read(section, "baseline")?;
        entry.current = WrittenWindow::read(section, "current")?;
        entry.reference = section
            .section("reference")?
            .map(|reference| DriftReference::read(&reference))
            .transpose()?;
        entry.sustained_alarm = section.flag("sustained_alarm")?.unwrap_or(false);
        entry.plant = section.text("plant")?.map(str::to_owned);
        if let Some(coils) = coils(section, "coils")? {
            entry.coils = coils;
        }
        entry.coil_leak = coils(section, "coil_leak")?.unwrap_or_default();
        if section.value("coil_leak").is_some() && entry.coil_leak.is_empty() {
            return Err(section.refuse(
                "coil_leak",
                "it names no coil; give cooling, heating or both",
            ));
        }
        entry.read_leak_parameters(section)?;
        entry.check_family(section)?;
        Ok(entry)
    }

    fn read_leak_parameters(&mut self, section: &Section<'_>) -> Result<(), ConfigError> {
        const KEY: &str = "coil_leak_params";
        let Some(given) = section.section(KEY)? else {
            return Ok(());
        };
        if let Some(fixed) = FIXED
            .iter()
            .find(|name| given.fields().contains_key(**name))
        {
            return Err(given.refuse(fixed, "it is given by the run and cannot be set"));
        }
        let Some((parameters, catalogued)) = self
            .coil_leak_params
            .as_mut()
            .zip(RuleCatalogue::shipped().entry(coil_leak::RULE))
        else {
            return Ok(());
        };
        parameters
            .set(catalogued, given.fields(), &[])
            .map_err(|error| section.refuse(KEY, error.to_string()))
    }

    /// Refuses options that another family has.
    fn check_family(&self, section: &Section<'_>) -> Result<(), ConfigError> {
        let is_of = |families: &[Family]| families.contains(&self.family);
        for (key, families) in [
            ("coils", &[Family::AirHandler][..]),
            ("coil_leak", &[Family::AirHandler]),
            ("coil_leak_params", &[Family::AirHandler]),
            ("sustained_alarm", &[Family::Chiller]),
            ("plant", &[Family::Pump, Family::HotWaterPump]),
        ] {
            if section
                .value(key)
                .is_some_and(|value| *value != Value::Bool(false))
                && !is_of(families)
            {
                let words: Vec<&str> = families.iter().map(|family| family.word()).collect();
                return Err(section.refuse(
                    key,
                    format!("it is only for the family {}", words.join(" and ")),
                ));
            }
        }
        Ok(())
    }
}

/// Coils by their words, each once, in order.
fn coils(section: &Section<'_>, key: &str) -> Result<Option<Vec<Coil>>, ConfigError> {
    let Some(words) = section.texts(key)? else {
        return Ok(None);
    };
    let mut coils = Vec::new();
    for word in words {
        let coil = Coil::named(word).ok_or_else(|| {
            section.refuse(
                key,
                format!("{word:?} is no coil; give cooling, heating or both"),
            )
        })?;
        if !coils.contains(&coil) {
            coils.push(coil);
        }
    }
    Ok(Some(coils))
}

/// The section `drift`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DriftSection {
    /// File of frozen baselines, relative to the configuration.
    pub store: Option<String>,
    pub run_id: Option<String>,
    pub baseline: Option<WrittenWindow>,
    pub current: Option<WrittenWindow>,
    pub families: Vec<DriftEntry>,
}

impl DriftSection {
    /// Reads and checks the section.
    ///
    /// # Errors
    /// Something in it is wrong; the first such place.
    pub fn read(section: &Section<'_>, equipment: &[EquipmentEntry]) -> Result<Self, ConfigError> {
        let families = section
            .sections("families")?
            .iter()
            .map(|entry| {
                let read = DriftEntry::read(entry)?;
                let known = || equipment.iter().map(|known| known.class.as_str());
                if !known().any(|class| class == read.class) {
                    let classes: Vec<&str> = known().collect();
                    return Err(entry.refuse(
                        "class",
                        format!(
                            "no entry of equipment has the class {:?}{}; there are {}",
                            read.class,
                            did_you_mean(&read.class, known()),
                            classes.join(", ")
                        ),
                    ));
                }
                Ok(read)
            })
            .collect::<Result<Vec<_>, _>>()?;
        let read = Self {
            store: section.text("store")?.map(str::to_owned),
            run_id: section.text("run_id")?.map(str::to_owned),
            baseline: WrittenWindow::read(section, "baseline")?,
            current: WrittenWindow::read(section, "current")?,
            families,
        };
        read.resolved(None, None)?;
        Ok(read)
    }

    /// The entries of a run with their windows: those of the section, or `families` in their place; `current` in place of
    /// the section's.
    ///
    /// # Errors
    /// An entry is compared with frozen baselines, and the section does not name their file or a window.
    pub fn resolved(
        &self,
        families: Option<Vec<DriftEntry>>,
        current: Option<WrittenWindow>,
    ) -> Result<Vec<DriftEntry>, ConfigError> {
        let current = current.or_else(|| self.current.clone());
        let mut entries = families.unwrap_or_else(|| self.families.clone());
        for entry in &mut entries {
            entry.baseline = entry.baseline.take().or_else(|| self.baseline.clone());
            entry.current = entry.current.take().or_else(|| current.clone());
            if entry.reference.is_some() {
                continue;
            }
            for (key, is_there) in [
                ("store", self.store.is_some()),
                ("baseline", entry.baseline.is_some()),
                ("current", entry.current.is_some()),
            ] {
                if !is_there {
                    return Err(ConfigError::new(
                        format!("drift.{key}"),
                        format!(
                            "it is missing; the family {} has no reference and is compared with frozen baselines",
                            entry.family.word()
                        ),
                    ));
                }
            }
        }
        Ok(entries)
    }

    /// The file of frozen baselines, when a family may be compared with it.
    pub fn frozen_file(&self) -> Option<&str> {
        self.store.as_deref().filter(|store| !store.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(drift: Value) -> Result<DriftSection, String> {
        let equipment = [
            EquipmentEntry::of_class("AHU"),
            EquipmentEntry::of_class("CHILLER"),
        ];
        Section::of(&drift, "drift")
            .and_then(|section| DriftSection::read(&section, &equipment))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn an_entry_has_its_own_windows_or_those_of_the_section() {
        let section = read(json!({
            "store": "baselines.json", "baseline": ["2024-01-01", "2024-02-01"], "current": ["2024-03-01", null],
            "families": [
                {"class": "AHU", "family": "ahu", "coils": ["heating", "cooling", "heating"],
                    "coil_leak": ["cooling"], "coil_leak_params": {"warn_f": 1}},
                {"class": "CHILLER", "family": "chiller", "sustained_alarm": true, "baseline": ["2024-01-15", "2024-02-01"],
                    "reference": {"equip": "CH-2"}},
            ],
        }))
        .unwrap();
        assert_eq!(section.frozen_file(), Some("baselines.json"));
        let resolved = section.resolved(None, None).unwrap();
        let [handler, chiller] = &resolved[..] else {
            panic!("two entries");
        };
        assert_eq!(handler.coils, [Coil::Heating, Coil::Cooling]);
        assert_eq!(
            handler.current.as_ref().unwrap().ends(),
            [Some("2024-03-01"), None]
        );
        let parameters = handler.coil_leak_params.as_ref().unwrap();
        assert_eq!(
            (parameters.number("warn_f"), parameters.number("fault_f")),
            (1.0, 1.5)
        );
        assert_eq!(
            chiller.baseline.as_ref().unwrap().start.as_deref(),
            Some("2024-01-15")
        );
        let later = WrittenWindow::of(Some("2024-05-01"), None).unwrap();
        let bare = vec![DriftEntry::bare("CHILLER", Family::Evaporator)];
        let asked = section.resolved(Some(bare), Some(later.clone())).unwrap();
        assert_eq!((asked.len(), &asked[0].current), (1, &Some(later)));
        assert_eq!(
            asked[0].baseline.as_ref().unwrap().start.as_deref(),
            Some("2024-01-01")
        );
        assert_eq!(Family::AirHandler.detectors(handler).len(), 7);
        assert_eq!(Family::Chiller.detectors(chiller).len(), 8);
    }

    #[test]
    fn what_is_wrong_is_refused_with_its_place() {
        let reference = json!({"period": ["2024-01-01", "2024-02-01"]});
        for (entry, told) in [
            (json!({"family": "ahu"}), "drift.families[0].class"),
            (
                json!({"class": "VAV", "family": "vav"}),
                "no entry of equipment has the class \"VAV\"; there are AHU, CHILLER",
            ),
            (
                json!({"class": "Chiller", "family": "chiller"}),
                "has the class \"Chiller\" (did you mean CHILLER?)",
            ),
            (
                json!({"class": "AHU", "family": "fan"}),
                "there is no family \"fan\"",
            ),
            (
                json!({"class": "AHU", "family": "ahu", "coils": ["steam"]}),
                "is no coil",
            ),
            (
                json!({"class": "AHU", "family": "ahu", "coil_leak": []}),
                "names no coil",
            ),
            (
                json!({"class": "AHU", "family": "ahu", "sustained_alarm": true}),
                "only for the family chiller",
            ),
            (
                json!({"class": "AHU", "family": "ahu", "plant": "CHW"}),
                "only for the family pump",
            ),
            (
                json!({"class": "AHU", "family": "ahu", "reference": {"unit": "A"}}),
                "drift.families[0].reference",
            ),
            (
                json!({"class": "AHU", "family": "ahu", "reference": {}}),
                "must name an equip",
            ),
            (
                json!({"class": "AHU", "family": "ahu", "reference": {"period": ["2024-01-01", null]}}),
                "both of its ends",
            ),
            (
                json!({"class": "AHU", "family": "ahu", "baseline": ["2024-02-01", "2024-01-01"]}),
                "ends before it starts",
            ),
            (
                json!({"class": "AHU", "family": "ahu", "baseline": ["2024-02-01"]}),
                "a start and an end",
            ),
            (
                json!({"class": "AHU", "family": "ahu", "coil_leak_params": {"site": "x"}}),
                "cannot be set",
            ),
            (
                json!({"class": "AHU", "family": "ahu", "coil_leak_params": {"warn": 1}}),
                "no parameter",
            ),
        ] {
            let mut entry = entry;
            if entry.get("reference").is_none() {
                entry["reference"] = reference.clone();
            }
            let refused = read(json!({"families": [entry]})).unwrap_err();
            assert!(refused.contains(told), "{refused}");
        }
        let frozen = json!({"families": [{"class": "AHU", "family": "ahu"}]});
        assert!(read(frozen).unwrap_err().contains("drift.store"));
        assert_eq!(read(json!({})).unwrap(), DriftSection::default());
    }
}
