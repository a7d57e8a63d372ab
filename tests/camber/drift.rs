//! An analyst asks what got worse: equipment against a known-good time of its own, or against what was frozen.

use std::f64::consts::TAU;

use niagara_bridge::camber::run_config::RunConfigs;
use niagara_bridge::camber::{
    CallerPolicy, CapabilityError, CapabilityRegistry, CapabilityResult, FailureCode,
};
use niagara_bridge::trends::store::wall_clock::{HOUR, parse_bound};
use niagara_bridge::trends::store::{EquipmentRows, RoleColumn};
use serde_json::{Value, json};

use super::store_yard::{StoreYard, equipment, watch};

const DAYS: i64 = 60;

/// Hourly samples from 2024-03-01, by the number of the hour.
fn trend(role: &str, value: impl Fn(f64) -> f64) -> RoleColumn {
    let start = parse_bound("2024-03-01").unwrap();
    let (stamps, values) = (0..DAYS * 24)
        .map(|hour| {
            let number = f64::from(i32::try_from(hour).unwrap());
            (start + hour * HOUR, value(number))
        })
        .unzip();
    RoleColumn {
        role: role.to_owned(),
        stamps,
        values,
    }
}

fn airflow(hour: f64) -> f64 {
    5000.0 + 3000.0 * (TAU * hour / 24.0).sin()
}

/// 1 from 2024-04-10 on.
fn late(hour: f64) -> f64 {
    f64::from(u8::from(hour >= 960.0))
}

fn handler(equip: &str, more_power: f64) -> EquipmentRows {
    equipment(
        equip,
        "AHU",
        vec![
            trend("airflow", airflow),
            trend("power", move |hour| {
                1.0 + 0.001 * airflow(hour) + 0.2 * (1.7 * hour).sin() + more_power * late(hour)
            }),
            trend("filter_diff_press", |hour| {
                0.2 + 0.0001 * airflow(hour) + 0.02 * (2.3 * hour).cos()
            }),
            trend("duct_static", |hour| {
                1.0 + 0.00002 * airflow(hour) + 0.02 * (0.9 * hour).sin()
            }),
            trend("supply_fan_status", |_| 1.0),
        ],
    )
}

/// The fan of AHU-1 draws 1.5 kW more from 2024-04-10 on, AHU-3 is sound, and AHU-2 tells the weather only.
pub fn building() -> StoreYard {
    let yard = StoreYard::new();
    let weather = |equip: &str, class: &str| {
        equipment(
            equip,
            class,
            vec![trend("oat", |hour| 50.0 + 15.0 * (TAU * hour / 24.0).sin())],
        )
    };
    yard.append(
        "hq",
        &[
            handler("AHU-1", 1.5),
            weather("AHU-2", "AHU"),
            handler("AHU-3", 0.0),
            weather("WX", "WEATHER"),
        ],
    );
    yard
}

/// No trust floor: these trends are smoother than any real ones.
fn caller() -> CallerPolicy {
    let mut caller = CallerPolicy::of(["hq"]);
    caller.min_trust = 0.0;
    caller
}

fn drift(yard: &StoreYard, arguments: Value) -> Result<CapabilityResult, CapabilityError> {
    let mut arguments = arguments;
    arguments["facility_id"] = json!("hq");
    yard.call_as(&caller(), "drift", arguments)
}

fn configured(
    yard: &StoreYard,
    files: &[(&str, &Value)],
    arguments: Value,
) -> Result<CapabilityResult, CapabilityError> {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        std::fs::write(folder.path().join(name), content.to_string()).unwrap();
    }
    let configs = RunConfigs::read(&[folder.path().join(files[0].0)]).unwrap();
    let workspace = yard.workspace().with_run_configs(configs);
    let mut arguments = arguments;
    arguments["facility_id"] = json!("hq");
    CapabilityRegistry::built_in().unwrap().call(
        "drift",
        arguments,
        &workspace,
        &caller(),
        &watch(),
    )
}

fn finding<'r>(answer: &'r CapabilityResult, id: &str) -> &'r Value {
    answer.data["findings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["finding_id"] == id)
        .unwrap_or_else(|| panic!("{id} is not among {}", answer.data["findings"]))
}

const PERIOD: [&str; 2] = ["2024-03-01", "2024-04-09 23:00"];

#[test]
fn a_fan_that_draws_more_power_is_told_with_its_size_and_when_it_began() {
    let yard = building();
    let answer = drift(&yard, json!({"baseline": PERIOD})).unwrap();
    let data = &answer.data;
    assert_eq!(data["source"], "baseline_period");
    assert_eq!(
        data["families"],
        json!([{"equip_class": "AHU", "family": "ahu", "label": "AHU air-side drift", "baseline": PERIOD,
            "current": ["2024-04-09 23:00", null], "reference": "period 2024-03-01 .. 2024-04-09 23:00"}])
    );
    assert_eq!(
        data["counts"],
        json!({"fault": 1, "warn": 0, "info": 1, "ok": 5})
    );
    let worst = &data["findings"][0];
    assert_eq!(worst["finding_id"], "ahu:fan_efficiency_drift@AHU-1");
    assert_eq!(worst["metrics"]["fan_power_drift_kw"], 1.4988);
    assert_eq!(
        worst["metrics"]["fan_power_first_alarm_at"],
        "2024-04-10 07:00:00"
    );
    let fact = answer
        .facts
        .iter()
        .find(|fact| fact["id"] == worst["fact"])
        .unwrap();
    assert_eq!(
        (&fact["value"], &fact["kind"]),
        (&json!("fault"), &json!("finding"))
    );
    assert!(
        answer.text.contains("1 fault and 0 warn findings"),
        "{}",
        answer.text
    );
    assert!(
        answer
            .text
            .contains("\"AHU-1\" fan_efficiency_drift (fault)"),
        "{}",
        answer.text
    );
    assert!(
        answer
            .banners
            .iter()
            .any(|banner| banner.contains("fitted for this call only"))
    );
    let diagnoses = data["diagnoses"].as_array().unwrap();
    assert_eq!(diagnoses.len(), 2);
    assert_eq!(diagnoses[0]["detail"]["locus"], "fan");
    assert_eq!(diagnoses[1]["severity"], "ok");
    assert_eq!(
        data["unevaluated"],
        json!([{"family": "ahu", "equip": "AHU-2", "reason": "no required role resolved"},
            {"family": "none", "equip": "WX", "reason": "no family judges the class \"WEATHER\""}])
    );
    assert_eq!(
        finding(&answer, "ahu:drift:ahu@AHU-2")["metrics"],
        json!({"declined": true, "family": "ahu"})
    );
}

/// Equipment that judges itself by no usual family, a plant with a pump that the usual family does not look at.
fn plants() -> StoreYard {
    let yard = building();
    let level = |role, level: f64| trend(role, move |hour| level + (0.3 * hour).sin());
    yard.append(
        "hq",
        &[
            equipment(
                "HP-1",
                "HeatPump",
                vec![
                    level("subcooling_temp", 10.0),
                    level("compressor_status", 1.0),
                    level("oat", 80.0),
                ],
            ),
            equipment(
                "HWP",
                "HotWaterPlant",
                vec![level("hw_flow", 100.0), level("hw_pump_speed", 60.0)],
            ),
            equipment("M-1", "METER", vec![level("power", 50.0)]),
        ],
    );
    yard
}

#[test]
fn equipment_without_a_usual_family_is_told_with_the_family_that_could_judge_it() {
    let yard = plants();
    let answer = drift(&yard, json!({"baseline": PERIOD})).unwrap();
    let left_out: Vec<&Value> = answer.data["unevaluated"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["family"] == "none")
        .collect();
    assert_eq!(
        json!(left_out),
        json!([
            {"family": "none", "equip": "HP-1",
                "reason": "no family judges the class \"HeatPump\" by default; name dx in families"},
            {"family": "none", "equip": "M-1", "reason": "no family judges the class \"METER\""},
            {"family": "none", "equip": "WX", "reason": "no family judges the class \"WEATHER\""},
        ])
    );
    let told = answer.data["unevaluated"].as_array().unwrap().len();
    assert!(
        answer.text.contains(&format!(
            "and {told} pieces of equipment were not evaluated"
        )),
        "{}",
        answer.text
    );
    let hint = "more could be judged: \"HotWaterPlant\" by hw_pump; name it in families, for example \
                [{\"equip_class\": \"HotWaterPlant\", \"family\": \"hw_pump\"}]";
    assert!(
        answer.banners.iter().any(|banner| banner.contains(hint)),
        "{:?}",
        answer.banners
    );

    let alone = drift(&yard, json!({"baseline": PERIOD, "equips": ["M-1"]})).unwrap();
    assert_eq!(alone.data["unevaluated"].as_array().unwrap().len(), 1);
    assert!(
        alone
            .text
            .contains("1 piece of equipment was not evaluated")
    );

    let named =
        json!({"baseline": PERIOD, "families": [{"equip_class": "HeatPump", "family": "dx"}]});
    let named = drift(&yard, named).unwrap();
    let rows = named.data["unevaluated"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["family"] == "dx"), "{rows:?}");
    assert!(
        !named
            .banners
            .iter()
            .any(|banner| banner.contains("could be judged"))
    );
}

#[test]
fn a_family_that_is_named_twice_runs_once() {
    let yard = building();
    let family = json!({"equip_class": "AHU", "family": "ahu"});
    let asked =
        |families: Value| drift(&yard, json!({"baseline": PERIOD, "families": families})).unwrap();
    let once = asked(json!([family]));
    let twice = asked(json!([family, {"equip_class": "AHU", "family": "vav"}, family, family]));
    assert_eq!(twice.data["families"].as_array().unwrap().len(), 2);
    assert_eq!(once.data["counts"]["fault"], twice.data["counts"]["fault"]);
    let told = "families names ahu of \"AHU\" more than once; each ran once";
    let tells =
        |answer: &CapabilityResult| answer.banners.iter().any(|banner| banner.contains(told));
    assert!(tells(&twice) && !tells(&once), "{:?}", twice.banners);
}

#[test]
fn windows_that_make_an_answer_doubtful_are_questioned_and_judged_all_the_same() {
    let yard = building();
    for (arguments, told) in [
        (
            json!({"baseline": ["2024-04-10", "2024-04-29"], "current": ["2024-03-01", "2024-04-01"]}),
            "ahu of AHU: the current window (2024-03-01 to 2024-04-01) lies before the baseline window (2024-04-10 to 2024-04-29)",
        ),
        (
            json!({"baseline": PERIOD, "current": PERIOD}),
            "is the baseline window itself",
        ),
        (
            json!({"baseline": PERIOD, "current": ["2024-03-20", null]}),
            "overlaps the baseline window",
        ),
        (
            json!({"baseline": ["2024-03-01", "2024-03-02"]}),
            "holds at most 25 rows at 1h, and a baseline is fitted to 30 or more",
        ),
        (
            json!({"baseline": PERIOD, "current": ["2024-04-29 20:00", null]}),
            "holds at most 4 rows at 1h",
        ),
    ] {
        let answer = drift(&yard, arguments.clone()).unwrap();
        assert!(
            answer.banners.iter().any(|banner| banner.contains(told)),
            "{arguments}: {:?}",
            answer.banners
        );
        assert!(!answer.data["findings"].as_array().unwrap().is_empty());
    }
    let sound = drift(
        &yard,
        json!({"baseline": PERIOD, "current": ["2024-04-10", null]}),
    )
    .unwrap();
    assert!(
        !sound
            .banners
            .iter()
            .any(|banner| banner.contains("window (")),
        "{:?}",
        sound.banners
    );
}

#[test]
fn a_page_says_that_it_is_one() {
    let yard = building();
    let page = drift(&yard, json!({"baseline": PERIOD, "limit": 2, "offset": 2})).unwrap();
    assert!(page.truncated);
    assert_eq!(page.data["findings"].as_array().unwrap().len(), 2);
    assert_eq!(page.data["counts"]["ok"], 5);
    assert!(
        page.banners
            .iter()
            .any(|banner| banner.contains("'findings' shows rows 3-4 of 7 (worst first)"))
    );
    assert!(
        page.banners
            .iter()
            .any(|banner| banner.contains("'diagnoses' is empty on this page"))
    );
}

#[test]
fn a_family_may_judge_a_class_that_is_not_its_own() {
    let yard = building();
    let families = json!([{"equip_class": "AHU", "family": "vav"}, {"equip_class": "WEATHER", "family": "dx"}]);
    let answer = drift(&yard, json!({"baseline": PERIOD, "families": families})).unwrap();
    assert_eq!(
        answer.data["counts"],
        json!({"fault": 0, "warn": 0, "info": 4, "ok": 0})
    );
    assert_eq!(answer.data["unevaluated"].as_array().unwrap().len(), 4);
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let yard = building();
    for (arguments, code, told) in [
        (
            json!({}),
            FailureCode::InvalidParams,
            "nothing to compare with",
        ),
        (
            json!({"baseline": ["2024-03-01", null]}),
            FailureCode::InvalidParams,
            "both of its ends",
        ),
        (
            json!({"baseline": ["2024-03-01", "2024-02-30"]}),
            FailureCode::InvalidParams,
            "no time that exists",
        ),
        (
            json!({"baseline": ["2024-04-01", "2024-03-01"]}),
            FailureCode::InvalidParams,
            "ends before it starts",
        ),
        (
            json!({"baseline": PERIOD, "families": [{"equip_class": "AHU", "family": "fan"}]}),
            FailureCode::InvalidParams,
            "/families",
        ),
        (
            json!({"baseline": ["2023-01-01", "2023-02-01"]}),
            FailureCode::NotFound,
            "baseline holds no stored sample",
        ),
        (
            json!({"baseline": PERIOD, "current": ["2025-01-01", null]}),
            FailureCode::NotFound,
            "current holds no stored sample",
        ),
        (
            json!({"baseline": PERIOD, "equips": ["AHU-9"]}),
            FailureCode::NotFound,
            "AHU-9",
        ),
        (
            json!({"baseline": PERIOD, "families": [{"equip_class": "FAN", "family": "ahu"}]}),
            FailureCode::NotFound,
            "FAN",
        ),
    ] {
        let error = drift(&yard, arguments.clone()).unwrap_err();
        assert_eq!(error.code, code, "{arguments}: {error}");
        assert!(error.message.contains(told), "{arguments}: {error}");
    }
    let outside = drift(&yard, json!({"baseline": ["2023-01-01", "2023-02-01"]})).unwrap_err();
    assert_eq!(outside.data["argument"], "baseline");
    assert_eq!(outside.data["first"], "2024-03-01T00:00:00");
}

fn config(drift: &Value) -> Value {
    json!({
        "source": {"kind": "store", "facility_id": "hq"},
        "equipment": [{"class": "AHU"}],
        "drift": drift,
    })
}

#[test]
fn frozen_baselines_are_read_from_the_file_that_the_configuration_names() {
    let yard = building();
    let config = config(
        &json!({"store": "frozen.json", "baseline": ["2024-03-01", "2024-04-09"],
        "current": ["2024-04-10", null], "families": [{"class": "AHU", "family": "ahu"}]}),
    );
    let frozen = json!({"baselines": [{"site": "hq", "equip": "AHU-1", "kind": "fan_efficiency", "frozen_at": "r7",
        "coefficients": {"n": 937, "slope_f_per_ton": 0.001, "intercept_f": 1.0001, "sigma_f": 0.1416, "r2": 0.9956,
            "tons_min": 2000.0, "tons_max": 8000.0, "covariate": "", "sample_seconds": 3600.0}}]});
    let answer = configured(
        &yard,
        &[("run.json", &config), ("frozen.json", &frozen)],
        json!({}),
    )
    .unwrap();
    assert_eq!(answer.data["source"], "frozen_baselines");
    assert_eq!(answer.data["families"][0]["reference"], Value::Null);
    let fan = finding(&answer, "ahu:fan_efficiency_drift@AHU-1");
    assert_eq!(fan["metrics"]["fan_power_baseline_frozen_at"], "r7");
    assert_eq!(fan["metrics"]["fan_power_drift_kw"], 1.5);
    assert_eq!(
        finding(&answer, "ahu:fan_efficiency_drift@AHU-3")["metrics"]["declined"],
        true
    );
    assert_eq!(answer.data["unevaluated"].as_array().unwrap().len(), 2);
    assert!(
        answer.text.contains("against frozen baselines ran"),
        "{}",
        answer.text
    );

    let missing = configured(&yard, &[("run.json", &config)], json!({})).unwrap();
    assert_eq!(missing.data["unevaluated"].as_array().unwrap().len(), 3);
    assert!(
        missing
            .banners
            .iter()
            .any(|banner| banner.contains("no frozen baselines are there"))
    );
    let of_call = configured(&yard, &[("run.json", &config)], json!({"baseline": PERIOD})).unwrap();
    assert_eq!(of_call.data["source"], "baseline_period");
}

/// Without a family nothing was compared: an answer without findings is no pass.
#[test]
fn a_drift_section_without_families_says_that_nothing_was_compared() {
    let empty = config(&json!({"run_id": "known-good", "families": []}));
    let answer = configured(&building(), &[("run.json", &empty)], json!({})).unwrap();
    assert_eq!(answer.data["findings"], json!([]));
    assert!(
        answer
            .banners
            .iter()
            .any(|banner| banner.contains("drift.families of the run configuration is empty")),
        "{:?}",
        answer.banners
    );
}

#[test]
fn a_reference_is_there_even_when_only_its_sibling_is_asked_for() {
    let yard = building();
    let config = config(
        &json!({"families": [{"class": "AHU", "family": "ahu", "reference": {"equip": "AHU-3"},
        "current": ["2024-04-10", null]}]}),
    );
    let answer = configured(
        &yard,
        &[("run.json", &config)],
        json!({"equips": ["AHU-1"]}),
    )
    .unwrap();
    let fan = finding(&answer, "ahu:fan_efficiency_drift@AHU-1");
    assert_eq!(fan["severity"], "fault");
    assert_eq!(fan["metrics"]["baseline_source"], "reference:AHU-3");
    assert!(
        answer.text.contains("against the declared references ran"),
        "{}",
        answer.text
    );
    assert!(
        answer.data["findings"]
            .as_array()
            .unwrap()
            .iter()
            .all(|row| row["equip"] == "AHU-1")
    );
    let unknown = config_with_reference("AHU-7");
    let refused = configured(&yard, &[("run.json", &unknown)], json!({})).unwrap_err();
    assert_eq!(refused.code, FailureCode::InvalidParams);
    assert!(
        refused.message.contains("\"AHU-7\"") && refused.message.contains("(did you mean AHU-1"),
        "{refused}"
    );
    let none = configured(
        &yard,
        &[("run.json", &unknown)],
        json!({"families": [{"equip_class": "AHU", "family": "ahu"}]}),
    );
    assert!(none.unwrap_err().message.contains("drift.store"));
}

fn config_with_reference(equip: &str) -> Value {
    config(&json!({"families": [{"class": "AHU", "family": "ahu", "reference": {"equip": equip}}]}))
}

#[test]
fn a_check_whose_input_is_not_trusted_declines_and_that_is_told() {
    let yard = StoreYard::new();
    let mut broken = handler("AHU-1", 1.5);
    for column in &mut broken.columns {
        if column.role == "power" {
            column.values.fill(7.0);
        }
    }
    yard.append("hq", &[broken]);
    let answer = yard
        .call(
            &["hq"],
            "drift",
            json!({"facility_id": "hq", "baseline": PERIOD}),
        )
        .unwrap();
    let fan = finding(&answer, "ahu:fan_efficiency_drift@AHU-1");
    assert_eq!(
        (&fan["severity"], &fan["metrics"]["min_trust"]),
        (&json!("info"), &json!(0.5))
    );
    assert!(
        answer
            .banners
            .iter()
            .any(|banner| banner.contains("below the trust floor") && banner.contains("power"))
    );
    assert!(
        answer.facts[0]["text"]
            .as_str()
            .unwrap()
            .contains("for untrusted inputs")
    );
}
