//! A reset whose setpoint does not go where trim and respond would have put it (Air rules §2.22).

use super::trim_respond::{DUCT_STATIC, SUPPLY_AIR, TrimRespond};
use crate::finding::{Condition, Flagged, Judgement, Metrics, Severity, Verdict};
use crate::frame::Frame;
use crate::masks;
use crate::numeric::{self, percent_of, round};
use crate::parameters::Parameters;
use crate::rules::RuleCode;

/// The rule for the supply air temperature.
pub const SUPPLY_AIR_RULE: RuleCode =
    RuleCode::equipment("sat_reset_effectiveness", |frame, parameters| {
        analyse(frame, parameters, &SAT)
    })
    .judged_by(|frame, parameters| judge(frame, parameters, &SAT));

/// The rule for the duct static pressure.
pub const DUCT_STATIC_RULE: RuleCode =
    RuleCode::equipment("static_reset_effectiveness", |frame, parameters| {
        analyse(frame, parameters, &STATIC)
    })
    .judged_by(|frame, parameters| judge(frame, parameters, &STATIC));

/// What is reset.
struct Reset {
    word: &'static str,
    name: &'static str,
    setpoint: &'static str,
    requests: &'static str,
    units: &'static str,
    decimals: usize,
    logic: TrimRespond,
}

const SAT: Reset = Reset {
    word: "sat",
    name: "supply air temperature",
    setpoint: "supply_air_temp_sp",
    requests: "sat_reset_requests",
    units: "°F",
    decimals: 1,
    logic: SUPPLY_AIR,
};

const STATIC: Reset = Reset {
    word: "static",
    name: "duct static pressure",
    setpoint: "duct_static_sp",
    requests: "static_pressure_requests",
    units: "in. w.c.",
    decimals: 2,
    logic: DUCT_STATIC,
};

/// Movements of the replay below this are noise of the arithmetic.
const NO_MOVE: f64 = 1e-9;

/// The cycles that can be replayed.
struct Replay {
    /// Places in the frame.
    rows: Vec<usize>,
    actual: Vec<f64>,
    expected: Vec<f64>,
    /// Requests beyond the ignored ones.
    effective: Vec<f64>,
}

impl Replay {
    fn of(frame: &Frame<'_>, reset: &Reset) -> Option<Self> {
        let setpoint = frame.column(reset.setpoint)?;
        let requests = frame.column(reset.requests)?;
        let logic = &reset.logic;
        let credible = logic.min - logic.band()..=logic.max + logic.band();
        let (mut rows, mut actual, mut counts) = (Vec::new(), Vec::new(), Vec::new());
        for (row, (setpoint, requests)) in setpoint.iter().zip(requests).enumerate() {
            if credible.contains(setpoint) && !requests.is_nan() {
                rows.push(row);
                actual.push(*setpoint);
                counts.push(requests.round_ties_even().max(0.0));
            }
        }
        Some(Self {
            rows,
            actual,
            expected: logic.replay(&counts),
            effective: counts.iter().map(|count| logic.effective(*count)).collect(),
        })
    }

    fn len(&self) -> usize {
        self.rows.len()
    }
}

/// Cycles that could show a failure, and those that do; as long as the replay.
struct Mode {
    judged: Vec<bool>,
    failed: Vec<bool>,
}

impl Mode {
    fn of(cycles: impl Iterator<Item = (bool, bool)>) -> Self {
        let (judged, failed) = cycles
            .map(|(judged, failed)| (judged, judged && failed))
            .unzip();
        Self { judged, failed }
    }

    fn n(&self) -> usize {
        masks::count(&self.judged)
    }

    /// In percent, one decimal; NaN without a judged cycle.
    fn share(&self) -> f64 {
        round(percent_of(masks::count(&self.failed), self.n()), 1)
    }
}

/// What the replay shows.
struct Modes {
    not_responding: Mode,
    not_trimming: Mode,
    diverges: Mode,
}

impl Modes {
    fn of(replay: &Replay, logic: &TrimRespond, parameters: &Parameters) -> Self {
        let tolerance = parameters.number("pinned_frac") * logic.band();
        let parked = |value: f64, end: f64| (value - end).abs() <= tolerance;
        let cycles = || {
            let setpoints = replay.actual.iter().zip(&replay.expected);
            replay.effective.iter().zip(setpoints)
        };
        let moves = replay.actual.windows(2).zip(replay.expected.windows(2));
        Self {
            not_responding: Mode::of(cycles().map(|(effective, (actual, expected))| {
                (
                    *effective > 0.0 && !parked(*expected, logic.idle_end()),
                    parked(*actual, logic.idle_end()),
                )
            })),
            not_trimming: Mode::of(cycles().map(|(effective, (actual, expected))| {
                (
                    *effective <= 0.0 && !parked(*expected, logic.demand_end()),
                    parked(*actual, logic.demand_end()),
                )
            })),
            // The first cycle has none before it to have moved from.
            diverges: Mode::of(std::iter::once((false, false)).chain(moves.map(
                |(actual, expected)| {
                    let expected = step(expected);
                    (expected.abs() > NO_MOVE, step(actual) * expected < 0.0)
                },
            ))),
        }
    }
}

fn step(pair: &[f64]) -> f64 {
    match pair {
        [before, after] => after - before,
        _ => 0.0,
    }
}

fn range(values: &[f64]) -> f64 {
    numeric::max(values) - numeric::min(values)
}

fn analyse(frame: &Frame<'_>, parameters: &Parameters, reset: &Reset) -> Option<Verdict> {
    let replay = Replay::of(frame, reset)?;
    let n = replay.len();
    let mut metrics = Metrics::new();
    let (name, units) = (reset.name, reset.units);
    if n < parameters.count("min_cycles") || n == 0 {
        let reason = format!("only {n} cycles have a credible setpoint and a request count");
        metrics.set("declined", true).set("reason", reason);
        return Some(
            Verdict::info(
                metrics,
                format!("The reset of the {name} was not replayed: {n} usable cycles are too few."),
            )
            .with_caveat(format!(
                "Cycles count when {} and {} are both there and the setpoint is within a band width of its limits.",
                reset.setpoint, reset.requests
            )),
        );
    }
    let band = reset.logic.band();
    let modes = Modes::of(&replay, &reset.logic, parameters);
    let (actual_swing, expected_swing) = (range(&replay.actual), range(&replay.expected));
    let stuck = actual_swing <= parameters.number("flat_frac") * band
        && expected_swing >= parameters.number("expected_move_frac") * band;
    let parked =
        |mode: &Mode| (mode.n() >= parameters.count("min_mode_cycles")).then(|| mode.share());
    let mode_share = 100.0 * parameters.number("mode_frac");
    let (unresponsive, untrimmed) = (parked(&modes.not_responding), parked(&modes.not_trimming));
    let wrong_way = if modes.diverges.n() == 0 {
        0.0
    } else {
        modes.diverges.share()
    };
    let fails = |share: Option<f64>| share.map(|share| share >= mode_share);
    let diverges = wrong_way >= 100.0 * parameters.number("wrong_dir_frac");
    let failures: Vec<&str> = [
        ("stuck", Some(stuck)),
        ("not_responding", fails(unresponsive)),
        ("not_trimming", fails(untrimmed)),
        ("diverges", Some(diverges)),
    ]
    .into_iter()
    .filter(|(_, failed)| *failed == Some(true))
    .map(|(mode, _)| mode)
    .collect();
    let error = numeric::mean_of(
        replay
            .actual
            .iter()
            .zip(&replay.expected)
            .map(|(actual, expected)| (actual - expected).abs()),
    );
    metrics
        .set("reset", reset.word)
        .set("effective", failures.is_empty())
        .set("reason", failures.first().copied().unwrap_or("effective"))
        .set("stuck", stuck)
        .set("not_responding", fails(unresponsive))
        .set("not_trimming", fails(untrimmed))
        .set("diverges", diverges)
        .rounded("actual_sp_range", actual_swing, 3)
        .rounded("expected_sp_range", expected_swing, 3)
        .rounded("mean_abs_error_sp", error, 3)
        .number("pct_cycles_wrong_direction", wrong_way)
        .number_or_null("pct_high_demand_unresponsive", unresponsive)
        .number_or_null("pct_idle_untrimmed", untrimmed)
        .set("failure_modes", failures.clone())
        .count("n_demand_judged", modes.not_responding.n())
        .count("n_idle_judged", modes.not_trimming.n())
        .count("n", n);
    let told: Vec<String> = failures
        .iter()
        .map(|mode| tell(mode, unresponsive, untrimmed, wrong_way))
        .collect();
    let told = if told.is_empty() {
        "it follows the requests".to_owned()
    } else {
        told.join("; ")
    };
    let decimals = reset.decimals;
    let summary = format!(
        "The setpoint of the {name} swung by {actual_swing:.decimals$} {units} where its requests call for \
         {expected_swing:.decimals$} {units}: {told}."
    );
    let severity = if failures.is_empty() {
        Severity::Ok
    } else {
        Severity::Warn
    };
    Some(Verdict::new(severity, metrics, summary))
}

fn tell(mode: &str, unresponsive: Option<f64>, untrimmed: Option<f64>, wrong_way: f64) -> String {
    let percent = |share: Option<f64>| share.unwrap_or(f64::NAN);
    match mode {
        "stuck" => "it is stuck".to_owned(),
        "not_responding" => format!(
            "it stays at its idle end in {:.0} % of the cycles with demand",
            percent(unresponsive)
        ),
        "not_trimming" => format!(
            "it stays at its demand end in {:.0} % of the idle cycles",
            percent(untrimmed)
        ),
        _ => format!("it moves the wrong way in {wrong_way:.0} % of the moves"),
    }
}

fn judge(frame: &Frame<'_>, parameters: &Parameters, reset: &Reset) -> Option<Judgement> {
    let replay = Replay::of(frame, reset)?;
    if replay.len() < parameters.count("min_cycles") {
        return None;
    }
    let modes = Modes::of(&replay, &reset.logic, parameters);
    let on_frame = |cycles: &[bool]| {
        let mut mask = vec![false; frame.len()];
        for (row, set) in replay.rows.iter().zip(cycles) {
            if let Some(place) = mask.get_mut(*row) {
                *place = *set;
            }
        }
        mask
    };
    let conditions: Vec<Condition> = [
        (
            "not_responding",
            "cycles with demand",
            &modes.not_responding,
        ),
        ("not_trimming", "idle cycles", &modes.not_trimming),
        (
            "diverges",
            "cycles in which the replay moved",
            &modes.diverges,
        ),
    ]
    .into_iter()
    .map(|(name, basis, mode)| Condition {
        name: name.to_owned(),
        judged_basis: basis.to_owned(),
        samples: Flagged {
            judged: on_frame(&mode.judged),
            flagged: on_frame(&mode.failed),
        },
    })
    .collect();
    let judged = on_frame(&vec![true; replay.len()]);
    let flagged = conditions
        .iter()
        .fold(vec![false; frame.len()], |union, condition| {
            masks::or(&union, &condition.samples.flagged)
        });
    let note = (masks::count(&flagged) == 0)
        .then(|| "No cycle speaks for itself: a stuck setpoint is judged by its swing over the whole period.".to_owned());
    Some(Judgement {
        conditions,
        note,
        ..Judgement::of("judged cycles", judged, flagged)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::frame::RoleFrame;
    use crate::rules::testing::{self, hourly, week};

    fn demand(row: usize) -> f64 {
        if (row / 24).is_multiple_of(2) {
            0.0
        } else {
            6.0
        }
    }

    fn expected() -> Vec<f64> {
        SUPPLY_AIR.replay(&(0..168).map(demand).collect::<Vec<_>>())
    }

    fn supply_air(setpoint: &dyn Fn(usize) -> f64) -> RoleFrame {
        week(&[
            ("supply_air_temp_sp", setpoint),
            ("sat_reset_requests", &demand),
        ])
    }

    fn modes(verdict: &Verdict) -> Vec<&str> {
        let modes = verdict.metrics.get("failure_modes").unwrap();
        modes
            .as_array()
            .unwrap()
            .iter()
            .map(|mode| mode.as_str().unwrap())
            .collect()
    }

    #[test]
    fn a_setpoint_that_never_moves_is_stuck() {
        let verdict = testing::run(&SUPPLY_AIR_RULE, &supply_air(&|_| 60.0), json!({})).unwrap();
        assert_eq!(
            (verdict.severity, modes(&verdict)),
            (Severity::Warn, vec!["stuck"])
        );
        let metric = |name| verdict.metrics.as_number(name);
        assert_eq!(metric("expected_sp_range"), Some(10.0));
        assert_eq!(metric("mean_abs_error_sp"), Some(3.67));
        assert_eq!(
            (metric("n_demand_judged"), metric("n_idle_judged")),
            (Some(71.0), Some(75.0))
        );
    }

    #[test]
    fn the_replay_itself_is_a_working_reset_and_its_mirror_is_none() {
        let expected = expected();
        let verdict = testing::run(
            &SUPPLY_AIR_RULE,
            &supply_air(&|row| expected[row]),
            json!({}),
        )
        .unwrap();
        assert_eq!(verdict.severity, Severity::Ok);
        assert_eq!(verdict.metrics.get("reason"), Some(&json!("effective")));

        let mirror = supply_air(&|row| 120.0 - expected[row]);
        let verdict = testing::run(&SUPPLY_AIR_RULE, &mirror, json!({})).unwrap();
        assert_eq!(modes(&verdict), ["not_responding", "diverges"]);
        let metric = |name| verdict.metrics.as_number(name);
        assert_eq!(metric("pct_high_demand_unresponsive"), Some(81.7));
        assert_eq!(metric("pct_cycles_wrong_direction"), Some(100.0));
        let judgement = testing::judge(&SUPPLY_AIR_RULE, &mirror, json!({})).unwrap();
        let responding = &judgement.conditions[0];
        assert_eq!(masks::count(&responding.samples.judged), 71);
        assert_eq!(masks::count(&responding.samples.flagged), 58);
        assert_eq!(masks::count(&judgement.samples.judged), 168);
    }

    #[test]
    fn pressure_that_is_never_trimmed_is_named() {
        let table = |setpoint: f64, requests: fn(usize) -> f64| {
            week(&[
                ("duct_static_sp", &move |_| setpoint),
                ("static_pressure_requests", &move |row| requests(row)),
            ])
        };
        let idle = testing::run(&DUCT_STATIC_RULE, &table(1.5, |_| 0.0), json!({})).unwrap();
        assert_eq!(modes(&idle), ["stuck", "not_trimming"]);
        assert_eq!(idle.metrics.as_number("expected_sp_range"), Some(0.35));
        assert_eq!(idle.metrics.get("not_responding"), Some(&json!(null)));
        let low = testing::run(&DUCT_STATIC_RULE, &table(0.1, demand), json!({})).unwrap();
        assert_eq!(modes(&low), ["stuck", "not_responding"]);
    }

    #[test]
    fn eleven_cycles_are_too_few() {
        let table = hourly(
            11,
            &[
                ("supply_air_temp_sp", &|_| 60.0),
                ("sat_reset_requests", &demand),
            ],
        );
        let verdict = testing::run(&SUPPLY_AIR_RULE, &table, json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Info);
        assert_eq!(verdict.metrics.get("declined"), Some(&json!(true)));
        assert!(testing::judge(&SUPPLY_AIR_RULE, &table, json!({})).is_none());
    }
}
