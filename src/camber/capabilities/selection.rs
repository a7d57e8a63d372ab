//! Which points a caller asks for: what is not stored is named, never silently left out (CAMBER core §5.4).

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::camber::call::Call;
use crate::camber::error::CapabilityError;
use crate::trends::store::FacilityPoints;
use crate::trends::store::wall_clock::{Window, parse_bound};

/// The texts of an argument, which is one text or a list of texts; none when it is absent.
pub fn asked(arguments: &Map<String, Value>, name: &str) -> Option<BTreeSet<String>> {
    match arguments.get(name)? {
        Value::String(one) => Some(BTreeSet::from([one.clone()])),
        Value::Array(several) => Some(
            several
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
        ),
        _ => None,
    }
}

/// Refuses asked values that are not among the stored ones.
fn require_stored(
    call: &Call<'_>,
    argument: &str,
    asked: Option<&BTreeSet<String>>,
    stored: &BTreeSet<&str>,
) -> Result<(), CapabilityError> {
    let unknown: Vec<String> = asked
        .into_iter()
        .flatten()
        .filter(|value| !stored.contains(value.as_str()))
        .cloned()
        .collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let available: Vec<String> = stored.iter().map(|value| (*value).to_owned()).collect();
    Err(CapabilityError::unknown_values(
        argument,
        &unknown,
        &available,
        |name| match stored.contains(name) {
            true => call.quote(name),
            // What the caller sent is no name from the data.
            false => crate::camber::hygiene::quoted(name),
        },
    ))
}

/// Refuses equipment ids that the facility does not store.
///
/// # Errors
/// `not_found` with the unknown and the stored ones.
pub fn require_equipment(
    call: &Call<'_>,
    argument: &str,
    asked: Option<&BTreeSet<String>>,
    points: &FacilityPoints,
) -> Result<(), CapabilityError> {
    let stored = points.points.iter().map(|(equip, _)| equip.as_str());
    require_stored(call, argument, asked, &stored.collect())
}

/// Refuses roles that the facility does not store.
///
/// # Errors
/// `not_found` with the unknown and the stored ones.
pub fn require_roles(
    call: &Call<'_>,
    argument: &str,
    asked: Option<&BTreeSet<String>>,
    points: &FacilityPoints,
) -> Result<(), CapabilityError> {
    let stored = points.points.iter().map(|(_, role)| role.as_str());
    require_stored(call, argument, asked, &stored.collect())
}

/// Refuses equipment classes that the facility does not store.
///
/// # Errors
/// `not_found` with the unknown and the stored ones.
pub fn require_classes(
    call: &Call<'_>,
    argument: &str,
    asked: Option<&BTreeSet<String>>,
    points: &FacilityPoints,
) -> Result<(), CapabilityError> {
    let stored = points.classes.values().map(String::as_str);
    let stored = stored.filter(|class| !class.is_empty());
    require_stored(call, argument, asked, &stored.collect())
}

/// The window of `start` and `end`.
///
/// # Errors
/// A time does not exist, or the end lies before the start.
pub fn window(arguments: &Map<String, Value>) -> Result<Window, CapabilityError> {
    let bound = |name: &str| {
        match arguments.get(name).and_then(Value::as_str) {
        None => Ok(None),
        Some(text) => parse_bound(text).map(Some).ok_or_else(|| {
            CapabilityError::invalid(format!(
                "{name} is no time that exists; write it as 2024-03-01 or 2024-03-01T06:30:00, in the site's wall clock"
            ))
        }),
    }
    };
    let window = Window {
        start: bound("start")?,
        end: bound("end")?,
    };
    match (window.start, window.end) {
        (Some(start), Some(end)) if end < start => Err(CapabilityError::invalid(
            "end lies before start; exchange the two",
        )),
        _ => Ok(window),
    }
}
