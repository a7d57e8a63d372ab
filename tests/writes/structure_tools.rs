//! The tools that change the component tree, through the gate: answers and codes of the contract, who may, what is
//! recorded.

use mock_station::faults::{FaultKind, Interface};
use mock_station::model::accounts::{self, ADMIN, OPERATOR, VIEWER};
use mock_station::server::WriteOutcome;
use mock_station::switches::LinkConversion;
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

#[tokio::test]
async fn a_link_is_made_shown_and_removed_by_either_name() {
    let office = Office::new().await;
    let made = office
        .answer(ADMIN, "linkSlots", link("slot:/Logic/Linked", "in4"))
        .await;
    let link_ord = "station:|slot:/Logic/Linked/SetpointOutLink";
    assert_eq!(
        made,
        json!({"linkOrd": link_ord, "linkType": "link", "sourceOrd": SETPOINT, "sourceSlot": "out",
               "sinkOrd": "slot:/Logic/Linked", "sinkSlot": "in4", "status": "active", "sinkStatus": "{ok}"})
    );
    let line = office.last_line(1, 1);
    assert_eq!(
        (&line["ord"], &line["action"]),
        (&json!("slot:/Logic/Linked"), &json!("link"))
    );

    let removed = json!({"linkOrd": link_ord, "sourceOrd": SETPOINT, "sourceSlot": "out", "sinkOrd": LINKED,
                         "sinkSlot": "in4", "removed": true});
    let by_link = json!({ "linkOrd": link_ord });
    let answer = office.confirmed(ADMIN, "unlinkSlots", by_link).await;
    assert_eq!(answer["structuredContent"], removed);
    office.answer(ADMIN, "linkSlots", link(LINKED, "in4")).await;
    let by_sink = json!({"sinkOrd": LINKED, "linkName": "SetpointOutLink"});
    let answer = office.confirmed(ADMIN, "unlinkSlots", by_sink).await;
    assert_eq!(answer["structuredContent"], removed);
    let line = office.last_line(4, 6);
    assert_eq!(
        (&line["ord"], &line["action"]),
        (&json!(link_ord), &json!("unlink"))
    );
    assert_eq!(line["oldValue"]["source"], SETPOINT);
}

#[tokio::test]
async fn a_link_is_held_to_the_rules_of_the_level_that_it_commands() {
    let office = Office::with(
        json!({"priorities": ["1", "4", "8"], "maxOverrideMinutes": 60}),
        Default::default(),
    )
    .await;
    let (code, data) = refused(&office, "linkSlots", link(LINKED, "in5")).await;
    assert_eq!((code, &data["policy"]), (-32010, &json!("priority")));
    // What the station would not take is told before anybody is asked.
    let (code, data) = refused(&office, "linkSlots", link("slot:/Logic/Fan", "in17")).await;
    assert_eq!((code, &data["slot"]), (-32602, &json!("in17")));
    let mut emergency = link(LINKED, "emergencyOverride");
    emergency["converterType"] = json!("converters:StatusNumericToNumber");
    let (code, data) = refused(&office, "linkSlots", emergency).await;
    assert_eq!(
        (code, &data["policy"]),
        (-32010, &json!("override")),
        "the emergency would never end: {data}"
    );
    for slot in ["in1", "in8"] {
        let (code, data) = refused(&office, "linkSlots", link(LINKED, slot)).await;
        assert_eq!((code, &data["policy"]), (-32010, &json!("confirmation")));
        assert_eq!(office.site.writes(), [], "{slot}");
        let answer = office
            .confirmed(ADMIN, "linkSlots", link(LINKED, slot))
            .await;
        assert_eq!(answer["structuredContent"]["status"], "active", "{answer}");
        assert_eq!(office.log().last().expect("a line")["policy"], "confirmed");
        office.site.writes();
    }
    office.answer(ADMIN, "linkSlots", link(LINKED, "in4")).await;
    assert_eq!(office.last_line(3, 10)["policy"], "allowed");
}

#[tokio::test]
async fn links_that_cannot_be_made_name_the_end_and_what_may_help() {
    let office = Office::new().await;
    let switches = office.site.frozen.station.switches();
    switches.change(|switches| switches.boxs.link_conversion = LinkConversion::Refused);
    let with = |key: &str, value: &str| {
        let mut arguments = link(LINKED, "in4");
        arguments[key] = json!(value);
        arguments
    };
    for (key, value) in [
        ("sourceOrd", "slot:/Nowhere"),
        ("sourceOrd", "nowhere"),
        ("sinkOrd", "slot:/Nowhere"),
        ("sourceOrd", "slot:/Logic/Simples/string"),
    ] {
        let (code, data) = refused(&office, "linkSlots", with(key, value)).await;
        assert_eq!((code, data), (-32006, json!({ key: value })), "{key}");
    }
    let (code, data) = refused(&office, "linkSlots", with("sinkSlot", "in17")).await;
    assert_eq!(
        (code, data),
        (-32602, json!({"ord": LINKED, "slot": "in17"}))
    );
    let (code, data) = refused(&office, "linkSlots", with("converterType", "acme:C")).await;
    assert_eq!((code, &data["converterType"]), (-32005, &json!("acme:C")));
    let (code, data) = refused(&office, "linkSlots", with("converterType", "baja:Folder")).await;
    assert_eq!(
        (code, data),
        (
            -32602,
            json!({"converterType": "baja:Folder", "actualType": "baja:Folder"})
        )
    );
    let (code, data) = refused(&office, "linkSlots", with("linkName", "out")).await;
    assert_eq!(
        (code, data),
        (-32602, json!({"sinkOrd": LINKED, "linkName": "out"}))
    );
    let mut text = link(NOTE, "in4");
    let (code, data) = refused(&office, "linkSlots", text.clone()).await;
    assert_eq!(code, -32016);
    for (key, value) in text.as_object().expect("arguments") {
        assert_eq!(&data[key], value);
    }
    let best = "converters:StatusNumericToStatusString";
    assert_eq!(data["converters"][0], best);
    assert_eq!(office.site.writes(), []);

    text["converterType"] = json!(best);
    let made = office.answer(ADMIN, "linkSlots", text).await;
    assert_eq!(
        (&made["linkType"], &made["converter"]),
        (&json!("conversionLink"), &json!(best))
    );
    assert!(made["linkCheckNote"].is_string(), "{made}");
    assert_eq!(made["status"], "active");
}

#[tokio::test]
async fn links_that_cannot_be_removed_are_named_as_they_were_asked_for() {
    let office = Office::with(json!({"confirmDestructive": false}), Default::default()).await;
    for arguments in [
        json!({}),
        json!({"sinkOrd": LINKED}),
        json!({"linkName": "x"}),
        json!({"linkOrd": LINKED, "sinkOrd": LINKED, "linkName": "x"}),
    ] {
        let (code, _) = refused(&office, "unlinkSlots", arguments.clone()).await;
        assert_eq!(code, -32602, "{arguments}");
    }
    let gone = format!("{LINKED}/NoLink");
    let nowhere = "slot:/Nowhere/Link".to_owned();
    for ord in [gone, nowhere, "slot:/".to_owned(), "h:2f1".to_owned()] {
        let arguments = json!({ "linkOrd": ord });
        let (code, data) = refused(&office, "unlinkSlots", arguments).await;
        assert_eq!((code, &data["ord"]), (-32006, &json!(ord)));
    }
    for (sink, name) in [(LINKED, "NoLink"), ("slot:/Nowhere", "NoLink")] {
        let arguments = json!({"sinkOrd": sink, "linkName": name});
        let (code, data) = refused(&office, "unlinkSlots", arguments).await;
        assert_eq!(
            (code, data),
            (-32006, json!({"sinkOrd": sink, "linkName": name}))
        );
    }
    let ord = format!("{LINKED}/fallback");
    let (code, data) = refused(&office, "unlinkSlots", json!({ "linkOrd": ord })).await;
    assert_eq!((code, &data["ord"]), (-32602, &json!(ord)));
    let pair = json!({"sinkOrd": LINKED, "linkName": "fallback"});
    let (code, _) = refused(&office, "unlinkSlots", pair).await;
    assert_eq!(code, -32602);
    assert_eq!(office.site.writes(), []);
}

/// What the knowledge says of the point that is to go.
const MODEL: &str = "equipment_types: [{id: ahu}]\nequipment: [{id: ahu-1, type: ahu, points: {temp: 'slot:/Logic/Sensor'}}]\n\
                     points: [{id: lobby, ord: 'station:|slot:/Logic/Sensor/out'}, {id: other, ord: 'slot:/Logic/Fan'}]\n";

#[tokio::test]
async fn a_removal_is_rehearsed_confirmed_and_done() {
    let office = Office::new().await;
    std::fs::write(office.knowledge.path(), MODEL).expect("a file");
    office.knowledge.reload().await;
    let sensor = "slot:/Logic/Sensor";
    let dry = office
        .answer(ADMIN, "removeComponent", json!({ "ord": sensor }))
        .await;
    assert_eq!(
        (&dry["removed"], &dry["wouldRemove"], &dry["ord"]),
        (&json!(false), &json!(true), &json!(sensor))
    );
    assert_eq!(dry["inboundLinkCount"], 0);
    assert_eq!(dry["sampleSourceOrds"], json!([]));
    assert_eq!(
        (&dry["permitted"], &dry["incomplete"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(dry["type"], "control:NumericPoint");
    assert_eq!(dry["knowledgeReferenceCount"], 2);
    assert_eq!(
        dry["knowledgeReferences"][0],
        json!({"equipment": "ahu-1", "field": "points", "role": "temp", "ord": sensor})
    );
    assert_eq!(office.log().len(), 0, "a dry run is not recorded");
    assert_eq!(office.site.writes(), []);

    let confirmed = json!({"ord": sensor, "dryRun": false, "confirm": dry["confirm"]});
    let gone = office.answer(ADMIN, "removeComponent", confirmed).await;
    assert_eq!(
        (&gone["removed"], &gone["wouldRemove"]),
        (&json!(true), &json!(true))
    );
    let line = office.last_line(1, 1);
    assert_eq!(
        (&line["action"], &line["policy"], &line["ord"]),
        (&json!("remove"), &json!("confirmed"), &json!(sensor))
    );
    assert_eq!(line["oldValue"]["type"], "control:NumericPoint");
    assert_eq!(
        office.audited_by_station("admin"),
        ["Removed slot:/Logic Sensor"]
    );
    let again = json!({"ord": sensor});
    let (code, data) = refused(&office, "removeComponent", again).await;
    assert_eq!((code, &data["ord"]), (-32006, &json!(sensor)));
}

#[tokio::test]
async fn links_in_either_direction_stop_a_removal_and_its_rehearsal() {
    let office = Office::with(json!({"confirmDestructive": false}), Default::default()).await;
    for dry_run in [true, false] {
        let arguments = json!({"ord": LINKED, "dryRun": dry_run});
        let (code, data) = refused(&office, "removeComponent", arguments).await;
        assert_eq!(code, -32013);
        assert_eq!(
            (&data["ord"], &data["inboundLinkCount"]),
            (&json!(LINKED), &json!(1))
        );
        assert_eq!(data["sampleSourceOrds"], json!([SETPOINT]));
        let arguments = json!({"ord": SETPOINT, "dryRun": dry_run});
        let (code, data) = refused(&office, "removeComponent", arguments).await;
        assert_eq!(code, -32013);
        assert_eq!(
            (&data["inboundLinkCount"], &data["outboundLinkCount"]),
            (&json!(0), &json!(1))
        );
        assert_eq!(data["sampleSinkOrds"], json!([LINKED]));
    }
    assert_eq!(office.site.writes(), []);
    let arguments = json!({"ord": LINKED, "dryRun": false, "force": true});
    let gone = office.answer(ADMIN, "removeComponent", arguments).await;
    assert_eq!(
        (&gone["removed"], &gone["inboundLinkCount"]),
        (&json!(true), &json!(1))
    );
    for ord in ["slot:/", "slot:/Logic/Setpoint/proxyExt"] {
        let arguments = json!({"ord": ord, "force": true});
        let (code, data) = refused(&office, "removeComponent", arguments).await;
        assert_eq!((code, &data["ord"]), (-32602, &json!(ord)));
    }
}

#[tokio::test]
async fn rules_about_what_lies_below_hold_for_removals_and_their_rehearsals() {
    let rules = json!({"deny": ["slot:/Logic/Simples/**"], "confirmDestructive": false});
    let office = Office::with(rules, Default::default()).await;
    for dry_run in [true, false] {
        let arguments = json!({"ord": LOGIC, "dryRun": dry_run, "force": true});
        let (code, data) = refused(&office, "removeComponent", arguments).await;
        assert_eq!((code, &data["policy"]), (-32010, &json!("ord-denied")));
    }
    let inside = folder("slot:/Logic/Simples", "New");
    let (code, _) = refused(&office, "createComponent", inside).await;
    assert_eq!(code, -32010);
    office.allow(json!({"enabled": false}));
    for dry_run in [true, false] {
        let arguments = json!({"ord": LOGIC, "dryRun": dry_run});
        let (code, data) = refused(&office, "removeComponent", arguments).await;
        assert_eq!((code, &data["policy"]), (-32010, &json!("read-only")));
    }
    assert_eq!(office.site.writes(), []);
}

/// A link into level 5 of the linked point.
const OWN_LINK: &str = "station:|slot:/Logic/Linked/SetpointOutLink";

/// Calls that take a link away, by every name that it has.
fn link_removals(link: &str) -> [(&'static str, Value); 4] {
    let (sink, name) = link.rsplit_once('/').expect("a link");
    [
        (
            "removeComponent",
            json!({"ord": link, "dryRun": true, "force": true}),
        ),
        (
            "removeComponent",
            json!({"ord": link, "dryRun": false, "force": true}),
        ),
        ("unlinkSlots", json!({ "linkOrd": link })),
        ("unlinkSlots", json!({"sinkOrd": sink, "linkName": name})),
    ]
}

#[tokio::test]
async fn a_link_is_removed_under_the_rules_of_its_component_and_of_its_level() {
    let office = Office::new().await;
    let made = office.answer(ADMIN, "linkSlots", link(LINKED, "in5")).await;
    assert_eq!(made["linkOrd"], OWN_LINK);
    office.site.writes();
    for (rules, policy) in [
        (json!({"deny": ["slot:/Logic/Linked"]}), "ord-denied"),
        (
            json!({"principals": {"admin": {"deny": ["/Logic/Linked"]}}}),
            "ord-denied",
        ),
        (
            json!({"allow": ["slot:/Logic/Linked/*"]}),
            "ord-not-allowed",
        ),
        (json!({"priorities": ["10-15"]}), "priority"),
        (
            json!({"principals": {"admin": {"priorities": ["8"]}}}),
            "priority",
        ),
    ] {
        let mut block = rules.clone();
        block["confirmDestructive"] = json!(false);
        office.allow(block);
        for (tool, arguments) in link_removals(OWN_LINK) {
            let (code, data) = refused(&office, tool, arguments.clone()).await;
            assert_eq!(
                (code, &data["policy"]),
                (-32010, &json!(policy)),
                "{rules} {tool} {arguments}"
            );
        }
    }
    office.allow(json!({"confirm": ["/Logic/Linked"], "confirmDestructive": false}));
    for (tool, arguments) in link_removals(OWN_LINK) {
        if arguments["dryRun"] == json!(true) {
            let shown = office.answer(ADMIN, tool, arguments).await;
            assert!(shown["confirm"].is_string(), "{shown}");
            continue;
        }
        let (code, data) = refused(&office, tool, arguments).await;
        assert_eq!((code, &data["policy"]), (-32010, &json!("confirmation")));
    }
    assert_eq!(office.site.writes(), []);

    let may_all = json!({"priorities": ["5", "8"], "confirmDestructive": false});
    office.allow(may_all);
    for tool in ["unlinkSlots", "removeComponent"] {
        let manual = link(LINKED, "in8");
        let made = office.confirmed(ADMIN, "linkSlots", manual).await;
        let ord = made["structuredContent"]["linkOrd"].clone();
        let removal = match tool {
            "unlinkSlots" => json!({ "linkOrd": ord }),
            _ => json!({"ord": ord, "dryRun": false}),
        };
        let answer = office.confirmed(ADMIN, tool, removal).await;
        assert_eq!(answer["isError"], false, "{tool}: {answer}");
    }
    let low = json!({"ord": OWN_LINK, "dryRun": false});
    let gone = office.answer(ADMIN, "removeComponent", low).await;
    assert_eq!(gone["removed"], true, "level 5 asks nobody: {gone}");
}

#[tokio::test]
async fn a_removal_asks_about_all_that_goes_and_needs_all_of_it_allowed() {
    let office = Office::new().await;
    office.allow(json!({"confirm": ["slot:/Logic/Simples/**"], "confirmDestructive": false}));
    let whole = json!({"ord": LOGIC, "dryRun": false, "force": true});
    let (code, data) = refused(&office, "removeComponent", whole.clone()).await;
    assert_eq!((code, &data["policy"]), (-32010, &json!("confirmation")));
    office.allow(json!({"allow": ["slot:/Logic", "slot:/Logic/*"], "confirmDestructive": false}));
    for ord in [LOGIC, "slot:/Logic/Sensor"] {
        let removal = json!({"ord": ord, "dryRun": false, "force": true});
        let (code, data) = refused(&office, "removeComponent", removal).await;
        assert_eq!((code, &data["policy"]), (-32010, &json!("ord-not-allowed")));
    }
    assert_eq!(office.site.writes(), []);
    office.allow(json!({"allow": ["slot:/Logic/**"], "confirmDestructive": false}));
    let sensor = json!({"ord": "slot:/Logic/Sensor", "dryRun": false});
    let gone = office.answer(ADMIN, "removeComponent", sensor).await;
    assert_eq!(gone["removed"], true);
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
