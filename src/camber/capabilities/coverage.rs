//! `coverage`: how complete the stored trends of a facility are (CAMBER core §12.3).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value, json};

use super::coverage_figures::{PointCoverage, PointSamples};
use super::selection::{asked, require_equipment, require_roles, window};
use crate::camber::call::Call;
use crate::camber::capability::{
    Capability, CapabilityDefinition, closed_object, count, list_of, of_type, wall_clock,
    whole_object, word,
};
use crate::camber::error::CapabilityError;
use crate::camber::pages;
use crate::camber::python_text::{one_decimal, rounded};
use crate::camber::result::{CapabilityResult, Facts, counted};
use crate::trends::store::wall_clock::{Window, iso};
use crate::trends::store::{FacilityId, FacilityPoints, FacilityView, ScanOptions, StoreError};

const NAME: &str = "coverage";

/// Rows of each list on a page.
const PAGE: usize = 50;

/// A lower coverage is worth a sentence.
const GOOD: f64 = 0.9;

/// Equipment with a fact of its own, and equipment that the summary looks at.
const FACTS: usize = 100;
const TOLD: usize = 5;

/// Judges how complete trends are.
pub struct Coverage;

type Samples = BTreeMap<(String, String), PointSamples>;

/// What the scan of a facility found.
struct Scanned {
    points: FacilityPoints,
    samples: Samples,
    /// The window with its open sides filled from the samples.
    window: Window,
}

fn scan(
    call: &Call<'_>,
    view: &FacilityView,
    equips: Option<&BTreeSet<String>>,
    roles: Option<&BTreeSet<String>>,
    window: Window,
) -> Result<Samples, StoreError> {
    let found = Mutex::new(Samples::new());
    let cancelled = || call.watch.is_over();
    let options = ScanOptions {
        equips,
        roles,
        window,
        threads: call.workspace.threads,
        cancelled: &cancelled,
    };
    view.scan_stamps(&options, &|point| {
        let samples = PointSamples::of(&point.stamps);
        found
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert((point.equip, point.role), samples);
    })?;
    Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn first_and_last(samples: &Samples) -> Option<(i64, i64)> {
    let first = samples.values().filter_map(|point| point.first).min()?;
    let last = samples.values().filter_map(|point| point.last).max()?;
    Some((first, last))
}

/// Step 3: the sides that the caller left open come from the samples.
fn filled(window: Window, samples: &Samples, view: &FacilityView) -> Result<Window, StoreError> {
    if window.start.is_some() && window.end.is_some() {
        return Ok(window);
    }
    let found = first_and_last(samples);
    let mut end = window.end.or(found.map(|(_, last)| last));
    if let (Some(start), None) = (window.start, end) {
        let last = view.span()?.map(|(_, last)| last);
        end = Some(last.map_or(start, |last| last.max(start)));
    }
    Ok(Window {
        start: window.start.or(found.map(|(first, _)| first)),
        end,
    })
}

/// One equipment of the answer.
struct Equipment {
    id: String,
    points: usize,
    coverage: f64,
    worst_role: String,
    worst: f64,
}

/// One point of the answer.
struct Point {
    equip: String,
    role: String,
    figures: PointCoverage,
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for value in values {
        sum += value;
        count += 1.0;
    }
    if count == 0.0 {
        return 0.0;
    }
    rounded(sum / count, 4)
}

/// Takes points in the order of equipment and role: sums of floats depend on their order, and the reference sums so.
fn by_equipment(points: &[Point]) -> Vec<Equipment> {
    let mut groups: BTreeMap<&str, Vec<&Point>> = BTreeMap::new();
    for point in points {
        groups.entry(&point.equip).or_default().push(point);
    }
    let mut list: Vec<Equipment> = groups
        .into_iter()
        .filter_map(|(id, group)| {
            let worst = group.iter().min_by(|a, b| {
                let order = a.figures.coverage.total_cmp(&b.figures.coverage);
                order.then_with(|| a.role.cmp(&b.role))
            })?;
            Some(Equipment {
                id: id.to_owned(),
                points: group.len(),
                coverage: mean(group.iter().map(|point| point.figures.coverage)),
                worst_role: worst.role.clone(),
                worst: worst.figures.coverage,
            })
        })
        .collect();
    list.sort_by(|a, b| {
        a.coverage
            .total_cmp(&b.coverage)
            .then_with(|| a.id.cmp(&b.id))
    });
    list
}

struct GapRow {
    hours: f64,
    equip: String,
    role: String,
    start: String,
    end: String,
}

/// Gaps of at least so many hours, longest first.
fn gap_rows(points: &[Point], least: f64) -> Vec<GapRow> {
    let mut rows: Vec<GapRow> = points
        .iter()
        .flat_map(|point| {
            let gaps = point.figures.gaps.iter();
            gaps.filter(|gap| gap.hours() >= least).map(|gap| GapRow {
                hours: rounded(gap.hours(), 2),
                equip: point.equip.clone(),
                role: point.role.clone(),
                start: iso(gap.start),
                end: iso(gap.end),
            })
        })
        .collect();
    rows.sort_by(|a, b| {
        b.hours
            .total_cmp(&a.hours)
            .then_with(|| (&a.equip, &a.role, &a.start).cmp(&(&b.equip, &b.role, &b.start)))
    });
    rows
}

impl Coverage {
    fn scanned(
        call: &Call<'_>,
        facility: &FacilityId,
        arguments: &Map<String, Value>,
        window: Window,
    ) -> Result<Scanned, CapabilityError> {
        let failed = |error: StoreError| call.store_failure(&error);
        let points = call.store().points(facility).map_err(failed)?;
        let [equips, roles] = ["equips", "roles"].map(|name| asked(arguments, name));
        require_equipment(call, "equips", equips.as_ref(), &points)?;
        require_roles(call, "roles", roles.as_ref(), &points)?;
        let fits = |wanted: &Option<BTreeSet<String>>, value: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted.contains(value))
        };
        let selected: BTreeSet<(String, String)> = points
            .points
            .iter()
            .filter(|(equip, role)| fits(&equips, equip) && fits(&roles, role))
            .cloned()
            .collect();
        let (samples, window) = call
            .store()
            .read(facility, |view| {
                if selected.is_empty() {
                    // Each value is stored, their combination nowhere: the whole facility tells the window.
                    let all = scan(call, view, None, None, window)?;
                    return Ok((Samples::new(), filled(window, &all, view)?));
                }
                let found = scan(call, view, equips.as_ref(), roles.as_ref(), window)?;
                let window = filled(window, &found, view)?;
                Ok((found, window))
            })
            .map_err(failed)?;
        Ok(Scanned {
            points: FacilityPoints {
                points: selected,
                classes: points.classes,
            },
            samples,
            window,
        })
    }
}

/// The points in the order of equipment and role.
fn judged(scanned: &mut Scanned) -> Vec<Point> {
    let window = scanned.window;
    scanned
        .points
        .points
        .iter()
        .map(|key| Point {
            equip: key.0.clone(),
            role: key.1.clone(),
            figures: scanned
                .samples
                .remove(key)
                .unwrap_or_default()
                .within(window.start, window.end),
        })
        .collect()
}

fn worst_first(points: &mut [Point]) {
    points.sort_by(|a, b| {
        let order = a.figures.coverage.total_cmp(&b.figures.coverage);
        order.then_with(|| (&a.equip, &a.role).cmp(&(&b.equip, &b.role)))
    });
}

/// A share as percent, from its rounded value.
fn percent(share: f64) -> f64 {
    rounded(share * 100.0, 1)
}

impl Capability for Coverage {
    fn definition(&self) -> CapabilityDefinition {
        let text = || of_type(&["string"]);
        let maybe = || of_type(&["string", "null"]);
        let share = || json!({"type": "number", "minimum": 0, "maximum": 1});
        let hours = || json!({"type": "number", "minimum": 0});
        let point = [
            ("equip", text()),
            ("equip_class", text()),
            ("role", text()),
            ("n_samples", count()),
            ("first", maybe()),
            ("last", maybe()),
            ("interval_minutes", of_type(&["number", "null"])),
            ("coverage", share()),
            ("n_gaps", count()),
            ("longest_gap_hours", hours()),
        ];
        let required: Vec<&str> = point.iter().map(|(name, _)| *name).collect();
        let ord = (
            "ord",
            json!({"type": "string", "description": "The station point, where the site model knows it."}),
        );
        let point = closed_object(&required, point.clone().into_iter().chain([ord]));
        let equipment = whole_object([
            ("equip", text()),
            ("equip_class", text()),
            ("n_points", count()),
            ("coverage", share()),
            ("worst_role", text()),
            ("worst_coverage", share()),
        ]);
        let gap = whole_object([
            ("equip", text()),
            ("role", text()),
            ("start", text()),
            ("end", text()),
            ("hours", hours()),
        ]);
        let [limit, offset] = pages::properties();
        CapabilityDefinition {
            name: NAME,
            title: "Completeness of trends",
            description: "How complete the stored trends of a facility are: per point samples, first and last sample, \
                interval, coverage (0 to 1, of the whole window at the point's own interval) and gaps; per equipment the \
                mean and the worst point; the longest gaps. Worst first. Call it before an analysis is trusted, or to \
                plan which data to repair. Cost: one scan of the stamps. \
                Example: {\"facility_id\": \"harborview\", \"group_by\": \"equip\", \"start\": \"2026-03-01\"}.",
            input_schema: closed_object(
                &["facility_id"],
                [
                    (
                        "facility_id",
                        word("A facility_id of the capability facilities."),
                    ),
                    (
                        "equips",
                        json!({"type": "array", "minItems": 1, "maxItems": 200, "items": word("An equipment id."),
                            "description": "Only these equipment ids."}),
                    ),
                    (
                        "roles",
                        json!({"type": "array", "minItems": 1, "maxItems": 100, "items": word("A role."),
                            "description": "Only these roles, such as supply_air_temp."}),
                    ),
                    (
                        "start",
                        wall_clock(
                            "First time, in the site's wall clock; a date alone is its midnight.",
                        ),
                    ),
                    (
                        "end",
                        wall_clock("Last time, inclusive; a date alone is its midnight."),
                    ),
                    (
                        "group_by",
                        json!({"type": "string", "enum": ["point", "equip"], "default": "point",
                            "description": "equip: without the rows of single points."}),
                    ),
                    (
                        "min_gap_hours",
                        json!({"type": "number", "minimum": 0, "maximum": 8760,
                            "description": "Lists only gaps of at least so many hours."}),
                    ),
                    limit,
                    offset,
                ],
            ).into(),
            output_schema: whole_object([
                ("facility_id", text()),
                (
                    "window",
                    whole_object([("start", maybe()), ("end", maybe())]),
                ),
                ("coverage", share()),
                ("n_points", count()),
                ("equipment", list_of(equipment)),
                ("points", list_of(point)),
                ("gaps", list_of(gap)),
            ]).into(),
            long_running: false,
            reads_store: true,
            own_output: &[],
        }
    }

    fn run(
        &self,
        call: &Call<'_>,
        arguments: &Map<String, Value>,
    ) -> Result<CapabilityResult, CapabilityError> {
        let window = window(arguments)?;
        let facility = call.stored_facility(arguments)?;
        let mut scanned = Self::scanned(call, &facility, arguments, window)?;
        let mut points = judged(&mut scanned);
        call.watch.check()?;
        let classes = &scanned.points.classes;
        let class_of = |equip: &str| classes.get(equip).map_or("", String::as_str);
        let equipment = by_equipment(&points);
        // The mean of all points is summed in the order of the list, unlike those of equipment.
        worst_first(&mut points);
        let least = arguments
            .get("min_gap_hours")
            .and_then(Value::as_f64)
            .unwrap_or(0.0);
        let gaps = gap_rows(&points, least);
        let overall = mean(points.iter().map(|point| point.figures.coverage));
        let poor = points
            .iter()
            .filter(|point| point.figures.coverage < GOOD)
            .count();
        let bound = |bound: Option<i64>| bound.map_or_else(|| "open".to_owned(), iso);
        let told = format!(
            "{}: {} on {} cover {} % of the window from {} to {}, {poor} of them less than 90 %, with {}",
            call.quote(facility.as_str()),
            counted(points.len(), "point", "points"),
            counted(equipment.len(), "piece of equipment", "pieces of equipment"),
            one_decimal(percent(overall)),
            bound(scanned.window.start),
            bound(scanned.window.end),
            counted(gaps.len(), "gap", "gaps"),
        );
        let mut facts = Facts::of(NAME);
        let id = ("facility_id", json!(facility.as_str()));
        let cite = facts.add(
            NAME,
            percent(overall),
            told.clone(),
            std::slice::from_ref(&id),
        );
        let mut sentences = vec![format!("{told} {cite}.")];
        for (place, row) in equipment.iter().take(FACTS).enumerate() {
            let told = format!(
                "Equipment {} covers {} %, worst {} with {} %",
                call.quote(&row.id),
                one_decimal(percent(row.coverage)),
                call.quote(&row.worst_role),
                one_decimal(percent(row.worst)),
            );
            let extra = [("equip", json!(row.id)), id.clone()];
            let cite = facts.add(
                "equip_coverage",
                percent(row.coverage),
                told.clone(),
                &extra,
            );
            if place < TOLD && row.coverage < GOOD {
                sentences.push(format!("{told} {cite}."));
            }
        }
        let no_samples =
            !points.is_empty() && points.iter().all(|point| point.figures.samples.count == 0);
        let equipment_rows: Vec<Value> = call
            .page("equipment", equipment, PAGE, Some("worst first"))
            .into_iter()
            .map(|row| {
                json!({
                    "equip": row.id,
                    "equip_class": class_of(&row.id),
                    "n_points": row.points,
                    "coverage": row.coverage,
                    "worst_role": row.worst_role,
                    "worst_coverage": row.worst,
                })
            })
            .collect();
        let n_points = points.len();
        let listed = match arguments.get("group_by").and_then(Value::as_str) {
            Some("equip") => Vec::new(),
            _ => points,
        };
        let ords = call.ords(facility.as_str());
        let point_rows: Vec<Value> = call
            .page("points", listed, PAGE, Some("worst first"))
            .into_iter()
            .map(|point| {
                let samples = &point.figures.samples;
                let mut row = json!({
                    "equip": point.equip,
                    "equip_class": class_of(&point.equip),
                    "role": point.role,
                    "n_samples": samples.count,
                    "first": samples.first.map(iso),
                    "last": samples.last.map(iso),
                    "interval_minutes": samples.interval_minutes(),
                    "coverage": point.figures.coverage,
                    "n_gaps": point.figures.gaps.len(),
                    "longest_gap_hours": point.figures.longest_hours(),
                });
                if let Some(ord) = ords.ord(&point.equip, &point.role) {
                    row["ord"] = json!(ord);
                }
                row
            })
            .collect();
        let gap_rows: Vec<Value> = call
            .page("gaps", gaps, PAGE, Some("longest first"))
            .into_iter()
            .map(|gap| {
                json!({"equip": gap.equip, "role": gap.role, "start": gap.start, "end": gap.end, "hours": gap.hours})
            })
            .collect();
        let mut result = CapabilityResult::of(json!({
            "facility_id": facility.as_str(),
            "window": {"start": scanned.window.start.map(iso), "end": scanned.window.end.map(iso)},
            "coverage": overall,
            "n_points": n_points,
            "equipment": equipment_rows,
            "points": point_rows,
            "gaps": gap_rows,
        }));
        if no_samples {
            result.banners.push(
                "the window holds no stored sample of these points: a coverage of 0 says nothing about other times".to_owned(),
            );
        }
        result.text = sentences.join(" ");
        result.facts = facts.into_list();
        Ok(result)
    }
}
