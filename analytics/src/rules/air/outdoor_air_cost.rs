//! What more outdoor air than the minimum costs, per cfm of supply and, with a trended airflow, in all (Air rules §2.10).

use serde_json::Value;

use crate::finding::Metrics;
use crate::frame::Frame;
use crate::masks;
use crate::numeric;
use crate::psychrometrics::{enthalpy, saturation_pressure, vapour_pressure};
use crate::wall_clock::HOUR;

/// Btu/h per cfm and °F of sensible heat in standard air.
const SENSIBLE: f64 = 1.08;

/// Btu/h per cfm and Btu/lb of total heat in standard air.
const TOTAL: f64 = 4.5;

/// What the cost is formed over.
pub(super) struct Excess<'a> {
    /// Samples that are priced: judged, and occupied.
    pub rows: &'a [bool],
    /// Outdoor air in percent of supply, by row.
    pub fraction: &'a [f64],
    /// Its minimum, by row.
    pub minimum: &'a [f64],
    /// Points above the minimum from which air is excess.
    pub margin: f64,
    /// Samples of the whole frame with the temperatures.
    pub observed: usize,
}

/// Whether the unit heats; NaN readings leave it open.
struct Heating {
    basis: &'static str,
    by_row: Vec<Option<bool>>,
}

impl Heating {
    fn of(frame: &Frame<'_>) -> Self {
        if let Some(valve) = frame.with_data("heat_valve") {
            return Self {
                basis: "heat_valve",
                by_row: valve
                    .iter()
                    .map(|value| (!value.is_nan()).then_some(*value > 5.0))
                    .collect(),
            };
        }
        let supply = frame.with_data("supply_air_temp");
        match (supply, frame.with_data("mixed_air_temp")) {
            (Some(supply), Some(mixed)) => Self {
                basis: "supply_air_temp",
                by_row: supply
                    .iter()
                    .zip(mixed)
                    .map(|(supply, mixed)| {
                        let rise = supply - mixed;
                        (!rise.is_nan()).then_some(rise > 2.0)
                    })
                    .collect(),
            },
            _ => Self {
                basis: "not judged: neither a heating valve nor supply and mixed air temperature is trended",
                by_row: vec![None; frame.len()],
            },
        }
    }
}

/// Enthalpies of outdoor and return air by row, NaN where either is not known.
fn enthalpies(frame: &Frame<'_>, outdoor: &[f64], indoor: &[f64]) -> Option<(Vec<f64>, Vec<f64>)> {
    let outdoor_humidity = frame.with_data("outdoor_rh")?;
    let outside = outdoor
        .iter()
        .zip(outdoor_humidity)
        .map(|(temperature, humidity)| {
            enthalpy(*temperature, vapour_pressure(*temperature, *humidity))
        })
        .collect();
    let vapour: Vec<f64> = match frame.with_data("return_air_humidity") {
        Some(humidity) => indoor
            .iter()
            .zip(humidity)
            .map(|(temperature, humidity)| vapour_pressure(*temperature, *humidity))
            .collect(),
        None => frame
            .with_data("return_air_dewpoint_temp")?
            .iter()
            .map(|dew_point| saturation_pressure(*dew_point))
            .collect(),
    };
    let inside = indoor
        .iter()
        .zip(vapour)
        .map(|(temperature, vapour)| enthalpy(*temperature, vapour))
        .collect();
    Some((outside, inside))
}

/// The priced samples.
#[derive(Default)]
struct Priced {
    /// Btu/h per cfm by row, 0 where none.
    cool: Vec<f64>,
    heat: Vec<f64>,
    cool_by_enthalpy: usize,
    n_cool: usize,
    n_heat: usize,
    n_economizing: usize,
    n_unjudged: usize,
}

fn price(frame: &Frame<'_>, excess: &Excess<'_>, heating: &Heating) -> Option<Priced> {
    let outdoor = frame.column("oat")?;
    let indoor = frame.column("return_air_temp")?;
    let enthalpies = enthalpies(frame, outdoor, indoor);
    let supply = frame.column("supply_air_temp");
    let mixed = frame.column("mixed_air_temp");
    let at = |column: Option<&[f64]>, row: usize| {
        column
            .and_then(|values| values.get(row))
            .copied()
            .unwrap_or(f64::NAN)
    };
    let mut priced = Priced {
        cool: vec![0.0; frame.len()],
        heat: vec![0.0; frame.len()],
        ..Priced::default()
    };
    let rows = outdoor
        .iter()
        .zip(indoor)
        .zip(excess.rows)
        .zip(excess.fraction.iter().zip(excess.minimum))
        .zip(&heating.by_row)
        .zip(priced.cool.iter_mut().zip(priced.heat.iter_mut()))
        .enumerate();
    for (row, (((((oat, rat), counts), (fraction, minimum)), heats), (cool, heat))) in rows {
        if !*counts || !(*fraction > minimum + excess.margin) {
            continue;
        }
        let share = (fraction - minimum) / 100.0;
        let is_cold = oat < rat;
        if is_cold && *heats == Some(true) {
            let lift = at(supply, row) - at(mixed, row);
            let needed = share * (rat - oat);
            let given = if lift.is_nan() {
                needed
            } else {
                needed.min(lift.max(0.0))
            };
            *heat = SENSIBLE * given;
            priced.n_heat += 1;
            continue;
        }
        let by_enthalpy = enthalpies
            .as_ref()
            .map(|(outside, inside)| at(Some(outside), row) - at(Some(inside), row))
            .filter(|difference| !difference.is_nan());
        match by_enthalpy {
            Some(difference) if difference > 0.0 => {
                *cool = TOTAL * share * difference;
                priced.cool_by_enthalpy += 1;
                priced.n_cool += 1;
            }
            None if oat > rat => {
                *cool = SENSIBLE * share * (oat - rat);
                priced.n_cool += 1;
            }
            _ if is_cold && heats.is_some() => priced.n_economizing += 1,
            _ if is_cold => priced.n_unjudged += 1,
            _ => {}
        }
    }
    Some(priced)
}

/// Supply airflow of the priced samples, where it is trended well enough to price with.
fn airflow(frame: &Frame<'_>, priced: &[bool]) -> Option<Vec<f64>> {
    let airflow = frame.column("airflow")?;
    let positive: Vec<f64> = masks::picked(airflow, priced)
        .filter(|value| *value > 0.0)
        .collect();
    let n = masks::count(priced);
    if n == 0
        || !(numeric::quantile(&positive, 0.95) > 100.0)
        || numeric::share_of(positive.len()) < 0.9 * numeric::share_of(n)
    {
        return None;
    }
    let usual = numeric::median(&positive);
    Some(
        airflow
            .iter()
            .map(|value| if *value > 0.0 { *value } else { usual })
            .collect(),
    )
}

/// Writes the figures of the cost; nothing when a temperature is not trended at all.
pub(super) fn write_cost(metrics: &mut Metrics, frame: &Frame<'_>, excess: &Excess<'_>) {
    let heating = Heating::of(frame);
    let Some(priced) = price(frame, excess, &heating) else {
        return;
    };
    let hour = numeric::nanos(HOUR);
    let step = numeric::median_step(&masks::picked_stamps(frame.stamps(), excess.rows))
        .map_or(1.0, |step| step / hour);
    let hours = |samples: usize, step: f64| numeric::round(numeric::share_of(samples) * step, 2);
    let is_priced: Vec<bool> = priced
        .cool
        .iter()
        .zip(&priced.heat)
        .map(|(cool, heat)| *cool > 0.0 || *heat > 0.0)
        .collect();
    let flow = airflow(frame, &is_priced);
    let per_cfm = |rates: &[f64]| numeric::round(numeric::sum(rates) * step, 3);
    let in_all = |rates: &[f64]| {
        flow.as_ref().map(|flow| {
            let total: f64 = rates
                .iter()
                .zip(flow)
                .filter(|(rate, _)| **rate > 0.0)
                .map(|(rate, flow)| rate * flow)
                .sum();
            numeric::round(total * step / 1000.0, 3)
        })
    };
    let cool_basis = match (priced.n_cool, priced.cool_by_enthalpy) {
        (0, _) => Value::Null,
        (_, 0) => "sensible (no outdoor and return humidity trended)".into(),
        (all, some) if all == some => "enthalpy".into(),
        _ => "enthalpy (sensible where humidity is missing)".into(),
    };
    metrics
        .number(
            "oa_cost_observed_h",
            hours(
                excess.observed,
                Some(frame.step_hours())
                    .filter(|step| *step > 0.0)
                    .unwrap_or(1.0),
            ),
        )
        .rounded("oa_cost_interval_h", step, 4)
        .number("oa_cost_margin_pct", excess.margin)
        .number("oa_cost_excess_cool_btu_per_cfm", per_cfm(&priced.cool))
        .number("oa_cost_excess_heat_btu_per_cfm", per_cfm(&priced.heat))
        .number_or_null("oa_cost_excess_cool_kbtu", in_all(&priced.cool))
        .number_or_null("oa_cost_excess_heat_kbtu", in_all(&priced.heat))
        .number("oa_cost_cool_h", hours(priced.n_cool, step))
        .number("oa_cost_heat_h", hours(priced.n_heat, step))
        .number("oa_cost_economizing_h", hours(priced.n_economizing, step))
        .number("oa_cost_heat_unjudged_h", hours(priced.n_unjudged, step))
        .set("oa_cost_cool_basis", cool_basis)
        .set("oa_cost_heat_basis", heating.basis)
        .set(
            "oa_cost_airflow",
            flow.map_or(Value::Null, |_| "trended supply airflow".into()),
        );
}
