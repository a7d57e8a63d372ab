//! renderTrend draws what analyses found: the residuals of a drift with their alarm, and the model of a meter.

use std::sync::Arc;

use niagara_bridge::camber::run_config::RunConfigs;
use niagara_bridge::camber::{CapabilityService, Workspace};
use niagara_bridge::clock::SystemClock;
use niagara_bridge::config::Config;
use niagara_bridge::config::load::Settings;
use niagara_bridge::config::policy::{Policy, SharedPolicy};
use niagara_bridge::prompts::PromptRegistry;
use niagara_bridge::prompts::camber_completion::completed_prompts;
use niagara_bridge::station::facade::StationFacade;
use niagara_bridge::tools::capability::CapabilityAccess;
use niagara_bridge::tools::render_trend::RenderTrend;
use niagara_bridge::tools::station_access::StationDirectory;
use niagara_bridge::tools::{CallContext, Principal, Registry, ToolError};
use niagara_bridge::trends::store::RoleColumn;
use serde_json::{Value, json};

use crate::store_yard::{StoreYard, equipment, stamps};

/// Pictures of stored data need no station.
struct NoStation;

impl StationDirectory for NoStation {
    fn for_caller(&self, _principal: &Principal) -> Result<Arc<StationFacade>, ToolError> {
        Err(ToolError::station(
            "station-unreachable",
            "There is no station.",
        ))
    }
}

fn access(yard: &StoreYard) -> CapabilityAccess {
    access_over(yard.workspace())
}

fn access_over(workspace: Workspace) -> CapabilityAccess {
    let service = CapabilityService::start(workspace).expect("a service");
    let mut settings = Settings::empty("test".to_owned());
    settings
        .read_text("test.yaml", "camber: {allow: [hq]}")
        .expect("settings");
    let policy = Policy::of(&Config::from_settings(&settings).expect("a configuration"));
    CapabilityAccess::new(Arc::new(service), SharedPolicy::new(policy))
}

fn registry(yard: &StoreYard) -> Registry {
    registry_over(access(yard))
}

fn registry_over(capabilities: CapabilityAccess) -> Registry {
    Registry::builder()
        .tool(RenderTrend {
            stations: Arc::new(NoStation),
            capabilities,
            clock: SystemClock::shared(),
        })
        .build()
        .expect("a registry")
}

async fn call(registry: &Registry, arguments: Value) -> Value {
    let answer = registry.call("renderTrend", arguments, CallContext::service());
    answer.await.expect("valid arguments")
}

/// The structured content of a call that must work, valid by the tool's own schema.
async fn told(registry: &Registry, arguments: Value) -> Value {
    let result = call(registry, arguments).await;
    assert_eq!(result["isError"], json!(false), "{result}");
    assert_eq!(result["content"][1]["type"], json!("image"));
    let told = result["structuredContent"].clone();
    let schema = registry
        .definition("renderTrend")
        .and_then(|tool| tool.output_schema.clone());
    let validator = jsonschema::validator_for(&schema.expect("a schema")).expect("a schema");
    let problems: Vec<String> = validator
        .iter_errors(&told)
        .map(|error| error.to_string())
        .collect();
    assert!(problems.is_empty(), "{problems:?} in {told}");
    told
}

fn column(role: &str, stamps: &[i64], value: impl Fn(i64) -> f64) -> RoleColumn {
    RoleColumn {
        role: role.to_owned(),
        stamps: stamps.to_vec(),
        values: (0..).take(stamps.len()).map(value).collect(),
    }
}

/// 60 days of an air handler: from the 31st day on its fan draws 3 kW more at the same airflow.
fn drifting() -> StoreYard {
    let yard = StoreYard::new();
    let hours = stamps("2024-01-01", 60, 60 * 24);
    let airflow = |hour: i64| 4000.0 + 400.0 * (hour % 10) as f64;
    let noise = |hour: i64| ((hour * 7) % 5 - 2) as f64 * 0.1;
    let power = |hour: i64| {
        2.0 + airflow(hour) / 1000.0 + noise(hour) + if hour >= 30 * 24 { 3.0 } else { 0.0 }
    };
    let columns = vec![
        column("airflow", &hours, airflow),
        column("power", &hours, power),
        column("supply_fan_status", &hours, |_| 1.0),
    ];
    yard.append("hq", &[equipment("AHU-1", "AHU", columns)]);
    yard
}

/// A fan that runs by day, its stage, and the supply temperature, every quarter of an hour.
#[tokio::test]
async fn stored_states_and_stages_are_steps_and_measurements_are_lines() {
    let yard = StoreYard::new();
    let quarters = stamps("2024-03-04", 15, 192);
    let is_day = |place: i64| (28..72).contains(&(place % 96));
    let columns = vec![
        column("supply_fan_status", &quarters, |place| {
            f64::from(u8::from(is_day(place)))
        }),
        column("compressor_stage", &quarters, |place| {
            if is_day(place) { 2.0 } else { 0.0 }
        }),
        column("supply_air_temp", &quarters, |place| {
            55.0 + (place % 7) as f64
        }),
    ];
    yard.append("hq", &[equipment("AHU-1", "AHU", columns)]);
    let registry = registry(&yard);
    let roles = ["supply_fan_status", "compressor_stage", "supply_air_temp"];
    let points = roles.map(|role| json!({"facility": "hq", "equip": "AHU-1", "role": role}));
    let arguments = json!({"points": points, "from": "2024-03-04", "to": "2024-03-06"});
    let found = told(&registry, arguments).await;
    let lines: Vec<&Value> = (0..3)
        .map(|place| &found["points"][place]["line"])
        .collect();
    assert_eq!(lines, ["steps", "steps", "straight"]);
    assert_eq!(found["points"][0]["gaps"], json!(0));
    assert_eq!(found["points"][0]["samples"], json!(192));
}

#[tokio::test]
async fn what_a_picture_does_not_know_is_refused_and_not_left_out() {
    let yard = StoreYard::new();
    yard.append(
        "hq",
        &[equipment(
            "AHU-1",
            "AHU",
            vec![column("oat", &stamps("2024-03-04", 60, 24), |_| 1.0)],
        )],
    );
    let registry = registry(&yard);
    let point = json!({"facility": "hq", "equip": "AHU-1", "role": "oat"});
    for (more, told) in [
        (json!({"colour": "red"}), "property 'colour' is not allowed"),
        (
            json!({"widht": 480}),
            "property 'widht' is not allowed; did you mean 'width'?",
        ),
        (
            json!({"width": 40}),
            "/width: must have a value of at least ",
        ),
        (
            json!({"width": 99_999}),
            "/width: must have a value of at most ",
        ),
        (
            json!({"height": 10}),
            "/height: must have a value of at least ",
        ),
        (
            json!({"spans": [{"start": "2024-03-04", "end": "2024-03-05", "lable": "x"}]}),
            "did you mean 'label'?",
        ),
        (json!({"kind": "trends"}), "did you mean 'trend'?"),
    ] {
        let mut arguments = json!({"points": [point], "from": "2024-03-04", "to": "2024-03-05"});
        for (key, value) in more.as_object().expect("an object") {
            arguments[key] = value.clone();
        }
        let refused = registry
            .call("renderTrend", arguments, CallContext::service())
            .await
            .expect_err("refused");
        assert!(refused.message.contains(told), "{}", refused.message);
    }
}

#[tokio::test]
async fn the_arguments_of_prompts_are_completed_from_the_store() {
    let yard = StoreYard::new();
    let hour = || column("oat", &stamps("2024-03-04", 60, 24), |_| 1.0);
    let rows = ["AHU-1", "AHU-2", "VAV-1"].map(|equip| equipment(equip, "AHU", vec![hour()]));
    yard.append("hq", &rows);
    yard.append("annex", &[equipment("B-1", "Boiler", vec![hour()])]);
    let prompts = PromptRegistry::default().with_all(completed_prompts(|_| true, &access(&yard)));
    let complete = async |prompt: &str, argument: &str, typed: &str, given: Value| {
        let given = given.as_object().expect("an object").clone();
        let context = CallContext::service();
        prompts
            .complete(prompt, argument, typed, &given, &context)
            .await
            .expect("completed")
    };
    let facility = json!({"facility_id": "hq"});
    // The annex is not for this caller.
    assert_eq!(
        complete("triage_ahu", "facility_id", "", json!({})).await,
        ["hq"]
    );
    assert_eq!(
        complete("triage_ahu", "equip", "ahu", facility.clone()).await,
        ["AHU-1", "AHU-2"]
    );
    // The only facility is meant when none is given yet.
    assert_eq!(
        complete("triage_ahu", "equip", "v", json!({})).await,
        ["VAV-1"]
    );
    let unseen = complete("triage_ahu", "equip", "", json!({"facility_id": "annex"})).await;
    assert!(unseen.is_empty(), "{unseen:?}");
    assert_eq!(
        complete(
            "compare_equipment",
            "equips",
            "AHU-1, ahu",
            facility.clone()
        )
        .await,
        ["AHU-1, AHU-2"]
    );
    assert_eq!(
        complete(
            "explain_finding",
            "finding_id",
            "supply_air_c",
            facility.clone()
        )
        .await,
        ["supply_air_control@"]
    );
    assert_eq!(
        complete(
            "explain_finding",
            "finding_id",
            "supply_air_control@V",
            facility
        )
        .await,
        ["supply_air_control@VAV-1"]
    );
    assert!(
        complete("check_savings_claim", "claim", "x", json!({}))
            .await
            .is_empty()
    );
}

#[tokio::test]
async fn the_residuals_of_a_finding_of_drift_are_drawn_with_their_alarm() {
    let yard = drifting();
    let registry = registry(&yard);
    let drift = json!({
        "kind": "drift",
        "facility": "hq",
        "finding": "ahu:fan_efficiency_drift@AHU-1",
        "baseline": ["2024-01-01", "2024-01-30"],
        "current": ["2024-01-25", "2024-02-29"],
    });
    let found = told(&registry, drift.clone()).await;
    let trace = &found["drift"]["traces"][0];
    assert_eq!(
        (&found["kind"], &trace["units"]),
        (&json!("drift"), &json!("kw"))
    );
    let size = trace["drift"].as_f64().expect("a drift");
    assert!((size - 3.0).abs() < 0.2, "{trace}");
    let alarm = trace["alarmAt"].as_str().expect("an alarm");
    assert!(alarm.starts_with("2024-01-31"), "{alarm}");
    assert_eq!(found["timeAxis"], json!("wall clock of America/Chicago"));

    let mut other = drift;
    other["finding"] = json!("ahu:no_such@AHU-1");
    let refused = call(&registry, other.clone()).await;
    assert_eq!(
        (&refused["errorCode"], &refused["errorData"]["argument"]),
        (&json!(-32602), &json!("finding"))
    );
    let available = refused["errorData"]["available"].to_string();
    assert!(
        available.contains("fan_efficiency_drift@AHU-1"),
        "{refused}"
    );
    other["facility"] = json!("annex");
    assert_eq!(call(&registry, other).await["errorCode"], json!(-32010));
}

#[tokio::test]
async fn a_meter_is_drawn_over_the_weather_with_its_model() {
    let yard = StoreYard::new();
    let hours = stamps("2023-01-01", 60, 365 * 24);
    // A year between 30 and 90 degrees; above 60 the chiller runs.
    let warmth =
        |hour: i64| 60.0 - 30.0 * (std::f64::consts::TAU * (hour / 24) as f64 / 365.0).cos();
    let noise = |hour: i64| ((hour / 24 * 7) % 11 - 5) as f64 * 0.3;
    let power = |hour: i64| 50.0 + 2.0 * (warmth(hour) - 60.0).max(0.0) + noise(hour);
    yard.append(
        "hq",
        &[
            equipment("Main", "METER", vec![column("power", &hours, power)]),
            equipment("W", "WEATHER", vec![column("oat", &hours, warmth)]),
        ],
    );
    let registry = registry(&yard);
    let meter = json!({
        "kind": "changePoint",
        "facility": "hq",
        "meter": {"equip": "Main", "role": "power"},
        "weather": {"equip": "W"},
        "baseline": ["2023-01-01", "2023-09-30T23:59:59"],
        "reporting": ["2023-10-01", "2023-12-31T23:59:59"],
        "width": 640,
        "height": 400,
    });
    let found = told(&registry, meter.clone()).await;
    let fit = &found["changePoint"];
    assert_eq!(
        (&fit["baselineDays"], &fit["reportingDays"]),
        (&json!(273), &json!(92)),
        "{fit}"
    );
    assert_eq!(fit["energy"], json!("kWh per day"));
    let point = fit["model"]["changePoints"][0]
        .as_f64()
        .expect("a change point");
    assert!((point - 60.0).abs() < 3.0, "{fit}");
    assert!(
        fit["model"]["r2"].as_f64().is_some_and(|r2| r2 > 0.95),
        "{fit}"
    );

    // The same by the entry of a project.
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("hq.json");
    let project = json!({
        "source": {"kind": "store", "store": yard.root(), "facility_id": "hq"},
        "equipment": [{"class": "METER"}],
        "mv": [
            {"class": "METER", "role": "power", "method": "forecast", "period": ["2023-01-01", "2023-09-30"],
                "reporting_period": ["2023-10-01", "2023-12-31"]},
        ],
    });
    std::fs::write(&file, project.to_string()).expect("a file");
    let configs = RunConfigs::read(&[file]).expect("a configuration");
    let of_project = registry_over(access_over(yard.workspace().with_run_configs(configs)));
    let by_entry = json!({"kind": "changePoint", "facility": "hq", "entry": 0, "meter": {"equip": "Main"},
        "weather": {"equip": "W"}, "width": 640, "height": 400});
    assert_eq!(
        &told(&of_project, by_entry.clone()).await["changePoint"],
        fit
    );
    for (key, value) in [("entry", json!(1)), ("meter", json!({"role": "power"}))] {
        let mut arguments = by_entry.clone();
        arguments[key] = value;
        let refused = call(&of_project, arguments).await;
        assert_eq!(refused["errorData"]["argument"], json!(key), "{refused}");
    }

    // Without a word of the weather it is what the facility shares, as for mv_summary.
    let mut shared = meter.clone();
    shared.as_object_mut().expect("object").remove("weather");
    shared["reporting"] = json!(["2030-01-01", "2030-02-01"]);
    let same = told(&registry, shared).await;
    assert_eq!(same["changePoint"]["model"], fit["model"]);
    assert_eq!(
        same["notes"],
        json!([
            "The outdoor temperature is oat of W.",
            "No day of the reporting period has data of meter and weather."
        ])
    );

    let refused = async |change: Value| {
        let mut arguments = meter.clone();
        for (key, value) in change.as_object().expect("object") {
            arguments[key] = value.clone();
        }
        let refused = call(&registry, arguments).await;
        assert_eq!(refused["errorCode"], json!(-32602), "{refused}");
        refused["errorData"]["argument"].clone()
    };
    assert_eq!(
        refused(json!({"baseline": ["2023-01-01", "2023-01-02"]})).await,
        json!("baseline")
    );
    assert_eq!(
        refused(json!({"baseline": ["2023-02-01", "2023-01-02"]})).await,
        json!("baseline")
    );
    assert_eq!(
        refused(json!({"meter": {"equip": "Main"}})).await,
        json!("meter")
    );
    assert_eq!(
        refused(json!({"meter": {"equip": "Main", "role": "oat"}})).await,
        json!("meter")
    );
    assert_eq!(
        refused(json!({"weather": {"equip": "Nowhere"}})).await,
        json!("equip")
    );
}
