//! Samples of stored points as they are, for pictures: under the same policy as a capability that names their facility.

use std::collections::{BTreeMap, BTreeSet};

use chrono_tz::Tz;
use niagara_analytics::run_config::{SharedOat, defaults};

use super::call::store_failure;
use super::context::{CallerPolicy, Watch};
use super::dataset_catalogue::DatasetCatalogue;
use super::error::CapabilityError;
use super::facility_policy::{FacilityPolicy, require_allowed};
use super::hygiene::quoted;
use super::workspace::Workspace;
use crate::trends::site_time::SiteClock;
use crate::trends::store::{
    EquipmentSeries, FacilityId, FacilityPoints, RoleSeries, Selection, StoreError, Window,
};

/// Which samples are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedSamples {
    pub facility: String,
    /// Equipment and role of each point.
    pub points: BTreeSet<(String, String)>,
    pub window: Window,
}

/// Samples by equipment and role; equal stamps are one sample with their mean. Points without a sample in the window have
/// none.
pub type FoundSamples = BTreeMap<(String, String), RoleSeries>;

/// The zone of a facility's wall clock; none when it is not registered with one.
///
/// # Errors
/// The caller may not see the facility, its licence is in the way, or the store cannot be read.
pub fn facility_zone(
    workspace: &Workspace,
    caller: &CallerPolicy,
    watch: &Watch,
    facility: &str,
) -> Result<Option<Tz>, CapabilityError> {
    let policy = admitted(workspace, caller, watch, facility)?;
    let zone = policy
        .registry()
        .entry(facility)
        .and_then(|entry| entry.time_zone(|dataset| DatasetCatalogue::shipped().zone(dataset)));
    Ok(zone
        .and_then(|name| SiteClock::named(&name))
        .map(SiteClock::zone))
}

/// Role of the outdoor air temperature.
const OUTDOOR: &str = "oat";

/// The stored outdoor temperature that applies to an equipment: its own, else the one that its facility shares, as in a run.
///
/// # Errors
/// As [`stored_samples`]; neither stores one.
pub fn outdoor_point(
    workspace: &Workspace,
    caller: &CallerPolicy,
    watch: &Watch,
    facility: &str,
    equip: &str,
) -> Result<(String, String), CapabilityError> {
    admitted(workspace, caller, watch, facility)?;
    let id = stored_facility(workspace, facility)?;
    let stored = workspace
        .store
        .points(&id)
        .map_err(|error| store_failure(&error, caller, watch))?;
    let own = (equip.to_owned(), OUTDOOR.to_owned());
    // What is not stored at all is told where its samples are read.
    if stored.points.contains(&own) || !stored.classes.contains_key(equip) {
        return Ok(own);
    }
    let shared = match workspace.run_configs.of(facility) {
        Some(file) => file.config.shared_oat.clone(),
        None => defaults::of_store(facility, None, &stored.classes, &stored.points).shared_oat,
    };
    match shared {
        Some(SharedOat::Point { equip, role }) => Ok((equip, role)),
        _ => Err(CapabilityError::not_found(format!(
            "equipment {} stores no outdoor temperature (role {OUTDOOR}), and no stored one is shared; name one in 'weather'",
            quoted(equip)
        ))),
    }
}

fn stored_facility(workspace: &Workspace, facility: &str) -> Result<FacilityId, CapabilityError> {
    FacilityId::parse(facility)
        .ok()
        .filter(|facility| workspace.store.has_partition(facility))
        .ok_or_else(|| {
            CapabilityError::not_found(format!("facility {} has no stored data", quoted(facility)))
        })
}

/// Reads the samples, one equipment after the other.
///
/// # Errors
/// As [`facility_zone`], a point is not stored, or the time is over.
pub fn stored_samples(
    workspace: &Workspace,
    caller: &CallerPolicy,
    watch: &Watch,
    wanted: &WantedSamples,
) -> Result<FoundSamples, CapabilityError> {
    admitted(workspace, caller, watch, &wanted.facility)?;
    let facility = stored_facility(workspace, &wanted.facility)?;
    let failed = |error: StoreError| store_failure(&error, caller, watch);
    let stored = workspace.store.points(&facility).map_err(failed)?;
    require_stored(&wanted.points, &stored)?;
    let mut by_equipment: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (equip, role) in &wanted.points {
        by_equipment.entry(equip).or_default().insert(role.clone());
    }
    let mut found = FoundSamples::new();
    for (equip, roles) in by_equipment {
        watch.check()?;
        let selection = Selection {
            roles: Some(roles),
            window: wanted.window,
        };
        let series = workspace
            .store
            .equipment(&facility, equip, &selection)
            .map_err(failed)?;
        for (role, samples) in series.roles {
            found.insert((equip.to_owned(), role.clone()), merged(role, samples));
        }
    }
    watch.check()?;
    Ok(found)
}

fn admitted(
    workspace: &Workspace,
    caller: &CallerPolicy,
    watch: &Watch,
    facility: &str,
) -> Result<FacilityPolicy, CapabilityError> {
    require_allowed(&[facility.to_owned()], caller)?;
    let policy = FacilityPolicy::read(&workspace.store)
        .map_err(|error| store_failure(&error, caller, watch))?;
    policy.require_clean(facility)?;
    Ok(policy)
}

/// One sample for each stamp, as analyses see it (Store §5 step 2).
fn merged(role: String, samples: RoleSeries) -> RoleSeries {
    let alone = EquipmentSeries {
        roles: BTreeMap::from([(role.clone(), samples)]),
        ..EquipmentSeries::default()
    };
    let mut frame = alone.frame();
    RoleSeries {
        values: frame.columns.remove(&role).unwrap_or_default(),
        stamps: frame.stamps,
    }
}

/// Names the first wanted point that is not stored, with what is.
fn require_stored(
    wanted: &BTreeSet<(String, String)>,
    stored: &FacilityPoints,
) -> Result<(), CapabilityError> {
    let Some((equip, role)) = wanted.iter().find(|point| !stored.points.contains(*point)) else {
        return Ok(());
    };
    let roles: Vec<String> = stored
        .points
        .iter()
        .filter(|(known, _)| known == equip)
        .map(|(_, role)| role.clone())
        .collect();
    if !roles.is_empty() {
        return Err(CapabilityError::unknown_values(
            "role",
            std::slice::from_ref(role),
            &roles,
            quoted,
        )
        .with("equip", equip.clone()));
    }
    let known: BTreeSet<&String> = stored.points.iter().map(|(equip, _)| equip).collect();
    let known: Vec<String> = known.into_iter().cloned().collect();
    Err(CapabilityError::unknown_values(
        "equip",
        std::slice::from_ref(equip),
        &known,
        quoted,
    ))
}
