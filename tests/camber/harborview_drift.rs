//! The drift section of the demo's configuration shows what was planted, with its sign and size (mock-station/FAULTS.md).

use std::time::Duration;

use mock_station::site::SiteName;
use niagara_bridge::camber::run_config::RunConfigs;
use niagara_bridge::camber::{CallerPolicy, CapabilityRegistry, Watch, Workspace};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::judged_site::{JudgedSite, Stretch};

/// What each family of the configuration compares: some weeks of its windows.
const STRETCHES: [Stretch; 4] = [
    stretch("known-good", "2025-11-03", "2025-11-16"),
    stretch("spring", "2026-04-01", "2026-04-30"),
    stretch("early summer", "2026-05-01", "2026-05-21"),
    stretch("summer", "2026-07-13", "2026-07-24"),
];

const fn stretch(name: &'static str, first: &'static str, last: &'static str) -> Stretch {
    Stretch { name, first, last }
}

/// What drift says with the configuration of the demo. Without a trust floor: a store that holds some weeks of a year has
/// gaps that no trend of the demo has.
fn drift(site: &JudgedSite) -> Map<String, Value> {
    let file = site.folder.path().join("drift.yaml");
    std::fs::write(&file, &site.run_config).expect("a file");
    let configs = RunConfigs::read(&[file]).expect("a configuration");
    let mut caller = CallerPolicy::of([site.facility.as_str()]);
    caller.min_trust = 0.0;
    let watch = Watch::start(Duration::from_secs(300), CancellationToken::new());
    CapabilityRegistry::built_in()
        .expect("a registry")
        .call(
            "drift",
            json!({"facility_id": site.facility.as_str(), "limit": 1000}),
            &Workspace::new(site.store.clone()).with_run_configs(configs),
            &caller,
            &watch,
        )
        .expect("an answer")
        .data
}

/// A finding's severity and one of its figures.
fn figure(answer: &Map<String, Value>, id: &str, name: &str) -> (String, f64) {
    let rows = answer["findings"].as_array().expect("findings");
    let row = rows
        .iter()
        .find(|row| row["finding_id"] == id)
        .unwrap_or_else(|| panic!("no {id}"));
    let severity = row["severity"].as_str().expect("a severity").to_owned();
    let number = row["metrics"][name].as_f64();
    (
        severity,
        number.unwrap_or_else(|| panic!("{id}: no {name} in {row}")),
    )
}

#[tokio::test]
async fn what_drifts_at_harborview_is_told_with_its_sign_and_size() {
    let site = JudgedSite::new(SiteName::Harborview, &STRETCHES).await;
    let answer = drift(&site);
    for row in answer["findings"].as_array().expect("findings") {
        println!(
            "{:6} {}",
            row["severity"].as_str().unwrap_or_default(),
            row["summary"]
        );
    }

    // Fault 3: the sensor reads up to 6.5 °F too warm once its 120 days are over, which a shut heating coil cannot explain.
    let leak = "ahu:coil_leak_drift@ahu-3#2";
    let (severity, drift) = figure(&answer, leak, "coil_leak_drift_f");
    let (_, sigma) = figure(&answer, leak, "coil_leak_baseline_sigma_f");
    assert_eq!(severity, "fault");
    assert!((drift - 6.5).abs() < 3.0 * sigma, "{drift} ± {sigma}");
    let (sound, none) = figure(&answer, "ahu:coil_leak_drift@ahu-1#2", "coil_leak_drift_f");
    assert!(sound == "ok" && none.abs() < 1.0, "{sound} {none}");

    // Fault 6: 24 to 32 °F became 6.5 to 12 °F.
    let (severity, drift) = figure(
        &answer,
        "hw_pump:hw_loop_deltat_drift@hw-plant",
        "loop_deltat_drift_f",
    );
    assert!(
        severity == "fault" && (-25.0..-12.0).contains(&drift),
        "{severity} {drift}"
    );

    // Fault 10: subcooling fell from 10.5 to about 1 °F; its sibling keeps its charge.
    let (severity, drift) = figure(
        &answer,
        "dx:dx_refrigerant_charge@hp-1",
        "subcooling_drift_f",
    );
    assert!(
        severity == "fault" && (-11.0..-7.0).contains(&drift),
        "{severity} {drift}"
    );

    // Fault 7: 8.2 °F at full load, less below.
    let (severity, drift) = figure(
        &answer,
        "chiller:chiller_approach_drift@ch-1",
        "cond_drift_f",
    );
    assert!(
        severity == "fault" && (3.0..8.5).contains(&drift),
        "{severity} {drift}"
    );
    let (_, evaporator) = figure(
        &answer,
        "chiller:chiller_approach_drift@ch-1",
        "evap_drift_f",
    );
    assert!(evaporator.abs() < 0.5, "{evaporator}");
}
