//! Headless Chromium opens the report: nothing goes wrong, its pictures are seen, and the keyboard reaches every issue.

use std::process::Stdio;
use std::time::Duration;

use niagara_bridge::trends::store::wall_clock::{HOUR, parse_bound};
use niagara_bridge::trends::store::writer::Registration;
use niagara_bridge::trends::store::{EquipmentRows, FacilityId, RoleColumn, TrendStore};
use serde_json::{Value, json};

use crate::programs::{Peers, observe, script};

/// Nothing in a name may become markup.
const HOSTILE: &str = "AHU <img src=x onerror=\"document.title='broken in'\">";

fn store(path: &std::path::Path) {
    let start = parse_bound("2024-06-03").expect("a time");
    let stamps: Vec<i64> = (0..24 * 28).map(|hour| start + hour * HOUR).collect();
    let column = |role: &str, value: &dyn Fn(usize, bool) -> f64| RoleColumn {
        role: role.to_owned(),
        values: (0..stamps.len())
            .map(|row| value(row, row / 24 % 7 < 5 && (6..18).contains(&(row % 24))))
            .collect(),
        stamps: stamps.clone(),
    };
    let rows = EquipmentRows {
        equip: HOSTILE.to_owned(),
        equip_class: "AHU".to_owned(),
        columns: vec![
            column("supply_fan_status", &|_, on| f64::from(u8::from(on))),
            column("supply_air_temp_sp", &|_, _| 55.0),
            column("supply_air_temp", &|row, on| {
                let small = f64::from(u8::try_from(row * 37 % 11).expect("small")) / 100.0;
                small + if on { 63.0 } else { 70.0 }
            }),
        ],
    };
    let store = TrendStore::create(path).expect("a store");
    let registration = Registration::active(Some("hq"), Some("America/Chicago"));
    store
        .writer(Duration::from_secs(5))
        .expect("the lock")
        .append(
            &FacilityId::parse("hq").expect("an id"),
            &[rows],
            Some(&registration),
        )
        .expect("an append");
}

#[tokio::test]
async fn a_browser_shows_the_report() {
    let Some(peers) = Peers::find("a_browser_shows_the_report") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("store");
    store(&place);
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_niagara-bridge"))
        .args(["report", "--facility", "hq", "--store"])
        .arg(&place)
        .arg("--out")
        .arg(folder.path())
        .stdin(Stdio::null())
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{output:?}");
    let page = folder.path().join("hq-report.html");

    let mut browser = peers.node();
    browser.arg(script("browser_report.mjs")).arg(&page);
    let seen = observe(browser).await;
    assert_eq!(seen["problems"], json!([]), "{seen}");
    assert_eq!(seen["title"], "Retro-commissioning report: hq");
    assert_eq!((&seen["scripts"], &seen["images"]), (&json!(0), &json!(0)));
    let issues = seen["issues"].as_u64().expect("a count");
    assert!(issues > 0, "{seen}");
    assert!(
        seen["charts"].as_u64().is_some_and(|charts| charts > 0),
        "{seen}"
    );
    let reached = seen["reached"].as_array().expect("links");
    assert_eq!(
        reached[0], "#main",
        "the way past the contents comes first: {seen}"
    );
    let of_issues = |link: &&Value| {
        link.as_str()
            .is_some_and(|link| link.starts_with("#issue-"))
    };
    // Each issue is reached in the contents and in the table.
    assert!(
        reached.iter().filter(of_issues).count() as u64 >= 2 * issues,
        "{seen}"
    );
    assert_eq!(
        seen["overflow"], false,
        "the page is wider than a telephone"
    );
    assert_eq!(seen["printed_nav"], "none");
    assert!(
        seen["pages"].as_u64().is_some_and(|pages| pages >= issues),
        "{seen}"
    );
}
