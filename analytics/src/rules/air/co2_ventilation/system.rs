//! Zones that are judged with what their air handler tells of free cooling (Air rules §2.4).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::zone::Evidence;
use super::{mode, verdict};
use crate::finding::{Metrics, Severity, Verdict};
use crate::frame::Frame;
use crate::parameters::Parameters;
use crate::rules::FleetFrames;
use crate::rules::air::economizer_mode::EconomizerMode;
use crate::rules::air::grouping::Attribution;

/// A frame with its own evidence of free cooling.
struct Member<'f> {
    frame: &'f Frame<'f>,
    mode: Option<EconomizerMode>,
}

/// The rule over a fleet.
pub(super) fn analyse(fleet: &FleetFrames<'_>, parameters: &Parameters) -> Option<Verdict> {
    let is_excluded = parameters.flag("exclude_economizer");
    let members: BTreeMap<&str, Member<'_>> = fleet
        .frames
        .iter()
        .map(|frame| {
            let mode = is_excluded.then(|| mode(frame, parameters)).flatten();
            (frame.equip(), Member { frame, mode })
        })
        .collect();
    let zones: Vec<&str> = members
        .iter()
        .filter(|(_, member)| member.frame.has("co2"))
        .map(|(equip, _)| *equip)
        .collect();
    let sources: BTreeSet<&str> = members
        .iter()
        .filter(|(_, member)| member.mode.is_some() && !member.frame.has("co2"))
        .map(|(equip, _)| *equip)
        .collect();
    let mut metrics = Metrics::new();
    metrics
        .count("n_zones_with_co2", zones.len())
        .count("n_econ_sources", sources.len());
    if zones.is_empty() {
        metrics.set("declined", true);
        return Some(Verdict::info(
            metrics,
            "Ventilation was not judged: no zone has a CO2 sensor.",
        ));
    }
    let need: Vec<&str> = zones
        .iter()
        .copied()
        .filter(|zone| {
            members
                .get(zone)
                .is_some_and(|member| member.mode.is_none())
        })
        .collect();
    let mut attribution = Attribution::of(&need, &sources, fleet.topology);
    let unattributed = match sources.is_empty() {
        true => 0,
        false => need.len() - attribution.sources.len(),
    };
    if unattributed > 0 {
        attribution.caveats.push(format!(
            "{unattributed} of {} zones could not be joined to an air handler: their free cooling is not known.",
            zones.len()
        ));
    }
    let judged: Vec<(&str, Verdict)> = zones
        .iter()
        .filter_map(|zone| {
            let member = members.get(zone)?;
            let source = attribution.sources.get(*zone);
            let evidence = evidence(member, source, &members, is_excluded);
            Some((*zone, verdict(member.frame, parameters, &evidence)))
        })
        .collect();
    metrics
        .set("grouping_provenance", attribution.provenance)
        .count("n_zones_joined", attribution.sources.len())
        .count("n_zones_unattributed", unattributed)
        .set("per_zone", per_zone(&judged));
    let (severity, summary) = told(&judged)?;
    Some(Verdict::new(severity, metrics, summary).with_caveats(attribution.caveats))
}

fn evidence(
    member: &Member<'_>,
    source: Option<&String>,
    members: &BTreeMap<&str, Member<'_>>,
    is_excluded: bool,
) -> Evidence {
    if !is_excluded {
        return Evidence::Disabled;
    }
    if let Some(mode) = &member.mode {
        return Evidence::Mode {
            mode: mode.clone(),
            source: None,
        };
    }
    let handler = source.and_then(|source| members.get(source.as_str()));
    match handler.and_then(|handler| Some((handler, handler.mode.as_ref()?))) {
        Some((handler, mode)) => Evidence::Mode {
            mode: EconomizerMode {
                mask: aligned(&mode.mask, handler.frame.stamps(), member.frame.stamps()),
                basis: mode.basis,
            },
            source: source.cloned(),
        },
        None => Evidence::None,
    }
}

/// A mask over other stamps; false where the stamps of the mask have none.
fn aligned(mask: &[bool], stamps: &[i64], wanted: &[i64]) -> Vec<bool> {
    wanted
        .iter()
        .map(|stamp| {
            stamps
                .binary_search(stamp)
                .ok()
                .and_then(|place| mask.get(place).copied())
                .unwrap_or(false)
        })
        .collect()
}

fn per_zone(judged: &[(&str, Verdict)]) -> Map<String, Value> {
    judged
        .iter()
        .map(|(zone, verdict)| {
            let mut row = json!({"severity": verdict.severity.word(), "summary": verdict.summary});
            if let Value::Object(row) = &mut row {
                row.extend(verdict.metrics.clone().into_map());
            }
            ((*zone).to_owned(), row)
        })
        .collect()
}

/// The worst severity, and one line that leads with the first zone that has it.
fn told(judged: &[(&str, Verdict)]) -> Option<(Severity, String)> {
    let worst = judged.iter().map(|(_, verdict)| verdict.severity).min()?;
    let (zone, lead) = judged
        .iter()
        .find(|(_, verdict)| verdict.severity == worst)?;
    let n = judged.len();
    let flagged = judged
        .iter()
        .filter(|(_, verdict)| verdict.severity <= Severity::Warn)
        .count();
    if flagged > 0 {
        let told = format!(
            "{flagged} of {n} zones are ventilated too little or too much; worst {zone}: {}",
            lead.summary
        );
        return Some((worst, told));
    }
    let is_unknown = |verdict: &Verdict| verdict.metrics.as_number("over_vent_pct").is_none();
    let unknown = judged
        .iter()
        .filter(|(_, verdict)| is_unknown(verdict))
        .count();
    let told = match unknown {
        0 => format!(
            "{n} zones were judged by their CO2; none is ventilated too little or too much."
        ),
        _ => format!(
            "{n} zones were judged by their CO2 and none is flagged; over-ventilation could not be judged in {unknown}."
        ),
    };
    Some((worst, told))
}
