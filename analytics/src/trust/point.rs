//! The score of one point for itself (Engine §3.3).

use super::modes;
use super::quality::{Quality, Series, assess, fraction, part_of};
use super::spread::scale_floor;
use super::stuck::{StuckRuns, stuck_runs};
use super::trim::{self, Stray};
use super::verdict::TrustVerdict;
use crate::gates::Gate;
use crate::numeric;
use crate::roles::{self, Role, TrustTraits};
use crate::wall_clock::{DAY, MINUTE};

/// A plant that ran for fewer samples is not judged.
const FEWEST_RUNNING: usize = 24;
/// The most trust that a point with a flaw of its own can have.
pub(super) const FLAWED: f64 = 0.75;

/// A run of one value that lasted longer than the role allows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StuckInterval {
    /// First and last sample, nanoseconds of the site's wall clock.
    pub start: i64,
    pub end: i64,
    pub hours: f64,
    pub value: f64,
}

/// What a comparison with other points of the equipment found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameCheck {
    /// `fan_off_pressure`, `copied_signal`, …
    pub check: &'static str,
    /// What it saw, for people.
    pub explanation: String,
}

/// How far one point can be trusted. Fractions have four decimals; [`None`] is "not judged".
#[derive(Debug, Clone, PartialEq)]
pub struct PointTrust {
    pub role: String,
    /// Samples of the point's own span.
    pub n: usize,
    /// 0 to 1.
    pub trust: f64,
    pub verdict: TrustVerdict,
    /// In the order of the checks.
    pub flags: Vec<&'static str>,
    /// Share of the rows of the point's own span that have a sample.
    pub coverage: f64,
    pub flatline_frac: f64,
    /// Of all samples together, also where the score judges levels, sides or modes apart.
    pub outlier_frac: f64,
    pub range_violation_frac: Option<f64>,
    pub longest_flat_hours: Option<f64>,
    pub stuck: Vec<StuckInterval>,
    /// First sample, nanoseconds of the site's wall clock.
    pub first_valid: Option<i64>,
    /// Share of the rows of the whole window that have a sample.
    pub window_coverage: f64,
    /// Of a status role.
    pub state_changes: Option<usize>,
    pub frame_checks: Vec<FrameCheck>,
    /// Which signal tells when the plant runs.
    pub run_gate: Option<&'static str>,
    pub mode_outlier_frac: Option<f64>,
    /// Rows far away from the rest, which were left out.
    pub stray: Option<Stray>,
}

impl PointTrust {
    /// Adds a flag once.
    pub(super) fn flag(&mut self, flag: &'static str) {
        if !self.flags.contains(&flag) {
            self.flags.push(flag);
        }
    }

    /// Sets the trust with its verdict.
    pub(super) fn set_trust(&mut self, trust: f64) {
        self.trust = fraction(trust.clamp(0.0, 1.0));
        self.verdict = TrustVerdict::of(self.trust);
    }
}

/// What a point is scored with; masks have one entry per row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point<'a> {
    pub series: Series<'a>,
    /// Fan on.
    pub fan: Option<&'a [bool]>,
    /// Plant running.
    pub running: Option<&'a [bool]>,
    pub modes: Option<&'a [Option<bool>]>,
}

impl<'a> Point<'a> {
    fn rows(self, range: &std::ops::Range<usize>) -> Self {
        Self {
            series: self.series.rows(range.clone()),
            fan: self.fan.and_then(|mask| mask.get(range.clone())),
            running: self.running.and_then(|mask| mask.get(range.clone())),
            modes: self.modes.and_then(|modes| modes.get(range.clone())),
        }
    }

    fn samples_where(self, mask: &'a [bool]) -> impl Iterator<Item = (i64, f64)> + 'a {
        let rows = self.series.stamps.iter().zip(self.series.values).zip(mask);
        rows.filter(|((_, value), on)| **on && !value.is_nan())
            .map(|((stamp, value), _)| (*stamp, *value))
    }
}

/// The signals of the frame that bear on a point.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Signals<'a> {
    pub fan: Option<&'a Gate>,
    pub plant: Option<&'a Gate>,
    pub modes: Option<&'a [Option<bool>]>,
}

/// Scores one point; a slug outside of the vocabulary has no checks of its role.
pub(super) fn score(slug: &str, series: Series<'_>, signals: Signals<'_>) -> PointTrust {
    let role = roles::role(slug);
    let without_role = TrustTraits::default();
    let traits = role.map_or(&without_role, |role| &role.trust);
    let whole = Point {
        series,
        fan: signals
            .fan
            .filter(|_| traits.fan_gated)
            .map(|gate| gate.mask.as_slice()),
        running: signals.plant.map(|gate| gate.mask.as_slice()),
        modes: signals
            .modes
            .filter(|_| traits.by_mode && signals.plant.is_none()),
    };
    let own = trim::own_span(series);
    let point = whole.rows(&own.rows);
    let reads = Reads::of(&point, traits, role.and_then(|role| role.physical_bounds));
    let mut scored = PointTrust {
        role: slug.to_owned(),
        n: reads.quality.n,
        trust: 0.0,
        verdict: TrustVerdict::Untrusted,
        flags: own.flags,
        coverage: reads.quality.coverage,
        flatline_frac: 0.0,
        outlier_frac: reads.judged().outlier_frac,
        range_violation_frac: reads.out_of_range,
        longest_flat_hours: None,
        stuck: Vec::new(),
        first_valid: own.first_valid,
        window_coverage: own.window_coverage,
        state_changes: None,
        frame_checks: Vec::new(),
        run_gate: signals.plant.map(|gate| gate.source),
        mode_outlier_frac: reads.mode_outliers.map(fraction),
        stray: own.stray,
    };
    let mut trust = base_trust(&point, &reads, &mut scored);
    flag_quality(&reads, traits, &mut scored, &mut trust);
    if !reads.not_running {
        judge_stuck(stuck_runs(&point, traits), &reads, &mut scored, &mut trust);
    }
    if role.is_some_and(|role| role.status) {
        trust = trust.min(judge_status(&point, slug, &mut scored));
    }
    flag_values(slug, &reads, role, &mut scored);
    if reads.judged().two_regimes && !reads.not_running {
        scored.flag(if traits.two_regimes {
            "intermittent"
        } else {
            "bimodal"
        });
    }
    scored.set_trust(trust);
    scored
}

/// What is read of a point's own span.
struct Reads {
    present: Vec<f64>,
    quality: Quality,
    /// While the plant runs, where that matters.
    running: Option<Quality>,
    not_running: bool,
    out_of_range: Option<f64>,
    mode_outliers: Option<f64>,
    /// Two levels are judged apart.
    by_regime: bool,
}

impl Reads {
    fn of(point: &Point<'_>, traits: &TrustTraits, bounds: Option<(f64, f64)>) -> Self {
        let present: Vec<f64> = point.series.present().map(|(_, value)| value).collect();
        let floor = scale_floor(traits, &present);
        let quality = assess(point.series, &present, traits.two_regimes, floor);
        let gated: Option<(Vec<i64>, Vec<f64>)> = point
            .running
            .map(|running| point.samples_where(running).unzip());
        let not_running = gated
            .as_ref()
            .is_some_and(|(_, values)| values.len() < FEWEST_RUNNING);
        let running = gated
            .as_ref()
            .filter(|_| !not_running)
            .map(|(stamps, values)| {
                assess(
                    Series { stamps, values },
                    values,
                    true,
                    scale_floor(traits, values),
                )
            });
        let out_of_range = if not_running {
            None
        } else {
            let judged = gated.as_ref().map_or(&present, |(_, values)| values);
            out_of_range(judged, bounds)
        };
        let mode_outliers = point
            .modes
            .and_then(|modes| modes::outlier_share(point.series.values, modes, floor));
        Self {
            by_regime: traits.two_regimes || point.running.is_some(),
            present,
            quality,
            running,
            not_running,
            out_of_range,
            mode_outliers,
        }
    }

    /// The quality that flags and outliers rest on.
    fn judged(&self) -> &Quality {
        self.running.as_ref().unwrap_or(&self.quality)
    }

    fn range_factor(&self) -> f64 {
        1.0 - self
            .out_of_range
            .map_or(0.0, |share| (3.0 * share).min(1.0))
    }

    fn outliers(&self) -> f64 {
        let judged = self.judged();
        self.mode_outliers
            .or(judged.regime_outlier_frac.filter(|_| self.by_regime))
            .or(judged.shape_outlier_frac)
            .unwrap_or(judged.outlier_frac)
    }
}

fn out_of_range(values: &[f64], bounds: Option<(f64, f64)>) -> Option<f64> {
    let (low, high) = bounds?;
    if values.is_empty() {
        return None;
    }
    let outside = values
        .iter()
        .filter(|value| **value < low || **value > high)
        .count();
    Some(fraction(part_of(outside, values.len())))
}

/// Trust by coverage, outliers, flat line and range (steps 7 to 9).
fn base_trust(point: &Point<'_>, reads: &Reads, scored: &mut PointTrust) -> f64 {
    let quality = &reads.quality;
    if reads.not_running {
        return quality.coverage;
    }
    if let Some(running) = &reads.running {
        scored.flatline_frac = running.flatline_frac;
        let own = if running.coverage == 0.0 {
            0.0
        } else {
            running.score / running.coverage
        };
        return quality.coverage * own * reads.range_factor();
    }
    let mut trust = quality.score * reads.range_factor();
    let mut flat = quality.flatline_frac;
    if let Some(gated) = point.fan.and_then(|fan| flat_while_on(point.series, fan)) {
        trust = trust / (1.0 - 0.2 * quality.flatline_frac) * (1.0 - 0.2 * gated);
        flat = gated;
    }
    if let Some(outliers) = reads.mode_outliers {
        trust = quality.coverage
            * (1.0 - (2.0 * outliers).min(1.0))
            * (1.0 - 0.2 * flat)
            * reads.range_factor();
    }
    scored.flatline_frac = fraction(flat);
    trust
}

/// Share of the longest run of one value among the samples with the fan on; a run ends where the fan stops.
fn flat_while_on(series: Series<'_>, fan: &[bool]) -> Option<f64> {
    let (mut samples, mut longest, mut run, mut held) = (0_usize, 0, 0, f64::NAN);
    for (value, on) in series.values.iter().zip(fan) {
        if !on {
            run = 0;
        } else if !value.is_nan() {
            samples += 1;
            run = if run > 0 && *value == held {
                run + 1
            } else {
                1
            };
            held = *value;
            longest = longest.max(run);
        }
    }
    (samples >= FEWEST_RUNNING).then(|| part_of(longest, samples))
}

/// Flags of step 10; a flat line of more than half of an analog point halves its trust.
fn flag_quality(reads: &Reads, traits: &TrustTraits, scored: &mut PointTrust, trust: &mut f64) {
    if reads.quality.coverage < 0.9 {
        scored.flag("low_coverage");
    }
    if reads.quality.gaps > 0 {
        scored.flag("gaps");
    }
    if reads.not_running {
        scored.flag("not_running");
    } else if reads.outliers() > 0.05 {
        scored.flag("outliers");
    }
    if reads.out_of_range.is_some_and(|share| share > 0.01) {
        scored.flag("out_of_range");
    }
    if traits.analog && scored.flatline_frac > 0.5 {
        scored.flag("stuck");
        *trust *= 0.5;
    }
}

fn judge_stuck(runs: StuckRuns, reads: &Reads, scored: &mut PointTrust, trust: &mut f64) {
    scored.longest_flat_hours = runs.longest_hours;
    if !runs.intervals.is_empty() {
        scored.flag("stuck");
        let share = part_of(runs.samples, reads.judged().n);
        *trust = (*trust * (1.0 - share)).min(FLAWED);
    }
    scored.stuck = runs.intervals;
}

/// Step 12, by the samples alone; returns the most trust that the status can have.
fn judge_status(point: &Point<'_>, slug: &str, scored: &mut PointTrust) -> f64 {
    let samples: Vec<(i64, f64)> = point.series.present().collect();
    let between = |value: f64| value > 1e-6 && value < 1.0 - 1e-6;
    let fractional = samples.iter().filter(|(_, value)| between(*value)).count();
    let stamps: Vec<i64> = samples.iter().map(|(stamp, _)| *stamp).collect();
    let step = numeric::median_step(&stamps).unwrap_or(0.0);
    let mut most: f64 = 1.0;
    if part_of(fractional, samples.len()) > 0.05
        && step > 0.0
        && step <= numeric::nanos(15 * MINUTE)
    {
        scored.flag("fractional_status");
        most = FLAWED;
    }
    let states = samples.chunk_by(|one, next| (one.1 >= 0.5) == (next.1 >= 0.5));
    let changes = states.count().saturating_sub(1);
    scored.state_changes = Some(changes);
    let span = match (samples.first(), samples.last()) {
        (Some(first), Some(last)) => last.0.saturating_sub(first.0),
        _ => 0,
    };
    if changes == 0 && span >= 14 * DAY {
        scored.flag("never_changes");
        if slug == "supply_fan_status" {
            most = FLAWED;
        }
    }
    most
}

/// Steps 13 and 14: values that the unit or the world does not have.
fn flag_values(slug: &str, reads: &Reads, role: Option<&Role>, scored: &mut PointTrust) {
    let values = &reads.present;
    if role.is_none() || values.is_empty() {
        return;
    }
    if matches!(slug, "airflow" | "oa_airflow") && values.len() >= 24 {
        let (low, high) = (numeric::min(values), numeric::max(values));
        if low >= -1.0 && high <= 100.5 && (high != 0.0 || low != 0.0) {
            scored.flag("scale_suspect");
        }
    }
    let below = values.iter().filter(|value| **value < 380.0).count();
    if slug == "co2" && part_of(below, values.len()) > 0.05 {
        scored.flag("below_ambient");
    }
}
