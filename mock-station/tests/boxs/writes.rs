//! What `syncTo` changes, and what it refuses (Station web specification §4.6).

use mock_station::model::audit::AuditOperation;
use mock_station::switches::BoxErrorStyle;
use serde_json::{Value as Json, json};

use crate::client::{ADMIN, OPERATOR, VIEWER, bench, child, find, handle, numeric, simple};

fn level(node: &Json) -> (&str, &str) {
    let out = child(node, "out");
    (
        child(out, "value")["v"].as_str().unwrap(),
        child(out, "status")["v"].as_str().unwrap(),
    )
}

#[tokio::test]
async fn a_level_is_written_as_a_whole_and_released_again() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let session = client.session().await;
    let h = handle(&bench, "slot:/Logic/Setpoint").to_string();
    let set = |slot: &str, node: Json| json!([{"nm": "s", "h": h, "n": slot, "b": node}]);
    assert_eq!(
        session.sync(set("in9", numeric("18.25", "0"))).await,
        json!([])
    );
    let node = client.resolve("slot:/Logic/Setpoint").await;
    assert_eq!(
        level(&node),
        ("18.25", "0;activeLevel=e:9@control:PriorityLevel")
    );
    session.sync(set("in9", numeric("18.25", "40"))).await;
    let node = client.resolve("slot:/Logic/Setpoint").await;
    assert_eq!(
        level(&node),
        ("21.5", "0;activeLevel=e:10@control:PriorityLevel")
    );
    // Live rule 5: the value alone leaves the level inactive.
    session
        .sync(set("in3/value", simple("baja:Double", "5.0")))
        .await;
    let node = client.resolve("slot:/Logic/Setpoint").await;
    assert_eq!(level(&node).0, "21.5");
    assert_eq!(child(child(&node, "in3"), "value")["v"], "5.0");
    assert_eq!(child(child(&node, "in3"), "status")["v"], "40");
    let station = bench.mock.station().read();
    let entry = station.audit.of_user(ADMIN).next().unwrap();
    assert_eq!(
        (
            entry.operation,
            entry.target.as_str(),
            entry.slot.as_str(),
            entry.new_value.as_str()
        ),
        (
            AuditOperation::Changed,
            "slot:/Logic/Setpoint",
            "in9",
            "value=18.25,status=0"
        )
    );
}

#[tokio::test]
async fn components_are_added_renamed_reordered_marked_and_removed() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let session = client.session().await;
    let parent = handle(&bench, "slot:/Logic/Level2").to_string();
    let add = |name: &str, body: Json| json!({"nm": "a", "h": parent, "n": name, "b": body});
    let point = json!({"nm": "p", "t": "control:NumericWritable", "s": [
        {"nm": "p", "n": "facets", "t": "baja:Facets", "v": "units=u:percent;%;;;|precision=i:1"},
        {"nm": "p", "n": "wsAnnotation", "t": "baja:WsAnnotation", "v": "10,5,8"},
        {"nm": "p", "n": "fallback", "t": "baja:StatusNumeric", "s": [
            {"nm": "p", "n": "value", "t": "baja:Double", "v": "40.0"},
            {"nm": "p", "n": "status", "t": "baja:Status", "v": "0"}]}]});
    let added = session
        .sync(json!([add("Valve", point.clone()), add("Valve", point)]))
        .await;
    assert_eq!(
        added,
        json!([{"id": "a", "nn": "Valve"}, {"id": "a", "nn": "Valve1"}])
    );
    let node = client.resolve("slot:/Logic/Level2/Valve1").await;
    assert_eq!(
        level(&node),
        ("40.0", "0;activeLevel=e:17@control:PriorityLevel")
    );
    assert_eq!(child(&node, "wsAnnotation")["v"], "10,5,8");
    assert_eq!(child(&node, "proxyExt")["t"], "control:NullProxyExt");

    let text = session
        .sync(json!([add("note?", simple("baja:String", "north"))]))
        .await;
    assert_eq!(text, json!([{"id": "a", "nn": "note"}]));
    let changes = json!([
        {"nm": "r", "h": parent, "o": "Valve", "n": "Damper"},
        {"nm": "o", "h": parent, "o": "note;Valve1;Damper;Level3"},
        {"nm": "f", "h": parent, "n": "note", "f": "ho"},
        {"nm": "x", "h": parent, "n": "note", "x": "multiLine=b:true"},
        {"nm": "v", "h": parent, "n": "Valve1"}]);
    assert_eq!(session.sync(changes).await, json!([]));
    let node = client.resolve("slot:/Logic/Level2").await;
    let names: Vec<&str> = node["s"]
        .as_array()
        .unwrap()
        .iter()
        .map(|slot| slot["n"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["note", "Damper", "Level3"]);
    let note = child(&node, "note");
    assert_eq!(
        (&note["f"], &note["x"]),
        (&json!("ho"), &json!("multiLine=b:true"))
    );
}

#[tokio::test]
async fn earlier_operations_stay_applied_when_a_later_one_fails() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let session = client.session().await;
    let parent = handle(&bench, "slot:/Logic/Level2").to_string();
    let text = session
        .sync_refusal(json!([
            {"nm": "a", "h": parent, "n": "First", "b": {"nm": "p", "t": "baja:Folder"}},
            {"nm": "v", "h": parent, "n": "Nothing"},
            {"nm": "a", "h": parent, "n": "Third", "b": {"nm": "p", "t": "baja:Folder"}}]))
        .await;
    assert_eq!(text, "slot:/Logic/Level2 has no slot \"Nothing\"");
    let node = client.resolve("slot:/Logic/Level2").await;
    assert!(find(&node, "First").is_some() && find(&node, "Third").is_none());
}

#[tokio::test]
async fn what_the_station_does_not_take_is_refused_and_changes_nothing() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let session = client.session().await;
    let folder = handle(&bench, "slot:/Logic/Level2").to_string();
    let point = handle(&bench, "slot:/Logic/Setpoint").to_string();
    let add = |h: &str, body: Json| json!({"nm": "a", "h": h, "n": "New", "b": body});
    let levelled = "0;activeLevel=e:8@control:PriorityLevel";
    let cases = [
        (
            add(
                &folder,
                json!({"nm": "p", "t": "baja:Folder", "s": [
                {"nm": "p", "n": "Inner", "t": "baja:Folder"}]}),
            ),
            "The operation failed on the station",
        ),
        (
            add(&folder, json!({"nm": "p", "t": null})),
            "The operation failed on the station",
        ),
        (
            add(&folder, numeric("1.0", levelled)),
            "The operation failed on the station",
        ),
        (
            add(&folder, json!({"nm": "p", "t": "no:Such"})),
            "Unknown type 'no:Such'",
        ),
        (
            add(&folder, json!({"nm": "p", "t": "control:ControlPoint"})),
            "is abstract",
        ),
        (
            add(
                &point,
                json!({"nm": "p", "t": "bacnet:BacnetNumericProxyExt"}),
            ),
            "illegal child",
        ),
        (
            add(
                &point,
                json!({"nm": "p", "t": "history:BooleanCovHistoryExt"}),
            ),
            "points of another kind",
        ),
        (
            add(&folder, json!({"nm": "p", "t": "bacnet:BacnetDevice"})),
            "illegal child",
        ),
        (
            json!({"nm": "a", "h": folder, "n": "a/b", "b": {"nm": "p", "t": "baja:Folder"}}),
            "no legal slot name",
        ),
        (json!({"nm": "v", "h": point, "n": "in9"}), "frozen"),
        (
            json!({"nm": "r", "h": point, "o": "proxyExt", "n": "Other"}),
            "frozen",
        ),
        (
            json!({"nm": "r", "h": point, "o": "note", "n": "n$3apoint"}),
            "already has a slot",
        ),
        (
            json!({"nm": "s", "h": point, "n": "out", "b": numeric("1.0", "0")}),
            "read-only",
        ),
        (
            json!({"nm": "s", "h": point, "n": "overrideExpiration", "b": simple("baja:AbsTime", "null")}),
            "read-only",
        ),
        (
            json!({"nm": "s", "h": point, "n": "in9", "b": simple("baja:Double", "1.0")}),
            "holds baja:StatusNumeric, not baja:Double",
        ),
        (
            json!({"nm": "s", "h": point, "n": "in17", "b": numeric("1.0", "0")}),
            "no slot \"in17\"",
        ),
        (
            json!({"nm": "s", "h": folder, "n": "Level3/note", "b": simple("baja:String", "x")}),
            "no slot \"Level3/note\"",
        ),
        (
            json!({"nm": "s", "h": "fffff", "n": "in9", "b": numeric("1.0", "0")}),
            "Unknown handle 'fffff'",
        ),
        (
            json!({"nm": "o", "h": folder, "o": "Level4"}),
            "no slot \"Level4\"",
        ),
        (
            json!({"nm": "f", "h": point, "n": "note", "f": "?"}),
            "no flags",
        ),
        (json!({"nm": "q", "h": point}), "no operation \"q\""),
    ];
    let before = bench.mock.station().read().changes().revision();
    for (operation, words) in cases {
        let text = session.sync_refusal(json!([operation])).await;
        assert!(text.contains(words), "{operation}: {text}");
    }
    let station = bench.mock.station().read();
    assert_eq!(station.changes().revision(), before);
    assert!(station.audit.entries().is_empty());
}

#[tokio::test]
async fn refusals_have_the_form_of_the_station_they_come_from() {
    let bench = bench().await;
    let client = bench.client(VIEWER);
    let session = client.session().await;
    let h = handle(&bench, "slot:/Logic/Setpoint").to_string();
    let write = |slot: &str| {
        let operation = json!({"nm": "s", "h": h, "n": slot, "b": numeric("1.0", "0")});
        json!({"id": session.id, "scid": "station:", "sck": "syncTo",
            "scarg": {"nm": "sync", "ver": 1.0, "ops": [operation]}})
    };
    let denied = "Permission denied: operatorWrite is required on slot:/Logic/Setpoint";
    bench.change(|boxs| boxs.error_style = BoxErrorStyle::Ax);
    let reply = client.message("ssession", "callssc", write("in9")).await;
    assert_eq!(
        (&reply["t"], &reply["b"], &reply["et"]),
        (&json!("e"), &json!(denied), &json!("PermissionException"))
    );
    let reply = client.message("ssession", "callssc", write("in17")).await;
    assert_eq!(reply["et"], "NoSuchSlotException");
    bench.change(|boxs| boxs.error_style = BoxErrorStyle::N4Reply);
    let reply = client.message("ssession", "callssc", write("in9")).await;
    assert_eq!(
        (&reply["t"], &reply["b"]["isErr"], &reply["b"]["m"]),
        (&json!("rp"), &json!(true), &json!(denied))
    );
    bench.change(|boxs| boxs.hide_error_text = true);
    let reply = client.message("ssession", "callssc", write("in9")).await;
    let text = reply["b"]["m"].as_str().unwrap();
    assert!(
        text.contains("administrator") && !text.contains("Permission"),
        "{text}"
    );
}

#[tokio::test]
async fn inputs_that_only_actions_command_are_read_only_where_the_station_says_so() {
    let bench = bench().await;
    bench.change(|boxs| boxs.read_only_commands = true);
    let client = bench.client(ADMIN);
    let contracts = client
        .ask("reg", "loadContract", json!("control:NumericWritable"))
        .await;
    let flags = |slot: &str| {
        let slots = contracts["control:NumericWritable"].as_array().unwrap();
        let found = slots.iter().find(|found| found["n"] == slot).unwrap();
        found["f"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        (flags("in1"), flags("in8"), flags("in9")),
        ("ro".into(), "ro".into(), "to".into())
    );
    let session = client.session().await;
    let h = handle(&bench, "slot:/AHU1/Damper").to_string();
    let write = |slot: &str| json!([{"nm": "s", "h": h, "n": slot, "b": numeric("1.0", "0")}]);
    for slot in ["in1", "in8"] {
        let text = session.sync_refusal(write(slot)).await;
        assert_eq!(text, format!("slot:/AHU1/Damper/{slot} is read-only"));
    }
    session.sync(write("in9")).await;
    bench.change(|boxs| boxs.read_only_commands = false);
    session.sync(write("in8")).await;
    let node = client.resolve("slot:/AHU1/Damper").await;
    assert_eq!(
        level(&node),
        ("1.0", "0;activeLevel=e:8@control:PriorityLevel")
    );
    assert!(find(&node, "overrideExpiration").is_none());
}

#[tokio::test]
async fn each_user_changes_what_that_user_may_and_no_more() {
    let bench = bench().await;
    let damper = handle(&bench, "slot:/AHU1/Damper").to_string();
    let unit = handle(&bench, "slot:/AHU1").to_string();
    let setpoint = handle(&bench, "slot:/Logic/Setpoint").to_string();
    let (worker, reader) = (bench.client(OPERATOR), bench.client(VIEWER));
    let (worker, reader) = (worker.session().await, reader.session().await);
    let write = |h: &str| json!([{"nm": "s", "h": h, "n": "in9", "b": numeric("50.0", "0")}]);
    assert_eq!(worker.sync(write(&damper)).await, json!([]));
    let text = worker.sync_refusal(write(&setpoint)).await;
    assert_eq!(
        text,
        "Permission denied: operatorRead is required on slot:/Logic/Setpoint"
    );
    let add = json!([{"nm": "a", "h": unit, "n": "New", "b": {"nm": "p", "t": "baja:Folder"}}]);
    let text = worker.sync_refusal(add).await;
    assert_eq!(
        text,
        "Permission denied: adminWrite is required on slot:/AHU1"
    );
    let text = reader.sync_refusal(write(&damper)).await;
    assert_eq!(
        text,
        "Permission denied: operatorWrite is required on slot:/AHU1/Damper"
    );
    let flags = json!([{"nm": "f", "h": damper, "n": "in9", "f": "o"}]);
    let text = worker.sync_refusal(flags).await;
    assert_eq!(
        text,
        "Permission denied: adminWrite is required on slot:/AHU1/Damper"
    );
    let station = bench.mock.station().read();
    let users: Vec<&str> = station
        .audit
        .entries()
        .iter()
        .map(|entry| entry.user.as_str())
        .collect();
    assert_eq!(users, [OPERATOR]);
}

#[tokio::test]
async fn a_frozen_component_is_replaced_where_the_station_does_that() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let session = client.session().await;
    let point = handle(&bench, "slot:/Logic/Setpoint").to_string();
    let replace = json!([{"nm": "s", "h": point, "n": "proxyExt", "b": {
        "nm": "p", "t": "bacnet:BacnetNumericProxyExt", "s": [
            {"nm": "p", "n": "objectId", "t": "bacnet:BacnetObjectIdentifier", "v": "analogOutput:4"}]}}]);
    session.sync(replace.clone()).await;
    let node = client.resolve("slot:/Logic/Setpoint/proxyExt").await;
    assert_eq!(node["t"], "bacnet:BacnetNumericProxyExt");
    assert_eq!(child(&node, "objectId")["v"], "analogOutput:4");
    bench.change(|boxs| boxs.replace_frozen = false);
    let text = session.sync_refusal(replace).await;
    assert!(text.contains("keeps its kind"), "{text}");
}

#[tokio::test]
async fn other_sessions_are_told_what_one_session_changed() {
    let bench = bench().await;
    let (one, other) = (bench.client(ADMIN), bench.client(VIEWER));
    let (writer, watcher) = (one.session().await, other.session().await);
    let h = handle(&bench, "slot:/Logic/Level2").to_string();
    watcher.call("sub", json!([format!("h:{h}")])).await;
    writer
        .sync(json!([{"nm": "a", "h": h, "n": "New", "b": {"nm": "p", "t": "baja:Folder"}}]))
        .await;
    let operations = watcher.poll().await;
    assert_eq!(operations.len(), 1, "{operations:?}");
    assert_eq!(
        (
            &operations[0]["nm"],
            &operations[0]["n"],
            &operations[0]["b"]["t"]
        ),
        (&json!("a"), &json!("New"), &json!("baja:Folder"))
    );
}
