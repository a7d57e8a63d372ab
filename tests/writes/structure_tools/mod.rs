//! The tools that change the component tree, through the gate: answers and codes of the contract, who may, what is
//! recorded.

mod linking;
mod removing;

use mock_station::faults::{FaultKind, Interface};
use mock_station::model::accounts::{self, ADMIN, OPERATOR, VIEWER};
use mock_station::server::WriteOutcome;
use serde_json::{Value, json};

use crate::office::{Office, context, failure_of};

const LOGIC: &str = "station:|slot:/Logic";
const SETPOINT: &str = "station:|slot:/Logic/Setpoint";
const LINKED: &str = "station:|slot:/Logic/Linked";
const NOTE: &str = "station:|slot:/Logic/Note";

fn folder(parent: &str, name: &str) -> Value {
    json!({"parentOrd": parent, "type": "baja:Folder", "name": name})
}

fn link(sink: &str, slot: &str) -> Value {
    json!({"sourceOrd": SETPOINT, "sourceSlot": "out", "sinkOrd": sink, "sinkSlot": slot})
}

/// Code and a member of `errorData`.
async fn refused(office: &Office, tool: &str, arguments: Value) -> (i64, Value) {
    office.failure(ADMIN, tool, arguments).await
}

#[tokio::test]
async fn a_component_and_a_value_in_it_are_added_and_recorded() {
    let office = Office::new().await;
    let made = folder("slot:/Logic", "Floor1");
    let answer = office.answer(ADMIN, "createComponent", made).await;
    let ord = "station:|slot:/Logic/Floor1";
    assert_eq!(
        answer,
        json!({"ord": ord, "displayName": "Floor1", "requestedName": "Floor1", "resolvedName": "Floor1",
               "type": "baja:Folder", "verified": true})
    );
    let note = json!({"parentOrd": ord, "type": "baja:String", "name": "note"});
    let answer = office.answer(ADMIN, "createComponent", note).await;
    assert_eq!(answer["ord"], format!("{ord}/note"));
    assert_eq!(
        office.audited_by_station("admin"),
        ["Added slot:/Logic Floor1", "Added slot:/Logic/Floor1 note"]
    );
    let first = office.log().remove(0);
    assert_eq!(
        (&first["ord"], &first["action"], &first["user"]),
        (&json!("slot:/Logic"), &json!("add"), &json!("admin"))
    );
    let line = office.last_line(2, 2);
    assert_eq!(line["newValue"]["ord"], format!("{ord}/note"));
}

#[tokio::test]
async fn names_are_counted_up_where_the_caller_wants_it() {
    let office = Office::new().await;
    let mut fan = folder(LOGIC, "Fan");
    let (code, data) = refused(&office, "createComponent", fan.clone()).await;
    assert_eq!(code, -32602);
    assert_eq!(data, json!({"parentOrd": LOGIC, "name": "Fan"}));
    fan["nameStrategy"] = json!("suffix");
    for expected in ["Fan_2", "Fan_3"] {
        let answer = office.answer(ADMIN, "createComponent", fan.clone()).await;
        assert_eq!(answer["requestedName"], "Fan");
        assert_eq!(answer["resolvedName"], expected);
    }
    fan["nameStrategy"] = json!("replace");
    let (code, data) = refused(&office, "createComponent", fan).await;
    assert_eq!((code, data), (-32602, json!({"nameStrategy": "replace"})));
    let line = office.last_line(3, 4);
    assert_eq!(
        (&line["errorCode"], &line["outcome"]),
        (&json!("-32602"), &json!("refused"))
    );
}

#[tokio::test]
async fn what_cannot_be_created_is_refused_with_its_code() {
    let office = Office::new().await;
    for (arguments, code, data) in [
        (
            folder("slot:/Nowhere", "New"),
            -32006,
            json!({"ord": "slot:/Nowhere"}),
        ),
        (
            folder("slot:/Logic/Simples/string", "New"),
            -32006,
            json!({"ord": "slot:/Logic/Simples/string"}),
        ),
        (folder("nowhere", "New"), -32006, json!({"ord": "nowhere"})),
    ] {
        assert_eq!(
            refused(&office, "createComponent", arguments).await,
            (code, data)
        );
    }
    for type_spec in ["Folder", "acme:Gadget", "control:ControlPoint"] {
        let arguments = json!({"parentOrd": LOGIC, "type": type_spec, "name": "New"});
        let (code, data) = refused(&office, "createComponent", arguments).await;
        assert_eq!((code, &data["type"]), (-32005, &json!(type_spec)));
    }
    let missing = json!({"parentOrd": LOGIC, "type": "baja:Folder"});
    let error = office
        .call(context(Some("admin")), "createComponent", missing)
        .await
        .expect_err("refused before the tool");
    assert_eq!(
        (error.code.code(), &error.data["missing"]),
        (-32602, &json!("name"))
    );
    assert_eq!(office.site.writes(), []);
}

#[tokio::test]
async fn an_extension_that_does_not_fit_is_refused_with_both_types() {
    let office = Office::new().await;
    let trend = |parent: &str, extension: &str, name: &str| json!({"parentOrd": parent, "extensionType": extension, "name": name});
    let numeric = "history:NumericCovHistoryExt";
    let added = office
        .answer(ADMIN, "addExtension", trend(SETPOINT, numeric, "Trend"))
        .await;
    assert_eq!(added["extensionOrd"], "station:|slot:/Logic/Setpoint/Trend");
    assert_eq!(added["verified"], true);
    assert_eq!(office.last_line(1, 1)["action"], "addExtension");
    for (parent, parent_type, extension, name) in [
        (LOGIC, "baja:Folder", numeric, "Trend"),
        (SETPOINT, "control:NumericWritable", "baja:Folder", "Sub"),
        (SETPOINT, "control:NumericWritable", numeric, "proxyExt"),
        (
            "slot:/Logic/Fan",
            "control:BooleanWritable",
            numeric,
            "Trend",
        ),
    ] {
        let arguments = trend(parent, extension, name);
        let (code, mut data) = refused(&office, "addExtension", arguments).await;
        assert_eq!(code, -32015, "{parent} {extension}: {data}");
        let reason = data["reason"].take();
        assert!(reason.as_str().is_some_and(|text| !text.is_empty()));
        assert_eq!(
            data,
            json!({"parentOrd": parent, "parentType": parent_type, "extensionType": extension, "reason": null})
        );
    }
    let unknown = trend(SETPOINT, "acme:Ext", "New");
    let (code, data) = refused(&office, "addExtension", unknown).await;
    assert_eq!((code, &data["extensionType"]), (-32005, &json!("acme:Ext")));
    let taken = trend(SETPOINT, numeric, "Trend");
    let (code, data) = refused(&office, "addExtension", taken).await;
    assert_eq!(
        (code, data),
        (-32602, json!({"parentOrd": SETPOINT, "name": "Trend"}))
    );
}

/// One call of each tool that the administrator may make.
fn calls() -> [(&'static str, Value); 5] {
    [
        ("createComponent", folder(LOGIC, "New")),
        (
            "addExtension",
            json!({"parentOrd": SETPOINT, "extensionType": "history:NumericCovHistoryExt", "name": "Trend"}),
        ),
        ("linkSlots", link(LINKED, "in5")),
        (
            "unlinkSlots",
            json!({"sinkOrd": LINKED, "linkName": "SetpointOutLink"}),
        ),
        (
            "removeComponent",
            json!({"ord": "slot:/Logic/Sensor", "dryRun": false}),
        ),
    ]
}

#[tokio::test]
async fn each_account_changes_what_the_station_lets_it_change() {
    let office = Office::with(json!({"confirmDestructive": false}), Default::default()).await;
    for (tool, arguments) in calls() {
        office.site.writes();
        // The operator sees nothing of this part; the viewer sees it and may change nothing.
        for (account, codes) in [(OPERATOR, [-32006, -32010]), (VIEWER, [-32010, -32006])] {
            let (code, data) = office.failure(account, tool, arguments.clone()).await;
            assert!(codes.contains(&code), "{tool} {}: {data}", account.user);
            if code == -32010 {
                assert_eq!(data["user"], account.user, "{tool}: {data}");
                assert_eq!(data["tool"], tool);
            }
            assert_eq!(office.audited_by_station(account.user), [""; 0]);
        }
        for user in [None, Some(accounts::OBIX.user)] {
            let refused = office.call(context(user), tool, arguments.clone()).await;
            let code = match refused {
                Err(error) => i64::from(error.code.code()),
                Ok(answer) => failure_of(&answer).0,
            };
            assert_eq!(code, -32011, "{tool} {user:?}");
        }
        assert!(
            office
                .site
                .writes()
                .iter()
                .all(|(_, outcome)| { matches!(outcome, WriteOutcome::Refused(_)) }),
            "{tool}"
        );
        let before = office.audited_by_station("admin").len();
        office.answer(ADMIN, tool, arguments).await;
        assert_eq!(
            office.audited_by_station("admin").len(),
            before + 1,
            "{tool}"
        );
    }
    let own = folder("slot:/Ahu1", "New");
    let (code, data) = office.failure(OPERATOR, "createComponent", own).await;
    assert_eq!(
        (code, &data["operation"]),
        (-32010, &json!("add")),
        "operators command, they do not build"
    );
}

#[tokio::test]
async fn a_lost_answer_is_in_doubt_with_what_is_there_now_and_recorded_so() {
    let office = Office::with(json!({"confirmDestructive": false}), Default::default()).await;
    for (number, (tool, arguments)) in calls().into_iter().enumerate() {
        office.site.writes();
        office
            .site
            .break_next_write(Interface::Box, FaultKind::CutAfter);
        let (code, data) = refused(&office, tool, arguments).await;
        assert_eq!(
            (code, &data["inDoubt"]),
            (-32603, &json!(true)),
            "{tool}: {data}"
        );
        let is_removal = ["unlinkSlots", "removeComponent"].contains(&tool);
        assert_eq!(data["observed"], json!({"exists": !is_removal}), "{tool}");
        assert_eq!(office.site.writes().len(), 1, "{tool}: sent once");
        let calls = number + 1;
        assert_eq!(office.last_line(calls, calls)["outcome"], "inDoubt");
    }
}
