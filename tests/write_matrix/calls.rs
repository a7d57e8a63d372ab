//! One call of each tool that changes the station, and the steps that lead to it.

use mock_station::model::accounts::Account;
use niagara_bridge::tools::{CallContext, RpcError};
use serde_json::{Value, json};

use crate::office::{Office, context};
use crate::place::Place;

/// The tools of the registry that change the station, in its order.
pub fn tools(office: &Office) -> Vec<String> {
    let changing = office
        .registry
        .definitions()
        .filter(|tool| tool.changes_station() && !tool.annotations.read_only);
    let names: Vec<String> = changing.map(|tool| tool.name.clone()).collect();
    assert!(names.len() >= 15, "{names:?}");
    names
}

/// What one call of a tool does at a place.
pub struct Call {
    /// Without the plan of applyWrites, which is made first.
    pub arguments: Value,
    pub plan: Option<Value>,
    /// Whether operating a component is enough; else it has to be administered.
    pub operator_may: bool,
}

fn operating(arguments: Value) -> Call {
    Call {
        arguments,
        plan: None,
        operator_may: true,
    }
}

fn administering(arguments: Value) -> Call {
    Call {
        operator_may: false,
        ..operating(arguments)
    }
}

pub fn call(tool: &str, place: &Place) -> Call {
    let (folder, point, free) = (&place.path, place.child("Point"), place.child("Free"));
    let note = json!({"ord": folder, "slotName": "note", "value": "new"});
    match tool {
        "writePoint" => operating(json!({"ord": point, "value": 21, "priority": 10})),
        "setSlot" => operating(note),
        "clearSlot" => operating(json!({"ord": point, "slotName": "in12"})),
        "invokeAction" => operating(json!({"ord": point, "actionName": "set", "args": 24})),
        "overridePoint" => operating(json!({"ord": point, "value": 22, "durationMinutes": 5})),
        "releasePoint" => operating(json!({"ord": place.child("Held")})),
        "ackAlarm" => operating(json!({"uuid": place.alarm})),
        "applyWrites" => Call {
            plan: Some(json!({"operations": [{"tool": "setSlot", "arguments": note}]})),
            ..operating(json!({"planId": "none"}))
        },
        "createComponent" => {
            administering(json!({"parentOrd": folder, "type": "baja:Folder", "name": "New"}))
        }
        "removeComponent" => administering(json!({"ord": place.child("Old"), "dryRun": false})),
        "addExtension" => administering(json!({
            "parentOrd": free, "extensionType": "history:NumericCovHistoryExt", "name": "Trend",
        })),
        "linkSlots" => administering(json!({
            "sourceOrd": point, "sourceSlot": "out", "sinkOrd": free, "sinkSlot": "in10", "linkName": "wire",
        })),
        "unlinkSlots" => {
            administering(json!({"sinkOrd": place.child("Sink"), "linkName": place.link}))
        }
        "commitStation" => administering(json!({})),
        "writeSchedule" => administering(json!({
            "ord": place.child("Occupancy"),
            "week": [{"day": "monday", "periods": [{"start": "06:00", "finish": "19:00", "value": true}]}],
        })),
        other => panic!(
            "the tool '{other}' changes the station and has no call: add one to tests/write_matrix/calls.rs"
        ),
    }
}

impl Office {
    /// Everything before the step that sends: the plan is made, and a confirmation asked for. The arguments of that step,
    /// and how many steps were recorded.
    pub async fn prepared(&self, user: Account, tool: &str, call: Call) -> (Value, usize) {
        let mut arguments = call.arguments;
        if let Some(operations) = call.plan {
            let plan = self.answer(user, "planWrites", operations).await;
            arguments["planId"] = plan["planId"].clone();
        }
        if ![
            "overridePoint",
            "releasePoint",
            "removeComponent",
            "unlinkSlots",
        ]
        .contains(&tool)
        {
            return (arguments, 0);
        }
        let (_, data) = self.failure(user, tool, arguments.clone()).await;
        assert!(data["confirm"].is_string(), "{tool}: {data}");
        arguments["confirm"] = data["confirm"].clone();
        (arguments, 1)
    }

    /// Messages that asked the station for a change since its logs were cleared, over either interface.
    pub fn sent(&self) -> usize {
        let station = &self.site.frozen.station;
        let acknowledgements = station.requests().into_iter().filter(|request| {
            let path = request.path().trim_end_matches('/');
            request.method == "POST" && path.ends_with("/ack")
        });
        station.box_writes().len() + acknowledgements.count()
    }

    pub async fn call_by(
        &self,
        user: &str,
        tool: &str,
        arguments: Value,
    ) -> Result<Value, RpcError> {
        let context: CallContext = context(Some(user));
        self.call(context, tool, arguments).await
    }
}
