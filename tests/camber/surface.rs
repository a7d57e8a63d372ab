//! Capabilities beside the tools of a station: who sees what, and how answers look on the wire.

use std::sync::Arc;

use niagara_bridge::camber::{CapabilityRegistry, CapabilityService};
use niagara_bridge::config::Config;
use niagara_bridge::config::load::Settings;
use niagara_bridge::config::policy::{Policy, SharedPolicy};
use niagara_bridge::knowledge::KnowledgeStore;
use niagara_bridge::mcp::station_points::StationPoints;
use niagara_bridge::resources::ResourceRegistry;
use niagara_bridge::resources::equipment::equipment as equipment_resource;
use niagara_bridge::resources::equipment_trends::EquipmentWithTrends;
use niagara_bridge::tools::capability::{CapabilityAccess, capability_tools};
use niagara_bridge::tools::context::NoServer;
use niagara_bridge::tools::{CallContext, Principal, Registry, ToolSets};
use serde_json::{Value, json};

use crate::store_yard::{StoreYard, column, equipment, stamps};

const SITE: &str = "equipment_types: [{id: ahu}]\nequipment:\n- {id: AHU-1, type: ahu, points: {supply_air_temp: \
                    'slot:/A/SAT'}}\n- {id: AHU-2, type: ahu}\n";

const RULES: &str = "camber: {allow: [], principals: {ann: {allow: all-active}, bob: {allow: [annex]}, \
                     eve: {allow: [hq], maxBytes: 10}}}";

struct Surface {
    registry: Registry,
    resources: ResourceRegistry,
    _yard: StoreYard,
    _knowledge: tempfile::TempDir,
}

impl Surface {
    fn new() -> Self {
        let yard = StoreYard::new();
        let day = stamps("2024-03-01", 60, 24);
        yard.append(
            "hq",
            &[equipment(
                "AHU-1",
                "AHU",
                vec![column("supply_air_temp", day)],
            )],
        );
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("knowledge.yaml"), SITE).expect("a file");
        let knowledge = Arc::new(KnowledgeStore::open(folder.path().join("knowledge.yaml")));
        let points = StationPoints::new(knowledge.clone(), yard.store.clone(), None);
        let workspace = yard.workspace().with_points(Arc::new(points));
        let service = Arc::new(CapabilityService::start(workspace).expect("a service"));
        let access = CapabilityAccess::new(service, SharedPolicy::new(rules(RULES)));
        let registry = Registry::builder()
            .tools(capability_tools(&access).expect("tools"))
            .build()
            .expect("a registry");
        let entry = equipment_resource(knowledge);
        Self {
            registry,
            resources: ResourceRegistry::default().with(EquipmentWithTrends::new(entry, access)),
            _yard: yard,
            _knowledge: folder,
        }
    }

    async fn call(&self, context: &CallContext, name: &str, arguments: Value) -> Value {
        let answer = self.registry.call(name, arguments, context.clone()).await;
        answer.unwrap_or_else(|error| panic!("{name}: {error:?}"))
    }
}

fn rules(text: &str) -> Policy {
    let mut settings = Settings::empty("test".to_owned());
    settings.read_text("test.yaml", text).expect("settings");
    Policy::of(&Config::from_settings(&settings).expect("a configuration"))
}

fn person(name: &str) -> CallContext {
    let principal = Principal::User {
        name: name.to_owned(),
    };
    CallContext::new(principal, Arc::new(NoServer::default()))
}

#[test]
fn capabilities_are_listed_by_name_with_titles_and_both_schemas() {
    let surface = Surface::new();
    let list = surface.registry.list(&ToolSets::all());
    let tools = list["tools"].as_array().expect("tools");
    let names: Vec<&str> = tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert!(names.is_sorted(), "{names:?}");
    let known = CapabilityRegistry::built_in().expect("a registry");
    assert_eq!(names.len(), known.definitions().count());
    for tool in tools {
        assert_eq!(tool["category"], "camber");
        assert_eq!(tool["requiresUserContext"], false);
        assert_eq!(tool["annotations"]["readOnlyHint"], true);
        assert_eq!(tool["annotations"]["title"], tool["title"]);
        assert_eq!(tool["outputSchema"]["type"], "object");
    }
}

#[tokio::test]
async fn every_caller_sees_what_the_configuration_allows() {
    let surface = Surface::new();
    for (context, count) in [
        (person("ann"), 1),
        (person("bob"), 0),
        (CallContext::service(), 0),
    ] {
        let answer = surface.call(&context, "facilities", json!({})).await;
        assert_eq!(
            answer["structuredContent"]["count"], count,
            "{}",
            context.principal
        );
    }
    let refused = surface
        .call(&person("bob"), "points", json!({"facility_id": "hq"}))
        .await;
    assert_eq!(refused["isError"], true);
    assert_eq!(
        refused["_meta"]["camber/error"],
        json!({"code": "not_allowed"})
    );
    let text = refused["content"][0]["text"].as_str().expect("text");
    assert!(text.starts_with("not_allowed: "), "{text}");
    let large = surface
        .call(&person("eve"), "points", json!({"facility_id": "hq"}))
        .await;
    assert_eq!(large["_meta"]["camber/error"]["code"], "too_large");
}

#[tokio::test]
async fn an_answer_has_notices_summary_data_and_facts() {
    let surface = Surface::new();
    let arguments = json!({"facility_id": "hq", "start": "2030-01-01", "end": "2030-01-02"});
    let answer = surface.call(&person("ann"), "coverage", arguments).await;
    let text = answer["content"][0]["text"].as_str().expect("text");
    let (notices, summary) = text.split_once("\n\n").expect("notices and a summary");
    assert!(
        notices.lines().all(|line| line.starts_with("NOTICE: ")),
        "{text}"
    );
    assert!(summary.contains("[F1@coverage-"), "{text}");
    let data: Value =
        serde_json::from_str(answer["content"][1]["text"].as_str().expect("data")).expect("JSON");
    assert_eq!(data, answer["structuredContent"]);
    let meta = &answer["_meta"];
    assert_eq!(meta["camber/truncated"], false);
    assert_eq!(meta["camber/banners"].as_array().map(Vec::len), Some(1));
    assert_eq!(meta["camber/facts"][0]["kind"], "coverage");
    assert_eq!(answer["isError"], false);
}

#[tokio::test]
async fn wrong_arguments_are_told_with_pointers_and_a_fault_is_no_result() {
    let surface = Surface::new();
    let ann = person("ann");
    let wrong = surface
        .call(&ann, "points", json!({"facility": "hq"}))
        .await;
    assert_eq!(wrong["isError"], true);
    assert_eq!(
        wrong["_meta"]["camber/error"]["data"]["errors"]
            .as_array()
            .map(Vec::len),
        Some(2)
    );
    // Nothing is clamped or converted here, as it is for the station's tools.
    let wide = surface
        .call(&ann, "points", json!({"facility_id": "hq", "limit": 5000}))
        .await;
    assert_eq!(wide["_meta"]["camber/error"]["code"], "invalid_params");
    let list = surface.registry.call("points", json!([]), ann).await;
    assert_eq!(list.expect_err("a list").code.code(), -32602);
}

#[tokio::test]
async fn points_carry_the_ords_of_the_site_model() {
    let surface = Surface::new();
    let points = surface
        .call(&person("ann"), "points", json!({"facility_id": "hq"}))
        .await;
    assert_eq!(
        points["structuredContent"]["points"][0]["ord"],
        "slot:/A/SAT"
    );
    let coverage = surface
        .call(&person("ann"), "coverage", json!({"facility_id": "hq"}))
        .await;
    assert_eq!(
        coverage["structuredContent"]["points"][0]["ord"],
        "slot:/A/SAT"
    );
    let trust = surface
        .call(&person("ann"), "sensor_trust", json!({"facility_id": "hq"}))
        .await;
    assert_eq!(
        trust["structuredContent"]["points"][0]["ord"],
        "slot:/A/SAT"
    );
}

#[tokio::test]
async fn equipment_shows_its_trends_to_those_who_may_see_them() {
    let surface = Surface::new();
    let read = async |context: &CallContext, id: &str| -> Value {
        let answer = surface
            .resources
            .read(&format!("niagara://equipment/{id}"), context)
            .await;
        let answer = answer.unwrap_or_else(|error| panic!("{id}: {error:?}"));
        serde_json::from_str(answer["contents"][0]["text"].as_str().expect("text")).expect("JSON")
    };
    let shown = read(&person("ann"), "AHU-1").await;
    assert_eq!(shown["trends"]["facility_id"], "hq");
    assert_eq!(shown["trends"]["points"][0]["role"], "supply_air_temp");
    assert_eq!(shown["trends"]["points"][0]["n_samples"], 24);
    assert!(read(&person("ann"), "AHU-2").await.get("trends").is_none());
    assert!(read(&person("bob"), "AHU-1").await.get("trends").is_none());
}
