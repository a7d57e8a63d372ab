//! What entries of trended meters and of bills say alike: periods, and how a saving is told (M&V §2, §6).

use std::fmt;

use serde_json::{Map, Value};

use super::section::{ConfigError, Section};
use crate::mv::{ExtrapolationPolicy, Kernel};
use crate::wall_clock::{DAY, Window, date, parse_bound};

/// Least share of a day, or of a bill, that samples must cover.
const MIN_COVERAGE: f64 = 0.9;
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
