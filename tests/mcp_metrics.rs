//! Counters for monitoring, over real HTTP: what they count, and that scrapers can read every line.

mod support;
#[path = "tools/support.rs"]
mod tool_support;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use mock_station::model::accounts::{Account, BRIDGE};
use niagara_bridge::cli::metric_sources::{KnowledgeMetrics, StationMetrics, WriteMetrics};
use niagara_bridge::mcp::bridge::Bridge;
use niagara_bridge::mcp::metrics::{FAMILIES, PREFIX};
use niagara_bridge::prompts::PromptRegistry;
use niagara_bridge::resources::ResourceRegistry;
use niagara_bridge::tools::{CallContext, Registry, writing_tools};
use reqwest::StatusCode;
use serde_json::json;
use support::{Served, TOKEN, json_body, request};
use tool_support::Bench;

/// A sample's name and its sorted labels.
type Series = (String, Vec<(String, String)>);

/// Samples by name and sorted labels, read as strictly as the format is written down.
#[derive(Debug, Default)]
struct Scraped {
    kinds: BTreeMap<String, String>,
    samples: BTreeMap<Series, f64>,
}

impl Scraped {
    fn read(text: &str) -> Self {
        assert!(text.ends_with('\n'), "the last line ends too");
        let mut scraped = Self::default();
        let (mut helped, mut current) = (None, String::new());
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, about) = rest.split_once(' ').expect("a name and a text");
                assert!(!about.is_empty() && is_name(name), "{line}");
                helped = Some(name.to_owned());
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').expect("a name and a type");
                assert_eq!(helped.take().as_deref(), Some(name), "HELP comes first");
                assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
                let before = scraped.kinds.insert(name.to_owned(), kind.to_owned());
                assert_eq!(before, None, "{name} has two groups");
                current = name.to_owned();
            } else {
                scraped.take(line, &current);
            }
        }
        scraped.check_histograms();
        scraped
    }

    fn take(&mut self, line: &str, family: &str) {
        let (name, labels, value) = sample(line);
        let kind = self.kinds.get(family).expect("a TYPE before the samples");
        let suffixes: &[&str] = match kind.as_str() {
            "histogram" => &["_bucket", "_sum", "_count"],
            _ => &[""],
        };
        let suffix = name.strip_prefix(family).expect(line);
        assert!(suffixes.contains(&suffix), "{line} in {family}");
        if kind == "counter" || suffix == "_count" || suffix == "_bucket" {
            assert!(value >= 0.0 && value.fract() == 0.0, "{line}");
        }
        let before = self.samples.insert((name, labels), value);
        assert_eq!(before, None, "twice: {line}");
    }

    /// Buckets grow with their bounds and end with the count of all.
    fn check_histograms(&self) {
        let mut buckets: BTreeMap<Series, Vec<(f64, f64)>> = BTreeMap::new();
        for ((name, labels), value) in &self.samples {
            let Some(name) = name.strip_suffix("_bucket") else {
                continue;
            };
            let (bound, rest): (Vec<_>, Vec<_>) =
                labels.iter().cloned().partition(|(label, _)| label == "le");
            let bound = match bound[0].1.as_str() {
                "+Inf" => f64::INFINITY,
                text => text.parse().expect("a bound"),
            };
            let series = buckets.entry((name.to_owned(), rest)).or_default();
            series.push((bound, *value));
        }
        for ((name, labels), mut series) in buckets {
            series.sort_by(|a, b| a.0.total_cmp(&b.0));
            assert!(series.windows(2).all(|pair| pair[0].1 <= pair[1].1));
            let (last, all) = series.last().expect("a bucket");
            assert_eq!(*last, f64::INFINITY);
            let count = self.samples[&(format!("{name}_count"), labels.clone())];
            assert_eq!(count, *all);
            assert!(self.samples.contains_key(&(format!("{name}_sum"), labels)));
        }
    }

    fn value(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let mut labels: Vec<(String, String)> = labels
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        labels.sort();
        let key = (format!("{PREFIX}{name}"), labels);
        *self
            .samples
            .get(&key)
            .unwrap_or_else(|| panic!("no {key:?} in {:#?}", self.samples))
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name
            .chars()
            .all(|sign| sign.is_ascii_alphanumeric() || matches!(sign, '_' | ':'))
}

/// Name, sorted labels and value of a line.
fn sample(line: &str) -> (String, Vec<(String, String)>, f64) {
    let end = line.find(['{', ' ']).expect(line);
    let (name, mut rest) = line.split_at(end);
    assert!(is_name(name), "{line}");
    let mut labels = Vec::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        while !rest.starts_with('}') {
            let (label, quoted) = rest.split_once("=\"").expect(line);
            assert!(is_name(label) && !label.contains(':'), "{line}");
            let (value, after) = quoted_value(quoted, line);
            labels.push((label.to_owned(), value));
            rest = after.strip_prefix(',').unwrap_or(after);
        }
        rest = &rest[1..];
    }
    let value = rest.strip_prefix(' ').expect(line);
    assert!(!value.contains(' '), "no time stamps: {line}");
    labels.sort();
    (name.to_owned(), labels, value.parse().expect("a number"))
}

fn quoted_value<'a>(text: &'a str, line: &str) -> (String, &'a str) {
    let mut value = String::new();
    let mut signs = text.char_indices();
    while let Some((at, sign)) = signs.next() {
        match sign {
            '"' => return (value, &text[at + 1..]),
            '\\' => match signs.next().expect(line).1 {
                'n' => value.push('\n'),
                escaped @ ('"' | '\\') => value.push(escaped),
                other => panic!("\\{other} in {line}"),
            },
            plain => value.push(plain),
        }
    }
    panic!("no end of the quotes in {line}");
}

#[tokio::test]
async fn metrics_count_what_happened_for_those_who_have_a_token() {
    let served = Served::start().await;
    let mut client = served.client();
    client.initialize().await;
    client.call("echo", json!({ "msg": "x" })).await;
    client.call("echo", json!({ "msg": 4 })).await;
    client.call("made-up\"name", json!({})).await;
    let mut guesser = client.clone();
    guesser.token = "not-the-token".into();
    let refused = guesser.post(request("ping", json!({}))).await;
    assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);

    let address = served.server.endpoint().replace("/mcp", "/metrics");
    let answer = client.headers(client.http.get(&address)).send().await;
    let answer = answer.expect("answer");
    assert_eq!(answer.status(), StatusCode::OK);
    assert_eq!(
        answer.headers()["content-type"],
        "text/plain; version=0.0.4; charset=utf-8"
    );
    let text = answer.text().await.expect("body");
    let scraped = Scraped::read(&text);
    let calls =
        |tool, outcome| scraped.value("tool_calls_total", &[("tool", tool), ("outcome", outcome)]);
    assert_eq!(calls("echo", "ok"), 1.0);
    assert_eq!(calls("echo", "refused"), 1.0);
    assert_eq!(calls("unknown", "refused"), 1.0);
    let echoes = [("tool", "echo"), ("outcome", "ok")];
    assert_eq!(
        scraped.value("tool_call_duration_seconds_count", &echoes),
        1.0
    );
    assert!(scraped.value("tool_call_duration_seconds_sum", &echoes) < 9.0);
    for (name, labels, value) in [
        ("sessions", &[("transport", "streamable-http")][..], 1.0),
        ("http_answers_total", &[("status", "401")], 1.0),
        ("refused_tokens_total", &[], 1.0),
        ("tools", &[], 4.0),
    ] {
        assert_eq!(scraped.value(name, labels), value, "{name}");
    }
    assert!(!text.contains("made-up") && !text.contains(TOKEN));
    let stranger = client.http.get(&address).send().await.expect("answer");
    assert_eq!(stranger.status(), StatusCode::UNAUTHORIZED);
    let health = served.server.endpoint().replace("/mcp", "/health");
    let health = client.http.get(&health).send().await.expect("answer");
    assert_eq!(json_body(health).await["sessionCount"], 1);
}

/// What a bridge over this station and knowledge file shows.
fn scrape(bench: &Bench) -> (Scraped, String) {
    let mut bridge = Bridge::new(
        Registry::builder().build().expect("no tools"),
        ResourceRegistry::default(),
        PromptRegistry::default(),
    );
    bridge.metric_sources = vec![
        Box::new(StationMetrics(bench.facade.clone())),
        Box::new(KnowledgeMetrics(bench.knowledge.clone())),
        Box::new(WriteMetrics(bench.gate.clone())),
    ];
    let bridge = Arc::new(bridge);
    let text = bridge.metrics.text(&bridge);
    (Scraped::read(&text), text)
}

const POINT: &str = "station:|slot:/Drivers/BacnetNetwork/AHU_1/points/SupplyTemp";

#[tokio::test]
async fn requests_and_logins_of_the_station_are_counted_as_the_station_saw_them() {
    let bench = Bench::new().await;
    bench.answer("readPoint", json!({"ord": POINT})).await;
    bench.answer("getActiveAlarms", json!({})).await;
    let (scraped, _) = scrape(&bench);
    let seen = |start: &str| {
        let requests = bench.mock.requests();
        requests
            .iter()
            .filter(|request| request.path().starts_with(start))
            .count() as f64
    };
    let told = |interface: &str, outcome: &str| {
        scraped.value(
            "station_requests_total",
            &[("interface", interface), ("outcome", outcome)],
        )
    };
    assert_eq!(told("box", "ok"), seen("/box"));
    assert_eq!(told("ord", "ok"), seen("/ord"));
    assert!(told("login", "ok") >= 2.0);
    assert_eq!(
        scraped.value("station_logins_total", &[("outcome", "ok")]),
        1.0
    );
    for name in ["station_requests_in_flight", "station_requests_waiting"] {
        assert_eq!(scraped.value(name, &[]), 0.0, "{name}");
    }
    assert_eq!(scraped.value("station_logged_in", &[]), 1.0);

    bench
        .mock
        .switches()
        .change(|switches| switches.faults.status = Some(503));
    bench.call("readPoint", json!({"ord": POINT})).await;
    bench
        .mock
        .switches()
        .change(|switches| switches.faults.delay = Some(Duration::from_secs(600)));
    bench
        .call_within(
            Duration::from_millis(60),
            "readPoint",
            json!({"ord": POINT}),
        )
        .await;
    let (scraped, _) = scrape(&bench);
    let told = |outcome: &str| {
        scraped.value(
            "station_requests_total",
            &[("interface", "box"), ("outcome", outcome)],
        )
    };
    assert_eq!((told("busy"), told("timeout")), (1.0, 1.0));
    assert_eq!(scraped.value("station_requests_in_flight", &[]), 0.0);
}

#[tokio::test]
async fn refused_and_latched_logins_are_told_apart() {
    let wrong = Account {
        user: BRIDGE.user,
        password: "hunter-Q9x",
    };
    let bench = Bench::start(|_| {}, |_| {}, wrong).await;
    for _ in 0..3 {
        bench.failure("readPoint", json!({"ord": POINT})).await;
    }
    let (scraped, text) = scrape(&bench);
    let logins = |outcome| scraped.value("station_logins_total", &[("outcome", outcome)]);
    assert_eq!((logins("ok"), logins("failed")), (0.0, 1.0));
    assert!(logins("latched") >= 2.0);
    assert_eq!(scraped.value("station_logged_in", &[]), 0.0);
    assert!(!text.contains("hunter-Q9x") && !text.contains(BRIDGE.password));
}

#[tokio::test]
async fn writes_are_counted_by_tool_and_ending() {
    let bench = Bench::new().await;
    let tools = Registry::builder()
        .tools(writing_tools(&bench.gate, &bench.knowledge))
        .build()
        .expect("the registry");
    let setpoint = POINT.replace("SupplyTemp", "SupplyTempSp");
    for (ord, value) in [(&*setpoint, 18), (&*setpoint, 19), (POINT, 20), ("x", 21)] {
        let arguments = json!({"ord": ord, "value": value, "priority": 10});
        let call = tools.call("writePoint", arguments, CallContext::service());
        call.await.expect("answered");
    }
    let (scraped, _) = scrape(&bench);
    let told = |outcome: &str| {
        let labels = [("outcome", outcome), ("tool", "writePoint")];
        scraped.value("writes_total", &labels)
    };
    assert_eq!(
        (told("done"), told("failed"), told("refused")),
        (2.0, 1.0, 1.0)
    );
    assert_eq!(scraped.value("writes_recorded", &[]), 1.0);
}

#[tokio::test]
async fn the_knowledge_file_is_measured() {
    let bench = Bench::new().await;
    let value = |name: &str| scrape(&bench).0.value(name, &[]);
    assert_eq!(value("knowledge_file_exists"), 0.0);
    assert_eq!(value("knowledge_file_readable"), 1.0);
    std::fs::write(
        bench.knowledge.path(),
        "spaces: [{id: hq}]\nequipment_types: [{id: ahu}]\nequipment: [{id: ahu-1, type: ahu, space: hq}]\n",
    )
    .expect("written");
    bench.knowledge.reload().await;
    assert_eq!(
        (
            value("knowledge_file_exists"),
            value("knowledge_spaces"),
            value("knowledge_equipment"),
            value("knowledge_edits_logged"),
        ),
        (1.0, 1.0, 1.0, 1.0)
    );
    assert!(value("knowledge_file_modified_timestamp_seconds") > 1.7e9);
    std::fs::write(bench.knowledge.path(), "spaces: 3\n").expect("written");
    bench.knowledge.reload().await;
    assert_eq!(value("knowledge_file_readable"), 0.0);
}

#[tokio::test]
async fn the_text_has_every_metric_of_the_table_and_no_other() {
    let bench = Bench::new().await;
    let (scraped, _) = scrape(&bench);
    let told: BTreeSet<String> = scraped.kinds.into_keys().collect();
    let known: BTreeSet<String> = FAMILIES
        .iter()
        .map(|family| format!("{PREFIX}{}", family.name))
        .collect();
    assert_eq!(told, known);
    for family in FAMILIES {
        let name = format!("{PREFIX}{}", family.name);
        let samples = scraped.samples.iter().filter(|((sample, _), _)| {
            ["", "_bucket", "_sum", "_count"]
                .iter()
                .any(|suffix| *sample == format!("{name}{suffix}"))
        });
        for ((sample, labels), _) in samples {
            let labels: Vec<&str> = labels
                .iter()
                .map(|(label, _)| label.as_str())
                .filter(|label| *label != "le")
                .collect();
            let mut expected = family.labels.to_vec();
            expected.sort_unstable();
            assert_eq!(labels, expected, "{sample}");
        }
    }
}
