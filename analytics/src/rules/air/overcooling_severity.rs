//! How far and for how long a zone is driven below its setpoint (Air rules §2.17).

use serde_json::Value;

use crate::finding::{Condition, Flagged, Judgement, Metrics, Severity, Verdict};
use crate::frame::Frame;
use crate::masks;
use crate::numeric;
use crate::occupancy::{self, Schedule};
use crate::parameters::{ParameterError, Parameters};
use crate::rules::RuleCode;
use crate::wall_clock::{HOUR, MINUTE};

/// The rule.
pub const RULE: RuleCode = RuleCode::equipment("overcooling_severity", analyse)
    .checked_by(check)
    .judged_by(judge);

const TIERS: [&str; 3] = ["info", "warn", "fault"];

/// Depths in °F from which the tiers begin when none are given.
const DEPTHS: [f64; 3] = [1.0, 2.0, 3.0];

const GRADES: [Severity; 3] = [Severity::Info, Severity::Warn, Severity::Fault];

fn tiers(parameters: &Parameters) -> [f64; 3] {
    match parameters.mapping("tiers") {
        Some(tiers) => {
            TIERS.map(|tier| tiers.get(tier).and_then(Value::as_f64).unwrap_or(f64::NAN))
        }
        None => DEPTHS,
    }
}

/// Shares from which a grade by depth stands: warn and fault, percent.
fn share_gate(parameters: &Parameters, name: &str) -> Option<(f64, f64)> {
    let gate = parameters.mapping(name)?;
    let share = |grade: &str| gate.get(grade).and_then(Value::as_f64);
    Some((share("warn")?, share("fault")?))
}

fn check(parameters: &Parameters) -> Result<(), ParameterError> {
    if parameters.mapping("tiers").is_some() && tiers(parameters).iter().any(|depth| depth.is_nan())
    {
        return Err(parameters.refuse(
            "tiers",
            "it needs a number for each of info, warn and fault",
        ));
    }
    for name in ["shortfall_share_pct", "share_pct"] {
        if parameters.mapping(name).is_none() {
            continue;
        }
        let is_ordered = share_gate(parameters, name)
            .is_some_and(|(warn, fault)| 0.0 <= warn && warn <= fault && fault <= 100.0);
        if !is_ordered {
            return Err(parameters.refuse(
                name,
                "it needs warn and fault, with warn from 0 to fault and fault up to 100",
            ));
        }
    }
    Ok(())
}

/// A grade by depth that holds only with enough of the time behind it: the milder of the two.
fn gated(grade: Severity, share: f64, gate: Option<(f64, f64)>) -> Severity {
    let Some((warn, fault)) = gate.filter(|_| grade != Severity::Ok) else {
        return grade;
    };
    let by_share = if share >= fault {
        Severity::Fault
    } else if share >= warn {
        Severity::Warn
    } else {
        Severity::Info
    };
    grade.max(by_share)
}

/// The samples of a zone that are considered.
struct Zone {
    considered: Vec<bool>,
    n: usize,
    is_deadband: bool,
    /// Degrees below the reference; by row.
    depth: Vec<f64>,
    saturated: Vec<bool>,
    is_reheat_evaluated: bool,
    interval_min: f64,
    window_min: f64,
    n_recovering: usize,
    n_fan_off: usize,
}

impl Zone {
    fn of(frame: &Frame<'_>, parameters: &Parameters) -> Option<Self> {
        let temperature = frame.column("space_temp")?;
        let cool_setpoint = frame.column("cool_sp")?;
        let occupied = occupancy::effective(frame, &Schedule::of(parameters), true).mask;
        let recovering = recovering(frame, parameters, &occupied);
        let settled = masks::and_not(&occupied, &recovering);
        let off = fan_off(frame);
        let mut considered = masks::and_not(&settled, &off);
        for column in [temperature, cool_setpoint] {
            considered = masks::and(&considered, &masks::present(column));
        }
        let heat_setpoint = frame
            .column("heat_sp")
            .filter(|_| parameters.flag("relative_to_deadband"));
        if let Some(setpoint) = heat_setpoint {
            considered = masks::and(&considered, &masks::present(setpoint));
        }
        let depth = heat_setpoint
            .unwrap_or(cool_setpoint)
            .iter()
            .zip(temperature)
            .map(|(reference, temperature)| reference - temperature)
            .collect();
        let valve = frame
            .column("heat_valve")
            .filter(|valve| masks::picked(valve, &considered).next().is_some());
        let full = parameters.number("reheat_saturated_pct");
        let window_min = parameters.number("window_min");
        let step = numeric::median_step(&masks::picked_stamps(frame.stamps(), &considered));
        Some(Self {
            n: masks::count(&considered),
            is_deadband: heat_setpoint.is_some(),
            depth,
            saturated: match valve {
                Some(valve) => masks::where_value(valve, |value| value >= full),
                None => vec![false; frame.len()],
            },
            is_reheat_evaluated: valve.is_some(),
            interval_min: step.map_or(window_min, |step| step / numeric::nanos(MINUTE)),
            window_min,
            n_recovering: masks::count(&masks::and(&occupied, &recovering)),
            n_fan_off: masks::count(&masks::and(&settled, &off)),
            considered,
        })
    }

    /// Considered samples at least that deep, with the reheat saturated or not, that hold for the window.
    fn deep(&self, frame: &Frame<'_>, depth: f64, is_saturated: bool) -> Vec<bool> {
        let deep: Vec<bool> = self
            .considered
            .iter()
            .zip(&self.depth)
            .zip(&self.saturated)
            .map(|((considered, value), saturated)| {
                *considered && *value >= depth && *saturated == is_saturated
            })
            .collect();
        self.sustained(frame, &deep)
    }

    /// Runs that last the window; a gap of more than one and a half intervals ends a run.
    fn sustained(&self, frame: &Frame<'_>, mask: &[bool]) -> Vec<bool> {
        if self.interval_min >= self.window_min {
            return mask.to_vec();
        }
        let interval = self.interval_min * numeric::nanos(MINUTE);
        let window = self.window_min * numeric::nanos(MINUTE);
        let mut kept = vec![false; mask.len()];
        let mut run: Vec<usize> = Vec::new();
        let mut first = 0_i64;
        let mut last: Option<i64> = None;
        let mut close = |run: &mut Vec<usize>, first: i64, last: Option<i64>| {
            let lasts = last.is_some_and(|last| {
                numeric::nanos(last.saturating_sub(first)) + interval >= window
            });
            for row in run.drain(..) {
                if let Some(kept) = kept.get_mut(row).filter(|_| lasts) {
                    *kept = true;
                }
            }
        };
        let rows = frame.stamps().iter().zip(&self.considered).zip(mask);
        for (row, ((stamp, considered), set)) in rows.enumerate() {
            if !considered {
                continue;
            }
            let is_apart = last
                .is_some_and(|last| numeric::nanos(stamp.saturating_sub(last)) > 1.5 * interval);
            if !*set || is_apart {
                close(&mut run, first, last);
            }
            if *set {
                if run.is_empty() {
                    first = *stamp;
                }
                run.push(row);
                last = Some(*stamp);
            } else {
                last = None;
            }
        }
        close(&mut run, first, last);
        kept
    }

    fn tiers(&self, frame: &Frame<'_>, depths: [f64; 3], is_saturated: bool) -> Tiers {
        let masks = depths.map(|depth| self.deep(frame, depth, is_saturated));
        let mut grade = Severity::Ok;
        for (mask, tier) in masks.iter().zip(GRADES) {
            if masks::count(mask) > 0 {
                grade = grade.worse(tier);
            }
        }
        let percent = [0, 1, 2].map(|tier| {
            let count = masks.get(tier).map_or(0, |mask| masks::count(mask));
            numeric::round(numeric::percent_of(count, self.n), 2)
        });
        Tiers {
            masks,
            percent,
            grade,
        }
    }
}

/// Samples per tier (info, warn, fault), and the worst tier that has any.
struct Tiers {
    masks: [Vec<bool>; 3],
    percent: [f64; 3],
    grade: Severity,
}

/// The first hours of occupied blocks, which a night setback explains; nothing where warm-up is trended.
fn recovering(frame: &Frame<'_>, parameters: &Parameters, occupied: &[bool]) -> Vec<bool> {
    let limit = parameters.number("recovery_hours") * numeric::nanos(HOUR);
    if frame.with_data("warmup").is_some() || !(limit > 0.0) {
        return vec![false; occupied.len()];
    }
    let mut started: Option<i64> = None;
    let mut before: Option<bool> = None;
    occupied
        .iter()
        .zip(frame.stamps())
        .map(|(occupied, stamp)| {
            if !occupied {
                started = None;
            } else if before == Some(false) {
                started = Some(*stamp);
            }
            before = Some(*occupied);
            started.is_some_and(|started| numeric::nanos(stamp.saturating_sub(started)) < limit)
        })
        .collect()
}

/// Samples with the fan surely off.
fn fan_off(frame: &Frame<'_>) -> Vec<bool> {
    if let Some(status) = frame.with_data("supply_fan_status") {
        return masks::where_value(status, |value| value <= 0.5);
    }
    match frame.with_data("supply_fan_speed") {
        Some(speed) => masks::where_value(speed, |value| value <= 5.0),
        None => vec![false; frame.len()],
    }
}

fn analyse(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let zone = Zone::of(frame, parameters)?;
    if zone.n == 0 {
        return Some(Verdict::info(
            Metrics::new(),
            "Overcooling was not judged: insufficient data, no occupied sample has temperature and setpoint.",
        ));
    }
    let depths = tiers(parameters);
    let cold = zone.tiers(frame, depths, false);
    let short = zone.tiers(frame, depths, true);
    let unsaturated = masks::picked_values(
        &zone.depth,
        &masks::and_not(&zone.considered, &zone.saturated),
    );
    let mut overcooled: Vec<f64> = unsaturated
        .iter()
        .copied()
        .filter(|depth| *depth > 0.0)
        .collect();
    let median = if overcooled.is_empty() {
        0.0
    } else {
        numeric::median_in_place(&mut overcooled)
    };
    let deepest = numeric::round(unsaturated.iter().copied().fold(0.0, f64::max), 2);
    let [info, warn, fault] = cold.percent;
    let [_, short_warn, _] = short.percent;
    let [_, _, fault_mask] = &cold.masks;
    let grade = gated(cold.grade, warn, share_gate(parameters, "share_pct"));
    let shortfall = gated(
        short.grade,
        short_warn,
        share_gate(parameters, "shortfall_share_pct"),
    );
    let reheat = |value: Value| {
        if zone.is_reheat_evaluated {
            value
        } else {
            Value::Null
        }
    };
    let mut metrics = Metrics::new();
    metrics
        .set(
            "mode",
            if zone.is_deadband {
                "relative_deadband"
            } else {
                "absolute"
            },
        )
        .rounded("interval_min", zone.interval_min, 3)
        .number("window_min", zone.window_min)
        .rounded("median_depth_f", median, 2)
        .number("max_depth_f", deepest)
        .number("fault_pct", fault)
        .number("warn_pct", warn)
        .number("info_pct", info)
        .rounded(
            "fault_minutes",
            numeric::share_of(masks::count(fault_mask)) * zone.interval_min,
            1,
        )
        .count("n_considered", zone.n)
        .set("shortfall_severity", reheat(shortfall.word().into()))
        .set("shortfall_warn_pct", reheat(short_warn.into()))
        .set(
            "shortfall_depth_severity",
            reheat(short.grade.word().into()),
        )
        .count("n_recovery_excluded", zone.n_recovering)
        .count("n_fan_off_excluded", zone.n_fan_off);
    let (severity, caveats) = graded(frame, &zone, &cold, &short, grade, shortfall);
    let summary = summary(&zone, deepest, [info, warn, fault], shortfall, short_warn);
    Some(Verdict::new(severity, metrics, summary).with_caveats(caveats))
}

fn is_grave(severity: Severity) -> bool {
    matches!(severity, Severity::Warn | Severity::Fault)
}

fn graded(
    frame: &Frame<'_>,
    zone: &Zone,
    cold: &Tiers,
    short: &Tiers,
    grade: Severity,
    shortfall: Severity,
) -> (Severity, Vec<String>) {
    let mut severity = grade;
    let mut caveats = Vec::new();
    let is_blind = !zone.is_deadband && !frame.has("heat_sp");
    if is_blind {
        if severity == Severity::Fault {
            severity = Severity::Warn;
        }
        caveats.push(
            "The heating setpoint is not trended: depth counts from the cooling setpoint, which holds the deadband, so this \
             goes no further than warn."
                .to_owned(),
        );
    }
    if zone.is_reheat_evaluated && is_grave(shortfall) {
        let [_, share, _] = short.percent;
        caveats.push(format!(
            "In {share:.1} % of samples the zone is this cold with reheat fully open: too little heating, not overcooling; \
             it is not counted here."
        ));
        if severity == Severity::Ok {
            severity = Severity::Info;
        }
    }
    if grade != cold.grade {
        let [_, share, _] = cold.percent;
        caveats.push(format!(
            "By depth this were {}; only {share:.1} % of samples are that deep.",
            cold.grade
        ));
    }
    if zone.is_reheat_evaluated && shortfall != short.grade {
        let [_, share, _] = short.percent;
        caveats.push(format!(
            "By depth the heating shortfall were {}; only {share:.1} % of samples are that deep.",
            short.grade
        ));
    }
    if is_grave(severity) && !zone.is_reheat_evaluated {
        caveats.push(
            "No reheat valve is trended: a zone that lacks heat cannot be told from one that is overcooled.".to_owned(),
        );
    }
    if zone.n_recovering > 0 {
        caveats.push(format!(
            "{} samples after the start of occupied hours are left out as recovery from setback.",
            zone.n_recovering
        ));
    }
    (severity, caveats)
}

fn summary(
    zone: &Zone,
    deepest: f64,
    [info, warn, fault]: [f64; 3],
    shortfall: Severity,
    short_warn: f64,
) -> String {
    let reference = if zone.is_deadband {
        "heating setpoint"
    } else {
        "cooling setpoint"
    };
    let window = format!(
        "sustained for {} min at an interval of {:.0} min",
        zone.window_min, zone.interval_min
    );
    let tiers = format!(
        "{info:.0} % of occupied samples are at the info, {warn:.0} % at the warn and {fault:.0} % at the fault depth, {window}"
    );
    let short = match zone.is_reheat_evaluated && is_grave(shortfall) {
        true => format!(" {short_warn:.0} % are as cold with reheat fully open."),
        false => String::new(),
    };
    if info == 0.0 {
        let depth = match deepest > 0.0 {
            true => format!("at most {deepest:.1} °F below its {reference}"),
            false => format!("never below its {reference}"),
        };
        return format!("No sustained overcooling: the zone is {depth}; {tiers}.{short}");
    }
    format!("The zone is up to {deepest:.1} °F below its {reference}; {tiers}.{short}")
}

fn judge(frame: &Frame<'_>, parameters: &Parameters) -> Option<Judgement> {
    let zone = Zone::of(frame, parameters)?;
    let depths = tiers(parameters);
    let cold = zone.tiers(frame, depths, false);
    let short = zone.tiers(frame, depths, true);
    let condition = |name: &str, flagged: &[bool]| Condition {
        name: name.to_owned(),
        judged_basis: "occupied samples".to_owned(),
        samples: Flagged {
            judged: zone.considered.clone(),
            flagged: flagged.to_vec(),
        },
    };
    let mut conditions: Vec<Condition> = TIERS
        .iter()
        .zip(&cold.masks)
        .map(|(name, mask)| condition(name, mask))
        .collect();
    let [shortfall, _, _] = &short.masks;
    if zone.is_reheat_evaluated {
        conditions.push(condition("heating shortfall", shortfall));
    }
    let [info, _, _] = cold.masks;
    Some(Judgement {
        conditions,
        ..Judgement::of("occupied samples", zone.considered, info)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::frame::RoleFrame;
    use crate::rules::testing::{self, Column, every, week};

    fn zone(temperature: f64, more: &[Column<'_>]) -> RoleFrame {
        let temperature = move |_| temperature;
        let mut columns: Vec<Column<'_>> =
            vec![("space_temp", &temperature), ("cool_sp", &|_| 74.0)];
        columns.extend_from_slice(more);
        week(&columns)
    }

    const HEAT_SETPOINT: Column<'static> = ("heat_sp", &|_| 70.0);
    const SHUT: Column<'static> = ("heat_valve", &|_| 0.0);

    #[test]
    fn two_and_a_half_degrees_below_the_deadband_warn() {
        let table = zone(67.5, &[HEAT_SETPOINT, SHUT]);
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        let metric = |name: &str| verdict.metrics.as_number(name).unwrap();
        assert_eq!(verdict.severity, Severity::Warn);
        assert_eq!(
            (metric("max_depth_f"), metric("median_depth_f")),
            (2.5, 2.5)
        );
        assert_eq!((metric("warn_pct"), metric("fault_pct")), (100.0, 0.0));
        assert_eq!(
            (metric("n_considered"), metric("n_recovery_excluded")),
            (45.0, 10.0)
        );
        let judgement = testing::judge(&RULE, &table, json!({})).unwrap();
        assert_eq!(masks::count(&judgement.samples.flagged), 45);
        assert_eq!(judgement.conditions.len(), 4);
    }

    #[test]
    fn without_a_heating_setpoint_a_fault_is_held_back() {
        let verdict = testing::run(&RULE, &zone(70.0, &[]), json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Warn);
        assert_eq!(verdict.metrics.get("mode"), Some(&json!("absolute")));
        assert_eq!(verdict.metrics.as_number("max_depth_f"), Some(4.0));
        assert_eq!(verdict.metrics.as_number("fault_minutes"), Some(2700.0));
        assert_eq!(
            verdict.metrics.get("shortfall_severity"),
            Some(&json!(null))
        );
    }

    #[test]
    fn a_cold_zone_with_its_reheat_open_lacks_heat() {
        let table = zone(66.0, &[HEAT_SETPOINT, ("heat_valve", &|_| 100.0)]);
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Info);
        assert_eq!(
            verdict.metrics.get("shortfall_severity"),
            Some(&json!("fault"))
        );
        assert_eq!(verdict.metrics.as_number("warn_pct"), Some(0.0));
    }

    #[test]
    fn a_zone_within_its_deadband_is_fine() {
        let verdict = testing::run(&RULE, &zone(72.0, &[HEAT_SETPOINT]), json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Ok);
        assert!(verdict.summary.contains("never below its heating setpoint"));
    }

    #[test]
    fn only_what_lasts_the_window_counts() {
        // Three quarters of an hour cold, one quarter not.
        let table = every(
            15 * MINUTE,
            7 * 96,
            &[
                ("space_temp", &|row| if row % 4 < 3 { 66.0 } else { 72.0 }),
                ("cool_sp", &|_| 74.0),
                HEAT_SETPOINT,
                SHUT,
            ],
        );
        let severity = |set| testing::run(&RULE, &table, set).unwrap().severity;
        assert_eq!(severity(json!({})), Severity::Ok);
        assert_eq!(severity(json!({"window_min": 45})), Severity::Fault);
    }

    #[test]
    fn a_share_gate_keeps_rare_depth_mild() {
        let once = |row| if row == 12 { 66.0 } else { 72.0 };
        let table = week(&[("space_temp", &once), ("cool_sp", &|_| 74.0), HEAT_SETPOINT]);
        let run = |set| testing::run(&RULE, &table, set).unwrap().severity;
        assert_eq!(run(json!({})), Severity::Fault);
        assert_eq!(
            run(json!({"share_pct": {"warn": 5, "fault": 20}})),
            Severity::Info
        );
    }

    #[test]
    fn gates_without_order_and_tiers_without_a_depth_are_refused() {
        let entry = crate::RuleCatalogue::shipped().entry(RULE.id).unwrap();
        for set in [
            json!({"tiers": {"info": 1, "warn": 2}}),
            json!({"share_pct": {"warn": 30, "fault": 20}}),
            json!({"shortfall_share_pct": {"warn": 5}}),
        ] {
            let mut parameters = Parameters::of(entry);
            parameters
                .set(entry, set.as_object().unwrap(), &[])
                .unwrap();
            assert!(check(&parameters).is_err(), "{set}");
        }
    }
}
