//! When a frozen baseline must be renewed, as a project declares it (M&V §10; Engine §5.9).

use serde_json::Value;

use super::mv_ledger::{date, settle_days};
use super::mv_terms::whole;
use super::section::{ConfigError, Section};

/// Change of a tracked static factor that matters unless the entry says otherwise.
const FACTOR_TOLERANCE: f64 = 0.05;

/// How much changed by what somebody declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Magnitude {
    Static,
    Minor,
    Major,
}

impl Magnitude {
    /// The word in a configuration.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Static => "static",
            Self::Minor => "minor",
            Self::Major => "major",
        }
    }
}

/// A change that somebody declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredEvent {
    /// Midnight of its day.
    pub date: i64,
    pub description: String,
    pub magnitude: Magnitude,
}

/// A static factor that changed.
#[derive(Debug, Clone, PartialEq)]
pub struct FactorChange {
    pub factor: String,
    pub baseline_value: f64,
    pub value: f64,
    /// Midnight of its day.
    pub date: i64,
    pub tolerance: f64,
}

/// When a frozen baseline must be renewed.
#[derive(Debug, Clone, PartialEq)]
pub struct RebaselinePolicy {
    /// Whether the meter is searched for steps.
    pub detect: bool,
    /// Fewest days between two steps.
    pub min_segment_days: usize,
    /// Steps below this energy a day are not material.
    pub materiality: f64,
    /// Step, as a share of the projection, from which the baseline is renewed.
    pub major_step: f64,
    pub min_baseline_days: usize,
    pub max_missing: f64,
    /// By which rules a stored fit must be valid.
    pub require_sep: bool,
    pub require_guideline: bool,
    pub max_achievement_months: u32,
    pub ecm_gap_days: i64,
    pub events: Vec<DeclaredEvent>,
    pub static_factors: Vec<FactorChange>,
    /// How bills are searched for a step; none for not at all.
    pub bill_scan: Option<BillScan>,
}

/// A search for a step in bills.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BillScan {
    /// Fewest bills on either side.
    pub min_run: usize,
    /// Student's t of a step that counts.
    pub threshold: f64,
}

impl Default for BillScan {
    fn default() -> Self {
        Self {
            min_run: 6,
            threshold: 3.75,
        }
    }
}

impl Default for RebaselinePolicy {
    fn default() -> Self {
        Self {
            detect: true,
            min_segment_days: 28,
            materiality: 0.0,
            major_step: 0.2,
            min_baseline_days: 365,
            max_missing: 0.1,
            require_sep: false,
            require_guideline: true,
            max_achievement_months: 36,
            ecm_gap_days: 365,
            events: Vec::new(),
            static_factors: Vec::new(),
            bill_scan: None,
        }
    }
}

/// Reads `rebaseline` of an entry.
///
/// # Errors
/// One of its keys is wrong.
pub fn rebaseline(entry: &Section<'_>) -> Result<RebaselinePolicy, ConfigError> {
    let usual = RebaselinePolicy::default();
    let validity = |word: Option<&str>| {
        (
            word == Some("sep") || word == Some("both"),
            word != Some("sep"),
        )
    };
    let words = ["g14", "sep", "both"];
    let (sep, guideline) = validity(entry.word("validity", &words)?);
    let Some(section) = entry.section("rebaseline")? else {
        return Ok(RebaselinePolicy {
            require_sep: sep,
            require_guideline: guideline,
            ..usual
        });
    };
    section.only(&[
        "detect",
        "min_segment_days",
        "settle_days",
        "materiality",
        "major_step_frac",
        "min_baseline_days",
        "max_missing_frac",
        "require_validity",
        "max_achievement_months",
        "ecm_gap_days",
        "events",
        "static_factors",
        "bill_steps",
    ])?;
    if let Some(days) = section.number("settle_days")? {
        #[expect(clippy::cast_precision_loss, reason = "days")]
        let own = settle_days(entry)? as f64;
        if days != own {
            return Err(section.refuse(
                "settle_days",
                "it differs from the entry's settle_days; give one for the whole entry, there",
            ));
        }
    }
    let count = |key: &str| match section.number(key)? {
        Some(number) if number < 1.0 => Err(section.refuse(key, "it must be at least 1")),
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a cast of a float saturates"
        )]
        Some(number) => Ok(Some(number as u32)),
        None => Ok(None),
    };
    let days = |key: &str, usual: usize| -> Result<usize, ConfigError> {
        Ok(count(key)?.map_or(usual, |count| usize::try_from(count).unwrap_or(usize::MAX)))
    };
    let (sep, guideline) = match section.word("require_validity", &words)? {
        Some(word) => validity(Some(word)),
        None => (sep, guideline),
    };
    let major_step = section
        .number("major_step_frac")?
        .unwrap_or(usual.major_step);
    if major_step <= 0.0 {
        return Err(section.refuse("major_step_frac", "it must be above 0"));
    }
    let max_missing = section
        .number("max_missing_frac")?
        .unwrap_or(usual.max_missing);
    if !(0.0..1.0).contains(&max_missing) {
        return Err(section.refuse("max_missing_frac", "it must be from 0 to below 1"));
    }
    Ok(RebaselinePolicy {
        detect: section.flag("detect")?.unwrap_or(usual.detect),
        min_segment_days: days("min_segment_days", usual.min_segment_days)?,
        materiality: section
            .number_within("materiality", 0.0, f64::MAX)?
            .unwrap_or(usual.materiality),
        major_step,
        min_baseline_days: days("min_baseline_days", usual.min_baseline_days)?,
        max_missing,
        require_sep: sep,
        require_guideline: guideline,
        max_achievement_months: count("max_achievement_months")?
            .unwrap_or(usual.max_achievement_months),
        ecm_gap_days: count("ecm_gap_days")?.map_or(usual.ecm_gap_days, i64::from),
        events: events(&section)?,
        static_factors: static_factors(&section)?,
        bill_scan: bill_scan(&section)?,
    })
}

fn bill_scan(section: &Section<'_>) -> Result<Option<BillScan>, ConfigError> {
    /// A variance of fewer bills means nothing.
    const FEWEST: f64 = 3.0;
    let usual = BillScan::default();
    match section.value("bill_steps") {
        None | Some(Value::Bool(false)) => return Ok(None),
        Some(Value::Bool(true)) => return Ok(Some(usual)),
        Some(Value::String(word)) if word == "scan" => return Ok(Some(usual)),
        Some(Value::String(word)) if word == "off" => return Ok(None),
        Some(Value::Object(_)) => {}
        Some(_) => {
            return Err(section.refuse(
                "bill_steps",
                "it must be \"scan\", \"off\", true, false, or {\"min_run\": bills, \"threshold\": t}",
            ));
        }
    }
    let Some(scan) = section.section("bill_steps")? else {
        return Ok(None);
    };
    scan.only(&["min_run", "threshold"])?;
    let threshold = scan.number("threshold")?.unwrap_or(usual.threshold);
    if threshold <= 0.0 {
        return Err(scan.refuse("threshold", "it must be above 0"));
    }
    if scan.number("min_run")?.is_some_and(|run| run < FEWEST) {
        return Err(scan.refuse("min_run", "it must be at least 3 bills"));
    }
    Ok(Some(BillScan {
        min_run: whole(&scan, "min_run")?.unwrap_or(usual.min_run),
        threshold,
    }))
}

fn events(section: &Section<'_>) -> Result<Vec<DeclaredEvent>, ConfigError> {
    section
        .sections("events")?
        .iter()
        .map(|event| {
            event.only(&["date", "description", "magnitude"])?;
            Ok(DeclaredEvent {
                date: date(event, "date")?
                    .ok_or_else(|| event.refuse("date", "it is missing; give a day"))?,
                description: event.required_text("description")?.to_owned(),
                magnitude: match event.word("magnitude", &["static", "minor", "major"])? {
                    Some("static") => Magnitude::Static,
                    Some("minor") => Magnitude::Minor,
                    _ => Magnitude::Major,
                },
            })
        })
        .collect()
}

fn static_factors(section: &Section<'_>) -> Result<Vec<FactorChange>, ConfigError> {
    section
        .sections("static_factors")?
        .iter()
        .map(|change| {
            change.only(&["factor", "baseline_value", "value", "date", "tolerance"])?;
            let needed = |key: &str| {
                change
                    .number(key)?
                    .ok_or_else(|| change.refuse(key, "it is missing; give a number"))
            };
            Ok(FactorChange {
                factor: change.required_text("factor")?.to_owned(),
                baseline_value: needed("baseline_value")?,
                value: needed("value")?,
                date: date(change, "date")?
                    .ok_or_else(|| change.refuse("date", "it is missing; give a day"))?,
                tolerance: change
                    .number_within("tolerance", 0.0, f64::MAX)?
                    .unwrap_or(FACTOR_TOLERANCE),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(entry: Value) -> Result<RebaselinePolicy, String> {
        Section::of(&entry, "mv[0]")
            .and_then(|section| rebaseline(&section))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_not_said_is_as_usual() {
        assert_eq!(read(json!({})), Ok(RebaselinePolicy::default()));
        let told = read(
            json!({"validity": "sep", "rebaseline": {"bill_steps": {"min_run": 4}, "events":
            [{"date": "2024-07-01", "description": "chiller", "magnitude": "static"}]}}),
        )
        .unwrap();
        assert_eq!((told.require_sep, told.require_guideline), (true, false));
        assert_eq!(
            told.bill_scan,
            Some(BillScan {
                min_run: 4,
                ..BillScan::default()
            })
        );
        assert_eq!(told.events[0].magnitude, Magnitude::Static);
    }

    #[test]
    fn everything_wrong_is_refused_with_its_place() {
        let event = |magnitude: &str| json!({"date": "2024-07-01", "description": "x", "magnitude": magnitude});
        for (entry, told) in [
            (json!({"rebaseline": {"x": 1}}), "mv[0].rebaseline.x"),
            (
                json!({"rebaseline": {"settle_days": 3}}),
                "mv[0].rebaseline.settle_days",
            ),
            (
                json!({"rebaseline": {"min_segment_days": 0}}),
                "mv[0].rebaseline.min_segment_days",
            ),
            (
                json!({"rebaseline": {"max_missing_frac": 1}}),
                "mv[0].rebaseline.max_missing_frac",
            ),
            (
                json!({"rebaseline": {"major_step_frac": 0}}),
                "mv[0].rebaseline.major_step_frac",
            ),
            (
                json!({"rebaseline": {"events": [event("huge")]}}),
                "mv[0].rebaseline.events[0].magnitude",
            ),
            (
                json!({"rebaseline": {"static_factors": [{}]}}),
                "mv[0].rebaseline.static_factors[0]",
            ),
            (
                json!({"rebaseline": {"require_validity": "x"}}),
                "mv[0].rebaseline.require_validity",
            ),
            (
                json!({"rebaseline": {"bill_steps": "often"}}),
                "mv[0].rebaseline.bill_steps: it must be",
            ),
            (
                json!({"rebaseline": {"bill_steps": {"min_run": 2}}}),
                "mv[0].rebaseline.bill_steps.min_run",
            ),
            (
                json!({"rebaseline": {"bill_steps": {"threshold": 0}}}),
                "mv[0].rebaseline.bill_steps.threshold",
            ),
            (
                json!({"rebaseline": {"bill_steps": {"x": 1}}}),
                "mv[0].rebaseline.bill_steps.x",
            ),
        ] {
            let refused = read(entry).unwrap_err();
            assert!(refused.contains(told), "{refused}");
        }
    }
}
