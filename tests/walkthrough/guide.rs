//! A prompt as the assistant follows it: step by step, never out of order.

use std::collections::VecDeque;

use serde_json::{Value, json};

use crate::support::Client;

pub struct Guide {
    name: &'static str,
    steps: VecDeque<String>,
}

impl Guide {
    /// Asks the bridge for a prompt.
    pub async fn get(client: &Client, name: &'static str) -> Self {
        let answer = client.ask("prompts/get", json!({"name": name})).await;
        let text = answer["result"]["messages"][0]["content"]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("{name}: {answer}"));
        assert!(text.contains("wait for a clear yes"), "{name}: {text}");
        assert!(!text.contains("Not offered to you here"), "{name}: {text}");
        let is_step = |line: &&str| {
            let number = line.split_once(". ").map(|(number, _)| number);
            number.is_some_and(|number| number.parse::<u32>().is_ok())
        };
        Self {
            name,
            steps: text.lines().filter(is_step).map(str::to_owned).collect(),
        }
    }

    /// Goes on to the next step, which has to ask for these tools in this order.
    pub fn next(&mut self, tools: &[&str]) {
        let step = self.steps.pop_front();
        let step = step.unwrap_or_else(|| panic!("{} has no step for {tools:?}", self.name));
        let mut rest = step.as_str();
        for tool in tools {
            let Some((_, after)) = rest.split_once(&format!("`{tool}`")) else {
                panic!("{}: '{step}' does not ask for {tool} now", self.name);
            };
            rest = after;
        }
    }

    /// Goes on to the step that asks for this tool; the user does without those before it.
    pub fn skip_to(&mut self, tool: &str) {
        while let Some(step) = self.steps.pop_front() {
            if step.contains(&format!("`{tool}`")) {
                return;
            }
        }
        panic!("{} never asks for {tool}", self.name);
    }
}

/// The structured content of a call that must work.
pub async fn answer(client: &Client, tool: &str, arguments: Value) -> Value {
    let mut answer = client.call(tool, arguments.clone()).await;
    assert_eq!(answer["isError"], false, "{tool} {arguments}: {answer}");
    answer["structuredContent"].take()
}
