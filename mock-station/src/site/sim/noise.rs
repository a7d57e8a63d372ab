//! Smooth noise and hashed choices that depend only on a seed and a position, so that any instant can be computed alone.

/// A well-mixed hash of a seed and a position (the finaliser of SplitMix64).
pub fn hash(seed: u64, position: i64) -> u64 {
    let mut mixed = seed ^ (position as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// A number in [0, 1) for a seed and a position.
pub fn unit(seed: u64, position: i64) -> f64 {
    (hash(seed, position) >> 11) as f64 / (1u64 << 53) as f64
}

/// A number in [low, high) for a seed and a position.
pub fn between(seed: u64, position: i64, low: f64, high: f64) -> f64 {
    low + (high - low) * unit(seed, position)
}

/// Noise in [-1, 1], continuous with a continuous first derivative, that changes over about one unit of `x`.
pub fn smooth(seed: u64, x: f64) -> f64 {
    let cell = x.floor();
    let fraction = x - cell;
    let eased = fraction * fraction * (3.0 - 2.0 * fraction);
    let position = cell as i64;
    let left = unit(seed, position);
    let right = unit(seed, position + 1);
    2.0 * (left + (right - left) * eased) - 1.0
}

/// 0 below `low`, 1 above `high`, a straight ramp between.
pub fn ramp(x: f64, low: f64, high: f64) -> f64 {
    ((x - low) / (high - low)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn smooth_noise_is_bounded_and_has_no_steps(seed: u64, x in -1.0e6..1.0e6f64) {
            let here = smooth(seed, x);
            prop_assert!((-1.0..=1.0).contains(&here));
            prop_assert!((smooth(seed, x + 1.0e-4) - here).abs() < 1.0e-3);
        }
    }
}
