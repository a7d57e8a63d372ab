//! Tables of queries, histories and alarms through `ord/resolve` and `cursor`.

use serde_json::{Value as Json, json};

use crate::client::{ADMIN, OPERATOR, VIEWER, bench, child, sample};

fn head(answer: &Json) -> Json {
    assert_eq!(answer["o"]["t"], "box:BoxTable");
    serde_json::from_str(answer["o"]["v"].as_str().unwrap()).unwrap()
}

const POINTS: &str =
    "station:|slot:/Logic|bql:select name, out, out.value from control:ControlPoint order by name";

#[tokio::test]
async fn a_query_gives_columns_and_typed_cells() {
    let bench = bench().await;
    let body = json!({"o": POINTS, "bo": "station:|slot:/", "c": {"of": 0, "lm": 500}});
    let answer = bench.client(ADMIN).ask("ord", "resolve", body).await;
    let head = head(&answer);
    let names: Vec<&Json> = head["cols"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| &column["n"])
        .collect();
    assert_eq!(names, ["name", "out", "out.value"]);
    let rows = answer["c"].as_array().unwrap();
    let names: Vec<&str> = rows
        .iter()
        .map(|row| row[0]["v"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        ["Copy", "Fan$20Cmd", "Mode", "Setpoint", "Zone$20Temp"]
    );
    let setpoint = &rows[3];
    assert_eq!(setpoint[1]["t"], "baja:StatusNumeric");
    assert_eq!(child(&setpoint[1], "value")["v"], "21.5");
    assert_eq!(
        (&setpoint[2]["t"], &setpoint[2]["v"]),
        (&json!("baja:Double"), &json!("21.5"))
    );
}

#[tokio::test]
async fn pages_follow_each_other_until_one_is_short() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let first = client
        .ask(
            "ord",
            "resolve",
            json!({"o": POINTS, "c": {"of": 0, "lm": 2}}),
        )
        .await;
    assert_eq!(first["c"].as_array().unwrap().len(), 2);
    let request = head(&first)["req"].clone();
    let mut names = Vec::new();
    for offset in [2, 4, 6] {
        let mut body = request.clone();
        body["of"] = json!(offset);
        body["lm"] = json!(2);
        let rows = client.ask("ord", "cursor", body).await;
        for row in rows.as_array().unwrap() {
            names.push(row[0]["v"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(names, ["Mode", "Setpoint", "Zone$20Temp"]);
    let many = "station:|slot:/|bql:select name from baja:Component";
    let default = client.ask("ord", "resolve", json!({"o": many})).await;
    assert_eq!(default["c"].as_array().unwrap().len(), 10);
}

#[tokio::test]
async fn a_relative_query_asks_below_its_base() {
    let bench = bench().await;
    let body =
        json!({"o": "bql:select name from control:NumericWritable", "bo": "station:|slot:/AHU1"});
    let answer = bench.client(ADMIN).ask("ord", "resolve", body).await;
    let rows = answer["c"].as_array().unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0][0]["v"], "Damper");
}

#[tokio::test]
async fn missing_cells_are_null_and_unreadable_rows_absent() {
    let bench = bench().await;
    let query = "station:|slot:/Logic|bql:select name, nothing from control:EnumWritable";
    let answer = bench
        .client(VIEWER)
        .ask("ord", "resolve", json!({"o": query}))
        .await;
    assert_eq!(answer["c"][0][1], Json::Null);
    let query = "station:|slot:/|bql:select name from control:ControlPoint";
    let answer = bench
        .client(OPERATOR)
        .ask("ord", "resolve", json!({"o": query}))
        .await;
    assert_eq!(answer["c"].as_array().unwrap().len(), 1);
    assert_eq!(answer["c"][0][0]["v"], "Damper");
}

#[tokio::test]
async fn queries_that_fail_are_errors_that_say_why() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let bad = [
        (
            "station:|slot:/|bql:select name from acme:Thing",
            "acme:Thing",
        ),
        ("station:|slot:/|bql:select from where", ""),
        ("history:/Bench/Nothing", "Nothing"),
        (
            "station:|slot:/Nowhere|bql:select name from baja:Folder",
            "Nowhere",
        ),
    ];
    for (ord, named) in bad {
        let text = client.refusal("ord", "resolve", json!({"o": ord})).await;
        assert!(text.contains(named), "{ord}: {text}");
    }
    let text = client
        .refusal("ord", "resolve", json!({"o": POINTS, "c": {"of": -1}}))
        .await;
    assert!(text.contains("'of'"), "{text}");
    let operator = bench.client(OPERATOR);
    let text = operator
        .refusal("ord", "resolve", json!({"o": POINTS}))
        .await;
    assert!(text.contains("Permission denied"), "{text}");
}

#[tokio::test]
async fn histories_come_as_records_with_their_own_types() {
    let bench = sample().await;
    let client = bench.client(ADMIN);
    let body = json!({"o": "history:/Sample/SupplyTemp", "c": {"of": 0, "lm": 1000}});
    let answer = client.ask("ord", "resolve", body).await;
    let columns = head(&answer)["cols"].clone();
    let names: Vec<&Json> = columns
        .as_array()
        .unwrap()
        .iter()
        .map(|column| &column["n"])
        .collect();
    assert_eq!(names, ["timestamp", "trendFlags", "status", "value"]);
    let rows = answer["c"].as_array().unwrap();
    let station = bench.mock.station().read();
    let history = station.histories.get("/Sample/SupplyTemp").unwrap();
    assert_eq!(rows.len(), history.count(station.now()));
    assert_eq!(rows[0][0]["t"], "baja:AbsTime");
    assert_eq!(rows[0][3]["t"], "baja:Double");
    let down = rows.iter().filter(|row| row[2]["v"] == "4").count();
    assert_eq!(down, 1);
}

#[tokio::test]
async fn history_lists_and_alarms_are_tables_too() {
    let bench = sample().await;
    let client = bench.client(ADMIN);
    let answer = client
        .ask("ord", "resolve", json!({"o": "history:|bql:select id"}))
        .await;
    let ids: Vec<&Json> = answer["c"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row[0]["v"])
        .collect();
    assert!(ids.contains(&&json!("/Sample/Mode")), "{ids:?}");
    let query = "alarm:|bql:select uuid, sourceState, ackState from openAlarms order by timestamp";
    let answer = client
        .ask(
            "ord",
            "resolve",
            json!({"o": query, "c": {"of": 0, "lm": 500}}),
        )
        .await;
    let rows = answer["c"].as_array().unwrap();
    let expected = bench.mock.station().read().alarms.open().count();
    assert_eq!(rows.len(), expected);
    assert_eq!(rows[0][1]["v"], "offnormal");
    assert_eq!(rows[0][2]["v"], "unacked");
}
