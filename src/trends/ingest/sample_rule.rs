//! Which records of a history are samples, and what number each is (Store §10, §11).

use std::collections::BTreeMap;

use crate::knowledge::camber_roles::CamberRole;
use crate::station::facade::{HistorySample, SampleKind, SampleValue};
use crate::station::status::StatusBits;
use crate::trends::states::state_of_word;
use crate::trends::units::Conversion;

/// Why a record is not stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropReason {
    Disabled,
    Fault,
    Down,
    Stale,
    Null,
    /// An operator took it out of evaluations.
    Hidden,
    /// The record holds no value.
    Missing,
    NotANumber,
    /// A text or state that stands for no number.
    Unreadable,
    /// A number under a role of states that is none: its history is refused.
    NoState,
    /// Its time lies outside of what a store can hold.
    OutOfTime,
}

impl DropReason {
    /// The word in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Fault => "fault",
            Self::Down => "down",
            Self::Stale => "stale",
            Self::Null => "null",
            Self::Hidden => "hidden",
            Self::Missing => "missing",
            Self::NotANumber => "notANumber",
            Self::Unreadable => "unreadable",
            Self::NoState => "noState",
            Self::OutOfTime => "outOfTime",
        }
    }

    /// Whether the station said that nothing is known of the point from this record on. Other records are left out as if
    /// they had not been written.
    pub fn ends_state(self) -> bool {
        BAD_STATUS.iter().any(|(_, reason)| *reason == self)
    }
}

/// Bits that make a value unusable, the most telling first.
const BAD_STATUS: [(StatusBits, DropReason); 5] = [
    (StatusBits::DISABLED, DropReason::Disabled),
    (StatusBits::DOWN, DropReason::Down),
    (StatusBits::FAULT, DropReason::Fault),
    (StatusBits::STALE, DropReason::Stale),
    (StatusBits::NULL, DropReason::Null),
];

/// What became of the records of one or more histories.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SampleCounts {
    pub kept: u64,
    pub dropped: BTreeMap<DropReason, u64>,
    /// Kept records that were written after later ones.
    pub out_of_order: u64,
    /// Kept records after which a clock showed the same hour again.
    pub repeated_hour: u64,
    /// Kept records of which the interface told no status.
    pub without_status: u64,
}

impl SampleCounts {
    pub fn drop(&mut self, reason: DropReason) {
        *self.dropped.entry(reason).or_default() += 1;
    }

    /// All records that were not stored.
    pub fn dropped_in_all(&self) -> u64 {
        self.dropped.values().sum()
    }

    pub fn add(&mut self, other: &Self) {
        self.kept += other.kept;
        for (reason, count) in &other.dropped {
            *self.dropped.entry(*reason).or_default() += count;
        }
        self.out_of_order += other.out_of_order;
        self.repeated_hour += other.repeated_hour;
        self.without_status += other.without_status;
    }
}

/// How records of one point become samples of a role.
#[derive(Debug, Clone, PartialEq)]
pub struct SampleRule {
    form: Form,
    conversion: Conversion,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A head count tells the state too: nobody or somebody.
    State {
        may_count: bool,
    },
    Count,
    Quantity,
}

/// A history whose kind of records cannot be samples of a role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the history records {kind} values, and {role} is a quantity in {unit}; map a numeric point to the role"
)]
pub struct KindProblem {
    kind: &'static str,
    role: String,
    unit: String,
}

impl SampleRule {
    /// The rule of a role with the conversion of its unit.
    pub fn new(role: &CamberRole, conversion: Conversion) -> Self {
        let form = match role.unit.as_str() {
            // "A head count is also accepted, non-zero meaning occupied" (meaning of the role).
            _ if role.status => Form::State {
                may_count: role.role == "occupancy",
            },
            "count" | "stage" => Form::Count,
            _ => Form::Quantity,
        };
        Self { form, conversion }
    }

    /// Refuses a kind of history that can never give a sample.
    ///
    /// # Errors
    /// States and texts are no quantities.
    pub fn check_kind(role: &CamberRole, kind: SampleKind) -> Result<(), KindProblem> {
        let fits = match kind {
            SampleKind::Numeric => true,
            SampleKind::Boolean | SampleKind::Enum => {
                role.status || matches!(role.unit.as_str(), "count" | "stage")
            }
            SampleKind::Text => role.status,
        };
        if fits {
            return Ok(());
        }
        Err(KindProblem {
            kind: kind.name(),
            role: role.role.clone(),
            unit: role.unit.clone(),
        })
    }

    /// The number of a record, in the unit of the role.
    ///
    /// # Errors
    /// The record is no sample.
    pub fn number(&self, sample: &HistorySample) -> Result<f64, DropReason> {
        if let Some(status) = sample.status
            && let Some((_, reason)) = BAD_STATUS.iter().find(|(bit, _)| status.contains(*bit))
        {
            return Err(*reason);
        }
        if sample.is_hidden() {
            return Err(DropReason::Hidden);
        }
        let number = self.raw(&sample.value)?;
        if number.is_nan() {
            return Err(DropReason::NotANumber);
        }
        Ok(self.conversion.apply(number))
    }

    fn raw(&self, value: &SampleValue) -> Result<f64, DropReason> {
        let on_off = |on: bool| f64::from(u8::from(on));
        match (self.form, value) {
            (_, SampleValue::Missing) => Err(DropReason::Missing),
            (Form::State { may_count }, SampleValue::Number(number)) => {
                let is_state = [0.0, 1.0].contains(number);
                let is_count = may_count && *number >= 0.0 && number.fract() == 0.0;
                match is_state || is_count || number.is_nan() {
                    true => Ok(*number),
                    false => Err(DropReason::NoState),
                }
            }
            (_, SampleValue::Number(number)) => Ok(*number),
            (Form::State { .. } | Form::Count, SampleValue::Boolean(on)) => Ok(on_off(*on)),
            (Form::State { .. }, SampleValue::Enum { tag: word, .. } | SampleValue::Text(word)) => {
                state_of_word(word)
                    .map(on_off)
                    .ok_or(DropReason::Unreadable)
            }
            (
                Form::Count,
                SampleValue::Enum {
                    ordinal: Some(number),
                    ..
                },
            ) => Ok(f64::from(*number)),
            (Form::Count | Form::Quantity, _) => Err(DropReason::Unreadable),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::camber_roles::camber_role_named;
    use crate::trends::units::file_unit;

    fn rule(slug: &str, unit: &str) -> SampleRule {
        let role = camber_role_named(slug).expect("a role");
        SampleRule::new(role, file_unit(role, unit).expect("a unit"))
    }

    fn sample(value: SampleValue) -> HistorySample {
        HistorySample {
            timestamp: "2026-03-01T12:00:00-05:00".parse().expect("a time"),
            value,
            status: Some(StatusBits::OK),
            trend_flags: Vec::new(),
        }
    }

    fn choice(tag: &str, ordinal: i32) -> SampleValue {
        SampleValue::Enum {
            tag: tag.into(),
            ordinal: Some(ordinal),
        }
    }

    #[test]
    fn values_become_numbers_in_the_unit_of_the_role() {
        let number = |rule: &SampleRule, value| rule.number(&sample(value));
        let temperature = rule("supply_air_temp", "degC");
        assert_eq!(number(&temperature, SampleValue::Number(21.0)), Ok(69.8));
        assert_eq!(
            number(&temperature, SampleValue::Number(f64::INFINITY)),
            Ok(f64::INFINITY)
        );
        assert_eq!(
            number(&temperature, SampleValue::Number(f64::NAN)),
            Err(DropReason::NotANumber)
        );
        assert_eq!(
            number(&temperature, SampleValue::Boolean(true)),
            Err(DropReason::Unreadable)
        );
        assert_eq!(
            number(&temperature, SampleValue::Missing),
            Err(DropReason::Missing)
        );
        let occupancy = rule("occupancy", "");
        // In Niagara's occupancy enum "occupied" is 0: the words decide, not the ordinals.
        assert_eq!(number(&occupancy, choice("occupied", 0)), Ok(1.0));
        assert_eq!(number(&occupancy, choice("unoccupied", 1)), Ok(0.0));
        assert_eq!(
            number(&occupancy, choice("purple", 3)),
            Err(DropReason::Unreadable)
        );
        assert_eq!(number(&occupancy, SampleValue::Boolean(true)), Ok(1.0));
        // So many people are there.
        assert_eq!(number(&occupancy, SampleValue::Number(55.0)), Ok(1.0));
        let fan = rule("supply_fan_status", "");
        assert_eq!(number(&fan, SampleValue::Number(1.0)), Ok(1.0));
        for (rule, speed) in [
            (&fan, 55.0),
            (&fan, 0.5),
            (&fan, 2.0),
            (&fan, -1.0),
            (&occupancy, 0.5),
        ] {
            let found = number(rule, SampleValue::Number(speed));
            assert_eq!(found, Err(DropReason::NoState), "{speed}");
        }
        assert_eq!(
            number(&rule("heat_stage", ""), choice("stage2", 2)),
            Ok(2.0)
        );
    }

    #[test]
    fn records_with_bad_status_or_taken_out_by_an_operator_are_no_samples() {
        let rule = rule("oat", "degF");
        let mut record = sample(SampleValue::Number(50.0));
        for (status, expected) in [
            (
                Some(StatusBits::ALARM | StatusBits::UNACKED_ALARM),
                Ok(50.0),
            ),
            (Some(StatusBits::OVERRIDDEN), Ok(50.0)),
            (None, Ok(50.0)),
            (
                Some(StatusBits::DOWN | StatusBits::STALE),
                Err(DropReason::Down),
            ),
            (Some(StatusBits::NULL), Err(DropReason::Null)),
            (Some(StatusBits::DISABLED), Err(DropReason::Disabled)),
        ] {
            record.status = status;
            assert_eq!(rule.number(&record), expected, "{status:?}");
        }
        record.status = None;
        record.trend_flags = vec!["start".into(), "outOfOrder".into()];
        assert_eq!(rule.number(&record), Ok(50.0));
        record.trend_flags.push("hidden".into());
        assert_eq!(rule.number(&record), Err(DropReason::Hidden));
    }

    #[test]
    fn a_quantity_cannot_come_from_states() {
        let check = |slug, kind| {
            SampleRule::check_kind(camber_role_named(slug).expect("a role"), kind).is_ok()
        };
        assert!(check("oat", SampleKind::Numeric) && !check("oat", SampleKind::Boolean));
        assert!(check("occupancy", SampleKind::Enum) && check("occupancy", SampleKind::Text));
        assert!(
            check("compressor_stage", SampleKind::Enum)
                && !check("compressor_stage", SampleKind::Text)
        );
    }
}
