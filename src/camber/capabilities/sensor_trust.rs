//! `sensor_trust`: how far each stored point can be trusted, and which points disagree with a reference (Engine §6.1).

use niagara_analytics::RunFrame;
use niagara_analytics::runner::units::in_parallel;
use niagara_analytics::trust::references::{Comparison, Comparisons};
use niagara_analytics::trust::{TrustVerdict, View, scores};
use serde_json::{Map, Value, json};

use super::run_arguments;
use super::selection::{asked, require_roles};
use super::sensor_trust_rows::{
    Scored, comparison_row, comparison_schema, comparison_sentence, point_schema,
};
use crate::camber::call::Call;
use crate::camber::capability::{
    Capability, CapabilityDefinition, closed_object, count, list_of, of_type, whole_object, word,
};
use crate::camber::engine::{RunGround, frames, references};
use crate::camber::error::CapabilityError;
use crate::camber::pages;
use crate::camber::result::{CapabilityResult, Facts, counted};

const NAME: &str = "sensor_trust";

/// Rows of each list on a page.
const PAGE: usize = 100;

/// Points with a fact of their own, and points that the summary tells.
const FACTS: usize = 200;
const TOLD: usize = 8;

/// Scores the trust of points.
pub struct SensorTrust;

/// How many points have which verdict.
#[derive(Default)]
struct Counts {
    trusted: usize,
    suspect: usize,
    untrusted: usize,
    below_floor: usize,
}

impl Counts {
    fn of(points: &[Scored]) -> Self {
        let mut counts = Self::default();
        for scored in points {
            match scored.point.verdict {
                TrustVerdict::Trusted => counts.trusted += 1,
                TrustVerdict::Suspect => counts.suspect += 1,
                TrustVerdict::Untrusted => counts.untrusted += 1,
            }
            counts.below_floor += usize::from(scored.below_floor);
        }
        counts
    }
}

/// Scores of the points that the equipment stores, least trusted first.
///
/// Shared points take part in gates and comparisons, but are the rows of the equipment that stores them.
fn scored(
    call: &Call<'_>,
    frames: &[RunFrame],
    comparisons: &Comparisons,
    view: View,
    floor: f64,
) -> Result<Vec<Scored>, CapabilityError> {
    let of_frame = |frame: &RunFrame| {
        let mut points = scores(frame.table(), view);
        points.retain(|point| frame.stores(&point.role));
        comparisons.mark(frame.equip(), &mut points);
        points
    };
    let cancelled = || call.watch.is_over();
    let all = in_parallel(frames, call.workspace.threads, &cancelled, of_frame)
        .map_err(|_| call.watch.overdue())?;
    let mut list: Vec<Scored> = frames
        .iter()
        .zip(all)
        .flat_map(|(frame, points)| {
            points.into_iter().map(|point| Scored {
                equip: frame.equip().to_owned(),
                equip_class: frame.equip_class().to_owned(),
                below_floor: point.trust < floor,
                point,
            })
        })
        .collect();
    list.sort_by(|a, b| {
        let order = a.point.trust.total_cmp(&b.point.trust);
        order.then_with(|| (&a.equip, &a.point.role).cmp(&(&b.equip, &b.point.role)))
    });
    Ok(list)
}

fn view(arguments: &Map<String, Value>) -> View {
    match arguments.get("view").and_then(Value::as_str) {
        Some("report") => View::Report,
        _ => View::Rules,
    }
}

/// Facts and sentences of the points of a page, up to the first that is sound.
fn tell_points(call: &Call<'_>, page: &[Scored], facts: &mut Facts, sentences: &mut Vec<String>) {
    let leading = page.iter().take_while(|scored| !scored.is_sound());
    for (place, scored) in leading.take(FACTS).enumerate() {
        let extra = [
            ("equip", json!(scored.equip)),
            ("role", json!(scored.point.role)),
        ];
        let cite = facts.add(
            "point_trust",
            scored.point.trust,
            scored.explained(call),
            &extra,
        );
        if place < TOLD {
            sentences.push(format!("{} {cite}.", scored.sentence(call)));
        }
    }
}

/// A fact per comparison; those that speak against their point are in the summary.
fn tell_comparisons(
    call: &Call<'_>,
    page: &[&Comparison],
    facts: &mut Facts,
    sentences: &mut Vec<String>,
) {
    let mut told = 0;
    for comparison in page {
        let sentence = comparison_sentence(call, comparison);
        let extra = [
            ("equip", json!(comparison.equip)),
            ("role", json!(comparison.role)),
        ];
        let cite = facts.add_under('R', "reference", comparison.bias, sentence.clone(), &extra);
        if comparison.speaks_against() && told < TOLD {
            told += 1;
            sentences.push(format!("{sentence} {cite}."));
        }
    }
}

impl Capability for SensorTrust {
    fn definition(&self) -> CapabilityDefinition {
        let [facility, equips, start, end] = run_arguments::selection();
        let [limit, offset] = pages::properties();
        let share = || json!({"type": "number", "minimum": 0, "maximum": 1});
        let roles = json!({"type": "array", "minItems": 1, "maxItems": 100, "items": word("A role."),
            "description": "Only rows of these roles; they are scored among all points of their equipment."});
        let view = json!({"type": "string", "enum": ["rules", "report"], "default": "rules",
            "description": "rules: what gates the rules of rule_run. report: fan-gated points are judged while the fan runs."});
        let min_trust = json!({"type": "number", "minimum": 0, "maximum": 1,
            "description": "A higher trust floor than the caller's own."});
        CapabilityDefinition {
            name: NAME,
            title: "Trust in sensors",
            description: "How far each stored point can be trusted: score 0 to 1, verdict (trusted from 0.8, suspect from \
                0.5, untrusted), flags (stuck, outliers, copied_signal, ...), coverage, and whether it is below the trust \
                floor, so that rules which need it decline; least trusted first. references: points compared with the \
                reference sensors that the run configuration names. Call it before findings are believed. Cost: reads \
                every trend of the window. Example: {\"facility_id\": \"harborview\", \"equips\": [\"AHU-1\"]}.",
            input_schema: closed_object(
                &["facility_id"],
                [
                    facility,
                    equips,
                    ("roles", roles),
                    start,
                    end,
                    ("view", view),
                    ("min_trust", min_trust),
                    limit,
                    offset,
                ],
            )
            .into(),
            output_schema: whole_object([
                ("facility_id", of_type(&["string"])),
                (
                    "view",
                    json!({"type": "string", "enum": ["rules", "report"]}),
                ),
                ("min_trust", share()),
                (
                    "counts",
                    whole_object([
                        ("trusted", count()),
                        ("suspect", count()),
                        ("untrusted", count()),
                        ("below_floor", count()),
                    ]),
                ),
                ("n_points", count()),
                ("points", list_of(point_schema())),
                ("references", list_of(comparison_schema())),
            ])
            .into(),
            long_running: true,
            reads_store: true,
            own_output: &[],
        }
    }

    fn run(
        &self,
        call: &Call<'_>,
        arguments: &Map<String, Value>,
    ) -> Result<CapabilityResult, CapabilityError> {
        let ground = RunGround::of_stored(call, arguments)?;
        let roles = asked(arguments, "roles");
        require_roles(call, "roles", roles.as_ref(), &ground.points)?;
        let own_floor = arguments.get("min_trust").and_then(Value::as_f64);
        let floor = call.caller.min_trust.max(own_floor.unwrap_or(0.0));
        let view = view(arguments);
        let frames = frames::load(call, &ground)?;
        let mut comparisons = references::comparisons(call, &ground, &frames)?;
        let mut points = scored(call, &frames, &comparisons, view, floor)?;
        drop(frames);
        let is_asked = |role: &String| roles.as_ref().is_none_or(|asked| asked.contains(role));
        points.retain(|scored| is_asked(&scored.point.role));
        comparisons.made.retain(|made| is_asked(&made.role));
        comparisons.failed.retain(|failed| is_asked(&failed.role));

        let (total, counts) = (points.len(), Counts::of(&points));
        let page = call.page("points", points, PAGE, Some("least trusted first"));
        let made: Vec<&Comparison> = comparisons.made.iter().collect();
        let made = call.page("references", made, PAGE, None);

        let mut facts = Facts::of(NAME);
        let told = format!(
            "{} of {} were judged for {}: {} trusted, {} suspect, {} untrusted, and {} below the trust floor of {floor}",
            counted(total, "point", "points"),
            call.quote(ground.facility.as_str()),
            view.word(),
            counts.trusted,
            counts.suspect,
            counts.untrusted,
            counts.below_floor,
        );
        let id = ("facility_id", json!(ground.facility.as_str()));
        let cite = facts.add("trust_summary", counts.below_floor, told.clone(), &[id]);
        let mut sentences = vec![format!("{told} {cite}.")];
        tell_points(call, &page, &mut facts, &mut sentences);
        tell_comparisons(call, &made, &mut facts, &mut sentences);

        let ords = call.ords(ground.facility.as_str());
        let rows: Vec<Value> = page
            .iter()
            .map(|scored| scored.row(ords.ord(&scored.equip, &scored.point.role)))
            .collect();
        let references: Vec<Value> = made.iter().map(|made| comparison_row(made)).collect();
        let mut result = CapabilityResult::of(json!({
            "facility_id": ground.facility.as_str(),
            "view": view.word(),
            "min_trust": floor,
            "counts": {
                "trusted": counts.trusted,
                "suspect": counts.suspect,
                "untrusted": counts.untrusted,
                "below_floor": counts.below_floor,
            },
            "n_points": total,
            "points": rows,
            "references": references,
        }));
        result.text = sentences.join(" ");
        result.facts = facts.into_list();
        result.banners.extend(ground.notices.iter().cloned());
        if let Some(asked) = own_floor.filter(|asked| *asked < floor) {
            result.banners.push(format!(
                "min_trust {asked} is below the trust floor of {floor} that runs have here, so that points were held against \
                 {floor}; min_trust can only raise it"
            ));
        }
        let of_runs = ground.config.trust_floor(call.caller.min_trust);
        if of_runs > floor {
            result.banners.push(format!(
                "runs hold their inputs against {of_runs} here, the trust_gate.min_trust of the run configuration; call with \
                 min_trust {of_runs} to see which points fall below it"
            ));
        }
        if counts.below_floor > 0 {
            result.banners.push(format!(
                "{} below the trust floor of {floor}: rules of rule_run that need such a point decline, which is no pass",
                counted(counts.below_floor, "point is", "points are"),
            ));
        }
        let unchecked = references::notices(call, &comparisons);
        result.banners.extend(unchecked);
        Ok(result)
    }
}
