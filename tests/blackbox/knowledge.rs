//! Numbers 9 to 13 and 17: resources, prompts and the knowledge model.

use serde_json::{Value, json};

use crate::client::Bridge;

#[test]
fn resources_prompts_and_the_knowledge_model_answer() {
    let bridge = Bridge::start();
    let mut client = bridge.client();
    client.initialize();

    // 9–11
    let resources = client.ask("resources/list", json!({}));
    let uris: Vec<&Value> = resources["resources"]
        .as_array()
        .expect("resources")
        .iter()
        .map(|resource| &resource["uri"])
        .collect();
    assert_eq!(
        uris,
        [
            "niagara://overview",
            "niagara://kinds/catalog",
            "niagara://samples/standard-types"
        ]
    );
    let overview = client.ask("resources/read", json!({"uri": "niagara://overview"}));
    let text = overview["contents"][0]["text"].as_str();
    assert!(!text.expect("text").is_empty());
    let templates = client.ask("resources/templates/list", json!({}));
    let templates = templates["resourceTemplates"]
        .as_array()
        .expect("templates");
    assert!(templates.len() >= 3);

    // 12
    let prompts = client.ask("prompts/list", json!({}));
    let prompts = prompts["prompts"].as_array().expect("prompts");
    assert!(prompts.len() >= 7);
    for prompt in prompts {
        let name = prompt["name"].as_str().expect("a name");
        let needed = prompt["arguments"].as_array().into_iter().flatten();
        let needed = needed.filter(|argument| argument["required"] == true);
        let arguments: serde_json::Map<String, Value> = needed
            .map(|argument| {
                let name = argument["name"].as_str().expect("a name");
                // A comparison needs two.
                let value = if name == "equips" { "x, y" } else { "x" };
                (name.to_owned(), json!(value))
            })
            .collect();
        let got = client.ask("prompts/get", json!({"name": name, "arguments": arguments}));
        assert_eq!(got["messages"][0]["role"], "user", "{name}");
        assert!(got["messages"][0]["content"]["text"].is_string(), "{name}");
    }

    // 13
    let summary = client.call("getKnowledgeSummary", json!({}));
    assert!(
        !summary["content"][0]["text"]
            .as_str()
            .expect("text")
            .is_empty()
    );

    // 17
    let integrity = client.facts("checkKnowledgeIntegrity", json!({}));
    for key in ["totalRefs", "validRefs", "brokenRefs"] {
        assert!(integrity.get(key).is_some(), "{key}: {integrity}");
    }
    bridge.stop();
}
