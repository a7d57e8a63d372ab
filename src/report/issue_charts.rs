//! The trends behind issues, as pictures for the report.

use niagara_analytics::evidence::{Chart, Evidence};
use niagara_analytics::rcx::{Issue, Member};
use niagara_analytics::roles;
use niagara_analytics::runner::Finding;
use serde_json::{Map, Value, json};

use crate::camber::call::Call;
use crate::camber::capability::{
    CapabilityDefinition, closed_object, list_of, of_type, whole_object, word,
};
use crate::camber::engine::{RcxRun, RuleRun};
use crate::camber::{Capability, CapabilityError, CapabilityResult};
use crate::plot::{EvidenceSeries, ImageSize, PlotError, evidence_svg};

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
            ),
            output_schema: whole_object([(
                "charts",
                list_of(whole_object([
                    ("key", text()),
                    ("svg", text()),
                    ("caption", text()),
                ])),
            )]),
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
        let RcxRun { run, report } = RcxRun::of(call, arguments)?;
        let mut charts = Vec::new();
        for issue in report.issues.iter().take(PICTURES) {
            if call.watch.is_over() {
                return Err(call.watch.overdue());
            }
            if let Some((svg, caption)) = drawn(&run, issue) {
                charts.push(json!({"key": issue.key, "svg": svg, "caption": caption}));
            }
        }
        Ok(CapabilityResult::of(json!({ "charts": charts })))
    }
}

/// The picture of the first finding of an issue that has trends, and what it shows.
fn drawn(run: &RuleRun<'_>, issue: &Issue) -> Option<(String, String)> {
    issue
        .members
        .iter()
        .find_map(|member| of_member(run, member))
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
