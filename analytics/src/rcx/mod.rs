//! The report of issues as data: findings merged into causes, ranked, costed, with how sure the report is and why.
//!
//! - [`items`], [`units`]: the findings and the equipment that it is made of.
//! - [`buckets`], [`zone_chains`], [`plant_links`]: which findings are one cause, and which causes are linked.
//! - [`sensors`]: sensors that findings rest on.
//! - [`advice`], [`cost`], [`confidence`], [`samples`]: what an issue is called, costs, how sure it is, how long it lasts.
//! - [`ranking`], [`kpis`], [`facts`], [`sections`]: the whole.
//!
//! Source: RCx report as data.

mod advice;
mod buckets;
mod confidence;
mod cost;
mod facts;
mod issues;
mod items;
mod kpis;
mod plant_links;
mod ranking;
mod samples;
mod sections;
mod sensors;
mod units;
mod zone_chains;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

pub use self::confidence::Confidence;
pub use self::facts::IndexEntry;
pub use self::issues::{Issue, Member};
pub use self::kpis::Kpis;
pub use self::sections::Section;

use self::items::Item;
use self::sensors::Cause;
use self::units::{OutdoorSource, Unit};
use self::zone_chains::ZoneChains;
use crate::finding::Judgement;
use crate::run_config::{ChosenRule, RunConfig};
use crate::run_frame::RunFrame;
use crate::runner::units::{Cancelled, in_parallel};
use crate::runner::{Finding, RunOutcome};
use crate::topology::Topology;
use crate::trust::references::Comparisons;
use crate::wall_clock::spaced;

/// How text from the data is written into sentences.
pub trait Words: Sync {
    /// A name of equipment, in quotes.
    fn name(&self, name: &str) -> String;
    /// A sentence of a rule, which may hold names.
    fn text(&self, text: &str) -> String;
}

/// Names in plain quotes, sentences as they are.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlainWords;

impl Words for PlainWords {
    fn name(&self, name: &str) -> String {
        format!("\"{name}\"")
    }

    fn text(&self, text: &str) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// What a report is made of.
#[derive(Clone, Copy)]
pub struct ReportInput<'a> {
    /// Names the keys of issues.
    pub facility: &'a str,
    /// Names the report.
    pub site: &'a str,
    pub config: &'a RunConfig,
    pub rules: &'a [ChosenRule],
    /// In the order of the run.
    pub frames: &'a [RunFrame],
    pub outcome: &'a RunOutcome,
    pub comparisons: &'a Comparisons,
    /// Findings of the drift section of the configuration.
    pub drift: &'a [Finding],
    /// As the configuration declares it; never a guess from names.
    pub topology: Option<&'a Topology>,
    /// Points are stored by their roles, not read from names of files.
    pub from_store: bool,
    pub words: &'a dyn Words,
    /// SHA-1 in hex digits, for the keys of issues.
    pub sha1: &'a (dyn Fn(&[u8]) -> String + Sync),
    pub threads: NonZeroUsize,
    /// Asked before each unit of work; true ends the run.
    pub cancelled: &'a (dyn Fn() -> bool + Sync),
}

/// The whole report.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    pub title: String,
    pub site: String,
    /// First and last stamp as texts; `None` twice without data.
    pub period: [String; 2],
    pub kpis: Kpis,
    /// By rank.
    pub issues: Vec<Issue>,
    pub sections: Vec<Section>,
    /// In the order of the index.
    pub index: Vec<IndexEntry>,
}

/// Everything that the parts of a report look at.
struct Ground<'a> {
    input: &'a ReportInput<'a>,
    units: Vec<Unit>,
    items: Vec<Item<'a>>,
    causes: Vec<Cause>,
    /// The samples behind warnings and faults, by item.
    judgements: BTreeMap<usize, Judgement>,
    chains: ZoneChains,
}

impl<'a> Ground<'a> {
    fn of(input: &'a ReportInput<'a>) -> Result<Self, Cancelled> {
        let units = in_parallel(input.frames, input.threads, input.cancelled, Unit::of)?;
        let sources: Vec<OutdoorSource> = units::outdoor_sources(input.frames, &units);
        let items = items::all(input, &sources);
        let causes = sensors::causes(input, &items, &units, &sources);
        let actionable: Vec<usize> = items
            .iter()
            .enumerate()
            .filter(|(_, item)| item.is_actionable())
            .map(|(place, _)| place)
            .collect();
        let judged = in_parallel(&actionable, input.threads, input.cancelled, |place| {
            items
                .get(*place)
                .and_then(|item| items::judgement(input, item))
        })?;
        let judgements: BTreeMap<usize, Judgement> = actionable
            .iter()
            .zip(judged)
            .filter_map(|(place, judgement)| Some((*place, judgement?)))
            .collect();
        let conditional: BTreeSet<usize> = actionable
            .into_iter()
            .filter(|place| {
                items
                    .get(*place)
                    .is_some_and(|item| sensors::tainting(&causes, item).next().is_some())
            })
            .collect();
        let chains = zone_chains::find(input, &items, &units, &judgements, &conditional);
        Ok(Self {
            input,
            units,
            items,
            causes,
            judgements,
            chains,
        })
    }

    fn item(&self, place: usize) -> Option<&Item<'a>> {
        self.items.get(place)
    }
}

impl Report {
    /// Makes the report.
    ///
    /// # Errors
    /// The run was cancelled.
    pub fn of(input: &ReportInput<'_>) -> Result<Self, Cancelled> {
        let ground = Ground::of(input)?;
        let drafts = issues::drafts(&ground);
        let ranked = ranking::ranked(drafts);
        let issues: Vec<Issue> = issues::finished(&ground, &ranked);
        let kpis = kpis::of(&ground, &issues);
        let index = facts::index(&ground, &ranked, &issues, &kpis);
        let sections = sections::all(&ground, &issues);
        Ok(Self {
            title: input
                .config
                .report
                .title
                .clone()
                .unwrap_or_else(|| format!("Retro-commissioning report: {}", input.site)),
            site: input.site.to_owned(),
            period: period(input.frames),
            kpis,
            issues,
            sections,
            index,
        })
    }
}

fn period(frames: &[RunFrame]) -> [String; 2] {
    let first = frames
        .iter()
        .filter_map(|frame| frame.table().stamps.first())
        .min();
    let last = frames
        .iter()
        .filter_map(|frame| frame.table().stamps.last())
        .max();
    [first, last].map(|stamp| stamp.map_or_else(|| "None".to_owned(), |stamp| spaced(*stamp)))
}
