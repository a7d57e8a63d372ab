//! suggestMapping as a client calls it: pages, interfaces, histories, what is mapped already.

use mock_station::site::SiteName;
use mock_station::switches::{MachineMode, Switches};
use serde_json::{Value, json};

use super::{all_equipment, bench};

#[tokio::test]
async fn what_is_mapped_is_left_out_and_nothing_is_written() {
    let bench = bench(SiteName::Harborview, |_| {}).await;
    let floor = "station:|slot:/Drivers/BacnetNetwork/$32nd$20Floor$20VAVs";
    let before = bench.answer("suggestMapping", json!({"ord": floor})).await;
    assert_eq!(
        (&before["equipmentCount"], &before["mappedCount"]),
        (&json!(8), &json!(0))
    );
    assert_eq!(before["types"], "standard");
    let hint = before["hint"].as_str().expect("what to do first");
    assert!(
        hint.contains("importKnowledge") && hint.contains("'standard'"),
        "{hint}"
    );
    let first = &before["equipment"][0];
    assert_eq!(
        (&first["id"], &first["type"]),
        (&json!("vav-2-01"), &json!("vav"))
    );
    assert!(
        !bench.knowledge.path().exists(),
        "a suggestion writes nothing"
    );

    bench
        .answer("importKnowledge", json!({"source": "standard"}))
        .await;
    let mut points = json!({});
    for point in first["points"].as_array().unwrap() {
        if let Some(role) = point["role"].as_str() {
            points[role] = point["ord"].clone();
        }
    }
    let entry = json!({"id": first["id"], "name": first["name"], "type": first["type"], "ord": first["ord"], "points": points});
    bench.answer("createEquipment", entry).await;
    let after = bench.answer("suggestMapping", json!({"ord": floor})).await;
    assert_eq!(
        (&after["types"], &after["hint"]),
        (&json!("model"), &Value::Null)
    );
    assert_eq!(
        after["mappedCount"],
        json!(points.as_object().unwrap().len())
    );
    let neighbour = after["equipment"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["id"] == "vav-2-02")
        .expect("the neighbour");
    let learned = neighbour["points"].as_array().unwrap().iter().any(|point| {
        let reasons = point["reasons"].to_string();
        reasons.contains("1 mapped unit") && point["confidence"].as_f64() >= Some(0.9)
    });
    assert!(learned, "{neighbour}");

    let all = json!({"ord": floor, "includeMapped": true});
    let all = bench.answer("suggestMapping", all).await;
    assert_eq!(all["equipment"][0]["mappedAs"], "vav-2-01");
    assert_eq!(
        all["equipment"][0]["points"][0]["mappedEquipment"],
        "vav-2-01"
    );
}

#[tokio::test]
async fn hundreds_of_points_take_one_query_and_come_in_pages() {
    let bench = bench(SiteName::Harborview, |_| {}).await;
    let arguments = json!({"ord": "slot:/Drivers", "limit": 20});
    bench.answer("suggestMapping", arguments.clone()).await;
    let before = bench.mock.requests().len();
    let page = bench.answer("suggestMapping", arguments.clone()).await;
    assert_eq!(bench.mock.requests().len() - before, 1);
    assert!(page["pointCount"].as_u64() > Some(500));
    assert_eq!(
        (&page["count"], &page["nextOffset"]),
        (&json!(20), &json!(20))
    );
    let paged = all_equipment(&bench, arguments).await;
    let whole = json!({"ord": "slot:/Drivers", "limit": 200});
    assert_eq!(paged, all_equipment(&bench, whole).await);
}

#[tokio::test]
async fn every_interface_leads_to_the_same_roles() {
    let mut first: Option<Vec<(String, Value)>> = None;
    let ways: [fn(&mut Switches); 4] = [
        |_| {},
        |switches| switches.export.csv_exporter = false,
        |switches| {
            switches.export.machine_mode = MachineMode::Refused;
            switches.boxs.present = false;
        },
        |switches| {
            switches.boxs.present = false;
            switches.export.csv_exporter = false;
        },
    ];
    for way in ways {
        let bench = bench(SiteName::Lakeside, way).await;
        let arguments = json!({"ord": "slot:/Drivers/BACnet_Anlagen/L$fcftung", "limit": 200});
        let mut roles: Vec<(String, Value)> = all_equipment(&bench, arguments)
            .await
            .iter()
            .flat_map(|equipment| equipment["points"].as_array().unwrap().clone())
            .map(|point| {
                (
                    point["ord"].as_str().unwrap().to_owned(),
                    point["role"].clone(),
                )
            })
            .collect();
        roles.sort_by(|one, two| one.0.cmp(&two.0));
        assert!(roles.len() > 80);
        match &first {
            Some(first) => assert_eq!(*first, roles),
            None => first = Some(roles),
        }
    }
}

#[tokio::test]
async fn a_day_of_history_helps_where_the_name_leaves_doubt() {
    let bench = bench(SiteName::Lakeside, |_| {}).await;
    let plant = "slot:/Drivers/Modbus$20TCP/SPS$20Heizzentrale";
    let plain = all_equipment(&bench, json!({"ord": plant})).await;
    let arguments = json!({"ord": plant, "useHistory": true});
    let answer = bench.answer("suggestMapping", arguments).await;
    assert!(
        answer["historiesRead"].as_u64() > Some(0),
        "{}",
        answer["historiesRead"]
    );
    let text = answer["equipment"].to_string();
    assert!(text.contains("values of the last day"), "{text}");
    let roles = |equipment: &[Value]| -> Vec<Value> {
        equipment
            .iter()
            .flat_map(|one| one["points"].as_array().unwrap().clone())
            .map(|point| point["role"].clone())
            .collect()
    };
    assert_eq!(
        roles(&plain).len(),
        roles(answer["equipment"].as_array().unwrap()).len()
    );
}

#[tokio::test]
async fn a_component_that_is_not_there_is_named() {
    let bench = bench(SiteName::Harborview, |_| {}).await;
    let arguments = json!({"ord": "slot:/Drivers/Nowhere"});
    let (code, message, data) = bench.failure("suggestMapping", arguments).await;
    assert_eq!(
        (code, &data["ord"]),
        (-32006, &json!("slot:/Drivers/Nowhere")),
        "{message}"
    );
}
