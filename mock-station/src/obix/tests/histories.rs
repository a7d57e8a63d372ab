//! Histories: tree, object, queries, paging, rollup.

use super::site::{Site, at, attribute, member, names, val};
use crate::model::accounts::{ADMIN, OBIX, OPERATOR};
use crate::obix::element::Element;

fn rows(answer: &Element) -> Vec<(String, String)> {
    member(answer, "data")
        .children
        .iter()
        .map(|row| {
            (
                val(row, "timestamp").to_owned(),
                val(row, "value").to_owned(),
            )
        })
        .collect()
}

fn filter(limit: usize, start: &str, end: &str) -> String {
    format!(
        "<obj is='obix:HistoryFilter' xmlns='http://obix.org/ns/schema/1.0'><int name='limit' val='{limit}'/>\
         <abstime name='start' val='{start}'/><abstime name='end' val='{end}'/></obj>"
    )
}

#[tokio::test]
async fn histories_lie_two_levels_deep() {
    let site = Site::start().await;
    let devices = site.get(OBIX, "/obix/histories/").await;
    assert_eq!(names(&devices), ["Sample", "Annex"]);
    let sample = site.get(OBIX, "/obix/histories/Sample").await;
    assert_eq!(
        names(&sample),
        [
            "SupplyTemp",
            "FanStatus",
            "Mode",
            "Message",
            "Empty",
            "Doubled",
            "Autumn"
        ]
    );
    assert_eq!(attribute(member(&sample, "Mode"), "href"), "Mode/");
    assert_eq!(
        attribute(&site.get(OBIX, "/obix/histories/Nobody/").await, "is"),
        "obix:BadUriErr"
    );
}

#[tokio::test]
async fn a_history_object_offers_its_ops_and_presets() {
    let site = Site::start().await;
    let history = site.get(OBIX, "/obix/histories/Sample/SupplyTemp/").await;
    assert_eq!(attribute(&history, "is"), "obix:History");
    assert_eq!(val(&history, "count"), "193");
    assert_eq!(val(&history, "end"), "2026-03-10T11:00:00.000+01:00");
    assert_eq!(
        attribute(member(&history, "query"), "href"),
        "~historyQuery/"
    );
    assert_eq!(
        attribute(member(&history, "feed"), "of"),
        "/obix/def/obix:HistoryRecord"
    );
    assert_eq!(
        attribute(member(&history, "today"), "href"),
        "~historyQuery?start=2026-03-10T00:00:00.000+01:00&end=2026-03-10T11:07:30.000+01:00"
    );
    let empty = site.get(OBIX, "/obix/histories/Sample/Empty/").await;
    assert_eq!(val(&empty, "count"), "0");
    assert!(member(&empty, "start").is_null());
}

#[tokio::test]
async fn a_query_answers_data_first_and_the_prototype_last() {
    let site = Site::start().await;
    let target = "/obix/histories/Sample/SupplyTemp/~historyQuery/";
    let answer = site
        .post(
            OBIX,
            target,
            &filter(3, "2026-03-10T00:00:00.000+01:00", "2026-03-10T23:00:00Z"),
        )
        .await;
    assert_eq!(attribute(&answer, "is"), "obix:HistoryQueryOut");
    let expected = format!("{}{target}", site.station.url());
    assert_eq!(attribute(&answer, "href"), expected);
    assert_eq!(names(&answer), ["data", "count", "start", "end"]);
    let prototype = answer.children.last().unwrap();
    assert_eq!(attribute(prototype, "href"), "#RecordDef");
    assert_eq!(
        attribute(member(prototype, "value"), "unit"),
        "obix:units/celsius"
    );
    assert_eq!(
        attribute(member(prototype, "timestamp"), "tz"),
        "Europe/Paris"
    );
    assert_eq!(
        attribute(member(&answer, "data"), "of"),
        "#RecordDef obix:HistoryRecord"
    );
    assert_eq!(val(&answer, "count"), "3");
    let rows = rows(&answer);
    assert_eq!(
        rows[0].0, "2026-03-10T00:00:00.000+01:00",
        "the oldest are kept, bounds included"
    );
    assert_eq!(val(&answer, "start"), rows[0].0);
    assert_eq!(val(&answer, "end"), rows[2].0);
}

#[tokio::test]
async fn every_record_of_the_model_is_served_whatever_its_kind() {
    let site = Site::start().await;
    for (name, tag) in [
        ("SupplyTemp", "real"),
        ("FanStatus", "bool"),
        ("Mode", "enum"),
        ("Message", "str"),
    ] {
        let target = format!("/obix/histories/Sample/{name}/~historyQuery");
        let answer = site.post(OBIX, &target, "").await;
        let expected = {
            let station = site.station.station().read();
            let history = station
                .histories
                .get(&format!("/Sample/{name}"))
                .unwrap()
                .clone();
            let (first, last) = history.bounds(station.now()).unwrap();
            history.records(first, last, station.now())
        };
        let data = member(&answer, "data");
        assert_eq!(data.children.len(), expected.len(), "{name}");
        for (row, record) in data.children.iter().zip(&expected) {
            assert_eq!(at(val(row, "timestamp")), record.timestamp);
            assert_eq!(member(row, "value").tag, tag);
        }
    }
    let modes = site
        .get(OBIX, "/obix/histories/Sample/Mode~historyQuery?limit=3")
        .await;
    let tags: Vec<String> = rows(&modes).into_iter().map(|(_, value)| value).collect();
    assert_eq!(tags, ["Occupied", "Not$20occupied", "Off"]);
}

#[tokio::test]
async fn presets_are_served_behind_the_name_with_and_without_a_slash() {
    let site = Site::start().await;
    for target in [
        "/obix/histories/Annex/Oat~historyQuery?limit=2",
        "/obix/histories/Annex/Oat/~historyQuery?limit=2",
        "/obix/histories/Annex/Oat/~historyQuery/?limit=2&end=",
    ] {
        assert_eq!(rows(&site.get(OBIX, target).await).len(), 2, "{target}");
    }
    let own = "~historyQuery?start=2026-03-10T00:00:00.000+01:00";
    let failed = site
        .get(OBIX, &format!("/obix/histories/Annex/Oat/{own}"))
        .await;
    assert_eq!(failed.tag, "err", "an unescaped plus reads as a blank");
    assert!(attribute(&failed, "display").contains("Invalid start"));
    let coded = own.replace('+', "%2B");
    let answer = site
        .get(OBIX, &format!("/obix/histories/Annex/Oat/{coded}"))
        .await;
    assert_eq!(rows(&answer).len(), 5);
    let local = "~historyQuery?start=2026-03-10T11:00:00.000";
    let answer = site
        .get(OBIX, &format!("/obix/histories/Annex/Oat/{local}"))
        .await;
    assert_eq!(
        rows(&answer).len(),
        1,
        "a time without offset is the station's"
    );
}

#[tokio::test]
async fn paging_over_doubled_timestamps_goes_as_in_the_worked_example() {
    let site = Site::start().await;
    let target = "/obix/histories/Sample/Doubled/~historyQuery/";
    let mut pages = Vec::new();
    for (cursor, limit) in [("10:00", 2), ("10:05", 2), ("10:05", 4), ("10:15", 2)] {
        let body = filter(
            limit,
            &format!("2026-01-15T{cursor}:00Z"),
            "2026-01-15T12:00:00Z",
        );
        let answer = site.post(OBIX, target, &body).await;
        pages.push(
            rows(&answer)
                .into_iter()
                .map(|(_, value)| value)
                .collect::<Vec<_>>(),
        );
    }
    assert_eq!(
        pages,
        [
            vec!["1.0", "2.0"],
            vec!["2.0", "3.0"],
            vec!["2.0", "3.0", "4.0", "5.0"],
            vec!["5.0"],
        ]
    );
}

#[tokio::test]
async fn both_hours_of_the_autumn_night_are_told_apart() {
    let site = Site::start().await;
    let answer = site
        .post(
            OBIX,
            "/obix/histories/Sample/Autumn/~historyQuery/",
            "<obj/>",
        )
        .await;
    let times: Vec<String> = rows(&answer).into_iter().map(|(time, _)| time).collect();
    assert_eq!(
        times,
        [
            "2025-10-26T02:00:00.000+02:00",
            "2025-10-26T02:30:00.000+02:00",
            "2025-10-26T02:00:00.000+01:00",
            "2025-10-26T02:30:00.000+01:00",
            "2025-10-26T03:00:00.000+01:00",
        ]
    );
}

#[tokio::test]
async fn an_empty_history_still_sends_both_bounds() {
    let site = Site::start().await;
    let answer = site
        .post(OBIX, "/obix/histories/Sample/Empty/~historyQuery/", "")
        .await;
    assert_eq!(val(&answer, "count"), "0");
    assert!(member(&answer, "data").children.is_empty());
    for bound in ["start", "end"] {
        let bound = member(&answer, bound);
        assert_eq!((&*bound.tag, attribute(bound, "null")), ("abstime", "true"));
    }
}

#[tokio::test]
async fn a_rollup_is_dense_and_zero_where_nothing_was_recorded() {
    let site = Site::start().await;
    let body = "<obj is='obix:HistoryRollupIn'>\
        <abstime name='start' val='2026-01-15T10:00:00Z'/><abstime name='end' val='2026-01-15T12:00:00Z'/>\
        <reltime name='interval' val='PT10M'/></obj>";
    let target = "/obix/histories/Sample/Doubled/~historyRollup/";
    let answer = site.post(OBIX, target, body).await;
    assert_eq!(attribute(&answer, "is"), "obix:HistoryQueryOut");
    let data = member(&answer, "data");
    assert_eq!(attribute(data, "of"), "obix:HistoryRollupRecord");
    assert_eq!(data.children.len(), 12);
    let first = &data.children[0];
    let statistics =
        |row: &Element| ["count", "min", "max", "avg", "sum"].map(|name| val(row, name).to_owned());
    assert_eq!(statistics(first), ["3", "1.0", "3.0", "2.0", "6.0"]);
    assert_eq!(val(first, "end"), "2026-01-15T11:10:00.000+01:00");
    assert_eq!(
        statistics(&data.children[5]),
        ["0", "0.0", "0.0", "0.0", "0.0"]
    );
    let millis = body.replace(
        "<reltime name='interval' val='PT10M'/>",
        "<real name='interval' val='600000'/>",
    );
    let again = site.post(OBIX, target, &millis).await;
    assert_eq!(member(&again, "data"), data);
    let boolean = site
        .post(
            OBIX,
            "/obix/histories/Sample/FanStatus/~historyRollup/",
            body,
        )
        .await;
    assert_eq!((&*boolean.tag, boolean.get("is")), ("err", None));
}

#[tokio::test]
async fn appending_is_refused_and_the_feed_is_no_op() {
    let site = Site::start().await;
    let history = "/obix/histories/Sample/SupplyTemp";
    let append = site
        .post(ADMIN, &format!("{history}/~historyAppend/"), "<obj/>")
        .await;
    assert_eq!(attribute(&append, "is"), "obix:PermissionErr");
    let feed = site
        .post(ADMIN, &format!("{history}/~historyFeed/"), "")
        .await;
    assert_eq!(attribute(&feed, "is"), "obix:UnsupportedErr");
    assert_eq!(val(&site.get(ADMIN, history).await, "count"), "193");
}

#[tokio::test]
async fn histories_of_points_that_a_user_may_not_see_are_hidden() {
    let site = Site::start().await;
    let meter = {
        let mut station = site.station.station().write();
        let meter = station
            .resolve_component("slot:/Drivers/ModbusTcpNetwork/Meter$20$231/points/Energy")
            .unwrap();
        let mut history = station.histories.get("/Sample/Doubled").unwrap().clone();
        history.id = "/Sample/Energy".to_owned();
        history.point = Some(meter);
        station.histories.insert(history);
        "/obix/histories/Sample/Energy/"
    };
    assert_eq!(
        attribute(&site.get(ADMIN, meter).await, "is"),
        "obix:History"
    );
    assert_eq!(
        attribute(&site.get(OPERATOR, meter).await, "is"),
        "obix:PermissionErr"
    );
    let listed = site.get(OPERATOR, "/obix/histories/Sample/").await;
    assert!(listed.child("SupplyTemp").is_some() && listed.child("Energy").is_none());
}
