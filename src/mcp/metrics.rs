//! Counters of a running bridge as Prometheus text.
//!
//! [`Metrics`] counts what passes the fronts; a [`MetricSource`] tells what others count: station, knowledge file.

mod exposition;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

pub use self::exposition::{Exposition, FAMILIES, MetricFamily, MetricKind, PREFIX};
use super::bridge::Bridge;
use crate::tools::ServerFacts;

/// Upper bounds of the buckets of call durations, in seconds; the last is the limit of a station tool.
const BUCKETS: [f64; 9] = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 9.0];

/// Something that measures for itself.
pub trait MetricSource: Send + Sync {
    /// Adds its samples.
    fn measure(&self, page: &mut Exposition);
}

/// How a call of a tool ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallOutcome {
    Ok,
    /// The tool reported a failure.
    Error,
    /// No tool ran.
    Refused,
}

impl CallOutcome {
    /// The word in labels and log lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Refused => "refused",
        }
    }
}

#[derive(Debug, Default)]
struct Durations {
    /// Calls up to each bound.
    buckets: [u64; BUCKETS.len()],
    count: u64,
    seconds: f64,
}

/// What a running bridge counts.
#[derive(Debug, Default)]
pub struct Metrics {
    calls: Mutex<BTreeMap<(String, CallOutcome), Durations>>,
    answers: Mutex<BTreeMap<u16, u64>>,
    refused_tokens: AtomicU64,
    reloads: AtomicU64,
    refused_reloads: AtomicU64,
}

impl Metrics {
    /// Counts a call; `tool` must be the name of a tool that exists, so that callers cannot make up labels.
    pub fn call(&self, tool: &str, outcome: CallOutcome, took: Duration) {
        let seconds = took.as_secs_f64();
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let durations = calls.entry((tool.to_owned(), outcome)).or_default();
        durations.count += 1;
        durations.seconds += seconds;
        for (bucket, bound) in durations.buckets.iter_mut().zip(BUCKETS) {
            *bucket += u64::from(seconds <= bound);
        }
    }

    /// Counts an answer by its HTTP status.
    pub fn answer(&self, status: u16) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        *answers.entry(status).or_default() += 1;
    }

    /// Counts a bearer that nobody has.
    pub fn refused_token(&self) {
        self.refused_tokens.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a reading of the changed configuration.
    pub fn reload(&self, applied: bool) {
        let counter = if applied {
            &self.reloads
        } else {
            &self.refused_reloads
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Everything as text.
    pub fn text(&self, bridge: &Bridge) -> String {
        let mut page = Exposition::default();
        let sessions = bridge.sessions();
        page.add("info", &[bridge.version()], 1.0);
        page.add("uptime_seconds", &[], bridge.uptime().as_secs_f64());
        page.add("tools", &[], bridge.tools.definitions().count() as f64);
        page.add("sessions", &["streamable-http"], sessions.streamable as f64);
        page.add("sessions", &["sse"], sessions.sse as f64);
        for (name, counter) in [
            ("refused_tokens_total", &self.refused_tokens),
            ("config_reloads_total", &self.reloads),
            ("config_reloads_refused_total", &self.refused_reloads),
        ] {
            page.add(name, &[], counter.load(Ordering::Relaxed) as f64);
        }
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        for (status, count) in answers.iter() {
            page.add("http_answers_total", &[&status.to_string()], *count as f64);
        }
        drop(answers);
        self.measure_calls(&mut page);
        for source in &bridge.metric_sources {
            source.measure(&mut page);
        }
        page.into_text()
    }

    fn measure_calls(&self, page: &mut Exposition) {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        for ((tool, outcome), durations) in calls.iter() {
            let labels = [tool.as_str(), outcome.name()];
            let count = durations.count as f64;
            page.add("tool_calls_total", &labels, count);
            let name = "tool_call_duration_seconds";
            for (bound, calls) in BUCKETS.iter().zip(durations.buckets) {
                let bound = [("le", bound.to_string())];
                page.add_part(name, "_bucket", &labels, &bound, calls as f64);
            }
            let all = [("le", "+Inf".to_owned())];
            page.add_part(name, "_bucket", &labels, &all, count);
            page.add_part(name, "_sum", &labels, &[], durations.seconds);
            page.add_part(name, "_count", &labels, &[], count);
        }
    }
}
