//! Whether something contradicts an actuator that stands still (Air rules §2.1, step 4).

use super::runs::FlatRun;
use crate::frame::Frame;
use crate::numeric;
use crate::parameters::Parameters;

/// Share of a run's samples with an unmet zone, and with a satisfied one, that contradict it.
const UNMET_SHARE: f64 = 0.25;
const SATISFIED_SHARE: f64 = 0.50;
/// Change of the demand that contradicts, and that could have moved the actuator (points).
const DEMAND_MOVED: f64 = 20.0;
const DEMAND_SPAN: f64 = 5.0;
/// Airflow below this share of what is asked for is none; a change of the setpoint by this share of its peak is one.
const NO_FLOW_SHARE: f64 = 0.05;
const FLOW_SPAN_SHARE: f64 = 0.05;

/// How strongly a run speaks against the actuator, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tier {
    UnexplainedFlat,
    Contradicted,
}

impl Tier {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::UnexplainedFlat => "unexplained_flat",
            Self::Contradicted => "contradicted",
        }
    }
}

/// What speaks against it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    DemandMoved,
    ClosedOccupied,
    ClosedNoFlow,
    ZoneCold,
    ZoneWarm,
    ZoneSatisfied,
    FlatAllDay,
}

impl Reason {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::DemandMoved => "demand_moved",
            Self::ClosedOccupied => "closed_occupied",
            Self::ClosedNoFlow => "closed_no_flow",
            Self::ZoneCold => "zone_cold",
            Self::ZoneWarm => "zone_warm",
            Self::ZoneSatisfied => "zone_satisfied",
            Self::FlatAllDay => "flat_all_day",
        }
    }
}

/// Why a run is held against the actuator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cause {
    pub tier: Tier,
    pub reason: Reason,
    /// The signal that moved while the actuator did not.
    pub driver: Option<&'static str>,
    /// °F, points, cfm or share, as the reason says.
    pub detail: Option<f64>,
}

impl Cause {
    const fn contradicted(reason: Reason, detail: Option<f64>) -> Self {
        Self {
            tier: Tier::Contradicted,
            reason,
            driver: None,
            detail,
        }
    }

    /// Why, as part of a sentence.
    pub(super) fn words(&self) -> String {
        let detail = self.detail.unwrap_or_default();
        match self.reason {
            Reason::DemandMoved => format!("while its demand moved by {detail:.1} points"),
            Reason::ClosedOccupied => "closed in occupied time".to_owned(),
            Reason::ClosedNoFlow => match self.detail {
                Some(share) => {
                    format!(
                        "closed, with {:.1} % of the airflow asked for",
                        100.0 * share
                    )
                }
                None => "closed while airflow was asked for".to_owned(),
            },
            Reason::ZoneCold => format!("while the zone was {detail:.1} °F below its setpoint"),
            Reason::ZoneWarm => format!("while the zone was {detail:.1} °F above its setpoint"),
            Reason::ZoneSatisfied => {
                format!("wide open although the zone was satisfied by {detail:.1} °F")
            }
            Reason::FlatAllDay => {
                let moved = match self.driver {
                    Some("demand") => format!("its demand moved by {detail:.1} points"),
                    Some("airflow_sp") => format!("the airflow setpoint moved by {detail:.1} cfm"),
                    Some("cool_sp") => format!("the cooling setpoint moved by {detail:.2} °F"),
                    Some("heat_sp") => format!("the heating setpoint moved by {detail:.2} °F"),
                    _ => format!("the space temperature moved by {detail:.2} °F"),
                };
                format!("for the whole active day although {moved}")
            }
        }
    }
}

/// What the zone asked for.
pub(super) struct ZoneSignals<'a> {
    space: Option<&'a [f64]>,
    cool_setpoint: Option<&'a [f64]>,
    heat_setpoint: Option<&'a [f64]>,
    airflow: Option<&'a [f64]>,
    airflow_setpoint: Option<&'a [f64]>,
    /// Greatest airflow setpoint of the whole frame.
    airflow_setpoint_peak: f64,
}

impl<'a> ZoneSignals<'a> {
    pub(super) fn of(frame: &Frame<'a>) -> Self {
        let airflow_setpoint = frame.with_data("airflow_sp");
        let peak = airflow_setpoint
            .into_iter()
            .flatten()
            .fold(f64::NAN, |peak, value| value.abs().max(peak));
        Self {
            space: frame.with_data("space_temp"),
            cool_setpoint: frame.with_data("cool_sp"),
            heat_setpoint: frame.with_data("heat_sp"),
            airflow: frame.with_data("airflow"),
            airflow_setpoint,
            airflow_setpoint_peak: peak,
        }
    }
}

/// The actuator that stands still.
pub(super) struct Actuator<'a> {
    pub is_heating: bool,
    pub is_damper: bool,
    /// The command of a valve whose position is judged.
    pub demand: Option<&'a [f64]>,
}

/// Thresholds of the parameters.
pub(super) struct Limits {
    limit_pct: f64,
    whole_day_share: f64,
    min_driver_span_f: f64,
    warm_margin_f: f64,
    satisfied_margin_f: f64,
    min_airflow: Option<f64>,
}

impl Limits {
    pub(super) fn of(parameters: &Parameters) -> Self {
        Self {
            limit_pct: parameters.number("limit_pct"),
            whole_day_share: parameters.number("whole_day_share"),
            min_driver_span_f: parameters.number("min_driver_span_f"),
            warm_margin_f: parameters.number("warm_margin_f"),
            satisfied_margin_f: parameters.number("satisfied_margin_f"),
            min_airflow: parameters.optional("min_airflow"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Closed,
    Open,
    Mid,
}

/// The cause of a run; none when standing still is consistent with what the zone asked for. `day_samples`: active samples
/// of the day on which it starts.
pub(super) fn classify(
    run: &FlatRun,
    day_samples: usize,
    actuator: &Actuator<'_>,
    zone: &ZoneSignals<'_>,
    limits: &Limits,
) -> Option<Cause> {
    let end = if run.value <= limits.limit_pct {
        End::Closed
    } else if run.value >= 100.0 - limits.limit_pct {
        End::Open
    } else {
        End::Mid
    };
    let demand_span = actuator.demand.map_or(f64::NAN, |demand| run.span(demand));
    if demand_span >= DEMAND_MOVED {
        let detail = numeric::round(demand_span, 1);
        return Some(Cause::contradicted(Reason::DemandMoved, Some(detail)));
    }
    if actuator.is_damper && end == End::Closed {
        let cause = closed_damper(run, zone, limits);
        if cause.is_some() {
            return cause;
        }
    }
    if let Some(cause) = unmet_zone(run, end, actuator, zone, limits) {
        return Some(cause);
    }
    let n = run.rows.len();
    let is_whole_day = day_samples > 0
        && numeric::share_of(n) / numeric::share_of(day_samples) >= limits.whole_day_share;
    if !is_whole_day || (end != End::Mid && is_saturated(run, end, actuator, zone, limits)) {
        return None;
    }
    let (driver, span) = driver(run, demand_span, actuator, zone, limits)?;
    Some(Cause {
        tier: Tier::UnexplainedFlat,
        reason: Reason::FlatAllDay,
        driver: Some(driver),
        detail: Some(span),
    })
}

fn closed_damper(run: &FlatRun, zone: &ZoneSignals<'_>, limits: &Limits) -> Option<Cause> {
    let asked = zone
        .airflow_setpoint
        .map(|setpoint| run.median(setpoint))
        .filter(|median| !median.is_nan())
        .or(limits.min_airflow);
    let Some(asked) = asked else {
        return Some(Cause::contradicted(Reason::ClosedOccupied, None));
    };
    if !(asked > 0.0) {
        return None;
    }
    match zone.airflow.map(|airflow| run.median(airflow)) {
        None => Some(Cause::contradicted(Reason::ClosedNoFlow, None)),
        Some(flow) if flow <= NO_FLOW_SHARE * asked => {
            let share = numeric::round(flow / asked, 3);
            Some(Cause::contradicted(Reason::ClosedNoFlow, Some(share)))
        }
        Some(_) => None,
    }
}

/// The zone asks for more than the actuator gives, or has more than it asks for.
fn unmet_zone(
    run: &FlatRun,
    end: End,
    actuator: &Actuator<'_>,
    zone: &ZoneSignals<'_>,
    limits: &Limits,
) -> Option<Cause> {
    let need = need(run, actuator, zone)?;
    let is_open = end == End::Open;
    let mut gaps: Vec<f64> = need
        .into_iter()
        .map(|need| if is_open { -need } else { need })
        .filter(|gap| {
            if is_open {
                *gap >= limits.satisfied_margin_f
            } else {
                *gap > limits.warm_margin_f
            }
        })
        .collect();
    let share = numeric::share_of(gaps.len()) / numeric::share_of(run.rows.len());
    let least = if is_open {
        SATISFIED_SHARE
    } else {
        UNMET_SHARE
    };
    if !(share >= least) {
        return None;
    }
    let reason = match (is_open, actuator.is_heating) {
        (true, _) => Reason::ZoneSatisfied,
        (false, true) => Reason::ZoneCold,
        (false, false) => Reason::ZoneWarm,
    };
    let detail = numeric::round(numeric::median_in_place(&mut gaps), 1);
    Some(Cause::contradicted(reason, Some(detail)))
}

/// By how much the zone misses its setpoint on the side that the actuator serves (°F); none without both signals.
fn need(run: &FlatRun, actuator: &Actuator<'_>, zone: &ZoneSignals<'_>) -> Option<Vec<f64>> {
    let space = zone.space?;
    let (setpoint, sign) = if actuator.is_heating {
        (zone.heat_setpoint?, -1.0)
    } else {
        (zone.cool_setpoint?, 1.0)
    };
    Some(
        run.samples(space)
            .zip(run.samples(setpoint))
            .map(|(space, setpoint)| sign * (space - setpoint))
            .collect(),
    )
}

/// At its end because the zone asks for that.
fn is_saturated(
    run: &FlatRun,
    end: End,
    actuator: &Actuator<'_>,
    zone: &ZoneSignals<'_>,
    limits: &Limits,
) -> bool {
    let demand = actuator
        .demand
        .map(|demand| run.median(demand))
        .filter(|median| !median.is_nan());
    if let Some(demand) = demand {
        return match end {
            End::Open => demand >= 100.0 - limits.limit_pct,
            _ => demand <= limits.limit_pct,
        };
    }
    let Some(need) = need(run, actuator, zone) else {
        return false;
    };
    let known: Vec<f64> = need.into_iter().filter(|need| !need.is_nan()).collect();
    let asking = known.iter().filter(|need| **need >= 0.0).count();
    let share = numeric::share_of(asking) / numeric::share_of(known.len());
    match end {
        End::Open => share >= 0.5,
        _ => share < 0.5,
    }
}

/// The first signal that moved while the actuator did not, and by how much.
fn driver(
    run: &FlatRun,
    demand_span: f64,
    actuator: &Actuator<'_>,
    zone: &ZoneSignals<'_>,
    limits: &Limits,
) -> Option<(&'static str, f64)> {
    if demand_span >= DEMAND_SPAN {
        return Some(("demand", numeric::round(demand_span, 1)));
    }
    if actuator.is_damper {
        let span = zone
            .airflow_setpoint
            .map_or(f64::NAN, |setpoint| run.span(setpoint));
        let peak = zone.airflow_setpoint_peak;
        if peak > 0.0 && span >= FLOW_SPAN_SHARE * peak {
            return Some(("airflow_sp", numeric::round(span, 1)));
        }
    }
    [
        ("cool_sp", zone.cool_setpoint),
        ("heat_sp", zone.heat_setpoint),
        ("space_temp", zone.space),
    ]
    .into_iter()
    .filter_map(|(name, values)| Some((name, run.span(values?))))
    .find(|(_, span)| *span >= limits.min_driver_span_f)
    .map(|(name, span)| (name, numeric::round(span, 2)))
}
