//! An analyst lets the rules run over stored trends, and asks for the evidence of a finding.

use niagara_bridge::camber::FailureCode;
use niagara_bridge::trends::store::wall_clock::{HOUR, MINUTE, parse_bound};
use niagara_bridge::trends::store::{EquipmentRows, RoleColumn};
use serde_json::{Value, json};

use super::store_yard::{StoreYard, equipment};

/// Samples every quarter of an hour over two weeks from Monday 2024-03-04, by hour of the day and number of the sample.
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

fn day(hour: i64) -> bool {
    (7..18).contains(&hour)
}

/// AHU-1 is 4 °F too warm at 13:00 and 14:00, AHU-2 holds its setpoint, and WX is the weather.
fn building() -> Vec<EquipmentRows> {
    let fan = || trend("supply_fan_status", |hour, _| f64::from(day(hour)));
    let setpoint = || {
        trend("supply_air_temp_sp", |_, place| {
            55.0 + f64::from(u8::from(place % 8 < 4)) * 0.2
        })
    };
    vec![
        equipment(
            "AHU-1",
            "AHU",
            vec![
                trend("supply_air_temp", |hour, place| {
                    55.0 + noise(place) + if (13..15).contains(&hour) { 4.0 } else { 0.0 }
                }),
                setpoint(),
                fan(),
            ],
        ),
        equipment(
            "AHU-2",
            "AHU",
            vec![
                trend("supply_air_temp", |_, place| 55.0 + noise(place)),
                setpoint(),
                fan(),
            ],
        ),
        equipment(
            "WX",
            "WEATHER",
            vec![trend("oat", |hour, place| {
                50.0 + f64::from(u32::try_from(hour).unwrap()) + noise(place)
            })],
        ),
    ]
}

fn yard() -> StoreYard {
    let yard = StoreYard::new();
    yard.append("hq", &building());
    yard
}

fn found<'a>(data: &'a serde_json::Map<String, Value>, id: &str) -> &'a Value {
    data["findings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["finding_id"] == id)
        .unwrap_or_else(|| panic!("{id} is not among {:?}", data["findings"]))
}

#[test]
fn the_worst_finding_comes_first_with_its_figures_and_fact() {
    let yard = yard();
    let answer = yard
        .call(
            &["hq"],
            "rule_run",
            json!({"facility_id": "hq", "rules": ["supply_air_control"], "min_severity": "ok"}),
        )
        .unwrap();
    let data = &answer.data;
    assert_eq!(
        data["counts"],
        json!({"fault": 0, "warn": 1, "info": 0, "ok": 1})
    );
    assert_eq!(data["n_equipment"], 3);
    assert_eq!(data["from_config"], false);
    assert_eq!(data["window"], json!({"start": null, "end": null}));
    let worst = &data["findings"][0];
    assert_eq!(worst["finding_id"], "supply_air_control@AHU-1");
    assert_eq!(worst["severity"], "warn");
    // 2 of 11 hours with the fan on.
    assert_eq!(worst["metrics"]["off_setpoint_pct"], 18.18);
    assert_eq!(worst["metrics"]["n_running"], 154);
    let fact = answer
        .facts
        .iter()
        .find(|fact| fact["id"] == worst["fact"])
        .unwrap();
    assert_eq!(fact["value"], "warn");
    assert_eq!(fact["metrics"]["off_setpoint_pct"], 18.18);
    assert!(answer.text.contains("\"AHU-1\" supply_air_control (warn)"));
    assert!(answer.text.contains("1 rule ran on 3 pieces of equipment"));
    assert!(
        answer
            .banners
            .iter()
            .any(|notice| notice.contains("no run configuration"))
    );
}

#[test]
fn parameters_of_a_call_change_its_verdict_and_wrong_ones_are_refused() {
    let yard = yard();
    let run = |params: Value| {
        yard.call(
            &["hq"],
            "rule_run",
            json!({"facility_id": "hq", "rules": ["supply_air_control"], "params": params,
                "min_severity": "ok"}),
        )
    };
    let wide = run(json!({"supply_air_control": {"tol_F": 5.0}})).unwrap();
    let finding = found(&wide.data, "supply_air_control@AHU-1");
    assert_eq!(finding["severity"], "ok");
    assert_eq!(finding["metrics"]["off_setpoint_pct"], 0.0);
    for (params, told) in [
        (
            json!({"supply_air_control": {"tolerance": 1}}),
            "no parameter \"tolerance\"",
        ),
        (
            json!({"supply_air_control": {"tol_F": "wide"}}),
            "must be a number",
        ),
        (json!({"supply_air_reset": {}}), "not among those that run"),
        (json!({"no_rule": {}}), "there is no rule"),
    ] {
        let error = run(params).unwrap_err();
        assert_eq!(error.code, FailureCode::InvalidParams);
        assert!(error.message.contains(told), "{}", error.message);
    }
}

#[test]
fn a_selection_that_matches_nothing_is_not_found() {
    let yard = yard();
    let run = |more: Value| {
        let mut arguments = more;
        arguments["facility_id"] = json!("hq");
        yard.call(&["hq"], "rule_run", arguments).unwrap_err()
    };
    let unknown = run(json!({"equips": ["AHU-9"]}));
    assert_eq!(unknown.code, FailureCode::NotFound);
    assert_eq!(unknown.data["unknown"], json!(["AHU-9"]));
    let late = run(json!({"start": "2025-01-01"}));
    assert_eq!(late.code, FailureCode::NotFound);
    assert_eq!(
        (
            &late.data["argument"],
            &late.data["first"],
            &late.data["last"]
        ),
        (
            &json!("start"),
            &json!("2024-03-04T00:00:00"),
            &json!("2024-03-17T23:45:00")
        )
    );
    let early = run(json!({"end": "2020-01-01"}));
    assert_eq!(early.data["argument"], "end");
    let wrong = run(json!({"start": "2024-03-05", "end": "2024-03-04"}));
    assert_eq!(wrong.code, FailureCode::InvalidParams);
}

#[test]
fn a_narrower_run_judges_only_what_it_was_asked_for() {
    let yard = yard();
    let answer = yard
        .call(
            &["hq"],
            "rule_run",
            json!({"facility_id": "hq", "rules": ["supply_air_control"], "equips": ["AHU-1"],
                "start": "2024-03-04", "end": "2024-03-04T23:59:59", "min_severity": "ok"}),
        )
        .unwrap();
    assert_eq!(answer.data["n_equipment"], 1);
    let finding = found(&answer.data, "supply_air_control@AHU-1");
    assert_eq!(finding["metrics"]["n_running"], 11);
    assert_eq!(answer.data["window"]["start"], "2024-03-04T00:00:00");
}

#[test]
fn an_untrusted_input_declines_the_check_and_that_is_told() {
    let yard = yard();
    let mut rows = building();
    // A supply air sensor that hangs for all time.
    rows[0].equip = "AHU-3".to_owned();
    for value in &mut rows[0].columns[0].values {
        *value = 61.0;
    }
    yard.append("hq", &rows[..1]);
    let answer = yard
        .call(
            &["hq"],
            "rule_run",
            json!({"facility_id": "hq", "rules": ["supply_air_control"]}),
        )
        .unwrap();
    let declined = found(&answer.data, "supply_air_control@AHU-3");
    assert_eq!(declined["severity"], "info");
    assert_eq!(declined["metrics"]["declined"], true);
    assert_eq!(declined["metrics"]["min_trust"], 0.5);
    let summary = declined["summary"].as_str().unwrap();
    assert!(summary.contains("supply_air_temp (trust 0."), "{summary}");
    assert!(
        answer.banners.iter().any(|notice| {
            notice.contains("1 check was declined") && notice.contains("\"AHU-3\" supply_air_temp")
        }),
        "{:?}",
        answer.banners
    );
    assert!(
        answer.text.contains("1 check was declined"),
        "{}",
        answer.text
    );
    let detail = yard
        .call(
            &["hq"],
            "finding_detail",
            json!({"facility_id": "hq", "finding_id": "supply_air_control@AHU-3",
                "rules": ["supply_air_control"]}),
        )
        .unwrap();
    assert_eq!(detail.data["violations"], Value::Null);
    assert!(
        detail.data["violations_note"]
            .as_str()
            .unwrap()
            .contains("declined")
    );
}

#[test]
fn each_detail_tells_what_the_run_told() {
    let yard = yard();
    let run = yard
        .call(
            &["hq"],
            "rule_run",
            json!({"facility_id": "hq", "min_severity": "ok", "limit": 1000}),
        )
        .unwrap();
    let findings = run.data["findings"].as_array().unwrap();
    assert!(findings.len() > 20, "{}", findings.len());
    for finding in findings {
        let id = &finding["finding_id"];
        let detail = yard
            .call(
                &["hq"],
                "finding_detail",
                json!({"facility_id": "hq", "finding_id": id}),
            )
            .unwrap();
        let mut told = detail.data["finding"].clone();
        let mut before = finding.clone();
        for row in [&mut told, &mut before] {
            row.as_object_mut().unwrap().shift_remove("fact");
        }
        assert_eq!(told, before, "{id}");
    }
}

#[test]
fn the_detail_of_a_finding_has_its_hours_spans_and_parameters() {
    let yard = yard();
    let detail = |more: Value| {
        let mut arguments = more;
        arguments["facility_id"] = json!("hq");
        arguments["rules"] = json!(["supply_air_control"]);
        yard.call(&["hq"], "finding_detail", arguments)
    };
    let answer = detail(json!({"finding_id": "supply_air_control@AHU-1"})).unwrap();
    let data = &answer.data;
    let violations = &data["violations"];
    assert_eq!(
        (
            &violations["hours"],
            &violations["samples"],
            &violations["judged_samples"]
        ),
        (&json!(28.0), &json!(28), &json!(154))
    );
    assert_eq!(violations["share"], 0.1818);
    assert_eq!(violations["judged_basis"], "fan-on samples");
    assert_eq!(violations["n_spans"], 14);
    assert_eq!(
        violations["spans"][0],
        json!({"start": "2024-03-04T13:00:00", "end": "2024-03-04T14:00:00", "hours": 2.0})
    );
    assert_eq!(
        data["metrics"]["_missing_optional"],
        json!(["supply_fan_speed", "occupancy"])
    );
    assert_eq!(
        data["chart"]["roles"],
        json!(["supply_air_temp", "supply_air_temp_sp"])
    );
    let parameter = &data["parameters"][0];
    assert_eq!(
        (
            &parameter["name"],
            &parameter["value"],
            &parameter["source"]
        ),
        (&json!("tol_F"), &json!(2.0), &json!("default"))
    );
    let kinds: Vec<&Value> = answer.facts.iter().map(|fact| &fact["kind"]).collect();
    assert_eq!(kinds, ["finding", "evidence_hours", "parameters", "chart"]);
    assert!(
        answer
            .banners
            .iter()
            .all(|notice| !notice.contains("removed"))
    );

    let wide = detail(json!({"finding_id": "supply_air_control@AHU-1",
        "params": {"supply_air_control": {"tol_F": 5.0}}}))
    .unwrap();
    assert_eq!(wide.data["finding"]["severity"], "ok");
    assert_eq!(wide.data["violations"]["hours"], 0.0);
    assert_eq!(wide.data["parameters"][0]["overridden"], true);

    for id in ["supply_air_control@AHU-9", "no_rule@AHU-1"] {
        let error = detail(json!({"finding_id": id})).unwrap_err();
        assert_eq!(error.code, FailureCode::NotFound, "{id}");
    }
}

#[test]
fn equipment_that_shares_part_files_is_judged_like_any_other() {
    let yard = StoreYard::new();
    // One day in single hours, as a station is ingested: every append is one file of all equipment.
    let start = parse_bound("2024-03-04").unwrap();
    for hour in 0..24 {
        let of_hour: Vec<EquipmentRows> = building()
            .into_iter()
            .map(|mut rows| {
                for column in &mut rows.columns {
                    let kept: Vec<(i64, f64)> = column
                        .stamps
                        .iter()
                        .copied()
                        .zip(column.values.iter().copied())
                        .filter(|(stamp, _)| (stamp - start).div_euclid(HOUR) == hour)
                        .collect();
                    (column.stamps, column.values) = kept.into_iter().unzip();
                }
                rows
            })
            .collect();
        yard.append("hq", &of_hour);
    }
    let answer = yard
        .call(
            &["hq"],
            "rule_run",
            json!({"facility_id": "hq", "rules": ["supply_air_control"], "min_severity": "ok"}),
        )
        .unwrap();
    let finding = found(&answer.data, "supply_air_control@AHU-1");
    assert_eq!(finding["metrics"]["off_setpoint_pct"], 18.18);
    assert_eq!(finding["metrics"]["n_running"], 11);
}

#[test]
fn a_call_that_nobody_waits_for_ends_before_its_next_unit_of_work() {
    use std::time::Duration;

    use niagara_bridge::camber::{CallerPolicy, CapabilityRegistry, Watch};
    use tokio_util::sync::CancellationToken;

    let yard = yard();
    let registry = CapabilityRegistry::built_in().unwrap();
    let cancel = CancellationToken::new();
    let watch = Watch::start(Duration::from_secs(60), cancel.clone());
    cancel.cancel();
    let error = registry
        .call(
            "rule_run",
            json!({"facility_id": "hq"}),
            &yard.workspace(),
            &CallerPolicy::of(["hq"]),
            &watch,
        )
        .unwrap_err();
    assert_eq!(error.code, FailureCode::Timeout);
    assert!(error.message.contains("cancelled"), "{}", error.message);
}

#[test]
fn a_run_configuration_decides_rules_equipment_and_floor() {
    use niagara_bridge::camber::run_config::RunConfigs;
    use niagara_bridge::camber::{CallerPolicy, CapabilityRegistry};

    let yard = yard();
    let folder = tempfile::tempdir().unwrap();
    let run = |config: Value, more: Value| {
        let file = folder.path().join("hq.json");
        std::fs::write(&file, config.to_string()).unwrap();
        let workspace = yard
            .workspace()
            .with_run_configs(RunConfigs::read(&[file]).unwrap());
        let mut arguments = more;
        arguments["facility_id"] = json!("hq");
        CapabilityRegistry::built_in().unwrap().call(
            "rule_run",
            arguments,
            &workspace,
            &CallerPolicy::of(["hq"]),
            &super::store_yard::watch(),
        )
    };
    let source = json!({"kind": "store", "store": yard.root(), "facility_id": "hq", "end": "2024-03-10T23:59:59"});
    let config = json!({
        "source": source,
        "equipment": [{"class": "AHU", "equip": "AHU-1"}],
        "rules": [{"name": "supply_air_control", "params": {"tol_F": 5.0}, "basis": {"tol_F": "loose loop"}}],
        "soo": [{"class": "AHU", "library": "g36_ahu"}],
    });
    let answer = run(config.clone(), json!({"min_severity": "ok"})).unwrap();
    assert_eq!(answer.data["from_config"], true);
    assert_eq!(answer.data["rules_run"], json!(["supply_air_control"]));
    assert_eq!(answer.data["n_equipment"], 1);
    assert_eq!(answer.data["window"]["end"], "2024-03-10T23:59:59");
    let finding = found(&answer.data, "supply_air_control@AHU-1");
    assert_eq!(finding["severity"], "ok");
    assert_eq!(finding["metrics"]["n_running"], 77);
    let notices = answer.banners.join(" ");
    assert!(
        notices.contains("soo") && !notices.contains("no run configuration"),
        "{notices}"
    );
    // Stored, but not in the configuration.
    let left_out = run(config.clone(), json!({"equips": ["AHU-2"]})).unwrap_err();
    assert_eq!(left_out.code, FailureCode::NotFound);
    assert_eq!(left_out.data["unknown"], json!(["AHU-2"]));
    assert_eq!(left_out.data["available"], json!(["AHU-1"]));
    // Another store than the one that is served, and folders of files.
    let mut elsewhere = config.clone();
    elsewhere["source"]["store"] = json!(folder.path());
    let refused = run(elsewhere, json!({})).unwrap_err();
    assert_eq!(refused.code, FailureCode::InvalidParams);
    let files =
        json!({"facility_id": "hq", "source": {"folder": "csv"}, "equipment": [{"class": "AHU"}]});
    let refused = run(files, json!({})).unwrap_err();
    assert!(
        refused.message.contains("trends import"),
        "{}",
        refused.message
    );
}

#[test]
fn a_named_refrigerant_gives_the_roles_that_pressures_tell() {
    use niagara_bridge::camber::run_config::RunConfigs;
    use niagara_bridge::camber::{CallerPolicy, CapabilityRegistry};

    let yard = StoreYard::new();
    yard.append(
        "hq",
        &[equipment(
            "DX-1",
            "DX",
            vec![
                trend("liquid_line_pressure", |_, place| 340.0 + noise(place)),
                trend("liquid_line_temp", |_, place| 94.6 + noise(place)),
                trend("compressor_status", |hour, _| f64::from(day(hour))),
            ],
        )],
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hq.json");
    let run = |entry: Value| {
        let config =
            json!({"source": {"kind": "store", "facility_id": "hq"}, "equipment": [entry]});
        std::fs::write(&file, config.to_string()).unwrap();
        let configs = RunConfigs::read(std::slice::from_ref(&file)).unwrap();
        CapabilityRegistry::built_in()
            .unwrap()
            .call(
                "rule_run",
                json!({"facility_id": "hq", "rules": ["dx_refrigerant_charge"], "min_severity": "ok"}),
                &yard.workspace().with_run_configs(configs),
                &CallerPolicy::of(["hq"]),
                &super::store_yard::watch(),
            )
            .unwrap()
            .data
    };
    let plain = run(json!({"class": "DX"}));
    assert_eq!(plain["skipped"][0]["missing"], json!(["subcooling_temp"]));
    let told = run(json!({"class": "DX", "refrigerant": "410a"}));
    let median = &found(&told, "dx_refrigerant_charge@DX-1")["metrics"]["subcooling_median_f"];
    // R-410A boils at 104.6 °F under 340 psig.
    assert!((median.as_f64().unwrap() - 10.0).abs() < 0.1, "{median}");
}
