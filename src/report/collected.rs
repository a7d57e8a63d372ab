//! What capabilities say of a facility, as the page shows it.

use std::collections::BTreeMap;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::issue_charts;
use crate::camber::{
    CallerPolicy, CapabilityError, CapabilityResult, CapabilityService, FailureCode,
};

/// Issues and points of one call; more calls are made for the rest.
const ISSUES: usize = 50;
const ROWS: usize = 1000;

/// What a station's ord servlet reads as itself.
const ORD: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'/')
    .remove(b':');

/// Where the station shows a point.
#[derive(Debug, Clone)]
pub struct StationLinks(Url);

impl StationLinks {
    /// Links into the station at this address.
    pub fn new(station: Url) -> Self {
        Self(station)
    }

    /// The address of a point's own view.
    pub fn of(&self, ord: &str) -> String {
        let base = self.0.as_str().trim_end_matches('/');
        format!("{base}/ord/{}", utf8_percent_encode(ord, ORD))
    }
}

/// Everything that a report shows.
#[derive(Debug, Clone, Default)]
pub struct Collected {
    pub facility: String,
    /// The data of `rcx_report`, all pages of it.
    pub report: Map<String, Value>,
    /// Facts of issues and of the index, by id.
    pub facts: BTreeMap<String, Map<String, Value>>,
    /// The data of `sensor_trust` as reports see it.
    pub trust: Option<Value>,
    /// The answer of `mv_summary`, where the run configuration has meters.
    pub savings: Option<CapabilityResult>,
    /// Pictures by the key of their issue: SVG, and what it shows.
    pub charts: BTreeMap<String, (String, String)>,
    /// What each rule did, as `issue_charts` tells it.
    pub rules: Vec<Value>,
    /// What must be told, without repeats.
    pub notices: Vec<String>,
    pub links: Option<StationLinks>,
    /// When the report was made, for people.
    pub made_at: String,
}

impl Collected {
    /// Asks the capabilities. `pictures` answers `issue_charts`.
    ///
    /// # Errors
    /// The report cannot be made. What else fails is told in the report.
    pub async fn of(
        service: &CapabilityService,
        pictures: &CapabilityService,
        caller: &CallerPolicy,
        facility: &str,
        cancel: &CancellationToken,
    ) -> Result<Self, CapabilityError> {
        let mut collected = Self {
            facility: facility.to_owned(),
            ..Self::default()
        };
        loop {
            let offset = collected.rows("issues").len();
            let asked =
                json!({"facility_id": facility, "top_n": ISSUES, "offset": offset, "limit": ROWS});
            let page = service
                .call("rcx_report", asked, caller.clone(), cancel)
                .await?;
            let last = page
                .data
                .get("issues")
                .and_then(Value::as_array)
                .map_or(0, Vec::len);
            collected.add(page);
            if last < ISSUES {
                break;
            }
        }
        let asked = json!({"facility_id": facility});
        let answer = pictures
            .call(issue_charts::NAME, asked.clone(), caller.clone(), cancel)
            .await;
        match answer {
            Ok(answer) => collected.add_charts(&answer),
            Err(error) => collected.note(format!("There are no pictures: {error}")),
        }
        let asked_trust = json!({"facility_id": facility, "view": "report", "limit": ROWS});
        match service
            .call("sensor_trust", asked_trust, caller.clone(), cancel)
            .await
        {
            Ok(answer) => collected.trust = Some(Value::Object(answer.data)),
            Err(error) => collected.note(format!("Sensors were not judged: {error}")),
        }
        if service.registry().has("mv_summary") {
            match service
                .call("mv_summary", asked, caller.clone(), cancel)
                .await
            {
                Ok(answer) => collected.savings = Some(answer),
                // A run configuration without meters is no fault.
                Err(error) if error.code == FailureCode::NotFound => {}
                Err(error) if error.code == FailureCode::InvalidParams => {
                    tracing::debug!(%error, "no measurement and verification in the report");
                }
                Err(error) => collected.note(format!("Savings were not judged: {error}")),
            }
        }
        Ok(collected)
    }

    /// A list of the report.
    pub fn rows(&self, key: &str) -> &[Value] {
        self.report
            .get(key)
            .and_then(Value::as_array)
            .map_or(&[], Vec::as_slice)
    }

    /// A figure or group of figures of the report.
    pub fn field(&self, key: &str) -> &Value {
        self.report.get(key).unwrap_or(&Value::Null)
    }

    /// A text of the report.
    pub fn word(&self, key: &str) -> &str {
        self.report
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    fn note(&mut self, notice: String) {
        if !self.notices.contains(&notice) {
            self.notices.push(notice);
        }
    }

    /// Takes one page: lists grow, what is of the whole report stays.
    fn add(&mut self, page: CapabilityResult) {
        for (key, value) in page.data {
            match (self.report.get_mut(&key), value) {
                (Some(Value::Array(rows)), Value::Array(more)) if key != "period" => {
                    let new: Vec<Value> =
                        more.into_iter().filter(|row| !rows.contains(row)).collect();
                    rows.extend(new);
                }
                (Some(_), _) => {}
                (None, value) => {
                    self.report.insert(key, value);
                }
            }
        }
        for fact in page.facts {
            if let Some(id) = fact.get("id").and_then(Value::as_str) {
                self.facts.insert(id.to_owned(), fact);
            }
        }
        for banner in page.banners {
            // The whole report is here: pages need no notice.
            if !banner.contains("shows rows") && !banner.contains("on this page") {
                self.note(banner);
            }
        }
    }

    fn add_charts(&mut self, answer: &CapabilityResult) {
        let charts = answer.data.get("charts").and_then(Value::as_array);
        for chart in charts.into_iter().flatten() {
            let text = |key: &str| chart[key].as_str().unwrap_or_default().to_owned();
            self.charts
                .insert(text("key"), (text("svg"), text("caption")));
        }
        let rules = answer.data.get("rules").and_then(Value::as_array);
        self.rules = rules.cloned().unwrap_or_default();
    }
}
