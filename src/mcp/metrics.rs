//! Counters of a running bridge as Prometheus text (exposition format 0.0.4).

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::bridge::Bridge;
use crate::tools::ServerFacts;

/// Upper bounds of the buckets of call durations, in seconds; the last is the limit of a station tool.
const BUCKETS: [f64; 9] = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 9.0];

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
    buckets: [u64; BUCKETS.len()],
    count: u64,
    seconds: f64,
}

/// What a running bridge counts.
#[derive(Debug, Default)]
pub struct Metrics {
    calls: Mutex<BTreeMap<(String, CallOutcome), u64>>,
    durations: Mutex<Durations>,
    answers: Mutex<BTreeMap<u16, u64>>,
    refused_tokens: AtomicU64,
    reloads: AtomicU64,
    refused_reloads: AtomicU64,
}

impl Metrics {
    /// Counts a call; `tool` must be the name of a tool that exists, so that callers cannot make up labels.
    pub fn call(&self, tool: &str, outcome: CallOutcome, took: Duration) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        *calls.entry((tool.to_owned(), outcome)).or_default() += 1;
        drop(calls);
        let seconds = took.as_secs_f64();
        let mut durations = self
            .durations
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
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
        let mut text = String::new();
        let sessions = bridge.sessions();
        let tools = bridge.tools.definitions().count();
        let gauges: [(&str, &str, &str, f64); 5] = [
            (
                "uptime_seconds",
                "gauge",
                "Time since start.",
                bridge.uptime().as_secs_f64(),
            ),
            ("tools", "gauge", "Tools offered at present.", tools as f64),
            (
                "refused_tokens_total",
                "counter",
                "Requests with a bearer that nobody has.",
                self.refused_tokens.load(Ordering::Relaxed) as f64,
            ),
            (
                "config_reloads_total",
                "counter",
                "Changes of the configuration that were applied.",
                self.reloads.load(Ordering::Relaxed) as f64,
            ),
            (
                "config_reloads_refused_total",
                "counter",
                "Changes of the configuration that were wrong.",
                self.refused_reloads.load(Ordering::Relaxed) as f64,
            ),
        ];
        for (name, kind, about, value) in gauges {
            head(&mut text, name, kind, about);
            // Writing to a String cannot fail, here and below.
            let _ = writeln!(text, "niagara_bridge_{name} {value}");
        }
        head(&mut text, "info", "gauge", "The version that runs.");
        let _ = writeln!(
            text,
            "niagara_bridge_info{{version=\"{}\"}} 1",
            bridge.version()
        );
        head(&mut text, "sessions", "gauge", "Open sessions.");
        for (transport, count) in [
            ("streamable-http", sessions.streamable),
            ("sse", sessions.sse),
        ] {
            let _ = writeln!(
                text,
                "niagara_bridge_sessions{{transport=\"{transport}\"}} {count}"
            );
        }
        self.write_answers(&mut text);
        self.write_calls(&mut text);
        text
    }

    fn write_answers(&self, text: &mut String) {
        head(
            text,
            "http_answers_total",
            "counter",
            "Answers by HTTP status.",
        );
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        for (status, count) in answers.iter() {
            let _ = writeln!(
                text,
                "niagara_bridge_http_answers_total{{status=\"{status}\"}} {count}"
            );
        }
    }

    fn write_calls(&self, text: &mut String) {
        head(
            text,
            "tool_calls_total",
            "counter",
            "Calls of tools by outcome.",
        );
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        for ((tool, outcome), count) in calls.iter() {
            let _ = writeln!(
                text,
                "niagara_bridge_tool_calls_total{{tool=\"{tool}\",outcome=\"{}\"}} {count}",
                outcome.name()
            );
        }
        drop(calls);
        let name = "tool_call_duration_seconds";
        head(text, name, "histogram", "How long calls of tools took.");
        let durations = self
            .durations
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for (bound, count) in BUCKETS.iter().zip(durations.buckets) {
            let _ = writeln!(
                text,
                "niagara_bridge_{name}_bucket{{le=\"{bound}\"}} {count}"
            );
        }
        let _ = writeln!(
            text,
            "niagara_bridge_{name}_bucket{{le=\"+Inf\"}} {}",
            durations.count
        );
        let _ = writeln!(text, "niagara_bridge_{name}_sum {}", durations.seconds);
        let _ = writeln!(text, "niagara_bridge_{name}_count {}", durations.count);
    }
}

fn head(text: &mut String, name: &str, kind: &str, about: &str) {
    let _ = writeln!(text, "# HELP niagara_bridge_{name} {about}");
    let _ = writeln!(text, "# TYPE niagara_bridge_{name} {kind}");
}
