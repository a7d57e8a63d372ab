//! Slot flags and their letters (Station web specification §5.4).

use std::fmt;
use std::ops::BitOr;

use super::letters::{self, Letters};

/// The flags of one slot as a bit set.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Flags(pub u32);

const LETTERS: Letters<u32, 21> = [
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
    ('N', 0x10000),
    ('1', 0x1000_0000),
    ('2', 0x2000_0000),
    ('3', 0x4000_0000),
    ('4', 0x8000_0000),
];

impl Flags {
    pub const NONE: Flags = Flags(0);
    pub const READONLY: Flags = Flags(0x1);
    pub const TRANSIENT: Flags = Flags(0x2);
    pub const HIDDEN: Flags = Flags(0x4);
    pub const SUMMARY: Flags = Flags(0x8);
    pub const ASYNC: Flags = Flags(0x10);
    pub const CONFIRM_REQUIRED: Flags = Flags(0x80);
    pub const OPERATOR: Flags = Flags(0x100);
    /// Several links may end at the slot.
    pub const FAN_IN: Flags = Flags(0x400);
    pub const METADATA: Flags = Flags(0x4000);

    /// Whether every bit of `other` is set.
    pub fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Letters in bit order; empty for no flags.
    pub fn encode(self) -> String {
        letters::encode(&LETTERS, self.0)
    }

    /// Reads letters in any order; `None` names an unknown letter.
    pub fn decode(text: &str) -> Option<Flags> {
        letters::decode(&LETTERS, text).map(Flags)
    }
}

impl BitOr for Flags {
    type Output = Flags;
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Flags({})", self.encode())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_add_up_in_any_order() {
        assert_eq!(Flags::decode("rso"), Some(Flags(0x109)));
        assert_eq!(Flags::decode("osr"), Some(Flags(0x109)));
        assert_eq!(Flags(0x109).encode(), "rso");
        assert_eq!(Flags::decode("rz"), None);
    }
}
