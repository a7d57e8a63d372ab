//! Bit sets as letters, one per bit (Station web specification §5.4, §5.5).

use std::ops::{BitAnd, BitOr};

/// Which letter stands for which bit, in the order of writing.
pub type Letters<B, const N: usize> = [(char, B); N];

/// The letters of the bits that are set.
pub fn encode<B, const N: usize>(letters: &Letters<B, N>, bits: B) -> String
where
    B: Copy + Default + PartialEq + BitAnd<Output = B>,
{
    let set = letters
        .iter()
        .filter(|(_, bit)| bits & *bit != B::default());
    set.map(|(letter, _)| letter).collect()
}

/// Reads letters in any order; `None` for an unknown letter.
pub fn decode<B, const N: usize>(letters: &Letters<B, N>, text: &str) -> Option<B>
where
    B: Copy + Default + BitOr<Output = B>,
{
    text.chars().try_fold(B::default(), |bits, letter| {
        let (_, bit) = letters.iter().find(|(known, _)| *known == letter)?;
        Some(bits | *bit)
    })
}
