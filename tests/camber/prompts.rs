//! Every prompt can be carried out on the demo site: a scripted client follows the steps that the prompt itself names, drafts
//! an answer that cites the facts it got, and has its citations checked.

use std::collections::BTreeMap;

use mock_station::site::SiteName;
use niagara_bridge::camber::{CapabilityResult, capabilities};
use niagara_bridge::prompts::PromptRegistry;
use niagara_bridge::prompts::camber::capability_prompts;
use niagara_bridge::tools::CallContext;
use serde_json::{Map, Value, json};

use crate::judged_site::{JudgedSite, STRETCHES};

/// The facts of a result that the draft cites, at most.
const CITED: usize = 5;

/// Findings that a step looks at in detail, at most.
const DETAILS: usize = 5;

/// Who follows a prompt: what it asked so far, and the answers.
struct Client<'a> {
    site: &'a JudgedSite,
    facility: String,
    asked: Vec<(String, Value, CapabilityResult)>,
}

impl Client<'_> {
    /// Does what a step says: first the calls that it spells out, else the one that it describes.
    fn follow(&mut self, step: &str) {
        let spelled = spelled_calls(step);
        if spelled.is_empty() {
            for (name, arguments) in self.described_calls(step) {
                self.ask(&name, arguments);
            }
            return;
        }
        // A second call in one step is the way out when the first finds nothing.
        let (name, arguments) = spelled[0].clone();
        self.ask(&name, arguments);
    }

    fn ask(&mut self, name: &str, arguments: Value) {
        let Value::Object(map) = arguments.clone() else {
            panic!("{name}: {arguments} is no object");
        };
        let result = self
            .site
            .result(name, map)
            .unwrap_or_else(|error| panic!("{name} {arguments}: {error:?}"));
        self.asked.push((name.to_owned(), arguments, result));
    }

    fn last(&self, name: &str) -> &(String, Value, CapabilityResult) {
        let mut asked = self.asked.iter().rev();
        asked
            .find(|(asked, ..)| asked == name)
            .unwrap_or_else(|| panic!("{name} was not called"))
    }

    /// Rule and equipment of the finding that was last looked at, out of its id.
    fn last_finding(&self) -> (String, String) {
        let id = &self.last("finding_detail").2.data["finding"]["finding_id"];
        let (rule, equip) = id
            .as_str()
            .and_then(|id| id.split_once('@'))
            .expect("a finding_id");
        let equip = equip.split('#').next().expect("an equipment");
        (rule.to_owned(), equip.to_owned())
    }

    /// The calls of a step that leaves their arguments to what was answered before.
    fn described_calls(&self, step: &str) -> Vec<(String, Value)> {
        let Some(rest) = step.strip_prefix("call ") else {
            // What to write, not what to call.
            assert!(!step.contains("call "), "not understood: {step}");
            return Vec::new();
        };
        let name = rest.split_whitespace().next().expect("a name");
        let facility = json!({"facility_id": self.facility});
        let with = |own: Value| {
            let mut arguments = facility.clone();
            arguments
                .as_object_mut()
                .expect("an object")
                .extend(own.as_object().expect("an object").clone());
            (name.to_owned(), arguments)
        };
        match name {
            "finding_detail" if step.contains("each finding") => {
                let (_, asked, run) = self.last("rule_run");
                raised(&run.data)
                    .into_iter()
                    .take(DETAILS)
                    .map(|id| with(json!({"finding_id": id, "equips": asked["equips"]})))
                    .collect()
            }
            "finding_detail" if step.contains("top three issues") => {
                let report = &self.last("rcx_report").2.data;
                let issues = report["issues"].as_array().expect("issues");
                let first = |issue: &Value| issue["finding_ids"].get(0).cloned();
                let ids = issues.iter().take(3).filter_map(first);
                ids.map(|id| with(json!({"finding_id": id}))).collect()
            }
            "rule_params" => {
                let (rule, _) = self.last_finding();
                vec![(name.to_owned(), json!({"rules": [rule]}))]
            }
            "sensor_trust" => {
                let (_, equip) = self.last_finding();
                vec![with(json!({"equips": [equip]}))]
            }
            "coverage" => {
                let rows = &self.last("coverage").2.data["equipment"];
                let rows = rows.as_array().expect("a row for each equipment");
                let share = |row: &&Value| row["coverage"].as_f64().unwrap_or(0.0);
                let worst = rows
                    .iter()
                    .min_by(|one, other| share(one).total_cmp(&share(other)));
                let worst = &worst.expect("an equipment")["equip"];
                vec![with(json!({"equips": [worst], "group_by": "point"}))]
            }
            other => panic!("no script for {other}: {step}"),
        }
    }

    /// A draft that says what the results say, each sentence with the id of the fact it is taken from.
    fn draft(&self) -> (String, Vec<Value>) {
        let mut sentences = Vec::new();
        let mut facts: BTreeMap<String, Value> = BTreeMap::new();
        for (_, _, result) in &self.asked {
            for (place, fact) in result.facts.iter().enumerate() {
                let id = fact["id"].as_str().expect("an id");
                if facts
                    .insert(id.to_owned(), Value::Object(fact.clone()))
                    .is_some()
                {
                    continue;
                }
                if place < CITED {
                    let text = fact["text"].as_str().expect("a text");
                    let sentence = text.trim_end_matches('.').replace(['\n'], " ");
                    let sentence = sentence.replace(". ", "; ");
                    sentences.push(format!("{sentence} [{id}]."));
                }
            }
        }
        (sentences.join(" "), facts.into_values().collect())
    }

    fn check(&self, text: &str, facts: &[Value]) -> CapabilityResult {
        let arguments = json!({"text": text, "facts": facts});
        let Value::Object(arguments) = arguments else {
            panic!("an object");
        };
        self.site
            .result("check_citations", arguments)
            .unwrap_or_else(|error| panic!("check_citations: {error:?}"))
    }
}

/// The ids of findings at fault or warn level, in the order of the answer, which is worst first.
fn raised(run: &Map<String, Value>) -> Vec<Value> {
    let findings = run["findings"].as_array().expect("findings").iter();
    findings
        .filter(|row| ["fault", "warn"].contains(&row["severity"].as_str().unwrap_or_default()))
        .map(|row| row["finding_id"].clone())
        .collect()
}

/// `call NAME with {…}`, each in turn.
fn spelled_calls(step: &str) -> Vec<(String, Value)> {
    let mut calls = Vec::new();
    for piece in step.split("call ").skip(1) {
        let Some((name, rest)) = piece.split_once(" with {") else {
            continue;
        };
        let object = format!("{{{rest}");
        let mut read = serde_json::Deserializer::from_str(&object).into_iter::<Value>();
        let arguments = read.next().expect("arguments").expect("JSON");
        calls.push((name.to_owned(), arguments));
    }
    calls
}

/// The steps of a prompt: its second paragraph, without their numbers.
fn steps(text: &str) -> Vec<String> {
    let paragraph = text.split("\n\n").nth(1).expect("steps");
    let lines = paragraph.lines().enumerate();
    lines
        .map(|(place, line)| {
            let number = format!("{}. ", place + 1);
            line.strip_prefix(&number)
                .unwrap_or_else(|| panic!("not numbered: {line}"))
                .to_owned()
        })
        .collect()
}

#[tokio::test]
async fn every_prompt_is_carried_out_on_the_demo_and_its_answer_holds() {
    let site = JudgedSite::new(SiteName::Harborview, &STRETCHES).await;
    let names = capabilities::names();
    let prompts =
        PromptRegistry::default().with_all(capability_prompts(|name| names.contains(&name)));
    let given = [
        (
            "check_savings_claim",
            json!({"claim": "10 % less electricity"}),
        ),
        ("compare_equipment", json!({"equips": "ahu-1, ahu-2"})),
        ("data_quality_review", json!({})),
        (
            "explain_finding",
            json!({"finding_id": "simultaneous_heat_cool@ahu-3"}),
        ),
        ("plan_site_visit", json!({})),
        ("rcx_executive_summary", json!({})),
        ("sensor_trust_review", json!({})),
        ("triage_ahu", json!({"equip": "ahu-3"})),
    ];
    for (name, own) in given {
        let mut arguments = own.as_object().expect("an object").clone();
        arguments.insert("facility_id".to_owned(), json!("harborview"));
        let answer = prompts
            .get(name, arguments, &CallContext::service())
            .await
            .unwrap_or_else(|error| panic!("{name}: {error:?}"));
        let text = answer["messages"][0]["content"]["text"]
            .as_str()
            .expect("text");
        let mut client = Client {
            site: &site,
            facility: "harborview".to_owned(),
            asked: Vec::new(),
        };
        for step in steps(text) {
            client.follow(&step);
        }
        let asked: Vec<&str> = client
            .asked
            .iter()
            .map(|(name, ..)| name.as_str())
            .collect();
        println!("{name}: {}", asked.join(", "));
        assert!(!asked.is_empty(), "{name}: {text}");
        assert!(text.contains("call check_citations"), "{text}");

        let (draft, facts) = client.draft();
        let checked = client.check(&draft, &facts);
        assert_eq!(
            checked.data["grounded"],
            json!(true),
            "{name}: {:?}",
            checked.data["sentences"]
        );
        assert!(checked.data["n_sentences"].as_u64() >= Some(1), "{draft}");

        // The same draft with one figure that no fact carries does not pass.
        let id = facts[0]["id"].as_str().expect("an id");
        let invented = format!("{draft} It came to 987654.25 [{id}].");
        let checked = client.check(&invented, &facts);
        assert_eq!(
            checked.data["counts"]["unsupported_number"],
            json!(1),
            "{name}"
        );
    }
}
