//! What `rcx_report` says of a store whose faults are known (RCx report §9).

use niagara_bridge::camber::run_config::RunConfigs;
use niagara_bridge::camber::{CallerPolicy, CapabilityRegistry, CapabilityResult, FailureCode};
use niagara_bridge::trends::store::RoleColumn;
use serde_json::{Value, json};

use crate::drift::building;
use crate::store_yard::{StoreYard, equipment, stamps, watch};

const RULES: [&str; 8] = [
    "simultaneous_heat_cool",
    "supply_air_reset",
    "economizer_high_limit",
    "outdoor_air_fraction",
    "night_weekend_setback",
    "leaking_valve",
    "control_hunting",
    "reheat_penalty",
];

const HOURS: i64 = 60 * 24;

/// A column of hourly samples; `value` is given the number of the hour and whether it is one of weekdays 06:00 to 18:00.
fn hourly(role: &str, value: impl Fn(i64, bool) -> f64) -> RoleColumn {
    let values = (0..HOURS)
        .map(|hour| {
            // The first day is a Monday.
            let on = hour / 24 % 7 < 5 && (6..18).contains(&(hour % 24));
            value(hour, on)
        })
        .collect();
    RoleColumn {
        role: role.to_owned(),
        stamps: stamps("2024-06-03", 60, HOURS),
        values,
    }
}

fn outdoors(hour: i64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "small")]
    let phase = (hour - 9) as f64 * std::f64::consts::TAU / 24.0;
    62.0 + 16.0 * phase.sin()
}

/// Two alike air handlers whose coils are both open on weekday mornings; the supply air of the second reads 3 °F high, as a
/// logger in its duct tells.
pub fn yard() -> StoreYard {
    let yard = StoreYard::new();
    let supply = |hour: i64, on: bool, offset: f64| {
        let small = f64::from(u8::try_from(hour * 37 % 11).expect("small")) / 100.0;
        small + offset + if on { 55.0 } else { 72.0 }
    };
    let handler = |equip: &str, offset: f64| {
        let both = |hour: i64, on: bool| on && (8..11).contains(&(hour % 24));
        equipment(
            equip,
            "AHU",
            vec![
                hourly("supply_fan_status", |_, on| f64::from(u8::from(on))),
                hourly("supply_air_temp", move |hour, on| supply(hour, on, offset)),
                hourly("return_air_temp", |_, _| 73.0),
                hourly("mixed_air_temp", |hour, _| {
                    0.3 * outdoors(hour) + 0.7 * 73.0
                }),
                hourly("oat", |hour, _| outdoors(hour)),
                hourly("oa_damper", |_, on| if on { 30.0 } else { 0.0 }),
                hourly("cool_valve", |_, on| if on { 40.0 } else { 0.0 }),
                hourly(
                    "heat_valve",
                    move |hour, on| if both(hour, on) { 30.0 } else { 0.0 },
                ),
            ],
        )
    };
    let logger = equipment(
        "LOGGER",
        "DUCTLOGGER",
        vec![hourly("supply_air_temp", move |hour, on| {
            supply(hour, on, 0.0)
        })],
    );
    yard.append(
        "hq",
        &[handler("AHU-1", 0.0), handler("AHU-2", 3.0), logger],
    );
    yard
}

pub fn config(report: Value) -> Value {
    json!({
        "site": "Headquarters",
        "source": {"kind": "store", "facility_id": "hq"},
        "equipment": [{"class": "AHU"}],
        "rules": RULES,
        "report": report,
    })
}

fn answer(yard: &StoreYard, config: &Value, arguments: Value) -> CapabilityResult {
    answer_to(&CallerPolicy::of(["hq"]), yard, config, arguments)
}

fn answer_to(
    caller: &CallerPolicy,
    yard: &StoreYard,
    config: &Value,
    arguments: Value,
) -> CapabilityResult {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("hq.json");
    std::fs::write(&file, config.to_string()).expect("a file");
    let configs = RunConfigs::read(&[file]).expect("a configuration");
    let workspace = yard.workspace().with_run_configs(configs);
    let registry = CapabilityRegistry::built_in().expect("a registry");
    registry
        .call("rcx_report", arguments, &workspace, caller, &watch())
        .expect("an answer")
}

#[test]
fn a_drift_of_the_configuration_is_an_issue() {
    let declared = json!({
        "source": {"kind": "store", "facility_id": "hq"},
        "equipment": [{"class": "AHU"}],
        "rules": ["supply_air_control"],
        "drift": {"families": [{"class": "AHU", "family": "ahu",
            "reference": {"period": ["2024-03-01", "2024-04-09 23:00"]}}]},
    });
    // These trends are smoother than any real ones.
    let mut caller = CallerPolicy::of(["hq"]);
    caller.min_trust = 0.0;
    let found = answer_to(
        &caller,
        &building(),
        &declared,
        json!({"facility_id": "hq"}),
    );
    let issue = &found.data["issues"][0];
    assert_eq!(
        (&issue["equip"], &issue["rules"], &issue["severity"]),
        (
            &json!("AHU-1"),
            &json!(["fan_efficiency_drift"]),
            &json!("fault")
        )
    );
    assert_eq!(
        issue["finding_ids"],
        json!(["ahu:fan_efficiency_drift@AHU-1"])
    );
    assert_eq!(issue["title"], "Fan efficiency drift");
    let sections = found.data["sections"].as_array().expect("sections");
    assert!(
        sections.iter().any(|section| section["id"] == "mv"),
        "{sections:?}"
    );
}

/// A report of one month has no samples of the known-good time: its drift declines, which is no pass.
#[test]
fn a_window_without_the_known_good_time_is_told_beside_the_report() {
    let declared = json!({
        "source": {"kind": "store", "facility_id": "hq"},
        "equipment": [{"class": "AHU"}],
        "rules": ["supply_air_control"],
        "drift": {"families": [{"class": "AHU", "family": "ahu",
            "reference": {"period": ["2024-03-01", "2024-04-01"]}}]},
    });
    let caller = CallerPolicy::of(["hq"]);
    let notices = |arguments: Value| {
        answer_to(&caller, &building(), &declared, arguments)
            .banners
            .join(" | ")
    };
    let april = notices(json!({"facility_id": "hq", "start": "2024-04-10"}));
    assert!(
        april.contains("the baseline window (2024-03-01 to 2024-04-01) holds at most 0 rows"),
        "{april}"
    );
    let whole = notices(json!({"facility_id": "hq"}));
    assert!(!whole.contains("baseline window"), "{whole}");
}

fn column<'a>(found: &'a CapabilityResult, key: &str) -> Vec<&'a Value> {
    let issues = found.data["issues"].as_array().expect("issues");
    issues.iter().map(|issue| &issue[key]).collect()
}

#[test]
fn findings_of_one_cause_are_one_issue() {
    let found = answer(&yard(), &config(json!({})), json!({"facility_id": "hq"}));
    let chain = found.data["issues"]
        .as_array()
        .expect("issues")
        .iter()
        .find(|issue| issue["rules"] == json!(["supply_air_reset", "simultaneous_heat_cool"]))
        .expect("an issue of the chain of supply air");
    assert_eq!(chain["severity"], "fault");
    assert_eq!(chain["title"], "Enable the supply-air temperature reset");
    assert_eq!(
        chain["finding_ids"],
        json!([
            format!(
                "supply_air_reset@{}",
                chain["equip"].as_str().expect("an id")
            ),
            format!(
                "simultaneous_heat_cool@{}",
                chain["equip"].as_str().expect("an id")
            ),
        ])
    );
    // Three hours of the 44 weekdays, of twelve with the fan on.
    assert_eq!(
        (&chain["hours"], &chain["pct_runtime"]),
        (&json!(132.0), &json!(25.0))
    );
    assert_eq!(chain["annual_cost_usd"], Value::Null);
    assert!(
        chain["cost_basis_note"]
            .as_str()
            .is_some_and(|note| note.contains("uncosted")),
        "{chain}"
    );
    assert_eq!(found.data["from_config"], json!(true));
    assert_eq!(
        found.data["period"],
        json!(["2024-06-03 00:00:00", "2024-08-01 23:00:00"])
    );
    // The key is the same for the same cause in every report.
    let of_second = found.data["issues"]
        .as_array()
        .expect("issues")
        .iter()
        .find(|issue| issue["equip"] == "AHU-2" && issue["rules"][0] == "outdoor_air_fraction")
        .map(|issue| issue["key"].clone());
    if let Some(key) = of_second {
        assert_eq!(key, "48ad5d7a0b92");
    }
}

#[test]
fn a_sensor_that_reads_high_stands_just_above_what_rests_on_it_and_its_cost_is_at_risk() {
    let report = json!({"rcx": {
        "loads": {"AHU-1": {"heating_capacity_kbtuh": 500}, "AHU-2": {"heating_capacity_kbtuh": 200}},
        "references": {"AHU-2": {"supply_air_temp": {"equip": "LOGGER"}}},
    }});
    let found = answer(&yard(), &config(report), json!({"facility_id": "hq"}));
    let rows = found.data["issues"].as_array().expect("issues");
    let sensor = rows
        .iter()
        .position(|issue| issue["rules"] == json!(["sensor_drift:supply_air_temp"]))
        .expect("an issue of the sensor");
    let dependent = &rows[sensor + 1];
    assert_eq!(rows[sensor]["severity"], "warn");
    assert_eq!(rows[sensor]["finding_ids"], json!([]));
    assert_eq!(
        (&dependent["equip"], &dependent["severity"]),
        (&json!("AHU-2"), &json!("fault"))
    );
    assert_eq!(dependent["confidence"], "L");
    let condition = dependent["conditional_on"][0]
        .as_str()
        .expect("a condition");
    assert!(
        condition.contains("sensor_drift:supply_air_temp (warn)"),
        "{condition}"
    );
    // 500 kBtu/h, 8760 h, 132 of 528 h with both coils open, a third of it reheat: gas and the cooling against it.
    let costs: Vec<&Value> = column(&found, "annual_cost_usd")
        .into_iter()
        .filter(|cost| !cost.is_null())
        .collect();
    assert_eq!(costs.len(), 2, "{costs:?}");
    let kpis = &found.data["kpis"];
    let of_second = dependent["annual_cost_usd"].as_f64().expect("a cost");
    assert!(
        kpis["at_risk_usd"].as_f64().expect("a sum") >= of_second,
        "{kpis}"
    );
    let fact = dependent["fact"].as_str().expect("an id");
    let fact = found
        .facts
        .iter()
        .find(|known| known["id"] == fact)
        .expect("the fact of the row");
    assert!(
        fact["text"]
            .as_str()
            .is_some_and(|text| text.contains("conditional on")),
        "{fact:?}"
    );
}

/// Whoever hangs a logger into the duct must learn that its samples were not used, and why.
#[test]
fn a_reference_that_nothing_was_checked_against_is_told_with_the_reason() {
    let yard = yard();
    let told = |report: Value, arguments: Value| {
        let banners = answer(&yard, &config(report), arguments).banners;
        let mut about = banners
            .into_iter()
            .filter(|banner| banner.contains("was not compared with its reference"));
        about.next().unwrap_or_default()
    };
    let compared =
        |spec: Value| json!({"rcx": {"references": {"AHU-2": {"supply_air_temp": spec}}}});
    let whole = json!({"facility_id": "hq"});
    assert_eq!(
        told(compared(json!({"equip": "LOGGER"})), whole.clone()),
        ""
    );
    let short = told(
        compared(json!({"equip": "LOGGER", "min_samples": 10000})),
        whole.clone(),
    );
    assert!(
        short.contains("\"AHU-2\" supply_air_temp")
            && short.contains("only 1440 common samples, a comparison needs 10000"),
        "{short}"
    );
    // Two days of a logger that hung there for two months.
    let window = json!({"facility_id": "hq", "start": "2024-06-10", "end": "2024-06-12"});
    let short = told(compared(json!({"equip": "LOGGER"})), window);
    assert!(short.contains("a comparison needs 100"), "{short}");
    let unknown = told(compared(json!({"equip": "LOGER"})), whole);
    assert!(
        unknown.contains("the facility stores no equipment \"LOGER\" (did you mean LOGGER?)"),
        "{unknown}"
    );
}

#[test]
fn a_page_has_its_issues_with_their_facts_and_sections_only() {
    let yard = yard();
    let compared =
        config(json!({"rcx": {"references": {"AHU-2": {"supply_air_temp": {"equip": "LOGGER"}}}}}));
    let whole = answer(&yard, &compared, json!({"facility_id": "hq"}));
    let keys = column(&whole, "key");
    assert!(keys.len() >= 3, "{keys:?}");
    let page = answer(
        &yard,
        &compared,
        json!({"facility_id": "hq", "top_n": 1, "offset": 1, "limit": 2}),
    );
    assert_eq!(column(&page, "key"), [keys[1]]);
    assert_eq!(column(&page, "rank"), [&json!(2)]);
    assert_eq!(page.data["kpis"], whole.data["kpis"]);
    assert!(page.truncated);
    let notice = page
        .banners
        .iter()
        .find(|banner| banner.contains("'issues' shows rows 2-2"))
        .expect("a notice of the page");
    assert!(
        notice.contains("offset=2") && notice.contains("larger top_n"),
        "{notice}"
    );
    let sections: Vec<&str> = page.data["sections"]
        .as_array()
        .expect("sections")
        .iter()
        .filter_map(|section| section["id"].as_str())
        .filter(|id| id.starts_with("issue-"))
        .collect();
    assert_eq!(
        sections,
        [format!("issue-{}", keys[1].as_str().expect("a key"))]
    );
    let index = page.data["fact_index"].as_array().expect("an index");
    let of = |part: &str| {
        index
            .iter()
            .filter(|entry| entry["id"].as_str().is_some_and(|id| id.contains(part)))
            .count()
    };
    assert_eq!(of("@appA"), 2);
    assert_eq!((of(keys[0].as_str().expect("a key")), of("@appB")), (0, 13));
    assert!(of(keys[1].as_str().expect("a key")) > 3);
}

#[test]
fn every_sentence_and_fact_stands_the_citation_check() {
    let found = answer(&yard(), &config(json!({})), json!({"facility_id": "hq"}));
    assert!(
        !found
            .banners
            .iter()
            .any(|banner| banner.contains("removed")),
        "{:?}",
        found.banners
    );
    let ids: Vec<&str> = found
        .facts
        .iter()
        .filter_map(|fact| fact["id"].as_str())
        .collect();
    assert!(ids[0].starts_with("F1@rcx_report-"), "{ids:?}");
    assert!(ids[1].starts_with("K1@summary-"), "{ids:?}");
    let indexed = found.data["fact_index"].as_array().expect("an index");
    for entry in indexed {
        let id = entry["id"].as_str().expect("an id");
        assert!(ids.contains(&id), "{id} is no fact");
        // One sentence without its full stop, so that the citation can stand before it.
        let fact = found.facts.iter().find(|fact| fact["id"] == id);
        assert_eq!(entry["text"], fact.expect("a fact")["text"]);
        let text = entry["text"].as_str().expect("a text");
        assert!(!text.ends_with('.') && !text.contains(". "), "{entry}");
    }
    for row in found.data["issues"].as_array().expect("issues") {
        assert!(ids.contains(&row["fact"].as_str().expect("an id")), "{row}");
    }
}

#[test]
fn without_a_configuration_every_rule_runs() {
    let found = yard()
        .call(
            &["hq"],
            "rcx_report",
            json!({"facility_id": "hq", "equips": ["AHU-1"]}),
        )
        .expect("an answer");
    assert_eq!(found.data["from_config"], json!(false));
    assert!(
        found
            .banners
            .iter()
            .any(|banner| banner.contains("no run configuration")),
        "{:?}",
        found.banners
    );
    assert!(
        column(&found, "equip")
            .iter()
            .all(|equip| *equip == "AHU-1"),
        "{:?}",
        found.data["issues"]
    );
}

#[test]
fn what_is_not_there_is_refused_by_name() {
    let yard = yard();
    let refused = |arguments: Value| {
        yard.call(&["hq"], "rcx_report", arguments)
            .expect_err("a refusal")
    };
    let unknown = refused(json!({"facility_id": "hq", "equips": ["AHU-9"]}));
    assert_eq!(unknown.code, FailureCode::NotFound);
    let empty = refused(json!({"facility_id": "hq", "start": "2030-01-01"}));
    assert_eq!(empty.code, FailureCode::NotFound);
    let turned = refused(json!({"facility_id": "hq", "start": "2024-07-01", "end": "2024-06-01"}));
    assert_eq!(turned.code, FailureCode::InvalidParams);
    let much = refused(json!({"facility_id": "hq", "top_n": 51}));
    assert_eq!(much.code, FailureCode::InvalidParams);
}
