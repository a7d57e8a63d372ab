//! Valves and dampers that keep turning back (Air rules §2.6).

use crate::finding::{EventCount, Judgement, Metrics, Severity, Verdict, number};
use crate::frame::Frame;
use crate::gates;
use crate::numeric;
use crate::parameters::{ParameterError, Parameters};
use crate::rules::RuleCode;
use crate::wall_clock::{HOUR, SECOND};

/// The rule.
pub const RULE: RuleCode = RuleCode::equipment("control_hunting", analyse)
    .checked_by(check)
    .judged_by(judge);

/// Outputs that modulate, in the order in which a tie is settled.
const MODULATING: [&str; 4] = ["heat_valve", "cool_valve", "damper", "oa_damper"];

/// Fewer samples tell nothing of a signal.
const MIN_SAMPLES: usize = 3;

fn check(parameters: &Parameters) -> Result<(), ParameterError> {
    if parameters.number("resolution_margin") < 1.0 {
        return Err(parameters.refuse(
            "resolution_margin",
            "it must be 1 or more: a threshold that sampling cannot reach is no test",
        ));
    }
    Ok(())
}

/// The samples of one signal that are there.
struct Samples {
    rows: Vec<usize>,
    stamps: Vec<i64>,
    values: Vec<f64>,
}

impl Samples {
    fn of(frame: &Frame<'_>, role: &str) -> Option<Self> {
        let values = gates::percent(frame.column(role)?);
        let mut samples = Self {
            rows: Vec::new(),
            stamps: Vec::new(),
            values: Vec::new(),
        };
        for (row, (stamp, value)) in frame.stamps().iter().zip(values.iter()).enumerate() {
            if !value.is_nan() {
                samples.rows.push(row);
                samples.stamps.push(*stamp);
                samples.values.push(*value);
            }
        }
        (samples.rows.len() >= MIN_SAMPLES).then_some(samples)
    }
}

/// Steps between samples that follow each other closely enough, with the fan on at both ends.
struct Steps {
    /// Nanoseconds of each step that counts; none of the others.
    widths: Vec<Option<f64>>,
    /// Median of the gaps, nanoseconds; none without a gap.
    interval: Option<f64>,
}

impl Steps {
    fn of(stamps: &[i64], rows: &[usize], fan: Option<&[bool]>, gap_factor: f64) -> Self {
        let interval = numeric::median_step(stamps);
        let longest = gap_factor * interval.unwrap_or(f64::NAN);
        let is_on = |row: usize| fan.is_none_or(|fan| fan.get(row).copied().unwrap_or(false));
        let widths = stamps
            .windows(2)
            .zip(rows.windows(2))
            .map(|(stamps, rows)| {
                let (&[before, after], &[from, to]) = (stamps, rows) else {
                    return None;
                };
                let width = numeric::nanos(after.checked_sub(before)?);
                (width > 0.0 && width <= longest && is_on(from) && is_on(to)).then_some(width)
            })
            .collect();
        Self { widths, interval }
    }

    fn hours(&self) -> f64 {
        self.widths.iter().flatten().sum::<f64>() / numeric::nanos(HOUR)
    }

    /// Reversals per hour that sampling could show at most.
    fn ceiling(&self) -> Option<f64> {
        Some(3600.0 / (self.interval? / numeric::nanos(SECOND)))
    }
}

/// How often one signal turned back.
struct Signal {
    role: &'static str,
    rate: f64,
    reversals: usize,
    ceiling: Option<f64>,
    /// Rows at the end of a step that counts.
    judged_rows: Vec<usize>,
    /// Rows at the end of a reversal.
    reversed_rows: Vec<usize>,
}

impl Signal {
    fn of(
        role: &'static str,
        samples: &Samples,
        fan: Option<&[bool]>,
        parameters: &Parameters,
    ) -> Self {
        let deadband = parameters.number("deadband");
        let steps = Steps::of(
            &samples.stamps,
            &samples.rows,
            fan,
            parameters.number("gap_factor"),
        );
        let mut reversed_rows = Vec::new();
        let mut judged_rows = Vec::new();
        // Direction of the last move beyond the deadband in this run of steps.
        let mut direction = 0.0_f64;
        let ends = samples.values.windows(2).zip(samples.rows.iter().skip(1));
        for ((values, row), width) in ends.zip(&steps.widths) {
            let (&[before, after], Some(_)) = (values, width) else {
                direction = 0.0;
                continue;
            };
            judged_rows.push(*row);
            let moved = after - before;
            if moved.abs() > deadband {
                if moved * direction < 0.0 {
                    reversed_rows.push(*row);
                }
                direction = moved.signum();
            }
        }
        let hours = steps.hours();
        let reversals = reversed_rows.len();
        Self {
            role,
            rate: if hours > 0.0 {
                numeric::share_of(reversals) / hours
            } else {
                0.0
            },
            reversals,
            ceiling: steps.ceiling(),
            judged_rows,
            reversed_rows,
        }
    }

    fn reaches(&self, threshold: f64, parameters: &Parameters) -> bool {
        self.ceiling
            .is_some_and(|ceiling| ceiling >= parameters.number("resolution_margin") * threshold)
    }

    fn minutes(&self) -> f64 {
        60.0 / self.ceiling.unwrap_or(f64::NAN)
    }
}

/// All signals of an equipment.
struct Hunting {
    signals: Vec<Signal>,
    fan_gate: &'static str,
    fan_on_hours: Option<f64>,
}

impl Hunting {
    /// None when nothing modulates.
    fn of(frame: &Frame<'_>, parameters: &Parameters) -> Option<Self> {
        let is_gated = parameters.flag("fan_gate");
        let fan = if is_gated { gates::fan_on(frame) } else { None };
        let mask = fan.as_ref().map(|fan| fan.mask.as_slice());
        let sampled: Vec<(&'static str, Samples)> = MODULATING
            .into_iter()
            .filter_map(|role| Some((role, Samples::of(frame, role)?)))
            .collect();
        if sampled.is_empty() {
            return None;
        }
        let signals = sampled
            .iter()
            .map(|(role, samples)| Signal::of(role, samples, mask, parameters))
            .collect();
        let fan_gate = match (&fan, is_gated) {
            (Some(fan), _) => fan.source,
            (None, true) => gates::UNGATED,
            (None, false) => "off",
        };
        let fan_on_hours = mask.map(|mask| fan_on_hours(frame, &sampled, mask, parameters));
        Some(Self {
            signals,
            fan_gate,
            fan_on_hours,
        })
    }

    /// The signal that turns back most; the first of equals.
    fn worst<'s>(signals: impl Iterator<Item = &'s Signal>) -> Option<&'s Signal> {
        signals.fold(None, |worst: Option<&Signal>, signal| match worst {
            Some(worst) if worst.rate >= signal.rate => Some(worst),
            _ => Some(signal),
        })
    }

    fn is_ungated(&self) -> bool {
        self.fan_gate == gates::UNGATED
    }
}

fn fan_on_hours(
    frame: &Frame<'_>,
    sampled: &[(&'static str, Samples)],
    fan: &[bool],
    parameters: &Parameters,
) -> f64 {
    let mut is_sampled = vec![false; frame.len()];
    for row in sampled.iter().flat_map(|(_, samples)| &samples.rows) {
        if let Some(set) = is_sampled.get_mut(*row) {
            *set = true;
        }
    }
    let (mut rows, mut stamps) = (Vec::new(), Vec::new());
    for (row, (stamp, is_sampled)) in frame.stamps().iter().zip(&is_sampled).enumerate() {
        if *is_sampled {
            rows.push(row);
            stamps.push(*stamp);
        }
    }
    Steps::of(&stamps, &rows, Some(fan), parameters.number("gap_factor")).hours()
}

fn analyse(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let Some(hunting) = Hunting::of(frame, parameters) else {
        return Some(Verdict::info(
            Metrics::new(),
            "Hunting was not judged: no valve or damper has three samples.",
        ));
    };
    let (warn, fault) = (
        parameters.number("warn_per_hr"),
        parameters.number("fault_per_hr"),
    );
    let reachable = || {
        hunting
            .signals
            .iter()
            .filter(|signal| signal.reaches(warn, parameters))
    };
    let mut verdict = match Hunting::worst(reachable()) {
        None => too_coarse(&hunting, frame, parameters, warn)?,
        Some(worst) if hunting.fan_on_hours == Some(0.0) => {
            let mut metrics = figures(&hunting, frame, parameters, worst, false);
            let caveats = left_out(&hunting, parameters, &mut metrics);
            Verdict::info(metrics, "Hunting was not judged: the fan never ran.")
                .with_caveats(caveats)
        }
        Some(worst) => judged(&hunting, worst, frame, parameters, (warn, fault)),
    };
    if hunting.is_ungated() {
        verdict = verdict.with_caveat(
            "No fan signal is trended: hours with the fan off count too, and dilute the rate.",
        );
    }
    Some(verdict)
}

/// Figures that every finding has; what was not judged is null.
fn figures(
    hunting: &Hunting,
    frame: &Frame<'_>,
    parameters: &Parameters,
    worst: &Signal,
    is_judged: bool,
) -> Metrics {
    let rates: serde_json::Map<String, serde_json::Value> = hunting
        .signals
        .iter()
        .map(|signal| {
            let is_known =
                is_judged && signal.reaches(parameters.number("warn_per_hr"), parameters);
            let rate = if is_known {
                number(numeric::round(signal.rate, 2))
            } else {
                serde_json::Value::Null
            };
            (signal.role.to_owned(), rate)
        })
        .collect();
    let rate = is_judged.then(|| numeric::round(worst.rate, 2));
    let mut metrics = Metrics::new();
    metrics
        .set("worst_signal", worst.role)
        .number_or_null("reversals_per_hr", rate)
        .count("reversals", worst.reversals)
        .set("per_signal_rate", rates)
        .number("deadband", parameters.number("deadband"))
        .number_or_null(
            "max_resolvable_per_hr",
            worst.ceiling.map(|ceiling| numeric::round(ceiling, 2)),
        )
        .set("fan_gate", hunting.fan_gate);
    let mut missing: Vec<&str> = MODULATING
        .into_iter()
        .filter(|role| !frame.has(role))
        .collect();
    if hunting.is_ungated() {
        missing.push("supply_fan_status");
    }
    metrics.set("_missing_optional", missing);
    if let Some(hours) = hunting.fan_on_hours {
        metrics.rounded("fan_on_hours", hours, 2);
    }
    metrics
}

/// Names the signals that are sampled too seldom, and says why each was not judged.
fn left_out(hunting: &Hunting, parameters: &Parameters, metrics: &mut Metrics) -> Vec<String> {
    let warn = parameters.number("warn_per_hr");
    let left: Vec<&Signal> = hunting
        .signals
        .iter()
        .filter(|signal| !signal.reaches(warn, parameters))
        .collect();
    if !left.is_empty() {
        let names: Vec<&str> = left.iter().map(|signal| signal.role).collect();
        metrics.set("not_evaluated_signals", names);
    }
    left.into_iter()
        .map(|signal| {
            format!(
                "{} was not judged: samples every {:.0} min show at most {:.1} reversals per hour, too few for the first \
                 threshold of {warn}.",
                signal.role,
                signal.minutes(),
                signal.ceiling.unwrap_or_default()
            )
        })
        .collect()
}

/// No signal is sampled often enough.
fn too_coarse(
    hunting: &Hunting,
    frame: &Frame<'_>,
    parameters: &Parameters,
    warn: f64,
) -> Option<Verdict> {
    let worst = Hunting::worst(hunting.signals.iter())?;
    let mut metrics = figures(hunting, frame, parameters, worst, false);
    let share = worst
        .ceiling
        .map(|ceiling| numeric::round(worst.rate / ceiling, 2));
    metrics.number_or_null("reversal_share_of_max", share);
    let summary = format!(
        "Hunting was not judged: samples every {:.0} min show at most {:.1} reversals per hour, and the first threshold is \
         {warn} per hour.",
        worst.minutes(),
        worst.ceiling.unwrap_or_default()
    );
    let caveat = format!(
        "Samples of {} are {:.0} min apart: they can show {:.1} reversals per hour, {warn} with a margin are needed; {:.0} \
         % of what they can show was seen. Finer samples (8 min or less) are needed.",
        worst.role,
        worst.minutes(),
        worst.ceiling.unwrap_or_default(),
        100.0 * share.unwrap_or_default()
    );
    Some(Verdict::info(metrics, summary).with_caveat(caveat))
}

fn judged(
    hunting: &Hunting,
    worst: &Signal,
    frame: &Frame<'_>,
    parameters: &Parameters,
    (warn, fault): (f64, f64),
) -> Verdict {
    let mut metrics = figures(hunting, frame, parameters, worst, true);
    let mut caveats = left_out(hunting, parameters, &mut metrics);
    let is_fault_reachable = worst.reaches(fault, parameters);
    metrics.set("fault_reachable", is_fault_reachable);
    let mut severity = Severity::at_least(worst.rate, warn, fault);
    if !is_fault_reachable {
        if severity == Severity::Fault {
            severity = Severity::Warn;
        }
        let ceiling = worst.ceiling.unwrap_or_default();
        if severity == Severity::Warn {
            caveats.push(format!(
                "The verdict is capped at warn: samples show at most {ceiling:.1} reversals per hour, too few to tell a \
                 fault ({fault} per hour)."
            ));
        } else {
            caveats.push(format!(
                "Only the first threshold could be tested: samples show at most {ceiling:.1} reversals per hour, a fault \
                 begins at {fault}."
            ));
        }
    }
    let summary = if severity == Severity::Ok {
        format!(
            "No valve or damper hunts: the most restless, {}, turns back {:.1} times an hour.",
            worst.role, worst.rate
        )
    } else {
        format!(
            "{} hunts: it turns back {:.1} times an hour ({} reversals).",
            worst.role, worst.rate, worst.reversals
        )
    };
    Verdict::new(severity, metrics, summary).with_caveats(caveats)
}

fn judge(frame: &Frame<'_>, parameters: &Parameters) -> Option<Judgement> {
    let hunting = Hunting::of(frame, parameters)?;
    let warn = parameters.number("warn_per_hr");
    let evaluable = hunting
        .signals
        .iter()
        .filter(|signal| signal.reaches(warn, parameters));
    let Some(worst) = Hunting::worst(evaluable) else {
        return Some(Judgement::whole_period(
            "Samples are too far apart to show hunting.",
        ));
    };
    let stamps = worst
        .reversed_rows
        .iter()
        .filter_map(|row| frame.stamps().get(*row).copied())
        .collect();
    let mut judgement = Judgement::whole_period(match worst.judged_rows.is_empty() {
        true => "No step between samples could be judged.",
        false => "Hunting is counted in reversals, not in hours.",
    });
    judgement.events.push(EventCount {
        name: format!("reversals of {}", worst.role),
        count: worst.reversals,
        stamps,
    });
    Some(judgement)
}

#[cfg(test)]
mod tests;
