//! Measurement and verification as a project declares it (M&V §2; Engine §5.9).
//!
//! The keys that trended meters and bills share are [`MvTerms`]; what a meter is stands in [`MvMeter`].

use std::fmt;

use serde_json::{Map, Value};

use super::files::ConfigFiles;
use super::mv_bills::BilledMeter;
use super::mv_calendar;
use super::mv_drivers::Drivers;
use super::mv_ledger::{self, RebaselinePolicy};
use super::mv_units::MeterUnit;
use super::section::{ConfigError, Section};
use crate::mv::{ExtrapolationPolicy, Kernel, Ledger};
use crate::roles;
use crate::run_config::site::UnitBlock;
use crate::wall_clock::{DAY, Window, date, parse_bound};

/// Fewest usable days of a baseline.
const MIN_DAYS: usize = 60;
/// Least share of a day, or of a bill, that samples must cover.
const MIN_COVERAGE: f64 = 0.9;
/// Role of a meter's rate unless the entry names another.
const ENERGY_RATE: &str = "energy_rate";
/// Fewest temperatures of a normal year.
const FEWEST_NORMAL_DAYS: usize = 2;
/// Chained periods may differ in length by so many days.
const LENGTH_SLACK: i64 = 1;

/// Two bounds, both inclusive; a date as the end includes that whole day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    pub start: i64,
    pub end: i64,
}

impl Period {
    /// Reads `[start, end]`; none when the key is absent.
    ///
    /// # Errors
    /// It is no pair of dates or times, or ends before it starts.
    pub fn read(section: &Section<'_>, key: &str) -> Result<Option<Self>, ConfigError> {
        let Some(value) = section.value(key) else {
            return Ok(None);
        };
        let refuse = || {
            section.refuse(
                key,
                "it must be a [start, end] pair of dates (2024-01-31) or times (2024-01-31 06:00)",
            )
        };
        let pair: Vec<&str> = value
            .as_array()
            .and_then(|list| list.iter().map(Value::as_str).collect())
            .ok_or_else(refuse)?;
        let [start, end] = pair[..] else {
            return Err(refuse());
        };
        let bound = |text: &str| parse_bound(text).ok_or_else(refuse);
        let last = bound(end)?;
        let read = Self {
            start: bound(start)?,
            end: match end.len() {
                10 => last.saturating_add(DAY - 1),
                _ => last,
            },
        };
        match read.end < read.start {
            true => Err(section.refuse(key, "it ends before it starts; exchange the two")),
            false => Ok(Some(read)),
        }
    }

    /// The bounds of a slice.
    pub fn window(self) -> Window {
        Window {
            start: Some(self.start),
            end: Some(self.end),
        }
    }

    /// Calendar days from the first to the last, both counted; 0 when it ends before it starts.
    pub fn days(self) -> usize {
        usize::try_from(self.last_day() - self.first_day() + 1).unwrap_or(0)
    }

    /// Days since 1970 of the start.
    pub fn first_day(self) -> i64 {
        self.start.div_euclid(DAY)
    }

    /// Days since 1970 of the end.
    pub fn last_day(self) -> i64 {
        self.end.div_euclid(DAY)
    }
}

/// `2023-01-01..2023-12-31`.
impl fmt::Display for Period {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}..{}", date(self.start), date(self.end))
    }
}

/// How a saving is told (M&V §6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MvMethod {
    Forecast,
    Backcast,
    Chaining,
    StandardConditions,
    /// Proposes one of the others and tells no saving.
    Auto,
}

impl MvMethod {
    /// All, in the order of the specification.
    pub const ALL: [Self; 5] = [
        Self::Forecast,
        Self::Backcast,
        Self::Chaining,
        Self::StandardConditions,
        Self::Auto,
    ];

    /// The word in a configuration and on the wire.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Forecast => "forecast",
            Self::Backcast => "backcast",
            Self::Chaining => "chaining",
            Self::StandardConditions => "standard_conditions",
            Self::Auto => "auto",
        }
    }

    /// The kernel of its band unless the entry names one.
    pub const fn usual_kernel(self) -> Kernel {
        match self {
            Self::Chaining | Self::StandardConditions => Kernel::Exact,
            Self::Forecast | Self::Backcast | Self::Auto => Kernel::Guideline14,
        }
    }
}

/// By which rules a model must be good enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Validity {
    /// ASHRAE Guideline 14.
    Guideline14,
    /// Superior Energy Performance.
    Sep,
    Both,
}

impl Validity {
    /// The word in a configuration and on the wire.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Guideline14 => "g14",
            Self::Sep => "sep",
            Self::Both => "both",
        }
    }

    /// Whether the rules of SEP count.
    pub const fn asks_sep(self) -> bool {
        !matches!(self, Self::Guideline14)
    }
}

/// What an entry says of its periods and of how a saving is told, whatever its meter is.
#[derive(Debug, Clone, PartialEq)]
pub struct MvTerms {
    /// The baseline; none for all data.
    pub period: Option<Period>,
    /// None for a baseline alone.
    pub reporting: Option<Period>,
    /// Between the two, for chaining.
    pub intermediate: Option<Period>,
    pub method: MvMethod,
    /// Whether the entry names its method.
    pub method_declared: bool,
    pub kernel: Kernel,
    /// Daily mean temperatures of the standard conditions, °F.
    pub normal_year: Vec<f64>,
    /// Least share of a day, or of a bill, that samples must cover.
    pub min_coverage: f64,
    pub extrapolation: ExtrapolationPolicy,
    pub validity: Validity,
}

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
            rebaseline: mv_ledger::rebaseline(section)?,
            terms,
            meter,
        })
    }
}

impl MvTerms {
    /// Reads what entries of trended meters and of bills share.
    ///
    /// # Errors
    /// A key has a value that it may not have, or a method lacks what it needs.
    pub fn read(section: &Section<'_>) -> Result<Self, ConfigError> {
        if section
            .text("interval")?
            .is_some_and(|interval| interval != "daily")
        {
            return Err(section.refuse("interval", "only \"daily\" baselines are fitted"));
        }
        let declared = method(section)?;
        let method = declared.unwrap_or(MvMethod::Forecast);
        let terms = Self {
            period: Period::read(section, "period")?,
            reporting: Period::read(section, "reporting_period")?,
            intermediate: Period::read(section, "intermediate_period")?,
            method,
            method_declared: declared.is_some(),
            kernel: kernel(section, method)?,
            normal_year: normal_year(section, method)?,
            min_coverage: section
                .number_within("min_coverage", 0.0, 1.0)?
                .unwrap_or(MIN_COVERAGE),
            extrapolation: extrapolation(section)?,
            validity: validity(section)?,
        };
        terms.check_periods(section)?;
        Ok(terms)
    }

    fn check_periods(&self, section: &Section<'_>) -> Result<(), ConfigError> {
        let needs = |key: &str| {
            section.refuse(
                key,
                format!(
                    "method {} needs it: a [start, end] pair",
                    self.method.word()
                ),
            )
        };
        if self.method == MvMethod::Forecast {
            return Ok(());
        }
        let period = self.period.ok_or_else(|| needs("period"))?;
        let reporting = self.reporting.ok_or_else(|| needs("reporting_period"))?;
        if self.method != MvMethod::Chaining {
            return Ok(());
        }
        let between = self
            .intermediate
            .ok_or_else(|| needs("intermediate_period"))?;
        let length = |period: Period| period.last_day() - period.first_day() + 1;
        let lengths = [period, between, reporting].map(length);
        let (shortest, longest) = (lengths.iter().min(), lengths.iter().max());
        if shortest
            .zip(longest)
            .is_some_and(|(shortest, longest)| longest - shortest > LENGTH_SLACK)
        {
            return Err(section.refuse(
                "intermediate_period",
                format!(
                    "chained periods must be equally long within {LENGTH_SLACK} day; they have {}, {} and {} days",
                    lengths[0], lengths[1], lengths[2]
                ),
            ));
        }
        if period.end >= between.start || between.end >= reporting.start {
            return Err(section.refuse(
                "intermediate_period",
                "chained periods must follow each other: baseline, intermediate, reporting, without overlap",
            ));
        }
        Ok(())
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

/// A number as a count: what is behind the decimal point is cut, and less than nothing is nothing.
pub(super) fn whole(section: &Section<'_>, key: &str) -> Result<Option<usize>, ConfigError> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cast of a float saturates"
    )]
    Ok(section.number(key)?.map(|number| number.max(0.0) as usize))
}

fn method(section: &Section<'_>) -> Result<Option<MvMethod>, ConfigError> {
    let words = MvMethod::ALL.map(MvMethod::word);
    let word = section.word("method", &words)?;
    Ok(word.and_then(|word| {
        MvMethod::ALL
            .into_iter()
            .find(|method| method.word() == word)
    }))
}

fn kernel(section: &Section<'_>, method: MvMethod) -> Result<Kernel, ConfigError> {
    let kernel = match section.word("kernel", &["g14", "exact"])? {
        Some("exact") => Kernel::Exact,
        Some(_) => Kernel::Guideline14,
        None => method.usual_kernel(),
    };
    if method == MvMethod::Chaining && kernel != Kernel::Exact {
        return Err(section.refuse(
            "kernel",
            "chaining projects one model twice and needs the kernel exact",
        ));
    }
    Ok(kernel)
}

fn validity(section: &Section<'_>) -> Result<Validity, ConfigError> {
    Ok(match section.word("validity", &["g14", "sep", "both"])? {
        Some("sep") => Validity::Sep,
        Some("both") => Validity::Both,
        _ => Validity::Guideline14,
    })
}

/// Read only by the method that needs it.
fn normal_year(section: &Section<'_>, method: MvMethod) -> Result<Vec<f64>, ConfigError> {
    let wanted = matches!(method, MvMethod::StandardConditions | MvMethod::Auto);
    if !wanted || (method == MvMethod::Auto && section.value("normal_year").is_none()) {
        return Ok(Vec::new());
    }
    let temperatures = section.numbers("normal_year")?.unwrap_or_default();
    if temperatures.len() < FEWEST_NORMAL_DAYS || temperatures.iter().any(|t| !t.is_finite()) {
        return Err(section.refuse(
            "normal_year",
            format!(
                "method {} needs a list of at least {FEWEST_NORMAL_DAYS} daily mean outdoor temperatures in °F",
                method.word()
            ),
        ));
    }
    Ok(temperatures)
}

fn extrapolation(section: &Section<'_>) -> Result<ExtrapolationPolicy, ConfigError> {
    let usual = ExtrapolationPolicy::default();
    let no_keys = Map::new();
    let policy = match section.value("extrapolation") {
        // An empty list is how some programs write an empty object.
        Some(Value::Array(list)) if list.is_empty() => Section::root(&no_keys),
        None => Section::root(&no_keys),
        Some(value) => Section::of(value, section.at("extrapolation"))?,
    };
    policy.only(&[
        "support_quantile",
        "edge_tolerance",
        "caveat_share",
        "caveat_distance",
        "decline_share",
        "decline_distance",
        "min_cell_obs",
        "min_points_outside",
        "decline",
        "widen_fsu",
    ])?;
    let least = |key: &str, least: f64, usual: f64| match policy.number(key)? {
        Some(number) if number < least => {
            Err(policy.refuse(key, format!("it is {number}; it must be at least {least}")))
        }
        number => Ok(number.unwrap_or(usual)),
    };
    // Cells belong to models that no entry selects.
    least("min_cell_obs", 1.0, 20.0)?;
    least("min_points_outside", 1.0, 1.0)?;
    let read = ExtrapolationPolicy {
        support_quantile: least("support_quantile", 0.0, usual.support_quantile)?,
        edge_tolerance: least("edge_tolerance", 0.0, usual.edge_tolerance)?,
        caveat_share: least("caveat_share", 0.0, usual.caveat_share)?,
        caveat_distance: least("caveat_distance", 0.0, usual.caveat_distance)?,
        decline_share: least("decline_share", 0.0, usual.decline_share)?,
        decline_distance: least("decline_distance", 0.0, usual.decline_distance)?,
        min_points_outside: whole(&policy, "min_points_outside")?
            .unwrap_or(usual.min_points_outside),
        decline: policy.flag("decline")?.unwrap_or(usual.decline),
        widen_fsu: policy.flag("widen_fsu")?.unwrap_or(usual.widen_fsu),
    };
    for (key, wrong, problem) in [
        (
            "support_quantile",
            read.support_quantile >= 0.5,
            "it must be below 0.5",
        ),
        (
            "decline_share",
            read.decline_share < read.caveat_share,
            "it must be at least caveat_share",
        ),
        (
            "decline_distance",
            read.decline_distance < read.caveat_distance,
            "it must be at least caveat_distance",
        ),
    ] {
        if wrong {
            return Err(policy.refuse(key, problem));
        }
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
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
