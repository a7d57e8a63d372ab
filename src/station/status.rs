//! Status of a value: the eight condition bits and the facets beside them.

use std::fmt;
use std::ops::BitOr;
use std::str::FromStr;

use thiserror::Error;

use super::facets::{FacetValue, Facets, FacetsError};
use super::priority::ActiveLevel;

/// Condition bits of a value (Station web specification §5.3).
///
/// ```
/// use niagara_bridge::station::status::StatusBits;
/// let bits = StatusBits::DOWN | StatusBits::STALE;
/// assert_eq!(bits.to_string(), "{down,stale}");
/// assert!(!bits.is_valid());
/// assert!((StatusBits::ALARM | StatusBits::UNACKED_ALARM).is_valid());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct StatusBits(u32);

const NAMES: [(StatusBits, &str); 8] = [
    (StatusBits::DISABLED, "disabled"),
    (StatusBits::FAULT, "fault"),
    (StatusBits::DOWN, "down"),
    (StatusBits::ALARM, "alarm"),
    (StatusBits::STALE, "stale"),
    (StatusBits::OVERRIDDEN, "overridden"),
    (StatusBits::NULL, "null"),
    (StatusBits::UNACKED_ALARM, "unackedAlarm"),
];

impl StatusBits {
    /// No condition set.
    pub const OK: Self = Self(0);
    /// Taken out of service by a person.
    pub const DISABLED: Self = Self(0x01);
    /// Configuration or device error.
    pub const FAULT: Self = Self(0x02);
    /// Communication lost.
    pub const DOWN: Self = Self(0x04);
    /// In alarm.
    pub const ALARM: Self = Self(0x08);
    /// Not refreshed in time.
    pub const STALE: Self = Self(0x10);
    /// Commanded by a person at level 1 or 8.
    pub const OVERRIDDEN: Self = Self(0x20);
    /// Carries no value.
    pub const NULL: Self = Self(0x40);
    /// An alarm nobody acknowledged.
    pub const UNACKED_ALARM: Self = Self(0x80);
    /// Bits that make a value unusable (Station web specification §5.3).
    pub const INVALID: Self = Self(0x57);

    /// Bits as sent by a station.
    pub const fn new(bits: u32) -> Self {
        Self(bits)
    }

    /// The raw number.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// No bit set.
    pub const fn is_ok(self) -> bool {
        self.0 == 0
    }

    /// The value may be used for calculations.
    pub const fn is_valid(self) -> bool {
        self.0 & Self::INVALID.0 == 0
    }

    /// True when all of `other`'s bits are set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Names of the set bits in the order of the specification; empty for ok.
    pub fn names(self) -> Vec<&'static str> {
        NAMES
            .iter()
            .filter(|(bit, _)| self.contains(*bit))
            .map(|(_, name)| *name)
            .collect()
    }

    /// Reads the lower-case hexadecimal form.
    pub fn from_hex(text: &str) -> Result<Self, StatusError> {
        let malformed = || StatusError::Bits {
            text: text.to_owned(),
        };
        if text.is_empty() || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(malformed());
        }
        u32::from_str_radix(text, 16)
            .map(Self)
            .map_err(|_| malformed())
    }
}

impl BitOr for StatusBits {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Display for StatusBits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.names();
        if names.is_empty() {
            f.write_str("{ok}")
        } else {
            write!(f, "{{{}}}", names.join(","))
        }
    }
}

/// A status list as people see it: known bits, and words of a language the bridge does not know.
///
/// ```
/// use niagara_bridge::station::status::{StatusBits, StatusWords};
/// let words = StatusWords::parse("{down, éventé}");
/// assert_eq!(words.bits, StatusBits::DOWN);
/// assert_eq!(words.unknown, ["éventé"]);
/// assert!(!words.is_valid());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StatusWords {
    /// Conditions with an English name.
    pub bits: StatusBits,
    /// Words without one; their presence makes the value uncertain, never ok.
    pub unknown: Vec<String>,
}

impl StatusWords {
    /// Reads a list such as `{alarm,unackedAlarm}`; the braces may be missing.
    pub fn parse(text: &str) -> Self {
        let inner = text.trim();
        let inner = inner.strip_prefix('{').unwrap_or(inner);
        let inner = inner.strip_suffix('}').unwrap_or(inner);
        let mut words = Self::default();
        for word in inner.split(',').map(str::trim).filter(|w| !w.is_empty()) {
            if word.eq_ignore_ascii_case("ok") {
                continue;
            }
            match NAMES
                .iter()
                .find(|(_, name)| name.eq_ignore_ascii_case(word))
            {
                Some((bit, _)) => words.bits = words.bits | *bit,
                None => words.unknown.push(word.to_owned()),
            }
        }
        words
    }

    /// Every word is known and none makes the value unusable.
    pub fn is_valid(&self) -> bool {
        self.unknown.is_empty() && self.bits.is_valid()
    }
}

/// Why a text is not an encoded status.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StatusError {
    /// Not a hexadecimal number.
    #[error(
        "{text:?} is not a status; expected hexadecimal bits such as 0, 40 or 20;activeLevel=e:8@control:PriorityLevel"
    )]
    Bits { text: String },
    /// The part behind the semicolon.
    #[error("the facets of a status cannot be read: {0}")]
    Facets(#[from] FacetsError),
}

/// Status bits with their facets; the active priority level travels in the facets.
///
/// ```
/// use niagara_bridge::station::status::{Status, StatusBits};
/// let status: Status = "20;activeLevel=e:8@control:PriorityLevel".parse().unwrap();
/// assert_eq!(status.bits(), StatusBits::OVERRIDDEN);
/// assert_eq!(status.active_level().unwrap().to_string(), "8");
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Status {
    bits: StatusBits,
    facets: Facets,
}

impl Status {
    /// A status without facets.
    pub fn new(bits: StatusBits) -> Self {
        Self {
            bits,
            facets: Facets::default(),
        }
    }

    /// A status with facets.
    pub fn with_facets(bits: StatusBits, facets: Facets) -> Self {
        Self { bits, facets }
    }

    /// The condition bits.
    pub fn bits(&self) -> StatusBits {
        self.bits
    }

    /// The facets behind the bits.
    pub fn facets(&self) -> &Facets {
        &self.facets
    }

    /// No condition set.
    pub fn is_ok(&self) -> bool {
        self.bits.is_ok()
    }

    /// The value may be used for calculations.
    pub fn is_valid(&self) -> bool {
        self.bits.is_valid()
    }

    /// Which level of the priority array the value comes from; none for read-only points.
    pub fn active_level(&self) -> Option<ActiveLevel> {
        match self.facets.get("activeLevel")? {
            FacetValue::DynamicEnum(level) => ActiveLevel::from_ordinal(level.ordinal),
            FacetValue::Integer(ordinal) => ActiveLevel::from_ordinal(*ordinal),
            _ => None,
        }
    }
}

impl From<StatusBits> for Status {
    fn from(bits: StatusBits) -> Self {
        Self::new(bits)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.bits.0)?;
        if !self.facets.is_empty() {
            write!(f, ";{}", self.facets)?;
        }
        Ok(())
    }
}

impl FromStr for Status {
    type Err = StatusError;

    fn from_str(text: &str) -> Result<Self, StatusError> {
        let text = text.trim();
        let (bits, facets) = text.split_once(';').unwrap_or((text, ""));
        Ok(Self {
            bits: StatusBits::from_hex(bits)?,
            facets: facets.parse()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn status_arithmetic_of_the_specification_holds() {
        let alarm: Status = "88".parse().unwrap();
        assert_eq!(alarm.bits().to_string(), "{alarm,unackedAlarm}");
        assert!(alarm.is_valid());
        let null: Status = "60".parse().unwrap();
        assert_eq!(null.bits().to_string(), "{overridden,null}");
        assert!(!null.is_valid());
        assert_eq!(
            "14".parse::<Status>().unwrap().bits().to_string(),
            "{down,stale}"
        );
        assert_eq!("0".parse::<Status>().unwrap().bits().to_string(), "{ok}");
    }

    #[test]
    fn the_fallback_level_is_told_from_level_sixteen() {
        let at = |text: &str| {
            text.parse::<Status>()
                .unwrap()
                .active_level()
                .map(|l| l.to_string())
        };
        assert_eq!(
            at("0;activeLevel=e:17@control:PriorityLevel").as_deref(),
            Some("def")
        );
        assert_eq!(
            at("0;activeLevel=e:16@control:PriorityLevel").as_deref(),
            Some("16")
        );
        assert_eq!(at("0;activeLevel=e:0@control:PriorityLevel"), None);
        assert_eq!(at("0"), None);
    }

    proptest! {
        #[test]
        fn every_set_of_bits_survives_both_forms(bits in 0u32..=0xff, level in proptest::option::of(1i32..=17)) {
            let facets = level.map(|n| format!("activeLevel=e:{n}@control:PriorityLevel")).unwrap_or_default();
            let status = Status::with_facets(StatusBits::new(bits), facets.parse().unwrap());
            prop_assert_eq!(&status.to_string().parse::<Status>().unwrap(), &status);
            prop_assert_eq!(StatusWords::parse(&status.bits().to_string()).bits, status.bits());
        }

        #[test]
        fn no_text_makes_the_parsers_panic(text in "\\PC*") {
            let _ = (text.parse::<Status>(), StatusWords::parse(&text));
        }
    }
}
