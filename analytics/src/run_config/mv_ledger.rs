//! The ledger of a meter as a project declares it (M&V §9; Engine §5.9).

use super::section::{ConfigError, Section};
use crate::mv::{Change, Ledger, LedgerEntry};
use crate::wall_clock::{DAY, parse_bound};

/// Days around a measure unless the entry says otherwise.
const SETTLE_DAYS: i64 = 14;

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

/// Days around a measure in which nothing is judged.
///
/// # Errors
/// The key is wrong.
pub(super) fn settle_days(entry: &Section<'_>) -> Result<i64, ConfigError> {
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

/// The day of a key; none when it is absent.
///
/// # Errors
/// It is no date.
pub(super) fn date(section: &Section<'_>, key: &str) -> Result<Option<i64>, ConfigError> {
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
    use serde_json::{Value, json};

    use super::*;
    use crate::wall_clock::iso;

    fn read(entry: Value) -> Result<Ledger, String> {
        Section::of(&entry, "mv[0]")
            .and_then(|section| {
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
        for (entry, told) in [
            (json!({"adjustments": "x"}), "mv[0].adjustments"),
            (json!({"ecm_dates": "2024-01-01"}), "mv[0].ecm_dates"),
            (json!({"settle_days": -1}), "mv[0].settle_days"),
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
