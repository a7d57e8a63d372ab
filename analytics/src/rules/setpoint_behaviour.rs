//! How a setpoint moves over the weeks: never, once by hand, or again and again with a driver (Air rules §1.9).

use crate::numeric::{self, share_of};
use crate::wall_clock::DAY;

const MIN_SAMPLES: usize = 12;
const MIN_SAMPLES_OF_A_DAY: usize = 4;
const MIN_MOVING_DAYS: usize = 3;
const MIN_MOVING_SHARE: f64 = 0.10;
const MIN_CYCLES: usize = 3;
const MIN_CORRELATION: f64 = 0.3;
/// A day on which so much of the time is spent at one value did not move, whatever a short excursion reached.
const HELD_SHARE_OF_A_DAY: f64 = 0.90;
const HELD_SHARE_OF_A_STEP: f64 = 0.80;
const MIN_SHARE_OF_A_LEVEL: f64 = 0.01;
const TOLD_LEVELS: usize = 3;

/// What sort of movement it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BehaviourKind {
    /// Fewer than 12 samples.
    Insufficient,
    Flat,
    /// A few values, each held for long.
    Step,
    /// Moves with its driver.
    Reset,
    /// Moves, but not with its driver, or there is none to compare with.
    Varies,
    Unclear,
}

impl BehaviourKind {
    /// The word of the metrics.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Insufficient => "insufficient",
            Self::Flat => "flat",
            Self::Step => "step",
            Self::Reset => "reset",
            Self::Varies => "varies",
            Self::Unclear => "unclear",
        }
    }
}

/// How much a setpoint has to move.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Movement {
    /// A range of all samples below this is flat; units of the setpoint.
    pub min_range: f64,
    /// The least movement that counts; units of the setpoint.
    pub move_min: f64,
    /// As texts write the units: "°F".
    pub units: &'static str,
}

/// What a setpoint should follow: one value per row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Driver<'a> {
    pub values: &'a [f64],
    /// As texts and metrics name it: "supply airflow".
    pub label: &'static str,
}

/// How a setpoint behaved.
#[derive(Debug, Clone, PartialEq)]
pub struct SetpointBehaviour {
    pub kind: BehaviourKind,
    /// Greatest minus least sample, 4 decimals; none for [`BehaviourKind::Insufficient`].
    pub range: Option<f64>,
    pub samples: usize,
    /// Calendar days with at least 4 samples.
    pub days: usize,
    /// Those days on which the setpoint moved, as days since 1970, ascending.
    pub moving_days: Vec<i64>,
    /// Pairs of reversals.
    pub cycles: usize,
    /// Up to three values that were held most often, 3 decimals.
    pub levels: Vec<f64>,
    pub driver: Option<&'static str>,
    /// Spearman's correlation with the driver, 3 decimals.
    pub correlation: Option<f64>,
    units: &'static str,
}

impl SetpointBehaviour {
    /// Whether the setpoint could be compared with its driver.
    pub const fn is_driver_checked(&self) -> bool {
        self.correlation.is_some()
    }

    /// Whether a stamp falls on a day on which the setpoint moved.
    pub fn moved_on_day_of(&self, stamp: i64) -> bool {
        self.moving_days.binary_search(&day(stamp)).is_ok()
    }

    /// What it is, for a summary: "one step (levels 1, 1.5 in. w.c.; it moved on 1 of 7 days)".
    pub fn description(&self) -> String {
        let moved = match self.days {
            0 => format!("{} cycles", self.cycles),
            days => format!("it moved on {} of {days} days", self.moving_days.len()),
        };
        match self.kind {
            BehaviourKind::Insufficient => {
                format!("too few samples to tell ({})", self.samples)
            }
            BehaviourKind::Flat => "flat".to_owned(),
            BehaviourKind::Step => {
                let word = if self.levels.len() <= 2 {
                    "one step"
                } else {
                    "a few changes by hand"
                };
                let levels: Vec<String> = self.levels.iter().map(f64::to_string).collect();
                format!(
                    "{word} (levels {} {}; {moved})",
                    levels.join(", "),
                    self.units
                )
            }
            BehaviourKind::Reset | BehaviourKind::Varies => match (self.driver, self.correlation) {
                (Some(driver), Some(rho)) if self.kind == BehaviourKind::Reset => {
                    format!("it follows {driver} (rank correlation {rho:.2}; {moved})")
                }
                (Some(driver), Some(rho)) => {
                    format!("it moves, but not with {driver} (rank correlation {rho:.2}; {moved})")
                }
                _ => format!("it moves ({moved}); nothing to compare it with"),
            },
            BehaviourKind::Unclear => format!("no pattern ({moved})"),
        }
    }
}

/// Judges the samples of a setpoint at the rows that are `judged`; columns are as long as `stamps`, which ascend.
pub fn classify(
    stamps: &[i64],
    setpoint: &[f64],
    judged: &[bool],
    movement: Movement,
    driver: Option<Driver<'_>>,
) -> SetpointBehaviour {
    let samples: Vec<(i64, f64)> = stamps
        .iter()
        .zip(setpoint)
        .zip(judged)
        .filter(|((_, value), judged)| **judged && !value.is_nan())
        .map(|((stamp, value), _)| (*stamp, *value))
        .collect();
    let mut found = SetpointBehaviour {
        kind: BehaviourKind::Insufficient,
        range: None,
        samples: samples.len(),
        days: 0,
        moving_days: Vec::new(),
        cycles: 0,
        levels: Vec::new(),
        driver: driver.map(|driver| driver.label),
        correlation: None,
        units: movement.units,
    };
    if samples.len() < MIN_SAMPLES {
        return found;
    }
    let range = range_of(samples.iter().map(|sample| sample.1));
    let levels = Levels::of(
        samples.iter().map(|sample| sample.1),
        movement.move_min / 2.0,
    );
    found.range = Some(numeric::round(range, 4));
    found.levels = levels.told();
    found.cycles = cycles(&samples, movement.move_min);
    for samples in samples.chunk_by(|one, next| day(one.0) == day(next.0)) {
        if samples.len() < MIN_SAMPLES_OF_A_DAY {
            continue;
        }
        found.days += 1;
        if is_moving(samples, movement.move_min) {
            found
                .moving_days
                .extend(samples.first().map(|first| day(first.0)));
        }
    }
    if range < movement.min_range {
        found.kind = BehaviourKind::Flat;
        return found;
    }
    if !is_repeated(&found) {
        found.kind = if levels.held_share() >= HELD_SHARE_OF_A_STEP {
            BehaviourKind::Step
        } else {
            BehaviourKind::Unclear
        };
        return found;
    }
    found.correlation =
        driver.and_then(|driver| correlation(stamps, setpoint, judged, driver.values, &found));
    found.kind = match found.correlation {
        Some(rho) if rho.abs() >= MIN_CORRELATION => BehaviourKind::Reset,
        _ => BehaviourKind::Varies,
    };
    found
}

fn day(stamp: i64) -> i64 {
    stamp.div_euclid(DAY)
}

fn range_of(values: impl Iterator<Item = f64> + Clone) -> f64 {
    values.clone().fold(f64::NAN, f64::max) - values.fold(f64::NAN, f64::min)
}

/// Whether it moved on enough days, or, in a short window, went to and fro often enough.
fn is_repeated(found: &SetpointBehaviour) -> bool {
    if found.days < MIN_MOVING_DAYS {
        return found.cycles >= MIN_CYCLES;
    }
    let moving = found.moving_days.len();
    moving >= MIN_MOVING_DAYS
        && share_of(moving) >= (MIN_MOVING_SHARE * share_of(found.days)).ceil()
}

fn is_moving(samples: &[(i64, f64)], move_min: f64) -> bool {
    let values = || samples.iter().map(|sample| sample.1);
    let range = range_of(values());
    // A negated comparison: the range of infinities is NaN, and no movement.
    if range.is_nan() || range < move_min {
        return false;
    }
    let tolerance = move_min / 2.0;
    let Some(held) = Levels::of(values(), tolerance).most_frequent() else {
        return false;
    };
    let near = values()
        .filter(|value| (value - held).abs() <= tolerance)
        .count();
    share_of(near) / share_of(samples.len()) < HELD_SHARE_OF_A_DAY
}

fn cycles(samples: &[(i64, f64)], move_min: f64) -> usize {
    let mut values = samples.iter().map(|sample| sample.1);
    let Some(mut anchor) = values.next() else {
        return 0;
    };
    let mut rising = None;
    let mut reversals = 0_usize;
    for value in values {
        let move_ = value - anchor;
        if move_.abs() >= move_min && move_ != 0.0 {
            let up = move_ > 0.0;
            if rising.is_some_and(|rising| rising != up) {
                reversals += 1;
            }
            rising = Some(up);
            anchor = value;
        }
    }
    reversals / 2
}

/// Quantised values by their count, the most frequent first, the lower of equals first.
struct Levels {
    counts: Vec<(f64, usize)>,
    total: usize,
}

impl Levels {
    fn of(values: impl Iterator<Item = f64>, step: f64) -> Self {
        let mut quantised: Vec<f64> = values
            .map(|value| (value / step).round_ties_even() * step)
            .collect();
        quantised.sort_unstable_by(f64::total_cmp);
        let mut counts: Vec<(f64, usize)> = quantised
            .chunk_by(|one, next| one == next)
            .filter_map(|equal| Some((*equal.first()?, equal.len())))
            .collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        Self {
            counts,
            total: quantised.len(),
        }
    }

    fn most_frequent(&self) -> Option<f64> {
        self.counts.first().map(|level| level.0)
    }

    fn held_share(&self) -> f64 {
        let held: usize = self
            .counts
            .iter()
            .take(TOLD_LEVELS)
            .map(|level| level.1)
            .sum();
        share_of(held) / share_of(self.total)
    }

    fn told(&self) -> Vec<f64> {
        self.counts
            .iter()
            .filter(|level| share_of(level.1) >= MIN_SHARE_OF_A_LEVEL * share_of(self.total))
            .take(TOLD_LEVELS)
            // Adding zero: a level of −0 is written as 0.
            .map(|level| numeric::round(level.0, 3) + 0.0)
            .collect()
    }
}

/// None below 12 pairs, or when a side never changes.
fn correlation(
    stamps: &[i64],
    setpoint: &[f64],
    judged: &[bool],
    driver: &[f64],
    found: &SetpointBehaviour,
) -> Option<f64> {
    let on_moving_days = found.days >= MIN_MOVING_DAYS;
    let (mut x, mut y) = (Vec::new(), Vec::new());
    let rows = stamps.iter().zip(judged).zip(setpoint.iter().zip(driver));
    for ((stamp, judged), (setpoint, driver)) in rows {
        let is_there = *judged && !setpoint.is_nan() && !driver.is_nan();
        if is_there && (!on_moving_days || found.moved_on_day_of(*stamp)) {
            x.push(*setpoint);
            y.push(*driver);
        }
    }
    if x.len() < MIN_SAMPLES {
        return None;
    }
    let rho = numeric::pearson(&numeric::average_ranks(&x), &numeric::average_ranks(&y));
    (!rho.is_nan()).then(|| numeric::round(rho, 3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::week;

    const PRESSURE: Movement = Movement {
        min_range: 0.15,
        move_min: 0.05,
        units: "in. w.c.",
    };

    fn of(
        rows: usize,
        setpoint: &dyn Fn(usize) -> f64,
        driver: Option<&dyn Fn(usize) -> f64>,
    ) -> SetpointBehaviour {
        let nothing = |_| f64::NAN;
        let table = week(&[("sp", setpoint), ("driver", driver.unwrap_or(&nothing))]);
        let driver = driver.map(|_| Driver {
            values: &table.columns["driver"],
            label: "requests",
        });
        let judged: Vec<bool> = (0..168).map(|row| row < rows).collect();
        classify(
            &table.stamps,
            &table.columns["sp"],
            &judged,
            PRESSURE,
            driver,
        )
    }

    fn daily(row: usize) -> f64 {
        (share_of(row) * std::f64::consts::TAU / 24.0).sin()
    }

    #[test]
    fn a_setpoint_that_is_never_touched_is_flat() {
        let found = of(168, &|_| 1.5, None);
        assert_eq!((found.kind, found.range), (BehaviourKind::Flat, Some(0.0)));
        assert_eq!((found.levels.as_slice(), found.days), (&[1.5][..], 7));
        let few = of(11, &daily, None);
        assert_eq!(
            (few.kind, few.range, few.days),
            (BehaviourKind::Insufficient, None, 0)
        );
    }

    #[test]
    fn one_change_by_hand_is_a_step() {
        let found = of(168, &|row| if row < 84 { 1.0 } else { 1.5 }, None);
        assert_eq!(found.kind, BehaviourKind::Step);
        assert_eq!(
            (found.moving_days.len(), found.levels.as_slice()),
            (1, &[1.0, 1.5][..])
        );
        assert_eq!(
            found.description(),
            "one step (levels 1, 1.5 in. w.c.; it moved on 1 of 7 days)"
        );
    }

    #[test]
    fn daily_movement_is_a_reset_when_its_driver_moves_alike() {
        let setpoint = |row| 1.0 + 0.3 * daily(row);
        let with = of(168, &setpoint, Some(&|row| 1000.0 + 200.0 * daily(row)));
        assert_eq!(
            (with.kind, with.correlation),
            (BehaviourKind::Reset, Some(1.0))
        );
        let without = of(168, &setpoint, None);
        assert_eq!(without.kind, BehaviourKind::Varies);
        assert!(!without.is_driver_checked());
        let constant = of(168, &setpoint, Some(&|_| 3.0));
        assert_eq!(
            (constant.kind, constant.correlation),
            (BehaviourKind::Varies, None)
        );
    }

    #[test]
    fn a_short_excursion_is_no_moving_day() {
        // Two of 24 hours away: 91.7 % of the day is held.
        let found = of(168, &|row| if row % 24 < 2 { 1.5 } else { 1.0 }, None);
        assert_eq!(
            (found.moving_days.len(), found.kind),
            (0, BehaviourKind::Step)
        );
        let three_hours = of(168, &|row| if row % 24 < 3 { 1.5 } else { 1.0 }, None);
        assert_eq!(three_hours.moving_days.len(), 7);
    }

    #[test]
    fn in_two_days_only_cycles_tell() {
        let found = of(48, &|row| if row / 4 % 2 == 0 { 1.0 } else { 1.5 }, None);
        assert_eq!(
            (found.days, found.cycles, found.kind),
            (2, 5, BehaviourKind::Varies)
        );
    }

    #[test]
    fn no_values_break_it() {
        for value in [f64::INFINITY, f64::NEG_INFINITY, 1e300, 0.0] {
            let found = of(
                168,
                &|row| if row % 2 == 0 { value } else { 1.0 },
                Some(&|_| value),
            );
            assert_eq!(found.samples, 168);
        }
    }
}
