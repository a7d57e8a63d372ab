//! The trends behind issues, as pictures for the report, and what each rule did.

use niagara_analytics::Severity;
use niagara_analytics::drift::Trace;
use niagara_analytics::evidence::{Chart, Evidence};
use niagara_analytics::rcx::{Issue, Member};
use niagara_analytics::roles;
use niagara_analytics::run_config::ChosenRule;
use niagara_analytics::runner::Finding;
use serde_json::{Map, Value, json};

use crate::camber::call::Call;
use crate::camber::capability::{
    CapabilityDefinition, closed_object, count, list_of, of_type, whole_object, word,
};
use crate::camber::engine::{RcxRun, RuleRun};
use crate::camber::{Capability, CapabilityError, CapabilityResult};
use crate::plot::residuals::MOST_TRACES;
use crate::plot::{EvidenceSeries, ImageFormat, ImageSize, PlotError, ResidualChart, evidence_svg};
use crate::trends::store::wall_clock::iso;

/// What draws the pictures. It is a capability so that the same policy stands before it as before all others; no client
/// sees it.
pub const NAME: &str = "issue_charts";

/// Issues with a picture, and trends in one.
const PICTURES: usize = 50;
const TRENDS: usize = 6;
const WIDTH: u32 = 960;
/// From the lowest: trends of many units need more height.
const HEIGHTS: [u32; 4] = [320, 480, 640, 800];

/// Draws one picture per issue whose findings tell of trends.
pub struct IssueCharts;

impl Capability for IssueCharts {
    fn definition(&self) -> CapabilityDefinition {
        let text = || of_type(&["string"]);
        CapabilityDefinition {
            name: NAME,
            title: "Pictures of issues",
            description: "The trends behind each issue of a facility, with the flagged times shaded.",
            input_schema: closed_object(
                &["facility_id"],
                [(
                    "facility_id",
                    word("A facility_id of the capability facilities."),
                )],
            )
            .into(),
            output_schema: whole_object([
                (
                    "charts",
                    list_of(whole_object([
                        ("key", text()),
                        ("svg", text()),
                        ("caption", text()),
                    ])),
                ),
                (
                    "rules",
                    list_of(whole_object([
                        ("rule", text()),
                        ("title", text()),
                        ("fault", count()),
                        ("warn", count()),
                        ("passed", count()),
                        ("declined", count()),
                        ("skipped", count()),
                    ])),
                ),
            ])
            .into(),
            long_running: true,
            reads_store: true,
            own_output: &["charts"],
        }
    }

    fn run(
        &self,
        call: &Call<'_>,
        arguments: &Map<String, Value>,
    ) -> Result<CapabilityResult, CapabilityError> {
        let report = RcxRun::of(call, arguments)?;
        let mut charts = Vec::new();
        for issue in report.report.issues.iter().take(PICTURES) {
            if call.watch.is_over() {
                return Err(call.watch.overdue());
            }
            if let Some((svg, caption)) = drawn(&report, issue) {
                charts.push(json!({"key": issue.key, "svg": svg, "caption": caption}));
            }
        }
        let rules: Vec<Value> = report
            .run
            .rules
            .iter()
            .map(|rule| ran(&report.run, rule))
            .collect();
        Ok(CapabilityResult::of(
            json!({"charts": charts, "rules": rules}),
        ))
    }
}

/// What a rule did: how many findings of which severity, how many it declined, and what it could not look at.
fn ran(run: &RuleRun<'_>, rule: &ChosenRule) -> Value {
    let findings = || {
        let all = run.outcome.findings.iter();
        all.filter(|finding| finding.rule == rule.entry.id)
    };
    let judged = |is: &dyn Fn(Severity) -> bool| {
        findings()
            .filter(|finding| !finding.is_declined() && is(finding.severity()))
            .count()
    };
    json!({
        "rule": rule.entry.id,
        "title": rule.entry.title,
        "fault": judged(&|severity| severity == Severity::Fault),
        "warn": judged(&|severity| severity == Severity::Warn),
        "passed": judged(&|severity| matches!(severity, Severity::Info | Severity::Ok)),
        "declined": findings().filter(|finding| finding.is_declined()).count(),
        "skipped": run.outcome.skipped.iter().filter(|skip| skip.rule == rule.entry.id).count(),
    })
}

/// The picture of the first finding of an issue that has trends, and what it shows.
fn drawn(report: &RcxRun<'_>, issue: &Issue) -> Option<(String, String)> {
    issue.members.iter().find_map(|member| {
        let residuals = member.finding_id.as_deref().and_then(|id| {
            let traces = report.traces.get(id)?;
            of_drift(id, traces)
        });
        residuals.or_else(|| of_member(&report.run, member))
    })
}

/// What a finding of drift measured less what its baseline expects, with the alarm.
fn of_drift(id: &str, traces: &[Trace]) -> Option<(String, String)> {
    let shown: Vec<Trace> = traces.iter().take(MOST_TRACES).cloned().collect();
    let names: Vec<&str> = shown.iter().map(|trace| trace.name.as_str()).collect();
    let alarm = shown.iter().filter_map(|trace| trace.alarm_at).min();
    let alarm = alarm.map_or_else(String::new, |at| {
        let day = iso(at).chars().take(10).collect::<String>();
        format!("; since {day} a shift is certain to last")
    });
    let caption = format!(
        "Measured less expected by the known-good time, {} of {id}{alarm}.",
        names.join(", ")
    );
    let chart = ResidualChart::of_traces(id, None, shown)?;
    let size = ImageSize::new(WIDTH, chart.usual_height()).ok()?;
    let picture = chart.render(ImageFormat::Svg, size);
    let svg = picture.map(|picture| String::from_utf8_lossy(&picture.bytes).into_owned());
    match svg {
        Ok(svg) => Some((svg, caption)),
        Err(error) => {
            tracing::debug!(%error, finding = id, "a picture of a finding was not drawn");
            None
        }
    }
}

fn of_member(run: &RuleRun<'_>, member: &Member) -> Option<(String, String)> {
    let finding = run.outcome.finding(member.finding_id.as_deref()?)?;
    let (rule, frame) = (run.rule(finding)?, run.frame(finding)?);
    let evidence =
        Evidence::of_equipment(rule, frame, finding.is_declined(), worst_signal(finding));
    let chart = evidence.chart.as_ref()?;
    let table = frame.table();
    let trends: Vec<EvidenceSeries<'_>> = chart
        .roles
        .iter()
        .take(TRENDS)
        .filter_map(|role| {
            let known = roles::role(role);
            Some(EvidenceSeries {
                label: role,
                units: known
                    .map(|role| role.unit.as_str())
                    .filter(|unit| !unit.is_empty()),
                is_state: known.is_some_and(|role| role.status),
                stamps: &table.stamps,
                values: table.column(role)?,
            })
        })
        .collect();
    let spans: Vec<(i64, i64, &str)> = evidence
        .violations
        .iter()
        .flat_map(|violations| &violations.spans)
        .map(|span| (span.start, span.end, "flagged"))
        .collect();
    let mut drawn = None;
    for height in HEIGHTS {
        let size = ImageSize::new(WIDTH, height).ok()?;
        match evidence_svg(&chart.title, None, &trends, &spans, size) {
            Ok(svg) => {
                drawn = Some(svg);
                break;
            }
            Err(PlotError::TooLow { .. }) => {}
            Err(error) => {
                tracing::debug!(%error, finding = finding.id, "a picture of a finding was not drawn");
                return None;
            }
        }
    }
    Some((drawn?, caption(chart, &evidence, finding)))
}

fn worst_signal(finding: &Finding) -> Option<&str> {
    finding
        .verdict
        .metrics
        .get("worst_signal")
        .and_then(Value::as_str)
}

/// What is drawn, and how much of it is flagged.
fn caption(chart: &Chart, evidence: &Evidence, finding: &Finding) -> String {
    let shown: Vec<&str> = chart
        .roles
        .iter()
        .take(TRENDS)
        .map(String::as_str)
        .collect();
    let flagged = match &evidence.violations {
        Some(violations) if violations.n_spans > 0 => {
            let listed = match violations.n_spans > violations.spans.len() {
                true => format!(" (the longest {} are shaded)", violations.spans.len()),
                false => String::new(),
            };
            format!(
                "; {} h flagged in {} spans{listed}",
                violations.hours, violations.n_spans
            )
        }
        _ => String::new(),
    };
    format!("{} of {}{flagged}.", shown.join(", "), finding.id)
}
