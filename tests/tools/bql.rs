//! bqlQuery prints the station's table and refuses what must not be sent.

use serde_json::json;

use crate::support::{Bench, ord_of};

#[tokio::test]
async fn a_table_has_header_rows_and_footer() {
    let bench = Bench::new().await;
    let query = "station:|slot:/Drivers|bql:select name, type from control:ControlPoint";
    let result = bench
        .call("bqlQuery", json!({"query": query, "limit": 1000}))
        .await;
    let expected: Vec<String> = {
        let station = bench.model();
        let drivers = station.resolve_component("slot:/Drivers").unwrap();
        station
            .descendants(drivers)
            .filter(|component| component.ty().is("control:ControlPoint"))
            .map(|component| format!("{}\t{}", component.name(), component.ty().spec()))
            .collect()
    };
    assert!(expected.len() > 5);
    let text = result["content"][0]["text"].as_str().unwrap();
    let footer = format!("\n\n[rows={}]", expected.len());
    assert_eq!(text, format!("Name\tType\n{}{footer}", expected.join("\n")));
    assert_eq!(result["structuredContent"]["rowCount"], expected.len());
}

#[tokio::test]
async fn a_limit_is_told_in_the_footer_only_when_more_rows_exist() {
    let bench = Bench::new().await;
    let total = {
        let station = bench.model();
        station
            .children(station.resolve_component("slot:/Services").unwrap())
            .count()
            + 1
    };
    let ask = async |limit: usize| {
        let query = "station:|slot:/Services|bql:select name from baja:Component stop";
        let query = query.replace(
            " stop",
            " where parent.name = 'Services' or name = 'Services'",
        );
        let result = bench
            .call("bqlQuery", json!({"query": query, "limit": limit}))
            .await;
        result["content"][0]["text"].as_str().unwrap().to_owned()
    };
    assert!(ask(total).await.ends_with(&format!("\n\n[rows={total}]")));
    let cut = ask(total - 1).await;
    let limit = total - 1;
    assert!(
        cut.ends_with(&format!("\n\n[rows={limit}, truncated at limit={limit}]")),
        "{cut}"
    );
    assert_eq!(cut.lines().count(), 1 + limit + 2);
}

#[tokio::test]
async fn an_empty_result_is_a_header_and_a_footer() {
    let bench = Bench::new().await;
    let query =
        "station:|slot:/Drivers|bql:select name from control:ControlPoint where name = 'nothing'";
    let result = bench.call("bqlQuery", json!({"query": query})).await;
    assert_eq!(result["content"][0]["text"], "Name\n\n[rows=0]");
}

#[tokio::test]
async fn histories_and_alarms_are_bases_too() {
    let bench = Bench::new().await;
    let ids: Vec<String> = bench
        .model()
        .histories
        .iter()
        .map(|history| history.id.clone())
        .collect();
    let result = bench
        .call("bqlQuery", json!({"query": "history:|bql:select id"}))
        .await;
    let rows = result["structuredContent"]["rows"].as_array().unwrap();
    let mut found: Vec<String> = rows
        .iter()
        .map(|row| row[0].as_str().unwrap().to_owned())
        .collect();
    found.sort();
    let mut ids = ids;
    ids.sort();
    assert_eq!(found, ids);

    let count = bench.model().alarms.iter().count();
    let result = bench
        .call("bqlQuery", json!({"query": "alarm:|bql:select uuid"}))
        .await;
    assert_eq!(result["structuredContent"]["rowCount"], count);
}

#[tokio::test]
async fn refusals_name_the_reason_and_reach_no_station() {
    let bench = Bench::new().await;
    for (query, reason) in [
        ("station:|slot:/", "bql: part"),
        (
            "station:|slot:/|bql:select name from baja:Folder|view:file:ITableToCsv",
            "'|'",
        ),
        (
            "station:|slot:/|bql:select * from baja:Component",
            "too costly",
        ),
        ("station:|slot:/|bql:update x", "select"),
    ] {
        let (code, message, data) = bench.failure("bqlQuery", json!({"query": query})).await;
        assert_eq!((code, &data["query"]), (-32602, &json!(query)));
        assert!(message.contains(reason), "{message}");
    }
    assert!(
        bench.mock.requests().is_empty(),
        "nothing of this may be sent"
    );
}

#[tokio::test]
async fn what_the_station_cannot_understand_is_the_callers_fault() {
    let bench = Bench::new().await;
    let query = "station:|slot:/|bql:select name from no:SuchType";
    let (code, message, data) = bench.failure("bqlQuery", json!({"query": query})).await;
    assert_eq!((code, &data["query"]), (-32602, &json!(query)));
    assert!(message.contains("does not accept the query"), "{message}");

    let missing = "station:|slot:/No/Such|bql:select name from baja:Component";
    let (code, _, data) = bench.failure("bqlQuery", json!({"query": missing})).await;
    assert_eq!((code, &data["ord"]), (-32006, &json!(missing)));
}

#[tokio::test]
async fn components_are_found_by_type_whatever_the_spelling() {
    let bench = Bench::new().await;
    let expected: Vec<(String, String, String)> = {
        let station = bench.model();
        station
            .descendants(station.root())
            .filter(|component| component.ty().is("control:NumericPoint"))
            .map(|component| {
                let handle = component.handle();
                (
                    ord_of(&station, handle),
                    station.display_name(handle),
                    component.ty().spec().to_owned(),
                )
            })
            .collect()
    };
    assert!(expected.len() > 3);
    for name in ["control:NumericPoint", "NumericPoint", "BNumericPoint"] {
        let answer = bench
            .answer(
                "findComponentsByType",
                json!({"typeName": name, "limit": 1000}),
            )
            .await;
        assert_eq!(answer["typeName"], "control:NumericPoint");
        assert_eq!(
            (&answer["count"], &answer["truncated"]),
            (&json!(expected.len()), &json!(false))
        );
        let found: Vec<_> = answer["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| {
                let text = |key: &str| item[key].as_str().unwrap().to_owned();
                (text("ord"), text("displayName"), text("type"))
            })
            .collect();
        assert_eq!(found, expected);
    }
    let cut = bench
        .answer(
            "findComponentsByType",
            json!({"typeName": "BNumericPoint", "limit": 2}),
        )
        .await;
    assert_eq!(
        (&cut["count"], &cut["truncated"]),
        (&json!(2), &json!(true))
    );
}

#[tokio::test]
async fn an_unknown_type_is_named() {
    let bench = Bench::new().await;
    for name in ["no:SuchType", "control:Nonsense", "a b"] {
        let (code, _, data) = bench
            .failure("findComponentsByType", json!({"typeName": name}))
            .await;
        assert_eq!((code, &data["type"]), (-32005, &json!(name)));
    }
}
