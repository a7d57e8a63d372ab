//! The findings that a report is made of: those of the rules, of sensor comparisons and of drift (RCx report §3.2).

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::ReportInput;
use super::units::{OUTDOOR, OutdoorSource};
use crate::finding::{Judgement, Metrics, Severity, Verdict};
use crate::run_config::{ChosenRule, ReferenceLimits};
use crate::runner::Finding;
use crate::trust::references::{Comparison, ReferenceSeries, compare};

/// What rules of sensor comparisons begin with.
pub(super) const SENSOR: &str = "sensor_drift:";
const COMPLIANCE: &str = "supply_air_reset_compliance";
/// As the rule names a line that is the building's own written sequence.
const SITE_SEQUENCE: &str = "site sequence";

/// Three outdoor temperatures or more can be compared with each other.
const FEWEST_PEERS: usize = 3;

/// One finding.
#[derive(Debug, Clone)]
pub(super) struct Item<'a> {
    /// The id that `finding_detail` takes; none for what no rule run gives.
    pub id: Option<&'a str>,
    pub rule: Cow<'a, str>,
    pub equip: Cow<'a, str>,
    /// Its frame; none for a fleet.
    pub place: Option<usize>,
    pub verdict: Cow<'a, Verdict>,
    pub chosen: Option<&'a ChosenRule>,
    pub is_declined: bool,
    pub source: Option<&'a Finding>,
    /// Of a sensor comparison: the equipment whose findings rest on the sensor.
    pub scope: Option<Vec<String>>,
}

impl Item<'_> {
    /// How bad it is.
    pub fn severity(&self) -> Severity {
        self.verdict.severity
    }

    /// Whether it is a warning or a fault.
    pub fn is_actionable(&self) -> bool {
        self.severity() <= Severity::Warn
    }

    /// The role that a sensor comparison judges.
    pub fn sensor_role(&self) -> Option<&str> {
        self.rule.strip_prefix(SENSOR)
    }

    /// A figure as a number.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.verdict.metrics.as_number(name)
    }

    /// A figure that is a switch.
    pub fn flag(&self, name: &str) -> Option<bool> {
        self.verdict.metrics.get(name).and_then(Value::as_bool)
    }

    /// A figure that is a word.
    pub fn word(&self, name: &str) -> Option<&str> {
        self.verdict.metrics.get(name).and_then(Value::as_str)
    }

    /// The required and any-of roles of its rule.
    pub fn needed_roles(&self) -> impl Iterator<Item = &str> {
        self.chosen.into_iter().flat_map(|rule| {
            let inputs = &rule.inputs;
            inputs
                .required
                .iter()
                .chain(inputs.any_of.iter().flatten())
                .map(String::as_str)
        })
    }

    /// Whether its rule reads a role for its verdict.
    pub fn reads(&self, role: &str) -> bool {
        let optional = self
            .chosen
            .into_iter()
            .flat_map(|rule| rule.inputs.optional.iter().map(String::as_str));
        self.needed_roles()
            .chain(optional)
            .any(|known| known == role)
    }

    /// Whether its rule reads a role only for the cost.
    pub fn costs_by(&self, role: &str) -> bool {
        self.chosen
            .is_some_and(|rule| rule.entry.cost_only.iter().any(|known| known == role))
    }
}

/// All findings: of the rules in the order of the run, of outdoor sensors, of other sensors, of drift.
pub(super) fn all<'a>(input: &ReportInput<'a>, sources: &[OutdoorSource]) -> Vec<Item<'a>> {
    let mut items: Vec<Item<'a>> = input
        .outcome
        .findings
        .iter()
        .map(|finding| of_rule(input, finding))
        .collect();
    items.extend(outdoor_items(input, sources));
    let points = &input.config.references.points;
    items.extend(
        input
            .comparisons
            .made
            .iter()
            .filter(|made| points.contains_key(&(made.equip.clone(), made.role.clone())))
            .map(|made| of_comparison(input, made, scope_of_point(made, sources))),
    );
    items.extend(input.drift.iter().map(|found| of_drift(input, found)));
    items
}

fn of_rule<'a>(input: &ReportInput<'a>, finding: &'a Finding) -> Item<'a> {
    let chosen = input
        .rules
        .iter()
        .find(|rule| rule.entry.id == finding.rule);
    let mut item = Item {
        id: Some(&finding.id),
        rule: Cow::Borrowed(&finding.rule),
        equip: Cow::Borrowed(&finding.equip),
        place: finding.place,
        verdict: Cow::Borrowed(&finding.verdict),
        chosen,
        is_declined: finding.is_declined(),
        source: Some(finding),
        scope: None,
    };
    if finding.rule == COMPLIANCE
        && let Some(verdict) = by_declared_reset(input, &item)
    {
        item.is_declined = verdict.metrics.get("declined") == Some(&Value::Bool(true));
        item.verdict = Cow::Owned(verdict);
    }
    item
}

/// The compliance with the written reset, where a configuration declares one, the rule has no parameters of the site, and no
/// setpoint is trended. What declined for its class or its inputs stays declined.
fn by_declared_reset(input: &ReportInput<'_>, item: &Item<'_>) -> Option<Verdict> {
    let reset = input.config.report.supply_reset?;
    let rule = item.chosen?;
    let frame = input.frames.get(item.place?)?;
    let finding = item.source?;
    let declined_before =
        finding.verdict.metrics.get("equip_class").is_some() || !finding.untrusted.is_empty();
    if has_site_params(input, COMPLIANCE)
        || declined_before
        || frame.whole().with_data("supply_air_temp_sp").is_some()
    {
        return None;
    }
    let ([oat_low, oat_high], [at_low, at_high]) = (reset.oat, reset.supply);
    let line = json!({
        "oat_min": oat_low, "oat_max": oat_high, "t_max": at_low, "min_clg_sat": at_high,
        "tol_f": reset.tolerance, "reset_source": SITE_SEQUENCE,
    });
    let mut parameters = rule.parameters.clone();
    let Value::Object(line) = line else {
        return None;
    };
    parameters
        .set(rule.entry, &line, &rule.entry.non_tunable_args)
        .ok()?;
    let crate::rules::Analysis::Equipment(analyse) = rule.code.analysis else {
        return None;
    };
    let seen: BTreeSet<String> = rule
        .wanted
        .iter()
        .cloned()
        .chain(frame.shared_roles().map(str::to_owned))
        .collect();
    analyse(&frame.seen(&seen), &parameters)
}

/// Whether the configuration sets parameters of a rule.
pub(super) fn has_site_params(input: &ReportInput<'_>, rule: &str) -> bool {
    input
        .config
        .rules
        .iter()
        .any(|entry| entry.name == rule && !entry.params.is_empty())
}

/// Outdoor temperatures against the reference of the site, else against each other.
fn outdoor_items<'a>(input: &ReportInput<'a>, sources: &[OutdoorSource]) -> Vec<Item<'a>> {
    let references = &input.config.references;
    if references.outdoor.is_some() {
        let points = &references.points;
        let made: Vec<&Comparison> = input
            .comparisons
            .made
            .iter()
            .filter(|made| !points.contains_key(&(made.equip.clone(), made.role.clone())))
            .collect();
        let several = made.len() > 1;
        return made
            .into_iter()
            .map(|made| {
                let scope = several.then(|| made.read_by.clone());
                of_comparison(input, made, scope)
            })
            .collect();
    }
    if sources.len() < FEWEST_PEERS {
        return Vec::new();
    }
    let median = peer_median(input, sources);
    sources
        .iter()
        .filter_map(|source| {
            let frame = input.frames.get(*source.places.first()?)?.table();
            let name = source.equips.join(", ");
            let made = compare(
                (&name, OUTDOOR),
                (&frame.stamps, frame.column(OUTDOOR)?),
                "the median of all outdoor temperatures",
                &median,
                &ReferenceLimits::default(),
            );
            let mut item = of_comparison(input, &made, Some(source.equips.clone()));
            item.verdict
                .to_mut()
                .metrics
                .set("reference", "peer_median");
            Some(item)
        })
        .collect()
}

/// An outdoor sensor is told of by those that read it, where there are several; other sensors by their roles.
fn scope_of_point(made: &Comparison, sources: &[OutdoorSource]) -> Option<Vec<String>> {
    if made.role != OUTDOOR || sources.len() < 2 {
        return None;
    }
    let own = sources
        .iter()
        .find(|source| source.equips.contains(&made.equip));
    Some(own.map_or_else(|| vec![made.equip.clone()], |source| source.equips.clone()))
}

/// The median of all sources at each stamp of any.
fn peer_median(input: &ReportInput<'_>, sources: &[OutdoorSource]) -> ReferenceSeries {
    let mut samples: std::collections::BTreeMap<i64, Vec<f64>> = std::collections::BTreeMap::new();
    for source in sources {
        let Some(table) = source
            .places
            .first()
            .and_then(|place| input.frames.get(*place))
            .map(crate::run_frame::RunFrame::table)
        else {
            continue;
        };
        let values = table.column(OUTDOOR).unwrap_or_default();
        for (stamp, value) in table.stamps.iter().zip(values) {
            if !value.is_nan() {
                samples.entry(*stamp).or_default().push(*value);
            }
        }
    }
    let (stamps, values) = samples
        .into_iter()
        .map(|(stamp, mut values)| (stamp, crate::numeric::median_in_place(&mut values)))
        .unzip();
    ReferenceSeries { stamps, values }
}

fn of_comparison<'a>(
    input: &ReportInput<'a>,
    made: &Comparison,
    scope: Option<Vec<String>>,
) -> Item<'a> {
    let mut metrics = Metrics::new();
    metrics
        .number_or_null("bias", made.bias)
        .number_or_null("drift_per_month", made.drift_per_month)
        .number_or_null("rmse", made.rmse)
        .number_or_null("correlation", made.correlation)
        .count("n", made.samples);
    let verdict = Verdict::new(
        made.severity,
        metrics,
        format!("{} against {}: {}", made.role, made.reference, made.verdict),
    )
    .with_caveats(made.caveats.iter().cloned());
    Item {
        id: None,
        rule: Cow::Owned(format!("{SENSOR}{}", made.role)),
        equip: Cow::Owned(made.equip.clone()),
        place: place_of(input, &made.equip),
        verdict: Cow::Owned(verdict),
        chosen: None,
        is_declined: false,
        source: None,
        scope,
    }
}

fn of_drift<'a>(input: &ReportInput<'a>, found: &'a Finding) -> Item<'a> {
    Item {
        id: Some(&found.id),
        rule: Cow::Borrowed(&found.rule),
        equip: Cow::Borrowed(&found.equip),
        place: found.place.or_else(|| place_of(input, &found.equip)),
        verdict: Cow::Borrowed(&found.verdict),
        chosen: None,
        is_declined: found.is_declined(),
        source: Some(found),
        scope: None,
    }
}

fn place_of(input: &ReportInput<'_>, equip: &str) -> Option<usize> {
    input.frames.iter().position(|frame| frame.equip() == equip)
}

/// Only what is null, a switch, a number or a text; sorted by name.
pub(super) fn scalars(metrics: &Metrics) -> Map<String, Value> {
    let mut kept: Vec<(&String, &Value)> = metrics
        .as_map()
        .iter()
        .filter(|(_, value)| !value.is_array() && !value.is_object())
        .collect();
    kept.sort_by_key(|(name, _)| *name);
    kept.into_iter()
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// The samples behind an item, when its rule tells samples at all.
pub(super) fn judgement(input: &ReportInput<'_>, item: &Item<'_>) -> Option<Judgement> {
    let rule = item.chosen?;
    let frame = input.frames.get(item.place?)?;
    let violations = &rule.entry.evidence.as_ref()?.violations;
    // Rules of whole periods may tell samples to people; they count no hours.
    if violations
        .as_str()
        .is_none_or(|from| from.starts_with("none"))
    {
        return None;
    }
    let seen: BTreeSet<String> = rule
        .wanted
        .iter()
        .cloned()
        .chain(frame.shared_roles().map(str::to_owned))
        .collect();
    let judge = rule.code.judge?;
    let judgement = judge(&frame.seen(&seen), &rule.parameters)?;
    (judgement.samples.flagged.len() == frame.table().len()).then_some(judgement)
}
