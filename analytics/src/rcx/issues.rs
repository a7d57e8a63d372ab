//! Issues: one per cause (RCx report §1.2, §3.5–§3.8, §5).

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::Ground;
use super::advice;
use super::buckets::{self, Bucket};
use super::confidence::{self, Confidence};
use super::cost::{self, IssueCost};
use super::items::{self, Item};
use super::plant_links::{self, PlantLink};
use super::ranking::{Rank, Ranked};
use super::samples::{self, Mask};
use super::sensors;
use super::zone_chains;
use crate::finding::Severity;
use crate::numeric::round;

/// One finding of an issue.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// As `finding_detail` takes it; none for a comparison of sensors.
    pub finding_id: Option<String>,
    pub rule: String,
    pub equip: String,
    pub severity: Severity,
    pub summary: String,
    /// Figures that are no lists or objects.
    pub metrics: Map<String, Value>,
}

/// One ranked cause.
#[derive(Debug, Clone, PartialEq)]
pub struct Issue {
    /// Twelve hex digits, the same for the same cause in every report.
    pub key: String,
    /// From 1.
    pub rank: usize,
    /// What to do, or what was found.
    pub title: String,
    /// The title where a sequence that nobody declared is not held against the site.
    pub heading: String,
    /// May be empty.
    pub cause: String,
    /// What to do; none without advice.
    pub action: Option<String>,
    pub equip: String,
    pub severity: Severity,
    /// The root first.
    pub members: Vec<Member>,
    /// US dollars a year; none when uncosted.
    pub annual_cost: Option<f64>,
    pub cost_note: String,
    /// Hours in which any member is flagged; none when no member tells hours.
    pub hours: Option<f64>,
    /// Of the hours with the fan on.
    pub pct_runtime: Option<f64>,
    pub fan_on_hours: Option<f64>,
    pub confidence: Confidence,
    /// Sensors that its findings rest on.
    pub conditional_on: Vec<String>,
    /// Sensors that only its cost rests on.
    pub cost_conditional_on: Vec<String>,
    pub why: Vec<String>,
}

impl Issue {
    /// Whether its cost counts among the certain ones.
    pub fn is_at_risk(&self) -> bool {
        !self.conditional_on.is_empty() || !self.cost_conditional_on.is_empty()
    }

    /// Its cause, else its heading.
    pub fn cause_or_heading(&self) -> &str {
        match self.cause.is_empty() {
            true => &self.heading,
            false => &self.cause,
        }
    }
}

/// An issue before it has a rank.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub key: String,
    pub bucket: Bucket,
    pub severity: Severity,
    pub cost: IssueCost,
    pub confidence: Confidence,
    pub reasons: Vec<String>,
    /// Causes, as places in the list of all.
    pub conditional_on: Vec<usize>,
    pub cost_conditional_on: Vec<usize>,
    /// Whether its root is a comparison of a sensor with a reference.
    pub is_sensor: bool,
    /// The comparisons that it is conditional on, as items.
    pub sensors: BTreeSet<usize>,
}

/// All issues, unranked.
pub(super) fn drafts(ground: &Ground<'_>) -> Vec<Draft> {
    let mut buckets = buckets::buckets(&ground.items, &ground.chains.moved);
    for ((root, chain), tally) in &ground.chains.tallies {
        let line = zone_chains::line(*chain, tally);
        if let Some(bucket) = buckets
            .iter_mut()
            .find(|bucket| bucket.members.contains(root))
        {
            bucket.chain_lines.push(line);
        }
    }
    buckets
        .into_iter()
        .filter_map(|bucket| draft(ground, bucket))
        .collect()
}

fn draft(ground: &Ground<'_>, bucket: Bucket) -> Option<Draft> {
    let members: Vec<&Item<'_>> = bucket
        .members
        .iter()
        .filter_map(|place| ground.item(*place))
        .collect();
    let root = members.first()?;
    let is_own = |cause: usize| {
        ground
            .causes
            .get(cause)
            .and_then(|cause| cause.item)
            .is_some_and(|item| bucket.members.contains(&item))
    };
    let tainted: BTreeSet<usize> = members
        .iter()
        .flat_map(|item| sensors::tainting(&ground.causes, item))
        .filter(|cause| !is_own(*cause))
        .collect();
    let cost_tainted: Vec<usize> = ground
        .causes
        .iter()
        .enumerate()
        .filter(|(place, cause)| {
            !tainted.contains(place) && members.iter().any(|item| cause.taints_cost(item))
        })
        .map(|(place, _)| place)
        .collect();
    let (confidence, reasons) =
        confidence::of_root(ground.input, root, &ground.units, !tainted.is_empty());
    let sensors = tainted
        .iter()
        .filter_map(|cause| ground.causes.get(*cause)?.item)
        .collect();
    Some(Draft {
        key: key(ground, &bucket.equip, &root.rule),
        severity: members
            .iter()
            .map(|item| item.severity())
            .min()
            .unwrap_or(Severity::Warn),
        cost: cost::of_issue(ground.input, &members),
        confidence,
        reasons,
        conditional_on: tainted.into_iter().collect(),
        cost_conditional_on: cost_tainted,
        is_sensor: root.sensor_role().is_some(),
        sensors,
        bucket,
    })
}

/// Twelve hex digits of SHA-1 over facility, equipment and root rule.
fn key(ground: &Ground<'_>, equip: &str, rule: &str) -> String {
    let text = [ground.input.facility, equip, rule].join("\u{1f}");
    let mut key = (ground.input.sha1)(text.as_bytes());
    key.truncate(12);
    key
}

impl Rank for Draft {
    fn severity(&self) -> Severity {
        self.severity
    }

    fn is_conditional(&self) -> bool {
        !self.conditional_on.is_empty()
    }

    fn cost(&self) -> Option<f64> {
        self.cost.annual_cost
    }

    fn confidence(&self) -> Confidence {
        self.confidence
    }

    fn key(&self) -> &str {
        &self.key
    }

    fn is_sensor(&self) -> bool {
        self.is_sensor
    }

    fn rests_on(&self, other: &Self) -> bool {
        other
            .bucket
            .members
            .iter()
            .any(|member| self.sensors.contains(member))
    }
}

/// The issues of drafts in their order.
pub(super) fn finished(ground: &Ground<'_>, ranked: &Ranked<Draft>) -> Vec<Issue> {
    let links = plant_links::find(ground, ranked);
    ranked
        .iter()
        .enumerate()
        .map(|(place, draft)| issue(ground, draft, place, &links))
        .collect()
}

fn issue(ground: &Ground<'_>, draft: &Draft, place: usize, links: &[PlantLink]) -> Issue {
    let members: Vec<&Item<'_>> = draft
        .bucket
        .members
        .iter()
        .filter_map(|place| ground.item(*place))
        .collect();
    let hours = hours(ground, draft, &members);
    let label = |causes: &[usize]| -> Vec<String> {
        let mut labels = Vec::new();
        for cause in causes.iter().filter_map(|place| ground.causes.get(*place)) {
            if !labels.contains(&cause.label) {
                labels.push(cause.label.clone());
            }
        }
        labels
    };
    let cost_conditional_on = label(&draft.cost_conditional_on);
    let mut why = draft.reasons.clone();
    why.extend(draft.bucket.chain_lines.iter().cloned());
    why.extend(links.iter().filter_map(|link| link.line(ground, place)));
    if !cost_conditional_on.is_empty() {
        why.push(format!(
            "The estimate is at risk: it reads {}",
            cost_conditional_on.join(", ")
        ));
    }
    let root = members.first();
    let title = root.map(|root| advice::title(root)).unwrap_or_default();
    let held_back = root.is_some_and(|root| is_undeclared_g36(ground, root));
    Issue {
        key: draft.key.clone(),
        rank: place + 1,
        heading: match root.filter(|_| held_back) {
            Some(root) => advice::humanised(&root.rule),
            None => title.clone(),
        },
        action: root
            .filter(|_| !held_back)
            .and_then(|root| advice::action(root))
            .map(str::to_owned),
        title,
        cause: ground.input.words.text(&advice::cause(&members)),
        equip: draft.bucket.equip.clone(),
        severity: draft.severity,
        members: members.iter().map(|item| member(ground, item)).collect(),
        annual_cost: draft.cost.annual_cost,
        cost_note: draft.cost.note.clone(),
        hours: hours.flagged,
        pct_runtime: hours.percent(),
        fan_on_hours: hours.fan_on,
        confidence: draft.confidence,
        conditional_on: label(&draft.conditional_on),
        cost_conditional_on,
        why,
    }
}

fn member(ground: &Ground<'_>, item: &Item<'_>) -> Member {
    Member {
        finding_id: item.id.map(str::to_owned),
        rule: item.rule.to_string(),
        equip: item.equip.to_string(),
        severity: item.severity(),
        summary: ground.input.words.text(&item.verdict.summary),
        metrics: items::scalars(&item.verdict.metrics),
    }
}

/// A rule of Guideline 36 on a class for which nobody declared its sequence; boxes also accept one of air handlers.
fn is_undeclared_g36(ground: &Ground<'_>, root: &Item<'_>) -> bool {
    if !(root.rule.starts_with("g36_") || root.rule.ends_with("_g36")) {
        return false;
    }
    let class = root
        .place
        .and_then(|place| ground.input.frames.get(place))
        .map_or("", crate::run_frame::RunFrame::equip_class);
    let family = crate::families::family(class);
    !ground
        .input
        .config
        .report
        .g36_classes
        .iter()
        .any(|declared| {
            declared == class
                || (family == Some("terminal")
                    && matches!(
                        crate::families::family(declared),
                        Some("air_handler" | "terminal")
                    ))
        })
}

#[derive(Default)]
struct IssueHours {
    flagged: Option<f64>,
    fan_on: Option<f64>,
}

impl IssueHours {
    fn percent(&self) -> Option<f64> {
        let fan_on = self.fan_on.filter(|hours| *hours > 0.0)?;
        Some(round(100.0 * self.flagged? / fan_on, 1))
    }
}

/// Hours in which any member is flagged while the fan of the issue's equipment runs.
fn hours(ground: &Ground<'_>, draft: &Draft, members: &[&Item<'_>]) -> IssueHours {
    let masks: Vec<Mask> = draft
        .bucket
        .members
        .iter()
        .filter_map(|place| {
            zone_chains::mask(ground.input, &ground.items, &ground.judgements, *place)
        })
        .collect();
    let place = members.first().and_then(|root| root.place);
    let table = place
        .and_then(|place| ground.input.frames.get(place))
        .map(crate::run_frame::RunFrame::table);
    let gate = place
        .and_then(|place| ground.units.get(place))
        .and_then(|unit| unit.fan.as_ref());
    let flagged = (!masks.is_empty()).then(|| {
        let union = Mask::union(&masks);
        match table {
            Some(table) => union.gated(table, gate).hours(),
            None => union.hours(),
        }
    });
    let fan_on = table.zip(gate).map(|(table, gate)| {
        let on = gate.mask.iter().filter(|on| **on).count();
        samples::hours(on, &table.stamps)
    });
    IssueHours { flagged, fan_on }
}
