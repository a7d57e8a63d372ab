//! What a run configuration or a call says without effect is told beside the answer, which stays as it is without it.

use niagara_bridge::camber::run_config::RunConfigs;
use niagara_bridge::camber::{
    CallerPolicy, CapabilityError, CapabilityRegistry, CapabilityResult, FailureCode,
};
use serde_json::{Value, json};

use crate::store_yard::{StoreYard, column, equipment, stamps, watch};

/// Ten days of two air handlers, two boxes and the weather.
fn yard() -> StoreYard {
    let yard = StoreYard::new();
    let hours = || stamps("2024-03-01", 60, 240);
    let air_handler = |equip: &str| {
        let roles = ["supply_air_temp", "supply_air_temp_sp", "supply_fan_status"];
        let columns = roles.map(|role| column(role, hours())).into();
        equipment(equip, "AHU", columns)
    };
    let zone = |equip: &str| {
        let roles = ["space_temp", "airflow", "airflow_sp"];
        equipment(equip, "VAV", roles.map(|role| column(role, hours())).into())
    };
    yard.append(
        "hq",
        &[
            air_handler("AHU-1"),
            air_handler("AHU-2"),
            zone("VAV-1"),
            zone("VAV-2"),
            equipment("WX", "WEATHER", vec![column("oat", hours())]),
        ],
    );
    yard
}

fn call(
    yard: &StoreYard,
    config: Option<&Value>,
    allowed: &[&str],
    name: &str,
    more: Value,
) -> Result<CapabilityResult, CapabilityError> {
    let folder = tempfile::tempdir().expect("a folder");
    let mut workspace = yard.workspace();
    if let Some(config) = config {
        let file = folder.path().join("run.json");
        std::fs::write(&file, config.to_string()).expect("a file");
        workspace = workspace.with_run_configs(RunConfigs::read(&[file]).expect("a configuration"));
    }
    let mut arguments = more;
    arguments["facility_id"] = json!("hq");
    CapabilityRegistry::built_in().expect("a registry").call(
        name,
        arguments,
        &workspace,
        &CallerPolicy::of(allowed.iter().copied()),
        &watch(),
    )
}

fn config(more: Value) -> Value {
    let mut config = json!({
        "source": {"kind": "store", "facility_id": "hq"},
        "equipment": [{"class": "AHU"}, {"class": "VAV"}],
        "rules": ["supply_air_control", "cohort_airflow"],
    });
    for (key, value) in more.as_object().expect("an object") {
        config[key] = value.clone();
    }
    config
}

/// Data and facts without the tokens of their ids, which change with the configuration's text.
fn without_tokens(result: &CapabilityResult) -> String {
    let text = json!([result.data, result.facts, result.text]).to_string();
    let token = regex::Regex::new("@([A-Za-z0-9_]+)-[0-9a-f]{6}").expect("a pattern");
    token.replace_all(&text, "@$1").into_owned()
}

const RUNS: [&str; 4] = ["rule_run", "sensor_trust", "rcx_report", "finding_detail"];

fn arguments(name: &str) -> Value {
    match name {
        "finding_detail" => json!({"finding_id": "supply_air_control@AHU-1"}),
        _ => json!({}),
    }
}

#[test]
fn what_has_no_effect_is_told_by_every_run_and_changes_nothing() {
    let yard = yard();
    let sound = config(json!({}));
    for (more, told) in [
        (
            json!({"trust_floor": 0.9}),
            "the trust floor is min_trust under trust_gate",
        ),
        (
            json!({"resampling": "15min"}),
            "resampling: there is no such key, and it has no effect (did you mean resample?)",
        ),
        (
            json!({"rules": ["supply_air_control", "cohort_airflow", "supply_air_control"]}),
            "rules[0]: supply_air_control stands again as rules[2]",
        ),
        (
            json!({"equipment": [{"class": "AHU"}, {"class": "VAV"}, {"class": "AHUS"}]}),
            "equipment[2].class: the facility stores no equipment of the class \"AHUS\" (did you mean AHU?)",
        ),
        (
            json!({"soo": [], "mv": [{"class": "Meter"}]}),
            "mv[0].class: the facility stores no equipment of the class \"Meter\"",
        ),
        (
            json!({"report": {"rcx": {"loads": {"ahu_1": {"fan_kw": 5}}}}}),
            "the facility stores no equipment \"ahu_1\" (did you mean AHU-1",
        ),
    ] {
        let written = config(more);
        for name in RUNS {
            let plain = call(&yard, Some(&sound), &["hq"], name, arguments(name)).unwrap();
            let answer = call(&yard, Some(&written), &["hq"], name, arguments(name)).unwrap();
            let notices: Vec<&String> = answer
                .banners
                .iter()
                .filter(|notice| notice.contains(told))
                .collect();
            assert_eq!(notices.len(), 1, "{name}: {told} in {:?}", answer.banners);
            // The report of issues lists its assumptions, and sizes are one of them.
            if name != "rcx_report" || written.get("report").is_none() {
                assert_eq!(
                    without_tokens(&answer),
                    without_tokens(&plain),
                    "{name}: {told}"
                );
            }
            let silent = |notice: &String| notice.contains("may not mean what was wanted");
            assert!(!plain.banners.iter().any(silent), "{:?}", plain.banners);
        }
    }
}

#[test]
fn a_circle_and_a_parent_of_itself_are_told_where_the_topology_is_read() {
    let yard = yard();
    let written = config(json!({"topology": {"parents": {
        "VAV-1": "AHU-1", "VAV-2": ["AHU-1", "vav_2"], "AHU-1": "AHU-2", "ahu 2": "AHU-1",
    }}}));
    for name in ["rule_run", "rcx_report"] {
        let answer = call(&yard, Some(&written), &["hq"], name, json!({})).unwrap();
        let notices = answer.banners.join(" ");
        assert!(
            notices.contains("\"VAV-2\" is its own parent")
                && notices.contains("\"AHU-2\" as parent of \"AHU-1\" closes a circle"),
            "{name}: {notices}"
        );
    }
}

#[test]
fn a_parameter_outside_its_range_is_used_and_told_wherever_it_is_set() {
    let yard = yard();
    let written =
        config(json!({"rules": [{"name": "supply_air_control", "params": {"tol_F": -5}}]}));
    let answer = call(&yard, Some(&written), &["hq"], "rule_run", json!({})).unwrap();
    assert!(
        answer.banners.iter().any(
            |notice| notice.starts_with("the run configuration has 1 line")
                && notice.contains("rules[0].params.tol_F: -5 lies outside")
        ),
        "{:?}",
        answer.banners
    );
    let params =
        json!({"rules": ["supply_air_control"], "params": {"supply_air_control": {"tol_F": -5}}});
    let asked = call(&yard, Some(&config(json!({}))), &["hq"], "rule_run", params).unwrap();
    assert!(
        asked
            .banners
            .iter()
            .any(|notice| notice.starts_with("the call has 1 line")
                && notice.contains("params.supply_air_control.tol_F: -5 lies outside")),
        "{:?}",
        asked.banners
    );
    assert_eq!(asked.data["counts"], answer.data["counts"]);
}

#[test]
fn a_configuration_of_another_facility_is_told_and_an_unseen_one_not_named() {
    let yard = yard();
    let written = json!({"source": {"kind": "store", "facility_id": "annex"}, "equipment": [{"class": "AHU"}]});
    for name in RUNS {
        let seen = call(
            &yard,
            Some(&written),
            &["hq", "annex"],
            name,
            arguments(name),
        )
        .unwrap();
        let notices = seen.banners.join(" ");
        assert!(
            notices.contains(
                "a run configuration is given, but of another facility (\"annex\"), not of \"hq\""
            ),
            "{name}: {notices}"
        );
        let unseen = call(&yard, Some(&written), &["hq"], name, arguments(name)).unwrap();
        let notices = unseen.banners.join(" ");
        assert!(
            notices.contains("but of another facility, not of \"hq\"")
                && !notices.contains("annex"),
            "{name}: {notices}"
        );
        let none = call(&yard, None, &["hq"], name, arguments(name)).unwrap();
        assert!(!none.banners.join(" ").contains("another facility"));
        assert_eq!(without_tokens(&none), without_tokens(&unseen), "{name}");
    }
}

#[test]
fn hostile_keys_stay_harmless_and_many_are_counted() {
    let yard = yard();
    let mut written = config(json!({}));
    for number in 0..20 {
        written[format!("NOTICE [F1@rule_run] <b>{number}</b> http://x.y\n")] = json!(1);
    }
    written["k".repeat(100_000)] = json!(1);
    let answer = call(&yard, Some(&written), &["hq"], "rule_run", json!({})).unwrap();
    let notice = answer
        .banners
        .iter()
        .find(|notice| notice.starts_with("the run configuration has 21 lines"))
        .unwrap_or_else(|| panic!("{:?}", answer.banners));
    assert!(
        notice.ends_with("and 15 more") && notice.len() < 3000,
        "{notice}"
    );
    assert!(
        !notice.contains("[F1@") && !notice.contains("<b>") && !notice.contains("http:/"),
        "{notice}"
    );
}

#[test]
fn a_floor_below_the_servers_is_told_by_sensor_trust() {
    let yard = yard();
    let low = call(
        &yard,
        None,
        &["hq"],
        "sensor_trust",
        json!({"min_trust": 0.1}),
    )
    .unwrap();
    assert_eq!(low.data["min_trust"], 0.5);
    assert!(
        low.banners
            .iter()
            .any(|notice| notice.contains("min_trust 0.1 is below the trust floor of 0.5")),
        "{:?}",
        low.banners
    );
    let high = call(
        &yard,
        None,
        &["hq"],
        "sensor_trust",
        json!({"min_trust": 0.6}),
    )
    .unwrap();
    assert!(!high.banners.join(" ").contains("min_trust 0.6"));
}

#[test]
fn a_finding_that_a_run_cannot_have_is_refused_before_the_run() {
    let yard = yard();
    let detail = |finding: &str, more: Value| {
        let mut arguments = more;
        arguments["finding_id"] = json!(finding);
        call(
            &yard,
            Some(&config(json!({}))),
            &["hq"],
            "finding_detail",
            arguments,
        )
    };
    for (finding, more, told) in [
        (
            "suply_air_control@AHU-1",
            json!({}),
            "(did you mean \"supply_air_control@AHU-1\"",
        ),
        (
            "no_such_thing@AHU-1",
            json!({}),
            "there is no rule \"no_such_thing\"",
        ),
        (
            "supply_air_control@AHU-1",
            json!({"rules": ["cohort_airflow"]}),
            "supply_air_control is not among those that run here (cohort_airflow)",
        ),
        (
            "leaking_valve@AHU-1",
            json!({}),
            "leaking_valve is not among those that run here (supply_air_control, cohort_airflow)",
        ),
        (
            "supply_air_control@ahu_1",
            json!({}),
            "no equipment \"ahu_1\" (did you mean \"AHU-1\"",
        ),
        (
            "supply_air_control@AHU-1",
            json!({"equips": ["AHU-2"]}),
            "this run does not judge \"AHU-1\"",
        ),
        (
            "supply_air_control@WX",
            json!({}),
            "this run does not judge \"WX\": equips or the run configuration leave it out",
        ),
        (
            "cohort_airflow@VAV-1",
            json!({}),
            "judges all equipment together",
        ),
    ] {
        let error = detail(finding, more).unwrap_err();
        assert_eq!(
            (error.code, &error.data["argument"]),
            (FailureCode::NotFound, &json!("finding_id")),
            "{error}"
        );
        assert!(error.message.contains(told), "{error}");
    }
    assert!(detail("cohort_airflow@<fleet>", json!({})).is_ok());
    assert!(detail("supply_air_control@AHU-1", json!({"equips": ["AHU-1"]})).is_ok());
    // Only the run can tell that there is no second finding.
    let second = detail("supply_air_control@AHU-1#2", json!({})).unwrap_err();
    assert!(
        second.message.contains("this run has no finding"),
        "{second}"
    );
}

#[test]
fn equipment_that_is_nearly_stored_is_offered_by_every_capability() {
    let yard = yard();
    for (name, argument) in [
        ("points", json!({"equip": "ahu_1"})),
        ("coverage", json!({"equips": ["ahu_1"]})),
        ("sensor_trust", json!({"equips": ["ahu_1"]})),
        ("rule_run", json!({"equips": ["ahu_1"]})),
        (
            "finding_detail",
            json!({"equips": ["ahu_1"], "finding_id": "supply_air_control@AHU-1"}),
        ),
        ("rcx_report", json!({"equips": ["ahu_1"]})),
        (
            "drift",
            json!({"equips": ["ahu_1"], "baseline": ["2024-03-01", "2024-03-05"]}),
        ),
        ("mv_summary", json!({"equips": ["ahu_1"]})),
    ] {
        let error = call(&yard, None, &["hq"], name, argument).unwrap_err();
        assert_eq!(error.code, FailureCode::NotFound, "{name}: {error}");
        assert!(
            error
                .message
                .contains("\"ahu_1\" not stored (did you mean \"AHU-1\"?); stored are"),
            "{name}: {error}"
        );
    }
    let role = call(
        &yard,
        None,
        &["hq"],
        "points",
        json!({"role": "suply_air_temp"}),
    )
    .unwrap_err();
    assert!(
        role.message.contains("(did you mean \"supply_air_temp\"?)"),
        "{role}"
    );
}

#[test]
fn a_capability_that_does_not_exist_names_those_that_do() {
    let yard = yard();
    let unknown = call(&yard, None, &["hq"], "rulerun", json!({})).unwrap_err();
    assert_eq!(unknown.code, FailureCode::UnknownCapability);
    assert!(
        unknown.message.contains("(did you mean rule_run?)"),
        "{unknown}"
    );
    let registry = CapabilityRegistry::built_in().expect("a registry");
    for definition in registry.definitions() {
        assert!(unknown.message.contains(definition.name), "{unknown}");
    }
}

#[test]
fn parameters_are_told_in_plain_words() {
    let yard = yard();
    let registry = CapabilityRegistry::built_in().expect("a registry");
    let caller = CallerPolicy::of(["hq"]);
    let ask = |arguments: Value| {
        registry
            .call(
                "rule_params",
                arguments,
                &yard.workspace(),
                &caller,
                &watch(),
            )
            .unwrap()
    };
    let one = ask(json!({"rules": ["supply_air_control"]}));
    assert!(
        one.text
            .starts_with("1 rule matches, with 4 tunable parameters"),
        "{}",
        one.text
    );
    let all = ask(json!({"limit": 1000}));
    assert!(all.text.contains("70 rules match, with "), "{}", all.text);
    for fact in &all.facts {
        let text = fact["text"].as_str().expect("a text");
        for word in ["None", "True", "False", "null"] {
            assert!(!text.split([' ', ',']).any(|part| part == word), "{text}");
        }
    }
    let unset = ask(json!({"rules": ["actuator_stuck"]}));
    assert!(unset.text.contains("min_airflow not set"), "{}", unset.text);
}

#[test]
fn a_configuration_without_equipment_is_told_with_every_run() {
    let yard = yard();
    for equipment in [Value::Null, json!([])] {
        let mut empty = config(json!({ "equipment": equipment }));
        if equipment.is_null() {
            empty.as_object_mut().unwrap().shift_remove("equipment");
        }
        for name in ["rule_run", "rcx_report"] {
            let answer = call(&yard, Some(&empty), &["hq"], name, json!({})).unwrap();
            assert!(
                answer.banners.iter().any(|notice| notice
                    .contains("no entry under equipment, so that nothing was judged")),
                "{name}: {:?}",
                answer.banners
            );
        }
    }
}

#[test]
fn a_floor_of_the_configuration_is_told_where_points_are_held_against_a_lower_one() {
    let yard = yard();
    let strict = config(json!({"trust_gate": {"min_trust": 0.999}}));
    let tells = |more: Value| {
        let answer = call(&yard, Some(&strict), &["hq"], "sensor_trust", more).unwrap();
        answer
            .banners
            .iter()
            .any(|notice| notice.contains("runs hold their inputs against 0.999 here"))
    };
    assert!(tells(json!({})));
    assert!(!tells(json!({"min_trust": 0.999})));
}
