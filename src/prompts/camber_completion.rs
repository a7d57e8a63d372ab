//! Values for the arguments of the prompts of capabilities, while somebody types them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use niagara_analytics::run_config::rules::built_in;
use serde_json::{Map, Value, json};

use super::camber::CapabilityPrompt;
use super::{Prompt, PromptAnswer, PromptArguments, PromptDefinition};
use crate::knowledge::completion;
use crate::tools::capability::CapabilityAccess;
use crate::tools::{CallContext, ToolError};

/// Time for a suggestion; whoever types does not wait longer.
const TIME_LIMIT: Duration = Duration::from_secs(2);

/// Rows of a page of points, and pages that are looked through.
const PAGE: usize = 1000;
const PAGES: usize = 20;

/// A prompt whose arguments are completed from what the caller may see of the store.
pub struct CompletedPrompt {
    prompt: &'static CapabilityPrompt,
    access: CapabilityAccess,
}

/// The prompts of [`super::camber::capability_prompts`] with completed arguments.
pub fn completed_prompts(
    exists: impl Fn(&str) -> bool,
    access: &CapabilityAccess,
) -> Vec<Arc<dyn Prompt>> {
    super::camber::existing(exists)
        .map(|prompt| -> Arc<dyn Prompt> {
            Arc::new(CompletedPrompt {
                prompt,
                access: access.clone(),
            })
        })
        .collect()
}

impl Prompt for CompletedPrompt {
    fn definition(&self) -> PromptDefinition {
        self.prompt.definition()
    }

    fn text(
        &self,
        context: &CallContext,
        arguments: &PromptArguments,
    ) -> Result<String, ToolError> {
        self.prompt.text(context, arguments)
    }

    fn answer<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: &'a PromptArguments,
    ) -> BoxFuture<'a, Result<PromptAnswer, ToolError>> {
        self.prompt.answer(context, arguments)
    }

    fn complete<'a>(
        &'a self,
        context: &'a CallContext,
        argument: &'a str,
        typed: &'a str,
        given: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Vec<String>> {
        Box::pin(async move {
            let values = self.values(context, argument, typed, given);
            let found = tokio::time::timeout(TIME_LIMIT, values).await;
            found.unwrap_or_default()
        })
    }
}

impl CompletedPrompt {
    async fn values(
        &self,
        context: &CallContext,
        argument: &str,
        typed: &str,
        given: &Map<String, Value>,
    ) -> Vec<String> {
        match argument {
            "facility_id" => fitting(&self.facilities(context).await, typed),
            "equip" => fitting(&self.equipment(context, given).await, typed),
            "equips" => {
                let (before, last) = typed.rsplit_once(',').unwrap_or(("", typed));
                let start = match before.is_empty() {
                    true => String::new(),
                    false => format!("{before}, "),
                };
                let chosen: Vec<&str> = before.split(',').map(str::trim).collect();
                let mut equipment = self.equipment(context, given).await;
                equipment.retain(|equip| !chosen.contains(&equip.as_str()));
                let found = fitting(&equipment, last);
                found
                    .into_iter()
                    .map(|equip| format!("{start}{equip}"))
                    .collect()
            }
            "finding_id" => match typed.split_once('@') {
                None => completion::texts(built_in(), typed)
                    .into_iter()
                    .map(|rule| format!("{rule}@"))
                    .collect(),
                Some((rule, equip)) => {
                    let found = fitting(&self.equipment(context, given).await, equip);
                    found
                        .into_iter()
                        .map(|equip| format!("{rule}@{equip}"))
                        .collect()
                }
            },
            _ => Vec::new(),
        }
    }

    async fn facilities(&self, context: &CallContext) -> Vec<String> {
        let answer = self
            .access
            .answer(context, "facilities", json!({"limit": PAGE}))
            .await;
        let Some(Ok(result)) = answer else {
            return Vec::new();
        };
        texts(&result.data, "facilities", "facility_id").collect()
    }

    /// Ids of the equipment of the facility that is given already, else of the station's own, else of the only one.
    async fn equipment(&self, context: &CallContext, given: &Map<String, Value>) -> Vec<String> {
        let facility = given.get("facility_id").and_then(Value::as_str);
        let facility = match facility.filter(|facility| !facility.trim().is_empty()) {
            Some(facility) => facility.trim().to_owned(),
            None => match self.facilities(context).await.as_slice() {
                [only] => only.clone(),
                _ => match self.access.station_facility() {
                    Some(own) => own,
                    None => return Vec::new(),
                },
            },
        };
        let mut found = BTreeSet::new();
        for page in 0..PAGES {
            let arguments = json!({"facility_id": facility, "limit": PAGE, "offset": page * PAGE});
            let answer = self.access.answer(context, "points", arguments).await;
            let Some(Ok(result)) = answer else {
                break;
            };
            let before = found.len();
            found.extend(texts(&result.data, "points", "equip"));
            let rows = result.data.get("points").and_then(Value::as_array);
            if rows.is_none_or(|rows| rows.len() < PAGE) || (page > 0 && found.len() == before) {
                break;
            }
        }
        found.into_iter().collect()
    }
}

/// One text of each row of a list.
fn texts<'a>(
    data: &'a Map<String, Value>,
    list: &str,
    key: &'a str,
) -> impl Iterator<Item = String> + 'a {
    let rows = data.get(list).and_then(Value::as_array);
    rows.into_iter()
        .flatten()
        .filter_map(move |row| row.get(key)?.as_str().map(str::to_owned))
}

fn fitting(names: &[String], typed: &str) -> Vec<String> {
    completion::texts(names.iter().map(String::as_str), typed)
}
