//! An energy manager asks for the savings of a project, and reads why some are not told.

use niagara_bridge::camber::run_config::RunConfigs;
use niagara_bridge::camber::{
    CallerPolicy, CapabilityError, CapabilityRegistry, CapabilityResult, FailureCode,
};
use niagara_bridge::trends::store::wall_clock::{HOUR, parse_bound};
use niagara_bridge::trends::store::writer::Registration;
use niagara_bridge::trends::store::{EquipmentRows, RoleColumn};
use serde_json::{Value, json};

use super::store_yard::{StoreYard, equipment, id, watch};

/// Hours of two years from 2023-01-01, by the number of the day and of the hour of the day.
fn trend(role: &str, value: impl Fn(i64, i64) -> f64) -> RoleColumn {
    let start = parse_bound("2023-01-01").unwrap();
    let (stamps, values) = (0..731 * 24)
        .map(|place| (start + place * HOUR, value(place / 24, place % 24)))
        .unzip();
    RoleColumn {
        role: role.to_owned(),
        stamps,
        values,
    }
}

fn temperature(day: i64) -> f64 {
    let day = f64::from(i32::try_from(day).unwrap());
    55.0 + 25.0 * (std::f64::consts::TAU * (day - 105.0) / 365.0).sin()
}

/// A meter that uses a tenth less in the second year, and the weather.
fn building() -> Vec<EquipmentRows> {
    let power = |day: i64, _: i64| {
        let wave = (1.7 * f64::from(i32::try_from(day).unwrap())).sin();
        let load = 40.0 + 1.5 * (temperature(day) - 60.0).max(0.0) + wave;
        load * if day >= 365 { 0.9 } else { 1.0 }
    };
    vec![
        equipment("M1", "METER", vec![trend("power", power)]),
        equipment(
            "WX",
            "WEATHER",
            vec![trend("oat", |day, _| temperature(day))],
        ),
    ]
}

pub fn yard() -> StoreYard {
    let yard = StoreYard::new();
    let registration = Registration::active(Some("Head office"), None);
    yard.writer()
        .append(&id("hq"), &building(), Some(&registration))
        .unwrap();
    yard
}

pub fn config(mv: Value, more: Value) -> Value {
    let mut config = json!({
        "source": {"kind": "store", "facility_id": "hq"},
        "shared_oat": {"equip": "WX"},
        "equipment": [{"class": "METER"}, {"class": "WEATHER"}],
        "mv": mv,
    });
    for (key, value) in more.as_object().unwrap() {
        config[key] = value.clone();
    }
    config
}

fn ask(
    yard: &StoreYard,
    config: &Value,
    arguments: Value,
) -> Result<CapabilityResult, CapabilityError> {
    let file = yard.root().parent().unwrap().join("hq.json");
    std::fs::write(&file, config.to_string()).unwrap();
    let workspace = yard
        .workspace()
        .with_run_configs(RunConfigs::read(&[file]).unwrap());
    let caller = CallerPolicy::of(["hq"]);
    let registry = CapabilityRegistry::built_in().unwrap();
    registry.call("mv_summary", arguments, &workspace, &caller, &watch())
}

pub fn both_years() -> Value {
    json!({"class": "METER", "role": "power", "period": ["2023-01-01", "2023-12-31"],
        "reporting_period": ["2024-01-01", "2024-12-31"], "method": "forecast"})
}

#[test]
fn a_year_of_savings_is_told_with_its_band_and_its_unit() {
    let yard = yard();
    let asked = json!({"facility_id": "hq"});
    let answer = ask(
        &yard,
        &config(json!([both_years()]), json!({})),
        asked.clone(),
    )
    .unwrap();
    let data = &answer.data;
    assert_eq!(
        (&data["entries"], &data["meters"], &data["declined"]),
        (&json!(1), &json!(["M1"]), &json!(0))
    );
    assert_eq!(
        data["kinds"],
        json!({"mv_baseline": 1, "mv_savings": 1, "mv_trigger": 0, "mv_method_proposal": 0, "other": 0})
    );
    assert_eq!(
        data["counts"],
        json!({"fault": 0, "warn": 0, "info": 1, "ok": 1})
    );
    let saving = &data["findings"][0];
    assert_eq!(saving["finding_id"], "mv_savings@M1");
    assert_eq!(saving["metrics"]["avoided_energy"], 42543.58);
    assert_eq!(saving["metrics"]["abs_uncertainty"], 702.13);
    assert_eq!(data["findings"][1]["metrics"]["model"], "4P");
    assert!(
        data["findings"][1]["metrics"]
            .get("change_points")
            .is_none(),
        "rows have scalars only"
    );
    assert!(
        answer.text.contains("1 savings result") && answer.text.contains("each meter's own unit"),
        "{}",
        answer.text
    );
    assert!(answer.text.contains("42,544"), "{}", answer.text);
    assert!(answer.banners.is_empty(), "{:?}", answer.banners);
    let facts: Vec<&str> = answer
        .facts
        .iter()
        .map(|fact| fact["kind"].as_str().unwrap())
        .collect();
    assert_eq!(facts, ["mv_summary", "finding", "finding"]);
    assert_eq!(answer.facts[0]["value"], 2);
    assert_eq!(answer.facts[1]["metrics"]["savings_pct"], 0.1001);

    let mut in_kilowatts = both_years();
    in_kilowatts["units"] = json!("kW");
    let answer = ask(
        &yard,
        &config(json!([in_kilowatts]), json!({"units": "ip"})),
        asked,
    )
    .unwrap();
    assert_eq!(
        answer.data["findings"][0]["metrics"]["avoided_energy"],
        145164.72
    );
    assert!(
        answer.text.contains("145,165 kBtu") && !answer.text.contains("own unit"),
        "{}",
        answer.text
    );
}

#[test]
fn a_saving_of_a_poor_baseline_is_for_information_only_and_a_declined_one_is_announced() {
    let yard = yard();
    let mut winter = both_years();
    winter["period"] = json!(["2023-01-01", "2023-04-10"]);
    winter["reporting_period"] = json!(["2024-01-01", "2024-03-31"]);
    let mut short = both_years();
    short["period"] = json!(["2023-01-01", "2023-02-10"]);
    let answer = ask(
        &yard,
        &config(json!([winter, short]), json!({})),
        json!({"facility_id": "hq", "equips": ["M1"]}),
    )
    .unwrap();
    assert!(
        answer.text.contains("for information only"),
        "{}",
        answer.text
    );
    assert_eq!(answer.data["declined"], 2);
    assert_eq!(answer.banners.len(), 1, "{:?}", answer.banners);
    assert!(answer.banners[0].contains("2 M&V results declined"));
    let reasons: Vec<&Value> = answer.data["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|row| row["metrics"].get("declined_reason"))
        .collect();
    assert_eq!(
        reasons,
        [
            "only 41 usable days, fewer than 60",
            "no baseline: only 41 usable days, fewer than 60"
        ]
    );
}

#[test]
fn without_a_project_or_with_a_wrong_one_the_call_says_what_to_mend() {
    let yard = yard();
    let asked = || json!({"facility_id": "hq"});
    let refused = |config: &Value, arguments| {
        let error = ask(&yard, config, arguments).unwrap_err();
        (error.code, error.message)
    };
    let (code, message) = refused(&config(json!([]), json!({})), asked());
    assert_eq!(code, FailureCode::InvalidParams);
    assert!(message.contains("add a section mv"), "{message}");

    let none = yard.call(&["hq"], "mv_summary", asked()).unwrap_err();
    assert_eq!(none.code, FailureCode::InvalidParams);

    let mut wrong = both_years();
    wrong["method"] = json!("chaining");
    let (code, message) = refused(&config(json!([wrong]), json!({})), asked());
    assert_eq!(code, FailureCode::InvalidParams);
    assert!(message.contains("mv[0].intermediate_period"), "{message}");

    let unknown = json!({"facility_id": "hq", "equips": ["M9"]});
    let (code, message) = refused(&config(json!([both_years()]), json!({})), unknown);
    assert_eq!(code, FailureCode::NotFound);
    assert!(message.contains("M9"), "{message}");
}

#[test]
fn the_night_on_which_clocks_go_back_has_two_hours_of_one_name() {
    let yard = StoreYard::new();
    let power = |_: i64, hour: i64| if hour == 1 { 110.0 } else { 10.0 };
    let rows = [equipment(
        "M1",
        "METER",
        vec![
            trend("power", power),
            trend("oat", |day, _| temperature(day)),
        ],
    )];
    yard.append("hq", &rows);
    let mut entry = both_years();
    entry["reporting_period"] = json!(["2023-11-05", "2023-11-05"]);
    let own_weather = json!({"shared_oat": null, "equipment": [{"class": "METER"}]});
    let answer = ask(
        &yard,
        &config(json!([entry]), own_weather),
        json!({"facility_id": "hq"}),
    )
    .unwrap();
    let saving = answer.data["findings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["rule"] == "mv_savings")
        .unwrap();
    assert_eq!(saving["metrics"]["reporting_actual"], 450.0);
}

/// The notices of a project of one entry.
fn notices(entry: Value) -> (CapabilityResult, String) {
    let answer = ask(
        &yard(),
        &config(json!([entry]), json!({})),
        json!({"facility_id": "hq"}),
    )
    .unwrap();
    let notices = answer.banners.join(" | ");
    (answer, notices)
}

fn with(more: Value) -> Value {
    let mut entry = both_years();
    for (key, value) in more.as_object().unwrap() {
        entry[key] = value.clone();
    }
    entry
}

#[test]
fn periods_that_make_a_saving_doubtful_are_questioned() {
    for (more, told) in [
        (
            json!({"reporting_period": ["2023-06-01", "2023-08-31"]}),
            "mv[0].reporting_period: 2023-06-01..2023-08-31 lies inside the baseline period 2023-01-01..2023-12-31",
        ),
        (
            json!({"reporting_period": ["2023-12-01", "2024-12-31"]}),
            "overlaps the baseline period",
        ),
        (
            json!({"method": "standard_conditions", "normal_year": [50, 60, 70]}),
            "mv[0].normal_year: it has 3 daily temperatures",
        ),
        (
            json!({"reporting_period": ["2024-06-01", "2026-12-31"]}),
            "mv[0].reporting_period: 2024-06-01..2026-12-31 reaches beyond what is stored, the data ends on 2024-12-3",
        ),
        (
            json!({"role": "oat"}),
            "mv[0].role: oat (degF) is no rate of energy",
        ),
        (
            json!({"class": "GAS"}),
            "mv[0].class: the run takes no equipment of the class \"GAS\", so that the entry covers no meter",
        ),
    ] {
        let (_, notices) = notices(with(more.clone()));
        assert!(notices.contains(told), "{more}: {notices}");
    }
    assert_eq!(notices(both_years()).1, "");
    let twice = config(json!([both_years(), both_years()]), json!({}));
    let answer = ask(&yard(), &twice, json!({"facility_id": "hq"})).unwrap();
    assert!(
        answer.banners[0].starts_with("mv[1]: it says the same as mv[0]"),
        "{:?}",
        answer.banners
    );
}

#[test]
fn a_saving_of_nothing_is_told_in_words() {
    let (answer, notices) = notices(with(
        json!({"reporting_period": ["2023-01-01", "2023-12-31"]}),
    ));
    let saving = &answer.data["findings"][0];
    assert_eq!(saving["finding_id"], "mv_savings@M1");
    assert_eq!(
        (&saving["metrics"]["fsu"], &saving["metrics"]["savings_pct"]),
        (&Value::Null, &json!(0.0))
    );
    assert!(saving["metrics"]["abs_uncertainty"].as_f64().unwrap() > 0.0);
    assert!(
        saving["caveats"]
            .to_string()
            .contains("zero but for rounding"),
        "{saving}"
    );
    assert!(
        saving["summary"]
            .as_str()
            .unwrap()
            .contains("the band includes zero, so that no saving is shown"),
        "{saving}"
    );
    assert!(
        answer.text.contains("the band includes zero"),
        "{}",
        answer.text
    );
    assert!(
        notices.contains("1 saving is no greater than the uncertainty band")
            && notices.contains("is the baseline period"),
        "{notices}"
    );
}
