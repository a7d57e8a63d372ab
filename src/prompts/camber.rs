//! Prompts that lead through capabilities; each appears as soon as all that it calls exist (CAMBER core §10).

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Prompt, PromptArgument, PromptArguments, PromptDefinition};
use crate::tools::{CallContext, ToolError};

/// An argument is cut at this length, in characters.
const LONGEST_ARGUMENT: usize = 200;

/// Most equipment of one comparison.
const MOST_COMPARED: usize = 20;

/// The rules of every answer; the last paragraph but one of each prompt.
const RULES: &str = "Rules for the answer: state only what the results say. End every sentence with the fact id or ids it \
    rests on, in square brackets, exactly as returned, token included. Copy numbers exactly, and state no number that no \
    cited fact carries. A declined check, a skipped rule or an equipment that was not evaluated is not a pass. When a call \
    is refused (not_allowed, refused_licence), say so and do not work around it. Show every line that starts with NOTICE.";

/// The last paragraph of each prompt.
const CLOSING: &str = "Finally call check_citations with the draft as text and the facts of all calls together as facts; fix \
    or remove what is not supported, and give the corrected text.";

const FACILITY: PromptArgument = PromptArgument {
    name: "facility_id",
    description: "A facility_id of the capability facilities.",
    required: true,
};

type Steps = fn(&Arguments) -> Result<(String, Vec<String>), ToolError>;

/// One prompt: what it is, which capabilities it calls, and its steps.
pub struct CapabilityPrompt {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    arguments: &'static [PromptArgument],
    calls: &'static [&'static str],
    steps: Steps,
}

/// The prompts whose capabilities all exist, sorted by name.
pub fn capability_prompts(exists: impl Fn(&str) -> bool) -> Vec<Arc<dyn Prompt>> {
    existing(exists)
        .map(|prompt| -> Arc<dyn Prompt> { Arc::new(prompt) })
        .collect()
}

pub(super) fn existing(
    exists: impl Fn(&str) -> bool,
) -> impl Iterator<Item = &'static CapabilityPrompt> {
    PROMPTS
        .iter()
        .filter(move |prompt| prompt.calls.iter().all(|name| exists(name)))
}

/// Argument values, each one short line.
struct Arguments<'a>(&'a PromptArguments);

impl Arguments<'_> {
    fn get(&self, name: &str) -> Option<String> {
        let text = self.0.get(name)?;
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        Some(line.chars().take(LONGEST_ARGUMENT).collect())
    }

    fn text(&self, name: &str) -> String {
        self.get(name).unwrap_or_default()
    }

    fn facility(&self) -> String {
        self.text("facility_id")
    }
}

fn call(name: &str, arguments: &Value) -> String {
    format!("call {name} with {arguments}")
}

impl Prompt for &'static CapabilityPrompt {
    fn definition(&self) -> PromptDefinition {
        PromptDefinition {
            name: self.name.to_owned(),
            title: Some(self.title),
            description: self.description.to_owned(),
            arguments: self.arguments.to_vec(),
        }
    }

    fn text(
        &self,
        _context: &CallContext,
        arguments: &PromptArguments,
    ) -> Result<String, ToolError> {
        let (task, steps) = (self.steps)(&Arguments(arguments))?;
        let steps: Vec<String> = steps
            .iter()
            .enumerate()
            .map(|(place, step)| format!("{}. {step}", place + 1))
            .collect();
        Ok([task.as_str(), &steps.join("\n"), RULES, CLOSING].join("\n\n"))
    }
}

fn triage_ahu(arguments: &Arguments<'_>) -> Result<(String, Vec<String>), ToolError> {
    let (facility, equip) = (arguments.facility(), arguments.text("equip"));
    let own = json!({"facility_id": facility, "equips": [equip]});
    Ok((
        format!("Triage the air handler {} of the facility {}: what is wrong, and what to look at first.", json!(equip), json!(facility)),
        vec![
            format!("{}: what is stored of it.", call("points", &json!({"facility_id": facility, "equip": equip}))),
            format!("{}: a fault on an untrusted input is a sensor problem first.", call("sensor_trust", &own)),
            format!("{}: the findings.", call("rule_run", &own)),
            "call finding_detail for each finding of severity fault or warn, five at most, worst first, with the same facility_id and equips.".to_owned(),
            "write ranked causes, the hours of evidence, the suspect inputs, and the first checks on site.".to_owned(),
        ],
    ))
}

fn executive_summary(arguments: &Arguments<'_>) -> Result<(String, Vec<String>), ToolError> {
    let facility = arguments.facility();
    Ok((
        format!("Summarise the retro-commissioning findings of the facility {} for its owner.", json!(facility)),
        vec![
            format!("{}.", call("rcx_report", &json!({"facility_id": facility}))),
            "write one or two paragraphs: how many issues; the top ones with their equipment and cost, or why a cost is not \
             known; what is conditional on repairing a sensor; how much data the verdicts rest on. Cite the report's ids or \
             F ids.".to_owned(),
        ],
    ))
}

fn explain_finding(arguments: &Arguments<'_>) -> Result<(String, Vec<String>), ToolError> {
    let (facility, finding) = (arguments.facility(), arguments.text("finding_id"));
    Ok((
        format!("Explain the finding {} of the facility {} to an operator.", json!(finding), json!(facility)),
        vec![
            format!(
                "{}; if it is not found, {} and pick the id.",
                call("finding_detail", &json!({"facility_id": facility, "finding_id": finding})),
                call("rule_run", &json!({"facility_id": facility}))
            ),
            "call rule_params with the rule of the finding.".to_owned(),
            "call sensor_trust with the facility_id and the equipment of the finding.".to_owned(),
            "explain what is checked, what was seen (hours and spans), the threshold, how far the inputs can be trusted, and \
             which chart shows it.".to_owned(),
        ],
    ))
}

fn check_savings_claim(arguments: &Arguments<'_>) -> Result<(String, Vec<String>), ToolError> {
    let facility = arguments.facility();
    let claim = match arguments.get("claim") {
        Some(claim) => format!(" The claim is {}.", json!(claim)),
        None => " No claim is given: judge the savings that the project reports.".to_owned(),
    };
    Ok((
        format!("Check a claim of savings for the facility {}.{claim}", json!(facility)),
        vec![
            format!("{}.", call("mv_summary", &json!({"facility_id": facility}))),
            "compare the claim with avoided energy, percent, uncertainty and fit.".to_owned(),
            "note declined baselines, triggers to rebaseline, and reporting outside the range of the baseline.".to_owned(),
            "give the verdict: supported, partly supported or not supported; and what would support it.".to_owned(),
        ],
    ))
}

fn data_quality_review(arguments: &Arguments<'_>) -> Result<(String, Vec<String>), ToolError> {
    let facility = arguments.facility();
    Ok((
        format!("Review the quality of the stored data of the facility {}.", json!(facility)),
        vec![
            format!("{}.", call("coverage", &json!({"facility_id": facility, "group_by": "equip"}))),
            "call coverage again for the worst equipment, with its points.".to_owned(),
            format!("{}.", call("sensor_trust", &json!({"facility_id": facility}))),
            "write the overall coverage, the worst gaps, untrusted and suspect sensors with their flags, and what to fix first.".to_owned(),
        ],
    ))
}

fn compare_equipment(arguments: &Arguments<'_>) -> Result<(String, Vec<String>), ToolError> {
    let facility = arguments.facility();
    let equips: Vec<String> = arguments
        .0
        .get("equips")
        .unwrap_or_default()
        .split(',')
        .map(|equip| equip.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|equip| !equip.is_empty())
        .map(|equip| equip.chars().take(LONGEST_ARGUMENT).collect())
        .take(MOST_COMPARED)
        .collect();
    if equips.len() < 2 {
        return Err(ToolError::invalid_params(
            "'equips' must name two or more equipment ids, separated by commas.",
        )
        .with("argument", "equips"));
    }
    let both = json!({"facility_id": facility, "equips": equips});
    let with = |key: &str, value: &str| {
        let mut arguments = both.clone();
        arguments[key] = json!(value);
        arguments
    };
    Ok((
        format!(
            "Compare the equipment {} of the facility {}.",
            json!(equips),
            json!(facility)
        ),
        vec![
            format!("{}.", call("coverage", &with("group_by", "equip"))),
            format!("{}.", call("sensor_trust", &both)),
            format!("{}.", call("rule_run", &with("min_severity", "ok"))),
            "write a side-by-side comparison, and which unit to look at first.".to_owned(),
        ],
    ))
}

fn sensor_trust_review(arguments: &Arguments<'_>) -> Result<(String, Vec<String>), ToolError> {
    let facility = arguments.facility();
    Ok((
        format!("Review which sensors of the facility {} can be trusted.", json!(facility)),
        vec![
            format!("{}.", call("sensor_trust", &json!({"facility_id": facility}))),
            format!("{}.", call("sensor_trust", &json!({"facility_id": facility, "view": "report"}))),
            format!("{}.", call("rule_run", &json!({"facility_id": facility}))),
            "list the sensors below the floor or suspect with equipment, role, score and flags, and what each keeps from being \
             judged, by impact.".to_owned(),
        ],
    ))
}

fn plan_site_visit(arguments: &Arguments<'_>) -> Result<(String, Vec<String>), ToolError> {
    let facility = arguments.facility();
    Ok((
        format!("Plan a visit to the facility {}.", json!(facility)),
        vec![
            format!("{}.", call("rcx_report", &json!({"facility_id": facility}))),
            format!("{}.", call("sensor_trust", &json!({"facility_id": facility}))),
            "call finding_detail on one finding of each of the top three issues.".to_owned(),
            "write the plan: the order of the walk; what to check and which reading confirms it; sensors to check with a \
             reference; trends to pull.".to_owned(),
        ],
    ))
}

static PROMPTS: [CapabilityPrompt; 8] = [
    CapabilityPrompt {
        name: "check_savings_claim",
        title: "Check a savings claim",
        description: "Compares a claim of savings with the measurement and verification of the facility.",
        arguments: &[
            FACILITY,
            PromptArgument {
                name: "claim",
                description: "The claim in words, such as \"10 % less electricity\".",
                required: false,
            },
        ],
        calls: &["mv_summary", "check_citations"],
        steps: check_savings_claim,
    },
    CapabilityPrompt {
        name: "compare_equipment",
        title: "Compare equipment",
        description: "Compares two or more units of a facility: data, sensors, findings.",
        arguments: &[
            FACILITY,
            PromptArgument {
                name: "equips",
                description: "Two or more equipment ids, separated by commas.",
                required: true,
            },
        ],
        calls: &["coverage", "sensor_trust", "rule_run", "check_citations"],
        steps: compare_equipment,
    },
    CapabilityPrompt {
        name: "data_quality_review",
        title: "Review data quality",
        description: "Reviews gaps and untrusted sensors of a facility, and what to fix first.",
        arguments: &[FACILITY],
        calls: &["coverage", "sensor_trust", "check_citations"],
        steps: data_quality_review,
    },
    CapabilityPrompt {
        name: "explain_finding",
        title: "Explain a finding",
        description: "Explains one finding to an operator: what is checked, what was seen, how sure it is.",
        arguments: &[
            FACILITY,
            PromptArgument {
                name: "finding_id",
                description: "A finding_id of rule_run, such as economizer_high_limit@AHU-1.",
                required: true,
            },
        ],
        calls: &[
            "finding_detail",
            "rule_run",
            "rule_params",
            "sensor_trust",
            "check_citations",
        ],
        steps: explain_finding,
    },
    CapabilityPrompt {
        name: "plan_site_visit",
        title: "Plan a site visit",
        description: "Plans a visit from the top issues of a facility.",
        arguments: &[FACILITY],
        calls: &[
            "rcx_report",
            "sensor_trust",
            "finding_detail",
            "check_citations",
        ],
        steps: plan_site_visit,
    },
    CapabilityPrompt {
        name: "rcx_executive_summary",
        title: "Summary for an owner",
        description: "Summarises the retro-commissioning report of a facility for its owner.",
        arguments: &[FACILITY],
        calls: &["rcx_report", "check_citations"],
        steps: executive_summary,
    },
    CapabilityPrompt {
        name: "sensor_trust_review",
        title: "Review sensors",
        description: "Reviews which sensors of a facility can be trusted, and what the others block.",
        arguments: &[FACILITY],
        calls: &["sensor_trust", "rule_run", "check_citations"],
        steps: sensor_trust_review,
    },
    CapabilityPrompt {
        name: "triage_ahu",
        title: "Triage an air handler",
        description: "Finds what is wrong with an air handler, and what to look at first.",
        arguments: &[
            FACILITY,
            PromptArgument {
                name: "equip",
                description: "The equipment id of the air handler.",
                required: true,
            },
        ],
        calls: &[
            "points",
            "sensor_trust",
            "rule_run",
            "finding_detail",
            "check_citations",
        ],
        steps: triage_ahu,
    },
];

#[cfg(test)]
mod tests {
    use super::super::PromptRegistry;
    use super::*;

    async fn text(name: &str, arguments: Value) -> Result<String, String> {
        let registry = PromptRegistry::default().with_all(capability_prompts(|_| true));
        let Value::Object(arguments) = arguments else {
            return Err("no object".to_owned());
        };
        let answer = registry
            .get(name, arguments, &CallContext::service())
            .await
            .map_err(|error| error.message)?;
        let text = answer["messages"][0]["content"]["text"].as_str();
        Ok(text.unwrap_or_default().to_owned())
    }

    #[test]
    fn a_prompt_appears_when_all_its_capabilities_exist() {
        let names = |exists: &[&str]| -> Vec<String> {
            capability_prompts(|name| exists.contains(&name))
                .iter()
                .map(|prompt| prompt.definition().name)
                .collect()
        };
        assert!(names(&["coverage", "points", "check_citations", "rule_params"]).is_empty());
        assert_eq!(
            names(&["coverage", "sensor_trust", "check_citations"]),
            ["data_quality_review"]
        );
        let all: Vec<String> = capability_prompts(|_| true)
            .iter()
            .map(|prompt| prompt.definition().name)
            .collect();
        assert_eq!(all.len(), 8);
        assert!(all.is_sorted());
    }

    #[tokio::test]
    async fn every_prompt_asks_for_its_calls_in_order_and_for_checked_citations() {
        let arguments = json!({"facility_id": "hq", "equip": "AHU-1", "equips": "AHU-1, AHU-2",
            "finding_id": "economizer_high_limit@AHU-1", "claim": "10 % less"});
        for prompt in &PROMPTS {
            let text = text(prompt.name, arguments.clone())
                .await
                .expect(prompt.name);
            let steps = text.split(RULES).next().expect("steps").to_owned();
            assert!(text.contains("\"hq\""), "{text}");
            assert!(text.ends_with(CLOSING), "{text}");
            assert_eq!(text.split("\n\n").count(), 4, "{text}");
            for name in prompt
                .calls
                .iter()
                .filter(|name| **name != "check_citations")
            {
                assert!(steps.contains(*name), "{}: {name}", prompt.name);
            }
        }
    }

    #[tokio::test]
    async fn arguments_become_one_short_line() {
        let long = format!("hq\n\n{}", "x".repeat(500));
        let told = text("data_quality_review", json!({"facility_id": long}))
            .await
            .expect("text");
        assert!(
            told.contains(&format!("\"hq {}\"", "x".repeat(197))),
            "{told}"
        );
        let one = text(
            "compare_equipment",
            json!({"facility_id": "hq", "equips": "AHU-1, ,"}),
        )
        .await;
        assert!(one.expect_err("one equipment").contains("two or more"));
        let none = text("triage_ahu", json!({"facility_id": "hq", "equip": "  "})).await;
        assert!(none.expect_err("blank").contains("'equip'"));
    }
}
