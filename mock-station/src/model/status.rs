//! Status bits with their facets (Station web specification §5.3).

use super::facets::Facets;
use super::value::Value;
use std::sync::Arc;

/// The quality of a value: status bits and, on points, facets such as `activeLevel`.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Status {
    pub bits: u32,
    pub facets: Option<Arc<Facets>>,
}

/// Bit and name in the station's order of listing.
pub const STATUS_NAMES: [(u32, &str); 8] = [
    (Status::DISABLED, "disabled"),
    (Status::FAULT, "fault"),
    (Status::DOWN, "down"),
    (Status::ALARM, "alarm"),
    (Status::STALE, "stale"),
    (Status::OVERRIDDEN, "overridden"),
    (Status::NULL, "null"),
    (Status::UNACKED_ALARM, "unackedAlarm"),
];

impl Status {
    pub const DISABLED: u32 = 0x1;
    pub const FAULT: u32 = 0x2;
    pub const DOWN: u32 = 0x4;
    pub const ALARM: u32 = 0x8;
    pub const STALE: u32 = 0x10;
    pub const OVERRIDDEN: u32 = 0x20;
    pub const NULL: u32 = 0x40;
    pub const UNACKED_ALARM: u32 = 0x80;
    const INVALID: u32 = 0x57;

    /// Status without facets.
    pub fn from_bits(bits: u32) -> Self {
        Self { bits, facets: None }
    }

    /// `{ok}`.
    pub fn ok() -> Self {
        Self::default()
    }

    /// `{null}`.
    pub fn null() -> Self {
        Self::from_bits(Self::NULL)
    }

    /// Whether the value may be used: none of disabled, fault, down, stale, null.
    pub fn is_valid(&self) -> bool {
        self.bits & Self::INVALID == 0
    }

    /// Whether any of `bits` is set.
    pub fn has(&self, bits: u32) -> bool {
        self.bits & bits != 0
    }

    /// The active priority level from the facets: 1 to 16, 17 for the fallback; `None` on read-only points.
    pub fn active_level(&self) -> Option<i32> {
        match self.facets.as_deref()?.get("activeLevel")? {
            Value::DynamicEnum(level) => Some(level.ordinal),
            _ => None,
        }
    }

    /// English names of the set bits; `["ok"]` for none.
    pub fn names(&self) -> Vec<&'static str> {
        let names: Vec<&'static str> = STATUS_NAMES
            .iter()
            .filter(|(bit, _)| self.bits & bit != 0)
            .map(|(_, name)| *name)
            .collect();
        if names.is_empty() { vec!["ok"] } else { names }
    }

    /// Lower-case hex bits and, after `;`, the facets.
    pub fn encode(&self) -> String {
        match self.facets.as_deref().filter(|facets| !facets.is_empty()) {
            Some(facets) => format!("{:x};{}", self.bits, facets.encode()),
            None => format!("{:x}", self.bits),
        }
    }

    /// Reads [`Status::encode`]; `None` if bits or facets do not parse.
    pub fn decode(text: &str) -> Option<Self> {
        let (bits, facets) = match text.split_once(';') {
            Some((bits, facets)) => (bits, Some(Arc::new(Facets::decode(facets)?))),
            None => (text, None),
        };
        Some(Self {
            bits: u32::from_str_radix(bits, 16).ok()?,
            facets: facets.filter(|f| !f.is_empty()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specification_examples_hold() {
        let alarm = Status::decode("88").unwrap();
        assert!(alarm.is_valid());
        assert_eq!(alarm.names(), ["alarm", "unackedAlarm"]);
        assert!(!Status::decode("60").unwrap().is_valid());
        let overridden = Status::decode("20;activeLevel=e:8@control:PriorityLevel").unwrap();
        assert_eq!(overridden.active_level(), Some(8));
        assert_eq!(
            overridden.encode(),
            "20;activeLevel=e:8@control:PriorityLevel"
        );
        assert_eq!(Status::ok().names(), ["ok"]);
        assert_eq!(Status::decode("zz"), None);
    }
}
