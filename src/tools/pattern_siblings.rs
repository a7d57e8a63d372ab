//! The siblings that `applyPattern` is to map, and what the station has below them.

use std::collections::HashMap;

use serde_json::Value;

use super::apply_pattern::pattern_error;
use super::station_access::{component_ord, station_error, subtree_error};
use super::{Arguments, ToolError};
use crate::knowledge::Equipment;
use crate::knowledge::pattern::{StationPoint, component};
use crate::knowledge::suggestion::matches_pattern;
use crate::station::facade::{PageRequest, StationFacade};
use crate::station::http::CallScope;
use crate::station::ord::{Ord, SlotPath};

/// Siblings that one call takes.
const MOST_SIBLINGS: usize = 200;

/// Points read below one component.
const MOST_POINTS: usize = 5_000;

/// Up to so many siblings with one parent are read one by one, more in one query of the parent.
const FEW: usize = 3;

/// Siblings and all points below them and the pattern.
pub(super) struct Looked {
    pub siblings: Vec<SlotPath>,
    /// Found by looking, so that what is not alike is left out.
    pub is_search: bool,
    pub points: Vec<StationPoint>,
}

/// Finds siblings and points.
pub(super) async fn look(
    station: &StationFacade,
    scope: &CallScope,
    equipment: &Equipment,
    arguments: &Arguments,
) -> Result<Looked, ToolError> {
    let base = component(equipment).map_err(pattern_error)?;
    match arguments.get("siblings").and_then(Value::as_array) {
        Some(ords) => {
            let siblings = given(station, scope, ords, &base).await?;
            let mut targets = siblings.clone();
            targets.push(base);
            Ok(Looked {
                points: below_all(station, scope, &targets).await?,
                siblings,
                is_search: false,
            })
        }
        None => search(station, scope, arguments, base).await,
    }
}

/// The siblings that the caller names.
async fn given(
    station: &StationFacade,
    scope: &CallScope,
    ords: &[Value],
    base: &SlotPath,
) -> Result<Vec<SlotPath>, ToolError> {
    let bad = |message: String| ToolError::invalid_params(message).with("argument", "siblings");
    if ords.is_empty() || ords.len() > MOST_SIBLINGS {
        return Err(bad(format!(
            "Argument 'siblings' names {} components; give 1 to {MOST_SIBLINGS}.",
            ords.len()
        )));
    }
    let mut siblings: Vec<SlotPath> = Vec::new();
    for text in ords.iter().filter_map(Value::as_str) {
        let path = station
            .slot_path(scope, &component_ord(text)?)
            .await
            .map_err(|error| station_error(error, text))?;
        if path == *base {
            return Err(bad(format!(
                "'{text}' is the component of the pattern itself; leave it out."
            ))
            .with("ord", text));
        }
        if !siblings.contains(&path) {
            siblings.push(path);
        }
    }
    Ok(siblings)
}

/// The components beside the pattern, or below `under`, that have points.
async fn search(
    station: &StationFacade,
    scope: &CallScope,
    arguments: &Arguments,
    base: SlotPath,
) -> Result<Looked, ToolError> {
    let under = match arguments.optional_string("under") {
        Some(text) => station
            .slot_path(scope, &component_ord(text)?)
            .await
            .map_err(|error| station_error(error, text))?,
        None => base.parent().unwrap_or_default(),
    };
    let mut points = points_below(station, scope, &under).await?;
    let filter = arguments.optional_string("nameFilter").unwrap_or("*");
    let mut siblings: Vec<SlotPath> = Vec::new();
    for point in &points {
        let depth = under.names().len();
        let Some(name) = point.path.names().get(depth) else {
            continue;
        };
        let path = under.child(name.clone());
        let is_new = path != base && path != point.path && !siblings.contains(&path);
        if is_new && matches_pattern(filter, &name.display()) {
            siblings.push(path);
        }
    }
    if siblings.len() > MOST_SIBLINGS {
        return Err(ToolError::invalid_params(format!(
            "{} components below {} could be siblings, at most {MOST_SIBLINGS} are taken at a time; narrow them with \
             'nameFilter'.",
            siblings.len(),
            Ord::slot(under).absolute()
        ))
        .with("argument", "nameFilter"));
    }
    if !base.is_within(&under) {
        points.extend(points_below(station, scope, &base).await?);
    }
    Ok(Looked {
        siblings,
        is_search: true,
        points,
    })
}

/// Points below several components, with one query for many that lie side by side.
async fn below_all(
    station: &StationFacade,
    scope: &CallScope,
    targets: &[SlotPath],
) -> Result<Vec<StationPoint>, ToolError> {
    let mut by_parent: HashMap<SlotPath, Vec<&SlotPath>> = HashMap::new();
    for target in targets {
        by_parent
            .entry(target.parent().unwrap_or_default())
            .or_default()
            .push(target);
    }
    let mut points = Vec::new();
    for (parent, targets) in by_parent {
        if targets.len() <= FEW {
            for target in targets {
                points.extend(points_below(station, scope, target).await?);
            }
            continue;
        }
        let all = points_below(station, scope, &parent).await?;
        points.extend(
            all.into_iter()
                .filter(|point| targets.iter().any(|target| point.path.is_within(target))),
        );
    }
    Ok(points)
}

async fn points_below(
    station: &StationFacade,
    scope: &CallScope,
    path: &SlotPath,
) -> Result<Vec<StationPoint>, ToolError> {
    let ord = Ord::slot(path.clone());
    let page = PageRequest {
        offset: 0,
        limit: MOST_POINTS,
    };
    let text = ord.absolute();
    let listed = station
        .points_below(scope, &ord, page)
        .await
        .map_err(|error| subtree_error(error, &text))?;
    // A plan on half of the points would call the other half missing.
    if listed.truncated_by_timeout {
        return Err(ToolError::station(
            "station-timeout",
            format!(
                "The station did not list all points below {text} in time. Try again, or give 'siblings' a few at a time."
            ),
        )
        .with("station", station.station())
        .with("ord", text));
    }
    if listed.truncated {
        return Err(ToolError::invalid_params(format!(
            "There are too many points below {text} to look at in one call; give 'siblings' a few at a time."
        ))
        .with("ord", text));
    }
    Ok(listed
        .items
        .into_iter()
        .filter_map(|point| {
            let unit = point.unit().cloned();
            Some(StationPoint {
                path: Ord::component(&point.ord).ok()?.slot_path()?.clone(),
                type_spec: point.type_spec,
                unit,
            })
        })
        .collect())
}
