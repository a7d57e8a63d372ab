//! The ledger of a meter, and when its baseline must be renewed, as a project declares them (M&V §9, §10; Engine §5.9).

use serde_json::Value;

use super::mv::whole;
use super::section::{ConfigError, Section};
use crate::mv::{Change, Ledger, LedgerEntry};
use crate::wall_clock::{DAY, parse_bound};

/// Days around a measure unless the entry says otherwise.
const SETTLE_DAYS: i64 = 14;
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

/// Reads `adjustments`, `ecm_dates`, `settle_days` and `materiality_threshold` of an entry.
///
/// # Errors
/// One of them is wrong, or there is nothing that could be adjusted.
pub fn ledger(
    entry: &Section<'_>,
    has_reporting: bool,
    needs_approval: bool,
) -> Result<Ledger, ConfigError> {
    let entries: Vec<LedgerEntry> = entry
        .sections("adjustments")?
        .iter()
        .map(ledger_entry)
        .collect::<Result<_, _>>()?;
    if !entries.is_empty() && !has_reporting {
        return Err(entry.refuse("adjustments", "it needs a reporting_period to adjust"));
    }
    Ok(Ledger {
        entries,
        ecm_dates: dates(entry, "ecm_dates")?,
        settle_days: settle_days(entry)?,
        materiality: entry.number("materiality_threshold")?.unwrap_or(0.0),
        needs_approval,
    })
}

/// Reads an object of a ledger, of a configuration or of a store of baselines.
///
/// # Errors
/// It lacks something, or has what it may not have.
pub fn ledger_entry(section: &Section<'_>) -> Result<LedgerEntry, ConfigError> {
    let is_static = section.word("kind", &["nra", "static"])? == Some("static");
    let methods: &[&str] = match is_static {
        true => &["proportional", "engineering"],
        false => &["engineering", "submeter", "indicator", "exclude"],
    };
    let method = section
        .word("method", methods)?
        .ok_or_else(|| section.refuse("method", "it is missing; say how the amount is known"))?;
    let common = [
        "kind",
        "method",
        "start",
        "reason",
        "evidence",
        "approved_by",
        "status",
    ];
    let own: &[&str] = match is_static {
        true => &[
            "factor",
            "baseline_value",
            "reporting_value",
            "affected_share",
            "ratio_se",
            "share_se",
            "amount",
            "se",
        ],
        false => &["end", "amount", "se", "fit"],
    };
    let known: Vec<&str> = common.iter().chain(own).copied().collect();
    section.only(&known)?;
    let start = date(section, "start")?
        .ok_or_else(|| section.refuse("start", "it is missing; give the first day"))?;
    let end = date(section, "end")?;
    if end.is_some_and(|end| end <= start) {
        return Err(section.refuse("end", "it must be a day after start"));
    }
    let factor = match is_static {
        true => Some(section.required_text("factor")?.to_owned()),
        false => None,
    };
    let has = |key: &str| {
        Ok(section
            .text(key)?
            .is_some_and(|text| !text.trim().is_empty()))
    };
    let has_evidence = has("evidence")?;
    let change = match method {
        "exclude" => Change::Exclude,
        "indicator" => {
            if section.value("fit").is_some() {
                return Err(section.refuse(
                    "fit",
                    "an indicator is fitted on the meter's own days; leave this out",
                ));
            }
            Change::Indicator
        }
        "proportional" => proportional(section)?,
        _ => {
            if method == "engineering" && !has_evidence {
                return Err(section.refuse(
                    "evidence",
                    "it is missing; an amount that was reckoned needs evidence (SEP 2019 §5.3.2)",
                ));
            }
            amount(section)?
        }
    };
    Ok(LedgerEntry {
        change,
        start,
        end,
        reason: section.required_text("reason")?.to_owned(),
        factor,
        has_evidence,
        is_approved: has("approved_by")?,
        is_proposed: section.word("status", &["proposed", "accepted"])? == Some("proposed"),
    })
}

fn amount(section: &Section<'_>) -> Result<Change, ConfigError> {
    let needed = |key: &str| {
        section.number(key)?.ok_or_else(|| {
            section.refuse(key, "it is missing; give amount and se, its standard error")
        })
    };
    let error = needed("se")?;
    if error < 0.0 {
        return Err(section.refuse("se", "it must be at least 0"));
    }
    Ok(Change::Amount {
        amount: needed("amount")?,
        error,
    })
}

fn proportional(section: &Section<'_>) -> Result<Change, ConfigError> {
    let needed = |key: &str| {
        section
            .number(key)?
            .ok_or_else(|| section.refuse(key, "it is missing; there is no default"))
    };
    let (before, after) = (needed("baseline_value")?, needed("reporting_value")?);
    if before <= 0.0 {
        return Err(section.refuse("baseline_value", "it must be above 0"));
    }
    if after < 0.0 {
        return Err(section.refuse("reporting_value", "it must be at least 0"));
    }
    let share = section
        .number_within("affected_share", 0.0, 1.0)?
        .ok_or_else(|| section.refuse("affected_share", "it is missing; there is no default"))?;
    let error = |key: &str| Ok(section.number_within(key, 0.0, f64::MAX)?.unwrap_or(0.0));
    Ok(Change::Proportional {
        ratio: after / before,
        ratio_error: error("ratio_se")?,
        share,
        share_error: error("share_se")?,
    })
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

fn settle_days(entry: &Section<'_>) -> Result<i64, ConfigError> {
    match entry.number("settle_days")? {
        None => Ok(SETTLE_DAYS),
        Some(days) if days < 0.0 => Err(entry.refuse("settle_days", "it must be at least 0")),
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a cast of a float saturates"
        )]
        Some(days) => Ok(days as i64),
    }
}

fn dates(entry: &Section<'_>, key: &str) -> Result<Vec<i64>, ConfigError> {
    let refuse = || entry.refuse(key, "it must be a list of dates, such as 2024-03-31");
    let Some(list) = entry.list(key).map_err(|_| refuse())? else {
        return Ok(Vec::new());
    };
    list.iter()
        .map(|value| value.as_str().and_then(midnight).ok_or_else(refuse))
        .collect()
}

fn date(section: &Section<'_>, key: &str) -> Result<Option<i64>, ConfigError> {
    match section.text(key)? {
        None => Ok(None),
        Some(text) => midnight(text)
            .map(Some)
            .ok_or_else(|| section.refuse(key, format!("{text:?} is no date, such as 2024-03-31"))),
    }
}

/// The midnight before a date or time.
fn midnight(text: &str) -> Option<i64> {
    parse_bound(text).map(|stamp| stamp.div_euclid(DAY).saturating_mul(DAY))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::wall_clock::iso;

    fn read(entry: Value) -> Result<Ledger, String> {
        Section::of(&entry, "mv[0]")
            .and_then(|section| {
                rebaseline(&section)?;
                ledger(&section, section.value("reporting_period").is_some(), false)
            })
            .map_err(|error| error.to_string())
    }

    fn adjusted(key: &str, value: Value) -> Result<Ledger, String> {
        let mut entry = json!({"kind": "nra", "method": "engineering", "start": "2024-03-01",
            "reason": "shift", "amount": 1000, "se": 100, "evidence": "log"});
        match value {
            Value::Null => {
                entry.as_object_mut().unwrap().shift_remove(key);
            }
            value => entry[key] = value,
        }
        read(json!({"reporting_period": ["a", "b"], "adjustments": [entry]}))
    }

    #[test]
    fn entries_say_what_changed_and_from_when_on() {
        let ledger = adjusted("end", json!("2024-04-01")).unwrap();
        assert_eq!((ledger.settle_days, ledger.materiality), (14, 0.0));
        let [entry] = &ledger.entries[..] else {
            panic!("one entry");
        };
        assert_eq!(iso(entry.start), "2024-03-01T00:00:00");
        assert_eq!(
            entry.change,
            Change::Amount {
                amount: 1000.0,
                error: 100.0
            }
        );
        let area = read(json!({"reporting_period": [], "settle_days": 7, "ecm_dates": ["2024-01-01"],
            "adjustments": [{"kind": "static", "method": "proportional", "start": "2024-05-01", "reason": "wing",
                "factor": "area", "baseline_value": 100, "reporting_value": 110, "affected_share": 0.5}]}))
        .unwrap();
        assert!(matches!(
            area.entries[0].change,
            Change::Proportional { ratio, share: 0.5, .. } if ratio == 1.1
        ));
        assert_eq!((area.settle_days, area.ecm_dates.len()), (7, 1));
    }

    #[test]
    fn everything_wrong_is_refused_with_its_place() {
        for (key, value, told) in [
            ("kind", json!("x"), "mv[0].adjustments[0].kind"),
            ("method", json!("x"), "mv[0].adjustments[0].method"),
            (
                "method",
                json!(null),
                "mv[0].adjustments[0].method: it is missing",
            ),
            (
                "start",
                json!(null),
                "mv[0].adjustments[0].start: it is missing",
            ),
            ("start", json!("soon"), "\"soon\" is no date"),
            ("end", json!("2024-03-01"), "mv[0].adjustments[0].end"),
            ("reason", json!(null), "mv[0].adjustments[0].reason"),
            ("evidence", json!(null), "mv[0].adjustments[0].evidence"),
            ("amount", json!("x"), "mv[0].adjustments[0].amount"),
            ("se", json!(-1), "mv[0].adjustments[0].se"),
            ("se", json!(null), "mv[0].adjustments[0].se: it is missing"),
            ("status", json!("maybe"), "mv[0].adjustments[0].status"),
            ("basis", json!("x"), "mv[0].adjustments[0].basis"),
        ] {
            let refused = adjusted(key, value).unwrap_err();
            assert!(refused.contains(told), "{refused}");
        }
        let event = |magnitude: &str| json!({"date": "2024-07-01", "description": "x", "magnitude": magnitude});
        for (entry, told) in [
            (json!({"adjustments": "x"}), "mv[0].adjustments"),
            (json!({"ecm_dates": "2024-01-01"}), "mv[0].ecm_dates"),
            (json!({"settle_days": -1}), "mv[0].settle_days"),
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
        let no_reporting =
            json!({"adjustments": [{"method": "exclude", "start": "2024-01-01", "reason": "x"}]});
        assert!(
            read(no_reporting)
                .unwrap_err()
                .contains("needs a reporting_period")
        );
    }
}
