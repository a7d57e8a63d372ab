//! An analyst asks how far the sensors of a building can be trusted, and what that means for the findings on it.

use std::collections::BTreeMap;

use niagara_bridge::camber::run_config::RunConfigs;
use niagara_bridge::camber::{
    CallerPolicy, CapabilityError, CapabilityRegistry, CapabilityResult, FailureCode,
};
use niagara_bridge::trends::store::wall_clock::{MINUTE, parse_bound};
use niagara_bridge::trends::store::{EquipmentRows, RoleColumn};
use serde_json::{Map, Value, json};

use super::store_yard::{StoreYard, equipment, watch};

/// Quarters of an hour over two weeks from Monday 2024-03-04, by hour of the day and number of the sample.
fn trend(role: &str, value: impl Fn(i64, i64) -> f64) -> RoleColumn {
    let start = parse_bound("2024-03-04").unwrap();
    let (stamps, values) = (0..14 * 96)
        .map(|place| (start + place * 15 * MINUTE, value(place / 4 % 24, place)))
        .unzip();
    RoleColumn {
        role: role.to_owned(),
        stamps,
        values,
    }
}

/// A little noise that is the same in every run.
fn noise(place: i64) -> f64 {
    f64::from(u32::try_from(place * 7919 % 101).unwrap()) / 100.0 - 0.5
}

fn supply_air(place: i64) -> f64 {
    55.0 + noise(place) + 0.5 * noise(place / 40)
}

fn fan(hour: i64) -> f64 {
    f64::from(u8::from((7..18).contains(&hour)))
}

/// AHU-1 with a supply sensor 3 °F above the duct logger, VAV-1 whose space temperature holds still for 50 hours, VAV-2 whose
/// space temperature is a code for "no sensor" most of the time, and the weather.
fn building() -> Vec<EquipmentRows> {
    let room = |place: i64| 71.0 + 2.0 * noise(place) + noise(place / 4);
    vec![
        equipment(
            "AHU-1",
            "AHU",
            vec![
                trend("supply_air_temp", |_, place| supply_air(place) + 3.0),
                trend("supply_air_temp_sp", |_, place| 55.0 + 0.2 * noise(place)),
                trend("supply_fan_status", |hour, _| fan(hour)),
            ],
        ),
        equipment(
            "LOGGER",
            "METER",
            vec![trend("supply_air_temp", |_, place| supply_air(place))],
        ),
        equipment(
            "VAV-1",
            "VAV",
            vec![
                trend("space_temp", |_, place| {
                    room(if (400..600).contains(&place) {
                        400
                    } else {
                        place
                    })
                }),
                trend("cool_sp", |_, _| 74.0),
                trend("heat_sp", |_, _| 70.0),
            ],
        ),
        equipment(
            "VAV-2",
            "VAV",
            vec![
                trend(
                    "space_temp",
                    |hour, place| if hour < 16 { -999.0 } else { room(place) },
                ),
                trend("cool_sp", |_, _| 74.0),
                trend("heat_sp", |_, _| 70.0),
            ],
        ),
        equipment(
            "WX",
            "WEATHER",
            vec![trend("oat", |hour, place| {
                50.0 + f64::from(u32::try_from(hour).unwrap()) / 2.0 + noise(place)
            })],
        ),
    ]
}

fn yard() -> StoreYard {
    let yard = StoreYard::new();
    yard.append("hq", &building());
    yard
}

fn call(yard: &StoreYard, name: &str, more: Value) -> Result<CapabilityResult, CapabilityError> {
    let mut arguments = more;
    arguments["facility_id"] = json!("hq");
    yard.call(&["hq"], name, arguments)
}

/// The rows by equipment and role.
fn rows(data: &Map<String, Value>) -> BTreeMap<(String, String), Value> {
    let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    let keyed = |row: &Value| ((text(row, "equip"), text(row, "role")), row.clone());
    data["points"]
        .as_array()
        .unwrap()
        .iter()
        .map(keyed)
        .collect()
}

fn row(data: &Map<String, Value>, equip: &str, role: &str) -> Value {
    rows(data)
        .remove(&(equip.to_owned(), role.to_owned()))
        .unwrap_or_else(|| panic!("{equip} {role} is not among {:?}", data["points"]))
}

/// A run configuration beside the store, with comparisons.
fn call_with_references(
    yard: &StoreYard,
    references: Value,
    name: &str,
    more: Value,
) -> CapabilityResult {
    let config = json!({
        "source": {"kind": "store", "store": yard.root(), "facility_id": "hq"},
        "equipment": [{"class": "AHU"}, {"class": "VAV"}],
        "rules": ["supply_air_control"],
        "shared_oat": {"equip": "WX"},
        "report": {"rcx": {"references": references}},
    });
    let file = yard.root().with_file_name("hq.json");
    std::fs::write(&file, config.to_string()).unwrap();
    let configs = RunConfigs::read(&[file]).unwrap();
    let mut arguments = more;
    arguments["facility_id"] = json!("hq");
    CapabilityRegistry::built_in()
        .unwrap()
        .call(
            name,
            arguments,
            &yard.workspace().with_run_configs(configs),
            &CallerPolicy::of(["hq"]),
            &watch(),
        )
        .unwrap()
}

#[test]
fn the_least_trusted_point_comes_first_and_says_why() {
    let answer = call(&yard(), "sensor_trust", json!({})).unwrap();
    let data = &answer.data;
    assert_eq!(
        (&data["view"], &data["min_trust"], &data["n_points"]),
        (&json!("rules"), &json!(0.5), &json!(11))
    );
    let worst = &data["points"][0];
    assert_eq!(
        (&worst["equip"], &worst["role"]),
        (&json!("VAV-2"), &json!("space_temp"))
    );
    assert_eq!(worst["verdict"], "untrusted");
    assert_eq!(worst["below_floor"], true);
    // 16 of 24 hours.
    assert_eq!(worst["range_violation_frac"], 0.6667);
    let held = row(data, "VAV-1", "space_temp");
    assert_eq!(held["verdict"], "suspect");
    assert_eq!(held["flags"], json!(["stuck"]));
    assert_eq!(
        (&held["longest_flat_hours"], &held["n_stuck_intervals"]),
        (&json!(50.0), &json!(1))
    );
    assert_eq!(held["trust"], 0.75);
    let counts = &data["counts"];
    assert_eq!(
        (&counts["untrusted"], &counts["below_floor"]),
        (&json!(1), &json!(1))
    );
    assert!(
        answer
            .text
            .starts_with("11 points of \"hq\" were judged for rules:"),
        "{}",
        answer.text
    );
    assert!(
        answer
            .text
            .contains("\"VAV-2\" space_temp scores 0.00 (untrusted) [F2@sensor_trust-")
    );
    let reason = answer.facts[1]["text"].as_str().unwrap();
    assert!(
        reason.contains("out_of_range") && reason.contains("coverage 100 %"),
        "{reason}"
    );
    assert!(
        answer
            .banners
            .iter()
            .any(|notice| notice.contains("1 point is below the trust floor of 0.5"))
    );
}

#[test]
fn a_caller_may_ask_for_a_higher_floor_and_never_for_a_lower_one() {
    let yard = yard();
    let high = call(&yard, "sensor_trust", json!({"min_trust": 0.78})).unwrap();
    assert_eq!(
        (&high.data["min_trust"], &high.data["counts"]["below_floor"]),
        (&json!(0.78), &json!(2))
    );
    let low = call(&yard, "sensor_trust", json!({"min_trust": 0.0})).unwrap();
    assert_eq!(low.data["min_trust"], 0.5);
}

#[test]
fn a_narrower_answer_has_the_same_scores() {
    let yard = yard();
    let all = rows(&call(&yard, "sensor_trust", json!({})).unwrap().data);
    let some = call(
        &yard,
        "sensor_trust",
        json!({"equips": ["VAV-1", "AHU-1"], "roles": ["space_temp", "supply_air_temp"]}),
    )
    .unwrap();
    let some = rows(&some.data);
    let keys: Vec<_> = some
        .keys()
        .map(|(equip, role)| (equip.as_str(), role.as_str()))
        .collect();
    assert_eq!(
        keys,
        [("AHU-1", "supply_air_temp"), ("VAV-1", "space_temp")]
    );
    for (key, row) in &some {
        assert_eq!(row, &all[key]);
    }
    let page = call(&yard, "sensor_trust", json!({"limit": 2, "offset": 1})).unwrap();
    assert!(
        page.truncated
            && page
                .banners
                .iter()
                .any(|notice| notice.contains("rows 2-3 of 11 (least trusted first)"))
    );
    assert_eq!(
        page.data["counts"],
        call(&yard, "sensor_trust", json!({})).unwrap().data["counts"]
    );
}

#[test]
fn a_check_declines_exactly_when_its_input_is_below_the_floor() {
    let yard = yard();
    let trust = rows(&call(&yard, "sensor_trust", json!({})).unwrap().data);
    let run = call(
        &yard,
        "rule_run",
        json!({"rules": ["unmet_setpoint_hours"], "min_severity": "ok"}),
    )
    .unwrap();
    for equip in ["VAV-1", "VAV-2"] {
        let finding = run.data["findings"]
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["equip"] == equip)
            .unwrap();
        let space = &trust[&(equip.to_owned(), "space_temp".to_owned())];
        let declined = finding["metrics"]["declined"] == json!(true);
        assert_eq!(json!(declined), space["below_floor"], "{equip}: {finding}");
    }
}

#[test]
fn the_report_judges_duct_sensors_while_the_fan_runs() {
    let yard = StoreYard::new();
    yard.append(
        "hq",
        &[equipment(
            "AHU-1",
            "AHU",
            vec![
                // Warm and still by night, as the fan is off.
                trend("supply_air_temp", |hour, place| {
                    if fan(hour) > 0.5 {
                        supply_air(place)
                    } else {
                        72.0
                    }
                }),
                trend("supply_fan_status", |hour, _| fan(hour)),
            ],
        )],
    );
    let of = |view: &str| {
        let answer = call(&yard, "sensor_trust", json!({"view": view})).unwrap();
        row(&answer.data, "AHU-1", "supply_air_temp")
    };
    let (rules, report) = (of("rules"), of("report"));
    assert_eq!(rules["longest_flat_hours"], json!(null));
    assert_eq!(report["longest_flat_hours"], json!(1.0));
    assert!(
        report["trust"].as_f64() > rules["trust"].as_f64(),
        "{report} {rules}"
    );
}

#[test]
fn what_is_not_stored_is_not_found() {
    let yard = yard();
    for (more, argument) in [
        (json!({"equips": ["VAV-9"]}), "equips"),
        (json!({"roles": ["co2"]}), "roles"),
        (json!({"start": "2025-01-01"}), "start"),
    ] {
        let error = call(&yard, "sensor_trust", more).unwrap_err();
        assert_eq!(error.code, FailureCode::NotFound, "{}", error.message);
        assert_eq!(error.data["argument"], argument);
    }
}

#[test]
fn a_sensor_that_reads_high_is_suspect_and_findings_on_it_are_conditional() {
    let yard = yard();
    let references = json!({"AHU-1": {"supply_air_temp": {"equip": "LOGGER"}}});
    let trust = call_with_references(&yard, references.clone(), "sensor_trust", json!({}));
    let point = row(&trust.data, "AHU-1", "supply_air_temp");
    assert_eq!(
        (&point["verdict"], &point["below_floor"]),
        (&json!("suspect"), &json!(false))
    );
    assert!(
        point["flags"]
            .as_array()
            .unwrap()
            .contains(&json!("reference_warn"))
    );
    assert!(point["trust"].as_f64().unwrap() > 0.8);
    let compared = &trust.data["references"][0];
    assert_eq!(
        (&compared["bias"], &compared["bias_sign"]),
        (&json!(3.0), &json!("reads high"))
    );
    assert_eq!(
        (&compared["samples"], &compared["severity"]),
        (&json!(336), &json!("warn"))
    );
    assert_eq!(compared["overlap"]["start"], "2024-03-04T00:00:00");
    let cited = trust
        .facts
        .iter()
        .find(|fact| fact["kind"] == "reference")
        .unwrap();
    assert!(
        cited["id"]
            .as_str()
            .unwrap()
            .starts_with("R1@sensor_trust-")
    );
    assert!(
        trust.text.contains("bias 3 (reads high), RMSE 3"),
        "{}",
        trust.text
    );

    let run = call_with_references(&yard, references.clone(), "rule_run", json!({}));
    let finding = &run.data["findings"][0];
    assert_eq!(finding["finding_id"], "supply_air_control@AHU-1");
    assert_eq!(finding["conditional_on"][0]["kind"], "sensor_drift");
    assert_eq!(finding["conditional_on"][0]["role"], "supply_air_temp");
    let fact = run
        .facts
        .iter()
        .find(|fact| fact["id"] == finding["fact"])
        .unwrap();
    assert!(
        fact["text"]
            .as_str()
            .unwrap()
            .ends_with("conditional on sensor_drift:supply_air_temp warn"),
        "{fact:?}"
    );
    assert!(run.banners.iter().any(
        |notice| notice.starts_with("1 listed finding is conditional")
            && notice.contains("sensor problem first")
    ));
    assert!(
        !run.facts
            .iter()
            .any(|fact| fact["kind"] == "conditional_findings")
    );

    let later = call_with_references(&yard, references.clone(), "rule_run", json!({"offset": 5}));
    let elsewhere = later
        .facts
        .iter()
        .find(|fact| fact["kind"] == "conditional_findings")
        .unwrap();
    assert!(
        elsewhere["id"]
            .as_str()
            .unwrap()
            .starts_with("C1@rule_run-")
    );
    assert_eq!(
        elsewhere["finding_ids"],
        json!(["supply_air_control@AHU-1"])
    );

    let detail = call_with_references(
        &yard,
        references,
        "finding_detail",
        json!({"finding_id": "supply_air_control@AHU-1"}),
    );
    assert!(detail.data["finding"]["conditional_on"].is_array());
    assert!(
        detail
            .banners
            .iter()
            .any(|notice| notice.contains("sensor problem first"))
    );
}

#[test]
fn a_sensor_that_agrees_is_told_too_and_one_that_cannot_be_compared_is_a_notice() {
    let yard = yard();
    let references = json!({
        "AHU-1": {"supply_air_temp": {"equip": "LOGGER", "bias_warn": 4.0}},
        "VAV-1": {"co2": {"equip": "LOGGER", "role": "supply_air_temp"}},
    });
    let trust = call_with_references(&yard, references.clone(), "sensor_trust", json!({}));
    assert_eq!(trust.data["references"].as_array().unwrap().len(), 1);
    assert_eq!(trust.data["references"][0]["severity"], "ok");
    assert_eq!(
        trust.data["references"][0]["verdict"],
        "tracks LOGGER supply_air_temp"
    );
    assert_eq!(
        row(&trust.data, "AHU-1", "supply_air_temp")["verdict"],
        "trusted"
    );
    let is_told = |notice: &String| notice.starts_with("\"VAV-1\" co2 was not compared");
    assert!(trust.banners.iter().any(is_told), "{:?}", trust.banners);
    let run = call_with_references(&yard, references, "rule_run", json!({}));
    assert!(run.banners.iter().any(is_told), "{:?}", run.banners);
    assert!(
        run.data["findings"]
            .as_array()
            .unwrap()
            .iter()
            .all(|row| row.get("conditional_on").is_none())
    );
}
