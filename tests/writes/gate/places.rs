//! Where rules about places hold: at the place itself, at everything below it, and at what is not there yet.

use mock_station::model::accounts::ADMIN;
use niagara_bridge::audit::AuditOptions;
use serde_json::{Value, json};

use crate::alarms::add_alarms;
use crate::office::{OTHER_POINT, Office};

const EXTENSION: &str = "station:|slot:/Logic/Setpoint/Alarm";

/// One call of each writing tool that changes something at or below `slot:/Logic/Setpoint`.
fn calls_at_the_point() -> Vec<(&'static str, Value)> {
    vec![
        (
            "writePoint",
            json!({"ord": OTHER_POINT, "value": 21, "priority": 10}),
        ),
        (
            "overridePoint",
            json!({"ord": OTHER_POINT, "value": 21, "durationMinutes": 5}),
        ),
        ("releasePoint", json!({"ord": OTHER_POINT})),
        (
            "setSlot",
            json!({"ord": OTHER_POINT, "slotName": "facets", "value": "precision=i:1"}),
        ),
        (
            "setSlot",
            json!({"ord": EXTENSION, "slotName": "toOffnormalText", "value": "x"}),
        ),
        (
            "clearSlot",
            json!({"ord": OTHER_POINT, "slotName": "facets"}),
        ),
        (
            "clearSlot",
            json!({"ord": EXTENSION, "slotName": "alarmClass"}),
        ),
        (
            "invokeAction",
            json!({"ord": OTHER_POINT, "actionName": "auto"}),
        ),
        (
            "createComponent",
            json!({"parentOrd": OTHER_POINT, "type": "baja:String", "name": "note"}),
        ),
        (
            "createComponent",
            json!({"parentOrd": EXTENSION, "type": "baja:String", "name": "note"}),
        ),
        (
            "addExtension",
            json!({"parentOrd": OTHER_POINT, "extensionType": "history:NumericIntervalHistoryExt", "name": "Trend"}),
        ),
        (
            "linkSlots",
            json!({
                "sourceOrd": "slot:/Logic/Sensor", "sourceSlot": "out", "sinkOrd": OTHER_POINT, "sinkSlot": "in12",
            }),
        ),
        (
            "removeComponent",
            json!({"ord": EXTENSION, "dryRun": false}),
        ),
        (
            "removeComponent",
            json!({"ord": OTHER_POINT, "dryRun": false, "force": true}),
        ),
        ("ackAlarm", json!({"sourceOrd": OTHER_POINT})),
        ("ackAlarm", json!({"sourceOrd": EXTENSION})),
    ]
}

#[tokio::test]
async fn what_lies_below_a_denied_component_is_denied_to_every_tool() {
    let deny = json!({"deny": ["slot:/Logic/Set*"], "confirmDestructive": false});
    let office = Office::with(deny, AuditOptions::default()).await;
    add_alarms(&office.site);
    for (tool, arguments) in calls_at_the_point() {
        let (code, data) = office.failure(ADMIN, tool, arguments.clone()).await;
        assert_eq!(
            (code, &data["policy"]),
            (-32010, &json!("ord-denied")),
            "{tool} {arguments}"
        );
    }
    assert_eq!(office.site.writes(), []);
    let requests = office.site.frozen.station.requests();
    let acknowledged = requests.iter().any(|request| {
        request.method == "POST" && request.path().trim_end_matches('/').ends_with("/ack")
    });
    assert!(!acknowledged);
    let beside = json!({"ord": "slot:/Logic/Linked", "value": 1, "priority": 10});
    office.answer(ADMIN, "writePoint", beside).await;
}

#[tokio::test]
async fn what_lies_below_a_chosen_component_is_asked_about() {
    let confirm = json!({"confirm": ["slot:/Logic/Setpoint"], "confirmDestructive": false});
    let office = Office::with(confirm, AuditOptions::default()).await;
    add_alarms(&office.site);
    for (tool, arguments) in calls_at_the_point() {
        let result = office.call_as(ADMIN, tool, arguments.clone()).await;
        // Some have nothing to do, so that nobody is asked.
        if result["isError"] == false {
            assert_eq!(
                (tool, &result["structuredContent"]["released"]),
                ("releasePoint", &json!(false)),
                "{arguments}"
            );
            continue;
        }
        assert_eq!(
            result["errorData"]["policy"], "confirmation",
            "{tool} {arguments}: {result}"
        );
    }
    assert_eq!(office.site.writes(), []);
}

#[tokio::test]
async fn nothing_is_added_where_a_rule_denies_it() {
    let rules = json!({
        "deny": ["slot:/Logic/**/Safe*"], "confirm": ["slot:/Logic/**/Asked*"],
        "principals": {"admin": {"deny": ["slot:/Logic/Boiler-1"]}},
    });
    let office = Office::with(rules, AuditOptions::default()).await;
    let folder =
        |name: &str| json!({"parentOrd": "slot:/Logic", "type": "baja:Folder", "name": name});
    let extension = |name: &str| {
        json!({
            "parentOrd": OTHER_POINT, "extensionType": "history:NumericIntervalHistoryExt", "name": name,
        })
    };
    let link = |name: &str| {
        json!({
            "sourceOrd": "slot:/Logic/Sensor", "sourceSlot": "out", "sinkOrd": OTHER_POINT, "sinkSlot": "in12",
            "linkName": name,
        })
    };
    type Arguments<'a> = &'a dyn Fn(&str) -> Value;
    let adding: [(&str, Arguments<'_>); 3] = [
        ("createComponent", &folder),
        ("addExtension", &extension),
        ("linkSlots", &link),
    ];
    for (tool, arguments) in adding {
        for name in ["Safe", "SafetyValve", "$53afe"] {
            let (code, data) = office.failure(ADMIN, tool, arguments(name)).await;
            assert_eq!(
                (code, &data["policy"]),
                (-32010, &json!("ord-denied")),
                "{tool} {name}"
            );
        }
        let (_, data) = office.failure(ADMIN, tool, arguments("Asked")).await;
        assert_eq!(data["policy"], "confirmation", "{tool}");
    }
    let (_, data) = office
        .failure(ADMIN, "createComponent", folder("Boiler-1"))
        .await;
    assert_eq!(data["policy"], "ord-denied", "the name as people see it");
    assert_eq!(office.site.writes(), []);
    for (tool, arguments) in adding {
        let name = format!("Un{tool}");
        let result = office.call_as(ADMIN, tool, arguments(&name)).await;
        assert_eq!(result["isError"], false, "{tool}: {result}");
    }
    let asked = office
        .confirmed(ADMIN, "createComponent", folder("Asked"))
        .await;
    assert_eq!(
        asked["structuredContent"]["resolvedName"], "Asked",
        "{asked}"
    );
}
