//! Points of a run against the reference instruments that its configuration names (Engine §3.8).

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use niagara_analytics::RunFrame;
use niagara_analytics::run_config::section::did_you_mean;
use niagara_analytics::run_config::{ReferenceSource, References};
use niagara_analytics::trust::references::{
    Comparisons, ReferenceData, ReferenceSeries, compare_all,
};

use super::RunGround;
use crate::camber::call::Call;
use crate::camber::error::CapabilityError;
use crate::camber::hygiene::{harmless, quoted};
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

/// What is told of comparisons that could not be made, or say nothing: findings on these points were not checked.
pub fn notices(call: &Call<'_>, comparisons: &Comparisons) -> Vec<String> {
    let failed = comparisons.failed.iter().map(|failed| {
        let place = (failed.equip.as_str(), failed.role.as_str());
        not_compared(call, place, &failed.reference, &failed.problem)
    });
    let unjudged = comparisons.made.iter().filter(|made| !made.is_judged());
    let unjudged = unjudged.map(|made| {
        let place = (made.equip.as_str(), made.role.as_str());
        not_compared(call, place, &made.reference, &made.caveats.join(", "))
    });
    failed.chain(unjudged).collect()
}

fn not_compared(
    call: &Call<'_>,
    (equip, role): (&str, &str),
    reference: &str,
    problem: &str,
) -> String {
    format!(
        "{} {role} was not compared with its reference {}: {}; nothing that reads the point was checked against it",
        call.quote(equip),
        call.quote(reference),
        harmless(problem)
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
        let stored = &self.ground.points.classes;
        if !stored.contains_key(equip) {
            let hint = did_you_mean(equip, stored.keys().map(String::as_str));
            return Err(format!(
                "the facility stores no equipment {}{hint}",
                quoted(equip)
            ));
        }
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
