//! Run frames out of the store (Engine §4.2).

use std::collections::{BTreeMap, BTreeSet};

use niagara_analytics::resample::ResampleError;
use niagara_analytics::run_config::SharedOat;
use niagara_analytics::{RunFrame, SharedPoint};

use super::RunGround;
use crate::camber::call::Call;
use crate::camber::error::CapabilityError;
use crate::camber::hygiene::quoted;
use crate::trends::store::wall_clock::iso;
use crate::trends::store::{RoleFrame, ScanOptions, Selection, StoreError, Window};

/// The frames of the equipment of a run, in its order.
///
/// # Errors
/// The store cannot be read, the call's time is over, the window holds no sample of the facility, or stamps span more bins
/// than a run can hold.
pub fn load(call: &Call<'_>, ground: &RunGround<'_>) -> Result<Vec<RunFrame>, CapabilityError> {
    let failed = |error: StoreError| call.store_failure(&error);
    let shared = shared_points(call, ground)?;
    let equips: BTreeSet<String> = ground
        .equipment
        .iter()
        .map(|found| found.equip.clone())
        .collect();
    let cancelled = || call.watch.is_over();
    let bins = ground.config.resample;
    let built: Vec<Result<RunFrame, ResampleError>> = call
        .store()
        .read(&ground.facility, |view| {
            let options = ScanOptions {
                equips: Some(&equips),
                roles: None,
                window: ground.window,
                threads: call.workspace.threads,
                cancelled: &cancelled,
            };
            view.scan_equipment(&equips, &options, &|series| {
                RunFrame::of_stored(&series.frame(), bins, &shared)
            })
        })
        .map_err(failed)?;
    let mut by_equip: BTreeMap<String, RunFrame> = BTreeMap::new();
    for frame in built {
        let frame = frame.map_err(|error| CapabilityError::invalid(error.to_string()))?;
        by_equip.insert(frame.equip().to_owned(), frame);
    }
    if by_equip.values().all(RunFrame::is_empty) {
        require_samples(call, ground)?;
    }
    let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
    for found in &ground.equipment {
        *uses.entry(&found.equip).or_default() += 1;
    }
    Ok(ground
        .equipment
        .iter()
        .filter_map(|found| {
            let left = uses.get_mut(found.equip.as_str())?;
            *left -= 1;
            // The last use takes the frame: only equipment of two entries is held twice.
            let frame = match *left {
                0 => by_equip.remove(&found.equip)?,
                _ => by_equip.get(&found.equip)?.clone(),
            };
            Some(frame.of_class(&found.equip_class))
        })
        .collect())
}

/// The points that the site shares, on the grid of the run.
fn shared_points(
    call: &Call<'_>,
    ground: &RunGround<'_>,
) -> Result<Vec<SharedPoint>, CapabilityError> {
    const ROLE: &str = "oat";
    let stored = match &ground.config.shared_oat {
        None => return Ok(Vec::new()),
        Some(SharedOat::File { .. }) => {
            let Some(series) = ground.file.and_then(|file| file.shared_oat()) else {
                return Ok(Vec::new());
            };
            let kept = series
                .stamps
                .iter()
                .zip(&series.values)
                .filter(|(stamp, _)| ground.window.contains(**stamp));
            let (stamps, values) = kept.map(|(stamp, value)| (*stamp, *value)).unzip();
            RoleFrame {
                stamps,
                columns: [(ROLE.to_owned(), values)].into(),
                ..RoleFrame::default()
            }
        }
        Some(SharedOat::Point { equip, role }) => {
            if !ground.points.classes.contains_key(equip) {
                return Err(CapabilityError::invalid(format!(
                    "shared_oat.equip: the facility stores no equipment {}; name one that it stores",
                    quoted(equip)
                )));
            }
            let selection = Selection {
                roles: Some(BTreeSet::from([role.clone()])),
                window: ground.window,
            };
            let mut frame = call
                .store()
                .role_frame(&ground.facility, equip, &selection, None)
                .map_err(|error| call.store_failure(&error))?;
            if let Some(values) = frame.columns.remove(role) {
                frame.columns.insert(ROLE.to_owned(), values);
            }
            frame
        }
    };
    let point = SharedPoint::of(&stored, ROLE, ROLE, ground.config.resample)
        .map_err(|error| CapabilityError::invalid(error.to_string()))?;
    Ok(point.into_iter().collect())
}

/// Refuses a window in which the facility has no sample at all: nothing can be judged there.
fn require_samples(call: &Call<'_>, ground: &RunGround<'_>) -> Result<(), CapabilityError> {
    if ground.window == Window::OPEN {
        return Ok(());
    }
    let failed = |error: StoreError| call.store_failure(&error);
    let cancelled = || call.watch.is_over();
    let (found, span) = call
        .store()
        .read(&ground.facility, |view| {
            let options = ScanOptions {
                window: ground.window,
                threads: call.workspace.threads,
                cancelled: &cancelled,
                ..ScanOptions::default()
            };
            Ok((!view.stamps(&options)?.is_empty(), view.span()?))
        })
        .map_err(failed)?;
    match (found, span) {
        (false, Some((first, last))) => Err(empty_window(ground.window, first, last)),
        _ => Ok(()),
    }
}

/// A window without a stored sample; the first and last one are told.
pub fn empty_window(window: Window, first: i64, last: i64) -> CapabilityError {
    let argument = match window.start {
        Some(start) if start > last => "start",
        None => "end",
        Some(_) if window.end.is_some_and(|end| end < first) => "end",
        Some(_) => "start",
    };
    CapabilityError::not_found(format!(
        "the window holds no stored sample of the facility; the first one is of {} and the last one of {}",
        iso(first),
        iso(last)
    ))
    .with("argument", argument)
    .with("first", iso(first))
    .with("last", iso(last))
}
