//! One call of each tool, and the interfaces that can answer it alone.

use niagara_bridge::tools::{Registry, ToolDefinition};
use serde_json::{Value, json};

/// An interface that carries requests of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    OrdServlet,
    Box,
    Obix,
}

/// A call that a station with all its interfaces answers.
pub struct Example {
    pub tool: &'static str,
    pub arguments: Value,
    /// Each of these is enough; none where the bridge answers of itself.
    pub over: &'static [Over],
}

impl Example {
    pub fn asks_the_station(&self) -> bool {
        !self.over.is_empty()
    }
}

const POINT: &str = "station:|slot:/Drivers/BacnetNetwork/AHU_1/points/SupplyTemp";

/// Arguments that name a point.
pub fn point() -> Value {
    json!({"ord": POINT})
}

/// The row of every tool.
fn table() -> Vec<Example> {
    let point = POINT;
    let drivers = "station:|slot:/Drivers";
    let (from, to) = ("2026-10-24T00:00:00Z", "2026-10-25T12:00:00Z");
    let row = |tool, arguments, over| Example {
        tool,
        arguments,
        over,
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
        row("validateKnowledge", json!({}), &[]),
        row("getKnowledgeSummary", json!({}), &[]),
        row("reloadKnowledge", json!({}), &[]),
        row("listHistories", json!({"limit": 100}), all),
        row("listSchedules", json!({}), all),
        row(
            "readSchedule",
            json!({"ord": "station:|slot:/Logic/Occupancy"}),
            trees,
        ),
        row("listOverrides", json!({"ord": drivers}), all),
    ]
}

/// The example of every tool of a registry.
pub fn of(registry: &Registry) -> Vec<Example> {
    let mut table = table();
    registry
        .definitions()
        .map(|ToolDefinition { name, .. }| {
            let place = table.iter().position(|example| example.tool == name);
            let place = place.unwrap_or_else(|| {
                panic!("the tool '{name}' has no example call: add a row for it to the table in tests/matrix/examples.rs")
            });
            table.swap_remove(place)
        })
        .collect()
}
