//! Priority levels and the priority array of a writable point.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::value::StatusValue;

/// A command priority from 1 (highest) to 16.
///
/// ```
/// use niagara_bridge::station::priority::Priority;
/// assert_eq!(Priority::new(8).unwrap().slot(), "in8");
/// assert!(Priority::new(17).is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Priority(u8);

/// A number outside 1 to 16.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{given} is not a priority; priorities run from 1 (highest) to 16")]
pub struct PriorityError {
    given: String,
}

impl Priority {
    /// Emergency level, commanded by the emergency actions.
    pub const EMERGENCY: Self = Self(1);
    /// Level of an operator's manual override.
    pub const MANUAL: Self = Self(8);

    /// Checks the range.
    pub fn new(level: i64) -> Result<Self, PriorityError> {
        u8::try_from(level)
            .ok()
            .filter(|level| (1..=16).contains(level))
            .map(Self)
            .ok_or_else(|| PriorityError {
                given: level.to_string(),
            })
    }

    /// The number, 1 to 16.
    pub fn level(self) -> u8 {
        self.0
    }

    /// Name of the input slot, `in1` to `in16`.
    pub fn slot(self) -> String {
        format!("in{}", self.0)
    }

    /// All levels from the highest down.
    pub fn all() -> impl Iterator<Item = Self> {
        (1..=16).map(Self)
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Priority {
    type Err = PriorityError;

    fn from_str(text: &str) -> Result<Self, PriorityError> {
        text.trim()
            .parse()
            .ok()
            .and_then(|level| Self::new(level).ok())
            .ok_or_else(|| PriorityError {
                given: text.to_owned(),
            })
    }
}

/// Where the present output of a writable point comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ActiveLevel {
    /// One of the sixteen inputs.
    Level(Priority),
    /// The fallback value, shown as `def`.
    Fallback,
}

impl ActiveLevel {
    /// Reads the ordinal of `control:PriorityLevel`: 1 to 16, 17 = fallback (Station web specification §5.6).
    pub fn from_ordinal(ordinal: i32) -> Option<Self> {
        match ordinal {
            17 => Some(Self::Fallback),
            level => Priority::new(level.into()).ok().map(Self::Level),
        }
    }

    /// The level's number; none for the fallback.
    pub fn priority(self) -> Option<Priority> {
        match self {
            Self::Level(priority) => Some(priority),
            Self::Fallback => None,
        }
    }
}

impl fmt::Display for ActiveLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Level(priority) => priority.fmt(f),
            Self::Fallback => f.write_str("def"),
        }
    }
}

impl FromStr for ActiveLevel {
    type Err = PriorityError;

    fn from_str(text: &str) -> Result<Self, PriorityError> {
        match text.trim() {
            "def" => Ok(Self::Fallback),
            level => level.parse().map(Self::Level),
        }
    }
}

/// The sixteen inputs and the fallback of a writable point.
///
/// ```
/// use niagara_bridge::station::priority::{Priority, PriorityArray};
/// use niagara_bridge::station::value::{StatusValue, Value};
/// let mut array = PriorityArray::default();
/// array.set(Priority::MANUAL, StatusValue::ok(Value::Double(55.0)));
/// assert_eq!(array.winner().unwrap().0.to_string(), "8");
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PriorityArray {
    inputs: [StatusValue; 16],
    fallback: StatusValue,
}

impl PriorityArray {
    /// The input at a level; a null status means nobody commands there.
    pub fn get(&self, priority: Priority) -> &StatusValue {
        self.inputs
            .get(usize::from(priority.level()) - 1)
            .unwrap_or(&self.fallback)
    }

    /// Records the input at a level.
    pub fn set(&mut self, priority: Priority, value: StatusValue) {
        if let Some(input) = self.inputs.get_mut(usize::from(priority.level()) - 1) {
            *input = value;
        }
    }

    /// The value used when no input is valid.
    pub fn fallback(&self) -> &StatusValue {
        &self.fallback
    }

    /// Records the fallback.
    pub fn set_fallback(&mut self, value: StatusValue) {
        self.fallback = value;
    }

    /// Levels with their inputs from the highest down.
    pub fn iter(&self) -> impl Iterator<Item = (Priority, &StatusValue)> {
        Priority::all().zip(self.inputs.iter())
    }

    /// The input that commands the point: the highest level with a valid value, else a valid fallback
    /// (Station web specification §8, model rules).
    pub fn winner(&self) -> Option<(ActiveLevel, &StatusValue)> {
        self.iter()
            .find(|(_, input)| input.status.is_valid())
            .map(|(priority, input)| (ActiveLevel::Level(priority), input))
            .or_else(|| {
                self.fallback
                    .status
                    .is_valid()
                    .then_some((ActiveLevel::Fallback, &self.fallback))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::station::status::{Status, StatusBits};
    use crate::station::value::Value;

    #[test]
    fn the_highest_valid_input_wins_and_a_faulty_one_is_passed_over() {
        let mut array = PriorityArray::default();
        assert_eq!(array.winner(), None);
        array.set_fallback(StatusValue::ok(Value::Double(10.0)));
        assert_eq!(array.winner().unwrap().0, ActiveLevel::Fallback);
        array.set(
            Priority::new(10).unwrap(),
            StatusValue::ok(Value::Double(30.0)),
        );
        let faulty = StatusValue {
            value: Value::Double(99.0),
            status: Status::new(StatusBits::FAULT),
        };
        array.set(Priority::EMERGENCY, faulty);
        let (level, input) = array.winner().unwrap();
        assert_eq!(
            (level.to_string(), &input.value),
            ("10".into(), &Value::Double(30.0))
        );
    }

    #[test]
    fn every_level_survives_its_text_form() {
        for level in (1..=17).filter_map(ActiveLevel::from_ordinal) {
            assert_eq!(level.to_string().parse(), Ok(level));
        }
        assert!("0".parse::<Priority>().is_err());
        assert!("def".parse::<Priority>().is_err());
    }
}
