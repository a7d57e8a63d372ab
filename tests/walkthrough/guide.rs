//! Calls as the assistant makes them.

use serde_json::Value;

use crate::support::Client;

/// The structured content of a call that must work.
pub async fn answer(client: &Client, tool: &str, arguments: Value) -> Value {
    let mut answer = client.call(tool, arguments.clone()).await;
    assert_eq!(answer["isError"], false, "{tool} {arguments}: {answer}");
    answer["structuredContent"].take()
}
