//! Points of a run against the reference instruments that its configuration names (Engine §3.8).

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use niagara_analytics::RunFrame;
use niagara_analytics::run_config::{ReferenceSource, References};
use niagara_analytics::trust::references::{
    Comparisons, NotCompared, ReferenceData, ReferenceSeries, compare_all,
};

use super::RunGround;
use crate::camber::call::Call;
use crate::camber::error::CapabilityError;
use crate::camber::hygiene::harmless;
use crate::trends::store::{Selection, StoreError};

/// Makes the comparisons of the configuration for the equipment of a call; empty without a configuration.
///
/// # Errors
/// The store cannot be read.
pub fn comparisons(
    call: &Call<'_>,
    ground: &RunGround<'_>,
    frames: &[RunFrame],
) -> Result<Comparisons, CapabilityError> {
    let references = of_call(ground);
    if references.is_empty() {
        return Ok(Comparisons::default());
    }
    let by_equip: BTreeMap<&str, &RunFrame> =
        frames.iter().map(|frame| (frame.equip(), frame)).collect();
    let outside = Outside {
        call,
        ground,
        failure: RefCell::default(),
    };
    let found = compare_all(
        &references,
        &by_equip,
        ground.config.shared_oat.as_ref(),
        &outside,
    );
    match outside.failure.into_inner() {
        Some(error) => Err(call.store_failure(&error)),
        None => Ok(found),
    }
}

/// The configured comparisons without those of stored equipment that the caller did not ask for.
fn of_call(ground: &RunGround<'_>) -> References {
    let judged: BTreeSet<&str> = ground
        .equipment
        .iter()
        .map(|found| found.equip.as_str())
        .collect();
    let mut references = ground.config.references.clone();
    references.points.retain(|(equip, _), _| {
        judged.contains(equip.as_str()) || !ground.points.classes.contains_key(equip)
    });
    references
}

/// What is told of a comparison that could not be made: findings on the point were not checked against it.
pub fn notice(call: &Call<'_>, failed: &NotCompared) -> String {
    format!(
        "{} {} was not compared with its reference {}: {}; nothing that reads the point was checked against it",
        call.quote(&failed.equip),
        failed.role,
        call.quote(&failed.reference),
        harmless(&failed.problem)
    )
}

/// References that no frame of the run holds.
struct Outside<'a, 'c> {
    call: &'a Call<'c>,
    ground: &'a RunGround<'c>,
    /// The store failed: that ends the call, and is no reference that is merely missing.
    failure: RefCell<Option<StoreError>>,
}

impl ReferenceData for Outside<'_, '_> {
    fn samples(&self, source: &ReferenceSource) -> Result<ReferenceSeries, String> {
        match source {
            ReferenceSource::File { .. } => {
                let file = self.ground.file.and_then(|file| file.reference(source));
                let series = file.ok_or("the configuration has no such file")?;
                Ok(ReferenceSeries {
                    stamps: series.stamps.clone(),
                    values: series.values.clone(),
                })
            }
            ReferenceSource::Point { equip, role } => self.column(equip, role),
        }
    }
}

impl Outside<'_, '_> {
    fn column(&self, equip: &str, role: &str) -> Result<ReferenceSeries, String> {
        let selection = Selection {
            roles: Some(BTreeSet::from([role.to_owned()])),
            window: self.ground.window,
        };
        let stored = self
            .call
            .store()
            .role_frame(&self.ground.facility, equip, &selection, None)
            .map_err(|error| {
                let told = error.public_text();
                self.failure.replace(Some(error));
                told
            })?;
        let frame = RunFrame::of_stored(&stored, self.ground.config.resample, &[])
            .map_err(|error| error.to_string())?;
        let values = frame
            .table()
            .column(role)
            .ok_or("the reference has no data for its role in the window")?;
        Ok(ReferenceSeries {
            stamps: frame.table().stamps.clone(),
            values: values.to_vec(),
        })
    }
}
