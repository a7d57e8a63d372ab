//! CAMBER 0.110 itself finds the planted faults of both demo sites in the store that an ingest makes of their histories.

use mock_station::site::SiteName;
use serde_json::{Value, json};

use crate::fault_table::{
    self, Consequence, HARBORVIEW_CONSEQUENCES, Judged, LAKESIDE_CONSEQUENCES,
};
use crate::judged_site::{JudgedSite, Judgement, STRETCHES};
use crate::programs::{Peers, observe, script};

#[tokio::test]
async fn camber_finds_the_planted_faults_of_harborview() {
    if let Some(peers) = Peers::find("camber_finds_the_planted_faults_of_harborview") {
        find_and_compare(&peers, SiteName::Harborview, &HARBORVIEW_CONSEQUENCES).await;
    }
}

#[tokio::test]
async fn camber_finds_the_planted_faults_of_lakeside() {
    if let Some(peers) = Peers::find("camber_finds_the_planted_faults_of_lakeside") {
        find_and_compare(&peers, SiteName::Lakeside, &LAKESIDE_CONSEQUENCES).await;
    }
}

async fn find_and_compare(peers: &Peers, name: SiteName, consequences: &[Consequence]) {
    let site = JudgedSite::new(name, &STRETCHES).await;
    let theirs = theirs(peers, &site).await;
    println!("{}", fault_table::table(&site.truth, &theirs));
    let mut wrong = fault_table::unseen(&site.truth, &theirs);
    wrong.extend(fault_table::wrongly_blamed(
        &site.truth,
        &theirs,
        consequences,
    ));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));

    let ours: Judged = STRETCHES
        .map(|stretch| (stretch, site.judged(stretch)))
        .into();
    assert_eq!(
        fault_table::table(&site.truth, &ours),
        fault_table::table(&site.truth, &theirs)
    );
}

/// The findings of the reference in all stretches, with the run configuration of the site.
async fn theirs(peers: &Peers, site: &JudgedSite) -> Judged {
    let mut config: Value = serde_yaml::from_str(&site.run_config).expect("YAML");
    config["source"]["store"] = json!(site.store.root());
    let file = site.folder.path().join("theirs.json");
    std::fs::write(&file, config.to_string()).expect("a file");
    let runs: Vec<Value> = STRETCHES
        .iter()
        .map(|stretch| {
            let (start, end) = stretch.bounds();
            json!({
                "facility": site.facility.as_str(),
                "config": file,
                "floor": 0.5,
                "arguments": {"start": start, "end": end},
            })
        })
        .collect();
    let requests = site.folder.path().join("requests.json");
    std::fs::write(&requests, json!({"rules": [], "runs": runs}).to_string()).expect("a file");
    let mut python = peers.python("camber");
    python
        .arg(script("camber_rules.py"))
        .args([site.store.root(), &peers.results(), &requests]);
    let answered = observe(python).await;
    let answers = answered["answers"].as_array().expect("answers");
    STRETCHES
        .into_iter()
        .zip(answers)
        .map(|(stretch, answer)| {
            assert_eq!(answer["error"], Value::Null, "{}", stretch.name);
            let findings = answer["findings"].as_array().expect("findings");
            let judgements: Vec<Judgement> = findings
                .iter()
                .flat_map(|row| site.judgements(row, || with_members(row)))
                .collect();
            (stretch, judgements)
        })
        .collect()
}

/// The metrics of a row, with the zones that its summary names where a census of rogue zones has no worst one: the lists of
/// members are no part of the reference's rows.
fn with_members(row: &Value) -> Value {
    let mut metrics = row["metrics"].clone();
    let is_census = row["rule"]
        .as_str()
        .is_some_and(|rule| rule.ends_with("rogue_zone_census"));
    if is_census && metrics["worst_zone"].is_null() {
        let summary = row["summary"].as_str().unwrap_or_default();
        let zones: Vec<&str> = summary
            .split(|letter: char| letter.is_whitespace() || ",;:()".contains(letter))
            .filter(|word| word.contains('-') && word.contains(|c: char| c.is_ascii_digit()))
            .collect();
        metrics["overloaded_zones"] = json!(zones);
    }
    metrics
}
