//! The command `report`: one HTML file out of a store.

use std::process::{Command, Output, Stdio};

use serde_json::json;

use crate::drift::building;
use crate::mv;
use crate::rcx_report::{config, yard};
use crate::store_yard::StoreYard;

fn report(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_niagara-bridge"))
        .arg("report")
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("the program starts")
}

fn written(yard: &StoreYard, config: &serde_json::Value, more: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("reports");
    let file = folder.path().join("hq.json");
    std::fs::write(&file, config.to_string()).expect("a file");
    let path = |path: &std::path::Path| path.to_str().expect("a path").to_owned();
    let (store, folder, file) = (path(yard.root()), path(&out), path(&file));
    let mut arguments = vec!["--facility", "hq", "--store", &store, "--out", &folder];
    arguments.extend(["--run-config", &file]);
    arguments.extend(more);
    let output = report(&arguments);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let expected = out.join("hq-report.html");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(told.trim(), path(&expected));
    std::fs::read_to_string(expected).expect("the report")
}

#[test]
fn a_report_is_one_file_with_its_issues_pictures_and_facts() {
    let yard = yard();
    let page = written(
        &yard,
        &config(json!({"rcx": {
            "loads": {"AHU-1": {"heating_capacity_kbtuh": 500}, "AHU-2": {"heating_capacity_kbtuh": 200}},
            "references": {"AHU-2": {"supply_air_temp": {"equip": "LOGGER"}}},
        }})),
        &[],
    );
    assert!(page.starts_with("<!doctype html>"));
    for part in [
        "<h1>Retro-commissioning report: Headquarters</h1>",
        "<section id=\"summary\">",
        "<caption>Ranked issues</caption>",
        "Enable the supply-air temperature reset",
        "Conditional on these sensors; check them first",
        "Sensors against their references",
        "Appendix B: assumptions used",
        "Appendix C: rules run",
        "<td>leaking_valve</td>",
        "Appendix E: engineers&#39; notes",
        "reheat gas and the cooling that undoes it (simultaneous_heat_cool)",
    ] {
        assert!(page.contains(part), "{part} is not in the report");
    }
    // Every place that a link of the page leads to is there.
    let places: Vec<&str> = page
        .split("href=\"#")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    assert!(places.len() > 8, "{places:?}");
    for place in places {
        assert!(
            page.contains(&format!("id=\"{place}\"")),
            "nothing is at #{place}"
        );
    }
    assert!(page.contains("<svg"), "no picture");
    for foreign in ["<script", "http-equiv=\"refresh", "src=\"http", "@import"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
}

#[test]
fn a_drift_shows_what_it_measured_less_what_was_expected() {
    let config = json!({
        "source": {"kind": "store", "facility_id": "hq"},
        "equipment": [{"class": "AHU"}],
        "rules": ["supply_air_control"],
        "drift": {"families": [{"class": "AHU", "family": "ahu",
            "reference": {"period": ["2024-03-01", "2024-04-09 23:00"]}}]},
    });
    // These trends are smoother than any real ones.
    let page = written(&building(), &config, &["--min-trust", "0"]);
    let (_, issue) = page
        .split_once("<section class=\"issue\"")
        .expect("an issue");
    let (issue, _) = issue.split_once("</section>").expect("its end");
    for part in [
        "<h2>Issue 1: Fan efficiency drift on AHU-1</h2>",
        "<svg",
        "measured less expected",
        "Measured less expected by the known-good time, ",
        " of ahu:fan_efficiency_drift@AHU-1; since 2024-0",
    ] {
        assert!(issue.contains(part), "{part} is not in {issue}");
    }
}

/// A saving without what it rests on says more than it may.
#[test]
fn savings_stand_beside_their_caveats_and_notices() {
    let mut entry = mv::both_years();
    entry["period"] = json!(["2023-01-01", "2023-07-31"]);
    entry["reporting_period"] = json!(["2024-01-01", "2026-12-31"]);
    let page = written(&mv::yard(), &mv::config(json!([entry]), json!({})), &[]);
    let section = page.split("<section id=\"mv\">").nth(1).expect("a section");
    let section = section.split("</section>").next().expect("its end");
    for part in [
        "<h3>What these figures rest on</h3>",
        "<td>mv_savings@M1, mv_baseline@M1</td><td>short or gappy baseline",
        "<td>mv_savings@M1</td><td>kernel g14 under-covers",
        "reaches beyond what is stored, the data ends on 2024-12-3",
    ] {
        assert!(section.contains(part), "{part} is not in {section}");
    }
}

#[test]
fn what_cannot_be_reported_is_said() {
    let yard = yard();
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().to_str().expect("a path");
    let store = yard.root().to_str().expect("a path");
    for (facility, told) in [("annex", "no stored data"), ("no/facility", "facility")] {
        let output = report(&["--facility", facility, "--store", store, "--out", out]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.contains(told), "{error}");
    }
    let output = report(&[
        "--facility",
        "hq",
        "--store",
        store,
        "--out",
        out,
        "--station",
        "https://station",
    ]);
    assert_eq!(
        output.status.code(),
        Some(2),
        "a station without a knowledge file: {output:?}"
    );
}
