//! What changed at a site besides the measures: a ledger of adjustments that people recorded (M&V §9).

use crate::wall_clock::{DAY, date};

/// What an entry does to the adjusted baseline.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Energy that was reckoned or sub-metered, with its standard error.
    Amount { amount: f64, error: f64 },
    /// A static factor changed, and so did the share of the energy that follows it.
    Proportional {
        /// New value of the factor over its old one.
        ratio: f64,
        ratio_error: f64,
        /// Share of the energy that follows the factor, 0 to 1.
        share: f64,
        share_error: f64,
    },
    /// The meter itself tells the energy of the event, in a fit with an indicator of its days.
    Indicator,
    /// The days of the event do not count.
    Exclude,
}

impl Change {
    /// Whether it is taken from the meter whose saving it adjusts.
    pub const fn is_metered(&self) -> bool {
        matches!(self, Self::Indicator | Self::Exclude)
    }

    const fn word(&self) -> &'static str {
        match self {
            Self::Amount { .. } => "amount",
            Self::Proportional { .. } => "proportional",
            Self::Indicator => "indicator",
            Self::Exclude => "exclude",
        }
    }
}

/// One entry.
#[derive(Debug, Clone, PartialEq)]
pub struct LedgerEntry {
    pub change: Change,
    /// Midnight of the first day, in nanoseconds of the site's wall clock.
    pub start: i64,
    /// Midnight after the last day; none for a change that lasts.
    pub end: Option<i64>,
    pub reason: String,
    /// The static factor, where it is one.
    pub factor: Option<String>,
    pub has_evidence: bool,
    pub is_approved: bool,
    /// Somebody noticed it, but nobody accepted it yet.
    pub is_proposed: bool,
}

impl LedgerEntry {
    /// Whether a day belongs to the event.
    pub fn covers(&self, day: i64) -> bool {
        day >= self.start && self.end.is_none_or(|end| day < end)
    }
}

/// The entries of a meter, and what is asked of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ledger {
    pub entries: Vec<LedgerEntry>,
    /// Midnights of the days on which measures were finished.
    pub ecm_dates: Vec<i64>,
    /// Days around a measure within which the meter cannot tell an event from it.
    pub settle_days: i64,
    /// Amounts below this are not material.
    pub materiality: f64,
    /// Whether each entry needs evidence and approval: SEP counts.
    pub needs_approval: bool,
}

/// Why no entry of a ledger was applied.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LedgerRefusal {
    #[error(
        "ledger entry {number} ({reason:?}) is proposed only; accept it before it counts, what was noticed adjusts nothing by itself"
    )]
    Proposed { number: usize, reason: String },
    #[error(
        "ledger entry {number} ({reason:?}) needs evidence and approved_by, because the rules of SEP count"
    )]
    NotApproved { number: usize, reason: String },
    #[error(
        "ledger entry {number} ({reason:?}) takes its {kind} from the meter and is dated {day}, {distance} day(s) from the measure of {ecm}; \
         within {settle} days the meter cannot tell them apart, so reckon or sub-meter the amount"
    )]
    NearMeasure {
        number: usize,
        reason: String,
        kind: &'static str,
        day: String,
        ecm: String,
        distance: i64,
        settle: i64,
    },
    #[error(
        "an indicator needs days inside and outside of its event in the period that it is fitted on; there are {inside} inside and {outside} outside"
    )]
    TooFewRows { inside: usize, outside: usize },
    #[error("a saving may have one indicator on its baseline period; fit several events together")]
    TwoOfBaseline,
    #[error("no day is left that no entry excludes")]
    NothingLeft,
    #[error("the model with an indicator could not be fitted")]
    NotFitted,
    #[error("the saving has no band that could be adjusted")]
    NoBand,
    #[error(
        "a {0} entry takes dated rows away, and rows of method {1} have no dates; leave these days out of the periods instead"
    )]
    NoDates(&'static str, &'static str),
    #[error(
        "an indicator before the reporting period corrects a projected baseline; that of a backcast is measured, so reckon or \
         sub-meter the amount"
    )]
    MeasuredBaseline,
    #[error(
        "ledger entry {number} ({reason:?}) is dated in the intermediate period {period}, whose model both links of the chain \
         share; choose another intermediate period"
    )]
    Intermediate {
        number: usize,
        reason: String,
        period: String,
    },
    #[error(
        "an entry with method {0} changes the rows of a link, and so the chain itself; leave its days out of the periods, or \
         reckon the amount"
    )]
    InLink(&'static str),
}

impl Ledger {
    /// Whether no entry adjusts anything.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Checks what needs no data.
    ///
    /// # Errors
    /// An entry is only proposed, not approved, or too near a measure.
    pub fn check(&self) -> Result<(), LedgerRefusal> {
        for (number, entry) in self.entries.iter().enumerate() {
            let reason = || entry.reason.clone();
            if entry.is_proposed {
                return Err(LedgerRefusal::Proposed {
                    number,
                    reason: reason(),
                });
            }
            if self.needs_approval && !(entry.has_evidence && entry.is_approved) {
                return Err(LedgerRefusal::NotApproved {
                    number,
                    reason: reason(),
                });
            }
            if let Some((day, ecm)) = self.near_measure(entry) {
                return Err(LedgerRefusal::NearMeasure {
                    number,
                    reason: reason(),
                    kind: entry.change.word(),
                    day: date(day),
                    ecm: date(ecm),
                    distance: days_between(day, ecm),
                    settle: self.settle_days,
                });
            }
        }
        Ok(())
    }

    fn near_measure(&self, entry: &LedgerEntry) -> Option<(i64, i64)> {
        if !entry.change.is_metered() {
            return None;
        }
        let bounds = [Some(entry.start), entry.end].into_iter().flatten();
        bounds
            .flat_map(|day| self.ecm_dates.iter().map(move |ecm| (day, *ecm)))
            .find(|(day, ecm)| days_between(*day, *ecm) <= self.settle_days)
    }
}

/// Whole days between two stamps.
pub(super) fn days_between(one: i64, other: i64) -> i64 {
    (one.div_euclid(DAY) - other.div_euclid(DAY)).abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mv::testing::since_2023;

    fn entry(change: Change) -> LedgerEntry {
        LedgerEntry {
            change,
            start: since_2023(460),
            end: Some(since_2023(500)),
            reason: "a second shift".to_owned(),
            factor: None,
            has_evidence: true,
            is_approved: false,
            is_proposed: false,
        }
    }

    fn ledger(entry: LedgerEntry, ecm: usize) -> Ledger {
        Ledger {
            entries: vec![entry],
            ecm_dates: vec![since_2023(ecm)],
            settle_days: 14,
            ..Ledger::default()
        }
    }

    #[test]
    fn the_meter_does_not_tell_an_event_from_a_measure_two_weeks_away() {
        let amount = Change::Amount {
            amount: 1.0,
            error: 0.0,
        };
        for (change, ecm, refused) in [
            (Change::Indicator, 446, true),
            (Change::Indicator, 445, false),
            (Change::Exclude, 514, true),
            (Change::Exclude, 515, false),
            (amount, 460, false),
        ] {
            let checked = ledger(entry(change), ecm).check();
            assert_eq!(checked.is_err(), refused, "{checked:?}");
        }
        let told = ledger(entry(Change::Indicator), 465).check().unwrap_err();
        assert!(
            told.to_string()
                .contains("dated 2024-04-05, 5 day(s) from the measure of 2024-04-10")
        );
    }

    #[test]
    fn what_is_proposed_or_not_approved_does_not_count() {
        let mut proposed = entry(Change::Indicator);
        proposed.is_proposed = true;
        assert!(matches!(
            ledger(proposed, 0).check(),
            Err(LedgerRefusal::Proposed { .. })
        ));
        let mut strict = ledger(entry(Change::Indicator), 0);
        strict.needs_approval = true;
        assert!(matches!(
            strict.check(),
            Err(LedgerRefusal::NotApproved { .. })
        ));
        strict.entries[0].is_approved = true;
        assert_eq!(strict.check(), Ok(()));
    }

    #[test]
    fn an_event_ends_before_its_end() {
        let event = entry(Change::Exclude);
        let covered = [459, 460, 499, 500].map(|day| event.covers(since_2023(day)));
        assert_eq!(covered, [false, true, true, false]);
    }
}
