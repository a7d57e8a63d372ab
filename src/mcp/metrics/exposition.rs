//! Prometheus text (exposition format 0.0.4): families, samples, escaping.

use std::fmt::Write;

/// What a family measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

impl MetricKind {
    /// The word in `# TYPE` lines.
    pub fn word(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// A metric with its meaning; the README lists all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricFamily {
    /// Behind the prefix `niagara_bridge_`.
    pub name: &'static str,
    pub kind: MetricKind,
    /// Names of its labels.
    pub labels: &'static [&'static str],
    pub about: &'static str,
}

/// In front of every name.
pub const PREFIX: &str = "niagara_bridge_";

const fn family(
    name: &'static str,
    kind: MetricKind,
    labels: &'static [&'static str],
    about: &'static str,
) -> MetricFamily {
    MetricFamily {
        name,
        kind,
        labels,
        about,
    }
}

/// Every metric, in the order of the text.
pub const FAMILIES: [MetricFamily; 26] = [
    family(
        "info",
        MetricKind::Gauge,
        &["version"],
        "1; the version that runs.",
    ),
    family(
        "uptime_seconds",
        MetricKind::Gauge,
        &[],
        "Time since start.",
    ),
    family("tools", MetricKind::Gauge, &[], "Tools offered at present."),
    family(
        "sessions",
        MetricKind::Gauge,
        &["transport"],
        "Open MCP sessions.",
    ),
    family(
        "http_answers_total",
        MetricKind::Counter,
        &["status"],
        "Answers by HTTP status.",
    ),
    family(
        "refused_tokens_total",
        MetricKind::Counter,
        &[],
        "Requests with a bearer that nobody has.",
    ),
    family(
        "config_reloads_total",
        MetricKind::Counter,
        &[],
        "Changes of the configuration that were applied.",
    ),
    family(
        "config_reloads_refused_total",
        MetricKind::Counter,
        &[],
        "Changes of the configuration that were wrong.",
    ),
    family(
        "tool_calls_total",
        MetricKind::Counter,
        &["tool", "outcome"],
        "Calls of tools by outcome: ok, error (the tool reported a failure), refused (no tool ran).",
    ),
    family(
        "tool_call_duration_seconds",
        MetricKind::Histogram,
        &["tool", "outcome"],
        "How long calls of tools took.",
    ),
    family(
        "station_requests_total",
        MetricKind::Counter,
        &["interface", "outcome"],
        "Requests to the station by interface (ord, box, obix, login, other) and what came of them.",
    ),
    family(
        "station_requests_in_flight",
        MetricKind::Gauge,
        &[],
        "Requests to the station under way.",
    ),
    family(
        "station_requests_waiting",
        MetricKind::Gauge,
        &[],
        "Requests that wait in the bridge for their turn (limits.inFlight, limits.requestsPerSecond).",
    ),
    family(
        "station_logins_total",
        MetricKind::Counter,
        &["outcome"],
        "Logins: ok, failed, latched (not tried so soon after a failed one).",
    ),
    family(
        "station_logged_in",
        MetricKind::Gauge,
        &[],
        "Station sessions that are logged in.",
    ),
    family(
        "station_watched_points",
        MetricKind::Gauge,
        &[],
        "Points whose changes are followed.",
    ),
    family(
        "writes_total",
        MetricKind::Counter,
        &["tool", "outcome"],
        "Writes to the station by their ending: done, refused, failed, inDoubt.",
    ),
    family(
        "writes_recorded",
        MetricKind::Gauge,
        &[],
        "1 while the audit can be written; while it cannot, writes are refused.",
    ),
    family(
        "knowledge_file_exists",
        MetricKind::Gauge,
        &[],
        "1 when the knowledge file exists.",
    ),
    family(
        "knowledge_file_readable",
        MetricKind::Gauge,
        &[],
        "1 when it can be read and understood; without a file 1 too.",
    ),
    family("knowledge_file_bytes", MetricKind::Gauge, &[], "Its size."),
    family(
        "knowledge_file_modified_timestamp_seconds",
        MetricKind::Gauge,
        &[],
        "When it was last changed, in seconds since 1970; 0 without a file.",
    ),
    family(
        "knowledge_spaces",
        MetricKind::Gauge,
        &[],
        "Spaces of the model.",
    ),
    family(
        "knowledge_equipment",
        MetricKind::Gauge,
        &[],
        "Equipment of the model.",
    ),
    family(
        "knowledge_points",
        MetricKind::Gauge,
        &[],
        "Points of the model, those of equipment and standalone ones.",
    ),
    family(
        "knowledge_edits_logged",
        MetricKind::Gauge,
        &[],
        "0 when the last edit could not be written to the knowledge's audit log.",
    ),
];

/// One sample: labels in the order of the family's label names, and a value.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Behind the family's name: empty, or `_bucket`, `_sum`, `_count` of a histogram.
    pub suffix: &'static str,
    pub labels: Vec<(&'static str, String)>,
    pub value: f64,
}

/// Text under construction.
#[derive(Debug, Default)]
pub struct Exposition {
    /// By place in [`FAMILIES`]: the order of the text is that of the table, whoever measures.
    samples: std::collections::BTreeMap<usize, Vec<Sample>>,
}

impl Exposition {
    /// Adds a sample; a name that is not in the table is a mistake of ours and is left out with a line in the log.
    pub fn add(&mut self, name: &'static str, values: &[&str], value: f64) {
        self.add_part(name, "", values, &[], value);
    }

    /// Adds a part of a histogram with further labels, such as `le`.
    pub fn add_part(
        &mut self,
        name: &'static str,
        suffix: &'static str,
        values: &[&str],
        more: &[(&'static str, String)],
        value: f64,
    ) {
        let Some((place, family)) = FAMILIES
            .iter()
            .enumerate()
            .find(|(_, family)| family.name == name)
        else {
            tracing::error!(name, "a metric has no row in the table");
            return;
        };
        let labels = family
            .labels
            .iter()
            .copied()
            .zip(values.iter().map(|value| (*value).to_owned()))
            .chain(more.iter().cloned())
            .collect();
        self.samples.entry(place).or_default().push(Sample {
            suffix,
            labels,
            value,
        });
    }

    /// The text. Families of which nothing was measured are named without samples.
    pub fn into_text(self) -> String {
        let mut text = String::new();
        for (place, family) in FAMILIES.iter().enumerate() {
            let name = format!("{PREFIX}{}", family.name);
            // Writing to a String cannot fail, here and below.
            let _ = writeln!(text, "# HELP {name} {}", escaped_help(family.about));
            let _ = writeln!(text, "# TYPE {name} {}", family.kind.word());
            for sample in self.samples.get(&place).into_iter().flatten() {
                let _ = writeln!(
                    text,
                    "{name}{}{} {}",
                    sample.suffix,
                    labels_text(&sample.labels),
                    number(sample.value)
                );
            }
        }
        text
    }
}

fn labels_text(labels: &[(&'static str, String)]) -> String {
    if labels.is_empty() {
        return String::new();
    }
    let pairs: Vec<String> = labels
        .iter()
        .map(|(name, value)| format!("{name}=\"{}\"", escaped_label(value)))
        .collect();
    format!("{{{}}}", pairs.join(","))
}

fn escaped_help(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n")
}

fn escaped_label(text: &str) -> String {
    escaped_help(text).replace('"', "\\\"")
}

fn number(value: f64) -> String {
    if value == f64::INFINITY {
        "+Inf".to_owned()
    } else if value == f64::NEG_INFINITY {
        "-Inf".to_owned()
    } else {
        value.to_string()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_follow_the_conventions_and_are_distinct() {
        let names: BTreeSet<&str> = FAMILIES.iter().map(|family| family.name).collect();
        assert_eq!(names.len(), FAMILIES.len());
        for family in FAMILIES {
            let is_total = family.name.ends_with("_total");
            assert_eq!(
                is_total,
                family.kind == MetricKind::Counter,
                "{}",
                family.name
            );
            let plain = |name: &str| {
                name.chars()
                    .all(|sign| sign.is_ascii_lowercase() || sign == '_')
            };
            assert!(plain(family.name) && family.labels.iter().all(|label| plain(label)));
            assert!(family.about.ends_with('.'), "{}", family.name);
        }
    }

    #[test]
    fn labels_cannot_break_out_of_their_quotes() {
        let mut page = Exposition::default();
        page.add("info", &["1\"\\\n} 7"], 1.0);
        page.add("no_such_metric", &[], 1.0);
        let text = page.into_text();
        assert!(text.contains("niagara_bridge_info{version=\"1\\\"\\\\\\n} 7\"} 1\n"));
        assert!(!text.contains("no_such"));
        for line in text.lines() {
            assert!(line.starts_with("# ") || line.starts_with(PREFIX), "{line}");
        }
    }

    #[test]
    fn numbers_are_written_as_scrapers_read_them() {
        for (value, text) in [
            (0.0, "0"),
            (2.5, "2.5"),
            (f64::INFINITY, "+Inf"),
            (f64::NEG_INFINITY, "-Inf"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(number(value), text);
        }
    }
}
