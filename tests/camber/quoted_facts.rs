//! A person who copies a fact with its id writes a sentence that check_citations lets pass.

use mock_station::site::SiteName;
use serde_json::{Map, Value, json};

use crate::judged_site::{JudgedSite, Stretch};

const STRETCHES: [Stretch; 2] = [
    Stretch {
        name: "before",
        first: "2025-11-03",
        last: "2025-11-23",
    },
    Stretch {
        name: "spring",
        first: "2026-04-20",
        last: "2026-05-03",
    },
];

/// The longest draft of a check is 50,000 characters.
const LONGEST: usize = 40_000;

/// Every capability that gives facts of the facility, and the catalogues.
fn asked() -> Vec<(&'static str, Value)> {
    let facility = |more: Value| {
        let mut arguments = json!({"facility_id": "harborview", "limit": 1000});
        for (key, value) in more.as_object().expect("arguments") {
            arguments[key] = value.clone();
        }
        arguments
    };
    let baseline =
        json!({"baseline": ["2025-11-03", "2025-11-24"], "current": ["2026-04-20", null]});
    vec![
        ("facilities", json!({})),
        ("points", facility(json!({}))),
        ("coverage", facility(json!({}))),
        ("sensor_trust", facility(json!({}))),
        ("sensor_trust", facility(json!({"view": "report"}))),
        ("rule_run", facility(json!({"min_severity": "ok"}))),
        ("rcx_report", facility(json!({"top_n": 50}))),
        ("drift", facility(baseline)),
        ("mv_summary", json!({"facility_id": "harborview"})),
        ("dataset_search", json!({})),
        ("dataset_entry", json!({"dataset_id": "bdg2"})),
        ("rule_params", json!({"limit": 1000})),
        ("rule_params", json!({"limit": 1000, "detail": true})),
    ]
}

fn arguments(value: Value) -> Map<String, Value> {
    value.as_object().expect("arguments").clone()
}

/// Sentences of a draft that the check does not let pass.
fn refused(site: &JudgedSite, draft: &str, facts: &[&Map<String, Value>]) -> Vec<String> {
    let asked = json!({"text": draft, "facts": facts, "limit": 1000});
    let checked = site.call("check_citations", arguments(asked));
    let sentences = checked["sentences"].as_array().expect("sentences");
    let refused: Vec<String> = sentences
        .iter()
        .map(|sentence| format!("{}: {}", sentence["verdict"], sentence["text"]))
        .collect();
    assert_eq!(checked["grounded"], refused.is_empty());
    // One sentence a fact, or a part of one would pass under the citation of another.
    if refused.is_empty() {
        assert_eq!(checked["n_sentences"], facts.len(), "{draft}");
    }
    refused
}

#[tokio::test]
async fn every_fact_that_is_quoted_whole_passes_and_so_does_what_an_answer_says() {
    let site = JudgedSite::new(SiteName::Harborview, &STRETCHES).await;
    let mut wrong: Vec<String> = Vec::new();
    let mut quoted = 0;
    for (capability, asked) in asked() {
        let answer = site
            .result(capability, arguments(asked))
            .unwrap_or_else(|error| panic!("{capability}: {error}"));
        assert!(!answer.facts.is_empty(), "{capability}");
        let own = json!({"text": answer.text, "facts": answer.facts});
        let own = site.call("check_citations", arguments(own));
        if own["grounded"] != true {
            wrong.push(format!("the text of {capability}: {}", own["sentences"]));
        }
        let (mut draft, mut facts) = (String::new(), Vec::new());
        for fact in &answer.facts {
            let id = fact["id"].as_str().expect("an id");
            let text = fact["text"].as_str().expect("a text");
            if draft.len() + text.len() > LONGEST {
                wrong.extend(refused(&site, &draft, &facts));
                (draft, facts) = (String::new(), Vec::new());
            }
            draft.push_str(&format!("{text} [{id}]. "));
            facts.push(fact);
            quoted += 1;
        }
        wrong.extend(refused(&site, &draft, &facts));
    }
    println!("{quoted} facts");
    assert!(quoted > 500, "{quoted} facts");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
