//! How a hot-water plant ran in occupied hours (Plant rules §1.9).

use super::run_gates::Firing;
use crate::finding::Severity;
use crate::frame::Frame;
use crate::masks;
use crate::numeric;
use crate::occupancy::{self, Schedule};

/// Slope in °F of supply per °F outdoors below which the supply is reset.
const RESET_SLOPE: f64 = -0.05;
const MIN_DELTA_SAMPLES: usize = 10;
/// Percentages of running above the lockout: warn, fault.
const SUMMER_LIMITS: (f64, f64) = (5.0, 20.0);

/// Figures of a plant over the weekday hours 07:00 to 18:00 with a known firing.
#[derive(Debug, Clone, PartialEq)]
pub struct HotWaterPlant {
    pub n_considered: usize,
    pub running_pct: f64,
    pub n_running: usize,
    /// Share of firing above the lockout, weighted by duty; none when it cannot be told.
    pub summer_run_pct: Option<f64>,
    pub supply_median_f: Option<f64>,
    /// °F of supply per °F outdoors, 3 decimals.
    pub supply_slope: Option<f64>,
    pub has_supply_reset: Option<bool>,
    pub delta: Option<LoopDelta>,
    pub max_oat_running_f: Option<f64>,
}

/// Temperature differences of the loop while the boiler runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoopDelta {
    pub median_f: f64,
    pub low_pct: f64,
}

impl HotWaterPlant {
    /// The figures of a frame; none without a considered sample. `lockout_f`: outdoor temperature above which no boiler
    /// should run; `design_delta_f`: least difference of supply and return.
    pub fn of(
        frame: &Frame<'_>,
        firing: &Firing<'_>,
        lockout_f: f64,
        design_delta_f: f64,
    ) -> Option<Self> {
        let considered = masks::and(
            &occupancy::scheduled(frame, &Schedule::default()),
            &masks::present(&firing.duty),
        );
        let n_considered = masks::count(&considered);
        if n_considered == 0 {
            return None;
        }
        let duty: Vec<f64> = firing
            .duty
            .iter()
            .map(|duty| duty.clamp(0.0, 1.0))
            .collect();
        let running = masks::and(&considered, &masks::where_value(&duty, |duty| duty > 0.5));
        let supply = frame.column("hw_supply_temp");
        let oat = frame.column("oat");
        let slope = supply
            .zip(oat)
            .and_then(|(supply, oat)| slope_over(oat, supply, &running));
        Some(Self {
            n_considered,
            running_pct: numeric::round(
                100.0 * numeric::mean(&masks::picked_values(&duty, &considered)),
                2,
            ),
            n_running: masks::count(&running),
            summer_run_pct: oat.and_then(|oat| summer_run(oat, &duty, &considered, lockout_f)),
            supply_median_f: supply
                .map(|supply| numeric::median(&masks::picked_values(supply, &considered)))
                .filter(|median| !median.is_nan())
                .map(|median| numeric::round(median, 1)),
            supply_slope: slope.map(|slope| numeric::round(slope, 3)),
            has_supply_reset: slope.map(|slope| slope < RESET_SLOPE),
            delta: supply
                .zip(frame.column("hw_return_temp"))
                .and_then(|(supply, back)| loop_delta(supply, back, &running, design_delta_f)),
            max_oat_running_f: oat
                .map(|oat| numeric::max(&masks::picked_values(oat, &running)))
                .filter(|warmest| !warmest.is_nan())
                .map(|warmest| numeric::round(warmest, 1)),
        })
    }
}

/// Slope of y over x within a mask, as [`numeric::fitted_slope`].
pub fn slope_over(x: &[f64], y: &[f64], within: &[bool]) -> Option<f64> {
    let (x, y): (Vec<f64>, Vec<f64>) = x
        .iter()
        .zip(y)
        .zip(within)
        .filter(|(_, keep)| **keep)
        .map(|(pair, _)| pair)
        .unzip();
    numeric::fitted_slope(&x, &y)
}

/// What a share of running above the lockout is worth.
pub fn summer_severity(share_pct: f64) -> Severity {
    Severity::at_least(share_pct, SUMMER_LIMITS.0, SUMMER_LIMITS.1)
}

/// Share of running, weighted by duty, at outdoor temperatures above a lockout, in percent; 0 when nothing runs, none
/// without an outdoor temperature while it does (Plant rules §1.9).
pub fn summer_run(oat: &[f64], duty: &[f64], considered: &[bool], lockout_f: f64) -> Option<f64> {
    let firing = masks::and(considered, &masks::where_value(duty, |duty| duty > 0.0));
    if !firing.contains(&true) {
        return Some(0.0);
    }
    let known = masks::and(&firing, &masks::present(oat));
    let warm = masks::and(&known, &masks::where_value(oat, |oat| oat > lockout_f));
    let total: f64 = masks::picked(duty, &known).sum();
    (total > 0.0).then(|| {
        let above: f64 = masks::picked(duty, &warm).sum();
        numeric::round(100.0 * above / total, 2)
    })
}

fn loop_delta(
    supply: &[f64],
    back: &[f64],
    running: &[bool],
    design_delta_f: f64,
) -> Option<LoopDelta> {
    let mut deltas: Vec<f64> = supply
        .iter()
        .zip(back)
        .zip(running)
        .filter(|(_, running)| **running)
        .map(|((supply, back), _)| supply - back)
        .filter(|delta| *delta > -2.0 && *delta < 120.0)
        .collect();
    if deltas.len() < MIN_DELTA_SAMPLES {
        return None;
    }
    let low = deltas
        .iter()
        .filter(|delta| **delta < design_delta_f)
        .count();
    Some(LoopDelta {
        low_pct: numeric::round(numeric::percent_by_mean(low, deltas.len()), 1),
        median_f: numeric::round(numeric::median_in_place(&mut deltas), 1),
    })
}
