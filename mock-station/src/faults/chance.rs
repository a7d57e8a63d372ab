//! Chance that can be repeated.

/// A small generator of uniform numbers (SplitMix64): the same seed gives the same series.
#[derive(Clone, Debug)]
pub(super) struct Chance {
    state: u64,
}

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Whether something of this probability happens now.
    pub(super) fn happens(&mut self, probability: f64) -> bool {
        probability >= 1.0 || self.uniform() < probability
    }

    /// A number in [0, 1).
    fn uniform(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        // The upper 53 bits fill a double's fraction exactly.
        (mixed >> 11) as f64 / (1u64 << 53) as f64
    }
}
