//! What a trust score means (Engine §3).

/// Trust from here on is trusted.
const TRUSTED: f64 = 0.8;
/// Trust from here on is suspect.
const SUSPECT: f64 = 0.5;

/// What a trust score means, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrustVerdict {
    Trusted,
    Suspect,
    Untrusted,
}

impl TrustVerdict {
    /// The verdict of a score.
    ///
    /// ```
    /// use niagara_analytics::trust::TrustVerdict;
    /// assert_eq!(TrustVerdict::of(0.8), TrustVerdict::Trusted);
    /// assert_eq!(TrustVerdict::of(0.4999).word(), "untrusted");
    /// ```
    pub fn of(trust: f64) -> Self {
        if trust >= TRUSTED {
            Self::Trusted
        } else if trust >= SUSPECT {
            Self::Suspect
        } else {
            Self::Untrusted
        }
    }

    /// The word on the wire.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::Suspect => "suspect",
            Self::Untrusted => "untrusted",
        }
    }
}
