//! Whether outdoor air answers demand (Air rules §2.8, ASSESS_DCV).

use std::collections::BTreeMap;

use super::floor::FloorCheck;
use super::setting::Setting;
use crate::numeric::{self, share_of};
use crate::occupancy;

/// Outdoor air below this share of its 95th percentile is none.
pub(super) const CLOSED_SHARE: f64 = 0.02;
/// Plausible CO2 (ppm).
const PLAUSIBLE_CO2: std::ops::RangeInclusive<f64> = 250.0..=5000.0;
/// A demand without negative values whose greatest is below counts people.
const MAX_COUNT: f64 = 250.0;
/// Outdoor air is raised, or at its floor, by these shares of its range.
const RAISED_SHARE: f64 = 0.25;
const FLOOR_SHARE: f64 = 0.05;
/// Outdoor air above the configured floor by this factor is more than it.
const ABOVE_FLOOR: f64 = 1.1;
/// Samples that a group needs to be judged: so many, and this share of all.
const ENOUGH: usize = 6;
const ENOUGH_SHARE: f64 = 0.05;
/// Samples that an hour of the day needs on either side, and all hours together.
const STRATUM_SAMPLES: usize = 3;
const STRATA_WEIGHT: usize = 6;
/// Lift that tells a response to presence and to a count of people.
const PRESENCE_LIFT: f64 = 0.2;
const COUNT_LIFT: f64 = 1.0;

/// A row with outdoor air and demand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sample {
    pub row: usize,
    pub oa: f64,
    pub demand: f64,
}

/// What the demand signal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DemandKind {
    Presence,
    Count,
    Co2,
}

impl DemandKind {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Presence => "presence",
            Self::Count => "count",
            Self::Co2 => "co2",
        }
    }

    fn of(samples: &[Sample]) -> Self {
        let all = |is: fn(f64) -> bool| samples.iter().all(|sample| is(sample.demand));
        if all(|demand| (0.0..=1.0).contains(&demand)) {
            Self::Presence
        } else if all(|demand| (0.0..MAX_COUNT).contains(&demand)) {
            Self::Count
        } else {
            Self::Co2
        }
    }
}

/// The verdict on the response of outdoor air.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    Functioning,
    Static,
    Uncorrelated,
    /// Nothing could be told, and why.
    Insufficient(&'static str),
}

impl Status {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Functioning => "functioning",
            Self::Static => "static",
            Self::Uncorrelated => "uncorrelated",
            Self::Insufficient(_) => "insufficient",
        }
    }

    pub(super) const fn reason(self) -> Option<&'static str> {
        match self {
            Self::Insufficient(reason) => Some(reason),
            _ => None,
        }
    }
}

/// The rows of one outdoor-air signal with the masks that narrow them.
pub(super) struct Input<'a> {
    pub stamps: &'a [i64],
    pub oa: &'a [f64],
    pub demand: &'a [f64],
    /// Occupied, of this segment, with the fan on.
    pub mask: &'a [bool],
    /// Rows that may be free cooling; none without evidence.
    pub economizing: Option<&'a [bool]>,
    pub floor: Option<f64>,
    /// Rows with the fan off by its speed.
    pub fan_off: Option<&'a [bool]>,
    /// Median step of the outdoor-air signal, nanoseconds.
    pub step: f64,
}

/// What came out. Percentages are rounded to 1.
#[derive(Debug, Clone)]
pub(super) struct Assessment {
    pub kind: DemandKind,
    pub status: Status,
    pub lift: Option<f64>,
    pub pooled_lift: Option<f64>,
    pub lift_basis: Option<&'static str>,
    pub modulation: Option<f64>,
    pub correlation: Option<f64>,
    pub demand_span: Option<f64>,
    pub breach_pct: Option<f64>,
    pub excess_pct: Option<f64>,
    pub closed_pct: Option<f64>,
    pub n_econ_excluded: Option<usize>,
    pub n: usize,
    pub floor: Option<FloorCheck>,
    /// Rows of the frame that the response was judged on, and those that speak against it.
    pub judged_rows: Vec<usize>,
    pub response_rows: Vec<usize>,
    pub breach_rows: Vec<usize>,
}

/// Pairs outdoor air and demand, and judges the response.
pub(super) fn assess(input: &Input<'_>, setting: &Setting) -> Assessment {
    let mut samples: Vec<Sample> = input
        .oa
        .iter()
        .zip(input.demand)
        .zip(input.mask)
        .enumerate()
        .filter(|(_, ((oa, demand), keep))| **keep && !oa.is_nan() && !demand.is_nan())
        .map(|(row, ((oa, demand), _))| Sample {
            row,
            oa: *oa,
            demand: *demand,
        })
        .collect();
    let kind = DemandKind::of(&samples);
    if kind == DemandKind::Co2 {
        samples.retain(|sample| PLAUSIBLE_CO2.contains(&sample.demand));
    }
    let floor = input
        .floor
        .and_then(|floor| FloorCheck::of(&samples, input.stamps, floor, input.fan_off, input.step));
    let n_econ_excluded = input.economizing.map(|economizing| {
        let before = samples.len();
        samples.retain(|sample| !economizing.get(sample.row).copied().unwrap_or(true));
        before - samples.len()
    });
    let closed_pct = remove_closed(&mut samples);
    let mut assessment = Assessment {
        kind,
        status: Status::Insufficient("too_few_samples"),
        lift: None,
        pooled_lift: None,
        lift_basis: None,
        modulation: None,
        correlation: None,
        demand_span: None,
        breach_pct: None,
        excess_pct: None,
        closed_pct,
        n_econ_excluded,
        n: samples.len(),
        floor,
        judged_rows: samples.iter().map(|sample| sample.row).collect(),
        response_rows: Vec::new(),
        breach_rows: Vec::new(),
    };
    if samples.len() >= setting.min_samples && !samples.is_empty() {
        let response = Response::of(&samples, kind, setting);
        response.judge(input, setting, &mut assessment);
    }
    assessment
}

/// Takes away the samples without outdoor air; their share, none without samples.
fn remove_closed(samples: &mut Vec<Sample>) -> Option<f64> {
    let before = samples.len();
    if before == 0 {
        return None;
    }
    let limit = closed_limit(samples.iter().map(|sample| sample.oa).collect());
    samples.retain(|sample| !(sample.oa <= limit));
    let share = numeric::percent_of(before - samples.len(), before);
    Some(numeric::round(share, 1))
}

/// Outdoor air at or below is none.
pub(super) fn closed_limit(mut oa: Vec<f64>) -> f64 {
    oa.sort_unstable_by(f64::total_cmp);
    let reference = numeric::quantile_sorted(&oa, 0.95);
    if reference > 0.0 {
        CLOSED_SHARE * reference
    } else {
        0.0
    }
}

/// Samples sorted into high and low demand, raised and least outdoor air; one flag per sample.
struct Response<'a> {
    samples: &'a [Sample],
    kind: DemandKind,
    high: Vec<bool>,
    low: Vec<bool>,
    raised: Vec<bool>,
    at_floor: Vec<bool>,
    modulation: f64,
    /// 90th less 10th percentile of the demand.
    span: f64,
    is_span_enough: bool,
}

impl<'a> Response<'a> {
    fn of(samples: &'a [Sample], kind: DemandKind, setting: &Setting) -> Self {
        let mut oa: Vec<f64> = samples.iter().map(|sample| sample.oa).collect();
        oa.sort_unstable_by(f64::total_cmp);
        let low_oa = numeric::quantile_sorted(&oa, 0.05);
        let high_oa = numeric::quantile_sorted(&oa, 0.95);
        let range = high_oa - low_oa;
        let modulation = if high_oa > 0.0 {
            (range / high_oa).clamp(0.0, 1.0)
        } else {
            0.0
        };
        let mut demand: Vec<f64> = samples.iter().map(|sample| sample.demand).collect();
        demand.sort_unstable_by(f64::total_cmp);
        let p = |q: f64| numeric::quantile_sorted(&demand, q);
        let span = p(0.9) - p(0.1);
        let (p25, p75) = (p(0.25), p(0.75));
        let by_demand = |is: &dyn Fn(f64) -> bool| -> Vec<bool> {
            samples.iter().map(|sample| is(sample.demand)).collect()
        };
        let by_oa = |is: &dyn Fn(f64) -> bool| -> Vec<bool> {
            samples.iter().map(|sample| is(sample.oa)).collect()
        };
        let (high, low, is_span_enough) = match kind {
            DemandKind::Co2 => {
                let engage = setting.engage_ppm;
                (
                    by_demand(&|demand| demand >= engage),
                    by_demand(&|demand| demand <= p25 && demand < engage),
                    span >= setting.min_demand_span,
                )
            }
            DemandKind::Presence => {
                let high = by_demand(&|demand| demand >= 0.5);
                let low: Vec<bool> = high.iter().map(|high| !high).collect();
                let both = high.iter().any(|set| *set) && low.iter().any(|set| *set);
                (high, low, both)
            }
            DemandKind::Count => {
                let many = p75.max(1.0);
                (
                    by_demand(&|demand| demand >= many),
                    by_demand(&|demand| demand <= p25 && demand < many),
                    span >= 1.0,
                )
            }
        };
        Self {
            samples,
            kind,
            high,
            low,
            raised: by_oa(&|oa| oa >= low_oa + RAISED_SHARE * range),
            at_floor: by_oa(&|oa| oa <= low_oa + FLOOR_SHARE * range),
            modulation,
            span,
            is_span_enough,
        }
    }

    fn is_enough(&self, mask: &[bool]) -> bool {
        let count = mask.iter().filter(|set| **set).count();
        count >= ENOUGH && share_of(count) >= ENOUGH_SHARE * share_of(self.samples.len())
    }

    fn rows(&self, mask: &[bool]) -> Vec<usize> {
        self.samples
            .iter()
            .zip(mask)
            .filter(|(_, set)| **set)
            .map(|(sample, _)| sample.row)
            .collect()
    }

    fn judge(&self, input: &Input<'_>, setting: &Setting, found: &mut Assessment) {
        found.modulation = Some(numeric::round(self.modulation, 3));
        found.demand_span = Some(numeric::round(self.span, 1));
        let (oa, demand): (Vec<f64>, Vec<f64>) = self
            .samples
            .iter()
            .map(|sample| (sample.oa, sample.demand))
            .unzip();
        let correlation = numeric::pearson(&oa, &demand);
        found.correlation = (!correlation.is_nan()).then(|| numeric::round(correlation, 3));
        self.check_breach(input, setting, found);
        self.check_excess(input, found);
        found.status = if !self.is_span_enough {
            Status::Insufficient("no_demand_variation")
        } else if !self.is_enough(&self.high) {
            Status::Insufficient("demand_below_engage")
        } else if self.modulation < setting.min_modulation {
            found.response_rows = self.rows(&self.high);
            Status::Static
        } else if !self.is_enough(&self.raised) || !self.is_enough(&self.at_floor) {
            Status::Insufficient("oa_rarely_raised")
        } else {
            self.lift(input.stamps, setting, found)
        };
        if found.status == Status::Uncorrelated {
            let unanswered: Vec<bool> = self
                .high
                .iter()
                .zip(&self.at_floor)
                .map(|(high, floor)| *high && *floor)
                .collect();
            found.response_rows = self.rows(&unanswered);
        }
    }

    fn check_breach(&self, input: &Input<'_>, setting: &Setting, found: &mut Assessment) {
        let (Some(setpoint), DemandKind::Co2) = (setting.co2_setpoint, self.kind) else {
            return;
        };
        let breach: Vec<bool> = self
            .samples
            .iter()
            .zip(&self.at_floor)
            .map(|(sample, at_floor)| {
                let is_least = match input.floor {
                    Some(floor) => sample.oa <= floor * ABOVE_FLOOR,
                    None => *at_floor,
                };
                sample.demand > setpoint && is_least
            })
            .collect();
        found.breach_rows = self.rows(&breach);
        let share = numeric::percent_of(found.breach_rows.len(), self.samples.len());
        found.breach_pct = Some(numeric::round(share, 1));
    }

    fn check_excess(&self, input: &Input<'_>, found: &mut Assessment) {
        let Some(floor) = input.floor.filter(|_| self.is_enough(&self.low)) else {
            return;
        };
        let low = || {
            self.samples
                .iter()
                .zip(&self.low)
                .filter(|(_, low)| **low)
                .map(|(sample, _)| sample)
        };
        let above = low()
            .filter(|sample| sample.oa > floor * ABOVE_FLOOR)
            .count();
        let share = numeric::percent_of(above, low().count());
        found.excess_pct = Some(numeric::round(share, 1));
    }

    /// Demand with raised outdoor air above demand at its floor, hour by hour where there is enough of both.
    fn lift(&self, stamps: &[i64], setting: &Setting, found: &mut Assessment) -> Status {
        let mut strata: BTreeMap<(bool, u32), (Vec<f64>, Vec<f64>)> = BTreeMap::new();
        let (mut raised, mut at_floor) = (Vec::new(), Vec::new());
        for ((sample, is_raised), is_at_floor) in
            self.samples.iter().zip(&self.raised).zip(&self.at_floor)
        {
            let stamp = stamps.get(sample.row).copied().unwrap_or_default();
            let hour = occupancy::whole_hour(stamp);
            let stratum = strata
                .entry((occupancy::weekday(stamp) >= 5, hour))
                .or_default();
            if *is_raised {
                raised.push(sample.demand);
                stratum.0.push(sample.demand);
            }
            if *is_at_floor {
                at_floor.push(sample.demand);
                stratum.1.push(sample.demand);
            }
        }
        let pooled = self.middle(&mut raised) - self.middle(&mut at_floor);
        let (mut weight, mut sum) = (0, 0.0);
        // People come and go with the clock: presence is only compared within an hour of the day.
        if setting.stratify_hour || self.kind != DemandKind::Co2 {
            for (raised, at_floor) in strata.values_mut() {
                let least = raised.len().min(at_floor.len());
                if least >= STRATUM_SAMPLES {
                    weight += least;
                    sum += share_of(least) * (self.middle(raised) - self.middle(at_floor));
                }
            }
        }
        let (lift, basis) = if weight >= STRATA_WEIGHT {
            (sum / share_of(weight), "hour_of_day")
        } else if self.kind != DemandKind::Co2 {
            return Status::Insufficient("schedule_confounded");
        } else {
            (pooled, "pooled")
        };
        found.lift = Some(numeric::round(lift, 1));
        found.pooled_lift = (self.kind == DemandKind::Co2).then(|| numeric::round(pooled, 1));
        found.lift_basis = Some(basis);
        let least = match self.kind {
            DemandKind::Co2 => setting.min_lift_ppm,
            DemandKind::Presence => PRESENCE_LIFT,
            DemandKind::Count => COUNT_LIFT,
        };
        if lift >= least {
            Status::Functioning
        } else {
            Status::Uncorrelated
        }
    }

    fn middle(&self, values: &mut [f64]) -> f64 {
        match self.kind {
            DemandKind::Presence => numeric::mean(values),
            DemandKind::Co2 | DemandKind::Count => numeric::median_in_place(values),
        }
    }
}
