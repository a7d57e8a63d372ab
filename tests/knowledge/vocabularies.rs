//! The model in the vocabularies of others, where no station answers.

use niagara_bridge::knowledge::{DocumentFormat, demo_model};
use serde_json::{Value, json};

use crate::desk::Desk;

#[tokio::test]
async fn without_a_station_the_export_says_what_is_missing() {
    let model = demo_model::harborview().unwrap();
    let desk = Desk::holding(&model.to_text("demo", DocumentFormat::Yaml).unwrap());
    for format in ["haystack", "brick"] {
        let answer = desk
            .answer("exportKnowledge", json!({"format": format}))
            .await;
        assert_eq!(
            answer["warnings"],
            json!(["Units and states are missing: There is no station here."])
        );
        assert_eq!(answer["describedPoints"], json!(0));
    }
    let answer = desk
        .answer("exportKnowledge", json!({"format": "haystack"}))
        .await;
    let content = answer["content"].as_str().unwrap();
    assert_eq!(answer["size"], json!(content.chars().count()));
    let grid: Value = serde_json::from_str(content).unwrap();
    let rows = grid["rows"].as_array().unwrap();
    let point = rows
        .iter()
        .find(|row| row["id"]["val"] == "point.ahu-1.supply_air_temp")
        .unwrap();
    assert_eq!(
        (&point["kind"], &point["unit"]),
        (&json!("Number"), &Value::Null)
    );

    let plain = desk
        .answer("exportKnowledge", json!({"format": "yaml"}))
        .await;
    assert!(plain.get("warnings").is_none() && plain.get("describedPoints").is_none());
}
