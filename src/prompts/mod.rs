//! Prompt texts that MCP clients offer to their users: one trait, one ordered registry (Tool surface §11).
//!
//! - [`guide`]: how a text is put together; what the user typed is quoted, tools that are not offered are named.
//! - [`walkthrough`]: mapping a site.
//! - [`query`]: everyday questions about a mapped site.
//! - [`camber`]: questions about stored trends.

pub mod camber;
pub mod camber_completion;
pub mod guide;
pub mod query;
pub mod walkthrough;

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use crate::knowledge::KnowledgeStore;
use crate::station::echo::shortened;
use crate::tools::{CallContext, ErrorCode, RpcError, ToolError, ToolOutput};

/// The seven prompts of the tool surface, in its order (Tool surface §11).
pub fn site_prompts(knowledge: &Arc<KnowledgeStore>) -> PromptRegistry {
    PromptRegistry::default()
        .with(walkthrough::NewStation)
        .with(walkthrough::Continue)
        .with(walkthrough::VerifyTypes)
        .with(walkthrough::ApplyPattern)
        .with(query::EquipmentState(knowledge.clone()))
        .with(query::ZoneComfort(knowledge.clone()))
        .with(query::AlarmSummary)
}

/// One argument of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptArgument {
    pub name: &'static str,
    pub description: &'static str,
    pub required: bool,
}

/// Everything a client sees of a prompt.
#[derive(Debug, Clone)]
pub struct PromptDefinition {
    pub name: String,
    /// A name for people; those of the tool surface have none.
    pub title: Option<&'static str>,
    pub description: String,
    pub arguments: Vec<PromptArgument>,
}

impl PromptDefinition {
    fn to_json(&self) -> Value {
        let mut entry = json!({ "name": self.name, "description": self.description });
        if let Some(title) = self.title {
            entry["title"] = json!(title);
        }
        if !self.arguments.is_empty() {
            let arguments: Vec<Value> = self
                .arguments
                .iter()
                .map(|argument| {
                    json!({ "name": argument.name, "description": argument.description, "required": argument.required })
                })
                .collect();
            entry["arguments"] = json!(arguments);
        }
        entry
    }
}

/// The arguments of one `prompts/get`, every value as text.
#[derive(Debug, Clone, Default)]
pub struct PromptArguments(Map<String, Value>);

impl PromptArguments {
    /// The text of an argument; absent and blank ones are none.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0
            .get(name)
            .and_then(Value::as_str)
            .map(str::trim)
            .filter(|text| !text.is_empty())
    }
}

/// What a prompt answers.
#[derive(Debug, Clone, PartialEq)]
pub enum PromptAnswer {
    /// Messages of the protocol: `{role, content}`.
    Messages(Vec<Value>),
    /// Questions to the client first.
    Ask(ToolOutput),
}

/// One prompt.
pub trait Prompt: Send + Sync {
    /// What clients see; asked once, when the registry is built.
    fn definition(&self) -> PromptDefinition;

    /// The text of the one user message; required arguments are present.
    ///
    /// # Errors
    /// −32602 for an argument that cannot be used.
    fn text(&self, context: &CallContext, arguments: &PromptArguments)
    -> Result<String, ToolError>;

    /// The messages, where one text is not enough, or the call has to ask the client first.
    fn answer<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: &'a PromptArguments,
    ) -> BoxFuture<'a, Result<PromptAnswer, ToolError>> {
        let answer = self.text(context, arguments).map(|text| {
            let message = json!({ "role": "user", "content": { "type": "text", "text": text } });
            PromptAnswer::Messages(vec![message])
        });
        Box::pin(std::future::ready(answer))
    }

    /// Values of an argument that fit what the user typed, best first; `given` are the arguments that have values already.
    fn complete<'a>(
        &'a self,
        _context: &'a CallContext,
        _argument: &'a str,
        _typed: &'a str,
        _given: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Vec<String>> {
        Box::pin(std::future::ready(Vec::new()))
    }
}

/// The prompts of a running bridge, in registration order.
#[derive(Default)]
pub struct PromptRegistry {
    entries: Vec<(PromptDefinition, Arc<dyn Prompt>)>,
}

impl PromptRegistry {
    /// Adds a prompt at the end of the order.
    pub fn with(mut self, prompt: impl Prompt + 'static) -> Self {
        self.entries.push((prompt.definition(), Arc::new(prompt)));
        self
    }

    /// Adds prompts at the end of the order.
    pub fn with_all(mut self, prompts: impl IntoIterator<Item = Arc<dyn Prompt>>) -> Self {
        let entries = prompts.into_iter();
        self.entries
            .extend(entries.map(|prompt| (prompt.definition(), prompt)));
        self
    }

    /// All definitions in registration order.
    pub fn definitions(&self) -> impl Iterator<Item = &PromptDefinition> {
        self.entries.iter().map(|(definition, _)| definition)
    }

    /// The result of `prompts/list`.
    pub fn list(&self) -> Value {
        let prompts: Vec<Value> = self.definitions().map(PromptDefinition::to_json).collect();
        json!({ "prompts": prompts })
    }

    /// The result of `prompts/get`.
    ///
    /// # Errors
    /// −32602 for an unknown prompt or a missing required argument.
    pub async fn get(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        context: &CallContext,
    ) -> Result<Value, RpcError> {
        let (definition, prompt) = self.find(name)?;
        let arguments = PromptArguments(arguments);
        let missing = definition
            .arguments
            .iter()
            .find(|argument| argument.required && arguments.get(argument.name).is_none());
        if let Some(argument) = missing {
            return Err(RpcError::new(
                ErrorCode::InvalidParams,
                format!(
                    "The prompt '{name}' needs the argument '{}'.",
                    argument.name
                ),
            )
            .with("promptName", name)
            .with("missing", argument.name));
        }
        match prompt.answer(context, &arguments).await {
            Ok(PromptAnswer::Messages(messages)) => {
                Ok(json!({ "description": definition.description, "messages": messages }))
            }
            Ok(PromptAnswer::Ask(questions)) => Ok(questions.into_json()),
            Err(error) => Err(RpcError {
                code: error.code,
                message: error.message,
                data: error.data,
            }
            .with("promptName", name)),
        }
    }

    /// Completions of an argument.
    ///
    /// # Errors
    /// −32602 for an unknown prompt or argument.
    pub async fn complete(
        &self,
        name: &str,
        argument: &str,
        typed: &str,
        given: &Map<String, Value>,
        context: &CallContext,
    ) -> Result<Vec<String>, RpcError> {
        let (definition, prompt) = self.find(name)?;
        if !definition
            .arguments
            .iter()
            .any(|known| known.name == argument)
        {
            return Err(RpcError::new(
                ErrorCode::InvalidParams,
                format!("The prompt '{name}' has no argument '{argument}'."),
            )
            .with("promptName", name)
            .with("argument", argument));
        }
        Ok(prompt.complete(context, argument, typed, given).await)
    }

    fn find(&self, name: &str) -> Result<(&PromptDefinition, &dyn Prompt), RpcError> {
        self.entries
            .iter()
            .find(|(definition, _)| definition.name == name)
            .map(|(definition, prompt)| (definition, prompt.as_ref()))
            .ok_or_else(|| {
                RpcError::new(
                    ErrorCode::InvalidParams,
                    format!(
                        "There is no prompt '{}'; prompts/list names those that exist.",
                        shortened(name)
                    ),
                )
                .with("promptName", name)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Comfort;

    impl Prompt for Comfort {
        fn definition(&self) -> PromptDefinition {
            PromptDefinition {
                name: "query.zone_comfort".into(),
                title: None,
                description: "Comfort of a zone.".into(),
                arguments: vec![PromptArgument {
                    name: "spaceId",
                    description: "The space.",
                    required: true,
                }],
            }
        }

        fn text(
            &self,
            _context: &CallContext,
            arguments: &PromptArguments,
        ) -> Result<String, ToolError> {
            Ok(format!(
                "Read {}",
                arguments.get("spaceId").unwrap_or_default()
            ))
        }
    }

    #[tokio::test]
    async fn a_prompt_becomes_one_user_message() {
        let registry = PromptRegistry::default().with(Comfort);
        let answer = registry
            .get(
                "query.zone_comfort",
                Map::from_iter([("spaceId".into(), json!("lobby"))]),
                &CallContext::service(),
            )
            .await
            .expect("get");
        assert_eq!(
            answer["messages"],
            json!([{"role": "user", "content": {"type": "text", "text": "Read lobby"}}])
        );
        assert_eq!(
            registry.list()["prompts"][0]["arguments"][0]["required"],
            true
        );
    }

    #[tokio::test]
    async fn a_missing_argument_and_an_unknown_prompt_are_named() {
        let registry = PromptRegistry::default().with(Comfort);
        let context = CallContext::service();
        let error = registry
            .get("query.zone_comfort", Map::new(), &context)
            .await
            .expect_err("missing");
        assert_eq!(
            error.to_json()["data"],
            json!({"promptName": "query.zone_comfort", "missing": "spaceId"})
        );
        assert_eq!(
            registry
                .get("none", Map::new(), &context)
                .await
                .expect_err("unknown")
                .data["promptName"],
            "none"
        );
    }
}
