//! What clients are told about every tool, resource and prompt, one reviewed file each.

use niagara_bridge::cli::assembly::definitions_only;
use niagara_bridge::mcp::bridge::Bridge;
use niagara_bridge::tools::{Category, ToolSets};
use serde_json::Value;

fn bridge() -> Bridge {
    definitions_only().expect("the definitions are sound")
}

fn entries(list: &Value, key: &str) -> Vec<Value> {
    list[key].as_array().expect("a list").clone()
}

#[test]
fn every_definition_is_as_it_was_reviewed() {
    let bridge = bridge();
    let lists = [
        (
            "tools",
            entries(&bridge.tools.list(&ToolSets::all()), "tools"),
            "name",
        ),
        (
            "resources",
            entries(&bridge.resources.list(), "resources"),
            "name",
        ),
        (
            "resources",
            entries(&bridge.resources.list_templates(), "resourceTemplates"),
            "name",
        ),
        (
            "prompts",
            entries(&bridge.prompts.list(), "prompts"),
            "name",
        ),
    ];
    for (folder, entries, name) in lists {
        for entry in entries {
            let file = entry[name]
                .as_str()
                .expect("a name")
                .replace(['/', '\\', ':'], "_");
            let mut settings = insta::Settings::clone_current();
            settings.set_snapshot_path(format!("snapshots/{folder}"));
            settings.set_prepend_module_to_snapshot(false);
            settings.set_omit_expression(true);
            settings.bind(|| insta::assert_json_snapshot!(file, entry));
        }
    }
}

/// Tools whose answer is text, by ruling.
const TEXT_TOOLS: [&str; 4] = ["echo", "bqlQuery", "writePoint", "getFeatureDump"];

#[test]
fn every_tool_that_answers_with_json_says_how_it_looks() {
    for tool in bridge().tools.definitions() {
        let text = TEXT_TOOLS.contains(&tool.name.as_str());
        assert_eq!(tool.output_schema.is_none(), text, "{}", tool.name);
        if let Some(schema) = &tool.output_schema {
            jsonschema::validator_for(schema)
                .unwrap_or_else(|error| panic!("{}: {error}", tool.name));
            assert_eq!(schema["type"], "object", "{}", tool.name);
        }
        jsonschema::validator_for(&tool.input_schema)
            .unwrap_or_else(|error| panic!("{}: {error}", tool.name));
    }
}

#[test]
fn every_tool_describes_itself_with_an_example_and_its_arguments() {
    for tool in bridge().tools.definitions() {
        assert!(
            tool.description.contains("Example"),
            "{} has no example",
            tool.name
        );
        let properties = tool.input_schema["properties"]
            .as_object()
            .expect("properties");
        for (name, property) in properties {
            assert!(
                property["description"].is_string(),
                "{}.{name} is not described",
                tool.name
            );
        }
        assert_ne!(tool.category, Category::General, "{}", tool.name);
    }
}

#[test]
fn the_tools_of_this_version_stand_in_the_published_order() {
    let bridge = bridge();
    let names: Vec<&str> = bridge
        .tools
        .definitions()
        .map(|tool| tool.name.as_str())
        .collect();
    let expected = [
        "echo",
        "listChildren",
        "readPoint",
        "bqlQuery",
        "getOverview",
        "inspectComponent",
        "findComponentsByType",
        "getSlots",
        "validateKnowledge",
        "getKnowledgeSummary",
        "reloadKnowledge",
        "readHistory",
        "getActiveAlarms",
        "getAlarmHistory",
        "getServerInfo",
        "probeOrd",
        "getServiceHealth",
        "listHistories",
        "listSchedules",
        "readSchedule",
        "listOverrides",
    ];
    assert_eq!(names, expected);
}
