//! Permission bits and their letters (Station web specification §5.5).

use std::fmt;
use std::ops::BitOr;

use super::letters::{self, Letters};

/// What a user may do with a component, as a bit set.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Permissions(pub u8);

const LETTERS: Letters<u8, 6> = [
    ('i', 0x04),
    ('r', 0x01),
    ('w', 0x02),
    ('I', 0x40),
    ('R', 0x10),
    ('W', 0x20),
];

impl Permissions {
    pub const NONE: Permissions = Permissions(0);
    pub const OPERATOR_READ: Permissions = Permissions(0x01);
    pub const OPERATOR_WRITE: Permissions = Permissions(0x02);
    pub const OPERATOR_INVOKE: Permissions = Permissions(0x04);
    pub const ADMIN_READ: Permissions = Permissions(0x10);
    pub const ADMIN_WRITE: Permissions = Permissions(0x20);
    pub const ADMIN_INVOKE: Permissions = Permissions(0x40);
    pub const ALL: Permissions = Permissions(0x77);

    /// Whether every bit of `other` is granted.
    pub fn contains(self, other: Permissions) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether the component may be seen at all.
    pub fn can_read(self) -> bool {
        self.contains(Self::OPERATOR_READ) || self.contains(Self::ADMIN_READ)
    }

    /// Letters in the station's order `irwIRW`.
    pub fn encode(self) -> String {
        letters::encode(&LETTERS, self.0)
    }

    /// Reads letters in any order; `None` for an unknown letter.
    pub fn decode(text: &str) -> Option<Permissions> {
        letters::decode(&LETTERS, text).map(Permissions)
    }
}

impl BitOr for Permissions {
    type Output = Permissions;
    fn bitor(self, other: Permissions) -> Permissions {
        Permissions(self.0 | other.0)
    }
}

impl fmt::Debug for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Permissions({})", self.encode())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_follow_the_specification_examples() {
        assert_eq!(Permissions::decode("irw"), Some(Permissions(7)));
        assert_eq!(Permissions::decode("irwIRW"), Some(Permissions::ALL));
        assert_eq!(Permissions::ALL.encode(), "irwIRW");
        assert_eq!(Permissions::decode("rx"), None);
    }
}
