//! Run frames out of the store (Engine §4.2).

use std::collections::{BTreeMap, BTreeSet};

use niagara_analytics::refrigerants;
use niagara_analytics::resample::ResampleError;
use niagara_analytics::run_config::{Discovered, SharedOat};
use niagara_analytics::{BinWidth, RunFrame, SharedPoint};

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
    load_on(call, ground, ground.config.resample)
}

/// The same on another grid than that of the configuration, which the shared points keep: of them a bin has the value of its
/// own stamp, as in the reference.
///
/// # Errors
/// As [`load`].
pub fn load_on(
    call: &Call<'_>,
    ground: &RunGround<'_>,
    bins: BinWidth,
) -> Result<Vec<RunFrame>, CapabilityError> {
    let failed = |error: StoreError| call.store_failure(&error);
    let shared = shared_points(call, ground, ground.config.resample)?;
    let equips: BTreeSet<String> = ground
        .equipment
        .iter()
        .map(|found| found.equip.clone())
        .collect();
    let cancelled = || call.watch.is_over();
    let fluids = fluids(ground);
    let built = call
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
                let stored = series.frame();
                let fluids = fluids.get(stored.equip.as_str());
                fluids
                    .into_iter()
                    .flatten()
                    .map(|fluid| {
                        let frame = run_frame(&stored, *fluid, bins, &shared)?;
                        Ok(((stored.equip.clone(), *fluid), frame))
                    })
                    .collect::<Result<Vec<_>, ResampleError>>()
            })
        })
        .map_err(failed)?;
    let mut by_use: BTreeMap<(String, Option<&str>), RunFrame> = BTreeMap::new();
    for frames in built {
        by_use.extend(frames.map_err(|error| CapabilityError::invalid(error.to_string()))?);
    }
    if by_use.values().all(RunFrame::is_empty) {
        require_samples(call, ground)?;
    }
    let mut uses: BTreeMap<(String, Option<&str>), usize> = BTreeMap::new();
    let key = |found: &'_ Discovered| (found.equip.clone(), known_fluid(found));
    for found in &ground.equipment {
        *uses.entry(key(found)).or_default() += 1;
    }
    Ok(ground
        .equipment
        .iter()
        .filter_map(|found| {
            let key = key(found);
            let left = uses.get_mut(&key)?;
            *left -= 1;
            // The last use takes the frame: only equipment of two entries is held twice.
            let frame = match *left {
                0 => by_use.remove(&key)?,
                _ => by_use.get(&key)?.clone(),
            };
            Some(frame.of_class(&found.equip_class))
        })
        .collect())
}

/// The refrigerant of an entry, as the curves name it.
fn known_fluid(found: &Discovered) -> Option<&'static str> {
    let (name, _) = refrigerants::named(found.refrigerant.as_deref()?)?;
    Some(name)
}

/// What refrigerants an equipment is judged with: more than one when several entries name it with different ones.
fn fluids<'g>(ground: &'g RunGround<'_>) -> BTreeMap<&'g str, BTreeSet<Option<&'static str>>> {
    let mut fluids: BTreeMap<&str, BTreeSet<Option<&'static str>>> = BTreeMap::new();
    for found in &ground.equipment {
        fluids
            .entry(found.equip.as_str())
            .or_default()
            .insert(known_fluid(found));
    }
    fluids
}

/// One equipment; with what its pressures tell when its refrigerant is known.
fn run_frame(
    stored: &RoleFrame,
    fluid: Option<&str>,
    bins: BinWidth,
    shared: &[SharedPoint],
) -> Result<RunFrame, ResampleError> {
    match fluid.and_then(refrigerants::named) {
        None => RunFrame::of_stored(stored, bins, shared),
        Some((_, curves)) => {
            let mut derived = stored.clone();
            refrigerants::derive_roles(&mut derived, curves);
            RunFrame::of_stored(&derived, bins, shared)
        }
    }
}

/// The points that the site shares, on the grid of the run.
pub(super) fn shared_points(
    call: &Call<'_>,
    ground: &RunGround<'_>,
    bins: BinWidth,
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
    let point = SharedPoint::of(&stored, ROLE, ROLE, bins)
        .map_err(|error| CapabilityError::invalid(error.to_string()))?;
    Ok(point.into_iter().collect())
}

/// Refuses a window in which the facility has no sample at all: nothing can be judged there.
fn require_samples(call: &Call<'_>, ground: &RunGround<'_>) -> Result<(), CapabilityError> {
    if ground.window == Window::OPEN {
        return Ok(());
    }
    match outside(call, ground, ground.window)? {
        Some((first, last)) => Err(empty_window(ground.window, first, last)),
        None => Ok(()),
    }
}

/// First and last stored sample of the facility, when a window holds none of it; none when it does.
///
/// # Errors
/// The store cannot be read.
pub fn outside(
    call: &Call<'_>,
    ground: &RunGround<'_>,
    window: Window,
) -> Result<Option<(i64, i64)>, CapabilityError> {
    let cancelled = || call.watch.is_over();
    let (found, span) = call
        .store()
        .read(&ground.facility, |view| {
            Ok((view.holds_sample(window, &cancelled)?, view.span()?))
        })
        .map_err(|error| call.store_failure(&error))?;
    Ok(span.filter(|_| !found))
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
