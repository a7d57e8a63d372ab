//! What the README shows of a run configuration is one.

use niagara_bridge::camber::run_config::RunConfigs;
use serde_json::{Value, json};

/// The blocks of YAML below a heading.
fn examples(heading: &str) -> Vec<&'static str> {
    let readme = include_str!("../../README.md");
    let (_, below) = readme.split_once(heading).expect("the heading");
    let part = below.split("\n### ").next().expect("a part");
    part.split("```yaml\n")
        .skip(1)
        .map(|block| block.split("```").next().expect("a block"))
        .collect()
}

#[test]
fn the_examples_of_projects_drift_and_reports_are_read_as_they_stand() {
    let examples = examples("### Keys of projects, drift and reports");
    assert_eq!(examples.len(), 3);
    let folder = tempfile::tempdir().unwrap();
    let bills: Vec<String> = (1..=12)
        .map(|month| format!("2025-{month:02}-01,2025-{month:02}-28,{}", 100 + month))
        .collect();
    let bills = format!("start,end,therms\n{}\n", bills.join("\n"));
    std::fs::write(folder.path().join("gas.csv"), bills).unwrap();
    for example in examples {
        let written: Value = serde_yaml::from_str(example).unwrap();
        let mut config = json!({
            "source": {"kind": "store", "facility_id": "harborview"},
            "equipment": [{"class": "AHU"}, {"class": "Chiller"}, {"class": "Meter"}],
        });
        for (key, value) in written.as_object().unwrap() {
            config[key] = value.clone();
        }
        let file = folder.path().join("run.json");
        std::fs::write(&file, config.to_string()).unwrap();
        let read = RunConfigs::read(&[file]).unwrap_or_else(|error| panic!("{example}: {error}"));
        let read = read.of("harborview").unwrap();
        let declared = written
            .get("mv")
            .and_then(Value::as_array)
            .map_or(0, Vec::len);
        assert_eq!(read.config.mv_entries().unwrap().len(), declared);
    }
}
