//! The report of issues over a facility's stored trends (RCx report §2).

use std::collections::BTreeMap;

use niagara_analytics::drift::{DriftOutcome, Trace};
use niagara_analytics::rcx::{Report, ReportInput, Words};
use niagara_analytics::run_config::DriftReference;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use serde_json::{Map, Value};

use super::{RuleRun, drift, refused};
use crate::camber::call::Call;
use crate::camber::error::CapabilityError;
use crate::camber::hygiene::harmless;
use crate::camber::result::counted;

/// A run of the rules, and the report of it.
pub struct RcxRun<'a> {
    pub run: RuleRun<'a>,
    pub report: Report,
    /// Residuals behind the findings of drift, by finding id.
    pub traces: BTreeMap<String, Vec<Trace>>,
}

impl<'a> RcxRun<'a> {
    /// Runs the rules of the configuration by the arguments `facility_id`, `equips`, `start` and `end`, and makes the report.
    ///
    /// # Errors
    /// As [`RuleRun::of`].
    pub fn of(call: &Call<'a>, arguments: &Map<String, Value>) -> Result<Self, CapabilityError> {
        let mut run = RuleRun::of(call, arguments)?;
        let drifts = drifts(call, &mut run)?;
        let config = &run.ground.config;
        if config.report.fetches_weather {
            run.ground.notices.push(
                "the outdoor reference of the run configuration would be fetched over the network, which this server never \
                 does: outdoor temperatures were not compared with it"
                    .to_owned(),
            );
        }
        let facility = run.ground.facility.as_str();
        let registered = call
            .policy
            .registry()
            .entry(facility)
            .and_then(|entry| entry.shown_name());
        let site = config
            .site
            .as_deref()
            .filter(|site| !site.trim().is_empty())
            .or(registered)
            .unwrap_or(facility)
            .to_owned();
        let topology = config.topology.as_ref().map(|declared| {
            declared
                .resolved(run.ground.points.classes.keys().map(String::as_str))
                .topology
        });
        let report = Report::of(&ReportInput {
            facility,
            site: &site,
            config,
            rules: &run.rules,
            frames: &run.frames,
            outcome: &run.outcome,
            comparisons: &run.comparisons,
            drift: &drifts.findings,
            topology: topology.as_ref(),
            from_store: true,
            words: &DataWords(call),
            sha1: &sha1,
            threads: call.workspace.threads,
            cancelled: &|| call.watch.is_over(),
        })
        .map_err(|_| call.watch.overdue())?;
        Ok(Self {
            run,
            report,
            traces: drifts.traces,
        })
    }
}

/// What the drift section of the configuration finds, of the families whose references are part of the run.
fn drifts(call: &Call<'_>, run: &mut RuleRun<'_>) -> Result<DriftOutcome, CapabilityError> {
    let is_written = match run.ground.config.raw("drift") {
        Some(Value::Object(fields)) => !fields.is_empty(),
        _ => false,
    };
    let Some(section) = run.ground.config.drift.clone().filter(|_| is_written) else {
        return Ok(DriftOutcome::default());
    };
    let mut entries = section
        .resolved(None, None)
        .map_err(|error| refused(&error))?;
    let all = entries.len();
    let frames = &run.frames;
    entries.retain(|entry| match &entry.reference {
        Some(DriftReference::Equipment { equip, .. }) => {
            frames.iter().any(|frame| frame.equip() == equip)
        }
        _ => true,
    });
    if entries.len() < all {
        run.ground.notices.push(format!(
            "{} of the drift section of the run configuration was not compared, since its reference is not among the \
             equipment asked for: that is no pass",
            counted(all - entries.len(), "family", "families")
        ));
    }
    if entries.is_empty() {
        return Ok(DriftOutcome::default());
    }
    if entries.iter().any(|entry| entry.reference.is_none()) {
        drift::note_frozen(&mut run.ground);
    }
    let run_id = section.run_id.unwrap_or_default();
    let outcome = drift::outcome(call, &run.ground, &run.frames, &entries, &run_id, None)?;
    drift::note_questions(&mut run.ground, &run.frames, &outcome);
    Ok(outcome)
}

/// SHA-1 in hex digits: it names the causes of issues, as the reference does, and secures nothing.
fn sha1(bytes: &[u8]) -> String {
    digest(&SHA1_FOR_LEGACY_USE_ONLY, bytes)
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Text from the data cannot pass for our own words.
struct DataWords<'a, 'c>(&'a Call<'c>);

impl Words for DataWords<'_, '_> {
    fn name(&self, name: &str) -> String {
        self.0.quote(name)
    }

    fn text(&self, text: &str) -> String {
        harmless(&text.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}
