//! What speaks for a finding: the chart that shows it, and the hours that its rule flags (Engine §4.9).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::catalogue::RuleScope;
use crate::finding::{Flagged, Judgement};
use crate::frame::Frame;
use crate::numeric::{median_step, nanos, round, share_of};
use crate::run_config::ChosenRule;
use crate::run_frame::RunFrame;
use crate::wall_clock::{HOUR, iso};

/// Scatters that show more than the rule judges: the band begins at a limit, and what lies below it is drawn too.
const WIDER_SCATTERS: [&str; 1] = ["economizer_high_limit"];

/// Longest spans that are listed.
const LISTED_SPANS: usize = 20;

/// A run of flagged samples without a longer gap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    /// First flagged stamp.
    pub start: i64,
    /// Last flagged stamp.
    pub end: i64,
    pub hours: f64,
}

/// The flagged samples of a rule, or of one of its conditions.
#[derive(Debug, Clone, PartialEq)]
pub struct Violations {
    pub hours: f64,
    pub samples: usize,
    pub judged_samples: usize,
    /// What was judged: "fan-on samples".
    pub judged_basis: String,
    /// Of the judged samples, 0 to 1.
    pub share: f64,
    pub n_spans: usize,
    /// The longest ones, in the order of time.
    pub spans: Vec<Span>,
}

impl Violations {
    /// Hours, share and spans of masks over these stamps; none when nothing was judged or the masks do not fit.
    pub fn of(stamps: &[i64], basis: &str, samples: &Flagged) -> Self {
        let step = step_hours(stamps);
        let flagged: Vec<i64> = stamps
            .iter()
            .zip(&samples.flagged)
            .filter(|(_, flagged)| **flagged)
            .map(|(stamp, _)| *stamp)
            .collect();
        let judged = samples.judged.iter().filter(|judged| **judged).count();
        let all = spans(&flagged, step);
        let n_spans = all.len();
        Self {
            hours: round(share_of(flagged.len()) * step, 2),
            samples: flagged.len(),
            judged_samples: judged,
            judged_basis: basis.to_owned(),
            share: match judged {
                0 => 0.0,
                judged => round(share_of(flagged.len()) / share_of(judged), 4),
            },
            n_spans,
            spans: longest(all),
        }
    }

    /// As `finding_detail` writes it.
    pub fn to_json(&self) -> Value {
        let spans: Vec<Value> = self
            .spans
            .iter()
            .map(
                |span| json!({"start": iso(span.start), "end": iso(span.end), "hours": span.hours}),
            )
            .collect();
        json!({
            "hours": self.hours,
            "samples": self.samples,
            "judged_samples": self.judged_samples,
            "judged_basis": self.judged_basis,
            "share": self.share,
            "n_spans": self.n_spans,
            "spans": spans,
        })
    }
}

/// Median gap in hours; 1 below two stamps.
fn step_hours(stamps: &[i64]) -> f64 {
    median_step(stamps).map_or(1.0, |step| (step / nanos(HOUR)).max(1e-9))
}

/// Runs of sorted stamps; a gap of more than one and a half steps ends one.
fn spans(flagged: &[i64], step: f64) -> Vec<Span> {
    let longest_gap = 1.5 * step * nanos(HOUR);
    let mut spans = Vec::new();
    let mut run: Option<(i64, i64, usize)> = None;
    let close = |(start, end, count): (i64, i64, usize)| Span {
        start,
        end,
        hours: round(share_of(count) * step, 2),
    };
    for stamp in flagged {
        run = match run {
            Some((start, end, count)) if nanos(stamp.saturating_sub(end)) <= longest_gap => {
                Some((start, *stamp, count + 1))
            }
            before => {
                spans.extend(before.map(close));
                Some((*stamp, *stamp, 1))
            }
        };
    }
    spans.extend(run.map(close));
    spans
}

/// The longest ones, the earlier of equal ones, in the order of time.
fn longest(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by(|a, b| b.hours.total_cmp(&a.hours).then(a.start.cmp(&b.start)));
    spans.truncate(LISTED_SPANS);
    spans.sort_by_key(|span| span.start);
    spans
}

/// How a finding is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chart {
    /// `multitrend`, `oat_scatter`, `diagnostic`, `carpet`.
    pub renderer: String,
    pub roles: Vec<String>,
    pub title: String,
    /// What the shaded spans or marked samples are.
    pub label: String,
    /// Of a diagnostic chart: what is drawn over what.
    pub template: Option<String>,
}

impl Chart {
    /// What the chart shows, as a sentence without its full stop.
    pub fn description(&self) -> String {
        let roles = self.roles.join(", ");
        match self.renderer.as_str() {
            "oat_scatter" => format!("A scatter of {roles} over the outdoor temperature"),
            "carpet" => format!("A carpet of {roles}: hour of the day by date"),
            "diagnostic" => format!(
                "A scatter of {}, with the samples marked that the rule flags ({})",
                self.template.as_deref().unwrap_or("the judged samples"),
                self.label
            ),
            _ => format!(
                "The trends of {roles} over the window, with the spans shaded that the rule flags ({})",
                self.label
            ),
        }
    }

    /// As `finding_detail` writes it.
    pub fn to_json(&self) -> Value {
        let mut chart = json!({
            "renderer": self.renderer,
            "roles": self.roles,
            "title": self.title,
            "label": self.label,
            "description": self.description(),
        });
        if let Some(template) = &self.template {
            chart["template"] = json!(template);
        }
        chart
    }

    /// The chart of a rule over an equipment; none for rules of a fleet, or when there is nothing to draw.
    ///
    /// `judged`: the rule judged some sample. Without one there is no band to draw a scatter over.
    pub fn of(
        rule: &ChosenRule,
        frame: &RunFrame,
        worst_signal: Option<&str>,
        judged: bool,
    ) -> Option<Self> {
        if rule.entry.scope == RuleScope::Fleet {
            return None;
        }
        let evidence = rule.entry.evidence.as_ref()?;
        let title = format!("{}: {}", frame.equip(), rule.entry.title);
        let label = rule.entry.title.clone();
        let chart = |renderer: &str, roles: Vec<String>, template: Option<String>| {
            (!roles.is_empty()).then(|| Self {
                renderer: renderer.to_owned(),
                roles,
                title: title.clone(),
                label: label.clone(),
                template,
            })
        };
        let renderer = evidence.renderer.as_str();
        let is_wider = WIDER_SCATTERS.contains(&rule.code.id);
        if renderer == "diagnostic" && !judged && !is_wider {
            return chart("multitrend", default_roles(rule, frame), None);
        }
        if renderer == "diagnostic" {
            let pair = present(rule.inputs.required.iter().map(String::as_str), frame);
            let template = format!("{} with the expected band", pair.join(" over "));
            return chart(renderer, pair, Some(template));
        }
        if renderer == "oat_scatter" && !frame.has("oat") {
            return chart("multitrend", default_roles(rule, frame), None);
        }
        let mut roles = Vec::new();
        for wanted in &evidence.roles {
            match wanted.as_str() {
                "required and any-of roles present" => roles.extend(default_roles(rule, frame)),
                "the worst signal" => roles.extend(worst_signal.map(str::to_owned)),
                wanted => roles.extend(named_role(wanted, rule, frame)),
            }
        }
        let mut seen = BTreeSet::new();
        roles.retain(|role| seen.insert(role.clone()));
        if roles.is_empty() {
            roles = default_roles(rule, frame);
        }
        chart(renderer, roles, None)
    }
}

fn present<'a>(roles: impl IntoIterator<Item = &'a str>, frame: &RunFrame) -> Vec<String> {
    let mut seen = BTreeSet::new();
    roles
        .into_iter()
        .filter(|role| frame.has(role) && seen.insert(*role))
        .map(str::to_owned)
        .collect()
}

fn default_roles(rule: &ChosenRule, frame: &RunFrame) -> Vec<String> {
    let inputs = &rule.inputs;
    present(
        inputs
            .required
            .iter()
            .chain(inputs.any_of.iter().flatten())
            .map(String::as_str),
        frame,
    )
}

/// A role of the catalogue: `a`, `a?` when it is there, `a | b` the first that is there; words for "whichever it is".
fn named_role(wanted: &str, rule: &ChosenRule, frame: &RunFrame) -> Option<String> {
    let first = |names: &[&str]| {
        names
            .iter()
            .find(|role| frame.has(role))
            .map(|role| (*role).to_owned())
    };
    let plain = wanted.trim_end_matches('?');
    match plain {
        "valve" => first(&["cool_valve", "heat_valve"]),
        "the OA signal" => first(&["oa_airflow", "oa_damper"]),
        _ => plain.split('|').map(str::trim).find_map(|name| match name {
            "run signal" => rule
                .inputs
                .any_of
                .iter()
                .flatten()
                .find(|role| frame.has(role))
                .cloned(),
            name => frame.has(name).then(|| name.to_owned()),
        }),
    }
}

/// Everything that speaks for one finding.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Evidence {
    pub chart: Option<Chart>,
    pub violations: Option<Violations>,
    /// Why there are no spans.
    pub note: Option<String>,
    /// By name.
    pub conditions: Vec<(String, Violations)>,
    /// What is counted apart from hours: name, count, stamps.
    pub events: Vec<crate::finding::EventCount>,
}

impl Evidence {
    /// The evidence of a rule's verdict over an equipment.
    ///
    /// `declined`: the rule did not judge; it then has a chart only.
    pub fn of_equipment(
        rule: &ChosenRule,
        frame: &RunFrame,
        declined: bool,
        worst_signal: Option<&str>,
    ) -> Self {
        let seen: BTreeSet<String> = rule
            .wanted
            .iter()
            .cloned()
            .chain(frame.shared_roles().map(str::to_owned))
            .collect();
        let view = frame.seen(&seen);
        let judgement = rule
            .code
            .judge
            .and_then(|judge| judge(&view, &rule.parameters));
        let judged = judgement.as_ref().is_some_and(Judgement::judges_any);
        let chart = Chart::of(rule, frame, worst_signal, judged);
        if declined {
            return Self {
                chart,
                note: Some("the check was declined, so that no sample was judged".to_owned()),
                ..Self::default()
            };
        }
        match judgement {
            Some(judgement) => Self {
                chart,
                ..Self::of_judgement(&view, judgement)
            },
            None => Self {
                chart,
                note: Some(
                    "the rule judges the window as a whole and flags no single samples".to_owned(),
                ),
                ..Self::default()
            },
        }
    }

    /// The evidence of a fleet's verdict.
    pub fn of_fleet() -> Self {
        Self {
            note: Some(
                "the finding is of several pieces of equipment together; no single trend has its spans"
                    .to_owned(),
            ),
            ..Self::default()
        }
    }

    fn of_judgement(frame: &Frame<'_>, judgement: Judgement) -> Self {
        let Judgement {
            judged_basis,
            samples,
            conditions,
            events,
            note,
        } = judgement;
        let mut conditions: Vec<(String, Violations)> = conditions
            .into_iter()
            .map(|condition| {
                let violations =
                    Violations::of(frame.stamps(), &condition.judged_basis, &condition.samples);
                (condition.name, violations)
            })
            .collect();
        conditions.sort_by(|a, b| a.0.cmp(&b.0));
        if samples.judged.is_empty() && conditions.is_empty() {
            return Self {
                note: note.or_else(|| {
                    Some(
                        "the rule judges the window as a whole and flags no single samples"
                            .to_owned(),
                    )
                }),
                events,
                ..Self::default()
            };
        }
        let violations = Violations::of(frame.stamps(), &judged_basis, &samples);
        let note = match (violations.judged_samples, violations.n_spans) {
            (0, _) => note.or_else(|| Some("no sample could be judged".to_owned())),
            (_, 0) => note.or_else(|| Some("no judged sample is flagged".to_owned())),
            _ => None,
        };
        Self {
            chart: None,
            violations: Some(violations),
            note,
            conditions,
            events,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::RoleFrame;
    use crate::run_config::{RuleEntry, RuleRequest, chosen};

    fn hours(count: i64) -> Vec<i64> {
        (0..count).map(|hour| hour * HOUR).collect()
    }

    #[test]
    fn flagged_samples_are_hours_share_and_spans() {
        let samples = Flagged {
            judged: vec![true; 24],
            flagged: (0..24)
                .map(|hour| [3, 4, 5, 10, 20].contains(&hour))
                .collect(),
        };
        let found = Violations::of(&hours(24), "fan-on samples", &samples);
        assert_eq!((found.hours, found.samples, found.share), (5.0, 5, 0.2083));
        let spans: Vec<f64> = found.spans.iter().map(|span| span.hours).collect();
        assert_eq!((found.n_spans, spans), (3, vec![3.0, 1.0, 1.0]));
        assert_eq!(
            found.to_json()["spans"][0],
            json!({"start": "1970-01-01T03:00:00", "end": "1970-01-01T05:00:00", "hours": 3.0})
        );
    }

    #[test]
    fn the_twenty_longest_spans_are_listed_in_the_order_of_time() {
        let mut stamps = Vec::new();
        for span in 0..30_i64 {
            let start = span * 100 * HOUR;
            // The last spans are the longest ones.
            stamps.extend((0..=span / 10).map(|hour| start + hour * HOUR));
        }
        let found = longest(spans(&stamps, 1.0));
        assert_eq!(found.len(), 20);
        let starts: Vec<i64> = found.iter().map(|span| span.start / (100 * HOUR)).collect();
        assert_eq!(starts, (10..30).collect::<Vec<_>>());
    }

    #[test]
    fn nothing_judged_is_no_share() {
        let none = Violations::of(&[], "samples", &Flagged::default());
        assert_eq!((none.hours, none.share, none.n_spans), (0.0, 0.0, 0));
    }

    #[test]
    fn a_chart_names_the_roles_that_are_there() {
        let entry = RuleEntry::read(&json!("supply_air_control"), "rules").unwrap();
        let rules = chosen(&[entry], None, RuleRequest::default()).unwrap();
        let table = RoleFrame {
            equip: "AHU-1".to_owned(),
            stamps: hours(2),
            columns: ["supply_air_temp", "supply_air_temp_sp", "supply_fan_status"]
                .map(|role| (role.to_owned(), vec![60.0, 60.0]))
                .into(),
            ..RoleFrame::default()
        };
        let frame = RunFrame::of_resampled(table, &[]);
        let rule = rules.first().unwrap();
        let evidence = Evidence::of_equipment(rule, &frame, false, None);
        let chart = evidence.chart.unwrap();
        assert_eq!(chart.roles, ["supply_air_temp", "supply_air_temp_sp"]);
        assert_eq!(chart.renderer, "multitrend");
        assert!(chart.description().contains("supply_air_temp_sp"));
        let violations = evidence.violations.unwrap();
        assert_eq!((violations.judged_samples, violations.samples), (2, 0));
        assert_eq!(
            evidence.note.as_deref(),
            Some("no judged sample is flagged")
        );
        let declined = Evidence::of_equipment(rule, &frame, true, None);
        assert!(declined.violations.is_none() && declined.note.unwrap().contains("declined"));
    }
}
