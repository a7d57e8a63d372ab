//! The run configuration: which trends, which equipment, which rules, and what the site says of itself (Engine §5).
//!
//! - [`section`]: objects that know where they stand, for refusals.
//! - [`source`], [`equipment`], [`rules`], [`topology`], [`references`], [`report`]: the parts.
//! - [`drift`]: what is compared with its own past.
//! - [`site`], [`sequences`]: units and weather; sections that are checked, but that no run judges.
//! - [`oversights`]: what has no effect, of which its writer is told.
//! - [`files`]: files that a configuration names.
//! - [`mv`]: measurement and verification; [`mv_terms`], [`mv_bills`], [`mv_bill_scale`], [`mv_drivers`],
//!   [`mv_calendar`], [`mv_units`], [`mv_ledger`] and [`mv_rebaseline`] are parts of its entries.
//! - [`defaults`]: the configuration of a facility that nobody configured.

mod dates;
pub mod defaults;
pub mod drift;
pub mod equipment;
pub mod files;
pub mod mv;
mod mv_bill_columns;
pub mod mv_bill_scale;
mod mv_bill_units;
pub mod mv_bills;
pub mod mv_calendar;
pub mod mv_drivers;
pub mod mv_ledger;
pub mod mv_rebaseline;
pub mod mv_terms;
pub mod mv_units;
pub mod oversights;
pub mod references;
pub mod report;
pub mod rules;
pub mod section;
pub mod sequences;
pub mod site;
pub mod source;
pub mod topology;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

pub use self::drift::{DriftEntry, DriftReference, DriftSection, WrittenWindow};
pub use self::equipment::{Discovered, EquipmentEntry, discovered};
pub use self::files::{ConfigFiles, CsvTable, NoFiles};
pub use self::mv::{MvEntry, MvMeter, TrendedMeter};
pub use self::mv_terms::{MvMethod, MvTerms, Period, Validity};
pub use self::oversights::Oversight;
pub use self::references::{ReferenceLimits, ReferenceSource, ReferenceSpec, References};
pub use self::report::{EnergyPrice, EquipmentLoad, ReportOptions};
pub use self::rules::{ChosenRule, RuleEntry, RuleRequest, chosen};
pub use self::section::{ConfigError, Section};
pub use self::site::{UnitBlock, UnitSystem};
pub use self::source::{FolderSource, SharedOat, Source, StoreSource};
pub use self::topology::{DeclaredTopology, ResolvedTopology};

use crate::resample::BinWidth;

/// Elevations of sites, feet.
const LOWEST_SITE: f64 = -1_500.0;
const HIGHEST_SITE: f64 = 15_000.0;

/// One run configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct RunConfig {
    pub site: Option<String>,
    pub facility_id: Option<String>,
    pub source: Option<Source>,
    pub shared_oat: Option<SharedOat>,
    pub equipment: Vec<EquipmentEntry>,
    /// Empty for all.
    pub rules: Vec<RuleEntry>,
    pub topology: Option<DeclaredTopology>,
    /// The configuration's own trust floor.
    pub min_trust: Option<f64>,
    pub resample: BinWidth,
    pub site_elevation_ft: Option<f64>,
    pub include_inactive: bool,
    /// Units of reported energy.
    pub units: Option<UnitBlock>,
    pub references: References,
    pub drift: Option<DriftSection>,
    pub report: ReportOptions,
    /// Texts of the bills that `mv` names, and of the store of frozen baselines, by their names; or why one cannot be read.
    mv_texts: BTreeMap<String, Result<String, String>>,
    oversights: Vec<Oversight>,
    content: Map<String, Value>,
}

impl RunConfig {
    /// Reads and checks a configuration. What has no effect in it is told by [`RunConfig::oversights`].
    ///
    /// # Errors
    /// Something in it is wrong; the first such place.
    pub fn read(content: Map<String, Value>, files: &dyn ConfigFiles) -> Result<Self, ConfigError> {
        let root = Section::root(&content);
        check_types(&root)?;
        let source = root
            .section("source")?
            .map(|section| Source::read(&section))
            .transpose()?;
        let of_store = matches!(source, Some(Source::Store(_)));
        let shared_oat = root
            .section("shared_oat")?
            .map(|section| SharedOat::read(&section, of_store))
            .transpose()?;
        let equipment: Vec<EquipmentEntry> = root
            .sections("equipment")?
            .iter()
            .map(EquipmentEntry::read)
            .collect::<Result<_, _>>()?;
        let rules: Vec<RuleEntry> = root
            .list("rules")?
            .unwrap_or_default()
            .iter()
            .enumerate()
            .map(|(number, value)| RuleEntry::read(value, &format!("rules[{number}]")))
            .collect::<Result<_, _>>()?;
        let topology = root
            .section("topology")?
            .map(|section| DeclaredTopology::read(&section, files))
            .transpose()?;
        let min_trust = match root.section("trust_gate")? {
            Some(gate) => gate.number_within("min_trust", 0.0, 1.0)?,
            None => None,
        };
        let references = match root
            .section("report")?
            .map(|report| report.section("rcx"))
            .transpose()?
            .flatten()
        {
            Some(rcx) => References::read(&rcx)?,
            None => References::default(),
        };
        let report = ReportOptions::read(&root)?;
        let drift = root
            .section("drift")?
            .map(|section| DriftSection::read(&section, &equipment))
            .transpose()?;
        sequences::check_soo(&root, files)?;
        sequences::check_ventilation(&root, files)?;
        site::check_weather(&root)?;
        let units = site::units(&root)?;
        let in_source = matches!(&source, Some(Source::Store(store)) if store.include_inactive);
        Ok(Self {
            site: root.text("site")?.map(str::to_owned),
            facility_id: root.text("facility_id")?.map(str::to_owned),
            shared_oat,
            equipment,
            topology,
            min_trust,
            resample: resample(&root)?,
            site_elevation_ft: root.number_within(
                "site_elevation_ft",
                LOWEST_SITE,
                HIGHEST_SITE,
            )?,
            include_inactive: root.flag("include_inactive")?.unwrap_or(false) || in_source,
            units,
            oversights: oversights::of_content(&content, &rules, &report, &references),
            references,
            drift,
            report,
            source,
            mv_texts: mv::named_files(&root)
                .into_iter()
                .map(|name| (name.to_owned(), files.text(name)))
                .collect(),
            rules,
            content,
        })
    }

    /// The facility that it is of: the one of its store source, else its id, else its site.
    pub fn facility(&self) -> Option<&str> {
        match &self.source {
            Some(Source::Store(store)) => Some(store.facility.as_str()),
            _ => self.facility_id.as_deref().or(self.site.as_deref()),
        }
        .filter(|facility| !facility.trim().is_empty())
    }

    /// The trust floor of a run: its own, but never below the caller's.
    pub fn trust_floor(&self, caller: f64) -> f64 {
        self.min_trust.map_or(caller, |own| own.max(caller))
    }

    /// The rules of a run of a caller.
    ///
    /// # Errors
    /// As [`chosen`].
    pub fn chosen_rules(&self, request: RuleRequest<'_>) -> Result<Vec<ChosenRule>, ConfigError> {
        chosen(&self.rules, self.site_elevation_ft, request)
    }

    /// The entries of `mv`, checked when they are asked for: an analysis that does not read them does not need them right.
    ///
    /// # Errors
    /// One of them is wrong.
    pub fn mv_entries(&self) -> Result<Vec<MvEntry>, ConfigError> {
        mv::entries(
            &Section::root(&self.content),
            self.units.as_ref(),
            &NamedTexts(&self.mv_texts),
        )
    }

    /// The store of frozen baselines that `mv_store` names, as it was when the configuration was read.
    ///
    /// # Errors
    /// It cannot be read; the problem for people.
    pub fn frozen_baselines(&self) -> Option<Result<&str, &str>> {
        let name = self.raw("mv_store")?.as_str()?;
        let text = self.mv_texts.get(name)?.as_ref();
        Some(text.map(String::as_str).map_err(String::as_str))
    }

    /// The configuration as it is written: sections that other analyses read themselves.
    pub fn content(&self) -> &Map<String, Value> {
        &self.content
    }

    /// What of its text has no effect, or hardly the one that is meant.
    pub fn oversights(&self) -> &[Oversight] {
        &self.oversights
    }

    /// Sections that are there and that no run judges.
    pub fn unjudged_sections(&self) -> Vec<&'static str> {
        ["soo", "ventilation"]
            .into_iter()
            .filter(|key| match self.raw(key) {
                Some(Value::Array(entries)) => !entries.is_empty(),
                Some(_) => true,
                None => false,
            })
            .collect()
    }

    /// A section as it is written; none when it is absent or null.
    pub fn raw(&self, key: &str) -> Option<&Value> {
        self.content.get(key).filter(|value| !value.is_null())
    }
}

/// Files that were read with the configuration.
struct NamedTexts<'a>(&'a BTreeMap<String, Result<String, String>>);

impl ConfigFiles for NamedTexts<'_> {
    fn text(&self, path: &str) -> Result<String, String> {
        self.0
            .get(path)
            .cloned()
            .unwrap_or_else(|| Err("there is no such file".to_owned()))
    }
}

/// Sections of a wrong kind that are read later, or by no run at all.
fn check_types(root: &Section<'_>) -> Result<(), ConfigError> {
    root.text("workspace")?;
    root.section("mapping")?;
    root.section("faults")?;
    root.sections("mv")?;
    root.text("mv_store")?;
    if let Some(report) = root.section("report")? {
        report.section("benchmark")?;
        report.sections("ecms")?;
        report.section("price")?;
        report.section("loads")?;
    }
    Ok(())
}

fn resample(root: &Section<'_>) -> Result<BinWidth, ConfigError> {
    match root.text("resample")? {
        None => Ok(BinWidth::HOUR),
        Some(text) => BinWidth::parse(text).ok_or_else(|| {
            root.refuse(
                "resample",
                format!("{text:?} is no interval; write 15min, 1h or 1D"),
            )
        }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(content: Value) -> Result<RunConfig, String> {
        let Value::Object(content) = content else {
            panic!("an object");
        };
        RunConfig::read(content, &NoFiles).map_err(|error| error.to_string())
    }

    #[test]
    fn a_configuration_is_of_its_facility_and_keeps_what_others_read() {
        let config = read(json!({
            "site": "Head office",
            "source": {"kind": "store", "store": "../trends", "facility_id": "hq", "start": "2024-03-01"},
            "equipment": [{"class": "AHU"}],
            "rules": ["supply_air_control"],
            "trust_gate": {"min_trust": 0.7},
            "resample": "15min",
            "site_elevation_ft": 5280,
            "mv": [{"class": "METER"}],
            "remark": "ours",
        }))
        .unwrap();
        assert_eq!(config.facility(), Some("hq"));
        assert_eq!(
            (config.trust_floor(0.5), config.trust_floor(0.9)),
            (0.7, 0.9)
        );
        assert_eq!(config.resample.to_string(), "15min");
        assert!(config.raw("mv").is_some() && config.raw("drift").is_none());
        assert_eq!(
            read(json!({"site": "annex"})).unwrap().facility(),
            Some("annex")
        );
        assert_eq!(read(json!({})).unwrap().facility(), None);
    }

    #[test]
    fn everything_wrong_is_refused_with_its_place() {
        for (content, told) in [
            (json!({"rules": {}}), "rules: it must be a list"),
            (
                json!({"rules": ["economiser"]}),
                "rules[0]: there is no rule",
            ),
            (json!({"equipment": [{"equip": "A"}]}), "equipment[0].class"),
            (json!({"equipment": {}}), "equipment: it must be a list"),
            (
                json!({"resample": "hourly"}),
                "resample: \"hourly\" is no interval",
            ),
            (
                json!({"trust_gate": {"min_trust": 2}}),
                "trust_gate.min_trust: it is 2",
            ),
            (
                json!({"trust_gate": {"min_trust": "x"}}),
                "trust_gate.min_trust",
            ),
            (
                json!({"site_elevation_ft": true}),
                "site_elevation_ft: it must be a number",
            ),
            (json!({"site_elevation_ft": 20000}), "from -1500 to 15000"),
            (json!({"source": {"kind": "store"}}), "source.facility_id"),
            (
                json!({"source": {"kind": "csv"}}),
                "source: it names no place",
            ),
            (
                json!({"source": {"folder": "x", "start": "2024-01-01"}}),
                "source.start: a folder source has no window",
            ),
            (
                json!({"source": {"kind": "store", "facility_id": "hq", "start": "2024-13-01"}}),
                "source.start",
            ),
            (
                json!({"shared_oat": {}}),
                "shared_oat: give either file, or equip",
            ),
            (
                json!({"shared_oat": {"equip": "WX"}}),
                "only a store source",
            ),
            (json!({"topology": {"csv": "x.csv"}}), "topology.csv"),
            (
                json!({"units": "metric"}),
                "units: it is \"metric\"; it may be ip, si",
            ),
            (
                json!({"units": {"system": "si", "region": "x"}}),
                "go together",
            ),
            (
                json!({"weather": {"precision_deg": 9}}),
                "weather.precision_deg",
            ),
            (json!({"soo": [{}]}), "soo[0].class"),
            (json!({"ventilation": {"zone": []}}), "ventilation.zone"),
            (json!({"mv": 3}), "mv: it must be a list"),
            (json!({"mv": [3]}), "mv[0]: it must be an object"),
            (json!({"mv_store": 3}), "mv_store: it must be a text"),
            (json!({"drift": []}), "drift: it must be an object"),
            (json!({"soo": {}}), "soo: it must be a list"),
            (json!({"mapping": "m.csv"}), "mapping: it must be an object"),
            (json!({"faults": true}), "faults: it must be an object"),
            (json!({"workspace": {}}), "workspace: it must be a text"),
            (
                json!({"trust_gate": 0.7}),
                "trust_gate: it must be an object",
            ),
            (json!({"report": []}), "report: it must be an object"),
            (
                json!({"report": {"rcx": 1}}),
                "report.rcx: it must be an object",
            ),
            (
                json!({"report": {"ecms": {}}}),
                "report.ecms: it must be a list",
            ),
            (
                json!({"report": {"rcx": {"references": {"A": {"oat": {}}}}}}),
                "report.rcx.references.A.oat",
            ),
        ] {
            let refused = read(content).unwrap_err();
            assert!(refused.contains(told), "{refused}");
        }
    }
}
