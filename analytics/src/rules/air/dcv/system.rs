//! Air handlers that are judged by the CO2 of the zones that they serve (Air rules §2.9).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::report;
use super::setting::Setting;
use super::unit::{self, Unit};
use crate::finding::{Metrics, Severity, Verdict};
use crate::frame::Frame;
use crate::numeric;
use crate::parameters::Parameters;
use crate::rules::FleetFrames;
use crate::rules::air::grouping::Attribution;

/// Plausible CO2 (ppm), and how many samples a zone needs.
const PLAUSIBLE: std::ops::RangeInclusive<f64> = 250.0..=5000.0;
const MIN_SAMPLES: usize = 24;

/// How the CO2 of zones is joined and doubted.
struct Joining {
    is_mean: bool,
    stuck_std_ppm: f64,
    unoccupied_excess_ppm: f64,
    assumed_outdoor_ppm: f64,
}

impl Joining {
    fn of(parameters: &Parameters) -> Self {
        Self {
            is_mean: parameters.word("agg") == Some("mean"),
            stuck_std_ppm: parameters.number("stuck_std_ppm"),
            unoccupied_excess_ppm: parameters.number("unoccupied_excess_ppm"),
            assumed_outdoor_ppm: parameters.number("assumed_outdoor_ppm"),
        }
    }

    const fn word(&self) -> &'static str {
        if self.is_mean { "mean" } else { "max" }
    }

    /// Why the CO2 of a zone is not used; none when it is.
    fn doubt(&self, zone: &Frame<'_>, setting: &Setting) -> Option<String> {
        let co2 = zone.column("co2")?;
        let plausible: Vec<f64> = co2
            .iter()
            .copied()
            .filter(|level| PLAUSIBLE.contains(level))
            .collect();
        if plausible.len() < MIN_SAMPLES {
            return Some(format!("{} plausible samples", plausible.len()));
        }
        let spread = numeric::std_sample(&plausible);
        if spread < self.stuck_std_ppm {
            return Some(format!("its CO2 hardly varies ({spread:.1} ppm)"));
        }
        let outdoor = zone
            .with_data("outdoor_co2")
            .map_or(self.assumed_outdoor_ppm, numeric::median);
        let mut unoccupied: Vec<f64> = co2
            .iter()
            .zip(unit::occupied(zone, setting))
            .filter(|(level, occupied)| !occupied && PLAUSIBLE.contains(*level))
            .map(|(level, _)| *level)
            .collect();
        let n = unoccupied.len();
        let empty = numeric::median_in_place(&mut unoccupied);
        (n >= MIN_SAMPLES && empty > outdoor + self.unoccupied_excess_ppm).then(|| {
            format!("its CO2 is {empty:.0} ppm while nobody is there, outdoor air {outdoor:.0} ppm")
        })
    }

    /// CO2 of zones at the stamps of an air handler.
    fn demand(&self, zones: &[&Frame<'_>], stamps: &[i64]) -> Vec<f64> {
        let mut levels: Vec<(f64, usize)> = vec![(f64::NAN, 0); stamps.len()];
        for zone in zones {
            let co2 = zone.column("co2").unwrap_or_default();
            for (stamp, level) in zone.stamps().iter().zip(co2) {
                let place = stamps.binary_search(stamp).ok();
                let Some((sum, count)) = place.and_then(|place| levels.get_mut(place)) else {
                    continue;
                };
                if level.is_nan() {
                    continue;
                }
                *sum = match (*count, self.is_mean) {
                    (0, _) => *level,
                    (_, true) => *sum + level,
                    (_, false) => sum.max(*level),
                };
                *count += 1;
            }
        }
        levels
            .into_iter()
            .map(|(sum, count)| {
                if self.is_mean && count > 0 {
                    sum / numeric::share_of(count)
                } else {
                    sum
                }
            })
            .collect()
    }
}

/// An air handler as it was judged.
struct Handler<'a> {
    equip: &'a str,
    severity: Severity,
    verdict: Verdict,
    zones: usize,
}

/// The rule over a fleet.
pub(super) fn analyse(fleet: &FleetFrames<'_>, parameters: &Parameters) -> Option<Verdict> {
    let setting = Setting::of(parameters);
    let joining = Joining::of(parameters);
    let frames: BTreeMap<&str, &Frame<'_>> = fleet
        .frames
        .iter()
        .map(|frame| (frame.equip(), frame))
        .collect();
    let (mut sources, mut zones) = (BTreeSet::new(), Vec::new());
    for (equip, frame) in &frames {
        match (frame.has("co2"), unit::has_outdoor_air(frame, &setting)) {
            (true, false) => zones.push(*equip),
            (false, true) => {
                sources.insert(*equip);
            }
            _ => {}
        }
    }
    let mut metrics = Metrics::new();
    metrics
        .count("n_oa_sources", sources.len())
        .count("n_zones_with_co2", zones.len());
    if sources.is_empty() || zones.is_empty() {
        metrics.set("declined", true);
        return Some(Verdict::info(
            metrics,
            "Ventilation by demand was not judged: it takes an air handler with a signal of outdoor air, and zones with CO2.",
        ));
    }
    let attribution = Attribution::of(&zones, &sources, fleet.topology);
    let mut caveats = attribution.caveats.clone();
    let unattributed = zones.len() - attribution.sources.len();
    if unattributed > 0 {
        caveats.push(format!(
            "{unattributed} of {} zones with CO2 could not be joined to an air handler.",
            zones.len()
        ));
    }
    let mut served: BTreeMap<&str, Vec<&Frame<'_>>> = BTreeMap::new();
    let mut doubts = Vec::new();
    for (zone, source) in &attribution.sources {
        let (Some((source, _)), Some(frame)) = (
            frames.get_key_value(source.as_str()),
            frames.get(zone.as_str()),
        ) else {
            continue;
        };
        match joining.doubt(frame, &setting) {
            Some(doubt) => doubts.push(format!("{zone}: {doubt}")),
            None => served.entry(source).or_default().push(frame),
        }
    }
    if !doubts.is_empty() {
        caveats.push(format!(
            "{} zones are left out: {}.",
            doubts.len(),
            doubts.join("; ")
        ));
    }
    let is_guess = attribution.provenance == Some("heuristic");
    let handlers: Vec<Handler<'_>> = served
        .iter()
        .filter_map(|(equip, zones)| {
            let frame = frames.get(equip)?;
            let demand = joining.demand(zones, frame.stamps());
            let unit = Unit::of(frame, &demand, &setting)?;
            let verdict = report::verdict(&unit, &setting)?;
            let severity = match verdict.severity {
                Severity::Fault if is_guess => Severity::Warn,
                severity => severity,
            };
            Some(Handler {
                equip,
                severity,
                verdict,
                zones: zones.len(),
            })
        })
        .collect();
    let joined: usize = served.values().map(Vec::len).sum();
    metrics
        .set("grouping_provenance", attribution.provenance)
        .set("agg", joining.word())
        .count("n_zones_joined", joined)
        .count("n_zones_unattributed", unattributed)
        .count("n_zones_excluded", doubts.len());
    let Some(severity) = handlers.iter().map(|handler| handler.severity).min() else {
        metrics.set("per_ahu", Map::new()).set("declined", true);
        let told = "Ventilation by demand was not judged: no zone with usable CO2 is joined to an air handler.";
        return Some(Verdict::info(metrics, told).with_caveats(caveats));
    };
    let rows: Map<String, Value> = handlers
        .iter()
        .map(|handler| {
            let row = report::row(&handler.verdict, handler.severity, handler.zones);
            (handler.equip.to_owned(), row)
        })
        .collect();
    metrics.set("per_ahu", rows);
    for handler in &handlers {
        let own = handler.verdict.caveats.iter();
        caveats.extend(own.map(|caveat| format!("{}: {caveat}", handler.equip)));
    }
    let told = told(&handlers, severity);
    Some(Verdict::new(severity, metrics, told).with_caveats(caveats))
}

fn told(handlers: &[Handler<'_>], severity: Severity) -> String {
    let n = handlers.len();
    let flagged = handlers
        .iter()
        .filter(|handler| handler.severity <= Severity::Warn)
        .count();
    let worst = handlers
        .iter()
        .find(|handler| handler.severity == severity)
        .filter(|_| flagged > 0);
    if let Some(worst) = worst {
        return format!(
            "{flagged} of {n} air handlers do not ventilate as their zones need; worst {}: {}",
            worst.equip, worst.verdict.summary
        );
    }
    let open = handlers
        .iter()
        .filter(|handler| handler.severity == Severity::Info)
        .count();
    format!(
        "{n} air handlers were compared with the CO2 of their zones: {} answer demand, {open} could not be judged.",
        n - open
    )
}
