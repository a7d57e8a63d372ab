//! The component tree as tools show it is the model's own.

use mock_station::model::display::display;
use mock_station::model::{DisplayContext, Handle, SlotContent, Station};
use serde_json::{Value, json};

use crate::support::{Bench, ord_of};

pub fn expected_node(station: &Station, handle: Handle, depth: usize) -> Value {
    let component = station.component(handle).unwrap();
    let mut node = json!({
        "name": component.name(),
        "ord": ord_of(station, handle),
        "displayName": station.display_name(handle),
        "type": component.ty().spec(),
        "isPoint": component.ty().is("control:ControlPoint"),
    });
    if depth > 0 {
        node["children"] = station
            .children(handle)
            .map(|child| expected_node(station, child.handle(), depth - 1))
            .collect();
    }
    node
}

#[tokio::test]
async fn children_to_every_depth_are_the_models_components_in_slot_order() {
    let bench = Bench::new().await;
    for (ord, depth) in [
        ("station:|slot:/", 1),
        ("station:|slot:/", 5),
        ("station:|slot:/Drivers", 3),
        ("station:|slot:/Drivers/BacnetNetwork/AHU_1/points", 2),
    ] {
        let answer = bench
            .answer("listChildren", json!({"ord": ord, "depth": depth}))
            .await;
        let station = bench.model();
        let mut expected = expected_node(&station, station.resolve_component(ord).unwrap(), depth);
        expected["ord"] = json!(ord);
        assert_eq!(answer, expected, "{ord} to depth {depth}");
    }
}

#[tokio::test]
async fn a_relative_ord_means_the_station_and_a_handle_its_component() {
    let bench = Bench::new().await;
    let path = "slot:/Drivers/BacnetNetwork";
    let handle = bench.model().resolve_component(path).unwrap();
    for ord in [
        path.to_owned(),
        format!("local:|station:|{path}"),
        format!("h:{handle}"),
    ] {
        let answer = bench.answer("listChildren", json!({"ord": ord})).await;
        assert_eq!(answer["ord"], json!(ord));
        let children = answer["children"].as_array().unwrap();
        let expected: Vec<String> = {
            let station = bench.model();
            station
                .children(handle)
                .map(|child| ord_of(&station, child.handle()))
                .collect()
        };
        assert_eq!(
            children
                .iter()
                .map(|child| child["ord"].as_str().unwrap())
                .collect::<Vec<_>>(),
            expected
        );
    }
}

#[tokio::test]
async fn components_that_are_not_there_are_named() {
    let bench = Bench::new().await;
    for tool in ["listChildren", "inspectComponent", "getSlots", "readPoint"] {
        for ord in ["station:|slot:/No/Such", "slot:/A//B", "nonsense"] {
            let (code, _, data) = bench.failure(tool, json!({"ord": ord})).await;
            assert_eq!((code, &data["ord"]), (-32006, &json!(ord)), "{tool}");
        }
    }
}

#[tokio::test]
async fn every_component_is_inspected_as_the_model_knows_it() {
    let bench = Bench::new().await;
    let handles: Vec<Handle> = {
        let station = bench.model();
        station
            .descendants(station.root())
            .map(|component| component.handle())
            .collect()
    };
    assert!(handles.len() > 30);
    for handle in handles {
        let (ord, expected) = {
            let station = bench.model();
            let component = station.component(handle).unwrap();
            let ord = ord_of(&station, handle);
            let mut expected = json!({
                "ord": ord,
                "name": component.name(),
                "displayName": station.display_name(handle),
                "type": component.ty().spec(),
                "childCount": component.children().count(),
            });
            if let Some(parent) = station.parent(handle) {
                expected["parentOrd"] = json!(ord_of(&station, parent));
            }
            (ord, expected)
        };
        assert_eq!(
            bench.answer("inspectComponent", json!({"ord": ord})).await,
            expected
        );
    }
}

#[tokio::test]
async fn all_properties_are_listed_those_at_their_default_too() {
    let bench = Bench::new().await;
    for ord in [
        "station:|slot:/Drivers/BacnetNetwork/AHU_1/points/SupplyTemp",
        "station:|slot:/Drivers/BacnetNetwork/AHU_1",
        "station:|slot:/Services/AlarmService",
        "station:|slot:/Logic",
    ] {
        let answer = bench.answer("getSlots", json!({"ord": ord})).await;
        let expected: Vec<(String, String)> = {
            let station = bench.model();
            let handle = station.resolve_component(ord).unwrap();
            station
                .slots(handle)
                .into_iter()
                .filter_map(|slot| match &slot.content {
                    SlotContent::Property(value) => {
                        Some((slot.name.to_owned(), value.type_spec().to_owned()))
                    }
                    _ => None,
                })
                .collect()
        };
        assert_eq!(answer["slotCount"], json!(expected.len()), "{ord}");
        let slots = answer["slots"].as_array().unwrap();
        let found: Vec<(String, String)> = slots
            .iter()
            .map(|slot| {
                (
                    slot["name"].as_str().unwrap().to_owned(),
                    slot["type"].as_str().unwrap_or_default().to_owned(),
                )
            })
            .collect();
        assert_eq!(found, expected, "{ord}");
    }
}

#[tokio::test]
async fn inputs_that_nobody_commands_show_as_null() {
    let bench = Bench::new().await;
    for name in ["SupplyTempSp", "FanCmd", "ModeCmd", "Note"] {
        let ord = format!("station:|slot:/Drivers/BacnetNetwork/AHU_1/points/{name}");
        let answer = bench.answer("getSlots", json!({"ord": ord})).await;
        let station = bench.model();
        let point = station.resolve_component(&ord).unwrap();
        let facets = station.facets(point);
        let mut unset = 0;
        for slot in answer["slots"].as_array().unwrap() {
            let slot_name = slot["name"].as_str().unwrap();
            let value = station.value(point, slot_name).unwrap();
            if value.as_status_value().is_some() {
                let shown = display(&value, &facets, &DisplayContext::default());
                assert_eq!(slot["value"], json!(shown), "{slot_name} of {name}");
                unset += usize::from(shown == "- {null}");
            }
            assert!(slot["value"].is_string(), "{slot_name} of {name}: {slot}");
        }
        assert!(unset >= 14, "{name}: {unset}");
    }
}

#[tokio::test]
async fn an_error_repeats_the_ord_letter_for_letter() {
    let bench = Bench::new().await;
    for tool in [
        "readPoint",
        "getSlots",
        "inspectComponent",
        "listChildren",
        "readHistory",
    ] {
        let arguments = json!({"ord": "station:|slot:/No", "from": "2026-10-01"});
        let (_, message, _) = bench.failure(tool, arguments).await;
        assert!(
            message.starts_with("station:|slot:/No"),
            "{tool}: {message}"
        );
    }
}

#[tokio::test]
async fn the_facets_of_a_point_belong_to_its_values() {
    let bench = Bench::new().await;
    let ord = "station:|slot:/Drivers/BacnetNetwork/AHU_1/points/SupplyTemp";
    let answer = bench.answer("getSlots", json!({"ord": ord})).await;
    let out = answer["slots"]
        .as_array()
        .unwrap()
        .iter()
        .find(|slot| slot["name"] == "out")
        .unwrap();
    let station = bench.model();
    let facets = station.facets(station.resolve_component(ord).unwrap());
    assert_eq!(out["facets"]["units"], json!(facets.unit().unwrap().symbol));
    assert_eq!(
        out["facets"]["precision"],
        json!(facets.precision().unwrap().to_string())
    );
}

#[tokio::test]
async fn passwords_are_never_shown() {
    let bench = Bench::start(|_| {}, |_| {}, mock_station::model::accounts::ADMIN).await;
    let users = bench
        .answer("findComponentsByType", json!({"typeName": "baja:User"}))
        .await;
    let users: Vec<String> = users["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|user| user["ord"].as_str().unwrap().to_owned())
        .collect();
    assert!(users.len() >= 5);
    for ord in users {
        let answer = bench.answer("getSlots", json!({"ord": ord})).await;
        for slot in answer["slots"].as_array().unwrap() {
            let name = slot["name"].as_str().unwrap().to_lowercase();
            let type_spec = slot["type"].as_str().unwrap_or_default().to_lowercase();
            if name.contains("password")
                || type_spec.contains("password")
                || type_spec.contains("authenticator")
            {
                assert_eq!(slot["value"], "<redacted>", "{slot}");
            }
        }
    }
}

#[tokio::test]
async fn the_overview_counts_what_lies_below_the_top() {
    let bench = Bench::new().await;
    let answer = bench.answer("getOverview", json!({})).await;
    let station = bench.model();
    let tops: Vec<_> = station.children(station.root()).collect();
    assert_eq!(answer["stationName"], json!(station.name()));
    assert_eq!(answer["topSlotCount"], json!(tops.len()));
    let expected: Vec<Value> = tops
        .iter()
        .map(|top| {
            json!({"name": top.name(), "type": top.ty().spec(), "displayName": station.display_name(top.handle())})
        })
        .collect();
    assert_eq!(answer["topSlots"], json!(expected));
    let mut counts = serde_json::Map::new();
    for child in tops.iter().flat_map(|top| station.children(top.handle())) {
        let count = counts
            .get(child.ty().spec())
            .and_then(Value::as_u64)
            .unwrap_or(0);
        counts.insert(child.ty().spec().to_owned(), json!(count + 1));
    }
    assert_eq!(answer["typeCounts"], Value::Object(counts));
}

#[tokio::test]
async fn a_probe_tells_points_extensions_and_alarm_sources() {
    let bench = Bench::new().await;
    let paths: Vec<String> = {
        let station = bench.model();
        station
            .descendants(station.root())
            .map(|component| station.slot_path(component.handle()))
            .collect()
    };
    for path in paths {
        let expected = {
            let station = bench.model();
            let handle = station.resolve_component(&path).unwrap();
            let component = station.component(handle).unwrap();
            let extensions: Vec<String> = station
                .children(handle)
                .filter(|child| child.ty().is("history:HistoryExt"))
                .map(|child| child.name().to_owned())
                .collect();
            let alarm_source = component.ty().is("alarm:AlarmSourceExt")
                || component.ty().is("alarm:IAlarmSource")
                || station
                    .children(handle)
                    .any(|child| child.ty().is("alarm:AlarmSourceExt"));
            json!({
                "exists": true,
                "type": component.ty().spec(),
                "displayName": station.display_name(handle),
                "slotCount": station.slots(handle).len(),
                "isControlPoint": component.ty().is("control:ControlPoint"),
                "isWritable": component.ty().is_writable_point(),
                "isAlarmSource": alarm_source,
                "hasHistoryExt": !extensions.is_empty(),
                "historyExtCount": extensions.len(),
                "historyExtIds": extensions,
            })
        };
        let answer = bench.answer("probeOrd", json!({"ord": path})).await;
        for (key, value) in expected.as_object().unwrap() {
            assert_eq!(&answer[key], value, "{key} of {path}");
        }
        let actions = answer["actions"].as_array().expect("names");
        let has = |name: &str| actions.contains(&json!(name));
        let is_writable = expected["isWritable"] == true;
        assert_eq!(has("auto"), is_writable, "{path}: {actions:?}");
        assert_eq!(has("save"), path == "slot:/", "{path}");
    }
}

#[tokio::test]
async fn a_bad_ord_is_an_answer_of_the_probe() {
    let bench = Bench::new().await;
    for ord in [
        "station:|slot:/No/Such",
        "nonsense",
        "slot:/A//B",
        "station:|slot:/|bql:select name",
    ] {
        let answer = bench.answer("probeOrd", json!({"ord": ord})).await;
        assert_eq!(answer["exists"], json!(false), "{ord}");
        assert!(!answer["error"].as_str().unwrap().is_empty());
    }
    let property = "station:|slot:/Drivers/BacnetNetwork/AHU_1/points/SupplyTemp/out";
    let answer = bench.answer("probeOrd", json!({"ord": property})).await;
    assert_eq!(
        (&answer["exists"], &answer["type"]),
        (&json!(true), &json!("baja:StatusNumeric"))
    );
    assert!(answer.get("displayName").is_none());
}

#[tokio::test]
async fn histories_and_the_alarm_database_are_ords_too() {
    let bench = Bench::new().await;
    for (ord, exists) in [
        ("history:/Sample/SupplyTemp", true),
        ("history:/Sample/Nothing", false),
        ("alarm:", true),
    ] {
        let answer = bench.answer("probeOrd", json!({"ord": ord})).await;
        assert_eq!(answer["exists"], json!(exists), "{answer}");
        assert!(answer.get("displayName").is_none(), "{answer}");
    }
}

#[tokio::test]
async fn a_property_is_no_component_to_list_or_inspect() {
    let bench = Bench::new().await;
    let point = "station:|slot:/Drivers/BacnetNetwork/AHU_1/points";
    let name = {
        let station = bench.model();
        let folder = station.resolve_component(point).unwrap();
        station
            .children(folder)
            .find(|child| child.ty().is("control:NumericPoint"))
            .map(|child| child.name().to_owned())
            .unwrap()
    };
    let ord = format!("{point}/{name}/out");
    for tool in ["listChildren", "inspectComponent"] {
        let (code, message, data) = bench.failure(tool, json!({"ord": ord})).await;
        assert_eq!((code, &data["ord"]), (-32006, &json!(ord)), "{tool}");
        assert_eq!(
            message,
            format!(
                "{ord} is no component but a property of type baja:StatusNumeric; choose the component that has it."
            )
        );
    }
}
