//! One run of drift over a facility (Drift §2).

use std::collections::{BTreeMap, BTreeSet};

use niagara_analytics::RunFrame;
use niagara_analytics::drift::questions::questions;
use niagara_analytics::drift::{self, DriftError, DriftOutcome, DriftRun, Family};
use niagara_analytics::run_config::{
    DriftEntry, DriftReference, Source, WrittenWindow, discovered,
};
use serde_json::{Map, Value};

use super::rules::FrameTrust;
use super::{RunGround, frames, refused};
use crate::camber::call::Call;
use crate::camber::capabilities::selection;
use crate::camber::error::CapabilityError;
use crate::camber::hygiene;
use crate::trends::store::wall_clock::iso;

/// What baselines of a call are told to be from.
const RUN_ID: &str = "capability";

/// What a run is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BaselineSource {
    /// A window of the call, fitted for it only.
    Period,
    /// What the configuration declares.
    Frozen,
}

impl BaselineSource {
    /// The word on the wire.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Period => "baseline_period",
            Self::Frozen => "frozen_baselines",
        }
    }
}

/// A run and what it was made of.
pub struct DriftCall<'a> {
    pub ground: RunGround<'a>,
    pub frames: Vec<RunFrame>,
    pub source: BaselineSource,
    pub outcome: DriftOutcome,
    /// Equipment of classes that no family judges by itself, with the reason.
    pub unjudged: Vec<(String, String)>,
    /// The trust floor of the run.
    pub floor: f64,
}

impl<'a> DriftCall<'a> {
    /// Runs what the arguments `facility_id`, `baseline`, `current`, `families` and `equips` ask for.
    ///
    /// # Errors
    /// As [`RunGround::of`] and [`frames::load`]; a window is none, or holds no sample; there is nothing to compare with; or
    /// a class is not stored.
    pub fn of(call: &Call<'a>, arguments: &Map<String, Value>) -> Result<Self, CapabilityError> {
        let baseline = asked_window(arguments, "baseline")?;
        if let Some(window) = &baseline
            && (window.start.is_none() || window.end.is_none())
        {
            return Err(CapabilityError::invalid(
                "baseline needs both of its ends: when was the equipment known to be good?",
            ));
        }
        let current = asked_window(arguments, "current")?;
        let families = asked_families(arguments);
        let classes: Vec<&str> = match &baseline {
            Some(_) => families
                .iter()
                .flatten()
                .map(|entry| entry.class.as_str())
                .collect(),
            None => Vec::new(),
        };
        let mut ground = RunGround::with_classes(call, arguments, &classes)?;
        require_classes(call, &ground, families.as_deref(), baseline.is_some())?;
        let takes_usual = baseline.is_some() && families.is_none();
        let (source, mut entries, run_id) = match baseline.clone() {
            Some(period) => {
                let entries = entries_of_call(&ground, families, period, current.as_ref())?;
                (BaselineSource::Period, entries, RUN_ID.to_owned())
            }
            None => {
                let (entries, run_id) = entries_of_config(&ground, families, current.clone())?;
                (BaselineSource::Frozen, entries, run_id)
            }
        };
        let judged = selection::asked(arguments, "equips");
        if judged.is_some() {
            add_references(&mut ground, &entries);
        }
        let frames = frames::load(call, &ground)?;
        for (argument, window) in [("baseline", &baseline), ("current", &current)] {
            if let Some(window) = window {
                require_samples(call, &ground, argument, window)?;
            }
        }
        if entries.iter().any(|entry| entry.reference.is_none()) {
            note_frozen(&mut ground);
        }
        let floor = ground.config.trust_floor(call.caller.min_trust);
        note_repeated(&mut ground, &mut entries);
        if entries.is_empty() {
            ground.notices.push(
                "drift.families of the run configuration is empty, so that nothing was compared: name families, or give a \
                 baseline [start, end]"
                    .to_owned(),
            );
        }
        let outcome = outcome(call, &ground, &frames, &entries, &run_id, judged.as_ref())?;
        note_questions(&mut ground, &frames, &outcome);
        let unjudged = match takes_usual {
            true => unjudged(&mut ground, &frames),
            false => Vec::new(),
        };
        Ok(Self {
            ground,
            frames,
            source,
            outcome,
            unjudged,
            floor,
        })
    }
}

/// Runs entries over loaded frames.
///
/// # Errors
/// The call's time is over, or a reference is no equipment of the run.
pub fn outcome(
    call: &Call<'_>,
    ground: &RunGround<'_>,
    frames: &[RunFrame],
    entries: &[DriftEntry],
    run_id: &str,
    judged: Option<&BTreeSet<String>>,
) -> Result<DriftOutcome, CapabilityError> {
    let of_source = match &ground.config.source {
        Some(Source::Store(store)) => Some(&store.facility),
        _ => None,
    };
    let named = call
        .policy
        .registry()
        .entry(ground.facility.as_str())
        .and_then(|entry| entry.shown_name());
    let sites: Vec<String> = [&ground.config.facility_id, &ground.config.site]
        .into_iter()
        .flatten()
        .chain(of_source)
        .map(String::as_str)
        .chain(named)
        .map(str::to_owned)
        .collect();
    drift::run(&DriftRun {
        entries,
        frames,
        judged,
        frozen: ground.file.and_then(|file| file.frozen().ok()),
        sites: &sites,
        run_id,
        elevation_ft: ground.config.site_elevation_ft,
        floor: Some(ground.config.trust_floor(call.caller.min_trust)),
        trust: &FrameTrust::of(frames),
        threads: call.workspace.threads,
        cancelled: &|| call.watch.is_over(),
    })
    .map_err(|error| match error {
        DriftError::Cancelled(_) => call.watch.overdue(),
        DriftError::NoReference { .. } => CapabilityError::invalid(error.to_string()),
    })
}

fn asked_window(
    arguments: &Map<String, Value>,
    name: &str,
) -> Result<Option<WrittenWindow>, CapabilityError> {
    let Some(Value::Array(ends)) = arguments.get(name) else {
        return Ok(None);
    };
    let end = |place: usize| ends.get(place).and_then(Value::as_str);
    WrittenWindow::of(end(0), end(1))
        .map(Some)
        .map_err(|problem| CapabilityError::invalid(format!("{name}: {problem}")))
}

fn asked_families(arguments: &Map<String, Value>) -> Option<Vec<DriftEntry>> {
    let rows = arguments.get("families")?.as_array()?;
    let entries = rows.iter().filter_map(|row| {
        let text = |key: &str| row.get(key).and_then(Value::as_str);
        Some(DriftEntry::bare(
            text("equip_class")?,
            Family::named(text("family")?)?,
        ))
    });
    Some(entries.collect())
}

/// Refuses classes of the call that nothing is stored of, or that the configuration of frozen baselines does not take.
fn require_classes(
    call: &Call<'_>,
    ground: &RunGround<'_>,
    families: Option<&[DriftEntry]>,
    stored: bool,
) -> Result<(), CapabilityError> {
    const TERMINAL: [&str; 3] = ["VAV", "CAV", "FCAV"];
    let known: BTreeSet<&str> = match stored {
        true => ground.points.classes.values().map(String::as_str).collect(),
        false => ground
            .config
            .equipment
            .iter()
            .map(|entry| entry.class.as_str())
            .collect(),
    };
    let is_known = |class: &str| {
        known.contains(class)
            || (class == "TERMINAL" && TERMINAL.iter().any(|one| known.contains(one)))
    };
    let mut unknown: Vec<String> = Vec::new();
    for entry in families.into_iter().flatten() {
        if !is_known(&entry.class) && !unknown.contains(&entry.class) {
            unknown.push(entry.class.clone());
        }
    }
    if unknown.is_empty() {
        return Ok(());
    }
    let available: Vec<String> = known.iter().map(|class| (*class).to_owned()).collect();
    Err(CapabilityError::unknown_values(
        "families",
        &unknown,
        &available,
        |name| {
            match known.contains(name) {
                true => call.quote(name),
                // What the caller sent is no name from the data.
                false => crate::camber::hygiene::quoted(name),
            }
        },
    ))
}

/// The entries of a call with a baseline of its own: what it names, else the family of every class.
fn entries_of_call(
    ground: &RunGround<'_>,
    families: Option<Vec<DriftEntry>>,
    period: WrittenWindow,
    current: Option<&WrittenWindow>,
) -> Result<Vec<DriftEntry>, CapabilityError> {
    let mut entries = families.unwrap_or_else(|| {
        let mut seen = BTreeSet::new();
        ground
            .config
            .equipment
            .iter()
            .map(|entry| entry.class.as_str())
            .filter(|class| seen.insert(*class))
            .filter_map(|class| Some(DriftEntry::bare(class, Family::of_class(class)?)))
            .collect()
    });
    if entries.is_empty() {
        return Err(CapabilityError::invalid(
            "no class of the facility's equipment has a family of its own; name families, for example \
             [{\"equip_class\": \"AHU\", \"family\": \"ahu\"}]",
        ));
    }
    for entry in &mut entries {
        entry.reference = Some(DriftReference::Period(period.clone()));
        entry.current = current.cloned();
    }
    Ok(entries)
}

/// The entries of the configuration, or those of the call over its windows and frozen baselines; and the name of the run.
fn entries_of_config(
    ground: &RunGround<'_>,
    families: Option<Vec<DriftEntry>>,
    current: Option<WrittenWindow>,
) -> Result<(Vec<DriftEntry>, String), CapabilityError> {
    let is_empty = |section: &&Value| match section {
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    };
    let written = ground
        .config
        .raw("drift")
        .filter(|section| !is_empty(section));
    let section = ground.config.drift.as_ref().filter(|_| written.is_some());
    let Some(section) = section else {
        return Err(CapabilityError::invalid(
            "there is nothing to compare with: give a baseline [start, end] in which the equipment was known to be good, or a \
             run configuration with a drift section for this facility",
        ));
    };
    let entries = section
        .resolved(families, current)
        .map_err(|error| refused(&error))?;
    Ok((entries, section.run_id.clone().unwrap_or_default()))
}

/// A family over a class that is given twice with the same windows runs once.
fn note_repeated(ground: &mut RunGround<'_>, entries: &mut Vec<DriftEntry>) {
    let mut kept: Vec<DriftEntry> = Vec::with_capacity(entries.len());
    let mut repeated: Vec<String> = Vec::new();
    for entry in entries.drain(..) {
        if !kept.contains(&entry) {
            kept.push(entry);
            continue;
        }
        let name = format!(
            "{} of {}",
            entry.family.word(),
            hygiene::quoted(&entry.class)
        );
        if !repeated.contains(&name) {
            repeated.push(name);
        }
    }
    *entries = kept;
    if !repeated.is_empty() {
        ground.notices.push(format!(
            "families names {} more than once; each ran once",
            repeated.join(", ")
        ));
    }
}

/// Says what windows make doubtful.
pub(super) fn note_questions(
    ground: &mut RunGround<'_>,
    frames: &[RunFrame],
    outcome: &DriftOutcome,
) {
    if let Some(data) = span(frames) {
        let asked = questions(&outcome.families, data, ground.config.resample);
        ground.notices.extend(asked);
    }
}

/// First and last stamp of the frames.
pub(super) fn span<'f>(
    frames: impl IntoIterator<Item = &'f RunFrame, IntoIter: Clone>,
) -> Option<(i64, i64)> {
    let frames = frames.into_iter();
    let stamps = || frames.clone().map(|frame| frame.table().stamps.as_slice());
    let first = stamps().filter_map(|stamps| stamps.first()).min()?;
    let last = stamps().filter_map(|stamps| stamps.last()).max()?;
    Some((*first, *last))
}

/// Equipment of classes without a usual family; and a notice of the families that would have inputs if they were named.
fn unjudged(ground: &mut RunGround<'_>, frames: &[RunFrame]) -> Vec<(String, String)> {
    let mut classes: BTreeMap<&str, Vec<&RunFrame>> = BTreeMap::new();
    for frame in frames {
        classes.entry(frame.equip_class()).or_default().push(frame);
    }
    let mut left_out = Vec::new();
    let mut unasked: Vec<(String, Vec<&str>)> = Vec::new();
    for (class, frames) in classes {
        let words: Vec<&str> = Family::unasked(class, frames.iter().copied())
            .into_iter()
            .map(Family::word)
            .collect();
        let has_usual = Family::of_class(class).is_some();
        let class = hygiene::quoted(class);
        if has_usual {
            unasked.push((class, words));
            continue;
        }
        let reason = match words.is_empty() {
            true => format!("no family judges the class {class}"),
            false => format!(
                "no family judges the class {class} by default; name {} in families",
                words.join(" or ")
            ),
        };
        let mut seen = BTreeSet::new();
        let equipment = frames.iter().map(|frame| frame.equip());
        left_out.extend(
            equipment
                .filter(|equip| seen.insert(*equip))
                .map(|equip| (equip.to_owned(), reason.clone())),
        );
    }
    unasked.retain(|(_, words)| !words.is_empty());
    if let Some((class, words)) = unasked.first() {
        let told: Vec<String> = unasked
            .iter()
            .map(|(class, words)| format!("{class} by {}", words.join(" or ")))
            .collect();
        ground.notices.push(format!(
            "beside the usual families, more could be judged: {}; name it in families, for example \
             [{{\"equip_class\": {class}, \"family\": \"{}\"}}]",
            told.join(", "),
            words.first().unwrap_or(&"")
        ));
    }
    left_out.sort();
    left_out
}

/// References are there even when a caller asks for other equipment only.
fn add_references(ground: &mut RunGround<'_>, entries: &[DriftEntry]) {
    let wanted: BTreeSet<String> = entries
        .iter()
        .filter_map(|entry| match &entry.reference {
            Some(DriftReference::Equipment { equip, .. }) => Some(equip.clone()),
            _ => None,
        })
        .filter(|equip| ground.equipment.iter().all(|found| found.equip != *equip))
        .collect();
    let points = &ground.points;
    let found = discovered(
        &ground.config.equipment,
        &points.classes,
        &points.points,
        Some(&wanted),
    );
    ground.equipment.extend(found);
}

/// Refuses a window of the call in which the facility has no sample at all.
fn require_samples(
    call: &Call<'_>,
    ground: &RunGround<'_>,
    argument: &str,
    window: &WrittenWindow,
) -> Result<(), CapabilityError> {
    match frames::outside(call, ground, window.window)? {
        None => Ok(()),
        Some((first, last)) => Err(CapabilityError::not_found(format!(
            "{argument} holds no stored sample of the facility; the first one is of {} and the last one of {}",
            iso(first),
            iso(last)
        ))
        .with("argument", argument)
        .with("first", iso(first))
        .with("last", iso(last))),
    }
}

/// Says when the frozen baselines could not be read: every detector declines then.
pub(super) fn note_frozen(ground: &mut RunGround<'_>) {
    let problem = match ground.file {
        None => Some("a packaged configuration comes without its file".to_owned()),
        Some(file) => file.frozen().err().map(str::to_owned),
    };
    if let Some(problem) = problem {
        ground.notices.push(format!(
            "no frozen baselines are there ({problem}), so that what is compared with them declines; freeze them, or give a \
             baseline [start, end]"
        ));
    }
}
