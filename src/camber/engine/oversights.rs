//! What of a run configuration has no effect, told beside the answer of a run (Engine §5).

use niagara_analytics::run_config::Oversight;
use niagara_analytics::run_config::oversights::{self, OfStored};
use serde_json::{Map, Value};

use super::RunGround;
use crate::camber::call::Call;
use crate::camber::hygiene::{harmless, quoted};
use crate::camber::result::counted;
use crate::trends::store::FacilityPoints;

/// Oversights that a notice tells; the log of the start has all that show without data.
const TOLD: usize = 6;
/// Most characters of one.
const LONGEST: usize = 300;

/// The notice of a configuration's oversights; none when there are none.
pub(super) fn of_config(
    config: &niagara_analytics::RunConfig,
    points: &FacilityPoints,
) -> Option<String> {
    let stored = OfStored {
        classes: &points.classes,
        points: &points.points,
    };
    let mut found = config.oversights().to_vec();
    found.extend(stored.of(config));
    notice("the run configuration", &found)
}

/// The notice of a declared topology that no tree can have.
pub(super) fn of_topology(ground: &RunGround<'_>) -> Option<String> {
    let declared = ground.config.topology.as_ref()?;
    let equipment = ground.points.classes.keys().map(String::as_str);
    notice(
        "the run configuration",
        &oversights::of_topology(declared, equipment),
    )
}

/// The notice of parameters of a call outside their ranges.
pub(super) fn of_params(params: Option<&Map<String, Value>>) -> Option<String> {
    let found: Vec<Oversight> = params
        .into_iter()
        .flatten()
        .filter_map(|(rule, params)| Some((rule, params.as_object()?)))
        .flat_map(|(rule, params)| {
            oversights::of_parameters(&format!("params.{rule}"), rule, params)
        })
        .collect();
    notice("the call", &found)
}

fn notice(whose: &str, found: &[Oversight]) -> Option<String> {
    if found.is_empty() {
        return None;
    }
    let told: Vec<String> = found.iter().take(TOLD).map(line).collect();
    let more = match found.len().saturating_sub(TOLD) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    Some(format!(
        "{whose} has {} that may not mean what was wanted: {}{more}",
        counted(found.len(), "line", "lines"),
        told.join("; "),
    ))
}

fn line(oversight: &Oversight) -> String {
    let whole = harmless(&oversight.to_string());
    match whole.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", whole.get(..end).unwrap_or_default()),
        None => whole,
    }
}

/// What is told when run configurations were given and none of them is of the facility. Those that the caller may not see
/// are not named.
pub(super) fn of_other_facilities(call: &Call<'_>, facility: &str) -> Option<String> {
    let given: Vec<&str> = call.workspace.run_configs.facilities().collect();
    if given.is_empty() {
        return None;
    }
    let seen: Vec<String> = given
        .iter()
        .filter(|other| call.caller.allowed.contains(**other))
        .map(|other| quoted(other))
        .collect();
    let names = match seen.is_empty() {
        true => String::new(),
        false => format!(" ({})", seen.join(", ")),
    };
    Some(format!(
        "{} given, but of another facility{names}, not of {}: it has no part in this answer",
        match given.len() {
            1 => "a run configuration is".to_owned(),
            several => format!("{several} run configurations are"),
        },
        call.quote(facility)
    ))
}
