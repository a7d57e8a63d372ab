//! `echo`: proves that a request reaches the bridge and comes back unchanged (Tool surface §8.2).

use futures::future::BoxFuture;

use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::schema::{self, object};
use super::{Arguments, CallContext};

/// Returns its `msg` argument unchanged.
#[derive(Debug, Clone, Copy, Default)]
pub struct Echo;

impl Tool for Echo {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "echo",
            Category::TransportTest,
            Annotations::READ,
            "Returns the given text unchanged; tests the connection to the bridge, the station is not asked. \
             Example: {\"msg\":\"hello\"} answers hello.",
        )
        .input(object().required("msg", schema::string("The text to return.")))
    }

    fn run<'a>(
        &'a self,
        _context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move { Ok(ToolOutput::text(arguments.string("msg")?)) })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools::Registry;

    #[tokio::test]
    async fn the_text_comes_back_unchanged() {
        let registry = Registry::builder().tool(Echo).build().expect("registry");
        let answer = registry
            .call("echo", json!({"msg": "Räume\t1"}), CallContext::service())
            .await
            .expect("call");
        assert_eq!(
            answer,
            json!({"content": [{"type": "text", "text": "Räume\t1"}], "isError": false})
        );
    }

    #[tokio::test]
    async fn a_text_that_is_a_json_object_is_promoted() {
        let registry = Registry::builder().tool(Echo).build().expect("registry");
        let answer = registry
            .call("echo", json!({"msg": "{\"a\":1}"}), CallContext::service())
            .await
            .expect("call");
        assert_eq!(answer["structuredContent"], json!({"a": 1}));
        assert_eq!(answer["content"][0]["text"], "{\"a\":1}");
    }

    #[tokio::test]
    async fn a_number_is_refused_before_the_tool_runs() {
        let registry = Registry::builder().tool(Echo).build().expect("registry");
        let refusal = registry
            .call("echo", json!({"msg": 4}), CallContext::service())
            .await
            .expect_err("refused");
        assert_eq!(refusal.code.code(), -32602);
        assert_eq!(refusal.data["argument"], "msg");
        assert_eq!(refusal.data["problem"], "type");
        assert_eq!(refusal.data["expected"], "string");
    }
}
