//! Words of states as numbers (Store §11).

/// Words for a state that is on (Store §11).
const ON: [&str; 20] = [
    "running", "on", "start", "started", "enabled", "active", "occupied", "true", "yes", "1",
    "open", "opened", "fault", "alarm", "tripped", "trip", "override", "hand", "manual",
    // An occupant asked for more time: Niagara's own word in its occupancy enum.
    "bypass",
];

/// Words for a state that is off (Store §11).
const OFF: [&str; 18] = [
    "off",
    "stop",
    "stopped",
    "disabled",
    "inactive",
    "unoccupied",
    "false",
    "no",
    "0",
    "standby",
    "idle",
    "closed",
    "close",
    "normal",
    "auto",
    "ready",
    "reset",
    "ok",
];

/// What a word says about a two-state signal; numbers count as on unless they are zero.
///
/// ```
/// use niagara_bridge::trends::states::state_of_word;
/// assert_eq!(state_of_word(" Running "), Some(true));
/// assert_eq!(state_of_word("0.0"), Some(false));
/// assert_eq!(state_of_word("blue"), None);
/// ```
pub fn state_of_word(word: &str) -> Option<bool> {
    let word = word.trim().to_lowercase();
    if ON.contains(&word.as_str()) {
        return Some(true);
    }
    if OFF.contains(&word.as_str()) {
        return Some(false);
    }
    let number: f64 = word.parse().ok()?;
    (!number.is_nan()).then_some(number != 0.0)
}

/// Whether the texts of false and true say the opposite: a point whose "true" reads "Unoccupied".
///
/// ```
/// use niagara_bridge::trends::states::texts_are_swapped;
/// assert!(texts_are_swapped("Occupied", "Unoccupied"));
/// assert!(!texts_are_swapped("Off", "On"));
/// assert!(!texts_are_swapped("cool", "heat"));
/// ```
pub fn texts_are_swapped(false_text: &str, true_text: &str) -> bool {
    state_of_word(false_text) == Some(true) && state_of_word(true_text) == Some(false)
}
