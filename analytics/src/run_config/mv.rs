//! Measurement and verification as a project declares it (M&V §2; Engine §5.9).
//!
//! The keys that trended meters and bills share are [`MvTerms`]; what a meter is stands in [`MvMeter`].

use serde_json::Value;

use super::files::ConfigFiles;
use super::mv_bills::BilledMeter;
use super::mv_calendar;
use super::mv_drivers::Drivers;
use super::mv_ledger;
use super::mv_rebaseline::{self, RebaselinePolicy};
use super::mv_terms::{MvMethod, MvTerms, whole};
use super::mv_units::MeterUnit;
use super::section::{ConfigError, Section};
use crate::mv::Ledger;
use crate::roles;
use crate::run_config::site::UnitBlock;

/// Fewest usable days of a baseline.
const MIN_DAYS: usize = 60;
/// Role of a meter's rate unless the entry names another.
const ENERGY_RATE: &str = "energy_rate";

/// A meter that is trended as a rate.
#[derive(Debug, Clone, PartialEq)]
pub struct TrendedMeter {
    /// The entry applies to each equipment of the class.
    pub class: String,
    /// Energy per hour, in the meter's own unit.
    pub role: String,
    /// Fewest usable days of a baseline.
    pub min_days: usize,
    /// Terms beside the temperature; none for the change-point model alone.
    pub drivers: Option<Drivers>,
    /// Unit of the rate; needed when the configuration has a `units` block.
    pub unit: Option<MeterUnit>,
}

/// What is metered.
#[derive(Debug, Clone, PartialEq)]
pub enum MvMeter {
    Trended(Box<TrendedMeter>),
    Bills(Box<BilledMeter>),
}

/// One entry of `mv`.
#[derive(Debug, Clone, PartialEq)]
pub struct MvEntry {
    /// `mv[0]`.
    pub place: String,
    pub terms: MvTerms,
    pub meter: MvMeter,
    /// What changed at the site besides the measures.
    pub ledger: Ledger,
    /// When a frozen baseline must be renewed.
    pub rebaseline: RebaselinePolicy,
}

/// The entries of a configuration.
///
/// # Errors
/// One of them is wrong.
pub fn entries(
    root: &Section<'_>,
    units: Option<&UnitBlock>,
    files: &dyn ConfigFiles,
) -> Result<Vec<MvEntry>, ConfigError> {
    root.sections("mv")?
        .iter()
        .map(|section| MvEntry::read(section, units, files))
        .collect()
}

/// Files that entries name: bills and calendars, and the store of frozen baselines.
pub(super) fn named_files<'a>(root: &Section<'a>) -> Vec<&'a str> {
    let entries = root.value("mv").and_then(Value::as_array);
    let entries = || entries.into_iter().flatten();
    let bills = entries().filter_map(|entry| {
        let bills = entry.get("bills")?;
        bills.as_str().or_else(|| bills.get("file")?.as_str())
    });
    let calendars = entries().flat_map(mv_calendar::named_files);
    let store = root.value("mv_store").and_then(Value::as_str);
    bills
        .chain(calendars)
        .chain(store)
        .filter(|name| !name.is_empty())
        .collect()
}

impl MvEntry {
    fn read(
        section: &Section<'_>,
        units: Option<&UnitBlock>,
        files: &dyn ConfigFiles,
    ) -> Result<Self, ConfigError> {
        let terms = MvTerms::read(section)?;
        let meter = match section.value("bills") {
            Some(_) => MvMeter::Bills(Box::new(BilledMeter::read(section, units, files)?)),
            None => MvMeter::Trended(Box::new(TrendedMeter::read(section, &terms, units, files)?)),
        };
        let needs_approval = terms.validity.asks_sep();
        Ok(Self {
            place: section.place().to_owned(),
            ledger: mv_ledger::ledger(section, terms.reporting.is_some(), needs_approval)?,
            rebaseline: mv_rebaseline::rebaseline(section)?,
            terms,
            meter,
        })
    }
}

impl TrendedMeter {
    fn read(
        section: &Section<'_>,
        terms: &MvTerms,
        units: Option<&UnitBlock>,
        files: &dyn ConfigFiles,
    ) -> Result<Self, ConfigError> {
        let class = section.required_text("class")?.to_owned();
        let role = section.text("role")?.unwrap_or(ENERGY_RATE).to_owned();
        if roles::role(&role).is_none() {
            return Err(section.refuse("role", format!("there is no role {role:?}")));
        }
        let drivers = Drivers::read(section, files)?;
        let of_temperature_only =
            matches!(terms.method, MvMethod::Auto | MvMethod::StandardConditions);
        if drivers.is_some() && of_temperature_only {
            return Err(section.refuse(
                "method",
                format!(
                    "{} knows temperatures only and cannot be told with model \"cp_driver\"",
                    terms.method.word()
                ),
            ));
        }
        Ok(Self {
            class,
            role,
            min_days: whole(section, "min_days")?.unwrap_or(MIN_DAYS),
            drivers,
            unit: MeterUnit::read(section, units)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::mv_terms::Period;
    use super::*;
    use crate::mv::{ExtrapolationPolicy, Kernel};
    use crate::run_config::NoFiles;
    use crate::wall_clock::iso;

    fn read(entry: Value) -> Result<MvEntry, String> {
        let content = json!({"mv": [entry]});
        entries(&Section::root(content.as_object().unwrap()), None, &NoFiles)
            .map(|mut entries| entries.remove(0))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn an_entry_of_a_class_alone_is_a_baseline_over_all_data() {
        let entry = read(json!({"class": "METER"})).unwrap();
        let MvMeter::Trended(meter) = entry.meter else {
            panic!("a trended meter");
        };
        assert_eq!((meter.role.as_str(), meter.min_days), ("energy_rate", 60));
        assert_eq!(entry.terms.method, MvMethod::Forecast);
        assert!(!entry.terms.method_declared && entry.terms.reporting.is_none());
        assert_eq!(
            (entry.terms.kernel, entry.terms.min_coverage),
            (Kernel::Guideline14, 0.9)
        );
        assert_eq!(entry.terms.extrapolation, ExtrapolationPolicy::default());
    }

    #[test]
    fn a_date_that_ends_a_period_is_there_as_a_whole() {
        let entry = read(
            json!({"class": "METER", "period": ["2023-01-01", "2023-12-31"],
            "reporting_period": ["2024-01-01 06:00", "2024-01-02T12:30"]}),
        )
        .unwrap();
        let period = entry.terms.period.unwrap();
        assert_eq!(iso(period.end), "2023-12-31T23:59:59.999999999");
        assert_eq!(
            (period.days(), period.to_string().as_str()),
            (365, "2023-01-01..2023-12-31")
        );
        assert_eq!(
            iso(entry.terms.reporting.unwrap().end),
            "2024-01-02T12:30:00"
        );
        let backwards = Period {
            start: period.end,
            end: period.start,
        };
        assert_eq!(backwards.days(), 0);
    }

    #[test]
    fn what_chains_needs_its_periods_one_after_the_other() {
        let chained = |between: [&str; 2]| {
            read(json!({"class": "METER", "method": "chaining",
                "period": ["2021-01-01", "2021-12-31"], "intermediate_period": between,
                "reporting_period": ["2024-01-01", "2024-12-31"]}))
        };
        let entry = chained(["2022-01-01", "2022-12-31"]).unwrap();
        assert_eq!(entry.terms.kernel, Kernel::Exact);
        for (between, told) in [
            (["2022-01-01", "2022-11-30"], "equally long"),
            (["2021-06-01", "2022-05-31"], "follow each other"),
            (["2024-06-01", "2025-05-31"], "follow each other"),
        ] {
            let refused = chained(between).unwrap_err();
            assert!(refused.contains(told), "{refused}");
        }
    }

    #[test]
    fn everything_wrong_is_refused_with_its_place() {
        let both = json!({"class": "METER", "period": ["2023-01-01", "2023-12-31"],
            "reporting_period": ["2024-01-01", "2024-12-31"]});
        for (key, value, told) in [
            ("class", json!(null), "mv[0].class"),
            ("role", json!("bogus"), "mv[0].role"),
            (
                "period",
                json!("2023"),
                "mv[0].period: it must be a [start, end]",
            ),
            ("period", json!(["2023-01-01"]), "mv[0].period"),
            (
                "period",
                json!(["2023-12-31", "2023-01-01"]),
                "mv[0].period: it ends before it starts",
            ),
            (
                "reporting_period",
                json!(["2024-01-01 06:00", "2024-01-01 05:00"]),
                "mv[0].reporting_period: it ends before it starts",
            ),
            (
                "reporting_period",
                json!(["x", "y"]),
                "mv[0].reporting_period",
            ),
            ("method", json!("best"), "mv[0].method"),
            ("kernel", json!("normal"), "mv[0].kernel"),
            ("interval", json!("hourly"), "mv[0].interval"),
            ("min_days", json!("x"), "mv[0].min_days"),
            ("min_coverage", json!(2), "mv[0].min_coverage"),
            ("validity", json!("x"), "mv[0].validity"),
            ("extrapolation", json!({"x": 1}), "mv[0].extrapolation.x"),
            (
                "extrapolation",
                json!({"support_quantile": 0.5}),
                "mv[0].extrapolation.support_quantile",
            ),
            (
                "extrapolation",
                json!({"caveat_share": 0.5}),
                "mv[0].extrapolation.decline_share",
            ),
            ("method", json!("chaining"), "mv[0].intermediate_period"),
            ("method", json!("standard_conditions"), "mv[0].normal_year"),
            (
                "bills",
                json!("bills.csv"),
                "mv[0].class: there is no such key",
            ),
        ] {
            let mut entry = both.clone();
            entry[key] = value;
            let refused = read(entry).unwrap_err();
            assert!(refused.contains(told), "{refused}");
        }
        let refused = read(json!({"class": "METER", "method": "backcast"})).unwrap_err();
        assert!(
            refused.contains("mv[0].period: method backcast needs it"),
            "{refused}"
        );
    }
}
