//! What clients are told about every tool, resource and prompt, one reviewed file each.

use std::sync::Arc;
use std::time::Duration;

use niagara_analytics::run_config::rules::built_in;
use niagara_bridge::cli::assembly::definitions_only;
use niagara_bridge::mcp::bridge::Bridge;
use niagara_bridge::tools::{
    CallContext, Category, Principal, ServerFacts, SessionCounts, ToolSets,
};
use serde_json::{Map, Value, json};

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
        for mut entry in entries {
            name_all_rules(&mut entry);
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

/// A list of every rule of this build is named instead of written out: a new rule changes it in all tools at once.
fn name_all_rules(value: &mut Value) {
    match value {
        Value::Array(items) if !items.is_empty() && *items == built_in() => {
            *value = json!("every rule of this build");
        }
        Value::Array(items) => items.iter_mut().for_each(name_all_rules),
        Value::Object(members) => members.values_mut().for_each(name_all_rules),
        _ => {}
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
        "writePoint",
        "bqlQuery",
        "getOverview",
        "inspectComponent",
        "findComponentsByType",
        "getSlots",
        "createSpace",
        "updateSpace",
        "createEquipmentType",
        "updateEquipmentType",
        "createEquipment",
        "updateEquipment",
        "bulkCreateEquipment",
        "assignPointToEquipment",
        "createStandalonePoint",
        "validateKnowledge",
        "getKnowledgeSummary",
        "findUnmappedComponents",
        "exportKnowledge",
        "importKnowledge",
        "reloadKnowledge",
        "findEquipment",
        "findInSpace",
        "findPoints",
        "readHistory",
        "getActiveAlarms",
        "getAlarmHistory",
        "getServerInfo",
        "probeOrd",
        "checkKnowledgeIntegrity",
        "getServiceHealth",
        "getDiagnosticDump",
        "getFeatureDump",
        "createComponent",
        "setupTestUser",
        "removeComponent",
        "setSlot",
        "invokeAction",
        "addExtension",
        "linkSlots",
        "unlinkSlots",
        "commitStation",
        "clearSlot",
        "listHistories",
        "listSchedules",
        "readSchedule",
        "listOverrides",
        "deleteKnowledge",
        "renameKnowledge",
        "diffStation",
        "suggestMapping",
        "applyPattern",
        "overridePoint",
        "releasePoint",
        "planWrites",
        "applyWrites",
        "writeSchedule",
        "ackAlarm",
        "renderTrend",
        "check_citations",
        "coverage",
        "dataset_entry",
        "dataset_search",
        "drift",
        "facilities",
        "finding_detail",
        "mv_summary",
        "points",
        "rcx_report",
        "rule_params",
        "rule_run",
        "sensor_trust",
    ];
    assert_eq!(names, expected);
}

/// A server that offers every tool that a prompt knows, the further ones included.
struct Everything;

/// The tools that prompts name.
const NAMED_BY_PROMPTS: [&str; 24] = [
    "getOverview",
    "listChildren",
    "createSpace",
    "findComponentsByType",
    "importKnowledge",
    "exportKnowledge",
    "createEquipmentType",
    "updateEquipmentType",
    "createEquipment",
    "updateEquipment",
    "getSlots",
    "assignPointToEquipment",
    "validateKnowledge",
    "getKnowledgeSummary",
    "findUnmappedComponents",
    "checkKnowledgeIntegrity",
    "findEquipment",
    "findPoints",
    "findInSpace",
    "readPoint",
    "getActiveAlarms",
    "getAlarmHistory",
    "suggestMapping",
    "applyPattern",
];

impl ServerFacts for Everything {
    fn version(&self) -> &str {
        "0"
    }

    fn uptime(&self) -> Duration {
        Duration::ZERO
    }

    fn sessions(&self) -> SessionCounts {
        SessionCounts::default()
    }

    fn transports(&self) -> Vec<&'static str> {
        Vec::new()
    }

    fn tools(&self) -> Vec<(String, Category)> {
        let named = NAMED_BY_PROMPTS
            .into_iter()
            .chain(["diffStation", "renderTrend"]);
        named
            .map(|name| (name.to_owned(), Category::General))
            .collect()
    }

    fn resources(&self) -> Vec<(String, bool)> {
        Vec::new()
    }

    fn prompts(&self) -> Vec<String> {
        Vec::new()
    }
}

async fn prompt_text(bridge: &Bridge, name: &str, arguments: &Value) -> String {
    let context = CallContext::new(Principal::Service, Arc::new(Everything));
    let arguments: Map<String, Value> = arguments.as_object().expect("arguments").clone();
    let answer = bridge.prompts.get(name, arguments, &context).await;
    let answer = answer.unwrap_or_else(|error| panic!("{name}: {error:?}"));
    let messages = answer["messages"].as_array().expect("messages");
    assert_eq!(messages.len(), 1, "{name}");
    assert_eq!(messages[0]["role"], "user", "{name}");
    let text = messages[0]["content"]["text"].as_str();
    text.expect("text").to_owned()
}

#[tokio::test]
async fn every_prompt_reads_as_it_was_reviewed() {
    let bridge = bridge();
    for (name, arguments) in [
        ("walkthrough.new_station", json!({})),
        ("walkthrough.continue", json!({})),
        ("walkthrough.verify_types", json!({})),
        ("walkthrough.apply_pattern", json!({"mode": "replace"})),
        ("query.equipment_state", json!({"equipmentId": "ahu 1"})),
        ("query.zone_comfort", json!({"spaceId": "floor-2"})),
        ("query.alarm_summary", json!({})),
    ] {
        let text = prompt_text(&bridge, name, &arguments).await;
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("snapshots/prompts");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(format!("{name}.text"), text));
    }
}

/// The order in which each prompt has to name its tools (Tool surface §11).
#[tokio::test]
async fn prompts_name_their_tools_in_the_published_order() {
    let bridge = bridge();
    let names: Vec<String> = ServerFacts::prompts(&bridge);
    let mut listed = Vec::new();
    for (name, arguments, steps) in [
        (
            "walkthrough.new_station",
            json!({}),
            &[
                "`getOverview`",
                "`listChildren`",
                "`station:|slot:/`",
                "`createSpace`",
                "`findComponentsByType`",
                "`createEquipmentType`",
                "`createEquipment`",
                "`getSlots`",
                "`assignPointToEquipment`",
                "`validateKnowledge`",
            ][..],
        ),
        (
            "walkthrough.continue",
            json!({}),
            &[
                "`getKnowledgeSummary`",
                "`findUnmappedComponents`",
                "typeName='BControlPoint'",
                "Ask the user",
                "`createEquipment`",
                "`assignPointToEquipment`",
                "`validateKnowledge`",
            ],
        ),
        (
            "walkthrough.verify_types",
            json!({}),
            &[
                "`niagara://kinds/catalog`",
                "ask the user",
                "`updateEquipmentType`",
                "replace",
                "`importKnowledge` with source='sample' mode='merge'",
            ],
        ),
        (
            "walkthrough.apply_pattern",
            json!({"mode": "Replace"}),
            &[
                "paste",
                "`importKnowledge`",
                "mode='replace'",
                "added",
                "skipped",
                "`findUnmappedComponents`",
            ],
        ),
        (
            "query.equipment_state",
            json!({"equipmentId": "ahu-1"}),
            &[
                "`niagara://equipment/ahu-1`",
                "`findEquipment`",
                "`readPoint`",
                "`getActiveAlarms`",
                "sourceOrdPrefix",
            ],
        ),
        (
            "query.zone_comfort",
            json!({"spaceId": "lobby"}),
            &[
                "`niagara://space/lobby`",
                "`readPoint`",
                "air handler",
                "CO2",
            ],
        ),
        (
            "query.alarm_summary",
            json!({"since": "2026-05-09T00:00:00Z"}),
            &[
                "2026-05-09T00:00:00Z",
                "`getActiveAlarms`",
                "`getAlarmHistory`",
                "two levels under Drivers",
                "ten sources",
                "prefix",
            ],
        ),
        (
            "check_savings_claim",
            json!({"facility_id": "hq", "claim": "10 % less electricity"}),
            &["10 %", "mv_summary", "declined", "check_citations"],
        ),
        (
            "compare_equipment",
            json!({"facility_id": "hq", "equips": "AHU-1, AHU-2"}),
            &["coverage", "sensor_trust", "rule_run", "check_citations"],
        ),
        (
            "data_quality_review",
            json!({"facility_id": "hq"}),
            &[
                "coverage",
                "coverage again",
                "sensor_trust",
                "check_citations",
            ],
        ),
        (
            "explain_finding",
            json!({"facility_id": "hq", "finding_id": "supply_air_control@AHU-1"}),
            &[
                "finding_detail",
                "rule_params",
                "sensor_trust",
                "check_citations",
            ],
        ),
        (
            "plan_site_visit",
            json!({"facility_id": "hq"}),
            &[
                "rcx_report",
                "sensor_trust",
                "finding_detail",
                "check_citations",
            ],
        ),
        (
            "rcx_executive_summary",
            json!({"facility_id": "hq"}),
            &["rcx_report", "check_citations"],
        ),
        (
            "sensor_trust_review",
            json!({"facility_id": "hq"}),
            &["sensor_trust", "report", "rule_run", "check_citations"],
        ),
        (
            "triage_ahu",
            json!({"facility_id": "hq", "equip": "AHU-1"}),
            &[
                "points",
                "sensor_trust",
                "rule_run",
                "finding_detail",
                "check_citations",
            ],
        ),
    ] {
        let text = prompt_text(&bridge, name, &arguments).await;
        let mut rest = text.as_str();
        for step in steps {
            let Some((_, after)) = rest.split_once(step) else {
                panic!("{name} does not name {step} in its place:\n{text}");
            };
            rest = after;
        }
        listed.push(name.to_owned());
    }
    assert_eq!(names, listed);
}

#[tokio::test]
async fn a_prompt_refuses_arguments_that_it_cannot_use() {
    let bridge = bridge();
    let long = "x".repeat(201);
    for (name, arguments, data) in [
        (
            "query.equipment_state",
            json!({"equipmentId": " "}),
            json!({"promptName": "query.equipment_state", "missing": "equipmentId"}),
        ),
        (
            "query.zone_comfort",
            json!({"spaceId": long}),
            json!({"argument": "spaceId", "promptName": "query.zone_comfort"}),
        ),
        (
            "walkthrough.apply_pattern",
            json!({"mode": "erase"}),
            json!({"argument": "mode", "promptName": "walkthrough.apply_pattern"}),
        ),
    ] {
        let arguments = arguments.as_object().expect("arguments").clone();
        let context = CallContext::service();
        let refused = bridge.prompts.get(name, arguments, &context).await;
        let error = refused.expect_err(name).to_json();
        assert_eq!(error["code"], -32602, "{name}");
        assert_eq!(error["data"], data, "{name}");
    }
}

#[tokio::test]
async fn prompts_name_only_tools_that_are_offered() {
    let bridge = Arc::new(bridge());
    let context = CallContext::new(Principal::Service, bridge.facts());
    for (name, arguments) in [
        ("walkthrough.new_station", json!({})),
        ("walkthrough.continue", json!({})),
        ("walkthrough.verify_types", json!({})),
        ("walkthrough.apply_pattern", json!({"mode": "replace"})),
        ("query.equipment_state", json!({"equipmentId": "x"})),
        ("query.zone_comfort", json!({"spaceId": "x"})),
        ("query.alarm_summary", json!({})),
    ] {
        let arguments = arguments.as_object().expect("arguments").clone();
        let answer = bridge.prompts.get(name, arguments, &context).await;
        let answer = answer.expect(name);
        let text = answer["messages"][0]["content"]["text"].as_str();
        let text = text.expect("text");
        assert!(!text.contains("Not offered"), "{name}: {text}");
        // Between backticks stand tools, URIs, ords and types; only tools are in camel case.
        let quoted = text.split('`').skip(1).step_by(2);
        let tools = quoted.filter(|word| {
            word.chars().all(char::is_alphanumeric) && word.contains(char::is_uppercase)
        });
        for tool in tools {
            let known = bridge.tools.definition(tool).is_some();
            assert!(known, "{name} names '{tool}', which is no tool");
        }
    }
}
