//! What the logged-in user may do with a component, and the flags of a slot.

use std::fmt;

/// Permissions on one component (Station web specification §5.5).
///
/// ```
/// use niagara_bridge::station::permissions::Permissions;
/// let permissions = Permissions::parse("irwR");
/// assert!(permissions.contains(Permissions::OPERATOR_WRITE));
/// assert!(!permissions.contains(Permissions::ADMIN_WRITE));
/// assert_eq!(permissions.to_string(), "irwR");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Permissions(u8);

/// Letters in the order in which a station writes them.
const PERMISSION_LETTERS: [(char, u8); 6] = [
    ('i', 0x04),
    ('r', 0x01),
    ('w', 0x02),
    ('I', 0x40),
    ('R', 0x10),
    ('W', 0x20),
];

impl Permissions {
    /// Read operator slots.
    pub const OPERATOR_READ: Self = Self(0x01);
    /// Write operator slots.
    pub const OPERATOR_WRITE: Self = Self(0x02);
    /// Invoke operator actions.
    pub const OPERATOR_INVOKE: Self = Self(0x04);
    /// Read all slots.
    pub const ADMIN_READ: Self = Self(0x10);
    /// Write all slots.
    pub const ADMIN_WRITE: Self = Self(0x20);
    /// Invoke all actions.
    pub const ADMIN_INVOKE: Self = Self(0x40);

    /// Permissions from their bits.
    pub const fn new(bits: u8) -> Self {
        Self(bits)
    }

    /// Reads the letters in any order; others are ignored, as a newer station may add some.
    pub fn parse(letters: &str) -> Self {
        let bit = |letter| {
            PERMISSION_LETTERS
                .iter()
                .find(|(known, _)| *known == letter)
                .map_or(0, |(_, bit)| *bit)
        };
        Self(letters.chars().fold(0, |bits, letter| bits | bit(letter)))
    }

    /// The bits as the station counts them.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// True when all of `other` is granted.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl fmt::Display for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (letter, bit) in PERMISSION_LETTERS {
            if self.0 & bit != 0 {
                write!(f, "{letter}")?;
            }
        }
        Ok(())
    }
}

/// Flags of a slot (Station web specification §5.4).
///
/// ```
/// use niagara_bridge::station::permissions::SlotFlags;
/// let flags = SlotFlags::parse("rso");
/// assert_eq!(flags.bits(), 0x109);
/// assert!(flags.contains(SlotFlags::READONLY));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SlotFlags(u32);

const FLAG_LETTERS: [(char, u32); 21] = [
    ('r', 0x1),
    ('t', 0x2),
    ('h', 0x4),
    ('s', 0x8),
    ('a', 0x10),
    ('n', 0x20),
    ('d', 0x40),
    ('c', 0x80),
    ('o', 0x100),
    ('x', 0x200),
    ('f', 0x400),
    ('A', 0x800),
    ('p', 0x1000),
    ('R', 0x2000),
    ('m', 0x4000),
    ('L', 0x8000),
    ('N', 0x1_0000),
    ('1', 0x1000_0000),
    ('2', 0x2000_0000),
    ('3', 0x4000_0000),
    ('4', 0x8000_0000),
];

impl SlotFlags {
    /// Not writable from outside.
    pub const READONLY: Self = Self(0x1);
    /// Not saved with the station.
    pub const TRANSIENT: Self = Self(0x2);
    /// Not meant to be shown.
    pub const HIDDEN: Self = Self(0x4);
    /// Part of the component's summary.
    pub const SUMMARY: Self = Self(0x8);
    /// An action that answers before it completes.
    pub const ASYNC: Self = Self(0x10);
    /// An action that wants confirmation.
    pub const CONFIRM_REQUIRED: Self = Self(0x80);
    /// Operator permissions suffice.
    pub const OPERATOR: Self = Self(0x100);
    /// A tag.
    pub const METADATA: Self = Self(0x4000);

    /// Flags from their bits.
    pub const fn new(bits: u32) -> Self {
        Self(bits)
    }

    /// Reads the letters in any order; others are ignored, as a newer station may add some.
    pub fn parse(letters: &str) -> Self {
        let bit = |letter| {
            FLAG_LETTERS
                .iter()
                .find(|(known, _)| *known == letter)
                .map_or(0, |(_, bit)| *bit)
        };
        Self(letters.chars().fold(0, |bits, letter| bits | bit(letter)))
    }

    /// The bits as the station counts them.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// True when all of `other` is set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl fmt::Display for SlotFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (letter, bit) in FLAG_LETTERS {
            if self.0 & bit != 0 {
                write!(f, "{letter}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_of_permissions_survives_its_letters() {
        for bits in 0..0x80u8 {
            let permissions = Permissions::new(bits & 0x77);
            assert_eq!(Permissions::parse(&permissions.to_string()), permissions);
        }
        assert_eq!(Permissions::parse("rwi").bits(), 7);
        assert_eq!(Permissions::new(0x77).to_string(), "irwIRW");
    }

    #[test]
    fn every_flag_survives_its_letter() {
        for (letter, bit) in FLAG_LETTERS {
            assert_eq!(SlotFlags::parse(&letter.to_string()).bits(), bit);
            assert_eq!(SlotFlags::new(bit).to_string(), letter.to_string());
        }
    }
}
