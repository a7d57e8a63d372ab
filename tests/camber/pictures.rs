//! renderTrend draws what analyses found: the residuals of a drift with their alarm, and the model of a meter.

use std::sync::Arc;

use niagara_bridge::camber::CapabilityService;
use niagara_bridge::clock::SystemClock;
use niagara_bridge::config::Config;
use niagara_bridge::config::load::Settings;
use niagara_bridge::config::policy::{Policy, SharedPolicy};
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

fn registry(yard: &StoreYard) -> Registry {
    let service = CapabilityService::start(yard.workspace()).expect("a service");
    let mut settings = Settings::empty("test".to_owned());
    settings
        .read_text("test.yaml", "camber: {allow: [hq]}")
        .expect("settings");
    let policy = Policy::of(&Config::from_settings(&settings).expect("a configuration"));
    Registry::builder()
        .tool(RenderTrend {
            stations: Arc::new(NoStation),
            capabilities: CapabilityAccess::new(Arc::new(service), SharedPolicy::new(policy)),
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
