//! Pumps whose pressure is not reset, by how fast they run (Plant rules §1.8, §2.4, §2.5).

use super::run_gates::status_on;
use crate::finding::{Judgement, Metrics, Severity, Verdict};
use crate::frame::Frame;
use crate::gates;
use crate::masks;
use crate::numeric;
use crate::parameters::Parameters;
use crate::rules::RuleCode;

/// Hot-water pumps.
pub const HOT_WATER: RuleCode =
    RuleCode::equipment("hw_pump_dp_reset", analyse_hot).judged_by(judge);

/// Chilled-water pumps.
pub const CHILLED_WATER: RuleCode =
    RuleCode::equipment("chw_pump_dp_reset", analyse_chilled).judged_by(judge);

/// Percent of speed above which a pump runs.
const RUNNING_SPEED: f64 = 5.0;
const NEAR_FULL_SPEED: f64 = 90.0;
/// Percent of speed up to which a pump is near its minimum, when no floor is learned.
const NEAR_MIN_SPEED: f64 = 25.0;
/// A floor is where at least this share of the samples lies, this far below the fast ones.
const FLOOR_SHARE: f64 = 0.10;
const FLOOR_DISTANCE: f64 = 20.0;
const MIN_SETPOINT_SAMPLES: usize = 10;
/// Standard deviation of a setpoint that moves, in its own units.
const MOVING_SETPOINT: f64 = 0.5;

/// Up to which speed a pump is near its minimum.
#[derive(Debug, Clone, Copy, PartialEq)]
enum NearMinBand {
    Fixed(f64),
    Learned { floor: f64, band: f64 },
    Default,
}

impl NearMinBand {
    fn of(running: &mut [f64], parameters: &Parameters) -> Self {
        if let Some(fixed) = parameters.optional("near_min_pct") {
            return Self::Fixed(fixed);
        }
        let tolerance = parameters.number("floor_tol_pct");
        running.sort_unstable_by(f64::total_cmp);
        let floor = numeric::quantile_sorted(running, 0.02);
        let at_floor = running
            .iter()
            .filter(|speed| (**speed - floor).abs() <= tolerance)
            .count();
        let share = numeric::share_of(at_floor) / numeric::share_of(running.len());
        let is_floor = share >= FLOOR_SHARE
            && numeric::quantile_sorted(running, 0.90) >= floor + FLOOR_DISTANCE;
        match is_floor {
            true => {
                let floor = numeric::round(floor, 1);
                let band = (floor + tolerance).max(NEAR_MIN_SPEED);
                Self::Learned { floor, band }
            }
            false => Self::Default,
        }
    }

    const fn speed(self) -> f64 {
        match self {
            Self::Fixed(band) | Self::Learned { band, .. } => band,
            Self::Default => NEAR_MIN_SPEED,
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Fixed(_) => "fixed",
            Self::Learned { .. } => "learned",
            Self::Default => "default",
        }
    }

    const fn floor(self) -> Option<f64> {
        match self {
            Self::Learned { floor, .. } => Some(floor),
            _ => None,
        }
    }
}

/// How a pump runs.
struct SpeedDistribution {
    n_running: usize,
    median: f64,
    near_full_pct: f64,
    near_min_pct: f64,
    band: NearMinBand,
    /// Median of the pressure setpoint, and whether it moves.
    setpoint: Option<(f64, bool)>,
    /// With a status: samples with a speed although the pump stands.
    n_stopped_with_speed: Option<usize>,
}

impl SpeedDistribution {
    /// None when the pump never runs.
    fn of(
        frame: &Frame<'_>,
        speed: &[f64],
        setpoint: Option<&[f64]>,
        parameters: &Parameters,
    ) -> Option<Self> {
        let on = status_on(frame, "pump_status");
        let n_stopped_with_speed = on.as_ref().map(|on| {
            speed
                .iter()
                .zip(on)
                .filter(|(speed, on)| **speed > RUNNING_SPEED && !**on)
                .count()
        });
        let on = on.unwrap_or_else(|| vec![true; speed.len()]);
        let mut running: Vec<f64> = masks::picked(speed, &on)
            .filter(|speed| *speed > RUNNING_SPEED)
            .collect();
        let n_running = running.len();
        if n_running == 0 {
            return None;
        }
        let band = NearMinBand::of(&mut running, parameters);
        let share = |counts: &dyn Fn(f64) -> bool| {
            let counted = running.iter().filter(|speed| counts(**speed)).count();
            numeric::round(numeric::percent_by_mean(counted, n_running), 1)
        };
        Some(Self {
            n_running,
            near_full_pct: share(&|speed| speed >= NEAR_FULL_SPEED),
            near_min_pct: share(&|speed| speed <= band.speed()),
            median: numeric::round(numeric::median_in_place(&mut running), 1),
            band,
            setpoint: setpoint.and_then(|setpoint| moves(setpoint, &on)),
            n_stopped_with_speed,
        })
    }

    fn severity(&self) -> Severity {
        if self.near_full_pct >= 60.0 {
            Severity::Fault
        } else if self.near_full_pct >= 30.0 || self.near_min_pct >= 50.0 {
            Severity::Warn
        } else {
            Severity::Ok
        }
    }

    fn metrics(&self) -> Metrics {
        let mut metrics = Metrics::new();
        metrics
            .number("median_speed_pct", self.median)
            .number("pct_running_near_full", self.near_full_pct)
            .number("pct_running_near_min", self.near_min_pct)
            .rounded("near_min_band_pct", self.band.speed(), 1)
            .set("near_min_source", self.band.word())
            .number_or_null("vfd_floor_pct", self.band.floor())
            .number_or_null("median_dp_sp", self.setpoint.map(|(median, _)| median))
            .set("dp_sp_reset_present", self.setpoint.map(|(_, moves)| moves))
            .count("n_running", self.n_running)
            .set(
                "run_source",
                match self.n_stopped_with_speed {
                    Some(_) => "status",
                    None => "speed",
                },
            )
            .set("n_stopped_speed_above_run", self.n_stopped_with_speed);
        metrics
    }

    fn summary(&self, equip: &str) -> String {
        let floor = match self.band {
            NearMinBand::Fixed(_) => String::new(),
            NearMinBand::Learned { floor, .. } => format!(" (learned floor {floor} %)"),
            NearMinBand::Default => " (no floor found)".to_owned(),
        };
        let reset = match self.setpoint {
            Some((_, true)) => "; its pressure setpoint is reset",
            Some((_, false)) => "; its pressure setpoint is not reset",
            None => "",
        };
        format!(
            "{equip} runs at a median speed of {:.0} %: {:.0} % of the time near full speed and {:.0} % at or below {} \
             %{floor}{reset}.",
            self.median,
            self.near_full_pct,
            self.near_min_pct,
            numeric::round(self.band.speed(), 1)
        )
    }

    fn caveats(&self) -> Vec<String> {
        let mut caveats = Vec::new();
        if self.setpoint.is_none() {
            caveats.push(
                "Whether the pressure setpoint is reset was not evaluated: fewer than 10 samples of it.".to_owned(),
            );
        }
        match self.n_stopped_with_speed {
            None => caveats.push(
                "Running was read from a speed above 5 %: a speed point that is parked while the pump stands cannot be \
                 ruled out. Map the pump status."
                    .to_owned(),
            ),
            Some(0) => {}
            Some(stopped) => caveats.push(format!(
                "{stopped} samples have a speed above 5 % although the status says off; they were judged as stopped."
            )),
        }
        caveats
    }
}

/// Median and movement of a setpoint over the samples with the pump on; none below ten positive ones.
fn moves(setpoint: &[f64], on: &[bool]) -> Option<(f64, bool)> {
    let kept: Vec<f64> = masks::picked(setpoint, on)
        .filter(|value| *value > 0.0)
        .collect();
    (kept.len() >= MIN_SETPOINT_SAMPLES).then(|| {
        (
            numeric::round(numeric::median(&kept), 2),
            numeric::std_sample(&kept) >= MOVING_SETPOINT,
        )
    })
}

fn analyse_hot(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let speed = gates::percent(frame.column("hw_pump_speed")?);
    let setpoint = frame.column("hw_diff_press_sp");
    let judged = SpeedDistribution::of(frame, &speed, setpoint, parameters);
    Some(judged.map_or_else(
        || never_ran(frame).with_caveat("No sample has the pump running: nothing was judged."),
        |judged| verdict(frame, &judged),
    ))
}

fn analyse_chilled(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let speed = frame.column("chw_pump_speed")?;
    let setpoint = frame.column("chw_diff_press_sp");
    let judged = SpeedDistribution::of(frame, speed, setpoint, parameters);
    Some(judged.map_or_else(|| never_ran(frame), |judged| verdict(frame, &judged)))
}

fn never_ran(frame: &Frame<'_>) -> Verdict {
    Verdict::info(
        Metrics::new(),
        format!("{}: no sample has the pump running.", frame.equip()),
    )
}

fn verdict(frame: &Frame<'_>, judged: &SpeedDistribution) -> Verdict {
    Verdict::new(
        judged.severity(),
        judged.metrics(),
        judged.summary(frame.equip()),
    )
    .with_caveats(judged.caveats())
}

fn judge(_: &Frame<'_>, _: &Parameters) -> Option<Judgement> {
    Some(Judgement::whole_period(
        "the rule judges the speeds of all pump-running samples together, not single hours",
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{self, hourly};

    #[test]
    fn a_pump_near_full_speed_most_of_the_time_is_a_fault_in_fractions_too() {
        let table = hourly(
            336,
            &[("hw_pump_speed", &|row| {
                if row % 24 < 16 { 0.95 } else { 0.40 }
            })],
        );
        let verdict = testing::run(&HOT_WATER, &table, json!({})).unwrap();
        assert_eq!(
            (verdict.severity, verdict.caveats.len()),
            (Severity::Fault, 2)
        );
        assert_eq!(
            verdict.metrics.as_number("pct_running_near_full"),
            Some(66.7)
        );
    }

    #[test]
    fn a_parked_speed_is_judged_as_stopped_where_the_status_says_so() {
        let table = hourly(
            336,
            &[
                ("hw_pump_speed", &|row| {
                    if row % 24 < 12 { 20.0 } else { 60.0 }
                }),
                ("pump_status", &|row| f64::from(u8::from(row % 24 >= 6))),
                ("hw_diff_press_sp", &|row| {
                    if row % 2 == 0 { 10.0 } else { 12.0 }
                }),
            ],
        );
        let verdict = testing::run(&HOT_WATER, &table, json!({})).unwrap();
        assert_eq!((verdict.severity, verdict.caveats.len()), (Severity::Ok, 1));
        let metric = |name: &str| verdict.metrics.get(name).cloned().unwrap();
        assert_eq!(metric("n_stopped_speed_above_run"), json!(84));
        assert_eq!(metric("dp_sp_reset_present"), json!(true));
        assert_eq!(metric("pct_running_near_min"), json!(33.3));
    }

    #[test]
    fn a_floor_is_learned_from_the_speeds_unless_it_is_given() {
        let table = hourly(
            336,
            &[("chw_pump_speed", &|row| {
                if row % 24 < 16 { 35.0 } else { 80.0 }
            })],
        );
        let verdict = testing::run(&CHILLED_WATER, &table, json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Warn);
        assert_eq!(verdict.metrics.as_number("vfd_floor_pct"), Some(35.0));
        let fixed = json!({"near_min_pct": 25.0});
        let verdict = testing::run(&CHILLED_WATER, &table, fixed).unwrap();
        assert_eq!(verdict.severity, Severity::Ok);
        assert_eq!(verdict.metrics.get("vfd_floor_pct"), Some(&json!(null)));
        let off = hourly(24, &[("chw_pump_speed", &|_| 0.0)]);
        let verdict = testing::run(&CHILLED_WATER, &off, json!({})).unwrap();
        assert_eq!(
            (verdict.severity, verdict.caveats.len()),
            (Severity::Info, 0)
        );
    }

    #[test]
    fn odd_speeds_break_nothing() {
        for value in [f64::NAN, f64::INFINITY, 1e300] {
            let table = hourly(24, &[("chw_pump_speed", &|_| value)]);
            assert!(testing::run(&CHILLED_WATER, &table, json!({})).is_some());
        }
    }
}
