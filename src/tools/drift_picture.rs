//! The kind `drift` of `renderTrend`: the residuals behind a finding of the capability `drift`, with its alarm.

use serde_json::{Map, Value, json};

use super::capability::CapabilityAccess;
use super::stored_trends::{no_store, refused, zone};
use super::trend_answer::{clock_text, picture_json};
use super::trend_request::own_facility;
use super::{Arguments, CallContext, ToolError};
use crate::plot::{Picture, ResidualChart};

/// Findings that an error names.
const NAMED: usize = 20;

/// Which finding, and of what run.
pub(super) struct DriftRequest {
    finding: String,
    facility: String,
    /// Arguments of the capability.
    run: Value,
}

impl DriftRequest {
    /// Reads the arguments.
    ///
    /// # Errors
    /// −32602 without a finding, or for one that names no equipment.
    pub fn of(arguments: &Arguments, access: &CapabilityAccess) -> Result<Self, ToolError> {
        let finding = arguments.string("finding")?;
        let equip = finding
            .rsplit_once('@')
            .map(|(_, equip)| without_number(equip));
        let Some(equip) = equip.filter(|equip| !equip.is_empty()) else {
            return Err(ToolError::invalid_params(
                "A finding of drift is written family:detector@equipment, as the capability drift answers it.",
            )
            .with("argument", "finding"));
        };
        let facility = own_facility(arguments.optional_string("facility"), access)
            .ok_or_else(|| super::trend_request::unknown_facility("facility"))?;
        let mut run = json!({"facility_id": facility, "equips": [equip]});
        for name in ["baseline", "current"] {
            if let Some(window) = arguments.get(name) {
                run[name] = window.clone();
            }
        }
        Ok(Self {
            finding: finding.to_owned(),
            facility,
            run,
        })
    }

    /// Runs drift over the equipment and takes the residuals of the finding.
    ///
    /// # Errors
    /// Those of the capability, and −32602 when the finding has no residuals.
    pub async fn chart(
        &self,
        access: &CapabilityAccess,
        context: &CallContext,
    ) -> Result<ResidualChart, ToolError> {
        let found = access.drift_traces(context, self.run.clone()).await;
        let mut found = found.ok_or_else(no_store)?.map_err(refused)?;
        let traces = found.remove(&self.finding).unwrap_or_default();
        if traces.iter().all(|trace| trace.stamps.is_empty()) {
            let known: Vec<String> = found.into_keys().take(NAMED).collect();
            let message = match known.is_empty() {
                true => "This run of drift scored nothing of the equipment; the capability drift says why.".to_owned(),
                false => format!("No such finding has residuals; those that have: {}.", known.join(", ")),
            };
            return Err(ToolError::invalid_params(message)
                .with("argument", "finding")
                .with("available", known));
        };
        let zone = zone(access, context, &self.facility).await?;
        let name = zone.map(|zone| zone.name());
        ResidualChart::of_traces(&self.finding, name, traces)
            .ok_or_else(|| ToolError::invalid_params("The finding has no residuals."))
    }

    /// What is told beside the picture.
    pub fn answer(&self, chart: &ResidualChart, picture: &Picture) -> Map<String, Value> {
        let samples: usize = chart.traces.iter().map(|trace| trace.times.len()).sum();
        let mut told = picture_json("drift", picture, (samples, samples));
        told.extend([
            (
                "from".to_owned(),
                json!(clock_text(&chart.axis, chart.axis.from)),
            ),
            (
                "to".to_owned(),
                json!(clock_text(&chart.axis, chart.axis.to)),
            ),
            ("timeAxis".to_owned(), json!(chart.axis.zone_name)),
            ("panels".to_owned(), json!(chart.traces.len())),
        ]);
        let traces = chart.traces.iter().map(|trace| {
            let mut row = json!({
                "name": trace.name,
                "units": trace.units,
                "samples": trace.times.len(),
                "drift": finite(trace.drift),
                "sigma": finite(trace.sigma),
            });
            if let Some(at) = trace.alarm_at {
                row["alarmAt"] = json!(clock_text(&chart.axis, at));
            }
            row
        });
        let traces: Vec<Value> = traces.collect();
        told.insert(
            "drift".to_owned(),
            json!({"facility": self.facility, "finding": self.finding, "traces": traces}),
        );
        told
    }
}

/// The equipment without the number that repeated findings have.
fn without_number(equip: &str) -> &str {
    match equip.rsplit_once('#') {
        Some((name, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => equip,
    }
}

pub(super) fn finite(number: f64) -> Option<f64> {
    number.is_finite().then_some(number)
}
