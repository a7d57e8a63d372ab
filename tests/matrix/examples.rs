//! One call of each tool, and the interfaces that can answer it alone.

use std::sync::atomic::{AtomicU64, Ordering};

use niagara_bridge::tools::{Category, Registry, ToolDefinition};
use serde_json::{Value, json};

use crate::support::Bench;

/// An interface that carries requests of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    OrdServlet,
    Box,
    Obix,
}

/// A call that a station with all its interfaces answers.
pub struct Example {
    pub tool: String,
    /// With [`NEW`] where every call needs an id of its own.
    arguments: Value,
    /// Each of these is enough; none where the bridge answers of itself.
    pub over: &'static [Over],
    /// It changes nothing but the bridge's own files.
    pub edits_own_files: bool,
    /// Stored trends are asked, never the station: whatever that does, the answer is the same to the last letter.
    pub is_capability: bool,
}

/// Stands in arguments for a text that no other call had.
const NEW: &str = "<new>";

/// The knowledge that edits work on.
const SITE: &str = "spaces: [{id: hq}, {id: floor-1, parent: hq}]\nequipment_types: [{id: ahu}]\n\
                    equipment: [{id: ahu-1, type: ahu, space: floor-1, ord: 'slot:/Drivers/BacnetNetwork/AHU_1', \
                    points: {supply_air_temp: 'slot:/Drivers/BacnetNetwork/AHU_1/points/SupplyTemp'}}]\n";

/// Fills the knowledge of a bridge with what edits work on.
pub async fn map_site(bench: &Bench) {
    let site = json!({"content": SITE, "mode": "replace"});
    bench.answer("importKnowledge", site).await;
}

impl Example {
    /// Arguments of one call.
    pub fn arguments(&self) -> Value {
        static CALLS: AtomicU64 = AtomicU64::new(0);
        let call = CALLS.fetch_add(1, Ordering::Relaxed);
        let text = self.arguments.to_string();
        let text = text.replace(NEW, &format!("new-{call}"));
        serde_json::from_str(&text).expect("arguments are JSON")
    }

    pub fn asks_the_station(&self) -> bool {
        !self.over.is_empty()
    }
}

const POINT: &str = "station:|slot:/Drivers/BacnetNetwork/AHU_1/points/SupplyTemp";

/// Arguments that name a point.
pub fn point() -> Value {
    json!({"ord": POINT})
}

/// The call that a capability's own description shows, so that a new one enters by itself.
fn of_capability(definition: &ToolDefinition) -> Example {
    let description = &definition.description;
    let shown = description.split("Example: ").nth(1).unwrap_or_default();
    let mut shown = serde_json::Deserializer::from_str(shown).into_iter::<Value>();
    let arguments = shown.next().and_then(Result::ok).unwrap_or_else(|| {
        panic!(
            "the description of '{}' shows no call as \"Example: {{…}}\"",
            definition.name
        )
    });
    Example {
        tool: definition.name.clone(),
        arguments,
        over: &[],
        edits_own_files: false,
        is_capability: true,
    }
}

/// The row of every tool.
fn table() -> Vec<Example> {
    let point = POINT;
    let drivers = "station:|slot:/Drivers";
    let (from, to) = ("2026-10-24T00:00:00Z", "2026-10-25T12:00:00Z");
    let row = |tool: &str, arguments, over| Example {
        tool: tool.to_owned(),
        arguments,
        over,
        edits_own_files: false,
        is_capability: false,
    };
    let all: &[Over] = &[Over::OrdServlet, Over::Box, Over::Obix];
    let tables: &[Over] = &[Over::OrdServlet, Over::Box];
    let trees: &[Over] = &[Over::Box, Over::Obix];
    vec![
        row("echo", json!({"msg": "still here"}), &[]),
        row("getServerInfo", json!({}), &[]),
        row("getServiceHealth", json!({}), &[]),
        row("listChildren", json!({"ord": drivers, "depth": 2}), trees),
        row("readPoint", json!({"ord": point}), all),
        row("getOverview", json!({}), trees),
        row("inspectComponent", json!({"ord": point}), trees),
        row("getSlots", json!({"ord": point}), trees),
        row("probeOrd", json!({"ord": point}), all),
        row(
            "bqlQuery",
            json!({"query": format!("{drivers}|bql:select name, out.value from control:NumericPoint order by name")}),
            tables,
        ),
        row(
            "findComponentsByType",
            json!({"typeName": "control:NumericPoint", "rootOrd": drivers}),
            tables,
        ),
        row(
            "readHistory",
            json!({"ord": point, "from": from, "to": to, "limit": 500}),
            all,
        ),
        row("getActiveAlarms", json!({}), all),
        row("getAlarmHistory", json!({"from": from, "to": to}), tables),
        row(
            "createSpace",
            json!({"id": NEW, "name": "Roof", "parent": "hq"}),
            &[],
        ),
        row(
            "updateSpace",
            json!({"id": "floor-1", "parent": "hq", "aliases": ["1F"]}),
            &[],
        ),
        row(
            "createEquipmentType",
            json!({"id": NEW, "name": "Pump", "typical_points": [{"role": "speed"}]}),
            &[],
        ),
        row(
            "updateEquipmentType",
            json!({"id": "ahu", "typical_points": [{"role": "supply_air_temp", "required": true}]}),
            &[],
        ),
        row(
            "createEquipment",
            json!({"id": NEW, "name": "AHU", "type": "ahu", "ord": drivers}),
            &[],
        ),
        row(
            "updateEquipment",
            json!({"id": "ahu-1", "notes": ["checked"], "points": {"supply_air_temp": point}}),
            &[],
        ),
        row(
            "bulkCreateEquipment",
            json!({"items": [{"id": NEW, "name": "AHU", "type": "ahu", "ord": drivers}]}),
            &[],
        ),
        row(
            "assignPointToEquipment",
            json!({"equipmentId": "ahu-1", "role": "supply_air_temp", "ord": point}),
            &[],
        ),
        row(
            "createStandalonePoint",
            json!({"id": NEW, "name": "Supply", "ord": point, "space": "floor-1"}),
            &[],
        ),
        row(
            "findUnmappedComponents",
            json!({"typeName": "baja:Component", "under": "station:|slot:/Logic"}),
            tables,
        ),
        row("exportKnowledge", json!({"format": "json"}), &[]),
        row(
            "importKnowledge",
            json!({"content": SITE, "mode": "replace"}),
            &[],
        ),
        row("validateKnowledge", json!({}), &[]),
        row("getKnowledgeSummary", json!({}), &[]),
        row("reloadKnowledge", json!({}), &[]),
        row("findEquipment", json!({"query": "ahu"}), &[]),
        row(
            "findInSpace",
            json!({"spaceId": "hq", "recursive": true}),
            &[],
        ),
        row("findPoints", json!({"text": "ahu"}), &[]),
        row("checkKnowledgeIntegrity", json!({}), all),
        row("getDiagnosticDump", json!({}), &[]),
        row("getFeatureDump", json!({"format": "json"}), &[]),
        row("listHistories", json!({"limit": 100}), all),
        row(
            "renderTrend",
            // Without records of bad status, which oBIX does not tell apart.
            json!({"points": [{"ord": point}], "from": from, "to": "2026-10-24T12:00:00Z", "width": 480, "height": 300}),
            all,
        ),
        row("listSchedules", json!({}), all),
        row(
            "readSchedule",
            json!({"ord": "station:|slot:/Logic/Occupancy"}),
            trees,
        ),
        row("listOverrides", json!({"ord": drivers}), all),
        row(
            "deleteKnowledge",
            json!({"kind": "space", "id": "hq", "references": "follow", "dryRun": true}),
            &[],
        ),
        row(
            "renameKnowledge",
            json!({"kind": "space", "id": "hq", "newId": NEW, "dryRun": true}),
            &[],
        ),
        row("diffStation", json!({}), tables),
        row("suggestMapping", json!({"ord": drivers}), all),
        row("applyPattern", json!({"equipmentId": "ahu-1"}), all),
    ]
}

/// The same without edits of the bridge's own files: the station is nothing to those, and each call is a save to the disk.
pub fn without_edits(registry: &Registry) -> Vec<Example> {
    let mut examples = of(registry);
    examples.retain(|example| !example.edits_own_files);
    examples
}

/// The example of every tool of a registry.
pub fn of(registry: &Registry) -> Vec<Example> {
    let mut table = table();
    registry
        .definitions()
        .map(|definition| {
            let name = &definition.name;
            if definition.category == Category::Camber {
                return of_capability(definition);
            }
            let place = table.iter().position(|example| example.tool == *name);
            let place = place.unwrap_or_else(|| {
                panic!("the tool '{name}' has no example call: add a row for it to the table in tests/matrix/examples.rs")
            });
            let mut example = table.swap_remove(place);
            example.edits_own_files =
                !definition.annotations.read_only && !example.asks_the_station();
            example
        })
        .collect()
}
