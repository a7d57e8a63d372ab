//! Supply air that is as cold in mild weather as in hot (Air rules §2.27).

use serde_json::Value;

use crate::finding::{Judgement, Metrics, Severity, Verdict, number};
use crate::frame::Frame;
use crate::gates::{self, FanGate};
use crate::masks;
use crate::numeric::{self, percent_of, round};
use crate::occupancy::{self, Schedule};
use crate::parameters::Parameters;
use crate::rules::RuleCode;
use crate::rules::setpoint_behaviour::{
    BehaviourKind, Driver, Movement, SetpointBehaviour, classify,
};

/// The rule.
pub const RULE: RuleCode = RuleCode::equipment("supply_air_reset", analyse).judged_by(judge);

const MIN_SAMPLES: usize = 10;
/// Slopes below this, °F per °F, are flat.
const MIN_SLOPE: f64 = 0.10;
/// Supply air below this is cold, °F.
const COLD: f64 = 58.0;
/// Cold air in so much of the cooling time is a warning, percent.
const MOSTLY: f64 = 50.0;
/// A spread below this is narrow, °F.
const NARROW: f64 = 3.0;
/// A setpoint that is missed by this is told, °F.
const MISSED: f64 = 2.0;
/// Outdoor temperature is carried over at most so many missing samples.
const CARRIED: usize = 4;

/// The setpoint of supply air that is reset moves by this, °F.
const MOVEMENT: Movement = Movement {
    min_range: 2.0,
    move_min: 0.5,
    units: "°F",
};

/// Supply air temperatures that are one.
fn is_credible(supply: f64) -> bool {
    supply > 40.0 && supply < 90.0
}

/// Which rows count.
struct Samples<'a> {
    supply: &'a [f64],
    fan: Vec<bool>,
    fan_gate: &'static str,
    /// The cooling valve is open, or there is none.
    cooling: Vec<bool>,
    judged: Vec<bool>,
}

impl<'a> Samples<'a> {
    fn of(frame: &Frame<'a>, parameters: &Parameters) -> Option<Self> {
        let supply = frame.column("supply_air_temp")?;
        let gate = FanGate::of(frame, parameters.flag("fan_gate"));
        let fan = gate.rows(frame.len());
        let cooling = match frame.column("cool_valve") {
            Some(valve) => valve.iter().map(|valve| *valve > 5.0).collect(),
            None => vec![true; frame.len()],
        };
        let credible: Vec<bool> = supply.iter().map(|supply| is_credible(*supply)).collect();
        let occupied = occupancy::strict(frame, &Schedule::default());
        let judged = masks::and(
            &masks::and(&fan, &occupied),
            &masks::and(&cooling, &credible),
        );
        Some(Self {
            supply,
            fan,
            fan_gate: gate.source,
            cooling,
            judged,
        })
    }

    fn judged_supply(&self) -> Vec<f64> {
        numbers_where(self.supply, &self.judged)
    }
}

fn numbers_where(values: &[f64], mask: &[bool]) -> Vec<f64> {
    values
        .iter()
        .zip(mask)
        .filter(|(_, set)| **set)
        .map(|(value, _)| *value)
        .collect()
}

/// Values with gaps of a few samples filled by the last one before.
fn carried(values: &[f64]) -> Vec<f64> {
    let (mut last, mut carried) = (f64::NAN, 0);
    values
        .iter()
        .map(|value| {
            if value.is_nan() {
                carried += 1;
                if carried <= CARRIED { last } else { f64::NAN }
            } else {
                (last, carried) = (*value, 0);
                *value
            }
        })
        .collect()
}

/// How supply air goes with outdoor air.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Flat,
    Reset,
    Rising,
}

impl Direction {
    fn of(slope: f64) -> Self {
        if slope.abs() < MIN_SLOPE {
            Self::Flat
        } else if slope < 0.0 {
            Self::Reset
        } else {
            Self::Rising
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Flat => "flat",
            Self::Reset => "reset",
            Self::Rising => "rising_with_load",
        }
    }
}

fn slope(frame: &Frame<'_>, samples: &Samples<'_>) -> Option<numeric::Line> {
    let oat = carried(&numbers_where(frame.column("oat")?, &samples.judged));
    if numeric::count(&oat) < MIN_SAMPLES {
        return None;
    }
    numeric::least_squares(&oat, &samples.judged_supply())
}

/// What the setpoint says.
struct SetpointTest {
    behaviour: SetpointBehaviour,
    mean_deviation: f64,
}

impl SetpointTest {
    fn of(frame: &Frame<'_>, samples: &Samples<'_>) -> Option<Self> {
        let setpoint = frame.column("supply_air_temp_sp")?;
        let driver = [("sat_reset_requests", "SAT reset requests"), ("oat", "OAT")]
            .into_iter()
            .find_map(|(role, label)| {
                let values = frame.with_data(role)?;
                Some(Driver { values, label })
            });
        let judged: Vec<bool> = setpoint
            .iter()
            .zip(&samples.fan)
            .map(|(setpoint, fan)| *fan && is_credible(*setpoint))
            .collect();
        let rows = judged.iter().zip(&samples.cooling);
        let deviations = rows
            .zip(samples.supply.iter().zip(setpoint))
            .filter(|((judged, cooling), (supply, _))| {
                **judged && **cooling && is_credible(**supply)
            })
            .map(|(_, (supply, setpoint))| supply - setpoint);
        Some(Self {
            mean_deviation: numeric::mean_of(deviations),
            behaviour: classify(frame.stamps(), setpoint, &judged, MOVEMENT, driver),
        })
    }

    fn is_not_reset(&self) -> bool {
        matches!(
            self.behaviour.kind,
            BehaviourKind::Flat | BehaviourKind::Step
        )
    }

    /// A reset lowers the setpoint when its driver rises.
    fn is_wrong_way(&self) -> bool {
        self.behaviour.kind == BehaviourKind::Reset
            && self.behaviour.correlation.is_some_and(|rho| rho > 0.0)
    }

    fn is_unconfirmed(&self) -> bool {
        matches!(
            self.behaviour.kind,
            BehaviourKind::Varies | BehaviourKind::Unclear
        ) || self.is_wrong_way()
    }

    fn tell(&self, metrics: &mut Metrics) {
        let found = &self.behaviour;
        let levels: Vec<Value> = found.levels.iter().copied().map(number).collect();
        metrics
            .set("sp_behaviour", found.kind.word())
            .number_or_null("sp_range_f", found.range)
            .count("sp_moving_days", found.moving_days.len())
            .count("sp_days", found.days)
            .set("sp_levels_f", levels)
            .set("sp_driver", found.driver)
            .number_or_null("sp_driver_rho", found.correlation)
            .rounded("sat_minus_sp_mean_f", self.mean_deviation, 2);
        if self.is_wrong_way() {
            metrics.set("sp_wrong_direction", true);
        }
    }
}

fn missing(frame: &Frame<'_>, fan_gate: &str) -> Vec<&'static str> {
    let mut missing: Vec<&str> = ["cool_valve", "oat", "occupancy", "warmup", "cooldown"]
        .into_iter()
        .filter(|role| !frame.has(role))
        .collect();
    if fan_gate == gates::UNGATED {
        missing.push("supply_fan_status");
    }
    missing
}

fn analyse(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let samples = Samples::of(frame, parameters)?;
    let mut supply = samples.judged_supply();
    let n = supply.len();
    let missing = missing(frame, samples.fan_gate);
    let mut metrics = Metrics::new();
    if n < MIN_SAMPLES {
        metrics
            .set("fan_gate", samples.fan_gate)
            .set("_missing_optional", missing);
        return Some(Verdict::info(
            metrics,
            format!("The reset of supply air was not judged: only {n} occupied cooling samples."),
        ));
    }
    let line = slope(frame, &samples);
    let direction = line.map(|line| Direction::of(line.slope));
    let cold = percent_of(supply.iter().filter(|supply| **supply < COLD).count(), n);
    let spread = numeric::std_sample(&supply);
    let median = numeric::median_in_place(&mut supply);
    metrics
        .rounded("sat_median", median, 1)
        .rounded("sat_std", spread, 2)
        .number_or_null("slope_per_F", line.map(|line| round(line.slope, 3)))
        .number_or_null("r2", line.map(|line| round(line.r_squared, 3)))
        .rounded("pct_sat_below_58", cold, 1)
        .count("n_considered", n)
        .set("fan_gate", samples.fan_gate)
        .set("_missing_optional", missing)
        .set("reset_direction", direction.map(Direction::word));
    let setpoint = SetpointTest::of(frame, &samples);
    if let Some(setpoint) = &setpoint {
        setpoint.tell(&mut metrics);
    }
    let is_blocked = setpoint.as_ref().is_some_and(SetpointTest::is_not_reset);
    let is_unconfirmed = setpoint.as_ref().is_some_and(SetpointTest::is_unconfirmed);
    let resets = direction == Some(Direction::Reset) && !is_blocked;
    let severity = match (resets, is_unconfirmed) {
        (true, true) => Severity::Info,
        (true, false) => Severity::Ok,
        // The rounded share of the metrics decides.
        (false, _) if round(cold, 1) >= MOSTLY => Severity::Warn,
        (false, _) => Severity::Info,
    };
    let slope = line.map_or_else(
        || "no outdoor temperature to compare with".to_owned(),
        |line| format!("{:+.2} °F per °F outdoors", line.slope),
    );
    let summary = format!(
        "Supply air at {median:.1} °F (median), {slope}, below 58 °F in {cold:.0} % of cooling hours: {}.",
        reason(direction, setpoint.as_ref(), spread, line)
    );
    let caveats = caveats(direction, setpoint.as_ref(), resets, is_unconfirmed);
    Some(
        Verdict::new(severity, metrics, summary)
            .with_caveats(caveats.into_iter().map(str::to_owned)),
    )
}

fn reason(
    direction: Option<Direction>,
    setpoint: Option<&SetpointTest>,
    spread: f64,
    line: Option<numeric::Line>,
) -> String {
    if let Some(setpoint) = setpoint.filter(|setpoint| setpoint.is_not_reset()) {
        let deviation = setpoint.mean_deviation;
        let rises = line.is_some_and(|line| line.slope > MIN_SLOPE);
        let missed = if deviation.abs() >= MISSED || rises {
            format!("; supply air is {deviation:+.1} °F off it on average")
        } else {
            String::new()
        };
        return format!(
            "not reset, the setpoint is {}{missed}",
            setpoint.behaviour.description()
        );
    }
    let behaviour = setpoint
        .map(|setpoint| format!(" (setpoint: {})", setpoint.behaviour.description()))
        .unwrap_or_default();
    match direction {
        Some(Direction::Reset) if setpoint.is_some_and(SetpointTest::is_wrong_way) => {
            format!(
                "it falls with outdoor temperature, but its setpoint rises with its driver{behaviour}"
            )
        }
        Some(Direction::Reset) if setpoint.is_some_and(SetpointTest::is_unconfirmed) => {
            format!(
                "it falls with outdoor temperature, but its setpoint does not confirm a reset{behaviour}"
            )
        }
        Some(Direction::Reset) => format!("it is reset{behaviour}"),
        Some(Direction::Rising) => {
            format!("it rises with the load, the opposite of a reset{behaviour}")
        }
        Some(Direction::Flat) => format!("it does not move with outdoor temperature{behaviour}"),
        None if spread < NARROW => format!("it is held within {spread:.1} °F{behaviour}"),
        None => format!("it varies by {spread:.1} °F{behaviour}"),
    }
}

fn caveats(
    direction: Option<Direction>,
    setpoint: Option<&SetpointTest>,
    resets: bool,
    is_unconfirmed: bool,
) -> Vec<&'static str> {
    let is_told_by_setpoint =
        setpoint.is_some_and(|setpoint| setpoint.behaviour.kind != BehaviourKind::Insufficient);
    [
        (
            direction.is_none(),
            "There is no usable outdoor temperature: whether supply air follows it was not tested.",
        ),
        (
            resets && !is_told_by_setpoint,
            "The reset is seen in the supply air alone; its setpoint was not there to confirm it.",
        ),
        (
            direction == Some(Direction::Rising),
            "Supply air that rises with outdoor temperature is more often a coil that cannot keep up than a reset.",
        ),
        (
            resets && is_unconfirmed,
            "Supply air falls with outdoor temperature, but its setpoint does not confirm that a reset does it.",
        ),
    ]
    .into_iter()
    .filter(|(applies, _)| *applies)
    .map(|(_, caveat)| caveat)
    .collect()
}

fn judge(frame: &Frame<'_>, parameters: &Parameters) -> Option<Judgement> {
    let samples = Samples::of(frame, parameters)?;
    if masks::count(&samples.judged) < MIN_SAMPLES {
        return None;
    }
    let flagged = samples
        .judged
        .iter()
        .zip(samples.supply)
        .map(|(judged, supply)| *judged && *supply < COLD)
        .collect();
    let basis = if samples.fan_gate == "off" || samples.fan_gate == gates::UNGATED {
        "occupied cooling samples"
    } else {
        "occupied fan-on cooling samples"
    };
    Some(Judgement::of(basis, samples.judged, flagged))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{self, Column, week};

    fn oat(row: usize) -> f64 {
        60.0 + 20.0 * (numeric::share_of(row) * std::f64::consts::TAU / 24.0).sin()
    }

    fn falling(row: usize) -> f64 {
        65.0 - 0.25 * (oat(row) - 60.0)
    }

    fn verdict(more: &[Column<'_>]) -> Verdict {
        let mut columns: Vec<Column<'_>> =
            vec![("cool_valve", &|_| 50.0), ("supply_fan_status", &|_| 1.0)];
        columns.extend(more);
        testing::run(&RULE, &week(&columns), json!({})).unwrap()
    }

    #[test]
    fn cold_air_in_all_weather_is_not_reset() {
        let told = verdict(&[("supply_air_temp", &|_| 55.0), ("oat", &oat)]);
        assert_eq!(told.severity, Severity::Warn);
        assert_eq!(told.metrics.as_number("slope_per_F"), Some(0.0));
        assert_eq!(told.metrics.get("r2"), Some(&json!(null)));
        assert_eq!(told.metrics.as_number("pct_sat_below_58"), Some(100.0));
        assert_eq!(told.metrics.get("reset_direction"), Some(&json!("flat")));

        let without = verdict(&[("supply_air_temp", &|_| 55.0)]);
        assert_eq!(
            (without.severity, without.caveats.len()),
            (Severity::Warn, 1)
        );
        assert_eq!(without.metrics.get("reset_direction"), Some(&json!(null)));
    }

    #[test]
    fn air_that_cools_with_warm_weather_is_reset_as_far_as_its_setpoint_agrees() {
        let seen = verdict(&[("supply_air_temp", &falling), ("oat", &oat)]);
        assert_eq!((seen.severity, seen.caveats.len()), (Severity::Ok, 1));
        assert_eq!(seen.metrics.as_number("slope_per_F"), Some(-0.25));

        let confirmed = verdict(&[
            ("supply_air_temp", &falling),
            ("supply_air_temp_sp", &falling),
            ("oat", &oat),
        ]);
        assert_eq!(
            (confirmed.severity, confirmed.caveats.len()),
            (Severity::Ok, 0)
        );
        assert_eq!(confirmed.metrics.as_number("sp_driver_rho"), Some(-0.999));

        let flat = verdict(&[
            ("supply_air_temp", &falling),
            ("supply_air_temp_sp", &|_| 60.0),
            ("oat", &oat),
        ]);
        assert_eq!(flat.severity, Severity::Info);
        assert_eq!(flat.metrics.as_number("sat_minus_sp_mean_f"), Some(5.0));
    }

    #[test]
    fn air_that_warms_with_the_load_is_no_reset() {
        let rising = |row| 56.0 + 0.25 * (oat(row) - 60.0);
        let told = verdict(&[("supply_air_temp", &rising), ("oat", &oat)]);
        assert_eq!(told.severity, Severity::Warn);
        assert_eq!(told.metrics.as_number("pct_sat_below_58"), Some(63.6));
        assert_eq!(
            told.metrics.get("reset_direction"),
            Some(&json!("rising_with_load"))
        );
        let table = week(&[
            ("supply_air_temp", &rising),
            ("cool_valve", &|_| 50.0),
            ("supply_fan_status", &|_| 1.0),
        ]);
        let samples = testing::judge(&RULE, &table, json!({})).unwrap().samples;
        assert_eq!(
            (
                masks::count(&samples.flagged),
                masks::count(&samples.judged)
            ),
            (35, 55)
        );
    }

    #[test]
    fn gaps_are_carried_over_four_samples() {
        let nan = f64::NAN;
        let filled = carried(&[nan, 1.0, nan, nan, nan, nan, nan, 2.0]);
        assert!(filled[0].is_nan() && filled[6].is_nan());
        assert_eq!((filled[5], filled[7]), (1.0, 2.0));
    }
}
