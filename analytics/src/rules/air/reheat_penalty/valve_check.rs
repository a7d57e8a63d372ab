//! Whether the discharge air of a box agrees with its reheat valve (Air rules §2.20).

use serde_json::Value;

use crate::finding::Metrics;
use crate::frame::Frame;
use crate::masks;
use crate::numeric;
use crate::parameters::Parameters;

use super::super::reheat_valve::{FULLY_OPEN, OPEN};

/// Samples that either side of the check needs.
const LEAST_SAMPLES: usize = 12;

/// An open valve warms the air by at least this, °F.
const OPEN_RISE: f64 = 5.0;

/// A shut valve warms it by less than this, °F.
const CLOSED_RISE: f64 = 10.0;

/// So large a share of warm samples with the valve shut is too much.
const CLOSED_SHARE: f64 = 0.25;

/// Primary air where nothing tells its temperature, °F.
const NOMINAL_PRIMARY: f64 = 55.0;

/// In weather from here on primary air is not preheated, °F.
const COOLING_WEATHER: f64 = 70.0;

/// The outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Agreement {
    NotChecked,
    Consistent,
    OpenNoRise,
    ClosedWithRise,
}

impl Agreement {
    const fn word(self) -> &'static str {
        match self {
            Self::NotChecked => "not_checked",
            Self::Consistent => "consistent",
            Self::OpenNoRise => "open_no_rise",
            Self::ClosedWithRise => "closed_with_rise",
        }
    }
}

/// Heat that the fan of a box adds, °F: in the bound of the open and of the shut check.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct FanHeat {
    lift: Option<f64>,
    open: Option<f64>,
    closed: Option<f64>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ValveCheck {
    pub(super) agreement: Agreement,
    basis: Option<&'static str>,
    /// Median rise with the valve open, °F.
    pub(super) open_rise: Option<f64>,
    /// Share of samples with the valve shut in which the air is much warmer.
    pub(super) closed_share: Option<f64>,
    fan_heat: FanHeat,
    open_fan_heat: f64,
    box_type: Option<String>,
}

/// Samples in which valve and air have settled.
struct Steady {
    open: Vec<bool>,
    closed: Vec<bool>,
}

impl ValveCheck {
    /// Over the occupied samples, from the discharge air; not checked without it.
    pub(super) fn of(
        frame: &Frame<'_>,
        parameters: &Parameters,
        occupied: &[bool],
        valve: &[f64],
    ) -> Self {
        let mut check = Self {
            agreement: Agreement::NotChecked,
            basis: None,
            open_rise: None,
            closed_share: None,
            fan_heat: FanHeat::default(),
            open_fan_heat: 0.0,
            box_type: None,
        };
        let Some(discharge) = frame.column("supply_air_temp") else {
            return check;
        };
        check.box_type = parameters.word("box_type").map(str::to_owned);
        let discharge = plausible(discharge);
        let mut steady = steady(frame, occupied, valve, &discharge);
        let entering = frame
            .column("mixed_air_temp")
            .map(plausible)
            .filter(|entering| numeric::count(entering) >= LEAST_SAMPLES);
        let (open_rise, closed_rise) = match &entering {
            Some(entering) => {
                check.basis = Some("entering_air");
                let rise: Vec<f64> = discharge.iter().zip(entering).map(|(d, e)| d - e).collect();
                steady.open = masks::and(&steady.open, &masks::present(&rise));
                steady.closed = masks::and(&steady.closed, &masks::present(&rise));
                (rise.clone(), rise)
            }
            None => {
                let reference = masks::picked_values(&discharge, &steady.closed);
                let over = |reference: f64| -> Vec<f64> {
                    discharge.iter().map(|value| value - reference).collect()
                };
                let shut = over(NOMINAL_PRIMARY);
                steady.closed = in_cooling_weather(frame, &steady.closed);
                if reference.len() >= LEAST_SAMPLES {
                    check.basis = Some("closed_valve_discharge");
                    (over(numeric::median(&reference)), shut)
                } else {
                    check.basis = Some("nominal_primary_55f");
                    (shut.clone(), shut)
                }
            }
        };
        check.fan_heat = fan_heat(frame, parameters, entering.is_some(), &closed_rise, &steady);
        if check.basis != Some("closed_valve_discharge") {
            check.open_fan_heat = check.fan_heat.open.unwrap_or(0.0);
        }
        check.decide(&open_rise, &closed_rise, &steady);
        check
    }

    fn decide(&mut self, open_rise: &[f64], closed_rise: &[f64], steady: &Steady) {
        let mut open = masks::picked_values(open_rise, &steady.open);
        if open.len() >= LEAST_SAMPLES {
            let median = numeric::median_in_place(&mut open);
            self.open_rise = Some(median);
            self.agreement = Agreement::Consistent;
            if median < self.open_bound() {
                self.agreement = Agreement::OpenNoRise;
                return;
            }
        }
        let closed = masks::picked_values(closed_rise, &steady.closed);
        if closed.len() >= LEAST_SAMPLES {
            let bound = CLOSED_RISE + self.fan_heat.closed.unwrap_or(0.0);
            let warm = closed.iter().filter(|rise| **rise >= bound).count();
            let share = numeric::share_of(warm) / numeric::share_of(closed.len());
            self.closed_share = Some(share);
            self.agreement = match share >= CLOSED_SHARE {
                true => Agreement::ClosedWithRise,
                false => Agreement::Consistent,
            };
        }
    }

    /// The rise that an open valve must reach, °F.
    pub(super) fn open_bound(&self) -> f64 {
        OPEN_RISE + self.open_fan_heat
    }

    pub(super) fn write(&self, metrics: &mut Metrics) {
        let rounded =
            |value: Option<f64>, decimals| value.map(|value| numeric::round(value, decimals));
        metrics
            .set("valve_dat_consistency", self.agreement.word())
            .set(
                "valve_dat_basis",
                self.basis.map_or(Value::Null, Value::from),
            )
            .number_or_null("valve_open_median_rise_f", rounded(self.open_rise, 2))
            .number_or_null("valve_closed_big_rise_share", rounded(self.closed_share, 3))
            .number_or_null("fan_heat_f", self.fan_heat.open);
        if let Some(box_type) = &self.box_type {
            metrics
                .set("box_type", box_type.as_str())
                .number_or_null("fan_lift_f", self.fan_heat.lift)
                .number_or_null("fan_heat_closed_f", self.fan_heat.closed);
        }
    }
}

/// Temperatures of air as a duct can have them.
fn plausible(values: &[f64]) -> Vec<f64> {
    values
        .iter()
        .map(|value| {
            if (30.0..=150.0).contains(value) {
                *value
            } else {
                f64::NAN
            }
        })
        .collect()
}

/// Occupied samples with discharge and airflow whose valve was as open, or as shut, a sample before.
fn steady(frame: &Frame<'_>, occupied: &[bool], valve: &[f64], discharge: &[f64]) -> Steady {
    let mut rows = masks::and(occupied, &masks::present(discharge));
    if let Some(airflow) = frame.column("airflow") {
        let peak = numeric::quantile(&masks::picked_values(airflow, occupied), 0.95);
        if peak > 0.0 {
            rows = masks::and(
                &rows,
                &masks::where_value(airflow, |value| value >= 0.10 * peak),
            );
        }
    }
    let held = |is: fn(f64) -> bool| {
        let mut before = false;
        let held: Vec<bool> = valve
            .iter()
            .map(|value| {
                let now = is(*value);
                let held = now && before;
                before = now;
                held
            })
            .collect();
        masks::and(&rows, &held)
    };
    Steady {
        open: held(|value| value >= FULLY_OPEN),
        closed: held(|value| value <= OPEN),
    }
}

fn in_cooling_weather(frame: &Frame<'_>, closed: &[bool]) -> Vec<bool> {
    match frame.column("oat") {
        Some(oat) => masks::and(
            closed,
            &masks::where_value(oat, |value| value >= COOLING_WEATHER),
        ),
        None => vec![false; closed.len()],
    }
}

/// The greatest fan heat credited to a type of box: open and shut bound, °F.
fn caps(box_type: Option<&str>) -> (f64, f64) {
    match box_type {
        Some("single_duct") => (3.0, 3.0),
        Some("series") => (10.0, 8.0),
        _ => (8.0, 8.0),
    }
}

fn fan_heat(
    frame: &Frame<'_>,
    parameters: &Parameters,
    has_entering_air: bool,
    closed_rise: &[f64],
    steady: &Steady,
) -> FanHeat {
    if let Some(given) = parameters.optional("fan_heat_f") {
        return FanHeat {
            lift: None,
            open: Some(given),
            closed: Some(given),
        };
    }
    if parameters.word("fan_heat_f") != Some("auto") || !has_entering_air {
        return FanHeat::default();
    }
    let rows = match frame.column("supply_fan_status") {
        Some(status) => masks::and(
            &steady.closed,
            &masks::where_value(status, |value| value > 0.5),
        ),
        None => steady.closed.clone(),
    };
    let mut rises = masks::picked_values(closed_rise, &rows);
    if rises.len() < LEAST_SAMPLES {
        return FanHeat::default();
    }
    let lift = numeric::median_in_place(&mut rises);
    let (open, closed) = caps(parameters.word("box_type"));
    let capped = |cap: f64| Some(numeric::round(lift.clamp(0.0, cap), 2));
    FanHeat {
        lift: Some(numeric::round(lift, 2)),
        open: capped(open),
        closed: capped(closed),
    }
}
