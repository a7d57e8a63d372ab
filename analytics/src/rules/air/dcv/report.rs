//! Figures, words and samples of a judged unit (Air rules §2.8).

use serde_json::{Map, Value, json};

use super::assess::Status;
use super::setting::Setting;
use super::unit::{Segment, Unit};
use crate::finding::{Condition, Flagged, Judgement, Metrics, Severity, Verdict, number};
use crate::masks;
use crate::numeric;
use crate::wall_clock::{date, spaced};

/// Share of closed outdoor air that is told (%).
const CLOSED_TOLD_PCT: f64 = 5.0;
/// Share taken away by temperatures that makes one doubt their unit.
const EXCLUDED_TOLD: f64 = 0.95;

/// What is told of the CO2 of an air handler.
pub(super) const RETURN_AIR: &str = "The CO2 of an air handler is likely that of its return air, a mean of its zones: a \
                                     crowded zone may not show.";

/// The verdict of a unit; none without a segment.
pub(super) fn verdict(unit: &Unit, setting: &Setting) -> Option<Verdict> {
    let lead = unit.lead()?;
    let mut metrics = metrics(lead);
    let mut caveats = Vec::new();
    caveats.extend(unchecked(lead));
    caveats.extend(caveats_of(lead, unit, setting));
    let mut told = vec![summary(lead, setting)];
    for other in others(unit, lead) {
        for caveat in caveats_of(other, unit, setting) {
            if !caveats.contains(&caveat) {
                caveats.push(caveat);
            }
        }
        told.push(format!("By {}: {}", other.role, summary(other, setting)));
    }
    if unit.segments.len() > 1 {
        let rows: Vec<Value> = unit
            .segments
            .iter()
            .map(|segment| segment_row(segment, setting))
            .collect();
        metrics.set("oa_segments", rows);
    }
    Some(Verdict::new(unit.severity(), metrics, told.join(" ")).with_caveats(caveats))
}

fn others<'u>(unit: &'u Unit, lead: &'u Segment) -> impl Iterator<Item = &'u Segment> {
    unit.segments
        .iter()
        .filter(|segment| segment.role != lead.role)
}

fn optional(value: Option<f64>) -> Value {
    value.map_or(Value::Null, number)
}

fn dates(segment: &Segment) -> (Value, Value) {
    segment
        .ends
        .map_or((Value::Null, Value::Null), |(start, end)| {
            (date(start).into(), date(end).into())
        })
}

fn segment_row(segment: &Segment, setting: &Setting) -> Value {
    let found = &segment.assessment;
    let (start, end) = dates(segment);
    json!({
        "oa_signal": segment.role,
        "severity": segment.severity.word(),
        "summary": summary(segment, setting),
        "status": found.status.word(),
        "reason": found.status.reason(),
        "demand_lift": optional(found.lift),
        "n": found.n,
        "start": start,
        "end": end,
    })
}

fn metrics(segment: &Segment) -> Metrics {
    let found = &segment.assessment;
    let floor = found.floor.as_ref();
    let unventilated = segment.unventilated.as_ref();
    let (start, end) = dates(segment);
    let mut metrics = Metrics::new();
    metrics
        .set("status", found.status.word())
        .set("reason", found.status.reason())
        .number_or_null("demand_lift", found.lift)
        .number_or_null("demand_lift_pooled", found.pooled_lift)
        .set("lift_basis", found.lift_basis)
        .number_or_null("modulation", found.modulation)
        .number_or_null("correlation", found.correlation)
        .number_or_null("demand_span", found.demand_span)
        .number_or_null("co2_breach_at_min_pct", found.breach_pct)
        .number_or_null("below_floor_pct", floor.map(|floor| floor.running_pct))
        .number_or_null("excess_at_low_demand_pct", found.excess_pct)
        .number_or_null("closed_pct", found.closed_pct)
        .set("economizer_basis", segment.economizer_basis)
        .set("n_econ_excluded", found.n_econ_excluded)
        .set("oa_signal", segment.role)
        .set("demand_kind", found.kind.word())
        .number_or_null(
            "unventilated_high_co2_pct",
            unventilated.map(|found| found.pct),
        )
        .number_or_null(
            "unventilated_high_co2_hours",
            unventilated.map(|found| found.hours),
        )
        .count("n", found.n)
        .set("start", start)
        .set("end", end);
    if let Some(floor) = floor {
        let fan_off = segment.fan_off;
        metrics
            .number("below_floor_total_pct", floor.total_pct)
            .number_or_null("fan_off_occupied_pct", fan_off.map(|(off, _)| off.pct))
            .number_or_null("fan_off_occupied_hours", fan_off.map(|(off, _)| off.hours))
            .set("fan_off_source", fan_off.map(|(_, source)| source))
            .number("below_floor_longest_h", floor.longest_hours)
            .set("below_floor_longest_start", floor.longest_start.map(spaced))
            .number("below_floor_longest_fan_off_h", floor.longest_fan_off_hours);
    }
    metrics
}

/// What could not be checked; told once, of the signal whose figures are shown.
fn unchecked(segment: &Segment) -> Option<String> {
    let found = &segment.assessment;
    let missing: Vec<&str> = [
        found
            .breach_pct
            .is_none()
            .then_some("CO2 above its setpoint at least outdoor air (co2_setpoint)"),
        found
            .floor
            .is_none()
            .then_some("outdoor air below its floor (oa_floor_cfm)"),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!missing.is_empty()).then(|| format!("Not checked: {}.", missing.join("; ")))
}

fn caveats_of(segment: &Segment, unit: &Unit, setting: &Setting) -> Vec<String> {
    let found = &segment.assessment;
    let mut caveats: Vec<String> = Vec::new();
    let limit = setting.econ_high_limit_f;
    match segment.economizer_basis {
        "none" => caveats.push(
            "Nothing shows free cooling: outdoor air that rises for cooling is not told apart from a response to people."
                .to_owned(),
        ),
        "oat" => caveats.push(format!(
            "Free cooling is inferred from outdoor temperature alone: only samples above {limit} °F are judged."
        )),
        "oat_heat_valve" => caveats.push(format!(
            "Free cooling is inferred: only samples above {limit} °F outdoors or with the heating valve open are judged."
        )),
        _ => {}
    }
    if segment.is_proxy() {
        caveats.push(format!(
            "The unit is taken to bring in outdoor air only: {} stands for its outdoor air.",
            segment.role
        ));
    }
    if segment.is_floor_dropped {
        caveats.push(format!(
            "The floor of outdoor air was not checked: {} is no airflow.",
            segment.role
        ));
    }
    if segment.role == "oa_damper" {
        caveats.push(
            "Outdoor air is judged by the position of its damper, which is no airflow.".to_owned(),
        );
    }
    if let Some(closed) = found.closed_pct.filter(|closed| *closed >= CLOSED_TOLD_PCT) {
        caveats.push(format!(
            "Outdoor air was closed in {closed:.0} % of the samples; these are not judged."
        ));
    }
    if found.lift_basis == Some("pooled") {
        let why = if setting.stratify_hour {
            "Too few hours of the day have both raised and least outdoor air"
        } else {
            "Hours of the day are not told apart"
        };
        caveats.push(format!(
            "{why}: the response is compared over all hours, and a valve that follows a clock looks the same."
        ));
    }
    if let Some((off, source)) = segment.fan_off.filter(|(off, _)| off.hours > 0.0) {
        let occupied = if unit.has_occupancy {
            "occupied"
        } else {
            "scheduled as occupied"
        };
        caveats.push(format!(
            "The fan was off by its {} for {:.1} h ({:.1} %) while {occupied}; outdoor air was below its floor, which is not \
             counted as a shortfall with the fan running.",
            source.trim_start_matches("fan "),
            off.hours,
            off.pct
        ));
    }
    if let Some(excluded) = found
        .n_econ_excluded
        .filter(|_| segment.economizer_basis.starts_with("oat"))
    {
        let before = numeric::share_of(excluded + found.n);
        if before > 0.0 && numeric::share_of(excluded) >= EXCLUDED_TOLD * before {
            caveats.push(format!(
                "{excluded} samples may be free cooling by the outdoor temperature, nearly all of them: temperatures are to \
                 be in °F, and an economizer command would tell more."
            ));
        }
    }
    caveats
}

fn summary(segment: &Segment, setting: &Setting) -> String {
    let found = &segment.assessment;
    let lift = found.lift.unwrap_or_default();
    let mut told = vec![match found.status {
        Status::Functioning => format!(
            "Outdoor air answers demand: it is raised when demand is {lift:.0} higher ({} samples).",
            found.n
        ),
        Status::Static => format!(
            "Outdoor air does not answer demand: it varies by {:.0} % only ({} samples).",
            100.0 * found.modulation.unwrap_or_default(),
            found.n
        ),
        Status::Uncorrelated => format!(
            "Outdoor air moves, but not with demand: demand is {lift:.0} higher when it is raised ({} samples).",
            found.n
        ),
        Status::Insufficient(reason) => format!(
            "Whether outdoor air answers demand was not judged: {}.",
            match reason {
                "too_few_samples" => format!(
                    "{} samples are left, {} are needed",
                    found.n, setting.min_samples
                ),
                "no_demand_variation" => "demand hardly varies".to_owned(),
                "demand_below_engage" =>
                    "demand rarely reaches the level that calls for more".to_owned(),
                "oa_rarely_raised" =>
                    "outdoor air is rarely raised or rarely at its least".to_owned(),
                _ => "demand follows the time of day".to_owned(),
            }
        ),
    }];
    told.extend(raised(segment, setting));
    told.join(" ")
}

/// What raises the severity beside the response.
fn raised(segment: &Segment, setting: &Setting) -> Vec<String> {
    let found = &segment.assessment;
    let mut told = Vec::new();
    if let Some(breach) = found
        .breach_pct
        .filter(|breach| *breach >= setting.breach_fault_pct)
    {
        told.push(format!(
            "CO2 is above {:.0} ppm at least outdoor air in {breach:.1} % of the samples.",
            setting.co2_setpoint.unwrap_or_default()
        ));
    }
    if let Some(excess) = found
        .excess_pct
        .filter(|excess| *excess >= setting.excess_warn_pct)
    {
        told.push(format!(
            "Outdoor air is above its floor in {excess:.1} % of the samples with low demand."
        ));
    }
    if let Some(floor) = &found.floor {
        if floor.total_pct >= setting.below_floor_fault_pct {
            told.push(format!(
                "Outdoor air is below its floor in {:.1} % of occupied samples ({:.1} % with the fan on).",
                floor.total_pct, floor.running_pct
            ));
            if let Some((off, _)) = segment.fan_off.filter(|(off, _)| off.hours > 0.0) {
                told.push(format!("The fan was off for {:.1} h of it.", off.hours));
            }
        }
        let limit = setting.below_floor_fault_hours;
        if limit.is_some_and(|limit| floor.longest_hours >= limit) {
            let since = floor.longest_start.map(spaced).unwrap_or_default();
            told.push(format!(
                "It stayed below its floor for {:.1} h from {since}.",
                floor.longest_hours
            ));
        }
    }
    if let Some(found) = segment
        .unventilated
        .as_ref()
        .filter(|found| found.hours >= setting.unventilated_fault_hours)
    {
        told.push(format!(
            "CO2 was at or above {:.0} ppm without outdoor air for {:.1} occupied hours ({:.1} %).",
            setting.unventilated_ppm, found.hours, found.pct
        ));
    }
    told
}

const BASIS: &str = "judged samples (occupied, fan on, not economizing, OA not closed)";

/// The samples behind the verdict, one condition per way to fail.
pub(super) fn judgement(unit: &Unit, rows: usize) -> Judgement {
    let mut conditions: Vec<Condition> = Vec::new();
    let mut add = |name: &str, basis: &str, judged: &[usize], flagged: &[usize]| {
        let judged = mask(rows, judged);
        let flagged = masks::and(&judged, &mask(rows, flagged));
        match conditions.iter_mut().find(|known| known.name == name) {
            Some(known) => {
                known.samples.judged = masks::or(&known.samples.judged, &judged);
                known.samples.flagged = masks::or(&known.samples.flagged, &flagged);
            }
            None => {
                conditions.push(Condition {
                    name: name.to_owned(),
                    judged_basis: basis.to_owned(),
                    samples: Flagged { judged, flagged },
                });
            }
        }
    };
    for segment in &unit.segments {
        let found = &segment.assessment;
        add(
            "no_response",
            BASIS,
            &found.judged_rows,
            &found.response_rows,
        );
        if found.breach_pct.is_some() {
            add("co2_breach", BASIS, &found.judged_rows, &found.breach_rows);
        }
        if let Some(floor) = &found.floor {
            let basis = "occupied samples with outdoor air and demand";
            add("below_floor", basis, &floor.judged_rows, &floor.below_rows);
        }
        if let Some(found) = &segment.unventilated {
            let basis = "occupied samples with demand";
            add("unventilated", basis, &found.judged_rows, &found.rows);
        }
    }
    let mut samples = Flagged {
        judged: vec![false; rows],
        flagged: vec![false; rows],
    };
    for condition in &conditions {
        samples.flagged = masks::or(&samples.flagged, &condition.samples.flagged);
        if condition.name == "no_response" {
            samples.judged = masks::or(&samples.judged, &condition.samples.judged);
        }
    }
    samples.judged = masks::or(&samples.judged, &samples.flagged);
    Judgement {
        judged_basis: BASIS.to_owned(),
        samples,
        conditions,
        ..Judgement::default()
    }
}

fn mask(rows: usize, set: &[usize]) -> Vec<bool> {
    let mut mask = vec![false; rows];
    for row in set {
        if let Some(flag) = mask.get_mut(*row) {
            *flag = true;
        }
    }
    mask
}

/// The figures of a unit as a row of the fleet's.
pub(super) fn row(verdict: &Verdict, severity: Severity, zones: usize) -> Value {
    let mut row = Map::new();
    row.insert("severity".to_owned(), severity.word().into());
    row.insert("summary".to_owned(), verdict.summary.clone().into());
    row.insert("n_zones".to_owned(), zones.into());
    row.extend(verdict.metrics.clone().into_map());
    Value::Object(row)
}
