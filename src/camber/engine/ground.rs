//! What a call runs on: the configuration, the equipment and the window (Engine §4.1, §4.2).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use niagara_analytics::RunConfig;
use niagara_analytics::run_config::{
    Discovered, EquipmentEntry, ResolvedTopology, Source, defaults, discovered,
};
use serde_json::{Map, Value};

use super::{oversights, refused};
use crate::camber::call::Call;
use crate::camber::capabilities::selection;
use crate::camber::dataset_catalogue::DatasetCatalogue;
use crate::camber::error::CapabilityError;
use crate::camber::run_config::RunConfigFile;
use crate::trends::store::{FacilityId, FacilityPoints, FacilityState, Window};

/// What a call runs on.
pub struct RunGround<'a> {
    pub facility: FacilityId,
    /// What the facility stores at any time.
    pub points: FacilityPoints,
    pub config: Cow<'a, RunConfig>,
    /// The file that the configuration is from, with its tables.
    pub file: Option<&'a Arc<RunConfigFile>>,
    /// A configuration of the caller or of the data set, not the one that the store gives.
    pub from_config: bool,
    /// The caller's bounds, else those of the configuration.
    pub window: Window,
    /// In the order of the run.
    pub equipment: Vec<Discovered>,
    pub notices: Vec<String>,
}

impl<'a> RunGround<'a> {
    /// The ground of a call by its arguments `facility_id`, `equips`, `start` and `end`.
    ///
    /// # Errors
    /// The facility has no data, an equipment is not stored or not in the configuration, the window is no window, or the
    /// configuration cannot be run here.
    pub fn of(call: &Call<'a>, arguments: &Map<String, Value>) -> Result<Self, CapabilityError> {
        Self::with_classes(call, arguments, &[])
    }

    /// The same over equipment of these classes too, whether the configuration takes them or not.
    ///
    /// # Errors
    /// As [`RunGround::of`].
    pub fn with_classes(
        call: &Call<'a>,
        arguments: &Map<String, Value>,
        classes: &[&str],
    ) -> Result<Self, CapabilityError> {
        let (mut ground, assumed) = Self::without_equipment(call, arguments)?;
        ground.notices.extend(assumed);
        for class in classes {
            let is_taken = |entry: &EquipmentEntry| entry.class == *class;
            if !ground.config.equipment.iter().any(is_taken) {
                ground
                    .config
                    .to_mut()
                    .equipment
                    .push(EquipmentEntry::of_class(*class));
            }
        }
        let unjudged = ground.config.unjudged_sections();
        if !unjudged.is_empty() {
            ground.notices.push(format!(
                "the run configuration has {}, which no run of this server judges: that is no pass",
                unjudged.join(" and ")
            ));
        }
        let state = call.policy.registry().state(ground.facility.as_str());
        if state != FacilityState::Active && !ground.config.include_inactive {
            ground.notices.push(format!(
                "facility {} is {}, so that nothing of it was judged; activate it or set include_inactive in its run \
                 configuration",
                call.quote(ground.facility.as_str()),
                state.word()
            ));
            return Ok(ground);
        }
        let equips = selection::asked(arguments, "equips");
        require_configured(call, &ground.config, &ground.points, equips.as_ref())?;
        ground.equipment = discovered(
            &ground.config.equipment,
            &ground.points.classes,
            &ground.points.points,
            equips.as_ref(),
        );
        if ground.config.equipment.is_empty() {
            ground.notices.push(
                "the run configuration has no entry under equipment, so that nothing was judged; list the classes that shall \
                 be, as `niagara-bridge camber init-config` does"
                    .to_owned(),
            );
        }
        Ok(ground)
    }

    /// The ground of a call that looks at every stored equipment asked for, whether the configuration takes it or not, and
    /// whatever state the facility is in.
    ///
    /// # Errors
    /// As [`RunGround::of`], but not for equipment that the configuration leaves out.
    pub fn of_stored(
        call: &Call<'a>,
        arguments: &Map<String, Value>,
    ) -> Result<Self, CapabilityError> {
        let (mut ground, _) = Self::without_equipment(call, arguments)?;
        let equips = selection::asked(arguments, "equips");
        let is_asked = |equip: &String| equips.as_ref().is_none_or(|asked| asked.contains(equip));
        ground.equipment = ground
            .points
            .classes
            .iter()
            .filter(|(equip, _)| is_asked(equip))
            .map(|(equip, class)| Discovered {
                equip: equip.clone(),
                equip_class: class.clone(),
                refrigerant: None,
            })
            .collect();
        Ok(ground)
    }

    /// The ground, and what is told of a run whose configuration is assumed.
    fn without_equipment(
        call: &Call<'a>,
        arguments: &Map<String, Value>,
    ) -> Result<(Self, Option<String>), CapabilityError> {
        let asked_window = selection::window(arguments)?;
        let facility = call.stored_facility(arguments)?;
        let points = call
            .store()
            .points(&facility)
            .map_err(|error| call.store_failure(&error))?;
        if points.points.is_empty() {
            return Err(call.nothing_stored(facility.as_str()));
        }
        let equips = selection::asked(arguments, "equips");
        selection::require_equipment(call, "equips", equips.as_ref(), &points)?;
        let chosen = Chosen::of(call, &facility, &points)?;
        let notice = match chosen.file {
            Some(_) => oversights::of_config(&chosen.config, &points),
            None => oversights::of_other_facilities(call, facility.as_str()),
        };
        let window = window(&chosen.config, asked_window)?;
        let ground = Self {
            facility,
            points,
            config: chosen.config,
            file: chosen.file,
            from_config: chosen.from_config,
            window,
            equipment: Vec::new(),
            notices: notice.into_iter().collect(),
        };
        Ok((ground, chosen.assumed))
    }

    /// The declared topology over the equipment of the run, and a notice when names of it fit nothing.
    pub fn topology(&mut self, call: &Call<'_>) -> Option<ResolvedTopology> {
        let declared = self.config.topology.as_ref()?;
        let resolved = declared.resolved(self.points.classes.keys().map(String::as_str));
        self.notices.extend(oversights::of_topology(self));
        // A parent may be a room or a riser; a child that is not stored is a mistake of the file.
        let unknown: Vec<&str> = resolved
            .unmatched
            .iter()
            .map(String::as_str)
            .filter(|name| resolved.topology.parents.contains_key(*name))
            .collect();
        if !unknown.is_empty() {
            self.notices.push(format!(
                "the topology names {} that the facility does not store: {}",
                crate::camber::result::counted(
                    unknown.len(),
                    "piece of equipment",
                    "pieces of equipment"
                ),
                listed(call, unknown.into_iter())
            ));
        }
        Some(resolved)
    }
}

/// At most ten quoted names.
pub(crate) fn listed<'n>(call: &Call<'_>, names: impl Iterator<Item = &'n str>) -> String {
    const TOLD: usize = 10;
    let all: Vec<&str> = names.collect();
    let told: Vec<String> = all.iter().take(TOLD).map(|name| call.quote(name)).collect();
    match all.len().saturating_sub(TOLD) {
        0 => told.join(", "),
        more => format!("{} and {more} more", told.join(", ")),
    }
}

struct Chosen<'a> {
    config: Cow<'a, RunConfig>,
    file: Option<&'a Arc<RunConfigFile>>,
    from_config: bool,
    /// What is told of a configuration that nobody gave.
    assumed: Option<String>,
}

impl<'a> Chosen<'a> {
    fn of(
        call: &Call<'a>,
        facility: &FacilityId,
        points: &FacilityPoints,
    ) -> Result<Self, CapabilityError> {
        if let Some(file) = call.workspace.run_configs.of(facility.as_str()) {
            check_source(call, file)?;
            return Ok(Self {
                config: Cow::Borrowed(&file.config),
                file: Some(file),
                from_config: true,
                assumed: None,
            });
        }
        if let Some((dataset, config)) = template(call, facility)? {
            return Ok(Self {
                config: Cow::Owned(config),
                file: None,
                from_config: true,
                assumed: Some(format!(
                    "no run configuration names the facility, so that it runs with the packaged one of the data set {}",
                    call.quote(&dataset)
                )),
            });
        }
        let name = call
            .policy
            .registry()
            .entry(facility.as_str())
            .and_then(|entry| entry.shown_name());
        Ok(Self {
            config: Cow::Owned(defaults::of_store(
                facility.as_str(),
                name,
                &points.classes,
                &points.points,
            )),
            file: None,
            from_config: false,
            assumed: Some(
                "no run configuration names the facility, so that every stored class of equipment runs with the rules at \
                 their defaults"
                    .to_owned(),
            ),
        })
    }
}

/// The packaged configuration of the data set that a facility was ingested from.
fn template(
    call: &Call<'_>,
    facility: &FacilityId,
) -> Result<Option<(String, RunConfig)>, CapabilityError> {
    if !facility.is_dataset() {
        return Ok(None);
    }
    let recorded = call
        .policy
        .registry()
        .entry(facility.as_str())
        .and_then(|entry| entry.dataset())
        .and_then(|block| block.get("dataset_id"))
        .and_then(Value::as_str)
        .map(str::to_owned);
    let named = || {
        DatasetCatalogue::shipped()
            .by_facility(facility.as_str())
            .map(|entry| entry.id.clone())
    };
    let Some(dataset) = recorded.or_else(named) else {
        return Ok(None);
    };
    defaults::of_dataset(&dataset, facility.as_str())
        .transpose()
        .map(|config| config.map(|config| (dataset, config)))
        .map_err(|error| refused(&error))
}

/// A run reads the store that this server serves.
fn check_source(call: &Call<'_>, file: &RunConfigFile) -> Result<(), CapabilityError> {
    if let Some(Source::Folder(_)) = &file.config.source {
        return Err(CapabilityError::invalid(
            "the run configuration reads folders of CSV files; import them into the store with `niagara-bridge trends import` \
             and give it a source of kind store",
        ));
    }
    let same = |one: &Path, other: &Path| match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    };
    match &file.store {
        Some(store) if !same(store, call.store().root()) => Err(CapabilityError::invalid(
            "the run configuration names another store than this server serves; start the server on that store, or remove \
             source.store",
        )),
        _ => Ok(()),
    }
}

/// The caller's bounds replace those of the configuration, each its own.
fn window(config: &RunConfig, asked: Window) -> Result<Window, CapabilityError> {
    let own = match &config.source {
        Some(Source::Store(store)) => store.window,
        _ => Window::OPEN,
    };
    let window = Window {
        start: asked.start.or(own.start),
        end: asked.end.or(own.end),
    };
    match (window.start, window.end) {
        (Some(start), Some(end)) if end < start => Err(CapabilityError::invalid(
            "the window ends before it starts: a bound of the run configuration lies on the other side; give both start and \
             end",
        )),
        _ => Ok(window),
    }
}

/// Refuses equipment that is stored but that no entry of the configuration takes.
fn require_configured(
    call: &Call<'_>,
    config: &RunConfig,
    points: &FacilityPoints,
    equips: Option<&BTreeSet<String>>,
) -> Result<(), CapabilityError> {
    let Some(equips) = equips else {
        return Ok(());
    };
    let all: BTreeMap<String, String> = points.classes.clone();
    let judged: BTreeSet<String> = discovered(&config.equipment, &all, &points.points, None)
        .into_iter()
        .map(|found| found.equip)
        .collect();
    let left_out: Vec<String> = equips.difference(&judged).cloned().collect();
    if left_out.is_empty() {
        return Ok(());
    }
    let available: Vec<String> = judged.into_iter().collect();
    Err(CapabilityError::not_found(format!(
        "{} stored, but no entry of the run configuration's equipment takes it; it takes {}",
        listed(call, left_out.iter().map(String::as_str)),
        match available.is_empty() {
            true => "none".to_owned(),
            false => listed(call, available.iter().map(String::as_str)),
        }
    ))
    .with("argument", "equips")
    .with("unknown", left_out)
    .with(
        "available",
        available.into_iter().take(50).collect::<Vec<_>>(),
    ))
}
