//! What `facilities`, `points` and `coverage` say of a store whose content is known.

use niagara_bridge::camber::FailureCode;
use serde_json::{Value, json};

use crate::store_yard::{StoreYard, column, equipment, stamps};

const HQ: &[&str] = &["hq"];

#[test]
fn facilities_tells_what_is_stored_of_each() {
    let yard = StoreYard::with_a_day();
    yard.append(
        "annex",
        &[equipment(
            "RTU-1",
            "RTU",
            vec![column("oat", stamps("2024-04-01", 60, 2))],
        )],
    );
    let found = yard
        .call(&["hq", "annex", "none"], "facilities", json!({}))
        .expect("an answer");
    assert_eq!(found.data["count"], 2);
    assert_eq!(
        found.data["facilities"][1],
        json!({
            "facility_id": "hq",
            "name": "hq",
            "state": "active",
            "timezone": "America/Chicago",
            "start": "2024-03-01T00:00:00",
            "end": "2024-03-01T23:45:00",
            "n_points": 4,
            "n_equipment": 2,
        })
    );
    assert!(
        found.text.contains("\"hq\" is \"active\" with 4 points"),
        "{}",
        found.text
    );
    assert!(found.banners.is_empty(), "{:?}", found.banners);
    let page = yard
        .call(
            &["hq", "annex"],
            "facilities",
            json!({"limit": 1, "offset": 1.0}),
        )
        .expect("a page");
    assert_eq!(page.data["facilities"][0]["facility_id"], "hq");
    assert_eq!(page.data["count"], 2);
    assert!(
        page.truncated && page.banners[0].contains("rows 2-2 of 2"),
        "{:?}",
        page.banners
    );
}

#[test]
fn points_are_sorted_filtered_and_counted_whole() {
    let yard = StoreYard::with_a_day();
    let found = yard
        .call(HQ, "points", json!({"facility_id": "hq"}))
        .expect("points");
    let rows: Vec<(&str, &str)> = found.data["points"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| {
            (
                row["equip"].as_str().expect("equip"),
                row["role"].as_str().expect("role"),
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("AHU-1", "cool_valve"),
            ("AHU-1", "oat"),
            ("AHU-1", "supply_air_temp"),
            ("W", "oat")
        ]
    );
    assert_eq!(
        (&found.data["count"], &found.data["n_equipment"]),
        (&json!(4), &json!(2))
    );
    let token = found.facts[0]["id"].as_str().expect("an id");
    assert!(
        token.starts_with("F1@points-") && token.len() == "F1@points-".len() + 6,
        "{token}"
    );
    assert!(
        found.text.ends_with(&format!("[{token}].")),
        "{}",
        found.text
    );
    let weather = yard
        .call(
            HQ,
            "points",
            json!({"facility_id": "hq", "equip_class": "WEATHER", "role": "oat"}),
        )
        .expect("points");
    assert_eq!(weather.data["count"], 1);
    // Each value is stored, the combination nowhere: an answer, and not an error.
    let none = yard
        .call(
            HQ,
            "points",
            json!({"facility_id": "hq", "equip": "W", "role": "cool_valve"}),
        )
        .expect("points");
    assert_eq!(none.data["points"], json!([]));
}

#[test]
fn what_is_not_stored_is_named_with_what_is() {
    let yard = StoreYard::with_a_day();
    for (capability, arguments, argument, stored) in [
        (
            "points",
            json!({"facility_id": "hq", "equip": "AHU-9"}),
            "equip",
            json!(["AHU-1", "W"]),
        ),
        (
            "points",
            json!({"facility_id": "hq", "equip_class": "VAV"}),
            "equip_class",
            json!(["AHU", "WEATHER"]),
        ),
        (
            "coverage",
            json!({"facility_id": "hq", "roles": ["oat", "co2"]}),
            "roles",
            json!(["cool_valve", "oat", "supply_air_temp"]),
        ),
        (
            "coverage",
            json!({"facility_id": "hq", "equips": ["ahu-1"]}),
            "equips",
            json!(["AHU-1", "W"]),
        ),
    ] {
        let error = yard.call(HQ, capability, arguments).expect_err("unknown");
        assert_eq!(error.code, FailureCode::NotFound, "{error}");
        assert_eq!(error.data["argument"], argument);
        assert_eq!(error.data["available"], stored);
        assert_eq!(
            error.data["unknown"].as_array().map(Vec::len),
            Some(1),
            "{error}"
        );
    }
    let error = yard
        .call(&["hq", "new"], "points", json!({"facility_id": "new"}))
        .expect_err("no data");
    assert_eq!(error.code, FailureCode::NotFound);
}

#[test]
fn coverage_has_the_worked_figures() {
    let yard = StoreYard::with_a_day();
    let window = json!({"facility_id": "hq", "start": "2024-03-01", "end": "2024-03-01T23:45"});
    let found = yard.call(HQ, "coverage", window).expect("coverage");
    let data = &found.data;
    let points: Vec<(&str, &str, f64)> = data["points"]
        .as_array()
        .expect("points")
        .iter()
        .map(|row| {
            let text = |key: &str| row[key].as_str().expect("text");
            (
                text("equip"),
                text("role"),
                row["coverage"].as_f64().expect("share"),
            )
        })
        .collect();
    assert_eq!(
        points,
        [
            ("AHU-1", "oat", 0.0417),
            ("AHU-1", "cool_valve", 0.0833),
            ("W", "oat", 0.9062),
            ("AHU-1", "supply_air_temp", 1.0)
        ]
    );
    assert_eq!(
        data["points"][2],
        json!({"equip": "W", "equip_class": "WEATHER", "role": "oat", "n_samples": 87,
            "first": "2024-03-01T00:00:00", "last": "2024-03-01T23:45:00", "interval_minutes": 15.0,
            "coverage": 0.9062, "n_gaps": 1, "longest_gap_hours": 2.25})
    );
    assert_eq!(
        data["window"],
        json!({"start": "2024-03-01T00:00:00", "end": "2024-03-01T23:45:00"})
    );
    assert_eq!(data["coverage"], 0.5078);
    assert_eq!(data["n_points"], 4);
    assert_eq!(data["equipment"][0]["coverage"], 0.375);
    assert_eq!(data["equipment"][0]["worst_role"], "oat");
    assert_eq!(
        data["gaps"][0],
        json!({"equip": "AHU-1", "role": "oat", "start": "2024-03-01T01:00:00",
            "end": "2024-03-01T23:45:00", "hours": 22.75})
    );
    assert_eq!(found.facts[0]["value"], 50.8);
    assert!(found.text.contains("50.8 %"), "{}", found.text);
    assert!(
        found.text.contains("\"AHU-1\" covers 37.5 %"),
        "{}",
        found.text
    );
}

/// Sums of floats depend on their order. CAMBER 0.110 tells these means of these very series, to the last digit.
#[test]
fn means_are_summed_in_the_order_of_the_reference() {
    const ROLES: [&str; 8] = [
        "co2",
        "cool_valve",
        "heat_valve",
        "oat",
        "power",
        "return_air_temp",
        "space_temp",
        "supply_air_temp",
    ];
    let yard = StoreYard::new();
    let rows = [
        ("A", [46, 11, 42, 48, 42, 64, 92, 43]),
        ("B", [26, 64, 63, 93, 25, 10, 35, 5]),
        ("C", [98, 48, 54, 5, 73, 56, 49, 51]),
    ]
    .map(|(equip, hours)| {
        let columns = ROLES.iter().zip(hours);
        let columns = columns.map(|(role, hours)| column(role, stamps("2024-03-01", 60, hours)));
        equipment(equip, "AHU", columns.collect())
    });
    yard.append("hq", &rows);
    let window = json!({"facility_id": "hq", "start": "2024-03-01", "end": "2024-03-05T03:00"});
    let found = yard.call(HQ, "coverage", window).expect("coverage");
    let means: Vec<(&Value, &Value)> = found.data["equipment"]
        .as_array()
        .expect("equipment")
        .iter()
        .map(|row| (&row["equip"], &row["coverage"]))
        .collect();
    // Role by role; from the worst on, B would have 0.4013.
    assert_eq!(
        means,
        [
            (&json!("B"), &json!(0.4012)),
            (&json!("A"), &json!(0.485)),
            (&json!("C"), &json!(0.5425))
        ]
    );
    // From the worst on; role by role it would be 0.4763.
    assert_eq!(found.data["coverage"], 0.4762);
}

#[test]
fn coverage_of_equipment_lists_no_points_and_long_gaps_only() {
    let yard = StoreYard::with_a_day();
    let arguments = json!({"facility_id": "hq", "group_by": "equip", "min_gap_hours": 2, "start": "2024-03-01",
        "end": "2024-03-01T23:45", "equips": ["W"]});
    let found = yard.call(HQ, "coverage", arguments).expect("coverage");
    assert_eq!(found.data["points"], json!([]));
    assert_eq!(found.data["n_points"], 1);
    let gaps = found.data["gaps"].as_array().expect("gaps");
    assert_eq!(gaps.len(), 1);
    assert_eq!(gaps[0]["start"], "2024-03-01T04:45:00");
}

#[test]
fn an_empty_window_is_answered_with_a_notice() {
    let yard = StoreYard::with_a_day();
    for (arguments, window) in [
        (
            json!({"start": "2025-01-01", "end": "2025-01-02"}),
            json!({"start": "2025-01-01T00:00:00", "end": "2025-01-02T00:00:00"}),
        ),
        (
            json!({"end": "2023-01-01"}),
            json!({"start": null, "end": "2023-01-01T00:00:00"}),
        ),
        (
            json!({"start": "2025-01-01"}),
            json!({"start": "2025-01-01T00:00:00", "end": "2025-01-01T00:00:00"}),
        ),
    ] {
        let mut asked = arguments.clone();
        asked["facility_id"] = json!("hq");
        let found = yard.call(HQ, "coverage", asked).expect("coverage");
        assert_eq!(found.data["window"], window, "{arguments}");
        assert_eq!(found.data["coverage"], 0.0);
        assert!(
            found
                .banners
                .iter()
                .any(|banner| banner.contains("no stored sample"))
        );
        let gaps = found.data["gaps"].as_array().map_or(0, Vec::len);
        assert_eq!(
            gaps,
            if window["start"] == Value::Null { 0 } else { 4 },
            "{arguments}"
        );
    }
}

#[test]
fn a_window_that_makes_no_sense_is_refused_before_anything_is_read() {
    let yard = StoreYard::new();
    for arguments in [
        json!({"facility_id": "hq", "start": "2024-03-02", "end": "2024-03-01"}),
        json!({"facility_id": "hq", "start": "2024-13-01"}),
        json!({"facility_id": "hq", "end": "2024-02-30T00:00"}),
    ] {
        let error = yard.call(HQ, "coverage", arguments).expect_err("no window");
        assert_eq!(error.code, FailureCode::InvalidParams, "{error}");
    }
    std::fs::create_dir(yard.root().join("facility_id=hq")).expect("a folder");
    let found = yard
        .call(HQ, "coverage", json!({"facility_id": "hq"}))
        .expect("an empty facility");
    assert_eq!(found.data["window"], json!({"start": null, "end": null}));
    assert_eq!(found.data["n_points"], 0);
}

#[test]
fn long_lists_come_in_pages_and_counts_are_whole() {
    let yard = StoreYard::new();
    let rows: Vec<_> = (0..60)
        .map(|number| {
            equipment(
                &format!("VAV-{number:02}"),
                "VAV",
                vec![column("co2", stamps("2024-03-01", 60, 3 + number))],
            )
        })
        .collect();
    yard.append("hq", &rows);
    let found = yard
        .call(HQ, "coverage", json!({"facility_id": "hq"}))
        .expect("coverage");
    assert_eq!(found.data["points"].as_array().map(Vec::len), Some(50));
    assert_eq!(found.data["n_points"], 60);
    assert_eq!(found.data["points"][0]["equip"], "VAV-00");
    assert!(found.truncated);
    assert_eq!(found.banners.len(), 3, "{:?}", found.banners);
    assert!(found.banners[0].starts_with("'equipment' shows rows 1-50 of 60 (worst first)"));
    let rest = yard
        .call(HQ, "coverage", json!({"facility_id": "hq", "offset": 50}))
        .expect("coverage");
    assert_eq!(rest.data["points"].as_array().map(Vec::len), Some(10));
    assert_ne!(
        rest.facts[0]["id"], found.facts[0]["id"],
        "two calls are told apart"
    );
}
