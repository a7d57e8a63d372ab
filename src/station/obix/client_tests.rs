//! The client against stations that lack services, loop, page and answer with errors.

use chrono::{DateTime, FixedOffset};
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::decode::decode;
use super::folder::{ComponentClass, WalkOptions};
use super::history::HistoryReadOptions;
use super::href::ObixPath;
use super::object::{Element, Object};
use super::scalar::Scalar;
use super::scripted::{NEVER, Said, Scripted};
use crate::station::http::{CallScope, TimeoutClass};

fn scope() -> CallScope {
    CallScope::unlimited()
}

fn path(text: &str) -> ObixPath {
    ObixPath::parse(text).expect("a path")
}

fn ok(text: impl Into<String>) -> Said {
    (200, text.into())
}

fn bad_uri(target: &str) -> Said {
    ok(format!(r#"<err is="obix:BadUriErr" display="{target}"/>"#))
}

fn time(text: &str) -> DateTime<FixedOffset> {
    DateTime::parse_from_rfc3339(text).expect("a time")
}

#[tokio::test]
async fn a_walk_ends_in_a_loop_goes_on_below_points_and_keeps_failures_local() {
    let station = Scripted::start(|target, _| match target {
        "/obix/config/" => ok(r#"<obj href="http://wrong/obix/config/">
            <ref name="A" href="A/" is="/obix/def/baja:Folder"/><ref name="Broken" href="Broken/" is="/obix/def/baja:Folder"/></obj>"#),
        "/obix/config/A/" => ok(r#"<obj><ref name="Meter" href="Meter/" is="/obix/def/control:NumericPoint obix:Point" display="5 kWh {ok}"/>
            <ref name="loop" href="/obix/config/"/><ref name="out" href="https://h/login"/></obj>"#),
        "/obix/config/A/Meter/" => ok(r#"<real val="5" is="/obix/def/control:NumericPoint obix:Point">
            <ref name="LastMonth" href="LastMonth/" is="/obix/def/control:NumericPoint obix:Point"/>
            <ref name="NumericInterval" href="NumericInterval/" is="/obix/def/history:NumericIntervalHistoryExt"/></real>"#),
        "/obix/config/A/Meter/LastMonth/" => ok(r#"<real val="4"/>"#),
        _ => bad_uri(target),
    })
    .await;
    let walk = station
        .client
        .walk(&scope(), &path("/obix/config/"), &WalkOptions::default())
        .await
        .expect("walked");
    let found: Vec<_> = walk
        .components
        .iter()
        .map(|item| (item.component.name.as_str(), item.depth))
        .collect();
    assert_eq!(
        found,
        [("A", 1), ("Broken", 1), ("Meter", 2), ("LastMonth", 3)]
    );
    assert_eq!(
        walk.components[1].problem.as_ref().expect("refused").kind(),
        "not-found"
    );
    assert_eq!(walk.components[2].component.class, ComponentClass::Point);
    assert!(!walk.is_truncated);
    let small = WalkOptions {
        max_components: 3,
        ..WalkOptions::default()
    };
    let cut = station
        .client
        .walk(&scope(), &path("/obix/config/"), &small)
        .await
        .expect("walked");
    assert_eq!((cut.components.len(), cut.is_truncated), (2, true));
}

fn lobby(children: &str) -> Said {
    ok(format!(
        r#"<obj href="/obix/" is="obix:Lobby"><ref name="about" href="about/" is="obix:About"/>{children}</obj>"#
    ))
}

#[tokio::test]
async fn a_batch_answers_each_point_in_its_place() {
    let station = Scripted::start(|target, body| match target {
        "/obix/" => {
            lobby(r#"<op name="batch" href="batch" in="obix:BatchIn" out="obix:BatchOut"/>"#)
        }
        "/obix/batch" => {
            let request = decode(body.as_bytes(), None).expect("the bridge's XML");
            let mut answer = String::from(r#"<list of="obix:BatchOut">"#);
            for member in &request.children {
                let target = member.val().expect("a uri").trim_end_matches('/');
                match target
                    .strip_prefix("/obix/config/P")
                    .and_then(|rest| rest.strip_suffix("/out"))
                {
                    Some("7") => write!(
                        answer,
                        r#"<err href="{target}" is="obix:PermissionErr" display="no"/>"#
                    ),
                    Some(number) => write!(
                        answer,
                        r#"<real href="{target}" val="{number}" display="{number}.0 {{ok}}"/>"#
                    ),
                    None => write!(answer, "<err/>"),
                }
                .expect("text");
            }
            ok(answer + "</list>")
        }
        _ => bad_uri(target),
    })
    .await;
    let points: Vec<ObixPath> = (0..230)
        .map(|number| path(&format!("/obix/config/P{number}/")))
        .collect();
    let values = station
        .client
        .read_values(&scope(), &points)
        .await
        .expect("read");
    assert_eq!(values.len(), 230);
    assert_eq!(
        values[7].as_ref().expect_err("refused").kind(),
        "permission-denied"
    );
    let last = values[229].as_ref().expect("a value");
    assert_eq!(
        (&last.value, &last.path),
        (&Scalar::Real(229.0), &points[229])
    );
    assert_eq!(
        station.heard(),
        ["/obix/", "/obix/batch", "/obix/batch", "/obix/batch"]
    );
}

#[tokio::test]
async fn without_batch_the_points_are_read_one_by_one() {
    let station = Scripted::start(|target, _| match target {
        "/obix/" => lobby(""),
        "/obix/config/A/out/" => ok(r#"<bool val="true" display="On {ok} @ 8"/>"#),
        _ => bad_uri(target),
    })
    .await;
    let points = [path("/obix/config/A/"), path("/obix/config/B/")];
    let values = station
        .client
        .read_values(&scope(), &points)
        .await
        .expect("read");
    assert_eq!(
        values[0].as_ref().expect("a value").value,
        Scalar::Bool(true)
    );
    assert_eq!(values[1].as_ref().expect_err("unknown").kind(), "not-found");
    let error = station.client.histories(&scope()).await.expect_err("none");
    assert!(error.to_string().contains("lobby"), "{error}");
}

#[tokio::test]
async fn a_refused_batch_is_remembered_until_the_client_forgets() {
    let station = Scripted::start(|target, _| match target {
        "/obix/" => lobby(r#"<op name="batch" href="batch/" in="obix:BatchIn"/>"#),
        "/obix/batch/" => ok(r#"<err is="obix:UnsupportedErr" display="no batch"/>"#),
        _ => ok(r#"<real val="1" display="1 {ok}"/>"#),
    })
    .await;
    let points = [path("/obix/config/A/")];
    for _ in 0..2 {
        let values = station
            .client
            .read_values(&scope(), &points)
            .await
            .expect("read");
        assert_eq!(
            values[0].as_ref().expect("a value").value,
            Scalar::Real(1.0)
        );
    }
    let out = "/obix/config/A/out/";
    assert_eq!(station.heard(), ["/obix/", "/obix/batch/", out, out]);
    station.client.forget();
    station
        .client
        .read_values(&scope(), &points)
        .await
        .expect("read");
    assert_eq!(station.heard()[4..], ["/obix/", "/obix/batch/", out]);
}

#[tokio::test]
async fn a_station_that_fails_on_everything_is_asked_in_batches_when_it_is_well_again() {
    let is_down = Arc::new(AtomicBool::new(false));
    let down = is_down.clone();
    let station = Scripted::start(move |target, _| match target {
        _ if down.load(Ordering::Relaxed) => (500, "starting".to_owned()),
        "/obix/" => lobby(r#"<op name="batch" href="batch/" in="obix:BatchIn"/>"#),
        "/obix/batch/" => ok(r#"<list><real val="1" display="1 {ok}"/></list>"#),
        _ => ok(r#"<real val="1" display="1 {ok}"/>"#),
    })
    .await;
    let points = [path("/obix/config/A/")];
    let scope = scope();
    let read = || station.client.read_values(&scope, &points);
    assert!(read().await.expect("read")[0].is_ok());
    is_down.store(true, Ordering::Relaxed);
    if let Ok(values) = read().await {
        assert!(values[0].is_err());
    }
    is_down.store(false, Ordering::Relaxed);
    let before = station.heard().len();
    assert!(read().await.expect("read")[0].is_ok());
    assert_eq!(station.heard()[before..], ["/obix/batch/"]);
}

#[tokio::test]
async fn objects_read_before_the_time_was_over_are_kept() {
    let station = Scripted::start(|target, _| match target {
        "/obix/" => lobby(""),
        "/obix/config/A/out/" => ok(r#"<real val="1" display="1 {ok}"/>"#),
        _ => (NEVER, String::new()),
    })
    .await;
    let points = ["A", "B", "C"].map(|name| path(&format!("/obix/config/{name}/")));
    let limit = Duration::from_secs(20);
    let scope = CallScope::within(limit);
    let read = station.client.read_values(&scope, &points);
    tokio::pin!(read);
    tokio::select! {
        early = &mut read => panic!("the second point is never answered: {early:?}"),
        () = station.holds_a_request() => {}
    }
    tokio::time::pause();
    tokio::time::advance(limit).await;
    let values = read.await.expect("what was read");
    assert_eq!(
        values[0].as_ref().expect("in time").value,
        Scalar::Real(1.0)
    );
    for late in &values[1..] {
        assert_eq!(late.as_ref().expect_err("late").kind(), "station-timeout");
    }
}

/// Many objects come in several batches; the time is over during the second.
#[tokio::test]
async fn whole_batches_before_the_time_was_over_are_kept() {
    let batches = AtomicBool::new(false);
    let station = Scripted::start(move |target, body| match target {
        "/obix/" => lobby(r#"<op name="batch" href="batch/"/>"#),
        "/obix/batch/" if batches.swap(true, Ordering::Relaxed) => (NEVER, body.to_owned()),
        "/obix/batch/" => {
            let asked = decode(body.as_bytes(), None).expect("the bridge's XML");
            let one = r#"<real val="1" display="1 {ok}"/>"#;
            ok(format!("<list>{}</list>", one.repeat(asked.children.len())))
        }
        _ => bad_uri(target),
    })
    .await;
    let points: Vec<ObixPath> = (0..150)
        .map(|number| path(&format!("/obix/config/P{number}/")))
        .collect();
    let limit = Duration::from_secs(20);
    let scope = CallScope::within(limit);
    let read = station.client.read_values(&scope, &points);
    tokio::pin!(read);
    tokio::select! {
        early = &mut read => panic!("the second batch is never answered: {early:?}"),
        () = station.holds_a_request() => {}
    }
    tokio::time::pause();
    tokio::time::advance(limit).await;
    let values = read.await.expect("what was read");
    assert_eq!(values.len(), 150);
    assert!(values[..100].iter().all(Result::is_ok));
    for late in &values[100..] {
        assert_eq!(late.as_ref().expect_err("late").kind(), "station-timeout");
    }
}

/// Answers a history query as stations do: the oldest records of the window, bounds included.
fn query_answer(records: &[(&str, f64)], body: &str) -> Said {
    let filter = decode(body.as_bytes(), None).expect("the bridge's XML");
    let bound = |name: &str| time(filter.child(name).and_then(Object::val).expect("a bound"));
    let limit: usize = filter
        .child("limit")
        .and_then(Object::val)
        .expect("a limit")
        .parse()
        .expect("a number");
    let rows: String = records
        .iter()
        .filter(|(at, _)| (bound("start")..=bound("end")).contains(&time(at)))
        .take(limit)
        .map(|(at, value)| format!(r#"<obj><abstime name="timestamp" val="{at}"/><real name="value" val="{value:?}"/></obj>"#))
        .collect();
    ok(format!(
        r##"<obj is="obix:HistoryQueryOut"><list name="data" of="#RecordDef obix:HistoryRecord">{rows}</list>
        <obj href="#RecordDef"><abstime name="timestamp" tz="America/New_York"/><real name="value" unit="obix:units/fahrenheit"/></obj></obj>"##
    ))
}

#[tokio::test]
async fn both_passes_of_the_repeated_hour_are_read_across_page_borders() {
    const RECORDS: &[(&str, f64)] = &[
        ("2025-11-02T00:30:00.000-04:00", 1.0),
        ("2025-11-02T01:30:00.000-04:00", 2.0),
        ("2025-11-02T01:30:00.000-04:00", 2.5),
        ("2025-11-02T01:30:00.000-05:00", 3.0),
        ("2025-11-02T02:30:00.000-05:00", 4.0),
    ];
    let station = Scripted::start(|target, body| match target {
        "/obix/" => lobby(r#"<ref name="histories" href="histories/"/>"#),
        "/obix/histories/St1/Zone1T/~historyQuery/" => query_answer(RECORDS, body),
        _ => bad_uri(target),
    })
    .await;
    let history = station
        .client
        .history_path(&scope(), "/St1/Zone1T")
        .await
        .expect("a path");
    let window = (
        time("2025-11-02T00:00:00-04:00"),
        time("2025-11-03T00:00:00-05:00"),
    );
    let options = HistoryReadOptions {
        page_limit: 2,
        ..HistoryReadOptions::default()
    };
    let reading = station
        .client
        .read_history(&scope(), &history, window, options)
        .await
        .expect("read");
    let read: Vec<_> = reading
        .records
        .iter()
        .map(|record| {
            (
                record.timestamp,
                record.sample().and_then(|cell| cell.value.number()),
            )
        })
        .collect();
    let expected: Vec<_> = RECORDS
        .iter()
        .map(|(at, value)| (time(at), Some(*value)))
        .collect();
    assert_eq!(read, expected);
    assert_eq!(reading.prototype.unit.as_deref(), Some("fahrenheit"));
    assert!(!reading.is_truncated && !reading.records_possibly_lost);
    let short = HistoryReadOptions {
        max_records: 3,
        ..options
    };
    let cut = station
        .client
        .read_history(&scope(), &history, window, short)
        .await
        .expect("read");
    assert_eq!((cut.records.len(), cut.is_truncated), (3, true));
    assert!(
        station
            .client
            .history_path(&scope(), "/St1/../x")
            .await
            .is_err()
    );
}

#[tokio::test]
async fn times_without_offset_take_the_zone_of_the_station() {
    let station = Scripted::start(|target, _| match target {
        "/obix/" => lobby(""),
        "/obix/about/" => ok(r#"<obj is="obix:About"><str name="tz" val="Europe/Berlin"/></obj>"#),
        "/obix/histories/a/b/~historyQuery/" => ok(
            r#"<obj><list name="data"><obj><abstime name="timestamp" val="2026-07-01T12:00:00"/><enum name="value" val="On"/></obj></list></obj>"#,
        ),
        _ => bad_uri(target),
    })
    .await;
    let window = (time("2026-07-01T00:00:00Z"), time("2026-07-02T00:00:00Z"));
    let history = path("/obix/histories/a/b/");
    let page = station
        .client
        .history_page(&scope(), &history, window, 10, TimeoutClass::Query)
        .await
        .expect("a page");
    assert_eq!(
        page.records[0].timestamp.to_rfc3339(),
        "2026-07-01T12:00:00+02:00"
    );
    assert_eq!(page.unreadable, 0);
}

#[tokio::test]
async fn a_missing_disabled_or_unlicensed_server_is_named_as_such() {
    for (status, body, kind, words) in [
        (
            404,
            "<html>not found</html>",
            "interface-missing",
            "ObixNetwork",
        ),
        (410, "gone", "interface-missing", "Enabled=false"),
        (
            403,
            "oBIX server is not licensed",
            "interface-missing",
            "licen",
        ),
        (403, "forbidden", "permission-denied", "403"),
        (500, "boom", "station-error", "export=\"true\""),
    ] {
        let station = Scripted::start(move |_, _| (status, body.to_owned())).await;
        let error = station.client.lobby(&scope()).await.expect_err("no lobby");
        assert_eq!(error.kind(), kind, "{status} {body}");
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[tokio::test]
async fn a_component_without_output_and_a_path_outside_the_tree_are_refused() {
    let station = Scripted::start(|target, _| bad_uri(target)).await;
    let error = station
        .client
        .read_value(&scope(), &path("/obix/config/Folder/"))
        .await
        .expect_err("no output");
    assert!(error.to_string().contains("has no output"), "{error}");
    let outside = station
        .client
        .get(&scope(), &path("/obix/../logout"))
        .await
        .expect_err("refused");
    assert_eq!(outside.kind(), "invalid-input");
    assert_eq!(station.heard(), ["/obix/config/Folder/out/"]);
}

#[tokio::test]
async fn an_answer_that_accepts_a_write_without_a_document_leaves_its_outcome_open() {
    let point = path("/obix/config/Setpoint/");
    for (status, body, kind, words) in [
        (
            200,
            "<html><body>Welcome</body></html>".to_owned(),
            "outcome-unknown",
            "HTML page",
        ),
        (202, "<html/>".to_owned(), "outcome-unknown", "HTML page"),
        (200, String::new(), "outcome-unknown", ""),
        (200, "queued".to_owned(), "outcome-unknown", ""),
        (
            200,
            format!("<str val=\"{}\"/>", "x".repeat(40_000_000)),
            "outcome-unknown",
            "32 MiB",
        ),
        (500, "boom".to_owned(), "outcome-unknown", ""),
        (502, String::new(), "outcome-unknown", "502"),
        (503, String::new(), "outcome-unknown", "503"),
        (504, String::new(), "outcome-unknown", "504"),
        (408, String::new(), "outcome-unknown", "408"),
        (429, String::new(), "station-busy", "429"),
        (403, "forbidden".to_owned(), "permission-denied", "403"),
        (404, String::new(), "not-found", "404"),
        (
            200,
            r#"<err is="obix:PermissionErr" display="no"/>"#.to_owned(),
            "permission-denied",
            "no",
        ),
        (
            200,
            r#"<err display="Invalid value"/>"#.to_owned(),
            "bad-query",
            "Invalid value",
        ),
        (
            200,
            r#"<err display="broken"/>"#.to_owned(),
            "station-error",
            "broken",
        ),
    ] {
        let sent = body.clone();
        let station = Scripted::start(move |_, _| (status, sent.clone())).await;
        let argument = Object::new(Element::Obj);
        let outcome = station
            .client
            .command_point(&scope(), &point, "override", &argument)
            .await;
        let shown: String = body.chars().take(60).collect();
        let error = outcome.expect_err(&shown);
        assert_eq!(error.kind(), kind, "{status} {shown}: {error}");
        assert!(
            error.to_string().contains(words),
            "{status} {shown}: {error}"
        );
        assert_eq!(station.heard().len(), 1, "{status} {shown} was sent once");
    }
    let station = Scripted::start(|_, _| ok("<real val='5'/>")).await;
    let argument = Object::new(Element::Obj);
    let done = station
        .client
        .command_point(&scope(), &point, "override", &argument)
        .await;
    assert!(done.is_ok(), "{done:?}");
}
