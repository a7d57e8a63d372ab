//! A station that offers oBIX alone still answers what oBIX can tell, and says what it cannot.

use mock_station::model::Value as ModelValue;
use mock_station::model::sample::AHU1_POINTS;
use mock_station::switches::ObixMode;
use serde_json::{Value, json};

use crate::browse::expected_node;
use crate::points::points;
use crate::support::{Bench, NOW, ord_of};

async fn obix_only() -> Bench {
    Bench::with_switches(|switches| {
        switches.boxs.present = false;
        switches.export.csv_exporter = false;
    })
    .await
}

#[tokio::test]
async fn points_have_the_models_values() {
    let bench = obix_only().await;
    let all = points(&bench.model());
    for point in all {
        let ord = ord_of(&bench.model(), point);
        let answer = bench.answer("readPoint", json!({"ord": ord})).await;
        let station = bench.model();
        let (value, status) = station.out(point).unwrap();
        assert_eq!(
            answer["type"],
            json!(station.component(point).unwrap().ty().spec()),
            "{ord}"
        );
        assert_eq!(
            answer["statusBits"],
            json!(format!("{:x}", status.bits)),
            "{ord}"
        );
        // oBIX sends no value beside a null status.
        if status.bits & 0x40 == 0 {
            match value {
                ModelValue::Boolean(flag) => assert_eq!(answer["valueBool"], json!(flag), "{ord}"),
                ModelValue::DynamicEnum(choice) => {
                    assert_eq!(answer["valueOrdinal"], json!(choice.ordinal), "{ord}")
                }
                ModelValue::String(text) => assert_eq!(answer["value"], json!(&*text), "{ord}"),
                other => {
                    let number = other.as_f64().filter(|number| number.is_finite());
                    assert_eq!(answer["valueNumber"].as_f64(), number, "{ord}");
                }
            }
        }
    }
}

#[tokio::test]
async fn children_are_the_models_components() {
    let bench = obix_only().await;
    let ord = "station:|slot:/Drivers";
    let answer = bench
        .answer("listChildren", json!({"ord": ord, "depth": 3}))
        .await;
    let station = bench.model();
    let mut expected = expected_node(&station, station.resolve_component(ord).unwrap(), 3);
    expected["ord"] = json!(ord);
    fn names(node: &Value) -> Value {
        let children: Vec<Value> = node["children"]
            .as_array()
            .into_iter()
            .flatten()
            .map(names)
            .collect();
        json!([
            node["name"],
            node["ord"],
            node["type"],
            node["isPoint"],
            children
        ])
    }
    assert_eq!(names(&answer)[4], names(&expected)[4]);
    assert_eq!(answer["type"], expected["type"]);
}

#[tokio::test]
async fn the_overview_and_a_component_are_told() {
    let bench = obix_only().await;
    let answer = bench.answer("getOverview", json!({})).await;
    let tops: Vec<String> = {
        let station = bench.model();
        station
            .children(station.root())
            .map(|top| top.name().to_owned())
            .collect()
    };
    let found: Vec<&str> = answer["topSlots"]
        .as_array()
        .unwrap()
        .iter()
        .map(|top| top["name"].as_str().unwrap())
        .collect();
    assert_eq!(found, tops);

    let ord = "station:|slot:/Drivers/BacnetNetwork/AHU_1";
    let answer = bench.answer("inspectComponent", json!({"ord": ord})).await;
    let station = bench.model();
    let device = station
        .component(station.resolve_component(ord).unwrap())
        .unwrap();
    assert_eq!(
        (&answer["type"], &answer["name"]),
        (&json!(device.ty().spec()), &json!(device.name()))
    );
    assert_eq!(answer["childCount"], json!(device.children().count()));
}

#[tokio::test]
async fn histories_come_without_status_and_say_so() {
    let bench = obix_only().await;
    for (point, id) in [
        ("SupplyTemp", "/Sample/SupplyTemp"),
        ("FanStatus", "/Sample/FanStatus"),
        ("Mode", "/Sample/Mode"),
    ] {
        let ord = format!("station:|{AHU1_POINTS}/{point}");
        let arguments =
            json!({"ord": ord, "from": "2026-10-23T00:00:00Z", "to": NOW, "limit": 10_000});
        let answer = bench.answer("readHistory", arguments).await;
        assert_eq!(
            (&answer["historyId"], &answer["statusAvailable"]),
            (&json!(id), &json!(false))
        );
        let station = bench.model();
        let expected = station.histories.get(id).unwrap().records(
            "2026-10-23T00:00:00Z".parse().unwrap(),
            NOW.parse().unwrap(),
            station.now(),
        );
        let records = answer["records"].as_array().unwrap();
        assert_eq!(records.len(), expected.len(), "{id}");
        for (actual, record) in records.iter().zip(&expected) {
            assert_eq!(
                actual["timestampMs"],
                json!(record.timestamp.timestamp_millis())
            );
            match &record.value {
                ModelValue::Boolean(flag) => assert_eq!(actual["value"], json!(u8::from(*flag))),
                ModelValue::DynamicEnum(choice) => {
                    assert_eq!(actual["value"], json!(choice.range.tag(choice.ordinal)))
                }
                other => assert_eq!(actual["value"].as_f64(), other.as_f64()),
            }
        }
    }
    let ord = format!("station:|{AHU1_POINTS}/SupplyTemp");
    let cut = bench
        .answer(
            "readHistory",
            json!({"ord": ord, "from": "2026-10-23", "limit": 7}),
        )
        .await;
    assert_eq!(
        (&cut["rows"], &cut["truncatedByLimit"]),
        (&json!(7), &json!(true))
    );
    assert!(cut["nextFrom"].is_string());
}

/// Each way without BOX says of an ord what BOX says, as far as it says anything.
#[tokio::test]
async fn ords_are_probed_without_box() {
    let whole = Bench::new().await;
    let obix = obix_only().await;
    let queries = Bench::with_switches(|switches| {
        switches.boxs.present = false;
        switches.obix.mode = ObixMode::NoServlet;
    })
    .await;
    let mut ords: Vec<String> = points(&whole.model())
        .into_iter()
        .take(12)
        .map(|point| ord_of(&whole.model(), point))
        .collect();
    ords.extend(
        ["slot:/", "slot:/Drivers", "slot:/No/Such"].map(|path| format!("station:|{path}")),
    );
    for ord in &ords {
        let expected = whole.answer("probeOrd", json!({"ord": ord})).await;
        for bench in [&obix, &queries] {
            let answer = bench.answer("probeOrd", json!({"ord": ord})).await;
            for (key, value) in answer.as_object().unwrap() {
                if key != "error" {
                    assert_eq!(value, &expected[key], "{key} of {ord}");
                }
            }
            assert_eq!(answer["exists"], expected["exists"], "{ord}");
        }
    }
    let out = format!("{}/out", ords[0]);
    let answer = obix.answer("probeOrd", json!({"ord": out})).await;
    assert_eq!(answer["exists"], json!(true));
    assert!(answer.get("displayName").is_none(), "{answer}");
}

#[tokio::test]
async fn what_obix_cannot_tell_names_the_missing_interface() {
    let bench = obix_only().await;
    for (tool, arguments) in [
        (
            "bqlQuery",
            json!({"query": "station:|slot:/Drivers|bql:select name from baja:Component"}),
        ),
        (
            "findComponentsByType",
            json!({"typeName": "control:NumericPoint"}),
        ),
        ("getAlarmHistory", json!({"from": "2026-10-23"})),
        (
            "getActiveAlarms",
            json!({"sourceOrdPrefix": "slot:/Drivers"}),
        ),
        ("probeOrd", json!({"ord": "h:2"})),
    ] {
        let (code, message, data) = bench.failure(tool, arguments).await;
        assert_eq!(
            (code, &data["kind"]),
            (-32603, &json!("interface-missing")),
            "{tool}: {message}"
        );
        assert!(data["needs"].is_string(), "{tool}: {data}");
    }
    let health = bench.answer("getServiceHealth", json!({})).await;
    let interfaces = &health["station"]["interfaces"];
    assert_eq!(
        (
            &interfaces["bql"]["usable"],
            &interfaces["box"]["usable"],
            &interfaces["obix"]["usable"]
        ),
        (&json!(false), &json!(false), &json!(true))
    );
    assert_eq!(
        health["station"]["timeZone"],
        json!(bench.model().zone().name())
    );
    assert!(health["station"]["version"].is_string());
}

/// The same point over everything, over tables alone and over oBIX alone.
async fn ways_to_read() -> [(&'static str, Bench); 2] {
    let tables = Bench::with_switches(|switches| {
        switches.boxs.present = false;
        switches.obix.mode = ObixMode::NoServlet;
    });
    [("tables", tables.await), ("oBIX", obix_only().await)]
}

#[tokio::test]
async fn a_point_reads_the_same_over_every_interface() {
    let whole = Bench::new().await;
    let ways = ways_to_read().await;
    let mut wrong = Vec::new();
    let all = points(&whole.model());
    for point in all {
        let arguments = json!({ "ord": ord_of(&whole.model(), point) });
        let mut expected = whole.answer("readPoint", arguments.clone()).await;
        for (way, bench) in &ways {
            let mut answer = bench.answer("readPoint", arguments.clone()).await;
            if expected["status"] == json!("{null}") {
                // oBIX sends no value beside a null status, tables print a dash.
                for answer in [&mut expected, &mut answer] {
                    let keys = answer.as_object_mut().unwrap();
                    keys.retain(|key, _| !key.starts_with("value"));
                }
            }
            if expected != answer {
                wrong.push(format!("{way}\n  {expected}\n  {answer}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn components_read_over_obix_as_over_box() {
    let whole = Bench::new().await;
    let obix = obix_only().await;
    let mut wrong = Vec::new();
    let all = points(&whole.model());
    for point in all {
        let arguments = json!({ "ord": ord_of(&whole.model(), point) });
        for tool in ["inspectComponent", "listChildren"] {
            let expected = whole.answer(tool, arguments.clone()).await;
            let answer = obix.answer(tool, arguments.clone()).await;
            if expected != answer {
                wrong.push(format!("{tool}\n  {expected}\n  {answer}"));
            }
        }
        let expected = whole.answer("getSlots", arguments.clone()).await;
        let answer = obix.answer("getSlots", arguments).await;
        assert!(
            answer["note"].as_str().unwrap().contains("oBIX"),
            "{answer}"
        );
        let expected = expected["slots"].as_array().unwrap();
        for slot in answer["slots"].as_array().unwrap() {
            let same = expected.iter().find(|known| known["name"] == slot["name"]);
            let mut same = same.unwrap_or_else(|| panic!("{slot}")).clone();
            let is_shared = same["type"].as_str().unwrap().starts_with("baja:Status");
            if !is_shared {
                // The station sends BOX no text for a slot at its default, and oBIX no type of some simple values.
                same["value"] = slot["value"].clone();
            }
            if slot.get("type").is_none() {
                same.as_object_mut().unwrap().remove("type");
            }
            if *slot != same {
                wrong.push(format!("getSlots\n  {same}\n  {slot}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
