//! The kind `changePoint` of `renderTrend`: days of a stored meter over outdoor temperature, with the model that fits the
//! baseline best (M&V §3 to §5).

use std::collections::{BTreeMap, BTreeSet};

use niagara_analytics::frame::Frame;
use niagara_analytics::mv::model::BaselineModel;
use niagara_analytics::mv::{Baseline, DailyFrame, DailyRule, ExtrapolationPolicy};
use niagara_analytics::run_config::{MvMeter, Period};
use serde_json::{Map, Value, json};

use super::capability::CapabilityAccess;
use super::drift_picture::finite;
use super::stored_trends::{no_store, refused};
use super::trend_answer::picture_json;
use super::trend_request::{own_facility, unknown_facility};
use super::{Arguments, CallContext, ToolError};
use crate::camber::stored_samples::{FoundSamples, WantedSamples};
use crate::knowledge::camber_roles::camber_role_named;
use crate::plot::{ChangePointChart, ModelCurve, Picture};
use crate::trends::store::wall_clock::{Window, iso, parse_bound};
use crate::trends::store::{EquipmentSeries, RoleSeries};

/// Role of the outdoor air temperature.
const OUTDOOR: &str = "oat";

/// Which meter over which weather, in which times.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ChangePointRequest {
    facility: String,
    title: String,
    meter: (String, String),
    /// None for what applies to the meter's equipment.
    weather: Option<(String, String)>,
    baseline: Window,
    reporting: Option<Window>,
    min_coverage: f64,
}

/// What an entry of a project says of a picture.
pub(super) struct Declared {
    role: String,
    baseline: Window,
    reporting: Option<Window>,
    min_coverage: f64,
}

/// The entry that the call names; none when it names none.
///
/// # Errors
/// Those of the capability `mv_summary`, and −32602 when there is no such entry, or one of bills.
pub(super) async fn declared(
    arguments: &Arguments,
    access: &CapabilityAccess,
    context: &CallContext,
) -> Result<Option<Declared>, ToolError> {
    let Some(place) = arguments.optional_integer("entry") else {
        return Ok(None);
    };
    let facility = own_facility(arguments.optional_string("facility"), access)
        .ok_or_else(|| unknown_facility("facility"))?;
    let found = access.mv_entries(context, &facility).await;
    let entries = found.ok_or_else(no_store)?.map_err(refused)?;
    let refuse = |problem: String| ToolError::invalid_params(problem).with("argument", "entry");
    let entry = usize::try_from(place)
        .ok()
        .and_then(|place| entries.get(place));
    let entry = entry.ok_or_else(|| {
        refuse(format!(
            "There is no entry {place}: the run configuration has {} in mv, counted from 0.",
            entries.len()
        ))
    })?;
    let MvMeter::Trended(meter) = &entry.meter else {
        return Err(refuse(format!(
            "{} is one of bills; only days of trended meters are drawn.",
            entry.place
        )));
    };
    Ok(Some(Declared {
        role: meter.role.clone(),
        baseline: entry.terms.period.map_or(Window::OPEN, Period::window),
        reporting: entry.terms.reporting.map(Period::window),
        min_coverage: entry.terms.min_coverage,
    }))
}

/// A fitted baseline with its picture.
pub(super) struct Fitted {
    pub chart: ChangePointChart,
    model: Value,
    days: [(usize, usize); 2],
}

impl ChangePointRequest {
    /// Reads the arguments.
    ///
    /// # Errors
    /// −32602 for a missing meter or window, or a text that is no time.
    pub fn of(
        arguments: &Arguments,
        access: &CapabilityAccess,
        declared: Option<&Declared>,
    ) -> Result<Self, ToolError> {
        let facility = own_facility(arguments.optional_string("facility"), access)
            .ok_or_else(|| unknown_facility("facility"))?;
        let member = |name: &str, key: &str| {
            let text = arguments.get(name).and_then(|point| point.get(key));
            let text = text.and_then(Value::as_str).unwrap_or_default();
            Some(text.to_owned()).filter(|text| !text.is_empty())
        };
        let role = member("meter", "role").or_else(|| Some(declared?.role.clone()));
        let (Some(equip), Some(role)) = (member("meter", "equip"), role) else {
            return Err(ToolError::invalid_params(
                "A change-point picture needs 'meter' with 'equip' and 'role' of a stored meter; the capability points \
                 lists them. With 'entry' the role may be left out.",
            )
            .with("argument", "meter"));
        };
        if role == OUTDOOR {
            return Err(ToolError::invalid_params(
                "The outdoor temperature is the horizontal axis and no meter; give the role of a meter.",
            )
            .with("argument", "meter"));
        }
        let weather = match (member("weather", "equip"), member("weather", "role")) {
            (None, None) => None,
            (of, role) => Some((
                of.unwrap_or_else(|| equip.clone()),
                role.unwrap_or_else(|| OUTDOOR.to_owned()),
            )),
        };
        let own = window(arguments, "baseline")?;
        let baseline = own.or_else(|| Some(declared?.baseline)).ok_or_else(|| {
            ToolError::invalid_params(
                "A change-point picture needs 'baseline', the start and end of the days to fit, or 'entry'.",
            )
            .with("argument", "baseline")
        })?;
        Ok(Self {
            title: match arguments.optional_string("title") {
                Some(title) if !title.trim().is_empty() => title.to_owned(),
                _ => format!("{equip} {role}"),
            },
            facility,
            meter: (equip, role),
            weather,
            baseline,
            reporting: window(arguments, "reporting")?.or_else(|| declared?.reporting),
            min_coverage: declared
                .map_or(DailyRule::DEFAULT.min_coverage, |entry| entry.min_coverage),
        })
    }

    /// Reads meter and weather.
    ///
    /// # Errors
    /// The store's, in the codes of the tools.
    pub async fn samples(
        &mut self,
        access: &CapabilityAccess,
        context: &CallContext,
    ) -> Result<FoundSamples, ToolError> {
        let weather = match &self.weather {
            Some(weather) => weather.clone(),
            None => {
                let found = access.outdoor_point(context, &self.facility, &self.meter.0);
                found.await.ok_or_else(no_store)?.map_err(refused)?
            }
        };
        self.weather = Some(weather.clone());
        let bounds = [Some(self.baseline), self.reporting];
        let bounds = || bounds.iter().flatten();
        let wanted = WantedSamples {
            facility: self.facility.clone(),
            points: BTreeSet::from([self.meter.clone(), weather]),
            window: Window {
                // An open end of either is an open end of both.
                start: bounds().map(|window| window.start).min().flatten(),
                end: bounds()
                    .map(|window| window.end)
                    .collect::<Option<Vec<i64>>>()
                    .and_then(|ends| ends.into_iter().max()),
            },
        };
        let found = access.samples(context, wanted).await;
        found.ok_or_else(no_store)?.map_err(refused)
    }

    /// Sums days, fits the baseline's, and lays out the picture.
    ///
    /// # Errors
    /// −32602 where there are no days, or too few for a model.
    pub fn fitted(&self, mut found: FoundSamples) -> Result<Fitted, ToolError> {
        let mut take = |point: &(String, String)| found.remove(point).unwrap_or_default();
        let meter: RoleSeries = take(&self.meter);
        let weather: RoleSeries = self.weather.as_ref().map(&mut take).unwrap_or_default();
        for (samples, (equip, role)) in [(&meter, &self.meter)]
            .into_iter()
            .chain(self.weather.as_ref().map(|point| (&weather, point)))
        {
            if samples.stamps.is_empty() {
                return Err(ToolError::invalid_params(format!(
                    "Nothing is stored of {role} of {equip} in these times; choose others, the capability coverage tells which."
                ))
                .with("argument", "baseline"));
            }
        }
        let together = EquipmentSeries {
            equip: self.meter.0.clone(),
            roles: BTreeMap::from([(self.meter.1.clone(), meter), (OUTDOOR.to_owned(), weather)]),
            ..EquipmentSeries::default()
        };
        let table = together.frame();
        let frame = Frame::whole(&table);
        let rule = DailyRule {
            min_coverage: self.min_coverage,
            ..DailyRule::DEFAULT
        };
        let days = |window: Window| {
            DailyFrame::of(&frame, &self.meter.1, window, rule).map_err(|error| {
                let text = super::station_access::sentence(&error);
                ToolError::invalid_params(text).with("argument", "meter")
            })
        };
        let baseline = days(self.baseline)?;
        let reporting = self.reporting.map(days).transpose()?.unwrap_or_default();
        let fit = Baseline::of(&baseline, &ExtrapolationPolicy::default());
        let Some(fit) = fit else {
            return Err(ToolError::invalid_params(format!(
                "The baseline has {} whole days, too few for a model; choose a longer time.",
                baseline.len()
            ))
            .with("argument", "baseline"));
        };
        let every = || {
            baseline
                .temperature
                .iter()
                .chain(&reporting.temperature)
                .copied()
        };
        let (low, high) = every().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), one| {
            (low.min(one), high.max(one))
        });
        let curve = match &fit.model {
            BaselineModel::ChangePoint(model) => Some(ModelCurve::of(model, low, high)),
            BaselineModel::DegreeDays(_) => None,
        };
        let dots = |days: &DailyFrame| -> Vec<(f64, f64)> {
            let pairs = days.temperature.iter().copied();
            pairs.zip(days.energy.iter().copied()).collect()
        };
        Ok(Fitted {
            chart: ChangePointChart {
                title: self.title.clone(),
                temperature: "outdoor temperature, degF".to_owned(),
                energy: energy_unit(&self.meter.1),
                baseline: dots(&baseline),
                reporting: dots(&reporting),
                model: curve,
            },
            model: model_json(&fit),
            days: [
                (baseline.len(), baseline.dropped),
                (reporting.len(), reporting.dropped),
            ],
        })
    }

    /// What the picture does not show by itself.
    fn notes(&self, reported: usize) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some((equip, role)) = self
            .weather
            .as_ref()
            .filter(|(equip, _)| *equip != self.meter.0)
        {
            notes.push(format!("The outdoor temperature is {role} of {equip}."));
        }
        if self.reporting.is_some() && reported == 0 {
            notes.push("No day of the reporting period has data of meter and weather.".to_owned());
        }
        notes
    }

    /// What is told beside the picture.
    pub fn answer(&self, fitted: &Fitted, picture: &Picture) -> Map<String, Value> {
        let [(days, dropped), (reported, reported_dropped)] = fitted.days;
        let dots = days + reported;
        let mut told = picture_json("changePoint", picture, (dots, dots));
        let bound = |stamp: Option<i64>| stamp.map(iso).unwrap_or_default();
        told.extend([
            ("from".to_owned(), json!(bound(self.baseline.start))),
            (
                "to".to_owned(),
                json!(bound(self.reporting.unwrap_or(self.baseline).end)),
            ),
            ("timeAxis".to_owned(), json!("outdoor temperature, degF")),
        ]);
        let mut row = json!({
            "facility": self.facility,
            "equip": self.meter.0,
            "role": self.meter.1,
            "energy": fitted.chart.energy,
            "baselineDays": days,
            "baselineDaysDropped": dropped,
            "model": fitted.model,
        });
        if self.reporting.is_some() {
            row["reportingDays"] = json!(reported);
            row["reportingDaysDropped"] = json!(reported_dropped);
        }
        told.insert("changePoint".to_owned(), row);
        told.insert("notes".to_owned(), json!(self.notes(reported)));
        told
    }
}

fn model_json(fit: &Baseline) -> Value {
    let statistics = &fit.statistics;
    let coefficients: Vec<Option<f64>> = fit
        .model
        .coefficients()
        .iter()
        .map(|one| finite(*one))
        .collect();
    json!({
        "kind": fit.model.label(),
        "coefficients": coefficients,
        "changePoints": fit.model.change_points(),
        "r2": finite(statistics.r2),
        "cvRmse": finite(statistics.cv_rmse),
        "nmbe": finite(statistics.nmbe),
        "accepted": fit.accepted(),
    })
}

/// What an hour of the role's unit is.
fn energy_unit(role: &str) -> String {
    let unit = camber_role_named(role).map_or("", |known| known.unit.as_str());
    match unit.strip_suffix("/h") {
        Some(amount) => format!("{amount} per day"),
        None if unit == "kW" => "kWh per day".to_owned(),
        None if unit.is_empty() => "per day".to_owned(),
        None => format!("{unit} hours per day"),
    }
}

/// Start and end of a window of the wall clock; none when it is not given.
fn window(arguments: &Arguments, name: &str) -> Result<Option<Window>, ToolError> {
    let Some(ends) = arguments.get(name).and_then(Value::as_array) else {
        return Ok(None);
    };
    let bound = |place: usize| {
        match ends.get(place).and_then(Value::as_str) {
        None => Ok(None),
        Some(text) => parse_bound(text.trim()).map(Some).ok_or_else(|| {
            ToolError::invalid_params(format!(
                "'{name}' has an end that is no time; write it as 2024-03-01 or 2024-03-01T06:30:00, in the site's wall \
                 clock."
            ))
            .with("argument", name)
        }),
    }
    };
    let window = Window {
        start: bound(0)?,
        end: bound(1)?,
    };
    match (window.start, window.end) {
        (Some(start), Some(end)) if end <= start => Err(ToolError::invalid_params(format!(
            "'{name}' ends at or before its start; exchange the two."
        ))
        .with("argument", name)),
        _ => Ok(Some(window)),
    }
}
